"""Draw a chart with characters, for a terminal."""

from __future__ import annotations

import math
from itertools import pairwise, product
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from mistakebound._support.text import escaped
from mistakebound.viz.chart import Boxes, Level, Line, coloured, limits, position
from mistakebound.viz.ticks import brief

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.viz.chart import Axis, Chart

SIGNS = "●■▲◆○□△"
DASH = "·"
LEFT = 10
"""Columns for the numbers of the y axis."""


class Piece(NamedTuple):
    """A piece of a line of text, and the number of its colour; None is the colour of text."""

    text: str
    colour: int | None = None


class Grid(NamedTuple):
    """The cells between the axes, and the limits of the numbers on them."""

    chart: Chart
    columns: int
    rows: int
    x: tuple[float, float]
    y: tuple[float, float]

    def cell(self, x: float, y: float) -> tuple[float, float] | None:
        """Return where a point lies, in columns and rows; None if it is not finite."""
        across, up = _share(x, self.x, self.chart.x), _share(y, self.y, self.chart.y)
        return (across * (self.columns - 1), up * (self.rows - 1)) if math.isfinite(across + up) else None


def text_chart(chart: Chart, width: int = 78, height: int = 14) -> list[list[Piece]]:
    """Return a chart as lines of text: title, lines and bars between axes, legend. Bands and guides are left out.

    >>> from mistakebound.viz.chart import Axis, Chart, Line
    >>> chart = Chart("A title", Axis("x"), Axis("y"), [Line("a", [0, 1, 2], [0, 1, 2])])
    >>> for line in text_chart(chart, width=30, height=4):
    ...     print("".join(piece.text for piece in line).rstrip())
    A title
           2.1 ┤               ●●●
               │         ●●●●●●
             y │    ●●●●●
             0 ┤●●●●
               └──────────────────
                0       x        2
    ● a
    """
    x, y = limits(chart)
    grid = Grid(chart, width - LEFT - 2, height, x, y)
    cells: dict[tuple[int, int], Piece] = {}
    legend: list[Piece] = []
    drawn = [
        (mark, colour)
        for mark, colour in coloured(chart)
        if isinstance(mark, (Line, Level, Boxes)) and colour is not None
    ]
    for mark, colour in sorted(drawn, key=lambda each: not _is_dashed(each[0])):  # solid lines hide dashed ones
        sign = DASH if _is_dashed(mark) else SIGNS[colour % len(SIGNS)]
        cells |= dict.fromkeys(_cells(grid, mark), Piece(sign, colour))
    for mark, colour in drawn:
        sign = DASH * 3 if _is_dashed(mark) else SIGNS[colour % len(SIGNS)]
        legend.append(Piece(f"{sign} {escaped(mark.name)}", colour))
    numbers = {height - 1: brief(float(f"{y[1]:.3g}")), 0: brief(float(f"{y[0]:.3g}"))}
    lines = [[Piece(escaped(chart.title))]]
    label = wrap(_label(chart.y), LEFT)[: height - 2]
    top = (height - 1) // 2 + len(label) // 2  # the row of its first line
    beside = dict(zip(range(top, 0, -1), label, strict=False))
    for row in range(height - 1, -1, -1):
        words = numbers.get(row) or beside.get(row, "")
        start = Piece(f"{words:>{LEFT}} {'┤' if row in numbers else '│'}")
        lines.append([start, *(cells.get((column, row), Piece(" ")) for column in range(grid.columns))])
    lines.append([Piece(f"{'':{LEFT}} └{'─' * grid.columns}")])
    lines += [[Piece(f"{'':{LEFT}}  {words}")] for words in _below(grid)]
    return [*lines, *_wrapped(legend, width)]


def _below(grid: Grid) -> list[str]:
    """Return the lines below the x axis: its ends beside its label, or the names of its ticks above the label."""
    label = _label(grid.chart.x)
    if not grid.chart.x.ticks:
        low, high = (brief(float(f"{end:.4g}")) for end in grid.x)
        return [f"{low}{label.center(max(0, grid.columns - len(low) - len(high)))}{high}"]
    names = ""
    for at, name in grid.chart.x.ticks:
        middle = round(_share(at, grid.x, grid.chart.x) * (grid.columns - 1))
        names = names.ljust(max(len(names) + 1 if names else 0, middle - len(name) // 2)) + escaped(name)
    return [names, label.center(grid.columns).rstrip()]


def _label(axis: Axis) -> str:
    """Return the label of an axis, and that it is logarithmic: it has no ticks that show this."""
    return escaped(axis.label) + (", log scale" if axis.scale in ("log", "symlog") else "")


def _is_dashed(mark: Line | Level | Boxes) -> bool:
    return isinstance(mark, Level) or (isinstance(mark, Line) and mark.dashed)


def _cells(grid: Grid, mark: Line | Level | Boxes) -> Iterator[tuple[int, int]]:
    """Yield the cells of a mark; every second one if it is dashed."""
    if isinstance(mark, Boxes):
        for left, right, bottom, top in mark.boxes:
            start, end = grid.cell(left, bottom), grid.cell(right, top)
            if start is not None and end is not None:
                yield from product(range(round(start[0]), round(end[0])), range(round(start[1]), round(end[1]) + 1))
        return
    if isinstance(mark, Level):
        places = [(grid.x[end], mark.at) if mark.along == "y" else (mark.at, grid.y[end]) for end in (0, 1)]
    else:
        places = list(zip(mark.x, mark.y, strict=True))
    found = [cell for place in places if (cell := grid.cell(*place)) is not None]
    if len(found) == 1 or (isinstance(mark, Line) and not mark.joined):
        yield from ((round(column), round(row)) for column, row in found)
        return
    for (x0, below), (x1, above) in pairwise(found):
        wide, high = x1 - x0, above - below
        steps = max(1, math.ceil(max(abs(wide), abs(high))))
        for step in range(steps + 1):
            cell = round(x0 + wide * step / steps), round(below + high * step / steps)
            if not _is_dashed(mark) or cell[abs(high) > abs(wide)] % 2 == 0:
                yield cell


def _share(value: float, ends: tuple[float, float], axis: Axis) -> float:
    """Return where a number lies between the limits, from 0 to 1; numbers outside are not finite."""
    low, high = (position(end, axis.scale) for end in ends)
    share = (position(value, axis.scale) - low) / (high - low)
    return share if -1e-9 <= share <= 1 + 1e-9 else math.nan


def _wrapped(legend: list[Piece], width: int) -> list[list[Piece]]:
    """Return the names in lines that are not longer than the width, if possible."""
    lines: list[list[Piece]] = []
    used = width
    for piece in legend:
        if used + 3 + len(piece.text) > width:
            lines.append([piece])
            used = len(piece.text)
        else:
            lines[-1] += [Piece("   "), piece]
            used += 3 + len(piece.text)
    return lines
