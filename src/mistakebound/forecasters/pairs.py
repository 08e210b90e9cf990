"""Compare two forecasters on the rounds in which both gave a forecast, with a confidence sequence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mistakebound.forecasters.confidence_sequence import ConfidenceSequence
from mistakebound.forecasters.scoring import chances, difference, of_outcomes
from mistakebound.forecasters.verdict import Pair

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.forecasters.confidence_sequence import Bounds
    from mistakebound.forecasters.inputs import ForecastRounds

LOG_SCALE = 4.0
"""Scale of the confidence sequence for log scores: their differences are seldom larger. It affects only its width."""


def compare_pair(rounds: ForecastRounds, a: int, b: int, alpha: float) -> Pair | None:
    """Return the comparison of two forecasters; None if there is no round in which both gave a forecast."""
    both = np.flatnonzero(rounds.given[:, a] & rounds.given[:, b])
    if not len(both):
        return None
    y = rounds.outcomes[both]
    p, q = rounds.forecasts[both, a], rounds.forecasts[both, b]
    if of_outcomes(difference(p, q, "brier"), y).mean() > 0:
        p, q, a, b = q, p, b, a  # the order of two may differ on their common rounds
    most = 2.0 if rounds.classes else 1.0
    values, sequence, bounds = run_sequence(
        np.clip(difference(p, q, "brier"), -most, most), p, q, y, ConfidenceSequence(alpha, -most, most)
    )
    means = np.cumsum(values) / np.arange(1, len(values) + 1)
    above = np.flatnonzero(bounds.upper >= 0)
    since = int(above[-1]) + 2 if len(above) else 1
    log_differences = difference(p, q, "log")
    log_low, log_high = -math.inf, math.inf
    if np.isfinite(log_differences).all():
        log = ConfidenceSequence(alpha, -math.inf, math.inf, LOG_SCALE)
        run_sequence(log_differences, p, q, y, log)
        log_low, log_high = log.lower, log.upper
    with np.errstate(invalid="ignore"):  # NaN if both have infinite scores, in different rounds
        log_mean = float(of_outcomes(log_differences, y).mean())
    return Pair(
        rounds.names[a],
        rounds.names[b],
        sequence.mean,
        sequence.lower,
        sequence.upper,
        since if since <= len(values) else None,
        math.exp(min(sequence.log_evidence_below, 709.0)) / 2,
        1 / alpha,
        log_mean,
        log_low,
        log_high,
        both,
        means,
        bounds,
    )


def run_sequence(
    differences: FloatArray, p: FloatArray, q: FloatArray, y: IntArray, sequence: ConfidenceSequence
) -> tuple[FloatArray, ConfidenceSequence, Bounds]:
    """Run a confidence sequence over the differences of two scores: rounds × outcomes.

    The forecasts are known before the outcome. So the difference is one of as many known numbers as there are
    outcomes, and its guess is its expected value if the mean of the two forecasts were the true distribution.
    """
    low, high = differences.min(axis=1), differences.max(axis=1)
    guess = np.clip((differences * (chances(p) + chances(q)) / 2).sum(axis=1), low, high)
    values = of_outcomes(differences, y)
    return values, sequence, sequence.run(values, low, high, guess)
