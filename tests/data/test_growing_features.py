"""A file brings features beyond those known so far, after many mistakes on few of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mistakebound as mb

MAKERS: dict[str, Any] = {
    "default": mb.NormalizedWinnow,
    "with a bias": lambda **k: mb.NormalizedWinnow(bias=1.0, **k),
    "small eta": lambda **k: mb.NormalizedWinnow(eta=0.03, **k),
    "limit": lambda **k: mb.NormalizedWinnow(eta=math.inf, **k),
    "balanced": mb.BalancedWinnow,
    "pnorm": mb.PNormPerceptron,
    "perceptron": mb.Perceptron,
    "arow": lambda **k: mb.Arow(bias=1.0, **k),
    "averaged perceptron": lambda **k: mb.AveragedPerceptron(bias=1.0, **k),
    "exponentiated gradient": mb.ExponentiatedGradient,
    "naive bayes": mb.NaiveBayes,
    "decision list": mb.DecisionList,
}


def write(path: Path, X: np.ndarray, y: np.ndarray) -> Path:
    rows = (" ".join(f"{i + 1}:{x[i]:g}" for i in np.flatnonzero(x)) for x in X)
    path.write_text("".join(f"{label} {row}\n" for label, row in zip(y, rows, strict=True)))
    return path


def pushed_down(rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Feature 1 is wrong all the time, so that its z falls by 1 a round; then come others, one after the other."""
    X = np.zeros((rounds + 40, 12))
    X[:rounds, 0] = 1.0
    y = np.full(len(X), -1)
    for t in range(rounds, len(X)):
        X[t, 1 + (t - rounds) // 4 : 3 + (t - rounds) // 4] = (1.0, -0.5) if t % 2 else (-0.5, 1.0)
        y[t] = 1 if t % 3 else -1
    return X, y


@pytest.mark.parametrize("rounds", [10, 800, 900, 5000])
@pytest.mark.parametrize("maker", MAKERS)
def test_growing_predicts_as_full_width_does(maker: str, rounds: int, tmp_path: Path) -> None:
    """The same predictions, updates and sums as from an array, whose features are all known from the start."""
    X, y = pushed_down(rounds)
    grown, whole = MAKERS[maker](classes=(-1, 1)), MAKERS[maker](classes=(-1, 1))
    found, wanted = grown.run(mb.Source(write(tmp_path / "a.svm", X, y))), whole.run(X, y)
    assert found.predictions.tolist() == wanted.predictions.tolist()
    assert found.updates == wanted.updates
    assert grown._play.engine.core.z()[0].tolist() == whole._play.engine.core.z()[0].tolist()[: grown.ledger_.n]
    assert np.allclose(grown.weights_, whole.weights_[: grown.ledger_.n], atol=1e-12)
    assert np.allclose(grown.decision_function(X[-40:]), whole.decision_function(X[-40:]))


@pytest.mark.parametrize("maker", MAKERS)
def test_predicting_features_that_were_never_seen(maker: str, tmp_path: Path) -> None:
    """Features that come later are scored before they are learned, and scoring changes nothing."""
    X, y = pushed_down(5000)
    learner, twin = MAKERS[maker](classes=(-1, 1)), MAKERS[maker](classes=(-1, 1))
    first = write(tmp_path / "first.svm", X[:5000], y[:5000])
    learner.run(mb.Source(first))
    twin.run(mb.Source(first))
    later = write(tmp_path / "later.svm", X[5000:], y[5000:])
    whole = MAKERS[maker](classes=(-1, 1))
    whole.run(X[:5000], y[:5000])
    predicted = [(scores, labels) for scores, labels in learner.score_parts(mb.Source(later))]
    scores = np.concatenate([each for each, _ in predicted])
    assert np.isfinite(scores).all()
    assert np.concatenate([each for _, each in predicted]).tolist() == whole.predict(X[5000:]).tolist()
    learner.run(mb.Source(later))
    twin.run(mb.Source(later))
    assert learner.weights_.tolist() == twin.weights_.tolist()
