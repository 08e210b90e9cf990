"""The adversary of unit vectors: the bound of the Perceptron cannot be improved."""

from __future__ import annotations

import mistakebound as mb
from mistakebound.lab.charts import bound
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.sizes import Size
from mistakebound.viz.chart import Axis, Chart, Line
from mistakebound.viz.colours import colour_of


@experiment(
    "unit-vectors",
    title="The bound of the Perceptron is tight",
    claim="An adversary forces k mistakes from any deterministic learner, although a vector of norm 1 separates the "
    "labels with margin γ = 1/√k. Novikoff's theorem allows the Perceptron (1/γ)² = k mistakes, and it makes k.",
    setting="In round i the adversary shows the unit vector e_i, and the label is the opposite of the prediction. Then "
    "the same k examples are shown three more times, with the same labels.",
    theorems=("novikoff",),
    quick={"k": 40},
    sizes={"k": Size(1, 20_000, "the adversary shows at least one vector")},
)
def unit_vectors(*, k: int = 400) -> Findings:
    """Play the adversary with several k, up to the one that is passed, against the Perceptron."""
    sizes = sorted({max(1, round(k * share)) for share in (0.05, 0.1, 0.25, 0.5, 0.75, 1)})
    rows, certificates = [], []
    for size in sizes:
        learner = mb.Perceptron()
        played = mb.adversaries.UnitVectors(size).play(learner)
        later = sum(learner.run(played.X, played.y).mistakes for _ in range(3))
        certificates.append(learner.certify(theorem="novikoff", comparator=played.comparator))
        rows.append((size, played.mistakes, later, certificates[-1].bound))
    _, mistakes, _, allowed = rows[-1]
    checks = [
        Check("the adversary forces k mistakes, for each k", [row[1] for row in rows] == sizes, f"k = {k}: {mistakes}"),
        Check(
            "there are none in the later passes",
            all(row[2] == 0 for row in rows),
            f"{sum(row[2] for row in rows)}",
        ),
        certified("Perceptron", *certificates),
    ]
    chart = Chart(
        "Mistakes of the Perceptron against the adversary",
        Axis("k = 1/γ²", low=0),
        Axis("mistakes", low=0),
        [
            Line("Perceptron", sizes, [row[1] for row in rows], dots=True, joined=False),
            bound("bound of Novikoff", sizes, [row[3] for row in rows], colour_of("Perceptron")),
        ],
    )
    table = Table("Mistakes forced by the adversary", ("k", "mistakes", "mistakes later", "bound"), rows)
    conclusion = f"With k = {k} the Perceptron makes {mistakes} mistakes, and the theorem allows {allowed:g}."
    return Findings(conclusion, checks, [table], [chart])
