"""Time jobs fairly, and generate their streams, for ``mistakebound bench`` and ``benchmarks/``."""

from __future__ import annotations

import gc
import random
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from mistakebound._support.arrays import AnyArray

FIELDS = 75
"""Non-zeros in each row of a click log."""
ACTIVE, PART = 30, 50
"""Names in each dict, and dicts that are generated at a time."""


def best_times(
    contenders: Mapping[str, Callable[[], object]], repeats: int, before: Callable[[str], object] | None = None
) -> dict[str, float]:
    """Return the seconds of the fastest of ``repeats`` runs of each contender; their runs are interleaved.

    ``before`` is called with the name of the contender before each run, and is not timed.
    """
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeats):
        for name, work in contenders.items():
            if before:
                before(name)
            gc.collect()
            start = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def ratio(best: Mapping[str, float], peer: str, ours: str) -> str:
    """Return how many times faster this package is, as text."""
    return f"{best[peer] / best[ours]:.2f}x"


def click_log(rows: int, features: int, *, uniform: bool = False) -> tuple[Any, AnyArray]:
    """Return a stream like a click log, as a CSR matrix of float32 and labels ±1.

    It has 75 fields, each with a vocabulary of its own. A few values are frequent, most are rare (value number v·u³ for
    uniform u). The label is the sign of a hidden linear target over the 64 most frequent values of each field; 2 % are
    flipped. With ``uniform``, all values are equally frequent, and nothing can be learned.
    """
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - only benchmarks need it

    rng = np.random.default_rng(0)
    width = features // FIELDS
    u = rng.random((rows, FIELDS), dtype=np.float32)
    if not uniform:
        u = u * u * u
    index = (u * np.float32(width)).astype(np.int32)
    np.minimum(index, width - 1, out=index)
    places = rng.permutation(width).astype(np.int32)  # frequent values get scattered indices
    fields = np.arange(FIELDS, dtype=np.int32) * width
    index = places[index] + fields
    value = rng.random((rows, FIELDS), dtype=np.float32)
    indptr = np.arange(0, rows * FIELDS + 1, FIELDS, dtype=np.int32)
    X = csr_matrix((value.ravel(), index.ravel(), indptr), shape=(rows, features))
    target = rng.standard_normal(features).astype(np.float32)
    if not uniform:
        rare = np.ones(features, bool)
        rare[(places[:64, None] + fields).ravel()] = False
        target[rare] = 0
    y = np.where(X @ target >= 0, 1, -1)
    y[rng.random(rows) < 0.02] *= -1
    return X, y


def write_texts(X: Any, y: AnyArray, svmlight: Path, vw: Path) -> None:
    """Write a stream as svmlight and as VW text."""
    with svmlight.open("w") as a, vw.open("w") as b:
        for r in range(X.shape[0]):
            row = slice(X.indptr[r], X.indptr[r + 1])
            order = np.argsort(X.indices[row])
            pairs = zip((X.indices[row][order] + 1).tolist(), X.data[row][order].tolist(), strict=True)
            text = " ".join(f"{index}:{value:.6g}" for index, value in pairs)
            a.write(f"{y[r]} {text}\n")
            b.write(f"{y[r]} | {text}\n")


def write_words(rows: int, vocabulary: int, path: Path) -> None:
    """Write VW text of 75 words a row, drawn by Zipf's law; the label is the sign of a hidden sum over them."""
    rng = np.random.default_rng(1)
    share = np.cumsum(1 / np.arange(1, vocabulary + 1))
    words = np.array([f"w{number}" for number in rng.permutation(vocabulary)])
    target = rng.standard_normal(vocabulary)
    with path.open("w") as out:
        for start in range(0, rows, 1000):
            drawn = np.searchsorted(share, rng.random((min(1000, rows - start), FIELDS)) * share[-1])
            for row in drawn:
                out.write(f"{1 if target[row].sum() > 0 else -1} | {' '.join(words[row])}\n")


Named = list[tuple[dict[str, float], bool]]


def named_parts(rounds: int, vocabulary: int) -> Iterator[Named]:
    """Yield dicts of 30 names from a vocabulary with frequencies as in a text (Zipf), in parts.

    Values are multiples of 1/64, so sums are exact in any order.
    """
    draw = random.Random(0)  # noqa: S311 - not used for security
    target = {f"name{i}": draw.gauss(0, 1) for i in range(vocabulary)}
    names = list(target)
    for _ in range(rounds // PART):
        made = []
        for _ in range(PART):
            x: dict[str, float] = {}
            while len(x) < ACTIVE:
                name = names[int(vocabulary ** draw.random()) - 1] if vocabulary > ACTIVE else names[len(x)]
                x.setdefault(name, draw.randint(1, 64) / 64)
            made.append((x, sum(target[name] * (value - 0.5) for name, value in x.items()) > 0))
        yield made
