"""What went wrong: in a stream, in words that name the round and the feature; or with a file that holds a model."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.ledger import Ledger


class StreamError(ValueError):
    """Bad input in one round. Earlier rounds stay learned; the bad one changed nothing.

    Attributes
    ----------
    round : int or None
        0-based round: within the batch for ``run`` and ``fit``, in the learner's life for ``learn_one``.
    ledger : Ledger or None
        What happened before it.
    """

    def __init__(self, message: str, *, round: int | None = None, ledger: Ledger | None = None) -> None:  # noqa: A002
        super().__init__(f"round {round}: {message}" if round is not None else message)
        self.round = round
        self.ledger = ledger


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
    """

    def __init__(self, missing: list[str], columns: list[str], file: str = "") -> None:
        super().__init__(missing, columns, file)
        self.missing, self.columns, self.file = missing, columns, file

    def __str__(self) -> str:
        from difflib import get_close_matches  # noqa: PLC0415 - seldom needed

        names = []
        for name in self.missing[:LISTED]:
            near = get_close_matches(name, self.columns, n=1)
            names.append(f"{name!r} (did you mean {near[0]!r}?)" if near else repr(name))
        more = ", ..." if len(self.missing) > LISTED else ""
        there = ", ".join(self.columns[:LISTED]) + (", ..." if len(self.columns) > LISTED else "")
        return (
            f"{self.file}{': ' if self.file else ''}columns that the model learned from are missing: "
            f"{', '.join(names)}{more}; the table has: {there} (to predict without a column, ignore it)"
        )


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


LISTED = 20
"""So many names are listed in a message at most."""

OF_A_VALUE = (3, 4, 6, 10)
"""Faults of the core that one value is to blame for (the numbers are those of ``core/example.hpp``)."""
OF_A_SUM = 16
"""Added to the fault of a value that is the sum of several, for its feature comes more than once."""


def names_a_feature(fault: int) -> bool:
    """Whether one feature is to blame for a fault of the core."""
    return fault == 2 or fault % OF_A_SUM in OF_A_VALUE


def words_of(fault: int, feature: str, value: object = None) -> str:
    """Sentence for a fault of the core; ``value`` is that of the feature, if it is known."""
    if fault > OF_A_SUM:
        fault, value, feature = fault - OF_A_SUM, None, f"{feature} is given more than once, and the sum of its values"
    shown = "" if value is None or fault not in OF_A_VALUE else f" {value}"
    return {
        1: f"label{shown} is neither of the learner's two labels",
        2: f"{feature} is out of range",
        3: f"{feature} is{shown or ' NaN or infinite'}; Input contains NaN or infinity, values must be finite",
        4: f"{feature} is{shown or ' not binary'}; this rule needs every value to be 0 or 1",
        6: f"{feature} is{shown or ' too large'}; values above 1e30 in size are too large to learn from: "
        "scale the feature down",
        7: "the score overflows; scale the values down",
        8: "the indptr of the sparse matrix is not valid",
        10: f"{feature} is{shown or ' too small'}; values below 1e-30 in size, other than 0, are too small to learn "
        "from: scale the feature up, or make them 0",
    }[fault]


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Say which file it is that there is no room for; the system does not."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            error.filename = path
        raise
