"""Errors about input and options, with fields: file, line, round, feature, value and option."""

from __future__ import annotations

import copyreg
from typing import TYPE_CHECKING, Any

from mistakebound.errors.message import Expert, Option, OutcomeClass, location, message_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Self

    from mistakebound.errors.message import MessagePart
    from mistakebound.play.ledger import Ledger


class InputError(ValueError):
    """Bad input, or an option that does not fit the input.

    Parameters
    ----------
    *message_parts : str, Option, Expert or OutcomeClass
        What is wrong, and what to do about it.
    kind : str
        A short name for errors of this kind; empty if callers do not need to distinguish them.
    file, line, column : optional
        The place in a file; lines and columns count from 1.
    in_rows : bool
        Whether ``line`` is a row of a file of columns, such as Parquet.
    round : int, optional
        0-based round: within the batch for ``run`` and ``fit``, since the learner's first round for ``learn_one``.
    feature, value : optional
        The name or number of the feature that is wrong, and its value; for a bad label, ``value`` is the label.

    Attributes
    ----------
    option : str or None
        The first option that the message names.
    """

    def __init__(
        self,
        *message_parts: MessagePart,
        kind: str = "",
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        in_rows: bool = False,
        round: int | None = None,  # noqa: A002 - the natural word
        feature: str | None = None,
        value: Any = None,
    ) -> None:
        super().__init__(*message_parts)
        self.kind = kind
        self.file, self.line, self.column, self.in_rows = file, line, column, in_rows
        self.round = round
        self.feature, self.value = feature, value

    @property
    def message_parts(self) -> tuple[MessagePart, ...]:
        """The message without the round and the place in the file."""
        return self.args

    @property
    def option(self) -> str | None:
        """The first option that the message names."""
        return next((part.name for part in self.message_parts if isinstance(part, Option)), None)

    @property
    def expert(self) -> int | None:
        """The number of the first expert that the message names."""
        return next((part.number for part in self.message_parts if isinstance(part, Expert)), None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to copy and unpickle this error: without ``__init__``, whose parameters differ in subclasses."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return self.text()

    def text(self, write_option: Callable[[Option], str] = str, *, with_round: bool = True) -> str:
        """Return the message; ``write_option`` writes each option that it names."""
        when = f"round {self.round}: " if with_round and self.round is not None else ""
        where = location(self.file, self.line, self.column, in_rows=self.in_rows)
        return when + where + message_text(self.message_parts, write_option)

    def in_file(self, file: str, line: int | None = None, *, in_rows: bool = False) -> Self:
        """Set the file and the line, and return this error."""
        self.file, self.line, self.in_rows = file, line, in_rows
        return self

    def with_names(self, experts: Sequence[str] = (), classes: Sequence[Any] = ()) -> Self:
        """Set the names of experts and of classes of outcomes, where they are known, and return this error."""
        names = {Expert: experts, OutcomeClass: classes}

        def named(part: MessagePart) -> MessagePart:
            if not isinstance(part, (Expert, OutcomeClass)) or part.name is not None:
                return part
            known = names[type(part)]
            return part.named(known[part.number]) if part.number < len(known) else part

        self.args = tuple(named(part) for part in self.message_parts)
        return self

    def at_round(self, round: int | None, ledger: Ledger | None = None) -> StreamError:  # noqa: A002
        """Return a copy of this error for this round of a stream."""
        kind = type(self) if isinstance(self, StreamError) else StreamError
        error = kind.__new__(kind, *self.message_parts)  # subclasses have other parameters
        vars(error).update(vars(self))
        error.round, error.ledger = round, ledger
        return error


class StreamError(InputError):
    r"""Bad input in one round. Earlier rounds stay learned; the bad round changed nothing.

    It has the fields of ``InputError`` (kind, file, line, column, round, feature, value, option), and a ledger.

    Parameters
    ----------
    ledger : Ledger, optional
        The rounds before the bad one.

    Examples
    --------
    >>> import mistakebound as mb, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.svm"
    >>> _ = file.write_text("1 1:1\n-1 2:x\n")
    >>> try:
    ...     mb.Perceptron().run(mb.Source(file))
    ... except mb.StreamError as error:
    ...     print(error.kind, error.line, error.column, error.round, error.ledger.rounds)
    bad line 2 6 1 1
    """

    def __init__(self, *message_parts: MessagePart, ledger: Ledger | None = None, **fields: Any) -> None:
        super().__init__(*message_parts, **fields)
        self.ledger = ledger


def as_stream_error(error: Exception, round: int | None, ledger: Ledger | None = None) -> StreamError:  # noqa: A002
    """Return any error as a StreamError of this round."""
    found = error if isinstance(error, InputError) else InputError(str(error))
    return found.at_round(round, ledger)


class TicketError(StreamError):
    """``tell`` was called with something that is not a waiting prediction of this learner.

    Attributes
    ----------
    reason : str
        ``not a ticket``: not an `Asked`; ``unknown``: made by another learner; ``used``: its outcome was passed before,
        or it was made by a copy of this learner.
    learner : str
        The class of the learner.
    """

    def __init__(self, message: str, *, reason: str, learner: str, round: int) -> None:  # noqa: A002
        super().__init__(message, round=round)
        self.reason, self.learner = reason, learner


class CellError(StreamError, TypeError):
    """A cell of an array of objects is not a number. Also a TypeError, which scikit-learn expects from ``fit``."""


class OptionError(InputError):
    """An option cannot be used, or not together with another option."""


class OptionConflictError(InputError):
    """An option was passed with another value than the model's files were read with.

    Attributes
    ----------
    option : str
        Its name.
    given, known : object
        The value that was passed, and the model's value.
    """

    def __init__(self, option: str, given: Any, known: Any) -> None:
        super().__init__(option, given, known, kind="option conflict")
        self.given, self.known = given, known

    @property
    def message_parts(self) -> tuple[MessagePart, ...]:
        """The message."""
        given, known = (Option(self.option, f"{self.option}={each!r}", each) for each in (self.given, self.known))
        remedy = f"; leave {self.option} out to read these files in the same way"
        return (given, " contradicts the model, whose files were read with ", known, remedy)

    @property
    def option(self) -> str:
        """Its name."""
        return str(self.args[0])
