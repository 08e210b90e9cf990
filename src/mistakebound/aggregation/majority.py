"""Weighted Majority in plain Python: the specification of ``core/experts/majority.hpp``, with the same methods."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, FloatArray


TIE = 2.0**-40
"""Two sides are equal if their weights differ by at most this part of their sum.

A mistake then has ``W⁺ ≤ W(1+β)/2·(1 + TIE)``: relative to the bound, 1e-12 more, far below what is allowed for
rounding.
"""


class Majority:
    """Expert k weighs ``β^(losses)``; the one with the least losses weighs 1.

    Sums are by levels: experts with equal losses are counted, and the counts are weighed by Horner's rule, the largest
    losses first. So the order of the experts does not matter, and equal sides are equal to the last bit.

    See docs/theory.md, "Weighted Majority".
    """

    def __init__(self, beta: float) -> None:
        self.beta = beta
        self.loss = np.zeros(0)

    def join(self, losses: FloatArray) -> None:
        """Newcomers, with what each of them has lost so far."""
        self.loss = np.concatenate([self.loss, losses])

    def losses(self) -> FloatArray:
        """Of each expert."""
        return self.loss.copy()

    def power(self, behind: float) -> float:
        """What an expert weighs beside one who has lost so much less: ``β^behind``."""
        return math.pow(self.beta, behind)

    def weights(self) -> FloatArray:
        """``β^(losses less the least)``."""
        least = self.loss.min(initial=np.inf)
        return np.array([self.power(behind) for behind in (self.loss - least).tolist()])

    def total(self) -> float:
        """All weight."""
        return float(self.weights().sum())

    def shares(self, codes: AnyArray, kinds: int) -> FloatArray:
        """Weight behind each outcome, beside the best expert awake; code −1 is asleep."""
        least = float(self.loss[codes >= 0].min(initial=np.inf))
        return np.array([self._by_levels(self.loss[codes == code], least) for code in range(kinds)])

    def _by_levels(self, losses: FloatArray, least: float) -> float:
        levels, counts = np.unique(losses, return_counts=True)
        total = 0.0
        for level, count, above in zip(levels[::-1], counts[::-1], [*levels[-2::-1], least], strict=False):
            total = (total + float(count)) * self.power(float(level - above))
        return total

    def lean(self, said: AnyArray) -> float:
        """Weight behind 1 less that behind 0; 0 for a tie."""
        against, behind = self.shares(said, 2)
        return 0.0 if abs(behind - against) <= TIE * (behind + against) else float(behind - against)

    def learn(self, codes: AnyArray, right: int, wrong: float) -> None:
        """A wrong expert loses 1, a sleeper the share of the awake weight that is wrong."""
        self.loss = self.loss + np.where(codes < 0, wrong, codes != right)

    def run(self, said: AnyArray, outcome: AnyArray) -> tuple[FloatArray, FloatArray]:
        """For each round the weight behind its outcome less that against it, and all weight."""
        lean, total = np.zeros(len(outcome)), np.zeros(len(outcome))
        for t, (row, told) in enumerate(zip(said, outcome, strict=True)):
            towards_1 = self.lean(row.astype(np.int32))
            lean[t], total[t] = (towards_1 if told == 1 else -towards_1), self.total()
            self.learn(row.astype(np.int32), int(told), 0.0)
        return lean, total
