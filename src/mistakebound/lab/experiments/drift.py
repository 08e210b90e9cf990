"""A target that changes: learners recover after each change, and the Panel keeps its bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import mistakebound as mb
from mistakebound._support.text import many
from mistakebound.lab.charts import curve, mistakes_so_far
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.sizes import Size, Together, limited
from mistakebound.viz.chart import Level

if TYPE_CHECKING:
    from mistakebound.lab.sizes import Sizes


def _learnable(at: Sizes) -> bool:
    return bool(at["rounds"] >= 25 * at["n"] * (at["changes"] + 1))


@experiment(
    "drift",
    title="Learners recover after the target changes",
    claim="No fixed disjunction is right in all rounds, so the bounds of Winnow do not apply. But Winnow recovers "
    "after each change. The bound of the Panel needs no fixed target: it counts the mistakes of its best member.",
    setting="The label is an OR of r of n variables. At regular intervals r other variables are chosen; the inputs "
    "look the same as before. Winnow, a Perceptron with a bias and the Panel learn it, without a parameter for drift.",
    theorems=("guarded-weighted-majority", "bayes-mixture"),
    quick={"rounds": 2000, "n": 30, "changes": 1},
    sizes={"rounds": Size(500, 500_000), "n": Size(10, 400), "r": Size(1, 5), "changes": Size(1, 100)},
    together=(
        Together("rounds ≥ 25n(changes + 1)", _learnable, "a learner needs rounds to recover in"),
        limited("n", "rounds"),
    ),
)
def drift(*, rounds: int = 6000, n: int = 60, r: int = 2, changes: int = 3, seed: int = 0) -> Findings:
    """Learn a drifting stream, and compare the halves between two changes."""
    every = -(-rounds // (changes + 1))
    stream = mb.streams.drifting(n, r, rounds, seed, every=every)
    learners: dict[str, Any] = {"Winnow": mb.Winnow(), "Perceptron": mb.Perceptron(bias=1), "Panel": mb.Panel()}
    early = np.arange(rounds) % every < every // 2
    checks, rows, lines = [], [], []
    for name, learner in learners.items():
        ledger = learner.run(stream.X, stream.y)
        wrong = np.zeros(rounds, dtype=bool)
        wrong[ledger.mistake_rounds] = True
        first, second = int(wrong[early].sum()), int(wrong[~early].sum())
        after = [int(part.sum()) for part in np.split(wrong, range(every, rounds, every))]
        rows.append((name, ledger.mistakes, first, second, *after))
        lines.append(curve(name, ledger.mistake_curve))
        statement = f"{name} recovers: the second halves have less than half of the mistakes of the first"
        checks.append(Check(statement, 2 * second < first, f"{second} and {first}"))
    fixed = learners["Winnow"].certify("littlestone", list(stream.target[0][1]), X=stream.X, y=stream.y)
    refused = fixed.status == "does not apply"
    checks.append(Check("the theorem of Winnow does not apply to the first target", refused, fixed.meaning()))
    panel = learners["Panel"]
    guard = panel.certify("guarded-weighted-majority")
    checks += [certified("Panel", guard), certified("Panel", panel.certify("bayes-mixture"))]
    changed = [Level("", float(first), along="x", guide=True) for first, _ in stream.target[1:]]
    chart = mistakes_so_far(
        "Mistakes while the target changes",
        [*lines, Level("bound of the Panel", guard.bound), *changed],
        note="The vertical lines are the changes of the target.",
    )
    targets = [f"target {number}" for number, _ in enumerate(stream.target, 1)]
    columns = ("learner", "mistakes", "first halves", "second halves", *targets)
    found = {row[0]: row for row in rows}
    conclusion = (
        f"After {many(len(changed), 'change')} in {rounds:,} rounds, Winnow has made {found['Winnow'][1]} mistakes, "
        f"the Panel {found['Panel'][1]} (its bound: {guard.bound:.0f}) and the Perceptron {found['Perceptron'][1]}. "
        f"Mistakes in the second halves after a change: Winnow {found['Winnow'][3]}, Panel {found['Panel'][3]}."
    )
    return Findings(conclusion, checks, [Table("Mistakes", columns, rows)], [chart])
