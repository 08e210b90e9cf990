"""Normalised Winnow: a distribution over features, proportional to e^{ηz}."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.rules.base import RATE, Range, Rule

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class NormalizedWinnowRule(Rule):
    r"""Predict the sign of :math:`w \cdot x`, :math:`w_i = e^{\eta z_i} / \sum_j e^{\eta z_j}`.

    η = ∞ means the limit of large η: w is uniform over the features with the largest z. This is Halving that removes
    experts only after a mistake of the learner. ``factor`` is subtracted from the exponent (at η = ∞ it is the
    largest z).

    See docs/theory.md, "Normalised Winnow".
    """

    eta: float = 0.1
    id: ClassVar[str] = "normalized-winnow"
    normalised: ClassVar[bool] = True
    ranges: ClassVar[dict[str, Range]] = {**Rule.ranges, "eta": RATE}

    @property
    def parameter(self) -> float:
        """η."""
        return self.eta

    def link(self, z: float, factor: float) -> float:
        """Return e^{ηz − factor}."""
        if math.isinf(self.eta):
            return 0.0 if z < factor else 1.0 if z == factor else math.inf
        return exp(self.eta * z - factor)

    def mass(self, w: float, z: float, factor: float) -> float:  # noqa: ARG002
        """Return the weight itself."""
        return w

    def normaliser(self, total: float, factor: float) -> float:  # noqa: ARG002
        """Return the sum of the weights."""
        return total

    def size(self, z: float) -> float:
        """Return z, because the largest z has the largest weight."""
        return z

    def factor_for(self, top: float) -> float:
        """Return the factor that makes the largest weight 1."""
        return top if math.isinf(self.eta) else self.eta * top

    def weights(self, z: FloatArray) -> FloatArray:
        """Return the weights as a distribution: they are non-negative and sum to 1."""
        if not len(z):
            return z
        w = leaders(z) if math.isinf(self.eta) else np.exp(self.eta * (z - z.max()))
        return np.asarray(w / w.sum())


def leaders(z: FloatArray) -> FloatArray:
    """Return 1 where z is largest, otherwise 0."""
    return np.asarray(z == z.max(), np.float64)


def exp(x: float) -> float:
    """Return e^x, or infinity if it overflows, as in C."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf
