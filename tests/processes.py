"""Run the command as a process, and wait for conditions instead of times."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

DEADLINE = 300.0
"""Seconds after which a test fails instead of hanging. It is much longer than needed, also on a busy machine."""


def wait_until(condition: Callable[[], Any], process: subprocess.Popen[Any] | None = None) -> None:
    """Poll until the condition holds. Fail at once if the process has ended and the condition does not hold."""
    end, pause = time.monotonic() + DEADLINE, threading.Event()
    while not condition():
        if process is not None and process.poll() is not None:
            assert condition(), f"the process ended early, with exit code {process.returncode}"
            return
        assert time.monotonic() < end, "the condition never held"
        pause.wait(0.01)


PROGRAM = (sys.executable, "-m", "mistakebound")


@contextmanager
def running(*words: Any, program: tuple[str, ...] = PROGRAM, **more: Any) -> Iterator[Any]:
    """Start ``mistakebound`` with these arguments. The process is ended at the end of the block."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | more
    with subprocess.Popen([*program, *map(str, words)], **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def lines_of(path: Path) -> int:
    """Return the complete lines of a file, or none if it does not exist yet."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


@contextmanager
def opened_for(process: subprocess.Popen[Any], fifo: Path) -> Iterator[IO[bytes]]:
    """Open a named pipe for writing, unbuffered, as soon as the process reads from it."""
    found = []

    def is_opened() -> bool:
        try:
            found.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:  # there is no reader yet
            return False
        return True

    wait_until(is_opened, process)
    os.set_blocking(found[0], True)
    with os.fdopen(found[0], "wb", buffering=0) as pipe:
        yield pipe


def is_read(pipe: IO[Any]) -> bool:
    """Return whether everything that was written to a pipe has been read."""
    import fcntl
    import termios

    return not any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
