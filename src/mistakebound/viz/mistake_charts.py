"""Charts of mistakes over time: with bounds, in windows, of several learners, and the leader of a panel."""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from mistakebound._support.text import many
from mistakebound.viz.chart import Axis, Boxes, Chart, Level, Line
from mistakebound.viz.colours import assigned
from mistakebound.viz.ticks import nice_step
from mistakebound.viz.time_axis import ROUNDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mistakebound.viz.chart import Mark
    from mistakebound.viz.time_axis import TimeAxis

    Points = Sequence[tuple[int, float]]

WINDOWS = 40
"""About so many windows are drawn, unless their width is set."""
FEWEST = 10
"""Rounds of a window at least, unless its width is set."""


class Bound(NamedTuple):
    """A bound on the mistakes, and the theorem that it is from."""

    bound: float
    theorem: str


def mistakes_chart(
    curves: Mapping[str, Points],
    bounds: Mapping[str, Bound] | None = None,
    *,
    title: str = "Mistakes, and the bounds of theorems",
    time: TimeAxis = ROUNDS,
    logarithmic: bool = True,
    totals: bool = True,
) -> Chart:
    """Return the number of mistakes against rounds, with the bound of each curve as a dashed line of the same colour.

    ``curves`` are (rounds, mistakes so far), each value lasting until the next point. Infinite bounds are not drawn.
    ``totals`` is whether the legend has the numbers at the end; a page shows them under the pointer.
    """
    marks: list[Mark] = []
    for number, (name, points) in zip(assigned([*curves]), curves.items(), strict=True):
        shown = [point for point in points if point[0] > 0 or not logarithmic]
        x, y = time.at(rounds for rounds, _ in shown), [count for _, count in shown]
        last = many(round(y[-1]), "mistake") if y else "no rounds"
        marks.append(Line(f"{name}: {last}" if totals else name, x, y, colour=number, step=True))
        found = (bounds or {}).get(name)
        if found is not None and math.isfinite(found.bound):
            words = f"at most {brief_bound(found.bound)} ({found.theorem})"
            marks.append(Level(f"{name}: {words}" if totals else words, found.bound, colour=number))
    y_axis = Axis("mistakes so far", "symlog" if logarithmic else "linear", low=0, whole=True)
    return Chart(title, time.axis(logarithmic=logarithmic), y_axis, marks)


def brief_bound(bound: float) -> str:
    """Return a bound with four digits, or as many as its integer part has.

    >>> brief_bound(41.563), brief_bound(7236.09), brief_bound(1e18)
    ('41.56', '7,236', '1e+18')
    """
    return f"{bound:,.0f}" if 1000 <= bound < 1e15 else f"{bound:.4g}"


def comparison_chart(
    curves: Mapping[str, Points], *, title: str = "Mistakes on the same stream", totals: bool = True
) -> Chart:
    """Return the number of mistakes of several learners against rounds, with their names at the ends of the lines.

    ``totals`` is whether the names have the numbers at the end; a page shows them under the pointer.
    """
    marks = []
    for name, points in curves.items():
        shown = [point for point in points if point[0] > 0]
        x, y = [rounds for rounds, _ in shown], [count for _, count in shown]
        marks.append(Line(f"{name}: {y[-1]:,.0f}" if y and totals else name, x, y))
    y_axis = Axis("mistakes so far", "symlog", low=0, whole=True)
    return Chart(title, Axis("rounds", "log", whole=True), y_axis, marks, end_labels=True)


def window_borders(rounds: int, width: int | None = None) -> list[int]:
    """Return the borders of windows of equal width, from 0 to the last round. The last window may be shorter.

    >>> window_borders(1000, 400), len(window_borders(1_000_000))
    ([0, 400, 800, 1000], 21)
    """
    step = width or max(int(nice_step(max(rounds, 1) / WINDOWS)), FEWEST)
    borders = [*range(0, rounds, step), rounds]
    # A short rest would be a noisy last window.
    if width is None and len(borders) > 2 and borders[-1] - borders[-2] < step / 2:
        del borders[-2]
    return borders


def points_at(points: Points, borders: Sequence[int]) -> list[tuple[int, float]]:
    """Return the points of a curve nearest to the borders, for a curve that does not have all rounds."""
    places = (bisect_left(points, border, key=lambda point: point[0]) for border in borders)
    return list(dict.fromkeys(points[min(place, len(points) - 1)] for place in places))


def window_chart(
    curves: Mapping[str, Points],
    *,
    title: str = "",
    time: TimeAxis = ROUNDS,
    guide: tuple[str, float] | None = None,
) -> Chart:
    """Return the mistakes per 100 rounds in each window.

    Parameters
    ----------
    curves : mapping
        {name: (rounds, mistakes so far) at the borders of its windows}.
    title : str
        The title; by default it names the width of the windows.
    time : TimeAxis
        The x axis.
    guide : (name, share of mistakes), optional
        A rate of mistakes to compare with, between 0 and 1.
    """
    marks: list[Mark] = []
    for name, points in curves.items():
        rates = [100 * (after[1] - before[1]) / (after[0] - before[0]) for before, after in pairwise(points)]
        x = time.at(rounds for rounds, _ in points)
        marks.append(Line(name, x, [*rates, *rates[-1:]] if rates else [0.0] * len(x), step=True))
    if guide is not None:
        marks.append(Level(guide[0], 100 * guide[1], colour=6))
    widths = {after[0] - before[0] for points in curves.values() for before, after in pairwise(points[:3])}
    words = (
        f"Error in windows of {many(max(widths), 'round')}" if len(widths) == 1 else "Error in windows of equal width"
    )
    return Chart(title or words, time.axis(), Axis("mistakes per 100 rounds", low=0), marks)


def leadership_chart(
    changes: Sequence[tuple[int, str]], rounds: int, *, title: str = "Leader of the panel over time"
) -> Chart:
    """Return which member of a panel had the least log loss so far: a row for each member that ever led."""
    names = list(dict.fromkeys(name for _, name in changes))
    ends = [*(begin for begin, _ in changes[1:]), rounds]
    boxes: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in names}
    for (begin, name), end in zip(changes, ends, strict=True):
        row = len(names) - 1 - names.index(name)
        boxes[name].append((max(begin, 1), max(end, 1), row - 0.32, row + 0.32))
    ticks = [(len(names) - 1.0 - k, name) for k, name in enumerate(names)]
    marks = [Boxes("", each, colour=number) for number, each in zip(assigned(names), boxes.values(), strict=True)]
    y_axis = Axis("", low=-0.6, high=len(names) - 0.4, ticks=ticks)
    return Chart(title, Axis("rounds", "log", low=1, high=max(rounds, 2), whole=True), y_axis, marks)
