"""The p-norm Perceptron: between Perceptron (p = 2) and Winnow (p ≈ 2 ln n)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.rules.base import Range, Rule

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class PNormRule(Rule):
    r"""Predict the sign of :math:`\sum_i \operatorname{sign}(z_i)|z_i|^{p-1} x_i / \|z\|_p^{p-2}`, p ≥ 2.

    z is divided by ``factor`` before the power is computed. Grove, Littlestone and Schuurmans 2001; Gentile 2003.

    See docs/theory.md, "The p-norm Perceptron".
    """

    p: float = 4.0
    id: ClassVar[str] = "pnorm"
    normalised: ClassVar[bool] = True
    first_factor: ClassVar[float] = 1.0
    ranges: ClassVar[dict[str, Range]] = {
        **Rule.ranges,
        "p": Range(lambda p: 2 <= p < math.inf, "at least 2", other="best"),
    }

    @property
    def parameter(self) -> float:
        """Return p."""
        return self.p

    def link(self, z: float, factor: float) -> float:
        """Return sign(z)·(|z|/factor)^{p−1}."""
        w = power(abs(z) / factor, self.p - 1)
        return -w if z < 0 else w

    def mass(self, w: float, z: float, factor: float) -> float:
        """Return (|z|/factor)^p."""
        return abs(w) * (abs(z) / factor)

    def normaliser(self, total: float, factor: float) -> float:
        """Return ‖z‖_p^{p−2}, in the same scale as the weights."""
        return power(total, (self.p - 2) / self.p) / factor

    def factor_for(self, top: float) -> float:
        """Return the largest absolute value of z, or 1 if every z is 0."""
        return top if top > 0 else 1.0

    def weights(self, z: FloatArray) -> FloatArray:
        """Return ∇ ½‖z‖_p² = sign(z)|z|^{p−1} / ‖z‖_p^{p−2}. Its q-norm is ‖z‖_p."""
        top = float(np.abs(z).max(initial=0.0))
        if top == 0:
            return np.zeros_like(z)
        scaled = np.abs(z) / top
        norm = float(np.sum(scaled**self.p)) ** ((self.p - 2) / self.p)
        return np.asarray(top * np.sign(z) * scaled ** (self.p - 1) / norm)


def power(base: float, exponent: float) -> float:
    """Return base**exponent, or infinity if it overflows, as in C."""
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf
