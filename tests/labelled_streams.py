"""A stream with several labels in every form, and functions to compare learners of several classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

LABELS = ("ant", "bee", "cat", "dog", "elk")


def stream(rounds: int = 200, classes: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of eight features, some of them zero, and labels that the first features decide, with noise.

    The last label occurs in the second half only.
    """
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((rounds, 8)) < 0.3, 0.0, rng.standard_normal((rounds, 8)).round(2))
    scores = X[:, :classes] + 0.4 * rng.standard_normal((rounds, classes))
    scores[: rounds // 2, classes - 1] = -np.inf
    return X, np.array(LABELS[:classes])[scores.argmax(axis=1)]


def dicts(X: Any) -> list[dict[str, float]]:
    """Return the rows as dicts of their non-zero features."""
    return [{f"f{i}": float(row[i]) for i in np.flatnonzero(row)} for row in np.asarray(X)]


def table(path: Path, X: Any, y: Any) -> Path:
    """Write the stream as CSV, with a column of words beside the numbers."""
    lines = [",".join([*map(str, row.tolist()), "ab"[int(row[0] > 0)], label]) for row, label in zip(X, y, strict=True)]
    path.write_text(",".join([*(f"f{i}" for i in range(8)), "side", "kind"]) + "\n" + "\n".join(lines) + "\n")
    return path


def exactly(panel: Any) -> Any:
    """The state of the core, without the number of threads, as bytes."""

    def flat(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return [flat(each) for each in value]
        return value.tobytes() if isinstance(value, np.ndarray) else repr(value)

    settings, *state = panel._play.engine.core.__getstate__()
    return flat([settings[:-1], *state])
