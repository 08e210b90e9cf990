"""Weights that are polynomial in the regret."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound.aggregation.base import Rule

if TYPE_CHECKING:
    from mistakebound.arrays import FloatArray


class MLPoly(Rule):
    """``w ∝ η_k (R_k)₊``, ``1/η_k = B² + V_k``, ``V_k = Σ r_k²``, B the largest |r| of any expert so far.

    No rate to tune, and no unit: losses times a thousand give the same weights (Gaillard, Stoltz and van Erven 2014).
    ``R_k ≤ √(φ/η_k)``, ``φ = Σ_t Σ_j η_{j,t−1} r²_{t,j}``; in the first round with any regret, where weights do not
    depend on the rates, φ is ``Σ_j η_j (r_j)₊²``.
    """

    id: ClassVar[str] = "ml-poly"
    own: ClassVar[tuple[str, ...]] = ("V",)
    V: FloatArray

    def __init__(self, prior: FloatArray) -> None:
        self.largest = self.potential = 0.0
        super().__init__(prior)

    def join(self, prior: FloatArray) -> None:
        """The potential is in units of the largest prior, which may be a newcomer's."""
        old = self.n
        super().join(prior)
        if old:
            self.potential *= float(np.exp(self.log_prior[:old].max() - self.log_prior.max()))

    def weights(self) -> FloatArray:
        """The prior while nobody is ahead of us. With a prior, ``π_k`` is a factor."""
        gained = np.maximum(self.R, 0.0)
        if gained.max() <= 0:
            return np.exp(self.log_prior)
        w = np.exp(self.log_prior - self.log_prior.max()) * gained / (self.largest**2 + self.V)
        return np.asarray(w / w.max())

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """``R += r``, ``V += r²``."""
        first = self.largest == 0
        if not first:
            self.potential += self._term(r**2)
        self.largest = max(self.largest, float(np.abs(r).max()))
        self.R += r
        self.V += r**2
        if first and self.largest > 0:
            self.potential = self._term(np.maximum(r, 0.0) ** 2)

    def _term(self, squares: FloatArray) -> float:
        """``Σ_j π_j η_j ·``, in units of the largest prior."""
        return float(np.exp(self.log_prior - self.log_prior.max()) @ (squares / (self.largest**2 + self.V)))

    def bound(self) -> FloatArray:
        """``√(φ/η_k)``, divided by √π_k."""
        relative = np.exp(self.log_prior - self.log_prior.max())
        return np.asarray(np.sqrt(self.potential * (self.largest**2 + self.V) / relative))
