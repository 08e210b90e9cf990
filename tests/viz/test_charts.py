"""Charts as records: their colours, limits and ticks, and both ways to draw them."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from typing import Any

import pytest

from mistakebound.viz.chart import DARK, LIGHT, Axis, Band, Boxes, Chart, Level, Line, Mark, coloured, limits
from mistakebound.viz.figure import BESIDE, LABEL, MANY, PAGE, WITHIN, draw, spread
from mistakebound.viz.page import LONG, bar_table, charts, command_line, page, table
from mistakebound.viz.svg_chart import LETTER, MOST_POINTS, figure
from mistakebound.viz.ticks import ticks


def chart(*marks: Mark, **options: Any) -> Chart:
    return Chart("A title", options.pop("x", Axis("rounds")), options.pop("y", Axis("mistakes")), marks, **options)


EVERYTHING = chart(
    Line("ours", [1, 2, 3], [1, 4, 9], step=True, dots=True),
    Line("guide", [1, 3], [0, 0], guide=True),
    Level("bound", 10.0, colour=0),
    Level("then", 2.0, along="x"),
    Band("band", [1, 2, 3], [0, 1, 2], [2, 3, 4]),
    Boxes("bars", [(1, 2, 0, 3)]),
    note="A note.",
)


def hover_data(html: str) -> dict:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html)[1])


def test_colours_are_assigned_in_order_and_can_be_shared() -> None:
    assert [number for _, number in coloured(EVERYTHING)] == [0, None, 0, 1, 2, 3]


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_colours_have_a_contrast_of_at_least_4_5_to_the_page(palette) -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    ground = luminance(PAGE[palette is DARK])
    for colour in palette:
        high, low = sorted((luminance(colour), ground), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, colour


def test_limits_leave_space_above_and_reach_levels() -> None:
    (left, right), (low, high) = limits(EVERYTHING)
    assert (left, right) == (1, 3)
    assert low == 0
    assert 10 < high < 11
    fixed = chart(Line("", [0, 5], [1, 9]), y=Axis("", low=0, high=1))
    assert limits(fixed)[1] == (0, 1)


@pytest.mark.parametrize("scale", ["linear", "log", "symlog", "date"])
@pytest.mark.parametrize("points", [([], []), ([5], [5]), ([0, 0], [0, 0]), ([1, 2], [math.nan, math.inf])])
def test_charts_of_almost_nothing_can_be_drawn(scale, points) -> None:
    found = chart(
        Line("x", *points), x=Axis("rounds", scale), y=Axis("mistakes", scale if scale != "date" else "linear")
    )
    assert "nan" not in figure(found).lower()
    draw(found)


@pytest.mark.parametrize(
    ("low", "high", "scale"),
    [
        (0, 1, "linear"),
        (-3, 7.5, "linear"),
        (0.001, 0.0012, "linear"),
        (1, 1e9, "log"),
        (2, 7, "log"),
        (17, 36, "log"),
        (1, 999, "log"),
        (0, 36, "symlog"),
        (0, 900, "symlog"),
        (0, 15, "symlog"),
    ]
    + [(1.5e9, 1.5e9 + 10.0**k, "date") for k in range(2, 10)],
)
def test_ticks_are_few_and_inside(low, high, scale) -> None:
    found = ticks(low, high, scale)
    assert (4 if scale.endswith("log") else 2) <= len(found) <= 11
    assert all(low * (1 - 1e-9) <= value <= high * (1 + 1e-9) or low <= 0 for value, _ in found)
    names = [name for _, name in found]
    assert len(set(names)) == len(names)


def test_both_drawings_show_every_mark() -> None:
    html = figure(EVERYTHING)
    for tag, count in (("polyline", 2), ("polygon", 1), ('rect class="box c3"', 2), ("circle", 3)):
        assert html.count(f"<{tag}") == count, tag
    assert [line["name"] for line in hover_data(html)["lines"]] == ["ours"]
    (axes,) = draw(EVERYTHING).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ours", "bound", "then", "band", "bars"]
    assert axes.get_xlabel() == "rounds"


def test_the_pointer_shows_lines_as_the_legend_does() -> None:
    x, y = [0, 1], [0, 1]
    marks = (Line("a", x, y, 0), Line("b", x, y, 0, dashed=True), Line("c", x, y, 0, dots=True, joined=False))
    html = figure(chart(*marks))
    assert [line["look"] for line in hover_data(html)["lines"]] == ["style0", "dashed", "dot"]
    legend = html[html.index('<ul class="legend">') :]
    assert [legend.count(f'class="{key}"') for key in ("line c0 style0", "line c0 dashed", "dot c0")] == [1, 1, 1]


def test_a_vertical_level_is_not_on_the_frame() -> None:
    marks = Line("a", [0, 10], [0, 1]), Level("limit", 20, along="x")
    assert limits(chart(*marks, x=Axis("x", low=0)))[0] == (0, pytest.approx(20.6))
    assert limits(chart(*marks[:1], Level("inside", 5, along="x")))[0] == (0, 10)


def test_long_lines_keep_their_ends_and_few_points() -> None:
    n = 50_000
    html = figure(chart(Line("long", range(1, n + 1), range(n)), x=Axis("rounds", "log")))
    points = hover_data(html)["lines"][0]["points"]
    assert len(points) <= MOST_POINTS
    assert (points[0][2], points[-1][2]) == ("1", "50,000")
    assert points[-1][3] == "49,999"


def test_text_is_escaped_everywhere() -> None:
    bad = "</script><b>&\x1b"
    found = Chart(bad, Axis(bad), Axis(bad, ticks=[(0, bad)]), [Line(bad, [0, 1], [0, 1])], note=bad)
    html = page(bad, "lead", [charts([found]), bar_table(("a", "b"), [(bad, -1.0), ("x", 2.0)])], made_by={"x": "1"})
    assert "<b>&" not in html
    assert "\x1b" not in html
    assert html.count("</script>") == 2
    assert hover_data(html)["lines"][0]["name"].startswith("</script><b>&")
    draw(Chart("$x", Axis("$"), Axis("$"), [Line("a $b$ $", [0, 1], [0, 1])])).savefig("/dev/null", format="png")


def test_labels_at_the_ends_do_not_overlap() -> None:
    assert spread([0.1, 0.5], 0.05) == [0.1, 0.5]
    places = spread([0.5] * 10 + [0.9], 0.05)
    assert all(b - a > 0.0499 for a, b in pairwise(places))
    many = chart(*(Line(f"learner {k}", [1, 2], [0, 100 + k]) for k in range(10)), end_labels=True)
    (axes,) = draw(many).axes
    assert [each.get_text() for each in axes.texts] == [f"learner {k}" for k in range(10)]


def test_a_line_has_a_gap_where_a_number_is_missing() -> None:
    line = Line("a", [1, 2, 3, 4, 5, 6], [1, 2, math.nan, 3, math.nan, 4])
    drawn = figure(Chart("t", Axis("x"), Axis("y"), [line]))
    parts = re.findall(r'<polyline [^>]*points="([^"]*)"', drawn)
    assert [len(part.split()) for part in parts] == [2, 1, 1]
    assert drawn.count("<circle") == 2  # the points that are alone


def test_ticks_of_counts_are_whole_numbers() -> None:
    for scale in ("linear", "symlog"):
        assert [name for _, name in ticks(0, 1.05, scale, whole=True)] == ["0", "1"]
    assert [name for _, name in ticks(1, 3, "log", whole=True)] == ["1", "2", "3"]
    axis = Axis("rounds", whole=True)
    (axes,) = draw(chart(Line("a", [0, 2], [0, 2]), x=axis, y=axis)).axes
    assert [each.get_text() for each in axes.get_xticklabels()] == ["0", "1", "2"]


def test_few_powers_of_ten_fit_below_a_small_chart() -> None:
    assert [name for _, name in ticks(1, 1e9, "log")] == ["1", "100", "10k", "1M", "100M"]


def test_an_axis_that_begins_near_zero_begins_at_zero() -> None:
    assert limits(chart(Line("a", [1, 2], [0.01, 1.0])))[1][0] == 0.0
    assert limits(chart(Line("a", [1, 2], [0.5, 1.0])))[1][0] == pytest.approx(0.475)


@pytest.mark.parametrize("points", [([1], [5]), ([1, 1], [0, 1])])
def test_a_line_of_one_round_is_visible(points) -> None:
    found = chart(Line("a", *points, step=True))
    assert figure(found).count("<circle") == len(points[0])
    assert draw(found).axes[0].lines[0].get_marker() == "o"
    assert draw(chart(Line("a", [1, 2], [5, 6]))).axes[0].lines[0].get_marker() == "None"


def test_a_line_on_the_frame_is_not_clipped() -> None:
    """Half of its width would be lost; a line that leaves the limits is clipped."""
    y = Axis("share", low=0, high=1)
    inside, outside = draw(chart(Line("a", [0, 1], [1, 1]), Line("b", [0, 1], [0, 2]), y=y)).axes[0].lines
    assert not inside.get_clip_on()
    assert outside.get_clip_on()


def test_names_of_ticks_do_not_overlap_on_a_narrow_screen() -> None:
    days = chart(Line("a", [1.7e9, 1.701e9], [-4e8, 0]), x=Axis("day", "date"), y=Axis("regret"))
    drawn = figure(days)
    names = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle">(\d+-\d+-\d+)<', drawn)
    assert len(names) >= 2
    for (left, name), (right, _) in pairwise(names):
        assert float(right) - float(left) > LETTER[False] * len(name)
    ((right, name),) = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="end">(-400M)<', drawn)
    assert float(right) - LETTER[False] * len(name) > 14 + 9  # the label of the axis, in letters of 18


def test_long_names_leave_space_for_the_chart() -> None:
    names = [f"a very long name of an expert, {'which goes on ' * 9} {k}" for k in range(12)]
    few = draw(chart(*(Line(name, [1, 2], [0, 1]) for name in names[:7]))).axes[0]
    lines = [line for text in few.get_legend().get_texts() for line in text.get_text().split("\n")]
    assert max(map(len, lines)) <= BESIDE
    many = draw(chart(*(Line(name, [1, 2], [0, 1]) for name in names))).axes[0]
    assert len(names) > MANY
    assert all(len(text.get_text()) == WITHIN for text in many.get_legend().get_texts())
    assert all(text.get_text().endswith(f" {k}") for k, text in enumerate(many.get_legend().get_texts()))
    (axes,) = draw(Chart(names[0], Axis("x"), Axis("y"), [Line("a", [1, 2], [0, 1])])).axes
    assert max(map(len, axes.get_title(loc="left").split("\n"))) <= 80


def test_labels_at_the_ends_stay_beside_the_axes() -> None:
    (axes,) = draw(chart(*(Line(f"{k}", [1, 2], [0, 100 + k]) for k in range(12)), end_labels=True)).axes
    heights = [each.get_position()[1] for each in axes.texts]
    assert max(heights) <= 1
    assert all(above - below > 0.99 * LABEL for below, above in pairwise(sorted(heights)))


def test_a_command_breaks_only_between_words() -> None:
    assert command_line("run a.csv --label <b>") == (
        "<pre><span>run</span> <span>a.csv</span> <span>--label</span> <span>&lt;b&gt;</span></pre>"
    )


def test_only_long_names_of_rows_are_wrapped() -> None:
    words = "x" * (LONG + 1)
    made = table(
        ("name", "note", "count"), [(f"<bdi>{words}</bdi>", words, "1" * 20), ("short", "", "1")], words=(0, 1)
    )
    assert f'<td class="long"><bdi>{words}</bdi></td><td>{words}</td><td class="n">' in made
    assert "<td>short</td>" in made
    assert '<td>a</td><td class="long">' in table(("name", "note"), [("a", "many words " * 9)], words=(0, 1))
