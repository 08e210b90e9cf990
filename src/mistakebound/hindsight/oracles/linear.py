"""The best linear combination of experts: weights of any sign and sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import StreamError
from mistakebound.hindsight.oracles import programmes
from mistakebound.hindsight.oracles.base import Oracle, checked_forecasts
from mistakebound.losses import Square

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from mistakebound._support.arrays import FloatArray
    from mistakebound.losses import LossLike


def best_linear(A: Any, y: ArrayLike | None = None, loss: LossLike = "square") -> Oracle:
    """Return the best weights, of any sign and sum, fixed for all rounds; of several the shortest for square loss.

    Square loss: least squares; absolute, pinball and percentage loss: a linear programme. Where experts sleep, only
    the rounds in which all are awake count: ``rounds`` tells how many. Another loss raises ValueError.

    Parameters
    ----------
    A, y, loss
        As for `best_expert`.

    Examples
    --------
    >>> best = best_linear([[1.0, 1.0], [2.0, 2.0]], [3.0, 6.0])
    >>> best.weights.round(6).tolist(), bool(best.total < 1e-24)
    ([1.5, 1.5], True)
    """
    given = checked_forecasts(A, y, loss)
    name = "best linear combination"
    full = np.asarray(given.awake.all(axis=1))
    if not full.any():
        message = "in no round are all experts awake"
        raise StreamError(message)
    if not full.all():
        given = given.in_rounds(full)
        name += ", over the rounds in which all experts are awake"
    rows, target, rounds = given.rows, given.outcomes.ravel(), len(given.outcomes)
    slopes = given.two_slopes()
    if slopes is not None:
        below, above, factor = slopes
        rows, target = rows * factor[:, None], target * factor
    elif not isinstance(given.loss, Square):
        message = f"{name} is known for square, absolute, pinball and percentage loss, not for {given.loss.name}"
        raise ValueError(message)
    Q, back = _basis(rows)
    z = Q.T @ target
    rest = target - Q @ z
    if slopes is None:
        w = back(z + Q.T @ rest)  # once more: what rounding left
        total = given.total(w)
        gap = float(np.sum(np.square(Q.T @ (rows @ w - target))))  # what a step inside the span could still gain
    else:
        more, least = programmes.best_unconstrained(Q, rest, below, above)
        w = back(z + more)
        total = given.total(w)
        gap = max(total - least, 0.0)
    return Oracle(name, total, total / rounds, rounds, w, gap=gap, names=given.names)


def _basis(rows: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return an orthonormal basis Q of the columns' span, and what makes the shortest w of ``rows w = Q z`` from z."""
    largest = np.abs(rows).max(axis=0)
    largest[largest == 0] = 1.0
    sizes = largest * np.linalg.norm(rows / largest, axis=0)  # squares of what is large would overflow
    sizes[sizes == 0] = 1.0  # rank must not depend on the units that an expert forecasts in
    U, s, Vt = np.linalg.svd(rows / sizes, full_matrices=False)
    rank = int(np.sum(s > s[0] * max(rows.shape) * np.finfo(np.float64).eps))

    def back(z: FloatArray) -> FloatArray:
        w = Vt[:rank].T @ (z / s[:rank]) / sizes
        if rank < rows.shape[1]:  # the shortest lies in the span of the rounds, of which there may be far fewer
            span = np.linalg.qr(Vt[:rank].T * (sizes / sizes.max())[:, None])[0]
            w = span @ (span.T @ w)
        return np.asarray(w)

    return U[:, :rank], back
