"""The learners by the ids of their rules, and checks for rules and their mutants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from games import nonzeros, play

import mistakebound as mb
from mistakebound.learners.linear import KINDS
from mistakebound.rules import RULES, Rule
from mistakebound.rules.reference import ReferenceGame
from mistakebound.rules.registry import DECLARATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from traces import Trace


import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound.rules import Rule


LEARNERS: dict[str, Callable[..., Any]] = {each.id: KINDS[each.learner] for each in DECLARATIONS.values()}
LEARNERS["winnow"] = lambda theta=None, **p: mb.Winnow(threshold=theta, **p)


def check_trace(trace: Trace, make: Callable[..., Rule]) -> None:
    """Check that the reference gives the results that were computed by hand."""
    rule = make(**trace.parameters)
    X, y = zip(*trace.rounds, strict=True)
    game = play(rule, X, y)
    assert "".join("+" if p else "-" for p in game.predictions) == trace.predictions
    assert (*game.z, game.bias_z)[: len(trace.z)] == trace.z
    assert [state[1:] for state in (*game.state, game.bias_state)][: len(trace.more)] == trace.more
    for x, score in trace.scores.items():
        again = ReferenceGame(rule, len(x))
        for row, label in trace.rounds:
            again.round(nonzeros(row), 1 if label > 0 else -1)
        assert again.score(nonzeros(x)) == pytest.approx(score, abs=1e-6)


OPTIONS: dict[str, list[dict[str, Any]]] = {
    "perceptron": [{}, {"bias": 1.0}, {"update_margin": 2.0}, {"update_margin": 0.5, "bias": -0.3}],
    "winnow": [
        {"theta": 5.0},
        {"theta": 5.0, "strict": True},
        {"alpha": 1.3, "theta": 7.0},
        {"theta": 5.0, "bias": 1.0},
    ],
    "normalized-winnow": [
        {"eta": 0.3},
        {"eta": 40.0, "bias": 0.5},
        {"eta": math.inf},
        {"eta": 0.3, "update_margin": 0.1},
        {"eta": math.inf, "bias": 1.0, "update_margin": 0.1},
    ],
    "balanced-winnow": [
        {"eta": 0.1},
        {"eta": 40.0},
        {"eta": math.inf},
        {"eta": 0.2, "update_margin": 0.1, "bias": 1.0},
    ],
    "pnorm": [{"p": 2.0}, {"p": 3.7}, {"p": 200.0, "bias": 1.0}, {"p": 6.0, "update_margin": 0.5}],
    "elimination": [{}],
    "arow": [{}, {"bias": 1.0}, {"r": 0.03}, {"r": 20.0, "bias": -0.3}],
    "passive-aggressive-i": [{}, {"c": 0.05, "bias": 1.0}, {"c": 20.0, "bias": -0.3}],
    "passive-aggressive-ii": [{}, {"c": 0.05, "bias": 1.0}, {"c": 20.0, "bias": -0.3}],
    "averaged-perceptron": [{}, {"bias": 1.0}, {"bias": -0.3}],
    "coin-betting": [{}, {"bias": 1.0}, {"bias": -0.3}],
    "implicit-logistic": [{}, {"rate": 0.1, "bias": 1.0}, {"rate": 100.0, "bias": -0.3}],
    "adagrad-logistic": [{}, {"rate": 0.1, "bias": 1.0}, {"rate": 100.0, "bias": -0.3}],
    "adagrad-hinge": [{}, {"rate": 0.1, "bias": 1.0}, {"rate": 100.0, "bias": -0.3}],
    "ftrl-proximal": [{}, {"alpha": 0.01, "bias": 1.0}, {"alpha": 3.0, "bias": -0.3}],
    "logistic-sgd": [{}, {"rate": 0.5, "bias": 1.0}, {"rate": 3.0, "bias": -0.3}],
    "exponentiated-gradient": [{}, {"eta": 0.02, "bias": 1.0}, {"eta": 3.0, "bias": -0.3}],
    "naive-bayes": [{}],
    "decision-list": [{}],
}


def streams_for(rule: str) -> list[tuple[dict[str, Any], np.ndarray, np.ndarray]]:
    """Return streams that are not separable (real-valued, ±1 and 0/1), for every option of a rule."""
    rng = np.random.default_rng(7)
    n, rounds = 60 if rule == "naive-bayes" else 13, 150  # naive Bayes treats rows of more than 24 features differently
    u = rng.standard_normal(n)
    binary = (rng.random((rounds, n)) < 0.3).astype(float)
    kinds = (
        [binary]
        if RULES[rule].binary
        else [
            rng.standard_normal((rounds, n)) * (rng.random((rounds, n)) < 0.7),
            rng.choice([-1.0, 1.0], (rounds, n)),
            binary,
        ]
    )
    made = []
    for X in kinds:
        y = np.where(X @ u >= 0, 1, -1)
        y[rng.random(rounds) < 0.1] *= -1
        made += [(parameters, X, y) for parameters in OPTIONS[rule]]
    return made


def check_parity(
    rule: str, parameters: dict[str, Any], X: np.ndarray, y: np.ndarray, make: Callable[..., Rule]
) -> None:
    """Check that core and reference have identical predictions, z, scores and numbers of updates."""
    learner = LEARNERS[rule](classes=(-1, 1), **parameters)
    ledger = learner.run(X, y)
    game = ReferenceGame(make(**parameters), X.shape[1])
    predictions = [game.round(nonzeros(x), int(label)) for x, label in zip(X, y, strict=True)]
    assert np.array_equal(ledger.predictions == 1, predictions)
    z, bias_z = learner._play.engine.core.z()
    assert z.tolist() == game.z
    assert bias_z == game.bias_z
    _, _, state, *sums = learner._play.engine.core.__getstate__()
    assert state.tolist() == [float(each) for of_slot in game.state for each in of_slot]
    assert tuple(sums[5:-7]) == (*game.bias_state[1:], *game.scalars)
    if game.scalars:
        weights = [game.rule.weight(each, game.scalars) for each in (*game.state, game.bias_state)]
        core = learner._play.engine.core.weights()
        assert [*core[0].tolist(), core[1]] == weights
    assert ledger.updates == game.updates
    for x in X[:10]:
        assert learner.score_one(x) == game.score(nonzeros(x))
