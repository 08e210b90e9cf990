"""A lock for objects with state in Python: one thread at a time, and safe after a fork.

A thread may change the state of such an object in several steps, and no other thread may see it in between. The core
has its own lock (``core/bindings/lock.hpp``), because its objects work without the GIL, and a thread that waits for
them must release the GIL. Both locks raise RuntimeError if a fork happened while a thread was changing the object.
"""

from __future__ import annotations

import os
import threading
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Lock:
    """A re-entrant lock. A copy, a pickle and the lock in a forked process are new locks that no thread holds.

    Examples
    --------
    >>> with Lock() as lock, lock:  # the same thread may enter twice
    ...     pass
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._owner = 0
        self._depth = 0
        self._torn = False

    def __enter__(self) -> Self:
        if self._process != os.getpid():
            self._after_fork()
        if self._torn:
            message = (
                "this process was forked while another thread was changing this object: its state here is incomplete, "
                "so it cannot be used"
            )
            raise RuntimeError(message)
        self._lock.acquire()
        self._owner = threading.get_ident()
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        self._lock.release()

    def _after_fork(self) -> None:
        """Make a new lock: the old one may be held by a thread that does not exist in this process."""
        self._process = os.getpid()
        if self._depth and self._owner == threading.get_ident():
            return  # this thread holds the lock, and continues in the new process
        self._torn = self._depth > 0
        self._lock, self._depth = threading.RLock(), 0

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


class Locked(Protocol):
    """An object that has a lock."""

    _lock: Lock


Owner = TypeVar("Owner", bound=Locked)


def guarded(method: Callable[Concatenate[Owner, Given], Result]) -> Callable[Concatenate[Owner, Given], Result]:
    """Decorate a method: it holds the lock of its object, so that one thread at a time runs it."""

    @wraps(method)
    def locked(self: Owner, /, *given: Given.args, **named: Given.kwargs) -> Result:
        with self._lock:
            return method(self, *given, **named)

    return locked


def snapshot(learner: Locked) -> dict[str, Any]:
    """Return the attributes of an object at one moment, for copies and pickles."""
    with learner._lock:  # noqa: SLF001
        return dict(vars(learner))
