"""The theorem of the guard: a trace worked by hand, opponents, the bound attained, rounding, broken guards."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from guarded_games import (
    ADVICE,
    BOUND,
    MUTANTS,
    OUTCOMES,
    VOTES,
    by_specification,
    check_invariant,
    check_invariant_with_sleepers,
    check_trace,
    lie,
    planted,
    play_against,
)

import mistakebound as mb
from mistakebound.aggregation import guard as specification
from mistakebound.aggregation.guard import FOLLOW, UNDECIDED, VOTE, GuardedMajority, decide_exactly
from mistakebound.experts import Guarded, WeightedMajority

both = pytest.mark.parametrize("make", [Guarded, by_specification()], ids=["core", "specification"])


# ---------------------------------------------------------------------- traces


@both
def test_a_trace_worked_by_hand(make: Any) -> None:
    together, single, served = make(), make(), make()
    check_trace(together.run(VOTES, OUTCOMES, advice=ADVICE))
    for votes, outcome, advice in zip(VOTES, OUTCOMES, ADVICE, strict=True):
        predicted = single.predict_one(votes, advice=advice)
        single.learn_one(votes, outcome, advice=advice)
        assert single.ledger_.predictions[-1] == predicted
        check_invariant(single)
        served.tell(served.ask(votes, advice=advice), outcome)
    check_trace(single.ledger_)
    check_trace(served.ledger_)
    found = together.certify()
    assert (found.theorem, found.status) == ("guarded-weighted-majority", "holds")
    assert found.bound == pytest.approx(3 / math.log2(4 / 3))  # m = 1, lg n = 2
    assert found.comparator == {"variables": ["3"]}
    assert mb.Certificate.from_json(found.to_json()) == found


@both
@pytest.mark.parametrize("beta", [0.5, 0.9, 1 / 3, 0.999, 1e-3])
def test_equality_is_allowed_whatever_the_rounding(make: Any, beta: float) -> None:
    """The experts are all functions of k rounds, so half of the weight is always right: W = n((1+β)/2)^M exactly."""
    k = 7
    rows = list(itertools.product((0, 1), repeat=k))
    guard = make(beta)
    for t in range(k):
        guard.learn_one([row[t] for row in rows], 1, advice=0)  # the vote is a tie, which would predict 1
    assert guard.ledger_.mistakes == k
    assert guard.ledger_.overrides == 0
    check_invariant(guard)
    weight, beta_ = sum(Fraction(beta) ** int(m) for m in guard.ledger_.expert_mistakes), Fraction(beta)
    assert weight == 2**k * ((1 + beta_) / 2) ** k


def test_the_label_of_the_advice_does_not_count_against_it() -> None:
    """If all vote for the advice, τ* = 0: 2·½ ≤ 2·3/4. (A test over all labels would vote, for the same label.)"""
    rule = GuardedMajority(0.5)
    rule.join(np.zeros(2))
    assert rule.decide(np.array([1, 1]), 2, 1, 0, math.log(2)) == FOLLOW
    assert rule.decide(np.array([0, 0]), 2, 1, 0, math.log(2)) == VOTE
    assert rule.decide(np.array([0, 1]), 2, 1, 0, math.log(2)) == UNDECIDED


# ---------------------------------------------------------------------- opponents


@both
@pytest.mark.parametrize(("tries", "rounds"), [(1, 60), (6, 40)], ids=["random", "greedy"])
@pytest.mark.parametrize(("n", "kinds"), [(1, 2), (2, 2), (5, 2), (5, 3), (12, 7), (20, 50)])
def test_no_opponent_breaks_the_invariant(make: Any, n: int, kinds: int, tries: int, rounds: int) -> None:
    for beta in (0.5, 0.9, 0.1):
        guard = make(beta)
        play_against(guard, np.random.default_rng(n * kinds), n, kinds, rounds, tries)
        found = guard.certify()
        assert found.mistakes <= found.bound
        assert found.status in ("holds", "vacuous")


@pytest.mark.parametrize(
    ("n", "kinds", "m", "beta"),
    [
        (20, 50, 21, 0.5),
        (20, 2, 21, 0.5),
        (1, 2, 3, 0.5),
        (2, 3, 0, 0.5),
        (64, 5, 0, 0.5),
        (9, 4, 7, 0.8),
        (5, 2, 4, 0.2),
    ],
)
def test_advice_that_always_lies_attains_the_bound(n: int, kinds: int, m: int, beta: float) -> None:
    guard = Guarded(beta)
    lie(guard, n, kinds, m)
    ledger, bound = guard.ledger_, BOUND(n, m, beta)
    assert ledger.expert_mistakes.min() == m
    assert ledger.mistakes == math.floor(bound) < ledger.rounds == ledger.advice_mistakes
    assert guard.certify().status == "holds"
    if (n, m, beta) == (20, 21, 0.5):
        assert ledger.mistakes == 61


def test_a_planted_stream_has_a_bound_below_its_rounds() -> None:
    V, y, advice = planted()
    guard = Guarded()
    ledger = guard.run(V, y, advice)
    check_invariant(guard)
    found = guard.certify()
    assert ledger.mistakes <= found.bound < ledger.advice_mistakes < ledger.rounds
    assert found.status == "holds"
    assert ledger.overrides > 0
    assert (ledger.override_rounds >= 200).all()  # the advice was good in the first half
    assert (ledger.predictions != advice).nonzero()[0].tolist() == ledger.override_rounds.tolist()
    assert ledger.advice_mistakes == (advice != y).sum()
    assert (ledger.predictions[:200] != y[:200]).sum() == (advice[:200] != y[:200]).sum()
    assert str(ledger.overrides) in found.note


def test_an_advice_is_followed_unless_one_other_label_has_more_than_half_of_the_weight() -> None:
    rng = np.random.default_rng(5)
    for kinds in (2, 5):
        guard = Guarded()
        for _ in range(300):
            votes, advice, y = rng.integers(0, kinds, 6).tolist(), int(rng.integers(kinds)), int(rng.integers(kinds))
            weights = guard.weights_for(votes)
            others = [sum(w for w, vote in zip(weights, votes, strict=True) if vote == each) for each in range(kinds)]
            predicted = guard.predict_one(votes, advice)
            if predicted != advice:
                assert others[predicted] > 0.5
            guard.learn_one(votes, y, advice)


def test_right_advice_is_never_overridden_if_half_of_the_weight_is_right() -> None:
    rng = np.random.default_rng(6)
    y = rng.integers(0, 4, 500)
    V = np.where(rng.random((500, 9)) < 0.4, rng.integers(0, 4, (500, 9)), y[:, None])
    V[:, :5] = y[:, None]
    ledger = Guarded().run(V, y, y)
    assert (ledger.mistakes, ledger.overrides, ledger.advice_mistakes) == (0, 0, 0)


def test_an_advice_that_is_also_an_expert_limits_its_own_overrides() -> None:
    """The other experts agree on wrong labels. Right advice is overridden at most 2.41 lg n times."""
    y = np.arange(200) % 3
    V = np.column_stack([y, *[(y + 1) % 3] * 15])
    guard = Guarded()
    ledger = guard.run(V, y, y)
    assert 0 < ledger.overrides == ledger.mistakes <= BOUND(16, 0)
    alone = Guarded().run(V[:, 1:], y, y)
    assert alone.mistakes <= BOUND(15, 200)


def test_without_advice_it_is_weighted_majority() -> None:
    V, y, _ = planted(kinds=2)
    for table in (V, np.where(np.random.default_rng(0).random(V.shape) < 0.2, np.nan, V)):
        table[:, 0] = V[:, 0]
        plain, guard = WeightedMajority(0.7), Guarded(0.7)
        assert guard.run(table, y).predictions.tolist() == plain.run(table, y).predictions.tolist()
        assert guard.weights_ == pytest.approx(plain.weights_, rel=1e-9)
        assert guard.ledger_.expert_losses == pytest.approx(plain.ledger_.expert_losses, rel=1e-9)
        assert (guard.ledger_.advice_rounds, guard.ledger_.overrides) == (0, 0)
        assert guard.certify().bound == pytest.approx(plain.certify().bound, rel=1e-9)


# ---------------------------------------------------------------------- sleeping and new experts, priors


def rounds_with_names(seed: int, sleepers: float, rounds: int = 150) -> list[tuple[dict[str, Any], int, int]]:
    """Rounds of experts that sleep, and join one by one; the advice lies, and outcomes favour one expert."""
    rng = np.random.default_rng(seed)
    found = []
    for t in range(rounds):
        y, names = int(rng.integers(3)), list("abcdefgh")[: 2 + t // 20]
        votes = {name: y if rng.random() < 0.9 - 0.07 * k else (y + 1) % 3 for k, name in enumerate(names)}
        row = {
            name: None if k != t % len(names) and rng.random() < sleepers else votes[name]
            for k, name in enumerate(names)
        }
        found.append((row, y, (y + 1 + t % 2) % 3 if rng.random() < 0.8 else y))
    return found


@both
@pytest.mark.parametrize("prior", [None, {"a": 5.0, "b": 1.0, "h": 0.25}])
@pytest.mark.parametrize("sleepers", [0.0, 0.5])
def test_sleeping_and_new_experts_keep_the_theorem(make: Any, prior: Any, sleepers: float) -> None:
    for beta in (0.5, 0.8):
        guard = make(beta, prior=prior)
        for row, y, advice in rounds_with_names(1, sleepers):
            guard.learn_one(row, y, advice)
            check_invariant_with_sleepers(guard)
        found = guard.certify()
        assert found.status == "holds"
        assert found.mistakes <= found.bound
        assert guard.ledger_.overrides > 0


def test_the_charge_of_a_new_expert_is_what_keeps_the_invariant() -> None:
    """With no charge, experts that join after mistakes would raise the weight above n((1+β)/2)^M."""

    class Uncharged(GuardedMajority):
        def join(self, losses: Any) -> None:
            super().join(losses * 0)

    def play(guard: Any) -> float:
        for _ in range(40):
            guard.learn_one({"a": 1, "b": 0}, 1, advice=0)
        guard.learn_one({"a": 1, "b": 0, "c": 0, "d": 0}, 1, advice=1)
        engine, ledger = guard._play.core, guard.ledger_
        return float(sum(guard.beta ** engine.losses()) - len(ledger.names) * 0.75**ledger.mistakes)

    assert play(Guarded()) <= 1e-12
    assert play(by_specification()()) <= 1e-12
    assert play(by_specification(Uncharged)()) > 0.1


def test_a_prior_counts() -> None:
    """M ≤ (ln(1/π) + m ln(1/β))/ln(2/(1+β)), attained: expert 0 has the weight 1/100, and is always right."""
    guard = Guarded(prior=[1, 99])
    for _ in range(80):
        guard.learn_one([0, 1], 0, advice=1)
    found = guard.certify()
    assert found.mistakes == math.floor(math.log(100) / math.log(4 / 3)) == 16
    assert found.bound == pytest.approx(math.log(100) / math.log(4 / 3))
    assert found.status == "holds"


def test_a_tie_with_a_prior_is_a_vote() -> None:
    """Roots and logarithms of a prior are not exact, so a tie is not decided: the advice is not followed."""
    assert Guarded(prior=[2, 1, 1]).predict_one([1, 0, 0], advice=0) == 1
    assert Guarded(prior=[1, 1]).predict_one([1, 0], advice=0) == 0


# ---------------------------------------------------------------------- rounding


def exact(beta: float, losses: Any, codes: Any, advice: int, mistakes: int) -> int:
    """Decide by fractions."""
    b = Fraction(beta)
    weights = [b ** int(loss) for loss in losses]
    shares: dict[int, Fraction] = {}
    for weight, code in zip(weights, codes.tolist(), strict=True):
        if code >= 0:
            shares[code] = shares.get(code, Fraction(0)) + weight
    awake = sum(shares.values())
    other = max((share for code, share in shares.items() if code != advice), default=Fraction(0)) / awake
    left = sum(weights) * (b + (1 - b) * other)
    return FOLLOW if left <= len(weights) * ((1 + b) / 2) ** (mistakes + 1) else VOTE


@pytest.mark.parametrize("beta", [0.5, 0.75, 0.9, 1 / 3, 0.01])
def test_decisions_are_those_of_fractions(beta: float) -> None:
    rng = np.random.default_rng(0)
    agreed = {FOLLOW: 0, VOTE: 0, UNDECIDED: 0}
    for _ in range(400):
        n, kinds = int(rng.integers(1, 9)), int(rng.integers(2, 5))
        losses, codes = rng.integers(0, 6, n).astype(float), rng.integers(-1, kinds, n).astype(np.int32)
        codes[0] = max(codes[0], 0)
        rule, core = GuardedMajority(beta), mb._core.Majority(beta)
        rule.join(losses)
        core.join(losses)
        # near the number of mistakes at which the decision changes
        near = (math.log(n) - math.log(sum(beta**losses))) / math.log(2 / (1 + beta))
        for mistakes in range(max(0, int(near) - 2), int(near) + 3):
            given = (codes, kinds, 1, mistakes, math.log(n))
            expected, found = exact(beta, losses, codes, 1, mistakes), rule.decide(*given)
            assert found in (expected, UNDECIDED)
            assert decide_exactly(beta, losses, codes, 1, mistakes) == expected
            by_core = core.predict_guarded(*given)
            assert by_core == rule.predict_guarded(*given)
            agreed[found] += 1
    assert agreed[FOLLOW] > 100
    assert agreed[VOTE] > 100
    assert agreed[UNDECIDED] < 100


def test_long_streams_are_decided_without_underflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """(3/4)^M is 0 as a float from M = 2600 on. Mistakes around the limit, up to 10^6 of them, one by one."""
    monkeypatch.setattr(specification, "MOST_BITS", 2**24)
    n, codes = 4, np.array([0, 0, 1, 2], np.int32)
    for least in (0, 1000, 50_000, 500_000):
        losses = least + np.array([0.0, 3, 1, 7])
        core = mb._core.Majority(0.5)
        core.join(losses)
        limit = (math.log(n) - math.log(sum(0.5 ** (losses - least))) + least * math.log(2)) / math.log(4 / 3)
        found = []
        for mistakes in range(max(0, int(limit) - 2), int(limit) + 3):
            code = core.predict_guarded(codes, 3, 2, mistakes, math.log(n))
            assert code == (2 if decide_exactly(0.5, losses, codes, 2, mistakes) == FOLLOW else 0)
            found.append(code)
        assert 0 in found
        assert found == sorted(found, reverse=True)
        assert least == 0 or 2 in found


def test_numbers_that_are_too_long_or_not_whole_are_a_vote() -> None:
    votes = np.array([0, 1], np.int32)
    assert decide_exactly(0.5, np.zeros(2), votes, 0, 0) == FOLLOW
    assert decide_exactly(0.5, np.array([0.0, 2.0**40]), votes, 0, 0) == VOTE
    assert decide_exactly(0.5, np.zeros(2), votes, 0, 2**40) == VOTE
    assert decide_exactly(0.5, np.array([0.5, 0.5]), votes, 0, 0) == VOTE


def test_a_long_game_keeps_the_invariant_exactly() -> None:
    """Advice that lies for 200,000 rounds while two experts take turns: compared in whole numbers at the end."""
    T = 200_000
    V = np.column_stack([np.zeros(T, int), np.ones(T, int)])
    y = np.arange(T) % 2
    guard = Guarded()
    ledger = guard.run(V, y, 1 - y)
    M, a, b = ledger.mistakes, *ledger.expert_mistakes.tolist()
    assert M > 2600
    assert (2 ** (2 * M)) * (2**b + 2**a) <= 2 * 3**M * 2 ** (a + b)
    assert guard.certify().mistakes <= guard.certify().bound


@pytest.mark.parametrize("beta", [0.999999, 1 - 2**-53, 1e-300])
def test_extreme_betas(beta: float) -> None:
    V, y, advice = planted(200)
    guard = Guarded(beta)
    guard.run(V, y, advice)
    check_invariant_with_sleepers(guard)
    found = guard.certify()
    assert found.mistakes <= found.bound


# ---------------------------------------------------------------------- the core and its specification


@pytest.mark.parametrize("beta", [0.5, 0.9, 0.999, 1e-30])
@pytest.mark.parametrize("kinds", [2, 3, 9])
@pytest.mark.parametrize("sleepers", [0.0, 0.3])
def test_the_core_is_its_specification(beta: float, kinds: int, sleepers: float) -> None:
    V, y, advice = planted(500, 13, kinds, seed=7)
    table = np.where(np.random.default_rng(1).random(V.shape) < sleepers, np.nan, V)
    table[:, 4] = V[:, 4]
    given = np.where(np.arange(500) % 7 == 0, np.nan, advice)
    core, plain = Guarded(beta), by_specification()(beta)
    for part in np.array_split(np.arange(500), 9):
        core.run(table[part], y[part], given[part])
    plain.run(table, y, given)
    a, b = core.ledger_, plain.ledger_
    assert a.predictions.tolist() == b.predictions.tolist()
    assert a.override_rounds.tolist() == b.override_rounds.tolist()
    assert (a.advice_rounds, a.advice_mistakes) == (b.advice_rounds, b.advice_mistakes)
    assert a.expert_mistakes.tolist() == b.expert_mistakes.tolist()
    assert a.expert_losses == pytest.approx(b.expert_losses, rel=1e-9)
    assert a.expected_mistakes == pytest.approx(b.expected_mistakes, rel=1e-9)
    assert core.weights_ == pytest.approx(plain.weights_, rel=1e-9, abs=1e-200)


@pytest.mark.parametrize("given", [(np.zeros(2, np.int32), 0, -1, 0, 0.0), (np.zeros(2, np.int32), 1, 1, 0, 0.0)])
def test_the_core_rejects_wrong_codes(given: Any) -> None:
    core = mb._core.Majority(0.5)
    core.join(np.zeros(2))
    with pytest.raises(ValueError, match="must"):
        core.predict_guarded(*given)
    with pytest.raises(ValueError, match="decision"):
        core.predict_guarded(np.zeros(2, np.int32), 1, 0, 0, 0.0, 2)
    rows = np.zeros((3, 2), np.int32)
    for right, advice in (
        ([0, 0, 1], [0, 0, 0]),
        ([0, 0, 0], [0, 0, -2]),
        ([0, 0, -1], [0, 0, 0]),
        ([0, 0], [0, 0, 0]),
    ):
        with pytest.raises(ValueError, match="right|advice"):
            core.run_guarded(rows, 1, np.array(right, np.int32), np.array(advice, np.int32), 0, 0.0)
    asleep = np.array([[0, 0], [-1, -1]], np.int32)
    with pytest.raises(ValueError, match="awake"):
        core.run_guarded(asleep, 1, np.zeros(2, np.int32), np.zeros(2, np.int32), 0, 0.0)
    with pytest.raises(ValueError, match="awake"):
        core.predict_guarded(asleep[1], 1, 0, 0, 0.0)
    zero = mb._core.Majority(0.0)
    zero.join(np.zeros(2))
    with pytest.raises(ValueError, match="beta"):
        zero.predict_guarded(np.zeros(2, np.int32), 1, 0, 0, 0.0)


# ---------------------------------------------------------------------- broken guards


def check_all(make: Any) -> None:
    check_trace(make().run(VOTES, OUTCOMES, advice=ADVICE))
    guard = make()
    lie(guard, 6, 3, 2)
    assert guard.ledger_.mistakes == math.floor(BOUND(6, 2))
    check_invariant(guard)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_broken_guards_are_caught(mutant: type[GuardedMajority]) -> None:
    check_all(by_specification())
    with pytest.raises(AssertionError):
        check_all(by_specification(mutant))
