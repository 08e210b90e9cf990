"""ML-Poly: weights polynomial in the regret."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.aggregation.base import Rule

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray


class MLPoly(Rule):
    """ML-Poly: ``w ∝ η_k (R_k)₊`` with ``1/η_k = B² + V_k``, where B is the largest |r| of any expert so far.

    There is no rate to tune. Multiplying all losses by a constant does not change the weights (Gaillard, Stoltz and van
    Erven 2014).

    The bound is ``R_k ≤ √(φ/η_k)``, where φ is an upper bound of the potential ``Φ = Σ_j η_j (R_j)₊²``. A round changes
    φ to the smaller of two values. The first is ``φ + Σ_j η_{j,t−1} r²_{t,j}``. The second follows from the triangle
    inequality: ``(√φ + √(Σ_j η_{j,t} (r_{t,j})₊²))²``. It is smaller in rounds that increase B, such as the first.

    See docs/theory.md, "ML-Poly".
    """

    id: ClassVar[str] = "ml-poly"
    per_expert: ClassVar[tuple[str, ...]] = ("V",)
    V: FloatArray
    relative: FloatArray
    """The prior divided by its largest value."""

    def __init__(self, prior: FloatArray) -> None:
        self.largest = self.potential = 0.0
        super().__init__(prior)

    def join(self, prior: FloatArray) -> None:
        """Add experts. φ is relative to the largest prior, which may change."""
        old = self.n
        super().join(prior)
        self.relative = np.exp(self.log_prior - self.log_prior.max())
        if old:
            self.potential *= float(np.exp(self.log_prior[:old].max() - self.log_prior.max()))

    def weights(self) -> FloatArray:
        """Return ``π_k η_k (R_k)₊``, or the prior if no regret is positive."""
        gained = np.maximum(self.R, 0.0)
        if gained.max() <= 0:
            return np.exp(self.log_prior)
        w = self.relative * gained / (self.largest**2 + self.V)
        return np.asarray(w / w.max())

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """Add r to R and r² to V, and update φ."""
        squares = r**2
        by_squares = self.potential + self._term(squares) if self.largest > 0 else math.inf
        self.largest = max(self.largest, float(np.abs(r).max()))
        self.R += r
        self.V += squares
        if self.largest > 0:
            by_triangle = (math.sqrt(self.potential) + math.sqrt(self._term(np.where(r > 0, squares, 0.0)))) ** 2
            self.potential = min(by_squares, by_triangle)

    def _term(self, squares: FloatArray) -> float:
        """Return ``Σ_j π_j η_j squares_j``, relative to the largest prior."""
        return float(self.relative @ (squares / (self.largest**2 + self.V)))

    def bound(self) -> FloatArray:
        """Return ``√(φ/η_k)`` divided by ``√π_k``."""
        return np.asarray(np.sqrt(self.potential * (self.largest**2 + self.V) / self.relative))
