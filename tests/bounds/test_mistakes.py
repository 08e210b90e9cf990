"""The mistake bounds: values by hand, limits, brute force, and arguments out of range."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mistakebound import bounds

margins = st.floats(1e-3, 1.0)
counts = st.integers(1, 10**6)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (bounds.novikoff(2, 3, 0.5), 144),
        (bounds.novikoff(2, 3, 0.5, update_margin=1), (4 + 2) * 36),
        (bounds.perceptron_panel(100, 7), 700),
        (bounds.perceptron_agnostic(2, 3, 0.5, squared_hinge=1), 14**2),
        (bounds.perceptron_agnostic(1, 3, 1, hinge=4), 16),  # (3 + sqrt(9 + 16)) / 2 = 4
        (bounds.perceptron_agnostic(1, 3, 1, hinge=4, squared_hinge=0.5), 3.5**2),
        (bounds.perceptron_agnostic(1, 3, 1, hinge=4, squared_hinge=5), 16),
        (bounds.perceptron_agnostic(1, 1, 1, hinge=2, update_margin=1.5), (1 + math.sqrt(3)) ** 2),  # k = 2
        (bounds.perceptron_agnostic(1, 1, 1, squared_hinge=1, update_margin=1.5), 9),
        (bounds.pnorm(5, 2, 3, 0.5), 4 * 144),
        (bounds.pnorm(5, 2, 3, 0.5, update_margin=1), 18 * 36),
        (bounds.pnorm(5, 1, 1.5, 1, hinge=4), 16),  # k = 3
        (bounds.littlestone(100, 2), 44),
        (bounds.littlestone(1024, 3), 2 + 3 * 3 * 10),
        (bounds.littlestone(1024, 3, strict=True), 2 + 3 * 3 * 11),
        (bounds.littlestone(100, 2, threshold=50), 4 + 3 * 2 * 6),
        (bounds.littlestone(81, 2, alpha=3), 1.5 + 4 * 2 * 4),
        (bounds.littlestone(10, 2, threshold=0.5), 40),
        (bounds.littlestone(1, 1), 2),
        (bounds.littlestone(1, 1, strict=True), 5),
        (bounds.littlestone_positives(100, 2), 14),
        (bounds.littlestone_negatives(100, 3, alpha=3, threshold=50), 3 + 9),
        # A = 2 (1 + 2) = 6, v = (6 + 100/(1 * 4)) / (1/2) = 62
        (bounds.littlestone_separable(100, 2, 1, alpha=2, threshold=4), 6 + 62),
        # alpha = 1.5: A = 2 (1 + log_1.5 100), v = (A + 2) / (2/3); the other form is 8 + 10 + 28 ln 100
        (bounds.littlestone_separable(100, 2, 1, 1.5, 100), 2.5 * 2 * (1 + math.log(100, 1.5)) + 3),
        (bounds.littlestone_separable(10**6, 0, 1, 1.5, 1), min(8e6, 3e6)),
        (bounds.littlestone_separable(9, 1, 0.2, alpha=1.25, threshold=9), math.inf),
        (bounds.infinite_winnow(2, 8, 4), 60),  # 1 + 5/1 = 6, lg 32 = 5
        (bounds.infinite_winnow(2, 8, 4, strict=True), 72),
        (bounds.infinite_winnow(1, 49, 1024 / 49), (1 + (1024 / 49 + 1) / (512 / 49 - 1)) * 10),
        (bounds.infinite_winnow(1, 49, 1024 / 49, strict=True), (1 + (1024 / 49 + 1) / (512 / 49 - 1)) * 11),
        (bounds.winnow_fixed_rate(100, 0.5, 0.5), math.log(100) / (0.25 - math.log(math.cosh(0.5)))),
        (bounds.winnow_fixed_rate(100, 1, 0.25, 2), math.log(100) / (0.25 - math.log(math.cosh(0.5)))),
        (bounds.winnow_fixed_rate(100, 0.5, 0.5, relative_entropy=1), 1 / (0.25 - math.log(math.cosh(0.5)))),
        (
            bounds.winnow_fixed_rate(100, 1, 0.25, 2, update_margin=0.2),
            math.log(100) / (0.25 - math.log(math.cosh(0.5) + 0.1 * math.sinh(0.5))),
        ),
        (bounds.winnow_fixed_rate(1024, 1, math.inf), 10),
        (bounds.winnow_fixed_rate(1024, 0.99, math.inf), math.inf),
        (bounds.winnow_fixed_rate(100, 0.1, 5), math.inf),
        (bounds.winnow_fixed_rate(100, 0.5, 0.5, update_margin=0.5), math.inf),
        (bounds.winnow_rate(0.5), math.log(3) / 2),
        (bounds.winnow_rate(1, 2), math.log(3) / 4),
        (bounds.winnow_rate(2, 2), math.inf),
        (bounds.winnow_best_rate(1024, 1), 10),
        (bounds.winnow_best_rate(1024, 2, 2), 10),
        (bounds.winnow_best_rate(100, 0.5), math.log(100) / (0.75 * math.log(1.5) + 0.25 * math.log(0.5))),
        (bounds.winnow_best_rate(100, 0.25), 2 * math.log(100) / (1.25 * math.log(1.25) + 0.75 * math.log(0.75))),
        (bounds.winnow_agnostic(3, 8, 0.5, 0.5), 7 / (0.25 - math.log(math.cosh(0.5)))),
        (bounds.winnow_agnostic(3, 8, 2, 0.5), 7 / (1 - math.log(math.cosh(0.5)))),
        (bounds.winnow_agnostic(3, 0, 1, math.inf), 3 / math.log(2)),
        (bounds.winnow_agnostic(3, 1, 1, math.inf), math.inf),
        (bounds.winnow_agnostic(3, 1, 2, math.inf), math.inf),
        (bounds.balanced_winnow(50, 2, 0.5, hinge=8), bounds.winnow_agnostic(math.log(100), 8, 2, 0.5)),
        (bounds.balanced_winnow(512, 1), 10),
        (bounds.balanced_winnow(50, 0.5), bounds.winnow_best_rate(100, 0.5)),
        (bounds.balanced_winnow(50, 0.5, 0.3), bounds.winnow_fixed_rate(100, 0.5, 0.3)),
        (bounds.balanced_winnow(50, 0.5, 0.5, relative_entropy=3, hinge=8), bounds.winnow_agnostic(3, 8, 0.5, 0.5)),
        (bounds.winnow_panel(1000, 5), 50 * math.log(1000)),
        (bounds.elimination(100, 2), 98),
        (bounds.elimination(100), 100),
        (bounds.halving(1), 0),
        (bounds.halving(1023), 9),
        (bounds.halving(1024), 10),
        (bounds.weighted_majority(16, 10), math.log(2**14) / math.log(4 / 3)),
        (bounds.weighted_majority(16, 0, beta=0), 4),
        (bounds.weighted_majority(16, 1, beta=0), math.inf),
        (bounds.guarded_weighted_majority(16, 10), math.log(2**14) / math.log(4 / 3)),
        (bounds.guarded_plurality(16, 10, 5), 5 + math.log(2**14) / math.log(4 / 3)),
        (bounds.guarded_weighted_majority(16, 10, prior=0.5), math.log(2**11) / math.log(4 / 3)),
        (bounds.randomized_weighted_majority(16, 10), math.log(2**14) / 0.5),
        (bounds.randomized_weighted_majority(16, 0, beta=0), math.log(16)),
    ],
)
def test_values_by_hand(value, expected) -> None:
    assert isinstance(value, float)
    assert value == pytest.approx(expected, rel=1e-12)


def test_whole_values_are_exact() -> None:
    assert bounds.littlestone(100, 2) == 44.0
    assert bounds.winnow_best_rate(1024, 1) == 10.0
    assert bounds.halving(2**60) == 60.0
    assert bounds.halving(2**60 - 1) == 59.0


@settings(deadline=None)  # exact powers of 1.0001 are slow on a busy machine
@given(
    st.sampled_from([1.0001, 1.1, 1.5, 2.0, 3.0, 10.0, 1 + 2.0**-8]),
    st.one_of(st.integers(1, 60), st.floats(0.1, 1e6)),
    st.booleans(),
)
def test_steps_are_counted_without_rounding(alpha, power_or_theta, strict) -> None:
    is_power = isinstance(power_or_theta, int)
    theta = alpha**power_or_theta if is_power else power_or_theta
    weight, steps = Fraction(1), 0
    if alpha < 1.01 and theta > 1.2:  # keep the exact loop below short
        theta = 1 + theta % 0.2
    while weight < theta or (strict and weight == theta):
        weight *= Fraction(alpha)
        steps += 1
    assert bounds.littlestone_positives(10, 1, alpha, theta, strict) == steps


def test_promotions_to_an_exact_power_of_two() -> None:
    for k in range(1, 60):
        assert bounds.littlestone_positives(2**k, 1) == k
        assert bounds.littlestone_positives(2**k, 1, strict=True) == k + 1
        assert bounds.littlestone_positives(3, 1, threshold=math.nextafter(2.0**k, 0)) == k
        assert bounds.littlestone_positives(3, 1, threshold=math.nextafter(2.0**k, math.inf)) == k + 1


def test_promotions_with_a_tiny_rate_are_counted_without_a_loop() -> None:
    assert bounds.littlestone_positives(2, 1, alpha=1 + 2.0**-40) == pytest.approx(2.0**40 * math.log(2), rel=1e-9)


@given(counts, margins, st.floats(0.1, 10))
def test_the_best_rate_gives_the_smallest_fixed_rate_bound(n, margin, radius) -> None:
    best = bounds.winnow_best_rate(n, margin * radius, radius)
    at = bounds.winnow_fixed_rate(n, margin * radius, bounds.winnow_rate(margin * radius, radius), radius)
    assert at == pytest.approx(best, rel=1e-8)
    assert best <= 2 * math.log(n) / margin**2 * (1 + 1e-12)
    for factor in (0.8, 1.25):
        eta = factor * min(bounds.winnow_rate(margin * radius, radius), 20 / radius)
        assert bounds.winnow_fixed_rate(n, margin * radius, eta, radius) >= best * (1 - 1e-9)


@given(st.floats(1e-6, 50), st.floats(1e-3, 1), st.floats(0, 0.9))
def test_gain_is_the_textbook_formula(eta, margin, zone) -> None:
    plain = eta * margin - math.log(math.cosh(eta) + zone * math.sinh(eta))
    assert bounds.winnow_gain(margin, eta, update_margin=zone) == pytest.approx(plain, rel=1e-9, abs=1e-13)


def test_gain_does_not_overflow() -> None:
    assert bounds.winnow_gain(1, 1e9) == pytest.approx(math.log(2))
    assert bounds.winnow_gain(1, 1e300, update_margin=0.5) == pytest.approx(math.log(4 / 3))
    assert bounds.winnow_gain(1, math.inf) == pytest.approx(math.log(2))
    assert bounds.winnow_gain(0.5, 1e9) < 0
    assert bounds.winnow_gain(0.5, math.inf) == -math.inf
    assert bounds.winnow_gain(0.9, 1e4) == pytest.approx(math.log(2) - 1e3)


def test_tiny_margins_keep_their_precision() -> None:
    for tiny in (1.1e-12, 3.3e-11, 7.7e-10):
        assert bounds.winnow_gain(tiny, tiny) == pytest.approx(tiny**2 / 2, rel=1e-9, abs=0)
    assert bounds.winnow_best_rate(100, 1e-6) == pytest.approx(2e12 * math.log(100), rel=1e-9)


@given(st.floats(0.1, 10), st.floats(0.1, 10), margins, st.floats(0, 3))
def test_agnostic_bounds_without_loss_equal_the_separable_bounds(radius, norm, margin, zone) -> None:
    plain = bounds.novikoff(radius, norm, margin, zone)
    assert bounds.perceptron_agnostic(radius, norm, margin, squared_hinge=0, update_margin=zone) == pytest.approx(plain)
    assert bounds.perceptron_agnostic(radius, norm, margin, hinge=0, update_margin=zone) == plain
    assert bounds.pnorm(2, radius, norm, margin, zone) == plain
    assert bounds.pnorm(3, radius, norm, margin, zone, hinge=1e-12) == pytest.approx(
        bounds.pnorm(3, radius, norm, margin, zone)
    )
    assert bounds.winnow_agnostic(2, 0, margin, 0.1) == bounds.winnow_fixed_rate(9, margin, 0.1, relative_entropy=2)


@given(counts, margins, st.floats(0, 50), st.floats(1.01, 3))
def test_harder_streams_have_larger_bounds(n, margin, loss, factor) -> None:
    assert bounds.novikoff(1, 1, margin / factor) > bounds.novikoff(1, 1, margin)
    assert bounds.pnorm(2 * factor, 1, 1, margin) > bounds.pnorm(2, 1, 1, margin)
    for more in ({"hinge": loss + factor}, {"squared_hinge": loss + factor}):
        less = {name: value - factor for name, value in more.items()}
        assert bounds.perceptron_agnostic(1, 1, margin, **more) > bounds.perceptron_agnostic(1, 1, margin, **less)
    assert bounds.winnow_best_rate(n + 1, margin / factor) > bounds.winnow_best_rate(n, margin)
    assert bounds.winnow_fixed_rate(n, margin / factor, 0.1) >= bounds.winnow_fixed_rate(n, margin, 0.1)
    assert bounds.weighted_majority(n, loss + 1) > bounds.weighted_majority(n, loss)
    assert bounds.randomized_weighted_majority(n, loss) <= bounds.weighted_majority(n, loss)
    assert bounds.littlestone(n, 1) >= bounds.littlestone(n, 0)
    assert bounds.littlestone_separable(n, loss + 1, 0.5, 1.25, n) > bounds.littlestone_separable(n, loss, 0.5, 1.25, n)
    assert bounds.infinite_winnow(2, n + 1, 4) >= bounds.infinite_winnow(2, n, 4)


def test_weighted_majority_by_the_textbook() -> None:
    assert bounds.weighted_majority(1000, 50) == pytest.approx(2.41 * (50 + math.log2(1000)), rel=1e-3)
    for eta in (0.01, 0.1, 0.5):
        assert bounds.weighted_majority(100, 30, 1 - eta) <= 2 * math.log(100) / eta + 60 * (1 + eta)
        assert bounds.randomized_weighted_majority(100, 30, 1 - eta) <= (1 + eta) * 30 + math.log(100) / eta


def test_perceptron_agnostic_holds_for_every_comparator_and_zone() -> None:
    """Count the updates of real runs and compare them with the bound for arbitrary u and gamma."""
    rng, tightest = np.random.default_rng(0), math.inf
    for _ in range(60):
        X = rng.standard_normal((80, 4))
        u = rng.standard_normal(4)
        y = np.where(X @ u + 0.3 * rng.standard_normal(80) > 0, 1.0, -1.0)
        zone = rng.choice([0.0, 0.5, 3.0])
        z, updated = np.zeros(4), []
        for t in range(80):
            if y[t] * (z @ X[t]) <= zone:
                z, updated = z + y[t] * X[t], [*updated, t]
        A, b = X[updated], y[updated]
        radius, scores = np.linalg.norm(A, axis=1).max(), b * (A @ u)
        for gamma in (0.01, 0.1, 0.5, 1.0, 3.0):
            short = np.maximum(0, gamma - scores)
            for loss in ({"hinge": short.sum() / gamma}, {"squared_hinge": np.linalg.norm(short)}):
                bound = bounds.perceptron_agnostic(radius, np.linalg.norm(u), gamma, update_margin=zone, **loss)
                assert len(updated) <= bound * (1 + 1e-9)
                tightest = min(tightest, bound / len(updated))
    assert tightest < 2  # otherwise the bound is too loose to test anything


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: bounds.novikoff(1, 1, 0), "margin"),
        (lambda: bounds.novikoff(1, 1, math.nan), "margin"),
        (lambda: bounds.novikoff(-1, 1, 1), "radius"),
        (lambda: bounds.novikoff(1, -1, 1), "norm"),
        (lambda: bounds.novikoff(1, 1, 1, -1), "update_margin"),
        (lambda: bounds.perceptron_panel(10, 4), "k"),
        (lambda: bounds.perceptron_panel(3, 5), "k"),
        (lambda: bounds.perceptron_agnostic(1, 1, 1), "hinge"),
        (lambda: bounds.perceptron_agnostic(1, 1, 1, hinge=-1), "hinge"),
        (lambda: bounds.perceptron_agnostic(1, 1, 1, hinge=math.nan), "hinge"),
        (lambda: bounds.perceptron_agnostic(1, 1, 1, squared_hinge=-1), "squared_hinge"),
        (lambda: bounds.pnorm(1.5, 1, 1, 1), "p "),
        (lambda: bounds.littlestone(0, 0), "n "),
        (lambda: bounds.littlestone(10, 11), "r "),
        (lambda: bounds.littlestone(10, 1, alpha=1), "alpha"),
        (lambda: bounds.littlestone(10, 1, threshold=0), "threshold"),
        (lambda: bounds.littlestone_negatives(10, -1), "positives"),
        (lambda: bounds.littlestone_separable(10, 1, 0, 1.5, 10), "delta"),
        (lambda: bounds.littlestone_separable(10, 1, 1.5, 1.5, 10), "delta"),
        (lambda: bounds.littlestone_separable(10, -1, 1, 1.5, 10), "mass"),
        (lambda: bounds.littlestone_separable(10, 1, 1, 1.5, 0.5), "threshold"),
        (lambda: bounds.infinite_winnow(1, 0, 4), "active"),
        (lambda: bounds.infinite_winnow(1, 1, 2), "c "),
        (lambda: bounds.infinite_winnow(-1, 1, 4), "r "),
        (lambda: bounds.winnow_fixed_rate(10, 1.1, 1), "margin"),
        (lambda: bounds.winnow_fixed_rate(10, 0, 1), "margin"),
        (lambda: bounds.winnow_fixed_rate(10, 0.5, 0), "eta"),
        (lambda: bounds.winnow_fixed_rate(10, 0.5, 1, 0), "radius"),
        (lambda: bounds.winnow_fixed_rate(10, 0.5, 1, relative_entropy=-1), "relative_entropy"),
        (lambda: bounds.winnow_fixed_rate(10, 0.5, 1, update_margin=-1), "update_margin"),
        (lambda: bounds.winnow_rate(-0.5), "margin"),
        (lambda: bounds.winnow_best_rate(10, 2), "margin"),
        (lambda: bounds.winnow_agnostic(1, -1, 0.5, 1), "hinge"),
        (lambda: bounds.winnow_agnostic(1, 1, 0, 1), "margin"),
        (lambda: bounds.balanced_winnow(0, 0.5), "n "),
        (lambda: bounds.balanced_winnow(10, 1.5, 0.5), "margin"),
        (lambda: bounds.winnow_panel(10, 2), "k"),
        (lambda: bounds.elimination(10, 11), "r "),
        (lambda: bounds.halving(0), "n "),
        (lambda: bounds.weighted_majority(10, 1, beta=1), "beta"),
        (lambda: bounds.weighted_majority(10, 1, beta=-0.1), "beta"),
        (lambda: bounds.weighted_majority(10, -1), "m "),
        (lambda: bounds.randomized_weighted_majority(0, 1), "n "),
        (lambda: bounds.guarded_weighted_majority(10, 1, beta=0), "beta"),
    ],
)
def test_the_error_names_the_argument(call, argument) -> None:
    with pytest.raises(ValueError, match=argument):
        call()


def test_a_margin_above_the_radius_by_a_rounding_error_is_accepted() -> None:
    assert bounds.winnow_best_rate(1024, 1 + 1e-12) == 10.0
    assert bounds.winnow_rate(1 + 1e-12) == math.inf


def test_every_theorem_is_listed() -> None:
    assert set(bounds.BOUNDS) == {
        "novikoff", "perceptron-panel", "perceptron-agnostic", "multiclass-perceptron",
        "littlestone", "littlestone-separable",
        "infinite-winnow", "winnow-fixed-rate", "winnow-best-rate", "winnow-agnostic", "balanced-winnow",
        "winnow-panel", "pnorm", "elimination", "passive-aggressive-i", "passive-aggressive-ii",
        "halving", "weighted-majority", "randomized-weighted-majority",
        "guarded-weighted-majority", "guarded-plurality", "bayes-mixture", "logit-mixing",
        "hedge", "exponentially-weighted-average", "fixed-share", "adahedge", "ml-poly", "boa", "boa-adaptive",
        "ml-prod", "squint", "ogd",
        "delayed", "delayed-pnorm", "delayed-winnow", "delayed-balanced-winnow",
        "mixing", "mixing-pnorm", "mixing-winnow", "mixing-balanced-winnow", "mixing-littlestone",
    }  # fmt: skip
    assert bounds.BOUNDS["winnow-best-rate"](1024, 1) == 10.0


def test_every_theorem_is_a_function_of_the_module_and_states_its_premises() -> None:
    for name, function in bounds.BOUNDS.items():
        assert getattr(bounds, name.replace("-", "_")) is function
        assert "\n    Premises\n    --------\n    " in str(function.__doc__), name
