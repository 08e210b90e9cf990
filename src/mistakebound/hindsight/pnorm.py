"""Search in hindsight for comparators of the Perceptron and the p-norm rule: greatest margin, or least agnostic bound.

Each agnostic bound is minimised through its dual. A search over one parameter balances the parts of the bound. Every
trial gives a comparator, and a floor below which no comparator can go, which shows when to stop. The result is within
0.5 % of the best, or it is the best of the trials. Any comparator gives a valid bound, so a faster search is used on
large data: the rule itself finds u in a few passes with a large update margin, or the dual is solved on a sample of the
rounds.

`X` is a CSR matrix of float64 with a row for each round, and `y` has the labels, -1 or +1. There is no intercept. A row
may stand for several rounds (`weight`), because of a sample or of several passes.

See docs/theory.md, "The least agnostic bound".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mistakebound._support.arguments import require
from mistakebound.hindsight.dual import (
    CHUNKS,
    Array,
    BoundSearch,
    Rows,
    ascend,
    greatest_margin,
    pnorm_potential,
    rescale,
    row_weights,
    sample,
    trial_gap,
)
from mistakebound.play.engine import LearnerEngine, Reduction
from mistakebound.play.inputs import Csr
from mistakebound.rules import PerceptronRule, PNormRule

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

LARGE, LARGEST = 1 << 20, 12 << 20
"""Numbers of non-zeros: above the first, a faster search is used; above the second, also a sample of the rounds."""
MARGINS, PASSES = (8.0, 32.0, 128.0), 4
"""Update margins, in squared radii, with which a rule searches for its comparator, and the number of passes."""
MARGIN_CHUNKS = 20  # chunks of 50 iterations of a search for a separating u


def max_l2_margin(X: csr_matrix, y: Array) -> Array | None:
    """Return u with ``|u|_2 = 1`` and the greatest margin ``min y u @ x``; None if no u separates.

    It has the direction of the point nearest to 0 in the convex hull of the ``y x``.

    Parameters
    ----------
    X, y : CSR matrix and array
        The rounds, and their labels -1 or +1.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> u = max_l2_margin(csr_matrix([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0]))
    >>> [round(float(x), 6) for x in u]
    [0.707107, -0.707107]
    >>> max_l2_margin(csr_matrix([[1.0], [1.0]]), np.array([1.0, -1.0])) is None
    True

    """
    return max_pnorm_margin(X, y, 2.0)


def max_pnorm_margin(X: csr_matrix, y: Array, p: float) -> Array | None:
    """Return u with ``|u|_q = 1``, 1/p + 1/q = 1, and the greatest margin; None if no u separates.

    Parameters
    ----------
    X, y : CSR matrix and array
        The rounds, and their labels -1 or +1.
    p : float
        At least 2. Rows are measured in the p-norm, and u in the dual norm.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> u = max_pnorm_margin(csr_matrix([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0]), 4.0)
    >>> bool(abs(np.sum(np.abs(u) ** (4 / 3)) - 1) < 1e-9)
    True

    """
    rows = Rows.signed(X, y)
    found = greatest_margin(rows, p=p, nonnegative=False, gap=1e-8, chunks=MARGIN_CHUNKS)
    if found is None or rows.margin(found[0]) <= 0:
        return None
    size = np.abs(found[0]) / np.abs(found[0]).max()
    norm = np.abs(found[0]).max() * np.sum(size ** (p / (p - 1))) ** (1 - 1 / p)
    return rows.spread(found[0] / norm)


def agnostic_pnorm(X: csr_matrix, y: Array, p: float, radius: float, *, weight: float | Array = 1.0) -> Array:
    """Return u that, with ``gamma = 1``, makes the hinge form of `bounds.pnorm` smallest.

    ``((k + sqrt(k^2 + 4 L1)) / 2)^2``, ``k = sqrt(p-1) X |u|_q``, ``L1 = sum weight max(0, 1 - y u @ x)``

    Parameters
    ----------
    X, y : CSR matrix and array
        The rounds, and their labels -1 or +1.
    p : float
        At least 2; 2 is the Perceptron.
    radius : float
        X of the bound: the largest p-norm of an example. With an update margin b, ``sqrt(X^2 + 2b / (p-1))``.
    weight : float or array
        How many rounds each row stands for.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> X, y = csr_matrix([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    >>> u = agnostic_pnorm(X, y, p=2, radius=1, weight=100)
    >>> bool(np.allclose(u, [1, -1], atol=0.01))
    True

    Notes
    -----
    The bound is the ``c^2`` with ``L1 + c k = c^2``. If ``0 <= a <= weight`` and ``v = sum a y x``, then
    ``L1 + c k >= sum a - u @ v + c k >= sum a`` if ``|v|_p <= c sqrt(p-1) X``. So ``sum a`` is a floor for any a that
    is scaled down to ``|v|_p^2 <= (p-1) X^2 sum a``. At the best u, bound and floor are equal.

    """
    require(2 <= p < math.inf, "p must be at least 2")
    if not np.any(X.data):
        return np.zeros(X.shape[1])
    require(0 < radius < math.inf, "radius must be positive")

    omega = row_weights(weight, len(y))
    if X.nnz > LARGE:
        return _learned_pnorm(*sample(X, y, omega, LARGEST), p, radius)
    rows, kappa, a = Rows.signed(X, y), math.sqrt(p - 1) * radius, omega
    best, best_u, floor = float(omega.sum()), np.zeros(len(rows.occurring)), 0.0

    def evaluate() -> tuple[float, float]:
        nonlocal best, best_u, floor
        value, u = pnorm_potential(p)(rows.columns @ a)
        norm, mass = math.sqrt(2 * value), float(a.sum())  # |u|_q = |v|_p
        load = kappa**2 * mass / norm**2 if norm else math.inf
        floor = max(floor, mass * min(1.0, load))
        c, gamma = _best_scale(rows.rows @ u, omega, kappa * norm)
        if c**2 < best:
            best, best_u = c**2, u / gamma
        return math.log(load), c * kappa * gamma / norm if norm else math.inf

    _, mu = evaluate()
    if best > floor:
        search = BoundSearch(-math.log(mu))
        while not search.done:
            phi = pnorm_potential(p, math.exp(-search.x))
            a = ascend(rows, phi, a, upper=omega, chunks=CHUNKS, gap=trial_gap(best, floor))
            search.move(evaluate()[0], best, floor)
    return rows.spread(best_u)


def _learned_pnorm(X: csr_matrix, y: Array, omega: Array, p: float, radius: float) -> Array:
    """Return the best weights that the rule itself learns with some large update margins and passes."""
    best, best_u = float(omega.sum()), np.zeros(X.shape[1])  # u = 0 allows a mistake in every round
    rows = Csr(X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data, X.shape[1])
    codes = np.where(y > 0, 1, -1).astype(np.int8)
    for margin in MARGINS:
        b = margin * radius**2
        engine = LearnerEngine(
            PerceptronRule(update_margin=b) if p == 2 else PNormRule(p=p, update_margin=b), X.shape[1], 0, Reduction()
        )
        for _ in range(PASSES):
            engine.play(rows, codes)
            u = engine.weights()
            norm = pnorm_potential(p / (p - 1), 0.5)(u)[0] ** 0.5
            c, gamma = _best_scale(y * (X @ u), omega, math.sqrt(p - 1) * radius * norm)
            if c**2 < best:
                best, best_u = c**2, u / gamma
    return best_u


def agnostic_squared(X: csr_matrix, y: Array, radius: float, *, weight: float | Array = 1.0) -> Array:
    """Return u that, with ``gamma = 1``, makes the squared form of `bounds.perceptron_agnostic` smallest.

    ``(R |u|_2 + D)^2``, ``D = sqrt(sum weight max(0, 1 - y u @ x)^2)``

    Parameters
    ----------
    X, y, weight : CSR matrix and arrays
        As for `agnostic_pnorm`.
    radius : float
        R, the largest Euclidean norm of an example. With an update margin b, ``sqrt(R^2 + 2b)``.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> X, y = csr_matrix([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    >>> u = agnostic_squared(X, y, radius=1, weight=100)
    >>> bool(np.allclose(u, [1, -1], atol=0.01))
    True

    Notes
    -----
    If ``a >= 0``, ``|sum a y x| <= R`` and ``sum a^2 / weight <= 1``, then ``R |u| + D >= sum a``, which is the floor.

    """
    if not np.any(X.data):
        return np.zeros(X.shape[1])
    require(0 < radius < math.inf, "radius must be positive")
    X, y, omega = sample(X, y, row_weights(weight, len(y)), LARGE)
    rows = Rows.signed(X, y)
    a, best, best_u, floor = omega, math.sqrt(omega.sum()), np.zeros(len(rows.occurring)), 0.0

    def evaluate(lam: float) -> float:
        nonlocal best, best_u, floor
        u = rows.columns @ a / lam
        norm, spent = math.sqrt(np.sum(u * u)), math.sqrt(np.sum(a * a / omega))
        floor = max(floor, float(a.sum()) / max(norm * lam / radius, spent))
        short = np.maximum(0.0, 1 - rows.rows @ u)
        value = radius * norm + math.sqrt(np.sum(omega * short * short))
        if value < best:
            best, best_u = value, u
        return math.log(radius * spent / (norm * lam)) if norm else math.inf

    first = radius * best  # the value for a u of norm 1 that loses in every round
    evaluate(first)
    if best > floor:
        search = BoundSearch(-math.log(first))
        while not search.done:
            phi = pnorm_potential(2.0, math.exp(-search.x))
            a, gap = rescale(rows, phi, a, ridge=1 / omega), trial_gap(best, floor)
            a = ascend(rows, phi, a, ridge=1 / omega, chunks=CHUNKS, gap=gap)
            search.move(evaluate(math.exp(-search.x)), best**2, floor**2)
    return rows.spread(best_u)


def _best_scale(scores: Array, omega: Array, k: float) -> tuple[float, float]:
    """Return the smallest c with ``L1 + c k / gamma = c^2`` for any gamma, and this gamma: it is one of the scores."""
    order = np.argsort(scores)
    gamma, omega = scores[order], omega[order]
    first = int(np.searchsorted(gamma, 0.0, side="right"))
    if first == len(gamma):
        return math.inf, 1.0
    lost = np.cumsum(omega)[first:] - np.cumsum(omega * gamma)[first:] / gamma[first:]
    ks = k / gamma[first:]
    c = (ks + np.sqrt(ks * ks + 4 * np.maximum(lost, 0.0))) / 2
    i = int(np.argmin(c))
    return float(c[i]), float(gamma[first + i])
