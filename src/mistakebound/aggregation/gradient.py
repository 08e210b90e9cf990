"""Projected gradient descent on the simplex."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.aggregation.base import Rule

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray


class OGD(Rule):
    """``w ← Proj(w − η_t ℓ)``, ``η_t = 1/(G√t)``, G the longest ℓ so far; asleep, ``ℓ_k`` is the learner's loss.

    ``R_u ≤ 1/η_T + Σ η_t‖ℓ_t‖²/2`` against any mix u, for the simplex has diameter √2 (Zinkevich 2003). The projection
    ignores what all losses have in common, but their length does not.

    See docs/theory.md, "Projected gradient descent".
    """

    id: ClassVar[str] = "ogd"

    def __init__(self, prior: FloatArray) -> None:
        self.longest = self.cost = 0.0
        self.moved = -1
        self.eta = math.inf
        self.w = np.zeros(0)
        super().__init__(prior)

    def join(self, prior: FloatArray) -> None:
        """Newcomers get their part of the prior; that moves the weights, at most across the simplex."""
        self.moved += 1
        old = self.n
        self.w = np.concatenate([self.w * prior[:old].sum(), prior[old:]])
        super().join(prior)

    def weights(self) -> FloatArray:
        """Sum to 1."""
        return self.w

    def learn(self, r: FloatArray, h: float) -> None:
        """One step, then the projection."""
        self.R += r
        losses = h - r
        length = float(np.sqrt(losses @ losses))
        self.longest = max(self.longest, length)
        if self.longest == 0:
            return
        self.eta = 1 / (self.longest * math.sqrt(self.rounds + 1))
        self.cost += self.eta * length**2 / 2
        self.w = onto_simplex(self.w - self.eta * losses)

    def bound(self) -> FloatArray:
        """``1/η_T + Σ η_t‖ℓ_t‖²/2``, the same for every k; and 1/η_T for each time that experts joined."""
        return np.full(self.n, (1 + self.moved) / self.eta + self.cost)


def onto_simplex(v: FloatArray) -> FloatArray:
    """The nearest point whose coordinates are not negative and sum to 1."""
    falling = np.sort(v)[::-1]
    shift = (np.cumsum(falling) - 1) / np.arange(1, len(v) + 1)
    last = np.flatnonzero(falling > shift)[-1]
    return np.asarray(np.maximum(v - shift[last], 0.0))
