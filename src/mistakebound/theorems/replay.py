"""Replay the kept rounds of a ledger with a fresh learner."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.play.engine import LearnerEngine, Reduction
from mistakebound.play.inputs import Csr

if TYPE_CHECKING:
    from mistakebound.play.ledger import Kept, Ledger


def replays(ledger: Ledger) -> bool:
    """Return whether the kept rounds alone give a fresh learner the same mistakes and updates.

    Rounds without an update do not change the weights, so a true ledger replays exactly.
    """
    kept = ledger.kept
    engine = LearnerEngine(ledger.rule, None if ledger.named else ledger.n, 0, Reduction())
    if ledger.late:
        wrong = _replayed_late(ledger, engine)
    elif ledger.named:
        wrong = [
            engine.learn_named(_example(kept, t), int(kept.labels[t])) != (kept.labels[t] > 0) for t in range(len(kept))
        ]
    else:
        rows = Csr(kept.indptr, kept.index, kept.value, ledger.n)
        played = engine.play(rows, kept.labels)
        wrong = [] if played.fault else list(played.positive != (kept.labels > 0))
    return bool(
        len(wrong) == len(kept)
        and np.array_equal(wrong, kept.mistaken)
        and engine.counts.updates == ledger.updates
        and int(kept.mistaken.sum()) == ledger.mistakes
    )


def _replayed_late(ledger: Ledger, engine: LearnerEngine) -> list[bool]:
    """Return whether each kept round is a mistake, if each prediction is made as early as the ledger records."""
    kept = ledger.kept
    moves = (kept.labels < 0) | ledger.rule.learns_from_positives
    asked_at = np.cumsum(moves) - moves - ledger.delays  # updates before each prediction
    waiting = deque(np.argsort(asked_at, kind="stable").tolist())
    served: dict[int, Any] = {}
    wrong: list[bool] = []
    for t in range(len(kept)):
        while waiting and asked_at[waiting[0]] <= engine.counts.updates:
            place = waiting.popleft()
            served[place] = engine.serve(_example(kept, place) if ledger.named else _row(kept, place, ledger.n))
        if t not in served:
            break  # the recorded delay is not possible
        engine.tell(served[t], int(kept.labels[t]))
        wrong.append(served.pop(t).positive != (kept.labels[t] > 0))
    return wrong


def _row(kept: Kept, t: int, n: int) -> Csr:
    row = slice(kept.indptr[t], kept.indptr[t + 1])
    return Csr(np.array([0, row.stop - row.start]), kept.index[row], kept.value[row], n)


def _example(kept: Kept, t: int) -> dict[str, float]:
    x: dict[str, float] = {}
    for k in range(kept.indptr[t], kept.indptr[t + 1]):
        name = str(kept.index[k])
        x[name] = x.get(name, 0.0) + float(kept.value[k])
    return x
