"""The searches for a best combination that need scipy.

Absolute, pinball and percentage loss have two slopes, so their best combination is a linear programme: such a loss of
an error e is the greatest ``g e`` with ``−below ≤ g ≤ above``. The dual has a variable g per round and only as many
rows as there are experts, so it is quick even for a long stream. Its g proves a lower bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import StreamError
from mistakebound.hindsight.oracles.base import Oracle
from mistakebound.losses import Custom

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound._support.arrays import FloatArray
    from mistakebound.hindsight.oracles.base import CheckedForecasts

FAR = 40.0
"""Limit of ``|ln w|``: where experts sleep, the best weights may differ without limit."""


def smooth(function: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray) -> FloatArray:
    """Return the point of the simplex that minimises a smooth convex function, which returns value and gradient."""
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
    """Return the w on the simplex that minimises `lost` with ``e = E w``, and a lower bound of the minimum.

    For any g, ``Σ loss ≥ g @ E w ≥ min_i (E' g)_i``. The dual problem maximises the lower bound.

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
    # Variables g and z: maximise z subject to z ≤ (E' g)_i for every i. Rows are scaled: otherwise those of bad experts
    # would dominate the tolerances.
    rows = np.hstack([-(E / sizes).T, (least / sizes)[:, None]])
    cost = np.append(np.zeros(m), -1.0)
    found = _solve(cost, [(-below, above)] * m + [(None, None)], A_ub=rows, b_ub=np.zeros(n))
    w = np.clip(-found.ineqlin.marginals * (least / sizes), 0.0, None)
    g = np.clip(found.x[:m], -below, above)
    return w / w.sum(), float((E.T @ g).min())


def best_unconstrained(Q: FloatArray, y: FloatArray, below: float, above: float) -> tuple[FloatArray, float]:
    """Return the z that minimises `lost` with ``e = Q z − y``, and a lower bound; the columns of Q are orthonormal.

    If ``Q' g = 0``, then ``Σ loss ≥ g @ (Q z − y) = −g @ y``. A solution g that is only approximate is projected onto
    these constraints and scaled.
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
    """Solve a linear programme by the simplex method; if it fails, by an interior-point method or less exactly."""
    from scipy.optimize import linprog  # noqa: PLC0415 - importing the package must not need scipy

    for method, tolerance in (("highs-ds", 1e-10), ("highs-ipm", 1e-10), ("highs-ds", 1e-8), ("highs-ipm", 1e-7)):
        options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        found = linprog(cost, bounds=bounds, method=method, options=options, **constraints)
        if found.status == 0:
            return found
    message = f"the linear programme could not be solved: {found.message}"
    raise RuntimeError(message)


def renormalised(given: CheckedForecasts, start: FloatArray) -> Oracle:
    """Return the best weights if, in each round, those of the awake experts are scaled to sum to 1.

    Descends in ``θ = ln w`` from the uniform weights, from the best expert, and from the weights ``start``.
    """
    from scipy.optimize import minimize  # noqa: PLC0415 - importing the package must not need scipy

    idle = ~given.awake.any(axis=1)
    if idle.any():
        message = "every expert is asleep, so no combination has a forecast"
        raise StreamError(message, round=int(np.argmax(idle)))
    awake, asleep = given.awake, np.isnan(given.forecasts)
    A, rounds = np.where(asleep, 0.0, given.forecasts), len(given.outcomes)
    low = np.where(asleep, np.inf, A).min(axis=1)
    high = np.where(asleep, -np.inf, A).max(axis=1)

    def shares(theta: FloatArray) -> FloatArray:
        tops = np.where(awake, theta, -np.inf)
        p = np.exp(tops - tops.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        p = shares(theta)
        combined = np.clip(np.einsum("tn...,tn->t...", A, p), low, high)
        away = (A - combined[:, None]).reshape(*awake.shape, -1)
        pull = np.einsum("tnc,tc->tn", away, given.slopes(combined).reshape(rounds, -1))
        return given.loss_of(combined) / scale, np.einsum("tn,tn->n", p, pull) / scale

    losses = np.where(awake, given.losses, 0.0).sum(axis=0) / np.maximum(awake.sum(axis=0), 1)
    losses[~awake.any(axis=0)] = np.inf
    scale = 1.0
    scale = objective(np.zeros(awake.shape[1]))[0] or 1.0
    corner = np.where(np.arange(awake.shape[1]) == np.argmin(losses), 10.0, 0.0)
    near = np.log(start + 1e-6)
    limits = [(-FAR, FAR)] * awake.shape[1]
    found = [
        minimize(objective, first, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 2000}).x
        for first in (np.zeros(awake.shape[1]), corner, near)
    ]
    theta = min(found, key=lambda theta: objective(theta)[0])
    total, least = objective(theta)[0] * scale, -np.inf
    if not isinstance(given.loss, Custom):  # the minimum of a custom loss need not be at the outcome
        least = given.loss_of(np.clip(given.outcomes, low, high))
    w = np.exp(theta - theta.max())
    name = "best convex combination, renormalised over the awake experts (a local optimum)"
    return Oracle(name, total, total / rounds, rounds, w / w.sum(), gap=total - least, names=given.names)
