"""Every hand-worked trace, in the reference and in the compiled core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from games import nonzeros, play
from traces import TRACES, Trace

import mistakebound as mb
from mistakebound.reference import ReferenceGame
from mistakebound.rules import RULES, Rule

if TYPE_CHECKING:
    from collections.abc import Callable

LEARNERS: dict[str, Callable[..., Any]] = {
    "perceptron": mb.Perceptron,
    "winnow": lambda theta=None, **p: mb.Winnow(threshold=theta, **p),
    "normalized-winnow": mb.NormalizedWinnow,
    "balanced-winnow": mb.BalancedWinnow,
    "pnorm": mb.PNormPerceptron,
    "elimination": mb.Elimination,
}


def check_trace(trace: Trace, make: Callable[..., Rule]) -> None:
    """The reference does exactly what was worked by hand."""
    rule = make(**trace.parameters)
    X, y = zip(*trace.rounds, strict=True)
    game = play(rule, X, y)
    assert "".join("+" if p else "-" for p in game.predictions) == trace.predictions
    assert (*game.z, game.bias_z)[: len(trace.z)] == trace.z
    for x, score in trace.scores.items():
        again = ReferenceGame(rule, len(x))
        for row, label in trace.rounds:
            again.round(nonzeros(row), 1 if label > 0 else -1)
        assert again.score(nonzeros(x)) == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("trace", TRACES, ids=lambda t: f"{t.rule}-{t.parameters}")
def test_reference(trace: Trace) -> None:
    check_trace(trace, RULES[trace.rule])


@pytest.mark.parametrize("trace", TRACES, ids=lambda t: f"{t.rule}-{t.parameters}")
def test_core(trace: Trace) -> None:
    learner = LEARNERS[trace.rule](classes=(0, 1), **trace.parameters)
    X, y = zip(*trace.rounds, strict=True)
    ledger = learner.run(np.array(X, float), np.array([int(label > 0) for label in y]))
    assert "".join("+" if p == 1 else "-" for p in ledger.predictions) == trace.predictions
    z, bias_z = learner._life.engine.z()
    assert (*z, bias_z)[: len(trace.z)] == trace.z
    for x, score in trace.scores.items():
        assert learner.score_one(np.array(x, float)) == pytest.approx(score, abs=1e-6)


def test_every_rule_has_a_trace_with_a_tie() -> None:
    assert {trace.rule for trace in TRACES} == set(RULES)
