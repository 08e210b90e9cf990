"""Weighted Majority, its randomized form, and Halving: traces, planted advice, lemmas, adversaries, mutants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.aggregation.majority import Majority
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
    for make in (WeightedMajority, by_specification(Majority)):
        check_trace(make())
        check_planted(make)


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
    """See docs/theory.md, "Randomized Weighted Majority", with η = min(1/2, √(ln n/T)), and "Weighted Majority"."""
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
        ([None, None], 1, "asleep"),
        ([math.nan, None], 1, "asleep"),
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


class Lazy(Majority):
    """Mutant: wrong experts are charged only if the learner is wrong."""

    def run(self, said: Any, outcome: Any) -> Any:
        before = self.losses()
        lean, total = super().run(said[:1], outcome[:1])
        if lean[0] > 0 or (lean[0] == 0 and outcome[0] == 1):
            self.loss = before
        if len(said) == 1:
            return lean, total
        return tuple(np.concatenate(pair) for pair in zip((lean, total), self.run(said[1:], outcome[1:]), strict=True))


class Harsher(Majority):
    """Mutant: β² instead of β."""

    def power(self, behind: float) -> float:
        return super().power(behind) ** 2


class Contrary(Majority):
    """Mutant: predicts the lighter side."""

    def lean(self, said: Any) -> float:
        return -super().lean(said)


class LowTie(Majority):
    """Mutant: a tie goes to the smallest outcome."""

    def lean(self, said: Any) -> float:
        return super().lean(said) or -1e-300


class Forgiving(Majority):
    """Mutant: the right experts are charged."""

    def learn(self, codes: Any, right: int, wrong: float) -> None:
        super().learn(codes, 1 - right, wrong)


class Unweighted(Majority):
    """Mutant: an unweighted majority."""

    def power(self, behind: float) -> float:
        return 1.0


class Sleepless(Majority):
    """Mutant: sleeping experts are not charged."""

    def learn(self, codes: Any, right: int, wrong: float) -> None:
        super().learn(codes, right, 0.0)


def by_specification(engine: type[Majority]) -> Any:
    return type("BySpecification", (WeightedMajority,), {"engine": engine})


def check_asleep(make: Any) -> None:
    """W⁺ ≤ W(1+β)/2 at every mistake, with any sleeping experts; W⁺ = W(1 − (1−β)F) − what β^F < 1 − (1−β)F saves."""
    stream = mb.streams.label_noise(mb.streams.panel(16, 1, 300, seed=5), 0.1, seed=6)
    asleep = np.random.default_rng(0).random(stream.X.shape) < 0.4
    master = make(0.5)
    for said, sleeping, outcome in zip(stream.X, asleep, stream.y, strict=True):
        if sleeping.all():
            continue
        before, mistakes = np.power(0.5, master.ledger_.expert_losses), master.ledger_.mistakes
        advice = [None if sleeps else int(each) for each, sleeps in zip(said, sleeping, strict=True)]
        master.learn_one(advice, int(outcome))
        after = np.power(0.5, master.ledger_.expert_losses)
        if len(before) and master.ledger_.mistakes > mistakes:
            assert after.sum() <= 0.75 * before.sum() * (1 + 1e-12)
        # what the core weighs is what the ledger counts
        weights = after / after.sum()
        assert master.weights_ == pytest.approx(weights, rel=1e-9, abs=1e-300)


def test_sleepers_keep_the_theorem() -> None:
    check_asleep(WeightedMajority)
    check_asleep(by_specification(Majority))
    with pytest.raises(AssertionError):
        check_asleep(by_specification(Sleepless))


@pytest.mark.parametrize("beta", [0.5, 0.9, 0.999, 1e-30, 0.0])
def test_the_core_is_its_specification(beta: float) -> None:
    rng = np.random.default_rng(7)
    said = rng.random((700, 13)) < 0.5
    outcome = np.where(rng.random(700) < 0.7, said[:, 3], ~said[:, 3])
    core, plain = WeightedMajority(beta), by_specification(Majority)(beta)
    for part in np.array_split(np.arange(700), 9):
        core.run(said[part], outcome[part])
    plain.run(said, outcome)
    assert core.ledger_.expert_mistakes.tolist() == plain.ledger_.expert_mistakes.tolist()
    assert core.weights_ == pytest.approx(plain.weights_, rel=1e-10, abs=1e-200)
    assert core.ledger_.expected_mistakes == pytest.approx(plain.ledger_.expected_mistakes, rel=1e-9)
    assert core.ledger_.predictions.tolist() == plain.ledger_.predictions.tolist()


def test_one_at_a_time_is_the_batch() -> None:
    rng = np.random.default_rng(8)
    said, outcome = rng.random((500, 37)) < 0.5, rng.random(500) < 0.5
    whole, single = RandomizedWeightedMajority(0.9, seed=1), RandomizedWeightedMajority(0.9, seed=1)
    whole.run(said, outcome)
    for row, told in zip(said, outcome, strict=True):
        single.learn_one(row.tolist(), bool(told))
    assert whole.ledger_.predictions.tolist() == single.ledger_.predictions.tolist()
    assert whole.ledger_.expected_mistakes == single.ledger_.expected_mistakes
    assert whole.weights_.tolist() == single.weights_.tolist()


def test_names_join_and_leave() -> None:
    master = WeightedMajority()
    for _ in range(4):
        master.learn_one({"Ann": 1, "Bob": 0}, 1)
    master.learn_one({"Cid": 0, "Ann": 1}, 0)
    ledger = master.ledger_
    assert ledger.names == ("Ann", "Bob", "Cid")
    assert ledger.expert_mistakes.tolist() == [1, 4, 0]
    assert ledger.expert_rounds.tolist() == [5, 4, 1]
    # F: 1/2, 1/3, 1/5, 1/9 while only Ann and Bob are there; Cid comes with that loss
    early = 1 / 2 + 1 / 3 + 1 / 5 + 1 / 9
    assert ledger.expert_losses[2] == pytest.approx(early)
    share = 1 / (1 + 0.5**early)
    assert ledger.expert_losses[1] == pytest.approx(4 + share)
    assert master.certify().status in ("holds", "vacuous")
    with pytest.raises(mb.StreamError, match="names"):
        master.learn_one([1, 0, 1], 1)


def test_a_prior_is_a_head_start() -> None:
    master = WeightedMajority(prior=[0.8, 0.1, 0.1])
    assert master.predict_one([0, 1, 1]) == 0
    master.run([[0, 1, 1]] * 3, [1] * 3)
    assert master.weights_ == pytest.approx([0.1 / 0.3, 0.1 / 0.3, 0.1 / 0.3])
    assert master.predict_one([0, 1, 1]) == 1
    found = master.certify()
    # best of: expert 0 with 3 mistakes and ln(1/0.8), expert 1 with none and ln 10
    assert found.bound == pytest.approx(min(math.log(10), math.log(1.25) + 3 * math.log(2)) / math.log(4 / 3))
    assert RandomizedWeightedMajority(eta=0.3).beta == pytest.approx(0.7)


@pytest.mark.parametrize("mutant", [Lazy, Harsher, Contrary, LowTie, Forgiving, Unweighted])
def test_mutants_are_caught(mutant: type[Majority]) -> None:
    caught, make = 0, by_specification(mutant)
    for check in (lambda: check_trace(make()), lambda: check_planted(make)):
        try:
            check()
        except AssertionError:  # noqa: PERF203
            caught += 1
    assert caught
