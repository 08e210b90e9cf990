"""Comparators for streams that nothing separates: those that make an agnostic bound smallest.

Each bound is minimised through its dual (`duality`): a single parameter is moved until the parts of the bound
balance, and every trial yields a comparator and a floor below which no comparator can go, so that the search
knows when it is done. What is returned is within 0.5 % of the best, or the best found in the
trials allowed. Any comparator gives a true bound, so on large data a quicker search serves as well: the rule itself
finds u in a few passes with a large update margin, or the dual is solved on a sample of the rounds.

Rows may stand for more rounds than themselves (`weight`): those of a sample, or of several passes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix, diags

from mistakebound.bounds.mistakes import winnow_gain
from mistakebound.hindsight.duality import Potential, Rows, ascend, pnorm_potential, require, rescale
from mistakebound.play.engine import Life, Reduction
from mistakebound.play.inputs import Csr
from mistakebound.rules import PerceptronRule, PNormRule

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound.hindsight.lbfgs import Array

TOLERANCE = 5e-3
TRIALS, CHUNKS = 20, 4
LARGE, LARGEST = 1 << 20, 12 << 20
"""Non-zeros: above the first the search is a quicker one, above the second it uses a sample of the rounds."""
MARGINS, PASSES = (8.0, 32.0, 128.0), 4
"""Update margins with which a rule looks for its comparator, in squared radii, and for how long."""


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
        X of the bound, the largest p-norm of an example. With an update zone b, ``sqrt(X^2 + 2b / (p-1))``.
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
    ``L1 + c k >= sum a - u @ v + c k >= sum a`` as soon as ``|v|_p <= c sqrt(p-1) X``. Hence the floor: the
    ``sum a`` of any a that is scaled down to ``|v|_p^2 <= (p-1) X^2 sum a``. At the best u they are equal.

    """
    require(2 <= p < math.inf, "p must be at least 2")
    if not np.any(X.data):
        return np.zeros(X.shape[1])
    require(0 < radius < math.inf, "radius must be positive")

    omega = _weights(weight, len(y))
    if X.nnz > LARGE:
        return _learned_pnorm(*_sample(X, y, omega, LARGEST), p, radius)
    rows, kappa, a = Rows.signed(X, y), math.sqrt(p - 1) * radius, omega
    best, best_u, floor = float(omega.sum()), np.zeros(len(rows.occurring)), 0.0

    def consider() -> tuple[float, float]:
        nonlocal best, best_u, floor
        value, u = pnorm_potential(p)(rows.columns @ a)
        norm, mass = math.sqrt(2 * value), float(a.sum())  # |u|_q = |v|_p
        load = kappa**2 * mass / norm**2 if norm else math.inf
        floor = max(floor, mass * min(1.0, load))
        c, gamma = _best_scale(rows.rows @ u, omega, kappa * norm)
        if c**2 < best:
            best, best_u = c**2, u / gamma
        return math.log(load), c * kappa * gamma / norm if norm else math.inf

    def trial(x: float) -> tuple[float, float, float, float]:
        nonlocal a
        phi = pnorm_potential(p, math.exp(-x))
        a = ascend(rows, phi, a, upper=omega, chunks=CHUNKS, gap=_care(best, floor))
        return consider()[0], best, floor, math.nan

    _, mu = consider()
    if best > floor:
        _balance(trial, -math.log(mu))
    return rows.spread(best_u)


