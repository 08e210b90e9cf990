"""The comparator of the multiclass Perceptron: a weight vector for each class, with the greatest margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from mistakebound.hindsight.pnorm import max_l2_margin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mistakebound.hindsight.dual import Array

SMALL = 1_000_000
"""Largest number of non-zeros of the pairs (round, other class) that are solved at once, or added in one step."""
ROUNDS = 12
NEAR = 0.98
"""The search ends when the margin over all pairs is at least this share of the margin over the pairs in use."""


def max_class_margin(X: csr_matrix, y: NDArray[np.int64], classes: int) -> Array | None:
    """Return U, a row for each class, with ``|U|_F = 1`` and a great margin; None if none was found that separates.

    The margin is the smallest ``u_y @ x - max over r != y of u_r @ x``.

    Parameters
    ----------
    X, y : CSR matrix and array
        The rounds, and their class ids.
    classes : int
        Number of classes.

    Examples
    --------
    >>> U = max_class_margin(csr_matrix([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 1]), 2)
    >>> U.round(3).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]

    Notes
    -----
    For each round and each class r other than y, the difference of x at the place of y and x at the place of r is an
    example of a Perceptron with two labels (Kesler's construction). Of many such pairs, only those with a small margin
    matter: the search begins with some of them, and adds those that are violated most.

    """
    rows = X.shape[0]
    if classes < 2 or not rows:
        return None
    if 2 * X.nnz * (classes - 1) <= SMALL:
        pairs = np.array([(t, r) for t in range(rows) for r in range(classes) if r != y[t]])
        return _solved(X, y, classes, pairs)
    at_once = max(1, int(SMALL / (2 * X.nnz / rows)))
    first = np.unique(np.linspace(0, rows - 1, at_once).astype(np.int64))
    U = _means(X, y, classes)
    pairs = np.column_stack([first, rivals(X[first] @ U.T, y[first])[1]])
    best, best_margin = None, 0.0
    for _ in range(ROUNDS):
        found = _solved(X, y, classes, pairs)
        if found is None:
            break
        margins, other = rivals(X @ found.T, y)
        if float(margins.min()) > best_margin:
            best, best_margin = found, float(margins.min())
        least = NEAR * float((_differences(X, y, classes, pairs) @ found.ravel()).min())
        worst = np.argsort(margins, kind="stable")[:at_once]
        worst = worst[margins[worst] < least]
        if not len(worst):
            break
        pairs = np.unique(np.concatenate([pairs, np.column_stack([worst, other[worst]])]), axis=0)
    return best


def rivals(scores: Array, y: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """Return the score of each label minus the largest other score, and the class that has it.

    >>> rivals(np.array([[3.0, 1.0, 2.0]]), np.array([0]))
    (array([1.]), array([2]))
    """
    rounds = np.arange(len(y))
    others = scores.copy()
    others[rounds, y] = -np.inf
    rival = others.argmax(axis=1)
    return np.asarray(scores[rounds, y] - others[rounds, rival]), rival


def _means(X: csr_matrix, y: NDArray[np.int64], classes: int) -> Array:
    """Return the mean example of each class."""
    members = csr_matrix((np.ones(len(y)), (y, np.arange(len(y)))), shape=(classes, len(y)))
    count = np.maximum(np.bincount(y, minlength=classes), 1)
    return np.asarray((members @ X).toarray() / count[:, None])


def _differences(X: csr_matrix, y: NDArray[np.int64], classes: int, pairs: NDArray[np.int64]) -> csr_matrix:
    """Return a row for each pair (round, class): x at the place of the label, and −x at that of the class."""
    n, chosen = X.shape[1], X[pairs[:, 0]]
    nonzeros = np.diff(chosen.indptr)
    columns, row = chosen.indices.astype(np.int64), np.repeat(np.arange(len(pairs)), nonzeros)
    of_label, of_rival = np.repeat(y[pairs[:, 0]], nonzeros), np.repeat(pairs[:, 1], nonzeros)
    places = np.concatenate([columns + of_label * n, columns + of_rival * n])
    values = np.concatenate([chosen.data, -chosen.data])
    return csr_matrix((values, (np.concatenate([row, row]), places)), shape=(len(pairs), classes * n))


def _solved(X: csr_matrix, y: NDArray[np.int64], classes: int, pairs: NDArray[np.int64]) -> Array | None:
    u = max_l2_margin(_differences(X, y, classes, pairs), np.ones(len(pairs)))
    return None if u is None else u.reshape(classes, -1)
