"""Draw charts as SVG for HTML pages, with a legend and the data that ``hover.js`` shows under the pointer."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime, timezone
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mistakebound._support.text import escaped
from mistakebound.viz.chart import LIGHT, Band, Boxes, Line, coloured, limits, position
from mistakebound.viz.ticks import ticks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.viz.chart import Axis, Chart, Level, Mark

WIDTH, HEIGHT, SIDE = 560, 340, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 10, 50
MOST_POINTS = 400
"""Points of a line at most; a page with many charts stays small."""
LETTER = {False: 10.0, True: 8.6}
"""Mean width of a letter of the ticks on a narrow screen, where letters are largest; True: of a square chart."""


@dataclass(frozen=True)
class Frame:
    """The place of the axes in the picture, and the limits of the numbers on them."""

    chart: Chart
    width: float
    height: float
    left: float
    x: tuple[float, float]
    y: tuple[float, float]

    def at_x(self, value: float) -> float:
        """Return the place of a number of the x axis."""
        return self.left + _share(value, self.x, self.chart.x) * (self.width - self.left - RIGHT)

    def at_y(self, value: float) -> float:
        """Return the place of a number of the y axis."""
        return self.height - BOTTOM - _share(value, self.y, self.chart.y) * (self.height - TOP - BOTTOM)


def figure(chart: Chart) -> str:
    """Return a chart as an HTML figure: title, SVG, legend, note, and data for the pointer."""
    frame = _frame(chart)
    marks = "".join(_mark(frame, mark, number) for mark, number in coloured(chart))
    kind = "chart" + (" square" if chart.square else "") + (" ends" if chart.end_labels else "")
    note = f"<p>{escape(escaped(chart.note))}</p>" if chart.note else ""
    title = escape(escaped(chart.title))
    return (
        f'<figure class="{kind}" tabindex="0"><figcaption>{title}</figcaption>'
        f'<svg viewBox="0 0 {frame.width:g} {frame.height:g}" role="img" aria-label="{title}">'
        f"{_axes(frame)}{marks}</svg>{_legend(chart)}{note}"
        f'<script type="application/json">{_data(frame)}</script></figure>'
    )


def _frame(chart: Chart) -> Frame:
    x, y = limits(chart)
    longest = max((len(name) for _, name in chart.y.ticks or ticks(*y, chart.y.scale, whole=chart.y.whole)), default=0)
    left = max(LEFT, (34 if chart.y.label else 14) + LETTER[chart.square] * longest)
    rows = len(chart.y.ticks)
    height = SIDE if chart.square else max(rows * 24 + TOP + BOTTOM, 110) if rows else HEIGHT
    return Frame(chart, SIDE if chart.square else WIDTH, height, left, x, y)


def _share(value: float, ends: tuple[float, float], axis: Axis) -> float:
    """Return where a number lies between the limits, from 0 to 1; numbers outside are moved to the nearer limit."""
    low, high = (position(end, axis.scale) for end in ends)
    return min(max((position(value, axis.scale) - low) / (high - low), 0.0), 1.0)


def _axes(frame: Frame) -> str:
    chart, parts = frame.chart, []
    low, right = frame.height - BOTTOM, frame.width - RIGHT
    for value, name in chart.x.ticks or apart(frame, ticks(*frame.x, chart.x.scale, whole=chart.x.whole)):
        x = frame.at_x(value)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{low:g}"/>')
        parts.append(f'<text x="{x:.1f}" y="{low + 18:g}" text-anchor="middle">{escape(escaped(name))}</text>')
    for value, name in chart.y.ticks or ticks(*frame.y, chart.y.scale, whole=chart.y.whole):
        y = frame.at_y(value)
        parts.append(f'<line class="grid" x1="{frame.left:g}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{frame.left - 7:g}" y="{y + 4:.1f}" text-anchor="end">{escape(escaped(name))}</text>')
    middle = (frame.left + right) / 2
    label = escape(escaped(chart.x.label))
    parts.append(f'<text class="title" x="{middle:g}" y="{frame.height - 8:g}" text-anchor="middle">{label}</text>')
    if chart.y.label:
        at = (TOP + low) / 2
        label = escape(escaped(chart.y.label))
        turned = f'transform="rotate(-90 14 {at:g})"'
        parts.append(f'<text class="title" x="14" y="{at:g}" text-anchor="middle" {turned}>{label}</text>')
    return "".join(parts)


def apart(frame: Frame, chosen: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Return the ticks of the x axis whose names do not overlap on a narrow screen: all, every second one, ..."""
    longest = max((len(name) for _, name in chosen), default=0)
    for every in range(1, len(chosen)):
        places = [frame.at_x(value) for value, _ in chosen[::every]]
        if all(right - left > LETTER[frame.chart.square] * (longest + 1) for left, right in pairwise(places)):
            return chosen[::every]
    return chosen[:1]


