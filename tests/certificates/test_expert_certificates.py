"""Certificates of voting rules: they name the best expert, its m and the number of mistakes that was counted."""

from __future__ import annotations

import json
import math

import pytest

import mistakebound as mb
from mistakebound.experts import Guarded, Halving, RandomizedWeightedMajority, WeightedMajority


@pytest.mark.parametrize("make", [WeightedMajority, RandomizedWeightedMajority])
def test_m_and_the_prior_are_separate(make: type[WeightedMajority]) -> None:
    """Expert 0 never errs, so m = 0, also with a prior of 1/100."""
    master = make(prior=[1, 99])
    ledger = master.run([[1, 0]] * 20, [1] * 20)
    assert ledger.expert_mistakes.tolist() == [0, 20]
    found = master.certify()
    assert found.premises[0].measured == "expert 0: m = 0, π = 0.01, ln(1/π) = 4.60517"
    assert found.comparator == {"variables": ["0"]}
    assert found.bound == pytest.approx(math.log(100) / (math.log(4 / 3) if make is WeightedMajority else 0.5))
    assert mb.Certificate.from_json(found.to_json()) == found


def test_the_smallest_bound_may_be_that_of_a_worse_expert() -> None:
    """b errs once, a never: 1 · ln 2 + ln(100/99) is less than ln 100."""
    master = WeightedMajority(prior={"a": 1, "b": 99})
    master.run([{"a": 1, "b": 1}] * 30 + [{"a": 1, "b": 0}], [1] * 31)
    found = master.certify()
    assert found.comparator == {"variables": ["b"]}
    assert found.premises[0].measured.startswith("expert b: m = 1, π = 0.99, ")
    assert found.bound == pytest.approx((math.log(2) + math.log(100 / 99)) / math.log(4 / 3))
    assert found.status == "holds"


def test_without_a_prior_it_is_the_best_expert() -> None:
    master = WeightedMajority()
    master.run([{"a": 1, "b": 0}] * 9, [0] * 9)
    (premise,) = master.certify().premises
    assert premise.statement == "m is the best expert's number of mistakes"
    assert premise.measured == "expert b: m = 0"


def test_m_separates_mistakes_from_expected_mistakes_while_asleep() -> None:
    master = WeightedMajority()
    master.learn_one({"a": 1, "b": 0}, 0)
    for _ in range(9):
        master.learn_one({"a": 1}, 0)  # b sleeps, and loses what the learner loses: 1
    (premise,) = master.certify().premises
    assert premise.measured == "expert b: m = 9 (0 mistakes, and 9 expected of the learner while it slept)"


@pytest.mark.parametrize("make", [WeightedMajority, RandomizedWeightedMajority, Halving, Guarded])
def test_before_the_first_round(make: type[WeightedMajority]) -> None:
    found = make().certify()
    assert found.status == "does not apply"
    (premise,) = found.premises
    assert not premise.holds
    assert "round" in premise.statement
    assert mb.Certificate.from_json(found.to_json()) == found


def test_a_prior_in_the_formula() -> None:
    for formula in (mb.bounds.weighted_majority, mb.bounds.randomized_weighted_majority):
        assert formula(8, 3, 0.5, prior=1 / 8) == pytest.approx(formula(8, 3, 0.5))
        assert formula(2, 0, 0.5, prior=1) == 0
        for prior in (0, 1.01, math.nan):
            with pytest.raises(ValueError, match=f"prior .*{prior}"):
                formula(2, 0, 0.5, prior=prior)


def test_a_randomized_rule_has_expected_mistakes_in_its_certificate() -> None:
    """The drawn mistakes may exceed the bound on the expected ones; the note has a bound on them."""
    for seed in range(99):
        master = RandomizedWeightedMajority(seed=seed)
        ledger = master.run([[1, 0]] * 20, [1] * 20)
        found = master.certify()
        if ledger.mistakes > found.bound:
            break
    assert ledger.mistakes > found.bound > ledger.expected_mistakes
    head, *rest = str(found).splitlines()
    said = f"{ledger.expected_mistakes:.6g} expected mistakes in 20 rounds, bound 1.3863: holds"  # 2 ln 2, rounded up
    assert head == f"✓ randomized-weighted-majority on the whole stream: {said}"
    most = ledger.expected_mistakes + math.sqrt(20 * math.log(20) / 2)
    assert rest[0].strip().startswith(f"{ledger.mistakes} mistakes were drawn")
    assert rest[0].endswith(f"at most {most:.6g}")
    assert found.expected == ledger.expected_mistakes
    assert mb.Certificate.from_json(found.to_json()) == found


def test_other_rules_have_no_expected_mistakes() -> None:
    master = WeightedMajority()
    master.run([[1, 0]] * 20, [1] * 20)
    found = master.certify()
    assert found.expected is None
    assert json.loads(found.to_json())["expected"] is None
    assert str(found).startswith(f"✓ weighted-majority on the whole stream: {found.mistakes} mistakes in 20 rounds, ")


def test_the_sentence_names_what_is_bounded() -> None:
    """The rules learn in every round, but the bound is on mistakes; on expected ones, if the rule is randomized."""
    votes, outcomes = [[1, 0], [1, 0], [1, 0], [1, 1]] * 5, [1] * 20
    for make, counted in ((WeightedMajority, "mistakes; there were 0"), (Guarded, "mistakes; there were 0")):
        master = make()
        master.run(votes, outcomes)
        assert f" {counted} in 20 rounds" in master.certify().meaning()
    drawn = RandomizedWeightedMajority(seed=0)
    expected = drawn.run(votes, outcomes).expected_mistakes
    assert f" expected mistakes; there were {expected:.6g} in 20 rounds" in drawn.certify().meaning()
