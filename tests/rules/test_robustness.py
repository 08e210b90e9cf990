"""No finite input gives a rule a state or a score that is not finite, and core and reference stay equal."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_checks import LEARNERS, OPTIONS, check_parity

from mistakebound import _core
from mistakebound.rules import RULES
from mistakebound.rules.registry import DECLARATIONS

# In these rules weights grow exponentially, or as a power, with z: a score may overflow, which is a fault of the round.
LIMITED = [rule for rule in RULES if not RULES[rule].binary and not RULES[rule].normalised]
every_rule = pytest.mark.parametrize("rule", LIMITED)
MANY = 20_000 if "MISTAKEBOUND_SANITIZED" in os.environ else 1_000_000  # the sanitizers are slow
SIZES = [1e30, -1e30, 1e-30, -1e-30, 1e15, -1e-15, 1e8, 1.0, -1.0, 0.0, 0.0]


def state_of(learner: Any) -> np.ndarray:
    """Return all floats of a learner, with those of the constant feature and the scalars."""
    _, _, state, *sums = learner._play.engine.core.__getstate__()
    return np.concatenate([state, sums[:1], sums[5:-7]])


def check_finite(learner: Any, X: np.ndarray) -> None:
    assert np.isfinite(state_of(learner)).all()
    assert np.isfinite(learner.decision_function(X)).all()
    assert np.isfinite(np.asarray(learner.weights_)).all()
    rule = learner._play.engine.rule
    state = learner._play.engine.core.__getstate__()[2].reshape(-1, len(rule.start))
    assert rule.allows(state.astype(np.float64))


@every_rule
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_extreme_values_and_parameters(rule: str, data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 9))
    row = st.lists(st.sampled_from(SIZES), min_size=width, max_size=width)
    rows = np.array(data.draw(st.lists(row, min_size=1, max_size=15)))
    y = np.array(data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(rows), max_size=len(rows))))
    parameters = {
        name: data.draw(st.sampled_from([1e-30, 0.03, 1.0, 1e30]), label=name) for name in DECLARATIONS[rule].options
    }
    if RULES[rule].ranges["bias"].includes(1e30):
        parameters["bias"] = data.draw(st.sampled_from([0.0, 1e30, 1e-30]), label="bias")
    check_parity(rule, parameters, rows, y, RULES[rule])
    learner = LEARNERS[rule](classes=(-1, 1), **parameters)
    learner.run(rows, y)
    check_finite(learner, rows)


@every_rule
@pytest.mark.parametrize("size", [1e-30, 1e-8, 1.0, 1e8, 1e30])
def test_many_equal_rounds(rule: str, size: float) -> None:
    """A million rounds with the same row, then a few with the other label."""
    X = np.full((MANY, 2), size)
    for parameters in OPTIONS[rule]:
        learner = LEARNERS[rule](classes=(-1, 1), keep_bytes=1000, **parameters)
        learner.run(X, np.ones(len(X), np.int8))
        check_finite(learner, X[:2])
        learner.run(X[:50], -np.ones(50, np.int8))
        check_finite(learner, X[:2])


@every_rule
def test_labels_that_alternate_for_a_million_rounds(rule: str) -> None:
    X = np.tile([[1e30, 1.0], [1.0, -1e-30], [-3.0, 1e15]], (MANY // 3, 1))
    y = np.where(np.arange(len(X)) % 2, 1, -1)
    learner = LEARNERS[rule](classes=(-1, 1), keep_bytes=1000)
    learner.run(X, y)
    check_finite(learner, X[:3])


@every_rule
@pytest.mark.parametrize("outlier", [1e30, -1e30, 1e-30])
def test_one_outlier(rule: str, outlier: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 5))
    y = np.where(X[:, 1] + X[:, 2] > 0, 1, -1)
    X[100, 0] = outlier
    for parameters in OPTIONS[rule]:
        learner = LEARNERS[rule](classes=(-1, 1), **parameters)
        learner.run(X, y)
        check_finite(learner, X)


@every_rule
def test_large_weights_meet_large_values(rule: str) -> None:
    """Two features whose weights have grown on tiny values get huge values of opposite signs: their score is 0."""
    X = np.concatenate([np.full((1000, 2), 1e-30), [[1e30, -1e30]] * 5])
    y = np.ones(len(X), np.int8)
    for parameters in OPTIONS[rule]:
        learner = LEARNERS[rule](classes=(-1, 1), **parameters)
        learner.run(X, y)
        check_finite(learner, X[-7:])
        learner.run(X[-7:], -y[-7:])
        check_finite(learner, X[-7:])


@pytest.mark.parametrize("rule", ["naive-bayes", "decision-list"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_by_rules_that_ignore_values(rule: str, value: float) -> None:
    learner = LEARNERS[rule](classes=(-1, 1))
    learner.run([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    before = state_of(learner).tolist()
    for x in ([value, 1.0], [value, value]):
        with pytest.raises(ValueError, match="feature 0"):
            learner.predict_one(np.array(x))
        with pytest.raises(ValueError, match="feature 0"):
            learner.learn_one(np.array(x), 1)
    assert state_of(learner).tolist() == before


def test_counts_of_features_beyond_the_integers_of_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 2²⁴ both counts are halved, which keeps the evidence."""
    rule = RULES["naive-bayes"]()
    now: Any = None
    assert rule.apply((2.0**24 - 1, 2.0**20), 1.0, 1, now) == (2.0**23, 2.0**19)
    assert rule.apply((2.0**24 - 2, 2.0**20), 1.0, 1, now) == (2.0**24 - 1, 2.0**20)
    assert rule.apply((0.0, 2.0**24 - 1), 1.0, -1, now) == (0.0, 2.0**23)
    learner = LEARNERS["naive-bayes"](classes=(-1, 1))
    learner.run([[1.0]], [1])
    settings_, names, state, *rest = learner._play.engine.core.__getstate__()
    state[:] = 2.0**24 - 1, 2.0**20
    core = _core.Engine.__new__(_core.Engine)
    core.__setstate__((settings_, names, state, *rest))
    monkeypatch.setattr(learner._play.engine, "core", core)
    learner.learn_one(np.ones(1), 1)
    assert core.__getstate__()[2].tolist() == [2.0**23, 2.0**19]


def test_the_core_declares_the_same_of_each_rule() -> None:
    """log_odds, keeps_examples, and the numbers of floats and scalars, in Python and in the core."""
    declared = {
        rule: (kind.log_odds, kind.keeps_examples, len(kind.start), len(kind.scalars)) for rule, kind in RULES.items()
    }
    assert _core.rules() == declared
    probabilities = {"coin-betting", "implicit-logistic", "adagrad-logistic", "ftrl-proximal", "logistic-sgd"}
    probabilities |= {"exponentiated-gradient", "naive-bayes", "decision-list"}
    assert {rule for rule, kind in RULES.items() if kind.log_odds} == probabilities
    assert all(kind.keeps_examples for rule, kind in RULES.items() if DECLARATIONS[rule].has_theorem)
