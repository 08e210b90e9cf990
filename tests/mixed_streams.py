"""Streams over several shards, learned by copies of one learner, and the state of the core that is made from theirs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from mistakebound._core import Engine

WIDTH, LIMIT, HISTORY = 7, 8, 7


def state_of(learner: Any) -> tuple[Any, ...]:
    return learner._play.engine.core.__getstate__()


def with_state(learner: Any, state: tuple[Any, ...]) -> Any:
    """A copy of the learner with this state of the core."""
    other = deepcopy(learner)
    other._play.engine.core = Engine.__new__(Engine)
    other._play.engine.core.__setstate__(state)
    return other


def learned_shards(start: Any, shards: list[tuple[Any, Any]]) -> list[Any]:
    """Copies of the start, each of which has learned a shard."""
    parts = [deepcopy(start) for _ in shards]
    for part, (X, y) in zip(parts, shards, strict=True):
        part.run(X, y)
    return parts


def united(start: Any, parts: list[Any]) -> tuple[list[str], list[np.ndarray], int]:
    """The names of all features, the slot in the union for each slot of each part, and the number of slots."""
    states = [state_of(each) for each in (start, *parts)]
    if not parts[0]._play.engine.named:
        slots = max(state[0][WIDTH] for state in states)
        return [], [np.arange(state[0][WIDTH]) for state in states[1:]], slots
    names = list(dict.fromkeys(name for state in states for name in state[1]))
    place = {name: k + 1 for k, name in enumerate(names)}
    return names, [np.array([0, *(place[name] for name in state[1])]) for state in states[1:]], len(names) + 1


def flat(value: Any) -> Any:
    """A state as nested lists of bytes and texts, to compare it exactly."""
    if isinstance(value, (tuple, list)):
        return [flat(each) for each in value]
    return (value.dtype.str, value.tobytes()) if isinstance(value, np.ndarray) else repr(value)
