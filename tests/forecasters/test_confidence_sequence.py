"""The confidence sequence: its lemma, its root, its coverage, its width, and what breaks when it is altered."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mistakebound.errors import StreamError
from mistakebound.forecasters import confidence_sequence as confidence
from mistakebound.forecasters.confidence_sequence import LOG_WEIGHTS, RATES, ConfidenceSequence

# ---------------------------------------------------------------------- the lemma of one round


def worst_growth(costs: Callable[..., Any]) -> float:
    """The largest E[exp(λ(d−δ) − a)] over a grid of ranges, guesses, rates and distributions of d on three points."""
    worst = 0.0
    rates = np.array([0.01, 0.2, 0.7, 0.95, 1.5, 3.0])
    for low, high in ((-1.0, 1.0), (0.0, 1.0), (-0.3, 0.1), (-2.0, 0.5)):
        for guess in np.linspace(low, high, 9):
            for middle in np.linspace(low, high, 7):
                points = np.array([low, middle, high])
                ends = [np.full(3, each) for each in (low, high, guess)]
                a = costs(rates, points, *ends)
                for p in np.linspace(0, 1, 9):
                    for rest in (0.0, 0.5, 1.0):
                        chances = np.array([(1 - p) * rest, (1 - p) * (1 - rest), p])
                        mean = chances @ points
                        growth = chances @ np.exp(rates * (points - mean)[:, None] - a)
                        worst = max(worst, growth.max())
    return worst


def test_lemma_of_one_round() -> None:
    """Nothing grows on average, whatever the distribution; and some distribution does not shrink, either."""
    worst = worst_growth(confidence._costs)
    assert 1 - 1e-12 <= worst <= 1 + 1e-12


def afterwards(rates, d, low, high, guess):
    """The cheaper cost, chosen when d is known."""
    c = (guess - low)[:, None]
    x = np.minimum(rates * c, 1 - 1e-12)
    with np.errstate(all="ignore"):
        fan = np.where(x > 0, (-np.log1p(-x) - x) / x**2, 0.5) * rates**2 * ((d - guess) ** 2)[:, None]
    return np.minimum(np.where(rates * c < 1, fan, np.inf), rates**2 * (high - low)[:, None] ** 2 / 8)


ALTERED: dict[str, Callable[..., Any]] = {
    "nine tenths": lambda *a: 0.9 * confidence._costs(*a),
    "the other end": lambda r, d, low, high, g: confidence._costs(r, -d, -high, -low, -g),
    "half the range": lambda r, d, low, high, g: confidence._costs(r, d, (low + g) / 2, (high + g) / 2, g),
    "the guess is the value": lambda r, d, low, high, g: confidence._costs(r, d, low, high, d),
    "chosen afterwards": afterwards,
    "no cost": lambda r, d, *_: np.zeros((len(d), len(r))),
}


@pytest.mark.parametrize("name", ALTERED)
def test_altered_costs_break_the_lemma(name: str) -> None:
    assert worst_growth(ALTERED[name]) > 1 + 1e-4


# ---------------------------------------------------------------------- bounds, by a slow twin


def by_the_book(values, lows, highs, guesses, alpha: float, scale: float) -> tuple[float, float]:
    """The notes of the class, one λ and one round after another, the root by bisection."""
    weights = [1 / ((abs(k) + 1) * (abs(k) + 2)) for k in range(-4, 22)]
    rates = [3 * 2.0**-k / scale for k in range(-4, 22)]

    def reach(sign: int) -> float:
        spent = [0.0] * len(rates)
        for d, low, high, guess in zip(values, lows, highs, guesses, strict=True):
            low, high = (low, high) if sign > 0 else (high, low)  # noqa: PLW2901
            c = sign * (guess - low)
            for k, rate in enumerate(rates):
                hoeffding = rate**2 * (high - low) ** 2 / 8
                if rate * c < 1:
                    ratio = rate**2 / 2 if c == 0 else (-math.log1p(-rate * c) - rate * c) / c**2
                    if ratio * c * sign * (high - guess) < hoeffding:
                        spent[k] += ratio * (d - guess) ** 2
                        continue
                spent[k] += hoeffding
        least, most = 0.0, 1e9
        for _ in range(200):
            s = (least + most) / 2
            terms = [
                math.log(w / sum(weights)) + rate * s - a for w, rate, a in zip(weights, rates, spent, strict=True)
            ]
            top = max(terms)
            total = top + math.log(math.fsum(math.exp(term - top) for term in terms))
            least, most = (least, s) if total >= math.log(2 / alpha) else (s, most)
        return most

    t = len(values)
    lower = max((math.fsum(values) - reach(1)) / t, math.fsum(lows) / t)
    upper = min((math.fsum(values) + reach(-1)) / t, math.fsum(highs) / t)
    return lower, upper


def rounds_of(seed: int, rounds: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    low = rng.uniform(-1, 0.5, rounds)
    high = low + rng.uniform(0, 0.5, rounds)
    guess = low + (high - low) * rng.choice([0, 0.02, 0.5, 1], rounds)
    return low + (high - low) * rng.random(rounds), low, high, guess


@pytest.mark.parametrize("rounds", [1, 2, 30, 200])
def test_bounds_are_those_of_the_notes(rounds: int) -> None:
    told = rounds_of(rounds, rounds)
    sequence = ConfidenceSequence(0.1, -1, 1)
    sequence.run(*told)
    expected = by_the_book(*(each.tolist() for each in told), alpha=0.1, scale=2.0)
    assert (sequence.lower, sequence.upper) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_guess_is_the_mean_of_what_came_before() -> None:
    """Of the values so far and the middle of all; never of the value itself, which would not be a guess."""
    values, low, high, _ = (each.tolist() for each in rounds_of(5, 60))
    guesses = [
        min(max((0.25 + math.fsum(values[:t])) / (t + 1), low[t]), high[t]) for t in range(60)
    ]  # a quarter is the middle of −1 and 1.5
    sequence = ConfidenceSequence(0.1, -1, 1.5)
    sequence.run(values, low, high)
    expected = by_the_book(values, low, high, guesses, alpha=0.1, scale=2.5)
    assert (sequence.lower, sequence.upper) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("c", [1e-9, 9.9e-5, 1.01e-4, 1e-3])
def test_small_ranges_lose_no_digits(c: float) -> None:
    """ψ(x)/x² by its series, which is exact enough there."""
    a = confidence._costs(np.ones(1), np.array([1.0]), np.zeros(1), np.ones(1), np.array([c]))[0, 0]
    assert a == pytest.approx(math.fsum(c**k / (k + 2) for k in range(8)) * (1 - c) ** 2, rel=1e-10)


def test_weights_sum_to_one_and_rates_are_those_of_the_docstring() -> None:
    assert math.fsum(np.exp(LOG_WEIGHTS)) == pytest.approx(1, abs=1e-15)
    assert RATES[4] == 3
    assert RATES[0] == 48
    assert len(RATES) == 26


def test_one_round_by_hand() -> None:
    """One value of 0.5 in [0, 1]: the guess is the middle, and Hoeffding's the cheaper cost; nothing is known yet."""
    sequence = ConfidenceSequence(0.05, 0, 1)
    assert sequence.learn_one(0.5) == (0, 1)
    assert sequence.mean == 0.5
    assert sequence._spent[0][4] == 9 / 8  # λ = 3: λ²/8
    assert sequence._spent[1][4] == 9 / 8


