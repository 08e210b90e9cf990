"""Every formula, for any arguments, returns a float of at least 0 or raises a ValueError that names an argument."""

from __future__ import annotations

import inspect
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from mistakebound import bounds
from mistakebound.cli import bound as about
from mistakebound.cli import main as command
from mistakebound.forecasters.confidence_sequence import ConfidenceSequence

FORMULAS = about.bounds()
EXTREMES = [0.0, -0.0, 5e-324, 1e-320, 1e-200, 1e-162, 1e-16, 0.5, 1 - 2**-53, 1.0, 1 + 2**-52, 2.0, 2 + 2**-51]
EXTREMES += [3.0, 1e15, 2.0**53, 1e150, 1e154, 1e155, 1e200, 1e308, 1.7976931348623157e308, math.inf, math.nan]
EXTREMES += [-each for each in EXTREMES]
numbers = st.one_of(
    st.sampled_from(EXTREMES),
    st.floats(),
    st.floats(0, 1),
    st.floats(1, 100),
    st.integers(-5, 100),
    st.integers(),
    st.sampled_from([10**20, 2**60, 2**1000, 10**400, -(10**400), True, False, None, "1", 1j]),
    st.sampled_from([np.float64(0.5), np.float32(2.5), np.int64(7), np.uint8(3), np.bool_(True), np.float64("nan")]),
    st.sampled_from([np.array(2.0), np.array([1.0, 2.0]), [1.0], Fraction(1, 3)]),
)


@pytest.mark.parametrize("name", FORMULAS)
@given(data=st.data())
@settings(deadline=None, max_examples=300)
def test_a_bound_is_a_number_or_names_the_argument(name: str, data: Any) -> None:
    formula = FORMULAS[name]
    takes = inspect.signature(formula).parameters
    arguments = {
        each.name: data.draw(numbers, label=each.name)
        for each in takes.values()
        if each.default is each.empty or data.draw(st.booleans(), label=f"with {each.name}")
    }
    try:
        value = formula(**arguments)
    except ValueError as error:
        assert any(each in str(error) for each in takes), str(error)  # noqa: PT017
        return
    assert isinstance(value, float)
    assert not math.isnan(value)
    assert value >= 0 or name == "winnow-gain"  # C may be negative


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("wrong", [None, True, "3", 1j, math.nan, -1, [2], 10**400, np.array([1.0])])
def test_each_argument_must_be_a_number_in_range(name: str, wrong: Any) -> None:
    takes = inspect.signature(FORMULAS[name]).parameters
    good = {
        each.name: {"margin": 0.5, "delta": 0.5, "alpha": 0.5, "eta": 0.5, "c": 3, "rounds": 9, "p": 2}.get(
            each.name, 1
        )
        for each in takes.values()
        if each.default is each.empty
    }
    if name.startswith("littlestone"):
        good |= {"alpha": 2.0} if "alpha" in good else {}
    if name == "perceptron-agnostic":
        good["hinge"] = 1.0
    if name == "hedge":
        good["rounds"] = 9
    assert FORMULAS[name](**good) >= 0
    for place, each in takes.items():
        if (wrong is None and each.default is None) or place == "strict":
            continue
        with pytest.raises(ValueError, match=place):
            FORMULAS[name](**good | {place: wrong})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda: bounds.novikoff(1e-200, 1e200, 1), 1.0),
        (lambda: bounds.novikoff(1e200, 1e-200, 1), 1.0),
        (lambda: bounds.novikoff(1, 1e-300, 1e-300), 1.0),
        (lambda: bounds.novikoff(0, 1e300, 1e-300), 0.0),
        (lambda: bounds.novikoff(1e200, 1, 1), math.inf),
        (lambda: bounds.perceptron_panel(2**1000, 2**999 + 1), math.inf),
        (lambda: bounds.littlestone_negatives(10, 0, 1e308, 10), 1.0),
        (lambda: bounds.winnow_best_rate(2, 1e-320, 1e300), math.inf),
        (lambda: bounds.winnow_best_rate(1, 1e-320, 1e300), 0.0),
        (lambda: bounds.winnow_best_rate(100, 1e-150), 2e300 * math.log(100)),
        (lambda: bounds.winnow_agnostic(1, 1e10, 1e200, 1e200, 1e-201), 1e-190),
        (lambda: bounds.winnow_gain(1e-300, 1e-10, 1e-300, 1e300), -math.log(1e290)),
        (lambda: bounds.hedge(1, eta=5e-324, best=1e9), 0.0),
        (lambda: bounds.hedge(1, eta=1e-9, best=1e9), 0.5),
        (lambda: bounds.weighted_majority(np.int64(16), np.float32(10)), bounds.weighted_majority(16, 10)),
        (lambda: bounds.halving(1024.0), 10.0),
    ],
)
def test_values_of_extreme_arguments(value: Any, expected: float) -> None:
    assert value() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: bounds.halving(2.5), "n"),
        (lambda: bounds.hedge(10, rounds=1.5), "rounds"),
        (lambda: bounds.elimination(10, 1.5), "r"),
        (lambda: bounds.infinite_winnow(1, 1.5, 3), "active"),
        (lambda: bounds.fixed_share(10, 1, 0.5, rounds=10, switches=0.5), "switches"),
        (lambda: bounds.littlestone(10, 2, strict="no"), "strict"),
    ],
)
def test_counts_must_be_whole(call: Any, named: str) -> None:
    with pytest.raises(ValueError, match=rf"\b{named}\b"):
        call()


