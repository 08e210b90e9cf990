"""What one thread reads of a learner is one state of it, whatever another thread learns between two looks."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.learners.linear_terms import Features
from mistakebound.theorems.evidence import Evidence


class Busy:
    """An engine that learns a new feature before each call, as if another thread had taken its lock first."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.more = engine, 0

    def __getattr__(self, name: str) -> Any:
        def answer(*given: Any) -> Any:
            self.more += 1
            self.engine.learn_named({f"new{self.more}": 1.0}, -1)
            return getattr(self.engine, name)(*given)

        return answer


@pytest.fixture(params=[mb.Perceptron, mb.NormalizedWinnow, lambda: mb.BalancedWinnow(bias=1.0)])
def busy(request: pytest.FixtureRequest) -> Any:
    learner = request.param()
    learner.run([{"a": 1.0}, {"b": 1.0}], [-1, -1])
    learner._play.engine.core = Busy(learner._play.engine.core)
    return learner


def test_weights_have_their_own_names(busy: Any) -> None:
    """There are as many names as weights, even if features are added meanwhile."""
    weights = busy.weights_
    assert next(iter(weights)) == "a"
    assert np.isfinite(list(weights.values())).all()
    assert isinstance(busy.intercept_, float)


def test_features_have_their_own_names(busy: Any) -> None:
    """These are the features that the commands `weights` and `explain` show."""
    features = Features(busy)
    assert len(features.names) == len(features.weights)
    assert {name for name, _ in features.named_weights()} == set(features.names[1:])


def test_a_ledger_has_the_names_of_its_features(busy: Any) -> None:
    """The names fit the ledger, even if they are read later."""
    ledger = busy.ledger_
    assert len(ledger.names) == ledger.n - 1
    assert ledger.kept.index.max() < len(ledger.names)
    assert mb.Ledger.from_json(ledger.to_json()).names == ledger.names
    assert len(Evidence.of(ledger).as_vector(dict.fromkeys(busy.weights_, -1.0))) >= len(ledger.names)


def test_reads_fall_between_rounds(tmp_path: Path) -> None:
    """Every round changes the weights of two features equally: no read sees only one of them changed."""
    X = np.zeros((2000, 3000), np.float32)
    X[:, 0] = X[:, -1] = 1.0
    y = np.where(np.arange(2000) % 2, 1, -1)
    learner = mb.Perceptron()
    learner.run(X[:1], y[:1])
    going = threading.Event()

    def learn() -> None:
        going.set()
        for _ in range(20):
            learner.run(X, y)

    thread = threading.Thread(target=learn)
    thread.start()
    going.wait()
    one, path = np.zeros(3000), tmp_path / "model"
    one[0] = 1.0
    for _ in range(100):
        weights = learner.weights_
        assert weights[0] == weights[-1]
        ledger = learner.ledger_
        assert len(ledger.predictions) == ledger.rounds
        assert learner.score_one(one) in (0.0, -1.0, 1.0)
        learner.save(path)
        for copied in (mb.load(path), pickle.loads(pickle.dumps(learner))):
            assert copied.weights_[0] == copied.weights_[-1]
            assert copied.ledger_.mistakes == len(copied.ledger_.kept)
    thread.join()
    assert learner.ledger_.rounds == 1 + 20 * 2000
