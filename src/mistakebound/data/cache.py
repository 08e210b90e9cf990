"""A binary cache of parsed files: what was read once is not parsed again, and gives the same stream bit for bit.

It says of which files it was made, by size and time of change, and how they were read; if anything differs it is made
anew. Every chunk carries a checksum. A cache is written beside what it replaces, and takes its place when it is whole:
several runs may make the same one at a time. A file that is not a cache is never replaced; a link to a cache is
replaced itself, and not followed.

The checks detect damage, not forgery: whoever can write to the cache can change the stream that is read, just as by
writing to the files themselves.
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
from mistakebound.data.blocks import of_file
from mistakebound.data.reader import lines_of
from mistakebound.errors import InputError, add_file_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KIND = b"mistakebound cache "
MAGIC = (KIND + b"3\n").ljust(24, b"\0")
RECORD = struct.Struct("<6Q")
"""Bytes of a packed chunk, and where it begins: number of its file, byte, line, whether lines are rows of
columns; and a sum that says whether all this belongs together."""


NO_CACHE = "{} exists and is not a mistakebound cache: choose another name for the cache, or delete that file"
Begin = tuple[int, int, int, int]
"""Number of the file in which a chunk begins, byte, line, and whether lines are rows of columns."""


class Cache:
    """A file of parsed chunks.

    Parameters
    ----------
    path : str
        Where it is, or will be.
    files : list of str
        The files that it is made of.
    how : dict
        How they are read, as JSON. A cache of other files, or of files read otherwise, does not fit.
    """

    def __init__(self, path: str, files: Sequence[str], how: dict[str, Any]) -> None:
        self.path, self.files = path, files
        said = json.dumps(how | {"files": [state_of(file) for file in files]}, sort_keys=True).encode()
        self._head = MAGIC + struct.pack("<Q", len(said)) + padded(said)
        self._new: Replacement | None = None

    def stored(self, threads: int) -> Iterator[tuple[Begin, Chunk]] | None:
        """Where each chunk begins, and the chunk; None if there is no cache that fits.

        InputError if there is a file that is not a cache, and would be lost by making one.
        """
        try:
            with open(self.path, "rb", opener=_without_waiting) as file:
                head = file.read(len(self._head)) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b"?"
                if head and not head.startswith(KIND):
                    raise InputError(NO_CACHE.format(self.path), kind="cache")
                if head != self._head:
                    return None
                pages = Pages(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except FileNotFoundError:
            return None
        except IsADirectoryError:
            raise InputError(NO_CACHE.format(self.path), kind="cache") from None
        return self._unpacked(pages, threads)

    def _unpacked(self, pages: Pages, threads: int) -> Iterator[tuple[Begin, Chunk]]:
        def unpacked(record: tuple[Begin, memoryview]) -> tuple[Begin, Chunk]:
            pages.give_back()
            with of_file(self.path):
                return record[0], Chunk.unpack(record[1])

        order = Order(self.path, len(self.files))
        stored = records(self.path, pages, len(self._head))
        for begin, chunk in parallel_map(unpacked, stored, threads, lambda _: False):
            order.check(begin, chunk.consumed, lines_of(chunk, in_rows=bool(begin[3])))
            yield begin, chunk

    def filled(self, chunks: Iterator[tuple[Begin, Chunk]]) -> Iterator[tuple[Begin, Chunk]]:
        """The chunks, each of them written to a new cache, which takes its place at their end."""
        try:
            for begin, chunk in chunks:
                self.add(begin, chunk)
                yield begin, chunk
            self.finish()
        finally:
            self.discard()

    def add(self, begin: tuple[int, ...], chunk: Chunk) -> None:
        """Write a chunk to the cache that is being made."""
        with add_file_name(self.path):
            if self._new is None:
                sweep(Path(self.path))
                self._new = Replacement(Path(self.path))
                self._new.file.write(self._head)
            packed = chunk.pack()
            self._new.file.write(record(len(packed), begin, packed[:8]))
            self._new.file.write(packed)

    def finish(self) -> None:
        """Everything was added: the cache is whole, and takes its place."""
        if self._new is not None:
            self._new.file.write(record(0, (0, 0, 0, 0), b""))
            with suppress(FileNotFoundError):  # somebody has swept the folder: the next run makes it anew
                self._new.take_place()
            self._new = None

    def discard(self) -> None:
        """Leave nothing behind of a cache that did not become whole."""
        if self._new is not None:
            self._new.discard()
            self._new = None


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe, too, though nobody may ever write to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def record(size: int, begin: tuple[int, ...], checksum: bytes) -> bytes:
    """What stands before a packed chunk, whose own sum is in its first bytes."""
    return RECORD.pack(size, *begin, crc32(struct.pack("<5Q", size, *begin) + checksum))


def padded(text: bytes) -> bytes:
    """Bytes up to the next multiple of 8, where numbers may begin."""
    return text.ljust(-(-len(text) // 8) * 8, b"\0")


def records(path: str, pages: Pages, at: int) -> Iterator[tuple[Begin, memoryview]]:
    """The records of a cache from this byte on."""
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
        pages.read_before(at - (16 << 20))  # what lies further back is surely learned
    raise damaged(path)


def damaged(path: str) -> InputError:
    """The error for a cache that cannot be used."""
    return InputError("the cache is damaged: delete it; the next run writes it again", kind="cache", file=path)


class Order:
    """Where the next chunk of a cache must begin: where the last one ended, or in a later file at its beginning."""

    def __init__(self, path: str, files: int) -> None:
        self._path, self._files = path, files
        self._number, self._ends = -1, (0, 0)
        self._in_rows = 0

    def check(self, begin: Begin, consumed: int, lines: int) -> None:
        """ValueError for a chunk, of so many bytes and lines, that does not follow the one before."""
        number, byte, line, in_rows = begin
        if number == self._number:
            sound = (byte, line) == self._ends and in_rows == self._in_rows
        else:
            sound = self._number < number < self._files and (byte, line) == (0, 0) and in_rows in (0, 1)
        if not sound:
            raise damaged(self._path)
        self._number, self._in_rows = number, in_rows
        self._ends = (byte + consumed, line + lines)


def state_of(file: str) -> list[Any]:
    """A file as a cache knows it; raises ValueError for what is no file, and could be anything the next time."""
    path = Path(file)
    if file == "-" or not path.is_file():
        message = "only files can be cached"
        raise InputError(message, kind="cache", file=file)
    status = path.stat()
    return [str(path.resolve()), status.st_size, status.st_mtime_ns]


AT_ONCE = 4 << 20
"""Bytes given back at a time: every other processor must be interrupted."""


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
