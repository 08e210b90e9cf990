"""Search in hindsight for comparators of normalised and balanced Winnow: greatest L1 margin, or least agnostic bound.

The agnostic bound is minimised through its dual as in `pnorm`. `X` is a CSR matrix of float64 with a row for each
round, and `y` has the labels, -1 or +1. There is no intercept.

See docs/theory.md, "The least agnostic bound".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags

from mistakebound.bounds.winnow import winnow_gain_unchecked
from mistakebound.hindsight.dual import (
    CHUNKS,
    Array,
    BoundSearch,
    Potential,
    Rows,
    ascend,
    entropic_potential,
    greatest_margin,
    lightest_weights,
    row_weights,
    sample,
    trial_gap,
)

LARGE = 1 << 19
"""Non-zeros above which the agnostic search uses a sample of the rounds."""
LEAST_GAIN = 1e-9
"""If C at gamma = L is below this share of eta L, it is lost in rounding, and no search is made."""
MARGIN_CHUNKS = 10  # chunks of 50 iterations of a search for a separating u


class Rate(NamedTuple):
    """The rate eta of the learner, the radius L, and ``growth``, which is ``eta gamma - C`` for every gamma."""

    eta: float
    growth: float
    radius: float


def max_l1_margin(X: csr_matrix, y: Array, *, nonnegative: bool) -> Array | None:
    """Return u with ``|u|_1 = 1`` and the greatest margin ``min y u @ x``; None if no u separates.

    It is the solution of a linear programme on few rows, to which violated rows are added. If that would need too many
    rows, u is only near the best: it is the best for a q-norm with q slightly above 1.

    See docs/theory.md, "The greatest margin".

    Parameters
    ----------
    X, y : CSR matrix and array
        The rounds, and their labels -1 or +1.
    nonnegative : bool
        Whether ``u >= 0``, as for NormalizedWinnow. For BalancedWinnow, weights may have either sign.

    Examples
    --------
    >>> X = csr_matrix([[1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]])
    >>> [round(float(x), 6) for x in max_l1_margin(X, np.ones(3), nonnegative=True)]
    [0.333333, 0.333333, 0.333333]

    """
    rows = Rows.signed(X, y)
    found = greatest_margin(rows, nonnegative=nonnegative, gap=0.01, chunks=MARGIN_CHUNKS)
    if found is None:
        return None
    u, a = found
    best = u / np.abs(u).sum()
    # The rounds with the largest weights a have the smallest margins.
    hardest = np.argsort(-a, kind="stable")
    w, final = lightest_weights(rows.rows, np.ones(len(a)), hardest, nonnegative=nonnegative)
    if w is not None:
        best = max(best, w / np.abs(w).sum(), key=rows.margin)
    for p in () if final else (4.0, 8.0, 16.0):
        found = greatest_margin(rows, a, p=p, nonnegative=nonnegative, gap=0.05, chunks=MARGIN_CHUNKS // 2)
        if found is None or rows.margin(found[0] / np.abs(found[0]).sum()) <= rows.margin(best):
            break  # with larger p the maximum is nearer to that of the 1-norm, but harder to reach
        best, a = found[0] / np.abs(found[0]).sum(), found[1]
    return rows.spread(best) if rows.margin(best) > 0 else None


def even_weights(X: csr_matrix, y: Array, n: int, *, doubled: bool) -> Array:
    """Return equal weights on the n columns of X; if doubled, with the sign of the correlation with the labels."""
    signs = np.where(X.T @ y < 0, -1.0, 1.0) if doubled else np.ones(n)
    return signs / n


def agnostic_winnow(
    X: csr_matrix,
    y: Array,
    n: int,
    eta: float,
    radius: float,
    *,
    doubled: bool,
    update_margin: float = 0.0,
    weight: float | Array = 1.0,
) -> tuple[Array, float]:
    """Return u and gamma, at most L, that make `bounds.winnow_agnostic` smallest.

    ``(RE + eta H) / C``, ``H = sum weight max(0, gamma - y u @ x)``, with RE from the uniform distribution
    over the n features, or over 2n if doubled (`bounds.balanced_winnow`).

    Parameters
    ----------
    X, y, weight : CSR matrix and arrays
        As for `agnostic_pnorm`. u is 0 on columns that do not occur.
    n : int
        Number of features of the prior, at least the number of columns of X.
    eta, radius, update_margin : float
        The rate of the learner, L and b, as for `bounds.winnow_fixed_rate`.
    doubled : bool
        Whether u may have either sign, as for BalancedWinnow; otherwise it is a distribution. ``|u|_1 = 1``.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> X, y = csr_matrix([[1.0, -1.0], [1.0, 1.0]]), np.array([1.0, 1.0])
    >>> u, gamma = agnostic_winnow(X, y, n=2, eta=0.5, radius=1, doubled=False, weight=100)
    >>> bool(u[0] > 0.7 and gamma > 0.4)
    True

    Notes
    -----
    With ``s = eta gamma`` and ``C = s - K``, any ``0 <= a <= weight`` gives
    ``RE + eta H >= s sum a - phi(sum a y x)``. Divided by C, the right side is linear in ``t = 1 / C``. The floor is
    the least value over t of the greatest of these lines.

    """
    if not 0 < eta < math.inf:
        message = f"eta must be positive and finite, got {eta!r}"
        raise ValueError(message)
    if n < X.shape[1]:
        message = f"n must be at least the number of columns of X, {X.shape[1]}, got {n}"
        raise ValueError(message)
    if not np.any(X.data):
        return np.full(X.shape[1], 1 / X.shape[1]), radius
    if not update_margin < radius:
        message = f"update_margin must be below radius, which is {radius!r}, got {update_margin!r}"
        raise ValueError(message)
    room = winnow_gain_unchecked(radius, eta, radius, update_margin)  # C at gamma = L
    if room <= LEAST_GAIN * eta * radius:
        return even_weights(X, y, X.shape[1], doubled=doubled), radius
    rate, omega, signs = Rate(eta, eta * radius - room, radius), row_weights(weight, len(y)), np.ones(1)
    few_X, few_y, few = sample(X, y, omega, LARGE)  # the bound grows only with ln n: a sample is enough
    rows = Rows.signed(few_X, few_y)
    phi = entropic_potential(eta, n, n - len(rows.occurring), doubled=doubled)
    u = _search(rows, few, rate, phi, phi(rows.columns @ few))
    if np.abs(u).sum() <= 0.999:
        # The best doubled u has weight in pairs that cancel, which a signed u cannot have. Keep only its signs.
        signs = np.where(u < 0, -1.0, 1.0)
        X, n, doubled = csr_matrix(X @ diags(signs)), 2 * n, False
        few_X, few_y, few = sample(X, y, omega, LARGE)
        rows = Rows.signed(few_X, few_y)
        phi = entropic_potential(eta, n, 0, doubled=doubled)
        u = _search(rows, few, rate, phi, phi(rows.columns @ few))
    u /= float(np.abs(u).sum())
    size = np.abs(u[u != 0])
    entropy = max(0.0, float(np.sum(size * np.log(size * (2 * n if doubled else n)))))
    return u * signs, _best_margin(y * (X @ u), omega, entropy, rate)[1]


def _search(rows: Rows, omega: Array, rate: Rate, phi: Potential, start: tuple[float, Array]) -> Array:
    """Return the u of least bound, not normalised. `start` is phi and its gradient at ``a = omega``."""
    room = rate.eta * rate.radius - rate.growth
    a, best, best_u, best_gamma = omega, math.inf, np.zeros(0), rate.radius
    lines: list[tuple[float, float]] = []

    def evaluate(v: Array, value: float, u: Array) -> None:
        nonlocal best, best_u, best_gamma
        mass = float(a.sum())
        lines.append((mass, mass * rate.growth - value))
        entropy = float(np.sum(u * v)) - value
        bound, gamma = _best_margin(rows.rows @ u / rate.eta, omega, entropy, rate)
        if bound < best:
            best, best_u, best_gamma = bound, u / rate.eta, gamma

    evaluate(rows.columns @ a, *start)
    floor, _ = _envelope(lines, 1 / room)
    least = -math.log(room)
    search = BoundSearch(max(least, -math.log(rate.eta * best_gamma - rate.growth)), least)
    while not search.done:
        gap = trial_gap(best, floor)
        a = ascend(rows, phi, a, gamma=rate.growth + math.exp(-search.x), upper=omega, chunks=CHUNKS, gap=gap)
        v = rows.columns @ a
        evaluate(v, *phi(v))
        floor, t = _envelope(lines, 1 / room)
        search.move(lines[-1][1] / (1 + lines[-1][0]), best, floor, math.log(t))
    return rows.spread(best_u)


def _best_margin(scores: Array, omega: Array, entropy: float, rate: Rate) -> tuple[float, float]:
    """Return the smallest ``(RE + eta H) / C`` for any gamma <= L, and this gamma, which is one of the scores or L."""
    eta, growth, radius = rate
    order = np.argsort(scores)
    gamma, omega = scores[order], omega[order]
    # Between two scores the bound is a ratio of linear functions of gamma, so it is monotone.
    omega, gamma = np.append(omega[gamma < radius], 0.0), np.append(gamma[gamma < radius], radius)
    hinge = np.cumsum(omega) * gamma - np.cumsum(omega * gamma)
    gain = eta * gamma - growth
    bound = np.full(len(gamma), math.inf)
    np.divide(entropy + eta * np.maximum(hinge, 0.0), gain, out=bound, where=gain > 0)
    i = int(np.argmin(bound))
    return float(bound[i]), float(gamma[i])


def _envelope(lines: list[tuple[float, float]], least: float) -> tuple[float, float]:
    """Return the least value over ``t >= least`` of the greatest line ``s + g t``, and t; (0, inf) if all fall."""
    s, g = np.array(lines).T
    if g.max() < 0:
        return 0.0, math.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        t = ((s[:, None] - s) / (g - g[:, None])).ravel()
    t = np.append(t[np.isfinite(t) & (t > least)], least)
    values = (s[:, None] + np.multiply.outer(g, t)).max(axis=0)
    i = int(np.argmin(values))
    return float(values[i]), float(t[i])
