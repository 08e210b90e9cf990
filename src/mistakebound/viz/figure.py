"""Draw charts with matplotlib, on a light or a dark page."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from textwrap import fill
from typing import TYPE_CHECKING, Any

from mistakebound.viz.chart import DARK, LIGHT, LINEAR_UP_TO, Band, Boxes, Chart, Level, Line, coloured, limits
from mistakebound.viz.ticks import ticks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.viz.chart import Axis, Mark

PAGE = {False: "#ffffff", True: "#14181c"}
INK = {False: "#1b1f24", True: "#e4e8ec"}
SOFT = {False: "#5b6570", True: "#9aa5b1"}
GRID = {False: "#d5dae0", True: "#39414a"}
DASHES = ("-", (0, (6, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)))
"""Styles of lines; after the colours are used up, the next style is used with them."""
HIGH, WIDE = 4.5, 8.0
LABEL = 0.042
"""Least distance of two labels at the ends of lines, as a share of the height of the chart."""
LETTERS = 10
"""Letters of a title for each inch of a chart."""
BESIDE, WITHIN, MANY = 34, 50, 9
"""Letters in a line of a legend beside a chart, and in it. More names than the last number have one line each."""


def draw(charts: Chart | Sequence[Chart], *, dark: bool = False, columns: int = 1) -> Any:
    """Return a matplotlib figure with one or several charts. No window is opened.

    Parameters
    ----------
    charts : Chart or sequence of Chart
        What to draw.
    dark : bool
        Whether to draw light marks on a dark page.
    columns : int
        Number of charts beside each other.
    """
    several = [charts] if isinstance(charts, Chart) else list(charts)
    columns = min(columns, len(several))
    rows = -(-len(several) // columns)
    alone = WIDE if any(not chart.square for chart in several) else 5.2
    width = alone if columns == 1 else 4.6 * columns
    height = max(_height(chart, columns) for chart in several)
    figure = figure_class()(figsize=(width, height * rows), layout="constrained", facecolor=PAGE[dark])
    for number, chart in enumerate(several):
        draw_on(figure.add_subplot(rows, columns, number + 1), chart, dark=dark, letters=int(LETTERS * width / columns))
    return figure


def figure_class() -> Any:
    """Return matplotlib's Figure; raise ModuleNotFoundError with a remedy if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError:
        message = "pictures need matplotlib: pip install 'mistakebound[plot]'"
        raise ModuleNotFoundError(message) from None
    return Figure


def _height(chart: Chart, columns: int) -> float:
    if rows := len(chart.y.ticks):  # a chart of named rows
        return max(2.0, 1.2 + 0.35 * rows)
    return max(4.8 if chart.square else 0, HIGH if columns == 1 else 3.9)


def draw_on(axes: Any, chart: Chart, *, dark: bool = False, letters: int = 80) -> None:
    """Draw a chart on matplotlib's axes; a line of its title has at most so many letters."""
    palette = DARK if dark else LIGHT
    _set_axis(axes, chart.x, "x")
    _set_axis(axes, chart.y, "y")
    _set_limits(axes, chart)
    ends = []
    for mark, number in coloured(chart):
        colour = SOFT[dark] if number is None else palette[number % len(palette)]
        _draw_mark(axes, chart, mark, colour, number or 0)
        if chart.end_labels and isinstance(mark, Line) and not mark.guide and len(mark.x):
            ends.append((mark, colour))
    axes.set_facecolor(PAGE[dark])
    axes.set_title(plain(fill(chart.title, letters)), color=INK[dark], loc="left", fontsize="large")
    axes.set_xlabel(plain(chart.x.label), color=INK[dark])
    axes.set_ylabel(plain(chart.y.label), color=INK[dark])
    axes.tick_params(colors=SOFT[dark], which="both")
    axes.grid(visible=True, color=GRID[dark], linewidth=0.6)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GRID[dark])
    if chart.square:
        axes.set_box_aspect(1)
    if ends:
        _label_ends(axes, ends)
    elif axes.get_legend_handles_labels()[0]:
        stacked = any(isinstance(mark, Band) and mark.solid for mark in chart.marks)  # it leaves no free place
        beside = stacked or len(axes.get_legend_handles_labels()[0]) > 5
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if beside else {"loc": "best"}
        handles, names = axes.get_legend_handles_labels()
        names = [
            shortened(name, WITHIN) if len(names) > MANY else in_lines(name, BESIDE if beside else WITHIN)
            for name in names
        ]
        axes.legend(handles, names, fontsize="small", frameon=False, labelcolor=INK[dark], reverse=stacked, **place)


def plain(name: str) -> str:
    """Return a name for matplotlib, which would read text between $ signs as a formula."""
    return name.replace("$", r"\$")


def in_lines(name: str, letters: int) -> str:
    r"""Return a name in about three lines of so many letters; the middle of a longer one is left out.

    >>> in_lines("a long name", 6), in_lines("abcdefghijklmnopqrstuvwxyz", 4)
    ('a long\nname', 'abcd\ne…wx\nyz')
    """
    return "\n".join(fill(shortened(line, 3 * letters - 2), letters) for line in name.split("\n"))


def shortened(name: str, most: int) -> str:
    """Return a name with at most so many letters: its middle is left out if it is longer.

    >>> shortened("abcdefgh", 5), shortened("abcde", 5)
    ('ab…gh', 'abcde')
    """
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - half]}…{name[-half:]}"


def _inside(chart: Chart, mark: Line) -> bool:
    """Return whether all points of a line lie within the limits: it may then be drawn over the frame."""
    return all(
        not math.isfinite(value) or low <= value <= high
        for values, (low, high) in zip((mark.x, mark.y), limits(chart), strict=True)
        for value in values
    )


