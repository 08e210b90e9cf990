"""The pictures of ``mb.plot``, and the methods that draw them."""

from __future__ import annotations

import importlib
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.viz import expert_charts, forecaster_charts
from mistakebound.viz.chart import Band, Boxes, Level, Line
from mistakebound.viz.figure import PAGE, draw
from mistakebound.viz.mistake_charts import (
    Bound,
    comparison_chart,
    leadership_chart,
    mistakes_chart,
    points_at,
    window_borders,
    window_chart,
)
from mistakebound.viz.time_axis import TimeAxis

DAY = 86_400.0


@pytest.fixture(scope="module")
def panel() -> Any:
    """A panel after a stream of two labels."""
    X, y = mb.streams.panel(n=16, k=3, rounds=300, seed=0)
    learner = mb.Panel()
    learner.run(X, y)
    return learner


def names_in_legend(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_mb_plot_can_be_imported_in_three_ways() -> None:
    from mistakebound import plot

    assert mb.plot is plot is importlib.import_module("mistakebound.plot")
    assert set(mb.plot.__all__) <= set(vars(mb.plot))


def test_ledger_plot(tmp_path: Path) -> None:
    """The steps are the mistakes of the ledger; a finite bound has a line of its own."""
    X, y = mb.streams.panel(n=16, k=3, rounds=200, seed=0)
    learner = mb.Perceptron()
    ledger = learner.run(X, y)
    (axes,) = ledger.plot(learner.certify()).axes
    steps, bound = axes.lines
    assert steps.get_xdata().tolist() == [1, *(ledger.mistake_rounds + 1).tolist(), 200]
    assert steps.get_ydata()[-1] == ledger.mistakes
    assert set(bound.get_ydata()) == {learner.certify().bound}
    (axes,) = ledger.plot().axes
    assert len(axes.lines) == 1
    ledger.plot().savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_mistakes_of_ledgers_with_and_without_certificates() -> None:
    X, y = mb.streams.panel(n=16, k=3, rounds=200, seed=0)
    learner = mb.Perceptron()
    ledger = learner.run(X, y)
    (axes,) = mb.plot.mistakes({"alone": ledger, "none": (ledger, None), "bound": (ledger, learner.certify())}).axes
    alone, none, certified, _level = axes.lines
    assert alone.get_xydata().tolist() == none.get_xydata().tolist() == certified.get_xydata().tolist()


def test_an_infinite_bound_is_not_drawn_and_one_mistake_is_singular() -> None:
    chart = mistakes_chart({"a": [(0, 0), (5, 1)]}, {"a": Bound(float("inf"), "novikoff")})
    assert [type(mark) for mark in chart.marks] == [Line]
    assert chart.marks[0].name == "a: 1 mistake"


def test_a_large_bound_is_readable() -> None:
    chart = mistakes_chart({"a": [(0, 0), (9000, 80)]}, {"a": Bound(1_234_567.8, "novikoff")})
    assert chart.marks[1].name == "a: at most 1,234,568 (novikoff)"


@pytest.mark.parametrize("rounds", [1, 9, 100, 1234, 5574, 10**6])
def test_windows_cover_all_rounds(rounds: int) -> None:
    borders = window_borders(rounds)
    assert (borders[0], borders[-1]) == (0, rounds)
    widths = np.diff(borders)
    assert len(borders) <= 50
    assert (widths > 0).all()
    assert (widths[:-1] == widths[0]).all()


def test_the_error_in_windows_is_that_of_the_ledger(panel: Any) -> None:
    ledger = panel.ledger_
    (axes,) = ledger.plot_windows(50).axes
    (line,) = axes.lines
    wrong = np.zeros(300)
    wrong[ledger.mistake_rounds] = 1
    assert line.get_xdata().tolist() == [0, 50, 100, 150, 200, 250, 300]
    assert line.get_ydata()[:-1] == pytest.approx(100 * wrong.reshape(6, 50).mean(axis=1))
    assert "windows of 50 rounds" in axes.get_title(loc="left")


def test_windows_of_a_thinned_curve_have_exact_rates() -> None:
    """A curve without all rounds: each rate is between two of its points."""
    points = [(0, 0), (1, 1), (95, 11), (205, 22), (300, 22)]
    near = points_at(points, [0, 100, 200, 300])
    assert near == [(0, 0), (205, 22), (300, 22)]
    (line, level) = window_chart({"a": near}, guide=("always ham", 0.25)).marks
    assert line.y == pytest.approx([100 * 22 / 205, 0, 0])
    assert level.at == 25.0


def test_dates_replace_rounds() -> None:
    time = TimeAxis("day", [0.0, DAY, 2 * DAY])
    chart = window_chart({"a": [(0, 0), (2, 1), (3, 1)]}, time=time)
    assert (chart.x.scale, chart.x.label) == ("date", "day")
    assert list(chart.marks[0].x) == [0.0, DAY, 2 * DAY]
    draw(chart)


def test_many_learners_have_their_names_at_the_ends() -> None:
    lines = {f"learner {k}": [(0, 0), (1, 1), (1000, 50 + k)] for k in range(14)}
    chart = comparison_chart(lines)
    assert chart.end_labels
    (axes,) = mb.plot.curves(lines).axes
    assert sorted(text.get_text() for text in axes.texts) == sorted(f"learner {k}: {50 + k}" for k in range(14))
    styles = {(line.get_color(), str(line.get_linestyle())) for line in axes.lines}
    assert len(styles) == 14


def test_probabilities_of_a_panel(panel: Any) -> None:
    ledger = panel.ledger_
    measures = ledger.measures
    (axes,) = ledger.plot_calibration().axes
    dots = axes.lines[-1].get_xydata().tolist()
    assert dots == [[each.mean, each.positive] for each in measures.calibration()]
    (axes,) = ledger.plot_roc().axes
    wrong, right = measures.roc()
    assert axes.lines[-1].get_xydata().tolist() == [list(point) for point in zip(wrong, right, strict=True)]
    assert names_in_legend(axes) == [f"AUC {measures.auc:.4f}"]
    (axes,) = mb.plot.roc({"mine": measures, "yours": measures}).axes
    assert len(names_in_legend(axes)) == 2
    (axes,) = ledger.plot_thresholds().axes
    precision, recall, error = axes.lines
    half = measures.confusion(0.5)
    assert [line.get_ydata()[49] for line in (precision, recall, error)] == [half.precision, half.recall, half.error]


def test_several_classes_have_no_pictures_of_thresholds() -> None:
    learner = mb.Panel()
    ledger = learner.run([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] * 5, ["a", "b", "c"] * 5)
    ledger.plot_windows()
    for name in ("plot_calibration", "plot_roc", "plot_thresholds"):
        with pytest.raises(ValueError, match="two labels"):
            getattr(ledger, name)()
    with pytest.raises(ValueError, match="no probabilities"):
        mb.Perceptron().run([[1.0]], [1]).plot_roc()


def test_pictures_of_one_round() -> None:
    learner = mb.Panel()
    ledger = learner.run([[1.0]], [1])
    assert names_in_legend(ledger.plot_roc().axes[0]) == ["no AUC: only one label occurred"]
    assert ledger.plot_windows().axes[0].get_title(loc="left") == "Error in windows of 1 round"
    (axes,) = mb.experts.MLPoly().run({"a": [1.0], "b": [2.0]}, [1.5], keep_weights=True).plot_weights().axes
    assert axes.get_xlim() == (0, 1)
    assert all(np.ptp(area.get_paths()[0].vertices[:, 0]) == 1 for area in axes.collections)


def test_leadership(panel: Any) -> None:
    changes = [(32, "arow"), (50, "panel"), (100, "arow")]
    chart = leadership_chart(changes, 300)
    assert [name for _, name in chart.y.ticks] == ["arow", "panel"]
    arow, other = (mark.boxes for mark in chart.marks if isinstance(mark, Boxes))
    assert [box[:2] for box in arow] == [(32, 50), (100, 300)]
    assert [box[:2] for box in other] == [(50, 100)]
    assert panel.plot_leadership().axes


def test_weights_are_stacked_and_the_rest_shares_an_area() -> None:
    rng = np.random.default_rng(0)
    values = rng.dirichlet(np.ones(10), 20)
    chart = expert_charts.weights_chart(range(20), values, [f"e{k}" for k in range(10)], title="")
    bands = [mark for mark in chart.marks if isinstance(mark, Band)]
    assert len(bands) == expert_charts.MOST_EXPERTS + 1
    assert bands[-1].name == "4 others"
    assert bands[-1].x == [*range(21)]  # each round from its beginning to its end
    assert bands[-1].high == pytest.approx(np.ones(21))
    for below, above in pairwise(bands):
        assert above.low == below.high
    lines = expert_charts.weights_chart(range(20), values, [f"e{k}" for k in range(10)], title="", stacked=False)
    *own, others = lines.marks
    assert [type(mark) for mark in lines.marks] == [Line] * (expert_charts.MOST_EXPERTS + 1)
    together = np.sum([mark.y for mark in own], axis=0) + others.y
    assert together == pytest.approx(values.sum(axis=1))
    seven = expert_charts.weights_chart(range(20), values[:, :7], [f"e{k}" for k in range(7)], title="", stacked=False)
    assert len(seven.marks) == 7, "the seventh line is that of an expert, and not of one other"
    signed = expert_charts.weights_chart(range(20), values - 0.5, [f"e{k}" for k in range(10)], title="")
    assert [type(mark) for mark in signed.marks] == [Line] * (expert_charts.MOST_EXPERTS + 1) + [Level]


def test_ledgers_over_experts(tmp_path: Path) -> None:
    advice, y = {"Ann": [20.0, 21.0, 24.0], "Bob": [25.0, None, 23.0]}, [21.0, 22.0, 23.0]
    ledger = mb.experts.MLPoly().run(advice, y, keep_weights=True)
    ledger.plot_weights().savefig(tmp_path / "w.png")
    awake = {"Ann": [True, True, True], "Bob": [True, False, True]}
    for name, theirs in (("Ann", [1.0, 2.0, 3.0]), ("Bob", [16.0, 16.0, 16.0])):
        (axes,) = ledger.plot_regret(name).axes
        own = np.cumsum(np.where(awake[name], ledger.losses, 0))
        assert axes.lines[-1].get_ydata() == pytest.approx(own - theirs)
    assert "best expert, " in ledger.plot_regret().axes[0].get_title(loc="left")
    with pytest.raises(ValueError, match="no expert 'Eve'.*Ann, Bob"):
        ledger.plot_regret("Eve")
    with pytest.raises(ValueError, match="keep_weights=True"):
        mb.experts.MLPoly().run(advice, y).plot_weights()
    with pytest.raises(ValueError, match="keep_bytes"):
        mb.experts.MLPoly(keep_bytes=0).run(advice, y).plot_regret()
    votes = mb.experts.WeightedMajority().run([[0, 1, 1], [0, 1, 1]] * 20, [0, 0] * 20, keep_weights=True)
    assert votes.plot().axes[0].lines[0].get_ydata()[-1] == votes.mistakes
    votes.plot_windows().savefig(tmp_path / "v.png")
    votes.plot_weights().savefig(tmp_path / "v.png")


def test_a_bound_far_above_the_regret_has_its_own_chart() -> None:
    rounds, weights = np.arange(30), np.full((30, 2), 0.5)
    regrets = {"a": np.arange(30.0), "b": -np.arange(30.0)}
    near = mb.plot.experts(rounds, weights, regrets, names=["x", "y"], against="x", bounds=[(30, 50.0)])
    far = mb.plot.experts(
        rounds, weights, regrets, names=["x", "y"], against={"a": "x", "b": "y"}, bounds=[(30, 500.0)]
    )
    assert (len(near.axes), len(far.axes)) == (2, 3)
    assert "a, to x" in names_in_legend(far.axes[1])


def test_potential() -> None:
    (axes,) = mb.plot.potential({"‖z‖²": [0, 1, 1.5]}, {"M R²": [0, 1, 2]}).axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [[0, 1, 1.5], [0, 1, 2]]


def test_differences_of_forecasters_stay_within_the_axis() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 100)
    report = mb.forecasters.compare({"a": p, "b": 0.4 * p + 0.6}, rng.random(100) < p)
    _, (chart,) = forecaster_charts.forecaster_charts(report)
    (pair,) = report.pairs
    band, _, line, *_ = chart.marks
    assert list(line.y) == pair.means.tolist()
    assert max(band.high) <= chart.y.high
    assert report.plot().axes


