"""Adversaries force the mistakes that their theorems guarantee from any learner, and their labels are consistent."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mistakebound.lab.adversaries import CoinFlip, Disjunction, HalvingTree, Played, UnitVectors, coin_flip_regret

if TYPE_CHECKING:
    from collections.abc import Callable


class Constant:
    def __init__(self, answer: Any = 1) -> None:
        self.answer = answer

    def predict_one(self, _x: Any) -> Any:
        return self.answer

    def learn_one(self, x: Any, y: Any) -> None:
        pass


class Majority:
    """Predict the most frequent label so far, and None at first."""

    def __init__(self) -> None:
        self.seen: Counter[Any] = Counter()

    def predict_one(self, _x: Any) -> Any:
        return self.seen.most_common(1)[0][0] if self.seen else None

    def learn_one(self, _x: Any, y: Any) -> None:
        self.seen[y] += 1


class Perceptron:
    """The Perceptron of the textbooks, for labels -1/+1 (0 counts as -1)."""

    def __init__(self) -> None:
        self.w: Any = 0.0
        self.mistakes = 0

    def predict_one(self, x: Any) -> int:
        return 1 if np.sum(self.w * x) >= 0 else -1

    def learn_one(self, x: Any, y: int) -> None:
        sign = 1 if y == 1 else -1
        if self.predict_one(x) != sign:
            self.mistakes += 1
            self.w = self.w + sign * x


class Elimination:
    """Predict the OR of all variables that were never 1 in a negative example."""

    def __init__(self) -> None:
        self.out: Any = 0.0

    def predict_one(self, x: Any) -> int:
        return int(np.any((x == 1) & (self.out * np.ones(len(x)) == 0)))

    def learn_one(self, x: Any, y: int) -> None:
        if y != 1:
            self.out = np.maximum(self.out, x)


class Memoriser:
    """Predict the last label of the same example. Keep every example, and overwrite it, as a learner may do."""

    def __init__(self) -> None:
        self.memory: dict[bytes, Any] = {}
        self.kept: list[Any] = []

    def predict_one(self, x: Any) -> Any:
        return self.memory.get(np.asarray(x).tobytes(), 1)

    def learn_one(self, x: Any, y: Any) -> None:
        self.memory[np.asarray(x).tobytes()] = y
        self.kept.append(x)
        x[:] = 7


class CoinTosser(Constant):
    """Predict at random, with numpy scalars."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)

    def predict_one(self, _x: Any) -> Any:
        return self.rng.choice([-1, 1])


LEARNERS: list[Callable[[], Any]] = [
    Constant,
    lambda: Constant(-1),
    lambda: Constant(None),
    lambda: Constant(np.True_),
    lambda: Constant(np.array([1.0])),
    Majority,
    Perceptron,
    Elimination,
    Memoriser,
    CoinTosser,
]
every_learner = pytest.mark.parametrize("learner", LEARNERS)


