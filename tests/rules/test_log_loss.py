"""Gradient descent, AdaGrad and FTRL-Proximal on logistic loss: the loss bound of each, in every round and in total."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from games import nonzeros
from scipy.optimize import minimize

from mistakebound.rules.adagrad import AdaGradLogisticRule
from mistakebound.rules.gradient_descent import FtrlProximalRule, LogisticSgdRule
from mistakebound.rules.reference import ReferenceGame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mistakebound.rules import Rule


@dataclass(frozen=True)
class Proved:
    """A rule, and what its proof uses: the rate of each feature after a round."""

    rule: type[Rule]
    parameter: str
    rates: Callable[[float, np.ndarray], np.ndarray]
    """From the parameter, and the sum of the squared gradients of each feature, the initial one included."""
    fixed: bool = False
    """Whether the rates never change. Then ‖u‖² takes the place of the largest distances from u."""
    first: float = 0.0
    """Σγ² at the start."""


PROVED = {
    "logistic-sgd": Proved(LogisticSgdRule, "rate", lambda rate, total: np.full(len(total), rate), fixed=True),
    "adagrad-logistic": Proved(AdaGradLogisticRule, "rate", lambda rate, total: rate / np.sqrt(total), first=1e-8),
    "ftrl-proximal": Proved(FtrlProximalRule, "alpha", lambda alpha, total: alpha / (0.3 + np.sqrt(total))),
}
every_rule = pytest.mark.parametrize("name", PROVED)


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


def check(proved: Proved, rule: Rule, X: np.ndarray, y: np.ndarray) -> float:
    """Check the inequality of every round and of the sum; return how much of the bound is used."""
    game, eta, rng = ReferenceGame(rule, X.shape[1]), float(getattr(rule, proved.parameter)), np.random.default_rng(0)
    comparators = np.array([best(X, y, eta), np.zeros(X.shape[1]), rng.standard_normal(X.shape[1])])
    widest = np.abs(comparators)
    lost, gained, total = 0.0, 0.0, np.full(X.shape[1], proved.first)
    for x, label in zip(X, y, strict=True):
        w, margin = np.array(game.z), float(label * game.raw_score(nonzeros(x)))
        game.round(nonzeros(x), int(label))
        after, gradient = np.array(game.z), x / (1 + math.exp(min(margin, 500)))
        total += gradient**2
        rates = proved.rates(eta, total)
        near = w + 0.1 * rng.standard_normal(len(w))  # next to w, where the inequality is nearly an equation
        for u in (*comparators, near):
            allowed = float(np.sum(((w - u) ** 2 - (after - u) ** 2) / (2 * rates) + rates / 2 * gradient**2))
            slack = 1e-5 * (1 + float(np.sum((w * w + u * u) / rates)))
            assert loss(margin) - loss(label * float(u @ x)) <= allowed + slack
        widest = np.maximum(widest, np.abs(comparators - after))
        lost, gained = lost + float(loss(margin)), gained + float(np.sum(rates / 2 * gradient**2))
    far = comparators**2 if proved.fixed else widest**2
    bounds = [loss(y * (X @ u)).sum() + np.sum(d / (2 * rates)) + gained for u, d in zip(comparators, far, strict=True)]
    assert lost <= min(bounds) * (1 + 1e-5)
    if not proved.fixed:  # the closed form of the second sum
        assert gained <= eta * float(np.sum(np.sqrt(total))) * (1 + 1e-6)
    return float(lost / bounds[0])


@every_rule
def test_the_loss_bound_holds_on_random_streams(name: str) -> None:
    proved = PROVED[name]
    used = [check(proved, proved.rule(**{proved.parameter: rate}), X, y) for X, y, rate in streams()]
    assert max(used) > (0.9 if proved.fixed else 0.6)  # so a much smaller bound would be wrong


def test_mistakes_are_bounded_by_log_loss() -> None:
    """A mistake has a log loss of at least ln 2, and squared gradients are at most 0.408 times the loss."""
    for X, y, rate in streams():
        game = ReferenceGame(LogisticSgdRule(rate=rate), X.shape[1])
        lost, wrong, squares = 0.0, 0, 0.0
        for x, label in zip(X, y, strict=True):
            margin = float(label * game.raw_score(nonzeros(x)))
            lost += float(loss(margin))
            squares += 1 / (1 + math.exp(min(margin, 500))) ** 2
            wrong += game.round(nonzeros(x), int(label)) != (label > 0)
        assert wrong <= lost / math.log(2) * (1 + 1e-9)
        assert squares <= 0.408 * lost
    margins = np.linspace(-40, 40, 100_001)
    assert 0.407 < np.max(1 / (1 + np.exp(margins)) ** 2 / loss(margins)) < 0.408


STEPS: dict[str, Callable[..., float]] = {
    "wrong sign": lambda base, rule, now: -base.step(rule, now),
    "twice": lambda base, rule, now: 2 * base.step(rule, now),
    "half": lambda base, rule, now: base.step(rule, now) / 2,
    "no derivative": lambda base, rule, now: now.y,
    "mistakes only": lambda base, rule, now: base.step(rule, now) if now.y * now.score <= 0 else 0.0,
    "derivative elsewhere": lambda base, rule, now: base.step(rule, now._replace(score=2 * now.score)),
}


SAME = {("adagrad-logistic", "twice"), ("adagrad-logistic", "half")}
"""A factor of all gradients cancels in AdaGrad's step."""


@pytest.mark.parametrize(("name", "mutation"), [(a, b) for a in PROVED for b in STEPS if (a, b) not in SAME])
def test_mutants_break_it(name: str, mutation: str) -> None:
    proved = PROVED[name]
    step = STEPS[mutation]
    mutant: Any = type("Mutant", (proved.rule,), {"step": lambda self, now: step(proved.rule, self, now)})

    def check_all() -> None:
        for X, y, rate in streams():
            check(proved, mutant(**{proved.parameter: rate}), X, y)

    with pytest.raises(AssertionError):
        check_all()