def _learned_pnorm(X: csr_matrix, y: Array, omega: Array, p: float, radius: float) -> Array:
    """Return what the rule itself learns with a large update margin, the best of some margins and passes."""
    best, best_u = float(omega.sum()), np.zeros(X.shape[1])  # u = 0 allows a mistake in every round
    rows = Csr(X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data, X.shape[1])
    codes = np.where(y > 0, 1, -1).astype(np.int8)
    for margin in MARGINS:
        b = margin * radius**2
        life = Life(
            PerceptronRule(update_margin=b) if p == 2 else PNormRule(p=p, update_margin=b), X.shape[1], 0, Reduction()
        )
        for _ in range(PASSES):
            life.play(rows, codes)
            u = life.weights()
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
        R, the largest Euclidean norm of an example. With an update zone b, ``sqrt(R^2 + 2b)``.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> X, y = csr_matrix([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    >>> u = agnostic_squared(X, y, radius=1, weight=100)
    >>> bool(np.allclose(u, [1, -1], atol=0.01))
    True

    Notes
    -----
    If ``a >= 0``, ``|sum a y x| <= R`` and ``sum a^2 / weight <= 1``, then ``R |u| + D >= sum a``: the floor.

    """
    if not np.any(X.data):
        return np.zeros(X.shape[1])
    require(0 < radius < math.inf, "radius must be positive")
    X, y, omega = _sample(X, y, _weights(weight, len(y)), LARGE)
    rows = Rows.signed(X, y)
    a, best, best_u, floor = omega, math.sqrt(omega.sum()), np.zeros(len(rows.occurring)), 0.0

    def consider(lam: float) -> float:
        nonlocal best, best_u, floor
        u = rows.columns @ a / lam
        norm, spent = math.sqrt(np.sum(u * u)), math.sqrt(np.sum(a * a / omega))
        floor = max(floor, float(a.sum()) / max(norm * lam / radius, spent))
        short = np.maximum(0.0, 1 - rows.rows @ u)
        value = radius * norm + math.sqrt(np.sum(omega * short * short))
        if value < best:
            best, best_u = value, u
        return math.log(radius * spent / (norm * lam)) if norm else math.inf

    def trial(x: float) -> tuple[float, float, float, float]:
        nonlocal a
        phi = pnorm_potential(2.0, math.exp(-x))
        a, gap = rescale(rows, phi, a, ridge=1 / omega), _care(best, floor)
        a = ascend(rows, phi, a, ridge=1 / omega, chunks=CHUNKS, gap=gap)
        return consider(math.exp(-x)), best**2, floor**2, math.nan

    first = radius * best  # as if u had norm 1 and D were all
    consider(first)
    if best > floor:
        _balance(trial, -math.log(first))
    return rows.spread(best_u)


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
        As for `agnostic_pnorm`. u lies on the columns that occur.
    n : int
        Number of features of the prior, at least the number of columns of X.
    eta, radius, update_margin : float
        The rate that the learner used, L and b, as for `bounds.winnow_fixed_rate`.
    doubled : bool
        Whether u may have either sign, as BalancedWinnow's; otherwise it is a distribution. ``|u|_1 = 1``.

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
    ``RE + eta H >= s sum a - phi(sum a y x)``. Divided by C that is linear in ``t = 1 / C``: the floor is the
    least value of the greatest of these lines.

    """
    require(0 < eta < math.inf, "eta must be positive and finite")
    require(n >= X.shape[1], "n must be at least the number of columns of X")
    if not np.any(X.data):
        return np.full(X.shape[1], 1 / X.shape[1]), radius
    room = winnow_gain(radius, eta, radius, update_margin)  # C at gamma = L
    require(room > 0, "update_margin must be below radius")
    rule, omega = (eta, eta * radius - room, radius), _weights(weight, len(y))

    few_X, few_y, few = _sample(X, y, omega, LARGE // 2)  # ln n stands in the bound: a sample says as much
    rows = Rows.signed(few_X, few_y)
    u = _search_winnow(rows, few, rule, _entropic(eta, n, n - len(rows.occurring), doubled=doubled))
    mass = float(np.abs(u).sum())
    if mass <= 0.999:
        # The best doubled u keeps some mass in pairs that cancel, which a signed u cannot: take only its signs.
        signs = np.where(u < 0, -1.0, 1.0)
        turned = csr_matrix(X @ diags(signs))
        u, gamma = agnostic_winnow(
            turned, y, 2 * n, eta, radius, doubled=False, update_margin=update_margin, weight=weight
        )
        return u * signs, gamma
    u /= mass
    size = np.abs(u[u != 0])
    entropy = max(0.0, float(np.sum(size * np.log(size * (2 * n if doubled else n)))))
    return u, _best_margin(y * (X @ u), omega, entropy, rule)[1]


def _search_winnow(rows: Rows, omega: Array, rule: tuple[float, float, float], phi: Potential) -> Array:
    eta, growth, radius = rule
    room = eta * radius - growth
    a, best, best_u, best_gamma = omega, math.inf, np.zeros(0), radius
    lines: list[tuple[float, float]] = []

    def consider() -> None:
        nonlocal best, best_u, best_gamma
        v = rows.columns @ a
        value, u = phi(v)
        mass = float(a.sum())
        lines.append((mass, mass * growth - value))
        entropy = float(np.sum(u * v)) - value
        bound, gamma = _best_margin(rows.rows @ u / eta, omega, entropy, rule)
        if bound < best:
            best, best_u, best_gamma = bound, u / eta, gamma

    def trial(x: float) -> tuple[float, float, float, float]:
        nonlocal a
        gap = _care(best, _envelope(lines, 1 / room)[0])
        a = ascend(rows, phi, a, gamma=growth + math.exp(-x), upper=omega, chunks=CHUNKS, gap=gap)
        consider()
        floor, t = _envelope(lines, 1 / room)
        return lines[-1][1] / (1 + lines[-1][0]), best, floor, math.log(t)

    consider()
    least = -math.log(room)
    _balance(trial, max(least, -math.log(eta * best_gamma - growth)), least)
    return rows.spread(best_u)


def _sample(X: csr_matrix, y: Array, omega: Array, most: int) -> tuple[csr_matrix, Array, Array]:
    """Rows with about so many non-zeros, each standing for more rounds; all rows if they have no more."""
    if X.nnz <= most:
        return X, y, omega
    rows = np.flatnonzero(np.random.default_rng(0).random(X.shape[0]) < most / X.nnz)
    if not len(rows):
        rows = np.arange(1)
    return X[rows], y[rows], omega[rows] * float(omega.sum() / omega[rows].sum())


def _balance(trial: Callable[[float], tuple[float, float, float, float]], x: float, least: float = -math.inf) -> None:
    """Move x until the bound nears its floor.

    ``trial(x) = (tilt, bound, floor, next)``: the tilt grows with x and is 0 where the bound is least; `next`
    is where that seems to be, NaN to guess by the secant.
    """
    below, above, last = least, math.inf, (math.nan, math.nan)
    for _ in range(TRIALS):
        tilt, bound, floor, after = trial(x)
        if bound <= (1 + TOLERANCE) * floor or (x <= least and tilt >= 0):
            return
        below, above = (x, above) if tilt < 0 else (below, x)
        if above - below < 1e-3:  # a trial is not quite exact, so that its sign may have been wrong
            below, above = max(least, below - 0.02), above + 0.02
        if not below < after < above:
            slope = (tilt - last[1]) / (x - last[0]) if x != last[0] else math.nan
            step = -tilt / slope if slope > 0 else -math.copysign(1.0, tilt)
            # beyond the root as long as it is not enclosed
            after = x + min(max(step * (1.2 if math.isinf(above) or below == least else 1.0), -2.0), 2.0)
        last, x = (x, tilt), after
        if not below < x < above:
            x = least if below == least else (below + above) / 2


def _care(bound: float, floor: float) -> float:
    """Return how exact a trial should be: the less, the farther the bound still is from its floor."""
    return max(TOLERANCE / 4, min(0.05, 0.1 * (bound / floor - 1) if floor > 0 else 0.05))


def _best_scale(scores: Array, omega: Array, k: float) -> tuple[float, float]:
    """Return the least root c of ``L1 + c k / gamma = c^2`` over gamma, and that gamma, one of the scores."""
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


def _best_margin(scores: Array, omega: Array, entropy: float, rule: tuple[float, float, float]) -> tuple[float, float]:
    """Return the least ``(RE + eta H) / C`` over gamma <= L, and gamma: it is one of the scores, or L."""
    eta, growth, radius = rule
    order = np.argsort(scores)
    gamma, omega = scores[order], omega[order]
    # Between two scores the bound is a ratio of linear functions of gamma, hence monotone.
    omega, gamma = np.append(omega[gamma < radius], 0.0), np.append(gamma[gamma < radius], radius)
    hinge = np.cumsum(omega) * gamma - np.cumsum(omega * gamma)
    gain = eta * gamma - growth
    bound = np.full(len(gamma), math.inf)
    np.divide(entropy + eta * np.maximum(hinge, 0.0), gain, out=bound, where=gain > 0)
    i = int(np.argmin(bound))
    return float(bound[i]), float(gamma[i])


def _entropic(eta: float, n: int, others: int, *, doubled: bool) -> Potential:
    """Return ``ln(sum e^(eta v) / n)``; doubled, with cosh, and `others` more features where ``v = 0``."""

    def phi(v: Array) -> tuple[float, Array]:
        v = eta * v
        if not doubled:  # a distribution is kept on the features that occur: mass elsewhere would be idle
            top = float(v.max())
            up = np.exp(v - top)
            mass = float(np.sum(up))
            return top + math.log(mass / n), up * (eta / mass)
        top = float(np.abs(v).max())
        up, down = np.exp(v - top), np.exp(-v - top)
        mass = float(np.sum(up + down)) / 2 + others * math.exp(-top)
        return top + math.log(mass / n), (up - down) * (eta / (2 * mass))

    return phi


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


def _weights(weight: float | Array, m: int) -> Array:
    omega = np.array(np.broadcast_to(np.asarray(weight, dtype=np.float64), (m,)))
    require(bool(np.all((omega > 0) & (omega < math.inf))), "weight must be positive")
    return omega
