"""Agnostic comparators: brute force and generic optimisers find no bound that is 1 % smaller."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, vstack
from scipy.special import softmax, xlogy

from mistakebound import bounds
from mistakebound.hindsight.dual import Rows, ascend, pnorm_potential
from mistakebound.hindsight.pnorm import agnostic_pnorm, agnostic_squared, max_l2_margin
from mistakebound.hindsight.winnow import _envelope, agnostic_winnow


def noisy(seed, m=50, n=5, noise=0.15):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * (rng.random((m, n)) < 0.7)
    y = np.where(X @ rng.standard_normal(n) > 0, 1.0, -1.0)
    y[rng.random(m) < noise] *= -1
    return csr_matrix(X), y


def norm(v, p):
    return float(np.sum(np.abs(v) ** p) ** (1 / p))


def radius(X, p):
    return float(np.sum(np.abs(X.toarray()) ** p, axis=1).max() ** (1 / p))


def short(u, X, y, gamma=1.0):
    return np.maximum(0, gamma - y * (X @ u))


def bound_pnorm(u, X, y, p, R, weight=1.0):
    return bounds.pnorm(p, R, norm(u, p / (p - 1)), 1.0, hinge=float(np.sum(weight * short(u, X, y))))


def bound_squared(u, X, y, R, weight=1.0):
    loss = math.sqrt(np.sum(weight * short(u, X, y) ** 2))
    return bounds.perceptron_agnostic(R, norm(u, 2), 1.0, squared_hinge=loss)


def bound_winnow(found, X, y, rule, weight=1.0):
    (u, gamma), (n, eta, L, zone) = found, rule
    entropy = max(0.0, float(np.sum(xlogy(np.abs(u), n * np.abs(u)))))
    loss = float(np.sum(weight * short(u, X, y, gamma)))
    return bounds.winnow_agnostic(entropy, loss, gamma, eta, L, zone)


def least(objective, starts):
    """Return the least value that restarts of a derivative-free and of a gradient method find, one after the other."""
    value = math.inf
    for start in starts:
        for method in ("Nelder-Mead", "BFGS", "Nelder-Mead"):
            found = minimize(objective, start, method=method, options={"maxiter": 400})
            start, value = found.x, min(value, float(found.fun))  # noqa: PLW2901
    return value


@pytest.mark.parametrize("weight", [1.0, 5.0, 100.0])
@pytest.mark.parametrize("p", [2.0, 3.5, 8.0])
@pytest.mark.parametrize("seed", range(2))
def test_pnorm_is_not_beaten(seed, p, weight) -> None:
    X, y = noisy(seed)
    R, A, rng = radius(X, p), X.toarray(), np.random.default_rng(seed + 100)
    ours = bound_pnorm(agnostic_pnorm(X, y, p, R, weight=weight), X, y, p, R, weight)
    starts = [0.3 * rng.standard_normal(5), 2 * rng.standard_normal(5), y @ A / len(y)]
    theirs = least(lambda u: bound_pnorm(u, A, y, p, R, weight), starts)
    tried = min(bound_pnorm(s * rng.standard_normal(5), A, y, p, R, weight) for s in np.geomspace(0.01, 30, 1000))
    assert ours <= 1.01 * min(theirs, tried)
    assert ours <= weight * len(y) * (1 + 1e-12)  # never worse than u = 0


@pytest.mark.parametrize("weight", [1.0, 5.0, 100.0])
@pytest.mark.parametrize("seed", range(2))
def test_squared_is_not_beaten(seed, weight) -> None:
    X, y = noisy(seed)
    R, A, rng = radius(X, 2), X.toarray(), np.random.default_rng(seed + 100)
    ours = bound_squared(agnostic_squared(X, y, R, weight=weight), X, y, R, weight)
    starts = [0.3 * rng.standard_normal(5), 2 * rng.standard_normal(5), y @ A / len(y)]
    theirs = least(lambda u: bound_squared(u, A, y, R, weight), starts)
    tried = min(bound_squared(s * rng.standard_normal(5), A, y, R, weight) for s in np.geomspace(0.01, 30, 1000))
    assert ours <= 1.01 * min(theirs, tried)
    assert ours <= weight * len(y) * (1 + 1e-12)


def some_gamma(free, eta, L, zone):
    """Return gammas from the least that the rate allows to L."""
    least = L - bounds.winnow_gain(L, eta, L, zone) / eta
    return least + (L - least) / (1 + math.exp(-float(np.clip(free, -30, 30))))


@pytest.mark.parametrize("weight", [1.0, 20.0])
@pytest.mark.parametrize(("eta", "zone"), [(0.05, 0.0), (0.05, 0.1), (0.3, 0.0)])
@pytest.mark.parametrize("seed", range(2))
def test_winnow_is_not_beaten(seed, eta, zone, weight) -> None:
    X, y = noisy(seed)
    L, n, A = float(np.abs(X).max()), 8, X.toarray()  # three features that no row has
    u, gamma = agnostic_winnow(X, y, n, eta, L, doubled=False, update_margin=zone, weight=weight)
    assert u.min() >= 0
    assert u.sum() == pytest.approx(1, abs=1e-9)
    assert 0 < gamma <= L
    rule = (n, eta, L, zone)
    theirs = least(
        lambda free: bound_winnow((softmax(free[1:]), some_gamma(free[0], eta, L, zone)), A, y, rule, weight),
        [np.append(g, np.random.default_rng(seed).standard_normal(5)) for g in (-3.0, -1.0, 2.0)],
    )
    assert bound_winnow((u, gamma), A, y, rule, weight) <= 1.01 * theirs


@pytest.mark.parametrize("weight", [1.0, 20.0])
@pytest.mark.parametrize(("eta", "zone"), [(0.05, 0.0), (0.02, 0.3), (0.3, 0.0)])
@pytest.mark.parametrize("seed", range(2))
def test_balanced_winnow_is_beaten_by_little(seed, eta, zone, weight) -> None:
    """The signed u with |u|_1 = 1 do not form a convex set, so the search uses the signs of a convex problem."""
    X, y = noisy(seed)
    L, A = float(np.abs(X).max()), X.toarray()
    u, gamma = agnostic_winnow(X, y, 5, eta, L, doubled=True, update_margin=zone, weight=weight)
    assert np.abs(u).sum() == pytest.approx(1, abs=1e-9)
    assert 0 < gamma <= L
    rule = (10, eta, L, zone)
    theirs = least(
        lambda free: bound_winnow(
            (free[1:] / np.abs(free[1:]).sum(), some_gamma(free[0], eta, L, zone)), A, y, rule, weight
        ),
        [np.append(g, y @ A / len(y)) for g in (-3.0, -1.0, 2.0)]
        + [np.append(-2.0, np.random.default_rng(seed).standard_normal(5))],
    )
    assert bound_winnow((u, gamma), A, y, rule, weight) <= 1.03 * theirs


@pytest.mark.parametrize("seed", range(3))
def test_a_separable_stream_is_explained_by_its_margin(seed) -> None:
    X, y = noisy(seed, noise=0.0)
    R, heavy, best = radius(X, 2), 1e4, max_l2_margin(X, y)
    novikoff = bounds.novikoff(R, 1.0, float((y * (X @ best)).min()))
    assert bound_pnorm(agnostic_pnorm(X, y, 2.0, R, weight=heavy), X, y, 2.0, R, heavy) <= 1.01 * novikoff
    assert bound_squared(agnostic_squared(X, y, R, weight=heavy), X, y, R, heavy) <= 1.01 * novikoff


def test_on_the_mistaken_rounds_no_comparator_beats_zero() -> None:
    """By the theorem, M <= bound(u) for every u, and u = 0 gives M."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((2000, 6))
    y = np.where(A @ rng.standard_normal(6) + rng.standard_normal(2000) > 0, 1.0, -1.0)
    everything = csr_matrix(A)
    for p in (2.0, 5.0):
        z, mistakes = np.zeros(6), []
        for t in range(2000):
            if y[t] * ((np.sign(z) * np.abs(z) ** (p - 1)) @ A[t]) <= 0:
                z, mistakes = z + y[t] * A[t], [*mistakes, t]
        X, labels = csr_matrix(A[mistakes]), y[mistakes]
        assert not agnostic_pnorm(X, labels, p, radius(X, p)).any()
        if p == 2:
            assert not agnostic_squared(X, labels, radius(X, 2)).any()
        u = agnostic_pnorm(everything, y, p, radius(everything, p))
        assert u.any()
        assert len(mistakes) <= bound_pnorm(u, X, labels, p, radius(X, p)) < 2000


