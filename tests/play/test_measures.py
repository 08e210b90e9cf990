"""Log loss, Brier score, AUC, calibration and confusion against scikit-learn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from panel_streams import STREAMS, matrix

import mistakebound as mb
from mistakebound.play.measures import BINS, Measures, edges_of_bins

metrics = pytest.importorskip("sklearn.metrics")


def measured(p: np.ndarray, y: np.ndarray) -> Measures:
    """Measures of probabilities, counted here."""
    bins = np.searchsorted(edges_of_bins(), p, side="right") - 1
    chance = np.where(y, p, 1 - p)
    negatives, positives = (np.bincount(bins[y == label], minlength=BINS) for label in (0, 1))
    return Measures(len(p), float(((p - y) ** 2).sum()), -float(np.log(chance).sum()), 1.0, negatives, positives)


def check(found: Measures, p: np.ndarray, y: np.ndarray) -> None:
    """Exact numbers are exact; those that depend on the bins are exact for binned probabilities."""
    assert found.rounds == len(p)
    assert found.log_loss == pytest.approx(metrics.log_loss(y, p, labels=[0, 1]), rel=1e-7)
    assert found.brier == pytest.approx(metrics.brier_score_loss(y, p), rel=1e-7)
    bins = np.searchsorted(edges_of_bins(), p, side="right") - 1
    if 0 < y.sum() < len(y):
        assert found.auc == pytest.approx(metrics.roc_auc_score(y, bins), abs=1e-12)
        assert found.auc == pytest.approx(metrics.roc_auc_score(y, p), abs=5e-3)
        wrong, right = found.roc()
        assert float(np.trapezoid(right, wrong)) == pytest.approx(found.auc, abs=1e-12)
    for threshold in (0.0, 0.001, 0.01, 0.1, 0.25, 0.333, 0.5, 0.9, 0.999, 1.0):
        at = found.confusion(threshold)
        (tn, fp), (fn, tp) = metrics.confusion_matrix(y, p >= threshold, labels=[0, 1]).tolist()
        assert at[1:] == (tp, fp, tn, fn), threshold
        assert at.error == pytest.approx((fp + fn) / len(p))
        assert (at.precision == pytest.approx(tp / (tp + fp))) if tp + fp else math.isnan(at.precision)
        assert (at.recall == pytest.approx(tp / (tp + fn))) if tp + fn else math.isnan(at.recall)
    parts = found.calibration()
    assert sum(each.rounds for each in parts) == len(p)
    for each in parts:
        inside = (p >= each.low) & ((p < each.high) | (each.high == 1))
        assert each.rounds == inside.sum()
        assert each.mean == pytest.approx(p[inside].mean(), abs=5.1e-4)  # half of a bin
        assert each.positive == pytest.approx(y[inside].mean())
    distance = sum(each.rounds * abs(each.mean - each.positive) for each in parts) / len(p)
    assert found.calibration_error == pytest.approx(distance)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("spread", [0.3, 2.0, 8.0])
def test_random_probabilities(seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-rng.normal(0, spread, 3000)))
    y = (rng.random(3000) < p).astype(int)
    check(measured(p, y), p, y)


def test_one_label_has_no_area() -> None:
    p, y = np.array([0.2, 0.7, 0.999, 1e-9]), np.zeros(4, int)
    assert math.isnan(measured(p, y).auc)
    check(measured(p, y), p, y)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        *((name, mb.Panel) for name in ("binary", "dense_real", "one_label", "alternating")),
        *(
            (name, mb.LogisticSgd) for name in ("binary", "alternating")
        ),  # scikit-learn cuts off its log losses on others
    ],
)
def test_the_core_measures_each_probability_before_its_label(name: str, make: Any) -> None:
    rows, labels = STREAMS[name]()
    X, y = matrix(rows), np.array(labels)
    learner, chances = make(classes=(-1, 1)), []
    learner.run(X[:1], y[:1])
    before = learner.ledger_.measures
    for t in range(1, len(y)):
        chances.append(learner.predict_proba(X[t])[0, 1])
        learner.run(X[t], y[t : t + 1])
    found = learner.ledger_.measures - before
    check(found, np.array(chances), (y[1:] > 0).astype(int))
    assert learner.ledger_.measures.rounds == len(y)


def test_parts_add_up() -> None:
    rows, labels = STREAMS["binary"]()
    X, panel = matrix(rows), mb.Panel(classes=(-1, 1))
    first, second = panel.run(X[:100], labels[:100]).measures, panel.run(X[100:], labels[100:]).measures
    whole = panel.ledger_.measures
    assert first.rounds + second.rounds == whole.rounds
    assert first.total_log_loss + second.total_log_loss == pytest.approx(whole.total_log_loss)
    for bins in ("positives", "negatives"):
        added = zip(getattr(first, bins), getattr(second, bins), strict=True)
        assert [a + b for a, b in added] == getattr(whole, bins)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan])
def test_thresholds_are_probabilities(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold must be between 0 and 1"):
        measured(np.array([0.5]), np.array([1])).confusion(threshold)


def test_the_default_threshold_is_that_of_the_panel() -> None:
    rows, labels = next(iter(STREAMS.values()))()
    X = matrix(rows)
    for threshold in (None, 0.2, 0.8):
        ledger = mb.Panel("lean", threshold=threshold).run(X, labels)
        found = ledger.measures.confusion()
        assert found == ledger.measures.confusion(threshold or 0.5)
        if threshold is not None:
            assert (found.false_positives, found.false_negatives) == (ledger.false_positives, ledger.false_negatives)
    assert mb.NaiveBayes().run(X, labels).measures.confusion().threshold == 0.5


@pytest.mark.parametrize("bins", ["churn", 0, 1001, 2.5, True, None])
def test_the_number_of_intervals_is_a_whole_number(bins: Any) -> None:
    rows, labels = next(iter(STREAMS.values()))()
    for targets in (labels, [t % 3 for t in range(len(rows))]):
        measures = mb.Panel("lean").run(matrix(rows), targets).measures
        with pytest.raises(ValueError, match="bins must be a whole number from 1 to 1000, got"):
            measures.calibration(bins)
        assert len(measures.calibration(np.int64(2))) <= 2
