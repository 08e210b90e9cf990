"""Targets with negative weights: normalised Winnow cannot represent them, balanced Winnow can."""

from __future__ import annotations

import mistakebound as mb
from mistakebound.lab.charts import bound, measured
from mistakebound.lab.experiment import Check, Findings, Table, certified, doublings, experiment
from mistakebound.lab.streams import check_whole
from mistakebound.viz.chart import Axis, Chart, Level, Line

COLUMNS = ("n", "balanced", "bound", "normalised", "status of normalised")
MARGIN = 0.2


@experiment(
    "signed-targets",
    title="Negative weights need balanced Winnow",
    claim="Balanced Winnow learns targets with negative weights within its bound, and normalised Winnow does not learn "
    "them. The theorem of normalised Winnow requires u ≥ 0. Balanced Winnow doubles the features to (x, −x), and its "
    "theorem holds for every u with ‖u‖₁ = 1, with ln 2n instead of ln n.",
    setting="The target u has positive and negative weights on ten of n features, with ‖u‖₁ = 1. Each x lies in "
    f"[−1, 1]ⁿ, and y(u·x) ≥ {MARGIN}. Both learners run with the best rate for this margin.",
    theorems=("balanced-winnow", "winnow-fixed-rate"),
    quick={"n": 64, "rounds": 1000},
)
def signed_targets(*, n: int = 512, rounds: int = 6000, seed: int = 0) -> Findings:
    """Play both learners on the same rounds, for up to n features."""
    check_whole(n=(n, 32), rounds=(rounds, 500))
    rows, certificates, refused = [], [], []
    for size in doublings(16, n):
        X, y = stream = mb.streams.margin(size, rounds, MARGIN, seed, norm="l1")
        balanced, normalised = (learner("best", margin=MARGIN) for learner in (mb.BalancedWinnow, mb.NormalizedWinnow))
        ledgers = balanced.run(X, y), normalised.run(X, y)
        found = balanced.certify("balanced-winnow", comparator=stream.target, X=X, y=y)
        other = normalised.certify("winnow-fixed-rate", comparator=stream.target, X=X, y=y)
        certificates.append(found)
        refused += [f"fails: {premise.statement}" for premise in other.premises if not premise.holds]
        rows.append((size, ledgers[0].mistakes, found.bound, ledgers[1].mistakes, other.status))
    half = [int((ledger.mistake_rounds >= rounds // 2).sum()) for ledger in ledgers]
    late = f"n = {n}: {half[1]} and {half[0]} mistakes in {rounds - rounds // 2} rounds"
    statuses = {row[4] for row in rows}
    worst = max(row[1] / row[3] for row in rows)
    checks = [
        certified("balanced Winnow", *certificates),
        Check(
            "the theorem of normalised Winnow does not apply", statuses == {"does not apply"}, f"fails: {refused[0]}"
        ),
        Check("balanced Winnow makes less than a third of the mistakes", worst < 1 / 3, f"at most {worst:.1%}"),
        Check("in the second half, only normalised Winnow errs often", half[1] > rounds // 20 > half[0], late),
    ]
    over_time = Chart(
        f"Mistakes round by round, with n = {n}",
        Axis("rounds", low=0, high=rounds),
        Axis("mistakes", low=0),
        [
            _curve("normalised Winnow", ledgers[1], 0),
            _curve("balanced Winnow", ledgers[0], 1),
            Level("bound of balanced Winnow", rows[-1][2], colour=1),
        ],
    )
    sizes = [row[0] for row in rows]
    over_n = Chart(
        "Mistakes of balanced Winnow",
        Axis("features n", "log"),
        Axis("mistakes", low=0),
        [
            measured("balanced Winnow", sizes, [row[1] for row in rows], 1),
            bound("bound", sizes, [row[2] for row in rows], 1),
        ],
    )
    conclusion = (
        f"With n = {n}, balanced Winnow makes {rows[-1][1]} mistakes in {rounds:,} rounds (bound {rows[-1][2]:.4g}). "
        f"Normalised Winnow makes {rows[-1][3]:,}, {half[1]:,} of them in the second half."
    )
    return Findings(conclusion, checks, [Table("Mistakes", COLUMNS, rows)], [over_time, over_n])


def _curve(name: str, ledger: mb.Ledger, colour: int) -> Line:
    rounds = [*ledger.mistake_rounds.tolist(), ledger.rounds]
    return Line(name, [0, *rounds], [0, *range(1, len(rounds)), len(rounds) - 1], colour=colour, step=True)