def _mark(frame: Frame, mark: Mark, number: int | None) -> str:
    colour = "guide" if number is None else f"c{number % len(LIGHT)}"
    if isinstance(mark, Line):
        return _line(frame, mark, colour, number or 0)
    if isinstance(mark, Band):
        return _band(frame, mark, colour)
    if isinstance(mark, Boxes):
        return _boxes(frame, mark, colour)
    return _level(frame, mark, colour)


def _line(frame: Frame, mark: Line, colour: str, number: int) -> str:
    parts = [
        [(frame.at_x(x), frame.at_y(y)) for x, y in part]
        for part in split_at_gaps(thinned(frame, mark.x, mark.y), mark.x, mark.y)
    ]
    kind = f"line {colour}" + (" dashed" if mark.dashed or mark.guide else f" style{number // len(LIGHT) % 4}")
    drawn = ""
    if mark.joined:
        joined = (_steps(part) if mark.step else part for part in parts)
        drawn = "".join(f'<polyline class="{kind}" points="{_pairs(part)}"/>' for part in joined)
    for part in parts:
        if mark.dots or (mark.joined and len({x for x, _ in part}) == 1):  # a line through one point cannot be seen
            radius = 1.5 if len(parts) > 1 and not mark.dots else 3.5
            drawn += "".join(f'<circle class="dot {colour}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>' for x, y in part)
    return drawn


def _band(frame: Frame, mark: Band, colour: str) -> str:
    above, below = (
        [(frame.at_x(x), frame.at_y(y)) for x, y in thinned(frame, mark.x, each)] for each in (mark.high, mark.low)
    )
    if mark.step:
        above, below = _steps(above), _steps(below)
    kind = "area solid" if mark.solid else "area"
    return f'<polygon class="{kind} {colour}" points="{_pairs([*above, *reversed(below)])}"/>'


def _boxes(frame: Frame, mark: Boxes, colour: str) -> str:
    parts = []
    for left, right, bottom, top in mark.boxes:
        x, y = frame.at_x(left), frame.at_y(top)
        width, height = max(frame.at_x(right) - x, 1.0), max(frame.at_y(bottom) - y, 0.0)
        faint = " faint" if mark.faint else ""
        place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        parts.append(f'<rect class="box {colour}{faint}" {place}/>')
    return "".join(parts)


def _level(frame: Frame, mark: Level, colour: str) -> str:
    if mark.along == "y":
        y = frame.at_y(mark.at)
        ends = f'x1="{frame.left:g}" x2="{frame.width - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"'
    else:
        x = frame.at_x(mark.at)
        ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{frame.height - BOTTOM:g}"'
    return f'<line class="line dashed {colour}" {ends}/>'


def thinned(frame: Frame, x: Sequence[float], y: Sequence[float]) -> list[tuple[float, float]]:
    """Return the finite points, at most `MOST_POINTS` of them, evenly spaced on the x axis."""
    scale = frame.chart.x.scale
    points = [(float(a), float(b)) for a, b in zip(x, y, strict=True) if math.isfinite(a) and math.isfinite(b)]
    if scale == "log":
        points = [point for point in points if point[0] > 0]
    if len(points) <= MOST_POINTS:
        return points
    first, last = (position(points[end][0], scale) for end in (0, -1))
    step = (last - first) / (MOST_POINTS - 2) or 1.0
    found, bucket = [points[0]], 0
    for point in points[1:-1]:
        now = int((position(point[0], scale) - first) / step)
        if now > bucket:
            found.append(point)
            bucket = now
    return [*found, points[-1]]


