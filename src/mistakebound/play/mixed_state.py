"""The state of linear learners in the core, mixed: what ``learners.mixing`` and the replay for a certificate share."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._core import Engine
from mistakebound._support.lazy import np
from mistakebound.rules.mixing import Floats, mixed, running_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import IntArray
    from mistakebound.play.engine import LearnerEngine

SUMS = 5
"""Numbers after z in the state of the core: z of the constant feature, factor, total, rest, peak."""
HISTORY = 7
"""Parts at the end of the core's state that all rules have: the record of the rounds."""
WIDTH = 7
"""Place of the width in the settings of the core."""


class Union(NamedTuple):
    """The features of learners that continued from the same start, united."""

    names: list[str]
    """The names of the start, then the new names of each part, in their order; empty for features by position."""
    slots: int
    """Number of features as the core counts them: with names, slot 0 has none."""
    places: list[IntArray]
    """For each part, the slot in the union of each of its slots."""


def united(start: tuple[Any, ...], parts: Sequence[tuple[Any, ...]], *, named: bool) -> Union:
    """Unite the features of states of the core. The names of each part must begin with those of the start."""
    if not named:
        slots = [part[0][WIDTH] for part in (start, *parts)]
        return Union([], max(slots), [np.arange(own) for own in slots[1:]])
    names: list[str] = list(start[1])
    known = {name: place for place, name in enumerate(names)}
    places = []
    for part in parts:
        for name in part[1][len(start[1]) :]:
            if known.setdefault(name, len(names)) == len(names):
                names.append(name)
        places.append(np.array([0, *(known[name] + 1 for name in part[1])], np.int64))
    return Union(names, len(names) + 1, places)


def mixed_state(
    engine: LearnerEngine,
    start: tuple[Any, ...],
    parts: Sequence[tuple[Any, ...]],
    shares: Sequence[float],
    union: Union,
) -> list[Any]:
    """Return the mixed state of a linear rule: the parts of the core's state between the names and the record.

    A feature that a part does not have has the state of the start there, or the one that the rule starts with.
    """
    rule = engine.rule
    size = len(rule.start)
    blank = np.tile(np.array(rule.start, np.float32), (union.slots, 1))
    first, *others = (np.asarray(state[2]).reshape(-1, size) for state in (start, *parts))
    blank[: len(first)] = first
    rows = [blank]
    for places, own in zip(union.places, others, strict=True):
        placed = blank.copy()
        placed[places] = own
        rows.append(placed)
    numbers = [state[3:-HISTORY] for state in (start, *parts)]
    scalars = [tuple(each[SUMS + size - 1 :]) for each in numbers]
    found = mixed(rule, *_as_floats(rows, scalars), shares)
    constant = [np.array([[each[0], *each[SUMS : SUMS + size - 1]]], np.float32) for each in numbers]
    bias = mixed(rule, *_as_floats(constant, scalars), shares).rows[0].tolist()
    sums = running_sums(rule, found.rows[:, 0], bias[0])
    return [found.rows.ravel(), bias[0], *sums, *bias[1:], *found.scalars]


def _as_floats(rows: list[Any], scalars: list[tuple[float, ...]]) -> tuple[Floats, list[Floats]]:
    first, *others = (Floats(*each) for each in zip(rows, scalars, strict=True))
    return first, others


def engine_with(
    like: LearnerEngine, start: tuple[Any, ...], union: Union, state: Sequence[Any], history: Sequence[Any]
) -> LearnerEngine:
    """Return an engine with the settings of another one, and this state and record."""
    settings = list(start[0])
    if not like.named and like.growing:
        settings[WIDTH] = union.slots
    engine = copy(like)
    engine.core = Engine.__new__(Engine)
    engine.core.__setstate__((tuple(settings), union.names, *state, *history))
    return engine
