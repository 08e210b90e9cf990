"""Ctrl-C at a moment of our choosing."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until this is done, so that what was learned is also counted, written and known to be behind.

    Waiting for input stays outside of it: there, Ctrl-C must work at once.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # ignored, or within another such block
        return
    waiting: list[int] = []

    def note(number: int, frame: Any) -> None:  # noqa: ARG001 - as signals have it
        waiting.append(number)

    try:
        signal.signal(signal.SIGINT, note)
    except ValueError:  # only the main thread may, and only that one is interrupted
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if waiting:
        raise KeyboardInterrupt