class Witness:
    """Pass calls on from the adversary to the learner, and record examples, predictions and labels."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner
        self.rounds: list[tuple[Any, Any, Any]] = []

    def predict_one(self, x: Any) -> Any:
        self.asked = (x.copy(), x)
        self.predicted = self.learner.predict_one(x)
        return self.predicted

    def learn_one(self, x: Any, y: Any) -> None:
        assert x is self.asked[1], "learn what was asked"
        self.rounds.append((self.asked[0], self.predicted, y))
        self.learner.learn_one(x, y)


def audited(adversary: Any, learner: Any, positive: Any = 1) -> Played:
    """Play a game, and compare its result with the recorded calls."""
    witness = Witness(learner)
    played: Played = adversary.play(witness)
    assert played.rounds == len(witness.rounds) == len(played.y)
    assert played.mistakes == sum((predicted == positive) != (y == positive) for _, predicted, y in witness.rounds)
    assert played.y.tolist() == [y for _, _, y in witness.rounds]
    X = played.X if isinstance(played.X, np.ndarray) else played.X.toarray()
    if witness.rounds and not isinstance(witness.rounds[0][0], dict):
        np.testing.assert_array_equal(X, [x for x, _, _ in witness.rounds])
    assert played.regret == played.mistakes - played.best
    return played


@every_learner
@pytest.mark.parametrize("k", [1, 2, 7, 100])
def test_unit_vectors_force_k_mistakes_at_full_margin(learner: Callable[[], Any], k: int) -> None:
    played = audited(UnitVectors(k), learner())
    assert played.mistakes == played.rounds == played.forced == k
    assert played.best == 0
    np.testing.assert_array_equal(played.X, np.eye(k))
    assert np.linalg.norm(played.comparator) == pytest.approx(1)
    assert played.margin == pytest.approx(k**-0.5)
    assert min(y * (x @ played.comparator) for x, y in zip(played.X, played.y, strict=True)) >= played.margin


def test_novikoff_is_tight() -> None:
    perceptron = Perceptron()
    played = UnitVectors(64).play(perceptron)
    assert perceptron.mistakes == 64 == round((1 / played.margin) ** 2)  # type: ignore[operator]


def test_ten_thousand_unit_vectors_stay_fast_and_small() -> None:
    """The examples are returned as a sparse array, not as 10⁸ cells."""
    pytest.importorskip("scipy.sparse")  # imported before the measurement, which must not include it
    tracemalloc.start()
    try:
        played = UnitVectors(10_000).play(Perceptron())
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 1000 * 10_000
    assert played.mistakes == 10_000
    assert played.X.format == "csr"
    assert played.X.shape == (10_000, 10_000)
    assert played.X.nnz == 10_000
    np.testing.assert_array_equal(np.sign(played.X @ played.comparator), played.y)


@pytest.mark.parametrize("gamma", [0.1, 0.01, 0.05, 0.02, 0.001, 0.5, 1.0])
def test_from_margin_ignores_rounding_errors(gamma: float) -> None:
    assert UnitVectors.from_margin(gamma).k == round(1 / gamma) ** 2


@given(st.integers(1, 10**7))
def test_from_margin_inverts_the_margin_of_k_rounds(k: int) -> None:
    for gamma in (1 / math.sqrt(k), k**-0.5, math.sqrt(1 / k)):
        assert UnitVectors.from_margin(gamma).k == k


@given(st.floats(1e-3, 1))
def test_from_margin_returns_the_largest_k(gamma: float) -> None:
    k = UnitVectors.from_margin(gamma).k
    assert 1 / math.sqrt(k) >= gamma * (1 - 1e-9)
    assert 1 / math.sqrt(k + 1) < gamma


def test_from_margin_passes_the_options_on() -> None:
    adversary = UnitVectors.from_margin(0.5, labels=(0, 1), form="dict")
    assert adversary == UnitVectors(4, labels=(0, 1), form="dict")


@every_learner
@pytest.mark.parametrize(("n", "r"), [(1, 1), (2, 1), (2, 2), (7, 2), (64, 1), (64, 4), (100, 3), (33, 5)])
def test_disjunction_forces_its_mistakes_and_labels_are_an_or(learner: Callable[[], Any], n: int, r: int) -> None:
    played = audited(Disjunction(n, r), learner())
    assert played.mistakes == played.rounds == played.forced == r * math.floor(math.log2(n / r))
    assert played.X.shape == (played.rounds, n)
    assert len(set(played.comparator)) == r
    assert set(played.comparator) <= set(range(n))
    for x, y in zip(played.X, played.y, strict=True):
        assert y == int(any(x[i] == 1 for i in played.comparator))


class Scripted(Constant):
    """Predict a given sequence of labels, independent of the examples."""

    def __init__(self, script: Any) -> None:
        self.script = iter(script)

    def predict_one(self, _x: Any) -> Any:
        return next(self.script)


@pytest.mark.parametrize(("n", "r"), [(8, 1), (8, 2), (9, 2), (13, 3), (16, 2)])
def test_disjunction_is_consistent_for_every_sequence_of_predictions(n: int, r: int) -> None:
    rounds = r * math.floor(math.log2(n / r))
    targets = set()
    for script in itertools.product((0, 1), repeat=rounds):
        played = Disjunction(n, r).play(Scripted(script))
        assert played.mistakes == rounds
        consistent = [
            chosen
            for chosen in itertools.combinations(range(n), r)
            if all(int(x[list(chosen)].any()) == y for x, y in zip(played.X, played.y, strict=True))
        ]
        assert tuple(sorted(played.comparator)) in consistent
        targets.add(played.comparator)
    assert len(targets) == 2**rounds, "every way of playing ends in another disjunction"


def test_a_large_disjunction_is_recorded_sparsely() -> None:
    played = Disjunction(2**20, 4).play(Constant())
    assert played.mistakes == 4 * 18
    assert played.X.format == "csr"
    np.testing.assert_array_equal(played.X[:, list(played.comparator)].sum(axis=1) >= 1, played.y == 1)


@every_learner
@pytest.mark.parametrize("k", [1, 3, 8])
def test_halving_tree_forces_k_while_one_expert_is_perfect(learner: Callable[[], Any], k: int) -> None:
    played = audited(HalvingTree(k), learner())
    assert played.mistakes == played.rounds == played.forced == k
    advice = played.X
    wrong = (advice != played.y[:, None]).sum(axis=0)
    assert np.flatnonzero(wrong == 0).tolist() == [played.comparator], "that one and no other"


def test_the_experts_of_the_tree_are_all_sequences_of_labels() -> None:
    played = HalvingTree(4).play(Constant())
    assert {tuple(column) for column in played.X.T} == set(itertools.product((-1.0, 1.0), repeat=4))
    for t, i in itertools.product(range(4), range(16)):
        assert played.X[t, i] == (1 if i // 2**t % 2 else -1)


def test_halving_reaches_its_bound_on_the_tree() -> None:
    class Halving:
        mistakes = 0
        alive: Any = True

        def predict_one(self, x: Any) -> int:
            return 1 if np.sum(x * self.alive) >= 0 else -1

        def learn_one(self, x: Any, y: int) -> None:
            self.mistakes += self.predict_one(x) != y
            self.alive = self.alive & (x == y)

    learner = Halving()
    played = HalvingTree(7).play(learner)
    assert learner.mistakes == 7
    assert np.flatnonzero(learner.alive).tolist() == [played.comparator]


@every_learner
def test_coin_flip_counts_mistakes_of_learner_and_best_expert(learner: Callable[[], Any]) -> None:
    played = audited(CoinFlip(6, 50, seed=2), learner())
    wrong = [sum(x[i] != y for x, y in zip(played.X, played.y, strict=True)) for i in range(6)]
    assert played.best == min(wrong) == wrong[played.comparator]
    assert played.forced is None


def test_coin_flip_depends_on_its_seed_and_not_on_the_learner() -> None:
    one, same = (CoinFlip(9, 40, seed=1).play(learner) for learner in (Constant(), Majority()))
    other = CoinFlip(9, 40, seed=2).play(Constant())
    np.testing.assert_array_equal(one.X, same.X)
    np.testing.assert_array_equal(one.y, same.y)
    assert not np.array_equal(one.y, other.y)


def test_coins_are_independent_of_a_learner_with_the_same_seed() -> None:
    played = CoinFlip(20, 20_000, seed=4).play(CoinTosser(seed=4))
    advice = played.X
    assert abs(played.mistakes / 20_000 - 0.5) < 0.02
    assert np.all(np.abs((advice == played.y[:, None]).mean(axis=0) - 0.5) < 0.02)


def brute_force_regret(n: int, rounds: int) -> float:
    """Return the mean over all outcomes of the coins of half the rounds minus the fewest mistakes of an expert."""
    flips = itertools.product(itertools.product((0, 1), repeat=rounds), repeat=n)
    return rounds / 2 - float(np.mean([min(map(sum, experts)) for experts in flips]))


@pytest.mark.parametrize(("n", "rounds"), [(1, 1), (1, 5), (2, 1), (2, 2), (2, 5), (3, 3), (3, 4), (5, 2)])
def test_coin_flip_regret_equals_brute_force(n: int, rounds: int) -> None:
    assert coin_flip_regret(n, rounds) == pytest.approx(brute_force_regret(n, rounds), abs=1e-12)


@pytest.mark.parametrize(("n", "rounds"), [(2, 101), (10, 100), (50, 1000)])
def test_coin_flip_regret_equals_the_mean_of_simulations(n: int, rounds: int) -> None:
    rng = np.random.default_rng(0)
    luckiest = rng.binomial(rounds, 0.5, (200_000, n)).min(axis=1)
    error = luckiest.std() / math.sqrt(luckiest.size)
    assert coin_flip_regret(n, rounds) == pytest.approx(rounds / 2 - luckiest.mean(), abs=5 * error)


def test_the_mean_regret_of_games_is_the_exact_one() -> None:
    regrets = [CoinFlip(4, 30, seed).play(Majority()).regret for seed in range(1500)]
    error = float(np.std(regrets)) / math.sqrt(len(regrets))
    assert coin_flip_regret(4, 30) == pytest.approx(float(np.mean(regrets)), abs=4.5 * error)


def test_coin_flip_regret_tends_to_its_limit_from_below() -> None:
    def ratio(n: int, rounds: int = 10**6) -> float:
        return coin_flip_regret(n, rounds) / math.sqrt(rounds * math.log(n) / 2)

    ratios = [ratio(10**power) for power in (1, 2, 4, 8, 16, 32, 64, 128)]
    assert ratios == sorted(ratios)
    assert 0.7 < ratios[0] < 0.75
    assert 0.99 < ratios[-1] < 1
    # With n fixed the limit in T is E[max of n normals]/sqrt(2 ln n), for n = 2 that is 1/sqrt(pi 2 ln 2).
    assert ratio(2) == pytest.approx(1 / math.sqrt(math.pi * 2 * math.log(2)), rel=1e-5)


def test_the_expected_regret_to_a_single_expert_is_zero() -> None:
    assert all(coin_flip_regret(1, rounds) == pytest.approx(0, abs=1e-9) for rounds in (1, 2, 33, 10**5))


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), ("ham", "spam"), (1, 0)])
@pytest.mark.parametrize("game", [
    lambda labels: UnitVectors(9, labels=labels),
    lambda labels: Disjunction(20, 2, labels=labels),
    lambda labels: HalvingTree(4, labels=labels),
])  # fmt: skip
def test_labels_have_the_values_that_were_set(game: Callable[..., Any], labels: tuple[Any, Any]) -> None:
    for learner in (Majority(), Constant(labels[0]), Constant(labels[1]), Constant(None)):
        played = audited(game(labels), learner, positive=labels[1])
        assert played.mistakes == played.forced
        assert set(played.y.tolist()) <= set(labels)
    always_no = game(labels).play(Constant(labels[0]))
    assert set(always_no.y.tolist()) == {labels[1]}, "the positive label is the second"


def test_numpy_integers_are_accepted_as_sizes() -> None:
    sizes: Any = np.int32(20), np.int32(2)
    assert Disjunction(*sizes).play(Constant()).mistakes == 6
    assert UnitVectors(sizes[0]).play(Constant()).mistakes == 20
    assert HalvingTree(sizes[1]).play(Constant()).comparator == 0
    assert coin_flip_regret(*sizes) == coin_flip_regret(20, 2)


def test_labels_may_be_strings() -> None:
    played = CoinFlip(3, 25, labels=("dry", "rain")).play(Majority())
    advice = played.X
    assert set(advice.ravel().tolist()) == {"dry", "rain"}
    assert played.best == min((advice != played.y[:, None]).sum(axis=0))


def test_dicts_contain_only_the_active_variables() -> None:
    unit = Witness(Constant())
    UnitVectors(3, form="dict").play(unit)
    assert [x for x, _, _ in unit.rounds] == [{"x0": 1.0}, {"x1": 1.0}, {"x2": 1.0}]
    blocks = Witness(Constant())
    played = audited(Disjunction(16, 2, form="dict"), blocks)
    for row, (x, _, _) in zip(played.X, blocks.rounds, strict=True):
        assert x == {f"x{i}": 1.0 for i in np.flatnonzero(row)}


def test_the_adversary_also_beats_a_river_learner() -> None:
    linear_model = pytest.importorskip("river.linear_model")
    for adversary in (UnitVectors, lambda k, **how: Disjunction(16 * k, k, **how)):
        played = adversary(5, labels=(False, True), form="dict").play(linear_model.Perceptron())
        assert played.mistakes == played.forced
        assert played.mistakes >= 5


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 200), st.data())
def test_each_game_is_described_in_one_line(n: int, data: Any) -> None:
    r = data.draw(st.integers(1, n))
    for adversary in (UnitVectors(n), Disjunction(n, r), HalvingTree(4), CoinFlip(n, 5)):
        played = adversary.play(Constant())
        line = str(played)
        assert f"{played.mistakes} mistakes in {played.rounds} rounds" in line
        assert ("forced" in line) == (played.forced is not None)
        assert "\n" not in line
        assert repr(played) == line


@pytest.mark.parametrize(("call", "message"), [
    (lambda: UnitVectors(0), "^k must"),
    (lambda: UnitVectors(2.5), "^k must be a whole number"),  # type: ignore[arg-type]
    (lambda: UnitVectors(5, labels=(1, 1)), "^labels must"),
    (lambda: UnitVectors(5, labels=(0, 1, 2)), "^labels must"),  # type: ignore[arg-type]
    (lambda: UnitVectors(5, form="list"), "^form must be 'array' or 'dict'"),  # type: ignore[arg-type]
    (lambda: UnitVectors.from_margin(0), "^gamma must"),
    (lambda: UnitVectors.from_margin(1.5), "^gamma must"),
    (lambda: UnitVectors.from_margin(float("nan")), "^gamma must"),
    (lambda: Disjunction(0, 1), "^n must"),
    (lambda: Disjunction(5, 6), "^r must be a whole number from 1 to 5"),
    (lambda: Disjunction(5, 1, form="list"), "^form must"),  # type: ignore[arg-type]
    (lambda: HalvingTree(21), "^k must be a whole number from 1 to 20"),
    (lambda: HalvingTree(3, labels=(0, 0)), "^labels must"),
    (lambda: CoinFlip(0, 5), "^n must"),
    (lambda: CoinFlip(5, 0), "^rounds must"),
    (lambda: CoinFlip(5, 5, -1), "^seed must"),
    (lambda: CoinFlip(5, 5, labels=(0, 0)), "^labels must"),
    (lambda: coin_flip_regret(0, 5), "^n must"),
    (lambda: coin_flip_regret(5, 0), "^rounds must"),
])  # fmt: skip
def test_the_error_names_the_argument(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
