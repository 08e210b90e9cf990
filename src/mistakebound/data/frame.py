"""Read DataFrames like tables: features have the same names as those of files."""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

from mistakebound._core import Reader
from mistakebound.data.blocks import Text, value_errors_of_file
from mistakebound.data.formats import ARROW_STREAM
from mistakebound.data.options import numbered_names
from mistakebound.data.reader import StreamReader
from mistakebound.data.source import Source
from mistakebound.data.tables import Layout, header_of, quoted, roles_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mistakebound.data.options import Reading, Settings

NAME = "DataFrame"
"""The file name in messages."""
CELLS = 1 << 18
"""Cells that are written as text at a time, about."""


class FrameSource:
    """A DataFrame (pandas or polars), read like a table in a file, or like the files that a model was trained on.

    CSV models read it as a table of text, Parquet models as an Arrow table, and JSON models as one object per row. If
    the model's tables had no header, columns are matched by position.

    Parameters
    ----------
    frame : DataFrame
        Its columns must have different names.
    """

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.names = [name.strip(" \t") if isinstance(name, str) else str(name) for name in frame.columns]
        if len({*self.names}) < len(self.names):
            message = f"the columns of a DataFrame must have different names, got {', '.join(self.names[:20])}"
            raise ValueError(message)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.frame)

    @property
    def total(self) -> None:
        """None: a frame has no size in bytes."""
        return

    def open(
        self,
        known: Reading | None = None,
        *,
        labels_needed: bool = True,
        label_may_be_missing: bool = False,
        warn: bool = True,
    ) -> StreamReader:
        """Return a reader of the frame; the options are those of ``Source.open``."""
        source = Source([NAME])
        settings = source.settings(
            known,
            labels_needed=labels_needed,
            label_may_be_missing=label_may_be_missing,
            warn=warn,
            is_frame=True,
        )
        return FrameReader(self, source, settings)


class FrameReader(StreamReader):
    """One reading of a DataFrame."""

    def __init__(self, frame: FrameSource, source: Source, settings: Settings) -> None:
        super().__init__(source, settings)
        self._frame, self.names = frame.frame, frame.names

    def _texts(self, file: str) -> Iterator[Text]:
        how = self.settings.how
        if numbered_names(how.columns) and not {*self.names} <= {*how.columns}:
            self.names = [f"c{number}" for number in range(1, len(self.names) + 1)]
        if how.format == "json":
            yield Text((block, False) for block in self.blocks(self._objects))  # each block ends at the end of a line
        elif how.format == "columnar":
            columns = self._columns(file, BytesIO(self._arrow()), ARROW_STREAM)
            yield Text(columns.blocks(), columns=columns)
        else:
            with value_errors_of_file(file):
                table = FrameColumns(self, roles_of(self.settings, self.names))
            yield Text(table.blocks(), columns=table)  # type: ignore[arg-type]

    def blocks(self, written: Callable[[list[list[Any]]], bytes]) -> Iterator[bytes]:
        """Yield some rows at a time; ``written`` makes text from the cells of each column."""
        step = max(1, CELLS // max(1, len(self.names)))
        for begin in range(0, len(self._frame), step):
            part = self._frame[begin : begin + step]
            yield written([list(part[name]) for name in self._frame.columns])

    def _objects(self, cells: list[list[Any]]) -> bytes:
        rows = zip(*cells, strict=True)
        return b"".join(
            json.dumps({name: plain(cell) for name, cell in zip(self.names, row, strict=True)}).encode() + b"\n"
            for row in rows
        )

    def _arrow(self) -> bytes:
        import pyarrow as pa  # noqa: PLC0415 - installed if the model learned from Parquet

        frame = self._frame
        frame = frame.infer_objects() if hasattr(frame, "infer_objects") else frame
        table = frame.to_arrow() if hasattr(frame, "to_arrow") else pa.Table.from_pandas(frame, preserve_index=False)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table.rename_columns(self.names))
        written: bytes = sink.getvalue().to_pybytes()
        return written


class FrameColumns:
    """A frame as a table of text.

    Parameters
    ----------
    source : FrameReader
        The frame.
    options : dict
        Roles of its columns, for ``Reader.table``.
    """

    def __init__(self, source: FrameReader, options: dict[str, Any]) -> None:
        self._source = source
        layout = Layout(",", header=True)._asdict()
        self.reader = Reader.table(header_of(source.names), **{**options, **layout})

    def blocks(self) -> Iterator[tuple[bytes, bool]]:
        """Return some rows at a time, as records with every field in quotes."""
        return ((block, True) for block in self._source.blocks(records))


def records(cells: Sequence[Sequence[Any]]) -> bytes:
    r"""Return columns of cells as records of a table.

    >>> records([["a", None], [1.0, 2.5]])
    b'"a","1"\n"","2.5"\n'
    """
    columns = [[quoted(field(cell)) for cell in column] for column in cells]
    return b"".join(b",".join(row) + b"\n" for row in zip(*columns, strict=True))


def field(cell: Any) -> str:
    """Return a cell as the field of a table: numbers exactly, whole numbers without a point, missing values empty.

    >>> [field(cell) for cell in (0.1, 3.0, True, " free ", None, float("nan"), ["free", "lunch"])]
    ['0.1', '3', 'True', 'free', '', '', 'free lunch']
    """
    cell = plain(cell)
    if cell is None:
        return ""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < EXACT else repr(cell)
    if isinstance(cell, (list, tuple)):
        return " ".join(map(field, cell))
    return str(cell).strip(" \t")


EXACT = 2.0**53
"""Below it, every whole float is exact."""


def plain(cell: Any) -> Any:
    """Return a cell as a value for JSON: None if it is missing, text for types that JSON does not have."""
    if hasattr(cell, "tolist"):  # a number or an array of numpy
        cell = cell.tolist()
    if isinstance(cell, (list, tuple)):
        return [plain(each) for each in cell]
    if isinstance(cell, dict):
        return {str(name): plain(each) for name, each in cell.items()}
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and cell != cell):  # noqa: PLR0124
        return None
    return cell if isinstance(cell, (bool, int, float, str)) else str(cell)
