"""Store one JSON object and some arrays in one file: written completely or not at all, checked when it is read.

The file is a safetensors file: 8 bytes with the length of the header (little-endian), the header in JSON, then the
tensors side by side. The header's ``__metadata__`` has two entries: ``sha256``, over the whole file but for its own 64
digits, and ``mistakebound``, the JSON object as text. Its ``format`` is the version of everything else: a later one may
change all but the magic, the place of the digest, and ``format`` itself.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound._support.schema import fields, is_list_of, need, parse
from mistakebound.errors import ModelError

if TYPE_CHECKING:
    import os

    from mistakebound._support.arrays import AnyArray

FORMAT = 4

# By hand, not by the package safetensors: that one takes a key that comes twice, and gives a digest no fixed place.
MAGIC = b'{"__metadata__":{"sha256":"'
DIGEST = slice(8 + len(MAGIC), 8 + len(MAGIC) + 64)
DTYPES = {"I64": "<i8", "F64": "<f8", "U32": "<u4", "F32": "<f4", "U8": "|u1", "I8": "|i1"}
MOST_HEADER = 1 << 30
COPY = "load another copy, or train anew"


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


def unpack(data: bytes, expected: dict[str, str] | None) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the JSON object without its format, and all of the expected tensors (name: dtype), or none of them.

    With None, any tensors: the caller then looks at their names.
    """
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
    if expected is not None:
        need(not header or list(header) == list(expected), f"its tensors should be {', '.join(expected)}")
    tensors, end = {}, 0
    for name, described in header.items():
        dtype, shape, offsets = fields(described, "dtype", "shape", "data_offsets")
        wanted = DTYPES if expected is None else (expected[name],)
        need(type(dtype) is str and dtype in wanted, f"tensor {name} should have the dtype {', '.join(wanted)}")
        need(is_list_of(int, shape) and len(shape) == 1 and shape[0] >= 0, f"tensor {name} should have one dimension")
        begin, end = end, end + shape[0] * np.dtype(DTYPES[dtype]).itemsize
        need(is_list_of(int, offsets) and offsets == [begin, end], f"tensor {name} lies in the wrong place")
        need(8 + length + end <= len(data), f"tensor {name} lies beyond the end of the file")
        tensor: AnyArray = np.frombuffer(data, DTYPES[dtype], shape[0], 8 + length + begin)
        tensors[name] = tensor.astype(tensor.dtype.newbyteorder("="), copy=False)
    need(8 + length + end == len(data), "there is more in the file than its tensors")
    return said, tensors


def learner_in(path: str | os.PathLike[str]) -> str:
    """The class of the learner in a file, by its header alone; empty if the file is not a model, which loading says."""
    with Path(path).open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        head = file.read(min(length, MOST_HEADER))
    try:
        said = parse(parse(head)["__metadata__"]["mistakebound"])
    except (ModelError, KeyError, TypeError):
        return ""
    name = said.get("learner")
    return name if isinstance(name, str) else ""


def _digest(*parts: bytes | memoryview) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest().encode()
