"""Exceptions with fields: the file, line, column and round, and the feature, value or option to blame.

A message may name an option. ``str`` writes it as it is passed in Python; a front end writes it in its own way.
"""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from typing_extensions import Self

    from mistakebound.play.ledger import Ledger


class Option(NamedTuple):
    """An option that a message names.

    >>> in_words(("it is not there: ", Option("labels", "pass labels=")), lambda option: f"say --{option.name}")
    'it is not there: say --labels'
    """

    name: str
    words: str
    """How it is passed in Python."""
    value: Any = None

    def __str__(self) -> str:
        return self.words


def setting(name: str, value: Any = None) -> Option:
    """An option with the value that a message advises; without one, its name alone.

    >>> str(setting("skip_bad", 2)), str(setting("loss")), setting("experts", ["A", "B"]).value
    ('skip_bad=2', 'loss', 'A,B')
    """
    if value is None:
        return Option(name, name, True)
    return Option(name, f"{name}={value!r}", ",".join(value) if isinstance(value, list) else value)


class Expert:
    """An expert that a message names: by its number, unless its name is known.

    >>> str(Expert(1)), str(Expert(1, "Bob")), str(Expert(1, forecast=True)), str(Expert(1, "Bob", forecast=True))
    ('expert 1', "expert 'Bob'", "expert 1's forecast", "the forecast of expert 'Bob'")
    """

    __slots__ = ("forecast", "name", "number")

    def __init__(self, number: int, name: Any = None, *, forecast: bool = False) -> None:
        self.number, self.name, self.forecast = number, name, forecast

    def named(self, name: Any) -> Expert:
        """The same expert, by name."""
        return Expert(self.number, name, forecast=self.forecast)

    def __str__(self) -> str:
        if self.name is None:
            return f"expert {self.number}" + ("'s forecast" if self.forecast else "")
        return ("the forecast of " if self.forecast else "") + f"expert {self.name!r}"


class OutcomeClass:
    """A class of outcomes that a message names: by its number, unless its label is known."""

    __slots__ = ("name", "number")

    def __init__(self, number: int, name: Any = None) -> None:
        self.number, self.name = number, name

    def named(self, name: Any) -> OutcomeClass:
        """The same class, by its label."""
        return OutcomeClass(self.number, name)

    def __str__(self) -> str:
        return f"class {self.number if self.name is None else repr(self.name)}"


if TYPE_CHECKING:
    Word = str | Option | Expert | OutcomeClass
    """A piece of a message."""


def in_words(words: Iterable[Word], of_option: Callable[[Option], str] = str) -> str:
    """A message, with each option as ``of_option`` writes it."""
    return "".join(of_option(each) if isinstance(each, Option) else str(each) for each in words)


def place_of(file: str | None, line: int | None = None, column: int | None = None, *, in_rows: bool = False) -> str:
    """The beginning of a message: where in a file it happened.

    >>> place_of("a.svm", 3, 7), place_of("a.parquet", 3, in_rows=True), place_of("a.svm"), place_of(None)
    ('a.svm:3:7: ', 'a.parquet: row 3: ', 'a.svm: ', '')
    """
    if not file:  # of a table in memory
        return f"row {line}: " if in_rows and line is not None else ""
    if line is None:
        return f"{file}: "
    if in_rows:
        return f"{file}: row {line}: "
    return f"{file}:{line}: " if column is None else f"{file}:{line}:{column}: "


