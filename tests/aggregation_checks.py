"""Checks for rules over experts and for their mutants."""

from __future__ import annotations

from fractions import Fraction as F  # noqa: N817 - used very often
from typing import TYPE_CHECKING

import numpy as np
import pytest
from aggregation_games import NAN, RULES, Game, Planted, Subject
from aggregation_lemmas import LEMMAS, check_premise
from aggregation_traces import LN2, near, shares

if TYPE_CHECKING:
    from mistakebound.aggregation.reference import Mixture
    from mistakebound.aggregation.ridge import Ridge


def solve(A: list[list[F]], b: list[F]) -> list[F]:
    """Solve linear equations by Gaussian elimination, in fractions."""
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


def check_lemmas(rule: str, of: list[tuple[Planted, Game]]) -> None:
    """Check premise and lemma in every round, and that the rule's bound is that of the theorem and holds."""
    for case, game in of:
        check_premise(game)
        allowed = LEMMAS[rule](game)
        bound = game.engine.bound()
        assert bound is not None
        assert (game.R[-1] <= bound + game.slack).all(), case.name
        assert (game.R[-1] <= allowed + game.slack).all(), case.name
        if rule == "Squint":  # its bound is slightly larger, because it approximates the integral
            assert (allowed * (1 - 1e-6) <= bound).all(), case.name
            assert (bound <= 1.01 * allowed + game.slack).all(), case.name
        else:
            assert bound == pytest.approx(allowed, rel=1e-7, abs=game.slack), case.name


def check_mixing(mixture: type[Mixture]) -> None:
    """An expert that is asleep has no weight and no regret, and its loss is not computed."""
    subject = Subject(RULES["Exponential"].rule, mixture)
    engine = subject.engine(3, "square", by_gradient=False, eta=LN2)
    served = engine.serve(np.array([1.0, NAN, 4.0]))
    assert float(served.forecast) == pytest.approx(2.5)
    assert served.p == near([F(1, 2), 0, F(1, 2)])
    engine.learn(served, np.asarray(2.0))  # losses 1, –, 4; own ¼
    assert engine.sums["regrets"] == near([F(-3, 4), 0, F(-15, 4)])
    assert engine.weights() == near(shares([2 ** (-3 / 4), 1, 2 ** (-15 / 4)]))
    # linearised at 5/2: slope 1, hence r = 5/2 − x
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
    # no awake expert has weight: use the prior
    subject = Subject(RULES["MLPoly"].rule, mixture)
    engine = subject.engine([0.5, 0.25, 0.25])
    engine.learn(engine.serve(np.array([0.0, 3.0, 3.0])), np.asarray(0.0))
    assert engine.serve(np.array([NAN, 1.0, 3.0])).p == near([0, F(1, 2), F(1, 2)])
    # a rounding error is not a regret: all forecasts are equal, or one expert is awake
    for forecasts in ([0.1, 0.1, 0.1], [NAN, 0.7, NAN], [0.1, np.nextafter(0.1, 1), 0.1]):
        engine = Subject(RULES["AdaHedge"].rule, mixture).engine([0.2, 0.3, 0.5], "square", by_gradient=False)
        engine.learn(engine.serve(np.array(forecasts)), np.asarray(0.3))
        assert engine.sums["regrets"].tolist() == [0, 0, 0]


def check_ridge(ridge: type[Ridge]) -> None:
    """Check that the weights solve the normal equations after every round, and check the identity."""
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
    # an expert asleep counts with the mean of the others
    asleep = forecaster.serve(np.array([1.0, 0.0, 4.0]), np.array([True, False, True]))
    assert float(asleep.forecast) == pytest.approx(float(u[0] + u[1] * F(5, 2) + u[2] * 4), rel=1e-12)
