"""Decompress .gz and .zst files; a damaged file is read up to the damage, then it raises."""

from __future__ import annotations

from functools import partial
from typing import IO, TYPE_CHECKING, Any

from mistakebound.data.formats import GZIP
from mistakebound.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LEAST, MOST = 1 << 8, 1 << 14
"""Bytes of a .zst file that are unpacked at a time: few, where they may become a thousand times as many."""


def packed_position(raw: Any) -> Callable[[], int]:
    """Returns how far a packed file is read, if it is a file."""
    return raw.tell if raw.seekable() else lambda: 0


def unpacked(file: str, raw: Any, start: bytes, block_size: int) -> Iterator[bytes]:
    """What a packed file holds, in blocks, as far as it is sound; only then what is wrong with it.

    All that one that was cut short still has is sound; what comes just before damage may be nonsense already.
    """
    pieces, reasons = (open_gzip if start.startswith(GZIP) else open_zstd)(raw, block_size)
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
        if size >= block_size or not piece:
            block = b"".join(ready)
            yield from (block[at : at + block_size] for at in range(0, len(block), block_size))
            ready, size = [], 0
        if broken:
            raise InputError(broken, kind="packed file", file=file)
        if not piece:
            return


def open_gzip(raw: IO[bytes], block_size: int) -> tuple[Iterator[bytes], tuple[type[Exception], ...]]:
    """What a .gz file holds, and what is raised if that is broken."""
    import gzip  # noqa: PLC0415 - seldom needed
    import zlib  # noqa: PLC0415

    # Not by read(), which forgets what it has unpacked when it comes to what is broken.
    return iter(partial(gzip.open(raw).read1, block_size), b""), (EOFError, zlib.error, gzip.BadGzipFile)


def open_zstd(raw: Any, block_size: int) -> tuple[Iterator[bytes], tuple[type[Exception], ...]]:
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
                bite = max(bite // 2, LEAST) if len(piece) > block_size // 4 else min(2 * bite, MOST)
                packed = frame.unused_data
                frame = None if frame.eof else frame
                yield piece
        if frame is not None:
            message = "it ends before its last frame does"
            raise EOFError(message)

    return (piece for piece in pieces() if piece), (EOFError, zstandard.ZstdError)
