"""Gradient descent on logistic loss: the inequality of the proof on random streams, in every round and in total."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from games import nonzeros
from scipy.optimize import minimize

from mistakebound.rules.gradient_descent import LogisticSgdRule
from mistakebound.rules.reference import ReferenceGame

if TYPE_CHECKING:
    from collections.abc import Iterator


def loss(margin: Any) -> Any:
    """Log loss ln(1 + e^−margin)."""
    return np.logaddexp(0.0, -margin)


def streams() -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Yield short streams with labels that are planted, flipped or random, and a rate."""
    rng = np.random.default_rng(2)
    for k in range(60):
        X = rng.standard_normal((40, 4)) * rng.choice([0.3, 1.0, 3.0])
        planted = np.where(X @ rng.standard_normal(4) >= 0, 1, -1)
        y = np.where(rng.random(40) < (0.0, 0.1, 0.5)[k % 3], -planted, planted)
        yield X, y, float(rng.choice([0.03, 0.3, 2.0]))


def best(X: np.ndarray, y: np.ndarray, rate: float) -> np.ndarray:
    """Return the u with the least L_u + ‖u‖²/(2η)."""

    def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
        margins = y * (X @ u)
        slope = -y / (1 + np.exp(np.minimum(margins, 500)))
        return float(loss(margins).sum() + u @ u / (2 * rate)), X.T @ slope + u / rate

    return np.asarray(minimize(objective, np.zeros(X.shape[1]), jac=True, method="BFGS").x)


def check(rule: LogisticSgdRule, X: np.ndarray, y: np.ndarray) -> float:
    """Check the inequality of every round and of the sum; return how much of the bound is used."""
    game, rate, rng = ReferenceGame(rule, X.shape[1]), rule.rate, np.random.default_rng(0)
    lost = squares = 0.0
    comparators = [best(X, y, rate), np.zeros(X.shape[1]), rng.standard_normal(X.shape[1])]
    totals = [float(loss(y * (X @ u)).sum() + u @ u / (2 * rate)) for u in comparators]
    for x, label in zip(X, y, strict=True):
        w, margin = np.array(game.z), float(label * game.raw_score(nonzeros(x)))
        game.round(nonzeros(x), int(label))
        after, gradient = np.array(game.z), float(x @ x) / (1 + math.exp(min(margin, 500))) ** 2
        near = w + 0.1 * rng.standard_normal(len(w))  # next to w, where the inequality is nearly an equation
        for u in (*comparators, near):
            fall = float((w - u) @ (w - u) - (after - u) @ (after - u)) / (2 * rate)
            allowed = fall + rate / 2 * gradient
            assert loss(margin) - loss(label * float(u @ x)) <= allowed + 1e-5 * (1 + float(w @ w) / rate)
        lost, squares = lost + float(loss(margin)), squares + gradient
    bounds = [total + rate / 2 * squares for total in totals]
    assert lost <= min(bounds) * (1 + 1e-5)
    return lost / bounds[0]


def test_the_inequality_holds_on_random_streams() -> None:
    used = [check(LogisticSgdRule(rate=rate), X, y) for X, y, rate in streams()]
    assert max(used) > 0.9  # so a smaller bound would be wrong


def test_mistakes_are_bounded_by_log_loss() -> None:
    """A mistake has a log loss of at least ln 2."""
    for X, y, rate in streams():
        game = ReferenceGame(LogisticSgdRule(rate=rate), X.shape[1])
        lost, wrong = 0.0, 0
        for x, label in zip(X, y, strict=True):
            lost += float(loss(label * game.raw_score(nonzeros(x))))
            wrong += game.round(nonzeros(x), int(label)) != (label > 0)
        assert wrong <= lost / math.log(2) * (1 + 1e-9)


def _mutant(**methods: Any) -> type[LogisticSgdRule]:
    return type("Mutant", (LogisticSgdRule,), methods)


@pytest.mark.parametrize(
    "mutant",
    [
        _mutant(step=lambda self, now: -LogisticSgdRule.step(self, now)),
        _mutant(step=lambda self, now: 2 * LogisticSgdRule.step(self, now)),
        _mutant(step=lambda self, now: LogisticSgdRule.step(self, now) / 2),
        _mutant(step=lambda self, now: now.y),
        _mutant(step=lambda self, now: LogisticSgdRule.step(self, now) if now.y * now.score <= 0 else 0.0),
        _mutant(step=lambda self, now: LogisticSgdRule.step(self, now._replace(score=2 * now.score))),
        _mutant(apply=lambda self, state, x, tau, now: (state[0] + self.rate * tau * abs(x),)),
    ],
    ids=["wrong sign", "twice", "half", "no derivative", "mistakes only", "derivative elsewhere", "sign of x lost"],
)
def test_mutants_break_it(mutant: type[LogisticSgdRule]) -> None:
    def check_all() -> None:
        for X, y, rate in streams():
            check(mutant(rate=rate), X, y)

    with pytest.raises(AssertionError):
        check_all()
