"""Weighted Majority in plain Python: the specification of ``core/experts/majority.hpp``, with the same methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mistakebound.arrays import AnyArray, FloatArray


class Majority:
    """Expert k weighs ``β^(losses)``; the one with the least losses weighs 1."""

    def __init__(self, beta: float) -> None:
        self.beta = beta
        self.loss = np.zeros(0)

    def join(self, count: int, loss: float) -> None:
        """Newcomers, who have lost so much."""
        self.loss = np.concatenate([self.loss, np.full(count, loss)])

    def losses(self) -> FloatArray:
        """Of each expert."""
        return self.loss.copy()

    def weights(self) -> FloatArray:
        """``β^(losses less the least)``."""
        return np.asarray(np.power(float(self.beta), self.loss - self.loss.min(initial=np.inf)))

    def total(self) -> float:
        """All weight."""
        return float(self.weights().sum())

    def shares(self, codes: AnyArray, kinds: int) -> FloatArray:
        """Weight behind each outcome; code −1 is asleep."""
        return np.array([self.weights()[codes == code].sum() for code in range(kinds)])

    def lean(self, said: AnyArray) -> float:
        """Weight behind 1 less that behind 0."""
        w = self.weights()
        return float(w[said == 1].sum() - w[said == 0].sum())

    def learn(self, codes: AnyArray, right: int, wrong: float) -> None:
        """A wrong expert loses 1, a sleeper the share of the awake weight that is wrong."""
        self.loss = self.loss + np.where(codes < 0, wrong, codes != right)

    def run(self, said: AnyArray, outcome: AnyArray) -> tuple[FloatArray, FloatArray]:
        """For each round the weight behind its outcome less that against it, and all weight."""
        lean, total = np.zeros(len(outcome)), np.zeros(len(outcome))
        for t, (row, told) in enumerate(zip(said, outcome, strict=True)):
            towards_1 = self.lean(row)
            lean[t], total[t] = (towards_1 if told == 1 else -towards_1), self.total()
            self.learn(row.astype(np.int32), int(told), 0.0)
        return lean, total
