"""Weighted Majority, Halving and the randomized rule: any table and label, new experts, threads, ties."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mistakebound as mb
from mistakebound.aggregation.majority import Majority
from mistakebound.experts import Guarded, Halving, RandomizedWeightedMajority, WeightedMajority

RULES = [WeightedMajority, Halving, lambda: RandomizedWeightedMajority(seed=1), Guarded]


def advice(rounds: int = 40, experts: int = 5, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (rounds, experts)), rng.integers(0, 2, rounds)


@pytest.mark.parametrize("rule", RULES)
def test_tables_of_any_layout_and_kind(rule: Any) -> None:
    pandas = pytest.importorskip("pandas")
    A, y = advice()
    names = list("abcde")
    plain = rule().run(A, y)
    wide = np.zeros((40, 10), int)
    wide[:, ::2] = A
    tables = [np.asfortranarray(A), wide[:, ::2], A.astype(bool), A.astype(np.float32), A.tolist()]
    tables += [pandas.DataFrame(A, columns=names), dict(zip(names, A.T, strict=True)), np.ma.array(A)]
    for table in tables:
        outcomes = y.astype(bool) if getattr(table, "dtype", np.dtype(int)).kind == "b" else y
        ledger = rule().run(table, outcomes)
        assert ledger.predictions.tolist() == plain.predictions.tolist()
        assert ledger.expert_mistakes.tolist() == plain.expert_mistakes.tolist()


def test_masked_values_are_sleeping_experts() -> None:
    A, y = advice()
    mask = np.random.default_rng(1).random(A.shape) < 0.2
    mask[:, 0] = False
    asleep = [
        [None if hidden else int(each) for each, hidden in zip(*row, strict=True)] for row in zip(A, mask, strict=True)
    ]
    ledger, plain = WeightedMajority().run(np.ma.array(A, mask=mask), y), WeightedMajority().run(asleep, y)
    assert ledger.expert_rounds.tolist() == (~mask).sum(axis=0).tolist() == plain.expert_rounds.tolist()
    assert ledger.predictions.tolist() == plain.predictions.tolist()


def test_predictions_have_the_type_of_the_labels() -> None:
    pairs = WeightedMajority()
    pairs.learn_one([(1, 2), (3,)], (1, 2))
    assert pairs.ledger_.predictions.tolist() == [(3,)]
    assert pairs.ledger_.expert_mistakes.tolist() == [0, 1]
    mixed = WeightedMajority()
    assert mixed.run([["sun", 5]] * 2, [5, 5]).predictions.tolist() == ["sun", 5]
    assert mixed.run([[0, 1]], [1]).predictions.tolist() == [1]
    assert mixed.ledger_.predictions.tolist() == ["sun", 5, 1]
    same_size = WeightedMajority()
    assert same_size.run([[(1, 2), (3, 4)]] * 2, [(1, 2)] * 2).predictions.tolist() == [(3, 4), (1, 2)]


def test_unhashable_advice_changes_nothing() -> None:
    learner = WeightedMajority()
    for said, outcome in (([1, 0], [1]), ([[1], 0], 1)):
        with pytest.raises(mb.StreamError, match="round 0: .*unhashable"):
            learner.learn_one(said, outcome)
    learner.learn_one([1, 0, 1], 1)
    assert learner.ledger_.rounds == 1


@pytest.mark.parametrize("rule", [WeightedMajority, RandomizedWeightedMajority, Guarded])
def test_a_newcomer_has_the_weight_of_its_prior(rule: Any) -> None:
    """A new expert is treated as if it had slept since the first round, so the theorem holds for it, too."""
    prior = {"A": 0.001, "B": 0.001, "C": 1.0}
    late, early = rule(prior=prior), rule(prior=prior)
    late.learn_one({"A": 1, "B": 1}, 1)
    early.learn_one({"A": 1, "B": 1, "C": None}, 1)
    for _ in range(2):
        late.learn_one({"A": 0, "B": 0, "C": 0}, 1)
        early.learn_one({"A": 0, "B": 0, "C": 0}, 1)
    assert late.weights_ == pytest.approx(early.weights_)
    assert late.weights_[2] > 0.99
    for _ in range(20):
        late.learn_one({"A": 0, "B": 0, "C": 1}, 1)
    assert late.certify().status == "holds"


def test_the_counted_prediction_is_the_one_that_was_returned() -> None:
    A, y = advice(200)
    at_once, served = RandomizedWeightedMajority(seed=0), RandomizedWeightedMajority(seed=0)
    said = []
    for row, outcome in zip(A.tolist(), y.tolist(), strict=True):
        said.append(served.predict_one(row))
        assert served.predict_one(row) == said[-1]
        served.learn_one(row, outcome)
    assert served.ledger_.predictions.tolist() == said == at_once.run(A, y).predictions.tolist()


def test_a_run_has_its_own_ledger() -> None:
    A, y = advice(30)
    whole, parts = WeightedMajority(), WeightedMajority()
    whole.run(A, y)
    first, second = parts.run(A[:12], y[:12]), parts.run(A[12:].tolist(), y[12:].tolist())
    assert (first.rounds, first.from_start, second.rounds, second.from_start) == (12, True, 18, False)
    assert [*first.predictions, *second.predictions] == whole.ledger_.predictions.tolist()
    assert [*first.mistake_rounds, *(second.mistake_rounds + 12)] == whole.ledger_.mistake_rounds.tolist()
    assert (first.expert_losses + second.expert_losses).tolist() == whole.ledger_.expert_losses.tolist()
    assert first.expected_mistakes + second.expected_mistakes == pytest.approx(whole.ledger_.expected_mistakes)
    with pytest.raises(mb.StreamError, match="round 2: .*asleep") as error:
        parts.run([A[0].tolist(), A[1].tolist(), [None] * 5], [1, 1, 1])
    assert error.value.ledger.rounds == 2
    assert parts.ledger_.rounds == 32


def test_bytes_other_than_0_and_1_are_rejected() -> None:
    learner = WeightedMajority()
    odd = np.array([[1, 0], [1, 0], [2, 1]], np.uint8).view(bool)
    with pytest.raises(mb.StreamError, match="round 2: votes .*False or True") as error:
        learner.run(odd, np.ones(3, bool))
    assert error.value.ledger.rounds == learner.ledger_.rounds == 2
    assert learner.ledger_.expert_mistakes.tolist() == [0, 2] == learner._play.core.losses().tolist()


def test_threads_and_copies() -> None:
    A, y = advice(4000, 20)
    shared = WeightedMajority()
    threads = [threading.Thread(target=shared.run, args=(A[k::8], y[k::8])) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.ledger_.rounds == 4000
    assert shared.ledger_.expert_mistakes.tolist() == (y[:, None] != A).sum(axis=0).tolist()
    for way in (copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
        weights, mistakes = shared.weights_.tolist(), shared.ledger_.expert_mistakes.tolist()
        other = way(shared)
        other.run(A[:3], y[:3])
        other.tell(other.ask([0, *A[0, 1:]]), 1)
        assert (other.ledger_.rounds, shared.ledger_.rounds) == (4004, 4000)
        assert (shared.weights_.tolist(), shared.ledger_.expert_mistakes.tolist()) == (weights, mistakes)


def test_a_later_run_alone_has_no_certificate() -> None:
    from mistakebound.certificates.certify import certify

    learner = WeightedMajority()
    learner.run([[1, 0]] * 5, [1] * 5)
    later = certify(learner.run([[1, 0]] * 5, [1] * 5))
    assert later.status == "does not apply"
    assert len([premise for premise in later.premises if not premise.holds]) == 1
    assert learner.certify().status == "holds"


@given(data=st.data(), beta=st.sampled_from([0.99, 0.9, 1 / 3, 0.5, 0.0]))
@settings(deadline=None, max_examples=200)
def test_the_order_of_experts_does_not_matter(data: Any, beta: float) -> None:
    """Few experts with few mistakes tie often, and 0.99 has no exact powers."""
    n = data.draw(st.integers(2, 12))
    rounds = data.draw(st.integers(1, 60))
    A, y = advice(rounds, n, seed=data.draw(st.integers(0, 10**6)))
    order = data.draw(st.permutations(range(n)))
    plain, permuted = WeightedMajority(beta).run(A, y), WeightedMajority(beta).run(A[:, order], y)
    assert permuted.predictions.tolist() == plain.predictions.tolist()
    specified = type("BySpecification", (WeightedMajority,), {"engine": Majority})(beta).run(A[:, order], y)
    assert specified.predictions.tolist() == plain.predictions.tolist()


@pytest.mark.parametrize("beta", [0.99, 0.9, 1 / 3, 0.5])
@pytest.mark.parametrize("n", [6, 64, 300])
def test_sides_with_equal_mistakes_tie(beta: float, n: int) -> None:
    """Half of the experts repeat the others, and vote against them in the last round: a tie, which predicts 1."""
    rng = np.random.default_rng(n)
    half, y = rng.integers(0, 2, (101, n // 2)), rng.integers(0, 2, 101)
    A = np.concatenate([half, half], axis=1)
    A[-1, : n // 2] = rng.integers(0, 2, n // 2)
    A[-1, n // 2 :] = 1 - A[-1, : n // 2]
    for _ in range(20):
        order = rng.permutation(n)
        learner = WeightedMajority(beta)
        assert learner.run(A[:, order], y).predictions[-1] == 1
        learner = WeightedMajority(beta)
        learner.run(A[:-1, order], y[:-1])
        assert learner.predict_one(A[-1, order].tolist()) == 1
        learner.learn_one(A[-1, order].tolist(), int(y[-1]))
        assert learner.ledger_.predictions[-1] == 1


@pytest.mark.parametrize("beta", [0.99, 1 / 3])
def test_the_order_of_experts_does_not_matter_with_sleepers_and_many_outcomes(beta: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        A = rng.integers(-1, 4, (40, 8))
        A[:, 0] = np.maximum(A[:, 0], 0)
        y, order = rng.integers(0, 4, 40).tolist(), rng.permutation(8)
        rows = [[None if each < 0 else int(each) for each in row] for row in A]
        permuted = [[row[k] for k in order] for row in rows]
        said = WeightedMajority(beta).run(rows, y).predictions.tolist()
        assert WeightedMajority(beta).run(permuted, y).predictions.tolist() == said


def test_a_prior_may_tie() -> None:
    """One expert of weight 2 ties with two of weight 1, in any order."""
    for prior, said in (([2, 1, 1], [0, 1, 1]), ([1, 2, 1], [1, 0, 1]), ([1, 1, 2], [1, 1, 0])):
        for beta in (0.99, 0.9, 1 / 3, 0.5):
            assert WeightedMajority(beta, prior=prior).predict_one(said) == 1


def test_many_experts_join_at_once() -> None:
    """Many new experts join in one call of the core; one call for each would take minutes."""
    n = 200_000
    learner = WeightedMajority(prior=[1 + k % 3 for k in range(n)])
    learner.learn_one(np.ones(n, np.int64), 1)
    assert len(learner.weights_) == n
    learner.learn_one(np.ones(n, np.int64), 0)
    assert learner.ledger_.expert_mistakes.tolist() == [1] * n
