"""Store one JSON object and some arrays in one file, which is checked when it is read.

The file is a safetensors file: 8 bytes with the length of the header (little-endian), the header in JSON, then the
tensors one after another. The header's ``__metadata__`` has two entries: ``sha256``, computed over the whole file
except its own 64 digits, and ``mistakebound``, the JSON object as text. ``format`` in this object is the version of the
file. A later version may change everything except the magic bytes, the position of the digest, and ``format`` itself.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound._support.schema import fields, is_list_of, need, parse
from mistakebound.errors import ModelError

if TYPE_CHECKING:
    import os

    from mistakebound._support.arrays import AnyArray

FORMAT = 7

# Written without the package safetensors: it accepts repeated keys, and the digest would have no fixed position.
MAGIC = b'{"__metadata__":{"sha256":"'
DIGEST = slice(8 + len(MAGIC), 8 + len(MAGIC) + 64)
DTYPES = {"I64": "<i8", "F64": "<f8", "U32": "<u4", "I32": "<i4", "F32": "<f4", "U8": "|u1", "I8": "|i1"}
LONGEST_HEADER = 1 << 30
REMEDY = "load another copy, or train the model again"


# ---------------------------------------------------------------------- bytes


def pack(described: dict[str, Any], tensors: dict[str, AnyArray]) -> list[bytes]:
    """Return the file in parts. With tensors of wide types first, each starts at a multiple of its item size."""
    known = {dtype: name for name, dtype in DTYPES.items()}
    text = json.dumps({"format": FORMAT, **described}, allow_nan=False)
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


def unpack(data: bytes, *expected: dict[str, str]) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the JSON object without its format, and the tensors.

    Each of ``expected`` has names and types of tensors; a file has all tensors of one of them, or none. Without
    ``expected``, any tensors are accepted, and the caller checks their names.
    """
    need(data, f"the file is empty; {REMEDY}")
    need(data[8:].startswith(MAGIC), "this is not a model file of mistakebound")
    length = int.from_bytes(data[:8], "little")
    need(
        length <= len(data) - 8,
        f"the file is incomplete: the header has {length} bytes, but only {len(data) - 8} follow; {REMEDY}",
    )
    view = memoryview(data)
    intact = _digest(view[: DIGEST.start], view[DIGEST.stop :]) == data[DIGEST]
    need(intact, f"the SHA-256 does not match, so the file was changed or is incomplete; {REMEDY}")
    header = parse(data[8 : 8 + length])
    described = parse(fields(header.pop("__metadata__"), "sha256", "mistakebound")[1])
    version = described.pop("format", None)
    need(type(version) is int and version >= 1, f"format must be a whole number from 1, got {version!r}", "format")
    newer = f"written by a newer mistakebound (format {version}); this version reads formats up to {FORMAT}"
    need(version <= FORMAT, newer, "format")
    need(length % 8 == 0, "the header does not end at a multiple of 8 bytes")
    types = next((each for each in expected if list(each) == list(header)), {})
    known = types or not (header and expected)
    need(known, f"the tensors must be {' or '.join(', '.join(each) for each in expected)}", "tensors")
    tensors, end = {}, 0
    for name, entry in header.items():
        dtype, shape, offsets = fields(entry, "dtype", "shape", "data_offsets", path=name)
        wanted = (types[name],) if expected else DTYPES
        need(type(dtype) is str and dtype in wanted, f"tensor {name} must have the dtype {', '.join(wanted)}", name)
        one_dimension = is_list_of(int, shape) and len(shape) == 1 and shape[0] >= 0
        need(one_dimension, f"tensor {name} must have one dimension", name)
        begin, end = end, end + shape[0] * np.dtype(DTYPES[dtype]).itemsize
        need(is_list_of(int, offsets) and offsets == [begin, end], f"the data_offsets of tensor {name} are wrong", name)
        need(8 + length + end <= len(data), f"tensor {name} goes beyond the end of the file", name)
        tensor: AnyArray = np.frombuffer(data, DTYPES[dtype], shape[0], 8 + length + begin)
        tensors[name] = tensor.astype(tensor.dtype.newbyteorder("="), copy=False)
    need(8 + length + end == len(data), "the file continues after its tensors")
    return described, tensors


def is_zip(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a zip file, as that of a MultilabelPanel is."""
    with open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04"


def learner_in(path: str | os.PathLike[str]) -> str:
    """Return the class name of the learner in a file, from its header; empty if the file is not a model."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        head = file.read(min(length, LONGEST_HEADER))
    try:
        described = parse(parse(head)["__metadata__"]["mistakebound"])
    except (ModelError, KeyError, TypeError):
        return ""
    name = described.get("learner")
    return name if isinstance(name, str) else ""


def _digest(*parts: bytes | memoryview) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest().encode()
