"""Detect the layout of a text table from its first lines, and decide which columns are read, and as what."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._core import Reader, sniff_table
from mistakebound._support.text import did_you_mean
from mistakebound.data.options import columns_with_roles, numbered_names
from mistakebound.errors import BY_HEADER, MOST_LISTED, InputError, MissingColumnsError, Option, setting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mistakebound.data.options import Reading, Settings
    from mistakebound.data.reader import Notes

SEPARATORS = "\t,; "
UNEXPECTED_HEADER = (
    "line 1 looks like a header, but the model learned from tables without a header, so line 1 is read as an example; "
    "if it is a header, set "
)


class Layout(NamedTuple):
    """The separator of the columns of a table, and whether its first line has their names."""

    separator: str
    header: bool


# ---------------------------------------------------------------------- columns, from the options or from a model


def table_reader(start: bytes, settings: Settings, notes: Notes, **more: Any) -> tuple[Reader, Layout]:
    """Return a reader for the text table that begins with ``start``, and its layout; ``more`` overrides the layout."""
    if not settings.inherits_columns:
        return table_of(start, {**passed_roles(settings), **more})
    how = settings.how
    layout = _known_layout(start, settings, notes)._replace(**more)
    names = file_names = _names(start, layout, settings)
    if numbered_names(how.columns):  # the model has no names, so those in the file are ignored
        names = [f"c{number}" for number in range(1, len(file_names) + 1)]
    try:
        options = {**roles_of(settings, names), **layout._asdict()}
    except MissingColumnsError as error:
        if layout.header:
            error.first_line = first_line(how, file_names, layout.separator)
        raise
    header = layout.separator.join(names).encode() + b"\n"
    return Reader.table(start if names == file_names else header, **options), layout


def passed_roles(settings: Settings) -> dict[str, Any]:
    """Return options for ``Reader.table`` from the options that were passed for these files."""
    zeros = {"zeros": True} if settings.all_columns else {}
    return {"label": settings.how.label or "", **settings.without_weight(settings.how.table), **zeros}


def roles_of(settings: Settings, names: list[str]) -> dict[str, Any]:
    """Return options for ``Reader.table`` and a table with these columns; separator and header only if passed."""
    if not settings.inherits_columns:
        return passed_roles(settings)
    refuse_unknown_ignored(settings, names)
    how = replace(settings.how, table=settings.without_weight(settings.how.table))
    try:
        options = matched(how, names, label_may_be_missing=settings.label_optional)
    except MissingColumnsError as error:
        error.in_frame = settings.is_frame
        raise
    given = settings.given.table
    return {name: value for name, value in options.items() if name not in Layout._fields or name in given}


def refuse_unknown_ignored(settings: Settings, names: list[str]) -> None:
    """Raise InputError if a column to ignore was passed that neither the table nor the model's files have."""
    model = settings.known or settings.how
    most = max(len(names), len(model.columns))
    known = {*names, *model.columns, *model.table.get("ignore", ()), *map(str, range(1, most + 1))}
    for column in settings.given.table.get("ignore", ()):
        if column not in known:
            words = f"; the columns are: {', '.join(names[:MOST_LISTED])}{did_you_mean(column, names)}"
            message = (f"there is no column {column!r} for ", setting("ignore"), words)
            raise InputError(*message, kind="missing column", feature=column)


def _names(start: bytes, layout: Layout, settings: Settings) -> list[str]:
    """Return the names of the columns.

    If line 1 cannot be a header and has none of the model's names, the MissingColumnsError has the expected line.
    """
    try:
        return names_of(start, layout)
    except ValueError:
        how, cells = settings.how, first_cells(start, layout.separator)
        wanted = first_line(how, cells, layout.separator) if layout.header else ""
        if not wanted:
            raise
        error = missing_columns(how, required(how), cells, label_is_read=not settings.label_optional)
        error.first_line = wanted
        raise error from None


