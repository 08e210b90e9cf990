"""The proofs, step by step: what each mistake does to the potential, beside the line of the lemma."""

from __future__ import annotations

import mistakebound as mb
from mistakebound.lab import potentials
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.sizes import Size, limited
from mistakebound.viz.chart import Axis, Chart, Level
from mistakebound.viz.colours import NEUTRAL

GAMMA, PANEL, NOISE = 0.15, 5, 0.05
COLUMNS = ("learner", "inequality of the lemma", "mistakes", "value at the end", "line of the lemma")


@experiment(
    "potential",
    title="Every mistake moves the potential",
    claim="Each mistake changes the potential of the proof by at least the amount in its lemma. Perceptron: at most "
    "‖x‖² is added to ‖z‖², and at least γ to u·z. Winnow: RE(u‖w) falls by at least C. Weighted Majority: the total "
    "weight W falls to at most W(1+β)/2. Each potential has a limit, which the line of the lemma reaches at the bound.",
    setting=f"Perceptron: points of norm 1 with margin γ = {GAMMA}. Winnow: n experts, the majority of {PANEL} is "
    f"right. Weighted Majority with β = 1/2: a tenth of the rounds; one expert errs in {100 * NOISE:g} % of them, and "
    "the others flip coins.",
    theorems=("novikoff", "winnow-fixed-rate", "weighted-majority"),
    quick={"n": 32, "rounds": 2000},
    sizes={"n": Size(16, 3000), "rounds": Size(2000, 200_000)},
    together=(limited("n", "rounds"),),
)
def potential(*, n: int = 200, rounds: int = 6000, seed: int = 0) -> Findings:
    """Replay the mistakes of three learners, and compare each step with the lemma of its theorem."""
    noisy = mb.streams.label_noise(mb.streams.panel(n, 1, rounds // 10, seed), NOISE, seed)
    parts = {
        "Perceptron": potentials.perceptron(mb.streams.margin(n, rounds, GAMMA, seed)),
        "Winnow": potentials.winnow(mb.streams.panel(n, PANEL, rounds, seed)),
        "Weighted Majority": potentials.majority(noisy),
    }
    axes = {
        "Perceptron": ("u·z ≤ ‖z‖, but it grows faster", Axis("u·z and ‖z‖", low=0)),
        "Winnow": ("RE(u‖w) falls, but not below 0", Axis("RE(u‖w)", low=0)),
        "Weighted Majority": ("W falls, but not below the weight of the best expert", Axis("weight", "log")),
    }
    checks, rows, charts = [], [], []
    for name, part in parts.items():
        checks.append(certified(name, part.certificate))
        for each in part.potentials:
            checks.append(Check(f"{name}: {each.inequality} at each mistake", each.holds, each.least_slack()))
            rows.append((name, each.inequality, len(each.slacks), each.values[-1], each.line[-1]))
        limit = Level("bound on the mistakes", part.certificate.bound, along="x", colour=NEUTRAL)
        title, y = axes[name]
        charts.append(Chart(f"{name}: {title}", Axis("mistakes", low=0), y, [*part.marks, limit]))
    conclusion = f"The {len(rows)} inequalities were evaluated {sum(row[2] for row in rows)} times, at each mistake."
    return Findings(conclusion, checks, [Table("The lemmas", COLUMNS, rows)], charts)
