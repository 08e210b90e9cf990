"""Experiments on advice, noise, drift, late outcomes and forecasters: they hold, and broken rules refute them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.forecasters import compare
from mistakebound.lab.charts import bars, curve, line, some_rounds
from mistakebound.lab.experiment_streams import against_majority
from mistakebound.learners.mixing import mix
from mistakebound.viz.chart import Line
from mistakebound.viz.colours import assigned

NAMES = (
    "alice-and-bob",
    "drift",
    "infinite-attributes",
    "late-labels",
    "lying-adviser",
    "mixing",
    "multiclass",
    "noise",
    "panel-learner",
    "randomized-majority",
    "switching-experts",
    "vanishing-regret",
    "winnow-and-majority",
)
SMALL = {name: dict(mb.lab.get(name).quick) for name in NAMES}
"""Sizes for which an experiment is fast."""


def failed(result: Any) -> list[str]:
    return [f"{check.statement}: {check.measured}" for check in result.checks if not check.holds]


@pytest.mark.parametrize("name", SMALL)
def test_the_default_sizes_hold(name: str) -> None:
    result = mb.lab.run(name)
    assert failed(result) == []
    assert result.conclusion
    assert all(len(row) == len(table.columns) for table in result.tables for row in table.rows)
    assert all(chart.x.label and chart.y.label and chart.marks for chart in result.charts)
    assert result.to_json()


@pytest.mark.parametrize("name", SMALL)
def test_small_sizes_hold_and_the_seed_decides(name: str) -> None:
    first, again, other = (mb.lab.run(name, **SMALL[name], seed=seed) for seed in (0, 0, 1))
    assert failed(first) == []
    assert failed(other) == []
    assert again.tables == first.tables
    assert again.conclusion == first.conclusion
    assert other.tables != first.tables


@pytest.mark.parametrize("name", SMALL)
def test_theorems_have_a_bound(name: str) -> None:
    assert set(mb.lab.get(name).theorems) <= set(mb.bounds.BOUNDS)


def test_tables_show_what_the_theorems_say() -> None:
    rows = mb.lab.run("randomized-majority", **SMALL["randomized-majority"]).tables[0].rows
    for rounds, best, majority, bound, expected, bound_of_it, *_ in rows:
        assert majority == rounds // 2 >= 2 * best
        assert majority <= bound == pytest.approx(mb.bounds.weighted_majority(8, best, 1 - _rate(8, rounds)))
        assert expected <= bound_of_it
    first, last = ((row[4] - row[1]) / row[0] for row in (rows[0], rows[-1]))
    assert last < first
    rows = mb.lab.run("late-labels", **SMALL["late-labels"]).tables[0].rows
    assert [(row[0], row[3]) for row in rows if row[1] == "adversary"] == [
        (delay, 5 * (delay + 1)) for delay in (0, 1, 2, 4, 8, 16, 32)
    ]
    rows = mb.lab.run("infinite-attributes", **SMALL["infinite-attributes"]).tables[0].rows
    assert {row[3] for row in rows} == {mb.bounds.infinite_winnow(3, 12, 4.0)}


def _rate(n: int, rounds: int) -> float:
    return min(0.5, (np.log(n) / rounds) ** 0.5)


def test_the_adversary_knows_the_weights() -> None:
    votes, outcomes = against_majority(16, 200, 0.3, seed=0)
    ledger = mb.experts.WeightedMajority(eta=0.3).run(votes, outcomes)
    assert ledger.mistake_rounds.tolist() == list(range(1, 200, 2))
    assert votes[1::2].sum(axis=1).tolist() == [8] * 100
    assert mb.experts.WeightedMajority(eta=0.99).run(votes, outcomes).mistakes < 100


# ---------------------------------------------------------------------- broken rules


class Slow(mb.Winnow):
    """A Winnow whose weights hardly change."""

    def __init__(self, threshold: float | None = None) -> None:
        super().__init__(1.001, threshold)


class Hasty(mb.NormalizedWinnow):
    """A Winnow with ten times the rate."""

    def __init__(self, eta: float) -> None:
        super().__init__(10 * eta)


class Restless(mb.NormalizedWinnow):
    """A Winnow that also learns from rounds without a mistake."""

    def __init__(self, eta: float) -> None:
        super().__init__(eta, update_margin=0.5)


class Misled(mb.Perceptron):
    """A Perceptron that hears the opposite of each outcome."""

    def tell(self, asked: Any, outcome: Any) -> None:
        super().tell(asked, -outcome)


class Biased(mb.MulticlassPerceptron):
    """A multiclass Perceptron with a large constant feature."""

    def __init__(self) -> None:
        super().__init__(bias=9.0)


class Cautious(mb.Panel):
    """A Panel that predicts the positive label only if it is nearly sure."""

    def __init__(self) -> None:
        super().__init__(threshold=0.9)


class Rash(mb.experts.WeightedMajority):
    """A Weighted Majority that follows only the experts with the fewest mistakes."""

    def __init__(self, eta: float) -> None:
        super().__init__(eta=1 - eta / 1000)


class Trusting(mb.experts.Guarded):
    """A guard that sees the advice in place of the votes, and so always follows it."""

    def run(self, V: Any, y: Any, advice: Any = None, *, keep_weights: bool = False) -> Any:
        return super().run(np.column_stack([advice] * np.shape(V)[1]), y, advice, keep_weights=keep_weights)


class Greedy(mb.experts.Hedge):
    """A Hedge that nearly follows the leader."""

    def __init__(self, horizon: int) -> None:
        super().__init__(eta=1e4 / horizon)


class Stubborn(mb.experts.FixedShare):
    """A Fixed Share without a share."""

    def __init__(self, eta: float, alpha: float, *, gradient: bool) -> None:
        super().__init__(eta, alpha * 1e-9, gradient=gradient)


def swapped(forecasts: dict[str, Any], y: Any, alpha: float) -> Any:
    """Compare two forecasters under the name of the other one."""
    names, columns = list(forecasts), list(forecasts.values())
    return compare(dict(zip(names, reversed(columns), strict=True)), y, alpha=alpha)


def unfair(start: Any, parts: Any) -> Any:
    """Mix with a small share of the first part, which makes most mistakes."""
    shares = [1.0] if len(parts) == 1 else [0.0, *[1 / (len(parts) - 1)] * (len(parts) - 1)]
    return mix(start, parts, shares)


BROKEN: dict[str, tuple[Any, str, Any, str]] = {
    "alice-and-bob": (mb.forecasters, "compare", swapped, "the true difference lies in"),
    "drift": (mb, "Winnow", Slow, "Winnow recovers"),
    "infinite-attributes": (mb, "Winnow", Slow, "infinite-winnow"),
    "late-labels": (mb, "Perceptron", Misled, "the adversary reaches the bound"),
    "lying-adviser": (mb.experts, "Guarded", Trusting, "the guard errs less often than the adviser"),
    "mixing": (mb, "mix", unfair, "mixing: does not apply"),
    "multiclass": (mb, "MulticlassPerceptron", Biased, "multiclass-perceptron"),
    "noise": (mb, "NormalizedWinnow", Hasty, "winnow-agnostic"),
    "panel-learner": (mb, "Panel", Cautious, "guarded-weighted-majority"),
    "randomized-majority": (mb.experts, "WeightedMajority", Rash, "errs in every hard round"),
    "switching-experts": (mb.experts, "FixedShare", Stubborn, "is within its bound"),
    "vanishing-regret": (mb.experts, "Hedge", Greedy, "no regret of Hedge exceeds"),
    "winnow-and-majority": (mb, "NormalizedWinnow", Restless, "predicts the same as Winnow"),
}
"""By experiment: where a name is, what replaces it, and words of the check that then fails."""


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, what, replacement, words = BROKEN[name]
    monkeypatch.setattr(where, what, replacement)
    result = mb.lab.run(name, **SMALL[name])
    assert not result.holds
    assert any(words in each for each in failed(result)), failed(result)


def test_too_few_rounds_show_a_vacuous_bound() -> None:
    found = failed(mb.lab.get("infinite-attributes").function(rounds=100))  # too few to be run by its name
    assert any("infinite-winnow: vacuous: infinite-winnow allows 108 mistakes" in each for each in found)


def test_every_experiment_has_a_broken_rule() -> None:
    assert set(BROKEN) == set(SMALL) <= set(mb.lab.names())


# ---------------------------------------------------------------------- marks


def test_a_curve_has_few_points_with_both_ends() -> None:
    for rounds in (1, 7, 200, 201, 5000):
        for log in (False, True):
            chosen = some_rounds(rounds, log=log)
            assert chosen == sorted(set(chosen))
            assert (chosen[0], chosen[-1]) == (1, rounds)
            assert len(chosen) <= 200
    shown = curve("squares", np.arange(1, 5001) ** 2, dashed=True)
    assert [float(x) ** 2 for x in shown.x] == shown.y
    assert shown.dashed


def test_lines_and_bars_of_a_table() -> None:
    rows = [("a", 1, 5.0), ("b", 2, 7.0)]
    assert line("mistakes", rows, 1, 2) == Line("mistakes", [1, 2], [5.0, 7.0], dots=True)
    first, second = bars(rows, {"mistakes": 1, "bound": 2})
    assert [box[3] for box in first.boxes] == [1.0, 2.0]
    assert [box[3] for box in second.boxes] == [5.0, 7.0]
    assert first.boxes[0][1] <= second.boxes[0][0]
    assert second.boxes[0][1] < first.boxes[1][0]
    assert (first.faint, second.faint) == (False, True)


def test_one_change_and_one_switch_are_singular() -> None:
    assert quick_conclusion("drift").startswith("After 1 change in ")
    assert "best sequence with 1 switch loses" in quick_conclusion("switching-experts")
    measured = " ".join(check.measured for check in mb.lab.run("pnorm").checks)
    assert "e+" not in measured, measured


def quick_conclusion(name: str) -> str:
    """Return the conclusion of an experiment with one change, at its small sizes."""
    found = mb.lab.get(name)
    assert 1 in found.quick.values()
    return found.run(**found.quick).conclusion


def test_the_bound_of_the_randomized_rule_has_the_colour_of_its_expected_regret() -> None:
    found = mb.lab.get("randomized-majority")
    chart = found.run(**found.quick).charts[0]
    names, given = zip(*((mark.name, mark.colour) for mark in chart.marks), strict=True)
    numbers = dict(zip(names, assigned(names, given), strict=True))
    assert numbers["bound of the randomized rule"] == numbers["randomized, expected"]
    assert len({*numbers.values()}) == 3
