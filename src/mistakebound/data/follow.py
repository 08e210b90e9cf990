"""Read a pipe or a file that is still being written: return the text that is there, then wait for more."""

from __future__ import annotations

import os
import select
from typing import IO, TYPE_CHECKING, Any

from mistakebound.data.formats import COLUMNAR, PACKED
from mistakebound.data.remarks import Remark
from mistakebound.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event

WAIT = 0.05
"""Seconds between two checks whether a file has grown."""

SIGNAL_SECONDS = 0.5
"""Seconds after which waiting for a pipe starts again, so that Python can handle signals. A signal that arrives just
before a blocking read would be handled only after it."""


class LastForNow(bytes):
    """A block after which no more data are there yet: it must be processed without waiting for the next one."""

    __slots__ = ()


def arriving(stream: Any, most: int) -> Iterator[bytes]:
    """Yield data from a pipe, up to ``most`` bytes at a time, without waiting while there are data to return."""
    ended = buffer_empty = False
    while not ended:
        pieces: list[bytes] = []
        size = 0
        while buffer_empty and not _is_ready(stream, SIGNAL_SECONDS, default=True):
            pass
        while not ended and size < most and (not pieces or _is_ready(stream, 0, default=False)):
            piece = stream.read1(most - size)
            # After a short read, the buffer of the stream is empty; select does not see this buffer.
            buffer_empty = len(piece) < most - size
            ended = not piece
            pieces.append(piece)
            size += len(piece)
        if size:
            yield b"".join(pieces) if size >= most else LastForNow(b"".join(pieces))


def _is_ready(stream: Any, seconds: float, *, default: bool) -> bool:
    """Return whether a read would return at once; ``default`` for a stream that ``select`` does not support."""
    try:
        return bool(select.select([stream], [], [], seconds)[0])
    except (OSError, ValueError):  # not a file of the system, such as text in memory
        return default


class Follower:
    """A file that grows, followed like with ``tail -F``.

    If the file is replaced by another one of the same name (rotated), the old one is read to its end, and then the new
    one from its beginning. A file that is truncated is read from its beginning again. A last line without a newline may
    be incomplete: it is read when its newline is written or the file is replaced, and left out when ``stop`` is set.
    """

    def __init__(self, file: str, stop: Event, remark: Callable[[Remark], None]) -> None:
        self.file, self.stop, self.remark = file, stop, remark

    def texts(self, most: int) -> Iterator[Iterator[tuple[bytes, bool]]]:
        """Yield, for each file that has the name in turn, its blocks of whole lines, up to ``most`` bytes each."""
        while not self.stop.is_set():
            with open(self.file, "rb", buffering=0) as raw:
                yield self._blocks(raw, most)

    def _blocks(self, raw: IO[bytes], most: int) -> Iterator[tuple[bytes, bool]]:
        rest, replaced = b"", False
        while not self.stop.is_set():
            if block := raw.read(most):
                whole, newline, after = block.rpartition(b"\n")
                if newline:
                    lines = rest + whole + newline
                    yield lines if len(block) == most else LastForNow(lines), False
                    rest = after
                else:
                    rest += after
            elif replaced:  # and it was read to its end after that
                self._note("replaced", "it was replaced by a new file, which is read from its beginning")
                if rest:
                    yield rest, True
                return
            elif os.fstat(raw.fileno()).st_size < raw.tell():
                lost = f"; {len(rest)} bytes of an incomplete last line are lost" if rest else ""
                self._note("cut short", f"it was truncated, and is read from its beginning again{lost}")
                return
            else:
                replaced = self._is_replaced(raw)
                if not replaced:
                    self.stop.wait(WAIT)
        if rest:
            self._note("half a line", "the last line has no newline yet, and was not read")

    def _note(self, kind: str, words: str) -> None:
        self.remark(Remark(kind, (f"{self.file}: {words}",), self.file))

    def _is_replaced(self, raw: IO[bytes]) -> bool:
        try:
            return not os.path.samestat(os.fstat(raw.fileno()), os.stat(self.file))
        except FileNotFoundError:  # moved away: a new file may follow
            return False


def check_that_it_can_be_followed(file: str, *, has_labels: bool) -> None:
    """Raise InputError if a file is not plain text that contains its labels."""
    if file == "-" or (os.path.exists(file) and not os.path.isfile(file)):
        message = "only a regular file can be followed; a pipe is always read as its data arrive"
        raise InputError(message, kind="follow", file=file)
    with open(file, "rb") as raw:
        start = raw.read(8)
    if start.startswith((*PACKED, *COLUMNAR)):
        message = "only a text file can be followed, not a compressed file or a file of columns"
        raise InputError(message, kind="follow", file=file)
    if not has_labels:
        message = "a file that is followed must contain its labels"
        raise InputError(message, kind="follow")
