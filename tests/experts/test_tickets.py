"""Late outcomes: `tell` accepts each forecast of `ask` once, and only in the learner that made it."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from aggregation_learners import LEARNERS, NAN, every_learner, state

import mistakebound as mb
from mistakebound import experts
from mistakebound.errors import TicketError

ANN_AND_BOB = {"Ann": 0.1, "Bob": 0.4}


@every_learner
def test_tell_accepts_a_forecast_only_once(name: str) -> None:
    learner = LEARNERS[name]()
    first, second = learner.ask(ANN_AND_BOB), learner.ask(ANN_AND_BOB)
    learner.tell(second, 0.2)
    before = state(learner)
    with pytest.raises(TicketError) as caught:
        learner.tell(second, 0.2)
    assert (caught.value.reason, caught.value.round) == ("used", 1)
    assert state(learner) == before
    learner.tell(first, 0.2)
    assert learner.ledger_.rounds == 2
    assert learner.ledger_.expert_rounds.tolist() == [2, 2]


@pytest.mark.parametrize("advice", [{"x": 0.1, "y": 0.4}, {"x": 0.1, "y": 0.4, "z": 0.3}, [0.1, 0.2]])
def test_tell_rejects_a_forecast_of_another_learner(advice: Any) -> None:
    learner, other = experts.MLPoly(), experts.MLPoly()
    learner.learn_one(ANN_AND_BOB, 0.2)
    for _ in range(2):  # before anything was asked of it, and after
        before = state(learner)
        with pytest.raises(mb.StreamError, match="^round 1: .* MLPoly"):
            learner.tell(other.ask(advice), 0.2)
        assert state(learner) == before
        learner.ask(ANN_AND_BOB)
    with pytest.raises(mb.StreamError, match="^round 1: .*Ann"):
        learner.tell(ANN_AND_BOB, 0.2)  # type: ignore[arg-type]


def test_tell_can_be_repeated_after_a_bad_outcome() -> None:
    learner = experts.BOA()
    asked = learner.ask(ANN_AND_BOB)
    with pytest.raises(mb.StreamError, match="outcome.* nan"):
        learner.tell(asked, NAN)
    learner.tell(asked, 0.2)
    assert learner.ledger_.rounds == 1


@every_learner
def test_a_shallow_copy_learns_on_its_own(name: str) -> None:
    learner = LEARNERS[name]()
    learner.learn_one(ANN_AND_BOB, 0.2)
    asked = learner.ask(ANN_AND_BOB)
    before = state(learner)
    twin = copy.copy(learner)
    twin.tell(asked, 0.2)
    twin.learn_one(ANN_AND_BOB, 0.2)
    assert (learner.ledger_.rounds, twin.ledger_.rounds) == (1, 3)
    assert state(learner) == before
    learner.tell(asked, 0.2)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))])
def test_a_copy_has_its_own_waiting_forecasts(copied: Any) -> None:
    learner = experts.Squint()
    asked = learner.ask(ANN_AND_BOB)
    twin, same = copied((learner, asked))
    apart = copied(learner)  # without the forecast, as when it is kept elsewhere
    learner.tell(asked, 0.2)
    twin.tell(same, 0.2)
    apart.tell(pickle.loads(pickle.dumps(asked)), 0.2)
    assert learner.ledger_.losses.tolist() == twin.ledger_.losses.tolist() == apart.ledger_.losses.tolist()
    for told in (asked, same):
        with pytest.raises(TicketError) as caught:
            twin.tell(told, 0.2)
        assert caught.value.reason == "used"
    # what is asked since then is of one of them alone, though each is their second
    ours, theirs = learner.ask(ANN_AND_BOB), twin.ask(ANN_AND_BOB)
    with pytest.raises(TicketError) as caught:
        learner.tell(theirs, 0.2)
    assert caught.value.reason == "used"
    twin.tell(theirs, 0.2)
    learner.tell(ours, 0.2)


def test_forecasts_with_an_outcome_are_forgotten() -> None:
    learner = experts.MLPoly()
    learner.ask([0.1, 0.4])
    sizes = []
    for _ in range(50):
        learner.predict_one([0.1, 0.4])
        learner.learn_one([0.1, 0.4], 0.2)
        learner.tell(learner.ask(np.array([0.1, 0.4])), 0.2)
        sizes.append(len(pickle.dumps(learner._tickets)))
    assert sizes == sizes[:1] * 50
