"""`ClassMeasures`: how good the probabilities of several classes were, and the mistakes between them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.lazy import np
from mistakebound._support.schema import need
from mistakebound.play.measures import ratio

if TYPE_CHECKING:
    from mistakebound._support.arrays import IntArray
    from mistakebound.play.measures import Measures


class ClassScores(NamedTuple):
    """How well one class was predicted."""

    label: Any
    rounds: int
    """Rounds with this label."""
    predicted: int
    """Rounds in which it was predicted."""
    precision: float
    """Share of its predictions that were right; NaN if there were none."""
    recall: float
    """Share of its rounds in which it was predicted; NaN if there were none."""


class ConfidenceBin(NamedTuple):
    """The rounds whose confidence was in one interval: number, mean confidence, and share of right predictions."""

    low: float
    high: float
    rounds: int
    mean: float
    right: float


class ClassMeasures(NamedTuple):
    """Log loss, Brier score, calibration and confusion of the probabilities of some rounds.

    Attributes
    ----------
    rounds : int
        Number of rounds that log loss and Brier score count. Later passes over a stream are left out.
    total_log_loss : float
        Σ −ln p(y). In the first round of a label, p is the probability of a new label.
    squares : float
        Σ_t Σ_k (p_k − 1[k = y])², the label "new" included.
    truth, predicted, counts : array
        How often (counts) a class (truth) was predicted as a class (predicted), by class ids, for the pairs that
        occurred, in all rounds. −1 is the prediction before the first label.
    confidence : Measures or None
        The measures of the confidence, which is the probability of the predicted label, by whether the prediction was
        right: its positives are the right predictions. None if it was not measured, as in older files.
    """

    rounds: int
    total_log_loss: float
    squares: float
    truth: IntArray
    predicted: IntArray
    counts: IntArray
    confidence: Measures | None = None

    def since(self, earlier: ClassMeasures | None) -> ClassMeasures:
        """Return the measures of the rounds after ``earlier``."""
        if earlier is None:
            return self
        cells = dict(
            zip(zip(self.truth.tolist(), self.predicted.tolist(), strict=True), self.counts.tolist(), strict=True)
        )
        before = zip(earlier.truth.tolist(), earlier.predicted.tolist(), earlier.counts.tolist(), strict=True)
        for truth, predicted, count in before:
            cells[truth, predicted] -= count
        left = [(*pair, count) for pair, count in cells.items() if count]
        truth, predicted, counts = (np.array([each[k] for each in left], np.int64) for k in range(3))
        return ClassMeasures(
            self.rounds - earlier.rounds,
            self.total_log_loss - earlier.total_log_loss,
            self.squares - earlier.squares,
            truth,
            predicted,
            counts,
            None if self.confidence is None else self.confidence - earlier.confidence,
        )

    @property
    def log_loss(self) -> float:
        """Mean of −ln p(y) over the rounds; NaN if there were none."""
        return ratio(self.total_log_loss, self.rounds)

    @property
    def brier(self) -> float:
        """Brier score of all classes: mean of Σ_k (p_k − 1[k = y])²; NaN if there were no rounds."""
        return ratio(self.squares, self.rounds)

    def calibration(self, bins: int = 10) -> list[ConfidenceBin]:
        """Return a `ConfidenceBin` for each of ``bins`` equal intervals of confidence that has rounds.

        The confidence is the probability of the predicted label. Rounds without a prediction are left out.
        """
        return [] if self.confidence is None else [ConfidenceBin(*each) for each in self.confidence.calibration(bins)]

    @property
    def calibration_error(self) -> float:
        """Mean distance between the confidence and the share of right predictions, over ten intervals of equal width.

        NaN if it was not measured.
        """
        return math.nan if self.confidence is None else self.confidence.calibration_error

    def matrix(self, classes: int) -> IntArray:
        """Return the confusion of the first ``classes`` class ids: rows are labels, columns are predictions.

        Rounds without a prediction are left out.
        """
        found = np.zeros((classes, classes), np.int64)
        predicted = self.predicted >= 0
        found[self.truth[predicted], self.predicted[predicted]] = self.counts[predicted]
        return found

    @property
    def without_prediction(self) -> int:
        """Rounds without a prediction, because no label had occurred."""
        return int(self.counts[self.predicted < 0].sum())

    def by_class(self, labels: list[Any]) -> list[ClassScores]:
        """Return how well each class was predicted; ``labels`` are the labels by class id."""
        found = []
        for k, label in enumerate(labels):
            rounds, predicted = int(self.counts[self.truth == k].sum()), int(self.counts[self.predicted == k].sum())
            right = int(self.counts[(self.truth == k) & (self.predicted == k)].sum())
            found.append(ClassScores(label, rounds, predicted, ratio(right, predicted), ratio(right, rounds)))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return what reports show: the numbers, and the calibration if it was measured."""
        found: dict[str, Any] = {"rounds": self.rounds, "log_loss": self.log_loss, "brier": self.brier}
        if self.confidence is not None and self.confidence.rounds:
            found["calibration_error"] = self.calibration_error
            found["calibration"] = [each._asdict() for each in self.calibration()]
        return found

    def __repr__(self) -> str:
        numbers = f"log loss {self.log_loss:.6g}, Brier {self.brier:.6g}"
        if self.confidence is not None:
            numbers += f", calibration error {self.calibration_error:.6g}"
        return f"<ClassMeasures of {self.rounds} rounds: {numbers}>"


def check_confidence(measures: ClassMeasures | None, mistakes: int, path: str, *, all_known: bool) -> None:
    """Raise ModelError if the confidences that a file contains contradict the counts of the same rounds.

    ``all_known`` is whether the right predictions of all measured rounds are known. They are not for a panel that
    began with two labels, where the label that was more likely counts as the prediction.
    """
    if measures is None or measures.confidence is None:
        return
    predicted = int(measures.counts.sum()) - measures.without_prediction
    found = measures.confidence
    need(found.rounds <= predicted, f"{path} has more rounds than there were predictions", path)
    right = predicted - (mistakes - measures.without_prediction)
    same = found.rounds < predicted or not all_known or sum(found.positives) == right
    need(same, f"{path} contradicts the number of mistakes", path)