@pytest.mark.parametrize("search", ["pnorm", "squared", "winnow"])
def test_a_weight_equals_repeated_rows(search) -> None:
    X, y = noisy(1, m=20)
    twice = vstack([X, X, X], format="csr")
    if search == "winnow":
        one = agnostic_winnow(X, y, 5, 0.1, 4.0, doubled=False, weight=3.0)
        many = agnostic_winnow(twice, np.tile(y, 3), 5, 0.1, 4.0, doubled=False)
        mixed = agnostic_winnow(X, y, 5, 0.1, 4.0, doubled=False, weight=np.full(20, 3.0))
        values = [bound_winnow(found, X, y, (5, 0.1, 4.0, 0.0), 3.0) for found in (one, many, mixed)]
    elif search == "pnorm":
        R = radius(X, 2)
        found = (agnostic_pnorm(X, y, 2.0, R, weight=3.0), agnostic_pnorm(twice, np.tile(y, 3), 2.0, R))
        found += (agnostic_pnorm(X, y, 2.0, R, weight=np.full(20, 3.0)),)
        values = [bound_pnorm(u, X, y, 2.0, R, 3.0) for u in found]
    else:
        R = radius(X, 2)
        found = (agnostic_squared(X, y, R, weight=3.0), agnostic_squared(twice, np.tile(y, 3), R))
        found += (agnostic_squared(X, y, R, weight=np.full(20, 3.0)),)
        values = [bound_squared(u, X, y, R, 3.0) for u in found]
    assert max(values) <= 1.006 * min(values)


