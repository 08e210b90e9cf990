"""Tables of text: what their first lines tell of their columns."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from mistakebound._core import Reader


def table_of(start: bytes, told: dict[str, Any]) -> Reader:
    """The reader of a table, told by its beginning."""
    try:
        return Reader.table(start, **told)
    except ValueError as error:
        if "header" in told:
            raise
        try:  # if the columns that were told have their names in the first line, it is a header
            return Reader.table(start, **told, header=True)
        except ValueError as other:
            first_line = start.lstrip().partition(b"\n")[0]
            named = told.get("label", "").encode()
            raise (other if named and named in first_line else error) from None


def has_header(start: bytes, separator: str | None, known: list[str]) -> bool | None:
    r"""Whether a table begins with names of columns, as one with the columns that are ``known`` tells of its kind.

    It does if half of what stands in its first line, or more, is known. None: only its own content can tell.

    >>> has_header(b"wind\nweak\n", None, ["wind", "play"]), has_header(b"a,b\nc,d\n", None, ["c1", "c2"])
    (True, False)
    """
    if numbered_names(known):
        return False
    with suppress(ValueError):
        own, there = Reader.table(start, separator=separator, header=True).columns, frozenset(known)
        if 2 * sum(name in there for name in own) >= len(own):
            return True
    return None


def require_columns(known: list[str], names: list[str]) -> None:
    """Refuse a table whose columns are not those of the one before it."""
    if names != known:
        message = f"its columns are {', '.join(names[:20])}, but those before {', '.join(known[:20])}"
        raise ValueError(message)


def numbered_names(columns: list[str]) -> bool:
    """Whether the columns have no names of their own."""
    return columns == [f"c{number}" for number in range(1, len(columns) + 1)]
