"""Decompress .gz and .zst files. A damaged file is read up to the damage; then an error is raised."""

from __future__ import annotations

from functools import partial
from typing import IO, TYPE_CHECKING, Any

from mistakebound.data.formats import GZIP
from mistakebound.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LEAST, MOST = 1 << 8, 1 << 14
"""Bytes of a .zst file that are decompressed at a time: few if they become many more bytes of text."""


def packed_position(raw: Any) -> Callable[[], int]:
    """Return a function that returns the position in a compressed file; 0 if it is a pipe."""
    return raw.tell if raw.seekable() else lambda: 0


def unpacked(file: str, raw: Any, start: bytes, block_size: int) -> Iterator[bytes]:
    """Yield the text of a compressed file in blocks; raise InputError where the file is damaged.

    If the file is incomplete, all its text is yielded before the error. If its bytes are damaged, the last block before
    the damage is left out, because it may be wrong.
    """
    pieces, reasons = (open_gzip if start.startswith(GZIP) else open_zstd)(raw, block_size)
    ready: list[bytes] = []
    size, damage = 0, ""
    while True:
        try:
            piece = next(pieces, b"")
        except reasons as error:
            piece, damage = b"", f"this compressed file is damaged: {error}"
            ready = ready if isinstance(error, EOFError) else []
        ready.append(piece)
        size += len(piece)
        if size >= block_size or not piece:
            block = b"".join(ready)
            yield from (block[at : at + block_size] for at in range(0, len(block), block_size))
            ready, size = [], 0
        if damage:
            raise InputError(damage, kind="packed file", file=file)
        if not piece:
            return


def open_gzip(raw: IO[bytes], block_size: int) -> tuple[Iterator[bytes], tuple[type[Exception], ...]]:
    """Return the text of a .gz file in pieces, and the exceptions for a damaged file."""
    import gzip  # noqa: PLC0415 - seldom needed
    import zlib  # noqa: PLC0415

    # Not by read(): it loses what it has decompressed when it finds damage.
    return iter(partial(gzip.open(raw).read1, block_size), b""), (EOFError, zlib.error, gzip.BadGzipFile)


def open_zstd(raw: Any, block_size: int) -> tuple[Iterator[bytes], tuple[type[Exception], ...]]:
    """Return the same two for a .zst file as ``open_gzip`` for a .gz file. This needs the package zstandard."""
    try:
        import zstandard  # noqa: PLC0415 - optional
    except ImportError:
        message = "reading .zst files needs the package zstandard: pip install 'mistakebound[files]'"
        raise ModuleNotFoundError(message) from None

    def pieces() -> Iterator[bytes]:
        """Decompress frame by frame: the reader of zstandard does not detect an incomplete file."""
        frame, amount = None, LEAST
        while packed := raw.read1(amount):
            while packed:
                frame = frame or zstandard.ZstdDecompressor().decompressobj()
                piece = frame.decompress(packed)
                amount = max(amount // 2, LEAST) if len(piece) > block_size // 4 else min(2 * amount, MOST)
                packed = frame.unused_data
                frame = None if frame.eof else frame
                yield piece
        if frame is not None:
            message = "it ends before the end of its last frame"
            raise EOFError(message)

    return (piece for piece in pieces() if piece), (EOFError, zstandard.ZstdError)
