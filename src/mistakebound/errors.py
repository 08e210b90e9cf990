"""What went wrong: in a stream, in words that name the round and the feature; or with a file that holds a model."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.play.ledger import Ledger


class StreamError(ValueError):
    """Bad input in one round. Earlier rounds stay learned; the bad one changed nothing.

    Attributes
    ----------
    round : int or None
        0-based round: within the batch for ``run`` and ``fit``, in the learner's life for ``learn_one``.
    ledger : Ledger or None
        What happened before it.
    skippable : bool
        Whether reading could go on after it: a bad line of a file.
    """

    skippable = False

    def __init__(self, message: str, *, round: int | None = None, ledger: Ledger | None = None) -> None:  # noqa: A002
        super().__init__(f"round {round}: {message}" if round is not None else message)
        self.round = round
        self.ledger = ledger


class TicketError(StreamError):
    """What was passed to ``tell`` is not a prediction of this learner that waits for its outcome.

    Attributes
    ----------
    reason : str
        ``not a ticket``; ``unknown``: it was not asked of this learner; ``used``: its outcome was told before, or it
        was asked of a copy of this learner.
    learner : str
        The class of the learner.
    """

    def __init__(self, message: str, *, reason: str, learner: str, round: int) -> None:  # noqa: A002
        super().__init__(message, round=round)
        self.reason, self.learner = reason, learner


class CellError(StreamError, TypeError):
    """A cell of an array of objects that is no number. A TypeError too, as scikit-learn expects of ``fit``."""


class OptionConflictError(ValueError):
    """An option that was passed for a file contradicts how the model's own files were read.

    Attributes
    ----------
    option : str
        Its name.
    given, known : object
        What was passed, and what the model has.
    """

    def __init__(self, option: str, given: Any, known: Any) -> None:
        super().__init__(
            f"{option}={given!r} contradicts the model, whose files were read with {option}={known!r}: "
            f"leave {option} out to read these files in the same way"
        )
        self.option, self.given, self.known = option, given, known


class MissingColumnsError(ValueError):
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
        super().__init__(missing, columns, file)
        self.missing, self.columns, self.file = missing, columns, file

    @property
    def ignorable(self) -> list[str]:
        """The missing columns that can be ignored."""
        return [name for name in self.missing if name != self.label]

    def __str__(self) -> str:
        names = ", ".join(f'"{name}"' for name in self.ignorable[:IGNORED])
        more = ", ..." if len(self.ignorable) > IGNORED else ""
        return self.words(f'table={{"ignore": [{names}{more}]}}')

    def words(self, ignore: str) -> str:
        """The message, with ``ignore`` for the option that does without the missing columns."""
        where = f"{self.file}: " if self.file else ""
        remedy = f" ({ignore} to do without {'it' if len(self.ignorable) == 1 else 'them'})" if self.ignorable else ""
        if self.counted:
            return where + self._counted_words() + ("" if self.label_number else remedy)
        if self.first_line:
            line = self.first_line if len(self.first_line) <= LONGEST_LINE else self.first_line[:LONGEST_LINE] + "..."
            remedy = (
                "; line 1 does not look like names of columns: if the table has none, "
                f"put this line first, the columns of the model: {line}"
            )
        return where + self._named_words() + remedy

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


class OptionError(ValueError):
    """An option cannot be used, or not together with another one.

    Attributes
    ----------
    template : str
        The reason, with the name of each option in braces.
    """

    def __init__(self, template: str) -> None:
        super().__init__(template.replace("{", "").replace("}", ""))
        self.template = template


LISTED = 20
"""So many names are listed in a message at most."""
IGNORED = 3
"""So many columns are shown as ignored in an option."""
LONGEST_LINE = 200
"""So much of a line of a table is shown in a message."""


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Say which file it is that there is no room for; the system does not."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            error.filename = path
        raise
