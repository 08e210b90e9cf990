"""Ctrl-C, and the end of a service (SIGTERM), at a moment of our choosing."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import Any


class Uninterrupted:
    """Let Ctrl-C wait until this is done, so that what was learned is also counted, written and known to be behind.

    Waiting for input stays outside of it: there, Ctrl-C works at once. The handler stays once it is set, for to change
    it at every part of a file would take longer than to learn some. What it raises has the signal's number.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.waiting = 0
        self.heard = 0
        self.asked = False

    def listen(self) -> None:
        """Take both signals, in a process of its own; otherwise only where nobody else does."""
        for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
            if signal.getsignal(number) in (usual, signal.SIG_DFL):
                with suppress(ValueError):  # only the main thread may, and only that one is interrupted
                    signal.signal(number, self._note)
        self.asked = True

    def __enter__(self) -> None:
        if not self.asked:
            self.listen()
        self.depth += 1

    def __exit__(self, kind: object, *rest: object) -> None:
        self.depth -= 1
        if self.waiting and self.depth == 0:
            number, self.waiting = self.waiting, 0
            if kind is None:
                raise KeyboardInterrupt(number)

    def _note(self, number: int, _: Any) -> None:
        self.heard = number
        if self.depth == 0:
            raise KeyboardInterrupt(number)
        self.waiting = number


uninterrupted = Uninterrupted()


def exit_code(stopped: KeyboardInterrupt) -> int:
    """As of a shell, by the signal's number: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + int(stopped.args[0] if stopped.args else signal.SIGINT)
