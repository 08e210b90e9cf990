"""Which of two forecasters is closer to the true probabilities, which are never seen."""

from __future__ import annotations

import numpy as np

import mistakebound as mb
from mistakebound.lab.charts import some_rounds
from mistakebound.lab.experiment import Check, Findings, Table, experiment
from mistakebound.lab.sizes import Size
from mistakebound.lab.streams import generator
from mistakebound.viz.chart import Axis, Band, Chart, Level, Line, Mark
from mistakebound.viz.colours import NEUTRAL

ALPHA = 0.01
INSIDE = f"the true difference lies in the confidence sequence after every day (by chance, {ALPHA:.0%} of seeds fail)"


@experiment(
    "alice-and-bob",
    title="Who is closer to the truth: Alice or Bob?",
    claim="The difference of two squared errors shows who is closer to the true probability p, although p is never "
    "seen. The reason is E[(h − y)²] = E[(h − p)²] + E[p(1 − p)] for a forecast h and an outcome y: the last term is "
    "the same for both forecasters. A single day shows little. A confidence sequence shows when the result is clear.",
    setting="On each day p is drawn between 10 % and 85 %, and it rains with probability p. Alice forecasts p with a "
    "random error (standard deviation 5 points); Bob adds 10 points to p.",
    quick={"days": 8000},
    sizes={"days": Size(8000, 1_000_000)},
)
def alice_and_bob(*, days: int = 10000, seed: int = 0) -> Findings:
    """Draw the days, compare the two forecasters, and compare the result with the true distances."""
    rng = generator(seed, 5)
    p = rng.uniform(0.10, 0.85, days)
    alice, bob = np.clip(p + rng.normal(0, 0.05, days), 0.01, 0.99), p + 0.1
    y = (rng.random(days) < p).astype(int)
    report = mb.forecasters.compare({"Alice": alice, "Bob": bob}, y, alpha=ALPHA)
    pair, clear = report.pairs[0], report.pairs[0].clear_since
    sign = 1 if pair.better == "Alice" else -1  # so that below 0 means that Alice is closer
    means, (low, high) = sign * pair.means, np.sort(sign * np.stack(pair.bounds), axis=0)
    truth = np.cumsum((alice - p) ** 2 - (bob - p) ** 2) / np.arange(1, days + 1)
    inside = int(np.sum((low <= truth) & (truth <= high)))
    closer, wins = "Alice" if truth[-1] < 0 else "Bob", float(np.mean((bob - y) ** 2 < (alice - y) ** 2))
    checks = [
        Check(INSIDE, inside == days, f"{inside} of {days}"),
        Check("a single day shows little: Bob is better on over a third", wins > 1 / 3, f"{100 * wins:.0f} %"),
        Check("the one who is closer to p has the smaller mean error at the end", pair.better == closer, pair.better),
        Check("the difference is clear at the end", clear is not None, f"since day {clear}"),
    ]

    def chart(title: str, first: int) -> Chart:
        shown = [day for day in some_rounds(days, log=True) if day >= first]
        at = np.array(shown) - 1
        marks: list[Mark] = [
            Line("measured from the outcomes", shown, means[at].tolist(), colour=0),
            Line("true, E[(h − p)²]", shown, truth[at].tolist(), dashed=True),
            Band(f"confidence sequence, α = {ALPHA:g}", shown, low[at].tolist(), high[at].tolist(), colour=0),
            Level("0", 0.0, guide=True),
        ]
        if clear is not None and clear >= first:
            marks.append(Level(f"clear since day {clear:,}", float(clear), along="x", colour=NEUTRAL))
        axes = Axis("day", "log"), Axis("mean difference")
        return Chart(title, *axes, marks, note="Below 0, Alice is closer.")

    charts = [chart("Squared error of Alice minus that of Bob", 1), chart("The same, later", days // 10)]
    rows = [
        (name, float(np.mean((h - p) ** 2)), report.scores[name].brier.score, report.scores[name].log.score)
        for name, h in (("Alice", alice), ("Bob", bob))
    ]
    table = Table(f"Mean errors over {days:,} days", ("forecaster", "E[(h − p)²]", "E[(h − y)²]", "log score"), rows)
    conclusion = (
        f"Bob has the smaller error on {100 * wins:.0f} % of the days. After {days:,} days the outcomes show a "
        f"difference of {means[-1]:.4f} in favour of {pair.better}; the true one is {truth[-1]:.4f}. "
        + ("It is not clear yet." if clear is None else f"The difference is clear since day {clear:,}.")
    )
    return Findings(conclusion, checks, [table], charts)
