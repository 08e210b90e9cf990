"""Charts of probabilities: reliability diagrams, ROC curves, and what a threshold does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mistakebound.viz.chart import Axis, Band, Boxes, Chart, Level, Line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mistakebound.forecasters.calibration import Reliability
    from mistakebound.play.class_measures import ConfidenceBin
    from mistakebound.play.measures import CalibrationBin, Measures
    from mistakebound.viz.chart import Mark


DIAGONAL = Line("calibrated", (0, 1), (0, 1), guide=True)
BARS = 0.15
"""Height of the largest bar below a reliability diagram."""
THRESHOLDS = tuple(k / 100 for k in range(1, 100))


def shares(label: str) -> Axis:
    """Return an axis from 0 to 1."""
    return Axis(label, low=0, high=1)


def calibration_chart(bins: Sequence[CalibrationBin], positive: str) -> Chart:
    """Return how often the positive label occurred, against the probability that was predicted for it."""
    return _binned(bins, f"predicted probability of {positive}", f"share of {positive}")


def confidence_chart(bins: Sequence[ConfidenceBin]) -> Chart:
    """Return how often the predicted label of several was right, against the probability that it had."""
    return _binned(bins, "probability of the predicted label", "share of right predictions")


def _binned(bins: Sequence[CalibrationBin | ConfidenceBin], predicted: str, observed: str) -> Chart:
    """Return the share of each bin, its last number, against the mean probability."""
    most = max((each.rounds for each in bins), default=1)
    bars = [(each.low, each.high, 0.0, BARS * each.rounds / most) for each in bins]
    x, y = [each.mean for each in bins], [each[-1] for each in bins]
    dots = Line(observed, x, y, colour=1, dots=True, joined=False)
    bands = _within_chance(bins)
    note = "Bars: number of rounds. Band: where a dot lies in 90 of 100 cases if the probabilities are right."
    marks: list[Mark] = [Boxes("", bars, colour=6, faint=True), bands, DIAGONAL, dots]
    return Chart("Reliability of the probabilities", shares(predicted), shares(observed), marks, note=note, square=True)


def auc_in_words(auc: float) -> str:
    """Return the area below a ROC curve in words.

    >>> auc_in_words(0.98765), auc_in_words(math.nan)
    ('AUC 0.9877', 'no AUC: only one label occurred')
    """
    return "no AUC: only one label occurred" if math.isnan(auc) else f"AUC {auc:.4f}"


def _within_chance(bins: Sequence[CalibrationBin | ConfidenceBin]) -> Band:
    """Return the band of 90 % of the binomial distribution of each bin (its normal approximation)."""
    x = [each.mean for each in bins]
    spread = [1.645 * math.sqrt(each.mean * (1 - each.mean) / each.rounds) for each in bins]
    low = [max(mean - part, 0.0) for mean, part in zip(x, spread, strict=True)]
    high = [min(mean + part, 1.0) for mean, part in zip(x, spread, strict=True)]
    return Band("", x, low, high, colour=0)


def reliability_chart(found: Reliability, title: str, *, note: str = "") -> Chart:
    """Return a reliability diagram: how often forecasts came true, with the consistency band and a histogram."""
    heights, edges = np.histogram(found.forecasts, 20, (0, 1), weights=found.counts)
    scale = BARS / max(float(heights.max()), 1.0)
    bars = [(float(a), float(b), 0.0, float(h) * scale) for a, b, h in zip(edges, edges[1:], heights, strict=False)]
    forecasts = found.forecasts.tolist()
    marks: list[Mark] = [
        Boxes("", bars, colour=6, faint=True),
        Band(f"{100 * found.level:g} % if calibrated", forecasts, found.low.tolist(), found.high.tolist(), colour=0),
        DIAGONAL,
        Line("came true", forecasts, found.observed.tolist(), colour=1, dots=len(forecasts) <= 40),
    ]
    return Chart(title, shares("forecast"), shares("share that came true"), marks, note=note, square=True)


def roc_chart(curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> Chart:
    """Return ROC curves from {name: (false positive rates, true positive rates)}."""
    marks: list[Mark] = [Line("guessing", (0, 1), (0, 1), guide=True)]
    marks += [Line(name, *rates) for name, rates in curves.items()]
    note = "Each point is a threshold. The area below the curve is the AUC."
    x, y = shares("share of the negatives predicted positive"), shares("share of the positives found")
    return Chart("ROC curve", x, y, marks, note=note, square=True)


def threshold_chart(measures: Measures, cut: float | None = None) -> Chart:
    """Return precision, recall and error against the threshold; ``cut`` is the threshold that was used."""
    found = [measures.confusion(each) for each in THRESHOLDS]
    precision, recall, error = ([getattr(each, name) for each in found] for name in ("precision", "recall", "error"))
    marks: list[Mark] = [
        Line("precision", THRESHOLDS, precision),
        Line("recall", THRESHOLDS, recall),
        Line("error", THRESHOLDS, error),
    ]
    if cut is not None:
        marks.append(Level(f"used: {cut:g}", cut, along="x", colour=6))
    note = (
        "Precision: share of the positive predictions that are right. Recall: share of the positive labels that are "
        "found. Error: share of all predictions that are wrong."
    )
    x = shares("least probability for a positive prediction")
    return Chart("What a threshold does", x, shares("share"), marks, note=note)
