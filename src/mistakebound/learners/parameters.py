"""Get and set the constructor parameters of a learner, and write them in one line.

These functions serve linear learners and experts alike: a learner keeps each parameter in an attribute of its name.
"""

from __future__ import annotations

import inspect
import reprlib
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

L = TypeVar("L")


def defaults_of(kind: type) -> dict[str, Any]:
    """Names and defaults of what a constructor takes."""
    return {name: each.default for name, each in inspect.signature(kind).parameters.items()}


def get_params(learner: Any) -> dict[str, Any]:
    """The parameters of a learner, by name."""
    return {name: getattr(learner, name) for name in defaults_of(type(learner))}


def set_params(learner: L, params: Mapping[str, Any]) -> L:
    """Change parameters; ValueError for a name that the constructor does not take."""
    known = list(defaults_of(type(learner)))
    for name, value in params.items():
        if name not in known:
            message = f"Invalid parameter {name!r} for estimator {learner}. Valid parameters are: {known!r}."
            raise ValueError(message)
        setattr(learner, name, value)
    return learner


def rebuilt(learner: L) -> L:
    """A learner of the same class and parameters that has not played; the constructor checks them again."""
    made: Any = learner
    return type(learner)(**made.get_params())


def changed_params(learner: Any) -> dict[str, Any]:
    """The parameters that are not at their defaults."""
    known = defaults_of(type(learner))
    return {name: value for name, value in learner.get_params().items() if not _same(value, known[name])}


def in_a_line(parameters: Mapping[str, Any]) -> str:
    """``name=value`` of each; what is long is cut short.

    >>> in_a_line({"eta": 0.5, "prior": list(range(1000))})
    'eta=0.5, prior=[0, 1, 2, 3, 4, 5, ...]'
    """
    return ", ".join(f"{name}={reprlib.repr(value)}" for name, value in parameters.items())


def _same(value: Any, default: Any) -> bool:
    """Whether both are the same; a prior may be an array, which does not say so in a word."""
    try:
        return bool(value is default or value == default)
    except ValueError:  # arrays
        return False
