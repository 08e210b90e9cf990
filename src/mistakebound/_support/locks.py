"""A lock for objects whose state is in Python: one thread at a time, and safe after a fork.

The core has a lock of its own (``core/bindings/lock.hpp``), and needs it: its objects work without the GIL, and waiting
for one of them must give the GIL up. This one is for objects whose state is in Python, which a thread changes in
several steps. Both refuse an object that a fork has caught half-way.
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
    """A re-entrant lock. A copy or a pickle of it is another lock, which is free; so is that of a forked process.

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
                "this process was forked while another thread was inside this object: it stopped half-way here and "
                "cannot be used"
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
        """Take a new lock: the old one may belong to a thread that this process does not have."""
        self._process = os.getpid()
        if self._depth and self._owner == threading.get_ident():
            return  # this thread is inside, and goes on here
        self._torn = self._depth > 0
        self._lock, self._depth = threading.RLock(), 0

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


class Locked(Protocol):
    """An object with a lock of its own."""

    _lock: Lock


Owner = TypeVar("Owner", bound=Locked)


def guarded(method: Callable[Concatenate[Owner, Given], Result]) -> Callable[Concatenate[Owner, Given], Result]:
    """Let one thread at a time into the methods of an object."""

    @wraps(method)
    def alone(self: Owner, /, *given: Given.args, **named: Given.kwargs) -> Result:
        with self._lock:
            return method(self, *given, **named)

    return alone


def snapshot(learner: Locked) -> dict[str, Any]:
    """The attributes of an object at one moment, for copies and pickles."""
    with learner._lock:  # noqa: SLF001
        return dict(vars(learner))
