"""Weighted Majority, its randomized form, and Halving: traces, planted advice, lemmas, adversaries, mutants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.experts import Halving, RandomizedWeightedMajority, WeightedMajority
from mistakebound.theorems import EXPERT_THEOREMS

# Hand-worked, three experts. Weights before each round, with beta = 1/2:
# (1, 1, 1): 2 for 0, wrong; (1, 1/2, 1/2): a tie, says 1, right, and expert 0 pays all the same;
# (1/2, 1/2, 1/2): 1 for 1, right; (1/4, 1/2, 1/2): 3/4 for 1, wrong; (1/8, 1/2, 1/4): 1/2 for 0, right
ADVICE = [[1, 0, 0], [0, 1, 1], [0, 1, 1], [1, 0, 1], [1, 0, 1]]
OUTCOMES = [1, 1, 1, 0, 0]


def check_trace(master: Any) -> None:
    ledger = master.run(ADVICE, OUTCOMES)
    assert ledger.predictions.tolist() == [0, 1, 1, 1, 0]
    assert ledger.mistake_rounds.tolist() == [0, 3]
    assert ledger.expert_mistakes.tolist() == [4, 1, 3]


def check_planted(make: Any) -> None:
    """A good expert among many bad ones: the bound, and W⁺ ≤ W(1+β)/2 at every mistake."""
    for beta in (0.5, 0.8):
        stream = mb.streams.label_noise(mb.streams.panel(32, 1, 500, seed=3), 0.05, seed=4)
        master = make(beta)
        ledger = check_lemma(master, stream.X, stream.y, "weighted-majority")
        m = min((stream.y[:, None] != stream.X).sum(axis=0))
        bound = mb.bounds.weighted_majority(32, m, beta)
        assert ledger.mistakes <= bound < 500


def check_lemma(master: Any, advice: Any, outcomes: Any, theorem: str) -> Any:
    rule = EXPERT_THEOREMS[theorem]
    every_round = theorem == "randomized-weighted-majority"
    for said, outcome in zip(advice, outcomes, strict=True):
        before = weights(master, len(said))
        mistakes = master.ledger_.mistakes
        master.learn_one(said, outcome)
        wrong = np.asarray(said) != outcome
        share = float(before[wrong].sum() / before.sum())
        if every_round or master.ledger_.mistakes > mistakes:
            lemma = rule.lemma(before, weights(master, len(said)), master.beta, share)
            assert min(lemma.values()) >= -1e-9 * before.sum()
    return master.ledger_


def weights(master: Any, n: int) -> np.ndarray:
    losses = master.ledger_.expert_mistakes
    return np.power(float(master.beta), losses.astype(float)) if len(losses) else np.ones(n)


def test_weighted_majority() -> None:
    check_trace(WeightedMajority())
    check_planted(WeightedMajority)


def test_weighted_majority_certificate() -> None:
    stream = mb.streams.panel(64, 1, 300, seed=1)
    master = WeightedMajority()
    master.run(stream.X, stream.y)
    found = master.certify()
    assert found.status == "holds"
    assert found.bound == pytest.approx(math.log(64) / math.log(4 / 3))
    assert found.comparator == {"variables": [str(stream.target[0])]}
    assert mb.Certificate.from_json(found.to_json()) == found


def test_plurality_over_several_outcomes() -> None:
    master = WeightedMajority()
    assert master.predict_one(["rain", "sun", "rain"]) == "rain"
    assert master.predict_one(["rain", "sun", "snow"]) == "sun"  # a tie goes to the greatest
    ledger = master.run([["rain", "sun", "snow"]] * 4, ["snow"] * 4)
    assert ledger.mistakes <= mb.bounds.weighted_majority(3, 0)


def test_halving() -> None:
    ledger = Halving().run([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0]], [0, 0, 1])
    assert ledger.predictions.tolist() == [1, 1, 0]  # ties say 1; then expert 3 alone is left, and errs
    assert ledger.expert_mistakes.tolist() == [2, 1, 1, 1]
    stream = mb.streams.panel(100, 1, 200, seed=2)
    master = Halving()
    ledger = check_lemma(master, stream.X, stream.y, "halving")
    assert ledger.mistakes <= mb.bounds.halving(100) == 6
    assert master.certify().status == "holds"
    imperfect = Halving()
    imperfect.run([[1], [1]], [0, 0])
    assert imperfect.certify().status == "does not apply"


@pytest.mark.parametrize("k", [1, 3, 10])
def test_halving_tree_forces_k(k: int) -> None:
    master = Halving()
    assert mb.adversaries.HalvingTree(k).play(master).mistakes == master.ledger_.mistakes == k
    assert master.certify().bound == k


def test_randomized() -> None:
    """Expected mistakes by hand, from the weights above; and the lemma is an equality in every round."""
    ledger = RandomizedWeightedMajority(seed=1).run(ADVICE, OUTCOMES)
    assert ledger.expected_mistakes == pytest.approx(2 / 3 + 1 / 2 + 1 / 3 + 3 / 5 + 3 / 7)
    stream = mb.streams.label_noise(mb.streams.panel(32, 1, 400, seed=3), 0.1, seed=4)
    master = RandomizedWeightedMajority(beta=0.7, seed=5)
    ledger = check_lemma(master, stream.X, stream.y, "randomized-weighted-majority")
    found = master.certify()
    assert ledger.expected_mistakes <= found.bound < 400
    assert found.status == "holds"
    within = math.sqrt(400 * math.log(1 / 1e-6) / 2)
    assert ledger.mistakes <= ledger.expected_mistakes + within
    again = RandomizedWeightedMajority(beta=0.7, seed=5)
    assert again.run(stream.X, stream.y).predictions.tolist() == ledger.predictions.tolist()


def test_average_regret_goes_to_0_for_the_randomized_rule_only() -> None:
    """THEORY §2: with η = min(1/2, √(ln n/T)); plain Weighted Majority has a leading constant of 2."""
    n, rounds = 2, 2000
    eta = min(0.5, math.sqrt(math.log(n) / rounds))
    randomized, plain = RandomizedWeightedMajority(1 - eta, seed=0), WeightedMajority(1 - eta)
    told = []
    for _ in range(rounds):  # the outcome is what the deterministic master does not say
        outcome = 1 - plain.predict_one([0, 1])
        plain.learn_one([0, 1], outcome)
        randomized.learn_one([0, 1], outcome)
        told.append(outcome)
    best = min(sum(told), rounds - sum(told))
    assert plain.ledger_.mistakes == rounds >= 2 * best
    assert (randomized.ledger_.expected_mistakes - best) / rounds < 0.05


def test_nothing_underflows() -> None:
    master = WeightedMajority()
    for _ in range(3000):
        master.learn_one([0, 1], 1)
    assert master.weights_.tolist() == [0.0, 1.0]
    assert master.predict_one([0, 1]) == 1


@pytest.mark.parametrize(
    ("advice", "outcome", "words"),
    [
        ([], 1, "no expert"),
        ([1, None], 1, "expert 1"),
        ([1, math.nan], 1, "expert 1"),
        ([1, 0], math.nan, "outcome"),
        ([1, 0, 1], 1, "2 experts"),
        ([1, 0], None, "outcome"),
    ],
)
def test_bad_input_names_the_round(advice: list[Any], outcome: Any, words: str) -> None:
    master = WeightedMajority()
    master.learn_one([1, 0], 1)
    with pytest.raises(mb.StreamError, match=f"round 1: .*{words}"):
        master.learn_one(advice, outcome)
    assert master.ledger_.rounds == 1
    with pytest.raises(ValueError, match="beta"):
        WeightedMajority(1.0)
    with pytest.raises(ValueError, match="outcomes"):
        master.run([[1, 0]], [])


class Lazy(WeightedMajority):
    """Charges wrong experts only when the master errs."""

    def _play(self, advice: Any, outcome: Any) -> None:
        kept = None if self._losses is None else self._losses.copy()
        mistakes = len(self._mistake_rounds)
        super()._play(advice, outcome)
        if len(self._mistake_rounds) == mistakes:
            self._losses = np.zeros(len(advice), np.int64) if kept is None else kept


class Harsher(WeightedMajority):
    """β² for β."""

    def _unnormalised(self, losses: Any) -> Any:
        return super()._unnormalised(2 * losses)


class Contrary(WeightedMajority):
    """The lighter side."""

    def predict_one(self, advice: Any) -> Any:
        return min(self._shares(advice).items(), key=lambda pair: pair[1])[0]


class LowTie(WeightedMajority):
    """A tie goes to the smallest outcome."""

    def predict_one(self, advice: Any) -> Any:
        shares = self._shares(advice)
        return min(o for o, s in shares.items() if s == max(shares.values()))


class Forgiving(WeightedMajority):
    """Charges the right experts."""

    def _play(self, advice: Any, outcome: Any) -> None:
        super()._play(advice, outcome)
        self._losses = self._losses - 2 * (np.asarray(advice) != outcome) + 1  # type: ignore[operator]


class Unweighted(WeightedMajority):
    """A plain majority."""

    def _unnormalised(self, losses: Any) -> Any:
        return np.ones(len(losses))


@pytest.mark.parametrize("mutant", [Lazy, Harsher, Contrary, LowTie, Forgiving, Unweighted])
def test_mutants_are_caught(mutant: type[WeightedMajority]) -> None:
    caught = 0
    for check in (lambda: check_trace(mutant()), lambda: check_planted(mutant)):
        try:
            check()
        except AssertionError:  # noqa: PERF203
            caught += 1
    assert caught
