"""Every hand-worked trace, in the reference and in the compiled core."""

from __future__ import annotations

import numpy as np
import pytest
from linear_checks import LEARNERS, check_trace
from traces import TRACES, Trace

from mistakebound.rules import RULES


@pytest.mark.parametrize("trace", TRACES, ids=lambda t: f"{t.rule}-{t.parameters}")
def test_reference(trace: Trace) -> None:
    check_trace(trace, RULES[trace.rule])


@pytest.mark.parametrize("trace", TRACES, ids=lambda t: f"{t.rule}-{t.parameters}")
def test_core(trace: Trace) -> None:
    learner = LEARNERS[trace.rule](classes=(0, 1), **trace.parameters)
    X, y = zip(*trace.rounds, strict=True)
    ledger = learner.run(np.array(X, float), np.array([int(label > 0) for label in y]))
    assert "".join("+" if p == 1 else "-" for p in ledger.predictions) == trace.predictions
    z, bias_z = learner._play.engine.core.z()
    assert (*z, bias_z)[: len(trace.z)] == trace.z
    state = learner._play.engine.core.__getstate__()[2].reshape(len(z), -1)
    assert [tuple(each) for each in state[:, 1:]] == trace.more[: len(z)] or not trace.more
    for x, score in trace.scores.items():
        assert learner.score_one(np.array(x, float)) == pytest.approx(score, abs=1e-6)


def test_every_rule_has_a_trace_with_a_tie() -> None:
    assert {trace.rule for trace in TRACES} == set(RULES)
