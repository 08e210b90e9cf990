"""Get and set the constructor parameters of a learner, and write them in one line.

They work for linear learners and for experts, because every learner has an attribute for each parameter.
"""

from __future__ import annotations

import inspect
import reprlib
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

L = TypeVar("L")


def defaults_of(kind: type) -> dict[str, Any]:
    """Return the names and defaults of the parameters of a constructor."""
    return {name: each.default for name, each in inspect.signature(kind).parameters.items()}


def get_params(learner: Any) -> dict[str, Any]:
    """Return the parameters of a learner, by name."""
    return {name: vars(learner)[name] for name in defaults_of(type(learner))}


def set_params(learner: L, params: Mapping[str, Any]) -> L:
    """Set parameters; raise ValueError for a name that is not a parameter of the constructor."""
    known = list(defaults_of(type(learner)))
    for name, value in params.items():
        if name not in known:
            message = f"Invalid parameter {name!r} for estimator {learner}. Valid parameters are: {known!r}."
            raise ValueError(message)
        setattr(learner, name, value)
    return learner


def rebuilt(learner: L) -> L:
    """Return a fresh learner of the same class and parameters, which the constructor checks again."""
    made: Any = learner
    return type(learner)(**made.get_params())


def changed_params(learner: Any) -> dict[str, Any]:
    """The parameters that are not at their defaults."""
    known = defaults_of(type(learner))
    return {name: value for name, value in learner.get_params().items() if not _same(value, known[name])}


def in_a_line(parameters: Mapping[str, Any]) -> str:
    """Return ``name=value`` of each parameter; long values are shortened.

    >>> in_a_line({"eta": 0.5, "prior": list(range(1000))})
    'eta=0.5, prior=[0, 1, 2, 3, 4, 5, ...]'
    """
    return ", ".join(f"{name}={reprlib.repr(value)}" for name, value in parameters.items())


def _same(value: Any, default: Any) -> bool:
    """Whether both are equal; False for arrays, whose comparison is not one bool."""
    try:
        return bool(value is default or value == default)
    except ValueError:  # arrays
        return False
