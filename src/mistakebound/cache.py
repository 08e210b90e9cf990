"""A binary cache of parsed files: what was read once is not parsed again, and gives the same stream bit for bit.

It says of which files it was made, by size and time of change, and how they were read; if anything differs it is made
anew. Every chunk carries a checksum. A cache is written beside what it replaces, and takes its place when it is whole.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from mistakebound.container import UNFINISHED, sweep
from mistakebound.pages import Pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._core import Chunk

MAGIC = b"mistakebound cache 2\n".ljust(24, b"\0")
RECORD = struct.Struct("<6Q")
"""Bytes of a packed chunk, and where it begins: number of its file, byte, line, whether lines are rows of
columns; and a sum that says whether all this belongs together."""


class Cache:
    """A file of parsed chunks.

    Parameters
    ----------
    path : str
        Where it is, or will be.
    files : list of str
        What it is made of.
    how : dict
        How they are read, as JSON. A cache of other files, or of files read otherwise, does not fit.
    """

    def __init__(self, path: str, files: list[str], how: dict[str, Any]) -> None:
        self.path = path
        said = json.dumps(how | {"files": [state_of(file) for file in files]}, sort_keys=True).encode()
        self._head = MAGIC + struct.pack("<Q", len(said)) + padded(said)
        self._unfinished: Path | None = None
        self._file: Any = None

    def stored(self) -> tuple[Pages, Iterator[tuple[tuple[int, ...], memoryview]]] | None:
        """Its pages; where each chunk begins, and the chunk as it was packed. None if there is no cache that fits."""
        try:
            with Path(self.path).open("rb") as file:
                if file.read(len(self._head)) != self._head:
                    return None
                pages = Pages(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except FileNotFoundError:
            return None
        return pages, records(self.path, pages, len(self._head))

    def add(self, begin: tuple[int, ...], chunk: Chunk) -> None:
        """Write a chunk to the cache that is being made."""
        if self._file is None:
            path = Path(self.path)
            sweep(path)
            self._unfinished = path.with_name(f".{path.name[:100]}.{os.getpid()}.cache{UNFINISHED}")
            self._file = self._unfinished.open("wb")
            self._file.write(self._head)
        packed = chunk.pack()
        self._file.write(record(len(packed), begin, packed[:8]))
        self._file.write(packed)

    def finish(self) -> None:
        """Everything was added: the cache is whole, and takes its place."""
        if self._file is not None and self._unfinished is not None:
            self._file.write(record(0, (0, 0, 0, 0), b""))
            self._file.close()
            self._unfinished.replace(self.path)
            self._file = None

    def discard(self) -> None:
        """Leave nothing behind of a cache that did not become whole."""
        if self._file is not None and self._unfinished is not None:
            self._file.close()
            self._unfinished.unlink(missing_ok=True)
            self._file = None


def record(size: int, begin: tuple[int, ...], checksum: bytes) -> bytes:
    """What stands before a packed chunk, whose own sum is in its first bytes."""
    return RECORD.pack(size, *begin, crc32(struct.pack("<5Q", size, *begin) + checksum))


def padded(text: bytes) -> bytes:
    """Bytes up to the next multiple of 8, where numbers may begin."""
    return text.ljust(-(-len(text) // 8) * 8, b"\0")


def records(path: str, pages: Pages, at: int) -> Iterator[tuple[tuple[int, ...], memoryview]]:
    """The records of a cache from this byte on."""
    view = memoryview(pages.mapped)
    while at + RECORD.size <= len(view):
        size, *begin, _ = RECORD.unpack_from(view, at)
        head = bytes(view[at : at + RECORD.size])
        at += RECORD.size
        if size > len(view) - at or head != record(size, tuple(begin), bytes(view[at : at + min(size, 8)])):
            break
        if size == 0 and at == len(view):
            return
        if size == 0:
            break
        yield tuple(begin), view[at : at + size]
        at += size
        pages.read_before(at - (16 << 20))  # what lies further back is surely learned
    message = f"{path}: the cache is damaged: delete it, and it is made anew"
    raise ValueError(message)


def state_of(file: str) -> list[Any]:
    """A file as a cache knows it; raises ValueError for what is no file, and could be anything the next time."""
    path = Path(file)
    if file == "-" or not path.is_file():
        message = f"{file}: only files can be cached"
        raise ValueError(message)
    told = path.stat()
    return [str(path.resolve()), told.st_size, told.st_mtime_ns]
