"""A small stream in every form that a learner accepts, and functions to compare learners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mistakebound as mb

NAMES = [f"f{i}" for i in range(12)]


REAL: list[Callable[..., Any]] = [
    mb.Perceptron,
    lambda **k: mb.Perceptron(bias=0.5, update_margin=0.1, **k),
    mb.NormalizedWinnow,
    mb.BalancedWinnow,
    lambda **k: mb.PNormPerceptron(p=3, **k),
    lambda **k: mb.Arow(bias=0.5, **k),
    lambda **k: mb.PassiveAggressiveI(bias=0.5, **k),
    lambda **k: mb.AveragedPerceptron(bias=0.5, **k),
    lambda **k: mb.ImplicitLogistic(bias=0.5, **k),
    mb.ExponentiatedGradient,
    mb.NaiveBayes,
    mb.DecisionList,
]


BINARY: list[Callable[..., Any]] = [lambda **k: mb.Winnow(threshold=4, **k), mb.Elimination]


def stream(rounds: int = 60, seed: int = 0, *, binary: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return a noisy stream over twelve features, many of them zero."""
    rng = np.random.default_rng(seed)
    X = (rng.random((rounds, 12)) < 0.4).astype(float)
    return X if binary else X * rng.standard_normal(X.shape).astype(np.float32), (rng.random(rounds) < 0.5).astype(int)


def dicts(X: Any) -> list[dict[str, float]]:
    """Return the rows as dicts of their non-zero features."""
    return [{NAMES[i]: float(row[i]) for i in np.flatnonzero(row)} for row in np.asarray(X, float)]


def facts(learner: Any) -> tuple[Any, ...]:
    """Return everything in a learner that depends on its rounds."""
    ledger, weights = learner.ledger_, learner.weights_
    w = tuple(weights.items()) if isinstance(weights, dict) else weights.tobytes()
    kept = tuple(part.tobytes() for part in vars(ledger.kept).values())
    counts = (ledger.rounds, ledger.false_positives, ledger.false_negatives, ledger.updates)
    return (counts, w, learner.intercept_, ledger.predictions.tolist(), ledger.mistake_rounds.tolist(), kept)


def changed(array: Any, **parts: Any) -> Any:
    """Return a copy with some parts replaced, without checks."""
    array = array.copy()
    for name, value in parts.items():
        setattr(array.flags if name == "writeable" else array, name, value)
    return array
