"""The state of each rule, mixed: worked by hand, against numpy, and its properties for every rule of the registry."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import pytest
from linear_checks import LEARNERS, streams_for

import mistakebound as mb
from mistakebound.rules import RULES
from mistakebound.rules.label_counts import LARGEST_COUNT
from mistakebound.rules.mixing import COLUMNS, Floats, mixed, running_sums
from mistakebound.rules.reference import ReferenceGame
from mistakebound.rules.registry import DECLARATIONS

LINEAR = [declared.id for declared in DECLARATIONS.values() if declared.linear]
every_rule = pytest.mark.parametrize("rule", LINEAR)


def floats(*rows: tuple[float, ...], scalars: tuple[float, ...] = ()) -> Floats:
    """Return the state of a few features."""
    return Floats(np.array(rows, np.float32), scalars)


def state_of(learner: Any) -> Floats:
    """Return the floats of every feature of a learner."""
    parts = learner._play.engine.core.__getstate__()
    size = len(learner._play.engine.rule.start)
    return Floats(np.asarray(parts[2]).reshape(-1, size), tuple(parts[7 + size :][:-7]))


@every_rule
def test_every_rule_declares_how_each_of_its_floats_is_mixed(rule: str) -> None:
    kind = RULES[rule]
    assert len(kind.mixing) == len(kind.start)
    assert set(kind.mixing) <= set(COLUMNS)
    counts = rule in ("naive-bayes", "decision-list")
    assert kind.mixing[0] == ("added" if counts else "mean" if DECLARATIONS[rule].has_theorem else "mean of met")


@pytest.mark.parametrize(
    ("rule", "start", "parts", "shares", "result"),
    [
        ("perceptron", [(1.0,)], [[(3.0,)], [(-1.0,)]], [0.75, 0.25], [(2.0,)]),
        ("perceptron", [(1.0,)], [[(3.0,)], [(1.0,)]], [0.75, 0.25], [(2.5,)]),
        ("arow", [(0.0, 1.0)], [[(1.0, 0.5)], [(0.0, 0.75)]], [0.5, 0.5], [(0.5, 0.625)]),
        ("elimination", [(0.0,)], [[(-1.0,)], [(0.0,)]], [0.25, 0.75], [(-0.25,)]),
        ("adagrad-hinge", [(0.0, 1.0)], [[(2.0, 5.0)], [(0.0, 3.0)]], [0.5, 0.5], [(1.0, 4.0)]),
        # Only the first part has met the feature: it keeps the state of that part.
        ("adagrad-hinge", [(0.0, 1.0)], [[(2.0, 5.0)], [(0.0, 1.0)]], [0.25, 0.75], [(2.0, 5.0)]),
        # The first and the last part have met it: their shares are 1/5 and 4/5 of its mean.
        ("arow", [(1.0, 1.0)], [[(6.0, 0.5)], [(1.0, 1.0)], [(-4.0, 0.75)]], [0.125, 0.375, 0.5], [(-2.0, 0.7)]),
        ("arow", [(1.0, 0.5)], [[(1.0, 0.5)], [(1.0, 0.5)]], [0.5, 0.5], [(1.0, 0.5)]),
        # The only part that has met it has no share.
        ("logistic-sgd", [(1.0,)], [[(1.0,)], [(5.0,)]], [1.0, 0.0], [(1.0,)]),
        (
            "coin-betting",
            [(0.0, 0.0, 0.0, 0.0, 0.0)],
            [[(1.0, 2.0, 4.0, 1.0, 3.0)], [(0.0, 0.0, 2.0, 0.0, 0.5)]],
            [0.5, 0.5],
            [(0.5, 1.0, 3.0, 0.5, 3.0)],
        ),
    ],
)
def test_states_worked_by_hand(rule: str, start: Any, parts: Any, shares: Any, result: Any) -> None:
    found = mixed(RULES[rule](), floats(*start), [floats(*part) for part in parts], shares)
    assert found.rows.tolist() == np.array(result, np.float32).tolist()


def test_a_feature_of_one_part_has_its_weight_there() -> None:
    start = mb.Arow(classes=(0, 1))
    start.learn_one({"both": 1.0}, 1)
    parts = [copy(start) for _ in range(3)]
    for part, name in zip(parts, "abc", strict=True):
        part.learn_one({name: 1.0, "both": 1.0}, 0)
    weights = mb.mix(start, parts).weights_
    assert [weights[name] for name in "abc"] == [part.weights_[name] for part, name in zip(parts, "abc", strict=True)]


def test_counts_are_added() -> None:
    start = floats((2.0, 1.0), (0.0, 0.0), scalars=(4.0, 3.0))
    parts = [
        floats((5.0, 1.0), (0.0, 2.0), scalars=(9.0, 5.0)),
        floats((2.0, 8.0), (1.0, 0.0), scalars=(5.0, 10.0)),
    ]
    found = mixed(RULES["naive-bayes"](), start, parts, [0.9, 0.1])
    assert found.rows.tolist() == [[5.0, 8.0], [1.0, 2.0]]
    assert found.scalars == (10.0, 12.0)


def test_counts_that_are_too_large_are_halved_and_halved_counts_are_averaged() -> None:
    rule = RULES["decision-list"]()
    most = LARGEST_COUNT - 4
    grown = mixed(rule, floats((0.0, 0.0)), [floats((most, 8.0)), floats((most, 0.0))], [0.5, 0.5])
    assert grown.rows.tolist() == [[most, 4.0]]
    halved = mixed(rule, floats((most, 8.0)), [floats((most / 2, 4.0)), floats((most, 10.0))], [0.5, 0.5])
    assert halved.rows.tolist() == [[most * 0.75, 7.0]]


def test_the_averaged_perceptron_predicts_with_the_mean_of_all_weight_vectors_of_parts_that_met_a_feature() -> None:
    X, y = (streams_for("averaged-perceptron")[0][k] for k in (1, 2))
    start = mb.AveragedPerceptron(classes=(-1, 1))
    start.run(X[:40], y[:40])
    parts = [copy(start) for _ in range(3)]
    own: list[list[Any]] = [[] for _ in parts]
    for k, part in enumerate(parts):
        for t in range(40 + 20 * k, 60 + 20 * k):
            part.learn_one(X[t], y[t])
            own[k].append(state_of(part).rows[:, 0].astype(float))
    vectors = [np.zeros(X.shape[1])]  # w at the start, then after each round
    for t in range(40):
        again = mb.AveragedPerceptron(classes=(-1, 1))
        again.run(X[: t + 1], y[: t + 1])
        vectors.append(state_of(again).rows[:, 0].astype(float))
    total, counted = np.sum(vectors, axis=0), np.full(X.shape[1], len(vectors))
    met = np.array([(state_of(part).rows != state_of(start).rows).any(axis=1) for part in parts])
    met |= ~met.any(axis=0)
    assert not met.all()
    for k in range(3):
        total += np.where(met[k], np.sum(own[k], axis=0), 0)
        counted += np.where(met[k], len(own[k]), 0)
    found, expected = mb.mix(start, parts), total / counted
    np.testing.assert_allclose(found.weights_, expected, rtol=1e-5, atol=1e-6)
    total = expected * (len(vectors) + 60)
    for t in range(100, 120):  # and it goes on with the mixed w
        found.learn_one(X[t], y[t])
        total += state_of(found).rows[:, 0]
    np.testing.assert_allclose(found.weights_, total / (len(vectors) + 80), rtol=1e-5, atol=1e-6)


@every_rule
def test_equal_to_mixing_by_hand_on_arrays(rule: str) -> None:
    for parameters, X, y in streams_for(rule)[:6]:
        start = LEARNERS[rule](classes=(-1, 1), **parameters)
        start.run(X[:50], y[:50])
        parts = [copy(start) for _ in range(2)]
        parts[0].run(X[50:80], y[50:80])
        parts[1].run(X[80:], y[80:])
        shares = (0.3, 0.7)
        found, first = state_of(mb.mix(start, parts, shares)), state_of(start)
        states = [state_of(part) for part in parts]
        for place, kind in enumerate(RULES[rule].mixing):
            columns = [state.rows[:, place].astype(float) for state in states]
            met = [(state.rows != first.rows).any(axis=1) for state in states]
            if kind in ("mean", "mean of met"):
                expected = 0.3 * columns[0] + 0.7 * columns[1]
                if kind == "mean of met":
                    expected = np.where(met[0] == met[1], expected, np.where(met[0], *columns))
            elif kind == "added":
                expected = columns[0] + columns[1] - first.rows[:, place]
            elif kind == "largest":
                expected = np.maximum(*columns)
            else:
                continue  # see the test of the averaged Perceptron
            assert np.array_equal(found.rows[:, place], expected.astype(np.float32))
        for k, scalar in enumerate(found.scalars):
            assert scalar == states[0].scalars[k] + states[1].scalars[k] - first.scalars[k]


@every_rule
def test_equal_states_do_not_change(rule: str) -> None:
    for parameters, X, y in streams_for(rule)[:6]:
        learner = LEARNERS[rule](classes=(-1, 1), **parameters)
        learner.run(X, y)
        state = state_of(learner)
        for shares in ([1 / 3] * 3, [0.1, 0.2, 0.7], [1.0, 0.0, 0.0]):
            again = mixed(learner._play.engine.rule, state, [state] * 3, shares)
            if "over all rounds" in RULES[rule].mixing:
                np.testing.assert_allclose(again.rows, state.rows, rtol=1e-5, atol=1e-4)
            else:
                assert again.rows.tolist() == state.rows.tolist()
            assert again.scalars == state.scalars


@pytest.mark.parametrize("rule", [name for name in LINEAR if RULES[name].normalised])
def test_sums_are_those_after_a_new_choice_of_the_common_factor(rule: str) -> None:
    rng = np.random.default_rng(3)
    for parameters, _, _ in streams_for(rule):
        for scale in (0.0, 1.0, 300.0):
            made = RULES[rule](**parameters)
            game = ReferenceGame(made, 40)
            z = (scale * rng.standard_normal(40)).round(1).astype(np.float32)
            game.state = [(float(each),) for each in z]
            game.bias_state = (float(np.float32(0.7 * scale)),)
            game._rescale()
            factor, total, rest, peak = running_sums(made, z, game.bias_z)
            assert factor == game.factor
            assert (total, rest, peak) == (pytest.approx(game.total.value, rel=1e-15), 0.0, total)
