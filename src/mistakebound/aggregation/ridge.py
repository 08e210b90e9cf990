"""Online ridge regression on the experts' forecasts: weights of either sign, for the square loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mistakebound.aggregation.reference import Served, regrets
from mistakebound.losses import Square

if TYPE_CHECKING:
    from mistakebound._support.arrays import BoolArray, FloatArray


class Ridge:
    """Ridge regression: ``w = argmin Σ (y − w·x)² + λ‖w − π‖²``.

    The forecast of an expert that is asleep is replaced by the mean of the awake ones. The rule satisfies an identity
    (Azoury and Warmuth 2001): ``Σ (y − ŷ)²/(1 + x·A⁻¹x) = min_u Σ (y − u·x)² + λ‖u − π‖²``, where A is the matrix
    before each round.

    See docs/theory.md, "Ridge regression".
    """

    def __init__(self, prior: FloatArray, penalty: float) -> None:
        self.penalty = penalty
        self.w = prior.copy()
        self.inverse = np.eye(len(prior)) / penalty
        self.loss = Square()

    def join(self, prior: FloatArray) -> None:
        """Add experts. The weight of each is its prior, and its part of the matrix is as at the start."""
        old, new = len(self.w), len(prior)
        self.w = np.concatenate([self.w, prior[old:]])
        inverse = np.eye(new) / self.penalty
        inverse[:old, :old] = self.inverse
        self.inverse = inverse

    def bound(self) -> None:
        """Return None, because the theorem of ridge is an identity, not a bound on the regret."""
        return

    def serve(self, x: FloatArray, awake: BoolArray) -> Served:
        """Forecast ``w·x``."""
        full = np.where(awake, x, x[awake].mean())
        return Served(full, awake, self.w.copy(), np.asarray(self.w @ full))

    def learn(self, served: Served, outcome: FloatArray) -> tuple[FloatArray, float]:
        """Do a step of recursive least squares from the current weights, also if the outcome is delayed."""
        r, h = regrets(self.loss, served, outcome, gradient=False)
        x = served.x
        gain = self.inverse @ x
        size = 1 + x @ gain
        self.w = self.w + gain * ((outcome - self.w @ x) / size)
        self.inverse -= np.outer(gain, gain) / size
        return r, h