@pytest.mark.parametrize("dark", [False, True])
def test_every_picture_is_light_or_dark(dark: bool, panel: Any) -> None:
    from matplotlib.colors import to_hex

    drawn = [
        panel.ledger_.plot(dark=dark),
        panel.ledger_.plot_windows(dark=dark),
        panel.ledger_.plot_calibration(dark=dark),
        panel.ledger_.plot_roc(dark=dark),
        panel.ledger_.plot_thresholds(dark=dark),
        panel.plot_leadership(dark=dark),
        mb.plot.curves({"a": [(1, 1), (2, 2)]}, dark=dark),
        mb.plot.potential({"a": [1, 2]}, dark=dark),
        mb.experts.compare({"Ann": [1.0, 2.0], "Bob": [2.0, 2.0], "y": [1.0, 2.0]}, "y").plot(dark=dark),
    ]
    for figure in drawn:
        assert to_hex(figure.get_facecolor()) == PAGE[dark]
        for axes in figure.axes:
            assert axes.get_title(loc="left")
            assert axes.get_xlabel()


def test_without_matplotlib_the_error_has_the_command(panel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'mistakebound\[plot\]'"):
        panel.ledger_.plot()


def test_a_potential_follows_the_proof_at_each_mistake() -> None:
    """The Perceptron's ‖z‖² stays below the line of the lemma, u·z above it; Winnow's relative entropy below it."""
    stream = mb.streams.margin(20, 1000, 0.15, 0)
    learner = mb.Perceptron()
    mistakes = learner.run(*stream).mistakes
    (axes,) = learner.plot_potential(stream.target, stream.margin, dark=True).axes
    square, inner, above, below = ([float(y) for y in line.get_ydata()] for line in axes.lines)
    assert len(square) == mistakes + 1
    assert square[0] == inner[0] == 0
    assert inner[-1] > stream.margin * mistakes * 0.999
    assert all(a <= b + 1e-4 for a, b in zip(square, above, strict=True))
    assert all(a >= b - 1e-4 for a, b in zip(inner, below, strict=True))
    experts = mb.streams.panel(31, 5, 1000, 0)
    winnow, u = mb.NormalizedWinnow("best", margin=0.2), np.isin(np.arange(31), experts.target)
    winnow.run(*experts)
    entropy, line = (each.get_ydata() for each in winnow.plot_potential(u, 1.0).axes[0].lines)
    assert entropy[0] == pytest.approx(np.log(31 / 5))
    assert all(a <= b + 1e-4 for a, b in zip(entropy, line, strict=True))
    with pytest.raises(ValueError, match="for each of the 31 features"):
        winnow.plot_potential([1.0], 1.0)
    arow = mb.Arow()
    arow.run(*stream)
    with pytest.raises(ValueError, match="not for arow"):
        arow.plot_potential(stream.target, 0.1)
    with pytest.raises(ValueError, match="not for arow$"):
        mb.Arow().plot_potential(stream.target, 0.1)  # it has learned nothing, so it has no features either
    with pytest.raises(ValueError, match="not for normalized-winnow with this comparator"):
        winnow.plot_potential(-u.astype(float), 1.0)
