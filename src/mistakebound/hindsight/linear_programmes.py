"""Non-negative weights of least sum under many linear constraints, by linear programmes on few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix, hstack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mistakebound.hindsight.dual import Array

LP_START, LP_LIMIT = 300, 1200  # rows of a linear programme; past the limit each takes many seconds
LP_NONZEROS = 40_000  # and non-zeros


def lightest_weights(
    A: csr_matrix, b: Array, hardest: NDArray[np.intp] | None = None, *, nonnegative: bool = True
) -> tuple[Array | None, bool]:
    """Return w with ``A w >= b`` and the least sum of ``|w|``, and whether it is final.

    Solved for few rows; then the worst of those that fall short are added, and so on until none does. None if no w
    obeys the rows. Not final if more rows would be needed than a linear programme can take.

    Parameters
    ----------
    A, b : CSR matrix and array
        The constraints.
    hardest : array, optional
        Rows in the order in which they are worth a place among the first; otherwise they are spread evenly.
    nonnegative : bool
        Whether ``w >= 0``; otherwise it has either sign.

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
    from scipy.optimize import linprog  # noqa: PLC0415 - it loads slowly, and most searches need none

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
