"""Tests of the tests: every deliberately wrong rule over experts (mutant) must fail some check."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from aggregation_checks import check_lemmas, check_mixing, check_ridge
from aggregation_games import RULES, Subject
from aggregation_lemmas import LEMMAS, games
from aggregation_mutants import MIXTURES, MUTANTS, RIDGES
from aggregation_traces import TRACES

from mistakebound.errors import StreamError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound.aggregation.reference import Mixture
    from mistakebound.aggregation.ridge import Ridge

BROKEN = (AssertionError, ArithmeticError, ValueError, IndexError, TypeError)
"""Errors that count as a failed check: also arithmetic errors, and TypeError for a missing bound."""


def red(check: Callable[[], None]) -> bool:
    try:
        with np.errstate(all="ignore"):
            check()
    except BROKEN:
        return True
    return False


def caught_by_traces(rule: str, subject: Subject) -> bool:
    return any(red(lambda check=check: check(subject)) for check in TRACES[rule])


def caught_by_lemmas(rule: str, subject: Subject) -> bool:
    """Return whether the rule fails a check on some planted stream."""

    def check() -> None:
        for pair in games(subject, rule):
            check_lemmas(rule, [pair])

    return red(check)


@pytest.mark.parametrize(("rule", "subject"), MUTANTS, ids=[subject.name for _, subject in MUTANTS])
def test_mutant_is_caught(rule: str, subject: Subject) -> None:
    assert caught_by_traces(rule, subject) or (rule in LEMMAS and caught_by_lemmas(rule, subject))


UNSEEN = {
    "Exponential: twice the rate",
    "Anytime: twice the rate",
    "Anytime: weights are not exponential",
    "AdaHedge: twice the rate",
    "FixedShare: no share",
    "FixedShare: share by the prior",
    "FixedShare: share to the others only",
    "FixedShare: 1 + α kept",
    "FixedShare: shares twice",
    "MLPoly: uniform while nobody is ahead",
    "BOA: rates of the round itself",
    "BOA: rate lost in the weights",
    "MLProd: rate lost in the weights",
    "Squint: up to 1/B",
    "Squint: squares lost",
    "Squint: not shrunk",
    "Squint: twice the squares",
    "Squint: one rate",
    "OGD: prior lost",
}
"""Mutants whose regret stays within the bound on these streams. Only the traces detect them."""

BROKEN_PROOFS = [(rule, subject) for rule, subject in MUTANTS if rule in LEMMAS and subject.name not in UNSEEN]


@pytest.mark.parametrize(("rule", "subject"), BROKEN_PROOFS, ids=[subject.name for _, subject in BROKEN_PROOFS])
def test_lemmas_also_detect_the_mutant(rule: str, subject: Subject) -> None:
    """Most mutants violate a lemma, also without the traces."""
    assert caught_by_lemmas(rule, subject)


@pytest.mark.parametrize("ridge", RIDGES)
def test_ridge_mutant_is_caught(ridge: type[Ridge]) -> None:
    with pytest.raises(AssertionError):
        check_ridge(ridge)


@pytest.mark.parametrize("mixture", MIXTURES)
def test_mixture_mutant_is_caught(mixture: type[Mixture]) -> None:
    with pytest.raises((AssertionError, StreamError)):
        check_mixing(mixture)


def test_there_are_enough_mutants() -> None:
    per_rule = Counter(rule for rule, _ in MUTANTS)
    assert all(per_rule[rule] >= 4 for rule in RULES)
    assert len(MUTANTS) + len(RIDGES) + len(MIXTURES) >= 20
    names = {subject.name for _, subject in MUTANTS}
    assert len(names) == len(MUTANTS)
    assert names > UNSEEN
    assert len(BROKEN_PROOFS) >= 3 * len(UNSEEN)
