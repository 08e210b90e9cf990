"""Planted streams have the properties that they promise, checked independently of how they are generated."""

from __future__ import annotations

import math
import subprocess
import sys
import tracemalloc
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mistakebound import streams
from mistakebound.lab.streams import Stream

if TYPE_CHECKING:
    from collections.abc import Callable

MAKERS: dict[str, Callable[..., Stream]] = {
    "disjunction": lambda **how: streams.disjunction(40, 3, 200, **how),
    "sparse disjunction": lambda **how: streams.disjunction(40, 3, 200, sparse=True, **how),
    "conjunction": lambda **how: streams.conjunction(40, 3, 200, **how),
    "threshold": lambda **how: streams.threshold(40, 2, 5, 200, **how),
    "panel": lambda **how: streams.panel(40, 5, 200, **how),
    "l2 margin": lambda **how: streams.margin(40, 200, 0.1, **how),
    "l1 margin": lambda **how: streams.margin(40, 200, 0.1, norm="l1", **how),
    "drifting": lambda **how: streams.drifting(40, 3, 200, every=70, **how),
    "label noise": lambda **how: streams.label_noise(streams.panel(40, 5, 200), 0.3, **how),
    "attribute noise": lambda **how: streams.attribute_noise(streams.panel(40, 5, 200), 0.3, **how),
}
SIZES = st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))
SEEDS = st.integers(0, 2**40)


def dense(X: Any) -> np.ndarray:
    return X if isinstance(X, np.ndarray) else X.toarray()


