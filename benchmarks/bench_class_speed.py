"""Measure the speed of the Panel with several classes: microseconds a row by classes, and beside Vowpal Wabbit.

    python benchmarks/bench_class_speed.py [--rows 100000] [--repeats 5] [--quick]

In memory, rows have 9 or 75 non-zeros out of 9,000 features, and labels are drawn by a hidden linear target with 5 % of
random labels. The rows by which all classes have been seen are learned first, and are not timed. Rows of 49 and more
non-zeros have no pairs of features.

Whole processes learn the same VW text with ten classes: the Panel, and Vowpal Wabbit with --oaa 10, in one setting each
of logistic, hinge and its default (squared) loss, and with all pairs of features (-q ::). Names have the value 1. Each
process runs with all cores and with one; the least of its turns counts. "processor" is the user and system time with
all cores; "one core" and "all cores" are elapsed times. "ratio" is the time of Vowpal Wabbit divided by ours.
--quick runs everything once on few rows; its times mean nothing.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from class_streams import numbered, prepared
from processes import on_one_core

import mistakebound as mb
from mistakebound.bench.peers import installed, process

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CLASSES, SIZES, FEATURES = (2, 10, 100, 1000), (9, 75), 9_000
WARM = 3
"""Rows before the timed ones, for each class."""
VW = [sys.executable, "-m", "vowpalwabbit", "-b", "22", "--quiet", "--oaa", "10", "-d"]
LOGISTIC = ["--loss_function", "logistic"]
PEERS = {
    "VW, logistic": LOGISTIC,
    "VW, hinge": ["--loss_function", "hinge"],
    "VW, squared": [],
    "VW with pairs": [*LOGISTIC, "-q", "::"],
}
WAYS = ("processor", "one core", "all cores")
PROGRAM = "import sys, mistakebound as mb; mb.Panel().run(mb.Source(sys.argv[1]))"
QUICK = {"rows": 300, "repeats": 1}


def linear_rows(rows: int, size: int, features: int = FEATURES, rng: np.random.Generator | None = None) -> Any:
    """Return rows of `size` fields, each with a frequent and many rare values."""
    rng = rng or np.random.default_rng(0)
    width = features // size
    index = (rng.random((rows, size)) ** 2 * width).astype(np.int64) + np.arange(size) * width
    return sp.csr_matrix(
        (np.ones(index.size), index.ravel(), np.arange(0, index.size + 1, size)), shape=(rows, features)
    )


def linear_stream(rows: int, size: int, classes: int, features: int = FEATURES) -> tuple[Any, np.ndarray]:
    """Return rows of `size` fields, and labels of a linear target."""
    rng = np.random.default_rng(0)
    X = linear_rows(rows, size, features, rng)
    y = (X @ rng.standard_normal((features, classes))).argmax(axis=1)
    y[rng.random(rows) < 0.05] = rng.integers(classes)
    y[: WARM * classes] = np.arange(WARM * classes)[:rows] % classes
    return X, numbered(y.tolist())


def by_classes(rows: int, repeats: int) -> None:
    """Print the microseconds a row for each number of classes."""
    print("| classes | " + " | ".join(f"{size} non-zeros" for size in SIZES) + " |")
    print("|---" * (len(SIZES) + 1) + "|")
    for classes in CLASSES:
        cells = []
        for size in SIZES:
            timed = max(rows // classes, min(rows, 1_000))
            X, y = linear_stream(WARM * classes + timed, size, classes)
            start, best = WARM * classes, float("inf")
            for _ in range(repeats):
                learner = mb.Panel(classes=list(range(max(classes, 3))))
                learner.run(X[:start], y[:start])
                before = time.process_time()
                learner.run(X[start:], y[start:])
                best = min(best, time.process_time() - before)
            cells.append(f"{best / timed * 1e6:.1f}")
        print(f"| {classes:,} | " + " | ".join(cells) + " |", flush=True)


def write_named(path: Path, X: Any, y: np.ndarray) -> None:
    """Write rows of ones as VW text with named features."""
    with path.open("w") as out:
        for r in range(len(y)):
            words = " ".join(f"name{j}" for j in X.indices[X.indptr[r] : X.indptr[r + 1]].tolist())
            out.write(f"{y[r] + 1} | {words}\n")


def write_digits(path: Path, rows: int) -> None:
    """Write the digits of scikit-learn, repeated in other orders, as VW text."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.concatenate([np.random.default_rng(s).permutation(len(y)) for s in range(-(-rows // len(y)))])[:rows]
    X, y = prepared(X[order], y[order])
    with path.open("w") as out:
        for r in range(len(y)):
            row = slice(X.indptr[r], X.indptr[r + 1])
            cells = zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True)
            out.write(f"{y[r] + 1} | {' '.join(f'p{j}:{value:g}' for j, value in cells)}\n")


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return the processor time (user and system) and the elapsed time of a process that some work starts."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before, start = spent(), time.perf_counter()
    work()
    return spent() - before, time.perf_counter() - start


