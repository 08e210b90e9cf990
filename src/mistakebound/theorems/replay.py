"""Replay the kept rounds of a ledger with a fresh learner."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mistakebound.play.engine import LearnerEngine, Reduction
from mistakebound.play.inputs import Csr
from mistakebound.play.perceptron_engine import PerceptronEngine

if TYPE_CHECKING:
    from mistakebound.play.class_ledger import ClassKept, ClassLedger
    from mistakebound.play.ledger import Ledger
    from mistakebound.play.record import Kept
    from mistakebound.rules.multiclass_perceptron import MulticlassPerceptronRule


def replays(ledger: Ledger) -> bool:
    """Return whether the kept rounds alone give a fresh learner the same mistakes and updates.

    Rounds without an update do not change the weights, so a true ledger replays exactly.
    """
    if ledger.mixing is not None:
        from mistakebound.theorems.mixed_replay import replays_mixed  # noqa: PLC0415 - it imports this module

        return replays_mixed(ledger)
    if ledger.several:
        return _replays_classes(cast("ClassLedger", ledger))
    kept = ledger.kept
    engine = LearnerEngine(ledger.rule, None if ledger.named else ledger.n, 0, Reduction())
    wrong = _replayed_late(ledger, engine) if ledger.late else learned(ledger, engine, 0, len(kept))
    return bool(
        len(wrong) == len(kept)
        and np.array_equal(wrong, kept.mistaken)
        and engine.counts.updates == ledger.updates
        and int(kept.mistaken.sum()) == ledger.mistakes
    )


def learned(ledger: Ledger, engine: LearnerEngine, first: int, end: int) -> list[bool]:
    """Learn these of the kept rounds; return whether each was a mistake, fewer if one cannot be learned."""
    kept = ledger.kept
    if ledger.named:
        return [
            engine.learn_named(example(kept, t), int(kept.labels[t])) != (kept.labels[t] > 0) for t in range(first, end)
        ]
    own = slice(kept.indptr[first], kept.indptr[end])
    rows = Csr(kept.indptr[first : end + 1] - kept.indptr[first], kept.index[own], kept.value[own], ledger.n)
    played = engine.play(rows, kept.labels[first:end])
    return [] if played.fault else list(played.positive != (kept.labels[first:end] > 0))


def _replays_classes(ledger: ClassLedger) -> bool:
    """Return whether the kept rounds give a fresh multiclass Perceptron the same predictions.

    The first label of all is learned from an example without features, because its round was not kept.
    """
    kept, rule = cast("ClassKept", ledger.kept), cast("MulticlassPerceptronRule", ledger.rule)
    if ledger.late or not ledger.seen:
        return not ledger.late and not len(kept)
    engine = PerceptronEngine(rule, ledger.n, 0, Reduction())
    indptr = np.concatenate([[0], kept.indptr]).astype(np.int64)
    ids = np.concatenate([[0], kept.labels]).astype(np.int32)
    predicted, fault = engine.learn_rows(Csr(indptr, kept.index, kept.value, ledger.n), ids)
    return fault is None and np.array_equal(predicted[1:], kept.predicted) and engine.counts.updates == ledger.updates


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
            served[place] = engine.serve(example(kept, place) if ledger.named else _row(kept, place, ledger.n))
        if t not in served:
            break  # the recorded delay is not possible
        engine.tell(served[t], int(kept.labels[t]))
        wrong.append(served.pop(t).positive != (kept.labels[t] > 0))
    return wrong


def _row(kept: Kept, t: int, n: int) -> Csr:
    row = slice(kept.indptr[t], kept.indptr[t + 1])
    return Csr(np.array([0, row.stop - row.start]), kept.index[row], kept.value[row], n)


def example(kept: Kept, t: int) -> dict[str, float]:
    """Return a kept round as a named example; the names are the numbers of the features."""
    x: dict[str, float] = {}
    for k in range(kept.indptr[t], kept.indptr[t + 1]):
        name = str(kept.index[k])
        x[name] = x.get(name, 0.0) + float(kept.value[k])
    return x