@pytest.mark.parametrize("text", ["nan", "inf", "-1", "1e400", "0.5", "x", "1" * 5000, "-0", "1e-320", "True"])
@pytest.mark.parametrize("name", FORMULAS)
def test_the_command_line_names_the_wrong_argument(name: str, text: str) -> None:
    """Exit code 0 with a number, or 2 with a message; never a traceback."""
    takes = inspect.signature(FORMULAS[name]).parameters
    words = [word for each in takes for word in (f"--{each.replace('_', '-')}", text)]
    result = CliRunner().invoke(command, ["bound", name, *words])
    assert result.exit_code in (0, 2), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    if result.exit_code == 0:
        assert not math.isnan(float(result.output))
    else:
        assert any(f"--{each.replace('_', '-')}" in result.output for each in takes) or repr(text)[:9] in result.output


@given(alpha=numbers, low=numbers, high=numbers, scale=numbers, values=st.lists(numbers, max_size=5), data=st.data())
@settings(deadline=None, max_examples=600)
def test_a_confidence_sequence_returns_an_interval_or_raises(
    alpha: Any, low: Any, high: Any, scale: Any, values: Any, data: Any
) -> None:
    try:
        sequence = ConfidenceSequence(alpha, low, high, scale)
    except ValueError as error:
        assert any(each in str(error) for each in ("alpha", "low", "high", "scale"))  # noqa: PT017
        return
    given = [data.draw(st.one_of(st.none(), numbers)) for _ in range(3)]
    for value in values:
        before = sequence.rounds
        try:
            lower, upper = sequence.learn_one(value, *given)
        except ValueError:
            assert sequence.rounds == before
            continue
        assert float(low) <= lower <= upper <= float(high)  # a Fraction is rounded to float64
        assert not math.isnan(sequence.log_evidence_above)
        assert not math.isnan(sequence.log_evidence_below)


@pytest.mark.parametrize("size", [1e-60, 1e-20, 1.0, 1e20, 1e60])
@pytest.mark.parametrize("alpha", [5e-324, 1e-300, 0.05, 1 - 2**-53])
def test_intervals_scale_with_the_unit(size: float, alpha: float) -> None:
    values = np.random.default_rng(0).random(200)
    plain, scaled = ConfidenceSequence(alpha, 0, 1), ConfidenceSequence(alpha, 0, size)
    expected, found = plain.run(values), scaled.run(values * size)
    assert np.array(found) / size == pytest.approx(np.array(expected), rel=1e-9)


@pytest.mark.parametrize("column", ["values", "lows", "highs", "guesses"])
@pytest.mark.parametrize("wrong", [[object()], ["x"], [None], [10**400], [1j], [[1.0], [2.0, 3.0]]])
def test_columns_must_be_numbers(column: str, wrong: Any) -> None:
    sequence = ConfidenceSequence()
    with pytest.raises(ValueError, match=column):
        sequence.run(**{"values": [0.5], column: wrong})
    assert sequence.rounds == 0
