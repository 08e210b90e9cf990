"""Compare the Panel of several classes with the recipe on real data sets, in plain Python and compiled.

    python benchmarks/check_class_fidelity.py [--data FOLDER] [--rounds ROUNDS] [SET ...]

FOLDER holds ``loaders.py``; ``panel_multi_spec.py`` lies beside FOLDER (it needs numba). The default is the environment
variable MISTAKEBOUND_DATA, then ``../shared/data``.

Plain Python (``literal=True``): in each of the first ROUNDS rounds of a stream, all scores, log probabilities and the
probability of a new label must agree to 1e-8 with the recipe in double precision, and the predictions must be the same.
For that comparison, the decision list adds its terms in the order of the recipe, in which they cancel.
Compiled: the share of mistakes in all T rounds of a set must agree with that of the recipe, in its own precision, to
the larger of .0005 and 3/T. Exits with 1 if they do not.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from check_panel_fidelity import DATA, module
from class_streams import PUBLIC, public_streams

from mistakebound._core import Engine
from mistakebound.panel.class_counts import LEAST_FOURTHS, ClassCounts
from mistakebound.panel.class_reference import ClassReferencePanel

TOLERANCE = 1e-8


def play(X: Any, labels: Any) -> tuple[float, float]:
    """Return the mistakes and the log loss of the compiled Panel."""
    engine = Engine("multiclass-panel", 0, 0, False, 0, 0, False, X.shape[1], 1 << 20)
    predictions = np.empty(len(labels), dtype=np.int32)
    engine.play_csr_classes(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, labels, predictions)
    record = engine.class_record()
    return record["mistakes"], record["log_loss"]


def run_recipe(recipe: Any, X: Any, labels: Any) -> Any:
    """Return the scores, log probabilities, chances of a new label and predictions of the recipe."""
    rows = (X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data)
    return recipe.run(*rows, labels.astype(np.int64), X.shape[1])[:4]


def play_recipe(recipe: Any, X: Any, labels: Any) -> tuple[float, float]:
    """Return the mistakes and the log loss of the recipe."""
    _, log_chances, escape, predictions = run_recipe(recipe, X, labels)
    first = np.zeros(len(labels), dtype=bool)
    first[np.unique(labels, return_index=True)[1]] = True
    known = log_chances[np.arange(len(labels)), labels]
    losses = np.where(first, -np.log(escape), -np.log1p(-np.where(first, 0, escape)) - known)
    return float((predictions != labels).sum()), float(losses.sum())


class CountsOfTheRecipe(ClassCounts):
    """The recipe adds the evidence of a class that has had no feature, and then differences to it for each class."""

    def decision_list(self, scaled: Any) -> list[float]:
        """Return the same as the base class, added up in the order of the recipe."""
        none = {j: -math.log(self.of[j].total() + 1) for j, _ in scaled}
        fourths = sum(fourth(r) for r in none.values())
        fifths = sum(fourth(r) * r for r in none.values())
        found = []
        for k in range(len(self.labels)):
            both = [(self.evidence(j, k), none[j]) for j in none if self.of[j][k]]
            top = fifths + sum(fourth(r) * r - fourth(r0) * r0 for r, r0 in both)
            bottom = fourths + sum(fourth(r) - fourth(r0) for r, r0 in both)
            found.append(self.logit(k) + (top / bottom if bottom > LEAST_FOURTHS else 0.0))
        return found


def fourth(r: float) -> float:
    return r * r * r * r


def largest_difference(recipe: Any, X: Any, labels: Any) -> tuple[float, int]:
    """Return the largest difference of the Panel in plain Python to the recipe, and its round; ∞ for a prediction."""
    panel, worst, at, classes = ClassReferencePanel(literal=True), 0.0, 0, 0
    panel.counts = CountsOfTheRecipe()
    for t, (scores, log_chances, escape, prediction) in enumerate(zip(*run_recipe(recipe, X, labels), strict=True)):
        row = X[t]
        said = panel.round(list(zip(row.indices.tolist(), row.data.tolist(), strict=True)), int(labels[t]))
        off = [said.scores - scores[:, :classes], np.log(said.verdict.mixture) - log_chances[:classes]]
        largest = max(float(np.abs(np.append(*off)).max(initial=0)), abs(said.verdict.fresh - escape))
        if said.verdict.prediction != prediction:
            largest = math.inf
        if not largest <= worst:  # also NaN
            worst, at = largest, t
        classes = max(classes, int(labels[t]) + 1)
    return worst, at


def recipe_of(path: Path, folder: Path, precision: str) -> Any:
    """Return the recipe with its state in this precision, from a copy that numba does not cache."""
    text = path.read_text(encoding="utf-8").replace("cache=True", "cache=False")
    copy = folder / f"recipe_{precision}.py"
    copy.write_text(text.replace("np.float32", f"np.{precision}"), encoding="utf-8")
    return module(copy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=PUBLIC)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rounds", type=int, default=2000)
    given = parser.parse_args()
    path = given.data.parent / "panel_multi_spec.py"
    if not path.is_file():
        sys.exit(f"{path} does not exist: pass the data folder with --data, or set MISTAKEBOUND_DATA")
    with tempfile.TemporaryDirectory() as folder:
        recipe, double = (recipe_of(path, Path(folder), precision) for precision in ("float32", "float64"))
        checks = [check(recipe, double, name, given.data, given.rounds) for name in given.sets]
    sys.exit(0 if all(checks) else 1)


def check(recipe: Any, double: Any, name: str, data: Path, most_rounds: int) -> bool:
    """Print how the Panel compares with the recipe on a data set, and return whether it agrees."""
    rounds, own, wanted, seconds, worst = 0, np.zeros(2), np.zeros(2), 0.0, 0.0
    for X, labels in public_streams(name, data, scaled=False):
        start = time.perf_counter()
        own += play(X, labels)
        seconds += time.perf_counter() - start
        wanted += play_recipe(recipe, X, labels)
        rounds += len(labels)
        worst = max(worst, largest_difference(double, X[:most_rounds], labels[:most_rounds])[0])
    print(
        f"{name:16} error {own[0] / rounds:.5f} (recipe {wanted[0] / rounds:.5f}), log loss {own[1] / rounds:.4f}"
        f" (recipe {wanted[1] / rounds:.4f}), {1e6 * seconds / rounds:.1f} µs a row;"
        f" plain Python: largest difference {worst:.1e}",
        flush=True,
    )
    return abs(own[0] - wanted[0]) / rounds <= max(0.0005, 3 / rounds) and worst <= TOLERANCE


if __name__ == "__main__":
    main()
