"""Pages of a mapped file: given back once they are read, so that memory does not grow with the file."""

from __future__ import annotations

import mmap

from mistakebound._core import give_back

AT_ONCE = 4 << 20
"""Bytes given back at a time: every other processor must be told, and waited for."""


class Pages:
    """What of a mapped file is still held. To give it back takes a while, so it is left to the threads that parse."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self.mapped = mapped
        self._read = self._given_back = 0

    def read_before(self, end: int) -> None:
        """Nobody reads before this byte any more; whoever does all the same has it read from the file again."""
        self._read = max(end, 0) // mmap.PAGESIZE * mmap.PAGESIZE
        if self._read >= self._given_back + 2 * AT_ONCE:  # nobody parses
            self.give_back()

    def give_back(self) -> None:
        """Give back what is read, if that is enough. Should two threads give back the same, no harm is done."""
        begin, end = self._given_back, self._read
        if end >= begin + AT_ONCE:
            self._given_back = end
            give_back(self.mapped, begin, end)