def _draw_mark(axes: Any, chart: Chart, mark: Mark, colour: str, number: int) -> None:
    label = plain(mark.name) if mark.name else "_"
    dashes = DASHES[number // len(LIGHT) % len(DASHES)]
    if isinstance(mark, Line):
        style = (0, (4, 3)) if mark.dashed or mark.guide else dashes
        axes.plot(
            _values(chart.x, mark.x),
            mark.y,
            color=colour,
            label="_" if mark.guide or chart.end_labels else label,
            linestyle=style if mark.joined else "none",
            linewidth=0.9 if mark.guide else 1.2 if mark.dashed else 1.7,
            drawstyle="steps-post" if mark.step else "default",
            marker="o" if mark.dots or len(set(mark.x)) == 1 else None,  # a line through one point cannot be seen
            markersize=4,
            clip_on=not _inside(chart, mark),
        )
    elif isinstance(mark, Band):
        step = "post" if mark.step else None
        x = _values(chart.x, mark.x)
        alpha = 0.85 if mark.solid else 0.2
        axes.fill_between(x, mark.low, mark.high, color=colour, alpha=alpha, linewidth=0, step=step, label=label)
    elif isinstance(mark, Boxes):
        left, right, bottom, top = zip(*mark.boxes, strict=True) if mark.boxes else ((), (), (), ())
        width = [b - a for a, b in zip(left, right, strict=True)]
        height = [b - a for a, b in zip(bottom, top, strict=True)]
        alpha = 0.35 if mark.faint else 0.85
        axes.bar(left, height, width, bottom, align="edge", color=colour, alpha=alpha, label=label)
    else:
        _draw_level(axes, mark, colour, label)


def _draw_level(axes: Any, mark: Level, colour: str, label: str) -> None:
    draw_line = axes.axhline if mark.along == "y" else axes.axvline
    draw_line(mark.at, color=colour, linestyle=(0, (4, 3)), linewidth=1.1, label="_" if mark.guide else label)


def _values(axis: Axis, values: Sequence[float]) -> Sequence[Any]:
    return values if axis.scale != "date" else [datetime.fromtimestamp(value, timezone.utc) for value in values]


def _set_axis(axes: Any, axis: Axis, which: str) -> None:
    if axis.scale in ("log", "symlog"):
        options = {"linthresh": LINEAR_UP_TO} if axis.scale == "symlog" else {}
        getattr(axes, f"set_{which}scale")(axis.scale, **options)
    if axis.scale == "date":
        from matplotlib import dates  # noqa: PLC0415 - optional

        kinds: Any = dates  # it has no types
        locator = kinds.AutoDateLocator(tz=timezone.utc)
        getattr(axes, f"{which}axis").set_major_locator(locator)
        getattr(axes, f"{which}axis").set_major_formatter(kinds.ConciseDateFormatter(locator, tz=timezone.utc))


def _set_ticks(axes: Any, axis: Axis, which: str, ends: tuple[float, float]) -> None:
    """Set ticks that are given, or round numbers; matplotlib chooses dates."""
    chosen = axis.ticks or (ticks(*ends, axis.scale, whole=axis.whole) if axis.scale != "date" else ())
    if chosen:
        at, names = zip(*chosen, strict=True)
        getattr(axes, f"set_{which}ticks")(at, [plain(name) for name in names])
        getattr(axes, f"set_{which}ticks")([], minor=True)


def _set_limits(axes: Any, chart: Chart) -> None:
    for ends, axis, which in zip(limits(chart), (chart.x, chart.y), "xy", strict=True):
        getattr(axes, f"set_{which}lim")(*_values(axis, ends))
        _set_ticks(axes, axis, which, ends)


def _label_ends(axes: Any, ends: list[tuple[Line, str]]) -> None:
    """Write the name of each line at its right end; names that would overlap are moved apart."""
    to_share = axes.transData + axes.transAxes.inverted()
    found = sorted(
        (float(to_share.transform((axes.get_xlim()[1], mark.y[-1]))[1]), mark.name, colour) for mark, colour in ends
    )
    heights = within_axes(spread([share for share, _, _ in found], LABEL), LABEL)
    for height, (share, name, colour) in zip(heights, found, strict=True):
        arrow = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 0}
        axes.annotate(
            plain(shortened(name, WITHIN)),
            (1, share),
            xytext=(1.03, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=colour,
            fontsize="small",
            va="center",
            arrowprops=arrow,
            annotation_clip=False,
        )


def within_axes(heights: Sequence[float], least: float) -> list[float]:
    """Return heights at least ``least`` apart, moved up or down to lie between 0 and 1, if there is place.

    >>> within_axes([-0.5, 0.5, 0.99, 1.5], 0.25)
    [0.0, 0.5, 0.75, 1.0]
    """
    count = len(heights)
    raised = [max(height, least * k) for k, height in enumerate(heights)]
    return [min(height, 1 - least * (count - 1 - k)) for k, height in enumerate(raised)]


def spread(places: Sequence[float], least: float) -> list[float]:
    """Return ascending numbers near ascending ``places``, at least ``least`` apart, with the same mean distance.

    >>> [round(place, 2) for place in spread([0.5, 0.5, 0.9], 0.1)]
    [0.45, 0.55, 0.9]
    """
    groups: list[tuple[float, int]] = []  # (mean of the places, their number)
    for place in places:
        groups.append((place, 1))
        while len(groups) > 1:
            (below, fewer), (above, more) = groups[-2:]
            if above - below >= least * (fewer + more) / 2:
                break
            groups[-2:] = [((below * fewer + above * more) / (fewer + more), fewer + more)]
    return [mean + least * (k - (count - 1) / 2) for mean, count in groups for k in range(count)]
