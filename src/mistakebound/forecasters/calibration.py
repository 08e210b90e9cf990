"""Score probability forecasts: Brier and log score, their decomposition, reliability diagrams.

A score is a loss: smaller is better. The Brier score is ``(p − y)²``; the log score is ``−ln`` of the probability that
was given to the outcome, infinite if that was 0. Both are proper: the expected score is best for the true probability.

See docs/theory.md, "Proper scores".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from mistakebound.losses import Log, Square

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound._support.arrays import FloatArray, IntArray

Score = Literal["brier", "log"]
MOST_GROUPS = 512
"""Bands are computed from at most this many groups of neighbouring forecasts; a picture cannot show more."""


def brier(p: FloatArray, y: FloatArray) -> FloatArray:
    """Return the squared distance of each forecast from its outcome.

    >>> import numpy as np
    >>> brier(np.array([0.75, 0.75]), np.array([1.0, 0.0])).tolist()
    [0.0625, 0.5625]
    """
    return Square().value(p, y)


def log_score(p: FloatArray, y: FloatArray) -> FloatArray:
    """Return −ln of the probability that each forecast gave to its outcome; nothing is clipped.

    >>> import numpy as np
    >>> log_score(np.array([1.0, 0.0]), np.array([1.0, 1.0])).tolist()
    [0.0, inf]
    """
    return Log().value(p, y)


SCORES: dict[Score, Callable[[FloatArray, FloatArray], FloatArray]] = {"brier": brier, "log": log_score}


@dataclass(frozen=True)
class Decomposition:
    """A mean score as a sum: ``score = within + miscalibration − discrimination + uncertainty``.

    See docs/theory.md, "Decomposition of a score".

    Attributes
    ----------
    score : float
        Mean over all rounds.
    miscalibration : float
        The gain from recalibrating, which replaces each forecast by how often it came true. Called *reliability* by
        Murphy and MCB in CORP.
    discrimination : float
        The gain of recalibrated forecasts over always forecasting the base rate. Called *resolution* by Murphy and DSC
        in CORP.
    uncertainty : float
        The score of always forecasting the base rate.
    within : float
        The score of the forecasts minus the score of the mean forecasts of their bins; 0 without bins.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    within: float = 0.0

    @property
    def skill(self) -> float:
        """``1 − score/uncertainty``: the share of the base rate's score that is saved; NaN if that score is 0."""
        return 1 - self.score / self.uncertainty if self.uncertainty > 0 else float("nan")


def decompose(
    p: FloatArray, y: FloatArray, score: Score = "brier", groups: Literal["isotonic", "values"] | int = "isotonic"
) -> Decomposition:
    """Decompose the mean score of forecasts p for outcomes y (0 or 1).

    All terms are differences of mean scores: of the forecasts, of recalibrated forecasts and of the base rate. So they
    add up to the score for any score and any groups.

    Parameters
    ----------
    p, y : array
        Forecasts in [0, 1], and outcomes 0 or 1.
    score : {"brier", "log"}
        Which score.
    groups : {"isotonic", "values"} or int
        How forecasts are grouped. A forecast is recalibrated to the share of ones among the rounds of its group.
        "isotonic" (the default; CORP: Dimitriadis, Gneiting and Jordan 2021) chooses the groups with the best score
        that keep the order of the forecasts, by pooling adjacent violators. It needs no choice of bins, and it also
        works if all forecasts differ. "values" (Murphy) has a group for each different forecast; if all forecasts
        differ, every forecaster then seems to discriminate perfectly. A number sets the number of bins of equal width;
        ``within`` is then the part of the score that is inside the bins.

    Examples
    --------
    >>> import numpy as np
    >>> p, y = np.array([0.25, 0.25, 0.75, 0.75]), np.array([0.0, 0.0, 1.0, 0.0])
    >>> decompose(p, y)
    Decomposition(score=0.1875, miscalibration=0.0625, discrimination=0.0625, uncertainty=0.1875, within=0.0)
    """
    losses = SCORES[score]
    binned, recalibrated = p, p
    if groups == "isotonic":
        recalibrated = isotonic(p, y)
    else:
        keys = p if groups == "values" else np.minimum(np.floor(p * groups), groups - 1)
        _, group, counts = np.unique(keys, return_inverse=True, return_counts=True)
        recalibrated = (np.bincount(group, y) / counts)[group]
        if groups != "values":
            binned = np.clip((np.bincount(group, p) / counts)[group], 0, 1)
    own, in_bins, best, base = (
        float(losses(each, y).mean()) for each in (p, binned, recalibrated, np.full(len(y), y.mean()))
    )
    within = own - in_bins if in_bins < np.inf else 0.0
    return Decomposition(own, in_bins - best, base - best, base, within)


