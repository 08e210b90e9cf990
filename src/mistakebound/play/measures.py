"""`Measures`: how good the probabilities of a learner were, before it learned each label.

The core counts the rounds in bins of probabilities, by label (``core/play/measures.hpp``), so memory does not grow with
the rounds. Log loss and Brier score do not use the bins. The confusion is exact, because thresholds are multiples of
0.001. AUC and calibration are approximate, because all probabilities in a bin count as equal.
"""

from __future__ import annotations

import math
from array import array
from functools import cache, cached_property
from itertools import accumulate
from operator import index, mul, sub
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import IntArray

    Bins = bytes | IntArray | Sequence[int]

TAIL, MIDDLE = 112, 998
MOST_INTERVALS = 1000
BINS = 2 * TAIL + MIDDLE
"""Number of bins. They have the width 0.001 from 0.001 to 0.999; below and above, the width 1/8 of the logit."""


class Answers(NamedTuple):
    """How many rounds had no prediction, how many had one, and how many of these were mistakes."""

    abstentions: int
    answered: int
    mistakes: int

    @property
    def coverage(self) -> float:
        """The share of rounds with a prediction; NaN if there were no rounds."""
        return ratio(self.answered, self.answered + self.abstentions)

    @property
    def rate(self) -> float:
        """Mistakes per round with a prediction; NaN if there were none."""
        return ratio(self.mistakes, self.answered)


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
    negatives, positives : bytes, array or list
        Number of rounds of each bin, by label. Bytes hold a 64-bit integer for each bin.
    before : Measures, optional
        Measures of earlier rounds, whose bins are subtracted.

    Attributes
    ----------
    threshold : float
        The default threshold of ``confusion``: that of the Panel, if the measures are those of its ledger.
    """

    def __init__(
        self,
        rounds: int,
        squares: float,
        loss: float,
        product: float,
        negatives: Bins,
        positives: Bins,
        before: Measures | None = None,
    ) -> None:
        self.rounds = rounds
        self.squares = squares
        self.parts = loss, product
        self._negatives, self._positives, self._before = negatives, positives, before
        self.threshold = 0.5

    @cached_property
    def negatives(self) -> list[int]:
        """Number of rounds of each bin with the negative label."""
        return counted(self._negatives, None if self._before is None else self._before.negatives)

    @cached_property
    def positives(self) -> list[int]:
        """Number of rounds of each bin with the positive label."""
        return counted(self._positives, None if self._before is None else self._before.positives)

    def __sub__(self, earlier: Measures | None) -> Measures:
        if earlier is None:
            return self
        return Measures(
            self.rounds - earlier.rounds,
            self.squares - earlier.squares,
            self.total_log_loss - earlier.total_log_loss,
            1.0,
            self.negatives if self._before else self._negatives,
            self.positives if self._before else self._positives,
            earlier,
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
        """Area under the ROC curve: of all pairs of rounds, one of each label, the share whose order is right.

        A pair in the same bin counts one half.
        """
        pairs, below = 0.0, 0
        for negatives, positives in zip(self.negatives, self.positives, strict=True):
            pairs += positives * (below + negatives / 2)
            below += negatives
        return ratio(pairs, sum(self.positives) * below)

    def confusion(self, threshold: float | None = None) -> Confusion:
        """Return the confusion if p ≥ threshold predicts the positive label. The threshold is rounded to 0.001.

        By default, it is the threshold of the Panel, and ½ for other learners.
        """
        threshold = self.threshold if threshold is None else threshold
        if not 0 <= threshold <= 1:
            message = f"threshold must be between 0 and 1, got {threshold!r}"
            raise ValueError(message)
        thousandths = round(threshold * 1000)
        first = 0 if thousandths == 0 else BINS if thousandths == 1000 else TAIL + thousandths - 1
        right, wrong = sum(self.positives[first:]), sum(self.negatives[first:])
        positives, negatives = sum(self.positives), sum(self.negatives)
        return Confusion(thousandths / 1000, right, wrong, negatives - wrong, positives - right)

    def answers(self, low: float, high: float, threshold: float = 0.5) -> Answers:
        """Return the counts if no label is predicted for ``low`` ≤ p < ``high``. Numbers are rounded to 0.001.

        The threshold, between both, decides what is predicted for the other rounds.
        """
        below, above, all_rounds = self.confusion(low), self.confusion(high), self.confusion(threshold)
        answered = below.true_negatives + below.false_negatives + above.true_positives + above.false_positives
        mistakes = below.false_negatives + above.false_positives
        return Answers(sum(all_rounds[1:]) - answered, answered, mistakes)

    def calibration(self, bins: int = 10) -> list[CalibrationBin]:
        """Return a `CalibrationBin` for each of ``bins`` equal intervals of probability that has rounds."""
        bins = check_bins(bins)
        edges = [round(1000 * k / bins) for k in range(bins + 1)]
        starts = [0, *(TAIL + edge - 1 for edge in edges[1:-1]), BINS]
        bin_edges = edges_of_bins()
        found = []
        for k in range(bins):
            part = range(starts[k], starts[k + 1])
            rounds = [self.positives[each] + self.negatives[each] for each in part]
            if (total := sum(rounds)) > 0:
                middles = ((bin_edges[each] + bin_edges[each + 1]) / 2 for each in part)
                mean = sum(map(mul, rounds, middles)) / total
                share = sum(self.positives[each] for each in part) / total
                found.append(CalibrationBin(edges[k] / 1000, edges[k + 1] / 1000, total, mean, share))
        return found

    @property
    def calibration_error(self) -> float:
        """Mean distance between the probability and the share of positive labels, over ten intervals of equal width."""
        distance = sum(each.rounds * abs(each.mean - each.positive) for each in self.calibration())
        return ratio(distance, self.rounds)

    def as_confidences(self) -> Measures:
        """Return the measures of the probability of the more likely label, by whether this label was right.

        ``positives`` then are the rounds in which it was right. The core does the same when a panel of two labels gets
        a third one (``turn_into_confidences`` in ``core/play/measures.hpp``).
        """
        negatives, positives, half = self.negatives, self.positives, BINS // 2
        low = range(half - 1, -1, -1)  # bin k and the bin BINS − 1 − k have the same probability of the likelier label
        right = [0] * half + [positives[half + k] + negatives[each] for k, each in enumerate(low)]
        wrong = [0] * half + [negatives[half + k] + positives[each] for k, each in enumerate(low)]
        return Measures(self.rounds, self.squares, *self.parts, wrong, right)

    def roc(self) -> tuple[list[float], list[float]]:
        """Return false and true positive rates as the threshold falls from 1 to 0."""
        wrong, right = ([0, *accumulate(reversed(each))] for each in (self.negatives, self.positives))
        return [each / max(wrong[-1], 1) for each in wrong], [each / max(right[-1], 1) for each in right]

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


def check_bins(bins: Any) -> int:
    """Return the number of intervals; raise ValueError if it is not a whole number from 1 to 1000."""
    whole = isinstance(bins, SupportsIndex) and not isinstance(bins, bool)
    if not whole or not 1 <= index(bins) <= MOST_INTERVALS:
        message = f"bins must be a whole number from 1 to {MOST_INTERVALS}, got {bins!r}"
        raise ValueError(message)
    return index(bins)


def ratio(part: float, whole: float) -> float:
    """Return part/whole, and NaN if whole is 0."""
    return part / whole if whole else math.nan


def counted(bins: Bins, before: list[int] | None) -> list[int]:
    """Return the numbers of the bins, without those of earlier rounds."""
    numbers: list[int] = array("q", bins).tolist() if isinstance(bins, bytes) else list(map(int, bins))
    return numbers if before is None else list(map(sub, numbers, before))


@cache
def edges_of_bins() -> tuple[float, ...]:
    """Return the lower edge of each bin, and 1."""
    low, high = ([1 / (1 + math.exp(sign * (math.log(999) + k / 8))) for k in range(1, TAIL)] for sign in (1, -1))
    return (0.0, *reversed(low), *(k / 1000 for k in range(1, 1000)), *high, 1.0)
