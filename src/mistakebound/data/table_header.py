"""Detect the separator, the header and the columns of a text table from its first lines."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._core import Reader, sniff_table
from mistakebound.errors import LISTED, InputError, Option

if TYPE_CHECKING:
    from collections.abc import Iterable

SEPARATORS = "\t,; "
BY_HEADER = Option("header", 'table={"header": True}', value=True)


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
            if named and named in first_line:
                raise other from None
            raise InputError(str(error), *_or_named(start, told, found)) from None


def _or_named(start: bytes, told: dict[str, Any], layout: Layout) -> tuple[str | Option, ...]:
    """The names in line 1, if it could be a header of words and some of the columns that were passed are not there."""
    names = first_cells(start, layout.separator)
    numbers = [str(number) for number in range(1, len(names) + 1)]
    known = {*numbers, *(f"c{number}" for number in numbers), ""}
    pairs = [column for pair in told.get("interact", ()) for column in pair]
    passed = {told.get("label", ""), *pairs}.union(*(told.get(role, ()) for role in ("text", "categorical", "ignore")))
    if passed <= known or any(is_number(name) for name in names):
        return ()
    shown = ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
    return (f" (or {shown} if line 1 is a header: ", BY_HEADER, ")")


def is_number(word: str) -> bool:
    """Whether a word of a column of words is no word at all: missing, or a number written anew."""
    try:
        float(word or 0)
    except ValueError:
        return False
    return "_" not in word  # Python's numbers may have it, those of tables may not


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


def line_of(names: Iterable[str], separator: str) -> str:
    """A first line with these names, in quotes only where they need them."""
    special = {separator, '"'}
    return separator.join(quoted(name).decode() if special.intersection(name) else name for name in names)


def first_cells(start: bytes, separator: str) -> list[str]:
    """The fields of the first line that is not empty, whether or not they could be names of columns."""
    import csv  # noqa: PLC0415 - seldom needed

    line = start.lstrip().partition(b"\n")[0].decode(errors="replace").rstrip("\r")
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]


def quoted(text: str) -> bytes:
    """A field of a table, in quotes."""
    return b'"' + text.encode().replace(b'"', b'""') + b'"'


def require_columns(known: list[str], names: list[str]) -> None:
    """Refuse a table whose columns are not those of the one before it."""
    if names != known:
        message = f"its columns are {', '.join(names[:20])}, but those before {', '.join(known[:20])}"
        raise InputError(message, kind="other columns")
