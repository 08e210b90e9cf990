"""`Measures`: how good the probabilities of a learner were, before it learned each label.

The core counts how many probabilities of each size were right (``core/play/measures.hpp``), so memory does not grow
with the rounds. What follows from the counts is exact at thresholds that are multiples of 0.001, and off by at most the
width of a bin elsewhere.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.lazy import np

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray, IntArray

TAIL, MIDDLE = 112, 998
BINS = 2 * TAIL + MIDDLE
"""Bins of probabilities: thousandths from 0.001 to 0.999, and eighths of the logit below and above."""


class Confusion(NamedTuple):
    """How often each label was predicted, and whether that was right, if p ≥ threshold predicts the positive label."""

    threshold: float
    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int

    @property
    def precision(self) -> float:
        """Share of the positive predictions that were right; NaN if there were none."""
        return ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        """Share of the positive labels that were predicted; NaN if there were none."""
        return ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def error(self) -> float:
        """Share of wrong predictions; NaN if there were no rounds."""
        return ratio(self.false_positives + self.false_negatives, sum(self[1:]))


class CalibrationBin(NamedTuple):
    """The rounds whose probability was in one interval: number, mean probability, and share of positive labels."""

    low: float
    high: float
    rounds: int
    mean: float
    positive: float


class Measures:
    """Log loss, Brier score, area under the ROC curve, calibration and confusion of the probabilities of some rounds.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    squares : float
        Σ(p − y)², with y = 1 for the positive label and 0 for the other one.
    loss, product : float
        The log loss is ``loss − ln(product)``: the core takes the logarithm of many rounds at once.
    negatives, positives : array
        Number of rounds of each bin, by label.
    """

    def __init__(
        self, rounds: int, squares: float, loss: float, product: float, negatives: IntArray, positives: IntArray
    ) -> None:
        self.rounds = rounds
        self.squares = squares
        self.parts = loss, product
        self.negatives = negatives
        self.positives = positives

    def __sub__(self, earlier: Measures | None) -> Measures:
        if earlier is None:
            return self
        return Measures(
            self.rounds - earlier.rounds,
            self.squares - earlier.squares,
            self.total_log_loss - earlier.total_log_loss,
            1.0,
            self.negatives - earlier.negatives,
            self.positives - earlier.positives,
        )

    @property
    def total_log_loss(self) -> float:
        """Σ −ln p(y): the sum over all rounds."""
        loss, product = self.parts
        return loss - math.log(product)

    @property
    def log_loss(self) -> float:
        """Mean of −ln p(y) over the rounds; NaN if there were none."""
        return ratio(self.total_log_loss, self.rounds)

    @property
    def brier(self) -> float:
        """Brier score: mean of (p − y)²; NaN if there were no rounds."""
        return ratio(self.squares, self.rounds)

    @property
    def auc(self) -> float:
        """Area under the ROC curve: the share of pairs of rounds, one of each label, with the right order.

        Pairs in the same bin count one half.
        """
        below = np.cumsum(self.negatives) - self.negatives
        pairs = float((self.positives * (below + self.negatives / 2)).sum())
        return ratio(pairs, float(self.positives.sum()) * float(self.negatives.sum()))

    def confusion(self, threshold: float = 0.5) -> Confusion:
        """Return the confusion if p ≥ threshold predicts the positive label. Thresholds are rounded to 0.001."""
        if not 0 <= threshold <= 1:
            message = f"threshold must be between 0 and 1, got {threshold!r}"
            raise ValueError(message)
        thousandths = round(threshold * 1000)
        first = 0 if thousandths == 0 else BINS if thousandths == 1000 else TAIL + thousandths - 1
        right, wrong = int(self.positives[first:].sum()), int(self.negatives[first:].sum())
        positives, negatives = int(self.positives.sum()), int(self.negatives.sum())
        return Confusion(thousandths / 1000, right, wrong, negatives - wrong, positives - right)

    def calibration(self, bins: int = 10) -> list[CalibrationBin]:
        """Return the rounds by intervals of probability of equal width, without empty ones."""
        edges = [round(1000 * k / bins) for k in range(bins + 1)]
        starts = [0, *(TAIL + edge - 1 for edge in edges[1:-1]), BINS]
        centres = bin_centres()
        found = []
        for k in range(bins):
            part = slice(starts[k], starts[k + 1])
            rounds = self.positives[part] + self.negatives[part]
            if (total := int(rounds.sum())) > 0:
                mean = float((rounds * centres[part]).sum()) / total
                share = int(self.positives[part].sum()) / total
                found.append(CalibrationBin(edges[k] / 1000, edges[k + 1] / 1000, total, mean, share))
        return found

    @property
    def calibration_error(self) -> float:
        """Mean distance between the probability and the share of positive labels, over ten intervals of equal width."""
        distance = sum(each.rounds * abs(each.mean - each.positive) for each in self.calibration())
        return ratio(distance, self.rounds)

    def roc(self) -> tuple[FloatArray, FloatArray]:
        """Return false and true positive rates as the threshold falls from 1 to 0."""
        wrong, right = (np.concatenate([[0.0], np.cumsum(each[::-1])]) for each in (self.negatives, self.positives))
        return wrong / max(wrong[-1], 1.0), right / max(right[-1], 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return what reports show: the numbers, the confusion at nine thresholds, and the calibration."""
        thresholds = [self.confusion(k / 10) for k in range(1, 10)]
        return {
            "rounds": self.rounds,
            "log_loss": self.log_loss,
            "brier": self.brier,
            "auc": self.auc,
            "calibration_error": self.calibration_error,
            "confusion": [
                {**each._asdict(), "precision": each.precision, "recall": each.recall} for each in thresholds
            ],
            "calibration": [each._asdict() for each in self.calibration()],
        }

    def __repr__(self) -> str:
        numbers = f"log loss {self.log_loss:.6g}, Brier {self.brier:.6g}, AUC {self.auc:.6g}"
        return f"<Measures of {self.rounds} rounds: {numbers}>"


def ratio(part: float, whole: float) -> float:
    """Return part/whole, and NaN if whole is 0."""
    return part / whole if whole else math.nan


def bin_edges() -> FloatArray:
    """Return the lower edge of each bin, and 1."""
    middle = np.arange(1, 1000) / 1000
    steps = np.arange(1, TAIL) / 8 + math.log(999)
    return np.concatenate([[0.0], logistic(-steps[::-1]), middle, logistic(steps), [1.0]])


def bin_centres() -> FloatArray:
    """Return the middle of each bin."""
    edges = bin_edges()
    return (edges[1:] + edges[:-1]) / 2


def logistic(z: FloatArray) -> FloatArray:
    """Return 1/(1 + e^−z)."""
    return 1 / (1 + np.exp(-z))
