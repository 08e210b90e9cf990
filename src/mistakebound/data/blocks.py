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
"""Bytes parsed at a time: large enough that calls do not count, small enough for the processor's cache."""
LONGEST = 64 << 20
"""A record of a table that is longer has surely lost a closing quote."""
Block = tuple[Any, bool]
"""Some text, and whether it is the last."""


class Text(NamedTuple):
    """A text in blocks of whole lines, each with whether it is the last. A short block is all that there is for now."""

    blocks: Iterator[Block]
    position: Callable[[], int] | None = None
    """Returns how far its packed file is read; None if it is not packed, and its own bytes count."""
    columns: Columns | None = None
    """If the blocks are rows of a file of columns."""
    was_written_to: Callable[[], bool] = lambda: False
    """Whether the file has changed since it was opened, whatever its name is now."""

    def beginning(self, suffices: Callable[[bytes], bool]) -> tuple[list[Block], bytes]:
        """As many of the first blocks as it takes to recognize the format, and their text.

        Of one that comes slowly, they are the first lines: as many as ``suffices`` asks for.
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
    """The one text of a file; ``on_change`` is called in the end if the file was written to meanwhile."""
    with opened(file, columns) as text:
        yield text
        if text.was_written_to():
            on_change()


@contextmanager
def opened(file: str, columns: Callable[[Any, bytes], Columns] | None = None) -> Iterator[Text]:
    """A file, unpacked; one of columns is read by ``columns``."""
    with open_file(file) as raw:
        start, changed = raw.peek(8)[:8], partial(has_changed, raw, state_of(raw))
        if start.startswith(PACKED):
            from mistakebound.data.unpack import packed_position, unpacked  # noqa: PLC0415 - most files are not packed

            yield Text(cut(unpacked(file, raw, start, BLOCK)), packed_position(raw), was_written_to=changed)
        elif columns is not None and start.startswith(COLUMNAR):
            found = columns(raw, start)
            yield Text(found.blocks(), columns=found, was_written_to=changed)
        elif not raw.seekable():
            yield Text(cut(arriving(raw, BLOCK)))
        elif file != "-" and is_plain_file(raw):
            yield Text(stretches(raw), was_written_to=changed)
        else:
            yield Text(cut(iter(partial(raw.read, BLOCK), b"")))


@contextmanager
def open_file(file: str) -> Iterator[Any]:
    """A file to be read; standard input is left open."""
    if file == "-":
        stream = sys.stdin.buffer
        yield stream if hasattr(stream, "peek") else io.BufferedReader(stream)
    else:
        with open(file, "rb") as raw:
            yield raw


def state_of(raw: Any) -> tuple[int, int] | None:
    """When an open file was last written to, and its size; None if it is none."""
    try:
        status = os.fstat(raw.fileno())
    except (OSError, ValueError):  # a text in memory
        return None
    return (status.st_mtime_ns, status.st_size) if stat.S_ISREG(status.st_mode) else None


def has_changed(raw: Any, before: tuple[int, int] | None) -> bool:
    """Whether an open file was written to since then."""
    return state_of(raw) != before


@contextmanager
def of_file(file: str) -> Iterator[None]:
    """Add the file to what is wrong."""
    try:
        yield
    except InputError as error:
        error.file = error.file or file
        raise
    except ValueError as error:
        raise InputError(str(error), file=file) from None


def is_plain_file(raw: IO[bytes]) -> bool:
    """Whether any part of it can be read at any time; what the system makes up as it is read says that it is empty."""
    status = os.fstat(raw.fileno())
    return hasattr(os, "pread") and stat.S_ISREG(status.st_mode) and status.st_size > 0


class Stretch:
    """Some bytes of a plain file, read when they are wanted, by the thread that wants them.

    To map the file would take longer (measured: a fifth of what parsing takes, instead of a seventh), pages would have
    to be given back in time, and a file that somebody cuts short meanwhile would kill the process.
    """

    __slots__ = ("_raw", "begin", "end")

    def __init__(self, raw: IO[bytes], begin: int, end: int) -> None:
        self._raw, self.begin, self.end = raw, begin, end

    def __len__(self) -> int:
        return self.end - self.begin

    def __getitem__(self, part: slice) -> Stretch:
        start, stop, _ = part.indices(len(self))
        return Stretch(self._raw, self.begin + start, self.begin + max(start, stop))

    def __bytes__(self) -> bytes:
        with of_file(self._raw.name):
            return read_at(self._raw.fileno(), self.begin, len(self))

    def parsed_by(self, reader: Reader, most_bad: int, *, last: bool, keep_text: bool) -> Chunk:
        """Read and parse it, both without Python's lock."""
        with of_file(self._raw.name):
            return reader.read(self._raw.fileno(), self.begin, len(self), last, most_bad, keep_text)


def stretches(raw: IO[bytes]) -> Iterator[tuple[Stretch, bool]]:
    """Blocks of a plain file."""
    begin, size = 0, os.fstat(raw.fileno()).st_size
    while begin < size:
        end = size
        if begin + BLOCK < size:
            with of_file(raw.name):
                end = end_of_line(raw.fileno(), begin, begin + BLOCK, size)
        yield Stretch(raw, begin, end), end == size
        begin = end


def cut(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Blocks of whole lines of something that can only be read in its order."""
    rest = b""
    for block in pieces:
        newline = block.rfind(b"\n") + 1
        if newline:
            known = rest + block[:newline]
            yield LastForNow(known) if isinstance(block, LastForNow) else known, False
            rest = block[newline:]
        else:
            rest += block
    if rest:
        yield rest, True


def after(blocks: Iterable[tuple[Any, bool]], byte: int) -> Iterator[tuple[Any, bool]]:
    """What follows after so many bytes."""
    for block, last in blocks:
        if byte < len(block):
            rest = block[byte:]
            yield LastForNow(rest) if isinstance(block, LastForNow) else rest, last
        byte = max(0, byte - len(block))


def total_size(files: Sequence[str]) -> int | None:
    """Bytes of all files together; None if one is a pipe, or is not there."""
    try:
        return sum(map(os.path.getsize, files)) if all(map(os.path.isfile, files)) else None
    except OSError:
        return None


def parse(reader: Reader, most_bad: int, keep_text: bool, block: Block) -> Chunk:  # noqa: FBT001 - for partial
    """A block turned into a chunk. Parsing does not hold Python's lock."""
    text, last = block
    if isinstance(text, Stretch):
        return text.parsed_by(reader, most_bad, last=last, keep_text=keep_text)
    return reader.parse(text, last, most_bad)


def parsed_one_by_one(reader: Reader, blocks: Iterable[Block], most_bad: int, *, first: bool) -> Iterator[Chunk]:
    """Chunks of blocks whose last record may end in the next one; in the first one, a header may come."""
    rest = b""
    for block, last in chain(blocks, [(b"", True)]):
        text = rest + bytes(block)
        if last and not len(text):
            break
        chunk = reader.parse(text, last, most_bad, first)
        rest, first = bytes(text[chunk.consumed :]) if len(chunk.bad) <= most_bad else b"", False
        if len(rest) > LONGEST:
            message = f"a record of more than {LONGEST >> 20} MB: is a closing quote missing?"
            raise InputError(message, kind="format")
        yield chunk
