"""Charts as text: every point is in its cell, solid lines hide dashed ones, and the legend fits."""

from __future__ import annotations

import math

from mistakebound.viz.chart import Axis, Band, Boxes, Chart, Level, Line
from mistakebound.viz.text_chart import DASH, SIGNS, text_chart


def lines_of(*marks: object, x: Axis | None = None, y: Axis | None = None, width: int = 40) -> list[str]:
    chart = Chart("Title", x or Axis("x"), y or Axis("y"), marks)  # type: ignore[arg-type]
    return ["".join(piece.text for piece in line) for line in text_chart(chart, width, 11)]


def test_points_are_at_their_places_and_joined() -> None:
    lines = lines_of(Line("a", [0, 10], [0, 10]), y=Axis("y", low=0, high=10))
    cells = [line[12:] for line in lines[1:12]]
    assert [row.count(SIGNS[0]) > 0 for row in cells] == [True] * 11
    assert cells[0].endswith(SIGNS[0])
    assert cells[-1].startswith(SIGNS[0])
    assert lines[1].split()[0] == "10"
    assert lines[11].split()[0] == "0"


def test_a_log_axis_spaces_factors_evenly_and_values_that_do_not_fit_are_left_out() -> None:
    points = Line("a", [1, 10, 100, 1000], [1, 1, math.nan, 0], joined=False)
    lines = lines_of(points, x=Axis("x", "log", low=1, high=100), y=Axis("y", low=0, high=2))
    row = next(line[12:] for line in lines if SIGNS[0] in line)
    assert [place for place, sign in enumerate(row) if sign == SIGNS[0]] == [0, (40 - 12 - 1) // 2 + 1]


def test_the_label_of_the_y_axis_is_complete_and_a_log_axis_is_named() -> None:
    x, y = Axis("day", "log"), Axis("mistakes so far", "symlog")
    lines = lines_of(Line("a", [1, 100], [0, 100]), x=x, y=y)
    assert " ".join(words for line in lines[2:11] if (words := line[:10].strip())) == "mistakes so far, log scale"
    assert "day, log scale" in lines[13]
    assert "log" not in "".join(lines_of(Line("a", [1, 100], [0, 100])))


def test_solid_lines_hide_dashed_ones_and_levels_are_dashed() -> None:
    lines = lines_of(Line("a", [0, 1], [1, 1]), Level("b", 1.0), Level("c", 0.5, along="x"), y=Axis("y", low=0, high=2))
    row = next(line for line in lines if SIGNS[0] * 3 in line)
    assert DASH not in row
    column = [line[12:].index(DASH) for line in lines[1:12] if DASH in line]
    assert len(set(column)) == 1
    assert len(column) >= 4


def test_bands_and_guides_are_left_out_and_the_legend_is_wrapped() -> None:
    marks = [Band("band", [0, 1], [0, 0], [1, 1]), Line("guide", [0, 1], [0, 1], guide=True)]
    names = [f"a long name {k}" for k in range(9)]
    lines = lines_of(*marks, *(Line(name, [0, 1], [0, 1]) for name in names))
    assert "band" not in "".join(lines)
    assert "guide" not in "".join(lines)
    assert all(name in "".join(lines) for name in names)
    assert max(map(len, lines)) <= 40


def test_bars_are_filled_and_have_the_names_of_their_ticks() -> None:
    x = Axis("stream", low=-0.5, high=1.5, ticks=[(0, "first"), (1, "second")])
    bars = (Boxes("we", [(-0.4, 0.0, 0, 5), (0.6, 1.0, 0, 10)]), Boxes("they", [(0.0, 0.4, 0, 10), (1.0, 1.4, 0, 0)]))
    lines = lines_of(*bars, x=x, y=Axis("y", low=0, high=10), width=52)
    cells = [line[12:] for line in lines[1:12]]
    assert [row.count(SIGNS[0]) for row in cells] == [8] * 5 + [16] * 6
    assert [row.count(SIGNS[1]) for row in cells] == [8] * 10 + [16]
    assert lines[13].split() == ["first", "second"]
    assert lines[14].split() == ["stream"]
    assert abs(lines[13].index("first") + 2 - (12 + 10)) <= 1, "the name is below the middle of its bars"


def test_a_chart_without_points_and_with_hostile_names_is_drawn() -> None:
    lines = lines_of(Line("a\x1b[31m", [], []), width=30)
    assert "\\x1b[31m" in "".join(lines)
    assert len(lines) == 15
