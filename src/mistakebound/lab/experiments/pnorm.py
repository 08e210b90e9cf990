"""The p-norm Perceptron: p = 2 is the Perceptron, p = 2 ln n behaves like Winnow."""

from __future__ import annotations

import math

import numpy as np

import mistakebound as mb
from mistakebound.lab.charts import beside_bound
from mistakebound.lab.experiment import Check, Findings, Table, cell, certified, experiment
from mistakebound.lab.experiment_streams import dense_signs
from mistakebound.lab.sizes import Size, fits, share
from mistakebound.theorems.base import indicator
from mistakebound.theorems.pnorm import dual_norm
from mistakebound.viz.chart import Axis, Chart

COLUMNS = ("target", "p", "mistakes", "bound", "‖u‖_q", "rounds")


@experiment(
    "pnorm",
    title="From the Perceptron to Winnow with one parameter",
    claim="The p-norm Perceptron makes at most (p−1)(X‖u‖_q/γ)² mistakes, where ‖x‖_p ≤ X and 1/p + 1/q = 1. With "
    "p = 2 it is the Perceptron, which is good if the target is dense and examples are sparse. With p = 2 ln n its "
    "bound is like that of Winnow, which is good if the target is sparse and examples are dense.",
    setting="Sparse target: n experts vote −1 or +1, and the label is the majority of k of them. Dense target: every "
    "feature has a weight −1 or +1, 2k + 1 features of an example are −1 or +1, and the label is the sign of the sum.",
    theorems=("pnorm",),
    quick={"n": 64},
    sizes={"n": Size(60, 170), "k": Size(3, 7, odd=True)},
    together=(
        share("k", "n", 20, "a sparse target has few of the n features"),
        fits("n·rounds", lambda at: at["n"] * _rounds(at["n"], at["k"]), 40_000_000),
    ),
)
def pnorm(*, n: int = 100, k: int = 3, seed: int = 0) -> Findings:
    """Measure several p on a stream with a sparse target and on one with a dense target."""
    powers = _powers(n)
    rows, checks, charts, ends = [], [], [], []
    for name, dense in (("sparse", False), ("dense", True)):
        stream = (dense_signs if dense else mb.streams.panel)(n, k, _rounds(n, k, dense=dense), seed)
        u = stream.target if dense else indicator(stream.target, n)
        certificates = []
        for p in powers:
            learner = mb.PNormPerceptron(p)
            mistakes = learner.run(stream.X, stream.y).mistakes
            certificates.append(learner.certify("pnorm", comparator=u, X=stream.X, y=stream.y))
            rows.append((name, p, mistakes, certificates[-1].bound, dual_norm(u, p), len(stream)))
        here = rows[-len(powers) :]
        checks.append(certified(f"{name} target", *certificates))
        first, last = here[0], here[-1]
        ends.append((first, last))
        best, other = (first, last) if dense else (last, first)
        compared = f"{best[2]:,} and {other[2]:,} mistakes; bounds {cell(best[3])} and {cell(other[3])}"
        better = best[2] < other[2] and best[3] < other[3]
        checks.append(Check(f"{name} target: p = {best[1]:g} is better than p = {other[1]:g}", better, compared))
        lines = beside_bound("p-norm Perceptron", "bound", powers, [row[2] for row in here], [row[3] for row in here])
        charts.append(Chart(f"A {name} target", Axis("p"), Axis("mistakes", "log"), lines))
    conclusion = " ".join(
        f"On the {first[0]} target, p = 2 makes {first[2]:,} mistakes, and p = {last[1]:g} makes {last[2]:,}."
        for first, last in ends
    )
    return Findings(conclusion, checks, [Table("Mistakes", COLUMNS, rows)], charts)


def _powers(n: int) -> list[float]:
    return sorted({2.0, 2.5, 3.0, 4.0, 6.0, round(2 * math.log(n), 2)})


def _rounds(n: int, k: int, *, dense: bool = True) -> int:
    """Return one and a half times the largest bound."""
    radius, norm = (2 * k + 1, n) if dense else (n, k)  # numbers of entries ±1 of x and of u
    ones = np.ones(norm)
    return int(1.5 * max(mb.bounds.pnorm(p, radius ** (1 / p), dual_norm(ones, p), 1.0) for p in _powers(n)))
