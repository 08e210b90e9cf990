"""The multiclass Perceptron: mistakes and its bound as the margin varies."""

from __future__ import annotations

import numpy as np

import mistakebound as mb
from mistakebound.lab.charts import line
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.sizes import Size, Together, limited, share
from mistakebound.viz.chart import Axis, Chart
from mistakebound.viz.colours import colour_of


@experiment(
    "multiclass",
    title="Several classes: the bound does not depend on their number",
    claim="If a matrix U, with a row for each class, scores the label at least γ above every other class, the "
    "multiclass Perceptron makes at most 2(R‖U‖/γ)² mistakes after its first round.",
    setting="Points of norm 1 in n dimensions, with k classes. The planted U has norm 1, and its margin γ varies. The "
    "certificate checks the margin of U in all rounds.",
    theorems=("multiclass-perceptron",),
    quick={"rounds": 1000, "n": 20, "k": 4},
    sizes={"rounds": Size(500, 200_000), "n": Size(4, 2000), "k": Size(2, 100)},
    together=(
        share("k", "n", 1, "the rows of U are orthogonal"),
        Together("rounds ≥ 100k", lambda at: at["rounds"] >= 100 * at["k"], "the margins would hardly differ"),
        limited("n", "rounds"),
    ),
)
def multiclass(*, rounds: int = 4000, n: int = 40, k: int = 6, seed: int = 0) -> Findings:
    """Learn streams with several margins, for which the bound is at most two thirds of the rounds."""
    rows, checks = [], []
    for margin in np.geomspace((3 / rounds) ** 0.5, 0.9 / k**0.5, 7).tolist():
        stream = mb.streams.classes(n, k, rounds, margin, seed)
        learner = mb.MulticlassPerceptron()
        mistakes = learner.run(stream.X, stream.y).mistakes
        u = dict(enumerate(stream.target))
        certificate = learner.certify("multiclass-perceptron", u, X=stream.X, y=stream.y)
        rows.append((margin, mistakes, certificate.bound, mistakes / certificate.bound))
        checks.append(certified(f"γ = {margin:.3f}", certificate))
    (least, most, *_), (largest, fewest, *_) = rows[0], rows[-1]
    checks.append(Check("a larger margin means fewer mistakes", most > fewest, f"{most} and {fewest}"))
    chart = Chart(
        f"Mistakes with {k} classes",
        Axis("margin γ", "log"),
        Axis("mistakes", "log"),
        [
            line("multiclass Perceptron", rows, 0, 1),
            line("bound 2(R‖U‖/γ)²", rows, 0, 2, colour=colour_of("multiclass Perceptron"), dashed=True),
        ],
    )
    table = Table(f"Mistakes in {rounds:,} rounds", ("γ", "mistakes", "bound", "mistakes / bound"), rows)
    conclusion = (
        f"With {k} classes, a margin of {least:.3f} costs {most} mistakes, and one of {largest:.3f} costs {fewest}. "
        f"The mistakes reach at most {100 * max(row[3] for row in rows):.0f} % of the bound."
    )
    return Findings(conclusion, checks, [table], [chart])
