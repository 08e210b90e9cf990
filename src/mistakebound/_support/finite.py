"""JSON values without infinity and NaN, which JSON does not have."""

from __future__ import annotations

import math
from typing import Any


def finite(value: Any) -> Any:
    """Return a JSON value with None for every number in it that is not finite, so that any program can read it.

    >>> finite({"bound": math.inf, "rates": (0.5, math.nan)})
    {'bound': None, 'rates': [0.5, None]}
    """
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