def split_at_gaps(
    points: Sequence[tuple[float, float]], x: Sequence[float], y: Sequence[float]
) -> list[list[tuple[float, float]]]:
    """Return the points in parts, between which a y of the line is not a number.

    >>> split_at_gaps([(1, 5), (3, 6), (4, 7)], [1, 2, 3, 4], [5, math.nan, 6, 7])
    [[(1, 5)], [(3, 6), (4, 7)]]
    """
    gaps = [float(a) for a, b in zip(x, y, strict=True) if math.isnan(b)]
    parts: list[list[tuple[float, float]]] = []
    for point in points:
        if not parts or bisect_left(gaps, parts[-1][-1][0]) < bisect_left(gaps, point[0]):
            parts.append([])
        parts[-1].append(point)
    return parts


def _steps(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners of steps: a height lasts until the next place."""
    found = list(places[:1])
    for (_, height), (x, y) in pairwise(places):
        found += [(x, height), (x, y)]
    return found


def _pairs(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _legend(chart: Chart) -> str:
    """Return a list of the names with their colours, for labels at the ends in the order of the ends."""
    entries = []
    marks = list(coloured(chart))
    if chart.end_labels:  # beside the lines on a wide page, below them on a narrow one
        marks.sort(key=lambda each: -each[0].y[-1] if isinstance(each[0], Line) and len(each[0].y) else -math.inf)
    for mark, number in marks:
        if number is None or not mark.name:
            continue
        colour = f"c{number % len(LIGHT)}"
        if isinstance(mark, (Band, Boxes)):
            strong = mark.solid if isinstance(mark, Band) else not mark.faint
            shape = f'<rect class="box {colour}{"" if strong else " faint"}" width="22" height="10"/>'
        elif _look(mark, number) == "dot":
            shape = f'<circle class="dot {colour}" cx="11" cy="5" r="4"/>'
        else:
            shape = f'<line class="line {colour} {_look(mark, number)}" x1="0" x2="22" y1="5" y2="5"/>'
        key = f'<svg viewBox="0 0 22 10" aria-hidden="true">{shape}</svg>'
        entries.append(f"<li>{key}<bdi>{escape(escaped(mark.name))}</bdi></li>")
    return f'<ul class="legend">{"".join(entries)}</ul>' if entries else ""


def _look(mark: Line | Level, number: int) -> str:
    """Return the CSS class of the dashes of a line, or of dots that are not joined."""
    if isinstance(mark, Line) and not mark.joined:
        return "dot"
    dashed = not isinstance(mark, Line) or mark.dashed
    return "dashed" if dashed else f"style{number // len(LIGHT) % 4}"


def _data(frame: Frame) -> str:
    """Return what ``hover.js`` needs as JSON: the axes, and the points of each line with a name."""
    lines: list[dict[str, Any]] = []
    for mark, number in coloured(frame.chart):
        if isinstance(mark, Line) and not mark.guide and mark.name:
            points = thinned(frame, mark.x, mark.y)
            shown = [
                [round(frame.at_x(x), 1), round(frame.at_y(y), 1), _words(frame.chart.x, x), _number(y)]
                for x, y in points
            ]
            colour, look = (number or 0) % len(LIGHT), _look(mark, number or 0)
            lines.append({"name": escaped(mark.name), "colour": colour, "look": look, "points": shown})
    axes = {"left": frame.left, "right": frame.width - RIGHT, "top": TOP, "bottom": frame.height - BOTTOM}
    data = {"axes": axes, "x": escaped(frame.chart.x.label), "lines": lines}
    return json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")


def _words(axis: Axis, value: float) -> str:
    if axis.scale == "date":
        when = datetime.fromtimestamp(value, timezone.utc)
        return f"{when:%Y-%m-%d}" if value % 86_400 == 0 else f"{when:%Y-%m-%d %H:%M}"
    return _number(value)


def _number(value: float) -> str:
    whole = value == round(value) or abs(value) >= 1000
    return f"{value:,.0f}" if whole and abs(value) < 1e15 else f"{value:.4g}"
