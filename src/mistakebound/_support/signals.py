"""Delay Ctrl-C (SIGINT) and SIGTERM until the current step is complete."""

from __future__ import annotations

import math
import signal
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ECHO = 1.0
"""A second signal within this many seconds is ignored: `timeout` signals a process, and then its group again."""


class Uninterrupted:
    """A context that delays Ctrl-C and SIGTERM until its end: what was learned is then also counted and written.

    Waiting for input stays outside of it, so that Ctrl-C works there at once. The signal handlers stay installed,
    because installing them for every part of a file would take longer than learning a short part. The KeyboardInterrupt
    that is raised has the number of the signal.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.waiting = 0
        self.last_signal = -math.inf
        self.is_listening = False

    def listen(self) -> None:
        """Install the handlers of both signals, unless the caller has handlers of its own."""
        if self.is_listening:
            return
        for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
            if signal.getsignal(number) in (usual, signal.SIG_DFL):
                with suppress(ValueError):  # only the main thread may install handlers, and only it is interrupted
                    signal.signal(number, self._handle)
        self.is_listening = True

    def ignore_further_signals(self) -> None:
        """Ignore signals while the process ends after a signal: the exit code must stay that of the first one."""
        if self.last_signal > -math.inf:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Install the handlers during a call from Python, and restore the old ones; in the main thread only."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self.listen()
            yield
        finally:
            self.is_listening = False
            for number, handler in before.items():
                if signal.getsignal(number) == self._handle and handler != self._handle:
                    signal.signal(number, handler)

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():  # Python runs handlers in that thread only
            self.listen()
            self.depth += 1

    def __exit__(self, kind: object, *rest: object) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self.depth -= 1
        if self.waiting and self.depth == 0:
            number, self.waiting = self.waiting, 0
            if kind is None:
                raise KeyboardInterrupt(number)

    def is_echo(self) -> bool:
        """Return whether this signal repeats the one just before it. Call it exactly once per signal."""
        now = time.monotonic()
        if now - self.last_signal < ECHO:
            return True
        self.last_signal = now
        return False

    def _handle(self, number: int, _: Any) -> None:
        if self.is_echo():
            return
        if self.depth == 0:
            raise KeyboardInterrupt(number)
        self.waiting = number


uninterrupted = Uninterrupted()


@contextmanager
def stop_at_signal(stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` at the first Ctrl-C or SIGTERM: the job then ends normally, and is not interrupted.

    A second signal, if it is not an echo of the first one, ends the process. In other threads than the main one,
    signals are not handled.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    ending = False

    def end(number: int, _: Any) -> None:
        nonlocal ending
        if uninterrupted.is_echo():
            return
        if ending:  # the user asks again, because stopping takes too long
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        ending = True
        stop()

    handled = [each for each in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interrupt_cause(error: BaseException) -> KeyboardInterrupt | None:
    """Return the KeyboardInterrupt that caused an error, if one did: an interrupted import raises an ImportError."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__cause__ or found.__context__
    return found


def exit_code(stopped: KeyboardInterrupt) -> int:
    """Return the exit code that a shell uses for this signal: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + int(stopped.args[0] if stopped.args else signal.SIGINT)
