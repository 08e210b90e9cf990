"""Limit the number of named features of a panel: drop those that occurred least often, the oldest first.

A feature gets its slot at its first round, so slots are in the order of the first rounds: the oldest of the features
that occurred once has the smallest slot. The limit is applied after every 1,024th round, so the result
does not depend on the batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistakebound._core import Engine
from mistakebound._support.lazy import np

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray
    from mistakebound.play.engine import LearnerEngine

EVERY = 1024
"""Number of rounds after which the number of features is compared with the limit."""
KEPT = 0.75
"""The share of the limit that is left: dropping many features at once makes the mean cost of each small."""
CONSTANT, BEFORE = 0, 2
"""With several classes, the owner of records that is the constant, and the owner that is slot 0."""
POSITIVES, NEGATIVES, FLOATS = 1, 2, 24
"""Places of the counts among the numbers of a feature, and how many numbers a feature has: ``core/panel/state.hpp``."""
SEEN, NUMBERS = 3, 5
"""The same for several classes: ``core/panel/classes/state.hpp``."""


def rounds_left(engine: LearnerEngine) -> int:
    """Return the number of rounds until the limit is applied again."""
    return EVERY - engine.counts.rounds % EVERY


def apply_limit(engine: LearnerEngine) -> bool:
    """Drop features if there are more than the limit allows, after the rounds in which it is applied.

    Returns whether ``engine.core`` was replaced.
    """
    limit = engine.max_features
    if limit is None or engine.counts.rounds % EVERY or engine.core.slots() - 1 <= limit:
        return False
    several = engine.rule.id == "multiclass-panel"
    settings, names, state, *history = engine.core.__getstate__()
    counts = np.zeros(len(names))
    slots, found = _class_counts(state) if several else _binary_counts(state)
    counts[slots - 1] = found
    rank = np.lexsort((np.arange(len(names)), counts))
    keep = np.ones(len(names), np.bool_)
    keep[rank[: len(names) - int(limit * KEPT)]] = False
    new_slot = np.zeros(len(names) + 1, np.int64)
    new_slot[1:][keep] = np.arange(1, keep.sum() + 1)
    filtered = _class_state(state, new_slot) if several else _binary_state(state, new_slot)
    core = Engine.__new__(Engine)
    core.__setstate__((settings, [name for name, stays in zip(names, keep, strict=True) if stays], filtered, *history))
    engine.core = core
    engine.dropped += int(len(names) - keep.sum())
    return True


def _binary_counts(state: Any) -> tuple[AnyArray, AnyArray]:
    """Return the slots that have records, and how often each feature occurred."""
    features, records = state[0], state[1].reshape(-1, FLOATS)[:-1]
    kept = np.ascontiguousarray(records[:, [POSITIVES, NEGATIVES]])
    # A whole count is an integer in the bits of the float, a sum of weights that is not whole is a negative float.
    counts = np.where(kept < 0, -kept, kept.view(np.int32))
    return features.astype(np.int64), counts.sum(axis=1)


def _binary_state(state: Any, new_slot: AnyArray) -> tuple[Any, ...]:
    features, records, *rest = state
    place = new_slot[features]
    rows = np.append(place > 0, True)  # the constant comes last
    return (place[place > 0].astype(np.uint32), records.reshape(-1, FLOATS)[rows].ravel(), *rest)


def _class_counts(state: Any) -> tuple[AnyArray, AnyArray]:
    owners = state[0].astype(np.int64)
    seen = state[12].reshape(-1, NUMBERS)[:, SEEN]
    own = owners != CONSTANT
    return owners[own] - BEFORE, seen[own]


def _class_state(state: Any, new_slot: AnyArray) -> tuple[Any, ...]:
    owners, counts, classes, values, *others = state
    slots = owners.astype(np.int64) - BEFORE
    constant = owners == CONSTANT
    place = np.where(constant, CONSTANT, new_slot[np.maximum(slots, 0)] + BEFORE)
    keep = constant | (place > BEFORE)
    records = np.repeat(keep, counts)
    fields = len(values) // max(len(classes), 1)
    numbers = others[8].reshape(-1, NUMBERS)[keep].ravel()
    cells = (place[keep].astype(np.uint32), counts[keep], classes[records], values.reshape(-1, fields)[records].ravel())
    return (*cells, *others[:8], numbers, *others[9:])
