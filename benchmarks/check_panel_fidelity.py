"""Compare the Panel in plain Python, without the changes that make the core fast, with the recipe on real data sets.

    python benchmarks/check_panel_fidelity.py [--data FOLDER] [--rounds ROUNDS] [SET ...]

FOLDER holds ``loaders.py``, with one function per data set that returns (X, y); ``panel_spec.py`` lies beside FOLDER.
The default is the environment variable MISTAKEBOUND_DATA, then ``../shared/data``. In each of the first ROUNDS rounds
all sixteen scores and the logit must agree to 1e-9, and the prediction must be the same. Exits with 1 if they do not.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.panel.reference import ReferencePanel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SETS = (
    *("a9a", "rcv1_small", "spam_stream", "sms_spam", "ppattach", "mushroom", "house_votes_84", "elec2"),
    *("kdd99_10pct", "monks1", "monks2", "monks3"),
)
TOLERANCE = 1e-9
DATA = Path(os.environ.get("MISTAKEBOUND_DATA", Path(__file__).parents[2] / "shared" / "data"))


def module(path: Path) -> Any:
    """Return a module from a file outside this repository."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def load(name: str, rounds: int, data: Path = DATA) -> tuple[list[list[tuple[int, float]]], list[int]]:
    """Return the first rows of a data set as non-zeros, and their labels as +1 or −1."""
    loaders = module(data / "loaders.py")
    if name.startswith("monks"):
        X, y = loaders.monks(int(name[-1]))
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
    else:
        X, y = getattr(loaders, name)()
    X = X[:rounds]
    X.sort_indices()
    X.eliminate_zeros()
    rows = [
        list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    return rows, [1 if label else -1 for label in y[:rounds]]


def largest_difference(
    recipe: Any,
    rows: Sequence[Sequence[tuple[int, float]]],
    labels: Sequence[int],
    make: Callable[[], Any] = lambda: ReferencePanel(literal=True),
) -> tuple[float, int]:
    """Return the largest difference of a score or logit to the recipe, and its round; infinite for a prediction."""
    panel, worst, at = make(), 0.0, 0
    for t, (x, y, wanted) in enumerate(zip(rows, labels, recipe.run(rows, labels), strict=True)):
        scores, logit, prediction = wanted
        said = panel.round(x, y)
        off = np.subtract([*said.scores, said.logit], [*scores, logit])
        largest = float(np.abs(off).max()) if said.positive == (prediction > 0) else math.inf
        if not largest <= worst:  # also NaN
            worst, at = largest, t
    return worst, at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rounds", type=int, default=2000)
    given = parser.parse_args()
    path = given.data.parent / "panel_spec.py"
    if not path.is_file():
        sys.exit(f"{path} does not exist: pass the data folder with --data, or set MISTAKEBOUND_DATA")
    recipe, failed = module(path), False
    for name in given.sets:
        start = time.perf_counter()
        rows, labels = load(name, given.rounds, given.data)
        worst, at = largest_difference(recipe, rows, labels)
        failed |= not worst <= TOLERANCE
        seconds = time.perf_counter() - start
        print(
            f"{name:16} {len(rows):5} rounds: largest difference {worst:.1e} (round {at}), {seconds:.0f} s", flush=True
        )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