# ---------------------------------------------------------------------- one at a time, in parts, at once


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 9), min_size=1, max_size=6), st.booleans(), st.booleans())
def test_however_the_stream_is_cut(seed: int, cuts: list[int], ranges: bool, guesses: bool) -> None:
    """Bit for bit."""
    values, low, high, guess = rounds_of(seed, sum(cuts))
    told = [values, low if ranges else None, high if ranges else None, guess if guesses and ranges else None]
    whole, parts, single = (ConfidenceSequence(0.05, -1, 1) for _ in range(3))
    bounds = whole.run(*told)
    begin = 0
    for size in cuts:
        some = [None if each is None else each[begin : begin + size] for each in told]
        piece = parts.run(*some)
        assert np.array_equal(piece.lower, bounds.lower[begin : begin + size])
        assert np.array_equal(piece.upper, bounds.upper[begin : begin + size])
        begin += size
    for at in range(len(values)):
        one = single.learn_one(*(None if each is None else each[at] for each in told))
        assert one == (bounds.lower[at], bounds.upper[at])
    for each in (parts, single):
        assert each.log_evidence_below == whole.log_evidence_below
        assert (each.mean, each.rounds) == (whole.mean, whole.rounds)


def test_many_rounds_are_computed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    told = rounds_of(3, 300)
    whole = ConfidenceSequence().run(*told)
    monkeypatch.setattr(confidence, "AT_ONCE", 7)
    pieces = ConfidenceSequence().run(*told)
    assert np.array_equal(whole.lower, pieces.lower)
    assert np.array_equal(whole.upper, pieces.upper)


