"""Tables of text: what their first lines tell of their columns."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._core import Reader, sniff_table

if TYPE_CHECKING:
    from collections.abc import Iterable

SEPARATORS = "\t,; "


class Layout(NamedTuple):
    """What separates the columns of a table, and whether it begins with their names."""

    separator: str
    header: bool


def table_of(start: bytes, told: dict[str, Any]) -> tuple[Reader, Layout]:
    """The reader of a table, told by its beginning, and the layout that was told or found."""
    found = Layout(*sniff_table(start))._replace(**{name: told[name] for name in Layout._fields if name in told})
    try:
        return Reader.table(start, **{**told, **found._asdict()}), found
    except ValueError as error:
        if "header" in told:
            raise
        try:  # if the columns that were told have their names in the first line, it is a header
            found = found._replace(header=True)
            return Reader.table(start, **{**told, **found._asdict()}), found
        except ValueError as other:
            first_line = start.lstrip().partition(b"\n")[0]
            named = told.get("label", "").encode()
            raise (other if named and named in first_line else error) from None


def names_of(start: bytes, layout: Layout) -> list[str]:
    """Names of the columns of a table of this layout."""
    return Reader.table(start, **layout._asdict()).columns


def separator_of(start: bytes, usual: str, wanted: list[str]) -> str:
    r"""What separates the columns of a table that has a header: the usual, unless these names are there with another.

    >>> separator_of(b"a;b\n", ",", ["a", "b"]), separator_of(b"a;b\n", ",", ["a", "c"])
    (';', ',')
    """
    separators: tuple[str, ...] = (usual, *SEPARATORS)
    for separator in separators:
        with suppress(ValueError):
            if set(wanted) <= {*names_of(start, Layout(separator, header=True))}:
                return separator
    return usual


def header_of(names: Iterable[str]) -> bytes:
    """A first line with these names, separated by commas."""
    return b",".join(quoted(name) for name in names) + b"\n"


def quoted(text: str) -> bytes:
    """A field of a table, in quotes."""
    return b'"' + text.encode().replace(b'"', b'""') + b'"'


def require_columns(known: list[str], names: list[str]) -> None:
    """Refuse a table whose columns are not those of the one before it."""
    if names != known:
        message = f"its columns are {', '.join(names[:20])}, but those before {', '.join(known[:20])}"
        raise ValueError(message)


def numbered_names(columns: list[str]) -> bool:
    """Whether the columns have no names of their own."""
    return bool(columns) and columns == [f"c{number}" for number in range(1, len(columns) + 1)]
