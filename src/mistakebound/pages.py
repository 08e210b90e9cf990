"""Pages of a mapped file: given back once they are read, so that memory does not grow with the file."""

from __future__ import annotations

import mmap

AT_ONCE = 8 << 20
"""Bytes given back at a time: every other processor must be told, and waited for."""


class Pages:
    """What of a mapped file is still held."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self._mapped = mapped
        self._given_back = 0

    def give_back(self, end: int) -> None:
        """Nobody reads before this byte any more; whoever does all the same has it read from the file again."""
        end = end // mmap.PAGESIZE * mmap.PAGESIZE
        if end >= self._given_back + AT_ONCE and hasattr(self._mapped, "madvise"):
            self._mapped.madvise(mmap.MADV_DONTNEED, self._given_back, end - self._given_back)
            self._given_back = end
