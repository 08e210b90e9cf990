"""Targets with negative weights: normalised Winnow cannot represent them, balanced Winnow can."""

from __future__ import annotations

import numpy as np

import mistakebound as mb
from mistakebound.lab.charts import bound, measured, mistakes_over_time
from mistakebound.lab.experiment import Check, Findings, Table, certified, doublings, experiment
from mistakebound.lab.sizes import Size, limited
from mistakebound.theorems.base import indicator
from mistakebound.viz.chart import Axis, Chart, Level, Mark
from mistakebound.viz.colours import colour_of

COLUMNS = ("n", "balanced", "bound", "normalised", "status of normalised")
PANEL, OPPOSITE = 5, 2


@experiment(
    "signed-targets",
    title="Negative weights need balanced Winnow",
    claim="Balanced Winnow learns targets with negative weights within its bound, and normalised Winnow does not learn "
    "them. The theorem of normalised Winnow requires u ≥ 0. Balanced Winnow doubles the features to (x, −x), and its "
    "theorem holds for every u with ‖u‖₁ = 1, with ln 2n instead of ln n.",
    setting=f"n experts vote −1 or +1. The label is the majority of {PANEL} of them, and {OPPOSITE} of these count "
    f"with the opposite sign: u is ±1/{PANEL} on them, and γ = 1/{PANEL}. Both learners run with the best rate for γ.",
    theorems=("balanced-winnow", "winnow-fixed-rate"),
    quick={"n": 64, "rounds": 1000},
    sizes={"n": Size(32, 10_000), "rounds": Size(1000, 200_000)},
    together=(limited("n", "rounds", most=10_000_000),),
)
def signed_targets(*, n: int = 512, rounds: int = 6000, seed: int = 0) -> Findings:
    """Play both learners on the same rounds, for up to n features."""
    rows, certificates, refused = [], [], []
    for size in doublings(16, n):
        stream, signs = mb.streams.panel(size, PANEL, rounds, seed), np.ones(size)
        signs[list(stream.target[:OPPOSITE])] = -1
        X, y, u = stream.X * signs, stream.y, signs * indicator(stream.target, size) / PANEL
        learners = mb.BalancedWinnow("best", margin=1 / PANEL), mb.NormalizedWinnow("best", margin=1 / PANEL)
        ledgers = [learner.run(X, y) for learner in learners]
        certificates.append(learners[0].certify("balanced-winnow", comparator=u, X=X, y=y))
        other = learners[1].certify("winnow-fixed-rate", comparator=u, X=X, y=y)
        refused += [f"fails: {premise.statement}" for premise in other.premises if not premise.holds]
        rows.append((size, ledgers[0].mistakes, certificates[-1].bound, ledgers[1].mistakes, other.status))
    half = [int((ledger.mistake_rounds >= rounds // 2).sum()) for ledger in ledgers]
    late = f"n = {n}: {half[1]} and {half[0]} mistakes in {rounds - rounds // 2} rounds"
    statuses = {row[4] for row in rows}
    worst = max(row[1] / row[3] for row in rows)
    checks = [
        certified("balanced Winnow", *certificates),
        Check("the theorem of normalised Winnow does not apply", statuses == {"does not apply"}, refused[0]),
        Check("balanced Winnow makes less than half of the mistakes", worst < 1 / 2, f"at most {100 * worst:.3g} %"),
        Check("in the second half, only normalised Winnow errs often", half[1] > rounds // 20 > half[0], late),
    ]
    curves: list[Mark] = [
        mistakes_over_time("normalised Winnow", ledgers[1]),
        mistakes_over_time("balanced Winnow", ledgers[0]),
        Level("bound of balanced Winnow", rows[-1][2]),
    ]
    sizes = [row[0] for row in rows]
    grows = [
        measured("balanced Winnow", sizes, [row[1] for row in rows]),
        bound("bound", sizes, [row[2] for row in rows], colour_of("balanced Winnow")),
    ]
    charts = [
        Chart(f"Mistakes round by round, with n = {n}", Axis("rounds", low=0), Axis("mistakes", low=0), curves),
        Chart("Mistakes of balanced Winnow", Axis("features n", "log"), Axis("mistakes", low=0), grows),
    ]
    conclusion = (
        f"With n = {n}, balanced Winnow makes {rows[-1][1]} mistakes in {rounds:,} rounds (bound {rows[-1][2]:.4g}). "
        f"Normalised Winnow makes {rows[-1][3]:,}, {half[1]:,} of them in the second half."
    )
    return Findings(conclusion, checks, [Table("Mistakes", COLUMNS, rows)], charts)
