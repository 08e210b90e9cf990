"""Features of cells and tables, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistakebound import _core
from mistakebound.data.frame import records

if TYPE_CHECKING:
    from collections.abc import Iterable

Features = dict[str, float]


def rows_of(parts: Iterable[Any]) -> list[Features]:
    """Return the features of every row of a reader, by name."""
    found = []
    for part in parts:
        assert part.error is None
        chunk = part.chunk
        for begin, end in zip(chunk.indptr, chunk.indptr[1:], strict=False):
            found.append({chunk.name(at).decode(): float(chunk.value[at]) for at in range(begin, end)})
    return found


def cell(text: str, **options: Any) -> Features:
    """Return the features of a cell of the column c."""
    rows, bad, _ = _core.parse_table(records([[text], ["x"]]), header=False, auto=True, ignore=["2"], **options)
    assert not bad
    ((_, found, _),) = rows
    return {name.replace("c1", "c", 1): value for name, value in found.items()}
