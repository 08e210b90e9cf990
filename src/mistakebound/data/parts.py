"""`Part`: some parsed rows of a stream. `Place`: the position in the files where they begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound.data.label_codes import MOST
from mistakebound.data.labels import NO_LABEL, plain_label
from mistakebound.errors import BY_HEADER, InputError, location

if TYPE_CHECKING:
    from mistakebound._core import Chunk
    from mistakebound._support.arrays import FloatArray
    from mistakebound.data.options import Reading
    from mistakebound.errors import Option


class Place(NamedTuple):
    """Where a part of a stream begins: all that is needed to continue reading there."""

    file: int = 0
    """The number of the file, from 0."""
    byte: int = 0
    """The byte in the decompressed text; for a file of columns, in the table that it is converted to."""
    line: int = 0
    """The number of lines of the file before it; for a file of columns, rows."""
    rows: int = 0
    """The number of good examples before it, in all files."""
    skipped: int = 0
    """The number of bad lines skipped before it, in all files."""


START = Place()


class Part(NamedTuple):
    """Some parsed rows of one file: ``rows`` good ones, and ``error`` if the next line is bad."""

    chunk: Chunk
    file: str
    begin: Place
    rows: int
    error: InputError | None
    labels: list[bytes]
    """The different labels, or the first 255 of them."""
    label_ids: bytes
    """For each row, the position of its label in ``labels``, or 255."""
    in_rows: bool = False
    """Whether the file has rows, as in Parquet, instead of lines of text."""
    first: int = 0
    """The number that the file uses for the feature at position 0."""
    unlabelled: tuple[str | Option, ...] = (NO_LABEL,)
    """The message for a row without a label."""
    label_key: str = ""
    """The key of the label in JSON lines."""
    other_labels: tuple[bytes, ...] = ()
    """The labels of the rows with 255 in ``label_ids``. Two classes do not need them, but a matrix may."""
    reading: Reading | None = None
    """The options of reading that a model stores."""
    possible_header: tuple[str, ...] = ()
    """The cells of line 1, if it was read as an example but could be a header."""

    @property
    def positive(self) -> str | None:
        """The label that is learned against all others, if the option ``positive`` is set."""
        return None if self.reading is None else self.reading.positive

    def label(self, row: int) -> Any:
        """Return the label of a row."""
        code = self.label_ids[row]
        text = self.labels[code] if code < MOST else self.other_labels[self.label_ids.count(code, 0, row)]
        return plain_label(text)

    def codes(self, first: int, last: int) -> tuple[bytes, tuple[bytes, ...]]:
        """Return ``label_ids`` of some rows, and those of ``other_labels`` that belong to them."""
        if not self.other_labels:
            return self.label_ids[first:last], ()
        before = self.label_ids.count(MOST, 0, first)
        return self.label_ids[first:last], self.other_labels[before:]

    def weights(self, first: int, last: int) -> FloatArray | None:
        """Return the weights of some rows; None if all rows of the part have the weight 1."""
        found = self.chunk.weights
        return None if found is None else found[first:last]

    def error_at(self, row: int, error: InputError | str) -> InputError:
        """Return an error with the file and line of a row."""
        error = error if isinstance(error, InputError) else InputError(error)
        return error.in_file(self.file, self.line(row), in_rows=self.in_rows)

    def no_label(self, row: int) -> InputError:
        """Return the error for a row without a label."""
        words = self.unlabelled
        if self.label_key:
            from mistakebound.data.json_keys import keys_of, listed  # noqa: PLC0415 - seldom needed

            line = bytes(self.chunk.text).split(b"\n")[self.chunk.line(row) - 1 :][:1]
            if keys := keys_of(line[0]) if line else []:  # a cache does not store the lines
                reason = "the label is empty" if self.label_key in keys else f"there is no key {self.label_key!r}"
                words = (*words, f": {reason}; the keys are: {listed(keys)}")
        return self.error_at(row, InputError(*words, kind="no label"))

    def bad_label(self, row: int, error: InputError, classes: tuple[Any, Any]) -> InputError:
        """Return the error for the label of a row.

        If there are three labels, and one of the first two is in line 1, then line 1 may be a header.
        """
        if error.kind == "third label" and any(label in self.possible_header for label in classes):
            error.args = (*error.args, "; or line 1 is a header: set ", BY_HEADER)
        return self.error_at(row, error)

    def skipped_before(self, row: int) -> int:
        """Return the number of bad lines skipped before this row, in all files."""
        return self.begin.skipped + sum(before <= row for before, *_ in self.chunk.bad)

    def where(self, row: int) -> str:
        """Return the file and line of a row, as text."""
        return location(self.file, self.line(row), in_rows=self.in_rows).removesuffix(": ")

    def line(self, row: int) -> int:
        """Return the line of a row in its file, counted from 1; for a file of columns, the row."""
        if self.in_rows:
            return self.begin.line + row + self.skipped_before(row) - self.begin.skipped + 1
        return self.begin.line + self.chunk.line(row)
