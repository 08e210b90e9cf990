"""The parts of an error message: text, options, experts and classes of outcomes, and the place in a file.

An option is written as an argument in Python and as a flag on the command line. An expert or a class is written by its
number until its name is known. So a message is stored in parts, and converted to text when it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Option(NamedTuple):
    """An option that a message names.

    >>> parts = ("there are no labels: ", Option("labels", "set labels="))
    >>> message_text(parts), message_text(parts, lambda option: f"set --{option.name}")
    ('there are no labels: set labels=', 'there are no labels: set --labels')
    """

    name: str
    in_python: str
    """How a Python caller passes it."""
    value: Any = None
    """The value that the message recommends; None if it recommends none, True if the option takes no value."""

    def __str__(self) -> str:
        return self.in_python


def setting(name: str, value: Any = None) -> Option:
    """Return an option with the value that a message recommends; without a value, the name alone.

    >>> str(setting("skip_bad", 2)), str(setting("loss")), setting("experts", ["A", "B"]).value
    ('skip_bad=2', 'loss', 'A,B')
    """
    if value is None:
        return Option(name, name, True)
    return Option(name, f"{name}={value!r}", ",".join(value) if isinstance(value, list) else value)


BY_HEADER = Option("header", 'table={"header": True}', value=True)
"""Whether line 1 of a table is a header."""


class Expert:
    """An expert that a message names: by its name, or by its number if the name is not known.

    >>> str(Expert(1)), str(Expert(1, "Bob")), str(Expert(1, forecast=True)), str(Expert(1, "Bob", forecast=True))
    ('expert 1', "expert 'Bob'", "expert 1's forecast", "the forecast of expert 'Bob'")
    """

    __slots__ = ("forecast", "name", "number")

    def __init__(self, number: int, name: Any = None, *, forecast: bool = False) -> None:
        self.number, self.name, self.forecast = number, name, forecast

    def named(self, name: Any) -> Expert:
        """Return the same expert with its name."""
        return Expert(self.number, name, forecast=self.forecast)

    def __str__(self) -> str:
        if self.name is None:
            return f"expert {self.number}" + ("'s forecast" if self.forecast else "")
        return ("the forecast of " if self.forecast else "") + f"expert {self.name!r}"


class OutcomeClass:
    """A class of outcomes that a message names: by its label, or by its number if the label is not known."""

    __slots__ = ("name", "number")

    def __init__(self, number: int, name: Any = None) -> None:
        self.number, self.name = number, name

    def named(self, name: Any) -> OutcomeClass:
        """Return the same class with its label."""
        return OutcomeClass(self.number, name)

    def __str__(self) -> str:
        return f"class {self.number if self.name is None else repr(self.name)}"


MessagePart = str | Option | Expert | OutcomeClass
"""A part of a message."""


def message_text(parts: Iterable[MessagePart], write_option: Callable[[Option], str] = str) -> str:
    """Return a message as text; ``write_option`` writes its options."""
    return "".join(write_option(part) if isinstance(part, Option) else str(part) for part in parts)


def location(file: str | None, line: int | None = None, column: int | None = None, *, in_rows: bool = False) -> str:
    """Return the beginning of a message: the place in a file.

    >>> location("a.svm", 3, 7), location("a.parquet", 3, in_rows=True), location("a.svm"), location(None)
    ('a.svm:3:7: ', 'a.parquet: row 3: ', 'a.svm: ', '')
    """
    if not file:  # a table in memory
        return f"row {line}: " if in_rows and line is not None else ""
    if line is None:
        return f"{file}: "
    if in_rows:
        return f"{file}: row {line}: "
    return f"{file}:{line}: " if column is None else f"{file}:{line}:{column}: "


ALIKE = 0.65
"""The least similarity of a name and its misspelling: "dya" and "day" have 0.67, "hour" and "colour" 0.6."""


def closest(word: str, known: Iterable[str]) -> str:
    """Return the known name that is most similar to a word, without regard to case; empty if none is similar.

    >>> closest("clik", ["day", "click"]), closest("HOUR", ["hour", "colour"]), closest("colour", ["hour"])
    ('click', 'hour', '')
    """
    from difflib import get_close_matches  # noqa: PLC0415 - seldom needed

    names = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), names, n=1, cutoff=ALIKE)
    return names[near[0]] if near else ""
