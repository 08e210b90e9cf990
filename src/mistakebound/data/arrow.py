"""Read Parquet and Arrow files through pyarrow: each batch of rows becomes a piece of a table for the core."""

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
"""About so many values are turned into text at a time: enough to be quick, little enough to stay small."""
MISSING = ("", "?", "NA", "null")
"""As in tables, but for nan: a NaN is a value here, and a bad one (unless columns are asked for as they are)."""


class Columns:
    """A file of columns, to be read as the same data in a table of text would be.

    Numbers are exact; true is 1 and false is 0 (but as a label or a category they are "true" and "false"); strings,
    dictionaries, dates and times are categories, whatever they look like; a null is no value; the fields of a struct
    are columns of their own, called ``struct.field``; a list of strings can be a text.
    """

    def __init__(self, file: str, raw: Any, start: bytes, declared: Callable[[list[str]], dict[str, Any]]) -> None:
        self.file = file
        with named(file):
            self._open(raw, start, declared)

    def _open(self, raw: Any, start: bytes, declared: Callable[[list[str]], dict[str, Any]]) -> None:
        self.schema, self.rows, self._batches = opened(raw, start)
        names = [field.name for field in flat(self.schema.empty_table()).schema]
        roles = declared(names)
        if "header" in roles or "separator" in roles:
            message = "a header and a separator are told of tables of text only"
            raise ValueError(message)
        self._declared = {
            role: {place(name, names) for name in ([roles[role]] if role == "label" else roles.get(role, ()))}
            for role in ("label", "ignore", "text", "categorical")
        }
        categories = list(roles.get("categorical", ()))
        self._change: list[Callable[[Any], Any]] = []
        for number, field in enumerate(flat(self.schema.empty_table()).schema):
            change, is_category = self._as_text(number, field)
            self._change.append(change)
            if is_category and not any(number in places for places in self._declared.values()):
                categories.append(field.name)
        missing = (*MISSING, "nan") if roles.get("zeros") else MISSING
        self.reader = Reader.table(
            header_of(names),
            **{**roles, "categorical": categories, "missing": missing, "header": True, "separator": ","},
        )

    def blocks(self) -> Iterator[tuple[bytes, bool]]:
        """Each batch as the records of a table, every field in quotes."""
        step = max(1, CELLS // max(1, len(self._change)))
        while True:
            with named(self.file):
                batch = next(self._batches, None)
            if batch is None:
                return
            for begin in range(0, batch.num_rows, step):
                with named(self.file):
                    written = self._written(batch.slice(begin, step))
                yield written, True

    def _written(self, batch: Any) -> bytes:
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import csv  # noqa: PLC0415

        table = flat(pa.Table.from_batches([batch]))
        columns = [change(column) for change, column in zip(self._change, table.columns, strict=True)]
        if len(columns) == 1:  # a null alone would be an empty line, and so no row
            columns = [columns[0].cast(pa.large_string()).fill_null("")]
        written = pa.BufferOutputStream()
        options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
        csv.write_csv(pa.table(columns, names=[str(number) for number in range(len(columns))]), written, options)
        text: bytes = written.getvalue().to_pybytes()
        return text

    def _as_text(self, number: int, field: Any) -> tuple[Callable[[Any], Any], bool]:
        """How the column is brought into a form that is written as it is meant, and whether it is a category."""
        import pyarrow as pa  # noqa: PLC0415

        kind, types = field.type, pa.types
        if number in self._declared["ignore"]:
            return (lambda column: pa.nulls(len(column), pa.string())), False
        if number in self._declared["text"] and is_strings(kind):
            return joined, False
        if not is_plain(kind):
            message = f"column {field.name!r} holds {kind}, which is neither number nor category: "
            role = "text" if is_strings(kind) else "ignore"
            option = Option(role, f'table={{"{role}": ["{field.name}"]}}', [field.name])
            remedy = ("name it with ", option, ", and its strings are words")
            raise InputError(message, *(remedy if is_strings(kind) else ("leave it out with ", option)), kind="column")
        is_number = (
            types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
        )
        is_word = not is_number or number in self._declared["label"] | self._declared["categorical"]
        if types.is_dictionary(kind):
            kind = kind.value_type
        if types.is_floating(kind):
            kind = pa.float64()
        elif types.is_boolean(kind):
            kind = pa.string() if is_word else pa.uint8()
        elif not is_number:
            kind = pa.large_string()
        return (lambda column: column.cast(kind)), not is_number


@contextmanager
def named(file: str) -> Iterator[None]:
    """Whatever is wrong, say it of this file, in one line."""
    try:
        yield
    except ImportError:
        raise
    except InputError as error:
        error.file = error.file or file
        raise
    except Exception as error:  # noqa: BLE001 - pyarrow raises ten kinds, for whatever bytes may say
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(message, file=file) from None


def opened(raw: Any, start: bytes) -> tuple[Any, int | None, Iterator[Any]]:
    """Schema, number of rows if the file tells it ahead, and the batches, one at a time."""
    try:
        from pyarrow import ipc, parquet  # noqa: PLC0415 - optional
    except ImportError:
        message = "reading Parquet and Arrow files needs the package pyarrow: pip install 'mistakebound[arrow]'"
        raise ModuleNotFoundError(message) from None
    if start.startswith(OLD_FEATHER):
        message = "Feather of version 1 is not read: write it as version 2, or as Parquet"
        raise ValueError(message)
    if start.startswith(ARROW_STREAM):
        stream = ipc.open_stream(raw)
        return stream.schema, None, iter(stream)
    if not raw.seekable():
        message = "Parquet and Arrow files begin with their end: they are not read from a pipe (Arrow streams are)"
        raise ValueError(message)
    if start.startswith(PARQUET):
        file = parquet.ParquetFile(raw)
        columns = max(1, file.metadata.num_columns)
        return file.schema_arrow, file.metadata.num_rows, file.iter_batches(max(1, CELLS // columns))
    batches = ipc.open_file(raw)
    return batches.schema, None, (batches.get_batch(number) for number in range(batches.num_record_batches))


def flat(table: Any) -> Any:
    """The table with the fields of structs as columns of their own."""
    from pyarrow import types  # noqa: PLC0415

    while any(types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table


def place(name: str, names: list[str]) -> int:
    """Which column is meant, as tables have it: by name, or else by number from 1; −1 for none: the core will say."""
    if name in names:
        return names.index(name)
    return int(name) - 1 if name.isdigit() and 1 <= int(name) <= len(names) else -1


def is_plain(kind: Any) -> bool:
    """Whether a type is one value: a number, or something that a word can stand for."""
    from pyarrow import types  # noqa: PLC0415

    if types.is_dictionary(kind):
        return is_plain(kind.value_type)
    words = (types.is_string, types.is_large_string, types.is_string_view, types.is_date, types.is_time)
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return any(is_kind(kind) for is_kind in (*words, *numbers, types.is_timestamp, types.is_null))


def is_strings(kind: Any) -> bool:
    """Whether a type is lists of strings."""
    from pyarrow import types  # noqa: PLC0415

    is_list = types.is_list(kind) or types.is_large_list(kind)
    return bool(is_list and (types.is_string(kind.value_type) or types.is_large_string(kind.value_type)))


def joined(column: Any) -> Any:
    """Each list of strings as one string; a null among them is none."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import compute  # noqa: PLC0415

    texts = compute.binary_join(column, " ")
    if texts.null_count == column.null_count:
        return texts
    words = [
        None if each is None else " ".join(word for word in each if word is not None) for each in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(words, pa.large_string())])
