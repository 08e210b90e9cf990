"""Search in hindsight for comparators of the passive-aggressive rules: least norm and hinge loss together.

The bound of a passive-aggressive rule is a constant times ``|u|^2 + 2c sum loss``, which is convex in u. It is the
objective of a support vector machine. The dual problem is solved once. Any comparator gives a valid bound.

See docs/theory.md, "The least agnostic bound".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mistakebound.hindsight.dual import Array, Rows, ascend, pnorm_potential, rescale, row_weights, sample
from mistakebound.hindsight.pnorm import LARGE

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

GAP, CHUNKS, HALVINGS = 1e-3, 20, 60


def least_hinge(X: csr_matrix, y: Array, c: float, *, squared: bool, weight: float | Array = 1.0) -> Array:
    """Return u with the least ``|u|^2 + 2c sum weight loss``, ``loss = max(0, 1 - y u @ x)``, squared if ``squared``.

    Parameters
    ----------
    X, y : CSR matrix and array
        The rounds, and their labels -1 or +1.
    c : float
        Aggressiveness of the rule.
    squared : bool
        Whether losses are squared, as in the bound of PA-II.
    weight : float or array
        How many rounds each row stands for.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> X, y = csr_matrix([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    >>> least_hinge(X, y, c=2.0, squared=False).round(6).tolist()
    [1.0, -1.0]
    >>> least_hinge(X, y, c=0.5, squared=True).round(6).tolist()
    [0.5, -0.5]

    """
    X, y, omega = sample(X, y, row_weights(weight, len(y)), LARGE)
    rows = Rows.signed(X, y)
    if not np.any(rows.rows.data):
        return np.zeros(X.shape[1])
    phi, a = pnorm_potential(2.0), c * omega
    if squared:
        ridge = 0.5 / a
        a = ascend(rows, phi, rescale(rows, phi, a, ridge=ridge), ridge=ridge, chunks=CHUNKS, gap=GAP)
    else:
        a = ascend(rows, phi, np.minimum(a, rescale(rows, phi, a)), upper=a, chunks=CHUNKS, gap=GAP)
    return rows.spread(rows.columns @ a)


def best_length(margins: Array, norm: float, c: float, *, squared: bool, times: float | Array = 1.0) -> float:
    """Return the factor s >= 0 at which s·u has the least ``|s u|^2 + 2c sum times loss``.

    ``margins`` are the ``y u @ x``. The derivative rises with s, so that its root is found by bisection.

    >>> best_length(np.array([2.0, 2.0]), 1.0, 10.0, squared=False)
    0.5
    """
    if norm == 0 or not len(margins):
        return 0.0

    def slope(s: float) -> float:
        short = 1 - s * margins
        lost = 2 * np.maximum(0.0, short) if squared else short > 0
        return s * norm**2 - c * float(np.sum(times * lost * margins))

    low, high = 0.0, math.sqrt(2 * c * float(np.sum(np.broadcast_to(times, margins.shape)))) / norm
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return high
