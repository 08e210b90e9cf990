"""Comparators found in hindsight that separate the kept rounds, by a margin or as a disjunction.

`X` is a CSR matrix of float64 whose rows are the rounds that updated, duplicates summed; `y` holds their
labels, -1 or +1, and `positive` says the same as a mask. There is no intercept. Any comparator makes a bound
valid; a better one makes it smaller. For streams that nothing separates see `agnostic`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack

from mistakebound.hindsight.duality import Rows, ascend, pnorm_potential, require, rescale

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound.hindsight.lbfgs import Array

Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]

TINY = 1e-7  # a margin below this part of the longest row counts as none: its bound would be above 10^14
CHUNKS = 20  # of 50 iterations each
WORK = 500_000_000  # visits of non-zeros that a search for a margin may take: about a second
LP_START, LP_LIMIT = 300, 1200  # rows of a linear programme; past the limit each takes many seconds
LP_NONZEROS = 40_000  # and non-zeros


def max_l2_margin(X: csr_matrix, y: Array) -> Array | None:
    """Return u with ``|u|_2 = 1`` and the greatest margin ``min y u @ x``; None if nothing separates.

    Its direction is that of the point of the convex hull of the ``y x`` that is nearest to 0.

    Parameters
    ----------
    X, y : CSR matrix and array
        The rounds, and their labels -1 or +1.

    Examples
    --------
    >>> u = max_l2_margin(csr_matrix([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0]))
    >>> [round(float(x), 6) for x in u]
    [0.707107, -0.707107]
    >>> max_l2_margin(csr_matrix([[1.0], [1.0]]), np.array([1.0, -1.0])) is None
    True

    """
    return max_pnorm_margin(X, y, 2.0)


def max_pnorm_margin(X: csr_matrix, y: Array, p: float) -> Array | None:
    """Return u with ``|u|_q = 1``, 1/p + 1/q = 1, and the greatest margin; None if nothing separates.

    Parameters
    ----------
    X, y : CSR matrix and array
        The rounds, and their labels -1 or +1.
    p : float
        At least 2; the rows are measured in the p-norm, u in the dual one.

    Examples
    --------
    >>> u = max_pnorm_margin(csr_matrix([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0]), 4.0)
    >>> bool(abs(np.sum(np.abs(u) ** (4 / 3)) - 1) < 1e-9)
    True

    """
    rows = Rows.signed(X, y)
    found = _nearest(rows, p=p, nonnegative=False, gap=1e-8, chunks=CHUNKS)
    if found is None or _margin(rows, found[0]) <= 0:
        return None
    size = np.abs(found[0]) / np.abs(found[0]).max()
    norm = np.abs(found[0]).max() * np.sum(size ** (p / (p - 1))) ** (1 - 1 / p)
    return rows.spread(found[0] / norm)


def max_l1_margin(X: csr_matrix, y: Array, *, nonnegative: bool) -> Array | None:
    """Return u with ``|u|_1 = 1`` and the greatest margin ``min y u @ x``; None if nothing separates.

    Solved as a linear programme on few rows, then with those that its solution violates. Where that would
    need too many rows, u is only near the best: it is then best for a q-norm with q slightly above 1.

    Parameters
    ----------
    X, y : CSR matrix and array
        The rounds, and their labels -1 or +1.
    nonnegative : bool
        Whether ``u >= 0``, as NormalizedWinnow wants; BalancedWinnow takes either sign.

    Examples
    --------
    >>> X = csr_matrix([[1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]])
    >>> [round(float(x), 6) for x in max_l1_margin(X, np.ones(3), nonnegative=True)]
    [0.333333, 0.333333, 0.333333]

    """
    rows = Rows.signed(X, y)
    found = _nearest(rows, nonnegative=nonnegative, gap=0.01, chunks=CHUNKS // 2)
    if found is None:
        return None
    u, a = found
    best = u / np.abs(u).sum()

    def lightest(chosen: Indices) -> Array | None:
        A = rows.rows[chosen]
        w = _minimal(A if nonnegative else hstack([A, -A], format="csr"), np.ones(len(chosen)))
        return w if w is None or nonnegative else w[: A.shape[1]] - w[A.shape[1] :]

    # Rounds with a great weight a are the hard ones: start from those.
    hard = np.argsort(-a, kind="stable")[:LP_START]
    w, final = _row_by_row(lightest, lambda w: 1 - rows.rows @ w, hard, _lp_limit(rows.rows))
    if w is not None:
        best = max(best, w / np.abs(w).sum(), key=lambda u: _margin(rows, u))
    for p in () if final else (4.0, 8.0, 16.0):
        found = _nearest(rows, a, p=p, nonnegative=nonnegative, gap=0.05, chunks=CHUNKS // 4)
        if found is None or _margin(rows, found[0] / np.abs(found[0]).sum()) <= _margin(rows, best):
            break  # as p grows the maximum comes nearer to that of the 1-norm, but is harder to reach
        best, a = found[0] / np.abs(found[0]).sum(), found[1]
    return rows.spread(best) if _margin(rows, best) > 0 else None


def separating_weights(X: csr_matrix, positive: Mask, delta: float) -> Array | None:
    """Return the lightest ``mu >= 0`` with ``mu @ x >= 1`` on positive rows, ``<= 1 - delta`` on the others.

    They are the weights of `bounds.littlestone_separable`, and obey within 1e-9. Where the linear programme
    would need too many rows, they are those of `smallest_disjunction`. None if none are found.

    Parameters
    ----------
    X, positive : CSR matrix and mask
        The rounds with x in {0, 1}, and which of them are positive.
    delta : float
        Above 0, at most 1.

    Examples
    --------
    >>> X = csr_matrix([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> [float(x) for x in separating_weights(X, np.array([True, True, False]), delta=0.5)]
    [0.0, 1.0, 0.0]

    """
    require(0 < delta <= 1, "delta must be above 0 and at most 1")
    mu = np.zeros(X.shape[1])
    if not np.any(positive):
        return mu
    useful = np.unique(X[np.flatnonzero(positive)].indices)  # weight elsewhere could only do harm
    A, b = Rows.signed(X[:, useful], np.where(positive, 1.0, -1.0)).rows, np.where(positive, 1.0, delta - 1)
    found, final = _row_by_row(
        lambda chosen: _minimal(A[chosen], b[chosen]),
        lambda found: b - A @ found,
        np.unique(np.linspace(0, len(b) - 1, LP_START).astype(np.intp)),
        _lp_limit(A),
    )
    if final:
        if found is None:
            return None
        mu[useful] = found
        return mu
    disjunction = smallest_disjunction(X, positive)
    if disjunction is None:
        return None
    mu[list(disjunction)] = 1.0
    return mu


def smallest_disjunction(X: csr_matrix, positive: Mask) -> tuple[int, ...] | None:
    """Return few features whose OR is true on every positive row and on no other; None if there are none.

    Greedy: take the feature that covers most of the positive rows not yet covered, and so on; at the end drop
    those that became superfluous. The smallest is hard to find: this has at most 1 + ln(rows) times as many.

    Parameters
    ----------
    X, positive : CSR matrix and mask
        The rounds, a feature is true where x is not 0, and which of them are positive.

    Examples
    --------
    >>> X = csr_matrix([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    >>> smallest_disjunction(X, np.array([True, True, False]))
    (1,)

    """
    free = largest_disjunction(X, positive, X.shape[1])
    if free is None:
        return None
    kept = np.flatnonzero(free)
    rows = _true(X[np.flatnonzero(positive)][:, kept])
    columns = rows.tocsc()
    gain = np.diff(columns.indptr)
    left = np.ones(rows.shape[0], dtype=np.bool_)
    picked: list[int] = []
    while left.any():
        best = int(np.argmax(gain))
        if gain[best] == 1:  # then each row left needs a feature of its own, and any that it has will do
            picked.extend(int(j) for j in rows.indices[rows.indptr[np.flatnonzero(left)]])
            break
        now = columns.indices[columns.indptr[best] : columns.indptr[best + 1]]
        np.subtract.at(gain, rows[now[left[now]]].indices, 1)
        left[now] = False
        picked.append(best)
    times = np.bincount(columns[:, picked].indices, minlength=rows.shape[0])
    needed = []
    for j in picked:
        now = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
        if np.all(times[now] > 1):
            times[now] -= 1
        else:
            needed.append(int(kept[j]))
    return tuple(sorted(needed))


def largest_disjunction(X: csr_matrix, positive: Mask, n: int) -> Mask | None:
    """Return the mask, over n features, of those true on no negative row; None if no OR is consistent.

    A consistent OR has no other features, and some has all of these: their number is the r of `elimination`.

    Examples
    --------
    >>> X = csr_matrix([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    >>> largest_disjunction(X, np.array([True, True, False]), n=4).tolist()
    [False, True, False, True]

    """
    X = _true(X)
    mask = np.ones(n, dtype=np.bool_)
    mask[X[np.flatnonzero(~positive)].indices] = False
    hits = mask[X.indices].astype(np.float64)
    covered = csr_matrix((hits, X.indices, X.indptr), shape=X.shape) @ np.ones(X.shape[1]) > 0
    return mask if np.all(covered[positive]) else None


def _true(X: csr_matrix) -> csr_matrix:
    """Return X without zeros that are stored."""
    if np.all(X.data):
        return X
    X = X.copy()
    X.eliminate_zeros()
    return X


def _margin(rows: Rows, u: Array) -> float:
    return float((rows.rows @ u).min())


def _nearest(
    rows: Rows, a: Array | None = None, *, p: float = 2.0, nonnegative: bool, gap: float, chunks: int
) -> tuple[Array, Array] | None:
    """Return u of greatest margin in the q-norm, not normalised, and the weights a of the rows, from which it came.

    None if nothing separates. By duality no margin exceeds ``|sum a y x|_p / sum a``, whatever ``a >= 0``: so
    one sees when to stop.
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
        if _margin(rows, u) / norm > margin:
            best, margin = (u, a), _margin(rows, u) / norm
        if margin >= (1 - gap) * ceiling or (margin, ceiling) == before:
            break
    return best


def _lp_limit(A: csr_matrix) -> int:
    """How many rows a linear programme may have."""
    return int(min(LP_LIMIT, LP_NONZEROS * A.shape[0] // max(A.nnz, 1)))


def _row_by_row(
    solve: Callable[[Indices], Array | None],
    shortfall: Callable[[Array], Array],
    chosen: Indices,
    limit: int = LP_LIMIT,
) -> tuple[Array | None, bool]:
    """Solve for the chosen rows, choose the worst of those that fall short too, and so on until none does.

    Return the last solution, None if there was none, and whether it is final.
    """
    solution = None
    while len(chosen) <= limit:
        solution = solve(chosen)
        if solution is None:
            return None, True
        short = shortfall(solution)
        short[chosen] = 0.0
        late = np.flatnonzero(short > 1e-9)
        if not late.size:
            return solution, True
        chosen = np.append(chosen, late[np.argsort(-short[late], kind="stable")[: len(chosen)]])
    return solution, False


def _minimal(A: csr_matrix, b: Array) -> Array | None:
    """Return ``w >= 0`` of least sum with ``A w >= b``, or None."""
    used, indices = np.unique(A.indices, return_inverse=True)
    A_used = csr_matrix((-A.data, indices, A.indptr), shape=(A.shape[0], len(used)))
    if not len(used):
        return np.zeros(A.shape[1]) if np.all(b <= 0) else None
    # Interior points win on many columns by far; if it cannot decide, simplex does.
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
