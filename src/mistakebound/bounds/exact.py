"""Exact arithmetic where rounding would give a wrong bound: rational formulas, and numbers of promotions."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def evaluated(formula: Callable[..., Any], *numbers: float) -> float:
    """Return the value of a rational formula, computed with floats, or with fractions if a square could overflow."""
    safe = all(number == 0 or 1e-70 < number < 1e70 for number in numbers)
    return float(formula(*(numbers if safe else map(Fraction, numbers))))


def steps(alpha: float, theta: float, *, strict: bool) -> int:
    """Return the number of promotions that raise a weight from 1 to theta (above theta, if strict), without rounding.

    A promotion multiplies the weight by alpha.
    """
    if theta < 1:
        return 0
    with localcontext(Context(prec=60)):
        steps = Decimal(float(theta)).ln() / Decimal(float(alpha)).ln()
        nearest = round(steps)
        # A theta that is an exact power of alpha needs few steps: theta is a float, and few powers fit into one.
        if nearest < 1100 and Fraction(alpha) ** nearest == Fraction(theta):
            return nearest + strict
        return math.ceil(steps)
