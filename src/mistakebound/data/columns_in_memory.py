"""Convert a table in memory (pandas or polars DataFrame, dict of columns) to the columns that a file would give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support.text import shortest
from mistakebound.data.columns import Frame, Places
from mistakebound.errors import StreamError

if TYPE_CHECKING:
    from collections.abc import Mapping


def columns_in_memory(table: Mapping[Any, Any] | Any) -> Frame:
    """Return the columns of a dict, or of an object that has ``columns`` and can be indexed by them.

    A column that contains a text or a truth value is a column of words. None, NaN and NA are empty fields.

    >>> frame = columns_in_memory({"day": ["Mon", None], "Alice": [0.5, None], "rain": [0, 1]})
    >>> frame.words, {name: values.tolist() for name, values in frame.numbers.items()}, frame.where(1)
    ({'day': ['Mon', '']}, {'Alice': [0.5, nan], 'rain': [0.0, 1.0]}, 'row 2')
    """
    keys = list(table.columns if hasattr(table, "columns") else table)
    frame = Frame(names=[str(key) for key in keys])
    twice = next((name for name in frame.names if frame.names.count(name) > 1), None) if len(set(keys)) > 1 else None
    if twice is not None:
        message = f"two columns have the name {twice!r}"
        raise StreamError(message, kind="repeated column", feature=twice)
    lengths = set()
    for key, name in zip(keys, frame.names, strict=True):
        cells = [None if _is_missing(cell) else cell for cell in _cells(table[key])]
        lengths.add(len(cells))
        if any(isinstance(cell, (str, bool, np.bool_)) for cell in cells):
            frame.words[name] = ["" if cell is None else _text(cell) for cell in cells]
        else:
            frame.numbers[name] = _numbers(cells, name)
    if len(lengths) > 1:
        message = f"all columns must have the same length, got {', '.join(map(str, sorted(lengths)))}"
        raise StreamError(message, kind="different lengths")
    frame.rows = lengths.pop() if lengths else 0
    frame.places.append(Places(0, "", True, np.arange(1, frame.rows + 1)))
    return frame


def _cells(column: Any) -> list[Any]:
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _numbers(cells: list[Any], name: str) -> Any:
    try:
        return np.array([np.nan if cell is None else cell for cell in cells], np.float64)
    except (TypeError, ValueError):
        at, cell = next((at, cell) for at, cell in enumerate(cells) if not isinstance(cell, (int, float, type(None))))
        message = f"column {name!r}: {cell!r} is neither a number nor a string"
        raise StreamError(message, kind="word", feature=name, value=cell, line=at + 1, in_rows=True) from None


def _text(cell: Any) -> str:
    return shortest(cell) if isinstance(cell, float) else str(cell)


def _is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN or pandas' NA, whose truth value is not defined."""
    try:
        return cell is None or bool(cell != cell)  # noqa: PLR0124 - NaN
    except (TypeError, ValueError):
        return type(cell).__name__ == "NAType"
