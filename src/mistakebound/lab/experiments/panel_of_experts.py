"""The majority of k among n experts: nk mistakes for the Perceptron, 2k² ln n for Winnow."""

from __future__ import annotations

from itertools import count

import mistakebound as mb
from mistakebound.lab.charts import beside_bound
from mistakebound.lab.experiment import Check, Findings, Table, certified, doublings, experiment
from mistakebound.lab.playing import run_and_certify
from mistakebound.lab.sizes import Size, fits, share
from mistakebound.viz.chart import Axis, Chart, Level, Mark
from mistakebound.viz.colours import NEUTRAL

COLUMNS = ("k", "n", "rounds", "Perceptron", "nk", "Winnow", "2k² ln n")


@experiment(
    "panel-of-experts",
    title="A panel among many experts: Perceptron and Winnow",
    claim="If the majority of k of n experts is always right, the Perceptron makes at most nk mistakes, and Winnow at "
    "most 2k² ln n. Winnow's bound is the smaller one if n is large in comparison with k.",
    setting="n experts vote −1 or +1 by fair coin flips, and the label is the majority of k of them. Both learners see "
    "the same rounds, twice as many as the larger bound. Winnow (normalised) runs with the best rate for γ = 1/k.",
    theorems=("perceptron-panel", "winnow-panel"),
    quick={"n": 128, "k": 5},
    sizes={"n": Size(128, 1800), "k": Size(3, 33, odd=True)},
    together=(
        share("k", "n", 16, "the mistakes are compared from about n = 2k on"),
        fits("2n·max(nk, 2k² ln n)", lambda at: 2 * at["n"] * max(_bounds(at["n"], at["k"]))),
    ),
)
def panel_of_experts(*, n: int = 512, k: int = 9, seed: int = 0) -> Findings:
    """Measure both learners for up to n experts, and for three sizes of the panel up to k."""
    rows, checks, crossings, charts = [], [], [], []
    for size in sorted({k // 3 | 1, k // 2 | 1, k}):
        played = [_play(size, each, seed) for each in doublings(max(8, size + 1), n)]
        rows += [row for row, _, _ in played]
        checks += [certified(f"k = {size}, Perceptron", *(first for _, first, _ in played))]
        checks += [certified(f"k = {size}, Winnow", *(second for _, _, second in played))]
        _, sizes, _, slow, slow_bounds, fast, fast_bounds = map(list, zip(*(row for row, _, _ in played), strict=True))
        ahead = f"{fast[-1]:,} and {slow[-1]:,}"
        checks.append(Check(f"k = {size}, n = {n}: Winnow makes fewer mistakes", fast[-1] < slow[-1], ahead))
        grows = [ends[-1] / max(ends[1], 1) for ends in (fast, slow)]
        growth = f"from n = {sizes[1]} to {n}: ×{grows[0]:.3g}, and ×{grows[1]:.3g} for the Perceptron"
        checks.append(Check(f"k = {size}: Winnow's mistakes grow more slowly with n", grows[0] < grows[1], growth))
        crossings.append((size, _crossing(size), _measured(sizes, slow, fast)))
        marks: list[Mark] = [*beside_bound("Perceptron", "nk", sizes, slow, slow_bounds)]
        marks += beside_bound("Winnow", "2k² ln n", sizes, fast, fast_bounds)
        if sizes[0] <= crossings[-1][1] <= n:
            marks.append(Level("the bounds cross", crossings[-1][1], along="x", colour=NEUTRAL))
        charts.append(Chart(f"A panel of size k = {size}", Axis("experts n", "log"), Axis("mistakes", "log"), marks))
    crossed = Table("Where Winnow gets better than the Perceptron", ("k", "bounds cross at n", "measured"), crossings)
    conclusion = (
        f"For k = {k} the bounds cross at n = {crossings[-1][1]}. Measured, {crossings[-1][2]}. With n = {n}, Winnow "
        f"makes {rows[-1][5]:,} mistakes, and the Perceptron {rows[-1][3]:,}."
    )
    return Findings(conclusion, checks, [Table("Mistakes", COLUMNS, rows), crossed], charts)


def _play(k: int, n: int, seed: int) -> tuple[tuple[float, ...], mb.Certificate, mb.Certificate]:
    stream = mb.streams.panel(n, k, int(2 * max(_bounds(n, k))), seed)
    learners = {"perceptron-panel": mb.Perceptron(), "winnow-panel": mb.NormalizedWinnow("best", margin=1 / k)}
    numbers, (first, second) = run_and_certify(stream, learners)
    return (k, n, *numbers), first, second


def _bounds(n: int, k: int) -> tuple[float, float]:
    return mb.bounds.perceptron_panel(n, k), mb.bounds.winnow_panel(n, k)


def _crossing(k: int) -> int:
    """Return the least n from which Winnow's bound is below the Perceptron's: n/ln n increases from 3 on."""
    return next(n for n in count(max(k, 3)) if mb.bounds.winnow_panel(n, k) < mb.bounds.perceptron_panel(n, k))


def _measured(sizes: list[int], slow: list[int], fast: list[int]) -> str:
    behind = [n for n, first, second in zip(sizes, slow, fast, strict=True) if second >= first]
    never = f"the curves do not cross: Winnow makes fewer mistakes at each n from {sizes[0]} on"
    return f"the curves cross above n = {behind[-1]}" if behind else never
