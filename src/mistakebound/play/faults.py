"""Turn a fault that the core found in a row into an error with fields and a message."""

from __future__ import annotations

from typing import NamedTuple

from mistakebound._core import FaultKind
from mistakebound.errors import StreamError

OF_A_VALUE = frozenset((FaultKind.NOT_FINITE, FaultKind.NOT_BINARY, FaultKind.TOO_LARGE, FaultKind.TOO_SMALL))
"""Kinds that one value is to blame for."""
OF_A_FEATURE = OF_A_VALUE | {FaultKind.INDEX}
"""Kinds that one feature is to blame for."""


class RowFault(NamedTuple):
    """What is wrong with a row: a short name for it, the words, and if one feature is to blame, which and its value."""

    kind: str
    words: str
    feature: str | None = None
    value: float | None = None

    def error(self) -> StreamError:
        """The error to raise."""
        return StreamError(self.words, kind=self.kind, feature=self.feature, value=self.value)


def row_fault(
    kind: FaultKind, feature: str | int = "", value: float | None = None, *, of_sum: bool = False
) -> RowFault:
    """Describe a fault of the core.

    Parameters
    ----------
    feature : str or int
        The name or number of the feature that is wrong.
    value : float or None
        Its value, if it is known.
    of_sum : bool
        Whether the value is the sum of several, because the feature comes more than once in the row.

    Examples
    --------
    >>> row_fault(FaultKind.NOT_BINARY, 3, 0.5).words
    'feature 3 is 0.5; this rule needs every value to be 0 or 1'
    """
    if kind not in OF_A_FEATURE:
        return RowFault(kind.name.lower(), OF_A_ROW[kind])
    shown = None if of_sum or kind not in OF_A_VALUE else value
    subject = (
        f"feature {feature!r} is given more than once, and the sum of its values" if of_sum else f"feature {feature!r}"
    )
    found, needed = OF_ONE_FEATURE[kind]
    words = f"{subject} is {found if shown is None else shown}{needed}"
    return RowFault(kind.name.lower(), words, str(feature), shown)


OF_A_ROW = {
    FaultKind.LABEL: "label is neither of the learner's two labels",
    FaultKind.OVERFLOW: "the score overflows; scale the values down",
    FaultKind.MALFORMED: "the indptr of the sparse matrix is not valid",
}
OF_ONE_FEATURE = {
    FaultKind.INDEX: ("out of range", ""),
    FaultKind.NOT_FINITE: ("NaN or infinite", "; Input contains NaN or infinity, values must be finite"),
    FaultKind.NOT_BINARY: ("not binary", "; this rule needs every value to be 0 or 1"),
    FaultKind.TOO_LARGE: (
        "too large",
        "; values above 1e30 in size are too large to learn from: scale the feature down",
    ),
    FaultKind.TOO_SMALL: (
        "too small",
        "; values below 1e-30 in size, other than 0, are too small to learn from: scale the feature up, or make them 0",
    ),
}
"""What a value is, if it is not shown, and what is needed."""
