"""Solvers for combinations of experts. Each is exact up to rounding; the caller verifies the gap that is left.

Over the simplex, ``w ≥ 0, Σ w = 1``, a forecast ``Σ w_i a_i`` differs from the outcome y by ``Σ w_i (a_i − y)``. So
solvers are given errors ``E = A − y``: nothing cancels, however far from 0 the outcomes are.

Absolute, pinball and percentage loss, which have two slopes, are linear programmes: such a loss of an error e is the
greatest ``g e`` with ``−below ≤ g ≤ above``. So the dual has a variable g per round and only as many rows as there are
experts: quick, however long the stream. Its g is the proof of a lower bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound._support.arrays import FloatArray, IntArray

NEWTON_STEPS = 100
CYCLES_PER_EXPERT = 20  # of Wolfe's algorithm; a handful is usual
ENOUGH = 1e-13  # what may still be gained per round, in nats
SMALL = 1e-14  # of the greatest: below this nothing can be told from rounding


def nearest_to_zero(E: FloatArray, start: FloatArray | None = None) -> FloatArray:
    """Minimise ``|E w|²``: the point nearest to 0 in the hull of the columns (Wolfe 1976, an active-set method).

    Examples
    --------
    >>> nearest_to_zero(np.array([[1.0, -1.0, 3.0], [1.0, 1.0, 2.0]])).tolist()
    [0.5, 0.5, 0.0]
    """
    n = E.shape[1]
    size = float(np.abs(E).max(initial=0.0))
    if size == 0:
        return np.full(n, 1 / n)
    E = E / size
    R = np.asarray(np.linalg.qr(E, mode="r")) if len(E) > n else E  # |R w| = |E w|
    lengths = np.sqrt(np.einsum("ti,ti->i", R, R))
    corner = np.zeros(n)
    corner[np.argmin(lengths)] = 1.0
    if not lengths.all():
        return corner
    start = corner if start is None else start
    w = _within(R, lengths, start, np.flatnonzero(start))
    best = _square(R @ w)
    for _ in range(CYCLES_PER_EXPERT * n):
        r = R @ w
        new = int(np.argmin((R.T @ r - _square(r)) / lengths))  # |r|² is the mean of R' r over those with weight
        if w[new] > 0:
            break
        trial = _within(R, lengths, w, np.append(np.flatnonzero(w), new))
        square = _square(R @ trial)
        if square >= best:
            break
        w, best = trial, square
    return w


def _square(r: FloatArray) -> float:
    return float(r @ r)


def _within(R: FloatArray, lengths: FloatArray, w: FloatArray, support: IntArray) -> FloatArray:
    """Move from w to the best weights on the support, dropping from it those that would become negative."""
    w = w.copy()
    tiny = SMALL * lengths.min() / lengths  # what a weight does is measured in forecasts
    while True:
        v = np.zeros(len(w))
        v[support] = _affine(R[:, support], lengths[support])
        low = support[v[support] <= tiny[support]]
        if not low.size or len(support) == 1:
            return np.asarray(v / v.sum())
        steps = w[low] / np.maximum(w[low] - v[low], tiny[low])
        first = int(np.argmin(steps))
        w += min(1.0, float(steps[first])) * (v - w)
        w[low[first]] = 0.0
        w[w < 0] = 0.0
        support = support[support != low[first]]


def _affine(R: FloatArray, lengths: FloatArray) -> FloatArray:
    """Minimise ``|R v|`` over ``Σ v = 1``, of either sign: least squares in what differs from the shortest."""
    base = int(np.argmin(lengths))
    others = np.delete(np.arange(R.shape[1]), base)
    v = np.empty(R.shape[1])
    v[others] = np.linalg.lstsq((R[:, others] - R[:, [base]]) / lengths[others], -R[:, base], rcond=None)[0]
    v[others] /= lengths[others]
    v[base] = 1 - v[others].sum()
    return v


def likeliest(P: FloatArray) -> FloatArray:
    """Minimise ``−Σ_t ln (P w)_t``, where P ≥ 0 and the greatest of each row is 1.

    With ``s_t = (P w')_t / (P w)_t`` Newton's model of ``−ln s`` is ``(s − 2)²/2`` up to a constant: each step is a
    problem for `nearest_to_zero`. The step is halved until the loss falls.

    Examples
    --------
    >>> likeliest(np.array([[1, 1 / 9], [1, 1 / 9], [1 / 9, 1]])).round(6).tolist()
    [0.708333, 0.291667]
    """
    n = P.shape[1]
    w, target = np.full(n, 1 / n), None
    q = P @ w
    for _ in range(NEWTON_STEPS):
        J = P / q[:, None]
        mean = J.mean(axis=0)  # minus the derivative, per round; w @ mean = 1
        target = nearest_to_zero(J - 2, target)
        gain = float(mean @ (target - w))
        if max(gain, float(mean.max()) - 1) <= ENOUGH:
            break
        step = 1.0
        while step > ENOUGH:
            trial = w + step * (target - w)
            ahead = P @ trial
            if np.all(ahead > 0) and np.mean(np.log(ahead / q)) >= 0.1 * step * gain:
                break
            step /= 2
        else:
            break
        w, q = trial, ahead
    return np.asarray(w / w.sum())


def smooth(function: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray) -> FloatArray:
    """Minimise any smooth convex function, given as value and gradient (scipy's SLSQP)."""
    from scipy.optimize import minimize  # noqa: PLC0415 - importing the package must not need scipy

    n = len(start)
    value, slope = function(start)
    scale = max(abs(value), float(np.abs(slope).max()), np.finfo(np.float64).tiny)

    def scaled(w: FloatArray) -> tuple[float, FloatArray]:
        value, slope = function(w)
        return value / scale, slope / scale

    sums = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda _: np.ones(n)}
    options = {"ftol": 1e-15, "maxiter": 1000}
    found = minimize(scaled, start, jac=True, bounds=[(0, 1)] * n, constraints=sums, method="SLSQP", options=options)
    w = np.clip(np.nan_to_num(found.x), 0.0, None)
    return w / w.sum() if w.sum() > 0 else start


def lost(e: FloatArray, below: float, above: float) -> float:
    """Return ``Σ_t max(above e_t, −below e_t)``."""
    return float(np.sum(np.maximum(above * e, -below * e)))


def best_on_simplex(E: FloatArray, below: float, above: float) -> tuple[FloatArray, float]:
    """Minimise `lost`, ``e = E w``, over the simplex; return w and a lower bound.

    Whatever g: ``Σ loss ≥ g @ E w ≥ min_i (E' g)_i``. The dual makes the latter greatest.

    Examples
    --------
    >>> w, least = best_on_simplex(np.array([[1.0, -1.0], [2.0, -1.0], [-1.0, 1.0]]), 1.0, 1.0)
    >>> w.tolist(), least
    ([0.5, 0.5], 0.5)
    """
    m, n = E.shape
    sizes = np.abs(E).mean(axis=0)
    least = sizes.min()
    if least == 0:
        return np.asarray(sizes == 0, np.float64) / np.sum(sizes == 0), 0.0
    # Variables g and z: the greatest z with z ≤ (E' g)_i for every i. Experts who are much worse than the best must
    # not drown it: each row is in units of its own.
    rows = np.hstack([-(E / sizes).T, (least / sizes)[:, None]])
    cost = np.append(np.zeros(m), -1.0)
    found = _solve(cost, [(-below, above)] * m + [(None, None)], A_ub=rows, b_ub=np.zeros(n))
    w = np.clip(-found.ineqlin.marginals * (least / sizes), 0.0, None)
    g = np.clip(found.x[:m], -below, above)
    return w / w.sum(), float((E.T @ g).min())


def best_unconstrained(Q: FloatArray, y: FloatArray, below: float, above: float) -> tuple[FloatArray, float]:
    """Minimise `lost`, ``e = Q z − y``, Q with orthonormal columns; return z and a lower bound.

    If ``Q' g = 0`` then ``Σ loss ≥ g @ (Q z − y) = −g @ y``. A g that obeys only nearly is projected and shrunk.
    """
    size = float(np.abs(y).max(initial=0.0))
    if size == 0 or not Q.size:
        return np.zeros(Q.shape[1]), lost(-y, below, above)
    Q_scale = float(np.abs(Q).max())
    zeros = np.zeros(Q.shape[1])
    found = _solve(y / size, [(-below, above)] * len(y), A_eq=Q.T / Q_scale, b_eq=zeros)
    g = found.x - Q @ (Q.T @ found.x)
    g = g - Q @ (Q.T @ g)
    g /= max(1.0, float((g / np.where(g > 0, above, -below)).max(initial=0.0)))
    return found.eqlin.marginals * (size / Q_scale), float(-g @ y)


def _solve(cost: FloatArray, bounds: list[tuple[float | None, float | None]], **constraints: FloatArray) -> Any:
    """Solve by simplex, as exactly as may be; by what else there is where that fails for numerical reasons."""
    from scipy.optimize import linprog  # noqa: PLC0415 - importing the package must not need scipy

    for method, tolerance in (("highs-ds", 1e-10), ("highs-ipm", 1e-10), ("highs-ds", 1e-8), ("highs-ipm", 1e-7)):
        options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        found = linprog(cost, bounds=bounds, method=method, options=options, **constraints)
        if found.status == 0:
            return found
    message = f"the linear programme was not solved: {found.message}"
    raise RuntimeError(message)
