"""Convert names of features to tensors, and back."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from mistakebound._support.lazy import np
from mistakebound._support.schema import need
from mistakebound.errors import ModelError

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray


def name_tensors(names: list[str]) -> dict[str, AnyArray]:
    """Return names as the tensors ``name_offsets`` and ``name_bytes``."""
    encoded = [name.encode() for name in names]
    return {
        "name_offsets": np.cumsum([0, *map(len, encoded)], dtype=np.int64),
        "name_bytes": np.frombuffer(b"".join(encoded), np.uint8),
    }


def read_names(offsets: AnyArray, letters: AnyArray) -> list[str]:
    """Return the names; raise ModelError if the tensors are not those of different names in UTF-8."""
    need(divides(offsets, len(letters)), "name_offsets do not divide name_bytes into names", "name_offsets")
    data, ends = letters.tobytes(), offsets.tolist()
    try:
        names = [data[begin:end].decode() for begin, end in pairwise(ends)]
    except UnicodeDecodeError as error:
        message = f"a feature name is not UTF-8: {error}"
        raise ModelError(message, field="name_bytes") from None
    need(len(set(names)) == len(names), "a feature name occurs twice", "name_bytes")
    return names


def divides(offsets: AnyArray, total: int) -> bool:
    """Return whether offsets divide 0..total into consecutive pieces."""
    return bool(len(offsets) and offsets[0] == 0 and offsets[-1] == total and (offsets[1:] >= offsets[:-1]).all())
