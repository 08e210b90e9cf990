"""`PerceptronEngine`: the multiclass Perceptron in the compiled core. In place of probabilities it has scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound._support.lazy import np
from mistakebound.play.class_engine import ClassEngine

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.play.class_engine import ServedClass
    from mistakebound.rules.multiclass_perceptron import MulticlassPerceptronRule

NO_PROBABILITY = (1.0, 0.0)
"""The probability of an outcome, and the sum of squares of the Brier score, that the core expects of every learner."""


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

    def _promised(self, served: ServedClass, class_id: int) -> tuple[float, float]:  # noqa: ARG002
        return NO_PROBABILITY

    def class_weights(self) -> FloatArray:
        """Return a row of weights for each class; the last column is that of the constant feature, if there is one."""
        weights, bias = self.core.class_weights()
        rows = weights.reshape(-1, len(bias)).T.astype(np.float64) if len(bias) else np.zeros((0, self.core.slots()))
        return np.column_stack([rows, bias.astype(np.float64)]) if self.rule.bias else rows
