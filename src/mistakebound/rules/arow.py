"""AROW with a diagonal covariance: a weight and its variance per feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound.rules.base import POSITIVE, SMALLEST, Range, Rule, limited, no_update_margin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.rules.base import Round


@dataclass(frozen=True, kw_only=True)
class ArowRule(Rule):
    r"""Predict the sign of w·x. If y(w·x) < 1, add a multiple of Σx to w, and shrink the variances σ of x's features.

    With :math:`v = \sum_i \sigma_i x_i^2`, :math:`\beta = 1/(v + r)` and :math:`\tau = y\beta(1 - y\,w \cdot x)`:
    :math:`w_i \leftarrow w_i + \tau\sigma_i x_i` and :math:`\sigma_i \leftarrow \sigma_i - \beta\sigma_i^2 x_i^2`.
    The new σ is computed as σ(v − σx² + r)/(v + r), which cannot round to 0. In float32, variances are at least 1e-30,
    and the absolute value of a weight is at most 1e30. Crammer, Kulesza & Dredze 2009, "Adaptive regularization of
    weight vectors".

    No mistake bound is implemented, because the paper's proof needs the full covariance matrix Σ. There an update adds
    ((u − w)·x)²/r to (u − w)ᵀΣ⁻¹(u − w), which the score bounds. With a diagonal Σ it may add as much as
    Σ_i (u_i − w_i)²x_i²/r, which the score does not bound.

    See docs/theory.md, "AROW".
    """

    r: float = 1.0
    id: ClassVar[str] = "arow"
    start: ClassVar[tuple[float, ...]] = (0.0, 1.0)
    mixing: ClassVar[tuple[str, ...]] = ("mean of met", "mean of met")
    ranges: ClassVar[dict[str, Range]] = {
        **Rule.ranges,
        "update_margin": no_update_margin("AROW always updates below a margin of 1"),
        "r": POSITIVE,
    }

    @property
    def parameter(self) -> float:
        """Return r."""
        return self.r

    def link(self, z: float, factor: float) -> float:  # noqa: ARG002
        """Return z, which is w."""
        return z

    def gather(self, state: Sequence[float], x: float, now: Round) -> float:  # noqa: ARG002
        """Return σx². The sum of these terms is the variance of the score."""
        return state[1] * x * x

    def step(self, now: Round) -> float:
        """Return τ, or 0 if the margin y(w·x) is at least 1."""
        if now.y * now.score >= 1:
            return 0.0
        return now.y * (1 - now.y * now.score) / (now.gathered + self.r)

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:
        """Return w + τσx and the smaller σ."""
        w, sigma = state
        rest = max(now.gathered - sigma * x * x, 0.0) + self.r
        return limited(w + tau * sigma * x), max(sigma * (rest / (now.gathered + self.r)), SMALLEST)

    def allows(self, state: FloatArray) -> bool:
        """Return whether every variance is above 0 and at most 1."""
        return bool(((state[:, 1] >= SMALLEST) & (state[:, 1] <= 1)).all())

    def weights(self, z: FloatArray) -> FloatArray:
        """Return a copy of the weights."""
        return z.copy()
