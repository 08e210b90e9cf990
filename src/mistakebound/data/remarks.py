"""`BadLine` and `Remark`: what a reader notes about lines that it skipped, and about files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mistakebound.errors import InputError, Option, location, message_text

if TYPE_CHECKING:
    from collections.abc import Callable


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
