"""Balanced Winnow: weights sinh(ηz), the difference of the two halves of a doubled vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.rules.base import RATE, Range, Rule
from mistakebound.rules.hyperbolic import LARGEST, sinh
from mistakebound.rules.normalized_winnow import exp, leaders

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class BalancedWinnowRule(Rule):
    r"""Predict the sign of :math:`\sum_i (w_i^+ - w_i^-) x_i`, :math:`w_i^\pm \propto e^{\pm\eta z_i}`.

    This is normalised Winnow on (x, −x), hence weights may have either sign. w⁺ and w⁻ together sum to 1. ``factor`` is
    subtracted from the exponent. At η = ∞ it is the largest \|z\|, and only the features with that \|z\| have weight.

    See docs/theory.md, "Balanced Winnow".
    """

    eta: float = 0.1
    id: ClassVar[str] = "balanced-winnow"
    normalised: ClassVar[bool] = True
    ranges: ClassVar[dict[str, Range]] = {**Rule.ranges, "eta": RATE}

    @property
    def parameter(self) -> float:
        """η."""
        return self.eta

    def link(self, z: float, factor: float) -> float:
        """Return sinh(ηz)·e^{−factor}."""
        size = abs(z)
        if math.isinf(self.eta):
            w = 0.0 if z == 0 or size < factor else 1.0 if size == factor else math.inf
        elif self.eta * size <= LARGEST and factor <= LARGEST:
            w = sinh(self.eta * size) * exp(-factor)
        else:
            w = (exp(self.eta * size - factor) - exp(-self.eta * size - factor)) / 2
        return -w if z < 0 else w

    def mass(self, w: float, z: float, factor: float) -> float:
        """Return cosh(ηz)·e^{−factor}, computed from cosh² = 1 + sinh²."""
        if math.isinf(self.eta):
            return 0.0 if abs(z) < factor else 1.0 if abs(z) == factor else math.inf
        floor = exp(-factor)
        return math.sqrt(floor * floor + w * w)

    def normaliser(self, total: float, factor: float) -> float:  # noqa: ARG002
        """Return the sum of the masses: Σ (w⁺ + w⁻)/2 before normalisation."""
        return total

    def factor_for(self, top: float) -> float:
        """Return the factor that makes the largest weight about 1."""
        return top if math.isinf(self.eta) else self.eta * top

    def weights(self, z: FloatArray) -> FloatArray:
        """Return w⁺ − w⁻, where w⁺ and w⁻ together sum to 1."""
        if not len(z):
            return z
        if math.isinf(self.eta):
            share = leaders(np.abs(z))
            return np.asarray(np.sign(z) * share / share.sum())
        top = np.abs(z).max()  # subtract it before multiplying by η, which could overflow
        plus, minus = np.exp(self.eta * (z - top)), np.exp(self.eta * (-z - top))
        return np.asarray((plus - minus) / (plus + minus).sum())
