"""Alice or Bob: rankings, pairs, what is clear and since when, and what is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.forecasters.comparison import compare


def weather(rounds: int, seed: int = 0, noise: float = 0.25) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Alice knows the true chance of rain, Bob nearly, Carol says one half."""
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.05, 0.95, rounds)
    bob = np.clip(chance + noise * rng.uniform(-1, 1, rounds), 0.01, 0.99)
    rain = (rng.random(rounds) < chance).astype(int)
    return {"Alice": chance, "Bob": bob, "Carol": np.full(rounds, 0.5)}, rain


def test_two_rounds_by_hand() -> None:
    """Brier: Alice (9 + 4)/200, Bob (4 + 25)/200; the difference is −16/200 = −0.08."""
    report = compare({"Bob": [0.8, 0.5], "Alice": [0.7, 0.2]}, [1, 0])
    assert list(report.scores) == ["Alice", "Bob"]
    assert report.scores["Alice"].brier.score == pytest.approx(13 / 200, abs=1e-15)
    assert report.scores["Bob"].brier.score == pytest.approx(29 / 200, abs=1e-15)
    assert report.scores["Alice"].skill == pytest.approx(1 - 13 / 50)
    assert report.scores["Bob"].log.score == pytest.approx(-(math.log(0.8) + math.log(0.5)) / 2)
    (pair,) = report.pairs
    assert (pair.better, pair.worse) == ("Alice", "Bob")
    assert pair.difference == pytest.approx(-16 / 200, abs=1e-15)
    assert pair.log_difference == pytest.approx(-(math.log(0.7 / 0.8) + math.log(0.8 / 0.5)) / 2)
    # two rounds decide nothing: the bounds are the means of the least and of the most that could have come
    assert pair.low == pytest.approx(((0.49 - 0.64) + (0.04 - 0.25)) / 2)
    assert pair.high == pytest.approx(((0.09 - 0.04) + (0.64 - 0.25)) / 2)
    assert pair.clear_since is None
    assert pair.means.tolist() == pytest.approx([0.05, -0.08])
    assert report.base_rate == 0.5


def test_one_pair_is_one_sequence() -> None:
    """The pair's bounds are those of the sequence, told the two values that each round could bring."""
    P, y = weather(120)
    p, q = P["Alice"], P["Bob"]
    (pair,) = compare({"Alice": p, "Bob": q}, y).pairs
    assert pair.better == "Alice"
    zero, one = p**2 - q**2, (1 - p) ** 2 - (1 - q) ** 2
    single = mb.forecasters.ConfidenceSequence(0.05, -1, 1)
    for t, (low, high) in enumerate(zip(np.minimum(zero, one), np.maximum(zero, one), strict=True)):
        guess = zero[t] + (one[t] - zero[t]) * (p[t] + q[t]) / 2
        bounds = single.learn_one([zero, one][y[t]][t], low, high, guess)
        assert bounds == pytest.approx((pair.bounds.lower[t], pair.bounds.upper[t]), rel=1e-9)
    assert pair.evidence == pytest.approx(math.exp(single.log_evidence_below) / 2)


def test_it_becomes_clear_and_the_truth_wins() -> None:
    """Carol is told from Alice within 150 rounds, Bob within 1,500, all pairs together; 30 tell nothing."""
    P, y = weather(1500)
    report = compare(P, y)
    assert list(report.scores) == ["Alice", "Bob", "Carol"]
    since = {(pair.better, pair.worse): pair.clear_since for pair in report.pairs}
    assert since["Alice", "Carol"] is not None
    assert since["Alice", "Carol"] <= 150
    assert since["Alice", "Bob"] is not None
    assert report.surely_best == "Alice"
    assert report.ranking.startswith("Alice is best (95 % confidence")
    for pair in report.pairs:
        assert pair.clear_since is not None
        assert np.all(pair.bounds.upper[pair.clear_since - 1 :] < 0)
        assert pair.bounds.upper[pair.clear_since - 2] >= 0
        assert pair.evidence >= pair.enough == pytest.approx(60)
        assert pair.log_low < pair.log_difference < pair.log_high
        assert (pair.log_high < 0) == (pair.better == "Alice")  # Bob's and Carol's takes longer
    some = compare({name: p[:200] for name, p in P.items()}, y[:200])
    assert [pair.clear for pair in some.pairs if pair.better == "Alice"] == [False, True]
    assert some.surely_best is None
    assert some.ranking == "Alice is first, and clearly better than Carol"
    early = compare({name: p[:30] for name, p in P.items()}, y[:30])
    assert early.surely_best is None
    assert not early.pairs[0].clear
    assert "not yet clear" in str(early)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_all_pairs_share_alpha(alpha: float) -> None:
    """Each pair of three has a third of it."""
    P, y = weather(200)
    three = {pair.better + pair.worse: pair for pair in compare(P, y, alpha=alpha).pairs}
    for a, b in (("Alice", "Bob"), ("Bob", "Carol"), ("Alice", "Carol")):
        (alone,) = compare({a: P[a], b: P[b]}, y, alpha=alpha / 3).pairs
        pair = three[alone.better + alone.worse]
        assert (pair.low, pair.high, pair.evidence) == (alone.low, alone.high, alone.evidence)


