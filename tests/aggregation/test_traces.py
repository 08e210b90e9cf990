"""The rules over experts and their parts give the results that were computed by hand."""

from __future__ import annotations

import math
from fractions import Fraction as F  # noqa: N817 - used very often
from typing import TYPE_CHECKING

import numpy as np
import pytest
from aggregation_checks import RIDGE_ADVICE, RIDGE_OUTCOMES, check_mixing, check_ridge
from aggregation_games import RULES, Subject
from aggregation_traces import TRACES, near
from scipy.integrate import quad

from mistakebound.aggregation.gradient import onto_simplex
from mistakebound.aggregation.reference import Mixture
from mistakebound.aggregation.ridge import Ridge
from mistakebound.aggregation.second_order import log_integral, squint_regret

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(("rule", "check"), [(rule, check) for rule in TRACES for check in TRACES[rule]])
def test_trace(rule: str, check: Callable[[Subject], None]) -> None:
    check(RULES[rule])


def test_every_rule_has_a_trace() -> None:
    assert set(TRACES) == set(RULES)


# -- how forecasts are mixed ---------------------------------------------------------------------------------------


def test_mixing() -> None:
    check_mixing(Mixture)


# -- ridge ----------------------------------------------------------------------------------------------------------


def test_ridge() -> None:
    check_ridge(Ridge)


def test_ridge_with_late_outcomes_is_the_same_argmin() -> None:
    on_time, late = (Ridge(np.full(3, 1 / 3), 0.5) for _ in range(2))
    everybody = np.ones(3, bool)
    asked = [late.serve(np.array(x, float), everybody) for x in RIDGE_ADVICE]
    for x, y in zip(RIDGE_ADVICE, RIDGE_OUTCOMES, strict=True):
        on_time.learn(on_time.serve(np.array(x, float), everybody), np.asarray(float(y)))
    for served, y in reversed(list(zip(asked, RIDGE_OUTCOMES, strict=True))):
        late.learn(served, np.asarray(float(y)))
    assert late.w == pytest.approx(on_time.w, rel=1e-12)


# -- pieces ---------------------------------------------------------------------------------------------------------


def test_projection() -> None:
    """Compare with values by hand, and check that no point of the simplex is nearer."""
    assert onto_simplex(np.array([0.5, -0.5])) == near([1, 0])
    assert onto_simplex(np.array([3.0, 3.0, -9.0])) == near([F(1, 2), F(1, 2), 0])
    assert onto_simplex(np.array([0.2, 0.3, 0.5])) == near([0.2, 0.3, 0.5])
    assert onto_simplex(np.array([7.0])) == near([1])
    rng = np.random.default_rng(0)
    for v in rng.normal(size=(50, 5)):
        p = onto_simplex(v)
        assert p.sum() == pytest.approx(1)
        assert p.min() >= 0
        # for the nearest point p, the angle between v − p and any corner − p is not acute
        assert ((np.eye(5) - p) @ (v - p)).max() <= 1e-12


@pytest.mark.parametrize("h", [1e-12, 0.5, 1e6])
@pytest.mark.parametrize("V", [0.0, 1e-9, 1e-3, 1.0, 50.0, 1e5])
@pytest.mark.parametrize("R", [-300.0, -3.0, -1e-6, 0.0, 1e-3, 2.0, 40.0, 500.0])
def test_log_integral(R: float, V: float, h: float) -> None:
    """Compare with numerical quadrature, in units of h, after subtracting the maximum of the exponent."""
    peak = min(max(R / (2 * V), 0.0), 1.0) if V > 0 else float(R > 0)
    top = peak * R - peak**2 * V
    near_peak = [p for p in (peak - 1e-3, peak, peak + 1e-3, peak - 1e-1, peak + 1e-1) if 0 < p < 1]
    value, _ = quad(
        lambda x: math.exp(x * R - x * x * V - top), 0, 1, epsabs=0, epsrel=1e-12, limit=500, points=near_peak or None
    )
    found = log_integral(np.array([R / h]), np.array([V / h / h]), h)[0]
    assert found == pytest.approx(math.log(value) + top + math.log(h), abs=3e-8)


@pytest.mark.parametrize("largest", [1e-12, 1.0, 1e12])
def test_squint_regret_is_where_the_potential_reaches_its_limit(largest: float) -> None:
    V = np.array([0.0, 3.0, 400.0])
    prior = np.array([0.5, 0.3, 0.2])
    found = squint_regret(V * largest**2, np.log(prior), largest, rounds=500, increase=0.7) / largest
    owed = math.log(501 / 2) + 1 + 0.5 / 501 + 0.7
    for S, v, p in zip(found, V, prior, strict=True):
        value = quad(lambda x, S=S, v=v: math.expm1(x * S - x * x * v) / x, 0, 0.5)[0]
        assert value >= owed / p * (1 - 1e-9)  # the approximation of the integral can only make it larger
        assert value <= owed / p * 1.6