class InputError(ValueError):
    """Bad input, or an option that does not fit it.

    Parameters
    ----------
    *words : str or Option
        What is wrong, and what to do about it.
    kind : str
        A short name for errors of this kind; empty if callers do not need to distinguish them.
    file, line, column : optional
        Where it was read; lines and columns count from 1.
    in_rows : bool
        Whether ``line`` is a row of a file of columns, such as Parquet.
    round : int, optional
        0-based round: within the batch for ``run`` and ``fit``, since the learner's first round for ``learn_one``.
    feature, value : optional
        The feature to blame, as the message names it, and its value; for a bad label, ``value`` is the label.

    Attributes
    ----------
    option : str or None
        The first option that the message names.
    """

    def __init__(
        self,
        *words: Word,
        kind: str = "",
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        in_rows: bool = False,
        round: int | None = None,  # noqa: A002 - the natural word
        feature: str | None = None,
        value: Any = None,
    ) -> None:
        super().__init__(*words)
        self.kind = kind
        self.file, self.line, self.column, self.in_rows = file, line, column, in_rows
        self.round = round
        self.feature, self.value = feature, value

    @property
    def words(self) -> tuple[Word, ...]:
        """The message without round and place."""
        return self.args

    @property
    def option(self) -> str | None:
        """The first option that the message names."""
        return next((each.name for each in self.words if isinstance(each, Option)), None)

    def __str__(self) -> str:
        return self.text()

    def text(self, of_option: Callable[[Option], str] = str, *, with_round: bool = True) -> str:
        """The message; ``of_option`` writes an option as the reader of the message passes it."""
        when = f"round {self.round}: " if with_round and self.round is not None else ""
        where = place_of(self.file, self.line, self.column, in_rows=self.in_rows)
        return when + where + in_words(self.words, of_option)

    def in_file(self, file: str, line: int | None = None, *, in_rows: bool = False) -> Self:
        """The same error, of this file and line."""
        self.file, self.line, self.in_rows = file, line, in_rows
        return self

    @property
    def expert(self) -> int | None:
        """The number of the first expert that the message names."""
        return next((each.number for each in self.words if isinstance(each, Expert)), None)

    def with_names(self, experts: Sequence[str] = (), classes: Sequence[Any] = ()) -> Self:
        """The same error, with experts and classes of outcomes called by name as far as names are known."""
        names = {Expert: experts, OutcomeClass: classes}

        def named(word: Word) -> Word:
            if not isinstance(word, (Expert, OutcomeClass)) or word.name is not None:
                return word
            known = names[type(word)]
            return word.named(known[word.number]) if word.number < len(known) else word

        self.args = tuple(named(word) for word in self.words)
        return self

    def at_round(self, round: int | None, ledger: Ledger | None = None) -> StreamError:  # noqa: A002
        """The same error, of this round of a stream."""
        kind = type(self) if isinstance(self, StreamError) else StreamError
        error = kind.__new__(kind, *self.words)  # subclasses have other parameters
        vars(error).update(vars(self))
        error.round, error.ledger = round, ledger
        return error


