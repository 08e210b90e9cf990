"""The adversary of disjunctions: any learner makes r⌊lg(n/r)⌋ mistakes, so the bound of Winnow is near the best one."""

from __future__ import annotations

import numpy as np

import mistakebound as mb
from mistakebound.lab.charts import bound, measured
from mistakebound.lab.experiment import Check, Findings, Table, certified, doublings, experiment
from mistakebound.lab.sizes import Size, Together
from mistakebound.viz.chart import Axis, Chart
from mistakebound.viz.colours import NEUTRAL

LEARNERS = {"Winnow": mb.Winnow, "Elimination": mb.Elimination, "Perceptron": mb.Perceptron, "Panel": mb.Panel}
COLUMNS = ("n", "r", "forced", *LEARNERS, "Winnow later", "2 + 3r⌈lg n⌉", "ratio")
LATER = 20
"""How often the examples are shown again: then the rounds exceed the bound of Winnow, which can be refuted."""


@experiment(
    "disjunction-adversary",
    title="No learner of disjunctions can avoid r⌊lg(n/r)⌋ mistakes",
    claim="An adversary forces r⌊lg(n/r)⌋ mistakes from any deterministic learner, although the labels are an OR of r "
    "of n variables. Winnow's bound 2 + 3r⌈lg n⌉ is at most a small factor above what no learner can avoid.",
    setting="The variables are split into r blocks. A binary search in each block shows half of the candidates that "
    f"are left, and contradicts the prediction. Then Winnow sees the same examples and labels {LATER} more times.",
    theorems=("littlestone",),
    quick={"n": 64, "r": 4},
    sizes={"n": Size(16, 65_536), "r": Size(1, 256, "a disjunction has a variable")},
    together=(Together("r² ≤ n", lambda at: at["r"] ** 2 <= at["n"], "for larger r, fewer mistakes can be forced"),),
)
def disjunction_adversary(*, n: int = 1024, r: int = 8) -> Findings:
    """Play the adversary against four learners, with growing n."""
    rows, certificates, wrong, inconsistent = [], [], [], 0
    for size in doublings(4 * r, n):
        forced = r * ((size // r).bit_length() - 1)
        made, later, allowed = [], 0, 0.0
        for name, make in LEARNERS.items():
            learner = make(classes=(0, 1))
            played = mb.adversaries.Disjunction(size, r).play(learner)
            made.append(played.mistakes)
            truth = np.asarray(played.X[:, list(played.comparator)].sum(axis=1)).ravel() > 0  # X may be sparse
            inconsistent += int((truth != played.y).sum()) + abs(len(played.comparator) - r)
            if played.mistakes != forced:
                wrong.append(f"{name}, n = {size}: {played.mistakes}, not {forced}")
            if name == "Winnow":
                later = sum(learner.run(played.X, played.y).mistakes for _ in range(LATER))
                certificates.append(learner.certify("littlestone", comparator=played.comparator))
                allowed = certificates[-1].bound
        rows.append((size, r, forced, *made, later, allowed, allowed / forced))
    sizes = [row[0] for row in rows]
    ratio, shown = rows[-1][-1], "; ".join(wrong) or f"{rows[-1][2]} at n = {n}"
    checks = [
        Check("every learner makes exactly the forced mistakes", not wrong, shown),
        Check("the labels are an OR of r variables in every game", inconsistent == 0, f"{inconsistent} rounds are not"),
        certified("Winnow", *certificates),
        Check("Winnow's bound is at most 8 times what is forced", ratio <= 8, f"{ratio:.3g} times, n = {n}"),
    ]
    chart = Chart(
        f"Mistakes forced by the adversary, with r = {r}",
        Axis("variables n", "log"),
        Axis("mistakes", low=0),
        [
            measured("forced from any learner", sizes, [row[2] for row in rows], NEUTRAL),
            measured("Winnow, with the later passes", sizes, [row[3] + row[-3] for row in rows]),
            bound("bound of Winnow", sizes, [row[-2] for row in rows]),
        ],
    )
    conclusion = (
        f"With n = {n} and r = {r}, each of {len(LEARNERS)} learners makes the {rows[-1][2]} mistakes that are forced. "
        f"Winnow makes {rows[-1][-3]} more in {LATER} further passes; its theorem allows fewer than {rows[-1][-2]:g}."
    )
    return Findings(conclusion, checks, [Table("Mistakes", COLUMNS, rows)], [chart])
