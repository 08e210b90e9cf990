"""Planted streams: the bound holds, it is well below the number of rounds, and the lemma holds at every mistake."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from linear_checks import LEARNERS
from planted import Planted, games_of, planted

import mistakebound as mb
from mistakebound.rules import RULES
from mistakebound.theorems import THEOREMS
from mistakebound.theorems.evidence import Evidence

CASES = planted()


def names(case: Planted) -> str:
    return f"{case.theorem}-{case.parameters}"


@cache
def life(index: int) -> tuple[Planted, Any]:
    """Play a planted stream in the compiled core, once."""
    case = CASES[index]
    learner = LEARNERS[case.rule](**case.parameters)
    learner.run(case.stream.X, case.stream.y)
    return case, learner


def comparator(case: Planted) -> Any:
    witness = case.witness
    return witness.variables or witness.u


every_case = pytest.mark.parametrize("index", range(len(CASES)), ids=[names(c) for c in CASES])


def test_every_theorem_has_a_planted_stream() -> None:
    # See test_delayed.py and test_mixing.py.
    late = {theorem.id for theorem in THEOREMS.values() if theorem.delayed or theorem.mixed}
    of_two = set(THEOREMS) - {"multiclass-perceptron"}  # see tests/rules/test_multiclass_perceptron.py
    assert {case.theorem for case in CASES} == of_two - late


@every_case
def test_bound_is_well_below_the_number_of_rounds(index: int) -> None:
    case = CASES[index]
    assert case.bound < len(case.stream)


@every_case
def test_the_reference_loop_obeys_bound_and_lemma(index: int) -> None:
    case = CASES[index]
    case.check(games_of(case, RULES[case.rule]))


@every_case
def test_the_core_makes_the_mistakes_of_the_reference_loop(index: int) -> None:
    case, learner = life(index)
    game = games_of(case, RULES[case.rule])
    assert learner.ledger_.mistakes == game.mistakes
    assert np.array_equal(learner.ledger_.predictions == learner.ledger_.classes[1], game.predictions)


@every_case
def test_lemma_on_the_replayed_ledger(index: int) -> None:
    """The updates that a certificate recomputes from the ledger obey the lemma, too."""
    case, learner = life(index)
    theorem = THEOREMS[case.theorem]
    steps = list(Evidence.of(learner.ledger_).steps())
    assert len(steps) == learner.ledger_.updates
    for step in steps:
        assert min(theorem.lemma(step, case.witness).values()) >= -1e-5 * (1 + float(step.z @ step.z))


@every_case
def test_certificate_with_the_planted_comparator(index: int) -> None:
    case, learner = life(index)
    certificate = learner.certify(case.theorem, comparator(case), case.witness.margin)
    assert certificate.status == "holds", str(certificate)
    assert certificate.bound <= case.bound * (1 + 1e-9)  # taken over the mistaken rounds only, it is no looser
    assert certificate.mistakes == learner.ledger_.mistakes


@every_case
def test_a_comparator_found_in_hindsight_gives_a_bound_at_least_as_small(index: int) -> None:
    case, learner = life(index)
    if not THEOREMS[case.theorem].in_hindsight:
        return
    whole = {"X": case.stream.X, "y": case.stream.y}
    found = learner.certify(**whole)
    given = learner.certify(case.theorem, comparator(case), case.witness.margin, **whole)
    assert found.status == given.status == "holds"
    assert found.scope == given.scope == "whole stream"
    assert found.bound <= given.bound * 1.02  # searched for, so not exactly the smallest
    mistaken = learner.certify()
    if given.comparator["loss"] == 0:  # otherwise nothing separates, and the mistaken rounds alone say nothing
        assert mistaken.status == "holds"
        assert mistaken.scope == "mistaken rounds"
        assert mistaken.bound <= learner.certify(case.theorem, comparator(case), case.witness.margin).bound * 1.02
    assert "mistaken rounds" in str(mistaken).splitlines()[0]
    assert "whole stream" in str(found).splitlines()[0]


def test_known_values_of_bounds() -> None:
    """Winnow with n = 100, r = 2: below 44. Normalised Winnow with margin 1 and 1,024 experts: 10."""
    assert mb.bounds.littlestone(100, 2) == 44
    worst = max(mb.Winnow().run(*mb.streams.disjunction(100, 2, 2000, seed)).mistakes for seed in range(20))
    assert worst <= 43
    learner = mb.NormalizedWinnow(eta="best", margin=1)
    played = mb.adversaries.HalvingTree(10).play(learner)
    assert played.mistakes == learner.ledger_.mistakes == 10
    assert mb.bounds.winnow_best_rate(1024, 1) == pytest.approx(10)
    certificate = learner.certify("winnow-best-rate")
    assert certificate.bound == pytest.approx(10)
    assert certificate.status == "vacuous"  # ten rounds, ten mistakes, bound ten


@pytest.mark.parametrize("k", [1, 2, 100, 10_000])
def test_perceptron_makes_exactly_k_mistakes_on_unit_vectors(k: int) -> None:
    learner = mb.Perceptron()
    played = mb.adversaries.UnitVectors(k).play(learner)
    assert played.mistakes == learner.ledger_.mistakes == k
    if k <= 100:
        assert learner.certify("novikoff").bound == pytest.approx(k)


def test_evidence_does_not_change_the_ledger() -> None:
    """A ledger can be certified again, because the features of its examples keep their order."""
    learner = mb.BalancedWinnow()
    learner.run([{"a": 1, "b": 1}, {"b": 1, "a": 1}, {"c": 2, "a": 1}] * 3, [1, -1, 1] * 3)
    ledger = learner.ledger_
    before = [array.copy() for array in vars(ledger.kept).values()]
    assert mb.certify(ledger).to_json() == mb.certify(ledger).to_json()
    for array, kept in zip(before, vars(ledger.kept).values(), strict=True):
        assert np.array_equal(array, kept)