# ---------------------------------------------------------------------- coverage

STREAMS, ROUNDS, ALPHA = 200, 150, 0.2


def fair(rng, t, past):
    """±1 with a fair coin: the most that the range allows."""
    return -1.0, 1.0, 0.5


def rare(rng, t, past):
    """1 in thirty, else 0."""
    return 0.0, 1.0, 1 / 30


def drifting(rng, t, past):
    """The chance goes up and down, so that the mean is never the same."""
    return -1.0, 1.0, 0.5 + 0.45 * math.sin(t / 9)


def tempting(rng, t, past):
    """Once ahead of what was expected, it plays high; once behind, low."""
    size = 1.0 if past > 0 else 0.1
    return -size, size, 0.5


def insistent(rng, t, past):
    """A small loss that is likely after a gain, a large one that is unlikely after a loss."""
    return (-1.0, 0.2, 0.8) if past > 0 else (-0.2, 1.0, 0.1)


def ever_missed(stream: Callable[..., Any], *, told: bool) -> float:
    """The share of streams whose Δ_t left the bounds in any round; ``past`` is the sum of d − δ."""
    missed = 0
    for seed in range(STREAMS):
        rng = np.random.default_rng(seed)
        draws, past, rows = rng.random(ROUNDS), 0.0, []
        for t in range(ROUNDS):
            low, high, chance = stream(rng, t, past)
            value = high if draws[t] < chance else low
            expected = low + (high - low) * chance
            past += value - expected
            rows.append((value, low, high, expected))
        d, low, high, expected = np.array(rows).T
        bounds = ConfidenceSequence(ALPHA, -1, 1).run(d, *((low, high) if told else ()))
        truth = np.cumsum(expected) / np.arange(1, ROUNDS + 1)
        missed += bool(np.any((truth < bounds.lower - 1e-12) | (truth > bounds.upper + 1e-12)))
    return missed / STREAMS


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("stream", [fair, rare, drifting, tempting, insistent])
def test_coverage(stream: Callable[..., Any], told: bool) -> None:
    """Ever missed, in 150 rounds, by at most α of the streams, also if they react to what happened."""
    assert ever_missed(stream, told=told) <= ALPHA


