"""A learner has the same colour in all charts, and two series of one chart have different ones."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

import mistakebound as mb
from mistakebound.aggregation.registry import EXPERT_RULES
from mistakebound.rules.registry import DECLARATIONS
from mistakebound.viz.chart import DARK, LIGHT, Boxes, Chart, Line, coloured
from mistakebound.viz.colours import COLOURS, LINEAR, NUMBERS, OVER_EXPERTS, assigned, colour_of, is_bound, key_of
from mistakebound.viz.mistake_charts import Bound, comparison_chart, leadership_chart, mistakes_chart, window_chart

if TYPE_CHECKING:
    from collections.abc import Iterator

POINTS = [(1, 0), (10, 3)]


def series(chart: Chart) -> Iterator[tuple[str, int]]:
    """Yield the names of the series of a chart with their colours: lines and bars that are not bounds."""
    for mark, number in coloured(chart):
        if isinstance(mark, Line | Boxes) and number is not None and not is_bound(mark.name) and mark.name != "bound":
            yield mark.name, number


@pytest.fixture(scope="module")
def charts() -> list[Chart]:
    """All charts of all experiments, at small sizes."""
    experiments = [mb.lab.get(name) for name in mb.lab.names()]
    return [chart for each in experiments for chart in each.run(**each.quick).charts]


def test_a_name_has_the_same_colour_in_the_charts_of_all_experiments(charts: list[Chart]) -> None:
    found = defaultdict(set)
    for chart in charts:
        for name, number in series(chart):
            found[name].add(number % COLOURS)
            if name == "Weighted Majority, own mistakes only":
                continue  # a second form of a learner in the same chart
            if key_of(name) in NUMBERS and name != "randomized, drawn":
                assert number % COLOURS == NUMBERS[key_of(name)] % COLOURS, (chart.title, name)
    assert {name: numbers for name, numbers in found.items() if len(numbers) > 1} == {}
    assert found["Perceptron"] != found["Winnow"]
    assert {"Perceptron", "Winnow", "Panel", "Weighted Majority"} <= set(found)


def test_two_series_of_a_chart_of_an_experiment_never_share_a_colour(charts: list[Chart]) -> None:
    for chart in charts:
        solid = [
            number % COLOURS
            for mark, number in coloured(chart)
            if number is not None and isinstance(mark, Line | Boxes) and not getattr(mark, "dashed", False)
        ]
        assert len(solid) == len(set(solid)), chart.title


def test_the_bound_of_a_learner_has_its_colour(charts: list[Chart]) -> None:
    for chart in charts:
        of = {key_of(name): number for name, number in series(chart)}
        for mark, number in coloured(chart):
            if is_bound(mark.name) and key_of(mark.name) in of:
                assert number == of[key_of(mark.name)], (chart.title, mark.name)


def test_every_rule_has_a_number_of_its_own() -> None:
    assert set(LINEAR) == set(DECLARATIONS)
    assert set(OVER_EXPERTS) == {each.id for each in EXPERT_RULES}
    assert len(set(LINEAR.values())) == len(LINEAR)
    mixing = [number for name, number in OVER_EXPERTS.items() if "majority" not in name and name != "halving"]
    assert len(set(mixing)) == len(mixing)
    assert len(LIGHT) == len(DARK) == COLOURS


def test_the_learners_of_a_comparison_have_the_colours_of_the_lab() -> None:
    names = ["winnow, alpha = 1.2", "panel", "balanced-winnow, eta = 0.1", "balanced-winnow, eta = 0.5", "perceptron"]
    for chosen in (names, names[::-1], names[1:]):
        curves = dict.fromkeys(chosen, POINTS)
        for chart in (comparison_chart(curves), window_chart(curves), mistakes_chart(curves)):
            found = {name.split(":")[0]: number for name, number in series(chart)}
            for name, learner in {"panel": "Panel", "perceptron": "Perceptron"}.items():
                assert found[name] == colour_of(learner)
            assert len(set(found.values())) == len(chosen)
    with_bound = mistakes_chart({"Winnow": POINTS}, {"Winnow": Bound(7.0, "littlestone")})
    assert {number for _, number in coloured(with_bound)} == {colour_of("Winnow")}
    (leader,) = leadership_chart([(1, "winnow")], 10).marks
    assert leader.colour == colour_of("Winnow")


def test_more_names_than_colours_differ_in_the_style_of_the_line() -> None:
    numbers = assigned([f"expert {k}" for k in range(20)])
    assert numbers == list(range(20))
    assert assigned(["a", "Panel", "b", "c"], [None, None, 2, None]) == [1, 0, 2, 3]
    assert assigned(["bound of Winnow", "Winnow", "Winnow"]) == [1, 1, 0]
    assert assigned(["Panel", "ml-poly"]) == [0, 1], "names of two kinds of learners that have one number"
