"""Disjunctions of r variables: Winnow's mistakes grow with r and with lg n, those of Elimination with n."""

from __future__ import annotations

import mistakebound as mb
from mistakebound.lab.charts import bound, measured
from mistakebound.lab.experiment import Check, Findings, Table, certified, doublings, experiment
from mistakebound.lab.playing import run_and_certify
from mistakebound.lab.sizes import Size, limited, share
from mistakebound.viz.chart import Axis, Chart
from mistakebound.viz.colours import colour_of

COLUMNS = ("n", "r", "rounds", "Winnow", "2 + 3r⌈lg n⌉", "Elimination", "n − r")
ACTIVE = 1.0
"""Mean number of irrelevant variables that are 1 in a round. With few of them, Elimination removes few at once."""


@experiment(
    "disjunctions",
    title="Many irrelevant variables cost Winnow few mistakes",
    claim="If the label is an OR of r of n variables, Winnow makes fewer than 2 + 3r⌈lg n⌉ mistakes (Littlestone), and "
    "Elimination at most n − r. Many irrelevant variables hardly matter to Winnow, but many relevant ones do.",
    setting="Each variable of the OR is 1 so often that half of the labels are positive. Of the other "
    "variables, one is 1 on average. Both learners see the same 20n rounds.",
    theorems=("littlestone", "elimination"),
    quick={"n": 256, "r": 8},
    sizes={"n": Size(256, 262_144), "r": Size(4, 500)},
    together=(share("r", "n", 16, "the claim is about many irrelevant variables"), limited("n", "r", most=16_000_000)),
)
def disjunctions(*, n: int = 8192, r: int = 64, seed: int = 0) -> Findings:
    """Measure both learners for growing n at a small r, and for growing r at a small n."""
    few, many = max(1, r // 16), max(4 * r, n // 32)
    by_n = [_play(each, few, seed) for each in doublings(max(16, 4 * few), n)]
    by_r = [_play(many, each, seed) for each in doublings(1, r)]
    both = [*by_n, *by_r]
    wide, thin = ([row for row, _, _ in each] for each in (by_n, by_r))
    winnow, other = wide[-1][3] / wide[0][3], wide[-1][5] / wide[0][5]
    grows = f"from n = {wide[0][0]:,} to {n:,}: ×{winnow:.3g}, and ×{other:.3g} for Elimination"
    ahead = f"{wide[-1][3]:,} and {wide[-1][5]:,}"
    checks = [
        certified("Winnow", *(certificate for _, certificate, _ in both)),
        certified("Elimination", *(certificate for _, _, certificate in both)),
        Check("Winnow's mistakes grow far more slowly with n", winnow < other / 4, grows),
        Check(f"n = {n:,}, r = {few}: Winnow makes fewer", wide[-1][3] < wide[-1][5], ahead),
        Check("Winnow's mistakes grow with r", thin[-1][3] > thin[0][3], f"from {thin[0][3]} to {thin[-1][3]}"),
    ]
    above = next((row[1] for row in thin if row[3] > row[5]), None)
    behind = "at no r" if above is None else f"from r = {above} on"
    charts = [
        _chart(f"Growing n, with r = {few}", Axis("variables n", "log"), wide, 0),
        _chart(f"Growing r, with n = {many}", Axis("relevant variables r", "log"), thin, 1),
    ]
    conclusion = (
        f"With n = {n:,} and r = {few}, Winnow makes {wide[-1][3]:,} mistakes (bound {wide[-1][4]:,g}), and "
        f"Elimination {wide[-1][5]:,}. With n = {many:,}, Winnow makes more mistakes than Elimination {behind}."
    )
    return Findings(conclusion, checks, [Table("Mistakes", COLUMNS, [*wide, *thin])], charts)


def _play(n: int, r: int, seed: int) -> tuple[tuple[float, ...], mb.Certificate, mb.Certificate]:
    stream = mb.streams.disjunction(n, r, max(20 * n, 1000), seed, sparse=True, density=ACTIVE / n)
    numbers, (first, second) = run_and_certify(stream, {"littlestone": mb.Winnow(), "elimination": mb.Elimination()})
    return (n, r, *numbers), first, second


def _chart(title: str, x: Axis, rows: list[tuple[float, ...]], column: int) -> Chart:
    at = [row[column] for row in rows]
    lines = [
        (measured if number % 2 else bound)(COLUMNS[number], at, [row[number] for row in rows], colour_of(learner))
        for learner, numbers in {"Winnow": (3, 4), "Elimination": (5, 6)}.items()
        for number in numbers
    ]
    return Chart(title, x, Axis("mistakes", "log"), lines)
