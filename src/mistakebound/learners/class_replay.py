"""Replay a learner of several classes in a second pass over its stream, and keep every example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mistakebound.learners.multiclass import MulticlassPerceptron
from mistakebound.learners.replay import EVERY_ROUND, PREDICTIONS_KEPT, STREAM_BYTES, Replica
from mistakebound.play.class_ledger import ClassCounts, ClassKept, ClassLedger
from mistakebound.play.engine import LearnerEngine
from mistakebound.play.perceptron_engine import PerceptronEngine

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, FloatArray, IntArray
    from mistakebound.data.parts import Part
    from mistakebound.learners.learner import Learner
    from mistakebound.learners.linear_play import LinearPlay
    from mistakebound.play.class_engine import PlayedClasses
    from mistakebound.play.engine import Reduction
    from mistakebound.play.faults import RowFault
    from mistakebound.play.inputs import Positional
    from mistakebound.rules import Rule


class RecordingClassEngine(PerceptronEngine):
    """An engine that also keeps every example, not only those with a mistake, while ``recording`` is true.

    The recorder takes all examples as positive; ``ids`` has their classes.
    """

    def __init__(
        self, rule: Rule, width: int | None, keep_bytes: int, reduction: Reduction, *, growing: bool = False
    ) -> None:
        super().__init__(rule, width, keep_bytes, reduction, growing=growing)
        self.recorder = LearnerEngine(EVERY_ROUND, width, STREAM_BYTES, reduction, growing=growing)
        self.recording = True
        self.ids: list[IntArray] = []

    def learn_rows(
        self, rows: Positional, ids: AnyArray, weights: FloatArray | None = None
    ) -> tuple[AnyArray, RowFault | None]:
        """Predict, then learn, and keep the examples."""
        predictions, fault = super().learn_rows(rows, ids, weights)
        if self.recording and fault is None:
            self.recorder.play(rows, np.ones(len(rows), np.int8))
            self.ids.append(ids)
        return predictions, fault

    def play_part_classes(
        self, part: Part, ids: AnyArray, first: int, weights: FloatArray | None = None
    ) -> PlayedClasses:
        """Predict, then learn, rows of a part of a file, and keep the examples."""
        played = super().play_part_classes(part, ids, first, weights)
        if self.recording:
            self.recorder.play_part(part, b"\x01" * played.row, first)
            self.ids.append(ids[: played.row])
        return played

    def learn_named_class(self, x: Any, class_id: int, weight: float = 1.0) -> int:
        """Predict, then learn, a named example, and keep it."""
        predicted = super().learn_named_class(x, class_id, weight)
        if self.recording:
            self.recorder.learn_named(x, 1)
            self.ids.append(np.array([class_id], np.int32))
        return predicted


class ClassReplica(Replica, MulticlassPerceptron):
    """A fresh learner with the rule, features and labels that another learner of several classes has played with."""

    _engine_type = RecordingClassEngine  # type: ignore[assignment]  # the other replica has two labels

    def __init__(self, original: Learner, played: LinearPlay) -> None:
        super().__init__(original, played)
        labels: Any = played.labels
        self._early_labels = labels.keep(0)

    def agrees(self) -> bool:
        """Whether the original made the same predictions and mistakes, and has the same weights."""
        mine, other = self._current_play().engine.core, self._play_of_original.engine.core
        predicted, before = (each.class_predictions(0, PREDICTIONS_KEPT) for each in (mine, other))
        common = min(len(predicted), len(before))  # keep_bytes limits how many a learner keeps
        return (
            np.array_equal(predicted[:common], before[:common])
            and mine.counts() == other.counts()
            and mine.names() == other.names()
            and all(
                np.array_equal(np.trim_zeros(one, "b"), np.trim_zeros(two, "b"))
                for one, two in zip(mine.class_weights(), other.class_weights(), strict=True)
            )
        )


class RecordedExamples:
    """The record of a ledger with every example of a stream."""

    def __init__(self, kept: ClassKept, names: list[str]) -> None:
        self._kept, self._names = kept, names

    def predictions(self) -> None:
        """Return None: only the examples are recorded."""

    def mistake_rounds(self) -> None:
        """Return None: see ``predictions``."""

    def kept(self) -> ClassKept:
        """Return every round."""
        return self._kept

    def late(self) -> tuple[IntArray, IntArray]:
        """Return no rounds: a second pass has no late outcomes."""
        return np.zeros(0, np.int64), np.zeros(0, np.int64)

    def names(self) -> list[str]:
        """Return the names of the features by index; empty for features by position."""
        return self._names


def recorded_classes(play: LinearPlay) -> ClassLedger:
    """Return the ledger of the examples that an engine has recorded."""
    engine, labels = cast("RecordingClassEngine", play.engine), cast("Any", play.labels)
    of_rows = engine.recorder.ledger((0, 1))
    ids = np.concatenate(engine.ids) if engine.ids else np.zeros(0, np.int32)
    found = vars(of_rows.kept) | {"labels": ids[: len(of_rows.kept)], "predicted": ids[:0]}
    counts: Any = ClassCounts(len(ids), 0, 0, len(ids))
    ledger = ClassLedger(
        counts,
        rule=engine.rule,
        n=of_rows.n,
        classes=tuple(labels.ordered),
        from_start=True,
        named=engine.named,
        record=RecordedExamples(ClassKept(**found), of_rows.names),
    )
    ledger.given, ledger.seen = labels.given, labels.seen
    return ledger
