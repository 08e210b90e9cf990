"""Write JSON in which every number is finite: other programs cannot read NaN or Infinity."""

from __future__ import annotations

import json
import math
from typing import Any


def json_of(value: Any) -> str:
    """Return a value as JSON; a number that is not finite becomes null.

    >>> json_of({"bound": float("inf"), "rate": [0.5, float("nan")]})
    '{"bound": null, "rate": [0.5, null]}'
    """
    return json.dumps(finite(value), allow_nan=False)


def finite(value: Any) -> Any:
    """Return a copy of the value with None for each number that is not finite."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
