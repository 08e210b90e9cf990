"""A learner in a line: what it was told, and how far it has come."""

from __future__ import annotations

import inspect
import reprlib
from typing import TYPE_CHECKING, Any

from mistakebound.aggregation.ledger import count

if TYPE_CHECKING:
    from collections.abc import Mapping


def told(learner: Any, **defaults: Any) -> dict[str, Any]:
    """The parameters of a learner that are not as they would be if nobody had said anything.

    ``defaults`` are those that its signature does not tell.
    """
    takes = inspect.signature(type(learner)).parameters.values()
    known = {each.name: each.default for each in takes if each.kind is not each.VAR_KEYWORD} | defaults
    return {name: getattr(learner, name) for name in known if not _same(getattr(learner, name), known[name])}


def shown(learner: Any, parameters: Mapping[str, Any], rounds: int, experts: int) -> str:
    """Say it in a line; what is long is cut short."""
    said = ", ".join(f"{name}={reprlib.repr(value)}" for name, value in parameters.items())
    return f"<{type(learner).__name__}({said}): {count(rounds, 'round')}, {count(experts, 'expert')}>"


def _same(value: Any, default: Any) -> bool:
    """Whether both are the same; a prior may be an array, which does not say so in a word."""
    return value is default or (type(value) is type(default) and bool(value == default))
