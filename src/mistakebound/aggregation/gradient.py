"""Projected gradient descent on the simplex."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.aggregation.base import Rule

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray


class OGD(Rule):
    """Online gradient descent: ``w ← Proj(w − η_t ℓ)`` with ``η_t = 1/(G√t)``, where G is the largest ‖ℓ‖ so far.

    For an expert that is asleep, ``ℓ_k`` is the learner's loss. The regret to any mix u of the experts is at most
    ``1/η_T + Σ η_t‖ℓ_t‖²/2``, because the simplex has the diameter √2 (Zinkevich 2003). A constant that is added to all
    losses of a round does not change the projection, but it changes ‖ℓ‖ and therefore the rate.

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
        """Add experts, each with its prior as its weight. ``moved`` counts these changes for the bound."""
        self.moved += 1
        old = self.n
        self.w = np.concatenate([self.w * prior[:old].sum(), prior[old:]])
        super().join(prior)

    def weights(self) -> FloatArray:
        """Return the weights. They sum to 1."""
        return self.w

    def learn(self, r: FloatArray, h: float) -> None:
        """Do a gradient step, then project onto the simplex."""
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
        """Return ``1/η_T + Σ η_t‖ℓ_t‖²/2`` for every k, plus ``1/η_T`` for each time that experts joined."""
        return np.full(self.n, (1 + self.moved) / self.eta + self.cost)


def onto_simplex(v: FloatArray) -> FloatArray:
    """Return the point nearest to v with non-negative coordinates that sum to 1."""
    descending = np.sort(v)[::-1]
    shift = (np.cumsum(descending) - 1) / np.arange(1, len(v) + 1)
    last = np.flatnonzero(descending > shift)[-1]
    return np.asarray(np.maximum(v - shift[last], 0.0))
