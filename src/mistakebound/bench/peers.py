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
"""Modules, and what pip calls them."""
USED = {"sklearn": ("sklearn.linear_model", "sklearn.datasets"), "river": ("river.linear_model",)}
"""What is imported of them, which should not be timed."""
BATCH = 10_000
VW = [sys.executable, "-m", "vowpalwabbit", "-b", "20", "--quiet", "-d"]
OURS = [sys.executable, "-m", "mistakebound", "run", "--json"]

Batches = list[tuple[Any, "AnyArray"]]


def installed(module: str) -> bool:
    """Whether a peer can be imported; what is used of it, then is."""
    if find_spec(module) is None:
        return False
    for each in USED.get(module, ()):
        import_module(each)
    return True


def batches_of(X: Any, y: AnyArray) -> Batches:
    """Cut a stream into batches of 10,000."""
    return [(X[s : s + BATCH], y[s : s + BATCH]) for s in range(0, X.shape[0], BATCH)]


def sklearn_one_call(X: Any, y: AnyArray) -> None:
    """scikit-learn's Perceptron at its best: one call, unshuffled, no intercept."""
    from sklearn.linear_model import Perceptron  # noqa: PLC0415

    Perceptron(shuffle=False, fit_intercept=False).partial_fit(X, y, classes=[-1, 1])


def sklearn_batches(batches: Batches) -> None:
    """scikit-learn's Perceptron as it comes (it shuffles each batch and has an intercept): predict, then learn."""
    from sklearn.linear_model import Perceptron  # noqa: PLC0415

    learner = Perceptron()
    learner.partial_fit(batches[0][0][:1], batches[0][1][:1], classes=[-1, 1])
    for X, y in batches:
        learner.predict(X)
        learner.partial_fit(X, y)


def our_batches(batches: Batches) -> None:
    """Ours, which gives the predictions of each batch before it learns from it, round by round."""
    learner = mb.Perceptron()
    for X, y in batches:
        learner.run(X, y).predictions  # noqa: B018 - made when asked for


def as_river() -> mb.Perceptron:
    """A Perceptron of ours with river's rule.

    river has an intercept, sends a tie to False and then also learns from it when False was right. Here positive is
    what a tie predicts, and the smallest update margin there is takes in the ties.
    """
    return mb.Perceptron(bias=1, classes=(True, False), update_margin=5e-324)


def our_rounds(learner: mb.Perceptron, rows: Named) -> None:
    """One example at a time; ``learn_one`` predicts and counts by itself."""
    for x, y in rows:
        learner.learn_one(x, y)


def river_rounds(learner: Any, rows: Named) -> int:
    """One example at a time; returns the mistakes."""
    mistakes = 0
    for x, y in rows:
        mistakes += learner.predict_one(x) != y
        learner.learn_one(x, y)
    return mistakes


def our_matrix(path: Path) -> tuple[AnyArray, AnyArray]:
    """Indices and values of a whole svmlight file."""
    X, _ = mb.Source(path).to_csr()
    return X.indices, X.data


def process(*command: str | Path) -> None:
    """Run a whole process."""
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own words
