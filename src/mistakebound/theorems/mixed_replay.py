"""Replay the kept rounds of a mixed learner: shard by shard, epoch by epoch, each from the mixed state before it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._core import Engine
from mistakebound.play.engine import LearnerEngine, Reduction
from mistakebound.play.mixed_state import HISTORY, engine_with, mixed_state, united
from mistakebound.play.record import EngineRecord
from mistakebound.theorems.replay import learned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.play.ledger import Ledger
    from mistakebound.play.mixing import Span


def replays_mixed(ledger: Ledger) -> bool:
    """Return whether the kept rounds give fresh learners, mixed with the same shares, the same mistakes and updates.

    If the learner is at hand, its weights must be the same, too, bit for bit.
    """
    if ledger.mixing is None or ledger.several or ledger.late:
        return False
    kept, wrong, updates = ledger.kept, [], []
    engine = LearnerEngine(ledger.rule, None if ledger.named else ledger.n, 0, Reduction())
    for epoch in ledger.mixing.spans(ledger.rounds):
        engine, found, moved = _replayed(ledger, engine, epoch)
        wrong += found
        updates.append(moved)
    stored = [[shard.updates for shard in epoch.shards] for epoch in ledger.mixing.epochs]
    return bool(
        len(wrong) == len(kept)
        and np.array_equal(wrong, kept.mistaken)
        and sum(map(sum, updates)) == ledger.updates
        and int(kept.mistaken.sum()) == ledger.mistakes
        and [each for each in updates if len(each) > 1] == stored
        and _same_weights(ledger, engine)
    )


def _replayed(
    ledger: Ledger, engine: LearnerEngine, epoch: Sequence[Span]
) -> tuple[LearnerEngine, list[bool], list[int]]:
    """Return the learner after an epoch, whether each kept round was a mistake, and the updates of each shard."""
    first: tuple[Any, ...] = engine.core.__getstate__()
    before, wrong, updates, states = engine.counts.updates, [], [], []
    for span in epoch:
        begin, end = np.searchsorted(ledger.kept.rounds, (span.first, span.end)).tolist()
        shard = engine
        if len(epoch) > 1 and begin < end:
            shard = copy(engine)
            shard.core = Engine.__new__(Engine)
            shard.core.__setstate__(first)
        wrong += learned(ledger, shard, begin, end)
        updates.append(shard.counts.updates - before)
        states.append(first if begin == end else shard.core.__getstate__())
    if len(epoch) == 1:
        return engine, wrong, updates
    union = united(first, states, named=engine.named)
    state = mixed_state(engine, first, states, [span.share for span in epoch], union)
    return engine_with(engine, first, union, state, first[-HISTORY:]), wrong, updates


def _same_weights(ledger: Ledger, engine: LearnerEngine) -> bool:
    """Return whether the learner of a ledger, if it is at hand, has the z of the replay."""
    found = ledger.record.z() if isinstance(ledger.record, EngineRecord) else None
    if found is None:
        return True
    z, bias_z = engine.core.z()
    names = [str(i) for i in range(len(z) - 1)] if ledger.named else []
    return np.array_equal(found[0], z) and found[1] == bias_z and engine.core.names() == names
