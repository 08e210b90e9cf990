"""The Panel on three planted streams, beside its best member and its bounds."""

from __future__ import annotations

from typing import Any

import mistakebound as mb
from mistakebound.lab.charts import bars
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.sizes import Size, limited
from mistakebound.viz.chart import Axis, Chart


@experiment(
    "panel-learner",
    title="The Panel is near its best member on every stream",
    claim="The Panel mixes 16 members by three mixers, and decides by a guarded vote of all 19. It makes at most "
    "2.41(m + lg 19) mistakes, where m is the fewest mistakes of any of them. Its log loss is at most L + ln(1/π) for "
    "the log loss L and the prior weight π of any of them.",
    setting="Three streams: a disjunction of 3 variables, points with a margin, and a disjunction whose variables "
    "change three times. The same Panel, without any parameter, learns each of them once.",
    theorems=("guarded-weighted-majority", "bayes-mixture"),
    quick={"rounds": 1500, "n": 20},
    sizes={"rounds": Size(500, 200_000), "n": Size(5, 5000)},
    together=(limited("n", "rounds"),),
)
def panel_learner(*, rounds: int = 4000, n: int = 50, seed: int = 0) -> Findings:
    """Learn the three streams, and compare the Panel with its members and bounds."""
    streams = {
        "disjunction": mb.streams.disjunction(n, 3, rounds, seed),
        "margin": mb.streams.margin(n, rounds, 0.1, seed),
        "drift": mb.streams.drifting(n, 2, rounds, seed, every=-(-rounds // 4)),
    }
    rows, losses, checks = [], [], []
    for name, stream in streams.items():
        panel = mb.Panel()
        panel.run(stream.X, stream.y)
        standings: Any = panel.ledger_.standings
        best, worst = standings.best, max(standings.members, key=lambda each: each.mistakes)
        guard = panel.certify("guarded-weighted-majority")
        rows.append(
            (name, standings.mistakes, best.mistakes, best.name, worst.mistakes, guard.bound, standings.overrides)
        )
        by_loss = standings.best_by_loss
        losses.append((name, standings.log_loss, by_loss.log_loss, by_loss.name, standings.loss_bound))
        within = standings.log_loss <= standings.loss_bound * (1 + 1e-9)
        better = standings.mistakes < worst.mistakes
        checks += [
            certified(f"{name}, mistakes", guard),
            certified(f"{name}, mistakes by the log loss", panel.certify("bayes-mixture")),
            Check(f"{name}: the log loss is within L + ln(1/π)", within, f"{standings.log_loss:.6g}"),
            Check(f"{name}: the Panel errs less often than its worst member", better, f"{worst.mistakes}"),
        ]
    ticks = [(place, name) for place, name in enumerate(streams)]
    shown = Axis("stream", low=-0.5, high=len(streams) - 0.5, ticks=ticks)
    mistakes = {"best member or mixer": 2, "Panel": 1, "bound": 5}
    nats = {"best member or mixer": 2, "Panel": 1, "bound": 4}
    charts = [
        Chart("Mistakes", shown, Axis("mistakes", low=0), bars(rows, mistakes)),
        Chart("Log loss", shown, Axis("total log loss in nats", low=0), bars(losses, nats)),
    ]
    tables = [
        Table(
            "Mistakes", ("stream", "Panel", "best", "which one", "worst member", "2.41(m + lg 19)", "overrides"), rows
        ),
        Table("Log loss in nats", ("stream", "Panel", "L of the best", "which one", "L + ln(1/π)"), losses),
    ]
    words = [f"{row[1]} mistakes on the {row[0]} stream, where its best member or mixer makes {row[2]}" for row in rows]
    conclusion = f"The Panel makes {'; '.join(words)}. Its bounds are {', '.join(f'{row[5]:.0f}' for row in rows)}."
    return Findings(conclusion, checks, tables, charts)
