"""``keep_weights``: the weights with which each round was mixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from aggregation_learners import LEARNERS, NAN, every_learner, every_mixer, state, stream

import mistakebound as mb
from mistakebound import experts


@every_learner
def test_weights_of_each_round(name: str) -> None:
    A, y = stream(20, 4)
    plain, kept, single = (LEARNERS[name]() for _ in range(3))
    assert plain.run(A, y).weights is None
    ledger = kept.run(A, y, keep_weights=True)
    assert ledger.weights.shape == A.shape
    assert ledger.predictions.tolist() == pytest.approx(plain.ledger_.predictions.tolist(), rel=1e-12)
    assert kept.weights_ == pytest.approx(plain.weights_, rel=1e-9, abs=1e-12)
    for row, outcome, weights in zip(A, y, ledger.weights, strict=True):
        before = state(single)
        assert single.weights_for(row).tolist() == pytest.approx(weights.tolist(), rel=1e-9, abs=1e-12)
        assert len(single.names_) == 0 or state(single) == before
        single.learn_one(row, outcome)


@every_mixer
def test_forecasts_are_the_weighted_means(name: str) -> None:
    A, y = stream(20, 4)
    ledger = LEARNERS[name]().run(A, y, keep_weights=True)
    assert ledger.weights.sum(axis=1) == pytest.approx(np.ones(20))
    assert not ledger.weights[np.isnan(A)].any()
    assert np.nansum(ledger.weights * A, axis=1) == pytest.approx(ledger.predictions)
    classes = np.stack([A, 1 - A], axis=2)
    of_classes = LEARNERS[name]().run(classes, np.stack([y, 1 - y], axis=1), keep_weights=True)
    mixed = np.nansum(of_classes.weights[:, :, None] * classes, axis=1)
    assert mixed == pytest.approx(of_classes.predictions)


def test_weights_of_experts_that_join_later() -> None:
    learner = experts.MLPoly()
    rows = [{"Ann": 1.0}, {"Ann": 1.0, "Bob": 2.0}, {"Cid": 3.0, "Bob": 2.0}]
    ledger = learner.run(rows, [2.0, 2.0, 2.0], keep_weights=True)
    assert ledger.weights.shape == (3, 3)
    assert ledger.weights[0].tolist() == [1.0, 0.0, 0.0]
    assert ledger.weights[1].sum() == pytest.approx(1)
    assert ledger.weights[2, 0] == 0
    more = learner.run([{"Ann": 1.0}], [2.0], keep_weights=True)
    assert more.weights.tolist() == [[1.0, 0.0, 0.0]]
    before = state(learner)
    assert len(learner.weights_for({"Dee": 1.0})) == 4
    assert state(learner) == before


@pytest.mark.parametrize("rows", [[[0.1, 0.2], [0.3, 0.4], [NAN, NAN]], [[0.1, 0.2], [0.3, 0.4], ["?", 0.1]]])
def test_weights_before_a_rejected_round(rows: Any) -> None:
    learner, plain = experts.BOA(), experts.BOA()
    with pytest.raises(mb.StreamError, match="^round 2: ") as caught:
        learner.run(rows, [0.1, 0.2, 0.3], keep_weights=True)
    ledger: Any = caught.value.ledger
    assert ledger.weights.shape == (2, 2)
    with pytest.raises(mb.StreamError, match="^round 2: ") as without:
        plain.run(rows, [0.1, 0.2, 0.3])
    assert str(caught.value) == str(without.value)
    assert learner.ledger_.losses == pytest.approx(plain.ledger_.losses)


@pytest.mark.parametrize("rule", [experts.WeightedMajority, experts.Halving, experts.Guarded])
def test_weights_of_votes(rule: Any) -> None:
    rows = [{"Ann": 1, "Bob": 0}, {"Ann": 1, "Bob": 0}, {"Bob": 0}, {"Ann": 1, "Bob": 0, "Cid": 1}]
    y = [1, 1, 1, 0]
    kept, plain = rule(), rule()
    ledger = kept.run(rows, y, keep_weights=True)
    assert plain.run(rows, y).weights is None
    assert ledger.predictions.tolist() == plain.ledger_.predictions.tolist()
    assert ledger.weights.shape == (4, 3)
    beta = kept.beta
    assert ledger.weights[:3].tolist() == [
        [0.5, 0.5, 0],
        pytest.approx([1 / (1 + beta), beta / (1 + beta), 0]),
        [0, 1, 0],
    ]
    assert ledger.weights.sum(axis=1) == pytest.approx(np.ones(4))
    columns = rule().run({"Ann": [1, 1], "Bob": [0, 0]}, [1, 1], keep_weights=True)
    assert columns.weights.tolist() == ledger.weights[:2, :2].tolist()
    with pytest.raises(mb.StreamError, match="^round 1: every expert is asleep"):
        kept.run([{"Ann": 1}, {"Ann": None}], [1, 1], keep_weights=True)
