"""Cut files into blocks of whole lines, and parse the blocks into chunks."""

from __future__ import annotations

import io
import os
import stat
import sys
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from mistakebound._core import end_of_line, read_at
from mistakebound.data.follow import LastForNow, arriving
from mistakebound.data.formats import COLUMNAR, ENOUGH, PACKED
from mistakebound.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mistakebound._core import Chunk, Reader
    from mistakebound.data.arrow import Columns

BLOCK = 3 << 19
"""Bytes parsed at a time: few calls, and still small enough for the processor's cache."""
LONGEST = 64 << 20
"""Longest record of a table: in a longer one, a closing quote is probably missing."""
Block = tuple[Any, bool]
"""Some text, and whether it is the last block."""


class Text(NamedTuple):
    """A text in blocks of whole lines. A short block is all the text that is available now."""

    blocks: Iterator[Block]
    position: Callable[[], int] | None = None
    """Returns the position in the compressed file; None if the file is not compressed."""
    columns: Columns | None = None
    """The file of columns that the blocks come from, if it is one."""
    was_written_to: Callable[[], bool] = lambda: False
    """Returns whether the file has changed since it was opened, even if it was renamed."""

    def beginning(self, suffices: Callable[[bytes], bool]) -> tuple[list[Block], bytes]:
        """Return the first blocks, enough to detect the format, and their text.

        If the text arrives slowly, these are the first lines for which ``suffices`` is true.
        """
        first: list[Block] = []
        seen = b""
        for block, last in self.blocks:
            first.append((block, last))
            if self.columns:
                return first, seen
            if last:
                break
            seen += bytes(block[:ENOUGH])
            if len(seen) >= ENOUGH or (len(block) < BLOCK // 2 and suffices(seen)):
                break
        return first, b"".join(bytes(block) for block, _ in first)


def texts_of(
    file: str, columns: Callable[[Any, bytes], Columns] | None, on_change: Callable[[], None]
) -> Iterator[Text]:
    """Yield the text of a file; call ``on_change`` at the end if the file was written to in the meantime."""
    with opened(file, columns) as text:
        yield text
        if text.was_written_to():
            on_change()


@contextmanager
def opened(file: str, columns: Callable[[Any, bytes], Columns] | None = None) -> Iterator[Text]:
    """Open a file as a text: decompress it, or read a file of columns with ``columns``."""
    with open_file(file) as raw:
        start, changed = raw.peek(8)[:8], partial(has_changed, raw, state_of(raw))
        if start.startswith(PACKED):
            from mistakebound.data.unpack import packed_position, unpacked  # noqa: PLC0415 - most files are not compressed

            yield Text(line_blocks(unpacked(file, raw, start, BLOCK)), packed_position(raw), was_written_to=changed)
        elif columns is not None and start.startswith(COLUMNAR):
            found = columns(raw, start)
            yield Text(found.blocks(), columns=found, was_written_to=changed)
        elif not raw.seekable():
            yield Text(line_blocks(arriving(raw, BLOCK)))
        elif file != "-" and is_plain_file(raw):
            yield Text(file_blocks(raw), was_written_to=changed)
        else:
            yield Text(line_blocks(iter(partial(raw.read, BLOCK), b"")))


@contextmanager
def open_file(file: str) -> Iterator[Any]:
    """Open a file, or standard input, which is not closed."""
    if file == "-":
        stream = sys.stdin.buffer
        yield stream if hasattr(stream, "peek") else io.BufferedReader(stream)
    else:
        with open(file, "rb") as raw:
            yield raw


def state_of(raw: Any) -> tuple[int, int] | None:
    """Return the modification time and size of an open file; None if it is not a regular file."""
    try:
        status = os.fstat(raw.fileno())
    except (OSError, ValueError):  # text in memory
        return None
    return (status.st_mtime_ns, status.st_size) if stat.S_ISREG(status.st_mode) else None


def has_changed(raw: Any, before: tuple[int, int] | None) -> bool:
    """Return whether an open file was written to since ``before``."""
    return state_of(raw) != before


@contextmanager
def value_errors_of_file(file: str) -> Iterator[None]:
    """Raise a ValueError as an InputError with this file."""
    try:
        yield
    except InputError as error:
        error.file = error.file or file
        raise
    except ValueError as error:
        raise InputError(str(error), file=file) from None


def is_plain_file(raw: IO[bytes]) -> bool:
    """Return whether any part of a file can be read at any time. Virtual files (/proc) have a size of 0."""
    status = os.fstat(raw.fileno())
    return hasattr(os, "pread") and stat.S_ISREG(status.st_mode) and status.st_size > 0


class FileRange:
    """A range of bytes of a regular file. The thread that parses it reads it.

    Mapping the file into memory would be slower (measured: 1/5 of the time of parsing, instead of 1/7), and the process
    would be killed if the file is truncated while it is read.
    """

    __slots__ = ("_raw", "begin", "end")

    def __init__(self, raw: IO[bytes], begin: int, end: int) -> None:
        self._raw, self.begin, self.end = raw, begin, end

    def __len__(self) -> int:
        return self.end - self.begin

    def __getitem__(self, part: slice) -> FileRange:
        start, stop, _ = part.indices(len(self))
        return FileRange(self._raw, self.begin + start, self.begin + max(start, stop))

    def __bytes__(self) -> bytes:
        with value_errors_of_file(self._raw.name):
            return read_at(self._raw.fileno(), self.begin, len(self))

    def parsed_by(self, reader: Reader, most_bad: int, *, last: bool, keep_text: bool) -> Chunk:
        """Read and parse the range, both without holding the GIL."""
        with value_errors_of_file(self._raw.name):
            return reader.read(self._raw.fileno(), self.begin, len(self), last, most_bad, keep_text)


def file_blocks(raw: IO[bytes]) -> Iterator[tuple[FileRange, bool]]:
    """Yield the blocks of a regular file."""
    begin, size = 0, os.fstat(raw.fileno()).st_size
    while begin < size:
        end = size
        if begin + BLOCK < size:
            with value_errors_of_file(raw.name):
                end = end_of_line(raw.fileno(), begin, begin + BLOCK, size)
        yield FileRange(raw, begin, end), end == size
        begin = end


def line_blocks(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield blocks of whole lines of a text that can only be read in order."""
    rest = b""
    for block in pieces:
        newline = block.rfind(b"\n") + 1
        if newline:
            lines = rest + block[:newline]
            yield LastForNow(lines) if isinstance(block, LastForNow) else lines, False
            rest = block[newline:]
        else:
            rest += block
    if rest:
        yield rest, True


def skip_bytes(blocks: Iterable[tuple[Any, bool]], byte: int) -> Iterator[tuple[Any, bool]]:
    """Yield the blocks without their first ``byte`` bytes."""
    for block, last in blocks:
        if byte < len(block):
            rest = block[byte:]
            yield LastForNow(rest) if isinstance(block, LastForNow) else rest, last
        byte = max(0, byte - len(block))


def total_size(files: Sequence[str]) -> int | None:
    """Return the size of all files in bytes; None if one is a pipe or does not exist."""
    try:
        return sum(map(os.path.getsize, files)) if all(map(os.path.isfile, files)) else None
    except OSError:
        return None


def parse(reader: Reader, most_bad: int, keep_text: bool, block: Block) -> Chunk:  # noqa: FBT001 - for partial
    """Parse a block into a chunk, without holding the GIL."""
    text, last = block
    if isinstance(text, FileRange):
        return text.parsed_by(reader, most_bad, last=last, keep_text=keep_text)
    return reader.parse(text, last, most_bad)


def parsed_one_by_one(reader: Reader, blocks: Iterable[Block], most_bad: int, *, first: bool) -> Iterator[Chunk]:
    """Yield the chunks of a table whose records may continue in the next block; ``first``: it may have a header."""
    rest = b""
    for block, last in chain(blocks, [(b"", True)]):
        text = rest + bytes(block)
        if last and not len(text):
            break
        chunk = reader.parse(text, last, most_bad, first)
        rest, first = bytes(text[chunk.consumed :]) if len(chunk.bad) <= most_bad else b"", False
        if len(rest) > LONGEST:
            message = f"a record is longer than {LONGEST >> 20} MB; a closing quote may be missing"
            raise InputError(message, kind="format")
        yield chunk
