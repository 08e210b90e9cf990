"""Parameters of a learner over experts: all of them, a learner that is built with them, and those worth showing."""

from __future__ import annotations

import inspect
import reprlib
from typing import TYPE_CHECKING, Any, TypeVar

from mistakebound.play.expert_ledger import count

if TYPE_CHECKING:
    from collections.abc import Mapping

L = TypeVar("L")


def rebuilt(learner: L, *more: str, **instead: Any) -> L:
    """A learner of the same class with the same parameters that has not played. The constructor checks them again.

    ``more`` are parameters that the signature does not name; ``instead`` are values that replace those of the learner.
    """
    names = [*_signature(learner), *more]
    return type(learner)(**{name: getattr(learner, name) for name in names} | instead)


def told(learner: Any, **defaults: Any) -> dict[str, Any]:
    """The parameters of a learner that are not as they would be if nobody had said anything.

    ``defaults`` are those that its signature does not tell.
    """
    known = _signature(learner) | defaults
    return {name: getattr(learner, name) for name in known if not _same(getattr(learner, name), known[name])}


def shown(learner: Any, parameters: Mapping[str, Any], rounds: int, experts: int) -> str:
    """Say it in a line; what is long is cut short."""
    said = ", ".join(f"{name}={reprlib.repr(value)}" for name, value in parameters.items())
    return f"<{type(learner).__name__}({said}): {count(rounds, 'round')}, {count(experts, 'expert')}>"


def _signature(learner: Any) -> dict[str, Any]:
    """Names and defaults of what the constructor takes."""
    takes = inspect.signature(type(learner)).parameters.values()
    return {each.name: each.default for each in takes if each.kind is not each.VAR_KEYWORD}


def _same(value: Any, default: Any) -> bool:
    """Whether both are the same; a prior may be an array, which does not say so in a word."""
    return value is default or (type(value) is type(default) and bool(value == default))