def test_weights_of_rows_matter() -> None:
    X, y = csr_matrix([[1.0], [1.0]]), np.array([1.0, -1.0])
    u = agnostic_pnorm(X, y, 2.0, 1.0, weight=np.array([100.0, 1.0]))
    assert u[0] > 0.5
    assert agnostic_pnorm(X, y, 2.0, 1.0, weight=np.array([1.0, 100.0]))[0] < -0.5


def test_rows_that_the_prior_already_satisfies() -> None:
    X, y = csr_matrix(np.ones((4, 3))), np.ones(4)
    for doubled in (False, True):
        u, gamma = agnostic_winnow(X, y, 3, 0.1, 1.0, doubled=doubled, weight=10.0)
        assert np.abs(u).sum() == pytest.approx(1)
        rule = (6 if doubled else 3, 0.1, 1.0, 0.0)
        assert bound_winnow((u, gamma), X, y, rule, 10.0) <= (
            1.01 * math.log(2) / bounds.winnow_gain(1, 0.1) if doubled else 1e-9
        )


@pytest.mark.parametrize(
    "X", [csr_matrix((0, 3)), csr_matrix((2, 3)), csr_matrix((np.zeros(1), [0], [0, 1, 1]), (2, 3))]
)
def test_rows_without_features(X) -> None:
    y = np.ones(X.shape[0])
    assert agnostic_pnorm(X, y, 2.0, 0.0).tolist() == [0, 0, 0]
    assert agnostic_squared(X, y, 0.0).tolist() == [0, 0, 0]
    u, _ = agnostic_winnow(X, y, 3, 0.1, 0.0, doubled=True)
    assert np.abs(u).sum() == pytest.approx(1)


