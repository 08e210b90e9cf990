"""Compare the compiled Panel of several classes with the recipe: errors and log loss on real data sets.

    python benchmarks/check_class_fidelity.py [--data FOLDER] [SET ...]

FOLDER holds ``loaders.py``; ``panel_multi_spec.py`` lies beside FOLDER (it needs numba). The default is the environment
variable MISTAKEBOUND_DATA, then ``../shared/data``. The share of mistakes in T rounds must agree to the larger of
.0005 and 3/T, a mean over orders to the same for all their rounds. Exits with 1 if it does not.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from check_panel_fidelity import DATA, module

from mistakebound._core import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator

SETS = ("digits", "digits_shuffled", "iris", "wine", "kdd99")
ORDERS, KDD_ROWS = 5, 100_000
Stream = tuple[Any, Any]


def streams(name: str, data: Path) -> Iterator[Stream]:
    """Yield the streams of a data set: rows, and labels numbered by first appearance."""
    if name == "kdd99":
        X, y = module(data / "loaders.py").kdd99_10pct(multiclass=True)
        yield prepared(X[:KDD_ROWS], y[:KDD_ROWS])
        return
    import sklearn.datasets

    X, y = getattr(sklearn.datasets, f"load_{name.split('_', maxsplit=1)[0]}")(return_X_y=True)
    if name == "digits":
        yield prepared(X, y)
    else:
        for seed in (1,) if name == "digits_shuffled" else range(ORDERS):
            order = np.random.default_rng(seed).permutation(len(y))
            yield prepared(X[order], y[order])


def prepared(X: Any, y: Any) -> Stream:
    rows = sp.csr_matrix(X, dtype=np.float64)
    rows.eliminate_zeros()
    rows.sort_indices()
    seen: dict[Any, int] = {}
    return rows, np.array([seen.setdefault(label, len(seen)) for label in y], dtype=np.int32)


def play(X: Any, labels: Any) -> tuple[float, float]:
    """Return the mistakes and the log loss of the compiled Panel."""
    engine = Engine("multiclass-panel", 0, 0, False, 0, 0, False, X.shape[1], 1 << 20)
    predictions = np.empty(len(labels), dtype=np.int32)
    engine.play_csr_classes(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, labels, predictions)
    record = engine.class_record()
    return record["mistakes"], record["log_loss"]


def play_recipe(recipe: Any, X: Any, labels: Any) -> tuple[float, float]:
    """Return the mistakes and the log loss of the recipe."""
    rows = (X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data)
    _, log_chances, escape, predictions, _ = recipe.run(*rows, labels.astype(np.int64), X.shape[1])
    first = np.zeros(len(labels), dtype=bool)
    first[np.unique(labels, return_index=True)[1]] = True
    known = log_chances[np.arange(len(labels)), labels]
    losses = np.where(first, -np.log(escape), -np.log1p(-np.where(first, 0, escape)) - known)
    return float((predictions != labels).sum()), float(losses.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args()
    path = given.data.parent / "panel_multi_spec.py"
    if not path.is_file():
        sys.exit(f"{path} does not exist: pass the data folder with --data, or set MISTAKEBOUND_DATA")
    recipe, failed = module(path), False
    for name in given.sets:
        rounds, own, wanted, seconds = 0, np.zeros(2), np.zeros(2), 0.0
        for X, labels in streams(name, given.data):
            start = time.perf_counter()
            own += play(X, labels)
            seconds += time.perf_counter() - start
            wanted += play_recipe(recipe, X, labels)
            rounds += len(labels)
        off = abs(own[0] - wanted[0]) / rounds
        failed |= not off <= max(0.0005, 3 / rounds)
        print(
            f"{name:16} error {own[0] / rounds:.5f} (recipe {wanted[0] / rounds:.5f}), log loss {own[1] / rounds:.4f}"
            f" (recipe {wanted[1] / rounds:.4f}), {1e6 * seconds / rounds:.1f} µs a row",
            flush=True,
        )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
