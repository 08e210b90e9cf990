"""Weights that are polynomial in the regret."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.aggregation.base import Rule

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray


class MLPoly(Rule):
    """``w ∝ η_k (R_k)₊``, ``1/η_k = B² + V_k``, ``V_k = Σ r_k²``, B the largest |r| of any expert so far.

    No rate to tune, and no unit: losses times a thousand give the same weights (Gaillard, Stoltz and van Erven 2014).
    ``R_k ≤ √(φ/η_k)``, for ``Φ = Σ_j η_j (R_j)₊²`` is at most φ, which a round adds ``Σ_j η_{j,t−1} r²_{t,j}`` to, or
    takes from √φ to ``√φ + √(Σ_j η_{j,t} (r_{t,j})₊²)``, whichever is less: the second, by the triangle inequality, is
    for rounds that change the range of all before, the first round among them.

    See docs/theory.md, "ML-Poly".
    """

    id: ClassVar[str] = "ml-poly"
    own: ClassVar[tuple[str, ...]] = ("V",)
    V: FloatArray
    relative: FloatArray
    """The prior, in units of the largest."""

    def __init__(self, prior: FloatArray) -> None:
        self.largest = self.potential = 0.0
        super().__init__(prior)

    def join(self, prior: FloatArray) -> None:
        """The potential is in units of the largest prior, which may be a newcomer's."""
        old = self.n
        super().join(prior)
        self.relative = np.exp(self.log_prior - self.log_prior.max())
        if old:
            self.potential *= float(np.exp(self.log_prior[:old].max() - self.log_prior.max()))

    def weights(self) -> FloatArray:
        """The prior while nobody is ahead of us. With a prior, ``π_k`` is a factor."""
        gained = np.maximum(self.R, 0.0)
        if gained.max() <= 0:
            return np.exp(self.log_prior)
        w = self.relative * gained / (self.largest**2 + self.V)
        return np.asarray(w / w.max())

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """``R += r``, ``V += r²``."""
        squares = r**2
        by_squares = self.potential + self._term(squares) if self.largest > 0 else math.inf
        self.largest = max(self.largest, float(np.abs(r).max()))
        self.R += r
        self.V += squares
        if self.largest > 0:
            by_triangle = (math.sqrt(self.potential) + math.sqrt(self._term(np.where(r > 0, squares, 0.0)))) ** 2
            self.potential = min(by_squares, by_triangle)

    def _term(self, squares: FloatArray) -> float:
        """``Σ_j π_j η_j ·``, in units of the largest prior."""
        return float(self.relative @ (squares / (self.largest**2 + self.V)))

    def bound(self) -> FloatArray:
        """``√(φ/η_k)``, divided by √π_k."""
        return np.asarray(np.sqrt(self.potential * (self.largest**2 + self.V) / self.relative))
