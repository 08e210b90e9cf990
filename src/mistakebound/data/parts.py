"""`Part`: some parsed rows of a stream. `Place`: the position in the files at which they begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound.data.label_codes import MOST
from mistakebound.data.labels import NO_LABEL, plain_label
from mistakebound.errors import InputError, location

if TYPE_CHECKING:
    from mistakebound._core import Chunk
    from mistakebound.data.options import Reading
    from mistakebound.errors import Option


class Place(NamedTuple):
    """Where a part of a stream begins: what it takes to read on from there."""

    file: int = 0
    """Its place among the files."""
    byte: int = 0
    """Of the file's text, unpacked; of a file of columns, of the table that it is turned into."""
    line: int = 0
    """Lines of the file before it; of a file of columns, rows."""
    rows: int = 0
    """Good examples before it, in all files."""
    skipped: int = 0
    """Bad lines left out before it, in all files."""


START = Place()


class Part(NamedTuple):
    """Some rows of one file, parsed; ``rows`` of them are good, and after them comes ``error``, if there is one."""

    chunk: Chunk
    file: str
    begin: Place
    rows: int
    error: InputError | None
    labels: list[bytes]
    """The different ones, or the first 255."""
    label_ids: bytes
    """Of each row, its place among them, or 255."""
    in_rows: bool = False
    """Whether places are rows, as in Parquet, rather than lines of a text."""
    first: int = 0
    """What the file calls the feature at position 0."""
    unlabelled: tuple[str | Option, ...] = (NO_LABEL,)
    """The message for a row without a label."""
    label_key: str = ""
    """Of JSON, where the label should be."""
    other_labels: tuple[bytes, ...] = ()
    """Of those rows whose place is 255: two classes are long exceeded, but a matrix may have them all."""
    reading: Reading | None = None
    """What a model that learns from it should keep of how it was read."""

    def label(self, row: int) -> Any:
        """Label of a row."""
        place = self.label_ids[row]
        text = self.labels[place] if place < MOST else self.other_labels[self.label_ids.count(place, 0, row)]
        return plain_label(text)

    def error_at(self, row: int, error: InputError | str) -> InputError:
        """What is wrong with a row, with its file and line."""
        error = error if isinstance(error, InputError) else InputError(error)
        return error.in_file(self.file, self.line(row), in_rows=self.in_rows)

    def no_label(self, row: int) -> InputError:
        """The error for this row, which has no label."""
        words = self.unlabelled
        if self.label_key:
            from mistakebound.data.json_keys import keys_of, listed  # noqa: PLC0415 - seldom needed

            line = bytes(self.chunk.text).split(b"\n")[self.chunk.line(row) - 1 :][:1]
            if keys := keys_of(line[0]) if line else []:  # a cache has no lines
                what = "its label is empty" if self.label_key in keys else f"it has no key {self.label_key!r}"
                words = (*words, f": {what}; there are: {listed(keys)}")
        return self.error_at(row, InputError(*words, kind="no label"))

    def skipped_before(self, row: int) -> int:
        """How many bad lines were left out before this row, in all files."""
        return self.begin.skipped + sum(before <= row for before, _, _, _ in self.chunk.bad)

    def where(self, row: int) -> str:
        """File and line of a row."""
        return location(self.file, self.line(row), in_rows=self.in_rows).removesuffix(": ")

    def line(self, row: int) -> int:
        """Line of a row in its file, counted from 1; of a file of columns, the row in it."""
        if self.in_rows:
            return self.begin.line + row + self.skipped_before(row) - self.begin.skipped + 1
        return self.begin.line + self.chunk.line(row)
