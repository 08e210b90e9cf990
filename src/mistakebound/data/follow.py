"""Read a file that is still being written: return the text that is there, then wait for more."""

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
"""Seconds between two looks at a file that may have grown."""

SIGNAL_SECONDS = 0.5
"""Seconds after which waiting for a pipe starts again, so that Python can handle signals. A signal that arrives just
before a blocking read would be handled only after it."""


class Dry(bytes):
    """What was there before nothing more was: it is not to be kept waiting for more."""

    __slots__ = ()


def arriving(stream: Any, most: int) -> Iterator[bytes]:
    """What a pipe brings: up to ``most`` bytes at a time, but never waiting while there is something to be learned."""
    ended = buffer_empty = False
    while not ended:
        pieces: list[bytes] = []
        size = 0
        while buffer_empty and not _is_ready(stream, SIGNAL_SECONDS, default=True):
            pass
        while not ended and size < most and (not pieces or _is_ready(stream, 0, default=False)):
            piece = stream.read1(most - size)
            # After a short read the stream's own buffer, which select does not see, is empty.
            buffer_empty = len(piece) < most - size
            ended = not piece
            pieces.append(piece)
            size += len(piece)
        if size:
            yield b"".join(pieces) if size >= most else Dry(b"".join(pieces))


def _is_ready(stream: Any, seconds: float, *, default: bool) -> bool:
    """Whether a read would return at once; ``default`` for a stream that the system cannot wait for."""
    try:
        return bool(select.select([stream], [], [], seconds)[0])
    except (OSError, ValueError):  # nothing that a system waits for, such as a text in memory
        return default


class Follower:
    """A file that grows, as ``tail -F`` sees it.

    A file that is replaced by another one of its name (rotated) is read to its end, and then the new one from its
    beginning; one that is cut short is read from its beginning again. A last line without a newline may be half of what
    somebody is writing: it is read when its newline comes or the file is replaced, and left out when ``stop`` is set.
    """

    def __init__(self, file: str, stop: Event, remark: Callable[[Remark], None]) -> None:
        self.file, self.stop, self.remark = file, stop, remark

    def texts(self, most: int) -> Iterator[Iterator[tuple[bytes, bool]]]:
        """Blocks of whole lines, up to ``most`` bytes each: an iterator for each file that has the name in turn."""
        while not self.stop.is_set():
            with open(self.file, "rb", buffering=0) as raw:
                yield self._blocks(raw, most)

    def _blocks(self, raw: IO[bytes], most: int) -> Iterator[tuple[bytes, bool]]:
        rest, replaced = b"", False
        while not self.stop.is_set():
            if block := raw.read(most):
                whole, newline, after = block.rpartition(b"\n")
                if newline:
                    known = rest + whole + newline
                    yield known if len(block) == most else Dry(known), False
                    rest = after
                else:
                    rest += after
            elif replaced:  # and read to its end since
                self._note("replaced", "replaced by a new file, which is read from its beginning")
                if rest:
                    yield rest, True
                return
            elif os.fstat(raw.fileno()).st_size < raw.tell():
                lost = f"; {len(rest)} bytes of a last line without an end are lost" if rest else ""
                self._note("cut short", f"cut short, and read from its beginning again{lost}")
                return
            else:
                replaced = self._is_replaced(raw)
                if not replaced:
                    self.stop.wait(WAIT)
        if rest:
            self._note("half a line", "the last line has no newline yet, and was not learned")

    def _note(self, kind: str, words: str) -> None:
        self.remark(Remark(kind, (f"{self.file}: {words}",), self.file))

    def _is_replaced(self, raw: IO[bytes]) -> bool:
        try:
            return not os.path.samestat(os.fstat(raw.fileno()), os.stat(self.file))
        except FileNotFoundError:  # moved away: a new one will come, or nothing more
            return False


def check_that_it_can_be_followed(file: str, *, own_labels: bool) -> None:
    """Raise InputError for what is not a plain text with its own labels."""
    if file == "-" or (os.path.exists(file) and not os.path.isfile(file)):
        message = "only a file can be followed; a pipe is learned as it comes without being told to"
        raise InputError(message, kind="follow", file=file)
    with open(file, "rb") as raw:
        start = raw.read(8)
    if start.startswith((*PACKED, *COLUMNAR)):
        message = "only a plain text can be followed, not a packed file or one of columns"
        raise InputError(message, kind="follow", file=file)
    if not own_labels:
        message = "a file that is followed must hold its own labels"
        raise InputError(message, kind="follow")
