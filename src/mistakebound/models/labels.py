"""Convert the labels of a learner to JSON, and back: two labels, or those of several classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistakebound._support.schema import LABEL_TYPES, fields, from_json, is_list_of, need
from mistakebound.data.class_labels import ClassLabels
from mistakebound.data.class_labels_json import read_class_labels
from mistakebound.data.labels import Labels, check_classes
from mistakebound.errors import ModelError
from mistakebound.models.parameters import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

SEVERAL = ("given", "seen")
"""Fields of the labels of several classes."""


def describe_labels(labels: Labels | ClassLabels) -> dict[str, Any]:
    """Return labels for JSON; raise ModelError if a file cannot store their types."""
    if isinstance(labels, ClassLabels):
        return {name: _encode_all(each) for name, each in zip(SEVERAL, (labels.given, labels.seen), strict=True)}
    negative, positive = _encode_all(labels.pair)
    return {"negative": negative, "positive": positive, "known": list(labels.signs.values())}


def _encode_all(labels: Sequence[Any]) -> list[Any]:
    for label in labels:
        message = f"label {label!r} is of type {type(label).__name__}; a model file can store bool, int, float and str"
        need(type(label) in LABEL_TYPES, message, "labels")
    return list(map(encode, labels))


def restore_labels(described: Any) -> Labels | ClassLabels:
    """Return the labels that ``describe_labels`` wrote; raise ModelError if they are not valid."""
    if isinstance(described, dict) and set(described) == set(SEVERAL):
        return read_class_labels(described["given"], described["seen"], "labels.")
    *stored, known = fields(described, "negative", "positive", "known", path="labels")
    pair = _decode_all(stored)
    signs = is_list_of(int, known) and sorted(known) in ([], [-1], [1], [-1, 1])
    need(signs, "labels.known must be a list of different signs ±1", "labels.known")
    try:
        labels = Labels(check_classes(pair))
    except ValueError as error:
        raise ModelError(str(error), field="labels") from None
    labels.signs = {labels.decode(sign > 0): sign for sign in known}
    return labels


def _decode_all(stored: list[Any]) -> list[Any]:
    labels = [from_json(label, "labels") for label in stored]
    need(all(type(label) in LABEL_TYPES for label in labels), "labels must be bool, int, float or str", "labels")
    return labels
