"""Comparators of Winnow and Elimination found in hindsight: disjunctions, and weights that separate binary rows.

`X` is a CSR matrix of float64 whose rows are the rounds, duplicates summed, and `positive` says which of them have the
positive label. Any comparator makes a bound valid; a better one makes it smaller.

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
