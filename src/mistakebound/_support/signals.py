"""Delay Ctrl-C (SIGINT) and SIGTERM until the step at hand is complete."""

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
"""Seconds in which a signal may come again and means the same one: `timeout` tells a process and then its group."""


class Uninterrupted:
    """Let Ctrl-C wait until this is done, so that what was learned is also counted, written and known to be behind.

    Waiting for input stays outside of it: there, Ctrl-C works at once. The handler stays once it is set, for to change
    it at every part of a file would take longer than to learn some. What it raises has the signal's number.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.waiting = 0
        self.last_signal = -math.inf
        self.asked = False

    def listen(self) -> None:
        """Take both signals, where nobody else does."""
        if self.asked:
            return
        for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
            if signal.getsignal(number) in (usual, signal.SIG_DFL):
                with suppress(ValueError):  # only the main thread may, and only that one is interrupted
                    signal.signal(number, self._note)
        self.asked = True

    def ignore_further_signals(self) -> None:
        """If a signal has come, ignore what comes while the process ends: the exit code must stay that of the first."""
        if self.last_signal > -math.inf:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take both signals for as long as this lasts, for a caller whose process is not ours; in the main thread."""
        if threading.current_thread() is not threading.main_thread():  # it must not change what that one listens to
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self.listen()
            yield
        finally:
            self.asked = False
            for number, handler in before.items():
                if signal.getsignal(number) == self._note and handler != self._note:
                    signal.signal(number, handler)

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():  # signals come to that one only
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
        """Whether this signal repeats the one just before it. Call it exactly once per signal."""
        now = time.monotonic()
        if now - self.last_signal < ECHO:
            return True
        self.last_signal = now
        return False

    def _note(self, number: int, _: Any) -> None:
        if self.is_echo():
            return
        if self.depth == 0:
            raise KeyboardInterrupt(number)
        self.waiting = number


uninterrupted = Uninterrupted()


@contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` at the first Ctrl-C or SIGTERM, which then is how a job ends, and not how it breaks off.

    A second signal, if it is not an echo of the first one, ends the process. Only the main thread can listen to
    signals; in any other, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    ending = False

    def end(number: int, _: Any) -> None:
        nonlocal ending
        if uninterrupted.is_echo():
            return
        if ending:  # asked for again: something takes too long
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        ending = True
        stop()

    heeded = [each for each in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interrupt_behind(error: BaseException) -> KeyboardInterrupt | None:
    """Ctrl-C, if that is what an error came of: whoever was in the midst of importing tells it in his own way."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__cause__ or found.__context__
    return found


def exit_code(stopped: KeyboardInterrupt) -> int:
    """The exit code that a shell uses for this signal: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + int(stopped.args[0] if stopped.args else signal.SIGINT)
