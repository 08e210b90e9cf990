"""`BadLine`: a line that cannot be parsed. `Remark`: a note about a file that is not an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mistakebound._support.text import did_you_mean
from mistakebound.errors import InputError, Option, location, message_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


POSITIVE = Option("positive", "positive")


def no_positive(positive: str, others: Iterable[str]) -> tuple[str | Option, ...]:
    """Return the message that no line has the label ``positive``; ``others`` are labels that occurred.

    >>> message_text(no_positive("Churn", ["stay", "churn"]))
    "no line has the label 'Churn'; positive must be written as in the files; did you mean 'churn'?"
    """
    hint = did_you_mean(positive, [*others])
    return f"no line has the label {positive!r}; ", POSITIVE, f" must be written as in the files{hint}"


class BadLine(NamedTuple):
    """A line that cannot be parsed."""

    words: tuple[str | Option, ...]
    file: str = ""
    line: int | None = None
    """Counted from 1; for a file of columns, the row."""
    column: int | None = None
    in_rows: bool = False
    reason: str = ""
    """Why it is bad: ``syntax``, ``not utf8``, ``label``, ``no label``, ``index``, ``zero index``, ``value``,
    ``repeated`` or ``fields``; empty if it is not known."""
    feature: str | None = None
    """The feature or column that is wrong."""
    value: str | None = None
    """The text that is wrong, as it is written in the line."""

    def __str__(self) -> str:
        return self.text()

    def text(self, write_option: Callable[[Option], str] = str) -> str:
        """Return the place and the reason; ``write_option`` writes each option that it names."""
        where = location(self.file, self.line, self.column, in_rows=self.in_rows)
        return where + message_text(self.words, write_option)

    def error(self) -> InputError:
        """Return the error to raise if the line is not skipped."""
        return InputError(
            *self.words,
            kind="bad line",
            file=self.file,
            line=self.line,
            column=self.column,
            in_rows=self.in_rows,
            feature=self.feature,
            value=self.value,
        )


class Remark(NamedTuple):
    """A note about a file that is not an error."""

    kind: str
    words: tuple[str | Option, ...]
    file: str = ""

    def __str__(self) -> str:
        return self.text()

    def text(self, write_option: Callable[[Option], str] = str) -> str:
        """Return the remark; ``write_option`` writes each option that it names."""
        return message_text(self.words, write_option)