def isotonic(p: FloatArray, y: FloatArray) -> FloatArray:
    """Return recalibrated forecasts: the values at p of the non-decreasing function that is closest to y.

    It has the best mean Brier score and log score among all non-decreasing functions.

    See docs/theory.md, "Isotonic recalibration".

    >>> import numpy as np
    >>> isotonic(np.array([0.1, 0.2, 0.3, 0.9]), np.array([0.0, 1.0, 0.0, 1.0])).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    _, place, counts = np.unique(p, return_inverse=True, return_counts=True)
    return pooled(counts, np.bincount(place, y).astype(np.int64))[place]


def pooled(counts: IntArray, ones: IntArray) -> FloatArray:
    """Return the share of ones in each group, after pooling neighbours until the shares do not decrease.

    Counts are whole numbers, so shares are compared exactly.
    """
    pools: list[tuple[int, int, int]] = []  # rounds, ones, groups
    for n, s in zip(counts.tolist(), ones.tolist(), strict=True):
        size = 1
        while pools and pools[-1][1] * n >= s * pools[-1][0]:
            before = pools.pop()
            n, s, size = n + before[0], s + before[1], size + before[2]  # noqa: PLW2901 - the pool that grows
        pools.append((n, s, size))
    return np.repeat([s / n for n, s, _ in pools], [size for _, _, size in pools])


@dataclass(frozen=True)
class Reliability:
    """A reliability diagram: how often the forecasts of each probability came true.

    Attributes
    ----------
    forecasts : array
        The different forecasts, in increasing order; with bins, the mean of each bin.
    counts : array
        The number of rounds of each.
    observed : array
        How often they came true: recalibrated by pooling adjacent violators, or the share of ones in each bin.
    low, high : array
        The consistency band. If the forecasts are calibrated, ``observed`` lies between ``low`` and ``high`` with
        probability ``level``, at each point separately. A point outside is evidence against calibration.
    level : float
        The probability of the band.
    """

    forecasts: FloatArray
    counts: IntArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    level: float


def reliability(
    p: FloatArray, y: FloatArray, bins: int | None = None, level: float = 0.9, resamples: int = 400, seed: int = 0
) -> Reliability:
    """Compute the reliability diagram of forecasts p for outcomes y.

    See docs/theory.md, "Reliability diagrams".

    Parameters
    ----------
    p, y : array
        Forecasts in [0, 1], and outcomes 0 or 1. Leave out rounds without a forecast.
    bins : int, optional
        The number of bins of equal width. Default: no bins, but isotonic regression.
    level : float
        The probability of the consistency band at each point.
    resamples : int
        How often outcomes are drawn from the forecasts to compute the band. If there are more than 512 different
        forecasts, neighbours are drawn together with their mean.
    seed : int
        The seed of these draws.

    Examples
    --------
    >>> import numpy as np
    >>> diagram = reliability(np.array([0.25] * 4 + [0.75] * 4), np.array([0.0, 0, 0, 1, 1, 1, 1, 1]))
    >>> diagram.forecasts.tolist(), diagram.observed.tolist()
    ([0.25, 0.75], [0.25, 1.0])
    """
    p, y = np.asarray(p, np.float64), np.asarray(y, np.float64)
    values, place = np.unique(p if bins is None else np.minimum(np.floor(p * bins), bins - 1), return_inverse=True)
    counts = np.bincount(place, minlength=len(values))
    forecasts = values if bins is None else np.bincount(place, p) / counts
    ones = np.bincount(place, y).astype(np.int64)
    # With more forecasts than a picture can show, neighbours are drawn together.
    order = np.minimum(np.cumsum(counts) - counts, len(p) - 1) * MOST_GROUPS // max(len(p), 1)
    group = np.arange(len(values)) if len(values) <= MOST_GROUPS else np.unique(order, return_inverse=True)[1]
    sizes = np.bincount(group, counts).astype(np.int64)
    means = np.clip(np.bincount(group, counts * forecasts) / sizes, 0, 1)
    drawn = np.random.default_rng(seed).binomial(sizes, means, (resamples, len(sizes)))
    shares = drawn / sizes if bins is not None else np.array([pooled(sizes, each) for each in drawn])
    low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2], axis=0)
    observed = ones / counts if bins is not None else pooled(counts, ones)
    return Reliability(forecasts, counts, observed, low[group], high[group], level)
