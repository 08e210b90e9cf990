"""Check the labels of a `MultilabelPanel`: those that it can learn and save, and lists that may be rows of a matrix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mistakebound._support.schema import LABEL_TYPES
from mistakebound.data.class_labels import ClassLabels
from mistakebound.data.labels import plain
from mistakebound.errors import OptionError, StreamError, setting


def check_label(label: Any) -> None:
    """Raise StreamError if something is not a label, or a label that a model file could not store."""
    ClassLabels().id_of(label)
    if type(label) not in LABEL_TYPES:
        message = f"a label must be a number or text, got {label!r} of type {type(label).__name__}"
        raise StreamError(message, kind="label", value=label)


def check_label_list(classes: Any) -> tuple[Any, ...]:
    """Return the labels of the parameter ``classes``; raise OptionError if they are not different labels.

    >>> check_label_list(["a", 1]), check_label_list(range(2))
    (('a', 1), (0, 1))
    """
    if isinstance(classes, (str, bytes)) or not isinstance(classes, Iterable):
        raise OptionError(setting("classes"), f" must be a list of labels, got {classes!r}")
    found = tuple(map(plain, classes))
    try:
        for label in found:
            check_label(label)
    except StreamError as error:
        raise OptionError(setting("classes"), f" must be labels: {error}") from None
    if len({*found}) < len(found):
        raise OptionError(setting("classes"), f" must be different labels, got {classes!r}")
    return found


def columns_of(Y: Any) -> int:
    """Return the number of columns, if Y is a list of equally long lists of 0 and 1; otherwise 0.

    >>> columns_of([[0, 1, 1], (1, 0, 0)]), columns_of([[0, 1], [1]]), columns_of([{0, 1}])
    (3, 0, 0)
    """
    if not isinstance(Y, (list, tuple)) or not all(isinstance(row, (list, tuple)) for row in Y):
        return 0
    widths = {len(row) for row in Y}
    if len(widths) != 1 or not all(
        type(plain(cell)) in (bool, int, float) and cell in (0, 1) for row in Y for cell in row
    ):
        return 0
    return widths.pop()


def is_ambiguous(Y: Any, known: int) -> bool:
    """Return whether lists of 0 and 1 are rather rows of a matrix than lists of the labels 0 and 1.

    They are if they have a column for each of the ``known`` labels, or if a row has a number twice.

    >>> is_ambiguous([[0, 1, 1]], 0), is_ambiguous([[0, 1]], 2), is_ambiguous([[0, 1]], 0)
    (True, True, False)
    """
    columns = columns_of(Y)
    return columns > 0 and (columns == known or any(len({*row}) < columns for row in Y))
