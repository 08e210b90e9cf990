"""Logistic regression by stochastic gradient descent, by FTRL-Proximal and by exponentiated gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.rules.base import LARGEST_SUM, POSITIVE, limited
from mistakebound.rules.hyperbolic import sinh
from mistakebound.rules.logistic import LogisticRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.rules.base import Range, Round

LARGEST_EXPONENT = 20.0


@dataclass(frozen=True, kw_only=True)
class LogisticSgdRule(LogisticRule):
    """Gradient steps of a fixed rate: w ← w + rate·yσ(−y·score)·x.

    See docs/theory.md, "Logistic regression by gradient descent".
    """

    rate: float = 0.03
    id: ClassVar[str] = "logistic-sgd"
    ranges: ClassVar[dict[str, Range]] = {**LogisticRule.ranges, "rate": POSITIVE}

    @property
    def parameter(self) -> float:
        """The learning rate."""
        return self.rate

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:  # noqa: ARG002
        """Add a multiple of the gradient."""
        return (limited(state[0] + self.rate * tau * x),)


@dataclass(frozen=True, kw_only=True)
class FtrlProximalRule(LogisticRule):
    r"""FTRL-Proximal without regularisation: w ← w + αγ/(β + √N) with N the sum of γ², this round's included.

    Without L1 and L2 this is the rule of McMahan et al. 2013, "Ad click prediction: a view from the trenches": their
    z obeys z = −w(β + √N)/α, and adding γ and (√N' − √N)w/α to it is the step above. Here β = 0.3.

    See docs/theory.md, "FTRL-Proximal".
    """

    alpha: float = 0.3
    id: ClassVar[str] = "ftrl-proximal"
    start: ClassVar[tuple[float, ...]] = (0.0, 0.0)
    mixing: ClassVar[tuple[str, ...]] = ("mean of met", "mean of met")
    beta: ClassVar[float] = 0.3
    ranges: ClassVar[dict[str, Range]] = {**LogisticRule.ranges, "alpha": POSITIVE}

    @property
    def parameter(self) -> float:
        """Return α."""
        return self.alpha

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:  # noqa: ARG002
        """Add the squared gradient, then step."""
        w, total = state
        gradient = tau * x
        total += gradient * gradient
        return limited(w + self.alpha * gradient / (self.beta + math.sqrt(total))), min(total, LARGEST_SUM)

    def allows(self, state: FloatArray) -> bool:
        """Whether no sum of squares is negative."""
        return bool((state[:, 1] >= 0).all())


@dataclass(frozen=True, kw_only=True)
class ExponentiatedGradientRule(LogisticRule):
    r"""EG± on logistic loss: w = U·sinh(z), z ← z + ηyσ(−y·score)x, the difference of two positive weights.

    Kivinen & Warmuth 1997, "Exponentiated gradient versus gradient descent for linear predictors", unnormalised. z is
    kept between −20 and 20. Here U = ½.

    See docs/theory.md, "Exponentiated gradients".
    """

    eta: float = 0.5
    id: ClassVar[str] = "exponentiated-gradient"
    scale: ClassVar[float] = 0.5
    """U."""
    ranges: ClassVar[dict[str, Range]] = {**LogisticRule.ranges, "eta": POSITIVE}

    @property
    def parameter(self) -> float:
        """Return η."""
        return self.eta

    def link(self, z: float, factor: float) -> float:  # noqa: ARG002
        """U·sinh(z)."""
        w = self.scale * sinh(abs(z))
        return -w if z < 0 else w

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:  # noqa: ARG002
        """Add η times the gradient."""
        return (limited(state[0] + self.eta * tau * x, LARGEST_EXPONENT),)

    def allows(self, state: FloatArray) -> bool:
        """Whether every z lies between −20 and 20."""
        return bool((abs(state) <= LARGEST_EXPONENT).all())

    def weights(self, z: FloatArray) -> FloatArray:
        """U·sinh(z)."""
        return np.asarray(self.scale * np.sinh(z))
