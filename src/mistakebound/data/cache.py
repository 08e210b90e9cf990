"""A binary cache of parsed files: the next run does not parse them again, and gets the same stream bit for bit.

A cache stores the size and modification time of its files, and the options that they were read with. If any of these
differs, the cache is written again. Every chunk has a checksum. A new cache is written to a temporary file, which
replaces the old one when it is complete; so several runs may write the same cache at the same time. A file that is not
a cache is never replaced. If the path is a link to a cache, the link is replaced, not its target.

The checks detect damage, not forgery: anybody who can write to the cache can change the stream, just as by writing to
the files themselves.
"""

from __future__ import annotations

import json
import mmap
import os
import stat
import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from mistakebound._core import Chunk, give_back
from mistakebound._support.atomic_file import Replacement, sweep
from mistakebound._support.threads import parallel_map
from mistakebound.data.reader import lines_of
from mistakebound.errors import InputError, add_file_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KIND = b"mistakebound cache "
MAGIC = (KIND + b"5\n").ljust(24, b"\0")
RECORD = struct.Struct("<6Q")
"""Size of a packed chunk in bytes; where it begins: number of its file, byte, line, and whether lines are rows of a
file of columns; and a checksum of these."""

NOT_A_CACHE = "{} exists and is not a cache of mistakebound: choose another name for the cache, or delete the file"
Begin = tuple[int, int, int, int]
"""Where a chunk begins: number of the file, byte, line, and whether lines are rows of a file of columns."""


