"""Losses of two slopes as linear programmes: absolute, pinball and percentage loss.

Such a loss of an error e is the greatest ``g e`` with ``−below ≤ g ≤ above``. So the dual has a variable g per round
and only as many rows as there are experts: quick, however long the stream. Its g is the proof of a lower bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray


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
