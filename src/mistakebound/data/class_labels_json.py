"""Read the labels of several classes from JSON: those of model files and of ledgers."""

from __future__ import annotations

from typing import Any

from mistakebound._support.schema import LABEL_TYPES, from_json, items, need
from mistakebound.data.class_labels import ClassLabels
from mistakebound.errors import ModelError


def read_class_labels(given: Any, seen: Any, path: str = "") -> ClassLabels:
    """Return the labels of parsed JSON: those that were given, and those that have occurred, by class id.

    Raises ModelError if they are not valid; ``path`` comes before the names of its fields.
    """
    places = f"{path}given", f"{path}seen"
    known, occurred = (
        [from_json(label, place) for label in items(each, place)]
        for each, place in zip((given, seen), places, strict=True)
    )
    stored = all(type(label) in LABEL_TYPES for label in (*known, *occurred))
    need(stored, "labels must be bool, int, float or str", path.rstrip(".") or "seen")
    try:
        labels = ClassLabels(known or None)
        for label in occurred:
            labels.id_of(label)
    except ValueError as error:
        raise ModelError(str(error), field=places[1]) from None
    need(len(labels.ids) == len(occurred), "a label occurs twice", places[1])
    return labels
