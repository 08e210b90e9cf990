"""`ReadReport`: what a reader has read: skipped lines, remarks, columns, bytes, and the options in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mistakebound._support.text import many
from mistakebound.errors import InputError, Option, location, message_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mistakebound.data.options import Reading
    from mistakebound.data.reader import Notes


class BadLine(NamedTuple):
    """A line that cannot be parsed."""

    words: tuple[str | Option, ...]
    file: str = ""
    line: int | None = None
    """Counted from 1; of a file of columns, the row."""
    column: int | None = None
    in_rows: bool = False

    def __str__(self) -> str:
        return self.text()

    def text(self, write_option: Callable[[Option], str] = str) -> str:
        """Where it is and what is wrong; ``write_option`` writes each option that it names."""
        return location(self.file, self.line, self.column, in_rows=self.in_rows) + message_text(
            self.words, write_option
        )

    def error(self) -> InputError:
        """The error to raise if the line cannot be skipped."""
        return InputError(
            *self.words, kind="bad line", file=self.file, line=self.line, column=self.column, in_rows=self.in_rows
        )


class Remark(NamedTuple):
    """A note on the files that is not an error."""

    kind: str
    words: tuple[str | Option, ...]
    file: str = ""

    def __str__(self) -> str:
        return self.text()

    def text(self, write_option: Callable[[Option], str] = str) -> str:
        """The remark in words; ``write_option`` writes each option that it names."""
        return message_text(self.words, write_option)


class ReadReport:
    r"""What a ``StreamReader`` has read so far. It is read-only.

    Parameters
    ----------
    notes : Notes
        Where the reader records what it reads.

    Examples
    --------
    >>> import mistakebound as mb, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.vw"
    >>> _ = file.write_text("1 2.0 | a b\nx | a\n-1 | c\n")
    >>> report = mb.Perceptron().run(mb.Source(file, skip_bad=1)).reading
    >>> report
    <ReadReport: 25 bytes, 1 skipped, 1 remark>
    >>> report.skipped[0].line, str(report.remarks[0])
    (2, 'importance weights are ignored: every line counts once')
    """

    __slots__ = ("_notes",)

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    @classmethod
    def from_texts(cls, skipped: Iterable[str], remarks: Iterable[str]) -> ReadReport:
        """The report of an earlier process, from the texts that a checkpoint stores."""
        from mistakebound.data.reader import Notes  # noqa: PLC0415 - reader imports this module

        lines = [BadLine((words,)) for words in skipped]
        return cls(Notes(lines, (Remark("earlier", (words,)) for words in remarks)))

    @property
    def skipped(self) -> tuple[BadLine, ...]:
        """The bad lines that were left out."""
        return tuple(self._notes.skipped)

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Other remarks: a file has no examples, importance weights are not used, a followed file was replaced."""
        return tuple(self._notes.remarks)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that is read now; empty for files without columns."""
        return tuple(self._notes.columns)

    @property
    def bytes(self) -> int:
        """Bytes of text that were parsed, after unpacking."""
        return self._notes.bytes

    @property
    def done(self) -> int:
        """Bytes of the files that were read."""
        return self._notes.done

    @property
    def options(self) -> Reading | None:
        """The options that a model stores, to read other files in the same way; None before reading has begun."""
        return self._notes.options

    def __repr__(self) -> str:
        counts = f"{len(self._notes.skipped)} skipped, {many(len(self._notes.remarks), 'remark')}"
        return f"<ReadReport: {self.bytes} bytes, {counts}>"
