"""Read the values of a dict like cells of the tables that a learner learned from."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from mistakebound._core import Reader
from mistakebound.data.frame import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mistakebound.data.options import Reading

SMALLEST, LARGEST = 1e-30, 2
"""Zero and numbers between these sizes have the same value in a table and in a dict."""


class DictRows:
    """Converts dicts of cells, such as ``{"size": 9000, "day": "Mon"}``, to the features that a table would give.

    The name of a feature is also valid, such as ``{"day=mon": 1}``. Columns with a role of their own (label, text,
    categorical, interact) are not converted.

    Parameters
    ----------
    how : Reading
        How the learner's tables are read.
    """

    def __init__(self, how: Reading) -> None:
        table = how.table
        pairs = [column for pair in table.get("interact", ()) for column in pair]
        self._roles = {how.label, *table.get("text", ()), *table.get("categorical", ()), *pairs}
        self._binned = bool(table.get("bins"))
        options = {name: table[name] for name in ("words", "letters", "bins") if name in table}
        self._reader = Reader.json("", **options, auto=True)

    def features(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the features of a row by name; the row itself if its values are already those of features.

        >>> from mistakebound.data.options import Reading
        >>> DictRows(Reading(label="y")).features({"size": 4, "day": "Mon", "open": True, "day=tue": 1, "tea": None})
        {'day=tue': 1, 'size': 3.0, 'day=mon': 1.0, 'open=true': 1.0, 'tea=': 1.0}
        """
        cells = {key: cell for key, cell in row.items() if self._is_cell(key, cell)}
        if not cells:
            return row
        line = json.dumps({key: plain(cell) for key, cell in cells.items()}).encode()
        chunk = self._reader.parse(line, last=True)
        if chunk.bad:
            raise ValueError(chunk.bad[0][4].decode())
        features = {key: cell for key, cell in row.items() if key not in cells}
        for place, value in enumerate(chunk.value.tolist()):
            name = chunk.name(place).decode()
            features[name] = features.get(name, 0) + value
        return features

    def _is_cell(self, key: Any, cell: Any) -> bool:
        """Whether a value is converted. Values that are not valid stay, so that the core reports them."""
        if not isinstance(key, str) or key in self._roles or isinstance(cell, complex):
            return False
        cell = plain(cell)
        if isinstance(cell, (int, float)) and not isinstance(cell, bool):
            scaled = cell != 0 and not SMALLEST <= abs(cell) <= LARGEST
            return math.isfinite(cell) and (scaled or (self._binned and "=" not in key))
        return True
