"""Whole processes for benchmarks: on one core, with their files in the page cache, and their memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mistakebound.bench.peers import process

if TYPE_CHECKING:
    from functools import partial


def on_one_core(*command: str | Path) -> None:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        process(*command)
    finally:
        os.sched_setaffinity(0, cores)


def read_once(command: partial[None]) -> None:
    """Read the files that a command names, and the caches beside them, into the page cache."""
    block = bytearray(1 << 20)
    for word in command.args:
        for file in word.parent.glob(f"{word.name}*") if isinstance(word, Path) else ():
            with file.open("rb", buffering=0) as whole:
                while whole.readinto(block):
                    pass


def peak_memory(*command: str | Path) -> float:
    """Return the largest resident memory of a command, in MB.

    A small process starts it, because the memory of a child is at first that of its parent.
    """
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    words = [sys.executable, "-c", code, *(str(word) for word in command)]
    return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout) / 1024