@pytest.mark.parametrize("name", MAKERS)
def test_equal_seeds_give_equal_streams_and_different_seeds_do_not(name: str) -> None:
    one, same, other = (MAKERS[name](seed=seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(dense(one.X), dense(same.X))
    np.testing.assert_array_equal(one.y, same.y)
    np.testing.assert_array_equal(one.flipped, same.flipped)
    assert str(one.target) == str(same.target)
    assert not (np.array_equal(dense(one.X), dense(other.X)) and np.array_equal(one.y, other.y))


@pytest.mark.parametrize("name", MAKERS)
def test_shapes_and_types_of_a_stream(name: str) -> None:
    stream = MAKERS[name]()
    X, y = stream
    assert X is stream.X
    assert y is stream.y
    assert len(stream) == 200 == len(y)
    assert X.shape == (200, 40)
    assert X.dtype == np.float64
    assert y.dtype == np.int64
    rounds = list(stream.rounds())
    np.testing.assert_array_equal(np.vstack([np.ravel(dense(x)) for x, _ in rounds]), dense(X))
    assert [label for _, label in rounds] == y.tolist()
    assert stream.flipped.dtype == np.int64
    assert "200 rounds" in repr(stream)
    assert len(repr(stream)) < 110


@settings(max_examples=60, deadline=None)
@given(SIZES, st.integers(1, 40), SEEDS)
def test_labels_are_the_or_and_the_and_of_the_target(size: tuple[int, int], rounds: int, seed: int) -> None:
    n, r = size
    for make, combine in ((streams.disjunction, any), (streams.conjunction, all)):
        stream = make(n, r, rounds, seed)
        assert len(set(stream.target)) == r
        assert stream.margin is None
        for x, label in stream.rounds():
            assert set(x) <= {0.0, 1.0}
            assert label == int(combine(x[i] == 1 for i in stream.target))


@settings(max_examples=60, deadline=None)
@given(SIZES, st.data(), SEEDS)
def test_threshold_labels_and_margin(size: tuple[int, int], data: Any, seed: int) -> None:
    n, k = size
    r = data.draw(st.integers(1, k))
    stream = streams.threshold(n, r, k, 30, seed)
    mu = np.zeros(n)
    mu[list(stream.target)] = 1 / r
    assert len(set(stream.target)) == k
    assert stream.margin == 1 / r
    for x, label in stream.rounds():
        assert label == int(sum(x[i] for i in stream.target) >= r)
        assert mu @ x >= 1 - 1e-9 if label else mu @ x <= 1 - 1 / r + 1e-9


@pytest.mark.parametrize("r", [1, 2, 3, 10, 50])
def test_about_half_the_labels_are_positive(r: int) -> None:
    assert 0.45 < streams.disjunction(100, r, 5000).y.mean() < 0.55
    assert 0.45 < streams.conjunction(100, r, 5000).y.mean() < 0.55
    assert 0.45 < streams.threshold(100, (r + 1) // 2, r, 5000).y.mean() < 0.55
    assert 0.45 < streams.drifting(100, r, 5000, every=1000).y.mean() < 0.55


def test_density_applies_to_irrelevant_variables_only() -> None:
    for density in (0.0, 0.03, 0.9, 1.0):
        stream = streams.disjunction(50, 3, 4000, density=density)
        others = np.delete(stream.X, stream.target, axis=1)
        assert abs(others.mean() - density) < 0.005
        assert abs(stream.X[:, stream.target].mean() - 0.2) < 0.02
        columns = others.mean(axis=0)
        assert np.all(np.abs(columns - density) < 0.035), "every variable alike"
    alike = streams.disjunction(50, 3, 4000)
    assert abs(alike.X[:, alike.target].mean() - np.delete(alike.X, alike.target, axis=1).mean()) < 0.02


def test_entries_are_independent() -> None:
    X = np.delete(streams.disjunction(30, 1, 20_000, density=0.3).X, 0, axis=1)
    correlation = np.corrcoef(X.T) - np.eye(X.shape[1])
    assert np.abs(correlation).max() < 5 / math.sqrt(20_000)
    one_round_later = np.corrcoef(X[:-1, 0], X[1:, 0])[0, 1]
    assert abs(one_round_later) < 5 / math.sqrt(20_000)


@pytest.mark.parametrize("make", [
    lambda **how: streams.disjunction(300, 3, 60, 5, density=0.02, **how),
    lambda **how: streams.disjunction(3, 3, 60, 5, density=0.02, **how),
    lambda **how: streams.threshold(300, 2, 6, 60, 5, density=0.2, **how),
    lambda **how: streams.attribute_noise(streams.disjunction(300, 3, 60, 5, density=0.02, **how), 0.1, 9),
])  # fmt: skip
def test_sparse_and_dense_streams_are_equal(make: Callable[..., Stream]) -> None:
    thin, full = make(sparse=True), make(sparse=False)
    assert thin.X.format == "csr"
    assert thin.X.has_canonical_format
    assert thin.X.indices.dtype == np.int32
    assert set(thin.X.data) == {1.0}
    np.testing.assert_array_equal(thin.X.toarray(), full.X)
    np.testing.assert_array_equal(thin.y, full.y)
    assert thin.target == full.target


def test_sparse_never_builds_the_dense_matrix() -> None:
    """The dense matrix would have 10¹¹ cells and take 100 GB. The non-zero entries take a few bytes each."""
    tracemalloc.start()
    try:
        stream = streams.disjunction(10**6, 5, 10**5, sparse=True)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 200 * stream.X.nnz
    assert 29 < stream.X.nnz / 10**5 < 32
    label = np.asarray(stream.X[:, list(stream.target)].sum(axis=1)).ravel() >= 1
    np.testing.assert_array_equal(label, stream.y == 1)


def test_importing_streams_does_not_import_scipy() -> None:
    code = f"import runpy, sys; runpy.run_path({streams.__file__!r}); sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("n", "k"), [(1, 1), (9, 9), (30, 5), (200, 11)])
def test_the_majority_of_the_target_is_always_right_and_each_expert_is_a_coin(n: int, k: int) -> None:
    stream = streams.panel(n, k, 4000, seed=3)
    assert len(set(stream.target)) == k
    sizes = np.abs(stream.X)
    assert sizes.min() == 1
    assert sizes.max() == 1
    votes = [[x[i] for i in stream.target] for x in stream.X]
    assert all(vote.count(float(label)) > k / 2 for vote, label in zip(votes, stream.y, strict=True))
    u = np.zeros(n)
    u[list(stream.target)] = 1 / k
    assert stream.margin == 1 / k
    assert np.min(stream.y * (stream.X @ u)) >= stream.margin - 1e-12
    right = (stream.y[:, None] == stream.X).mean(axis=0)
    assert np.all(np.abs(np.delete(right, stream.target) - 0.5) < 0.045)
    assert k == 1 or right[list(stream.target)].max() < 0.85


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 60), st.floats(1e-6, 1 - 1e-9), st.sampled_from(["l2", "l1"]), SEEDS)
def test_margin_holds_exactly_in_any_order_of_summation(n: int, gamma: float, norm: Any, seed: int) -> None:
    stream = streams.margin(n, 25, gamma, seed, norm=norm)
    u = stream.target
    assert stream.margin == gamma
    for x, label in stream.rounds():
        assert math.fsum(label * a * b for a, b in zip(u, x, strict=True)) >= gamma
        assert label * sum(a * b for a, b in zip(u[::-1], x[::-1], strict=True)) >= gamma
        size = np.linalg.norm(x) if norm == "l2" else np.abs(x).max()
        assert size <= 1 + 1e-12
        assert norm == "l1" or size >= 1 - 1e-12
    assert np.linalg.norm(u, 2 if norm == "l2" else 1) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_margin_is_reached_labels_are_balanced_and_dimensions_may_be_high(norm: Any) -> None:
    stream = streams.margin(5000, 400, 0.3, norm=norm)
    scores = stream.y * (stream.X @ stream.target)
    assert 0.3 <= scores.min() < 0.3 + 1e-9
    assert 0.4 < np.mean(stream.y == 1) < 0.6
    for label in (-1, 1):  # points beyond the margin are not moved
        few = streams.margin(3, 400, 0.1, norm=norm)
        assert np.max((few.y * (few.X @ few.target))[few.y == label]) > 0.4
    assert norm == "l2" or np.count_nonzero(stream.target) == 10
    assert norm == "l2" or {-1.0, 1.0} <= set(np.sign(stream.target)), "u is signed"


def test_drifting_changes_its_target_every_so_many_rounds() -> None:
    stream = streams.drifting(12, 2, 1001, seed=4, every=10)
    firsts = [first for first, _ in stream.target]
    assert firsts == list(range(0, 1001, 10))
    for t, (x, label) in enumerate(stream.rounds()):
        _, variables = stream.target[t // 10]
        assert label == int(any(x[i] for i in variables))
    assert all(before[1] != after[1] for before, after in pairwise(stream.target))
    assert all(len(set(variables)) == 2 for _, variables in stream.target)


def test_drifting_with_two_variables_alternates() -> None:
    targets = [variables for _, variables in streams.drifting(2, 1, 40, every=1).target]
    assert all({a, b} == {(0,), (1,)} for a, b in pairwise(targets))


@pytest.mark.parametrize("name", ["disjunction", "sparse disjunction", "panel", "l2 margin"])
def test_label_noise_flips_exactly_the_rounds_that_it_reports(name: str) -> None:
    clean = MAKERS[name]()
    noisy = streams.label_noise(clean, 0.2, seed=1)
    assert noisy.flipped.tolist() == [t for t in range(200) if noisy.y[t] != clean.y[t]]
    assert 20 < noisy.flipped.size < 60
    assert set(noisy.y) == set(clean.y)
    assert noisy.X is clean.X
    assert noisy.target is clean.target
    assert noisy.margin is None
    assert clean.flipped.size == 0
    assert streams.label_noise(clean, 0).flipped.size == 0
    assert streams.label_noise(clean, 1).flipped.tolist() == list(range(200))


def test_a_label_flipped_twice_is_the_original_label() -> None:
    clean = streams.panel(5, 3, 300)
    twice = streams.label_noise(streams.label_noise(clean, 0.3, seed=1), 0.3, seed=2)
    assert twice.flipped.tolist() == np.flatnonzero(twice.y != clean.y).tolist()
    assert 0 < twice.flipped.size < 300


def test_noise_is_independent_of_data_drawn_with_the_same_seed() -> None:
    rounds, seed = 4000, 5
    for part in (None, 0, 2):
        rng = np.random.default_rng(seed) if part is None else streams.generator(seed, part)
        drawn = rng.random(rounds) < 0.5
        stream = Stream(drawn[:, None].astype(float), drawn.astype(int), (0,))
        flipped = np.isin(np.arange(rounds), streams.label_noise(stream, 0.5, seed).flipped)
        assert abs(np.mean(flipped == drawn) - 0.5) < 0.05


@pytest.mark.parametrize("name", ["disjunction", "sparse disjunction", "panel"])
def test_attribute_noise_flips_entries_and_keeps_labels(name: str) -> None:
    clean = streams.label_noise(MAKERS[name](), 0.1)
    before = dense(clean.X).copy()
    noisy = streams.attribute_noise(clean, 0.2, seed=1)
    after = dense(noisy.X)
    np.testing.assert_array_equal(dense(clean.X), before, "the clean stream is untouched")
    low = -1.0 if name == "panel" else 0.0
    assert set(after.ravel().tolist()) == {low, 1.0}
    changed = after != before
    assert abs(changed.mean() - 0.2) < 0.02
    assert abs(changed[before == 1].mean() - 0.2) < 0.04, "ones and others alike"
    assert noisy.y is clean.y
    assert noisy.flipped is clean.flipped
    assert noisy.target is clean.target
    assert streams.attribute_noise(MAKERS[name](), 0.2).margin is None
    np.testing.assert_array_equal(dense(streams.attribute_noise(clean, 0).X), before)
    np.testing.assert_array_equal(dense(streams.attribute_noise(clean, 1).X), low + 1 - before)


def test_attribute_noise_on_signs_bits_and_any_memory_order() -> None:
    for low in (-1, 0):
        ones = Stream(np.ones((2, 2)), np.array([low, 1]), None)
        assert set(streams.attribute_noise(ones, 1).X.ravel().tolist()) == {low}
    columns = np.asfortranarray([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    flipped = streams.attribute_noise(Stream(columns, np.array([0, 1]), None), 1).X
    np.testing.assert_array_equal(flipped, 1 - columns)


def test_numpy_integers_are_accepted_as_sizes() -> None:
    stream = streams.disjunction(np.int32(10**6), np.int32(3), np.int32(3000), np.int32(1), sparse=True)  # type: ignore[arg-type]
    same = streams.disjunction(10**6, 3, 3000, 1, sparse=True)
    assert (stream.X != same.X).nnz == 0


@pytest.mark.parametrize(("call", "message"), [
    (lambda: streams.disjunction(0, 1, 5), "^n must"),
    (lambda: streams.disjunction(1e3, 1, 5), "^n must be a whole number"),  # type: ignore[arg-type]
    (lambda: streams.disjunction(True, 1, 5), "^n must"),
    (lambda: streams.disjunction(5, 6, 5), "^r must be a whole number from 1 to 5.* 6$"),
    (lambda: streams.disjunction(5, 0, 5), "^r must"),
    (lambda: streams.disjunction(5, 2, 0), "^rounds must"),
    (lambda: streams.disjunction(5, 2, 5, -1), "^seed must"),
    (lambda: streams.disjunction(5, 2, 5, density=1.5), "^density must"),
    (lambda: streams.disjunction(5, 2, 5, density=float("nan")), "^density must"),
    (lambda: streams.conjunction(5, 6, 5), "^r must"),
    (lambda: streams.threshold(5, 3, 2, 5), "^r must be a whole number from 1 to 2"),
    (lambda: streams.threshold(5, 3, 6, 5), "^k must"),
    (lambda: streams.panel(5, 4, 5), "^k must be odd.*use 3"),
    (lambda: streams.panel(5, 7, 5), "^k must"),
    (lambda: streams.panel(5, 3, 0), "^rounds must"),
    (lambda: streams.margin(1, 5, 0.1), "^n must"),
    (lambda: streams.margin(5, 0, 0.1), "^rounds must"),
    (lambda: streams.margin(5, 5, 0), "^margin must"),
    (lambda: streams.margin(5, 5, 1), "^margin must.*panel"),
    (lambda: streams.margin(5, 5, float("nan")), "^margin must"),
    (lambda: streams.margin(5, 5, 0.1, norm="l3"), "^norm must be 'l2' or 'l1'"),  # type: ignore[arg-type]
    (lambda: streams.drifting(5, 5, 5, every=2), "^r must be a whole number from 1 to 4"),
    (lambda: streams.drifting(5, 2, 5, every=0), "^every must"),
    (lambda: streams.drifting(5, 2, 0, every=1), "^rounds must"),
    (lambda: streams.label_noise(streams.panel(5, 1, 50), 1.1), "^rate must"),
    (lambda: streams.label_noise(streams.panel(5, 1, 1), 0.1), "^stream must.*more rounds"),
    (lambda: streams.attribute_noise(streams.panel(5, 1, 50), -0.1), "^rate must"),
    (lambda: streams.attribute_noise(streams.margin(5, 50, 0.1), 0.1), "^stream must.*label_noise"),
])  # fmt: skip
def test_the_error_names_the_argument_and_the_remedy(call: Callable[[], Stream], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
