"""Score probability forecasts: Brier and log score, their decomposition, reliability diagrams.

A score is a loss: the smaller, the better. Brier's is ``(p − y)²``; the log score is ``−ln`` of the probability given
to what happened, infinite if that was 0. Both are proper: nobody gains by saying what he does not believe.

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
"""Bands are drawn from at most so many groups of neighbouring forecasts: there is a picture no finer."""


def brier(p: FloatArray, y: FloatArray) -> FloatArray:
    """Squared distance of each forecast from its outcome.

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
        What would be gained by recalibrating: saying in place of each forecast how often it came true. Murphy's
        *reliability*, CORP's MCB.
    discrimination : float
        What recalibrated forecasts gain over always saying the base rate. Murphy's *resolution*, CORP's DSC.
    uncertainty : float
        The score of always saying the base rate.
    within : float
        What the forecasts lose against saying the mean of their bin each time; 0 without bins.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    within: float = 0.0

    @property
    def skill(self) -> float:
        """``1 − score/uncertainty``: the part of the base rate's score that is saved; NaN if that has none to save."""
        return 1 - self.score / self.uncertainty if self.uncertainty > 0 else float("nan")


def decompose(
    p: FloatArray, y: FloatArray, score: Score = "brier", groups: Literal["isotonic", "values"] | int = "isotonic"
) -> Decomposition:
    """Take the mean score of forecasts p for outcomes y (0 or 1) apart.

    All terms are differences of mean scores, of the forecasts, of recalibrated ones and of the base rate, so that they
    add up to the score whatever the score and the groups are.

    Parameters
    ----------
    p, y : array
        Forecasts in [0, 1], and outcomes 0 or 1.
    score : {"brier", "log"}
        Which one.
    groups : {"isotonic", "values"} or int
        How a forecast is recalibrated: to the share of ones among the rounds of its group. "isotonic" makes the groups
        that keep the order of the forecasts and have the best score (by pooling adjacent violators). It has no bins to
        choose, on which the terms would depend, and serves also forecasts that all differ, where "values" (a group for
        each different forecast, as Murphy has it) calls every forecaster perfectly discriminating; so it is the default
        (CORP: Dimitriadis, Gneiting and Jordan 2021). A number makes so many bins of equal width; then ``within`` is
        what the bins hide.

    Examples
    --------
    >>> import numpy as np
    >>> p, y = np.array([0.25, 0.25, 0.75, 0.75]), np.array([0.0, 0.0, 1.0, 0.0])
    >>> decompose(p, y)
    Decomposition(score=0.1875, miscalibration=0.0625, discrimination=0.0625, uncertainty=0.1875, within=0.0)
    """
    losses = SCORES[score]
    said, recalibrated = p, p
    if groups == "isotonic":
        recalibrated = isotonic(p, y)
    else:
        keys = p if groups == "values" else np.minimum(np.floor(p * groups), groups - 1)
        _, group, counts = np.unique(keys, return_inverse=True, return_counts=True)
        recalibrated = (np.bincount(group, y) / counts)[group]
        if groups != "values":
            said = np.clip((np.bincount(group, p) / counts)[group], 0, 1)
    own, in_bins, best, base = (
        float(losses(each, y).mean()) for each in (p, said, recalibrated, np.full(len(y), y.mean()))
    )
    within = own - in_bins if in_bins < np.inf else 0.0
    return Decomposition(own, in_bins - best, base - best, base, within)


def isotonic(p: FloatArray, y: FloatArray) -> FloatArray:
    """Recalibrate: the non-decreasing function of p that is closest to y, at each p.

    It has the best mean Brier score and log score among all non-decreasing functions.

    See docs/theory.md, "Isotonic recalibration".

    >>> import numpy as np
    >>> isotonic(np.array([0.1, 0.2, 0.3, 0.9]), np.array([0.0, 1.0, 0.0, 1.0])).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    _, place, counts = np.unique(p, return_inverse=True, return_counts=True)
    return pooled(counts, np.bincount(place, y).astype(np.int64))[place]


def pooled(counts: IntArray, ones: IntArray) -> FloatArray:
    """Shares of ones in groups that are in order, neighbours pooled until the shares are in order, too.

    Counts are whole numbers, so that which share is larger is decided exactly.
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
    """A reliability diagram: how often what was said with each probability came true.

    Attributes
    ----------
    forecasts : array
        The different forecasts, in increasing order; with bins, the mean of each bin.
    counts : array
        Rounds of each.
    observed : array
        How often they came true: recalibrated by pooling adjacent violators, or the share of ones in each bin.
    low, high : array
        The consistency band: between them lies ``observed`` with probability ``level``, at each point by itself, if
        outcomes come true as often as the forecasts say. Outside it, the forecaster is surely not that good.
    level : float
        Of the band.
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
        Forecasts in [0, 1], and outcomes 0 or 1. (Of a forecaster that is silent at times, the rounds where he is not.)
    bins : int, optional
        So many bins of equal width; without it, by isotonic regression, which needs none.
    level : float
        Of the consistency band, pointwise.
    resamples : int
        How often outcomes are drawn from the forecasts for it. (Of more than 512 different forecasts, neighbours are
        drawn together, with their mean.)
    seed : int
        Of those draws.

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
    # Neighbours are drawn together where there are more of them than a picture has room for.
    order = np.minimum(np.cumsum(counts) - counts, len(p) - 1) * MOST_GROUPS // max(len(p), 1)
    group = np.arange(len(values)) if len(values) <= MOST_GROUPS else np.unique(order, return_inverse=True)[1]
    sizes = np.bincount(group, counts).astype(np.int64)
    means = np.clip(np.bincount(group, counts * forecasts) / sizes, 0, 1)
    drawn = np.random.default_rng(seed).binomial(sizes, means, (resamples, len(sizes)))
    shares = drawn / sizes if bins is not None else np.array([pooled(sizes, each) for each in drawn])
    low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2], axis=0)
    observed = ones / counts if bins is not None else pooled(counts, ones)
    return Reliability(forecasts, counts, observed, low[group], high[group], level)
