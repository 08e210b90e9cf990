"""The rules over experts do what pencil and paper say; so do the pieces that they are made of."""

from __future__ import annotations

import math
from fractions import Fraction as F  # noqa: N817 - traces are made of them
from typing import TYPE_CHECKING

import numpy as np
import pytest
from aggregation_games import NAN, RULES, Subject
from aggregation_traces import LN2, TRACES, near, shares
from scipy.integrate import quad

from mistakebound.aggregation.gradient import onto_simplex
from mistakebound.aggregation.mixture import Mixture
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


def check_mixing(mixture: type[Mixture]) -> None:
    """Who sleeps has no part in a forecast, learns nothing, and is not asked for its loss."""
    subject = Subject(RULES["Exponential"].rule, mixture)
    engine = subject.engine(3, "square", by_gradient=False, eta=LN2)
    served = engine.serve(np.array([1.0, NAN, 4.0]))
    assert float(served.forecast) == pytest.approx(2.5)
    assert served.p == near([F(1, 2), 0, F(1, 2)])
    engine.learn(served, np.asarray(2.0))  # losses 1, –, 4; own ¼
    assert engine.sums["regrets"] == near([F(-3, 4), 0, F(-15, 4)])
    assert engine.weights() == near(shares([2 ** (-3 / 4), 1, 2 ** (-15 / 4)]))
    # made linear at 5/2: slope 1, so r = 5/2 − x
    engine = subject.engine(3, "square", eta=LN2)
    engine.learn(engine.serve(np.array([1.0, NAN, 4.0])), np.asarray(2.0))
    assert engine.sums["regrets"] == near([F(3, 2), 0, F(-3, 2)])
    # and for vectors: forecast (½, ½), outcome (1, 0): slope (−1, 1); x·slope = 1 and −1
    engine = subject.engine(2, "square", eta=LN2)
    served = engine.serve(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert served.forecast == near([F(1, 2), F(1, 2)])
    assert engine.learn(served, np.array([1.0, 0.0])) == pytest.approx(0.5)
    assert engine.sums["regrets"] == near([-1, 1])
    assert engine.weights() == near([F(1, 5), F(4, 5)])
    # nobody awake has any weight: by the prior
    subject = Subject(RULES["MLPoly"].rule, mixture)
    engine = subject.engine([0.5, 0.25, 0.25])
    engine.learn(engine.serve(np.array([0.0, 3.0, 3.0])), np.asarray(0.0))
    assert engine.serve(np.array([NAN, 1.0, 3.0])).p == near([0, F(1, 2), F(1, 2)])
    # what is only rounding is no regret: all say the same, or one is alone
    for said in ([0.1, 0.1, 0.1], [NAN, 0.7, NAN], [0.1, np.nextafter(0.1, 1), 0.1]):
        engine = Subject(RULES["AdaHedge"].rule, mixture).engine([0.2, 0.3, 0.5], "square", by_gradient=False)
        engine.learn(engine.serve(np.array(said)), np.asarray(0.3))
        assert engine.sums["regrets"].tolist() == [0, 0, 0]


def test_mixing() -> None:
    check_mixing(Mixture)


# -- ridge ----------------------------------------------------------------------------------------------------------


def solve(A: list[list[F]], b: list[F]) -> list[F]:
    """Gauss, in fractions."""
    n = len(b)
    rows = [[*row, value] for row, value in zip(A, b, strict=True)]
    for i in range(n):
        pivot = next(j for j in range(i, n) if rows[j][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(n):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


RIDGE_ADVICE = [(1, 2, 0), (0, 1, 3), (2, 2, 1), (1, 0, 0), (3, 1, 2), (0, 2, 1)]
RIDGE_OUTCOMES = [1, 2, 3, 0, 4, 1]


def check_ridge(ridge: type[Ridge]) -> None:
    """Weights are the rational solution of the normal equations after every round; and the identity."""
    penalty, prior = F(1, 2), [F(1, 2), F(1, 4), F(1, 4)]
    forecaster = ridge(np.array([float(p) for p in prior]), float(penalty))
    A = [[penalty * (i == j) for j in range(3)] for i in range(3)]
    b = [penalty * p for p in prior]
    total = 0.0
    for x, y in zip(RIDGE_ADVICE, RIDGE_OUTCOMES, strict=True):
        w = solve(A, b)
        served = forecaster.serve(np.array(x, float), np.ones(3, bool))
        assert forecaster.w == near(w)
        assert float(served.forecast) == pytest.approx(float(sum(w[k] * x[k] for k in range(3))), rel=1e-12)
        grown = 1 + sum(x[k] * v for k, v in enumerate(solve(A, [F(v) for v in x])))
        total += float((y - sum(w[k] * x[k] for k in range(3))) ** 2 / grown)
        forecaster.learn(served, np.asarray(float(y)))
        A = [[A[i][j] + x[i] * x[j] for j in range(3)] for i in range(3)]
        b = [b[i] + y * x[i] for i in range(3)]
    u = solve(A, b)
    pairs = list(zip(RIDGE_ADVICE, RIDGE_OUTCOMES, strict=True))
    best = sum((y - sum(u[k] * x[k] for k in range(3))) ** 2 for x, y in pairs)
    best += penalty * sum((u[k] - prior[k]) ** 2 for k in range(3))
    assert total == pytest.approx(float(best), rel=1e-12)  # Azoury and Warmuth's identity
    assert forecaster.w == near(u)
    # a sleeper says the mean of the others
    asleep = forecaster.serve(np.array([1.0, 0.0, 4.0]), np.array([True, False, True]))
    assert float(asleep.forecast) == pytest.approx(float(u[0] + u[1] * F(5, 2) + u[2] * 4), rel=1e-12)


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
    """By hand; and no point of the simplex is nearer."""
    assert onto_simplex(np.array([0.5, -0.5])) == near([1, 0])
    assert onto_simplex(np.array([3.0, 3.0, -9.0])) == near([F(1, 2), F(1, 2), 0])
    assert onto_simplex(np.array([0.2, 0.3, 0.5])) == near([0.2, 0.3, 0.5])
    assert onto_simplex(np.array([7.0])) == near([1])
    rng = np.random.default_rng(0)
    for v in rng.normal(size=(50, 5)):
        p = onto_simplex(v)
        assert p.sum() == pytest.approx(1)
        assert p.min() >= 0
        # the angle at p between v and any corner is not acute
        assert ((np.eye(5) - p) @ (v - p)).max() <= 1e-12


@pytest.mark.parametrize("h", [1e-12, 0.5, 1e6])
@pytest.mark.parametrize("V", [0.0, 1e-9, 1e-3, 1.0, 50.0, 1e5])
@pytest.mark.parametrize("R", [-300.0, -3.0, -1e-6, 0.0, 1e-3, 2.0, 40.0, 500.0])
def test_log_integral(R: float, V: float, h: float) -> None:
    """In units of h, against quadrature of the exponent less its greatest value."""
    peak = min(max(R / (2 * V), 0.0), 1.0) if V > 0 else float(R > 0)
    top = peak * R - peak**2 * V
    near_peak = [p for p in (peak - 1e-3, peak, peak + 1e-3, peak - 1e-1, peak + 1e-1) if 0 < p < 1]
    value, _ = quad(
        lambda x: math.exp(x * R - x * x * V - top), 0, 1, epsabs=0, epsrel=1e-12, limit=500, points=near_peak or None
    )
    found = log_integral(np.array([R / h]), np.array([V / h / h]), h)[0]
    assert found == pytest.approx(math.log(value) + top + math.log(h), abs=3e-8)


@pytest.mark.parametrize("largest", [1e-12, 1.0, 1e12])
def test_squint_regret_is_where_the_potential_is_spent(largest: float) -> None:
    V = np.array([0.0, 3.0, 400.0])
    prior = np.array([0.5, 0.3, 0.2])
    found = squint_regret(V * largest**2, np.log(prior), largest, rounds=500, risen=0.7) / largest
    owed = math.log(501 / 2) + 1 + 0.5 / 501 + 0.7
    for S, v, p in zip(found, V, prior, strict=True):
        value = quad(lambda x, S=S, v=v: math.expm1(x * S - x * x * v) / x, 0, 0.5)[0]
        assert value >= owed / p * (1 - 1e-9)  # the crude lower bound makes it larger, never smaller
        assert value <= owed / p * 1.6
