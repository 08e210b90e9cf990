"""What a learner that counts votes is given: rounds of labels, as they are or as 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import StreamError
from mistakebound.losses.base import is_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mistakebound._support.arrays import AnyArray


def named_outcomes(said: Sequence[Any]) -> list[Any]:
    """What was named, the greatest last."""
    seen = {each: None for each in said if not is_missing(each)}
    try:
        return sorted(seen)
    except TypeError:  # of several kinds
        return sorted(seen, key=lambda each: (type(each).__name__, repr(each)))


def together(parts: list[AnyArray]) -> AnyArray:
    """Labels of several parts, none of them made into another kind."""
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts) if parts else np.zeros(0)


def rows_of(A: Any) -> list[Any]:
    """A table as rounds of advice."""
    if hasattr(A, "columns"):
        return list(A.to_dict("records"))
    if isinstance(A, Mapping):
        return [dict(zip(A, row, strict=True)) for row in zip(*A.values(), strict=True)]
    return list(A)


def two_sided(A: Any, y: Any) -> tuple[AnyArray, AnyArray, tuple[Any, Any]] | None:
    """Advice and outcomes as 0 and 1, and what these stand for; None if there are more than two values, or sleepers."""
    table, outcomes = A.to_numpy() if hasattr(A, "to_numpy") else A, np.asarray(y)
    masked = np.ma.isMaskedArray(table) or np.ma.isMaskedArray(y)
    if masked or getattr(table, "ndim", 0) != 2 or not table.size or outcomes.shape != table.shape[:1]:
        return None
    if table.dtype == bool and outcomes.dtype == bool:
        return np.ascontiguousarray(table).view(np.uint8), outcomes.astype(np.uint8), (False, True)
    if table.dtype.kind not in "biuf" or outcomes.dtype.kind not in "biuf":
        return None
    low, high = min(table.min(), outcomes.min()), max(table.max(), outcomes.max())
    said, told = table == high, outcomes == high
    if not (low < high and np.array_equal(said, table != low) and np.array_equal(told, outcomes != low)):
        return None
    sides = low.item(), high.item()
    if any(map(is_fraction, sides)) and all(map(is_bit, np.unique(outcomes))):
        return None  # probabilities: the round that has the first of them will say so
    return np.ascontiguousarray(said).view(np.uint8), told.astype(np.uint8), sides


def is_bit(outcome: Any) -> bool:
    """Whether an outcome is 0 or 1, False or True."""
    return isinstance(outcome, (int, float, np.number, np.bool_)) and outcome in (0, 1)


def is_fraction(value: Any) -> bool:
    """Whether it is a number that no class is coded by."""
    return isinstance(value, (float, np.floating)) and math.isfinite(value) and not float(value).is_integer()


def refuse_probabilities(said: Sequence[Any], called: Callable[[int], str]) -> None:
    """Raise for advice of 0.9 where outcomes are 0 and 1: every expert would be wrong in every round."""
    place = next((place for place, each in enumerate(said) if is_fraction(each)), None)
    if place is not None:
        message = (
            f"expert {called(place)} says {float(said[place]):g}, but outcomes are 0 and 1: that is a probability, not "
            "a vote; compare it with 0.5 first, or mix probabilities by a rule with a loss, as MLPoly(loss='log')"
        )
        raise StreamError(message)