class Cache:
    """A file of parsed chunks.

    Parameters
    ----------
    path : str
        The file of the cache.
    files : list of str
        The files that are cached.
    how : dict
        The options that they are read with, for JSON. A cache with other files or options is not used.
    """

    def __init__(self, path: str, files: Sequence[str], how: dict[str, Any]) -> None:
        self.path, self.files = path, files
        described = json.dumps(how | {"files": [state_of(file) for file in files]}, sort_keys=True).encode()
        self._head = MAGIC + struct.pack("<Q", len(described)) + padded(described)
        self._new: Replacement | None = None

    def stored(self, threads: int) -> Iterator[tuple[Begin, Chunk]] | None:
        """Return each chunk with its position; None if there is no cache of these files and options.

        Raise InputError if there is a file that is not a cache: writing a cache would destroy it.
        """
        try:
            with open(self.path, "rb", opener=_without_waiting) as file:
                head = file.read(len(self._head)) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b"?"
                if head and not head.startswith(KIND):
                    raise InputError(NOT_A_CACHE.format(self.path), kind="not a cache")
                if head != self._head:
                    return None
                pages = Pages(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except FileNotFoundError:
            return None
        except IsADirectoryError:
            raise InputError(NOT_A_CACHE.format(self.path), kind="not a cache") from None
        return self._unpacked(pages, threads)

    def _unpacked(self, pages: Pages, threads: int) -> Iterator[tuple[Begin, Chunk]]:
        def unpacked(record: tuple[Begin, memoryview]) -> tuple[Begin, Chunk]:
            pages.release()
            try:
                return record[0], Chunk.unpack(record[1])
            except ValueError:
                raise damaged(self.path) from None

        order = Order(self.path, len(self.files))
        stored = records(self.path, pages, len(self._head))
        for begin, chunk in parallel_map(unpacked, stored, threads, lambda _: False):
            order.check(begin, chunk.consumed, lines_of(chunk, in_rows=bool(begin[3])))
            yield begin, chunk

    def filled(self, chunks: Iterator[tuple[Begin, Chunk]]) -> Iterator[tuple[Begin, Chunk]]:
        """Yield the chunks, and write each to a new cache. The cache replaces the old one after the last chunk."""
        try:
            for begin, chunk in chunks:
                self.add(begin, chunk)
                yield begin, chunk
            self.finish()
        finally:
            self.discard()

    def add(self, begin: tuple[int, ...], chunk: Chunk) -> None:
        """Write a chunk to the new cache."""
        with add_file_name(self.path):
            if self._new is None:
                sweep(Path(self.path))
                self._new = Replacement(Path(self.path))
                self._new.file.write(self._head)
            packed = chunk.pack()
            self._new.file.write(record(len(packed), begin, packed[:8]))
            self._new.file.write(packed)

    def finish(self) -> None:
        """End the new cache, which is complete, and replace the old one."""
        if self._new is not None:
            self._new.file.write(record(0, (0, 0, 0, 0), b""))
            with suppress(FileNotFoundError):  # the temporary file was removed; the next run writes the cache again
                self._new.take_place()
            self._new = None

    def discard(self) -> None:
        """Remove a new cache that is not complete."""
        if self._new is not None:
            self._new.discard()
            self._new = None


def _without_waiting(path: str, flags: int) -> int:
    """Open a file. Opening a pipe must not wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def record(size: int, begin: tuple[int, ...], checksum: bytes) -> bytes:
    """Return the record before a packed chunk. The checksum of the chunk itself is in its first bytes."""
    return RECORD.pack(size, *begin, crc32(struct.pack("<5Q", size, *begin) + checksum))


def padded(text: bytes) -> bytes:
    """Return bytes with zeros up to a multiple of 8, because numbers must be aligned."""
    return text.ljust(-(-len(text) // 8) * 8, b"\0")


def records(path: str, pages: Pages, at: int) -> Iterator[tuple[Begin, memoryview]]:
    """Yield the records of a cache from this byte on."""
    view = memoryview(pages.mapped)
    while at + RECORD.size <= len(view):
        size, number, byte, line, in_rows, _ = RECORD.unpack_from(view, at)
        begin = (number, byte, line, in_rows)
        head = bytes(view[at : at + RECORD.size])
        at += RECORD.size
        if size > len(view) - at or head != record(size, begin, bytes(view[at : at + min(size, 8)])):
            break
        if size == 0 and at == len(view):
            return
        if size == 0:
            break
        yield begin, view[at : at + size]
        at += size
        pages.read_before(at - (16 << 20))  # earlier chunks have been learned
    raise damaged(path)


def damaged(path: str) -> InputError:
    """Return the error for a damaged cache."""
    message = "the cache is damaged; delete it, and the next run will write it again"
    return InputError(message, kind="damaged cache", file=path)


class Order:
    """Checks the order of chunks: each begins where the last one ended, or at the beginning of a later file."""

    def __init__(self, path: str, files: int) -> None:
        self._path, self._files = path, files
        self._number, self._ends = -1, (0, 0)
        self._in_rows = 0

    def check(self, begin: Begin, consumed: int, lines: int) -> None:
        """Raise InputError if a chunk, of this many bytes and lines, does not follow the last one."""
        number, byte, line, in_rows = begin
        if number == self._number:
            follows = (byte, line) == self._ends and in_rows == self._in_rows
        else:
            follows = self._number < number < self._files and (byte, line) == (0, 0) and in_rows in (0, 1)
        if not follows:
            raise damaged(self._path)
        self._number, self._in_rows = number, in_rows
        self._ends = (byte + consumed, line + lines)


def state_of(file: str) -> list[Any]:
    """Return path, size and modification time of a file; raise InputError if it is not a regular file."""
    path = Path(file)
    if file == "-" or not path.is_file():
        message = "only regular files can be cached"
        raise InputError(message, kind="cache", file=file)
    status = path.stat()
    return [str(path.resolve()), status.st_size, status.st_mtime_ns]


AT_ONCE = 4 << 20
"""Bytes of memory released at a time: releasing interrupts all processors, so it must not happen often."""


class Pages:
    """The part of a mapped file that is in memory. Releasing takes time, so the threads that parse do it."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self.mapped = mapped
        self._read = self._released = 0

    def read_before(self, end: int) -> None:
        """Record that bytes before this one are no longer needed. Reading them again would read the file again."""
        self._read = max(end, 0) // mmap.PAGESIZE * mmap.PAGESIZE
        if self._read >= self._released + 2 * AT_ONCE:  # no other thread releases
            self.release()

    def release(self) -> None:
        """Release the memory of bytes that were read, if there are enough. Two threads may release the same bytes."""
        begin, end = self._released, self._read
        if end >= begin + AT_ONCE:
            self._released = end
            give_back(self.mapped, begin, end)
