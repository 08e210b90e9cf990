"""One thread at a time in a learner."""

from __future__ import annotations

import threading
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Given = ParamSpec("Given")
Self = TypeVar("Self", bound="Guarded")
Result = TypeVar("Result")


class Guarded:
    """Has a lock of its own, which copies and pickles do not share."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock."""
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """With a new one."""
        self.__dict__.update(state)
        self._lock = threading.RLock()


def guarded(method: Callable[Concatenate[Self, Given], Result]) -> Callable[Concatenate[Self, Given], Result]:
    """Let one thread at a time into the methods of an object."""

    @wraps(method)
    def alone(self: Self, /, *given: Given.args, **named: Given.kwargs) -> Result:
        with self._lock:
            return method(self, *given, **named)

    return alone
