"""Turn a fault that the core found in a row into an error with fields and a message."""

from __future__ import annotations

from typing import NamedTuple

from mistakebound._core import FaultKind
from mistakebound.errors import StreamError

VALUE_FAULTS = frozenset((FaultKind.NOT_FINITE, FaultKind.NOT_BINARY, FaultKind.TOO_LARGE, FaultKind.TOO_SMALL))
"""Kinds of faults of a value."""
FEATURE_FAULTS = VALUE_FAULTS | {FaultKind.INDEX}
"""Kinds of faults of a feature or its value. The others are faults of the whole row."""


class RowFault(NamedTuple):
    """What is wrong with a row. ``feature`` and ``value`` are set if it is the fault of one feature."""

    kind: str
    message: str
    feature: str | None = None
    value: float | None = None

    def error(self) -> StreamError:
        """Return the error to raise."""
        return StreamError(self.message, kind=self.kind, feature=self.feature, value=self.value)


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
        Whether the value is a sum, because the row has the feature more than once.

    Examples
    --------
    >>> row_fault(FaultKind.NOT_BINARY, 3, 0.5).message
    'feature 3 is 0.5; with this rule, every value must be 0 or 1'
    """
    if kind not in FEATURE_FAULTS:
        return RowFault(kind.name.lower(), ROW_MESSAGES[kind])
    shown = None if of_sum or kind not in VALUE_FAULTS else value
    subject = (
        f"feature {feature!r} is given more than once, and the sum of its values" if of_sum else f"feature {feature!r}"
    )
    description, requirement = FEATURE_MESSAGES[kind]
    message = f"{subject} is {description if shown is None else shown}{requirement}"
    return RowFault(kind.name.lower(), message, str(feature), shown)


ROW_MESSAGES = {
    FaultKind.LABEL: "the label is not one of the learner's two labels",
    FaultKind.OVERFLOW: "the score overflows; scale the values down",
    FaultKind.MALFORMED: "the indptr of the sparse matrix is not valid",
    FaultKind.WEIGHT: "the weight must be a number from 0 to 1e9, also times that of its label in class_weight",
}
FEATURE_MESSAGES = {
    FaultKind.INDEX: ("out of range", ""),
    FaultKind.NOT_FINITE: ("NaN or infinite", "; values must be finite, not NaN or infinity"),
    FaultKind.NOT_BINARY: ("not binary", "; with this rule, every value must be 0 or 1"),
    FaultKind.TOO_LARGE: (
        "too large",
        "; absolute values must be at most 1e30: scale the feature down",
    ),
    FaultKind.TOO_SMALL: (
        "too small",
        "; absolute values other than 0 must be at least 1e-30: scale the feature up, or set such values to 0",
    ),
}
"""A description of the value, for when the value is not known, and what is required of it."""
