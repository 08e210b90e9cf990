"""Small streams and their caches, with functions to change a cache and to write its checksum again."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import mistakebound as mb
from mistakebound.data.cache import RECORD, record

if TYPE_CHECKING:
    from mistakebound._core import Chunk

TEXTS = {
    "svmlight": "1 1:0.5 7:-2\n-1 3:1e-3 # c\n\n1\n-1 2:1 2:1\n",
    "vw": "1 2 'tag |a x y:2 |b:0.5 z\n-1 | a_long_name_of_more_than_16_bytes\n",
    "table": 'y,a,b\n1,2,x\n0,,"q\nr"\n',
    "json": '{"label": "spam", "a": {"b": 1}}\n{"label": "ham", "c": "d"}\n',
}
MASK = 2**64 - 1


def checksum(payload: bytes) -> int:
    """Return the checksum of core/read/cache.hpp, so that changed bytes can have a correct one."""
    sums = [0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, len(payload)]
    words = struct.unpack(f"<{len(payload) // 8}Q", payload)
    whole = len(words) // 4 * 4
    for k, word in enumerate(words):
        lane = k % 4 if k < whole else 0
        sums[lane] = ((sums[lane] ^ word) * 0xD6E8FEB86659FD93) & MASK
        sums[lane] ^= sums[lane] >> 32
    return ((sums[0] * 3 + sums[1]) * 5 + ((sums[2] * 7) & MASK ^ sums[3])) & MASK


def chunk_of(kind: str, folder: Path) -> Chunk:
    path = folder / "text"
    path.write_text(TEXTS[kind])
    (part,) = mb.Source(path, format=kind, label="y" if kind == "table" else None).open()
    return part.chunk


def write_stream(path: Path, rounds: int = 300, seed: int = 0) -> Path:
    """Write a stream in svmlight with several blocks."""
    rng = np.random.default_rng(seed)
    with path.open("w") as out:
        for _ in range(rounds):
            index = np.sort(rng.choice(40, 6, replace=False)) + 1
            out.write(f"{rng.choice([-1, 1])} " + " ".join(f"{i}:{rng.random():.4g}" for i in index) + "\n")
    return path


def learned(*paths: Path, **how: Any) -> tuple[Any, ...]:
    """Return everything that a run computes."""
    source = mb.Source(paths, **how)
    learner = mb.BalancedWinnow(update_margin=0.01)
    ledger = learner.run(source)
    return (
        ledger.predictions.tolist(),
        learner.ledger_.updates,
        str(learner.weights_),
        ledger.reading.skipped,
        ledger.reading.remarks,
    )


HEAD = ("named", "consumed", "lines", "rows", "nonzeros", "width", "weighted", "labels", "bad")


class Packed:
    """The parts of a packed chunk, which can be changed and packed again."""

    def __init__(self, packed: bytes) -> None:
        self.head = dict(zip(HEAD, struct.unpack_from("<9Q", packed, 8), strict=True))
        self.rest = bytearray(packed[80:])

    def sealed(self) -> bytes:
        """Return the bytes with a correct checksum."""
        payload = struct.pack("<9Q", *self.head.values()) + self.rest
        payload = payload[: len(payload) // 8 * 8]
        return checksum(payload).to_bytes(8, "little") + payload

    @property
    def at(self) -> dict[str, int]:
        """Return the positions of the arrays."""
        rows, nonzeros = self.head["rows"], self.head["nonzeros"]
        weight = 8 * (rows + 1) + 8 * rows
        value = weight + 8 * rows * self.head["weighted"]
        ids = value + 8 * nonzeros
        labels = ids + -(-rows // 8) * 8
        return {
            "indptr": 0,
            "line": 8 * (rows + 1),
            "weight": weight,
            "value": value,
            "ids": ids,
            "labels": labels,
        }


Record = tuple[tuple[int, ...], bytes]


def split(made: bytes) -> tuple[bytes, list[Record]]:
    """Return the head of a cache and its records: the position and the packed chunk of each."""
    at = 24 + 8 + -(-int.from_bytes(made[24:32], "little") // 8) * 8
    head, records = made[:at], []
    while at < len(made):
        size, *begin, _ = RECORD.unpack_from(made, at)
        records.append((tuple(begin), made[at + RECORD.size : at + RECORD.size + size]))
        at += RECORD.size + size
    return head, records


def join(head: bytes, records: list[Record]) -> bytes:
    """Return the bytes of a cache from its parts, with correct checksums."""
    return head + b"".join(record(len(packed), begin, packed[:8]) + packed for begin, packed in records)
