"""Streams for the Panel: rows of all the widths that it treats differently, and what the core saw of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mistakebound.play.standings import Standings

Rows = list[list[tuple[int, float]]]
Stream = tuple[Rows, list[int]]
STREAMS: dict[str, Callable[[], Stream]] = {}


def stream(make: Callable[[], Stream]) -> Callable[[], Stream]:
    """Add a stream by the name of its function. Its labels are +1 and −1."""
    STREAMS[make.__name__] = make
    return make


def rows_of(rng: np.random.Generator, sizes: tuple[int, int], width: int, rounds: int, values: Any) -> Rows:
    """Rows with random features, in ascending order, and these values."""
    rows = []
    for _ in range(rounds):
        features = np.sort(rng.choice(width, int(rng.integers(*sizes)), replace=False))
        rows.append([(int(j), float(np.float32(x))) for j, x in zip(features, values(len(features)), strict=True)])
    return rows


def labels_of(rng: np.random.Generator, rows: Rows, noise: float = 0.05) -> list[int]:
    """Labels by a hidden linear rule over the features, some of them wrong."""
    hidden = rng.normal(size=1 + max((j for row in rows for j, _ in row), default=0))
    signs = [1 if sum(hidden[j] * x for j, x in row) >= 0 else -1 for row in rows]
    return [-y if rng.random() < noise else y for y in signs]


def labelled(seed: int, sizes: tuple[int, int], width: int, rounds: int, values: Any) -> Stream:
    rng = np.random.default_rng(seed)
    rows = rows_of(rng, sizes, width, rounds, lambda size: values(rng, size))
    return rows, labels_of(rng, rows)


@stream
def binary() -> Stream:
    return labelled(1, (1, 20), 40, 300, lambda _, size: np.ones(size))


@stream
def dense_real() -> Stream:
    return labelled(2, (8, 9), 8, 300, lambda rng, size: rng.normal(size=size) * 10.0 ** np.arange(-2, size - 2))


@stream
def sparse_counts() -> Stream:
    return labelled(3, (13, 49), 300, 120, lambda rng, size: rng.geometric(0.4, size))


@stream
def sparse_real() -> Stream:
    return labelled(8, (3, 25), 60, 150, lambda rng, size: rng.gamma(2, size=size))


@stream
def wide() -> Stream:
    """Rows of 49 to 256 non-zeros, of which only frequent features have tokens, and wider ones."""
    rows, labels = labelled(4, (40, 120), 130, 80, lambda rng, size: rng.normal(size=size))
    more, signs = labelled(5, (250, 300), 400, 12, lambda rng, size: rng.gamma(2, size=size))
    return rows + more + rows[:20], labels + signs + labels[:20]


@stream
def repeated_rows() -> Stream:
    """Each row many times in a row: members become sure, and interactions stop learning."""
    rows, labels = binary()
    return [row for row in rows[:6] for _ in range(60)], [y for y in labels[:6] for _ in range(60)]


@stream
def empty_rows() -> Stream:
    rows, labels = binary()
    return [[] if t % 3 == 0 else row for t, row in enumerate(rows[:150])], labels[:150]


@stream
def xor() -> Stream:
    """No member on single features can learn it."""
    rng = np.random.default_rng(6)
    bits = rng.integers(0, 2, (300, 3)).tolist()
    return [[(2 * k + bit, 1.0) for k, bit in enumerate(each)] for each in bits], [
        1 if a ^ b else -1 for a, b, _ in bits
    ]


@stream
def one_label() -> Stream:
    rows, _ = dense_real()
    return rows[:120], [-1] * 120


@stream
def alternating() -> Stream:
    """The same row with labels that alternate: only the label history can learn it."""
    return [[(0, 1.0), (2, -2.0)]] * 200, [1, -1] * 100


def matrix(rows: Rows, width: int | None = None, dtype: Any = np.float32) -> csr_matrix:
    """Return rows as a sparse matrix."""
    indptr = np.cumsum([0, *(len(row) for row in rows)])
    index = np.array([j for row in rows for j, _ in row], np.int32)
    value = np.array([x for row in rows for _, x in row], dtype)
    return csr_matrix((value, index, indptr), shape=(len(rows), width or 1 + max(index, default=0)))


def named(rows: Rows) -> list[dict[str, float]]:
    """Return rows as dicts of names."""
    return [{f"f{j}": x for j, x in row} for row in rows]


def token(name: str) -> int:
    """Return the number that stands for a name of at most 11 bytes in interactions (`token_of` of the core)."""
    text = name.encode()
    low = int.from_bytes(text[:8], "little")
    high = int.from_bytes(text[8:], "little") | (len(text) + 1) << 24
    mixed = ((low ^ 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93 + high * 0xC2B2AE3D27D4EB4F) & (1 << 64) - 1
    return mixed ^ mixed >> 32


def logits_seen(before: Standings | None, after: Standings, y: int) -> list[float]:
    """Return the logit of each member and mixer in the last round, by how much its log loss grew: ln(1 + e^(−ya))."""
    earlier = [0.0] * len(after.voters) if before is None else [each.log_loss for each in before.voters]
    grew = [each.log_loss - loss for each, loss in zip(after.voters, earlier, strict=True)]
    return [-y * math.log(math.expm1(loss)) for loss in grew]


def state_of(panel: Any) -> list[Any]:
    """Return all that the core keeps, as plain values that can be compared."""
    return list(flat(panel._play.engine.core.__getstate__()[1:]))  # without the settings


def flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from flat(each)
    else:
        yield value.tobytes() if isinstance(value, np.ndarray) else value
