"""Read Parquet and Arrow files with pyarrow: each batch of rows becomes a block of a text table for the core."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mistakebound._core import Reader
from mistakebound.data.formats import ARROW_STREAM, OLD_FEATHER, PARQUET
from mistakebound.data.tables import header_of
from mistakebound.errors import InputError, Option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CELLS = 1 << 18
"""Values that are converted to text at a time, about: a compromise between speed and memory."""
MISSING = ("", "?", "NA", "null")
"""Missing values, as in tables, except nan: here NaN is a bad value (unless all columns are read as they are)."""


Contents = tuple[Any, int | None, "Iterator[Any]"]
"""The schema, the number of rows if it is known in advance, and the batches, one at a time."""


class Columns:
    """A file of columns, read like a text table with the same data.

    Numbers are exact. Truth values, dates and times are the texts "true", "2024-03-01" and "13:45:00". A null is a
    missing value. The fields of a struct become columns named ``struct.field``. A list of strings is one text.

    Without the option ``auto``, true is 1 and false is 0, except in a label or category column. Strings, dictionaries,
    dates and times are categories, even if they look like numbers. Lists of strings must be columns of ``text``.
    """

    def __init__(
        self, file: str, contents: Callable[[], Contents], declared: Callable[[list[str]], dict[str, Any]]
    ) -> None:
        self.file = file
        with all_errors_of_file(file):
            self._open(contents(), declared)

    def _open(self, contents: Contents, declared: Callable[[list[str]], dict[str, Any]]) -> None:
        self.schema, self.rows, self._batches = contents
        names = [field.name for field in flat(self.schema.empty_table()).schema]
        roles = declared(names)
        if "header" in roles or "separator" in roles:
            message = "header and separator are only valid for text tables"
            raise ValueError(message)
        self._declared = {
            role: {column_number(name, names) for name in ([roles[role]] if role == "label" else roles.get(role, ()))}
            for role in ("label", "ignore", "text", "categorical")
        }
        self._auto = bool(roles.get("auto"))
        categories = list(roles.get("categorical", ()))
        self._change: list[Callable[[Any], Any]] = []
        for number, field in enumerate(flat(self.schema.empty_table()).schema):
            change, is_category = self._as_text(number, field)
            self._change.append(change)
            if is_category and not self._auto and not any(number in numbers for numbers in self._declared.values()):
                categories.append(field.name)
        missing = (*MISSING, "nan") if roles.get("zeros") else MISSING
        self.reader = Reader.table(
            header_of(names),
            **{**roles, "categorical": categories, "missing": missing, "header": True, "separator": ","},
        )

    def blocks(self) -> Iterator[tuple[bytes, bool]]:
        """Yield each batch as records of a table, with every field in quotes."""
        step = max(1, CELLS // max(1, len(self._change)))
        while True:
            with all_errors_of_file(self.file):
                batch = next(self._batches, None)
            if batch is None:
                return
            for begin in range(0, batch.num_rows, step):
                with all_errors_of_file(self.file):
                    written = self._written(batch.slice(begin, step))
                yield written, True

    def _written(self, batch: Any) -> bytes:
        import pyarrow as pa  # noqa: PLC0415 - here and below, optional
        from pyarrow import csv  # noqa: PLC0415

        table = flat(pa.Table.from_batches([batch]))
        columns = [change(column) for change, column in zip(self._change, table.columns, strict=True)]
        if len(columns) == 1:  # a single null would be an empty line, which is not a row
            columns = [columns[0].cast(pa.large_string()).fill_null("")]
        written = pa.BufferOutputStream()
        options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
        csv.write_csv(pa.table(columns, names=[str(number) for number in range(len(columns))]), written, options)
        text: bytes = written.getvalue().to_pybytes()
        return text

    def _as_text(self, number: int, field: Any) -> tuple[Callable[[Any], Any], bool]:
        """Return a function that converts a column for writing, and whether the column is a category."""
        import pyarrow as pa  # noqa: PLC0415

        kind, types = field.type, pa.types
        if number in self._declared["ignore"]:
            return (lambda column: pa.nulls(len(column), pa.string())), False
        if (number in self._declared["text"] or self._auto) and is_strings(kind):
            return joined, False
        if not is_plain(kind):
            message = f"column {field.name!r} has the type {kind}, which is neither a number nor a category; "
            role = "text" if is_strings(kind) else "ignore"
            option = Option(role, f'table={{"{role}": ["{field.name}"]}}', [field.name])
            remedy = "pass ", option, " to read its strings as words" if is_strings(kind) else " to ignore it"
            raise InputError(message, *remedy, kind="column", feature=field.name)
        is_number = (
            types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
        )
        is_text = not is_number or number in self._declared["label"] | self._declared["categorical"]
        if types.is_dictionary(kind):
            kind = kind.value_type
        if types.is_floating(kind):
            kind = pa.float64()
        elif types.is_boolean(kind):
            kind = pa.string() if is_text or self._auto else pa.uint8()
        elif not is_number:
            kind = pa.large_string()
        return (lambda column: column.cast(kind)), not is_number


@contextmanager
def all_errors_of_file(file: str) -> Iterator[None]:
    """Raise every error as an InputError of this file, with a message of one line."""
    try:
        yield
    except ImportError:
        raise
    except InputError as error:
        error.file = error.file or file
        raise
    except Exception as error:  # noqa: BLE001 - pyarrow raises many kinds of errors for damaged files
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(message, file=file) from None


def opened(raw: Any, start: bytes) -> Contents:
    """Return the contents of a file that begins with ``start``."""
    try:
        from pyarrow import ipc, parquet  # noqa: PLC0415 - optional
    except ImportError:
        message = "reading Parquet and Arrow files needs the package pyarrow: pip install 'mistakebound[arrow]'"
        raise ModuleNotFoundError(message) from None
    if start.startswith(OLD_FEATHER):
        message = "Feather files of version 1 cannot be read; write version 2 or Parquet"
        raise ValueError(message)
    if start.startswith(ARROW_STREAM):
        stream = ipc.open_stream(raw)
        return stream.schema, None, iter(stream)
    if not raw.seekable():
        message = (
            "Parquet and Arrow files cannot be read from a pipe, because reading starts at their end; Arrow streams can"
        )
        raise ValueError(message)
    if start.startswith(PARQUET):
        file = parquet.ParquetFile(raw)
        columns = max(1, file.metadata.num_columns)
        return file.schema_arrow, file.metadata.num_rows, file.iter_batches(max(1, CELLS // columns))
    batches = ipc.open_file(raw)
    return batches.schema, None, (batches.get_batch(number) for number in range(batches.num_record_batches))


def flat(table: Any) -> Any:
    """Return the table with the fields of structs as separate columns."""
    from pyarrow import types  # noqa: PLC0415

    while any(types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table


def column_number(name: str, names: list[str]) -> int:
    """Return the 0-based number of a column from its name or 1-based number; −1 if there is none (the core raises)."""
    if name in names:
        return names.index(name)
    return int(name) - 1 if name.isdigit() and 1 <= int(name) <= len(names) else -1


def is_plain(kind: Any) -> bool:
    """Return whether a type is a single value: a number, or a value that can be written as a word."""
    from pyarrow import types  # noqa: PLC0415

    if types.is_dictionary(kind):
        return is_plain(kind.value_type)
    words = (types.is_string, types.is_large_string, types.is_string_view, types.is_date, types.is_time)
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return any(is_kind(kind) for is_kind in (*words, *numbers, types.is_timestamp, types.is_null))


def is_strings(kind: Any) -> bool:
    """Return whether a type is a list of strings."""
    from pyarrow import types  # noqa: PLC0415

    is_list = types.is_list(kind) or types.is_large_list(kind)
    return bool(is_list and (types.is_string(kind.value_type) or types.is_large_string(kind.value_type)))


def joined(column: Any) -> Any:
    """Return each list of strings as one string; nulls in a list are left out."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import compute  # noqa: PLC0415

    texts = compute.binary_join(column, " ")
    if texts.null_count == column.null_count:
        return texts
    texts = [
        None if each is None else " ".join(word for word in each if word is not None) for each in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(texts, pa.large_string())])
