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

    η = ∞ is its limit: w is uniform over the features whose z is largest, which is halving that eliminates only when
    the master errs. ``factor`` is the shift of the exponent (at η = ∞: the largest z).

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
        """e^{ηz − shift}."""
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
        """Return z: the largest weight is that of the largest z, with its sign."""
        return z

    def factor_for(self, top: float) -> float:
        """Return the shift that makes the largest weight 1."""
        return top if math.isinf(self.eta) else self.eta * top

    def weights(self, z: FloatArray) -> FloatArray:
        """Return the distribution: non-negative, sums to 1."""
        if not len(z):
            return z
        w = leaders(z) if math.isinf(self.eta) else np.exp(self.eta * (z - z.max()))
        return np.asarray(w / w.sum())


def leaders(z: FloatArray) -> FloatArray:
    """1 where z is largest, otherwise 0."""
    return np.asarray(z == z.max(), np.float64)


def exp(x: float) -> float:
    """e^x, infinite where it overflows, as in C."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf
