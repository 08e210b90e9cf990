"""What learners over experts say of themselves and of bad input: short, and by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from aggregation_learners import LEARNERS, NAN, every_learner, stream

import mistakebound as mb
from mistakebound import experts


@every_learner
def test_everything_is_shown_in_a_line(name: str) -> None:
    A, y = stream(300, 40)
    learner = LEARNERS[name](prior=np.ones(40))
    ledger = learner.run(A[:30], y[:30])
    for each in (learner, ledger, LEARNERS[name]().ledger_, learner.ask(A[30])):
        assert len(repr(each)) < 250
        assert "\n" not in repr(each)
        assert str(each) == repr(each)
    assert repr(learner).startswith(f"<{type(learner).__name__}(")
    assert repr(learner).endswith("): 30 rounds, 40 experts>")
    assert "prior=array" in repr(learner)


def test_parameters_are_shown_if_they_were_told() -> None:
    assert repr(experts.BOA(eta=0.1, keep_bytes=9)) == "<BOA(eta=0.1, keep_bytes=9): 0 rounds, 0 experts>"
    assert repr(experts.Hedge(loss="absolute")) == "<Hedge(loss='absolute'): 0 rounds, 0 experts>"
    assert repr(experts.WeightedMajority(eta=0.2)) == "<WeightedMajority(eta=0.2): 0 rounds, 0 experts>"
    assert repr(experts.WeightedMajority(beta=0.2)) == "<WeightedMajority(beta=0.2): 0 rounds, 0 experts>"
    drawn = experts.RandomizedWeightedMajority(seed=3)
    drawn.learn_one([1, 0], 1)
    assert repr(drawn) == "<RandomizedWeightedMajority(seed=3): 1 round, 2 experts>"
    assert repr(experts.Halving()) == "<Halving(): 0 rounds, 0 experts>"


def test_a_ledger_tells_what_happened() -> None:
    learner = experts.Hedge(eta=1.0)
    # Cid never wakes: a regret of 0 to nobody is not the largest
    said = repr(learner.run({"Ann": [0.0, 1.0], "Bob": [9.0, 9.0], "Cid": [NAN, NAN]}, [0.0, 0.0]))
    assert said.startswith("<AggregationLedger: hedge; 2 rounds, 3 experts; square loss ")
    assert "best expert: 'Ann' with 1 in 2 rounds" in said
    assert said.endswith(f"largest regret: {learner.ledger_.total_loss - 1:.6g} to 'Ann'>")
    ahead = experts.MLPoly(gradient=False)
    ahead.run([[0.0, 4.0, NAN]] * 3, [2.0] * 3)
    assert "largest regret: -12 to '0'>" in repr(ahead.ledger_)
    again = repr(learner.run({"Ann": [0.0]}, [0.0]))
    assert "; 1 round, 3 experts; square loss 0 here;" in again
    assert "best expert since the learner began: 'Ann' with 1 in 3 rounds;" in again


def test_a_ledger_of_votes_tells_what_happened() -> None:
    votes: Any = experts.WeightedMajority()
    assert repr(votes.ledger_) == "<ExpertLedger: 0 mistakes in 0 rounds, weighted-majority; experts: 0>"
    votes.learn_one({"Ann": 1, "Bob": 0}, 0)
    assert repr(votes.ledger_).endswith("experts: 2, the best 'Bob' with 0 mistakes in 1 rounds>")


@pytest.mark.parametrize("rule", [experts.WeightedMajority, experts.RandomizedWeightedMajority])
def test_beta_and_eta_say_the_same(rule: Any) -> None:
    for beta in (0.3, 0.5, 0.8):
        with pytest.raises(ValueError, match="beta and eta say the same thing"):
            rule(beta=beta, eta=0.2)
    assert rule(eta=0.2).beta == 0.8
    assert rule().beta == 0.5
    assert rule(0.3).beta == 0.3
    assert mb.experts.Halving().beta == 0