def least_seconds(turns: Mapping[str, tuple[str | Path, ...]], repeats: int) -> dict[str, dict[str, float]]:
    """Return the least time of each contender, for each way to measure it; their turns are interleaved."""
    best = {way: dict.fromkeys(turns, float("inf")) for way in WAYS}
    for _ in range(repeats):
        for name, command in turns.items():
            processor, elapsed = seconds(partial(process, *command))
            _, alone = seconds(partial(on_one_core, *command))
            for way, spent in zip(WAYS, (processor, alone, elapsed), strict=True):
                best[way][name] = min(best[way][name], spent)
    return best


def whole_processes(rows: int, repeats: int) -> None:
    """Print the times of processes that learn ten classes from a file."""
    with tempfile.TemporaryDirectory() as folder:
        files = {
            "200 names a row": (Path(folder, "200.vw"), partial(linear_stream, rows // 4, 200, 10, 20_000)),
            "75 names a row": (Path(folder, "75.vw"), partial(linear_stream, rows // 2, 75, 10)),
            "30 names a row": (Path(folder, "30.vw"), partial(linear_stream, rows // 2, 30, 10)),
        }
        for path, make in files.values():
            write_named(path, *make())
        digits = Path(folder, "digits.vw")
        write_digits(digits, rows // 4)
        print("\n| µs a row | | Panel | " + " | ".join(f"{name} | ratio" for name in PEERS) + " |")
        print("|---" * (3 + 2 * len(PEERS)) + "|")
        for what, path in {**{what: path for what, (path, _) in files.items()}, "digits, repeated": digits}.items():
            count = sum(1 for _ in path.open())
            turns: dict[str, tuple[str | Path, ...]] = {"Panel": (sys.executable, "-c", PROGRAM, path)}
            pairs = what.startswith(("30", "digits"))
            for name, options in PEERS.items():
                if pairs or name != "VW with pairs":
                    turns[name] = (*VW, path, *options)
            for way, best in least_seconds(turns, repeats).items():
                cells = [f"{best['Panel'] / count * 1e6:.1f}"]
                for name in PEERS:
                    spent = best.get(name)
                    cells += (
                        ["–", "–"] if spent is None else [f"{spent / count * 1e6:.1f}", f"{spent / best['Panel']:.2f}×"]
                    )
                print(f"| {what} | {way} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="few rows, one turn")
    options = parser.parse_args()
    if options.quick:
        parser.set_defaults(**QUICK)
        options = parser.parse_args()
    by_classes(options.rows, options.repeats)
    if installed("vowpalwabbit") and installed("sklearn"):
        whole_processes(options.rows, options.repeats)
    else:
        print("\nno whole processes: pip install vowpalwabbit scikit-learn")


if __name__ == "__main__":
    main()
