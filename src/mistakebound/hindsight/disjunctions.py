"""Search in hindsight for comparators of Winnow and Elimination: disjunctions, and weights that separate binary rows.

`X` is a CSR matrix of float64 with a row for each round, without duplicate entries, and `positive` is true for the rows
with the positive label. Any comparator gives a valid bound; a better one gives a smaller bound.

See docs/theory.md, "Disjunctions and separating weights".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from mistakebound._support.arguments import require
from mistakebound.hindsight.dual import Array, Rows, lightest_weights

Mask = NDArray[np.bool_]


def separating_weights(X: csr_matrix, positive: Mask, delta: float) -> Array | None:
    """Return the ``mu >= 0`` of least sum with ``mu @ x >= 1`` on positive rows and ``<= 1 - delta`` on the others.

    They are the weights of `bounds.littlestone_separable`, and satisfy the conditions within 1e-9. If the linear
    programme would need too many rows, they are those of `smallest_disjunction`. None if none are found.

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
    require(0 < delta <= 1, f"delta must be above 0 and at most 1, got {delta!r}")
    mu = np.zeros(X.shape[1])
    if not np.any(positive):
        return mu
    useful = np.unique(X[np.flatnonzero(positive)].indices)  # weight on other features could only violate conditions
    A, b = Rows.signed(X[:, useful], np.where(positive, 1.0, -1.0)).rows, np.where(positive, 1.0, delta - 1)
    found, final = lightest_weights(A, b)
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
    """Return few features whose OR is true on every positive row and on no other row; None if there are none.

    The search is greedy: it takes the feature that covers most of the uncovered positive rows until all are covered,
    then drops features that are not needed. The smallest set is hard to find; this one is at most 1 + ln(rows) times
    larger.

    Parameters
    ----------
    X, positive : CSR matrix and mask
        The rounds, and which of them are positive. A feature is true where x is not 0.

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
        if gain[best] == 1:  # no feature covers two of the rows left, so take any feature of each
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
    """Return the mask of those of n features that are true on no negative row; None if no OR is consistent.

    Every consistent OR consists of such features, and the OR of all of them is consistent. Their number is the r of
    `elimination`.

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
    """Return X without stored zeros."""
    if np.all(X.data):
        return X
    X = X.copy()
    X.eliminate_zeros()
    return X
