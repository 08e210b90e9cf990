"""Weighted Majority in plain Python: the specification of ``core/experts/majority.hpp``, which has the same methods."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, FloatArray


TIE = 2.0**-40
"""Two sides count as equal if their weights differ by at most this part of their sum.

After a mistake the total weight is then at most ``W(1+β)/2·(1 + TIE)``. This raises the bound by a factor of 1 + 1e-12,
which is far below the tolerance for rounding errors.
"""


def heaviest(shares: FloatArray) -> int:
    """Return the place of the largest weight; of equal ones the last.

    >>> heaviest(np.array([1.0, 2.0, 2.0, 1.0]))
    2
    """
    return int(np.flatnonzero(shares >= shares.max() - TIE * shares.sum())[-1])


class Majority:
    """Expert k has the weight ``β^(loss_k − least loss)``.

    Weights are summed by levels: experts with equal losses are counted, and Horner's rule adds the weighted counts, the
    largest losses first. Hence the sum does not depend on the order of the experts, and equal sides have equal bits.

    See docs/theory.md, "Weighted Majority".
    """

    def __init__(self, beta: float) -> None:
        self.beta = beta
        self.loss = np.zeros(0)

    def join(self, losses: FloatArray) -> None:
        """Add experts at the end, with their losses so far."""
        self.loss = np.concatenate([self.loss, losses])

    def losses(self) -> FloatArray:
        """Return the total loss of each expert."""
        return self.loss.copy()

    def power(self, difference: float) -> float:
        """Return ``β^difference``: the ratio of the weights of two experts whose losses differ by ``difference``."""
        return math.pow(self.beta, difference)

    def weights(self) -> FloatArray:
        """Return ``β^(loss − least loss)`` for each expert."""
        least = self.loss.min(initial=np.inf)
        return np.array([self.power(difference) for difference in (self.loss - least).tolist()])

    def total(self) -> float:
        """Return the sum of the weights."""
        return float(self.weights().sum())

    def shares(self, codes: AnyArray, kinds: int) -> FloatArray:
        """Return the weight of the votes for each outcome, relative to the best awake expert.

        ``codes`` has the vote of each expert: the number of an outcome, or −1 if the expert is asleep.
        """
        least = float(self.loss[codes >= 0].min(initial=np.inf))
        return np.array([self._by_levels(self.loss[codes == code], least) for code in range(kinds)])

    def _by_levels(self, losses: FloatArray, least: float) -> float:
        levels, counts = np.unique(losses, return_counts=True)
        total = 0.0
        for level, count, above in zip(levels[::-1], counts[::-1], [*levels[-2::-1], least], strict=False):
            total = (total + float(count)) * self.power(float(level - above))
        return total

    def lean(self, votes: AnyArray) -> float:
        """Return the weight of the votes for 1 minus the weight of those for 0, and 0 for a tie."""
        weight_0, weight_1 = self.shares(votes, 2)
        return 0.0 if abs(weight_1 - weight_0) <= TIE * (weight_1 + weight_0) else float(weight_1 - weight_0)

    def learn(self, codes: AnyArray, right: int, wrong: float) -> None:
        """Add 1 to the loss of each wrong expert, and ``wrong`` to that of each expert that is asleep.

        ``wrong`` is the wrong share of the awake weight.
        """
        self.loss = self.loss + np.where(codes < 0, wrong, codes != right)

    def run(self, votes: AnyArray, outcomes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Play rounds. Return for each the weight for its outcome minus the weight against it, and the total weight."""
        lean, total = np.zeros(len(outcomes)), np.zeros(len(outcomes))
        for t, (row, outcome) in enumerate(zip(votes, outcomes, strict=True)):
            towards_1 = self.lean(row.astype(np.int32))
            lean[t], total[t] = (towards_1 if outcome == 1 else -towards_1), self.total()
            self.learn(row.astype(np.int32), int(outcome), 0.0)
        return lean, total