def test_columns_that_never_occur_get_no_weight() -> None:
    X, y = noisy(2)
    wide = csr_matrix((X.data, X.indices * 3 + 1, X.indptr), shape=(50, 20))
    for u in (
        agnostic_pnorm(wide, y, 3.0, radius(X, 3), weight=5.0),
        agnostic_squared(wide, y, radius(X, 2), weight=5.0),
        agnostic_winnow(wide, y, 20, 0.1, 4.0, doubled=True, weight=5.0)[0],
    ):
        assert u.shape == (20,)
        assert set(np.flatnonzero(u)) <= {1, 4, 7, 10, 13}


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda X, y: agnostic_pnorm(X, y, 1.0, 1.0), "p "),
        (lambda X, y: agnostic_pnorm(X, y, 2.0, 0.0), "radius"),
        (lambda X, y: agnostic_pnorm(X, y, 2.0, 1.0, weight=0.0), "weight"),
        (lambda X, y: agnostic_pnorm(X, y[:-1], 2.0, 1.0), "y "),
        (lambda X, y: agnostic_squared(X, y, -1.0), "radius"),
        (lambda X, y: agnostic_winnow(X, y, 5, math.inf, 1.0, doubled=False), "eta"),
        (lambda X, y: agnostic_winnow(X, y, 4, 0.1, 1.0, doubled=False), "n "),
        (lambda X, y: agnostic_winnow(X, y, 5, 0.1, 1.0, doubled=False, update_margin=1.0), "update_margin"),
    ],
)
def test_errors_name_the_bad_argument(call, argument) -> None:
    with pytest.raises(ValueError, match=argument):
        call(*noisy(0))


@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2.0, 2.5, 4.0, 16.0, 40.0]), st.booleans(), st.floats(0.1, 10))
def test_the_gradient_of_the_potential(seed, p, nonnegative, scale) -> None:
    rng = np.random.default_rng(seed)
    v, d = rng.standard_normal(6), rng.standard_normal(6)
    phi = pnorm_potential(p, scale, nonnegative=nonnegative)
    value, gradient = phi(v)
    w = np.maximum(v, 0) if nonnegative else v
    assert value == pytest.approx(norm(w, p) ** 2 / (2 * scale) if w.any() else 0.0)
    assert norm(gradient, p / (p - 1)) == pytest.approx(norm(w, p) / scale if w.any() else 0.0, abs=1e-12)
    h = 1e-6
    slope = (phi(v + h * d)[0] - phi(v - h * d)[0]) / (2 * h)
    assert slope == pytest.approx(float(gradient @ d), abs=1e-4 * (1 + abs(slope)) * (1 + 1 / scale))


def test_ascend_stays_in_the_box_and_improves() -> None:
    X, y = noisy(4)
    rows, phi = Rows.signed(X, y), pnorm_potential(2.0, 5.0)
    dual = lambda a: a.sum() - phi(rows.columns @ a)[0]  # noqa: E731
    a = ascend(rows, phi, np.ones(50), upper=np.full(50, 2.0), chunks=10)
    assert a.min() >= 0
    assert a.max() <= 2
    free = minimize(lambda a: -dual(a), np.ones(50), bounds=[(0, 2)] * 50, method="SLSQP", options={"maxiter": 500})
    assert dual(a) == pytest.approx(-free.fun, rel=1e-6)
    assert dual(a) > dual(np.ones(50))


def test_envelope_of_lines() -> None:
    assert _envelope([(0.0, 1.0), (2.0, -1.0)], 0.0) == (1.0, 1.0)
    assert _envelope([(0.0, 1.0), (2.0, -1.0), (1.5, 0.0)], 0.0)[0] == 1.5
    assert _envelope([(0.0, 1.0), (2.0, -1.0)], 3.0) == (3.0, 3.0)
    assert _envelope([(2.0, -1.0)], 0.0) == (0.0, math.inf)
