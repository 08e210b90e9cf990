"""A learner by the name and the parameters that were given."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound.data.labels import plain_label

if TYPE_CHECKING:
    from mistakebound.learners.linear import LinearLearner

LEARNERS: dict[str, str] = {
    "perceptron": "Perceptron",
    "winnow": "Winnow",
    "normalized-winnow": "NormalizedWinnow",
    "balanced-winnow": "BalancedWinnow",
    "pnorm": "PNormPerceptron",
    "elimination": "Elimination",
}
DEFAULTS: dict[str, dict[str, float]] = {"balanced-winnow": {"update_margin": 0.0003}}
"""Where the command line's default is not the textbook's: an update margin serves real data better."""


def make(learner: str, parameters: dict[str, Any], *, keep: bool) -> LinearLearner:
    """A learner by its name, with the parameters that were given."""
    given = {name: value for name, value in parameters.items() if value is not None}
    if "classes" in given:
        given["classes"] = two_labels(given["classes"])
    kind = getattr(mb, LEARNERS[learner])
    takes = inspect.signature(kind).parameters
    for name in given:
        if name not in takes:
            message = f"--{name.replace('_', '-')} is not a parameter of {learner}"
            raise click.UsageError(message)
    options: dict[str, Any] = {**DEFAULTS.get(learner, {}), **given}
    if not keep:
        options["keep_bytes"] = 0  # nothing will ask for the mistaken examples
    made: LinearLearner = kind(**options)
    return made


def two_labels(text: str) -> tuple[Any, ...]:
    """The labels of ``--classes``."""
    labels = tuple(plain_label(label.strip().encode()) for label in text.split(","))
    if len(labels) != 2 or labels[0] == labels[1] or None in labels:
        message = f"--classes takes two different labels, NEGATIVE,POSITIVE, not {text!r}"
        raise click.UsageError(message)
    return labels
