"""Separating comparators, compared with closed forms, full linear programmes, brute force and scikit-learn."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.sparse import csr_matrix, vstack

from mistakebound.hindsight import dual, pnorm, winnow
from mistakebound.hindsight.disjunctions import largest_disjunction, separating_weights, smallest_disjunction
from mistakebound.hindsight.dual import lightest_weights
from mistakebound.hindsight.pnorm import max_l2_margin, max_pnorm_margin
from mistakebound.hindsight.winnow import max_l1_margin


def margin(X, y, u):
    return float((y * (X @ u)).min())


def sparse_rows(rng, m, n, k):
    X = np.zeros((m, n))
    for row in X:
        row[rng.choice(n, size=k, replace=False)] = rng.standard_normal(k)
    return csr_matrix(X)


def planted(seed, m=60, n=12, k=5, gap=0.1):
    """Rows that some u with few weights separates."""
    rng = np.random.default_rng(seed)
    X = sparse_rows(rng, m, n, k)
    w = rng.standard_normal(n)
    keep = np.abs(X @ w) > gap
    X = X[np.flatnonzero(keep)]
    return X, np.sign(X @ w)


def best_l1_margin(X, y, *, nonnegative):
    """The full linear programme in its textbook form: max g, y u @ x >= g, |u|_1 = 1."""
    A = (X.multiply(y[:, None])).toarray()
    A = A if nonnegative else np.hstack([A, -A])
    m, k = A.shape
    found = linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=np.hstack([-A, np.ones((m, 1))]),
        b_ub=np.zeros(m),
        A_eq=np.append(np.ones(k), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * k + [(None, None)],
        method="highs",
    )
    return float(found.x[-1])


@pytest.mark.parametrize("k", [1, 2, 7, 100])
def test_l2_margin_of_unit_vectors(k) -> None:
    y = np.where(np.arange(k) % 3, 1.0, -1.0)
    u = max_l2_margin(csr_matrix(np.eye(k, k + 2)), y)
    assert np.allclose(u, np.append(y, [0, 0]) / math.sqrt(k), atol=1e-9)


def test_l2_margin_of_unit_vectors_of_different_lengths() -> None:
    lengths = np.array([1.0, 2.0, 5.0])  # nearest point of the hull: weights inverse to the squares
    u = max_l2_margin(csr_matrix(np.diag(lengths)), np.ones(3))
    assert margin(csr_matrix(np.diag(lengths)), np.ones(3), u) == pytest.approx(1 / math.sqrt((lengths**-2.0).sum()))


@pytest.mark.parametrize("seed", range(8))
def test_l2_margin_equals_that_of_a_support_vector_machine(seed) -> None:
    svm = pytest.importorskip("sklearn.svm", reason="scikit-learn is not installed")
    X, y = planted(seed, gap=0.2)
    u = max_l2_margin(X, y)
    assert np.linalg.norm(u) == pytest.approx(1)
    # y x and its mirror image -y x with labels +1 and -1: then the best intercept is 0
    doubled, labels = vstack([X.multiply(y[:, None]), -X.multiply(y[:, None])]).toarray(), np.repeat([1, -1], len(y))
    w = svm.SVC(kernel="linear", C=1e8, tol=1e-9).fit(doubled, labels).coef_.ravel()
    expected = margin(X, y, w / np.linalg.norm(w))
    assert margin(X, y, u) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_l1_margin_equals_the_full_programme(seed, nonnegative) -> None:
    rng = np.random.default_rng(seed)
    X = sparse_rows(rng, 90, 15, 6)
    w = np.abs(rng.standard_normal(15)) if nonnegative else rng.standard_normal(15)
    X = X[np.flatnonzero(np.abs(X @ w) > 0.2)]
    y = np.sign(X @ w)
    u = max_l1_margin(X, y, nonnegative=nonnegative)
    assert np.abs(u).sum() == pytest.approx(1, abs=1e-12)
    assert not nonnegative or u.min() >= 0
    assert margin(X, y, u) == pytest.approx(best_l1_margin(X, y, nonnegative=nonnegative), rel=1e-7)


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_l1_margin_adds_the_rows_that_it_violates(monkeypatch, seed, nonnegative) -> None:
    monkeypatch.setattr(dual, "LP_START", 3)
    rng = np.random.default_rng(seed)
    X = sparse_rows(rng, 400, 10, 5)
    X = X if not nonnegative else csr_matrix(np.abs(X.toarray()))
    score = X @ (rng.standard_normal(10) + nonnegative)
    X, y = X[np.flatnonzero(np.abs(score) > 0.05)], np.sign(score[np.abs(score) > 0.05])
    if nonnegative:
        X, y = X.multiply(y[:, None]).tocsr(), np.ones(len(y))  # any signs, and still a u >= 0
        X = X[np.flatnonzero(X @ np.arange(1.0, 11.0) > 0.1)]
        y = np.ones(X.shape[0])
    best = best_l1_margin(X, y, nonnegative=nonnegative)
    assert best > 0
    assert margin(X, y, max_l1_margin(X, y, nonnegative=nonnegative)) == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_l1_margin_without_a_linear_programme_is_near_the_best(monkeypatch, seed) -> None:
    rng = np.random.default_rng(seed)
    X = sparse_rows(rng, 300, 100, 20)
    score = np.asarray(X[:, :15].sum(axis=1)).ravel()
    X, y = X[np.flatnonzero(np.abs(score) > 0.3)], np.sign(score[np.abs(score) > 0.3])
    best = best_l1_margin(X, y, nonnegative=False)
    monkeypatch.setattr(dual, "LP_LIMIT", 0)
    u = max_l1_margin(X, y, nonnegative=False)
    assert np.abs(u).sum() == pytest.approx(1)
    assert 0.85 * best <= margin(X, y, u) <= best * (1 + 1e-9)
    l2 = max_l2_margin(X, y)
    assert margin(X, y, u) > 1.02 * margin(X, y, l2 / np.abs(l2).sum())


def test_l1_margin_of_a_panel_of_experts() -> None:
    rng = np.random.default_rng(0)
    A = rng.choice([-1.0, 1.0], size=(800, 40))
    y = np.sign(A[:, :5].sum(axis=1))
    for nonnegative in (True, False):
        u = max_l1_margin(csr_matrix(A), y, nonnegative=nonnegative)
        assert margin(A, y, u) == pytest.approx(0.2, abs=1e-9)
        assert np.allclose(u[:5], 0.2, atol=1e-6)


@pytest.mark.parametrize(
    ("rows", "y"),
    [
        ([[1, 0], [1, 0]], [1, -1]),  # the same example with both labels
        ([[1, 2], [2, 4]], [1, -1]),  # and as multiples
        ([[1, 0], [0, 1], [1, 1]], [1, 1, -1]),
        ([[1, 0], [0, 0]], [1, 1]),  # nothing has a margin on 0
        (np.zeros((0, 2)), []),
    ],
)
def test_none_if_nothing_separates(rows, y) -> None:
    X, y = csr_matrix(np.asarray(rows, dtype=float)), np.asarray(y, dtype=float)
    assert max_l2_margin(X, y) is None
    assert max_l1_margin(X, y, nonnegative=False) is None
    assert max_l1_margin(X, y, nonnegative=True) is None


def test_none_if_only_a_negative_weight_separates() -> None:
    X, y = csr_matrix([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    assert max_l1_margin(X, y, nonnegative=True) is None
    assert np.allclose(max_l1_margin(X, y, nonnegative=False), [0.5, -0.5])


@pytest.mark.parametrize("seed", range(4))
def test_none_on_noise(seed) -> None:
    rng = np.random.default_rng(seed)
    X, y = sparse_rows(rng, 300, 10, 4), rng.choice([-1.0, 1.0], size=300)
    assert best_l1_margin(X, y, nonnegative=False) < 1e-9
    assert max_l2_margin(X, y) is None
    assert max_l1_margin(X, y, nonnegative=False) is None
    assert max_l1_margin(X, y, nonnegative=True) is None


def test_labels_must_fit_the_rows() -> None:
    with pytest.raises(ValueError, match="y must"):
        max_l2_margin(csr_matrix(np.eye(3)), np.ones(2))


def binary(rng, m, n, density):
    return csr_matrix((rng.random((m, n)) < density).astype(float))


@pytest.mark.parametrize("start", [3, 300])
@pytest.mark.parametrize("delta", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_separating_weights_equal_the_full_programme(monkeypatch, seed, delta, start) -> None:
    monkeypatch.setattr(dual, "LP_START", start)
    rng = np.random.default_rng(seed)
    X = binary(rng, 60, 12, 0.3)
    positive = np.asarray(X[:, :4].sum(axis=1)).ravel() >= (1 if delta == 1 else 2)
    A = np.where(positive[:, None], -1.0, 1.0) * X.toarray()
    full = linprog(np.ones(12), A_ub=A, b_ub=np.where(positive, -1.0, 1 - delta), method="highs")
    mu = separating_weights(X, positive, delta)
    assert (mu is None) == (full.status == 2)
    assert full.status in {0, 2}
    if mu is not None:
        assert mu.min() >= 0
        assert (X @ mu)[positive].min() >= 1 - 1e-9
        assert (X @ mu)[~positive].max() <= 1 - delta + 1e-9
        assert mu.sum() == pytest.approx(full.fun, rel=1e-7)


def test_separating_weights_of_a_threshold_function() -> None:
    rng = np.random.default_rng(1)
    X = binary(rng, 400, 30, 0.3)
    positive = np.asarray(X[:, :6].sum(axis=1)).ravel() >= 3
    mu = separating_weights(X, positive, delta=1 / 3)
    assert mu.sum() <= 2 + 1e-6  # 1/3 on each of the six
    assert separating_weights(X, positive, delta=0.6) is None


def test_separating_weights_fall_back_on_a_disjunction(monkeypatch) -> None:
    X, positive = disjunction(np.random.default_rng(0), 200, 30, 3)
    monkeypatch.setattr(dual, "LP_LIMIT", 350)
    monkeypatch.setattr(dual, "LP_START", 2)
    full = separating_weights(X, positive, delta=0.5)
    monkeypatch.setattr(dual, "LP_LIMIT", 3)
    mu = separating_weights(X, positive, delta=0.5)
    assert set(np.flatnonzero(mu)) == set(smallest_disjunction(X, positive))
    assert mu.sum() >= full.sum() - 1e-9
    assert (X @ mu)[positive].min() >= 1
    assert (X @ mu)[~positive].max() == 0


def test_separating_weights_without_positive_rows_are_zero() -> None:
    assert separating_weights(csr_matrix(np.eye(3)), np.zeros(3, dtype=bool), 0.5).tolist() == [0, 0, 0]
    assert separating_weights(csr_matrix((1, 3)), np.ones(1, dtype=bool), 0.5) is None
    with pytest.raises(ValueError, match="delta"):
        separating_weights(csr_matrix(np.eye(3)), np.ones(3, dtype=bool), 0.0)


def disjunction(rng, m, n, r):
    X = binary(rng, m, n, 0.15)
    return X, np.asarray(X[:, :r].sum(axis=1)).ravel() > 0


def brute_force_disjunction(A, positive):
    for size in range(A.shape[1] + 1):
        for columns in combinations(range(A.shape[1]), size):
            if np.array_equal(A[:, columns].any(axis=1), positive):
                return size
    return None


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 8), st.booleans())
def test_disjunctions_against_brute_force(seed, m, n, consistent) -> None:
    rng = np.random.default_rng(seed)
    A = rng.random((m, n)) < 0.4
    positive = A[:, : max(1, n // 3)].any(axis=1) if consistent else rng.random(m) < 0.5
    smallest = brute_force_disjunction(A, positive)
    X = csr_matrix(A.astype(float))
    found, mask = smallest_disjunction(X, positive), largest_disjunction(X, positive, n)
    assert (found is None) == (mask is None) == (smallest is None)
    if found is not None:
        assert list(found) == sorted(set(found))
        assert np.array_equal(A[:, found].any(axis=1), positive)
        assert smallest <= len(found) <= smallest * (1 + math.log(m))
        for j in found:  # none is superfluous
            assert not np.array_equal(A[:, [i for i in found if i != j]].any(axis=1), positive)
        assert mask.tolist() == (~A[~positive].any(axis=0)).tolist()


def test_greedy_finds_a_planted_disjunction() -> None:
    X, positive = disjunction(np.random.default_rng(7), 3000, 200, 10)
    assert smallest_disjunction(X, positive) == tuple(range(10))


def test_greedy_drops_features_that_are_not_needed() -> None:
    # the first column covers most rows, the other two cover all
    A = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1], [0, 1, 0], [0, 0, 1]], dtype=float)
    assert smallest_disjunction(csr_matrix(A), np.ones(6, dtype=bool)) == (1, 2)


def test_greedy_prefers_one_shared_feature_to_two() -> None:
    assert smallest_disjunction(csr_matrix([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), np.ones(2, dtype=bool)) == (2,)


def test_greedy_is_no_larger_than_a_naive_greedy_cover() -> None:
    smaller = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        A = rng.random((40, 25)) < 0.15
        A = A[A.any(axis=1)]
        left, picked = np.ones(len(A), dtype=bool), 0
        while left.any():
            left &= ~A[:, int(np.argmax(A[left].sum(axis=0)))]
            picked += 1
        found = smallest_disjunction(csr_matrix(A.astype(float)), np.ones(len(A), dtype=bool))
        assert A[:, found].any(axis=1).all()
        assert len(found) <= picked
        smaller += len(found) < picked
    assert smaller > 0  # some did become superfluous


def test_rows_that_were_chosen_are_not_chosen_again(monkeypatch) -> None:
    # a solver obeys only up to its tolerance
    monkeypatch.setattr(dual, "_solved", lambda *_, **__: np.zeros(1))
    solution, final = lightest_weights(csr_matrix(np.ones((3, 1))), np.full(3, 1e-6), np.arange(3))
    assert final
    assert solution is not None


def test_rows_that_are_violated_a_little_are_chosen(monkeypatch) -> None:
    asked = []
    solve = lambda A, b, **_: asked.append((A.toarray().ravel() - 1).tolist()) or np.zeros(1)  # noqa: E731
    monkeypatch.setattr(dual, "_solved", solve)
    lightest_weights(csr_matrix([[1.0], [2.0], [3.0], [4.0]]), np.array([0.0, 1e-7, 0.0, 1e-6]), np.array([0]))
    assert asked == [[0], [0, 3], [0, 3, 1]]  # the worst first, no more than there were before


def test_a_stored_zero_is_not_a_feature() -> None:
    X = csr_matrix((np.array([1.0, 0.0, 1.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert smallest_disjunction(X, np.array([True, False])) == (0,)
    assert largest_disjunction(X, np.array([False, True]), 3).tolist() == [False, True, True]
    assert len(X.data) == 3  # X is not touched


def test_disjunctions_of_no_rows() -> None:
    X, none = csr_matrix((0, 3)), np.zeros(0, dtype=bool)
    assert smallest_disjunction(X, none) == ()
    assert largest_disjunction(X, none, 3).all()


def test_large_problems_take_seconds() -> None:
    """A naive search would take minutes, or more memory than there is."""
    rng = np.random.default_rng(0)
    m, n, k = 3000, 2**20, 30
    X = csr_matrix((np.ones(m * k), rng.integers(0, n, m * k), np.arange(0, m * k + 1, k)), shape=(m, n))
    X.sum_duplicates()
    y = rng.choice([-1.0, 1.0], size=m)
    assert margin(X, y, max_l2_margin(X, y)) > 0
    assert margin(X, y, max_l1_margin(X, y, nonnegative=False)) > 0
    assert max_l1_margin(X, y, nonnegative=True) is None
    assert len(smallest_disjunction(X, y > 0)) > 0


def test_an_undecided_search_returns_none(monkeypatch) -> None:
    monkeypatch.setattr(pnorm, "MARGIN_CHUNKS", 4)
    monkeypatch.setattr(winnow, "MARGIN_CHUNKS", 2)
    monkeypatch.setattr(dual, "TINY", 0.0)
    rng = np.random.default_rng(0)
    X, y = sparse_rows(rng, 800, 250, 20), rng.choice([-1.0, 1.0], size=800)
    for u in (max_l2_margin(X, y), max_l1_margin(X, y, nonnegative=True), max_l1_margin(X, y, nonnegative=False)):
        assert u is None or margin(X, y, u) > 0


@pytest.mark.parametrize("p", [2.0, 3.0, 8.0])
def test_pnorm_margin_equals_a_generic_optimum(p) -> None:
    X, y = planted(1, m=40, n=6, gap=0.3)
    q = p / (p - 1)
    u = max_pnorm_margin(X, y, p)
    assert np.sum(np.abs(u) ** q) == pytest.approx(1)
    A = X.toarray() * y[:, None]
    found = minimize(  # least q-norm with y w @ x >= 1
        lambda w: np.sum(np.abs(w) ** q),
        u / margin(X, y, u) + 0.1,
        constraints={"type": "ineq", "fun": lambda w: A @ w - 1},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    w = found.x / np.sum(np.abs(found.x) ** q) ** (1 / q)
    assert margin(X, y, u) >= (1 - 1e-3) * margin(X, y, w)
    assert margin(X, y, u) > 0
