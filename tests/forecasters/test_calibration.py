"""Scores and what they are made of, against fractions; reliability diagrams and their bands."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mistakebound.forecasters import calibration
from mistakebound.forecasters.calibration import brier, decompose, isotonic, log_score, reliability

forecasts = st.lists(
    st.tuples(st.integers(0, 16), st.booleans()), min_size=1, max_size=40
)  # probabilities k/16, so that floats are exact
"""(16 times the forecast, outcome)."""


def arrays(rounds: list[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([k / 16 for k, _ in rounds]), np.array([float(y) for _, y in rounds])


def test_scores_by_hand() -> None:
    """Alice says 3/4 and it rains: 1/16; and it does not: 9/16."""
    p, y = np.array([0.75, 0.75, 1, 0]), np.array([1.0, 0, 1, 0])
    assert brier(p, y).tolist() == [1 / 16, 9 / 16, 0, 0]
    assert log_score(p, y).tolist() == [-math.log(3 / 4), -math.log(1 / 4), 0, 0]
    assert log_score(np.array([0.0, 1]), np.array([1.0, 0])).tolist() == [math.inf, math.inf]


def test_decomposition_by_hand() -> None:
    """1/4 four times, true once; 3/4 twice, true twice; 1/2 once, true: recalibrated to 1/4, 1 and 1."""
    p = np.array([1, 1, 1, 1, 3, 3, 2]) / 4
    y = np.array([1.0, 0, 0, 0, 1, 1, 1])
    found = decompose(p, y)
    score = Fraction(9 + 1 + 1 + 1 + 1 + 1 + 4, 16 * 7)
    recalibrated = Fraction(9 + 1 + 1 + 1, 16 * 7)
    base = Fraction(4, 7) * Fraction(3, 7)
    assert found.score == pytest.approx(float(score), abs=1e-15)
    assert found.miscalibration == pytest.approx(float(score - recalibrated), abs=1e-15)
    assert found.discrimination == pytest.approx(float(base - recalibrated), abs=1e-15)
    assert found.uncertainty == pytest.approx(float(base), abs=1e-15)
    assert found.skill == pytest.approx(float(1 - score / base), abs=1e-14)
    log = decompose(p, y, "log")
    entropy = -(4 / 7 * math.log(4 / 7) + 3 / 7 * math.log(3 / 7))
    assert log.uncertainty == pytest.approx(entropy, abs=1e-15)
    assert log.score == pytest.approx((math.log(4) + 3 * math.log(4 / 3) + 2 * math.log(4 / 3) + math.log(2)) / 7)
    best = (math.log(4) + 3 * math.log(4 / 3)) / 7
    assert log.miscalibration == pytest.approx(log.score - best, abs=1e-15)
    assert log.discrimination == pytest.approx(entropy - best, abs=1e-15)


@given(forecasts, st.sampled_from(["brier", "log"]), st.sampled_from(["isotonic", "values", 1, 3, 10]))
def test_the_parts_add_up(rounds, score, groups) -> None:
    p, y = arrays(rounds)
    found = decompose(p, y, score, groups)
    parts = found.within + found.miscalibration - found.discrimination + found.uncertainty
    assert found.score == pytest.approx(parts, rel=1e-13, abs=1e-14)
    assert found.discrimination >= -1e-15
    if groups in ("isotonic", "values"):
        assert found.within == 0
        assert found.miscalibration >= -1e-15


@given(forecasts)
def test_values_are_murphys(rounds) -> None:
    """Reliability, resolution and uncertainty by Murphy's own formulas, in fractions."""
    n = len(rounds)
    rate = Fraction(sum(y for _, y in rounds), n)
    rel = res = Fraction(0)
    for k, group in groupby(sorted(rounds), key=lambda each: each[0]):
        ys = [y for _, y in group]
        share = Fraction(sum(ys), len(ys))
        rel += len(ys) * (Fraction(k, 16) - share) ** 2 / n
        res += len(ys) * (share - rate) ** 2 / n
    found = decompose(*arrays(rounds), groups="values")
    expected = [float(each) for each in (rel, res, rate * (1 - rate))]
    assert [found.miscalibration, found.discrimination, found.uncertainty] == pytest.approx(expected, abs=1e-14)


