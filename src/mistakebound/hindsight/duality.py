"""The dual problem behind every comparator: weights on rounds instead of weights on features.

A rule keeps ``z``, the sum of ``y x`` over its mistakes, and predicts with ``w = grad phi(z)``. Give each
round t a weight ``a_t`` of its own, and the best comparator has the same form: it is ``grad phi`` of
``sum a_t y_t x_t`` at the maximum of

    ``gamma sum a - phi(sum a_t y_t x_t) - sum ridge_t a_t^2 / 2``,  ``0 <= a_t <= upper_t``,

a smooth concave problem with one variable per kept round, however many features there are. Any ``a`` yields a
comparator and, by weak duality, a limit on how much better another one could be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from mistakebound.hindsight.lbfgs import Array, Pairs, minimise

if TYPE_CHECKING:
    from numpy.typing import NDArray

Potential = Callable[[Array], tuple[float, Array]]  # phi and its gradient, both at once


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
        require(X.shape[0] == len(y), "y must have one label for each row of X")
        data = X.data * np.repeat(np.asarray(y, dtype=np.float64), np.diff(X.indptr))
        occurring, indices = np.unique(X.indices, return_inverse=True)
        rows = csr_matrix((data, indices, X.indptr), shape=(X.shape[0], len(occurring)))
        return cls(rows, rows.T.tocsr(), occurring, X.shape[1])

    def spread(self, u: Array) -> Array:
        """Return u with zeros for the columns that were dropped."""
        dense = np.zeros(self.n)
        dense[self.occurring] = u
        return dense


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

    Runs `chunks` of 50 iterations, fewer if the duality gap, as a part of the maximum, falls to `gap` before;
    for that either upper or ridge must be given.
    """

    def loss(a: Array) -> tuple[float, Array]:
        value, u = phi(rows.columns @ a)
        return value + float(np.sum(a * (ridge * a / 2 - gamma))), rows.rows @ u + (ridge * a - gamma)

    pairs: Pairs = deque()
    a = np.clip(a, 0.0, upper)
    for chunk in range(chunks):
        a, least = minimise(loss, a, upper, 50, pairs)
        if chunk + 1 < chunks:
            d = gamma - rows.rows @ phi(rows.columns @ a)[1]  # what y u @ x falls short of gamma
            primal = np.maximum(d, 0.0) * (np.maximum(d, 0.0) / (2 * ridge) if np.any(ridge) else upper)
            if np.sum(primal - a * d + ridge * a * a / 2) <= gap * abs(least):
                break
    return a


def rescale(rows: Rows, phi: Potential, a: Array, *, ridge: Array | float = 0.0) -> Array:
    """Return the multiple of `a` that is best to start from, where phi is a squared norm."""
    curvature = 2 * phi(rows.columns @ a)[0] + float(np.sum(ridge * a * a))
    return a * (float(a.sum()) / curvature) if curvature > 0 else a


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
        counts = np.flatnonzero(size >= 1e-18 ** (1 / (p - 1)))  # powers of smaller ones vanish in rounding
        power = size[counts] ** (p - 1)
        total = float(np.sum(power * size[counts]))
        gradient = np.zeros_like(v)
        gradient[counts] = np.copysign(power * (largest * total ** (2 / p - 1) / scale), v[counts])
        return largest**2 * total ** (2 / p) / (2 * scale), gradient

    return phi


def require(holds: bool, message: str) -> None:  # noqa: FBT001
    """Raise ``ValueError`` unless it holds; ask for what must hold, so that NaN fails."""
    if not holds:
        raise ValueError(message)