def test_coverage_notices_bounds_that_are_too_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no test that cannot fail: with half of the costs, more than α of the streams are missed."""
    whole = confidence._costs
    monkeypatch.setattr(confidence, "_costs", lambda *a: whole(*a) / 2)
    assert ever_missed(fair, told=True) > 1.5 * ALPHA


# ---------------------------------------------------------------------- not vacuous


def test_width_shrinks_like_one_over_the_root() -> None:
    """Of a fair coin in [0, 1]: within twice and a half of what a single look would give (2·1.36/√t at 95 %)."""
    d = np.random.default_rng(0).integers(0, 2, 20_000).astype(float)
    bounds = ConfidenceSequence(0.05, 0, 1).run(d)
    width = bounds.upper - bounds.lower
    for t in (100, 1000, 10_000, 20_000):
        assert width[t - 1] < 2.5 * 1.96 / math.sqrt(t)
    assert width[9_999] < width[999] / 2.5 < width[99] / 6


def test_rare_values_make_it_narrower_than_hoeffding_could() -> None:
    """One in a hundred: the variance is a twenty-fifth of the range's; at one look Hoeffding's width would be 0.027."""
    d = (np.random.default_rng(1).random(10_000) < 0.01).astype(float)
    sequence = ConfidenceSequence(0.05, 0, 1)
    sequence.run(d)
    assert sequence.lower < 0.01 < sequence.upper
    assert sequence.upper - sequence.lower < 0.012


def test_narrow_ranges_give_narrow_bounds() -> None:
    """With a range of a tenth per round, the bounds are far narrower from the beginning."""
    d = np.where(np.random.default_rng(2).random(50) < 0.5, -0.1, 0.1)
    plain = ConfidenceSequence(0.05, -1, 1).run(d)
    narrow = ConfidenceSequence(0.05, -1, 1).run(d, np.full(50, -0.1), np.full(50, 0.1))
    assert narrow.upper[-1] - narrow.lower[-1] < 0.5 * (plain.upper[-1] - plain.lower[-1])


def test_evidence_agrees_with_the_bounds() -> None:
    """The upper bound falls below zero in the round in which the e-value reaches 2/α, and mirrored."""
    d = np.random.default_rng(3).normal(-0.2, 0.3, 400).clip(-1, 1)
    below, above = ConfidenceSequence(0.05), ConfidenceSequence(0.05)
    crossed = 0
    for value in d.tolist():
        _, upper = below.learn_one(value)
        lower, _ = above.learn_one(-value)
        assert (upper < 0) == (below.log_evidence_below > math.log(40))
        assert lower == -upper
        assert above.log_evidence_above == below.log_evidence_below
        crossed += upper < 0
    assert 0 < crossed < 400


# ---------------------------------------------------------------------- bad input


def test_a_bad_round_is_named_and_changes_nothing() -> None:
    sequence = ConfidenceSequence(0.05, -1, 1)
    with pytest.raises(StreamError, match="round 2: value.*-1 and 1.*got 1.5") as raised:
        sequence.run([0.1, 0.2, 1.5, 0.3])
    assert raised.value.round == 2
    twin = ConfidenceSequence(0.05, -1, 1)
    twin.run([0.1, 0.2])
    state = (sequence.rounds, sequence.lower, sequence.upper, sequence.mean)
    assert state == (twin.rounds, twin.lower, twin.upper, twin.mean)
    for wrong, words in (
        ((math.nan,), "value.*got nan"),
        ((0.5, 0.6, 0.7), "value.*0.6 and 0.7.*got 0.5"),
        ((0.5, -2, 0.7), ".*range.*-2 to 0.7"),
        ((0.5, 0.4, 0.7, 0.8), "guess.*0.4 and 0.7.*got 0.8"),
    ):
        with pytest.raises(StreamError, match=f"round 2: {words}"):
            sequence.learn_one(*wrong)
    assert state == (sequence.rounds, sequence.lower, sequence.upper, sequence.mean)
    with pytest.raises(StreamError, match="round 0: .*finite"):
        ConfidenceSequence(0.05, -math.inf, math.inf, scale=1).learn_one(0.5)
    with pytest.raises(ValueError, match="lows.*2 values.*3"):
        sequence.run([0, 0], [0, 0, 0])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": 0}, "alpha must be"),
        ({"alpha": 1}, "alpha must be"),
        ({"low": 1, "high": 1}, "low must be"),
        ({"low": -math.inf}, "scale must be"),
        ({"scale": 0}, "scale must be a number"),
        ({"low": 0, "high": 1e-70}, "high - low must be a number"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ConfidenceSequence(**parameters)


def test_before_the_first_round() -> None:
    fresh = ConfidenceSequence(0.05, 0, 1)
    assert (fresh.lower, fresh.upper, fresh.rounds) == (0, 1, 0)
    assert math.isnan(fresh.mean)
    assert fresh.log_evidence_below == pytest.approx(0, abs=1e-15)
