"""The examples of a whole stream of several classes, kept in a second pass for a certificate over all rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mistakebound.learners.replay import EVERY_ROUND, STREAM_BYTES
from mistakebound.play.class_ledger import ClassCounts, ClassKept, ClassLedger
from mistakebound.play.engine import LearnerEngine
from mistakebound.play.perceptron_engine import RecordingPerceptronEngine
from mistakebound.play.record import StoredRecord

if TYPE_CHECKING:
    from mistakebound.learners.linear_play import LinearPlay
    from mistakebound.play.engine import Reduction
    from mistakebound.rules.multiclass_perceptron import MulticlassPerceptronRule


def recording_engine(
    rule: MulticlassPerceptronRule, width: int | None, keep_bytes: int, reduction: Reduction, *, growing: bool = False
) -> RecordingPerceptronEngine:
    """Return a fresh engine that keeps every example."""
    engine = RecordingPerceptronEngine(rule, width, keep_bytes, reduction, growing=growing)
    engine.recorder = LearnerEngine(EVERY_ROUND, width, STREAM_BYTES, reduction, growing=growing)
    return engine


def recorded_classes(play: LinearPlay) -> ClassLedger:
    """Return the ledger of the examples that an engine has recorded."""
    engine, labels = cast("RecordingPerceptronEngine", play.engine), cast("Any", play.labels)
    of_rows = cast("LearnerEngine", engine.recorder).ledger((0, 1))
    ids = np.concatenate(engine.ids) if engine.ids else np.zeros(0, np.int32)
    found = vars(of_rows.kept) | {"labels": ids[: len(of_rows.kept)], "predicted": ids[:0]}
    none = np.zeros(0, np.int64)  # a second pass has no late outcomes
    counts: Any = ClassCounts(len(ids), 0, 0, len(ids))
    ledger = ClassLedger(
        counts,
        rule=engine.rule,
        n=of_rows.n,
        classes=tuple(labels.ordered),
        from_start=True,
        named=engine.named,
        record=StoredRecord(None, None, ClassKept(**found), (none, none), of_rows.names),
    )
    ledger.given, ledger.seen = labels.given, labels.seen
    return ledger