def _known_layout(start: bytes, settings: Settings, notes: Notes) -> Layout:
    """Return the layout of the tables that the model learned from; the first rows of this table do not change it."""
    how, given = settings.how, settings.given.table
    found = Layout(*sniff_table(start))
    separator = how.table.get("separator", found.separator)
    wanted = required(how)
    if how.columns or "header" in how.table:
        if found.header and not how.has_header and "header" not in given:
            notes.remark("header read as example", UNEXPECTED_HEADER, BY_HEADER)
        found = found._replace(header=how.has_header)
    elif not found.header:  # an older model, or one of JSON lines
        with suppress(ValueError):
            first = names_of(start, Layout(separator, header=True))
            found = found._replace(header=not {how.label, *wanted}.isdisjoint(first))
    if found.header and "separator" not in given:
        separator = separator_of(start, separator, wanted)
    return found._replace(separator=separator)


def matched(how: Reading, names: list[str], *, label_may_be_missing: bool) -> dict[str, Any]:
    """Return the roles of the columns ``names`` of a table, for a model that was trained with the columns of ``how``.

    A label that may be missing, and columns to be ignored, are left out if the table does not have them.

    Raises
    ------
    MissingColumnsError
        If the table lacks a column that the model learned from, or the label, if that is required.
    InputError
        If a table without a header has more columns than the model: they cannot be matched by name.
    """
    there = {*names, *map(str, range(1, len(names) + 1))} if numbered_names(names) else {*names}
    ignore = [name for name in how.table.get("ignore", ()) if name in there]
    label = how.label if how.label in there else ""
    if numbered_names(how.columns) and len(names) > len(how.columns):
        message = (
            f"the table has {len(names)} columns, but the model was trained on tables with {len(how.columns)} columns "
            "and no header, so columns cannot be matched by name"
        )
        raise InputError(message)
    missing = [name for name in required(how) if name not in there]
    if how.label is not None and not label and not label_may_be_missing:
        missing.append(how.label)
    if "weight" in how.table and how.table["weight"] not in there:
        missing.append(how.table["weight"])
    if missing:
        raise missing_columns(how, missing, names, label_is_read=not label_may_be_missing)
    return {**how.table, "label": label or "", **({"ignore": ignore} if "ignore" in how.table else {})}


def missing_columns(how: Reading, missing: list[str], names: list[str], *, label_is_read: bool) -> MissingColumnsError:
    """Return the error for a table that lacks columns of the model ``how``; ``names`` are the columns of the table."""
    error = MissingColumnsError(missing, names)
    error.known, error.label_is_read = frozenset(how.columns), label_is_read
    error.needed = frozenset(columns_with_roles(how))
    if numbered_names(how.columns) and numbered_names(names):
        error.counted = len(how.columns)
        label = column_name(how.label or "", how.columns)
        number = how.columns.index(label) + 1 if label in how.columns else 0
        # If the label was the last column, the other columns keep their numbers without it.
        error.label_number = number if number <= len(names) or how.label in missing else 0
    return error


def first_line(how: Reading, cells: list[str], separator: str) -> str:
    """Return the header that the model ``how`` expects above these cells; empty if they contain one of its names.

    >>> from mistakebound.data.options import Reading
    >>> how = Reading(label="kind", columns=["text", "kind"])
    >>> first_line(how, ["win", "spam"], ","), first_line(how, ["win"], ","), first_line(how, ["text"], ",")
    ('text,kind', 'text', '')
    """
    names = how.columns
    if not names or numbered_names(names) or not {*names}.isdisjoint(cells):
        return ""
    if len(cells) == len(names) - 1:
        names = [name for name in names if name != how.label]
    return line_of(names, separator)


def required(how: Reading) -> list[str]:
    """Return the columns that a table must have for the model ``how``: all that it learned from."""
    pairs = [column for pair in how.table.get("interact", ()) for column in pair]
    roles = [*how.table.get("text", ()), *how.table.get("categorical", ()), *pairs]
    not_learned = [
        each for each in (how.label, how.table.get("weight"), *how.table.get("ignore", ())) if each is not None
    ]
    without = {column_name(each, how.columns) for each in not_learned}
    wanted = dict.fromkeys([*how.columns, *(column_name(each, how.columns) for each in roles)])
    return [name for name in wanted if name not in without]


