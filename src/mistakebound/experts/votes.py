"""What experts say and what comes true, where it may be anything: read, and put in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.experts.roster import is_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.arrays import AnyArray


def together(parts: list[AnyArray]) -> AnyArray:
    """Labels of several parts, none of them made into another kind."""
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts) if parts else np.zeros(0)


def rounds_of(A: Any, names: list[str] | None) -> list[Any]:
    """Rounds of advice, one after the other."""
    if isinstance(A, Mapping):
        return [dict(zip(names or [], row, strict=True)) for row in zip(*A.values(), strict=True)]
    if hasattr(A, "columns"):
        return [dict(zip(names or [], row, strict=True)) for row in A.itertuples(index=False, name=None)]
    return list(A)


def named_outcomes(said: Sequence[Any]) -> list[Any]:
    """What was named, the greatest last."""
    seen = {each: None for each in said if not is_missing(each)}
    try:
        return sorted(seen)
    except TypeError:  # of several kinds
        return sorted(seen, key=lambda each: (type(each).__name__, repr(each)))


def two_sided(A: Any, y: Any) -> tuple[AnyArray, AnyArray, tuple[Any, Any]] | None:
    """Advice and outcomes as 0 and 1, and what these stand for; None if there are more than two values, or sleepers."""
    table, outcomes = A.to_numpy() if hasattr(A, "to_numpy") else A, np.asarray(y)
    if not isinstance(table, np.ndarray) or np.ma.isMaskedArray(table) or np.ma.isMaskedArray(y):
        return None
    if table.ndim != 2 or not table.size or outcomes.shape != table.shape[:1]:
        return None
    if table.dtype == bool and outcomes.dtype == bool:
        return np.ascontiguousarray(table).view(np.uint8), outcomes.astype(np.uint8), (False, True)
    if table.dtype.kind not in "biuf" or outcomes.dtype.kind not in "biuf":
        return None
    low, high = min(table.min(), outcomes.min()), max(table.max(), outcomes.max())
    said, told = table == high, outcomes == high
    if not (low < high and np.array_equal(said, table != low) and np.array_equal(told, outcomes != low)):
        return None
    return np.ascontiguousarray(said).view(np.uint8), told.astype(np.uint8), (low.item(), high.item())