@given(forecasts, st.integers(1, 8))
def test_bins_hide_what_stephenson_says(rounds, bins) -> None:
    """Within bins: variance of the forecasts less twice their covariance with the outcomes (2008), in fractions."""
    n = len(rounds)
    within = rel = Fraction(0)
    for _, group in groupby(sorted(rounds), key=lambda each: min(each[0] * bins // 16, bins - 1)):
        members = list(group)
        p = [Fraction(k, 16) for k, _ in members]
        y = [Fraction(int(y)) for _, y in members]
        mean, share = sum(p) / len(p), sum(y) / len(y)
        rel += len(p) * (mean - share) ** 2 / n
        within += sum((a - mean) ** 2 - 2 * (a - mean) * (b - share) for a, b in zip(p, y, strict=True)) / n
    found = decompose(*arrays(rounds), groups=bins)
    assert [found.miscalibration, found.within] == pytest.approx([float(rel), float(within)], abs=1e-14)


@given(forecasts)
def test_isotonic_is_the_max_of_mins(rounds) -> None:
    """At each forecast: the largest, over all beginnings, of the least, over all ends, of the shares between."""
    p, y = arrays(rounds)
    values = sorted({k for k, _ in rounds})

    def share(first: int, last: int) -> Fraction:
        inside = [y for k, y in rounds if first <= k <= last]
        return Fraction(sum(inside), len(inside))

    expected = {
        v / 16: float(max(min(share(a, b) for b in values if b >= v) for a in values if a <= v)) for v in values
    }
    assert isotonic(p, y).tolist() == [expected[each] for each in p.tolist()]


@given(forecasts)
def test_recalibrating_twice_changes_nothing(rounds) -> None:
    p, y = arrays(rounds)
    again = decompose(isotonic(p, y), y)
    assert again.miscalibration == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("altered", [">", "reversed"])
def test_altered_pooling_is_noticed(altered, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = calibration.pooled
    broken = {
        ">": lambda counts, ones: ones / counts,  # nothing is pooled
        "reversed": lambda counts, ones: whole(counts[::-1], ones[::-1])[::-1],
    }[altered]
    monkeypatch.setattr(calibration, "pooled", broken)
    p, y = np.array([0.1, 0.2, 0.3, 0.9]), np.array([0.0, 1.0, 0.0, 1.0])
    assert isotonic(p, y).tolist() != [0, 0.5, 0.5, 1]


def test_impossible_things_happen() -> None:
    """A forecast of 0 that comes true: an infinite log score, all of it miscalibration (or within a bin)."""
    p, y = np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.0, 1.0])
    found = decompose(p, y, "log")
    assert (found.score, found.miscalibration, found.within) == (math.inf, math.inf, 0)
    assert math.isfinite(found.discrimination)
    binned = decompose(p, y, "log", 1)
    assert (binned.score, binned.within) == (math.inf, math.inf)
    assert math.isfinite(binned.miscalibration)


def test_skill_without_uncertainty_is_nan() -> None:
    found = decompose(np.array([0.9, 0.8]), np.array([1.0, 1.0]))
    assert found.uncertainty == 0
    assert math.isnan(found.skill)
    assert decompose(np.array([0.9, 0.8]), np.array([1.0, 1.0]), "log").uncertainty == 0


def test_reliability_by_hand() -> None:
    p = np.array([0.1] * 10 + [0.3] * 10 + [0.9] * 20)
    y = np.array([1.0] * 2 + [0.0] * 8 + [1.0] * 1 + [0.0] * 9 + [1.0] * 15 + [0.0] * 5)
    found = reliability(p, y)
    assert found.forecasts.tolist() == [0.1, 0.3, 0.9]
    assert found.counts.tolist() == [10, 10, 20]
    assert found.observed.tolist() == [0.15, 0.15, 0.75]  # 2/10 and 1/10 are pooled
    binned = reliability(p, y, bins=2)
    assert binned.forecasts == pytest.approx([0.2, 0.9])
    assert binned.observed.tolist() == [0.15, 0.75]


@pytest.mark.parametrize(("bins", "values"), [(None, 11), (None, 5000), (10, 5000)])
def test_the_band_holds_who_is_right_and_shows_who_is_not(bins: int | None, values: int) -> None:
    """Drawn from the forecasts, about 90 % of the points lie in it; squared forecasts leave it in the middle."""
    inside = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = rng.integers(0, values, 1500) / (values - 1)
        y = (rng.random(1500) < p).astype(float)
        found = reliability(p, y, bins=bins, seed=seed + 1, resamples=200)
        inside.append(np.mean((found.low <= found.observed) & (found.observed <= found.high)))
    assert 0.8 < np.mean(inside) < 0.98
    wrong = reliability(p**2, y, bins=bins, resamples=200)
    middle = (wrong.forecasts > 0.1) & (wrong.forecasts < 0.7)
    assert np.mean(wrong.observed[middle] > wrong.high[middle]) > 0.8


def test_the_band_has_its_nominal_coverage() -> None:
    """400 rounds at one half: five of a hundred draws lie more than 1.645 · 0.025 below, and as many above."""
    found = reliability(np.full(400, 0.5), np.zeros(400), resamples=4000)
    assert [found.low[0], found.high[0]] == pytest.approx([0.459, 0.541], abs=0.004)
    assert found.observed[0] < found.low[0]


@settings(max_examples=20)
@given(forecasts)
def test_any_diagram_is_in_order(rounds) -> None:
    found = reliability(*arrays(rounds), resamples=20)
    assert np.all(np.diff(found.forecasts) > 0)
    assert np.all(np.diff(found.observed) >= 0)
    assert np.all((found.low >= 0) & (found.low <= found.high) & (found.high <= 1))
    assert found.counts.sum() == len(rounds)
