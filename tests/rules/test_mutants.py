"""Tests of the tests: every deliberately wrong rule (mutant) must fail some check, and every true rule must pass."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from linear_checks import check_parity, check_trace, streams_for
from mutants import MUTANTS, Mutant
from planted import Planted, games_of, planted
from traces import TRACES

from mistakebound.rules import RULES
from mistakebound.theorems import THEOREMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound.rules import Rule


@cache
def cases() -> list[Planted]:
    return planted()


def red(check: Callable[[], None]) -> bool:
    """Return whether a check fails. An arithmetic error counts as a failure."""
    try:
        with np.errstate(all="ignore"):
            check()
    except (AssertionError, ArithmeticError, ValueError):
        return True
    return False


def bound_only(case: Planted, make: Callable[..., Rule]) -> None:
    game = games_of(case, make)
    counted = len(game.steps) if THEOREMS[case.theorem].bounds_updates else game.mistakes
    assert counted <= case.bound * (1 + 1e-9)


def caught_by(rule: str, make: Callable[..., Rule]) -> set[str]:
    """Return which of the three kinds of checks fail for a rule."""
    mine = [case for case in cases() if case.rule == rule]
    found = set()
    if any(red(lambda t=trace: check_trace(t, make)) for trace in TRACES if trace.rule == rule):
        found.add("trace")
    if any(red(lambda c=case: bound_only(c, make)) for case in mine):
        found.add("bound")
    if any(red(lambda c=case: c.check(games_of(c, make))) for case in mine):
        found.add("lemma")
    return found


@pytest.mark.parametrize("rule", RULES)
def test_true_rules_pass(rule: str) -> None:
    assert caught_by(rule, RULES[rule]) == set()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_mutant_is_caught(mutant: Mutant) -> None:
    assert caught_by(mutant.rule.id, mutant.make)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_the_parity_check_fails_for_the_mutant(mutant: Mutant) -> None:
    """The comparison of core and reference fails if the reference has this mutation."""
    assert any(
        red(lambda p=parameters, X=X, y=y: check_parity(mutant.rule.id, p, X, y, mutant.make))
        for parameters, X, y in streams_for(mutant.rule.id)
    )


def test_every_rule_has_at_least_four_mutants() -> None:
    per_rule = Counter(mutant.rule.id for mutant in MUTANTS)
    assert len(MUTANTS) >= 20
    assert all(per_rule[rule] >= 4 for rule in RULES)
