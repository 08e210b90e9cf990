"""Mixers, mixture, guard and chance of a new label that are wrong on purpose: the trace or a theorem must see each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from class_games import check_against_a_liar, check_theorems, check_trace, combiner

from mistakebound.aggregation.guard import FOLLOW, Guard, GuardedMajority
from mistakebound.aggregation.logit_mixers import BayesMixture
from mistakebound.panel.class_combiner import ClassCombiner
from mistakebound.panel.class_mixers import ClassGradientMixer, ClassMixer, ClassNewtonMixer, NewLabel, normalised

MUTANTS: dict[str, tuple[str, type]] = {}


def mutant(part: str, name: str, base: type, **methods: Any) -> None:
    """Add a combiner with a part whose methods are replaced; the part "" is the combiner itself."""
    MUTANTS[f"{part or 'combiner'}: {name}"] = part, type(base.__name__, (base,), methods)


def broken(name: str) -> Any:
    """Return a maker of combiners with one wrong part."""
    part, kind = MUTANTS[name]

    def make(members: int) -> ClassCombiner:
        panel = combiner(members)
        (getattr(panel, part) if part else panel).__class__ = kind
        return panel

    return make


_mix, _gradient = ClassMixer.mix, ClassMixer.gradient
for _part in ("fast", "slow"):
    mutant(_part, "wrong sign", ClassNewtonMixer, gradient=lambda self, logs, y: -_gradient(self, logs, y))
    mutant(
        _part, "another label", ClassNewtonMixer, gradient=lambda self, logs, y: _gradient(self, logs, 1 - min(y, 1))
    )
    mutant(_part, "no least second", ClassNewtonMixer, LEAST_SECOND=0.0)
    mutant(_part, "larger least second", ClassNewtonMixer, LEAST_SECOND=0.3)
    mutant(_part, "one class only", ClassNewtonMixer, MOST_USED=1)
    mutant(_part, "two classes only", ClassNewtonMixer, MOST_USED=2)
    mutant(_part, "only likely classes", ClassNewtonMixer, LEAST_USED=0.3)
    mutant(_part, "no drift", ClassNewtonMixer, DRIFT=0.0)
    mutant(_part, "twice the drift", ClassNewtonMixer, DRIFT=1.2e-5)
for _part, _kind in (("fast", ClassNewtonMixer), ("slow", ClassNewtonMixer), ("gradient", ClassGradientMixer)):
    mutant(_part, "never learns", _kind, learn=lambda self, logs, y: None)
    mutant(_part, "half of the logarithms", _kind, mix=lambda self, logs: normalised(self.weights @ logs / 2, -20.0))
    mutant(_part, "a floor of 0.01", _kind, mix=lambda self, logs: normalised(self.weights @ logs, -0.01))
mutant("gradient", "wrong sign", ClassGradientMixer, RATE=-0.002)
mutant("gradient", "ten times the rate", ClassGradientMixer, RATE=0.02)

_learn = BayesMixture.learn
mutant("mixture", "never learns", BayesMixture, learn=lambda self, p, y: None)
mutant("mixture", "half the rate", BayesMixture, learn=lambda self, p, y: _learn(self, np.sqrt(p), 1))
mutant("mixture", "twice the rate", BayesMixture, learn=lambda self, p, y: _learn(self, p**2, 1))
mutant("mixture", "learns the contrary", BayesMixture, learn=lambda self, p, y: _learn(self, 1 - p + 1e-9, 1))
mutant(
    "mixture",
    "best expert only",
    BayesMixture,
    weights=property(lambda self: np.eye(len(self.log_weights))[self.log_weights.argmax()]),
)


def guard(name: str, **methods: Any) -> None:
    """Add a guard with another rule."""
    mutant("guard", name, Guard, kind=type("GuardedMajority", (GuardedMajority,), methods))


_decide, _count = GuardedMajority.decide, Guard.learn
guard("always follows", decide=lambda self, *given: FOLLOW)
guard("one mistake more", decide=lambda self, c, k, a, m, s: _decide(self, c, k, a, m - 1, s))
guard("five experts more", decide=lambda self, c, k, a, m, s: _decide(self, c, k, a, m, s + np.log(1.25)))
guard("forgets its mistakes", decide=lambda self, c, k, a, m, s: _decide(self, c, k, a, 0, s))


def _only_on_mistakes(self: Any, votes: Any, outcome: Any) -> None:
    if self._answer != outcome:
        _count(self, votes, outcome)


def _spares_the_second(self: Any, votes: Any, outcome: Any) -> None:
    _count(self, [votes[0], outcome, *votes[2:]], outcome)


def _uncounted(self: Any, votes: Any, outcome: Any) -> None:
    before = self.mistakes
    _count(self, votes, outcome)
    self.mistakes = before


mutant("guard", "charges only on mistakes", Guard, learn=_only_on_mistakes)
mutant("guard", "spares an expert", Guard, learn=_spares_the_second)
mutant("guard", "does not count its mistakes", Guard, learn=_uncounted)

_learn_label = NewLabel.learn


def _estimates(once: Any) -> Any:
    """Return another pair of estimates."""

    def chances(self: Any) -> Any:
        after = self.rounds + 1
        singles = sum(count == 1 for count in self.counts.values())
        return np.array([1 / after, min(once(singles, len(self.counts)) / after, 1 - 0.5 / after)])

    return property(chances)


def _never_weighs(self: Any, label: int) -> None:
    before = self.mixture.log_weights.copy()
    _learn_label(self, label)
    self.mixture.log_weights = before


mutant("fresh", "without the half", NewLabel, chances=_estimates(lambda once, classes: max(once, 0.1)))
mutant("fresh", "counts all classes", NewLabel, chances=_estimates(lambda once, classes: classes + 0.5))
mutant("fresh", "never weighs its estimates", NewLabel, learn=_never_weighs)

_of_combiner = ClassCombiner.learn


def _learns_new_labels(self: Any, verdict: Any, y: int) -> None:
    if y == self.classes > 0:
        self.guard.learn([-int(k) for k in verdict.experts.argmax(axis=1)], -y)
    _of_combiner(self, verdict, y)


def _charges_a_class_before(self: Any, verdict: Any, y: int) -> None:
    _of_combiner(self, verdict, y if y >= self.classes else max(y - 1, 0))


mutant("", "a new label is charged", ClassCombiner, learn=_learns_new_labels)
mutant("", "another label is learned", ClassCombiner, learn=_charges_a_class_before)


def _ties_go_to_the_last(self: Any, logs: Any) -> Any:
    verdict = ClassCombiner.predict(self, logs)
    if not self.classes:
        return verdict
    flipped = int(len(verdict.mixture) - 1 - verdict.mixture[::-1].argmax())
    return verdict._replace(prediction=verdict.prediction if verdict.overridden else flipped)


mutant("", "ties go to the later class", ClassCombiner, predict=_ties_go_to_the_last)


def fails(check: Any, make: Any) -> bool:
    """Whether a check sees that a combiner is wrong."""
    try:
        check(make)
    except (AssertionError, ValueError, IndexError, RuntimeWarning):  # the last: weights that overflow
        return True
    return False


CHECKS = (check_trace, check_against_a_liar, check_theorems)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_right_combiner_passes(check: Any) -> None:
    assert not fails(check, combiner)


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_is_caught(name: str) -> None:
    assert any(fails(check, broken(name)) for check in CHECKS)


@pytest.mark.parametrize("name", ["guard: always follows", "guard: one mistake more", "guard: forgets its mistakes"])
def test_a_guard_that_follows_too_much_breaks_its_theorem(name: str) -> None:
    """No trace is needed: the theorem itself sees it."""
    assert fails(check_against_a_liar, broken(name))


@pytest.mark.parametrize(
    "name", ["mixture: never learns", "mixture: best expert only", "fresh: never weighs its estimates"]
)
def test_a_wrong_mixture_breaks_its_theorem(name: str) -> None:
    assert fails(check_theorems, broken(name))
