"""The losses: values by hand, derivatives against differences, domains, convexity."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mistakebound.errors import StreamError
from mistakebound.losses import LOSSES, Custom, Log, Loss, Percentage, Pinball, Square, ZeroOne, loss_named

SOFT_HINGE = Custom(lambda f, y: np.logaddexp(0, 1 - f * y), lambda f, y: -y * (1 - np.tanh((f * y - 1) / 2)) / 2)
INSTANCES: list[Loss] = [*(make() for make in LOSSES.values()), Pinball(0.1), Pinball(0.97), SOFT_HINGE]
CONVEX = [loss for loss in INSTANCES if loss.convex]
numbers = st.floats(-100, 100).map(lambda x: round(x, 3))
units = st.floats(1e-3, 1 - 1e-3)


def named(loss):
    return loss.id


def draw_pair(data, loss):
    """Draw a forecast and an outcome in the domain of the loss."""
    if isinstance(loss, Log):
        return data.draw(units), float(data.draw(st.integers(0, 1)))
    outcome = data.draw(numbers.filter(lambda y: abs(y) > 0.01 or not isinstance(loss, Percentage)))
    return data.draw(numbers), outcome


@pytest.mark.parametrize("loss", INSTANCES, ids=named)
@given(data=st.data())
def test_the_gradient_is_the_derivative(loss, data):
    f, y = draw_pair(data, loss)
    h = 1e-6 * max(1.0, abs(f)) if not isinstance(loss, Log) else 1e-7
    if not isinstance(loss, (Log, Square)) and abs(f - y) < 2 * h and loss is not SOFT_HINGE:
        return  # a kink: see the next test
    slope = (loss.value(f + h, y) - loss.value(f - h, y)) / (2 * h)
    assert float(loss.gradient(f, y)) == pytest.approx(float(slope), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("loss", CONVEX, ids=named)
@given(data=st.data())
def test_the_gradient_is_a_subgradient_even_at_kinks(loss, data):
    f, y = draw_pair(data, loss)
    other = data.draw(units if isinstance(loss, Log) else numbers)
    if not isinstance(loss, Log) and data.draw(st.booleans()):
        f = y
    line = loss.value(f, y) + loss.gradient(f, y) * (other - f)
    assert float(loss.value(other, y)) >= float(line) - 1e-9 * max(1.0, abs(float(line)))


def test_the_zero_one_loss_is_not_convex():
    zero_one = ZeroOne()
    assert not zero_one.convex
    assert zero_one.value(1.5, 2) > (zero_one.value(1, 2) + zero_one.value(2, 2)) / 2


@pytest.mark.parametrize(
    ("loss", "forecast", "outcome", "value", "gradient"),
    [
        ("square", 3, 5, 4, -4),
        ("square", 5, 3, 4, 4),
        ("absolute", 3, 5, 2, -1),
        ("absolute", 5, 3, 2, 1),
        ("absolute", 3, 3, 0, 0),
        ("percentage", 3, 4, 0.25, -0.25),
        ("percentage", -3, -4, 0.25, 0.25),
        ("percentage", 4, 4, 0, 0),
        ("pinball:0.25", 1, 5, 1, -0.25),
        ("pinball:0.25", 5, 1, 3, 0.75),
        ("pinball:0.25", 5, 5, 0, 0),
        ("pinball", 5, 1, 2, 0.5),
        ("log", 0.25, 1, math.log(4), -4),
        ("log", 0.75, 0, math.log(4), 4),
        ("log", 0, 0, 0, 1),
        ("log", 1, 1, 0, -1),
        ("log", 0, 1, math.inf, -math.inf),
        ("log", 1, 0, math.inf, math.inf),
        ("zero-one", 1, 0, 1, 0),
        ("zero-one", 1, 1, 0, 0),
    ],
)
def test_values_by_hand(loss, forecast, outcome, value, gradient):
    found = loss_named(loss)
    assert float(found.value(forecast, outcome)) == value
    assert float(found.gradient(forecast, outcome)) == gradient


@given(p=st.floats(5e-324, 1e-300) | units)
def test_the_log_loss_is_precise_for_tiny_probabilities(p):
    assert float(Log().value(p, 1)) == pytest.approx(-math.log(p), rel=1e-15)
    assert float(Log().value(p, 0)) == pytest.approx(-math.log1p(-p), rel=1e-15, abs=0)  # ln(1 − p) would be 0
    assert float(Log().vector_value([p, 0.0], [1, 0])) == float(Log().value(p, 1))


def test_log_of_vectors():
    p, y = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]]), np.array([0.0, 1.0, 0.0])
    assert Log().vector_value(p, y).tolist() == [math.log(4), math.inf]
    assert Log().vector_gradient(p, y).tolist() == [[0, -4, 0], [0, -math.inf, 0]]


@pytest.mark.parametrize("loss", [loss for loss in INSTANCES if not isinstance(loss, (Log, ZeroOne))], ids=named)
def test_vectors_sum_over_classes(loss):
    f, y = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([2.0, 4.0])
    assert loss.vector_value(f, y) == pytest.approx([sum(map(float, loss.value(row, y))) for row in f])
    assert loss.vector_gradient(f, y).shape == f.shape
    assert loss.vector_gradient(f, y)[1, 0] == loss.gradient(3.0, 2.0)


def test_the_zero_one_loss_accepts_any_type():
    loss = ZeroOne()
    assert loss.value(["sun", "rain"], ["sun", "sun"]).tolist() == [0, 1]
    assert loss.vector_value([[1, 0], [1, 1]], [1, 0]).tolist() == [0, 1]
    loss.check([["sun", "rain"]], ["sun"])
    with pytest.raises(StreamError) as caught:
        loss.check([["sun"], ["rain"]], ["sun", None])
    assert (caught.value.round, caught.value.kind, caught.value.value) == (1, "outcome", None)


@pytest.mark.parametrize("loss", INSTANCES, ids=named)
def test_the_loss_of_an_expert_asleep_is_nan(loss):
    forecast, y = np.array([math.nan, 0.5]), np.array([1.0, 1.0])
    assert np.isnan(loss.value(forecast, y)).tolist() == [True, False]
    assert np.isnan(loss.gradient(forecast, y)).tolist() == [True, False]
    assert loss.value(forecast[:, None], y).shape == (2, 2)
    assert loss.value(forecast, y).dtype == loss.gradient(forecast, 1).dtype == np.float64
    assert np.isnan(loss.vector_gradient(forecast, np.array([0.0, 1.0]))).tolist() == [True, False]
    loss.check(forecast[None, :], [1.0])


@pytest.mark.parametrize("loss", INSTANCES[:-1], ids=named)
def test_exp_concave_is_the_largest_possible_rate(loss):
    if loss.exp_concave is None:
        return
    p = np.linspace(0.001, 0.999, 400)[:, None]

    def bends(eta: float) -> float:
        """Return the largest second difference of e^{−ηℓ} over [0, 1]."""
        values = np.exp(-eta * loss.value(p, np.array([0.0, 1.0])))
        return float(np.diff(values, 2, axis=0).max())

    assert bends(loss.exp_concave) <= 1e-12
    assert bends(loss.exp_concave * 1.05) > 1e-12


@pytest.mark.parametrize(
    ("loss", "forecasts", "outcomes", "round", "words"),
    [
        ("square", [[1, 2], [3, math.inf]], [1, 2], 1, ["expert 1's forecast", "inf", "finite"]),
        ("square", [[1, 2], [3, 4]], [1, math.nan], 1, ["outcome", "nan"]),
        ("absolute", [1, -math.inf], [1, 2], 1, ["forecast", "-inf"]),
        ("pinball", [[1], [2]], [1], None, ["(2, 1)", "(1,)"]),
        ("square", [[1, 2], ["a", 2]], [1, 2], 1, ["forecast ['a', 2]", "expert 0", "'a'"]),
        ("square", [[1, 2], [1]], [1, 2], None, ["forecasts", "numbers"]),
        ("log", [[0.5, 1.5]], [1], 0, ["expert 1's forecast", "1.5", "log loss", "0 and 1"]),
        ("log", [[0.5, -1e-9]], [1], 0, ["expert 1's forecast", "-1e-09"]),
        ("log", [[0.5], [0.5]], [1, 0.5], 1, ["outcome", "0.5", "log loss", "0 or 1"]),
        ("log", [[[0.5, 1.5]]], [[1, 0]], 0, ["expert 0's forecast", "class 1", "1.5"]),
        ("log", [[[0.5, 0.5]]], [[1, 2]], 0, ["outcome", "class 1", "2.0"]),
        ("percentage", [[1], [2]], [3, 0], 1, ["outcome", "0.0", "percentage loss"]),
        ("zero-one", [[1], [2]], [3], None, ["2 forecasts", "1 outcomes"]),
    ],
)
def test_an_error_names_the_round_the_expert_and_the_value(loss, forecasts, outcomes, round, words):  # noqa: A002
    with pytest.raises(StreamError) as caught:
        loss_named(loss).check(forecasts, outcomes)
    assert caught.value.round == round
    assert all(each in str(caught.value) for each in words), str(caught.value)


def test_the_number_of_the_first_round_can_be_set():
    with pytest.raises(StreamError, match="expert 0") as caught:
        Square().check([[1.0], [math.inf]], [1, 2], first_round=7)
    assert caught.value.round == 8


@pytest.mark.parametrize("loss", INSTANCES[:-1], ids=named)
def test_loss_named_returns_the_loss_with_an_id(loss):
    assert loss_named(loss.id) == loss
    assert loss_named(loss) is loss
    assert loss.name
    assert hash(loss) == hash(loss_named(loss.id))


def test_a_pair_of_functions_is_a_loss():
    loss = loss_named((lambda f, y: (f - y) ** 4, lambda f, y: 4 * (f - y) ** 3))
    assert float(loss.value(3, 1)) == 16
    assert loss.gradient([3, 1], 1).tolist() == [32, 0]
    with pytest.raises(ValueError, match=r"\(2,\).*\(7,\)"):
        loss_named((lambda f, y: np.ones(7), lambda f, y: 0 * f)).value([1, 2], 1)


@pytest.mark.parametrize("spec", ["huber", "square:2", "", None, 3, (np.sin,), ("a", "b")])
def test_the_error_for_an_unknown_loss_lists_the_losses(spec):
    with pytest.raises(ValueError, match="square, absolute, log") as caught:
        loss_named(spec)
    assert repr(spec) in str(caught.value)


@pytest.mark.parametrize("tau", ["2", "x"])
def test_the_error_for_a_wrong_tau_names_it(tau):
    with pytest.raises(ValueError, match=rf"^tau must be .*{tau}"):
        loss_named(f"pinball:{tau}")


@given(tau=st.floats(0.01, 0.99), values=st.lists(st.integers(-50, 50), min_size=1, max_size=9))
def test_the_pinball_loss_is_smallest_at_a_quantile(tau, values):
    """At the best of the values, at most the part τ of them is smaller, and at most the part 1 − τ is larger."""
    y = np.array(values, float)
    totals = [float(Pinball(tau).value(v, y).sum()) for v in y]
    best = y[int(np.argmin(totals))]
    slack = 1e-9 * len(y)
    assert Fraction(int((y < best).sum())) <= Fraction(tau) * len(y) + Fraction(slack)
    assert Fraction(int((y > best).sum())) <= Fraction(1 - tau) * len(y) + Fraction(slack)