class StreamError(InputError):
    r"""Bad input in one round. Earlier rounds stay learned; the bad one changed nothing.

    Its fields are those of ``InputError`` (kind, file, line, column, round, feature, value, option), and a ledger.

    Parameters
    ----------
    ledger : Ledger, optional
        What happened before it.

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

    def __init__(self, *words: Word, ledger: Ledger | None = None, **fields: Any) -> None:
        super().__init__(*words, **fields)
        self.ledger = ledger


def as_stream_error(error: Exception, round: int | None, ledger: Ledger | None = None) -> StreamError:  # noqa: A002
    """Any error as a StreamError of this round."""
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
    """A cell of an array of objects that is not a number. A TypeError too, as scikit-learn expects of ``fit``."""


class OptionConflictError(InputError):
    """An option that was passed for a file contradicts how the model's own files were read.

    Attributes
    ----------
    option : str
        Its name.
    given, known : object
        What was passed, and what the model has.
    """

    def __init__(self, option: str, given: Any, known: Any) -> None:
        super().__init__(option, given, known, kind="option conflict")
        self.given, self.known = given, known

    @property
    def words(self) -> tuple[Word, ...]:
        """The message."""
        given, known = (Option(self.option, f"{self.option}={each!r}", each) for each in (self.given, self.known))
        remedy = f": leave {self.option} out to read these files in the same way"
        return (given, " contradicts the model, whose files were read with ", known, remedy)

    @property
    def option(self) -> str:
        """Its name."""
        return str(self.args[0])


class MissingColumnsError(InputError):
    """A table lacks columns that the model learned from.

    Attributes
    ----------
    missing, columns : list of str
        The columns that are missing, and those that there are.
    file : str
        The table that lacks them; empty if it is not known yet.
    label : str or None
        The model's column of labels: among those that are missing, it is the only one that cannot be ignored.
    counted : int
        How many columns the model's tables have, if neither they nor this one has a header; 0 otherwise.
    label_number : int
        Of such a table, the number of the column of labels, if that is the one to add; 0 otherwise.
    label_is_read : bool
        Whether labels are read from that column.
    first_line : str
        The header that the model expects, if line 1 of the table has none of its names; empty otherwise.
    """

    label: str | None = None
    counted: int = 0
    label_number: int = 0
    label_is_read: bool = True
    first_line: str = ""

    def __init__(self, missing: list[str], columns: list[str], file: str = "") -> None:
        super().__init__(kind="missing columns", file=file)
        self.args = (missing, columns, file)
        self.missing, self.columns = missing, columns

    @property
    def ignorable(self) -> list[str]:
        """The missing columns that can be ignored."""
        return [name for name in self.missing if name != self.label]

    @property
    def words(self) -> tuple[Word, ...]:
        """The message, with the option that does without the missing columns."""
        names = ", ".join(f'"{name}"' for name in self.ignorable[:IGNORED])
        more = ", ..." if len(self.ignorable) > IGNORED else ""
        ignore = Option("ignore", f'table={{"ignore": [{names}{more}]}}', self.ignorable)
        remedy = (" (", ignore, f" to do without {'it' if len(self.ignorable) == 1 else 'them'})")
        if self.counted:
            return (self._counted_words(), *(remedy if self.ignorable and not self.label_number else ()))
        if self.first_line:
            line = self.first_line if len(self.first_line) <= LONGEST_LINE else self.first_line[:LONGEST_LINE] + "..."
            fix = "; line 1 does not look like names of columns: if the table has none, "
            return (self._named_words(), f"{fix}put this line first, the columns of the model: {line}")
        return (self._named_words(), *(remedy if self.ignorable else ()))

    def _counted_words(self) -> str:
        here = len(self.columns)
        size = f"the table has {here} column{'' if here == 1 else 's'}, the model's tables had {self.counted} "
        if not self.label_number:
            numbers = ", ".join(name.removeprefix("c") for name in self.missing[:LISTED])
            more = ", ..." if len(self.missing) > LISTED else ""
            return f"{size}and no header; there is no column number {numbers}{more}"
        content = "" if self.label_is_read else ", its content does not matter"
        return f"{size}and no header; the label column (number {self.label_number}) must be there{content}"

    def _named_words(self) -> str:
        from difflib import get_close_matches  # noqa: PLC0415 - seldom needed

        names = []
        for name in self.missing[:LISTED]:
            near = get_close_matches(name, self.columns, n=1)
            names.append(f"{name!r} (did you mean {near[0]!r}?)" if near else repr(name))
        more = ", ..." if len(self.missing) > LISTED else ""
        there = ", ".join(self.columns[:LISTED]) + (", ..." if len(self.columns) > LISTED else "")
        return f"columns that the model learned from are missing: {', '.join(names)}{more}; the table has: {there}"


class ModelError(ValueError):
    """A file is not a valid model, ledger or certificate, or a learner cannot be saved; names the file and the reason.

    Attributes
    ----------
    field : str or None
        Path of the field that is not valid, such as ``kept.index``; None if the reason is not in one field.
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class CertificateError(ModelError):
    """A file is not a portable certificate.

    Attributes
    ----------
    path : str
        The file.
    """

    def __init__(self, message: str, *, path: str, field: str | None = None) -> None:
        super().__init__(message, field=field)
        self.path = path


class ResumeError(ModelError):
    """A run cannot go on from a model file.

    Attributes
    ----------
    path : str
        The model file; empty if it is not known yet.
    reason : str
        What is wrong, without the file.
    option : str or None
        The option that differs from that of the run that wrote the file, if it is one.
    before, now : object
        Its value then and now.
    """

    def __init__(
        self, reason: str, *, path: str = "", option: str | None = None, before: Any = None, now: Any = None
    ) -> None:
        super().__init__(f"cannot resume from {path}: {reason}" if path else reason)
        self.path, self.reason = path, reason
        self.option, self.before, self.now = option, before, now


class OptionError(InputError):
    """An option cannot be used, or not together with another one."""


LISTED = 20
"""So many names are listed in a message at most."""
IGNORED = 3
"""So many columns are shown as ignored in an option."""
LONGEST_LINE = 200
"""So much of a line of a table is shown in a message."""


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Add the file name to an OSError about a full disk, which has none."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            error.filename = path
        raise
