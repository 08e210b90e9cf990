"""e^x, ln x and the logistic function with the same bits on every machine; base class of rules with logistic loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound.rules.base import Range, Rule, no_update_margin
from mistakebound.rules.hyperbolic import LN2_HIGH, LN2_LOW, LOG2_E, ROUNDER

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.rules.base import Round

TERMS = tuple(1.0 / math.factorial(k) for k in range(2, 14))
LN_TERMS = tuple(2.0 / k for k in range(21, 1, -2))
STEEPEST = 50.0
"""Scores beyond it count as it: the function is 1 or e^−50 there."""


def exp(x: float) -> float:
    """Return e^x for |x| ≤ 700. ``core/experts/elementary.hpp`` does the same operations in the same order.

    >>> exp(0.0), abs(exp(1.0) / math.e - 1) < 1e-15, abs(exp(-50.0) / math.exp(-50.0) - 1) < 1e-15
    (1.0, True, True)
    """
    k = (x * LOG2_E + ROUNDER) - ROUNDER
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    t = TERMS
    low = (r * t[1] + t[0]) + r2 * (r * t[3] + t[2])
    middle = (r * t[5] + t[4]) + r2 * (r * t[7] + t[6])
    high = (r * t[9] + t[8]) + r2 * (r * t[11] + t[10])
    return ((r + r2 * ((low + r4 * middle) + (r4 * r4) * high)) + 1.0) * math.ldexp(1.0, int(k))


def ln(x: float) -> float:
    """Return ln x for a normal x > 0. ``core/experts/elementary.hpp`` does the same operations in the same order.

    With x = 2^e·m, f = m − 1 and s = f/(2 + f): ln m = f − s(f − 2(s²/3 + s⁴/5 + …)).

    >>> ln(1.0), abs(ln(math.e) - 1) < 1e-15, abs(ln(1e-300) / math.log(1e-300) - 1) < 1e-15
    (0.0, True, True)
    """
    m, e = math.frexp(x)
    m, e = (m, e) if m * 2.0 > math.sqrt(2.0) else (m * 2.0, e - 1)
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    total = 0.0
    for term in LN_TERMS:
        total = total * z + term
    return e * LN2_HIGH - ((s * (f - total * z) - e * LN2_LOW) - f)


def sigmoid(z: float) -> float:
    """Return σ(z) = 1/(1 + e^−z), the probability that belongs to the log odds z.

    >>> sigmoid(0.0), sigmoid(1000.0), 0 < sigmoid(-1000.0) < 1e-20
    (0.5, 1.0, True)
    """
    return 1.0 / (1.0 + exp(-min(max(z, -STEEPEST), STEEPEST)))


def logistic_step(now: Round) -> float:
    """Return yσ(−y·score), the derivative of the logistic gain ln σ(y·score)."""
    return now.y * sigmoid(-now.y * now.score)


@dataclass(frozen=True, kw_only=True)
class LogisticRule(Rule):
    """Base of rules that learn every example by gradients of logistic loss: τ = yσ(−y·score)."""

    log_odds: ClassVar[bool] = True
    mixing: ClassVar[tuple[str, ...]] = ("mean of met",)
    takes_weights: ClassVar[bool] = True
    keeps_examples: ClassVar[bool] = False
    ranges: ClassVar[dict[str, Range]] = {
        **Rule.ranges,
        "update_margin": no_update_margin("every example is learned"),
    }

    def link(self, z: float, factor: float) -> float:  # noqa: ARG002
        """Identity."""
        return z

    def step(self, now: Round) -> float:
        """Return yσ(−y·score)."""
        return logistic_step(now)

    def weights(self, z: FloatArray) -> FloatArray:
        """Return w, as it is."""
        return z.copy()
