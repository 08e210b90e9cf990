"""The binary cache: the same stream, bit for bit, or a clear refusal."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest

import mistakebound as mb
from mistakebound._core import Chunk

TEXTS = {
    "svmlight": "1 1:0.5 7:-2\n-1 3:1e-3 # c\n\n1\n-1 2:1 2:1\n",
    "vw": "1 2 'tag |a x y:2 |b:0.5 z\n-1 | a_long_name_of_more_than_16_bytes\n",
    "table": 'y,a,b\n1,2,x\n0,,"q\nr"\n',
    "json": '{"label": "spam", "a": {"b": 1}}\n{"label": "ham", "c": "d"}\n',
}
MASK = 2**64 - 1


def checksum(payload: bytes) -> int:
    """The written one (core/cache.hpp), so that a forger's bytes get past it."""
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
    (part,) = mb.Source(path, format=kind, label="y" if kind == "table" else None).parts()
    return part.chunk


def same(a: Chunk, b: Chunk) -> bool:
    def told(chunk: Chunk) -> list[object]:
        names = [chunk.name(k) for k in range(len(chunk.value))] if chunk.named else chunk.index.tolist()
        rows = [chunk.line(r) for r in range(len(chunk))]
        return [names, rows, chunk.indptr.tolist(), chunk.value.tolist(), chunk.labels, chunk.label_ids, chunk.bad,
                chunk.lines, chunk.width, chunk.consumed, chunk.weighted]  # fmt: skip

    return told(a) == told(b)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_packed_chunk_comes_back(kind: str, tmp_path: Path) -> None:
    chunk = chunk_of(kind, tmp_path)
    packed = chunk.pack()
    assert int.from_bytes(packed[:8], "little") == checksum(packed[8:])
    assert same(Chunk.unpack(packed), chunk)


@pytest.mark.parametrize("kind", TEXTS)
def test_damage_is_refused(kind: str, tmp_path: Path) -> None:
    """Any flipped bit and any other length; and what somebody sealed again does no harm."""
    packed = chunk_of(kind, tmp_path).pack()
    rng = random.Random(5)
    for at in range(len(packed)):
        hurt = bytearray(packed)
        hurt[at] ^= 1 << rng.randrange(8)
        with pytest.raises(ValueError, match="damaged"):
            Chunk.unpack(bytes(hurt))
        with pytest.raises(ValueError, match="damaged"):
            Chunk.unpack(packed[:at])
    for _ in range(3000):
        hurt = bytearray(packed[8:])
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(hurt) // 8) * 8 if rng.random() < 0.7 else rng.randrange(len(hurt))
            hurt[at : at + 1] = bytes([rng.choice([0, 1, 2, 127, 255])])
        cut = rng.randrange(0, len(hurt) + 1, 8) if rng.random() < 0.2 else len(hurt)
        payload = bytes(hurt[:cut])
        try:
            chunk = Chunk.unpack(checksum(payload).to_bytes(8, "little") + payload)
        except ValueError:
            continue
        if not chunk.named and len(chunk.index) and abs(chunk.index).max() > 10**6:
            continue  # true or not, it would need much memory
        learner = mb.Perceptron(classes=(-1, 1))
        life = learner._start_with(chunk)
        signs = bytes(rng.choice([1, 255]) for _ in range(len(chunk)))
        life.engine.play_chunk(chunk, signs)
        assert np.isfinite(life.weights()).all()
