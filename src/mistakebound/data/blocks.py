"""Files, unpacked and cut into blocks of whole lines; what cannot be read any further is told of the file."""

from __future__ import annotations

import io
import os
import stat
import sys
from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from mistakebound._core import end_of_line, read_at
from mistakebound.data.follow import Dry, arriving
from mistakebound.data.formats import GZIP, ZSTD, is_columnar
from mistakebound.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mistakebound._core import Chunk, Reader
    from mistakebound.data.arrow import Columns

BLOCK = 3 << 19
"""Bytes parsed at a time: large enough that calls do not count, small enough for the processor's cache."""
LEAST, MOST = 1 << 8, 1 << 14
"""Bytes of a .zst file that are unpacked at a time: few, where they may become a thousand times as many."""


class Text(NamedTuple):
    """A text in blocks of whole lines, each with whether it is the last. A short block is all that there is for now."""

    blocks: Iterator[tuple[Any, bool]]
    position: Callable[[], int] | None = None
    """Where in its packed file it is; None if it is not packed, and its own bytes count."""
    columns: Columns | None = None
    """If the blocks are rows of a file of columns."""
    was_written_to: Callable[[], bool] = lambda: False
    """Whether the file has changed since it was opened, whatever its name is now."""


@contextmanager
def opened(file: str, columns: Callable[[Any, bytes], Columns] | None = None) -> Iterator[Text]:
    """A file, unpacked; one of columns is read by ``columns``."""
    with open_file(file) as raw:
        start, changed = raw.peek(8)[:8], partial(has_changed, raw, state_of(raw))
        if start.startswith((GZIP, ZSTD)):
            unpack = open_gzip if start.startswith(GZIP) else open_zstd
            yield Text(cut(unpacked(file, *unpack(raw))), packed_position(raw), was_written_to=changed)
        elif columns is not None and is_columnar(start):
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
        told = os.fstat(raw.fileno())
    except (OSError, ValueError):  # a text in memory
        return None
    return (told.st_mtime_ns, told.st_size) if stat.S_ISREG(told.st_mode) else None


def has_changed(raw: Any, before: tuple[int, int] | None) -> bool:
    """Whether an open file was written to since then."""
    return state_of(raw) != before


def packed_position(raw: Any) -> Callable[[], int]:
    """Tells where in a packed file one is, if it is a file."""
    return raw.tell if raw.seekable() else lambda: 0


def unpacked(file: str, pieces: Iterator[bytes], reasons: tuple[type[Exception], ...]) -> Iterator[bytes]:
    """What a packed file holds, in blocks, as far as it is sound; only then what is wrong with it.

    All that one that was cut short still has is sound; what comes just before damage may be nonsense already.
    """
    ready: list[bytes] = []
    size, broken = 0, ""
    while True:
        try:
            piece = next(pieces, b"")
        except reasons as error:
            piece, broken = b"", f"this packed file is broken: {error}"
            ready = ready if isinstance(error, EOFError) else []
        ready.append(piece)
        size += len(piece)
        if size >= BLOCK or not piece:
            block = b"".join(ready)
            yield from (block[at : at + BLOCK] for at in range(0, len(block), BLOCK))
            ready, size = [], 0
        if broken:
            raise InputError(broken, kind="packed file", file=file)
        if not piece:
            return


def open_gzip(raw: IO[bytes]) -> tuple[Iterator[bytes], tuple[type[Exception], ...]]:
    """What a .gz file holds, and what is raised if that is broken."""
    import gzip  # noqa: PLC0415 - seldom needed
    import zlib  # noqa: PLC0415

    # Not by read(), which forgets what it has unpacked when it comes to what is broken.
    return iter(partial(gzip.open(raw).read1, BLOCK), b""), (EOFError, zlib.error, gzip.BadGzipFile)


def open_zstd(raw: Any) -> tuple[Iterator[bytes], tuple[type[Exception], ...]]:
    """The same of a .zst file; needs the package zstandard."""
    try:
        import zstandard  # noqa: PLC0415 - optional
    except ImportError:
        message = "reading .zst files needs the package zstandard: pip install 'mistakebound[files]'"
        raise ModuleNotFoundError(message) from None

    def pieces() -> Iterator[bytes]:
        """Frame by frame: zstandard's own reader takes a file that was cut short for a whole one."""
        frame, bite = None, LEAST
        while packed := raw.read1(bite):
            while packed:
                frame = frame or zstandard.ZstdDecompressor().decompressobj()
                piece = frame.decompress(packed)
                bite = max(bite // 2, LEAST) if len(piece) > BLOCK // 4 else min(2 * bite, MOST)
                packed = frame.unused_data
                frame = None if frame.eof else frame
                yield piece
        if frame is not None:
            message = "it ends before its last frame does"
            raise EOFError(message)

    return (piece for piece in pieces() if piece), (EOFError, zstandard.ZstdError)


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
    told = os.fstat(raw.fileno())
    return hasattr(os, "pread") and stat.S_ISREG(told.st_mode) and told.st_size > 0


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
            yield Dry(known) if isinstance(block, Dry) else known, False
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
            yield Dry(rest) if isinstance(block, Dry) else rest, last
        byte = max(0, byte - len(block))


def label_lines(file: str) -> Iterator[bytes]:
    """The lines of a file of labels, without spaces around them."""
    with opened(file) as text:
        behind = 0
        for block, _ in text.blocks:
            whole = bytes(block)
            lines = whole.splitlines()
            if not is_utf8(whole):
                line = next(number for number, line in enumerate(lines, behind + 1) if not is_utf8(line))
                message = "not UTF-8"
                raise InputError(message, kind="labels", file=file, line=line)
            yield from (line.strip() for line in lines)
            behind += len(lines)


def is_utf8(text: bytes) -> bool:
    """Whether it is; texts that are not could not be told apart once they were decoded."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def total_size(files: Sequence[str]) -> int | None:
    """Bytes of all files together; None if one is a pipe, or is not there."""
    try:
        return sum(map(os.path.getsize, files)) if all(map(os.path.isfile, files)) else None
    except OSError:
        return None