def column_name(column: str, columns: list[str]) -> str:
    """Return the name of a column; in tables without a header, ``column`` may be its number.

    >>> column_name("2", ["c1", "c2"]), column_name("kind", ["kind"])
    ('c2', 'kind')
    """
    return f"c{int(column)}" if column.isdigit() and column not in columns and numbered_names(columns) else column


# ---------------------------------------------------------------------- first lines


def table_of(start: bytes, options: dict[str, Any]) -> tuple[Reader, Layout]:
    """Return a reader for the table that begins with ``start``, and its layout: from ``options``, or detected."""
    set_by_user = {name: options[name] for name in Layout._fields if name in options}
    found = detected = Layout(*sniff_table(start))._replace(**set_by_user)
    try:
        return Reader.table(start, **{**options, **found._asdict()}), found
    except ValueError as error:
        if "header" in options:
            hint = _column_hint(start, options, detected) if options["header"] else ()
            raise InputError(str(error), *hint) from None
        try:  # if the first line has the columns that the options name, it is a header
            found = found._replace(header=True)
            return Reader.table(start, **{**options, **found._asdict()}), found
        except ValueError as other:
            first_line = start.lstrip().partition(b"\n")[0]
            named = options.get("label", "").encode()
            fault, layout = (other, found) if named and named in first_line else (error, detected)
            raise InputError(str(fault), *_column_hint(start, options, layout)) from None


def _column_hint(start: bytes, options: dict[str, Any], layout: Layout) -> tuple[str | Option, ...]:
    """Return a hint for a column of the options that the table lacks: a similar name in line 1, or all names there."""
    names = first_cells(start, layout.separator)
    numbers = [str(number) for number in range(1, len(names) + 1)]
    known = {*numbers, *(names if layout.header else (f"c{number}" for number in numbers)), ""}
    pairs = [column for pair in options.get("interact", ()) for column in pair]
    passed = {options.get("label", ""), options.get("weight", ""), *pairs}.union(
        *(options.get(role, ()) for role in ("text", "categorical", "ignore"))
    )
    if passed <= known or any(is_number(name) for name in names):
        return ()
    similar = next(filter(None, (did_you_mean(column, names) for column in sorted(passed - known))), "")
    if layout.header:
        return (similar,)
    shown = ", ".join(names[:MOST_LISTED]) + (", ..." if len(names) > MOST_LISTED else "")
    return (f" (or {shown} if line 1 is a header: ", BY_HEADER, f"){similar}")


def is_number(word: str) -> bool:
    """Whether a cell of a column of text is empty or a number."""
    try:
        float(word or 0)
    except ValueError:
        return False
    return "_" not in word  # Python accepts 1_000, but the readers of tables do not


def names_of(start: bytes, layout: Layout) -> list[str]:
    """Return the names of the columns of a table with this layout."""
    return Reader.table(start, **layout._asdict()).columns


def separator_of(start: bytes, usual: str, wanted: list[str]) -> str:
    r"""Return the separator of a table with a header: ``usual``, unless only another one finds the names ``wanted``.

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
    """Return a header with these names, quoted and separated by commas."""
    return b",".join(quoted(name) for name in names) + b"\n"


def line_of(names: Iterable[str], separator: str) -> str:
    """Return a header with these names, quoted only where necessary."""
    special = {separator, '"'}
    return separator.join(quoted(name).decode() if special.intersection(name) else name for name in names)


def first_cells(start: bytes, separator: str) -> list[str]:
    """Return the cells of the first line that is not empty, whether or not they could be names of columns."""
    import csv  # noqa: PLC0415 - rarely needed

    line = start.lstrip().partition(b"\n")[0].decode(errors="replace").rstrip("\r")
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]


def quoted(text: str) -> bytes:
    """Return a cell of a table in quotes."""
    return b'"' + text.encode().replace(b'"', b'""') + b'"'


def require_columns(known: list[str], names: list[str]) -> None:
    """Raise InputError if a table does not have the columns of the table before it."""
    if names != known:
        message = f"its columns are {', '.join(names[:20])}, but the files before it have {', '.join(known[:20])}"
        raise InputError(message, kind="other columns")
