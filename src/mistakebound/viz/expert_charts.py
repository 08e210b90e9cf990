"""Charts of experts: weights over time, regret against the best expert, and the potential of a proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mistakebound.viz.chart import Axis, Band, Chart, Level, Line
from mistakebound.viz.colours import NEUTRAL, assigned
from mistakebound.viz.time_axis import ROUNDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.viz.chart import Mark
    from mistakebound.viz.time_axis import TimeAxis

MOST_EXPERTS = 6
"""Experts with an area of their own at most; the others share one, so that all areas differ in colour."""
MOST_POINTS = 2000
"""Points of a line at most."""
FAR = 3
"""A bound above this multiple of the largest regret gets its own chart; beside it, the regret could not be seen."""


def thinned_rounds(rounds: int, most: int = MOST_POINTS) -> IntArray:
    """Return rounds, 0-based and evenly spaced, the first and the last included."""
    return np.unique(np.linspace(0, max(rounds - 1, 0), min(rounds, most)).astype(np.int64))


def weights_chart(
    rounds: Sequence[int],
    weights: FloatArray,
    names: Sequence[str],
    *,
    title: str,
    time: TimeAxis = ROUNDS,
    stacked: bool = True,
    note: str = "",
) -> Chart:
    """Return an area for each of the experts with the largest mean weight, and one for all others.

    Parameters
    ----------
    rounds, weights : array
        0-based rounds, and the weights of the experts in each of them. If a weight is below 0, they are lines, which
        have gaps where a weight is NaN.
    names : sequence of str
        The names of the experts.
    title : str
        The title.
    time : TimeAxis
        The x axis.
    stacked : bool
        Whether to draw areas, one above the other; otherwise lines.
    note : str
        A sentence below the chart.
    """
    begins = np.asarray(rounds).tolist()
    x = time.at([number + 1 for number in begins])
    known = np.nan_to_num(weights)
    order = np.argsort(-np.abs(known).mean(axis=0), kind="stable").tolist()
    largest = order if len(order) == MOST_EXPERTS + 1 else order[:MOST_EXPERTS]  # not a sum of one
    others = order[len(largest) :]
    name_of_others = f"{len(others)} others"
    marks: list[Mark] = []
    if not stacked or known.min(initial=0) < 0:
        marks = [Line(names[k], x, weights[:, k].tolist()) for k in largest]
        if others:
            rest = known[:, others].sum(axis=1).tolist()
            marks.append(Line(f"{name_of_others}, together", x, rest, colour=NEUTRAL))
        low = 0.0 if known.min(initial=0) >= 0 else None
        marks += [Level("no weight", 0.0, guide=True)] if low is None else []
        return Chart(title, time.axis(), Axis("weight", low=low), marks, note)
    x = time.at([*begins, begins[-1] + 1])  # an area lasts until the end of the round
    weights = np.concatenate([weights, weights[-1:]])
    bottom = np.zeros(len(x))
    for k in largest:
        top = np.minimum(bottom + weights[:, k], 1.0)
        marks.append(Band(names[k], x, bottom.tolist(), top.tolist(), step=True, solid=True))
        bottom = top
    if others:
        total = np.maximum(np.minimum(weights.sum(axis=1), 1.0), bottom)
        band = Band(name_of_others, x, bottom.tolist(), total.tolist(), colour=NEUTRAL, step=True, solid=True)
        marks.append(band)
    return Chart(title, time.axis(), Axis("weight", low=0, high=1), marks, note)


def regret_chart(
    regrets: Mapping[str, FloatArray],
    *,
    title: str,
    bounds: Sequence[tuple[int, float]] = (),
    bound_name: str = "",
    time: TimeAxis = ROUNDS,
    note: str = "",
    end_labels: bool = False,
) -> Chart:
    """Return the regret of each rule after each round; the bounds belong to the first rule."""
    marks: list[Mark] = [Level("no regret", 0.0, guide=True)]
    numbers = assigned([*regrets])
    for number, (rule, regret) in zip(numbers, regrets.items(), strict=True):
        at = thinned_rounds(len(regret))
        marks.append(Line(rule, time.at((at + 1).tolist()), np.asarray(regret)[at].tolist(), colour=number))
    if bounds:
        at_rounds, values = zip(*bounds, strict=True)
        marks.append(Line(bound_name, time.at(at_rounds), values, colour=numbers[0], dashed=True, dots=True))
    return Chart(title, time.axis(), Axis("regret"), marks, note, end_labels=end_labels)


def potential_chart(
    curves: Mapping[str, Sequence[float]],
    limits: Mapping[str, Sequence[float]] | None = None,
    *,
    title: str = "Potential after each mistake",
    of: str = "mistakes",
) -> Chart:
    """Return the potential of a proof after each mistake (or round), and its limits as dashed lines.

    The first limit has the colour of the first potential, and so on.
    """
    numbers = assigned([*curves])
    marks: list[Mark] = [
        Line(name, range(len(values)), values, colour=number)
        for number, (name, values) in zip(numbers, curves.items(), strict=True)
    ]
    marks += [
        Line(name, range(len(values)), values, colour=number, dashed=True)
        for number, (name, values) in zip([*numbers, *range(len(limits or {}))], (limits or {}).items(), strict=False)
    ]
    return Chart(title, Axis(of, low=0, whole=True), Axis("potential"), marks)
