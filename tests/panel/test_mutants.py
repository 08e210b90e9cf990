"""Mixers, mixture and guard that are wrong on purpose: the trace or a theorem must see each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from panel_games import check_against_a_liar, check_theorems, check_trace

from mistakebound.aggregation.guard import FOLLOW, CautiousGuard, CautiousMajority
from mistakebound.aggregation.logit_mixers import BayesMixture, GradientMixer, LogitMixer, NewtonMixer
from mistakebound.panel.reference import ReferencePanel
from mistakebound.rules.logistic import sigmoid

MUTANTS: dict[str, dict[str, Any]] = {}


def mutant(part: str, name: str, base: type, **methods: Any) -> None:
    """Add a panel with a part (fast, slow, gradient, mixture, guard) whose methods are replaced."""
    MUTANTS[f"{part}: {name}"] = {"part": part, "kind": type(base.__name__, (base,), methods)}


def broken(name: str) -> Any:
    """Return a maker of panels with one wrong part."""
    part, kind = MUTANTS[name]["part"], MUTANTS[name]["kind"]

    def make(*given: Any) -> ReferencePanel:
        panel = ReferencePanel(*given)
        getattr(panel, part).__class__ = kind
        return panel

    return make


def newton(**change: Any) -> Any:
    """Return ``learn`` of the Newton mixer with one change."""

    def learn(self: Any, logits: np.ndarray, y: int) -> None:
        p = sigmoid(self.mix(logits))
        error = change.get("error", lambda y, p: y - p)(y, p)
        direction = self.covariance @ logits
        curvature = change.get("curvature", lambda p: max(p * (1 - p), 0.01))(p)
        shrink = change.get("shrink", lambda c: 1 / (1 + c))(curvature * float(logits @ direction))
        self.weights = self.weights + error * shrink * direction
        outer = change.get("outer", np.outer)(direction, direction)
        self.covariance = self.covariance - change.get("factor", 1) * curvature * shrink * outer
        diagonal = np.einsum("ii->i", self.covariance)
        below = change.get("below", np.less)(diagonal, self.variances)
        diagonal[below] += change.get("drift", 6e-6)

    return learn


for _part in ("fast", "slow"):
    mutant(_part, "wrong sign", NewtonMixer, learn=newton(error=lambda y, p: p - y))
    mutant(_part, "label for the error", NewtonMixer, learn=newton(error=lambda y, p: y - 0.5))
    mutant(_part, "no curvature", NewtonMixer, learn=newton(curvature=lambda p: 0.25))
    mutant(_part, "no least curvature", NewtonMixer, learn=newton(curvature=lambda p: p * (1 - p)))
    mutant(_part, "does not shrink", NewtonMixer, learn=newton(shrink=lambda c: 1.0))
    mutant(_part, "covariance stays", NewtonMixer, learn=newton(factor=0))
    mutant(_part, "covariance grows", NewtonMixer, learn=newton(factor=-1))
    mutant(_part, "diagonal only", NewtonMixer, learn=newton(outer=lambda a, b: np.diag(a * b)))
    mutant(_part, "no drift", NewtonMixer, learn=newton(drift=0.0))
    mutant(_part, "twice the drift", NewtonMixer, learn=newton(drift=1.2e-5))
    mutant(_part, "drift above the start", NewtonMixer, learn=newton(below=lambda d, v: d >= v))
for _part, _kind in (("fast", NewtonMixer), ("slow", NewtonMixer), ("gradient", GradientMixer)):
    mutant(_part, "never learns", _kind, learn=lambda self, logits, y: None)
    mutant(_part, "half of the logit", _kind, mix=lambda self, logits: LogitMixer.mix(self, logits) / 2)
    mutant(_part, "cut at 0.1", _kind, mix=lambda self, logits: float(np.clip(self.weights @ logits, -0.1, 0.1)))
mutant("gradient", "wrong sign", GradientMixer, RATE=-0.002)
mutant("gradient", "ten times the rate", GradientMixer, RATE=0.02)
mutant("gradient", "a hundred times the rate", GradientMixer, RATE=0.2)
mutant("gradient", "sees the other label", GradientMixer, learn=lambda self, a, y: GradientMixer.learn(self, a, 1 - y))

_learn = BayesMixture.learn
mutant("mixture", "never learns", BayesMixture, learn=lambda self, p, y: None)
mutant("mixture", "the other label", BayesMixture, learn=lambda self, p, y: _learn(self, p, 1 - y))
mutant("mixture", "half the rate", BayesMixture, learn=lambda self, p, y: _learn(self, np.sqrt(p if y else 1 - p), 1))
mutant("mixture", "twice the rate", BayesMixture, learn=lambda self, p, y: _learn(self, (p if y else 1 - p) ** 2, 1))
mutant("mixture", "equal weights", BayesMixture, weights=property(lambda self: np.full(len(self.log_weights), 0.2)))
mutant("mixture", "best expert only", BayesMixture, mix=lambda self, p: float(p[np.argmax(self.log_weights)]))
mutant("mixture", "the other probability", BayesMixture, mix=lambda self, p: 1 - float(self.weights @ p))


def guard(name: str, **methods: Any) -> None:
    """Add a guard with another rule."""
    kind = type("CautiousMajority", (CautiousMajority,), methods)
    mutant("guard", name, CautiousGuard, kind=kind)


_decide = CautiousMajority.decide
guard("always follows", decide=lambda self, *given: FOLLOW)
guard("one mistake more", decide=lambda self, c, k, a, m, s: _decide(self, c, k, a, m - 1, s))
guard("two experts more", decide=lambda self, c, k, a, m, s: _decide(self, c, k, a, m, s + np.log(1.5)))
guard("forgets its mistakes", decide=lambda self, c, k, a, m, s: _decide(self, c, k, a, 0, s))
guard("sees the other label", decide=lambda self, c, k, a, m, s: _decide(self, c, k, 1 - a if k > 1 else a, m, s))


def _charges_only_on_mistakes(self: Any, votes: Any, outcome: Any) -> None:
    if self._answer != outcome:
        CautiousGuard.learn(self, votes, outcome)


def _does_not_count(self: Any, votes: Any, outcome: Any) -> None:
    before = self.mistakes
    CautiousGuard.learn(self, votes, outcome)
    self.mistakes = before


def _charges_the_right(self: Any, votes: Any, outcome: Any) -> None:
    CautiousGuard.learn(self, [-vote for vote in votes], outcome)


mutant("guard", "charges only on mistakes", CautiousGuard, learn=_charges_only_on_mistakes)
mutant("guard", "does not count its mistakes", CautiousGuard, learn=_does_not_count)
mutant("guard", "charges who is right", CautiousGuard, learn=_charges_the_right)


def fails(check: Any, make: Any) -> bool:
    """Whether a check sees that a panel is wrong."""
    try:
        check(make)
    except (AssertionError, ValueError, RuntimeWarning):  # the last: weights that overflow
        return True
    return False


CHECKS = (check_trace, check_against_a_liar, check_theorems)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_right_panel_passes(check: Any) -> None:
    assert not fails(check, ReferencePanel)


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_is_caught(name: str) -> None:
    assert any(fails(check, broken(name)) for check in CHECKS)


@pytest.mark.parametrize("name", ["guard: always follows", "guard: one mistake more", "guard: two experts more"])
def test_a_guard_that_follows_too_much_breaks_its_theorem(name: str) -> None:
    """No trace is needed: the theorem itself sees it."""
    assert fails(check_against_a_liar, broken(name))


@pytest.mark.parametrize(
    "name", ["mixture: never learns", "mixture: best expert only", "mixture: half the rate", "gradient: wrong sign"]
)
def test_a_wrong_mixture_breaks_its_theorem(name: str) -> None:
    assert fails(check_theorems, broken(name))
