"""Measure the speed and the memory of several labels: MultilabelPanel beside separate Panels and other libraries.

    python benchmarks/bench_multilabel.py [--rows 4000] [--repeats 3] [--quick]

Rows have 30 or 75 names out of 9,000, as sets of names and as a CSR matrix, and 5 or 50 labels. A label is drawn by a
hidden linear target of its own; 5 % of the labels are random. MultilabelPanel and one Panel for each label make the
same predictions. scikit-learn's SGDClassifier with logistic loss, in a MultiOutputClassifier, predicts and then learns
batches of 100 rows of the matrix. Vowpal Wabbit learns VW text with --multilabel_oaa in a process of its own, which
reads and parses the text; its start is included. All times are processor time (user and system), with one thread.

Memory (Linux): the largest resident set of a process that has learned rows with many different names, minus that of one
that has learned a single row, for each name and label. --quick runs everything once on few rows; its times mean
nothing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from bench_class_speed import linear_rows, seconds

import mistakebound as mb
from mistakebound.bench.peers import installed, process

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES, LABELS, BATCH = (30, 75), (5, 50), 100
QUICK = {"rows": 200, "repeats": 1, "names": 500}
MEMORY = """
import sys
import mistakebound as mb
names, labels, shared = map(int, sys.argv[1:])
rows = [{f"name{75 * r + j}" for j in range(75)} for r in range(max(names // 75, 1))]
if shared:
    learner = mb.MultilabelPanel(classes=range(labels))
    learner.run(rows, [set() for _ in rows])
else:
    panels = [mb.Panel(classes=(False, True)) for _ in range(labels)]
    for panel in panels:
        panel.run(rows, [False] * len(rows))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def labelled_rows(rows: int, size: int, labels: int) -> tuple[Any, np.ndarray]:
    """Return a CSR matrix of rows, and a matrix of 0 and 1 with a column for each label."""
    X = linear_rows(rows, size)
    rng = np.random.default_rng(1)
    score = X @ rng.standard_normal((X.shape[1], labels))
    Y = score > np.quantile(score, 0.8, axis=0)
    Y ^= rng.random(Y.shape) < 0.05
    return X, Y.astype(int)


def sgd(X: Any, Y: np.ndarray) -> None:
    """Predict and learn batches with scikit-learn."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.multioutput import MultiOutputClassifier

    model = MultiOutputClassifier(SGDClassifier(loss="log_loss"))
    both = [np.array([0, 1])] * Y.shape[1]
    for begin in range(0, X.shape[0], BATCH):
        if begin:
            model.predict(X[begin : begin + BATCH])
        model.partial_fit(X[begin : begin + BATCH], Y[begin : begin + BATCH], classes=both)


def separate(rows: Any, Y: np.ndarray) -> None:
    """Learn each label by a Panel of its own. All of them remain in memory."""
    panels = [mb.Panel(classes=(False, True), threads=1) for _ in Y.T]
    for panel, column in zip(panels, Y.T, strict=True):
        panel.run(rows, column.astype(bool))


def shared(rows: Any, Y: Any, threads: int, labels: int) -> None:
    """Learn all labels together."""
    mb.MultilabelPanel(classes=range(labels), threads=threads).run(rows, Y)


def write_vw(path: Path, names: list[set[str]], Y: np.ndarray) -> None:
    """Write rows with several labels as VW text."""
    with path.open("w") as out:
        for words, row in zip(names, Y, strict=True):
            out.write(f"{','.join(map(str, np.flatnonzero(row).tolist()))} | {' '.join(words)}\n")


def own_seconds(work: Callable[[], object]) -> float:
    """Return the processor time of some work in this process."""
    before = time.process_time()
    work()
    return time.process_time() - before


def times(rows: int, repeats: int) -> None:
    """Print the microseconds a row of all contenders."""
    columns = ["sets: shared", "separate", "ratio", "CSR: shared", "separate", "ratio", "scikit-learn SGD", "VW"]
    print("| names a row, labels | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for size in SIZES:
        for labels in LABELS:
            X, Y = labelled_rows(rows, size, labels)
            names = [{f"name{j}" for j in X.indices[X.indptr[r] : X.indptr[r + 1]].tolist()} for r in range(rows)]
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "rows.vw")
                write_vw(path, names, Y)
                turns: dict[str, tuple[Callable[[Callable[[], object]], float], Callable[[], object]]] = {
                    "sets": (own_seconds, partial(shared, names, Y, 1, labels)),
                    "sets, separate": (own_seconds, partial(separate, names, Y)),
                    "CSR": (own_seconds, partial(shared, X, Y, 1, labels)),
                    "CSR, separate": (own_seconds, partial(separate, X, Y)),
                }
                if installed("sklearn"):
                    turns["sklearn"] = (own_seconds, partial(sgd, X, Y))
                if installed("vowpalwabbit"):
                    vw = [sys.executable, "-m", "vowpalwabbit", "-b", "22", "--quiet", "-d", path]
                    turns["vw"] = (
                        lambda work: seconds(work)[0],
                        partial(process, *vw, "--multilabel_oaa", str(labels)),
                    )
                best = dict.fromkeys(turns, float("inf"))
                for _ in range(repeats):
                    for name, (seconds_of, work) in turns.items():
                        best[name] = min(best[name], seconds_of(work))
            cells = []
            for kind in ("sets", "CSR"):
                ours, others = best[kind], best[f"{kind}, separate"]
                cells += [f"{ours / rows * 1e6:.1f}", f"{others / rows * 1e6:.1f}", f"{others / ours:.2f}×"]
            cells += [f"{best[name] / rows * 1e6:.1f}" if name in best else "–" for name in ("sklearn", "vw")]
            print(f"| {size}, {labels} | " + " | ".join(cells) + " |", flush=True)


def memory(names: int, labels: int = 20) -> None:
    """Print the bytes for each name and label."""

    def largest(count: int, together: int) -> int:
        command = [sys.executable, "-c", MEMORY, str(count), str(labels), str(together)]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) * 1024

    if not Path("/proc/self/status").exists():
        print("\nno memory: it is measured on Linux only")
        return
    print("\n| | bytes for each name and label |")
    print("|---|---|")
    for what, together in (("MultilabelPanel", 1), ("separate Panels", 0)):
        more = largest(names, together) - largest(1, together)
        print(f"| {what}, {labels} labels, {names:,} names | {more / names / labels:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--names", type=int, default=200_000, help="different names of the memory measurement")
    parser.add_argument("--quick", action="store_true", help="few rows, one turn")
    options = parser.parse_args()
    if options.quick:
        parser.set_defaults(**QUICK)
        options = parser.parse_args()
    times(options.rows, options.repeats)
    memory(options.names)


if __name__ == "__main__":
    main()