def test_coverage_of_the_brier_difference_and_of_the_log_score() -> None:
    """Whoever knows the chances knows what the difference is expected to be: outside in at most α of 150 streams.

    The chances react to what happened: rain makes rain likely, and whoever was wrong shouts the louder.
    """
    missed = {"brier": 0, "log": 0}
    for seed in range(150):
        rng = np.random.default_rng(seed)
        chance, p, q, y = np.empty(80), np.empty(80), np.empty(80), np.empty(80)
        now, loud = 0.5, 0.1
        for t in range(80):
            chance[t], p[t], q[t] = now, np.clip(now + loud, 0.02, 0.98), np.clip(now - loud, 0.02, 0.98)
            y[t] = rng.random() < now
            now = 0.8 * now + 0.2 * (0.9 if y[t] else 0.1)
            loud = 0.3 if abs(p[t] - y[t]) > 0.5 else 0.1
        report = compare(np.stack([p, q], axis=1), y, names=["p", "q"], alpha=0.2)
        (pair,) = report.pairs
        a, b = (p, q) if pair.better == "p" else (q, p)
        truth = np.cumsum((a - chance) ** 2 - (b - chance) ** 2) / np.arange(1, 81)
        missed["brier"] += bool(np.any((truth < pair.bounds.lower - 1e-12) | (truth > pair.bounds.upper + 1e-12)))
        expected = np.mean(chance * np.log(b / a) + (1 - chance) * np.log((1 - b) / (1 - a)))
        missed["log"] += not pair.log_low <= expected <= pair.log_high
    assert all(count <= 0.2 * 150 for count in missed.values())


def test_silent_rounds_are_left_out() -> None:
    """Pairs have the rounds of both, the table those of all, and nobody's silence changes another pair."""
    P, y = weather(100)
    P["Bob"][::4] = np.nan
    P["Carol"][1::4] = np.nan
    report = compare(P, y)
    assert report.rounds == 50
    assert {name: each.forecasts for name, each in report.scores.items()} == {"Alice": 100, "Bob": 75, "Carol": 75}
    rounds = {pair.better + pair.worse: pair.rounds for pair in report.pairs}
    assert rounds["AliceBob"].tolist() == [t for t in range(100) if t % 4]
    spoke = ~np.isnan(P["Bob"])
    (alone,) = compare({name: P[name][spoke] for name in ("Alice", "Bob")}, y[spoke], alpha=0.05 / 3).pairs
    assert next(pair for pair in report.pairs if {pair.better, pair.worse} == {"Alice", "Bob"}).low == alone.low
    assert report.reliability("Bob").counts.sum() == 75
    with pytest.raises(mb.StreamError, match="no round in which every forecaster gave a forecast, nor .* two of them"):
        compare({"a": [0.5, None], "b": [None, 0.5]}, [0, 1])


def test_certain_forecasts() -> None:
    """A log score without bounds if one of two says 0 or 1, and with bounds if both say the same."""
    report = compare({"sure": [1.0, 0.5, 0.5], "unsure": [0.9, 0.5, 0.4]}, [1, 0, 0])
    (pair,) = report.pairs
    assert (pair.log_low, pair.log_high) == (-math.inf, math.inf)
    assert math.isfinite(pair.log_difference)
    wrong = compare({"sure": [1.0, 0.5], "unsure": [0.9, 0.5]}, [0, 0])
    assert wrong.scores["sure"].log.score == math.inf
    assert json.loads(wrong.to_json())["forecasters"][1]["log"]["score"] is None
    both = compare({"a": [1.0, 0.5], "b": [1.0, 0.4]}, [0, 0]).pairs[0]
    assert math.isfinite(both.log_low)
    lost = compare({"a": [1.0, 0.5], "b": [0.5, 1.0]}, [0, 0]).pairs[0]
    assert math.isnan(lost.log_difference)  # both infinitely bad, and nobody can say who is worse
    assert both.log_difference == pytest.approx(math.log(0.5 / 0.6) / 2)


