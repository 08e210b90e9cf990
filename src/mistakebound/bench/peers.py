"""The timed jobs of this package and of other libraries, for ``mistakebound bench`` and ``benchmarks/``."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import mistakebound as mb

if TYPE_CHECKING:
    from pathlib import Path

    from mistakebound._support.arrays import AnyArray
    from mistakebound.bench.timing import Named

PEERS = {"sklearn": "scikit-learn", "river": "river", "vowpalwabbit": "vowpalwabbit"}
"""Modules, and the names of their packages for pip."""
USED = {"sklearn": ("sklearn.linear_model", "sklearn.datasets"), "river": ("river.linear_model",)}
"""Modules that are imported before timing."""
BATCH = 10_000
VW = [sys.executable, "-m", "vowpalwabbit", "-b", "20", "--quiet", "-d"]
OURS = [sys.executable, "-m", "mistakebound", "run", "--json"]

Batches = list[tuple[Any, "AnyArray"]]


def installed(module: str) -> bool:
    """Return whether a peer is installed, and import its modules if it is."""
    if find_spec(module) is None:
        return False
    for each in USED.get(module, ()):
        import_module(each)
    return True


def batches_of(X: Any, y: AnyArray) -> Batches:
    """Return a stream in batches of 10,000 rows."""
    return [(X[s : s + BATCH], y[s : s + BATCH]) for s in range(0, X.shape[0], BATCH)]


def sklearn_one_call(X: Any, y: AnyArray) -> None:
    """Run scikit-learn's Perceptron in its fastest form: one call, not shuffled, no intercept."""
    from sklearn.linear_model import Perceptron  # noqa: PLC0415 - optional

    Perceptron(shuffle=False, fit_intercept=False).partial_fit(X, y, classes=[-1, 1])


def sklearn_batches(batches: Batches) -> None:
    """Predict, then learn, with scikit-learn's default Perceptron, which shuffles each batch and has an intercept."""
    from sklearn.linear_model import Perceptron  # noqa: PLC0415 - optional

    learner = Perceptron()
    learner.partial_fit(batches[0][0][:1], batches[0][1][:1], classes=[-1, 1])
    for X, y in batches:
        learner.predict(X)
        learner.partial_fit(X, y)


def our_batches(batches: Batches) -> None:
    """Predict, then learn, each round of each batch with this package."""
    learner = mb.Perceptron()
    for X, y in batches:
        learner.run(X, y).predictions  # noqa: B018 - computed at first access


def as_river() -> mb.Perceptron:
    """Return a Perceptron of this package with the same rule as river's.

    river has an intercept, predicts False at a tie, and then learns from it even if False was right. Here a tie
    predicts the positive class, so the classes are exchanged, and the smallest update margin makes ties cause updates.
    """
    return mb.Perceptron(bias=1, classes=(True, False), update_margin=5e-324)


def our_rounds(learner: mb.Perceptron, rows: Named) -> None:
    """Learn one example at a time; ``learn_one`` also predicts and counts."""
    for x, y in rows:
        learner.learn_one(x, y)


def river_rounds(learner: Any, rows: Named) -> int:
    """Predict and learn one example at a time; return the number of mistakes."""
    mistakes = 0
    for x, y in rows:
        mistakes += learner.predict_one(x) != y
        learner.learn_one(x, y)
    return mistakes


def our_matrix(path: Path) -> tuple[AnyArray, AnyArray]:
    """Return the indices and values of a whole svmlight file."""
    X, _ = mb.Source(path).to_csr()
    return X.indices, X.data


def process(*command: str | Path) -> None:
    """Run a command as a process of its own."""
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own words
