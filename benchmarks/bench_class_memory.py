"""Measure the memory of the Panel with 10,000 features and 1,000 classes, of which all pairs are learned.

    python benchmarks/bench_class_memory.py [--features N] [--classes K] [--limit BYTES]

First, rows with a tenth of the features each cover all pairs of feature and class; then rows of 48 features fill the
table of interactions. The growth of the largest resident size of a new process is printed after each part. Exits with 1
if it is above the limit (2 GB).
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np

from mistakebound._core import Engine

PARTS, NARROW, NARROW_ROWS = 10, 48, 5000


def resident() -> int:
    """Return the largest resident size of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def play(engine: Engine, features: np.ndarray, labels: np.ndarray) -> None:
    """Play rows that have these features with the value 1, as many in each."""
    rows, size = features.shape
    indptr = np.arange(0, rows * size + 1, size, dtype=np.int64)
    value = np.ones(rows * size, dtype=np.float32)
    predictions = np.empty(rows, dtype=np.int32)
    row, fault = engine.play_csr_classes(indptr, features.ravel().astype(np.int32), value, labels, predictions)
    if row != rows:
        sys.exit(f"row {row} was not played: {fault}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--limit", type=float, default=2e9)
    given = parser.parse_args()
    rng, start, began = np.random.default_rng(0), resident(), time.perf_counter()
    engine = Engine("multiclass-panel", 0, 0, False, 0, 0, False, given.features, 0)
    for part in np.array_split(np.arange(given.features), PARTS):
        for k in range(given.classes):
            play(engine, part[None], np.array([k], dtype=np.int32))
    wide = resident() - start
    print(f"all pairs of {given.features} features and {given.classes} classes: {wide / 1e9:.3f} GB", flush=True)
    for _ in range(NARROW_ROWS):
        row = np.sort(rng.choice(given.features, min(NARROW, given.features), replace=False))[None]
        play(engine, row, rng.integers(given.classes, size=1).astype(np.int32))
    whole = resident() - start
    print(f"with interactions: {whole / 1e9:.3f} GB, {time.perf_counter() - began:.0f} s", flush=True)
    sys.exit(0 if whole <= given.limit else 1)


if __name__ == "__main__":
    main()
