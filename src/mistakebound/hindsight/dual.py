"""Solvers that the searches for comparators share: the dual problem by L-BFGS, and linear programmes on few rows.

A rule keeps ``z``, the sum of ``y x`` over its mistakes, and predicts with ``w = grad phi(z)``. The best comparator has
the same form, but each round t has a weight ``a_t``. It is ``grad phi`` of ``sum a_t y_t x_t`` at the maximum of

    ``gamma sum a - phi(sum a_t y_t x_t) - sum ridge_t a_t^2 / 2``,  ``0 <= a_t <= upper_t``,

a smooth concave problem with one variable per kept round, for any number of features. Any ``a`` gives a comparator
and, by weak duality, a limit on how much better another comparator can be.

The problem is solved by L-BFGS on the variables that are free to move. SciPy's L-BFGS-B does the same, but its dot
products use BLAS. On vectors of about ten thousand numbers, a BLAS with threads spends most of its time waiting for
them: on a busy machine, ten times as long as it computes. Sums of products by numpy use no threads.

See docs/theory.md, "The dual problem".
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack

Array = NDArray[np.float64]
Potential = Callable[[Array], tuple[float, Array]]  # phi and its gradient, both at once
Loss = Potential  # a function to minimise, with its gradient
Pairs = deque[tuple[Array, Array]]
"""The last steps and the change of the gradient in each, from which L-BFGS estimates the curvature."""

MEMORY = 8
SUFFICIENT, LEAST_DECREASE, LEAST_CURVATURE = 1e-4, 1e-13, 1e-12
TINY = 1e-7  # a margin below this share of the longest row counts as 0: its bound would be above 10^14
TOLERANCE, TRIALS, CHUNKS = 5e-3, 20, 4
"""Of an agnostic search: the relative distance of bound and floor, the number of trials, and the chunks of each."""
WORK = 500_000_000  # visits of non-zeros in a search for a margin: about a second
LP_START, LP_LIMIT = 300, 1200  # first and largest number of rows of a linear programme; more take many seconds
LP_NONZEROS = 40_000  # largest number of its non-zeros


@dataclass(frozen=True)
class Rows:
    """Kept rounds as rows ``y x``, without the columns that never occur."""

    rows: csr_matrix
    columns: csr_matrix  # the transpose, as CSR too, for fast products
    occurring: NDArray[np.intp]
    n: int

    @classmethod
    def signed(cls, X: csr_matrix, y: Array) -> Rows:
        """Multiply each row by its label and drop the columns that never occur."""
        if X.shape[0] != len(y):
            message = "y must have one label for each row of X"
            raise ValueError(message)
        data = X.data * np.repeat(np.asarray(y, dtype=np.float64), np.diff(X.indptr))
        occurring, indices = np.unique(X.indices, return_inverse=True)
        rows = csr_matrix((data, indices, X.indptr), shape=(X.shape[0], len(occurring)))
        return cls(rows, rows.T.tocsr(), occurring, X.shape[1])

    def spread(self, u: Array) -> Array:
        """Return u with zeros in the columns that were dropped."""
        dense = np.zeros(self.n)
        dense[self.occurring] = u
        return dense

    def margin(self, u: Array) -> float:
        """Return the least ``y u @ x``."""
        return float((self.rows @ u).min())


def row_weights(weight: float | Array, m: int) -> Array:
    """Return how many rounds each of m rows stands for, as an array."""
    omega = np.array(np.broadcast_to(np.asarray(weight, dtype=np.float64), (m,)))
    if not np.all((omega > 0) & (omega < math.inf)):
        message = "weight must be positive"
        raise ValueError(message)
    return omega


def sample(X: csr_matrix, y: Array, omega: Array, most: int) -> tuple[csr_matrix, Array, Array]:
    """Return a sample of the rows with about ``most`` non-zeros. Each row then stands for more rounds."""
    if X.nnz <= most:
        return X, y, omega
    rows = np.flatnonzero(np.random.default_rng(0).random(X.shape[0]) < most / X.nnz)
    if not len(rows):
        rows = np.arange(1)
    return X[rows], y[rows], omega[rows] * float(omega.sum() / omega[rows].sum())


def ascend(
    rows: Rows,
    phi: Potential,
    a: Array,
    *,
    gamma: float = 1.0,
    upper: Array | float = np.inf,
    ridge: Array | float = 0.0,
    chunks: int = 1,
    gap: float = 0.0,
) -> Array:
    """Return a better `a`: ``max gamma sum a - phi(columns @ a) - sum ridge a^2 / 2``, ``0 <= a <= upper``.

    Runs `chunks` of 50 iterations, or fewer if the duality gap falls to the share `gap` of the maximum. That check
    needs a finite upper or a ridge.
    """

    def loss(a: Array) -> tuple[float, Array]:
        value, u = phi(rows.columns @ a)
        return value + float(np.sum(a * (ridge * a / 2 - gamma))), rows.rows @ u + (ridge * a - gamma)

    pairs: Pairs = deque()
    a = np.clip(a, 0.0, upper)
    for chunk in range(chunks):
        a, least = minimise(loss, a, upper, 50, pairs)
        if chunk + 1 < chunks:
            d = gamma - rows.rows @ phi(rows.columns @ a)[1]  # gamma - y u @ x
            primal = np.maximum(d, 0.0) * (np.maximum(d, 0.0) / (2 * ridge) if np.any(ridge) else upper)
            if np.sum(primal - a * d + ridge * a * a / 2) <= gap * abs(least):
                break
    return a


def rescale(rows: Rows, phi: Potential, a: Array, *, ridge: Array | float = 0.0) -> Array:
    """Return the best multiple of `a` to start from. phi must be a squared norm."""
    curvature = 2 * phi(rows.columns @ a)[0] + float(np.sum(ridge * a * a))
    return a * (float(a.sum()) / curvature) if curvature > 0 else a


def greatest_margin(
    rows: Rows, a: Array | None = None, *, p: float = 2.0, nonnegative: bool, gap: float, chunks: int
) -> tuple[Array, Array] | None:
    """Return u of greatest margin in the q-norm, not normalised, and the weights a of the rows that give u.

    None if no u separates. By duality, no margin exceeds ``|sum a y x|_p / sum a`` for any ``a >= 0``. The search
    stops when the margin is near that limit.

    See docs/theory.md, "The greatest margin".
    """
    squares = np.asarray(rows.rows.multiply(rows.rows).sum(axis=1)).ravel()
    if not squares.size:
        return None
    phi, longest = pnorm_potential(p, nonnegative=nonnegative), np.sqrt(squares.max())
    a, margin, ceiling = np.ones(len(squares)) if a is None else a, -np.inf, np.inf
    best = None
    for _ in range(max(1, min(chunks, WORK // (100 * rows.rows.nnz + 1)))):
        a = ascend(rows, phi, rescale(rows, phi, a))
        value, u = phi(rows.columns @ a)
        norm, before = np.sqrt(2 * value), (margin, ceiling)
        ceiling = min(ceiling, norm / a.sum())
        if ceiling <= TINY * longest:
            return None
        if rows.margin(u) / norm > margin:
            best, margin = (u, a), rows.margin(u) / norm
        if margin >= (1 - gap) * ceiling or (margin, ceiling) == before:
            break
    return best


def pnorm_potential(p: float, scale: float = 1.0, *, nonnegative: bool = False) -> Potential:
    """Return ``|v|_p^2 / (2 scale)`` with its gradient; if nonnegative, of the positive part of v."""

    def phi(v: Array) -> tuple[float, Array]:
        size = np.maximum(v, 0.0) if nonnegative else np.abs(v)
        largest = float(size.max(initial=0.0))
        if largest == 0:
            return 0.0, np.zeros_like(v)
        if p == 2:
            return float(np.sum(size * size)) / (2 * scale), (size if nonnegative else v) / scale
        size /= largest
        counts = np.flatnonzero(size >= 1e-18 ** (1 / (p - 1)))  # smaller ones do not change the rounded sum
        power = size[counts] ** (p - 1)
        total = float(np.sum(power * size[counts]))
        gradient = np.zeros_like(v)
        gradient[counts] = np.copysign(power * (largest * total ** (2 / p - 1) / scale), v[counts])
        return largest**2 * total ** (2 / p) / (2 * scale), gradient

    return phi


def entropic_potential(eta: float, n: int, others: int, *, doubled: bool) -> Potential:
    """Return ``ln(sum e^(eta v) / n)`` with its gradient; doubled, with cosh and `others` more features where v = 0."""

    def phi(v: Array) -> tuple[float, Array]:
        v = eta * v
        if not doubled:  # a distribution needs no weight on features that do not occur
            top = float(v.max())
            up = np.exp(v - top)
            mass = float(np.sum(up))
            return top + math.log(mass / n), up * (eta / mass)
        top = float(np.abs(v).max())
        up, down = np.exp(v - top), np.exp(-v - top)
        mass = float(np.sum(up + down)) / 2 + others * math.exp(-top)
        return top + math.log(mass / n), (up - down) * (eta / (2 * mass))

    return phi


def lightest_weights(
    A: csr_matrix, b: Array, hardest: NDArray[np.intp] | None = None, *, nonnegative: bool = True
) -> tuple[Array | None, bool]:
    """Return w with ``A w >= b`` and the least sum of ``|w|``, and whether it is final.

    The programme is solved for few rows. Then the rows that w violates most are added, until w violates none. w is
    None if no w satisfies the rows. It is not final if the programme would need too many rows.

    Parameters
    ----------
    A, b : CSR matrix and array
        The constraints.
    hardest : array, optional
        Rows in the order in which they are tried. By default, the first ones are spread evenly.
    nonnegative : bool
        Whether ``w >= 0``; otherwise w may have either sign.

    Examples
    --------
    >>> lightest_weights(csr_matrix([[2.0, 1.0], [0.0, 1.0]]), np.array([2.0, 0.0]))[0].tolist()
    [1.0, 0.0]
    """
    chosen = np.unique(np.linspace(0, len(b) - 1, LP_START).astype(np.intp)) if hardest is None else hardest[:LP_START]
    limit = int(min(LP_LIMIT, LP_NONZEROS * A.shape[0] // max(A.nnz, 1)))
    w = None
    while len(chosen) <= limit:
        w = _solved(A[chosen], b[chosen], nonnegative=nonnegative)
        if w is None:
            return None, True
        short = b - A @ w
        short[chosen] = 0.0
        late = np.flatnonzero(short > 1e-9)
        if not late.size:
            return w, True
        chosen = np.append(chosen, late[np.argsort(-short[late], kind="stable")[: len(chosen)]])
    return w, False


def _solved(A: csr_matrix, b: Array, *, nonnegative: bool) -> Array | None:
    """Return ``w`` of least ``|w|_1`` with ``A w >= b``, or None."""
    if not nonnegative:
        both = _solved(hstack([A, -A], format="csr"), b, nonnegative=True)
        return None if both is None else both[: A.shape[1]] - both[A.shape[1] :]
    from scipy.optimize import linprog  # noqa: PLC0415 - it loads slowly, and most searches do not need it

    used, indices = np.unique(A.indices, return_inverse=True)
    A_used = csr_matrix((-A.data, indices, A.indptr), shape=(A.shape[0], len(used)))
    if not len(used):
        return np.zeros(A.shape[1]) if np.all(b <= 0) else None
    # The interior-point method is much faster on many columns. If it fails, simplex decides.
    for method in ("highs-ipm", "highs-ds"):
        options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        found = linprog(np.ones(len(used)), A_ub=A_used, b_ub=-b, method=method, options=options)
        if found.status == 0:
            w = np.zeros(A.shape[1])
            w[used] = np.maximum(found.x, 0.0)
            return w
        if found.status == 2:
            return None
    return None


class BoundSearch:
    """A search for the x at which an agnostic bound is least.

    After each trial at x, call `move` with the tilt, which grows with x and is 0 where the bound is least; the least
    bound and the greatest floor so far; and an estimate of the root, or NaN to use the secant.
    """

    def __init__(self, x: float, least: float = -math.inf) -> None:
        self.x, self.least = x, least
        self.done = False
        self._trials, self._below, self._above, self._last = 0, least, math.inf, (math.nan, math.nan)

    def move(self, tilt: float, bound: float, floor: float, after: float = math.nan) -> None:
        """Move x, or set `done` if the bound is near its floor or the trials are used up."""
        x, least, self._trials = self.x, self.least, self._trials + 1
        self.done = bound <= (1 + TOLERANCE) * floor or (x <= least and tilt >= 0) or self._trials == TRIALS
        below, above = (x, self._above) if tilt < 0 else (self._below, x)
        if above - below < 1e-3:  # trials are not exact, so a sign may have been wrong
            below, above = max(least, below - 0.02), above + 0.02
        if not below < after < above:
            last, last_tilt = self._last
            slope = (tilt - last_tilt) / (x - last) if x != last else math.nan
            step = -tilt / slope if slope > 0 else -math.copysign(1.0, tilt)
            # Step beyond the root while it is not enclosed.
            after = x + min(max(step * (1.2 if math.isinf(above) or below == least else 1.0), -2.0), 2.0)
        if not below < after < above:
            after = least if below == least else (below + above) / 2
        self._below, self._above, self._last, self.x = below, above, (x, tilt), after


def trial_gap(bound: float, floor: float) -> float:
    """Return the duality gap that a trial may leave: larger while the bound is far from its floor."""
    return max(TOLERANCE / 4, min(0.05, 0.1 * (bound / floor - 1) if floor > 0 else 0.05))


def minimise(loss: Loss, a: Array, upper: Array | float, iterations: int, pairs: Pairs) -> tuple[Array, float]:
    """Return a point of ``0 <= a <= upper`` with a lower loss than the given one, and its loss.

    ``pairs`` is an empty deque, or the one of an earlier call with the same loss. The limits may be infinite.

    Examples
    --------
    >>> target = np.array([0.3, 2.0, -1.0])
    >>> a, value = minimise(lambda a: (float(np.sum((a - target) ** 2)) / 2, a - target), np.zeros(3), 1.0, 50, deque())
    >>> [round(float(x), 6) for x in a]
    [0.3, 1.0, 0.0]
    """
    value, gradient = loss(a)
    for _ in range(iterations):
        fixed = ((a <= 0) & (gradient > 0)) | ((a >= upper) & (gradient < 0))
        downhill = np.where(fixed, 0.0, -gradient)
        if not downhill.any():
            break
        d = _direction(downhill, fixed, pairs)
        if _dot(d, gradient) >= 0:
            pairs.clear()
            d = downhill
        found = _step(loss, a, d, (value, gradient), upper, 1.0 if pairs else _first_step(d, upper))
        if found is None:
            if not pairs:
                break
            pairs.clear()  # the estimated curvature was wrong: start again
            continue
        new, new_value, new_gradient = found
        s, y = new - a, new_gradient - gradient
        if _dot(s, y) > LEAST_CURVATURE * _dot(y, y):
            pairs.append((s, y))
            if len(pairs) > MEMORY:
                pairs.popleft()
        settled = value - new_value <= LEAST_DECREASE * max(abs(value), abs(new_value))
        a, value, gradient = new, new_value, new_gradient
        if settled:
            break
    return a, value


def _direction(downhill: Array, fixed: NDArray[np.bool_], pairs: Pairs) -> Array:
    """Return the quasi-Newton direction of the free variables (Nocedal's two loops)."""
    d, used = downhill, []
    for s, y in reversed(pairs):
        s_free, y_free = np.where(fixed, 0.0, s), np.where(fixed, 0.0, y)
        curvature = _dot(s_free, y_free)
        if curvature > LEAST_CURVATURE * _dot(y_free, y_free):
            share = _dot(s_free, d) / curvature
            d = d - share * y_free
            used.append((s_free, y_free, curvature, share))
    if used:
        _, y_free, curvature, _ = used[0]
        d = d * (curvature / _dot(y_free, y_free))
    for s_free, y_free, curvature, share in reversed(used):
        d = d + s_free * (share - _dot(y_free, d) / curvature)
    return d


def _first_step(d: Array, upper: Array | float) -> float:
    """Return the first step length while the curvature is unknown: across the box, or one unit."""
    widest = float(np.max(upper))
    return widest / float(np.abs(d).max()) if np.isfinite(widest) else 1.0 / float(np.sqrt(_dot(d, d)))


def _step(
    loss: Loss, a: Array, d: Array, here: tuple[float, Array], upper: Array | float, t: float
) -> tuple[Array, float, Array] | None:
    """Return a point along d, clipped to the box, at which the loss is sufficiently lower; None if there is none."""
    value, gradient = here
    for _ in range(40):
        new = np.clip(a + t * d, 0.0, upper)
        new_value, new_gradient = loss(new)
        if new_value <= value + SUFFICIENT * _dot(gradient, new - a) and new_value < value:
            return new, new_value, new_gradient
        t /= 3
    return None


def _dot(a: Array, b: Array) -> float:
    return float(np.sum(a * b))
