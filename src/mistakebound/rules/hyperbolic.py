"""Hyperbolic sine from basic operations only, so that every machine and every vector width gives the same bits."""

from __future__ import annotations

import math

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""ln 2 in two parts. k·LN2_HIGH is exact for every k that occurs."""

TERMS = tuple(1.0 / math.factorial(k) for k in range(1, 10))
LARGEST = 700.0
ROUNDER = 1.5 * 2**52
"""Adding and subtracting it rounds a number of moderate size to an integer."""


def sinh(x: float) -> float:
    """Return sinh(x) for x ≥ 0 to eleven digits (a weight, in float32, has seven), or infinity if x > 700.

    With x = k·ln 2 + r, e^x − 1 = 2^k·(e^r − 1) + (2^k − 1), and a polynomial in r approximates e^r − 1. Using e^x − 1
    instead of e^x keeps all digits for small x. ``core/rules/rules.hpp`` does the same operations in the same order.

    >>> abs(sinh(0.5) / math.sinh(0.5) - 1) < 1e-10, sinh(0.0), sinh(1e-9) == 1e-9, sinh(701.0)
    (True, 0.0, True, inf)
    """
    if not x <= LARGEST:
        return math.inf
    k = (x * LOG2_E + ROUNDER) - ROUNDER
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    t = TERMS
    r2 = r * r
    r4 = r2 * r2
    low, high = (t[0] + t[1] * r) + (t[2] + t[3] * r) * r2, (t[4] + t[5] * r) + (t[6] + t[7] * r) * r2
    q = ((low + high * r4) + t[8] * (r4 * r4)) * r
    two_k = math.ldexp(1.0, int(k))
    e = two_k * q + (two_k - 1.0)
    return 0.5 * (e + e / (e + 1.0))
