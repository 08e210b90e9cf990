"""`PerceptronEngine`: the multiclass Perceptron in the compiled core. In place of probabilities it has scores."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.play.class_engine import ClassEngine

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.data.parts import Part
    from mistakebound.play.class_engine import PlayedClasses, ServedClass
    from mistakebound.play.engine import LearnerEngine
    from mistakebound.play.faults import RowFault
    from mistakebound.play.inputs import Positional
    from mistakebound.rules.multiclass_perceptron import MulticlassPerceptronRule

NO_PROBABILITY = (0.0, 1.0, 0.0)
"""The probabilities of a prediction and of its outcome, and the sum of squares, which the core expects."""


class PerceptronEngine(ClassEngine):
    """The multiclass Perceptron, with its state in the compiled core.

    The methods of ``ClassEngine`` that return probabilities return the score of each class, and 0 for a new label.
    """

    rule: MulticlassPerceptronRule  # type: ignore[assignment]  # the other engine of several classes is a panel

    def _members(self) -> dict[str, int]:
        return {}

    @property
    def member_names(self) -> tuple[str, ...]:
        """Empty, because there are no members."""
        return ()

    @property
    def standings(self) -> None:  # type: ignore[override]  # see ``rule``
        """None, because there are no members."""
        return

    def _promised(self, served: ServedClass, class_id: int) -> tuple[float, float, float]:  # noqa: ARG002
        return NO_PROBABILITY

    def class_weights(self) -> FloatArray:
        """Return a row of weights for each class; the last column is that of the constant feature, if there is one."""
        weights, bias = self.core.class_weights()
        rows = weights.reshape(-1, len(bias)).T.astype(np.float64) if len(bias) else np.zeros((0, self.core.slots()))
        return np.column_stack([rows, bias.astype(np.float64)]) if self.rule.bias else rows


class RecordingPerceptronEngine(PerceptronEngine):
    """A multiclass Perceptron that also keeps every example, not only those of mistakes, while ``recording`` is true.

    The recorder takes all examples as positive; ``ids`` has their classes.
    """

    recorder: LearnerEngine | None = None
    recording = True

    @cached_property
    def ids(self) -> list[AnyArray]:
        """The class ids of the kept examples, batch by batch."""
        return []

    def learn_rows(
        self, rows: Positional, ids: AnyArray, weights: FloatArray | None = None
    ) -> tuple[AnyArray, RowFault | None]:
        """Predict, then learn, and keep the examples."""
        predictions, fault = super().learn_rows(rows, ids, weights)
        if self.recording and self.recorder is not None and fault is None:
            self.recorder.play(rows, np.ones(len(rows), np.int8))
            self.ids.append(ids)
        return predictions, fault

    def play_part_classes(
        self, part: Part, ids: AnyArray, first: int, weights: FloatArray | None = None
    ) -> PlayedClasses:
        """Predict, then learn, rows of a part of a file, and keep the examples."""
        played = super().play_part_classes(part, ids, first, weights)
        if self.recording and self.recorder is not None:
            self.recorder.play_part(part, b"\x01" * played.row, first)
            self.ids.append(ids[: played.row])
        return played

    def learn_named_class(self, x: Any, class_id: int, weight: float = 1.0) -> int:
        """Predict, then learn, a named example, and keep it."""
        predicted = super().learn_named_class(x, class_id, weight)
        if self.recording and self.recorder is not None:
            self.recorder.learn_named(x, 1)
            self.ids.append(np.array([class_id], np.int32))
        return predicted
