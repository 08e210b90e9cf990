"""Exact values where rounding would give a wrong bound: rational formulas, and counts of promotions."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def evaluated(formula: Callable[..., Any], *numbers: float) -> float:
    """The value of a rational formula: in floats, or in fractions where squares of the numbers might be no floats."""
    tame = all(number == 0 or 1e-70 < number < 1e70 for number in numbers)
    return float(formula(*(numbers if tame else map(Fraction, numbers))))


def steps(alpha: float, theta: float, *, strict: bool) -> int:
    """Count the promotions that lift a weight from 1 to theta (if strict, above it), without rounding."""
    if theta < 1:
        return 0
    with localcontext(Context(prec=60)):
        steps = Decimal(float(theta)).ln() / Decimal(float(alpha)).ln()
        nearest = round(steps)
        # Powers of a float soon stop being floats, except those of 2: ties only happen at few steps.
        if nearest < 1100 and Fraction(alpha) ** nearest == Fraction(theta):
            return nearest + strict
        return math.ceil(steps)
