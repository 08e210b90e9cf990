"""Batches of rows of a `MultilabelPanel`: of a matrix, named examples, or a table; each is read once for all labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistakebound._core import Chunk
from mistakebound.errors import StreamError, as_stream_error
from mistakebound.learners.linear_play import check_named
from mistakebound.learners.rounds import as_cells
from mistakebound.learners.streams import as_stream
from mistakebound.play.engine import part_fault
from mistakebound.play.inputs import Csr, Dense, Named, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound._core import Engine, Fault
    from mistakebound.data.options import Reading
    from mistakebound.data.parts import Part
    from mistakebound.errors import InputError
    from mistakebound.learners.linear_play import LinearPlay
    from mistakebound.learners.panel import Panel
    from mistakebound.play.inputs import Positional

NAME = "MultilabelPanel"
TOGETHER = 4096
"""Named examples that are read before they are learned."""


class Batch:
    """Rows that are learned together.

    Attributes
    ----------
    size : int
        Number of rows.
    width : int or None
        Number of features by position; None for features with names.
    broken : InputError or None
        What is wrong with the row after these.
    reading : Reading or None
        How a table was read.
    """

    def __init__(self, size: int, width: int | None, broken: InputError | None) -> None:
        self.size, self.width, self.broken = size, width, broken
        self.reading: Reading | None = None

    def play(self, core: Engine, engines: list[Engine], rows: slice, *arrays: Any) -> tuple[int, Fault | None]:
        """Learn some of the rows; return how many were learned, and the fault of the next one, or None."""
        raise NotImplementedError

    def error_at(self, row: int, fault: Fault, play: LinearPlay) -> InputError:
        """Return the error for the fault of a row."""
        raise NotImplementedError


class Matrix(Batch):
    """The rows of a matrix."""

    def __init__(self, rows: Positional) -> None:
        super().__init__(len(rows), rows.width, StreamError(rows.broken, kind="broken") if rows.broken else None)
        self.rows = rows

    def _part(self, rows: slice) -> Positional:
        if isinstance(self.rows, Dense):
            return Dense(self.rows.x[rows])
        has = self.rows
        return Csr(has.indptr[rows.start : rows.stop + 1], has.index, has.value, has.width)

    def play(self, core: Engine, engines: list[Engine], rows: slice, *arrays: Any) -> tuple[int, Fault | None]:
        """Learn some of the rows."""
        part = self._part(rows)
        if isinstance(part, Dense):
            return core.play_dense_labels(engines, part.x, *arrays)
        return core.play_csr_labels(engines, part.indptr, part.index, part.value, *arrays)

    def error_at(self, row: int, fault: Fault, play: LinearPlay) -> InputError:
        """Return the error for the fault of a row."""
        # The positions of a sparse matrix are those of all rows, those of a dense one begin with the part.
        part = self.rows if isinstance(self.rows, Csr) else self._part(slice(row - fault.row, len(self.rows)))
        return play.engine.error_of(part, fault) or StreamError("the row is not valid")


class Examples(Batch):
    """Named examples, as a chunk: those before the first that cannot be read, and at most TOGETHER of them."""

    def __init__(self, examples: Iterator[Any]) -> None:
        self.examples: list[Any] = []
        self.chunk = Chunk.of_examples()
        broken: InputError | None = None
        for x in examples:
            try:
                check_named(x, NAME)
                self.chunk.add_example(x)
            except ValueError as error:
                broken = as_stream_error(error, None)
                break
            self.examples.append(x)
            if len(self.examples) == TOGETHER:
                break
        self.chunk.end_examples()
        super().__init__(len(self.examples), None, broken)

    def play(self, core: Engine, engines: list[Engine], rows: slice, *arrays: Any) -> tuple[int, Fault | None]:
        """Learn some of the examples."""
        return core.play_chunk_labels(engines, self.chunk, rows.start, *arrays)

    def error_at(self, row: int, fault: Fault, play: LinearPlay) -> InputError:
        """Return the error for the fault of an example: that of a panel that reads the example alone."""
        try:
            play.engine.score_named(self.examples[row])
        except StreamError as error:
            return error
        return StreamError(f"the example is not valid ({fault.kind.name.lower()})")


class Table(Batch):
    """A part of a table."""

    def __init__(self, part: Part) -> None:
        super().__init__(part.rows, None, part.error)
        self.part, self.reading = part, part.reading

    def play(self, core: Engine, engines: list[Engine], rows: slice, *arrays: Any) -> tuple[int, Fault | None]:
        """Learn some of the rows."""
        return core.play_chunk_labels(engines, self.part.chunk, rows.start, *arrays)

    def error_at(self, row: int, fault: Fault, play: LinearPlay) -> InputError:  # noqa: ARG002
        """Return the error for the fault of a row."""
        found = part_fault(self.part, fault)
        return self.part.error_at(row, found.error() if found else StreamError("the row is not valid"))


def batches(panel: Panel, X: Any) -> Iterator[Batch]:
    """Yield the rows of X in batches. ``panel`` decides how a DataFrame, and dicts after tables, are read."""
    if (stream := as_stream(X, reads_columns=panel._reads_columns() or not panel.has_learned)) is not None:
        for part in panel.open_stream(stream, label_may_be_missing=True):
            yield Table(part)
        return
    rows = read_rows(X)
    if not isinstance(rows, Named):
        yield Matrix(rows)
        return
    yield from batches_of_examples(panel, rows.examples)


def batches_of_examples(panel: Panel, examples: Iterable[Any]) -> Iterator[Examples]:
    """Yield named examples in batches."""
    left = iter(as_cells(panel, examples))
    while (batch := Examples(left)).size or batch.broken:
        yield batch
