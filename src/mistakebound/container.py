"""One JSON object and some arrays in one file that is written whole or not at all, and read with suspicion.

The file is a safetensors file: 8 bytes with the length of the header (little-endian), the header in JSON, then the
tensors side by side. The header's ``__metadata__`` has two entries: ``sha256``, over the whole file but for its own 64
digits, and ``mistakebound``, the JSON object as text. Its ``format`` is the version of everything else: a later one may
change all but the magic, the place of the digest, and ``format`` itself.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from contextlib import suppress
from glob import escape
from typing import TYPE_CHECKING, Any

from mistakebound.errors import naming
from mistakebound.lazy import np
from mistakebound.schema import fields, is_list_of, need, parse

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mistakebound.arrays import AnyArray

__all__ = [
    "DTYPES",
    "FORMAT",
    "UNFINISHED",
    "fields",
    "is_list_of",
    "need",
    "pack",
    "parse",
    "replace",
    "sweep",
    "unpack",
]

FORMAT = 3

# By hand, not by the package safetensors: that one takes a key that comes twice, and gives a digest no fixed place.
MAGIC = b'{"__metadata__":{"sha256":"'
DIGEST = slice(8 + len(MAGIC), 8 + len(MAGIC) + 64)
DTYPES = {"I64": "<i8", "F64": "<f8", "U32": "<u4", "F32": "<f4", "U8": "|u1", "I8": "|i1"}
COPY = "load another copy, or train anew"
UNFINISHED = ".unfinished.mb"


# ---------------------------------------------------------------------- bytes


def pack(said: dict[str, Any], tensors: dict[str, AnyArray]) -> list[bytes]:
    """Return the file in parts. Tensors come widest first, so that each begins at a multiple of its own size."""
    known = {dtype: name for name, dtype in DTYPES.items()}
    text = json.dumps({"format": FORMAT, **said}, allow_nan=False)
    header: dict[str, Any] = {"__metadata__": {"sha256": "0" * 64, "mistakebound": text}}
    end = 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": known[tensor.dtype.str], "shape": [len(tensor)], "data_offsets": [begin, end]}
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    head = len(encoded).to_bytes(8, "little") + encoded
    parts = [head, *(tensor.tobytes() for tensor in tensors.values())]
    digest = _digest(head[: DIGEST.start], head[DIGEST.stop :], *parts[1:])
    return [head[: DIGEST.start] + digest + head[DIGEST.stop :], *parts[1:]]


def unpack(data: bytes, expected: dict[str, str]) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the JSON object without its format, and all of the expected tensors (name: dtype), or none of them."""
    need(data, f"the file is empty: {COPY}")
    need(data[8:].startswith(MAGIC), "this is not a model that mistakebound saved, or only the first bytes of one")
    length = int.from_bytes(data[:8], "little")
    need(length <= len(data) - 8, f"the header should have {length} bytes, but only {len(data) - 8} follow: {COPY}")
    view = memoryview(data)
    intact = _digest(view[: DIGEST.start], view[DIGEST.stop :]) == data[DIGEST]
    need(intact, f"the SHA-256 does not match, so the file was altered or cut short: {COPY}")
    header = parse(data[8 : 8 + length])
    said = parse(fields(header.pop("__metadata__"), "sha256", "mistakebound")[1])
    version = said.pop("format", None)
    need(type(version) is int and version >= 1, f"{version!r} is no format of a model")
    need(version <= FORMAT, f"written by a newer mistakebound (format {version}); this one reads up to {FORMAT}")
    need(length % 8 == 0, "the header does not end at a multiple of 8 bytes")
    need(not header or list(header) == list(expected), f"its tensors should be {', '.join(expected)}")
    tensors, end = {}, 0
    for name, described in header.items():
        dtype, shape, offsets = fields(described, "dtype", "shape", "data_offsets")
        need(dtype == expected[name], f"tensor {name} should have the dtype {expected[name]}")
        need(is_list_of(int, shape) and len(shape) == 1 and shape[0] >= 0, f"tensor {name} should have one dimension")
        begin, end = end, end + shape[0] * np.dtype(DTYPES[dtype]).itemsize
        need(is_list_of(int, offsets) and offsets == [begin, end], f"tensor {name} lies in the wrong place")
        need(8 + length + end <= len(data), f"tensor {name} lies beyond the end of the file")
        tensor: AnyArray = np.frombuffer(data, DTYPES[dtype], shape[0], 8 + length + begin)
        tensors[name] = tensor.astype(tensor.dtype.newbyteorder("="), copy=False)
    need(8 + length + end == len(data), "there is more in the file than its tensors")
    return said, tensors


def _digest(*parts: bytes | memoryview) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest().encode()


# ---------------------------------------------------------------------- files


def replace(path: Path, parts: Iterable[bytes]) -> None:
    """Write beside the old file, then take its place: at any moment there is the old file or the new one, whole."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to save in", str(path.parent))
    if path.exists() and not path.is_file():
        raise FileExistsError(
            errno.EEXIST, "it is no file, and would be replaced by one: choose another name", str(path)
        )
    unfinished = path.parent / f".{path.name[:100]}.{os.getpid()}.{os.urandom(8).hex()}{UNFINISHED}"
    try:
        with naming(str(path)), unfinished.open("xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            with suppress(FileNotFoundError):
                shutil.copymode(path, unfinished)  # who may read the old file may read the new one
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def sweep(path: Path) -> None:
    """Remove what processes that were killed left beside a file when they were about to replace it."""
    for left in path.parent.glob(f"{escape(f'.{path.name[:100]}.')}*{UNFINISHED}"):
        process = left.name.removesuffix(UNFINISHED).split(".")[-2]
        if process.isdigit() and not _lives(int(process)):
            left.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    if os.name == "nt":
        return True  # there, signal 0 would end it
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it is somebody else's
    return True


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut. Some systems and file systems cannot, and need no telling."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
