"""Charts as plain records. ``figure.py`` draws them with matplotlib, ``svg_chart.py`` for HTML pages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mistakebound.viz.colours import assigned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Scale = Literal["linear", "log", "symlog", "date"]
"""``symlog`` is linear up to 10 and logarithmic above; ``date`` is seconds since 1970, in UTC."""
LINEAR_UP_TO = 10.0

LIGHT = ("#0072b2", "#bd5000", "#007d5a", "#a8457f", "#7a5c00", "#5b4fc4", "#3f4650")
DARK = ("#5cb8f0", "#ff9d57", "#4fd1a5", "#ee9ccb", "#e3c04f", "#b0a6ff", "#c3cad2")
"""Colours of the marks, by number: distinct for colour-blind readers, with a contrast of at least 4.5 to the page."""


@dataclass(frozen=True)
class Axis:
    """An axis: its label, its scale, its limits (None: as far as the marks reach), and its ticks (empty: chosen).

    ``whole`` is whether it has counts, so that chosen ticks are whole numbers.
    """

    label: str
    scale: Scale = "linear"
    low: float | None = None
    high: float | None = None
    ticks: Sequence[tuple[float, str]] = ()
    whole: bool = False


@dataclass(frozen=True)
class Line:
    """A line through points.

    Attributes
    ----------
    colour : int, optional
        The number of a colour; by default that of the learner with this name, or one that is free.
    dashed : bool
        Whether it is dashed, as bounds are.
    step : bool
        Whether a value lasts until the next point.
    dots : bool
        Whether the points are marked.
    joined : bool
        Whether the points are joined.
    guide : bool
        Whether it only helps to read the others: thin, grey, and not in the legend.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int | None = None
    dashed: bool = False
    step: bool = False
    dots: bool = False
    joined: bool = True
    guide: bool = False


@dataclass(frozen=True)
class Band:
    """An area between two lines: a confidence band, or a layer of a stack."""

    name: str
    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    colour: int | None = None
    step: bool = False
    solid: bool = False
    """Whether it is a layer of a stack, rather than a band behind a line."""


@dataclass(frozen=True)
class Boxes:
    """Filled boxes (left, right, bottom, top): the bars of a histogram, or spans of time."""

    name: str
    boxes: Sequence[tuple[float, float, float, float]]
    colour: int | None = None
    faint: bool = False


@dataclass(frozen=True)
class Level:
    """A dashed line across the whole chart, at one number of the y axis or of the x axis."""

    name: str
    at: float
    along: Literal["x", "y"] = "y"
    colour: int | None = None
    guide: bool = False


Mark = Line | Band | Boxes | Level


@dataclass(frozen=True)
class Chart:
    """Marks between two axes, under a title.

    ``note`` is a sentence below the chart. ``square`` makes both axes equally long. ``end_labels`` writes the names at
    the right ends of the lines, for charts with many lines.
    """

    title: str
    x: Axis
    y: Axis
    marks: Sequence[Mark]
    note: str = ""
    square: bool = False
    end_labels: bool = False


def coloured(chart: Chart) -> Iterator[tuple[Mark, int | None]]:
    """Yield each mark with the number of its colour: that of its learner, or a free one. None is grey, for guides."""
    guides = [isinstance(mark, (Line, Level)) and mark.guide for mark in chart.marks]
    shown = [mark for mark, guide in zip(chart.marks, guides, strict=True) if not guide]
    numbers = iter(assigned([mark.name for mark in shown], [mark.colour for mark in shown]))
    for mark, guide in zip(chart.marks, guides, strict=True):
        yield mark, None if guide else next(numbers)


def position(value: float, scale: Scale) -> float:
    """Return where a number lies on an axis, in the unit of the axis.

    >>> position(100.0, "log"), position(5.0, "symlog"), position(100.0, "symlog")
    (2.0, 0.5, 2.0)
    """
    if scale == "log":
        return math.log10(value) if value > 0 else -math.inf
    if scale == "symlog":
        size = abs(value)
        far = size / LINEAR_UP_TO if size <= LINEAR_UP_TO else math.log10(size)
        return math.copysign(far, value)
    return value


def limits(chart: Chart) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the least and the greatest number of the x axis and of the y axis."""
    found: tuple[list[float], list[float]] = ([], [])
    for mark in chart.marks:
        if isinstance(mark, Line):
            found[0].extend(mark.x)
            found[1].extend(mark.y)
        elif isinstance(mark, Band):
            found[0].extend(mark.x)
            found[1].extend(mark.low)
            found[1].extend(mark.high)
        elif isinstance(mark, Boxes):
            for left, right, bottom, top in mark.boxes:
                found[0].extend((left, right))
                found[1].extend((bottom, top))
        else:
            found[mark.along == "y"].append(mark.at)
    upright = [mark.at for mark in chart.marks if isinstance(mark, Level) and mark.along == "x"]
    on_frame = bool(upright) and not min(found[0]) < min(upright) <= max(upright) < max(found[0])
    space = 0.03 if on_frame else 0.0  # the frame would hide the level
    return _limits(chart.x, found[0], space), _limits(chart.y, found[1], 0.05)


def _limits(axis: Axis, values: Sequence[float], space: float) -> tuple[float, float]:
    fits = [value for value in values if math.isfinite(value) and (axis.scale != "log" or value > 0)]
    low = axis.low if axis.low is not None else min(fits, default=0.0 if axis.scale != "log" else 1.0)
    high = axis.high if axis.high is not None else max(fits, default=low)
    if high <= low:
        high = 10 * low if axis.scale == "log" else low + 1.0
    if axis.scale == "log":
        far = (high / low) ** space
        return low if axis.low is not None else low / far, high if axis.high is not None else high * far
    margin = (high - low) * space
    below = low if axis.low is not None else 0.0 if 0 <= low <= margin else low - margin
    return below, high if axis.high is not None else high + margin
