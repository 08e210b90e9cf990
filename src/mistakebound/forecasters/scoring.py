"""Scores of forecasts for each outcome that is possible, of two outcomes or of several classes.

A forecast of two outcomes is the probability p of 1. A forecast of K classes is a row of K probabilities, and its Brier
score is the sum of the squares over all classes. So the score of two classes is twice that of two outcomes.
"""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

import numpy as np

from mistakebound.forecasters.calibration import SCORES, Decomposition, decompose

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.forecasters.calibration import Score


def possible_scores(p: FloatArray, score: Score) -> FloatArray:
    """Return the score of each forecast for each outcome: rounds × outcomes.

    >>> import numpy as np
    >>> possible_scores(np.array([0.75]), "brier").tolist()
    [[0.5625, 0.0625]]
    >>> possible_scores(np.array([[0.5, 0.25, 0.25]]), "brier").tolist()
    [[0.375, 0.875, 0.875]]
    """
    if p.ndim == 1:
        return np.stack([SCORES[score](p, np.full(len(p), outcome)) for outcome in (0.0, 1.0)], axis=1)
    if score == "brier":
        return np.asarray((p**2).sum(axis=1, keepdims=True) - 2 * p + 1)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(p)) + 0.0


def chances(p: FloatArray) -> FloatArray:
    """Return the probability of each outcome: rounds × outcomes."""
    return np.stack([1 - p, p], axis=1) if p.ndim == 1 else p


def of_outcomes(scores: FloatArray, y: IntArray) -> FloatArray:
    """Return the scores of the outcomes that came."""
    return np.asarray(scores[np.arange(len(y)), y])


def difference(p: FloatArray, q: FloatArray, score: Score) -> FloatArray:
    """Return score(p) − score(q) for each outcome: 0 where the two agree, also if both are infinite."""
    ours, theirs = possible_scores(p, score), possible_scores(q, score)
    with np.errstate(invalid="ignore"):
        return np.where(ours == theirs, 0.0, ours - theirs)


def decomposed(p: FloatArray, y: IntArray, score: Score) -> Decomposition:
    """Return the decomposed mean score.

    The Brier score of several classes is the sum of those of the classes, each against all others, and so are its
    parts. The log score is not; its miscalibration and discrimination are NaN.

    >>> import numpy as np
    >>> decomposed(np.array([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]]), np.array([0, 1]), "brier").score
    0.4375
    """
    if p.ndim == 1:
        return decompose(p, y.astype(np.float64), score)
    if score == "brier":
        parts = [astuple(decompose(p[:, k], (y == k).astype(np.float64), score)) for k in range(p.shape[1])]
        return Decomposition(*(float(sum(each)) for each in zip(*parts, strict=True)))
    rates = np.bincount(y, minlength=p.shape[1]) / len(y)
    entropy = float(-sum(rate * np.log(rate) for rate in rates if rate > 0))
    return Decomposition(float(of_outcomes(possible_scores(p, score), y).mean()), np.nan, np.nan, entropy)