def test_scores_may_disagree() -> None:
    """A forecast near 0 that comes true: Brier forgives it sooner than the log score."""
    report = compare({"bold": [0.001] + [0.0001] * 9, "meek": [0.3] * 10}, [1] + [0] * 9)
    bold, meek = report.scores["bold"], report.scores["meek"]
    assert bold.brier.score < meek.brier.score
    assert bold.log.score > meek.log.score
    assert list(report.scores) == ["bold", "meek"]
    assert "the log score ranks them the other way" in str(report)


def test_ways_to_give_forecasts() -> None:
    pd = pytest.importorskip("pandas")
    P, y = weather(20)
    table = pd.DataFrame(P)
    expected = compare(P, y).to_json()
    assert compare(table, pd.Series(y)).to_json() == expected
    assert compare(table.convert_dtypes(), y.astype(bool)).to_json() == expected
    assert compare(table.to_numpy(), y.tolist(), names=list(P)).to_json() == expected
    assert compare(table.to_numpy().tolist(), y, names=("Alice", "Bob", "Carol")).to_json() == expected
    with_gap = table.astype("Float64")
    with_gap.iloc[3, 1] = pd.NA
    assert compare(with_gap, y).rounds == 19
    alone = compare(P["Alice"], y)
    assert list(alone.scores) == ["forecaster 1"]
    assert alone.pairs == []
    assert alone.surely_best is None
    assert "forecaster 1 is the only forecaster" in str(alone)


def test_json_contains_every_result() -> None:
    report = compare(*weather(200))
    found = json.loads(report.to_json())
    assert [each["name"] for each in found["forecasters"]] == list(report.scores)
    for described, pair in zip(found["pairs"], report.pairs, strict=True):
        assert described["rounds"] == 200
        for name in ("better", "worse", "difference", "low", "high", "clear", "clear_since", "evidence"):
            assert described[name] == getattr(pair, name)
    parts = found["forecasters"][0]["brier"]
    total = parts["miscalibration"] - parts["discrimination"] + parts["uncertainty"]
    assert parts["score"] == pytest.approx(total, abs=1e-15)


BAD: list[tuple[Any, Any, dict[str, Any], str]] = [
    ([[0.5], [1.2]], [0, 1], {}, "round 1: .*'forecaster 1'.*got 1.2"),
    ({"a": [0.5, 0.5], "b": [0.1, -0.1]}, [0, 1], {}, "round 1: .*'b'.*got -0.1"),
    ([[0.5], [math.inf]], [0, 1], {}, "round 1: .*got inf"),
    ([[0.5], [0.5]], [0, math.nan], {}, "round 1: .*outcome.* nan"),
    ([[0.5], [0.5]], [0, 2], {}, "round 1: .*outcome.* 2"),
    ([[0.5], [0.5]], [-1, 1], {}, "round 0: .*outcome.* -1"),
    ([[0.5], [7]], [3, 1], {}, "round 0: .*outcome.* 3"),
    ([[0.5], [0.5]], [0, None], {}, "round 1: .*outcome.* nan"),
    ([[0.5], [0.5]], [0], {}, "2 rounds of forecasts.* 1 outcomes"),
    ({"a": [0.5], "b": [0.5, 0.5]}, [0], {}, "number of forecasts.*1, 2"),
    ([[0.5]], ["yes"], {}, "outcomes must be numbers"),
    ([["0.5"]], [1], {}, "forecasts must be numbers"),
    ([[0.5, 0.5]], [1], {"names": ["a"]}, "names .*\\b2\\b"),
    ([[0.5, 0.5]], [1], {"names": ["a", "a"]}, "names .*\\b2\\b"),
    ([[0.5]], [[1]], {}, "outcomes.*one dimension"),
    (np.zeros((0, 2)), [], {}, "there are no rounds"),
    ({}, [], {}, r"forecasts.*\(0, 0\)"),
    ([[0.5]], [1], {"alpha": 0}, "alpha must lie between 0 and 1"),
]


@pytest.mark.parametrize(("P", "y", "more", "words"), BAD)
def test_bad_input(P: Any, y: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words) as raised:
        compare(P, y, **more)
    if words.startswith("round"):
        assert isinstance(raised.value, mb.StreamError)
        assert f"round {raised.value.round}:" in str(raised.value)
