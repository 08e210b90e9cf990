"""Ctrl-C at a moment of our choosing."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import Any


class Uninterrupted:
    """Let Ctrl-C wait until this is done, so that what was learned is also counted, written and known to be behind.

    Waiting for input stays outside of it: there, Ctrl-C works at once. The handler stays once it is set, for to change
    it at every part of a file would take longer than to learn some.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.waiting = False
        self.asked = False

    def __enter__(self) -> None:
        if not self.asked:
            self.asked = True
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                with suppress(ValueError):  # only the main thread may, and only that one is interrupted
                    signal.signal(signal.SIGINT, self._note)
        self.depth += 1

    def __exit__(self, kind: object, *rest: object) -> None:
        self.depth -= 1
        if self.waiting and self.depth == 0:
            self.waiting = False
            if kind is None:
                raise KeyboardInterrupt

    def _note(self, number: int, frame: Any) -> None:
        if self.depth == 0:
            signal.default_int_handler(number, frame)
        self.waiting = True


uninterrupted = Uninterrupted()
