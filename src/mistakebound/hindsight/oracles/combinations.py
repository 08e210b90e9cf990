"""The best fixed combination of experts: convex, or linear with weights of any sign and sum.

Over the simplex, ``w ≥ 0, Σ w = 1``, a forecast ``Σ w_i a_i`` differs from the outcome y by ``Σ w_i (a_i − y)``.
Solvers therefore take the errors ``E = A − y``: nothing cancels, however far from 0 the outcomes are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import StreamError
from mistakebound.hindsight.oracles import solvers
from mistakebound.hindsight.oracles.base import CheckedForecasts, Oracle, checked_forecasts
from mistakebound.losses import Log, Square

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.losses import LossLike

NEWTON_STEPS = 100
CYCLES_PER_EXPERT = 20
"""Limit of the steps of Wolfe's algorithm; a handful is usual."""
SMALLEST_GAIN = 1e-13
"""Gain per round, in nats, at which Newton's method stops."""
ROUNDING = 1e-14
"""Relative to the largest weight: smaller weights cannot be distinguished from rounding."""


def best_convex(A: Any, y: ArrayLike | None = None, loss: LossLike = "square") -> Oracle:
    """Return the best weights ``w ≥ 0, Σ w = 1``, fixed for all rounds.

    The square loss uses an active-set method; absolute, pinball and percentage loss a linear programme; the log loss
    Newton's method; a custom loss sequential quadratic programming. The gap is computed from the solution.

    If experts sleep, the weights of the awake experts are scaled in each round to sum to 1, as in R's opera. The loss
    is then not convex in w. The best of several local optima is returned. Its gap is the difference to the
    smallest loss with weights that are chosen for each round separately, so it may be large.

    See docs/theory.md, "The best combination and the best sequence".

    Parameters
    ----------
    A, y, loss
        As for `best_expert`. The loss must be convex.

    Examples
    --------
    >>> best = best_convex([[0.0, 4.0], [4.0, 0.0], [0.0, 4.0]], [1, 2, 1])
    >>> best.weights.round(6).tolist(), round(best.total, 6)
    ([0.666667, 0.333333], 0.666667)
    """
    given = checked_forecasts(A, y, loss)
    if not given.loss.convex:
        message = f"the loss must be convex, got the {given.loss.name}: only the best expert can be found"
        raise ValueError(message)
    if not given.awake.all():
        errors = np.where(np.isnan(given.forecasts), 0.0, given.forecasts - given.outcomes[:, None])
        start = nearest_to_zero(np.moveaxis(errors, 1, -1).reshape(-1, errors.shape[1]))
        return solvers.renormalised(given, start)
    E, rounds = given.errors, len(given.outcomes)
    slopes = given.two_slopes()
    name = "best convex combination"
    if slopes is not None:
        below, above, factor = slopes
        w, least = solvers.best_on_simplex(E * factor[:, None], below, above)
        total = solvers.lost(factor * (E @ w), below, above)
        return Oracle(name, total, total / rounds, rounds, w, gap=max(total - least, 0.0), names=given.names)
    if isinstance(given.loss, Log):
        w, total, gap = _best_by_log_loss(_given_to_outcomes(given))
        return Oracle(name, total, total / rounds, rounds, w, gap=gap, names=given.names)
    if isinstance(given.loss, Square):
        w = nearest_to_zero(E)
        r = E @ w  # not A w − y, which would lose the bits of small errors if outcomes are large
        total, pull = float(r @ r), 2 * (E.T @ r)
    else:
        w = _descend(given, E)
        combined = _combined(given, w)
        total, pull = given.loss_of(combined), E.T @ given.slopes(combined)
    # By convexity, the loss of any w' is at least total + pull @ (w' − w), and pull @ w' ≥ min(pull).
    return Oracle(name, total, total / rounds, rounds, w, gap=max(float(w @ pull - pull.min()), 0.0), names=given.names)


def _combined(given: CheckedForecasts, w: FloatArray) -> FloatArray:
    """Return the forecasts of the combination, clipped to the range of the experts' because of rounding."""
    A = given.forecasts
    return np.asarray(np.clip(np.einsum("tn...,n->t...", A, w), A.min(axis=1), A.max(axis=1)))


def _given_to_outcomes(given: CheckedForecasts) -> FloatArray:
    """Return the probabilities that the experts gave to the outcomes, a row for each outcome that is 1."""
    if given.forecasts.ndim == 3:
        return np.asarray(given.rows[given.outcomes.ravel() == 1])
    return np.where(given.outcomes[:, None] == 1, given.forecasts, 1 - given.forecasts)


def _best_by_log_loss(P: FloatArray) -> tuple[FloatArray, float, float]:
    """Return weights, log loss and gap. Rows are scaled, so very small probabilities do not underflow."""
    top = P.max(axis=1, keepdims=True, initial=0.0)
    if not top.all():  # in some round all experts gave the outcome probability 0
        return np.full(P.shape[1], 1 / P.shape[1]), np.inf, 0.0
    P = P / top
    w = maximum_likelihood(P)
    q = P @ w
    total = max(0.0, -float(np.sum(np.log(top[:, 0]) + np.log(q))))
    return w, total, max(0.0, float((P.T @ (1 / q)).max()) - len(q))  # by convexity


def _descend(given: CheckedForecasts, E: FloatArray) -> FloatArray:
    """Return the best weights for a custom loss that is convex."""
    n = E.shape[1]

    def objective(w: FloatArray) -> tuple[float, FloatArray]:
        combined = _combined(given, w)
        return given.loss_of(combined), E.T @ given.slopes(combined)

    corners = given.losses.sum(axis=0)
    corner = (np.arange(n) == np.argmin(corners)).astype(float)
    found = [corner, *(solvers.smooth(objective, start) for start in (np.full(n, 1 / n), (corner + 1 / n) / 2))]
    return min(found, key=lambda w: objective(w)[0])


def best_linear(A: Any, y: ArrayLike | None = None, loss: LossLike = "square") -> Oracle:
    """Return the best weights, of any sign and sum, fixed for all rounds.

    The square loss uses least squares, and the weights with the smallest norm if there are several solutions; absolute,
    pinball and percentage loss use a linear programme. Other losses raise ValueError. If experts sleep, only the rounds
    in which all are awake count; ``rounds`` is their number.

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
        message = "there is no round in which all experts are awake"
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
        message = f"the loss must be square, absolute, pinball or percentage loss, got {given.loss.name}"
        raise ValueError(message)
    Q, back = _basis(rows)
    z = Q.T @ target
    rest = target - Q @ z
    if slopes is None:
        w = back(z + Q.T @ rest)  # one step of refinement, against rounding
        total = given.total(w)
        gap = float(np.sum(np.square(Q.T @ (rows @ w - target))))  # the gain that is left within the span
    else:
        more, least = solvers.best_unconstrained(Q, rest, below, above)
        w = back(z + more)
        total = given.total(w)
        gap = max(total - least, 0.0)
    return Oracle(name, total, total / rounds, rounds, w, gap=gap, names=given.names)


def _basis(rows: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return an orthonormal basis Q of the columns' span, and a function from z to the shortest w with rows w = Q z."""
    largest = np.abs(rows).max(axis=0)
    largest[largest == 0] = 1.0
    sizes = largest * np.linalg.norm(rows / largest, axis=0)  # without overflow of squares
    sizes[sizes == 0] = 1.0  # columns are scaled, because the rank must not depend on an expert's unit
    U, s, Vt = np.linalg.svd(rows / sizes, full_matrices=False)
    rank = int(np.sum(s > s[0] * max(rows.shape) * np.finfo(np.float64).eps))

    def back(z: FloatArray) -> FloatArray:
        w = Vt[:rank].T @ (z / s[:rank]) / sizes
        if rank < rows.shape[1]:  # the shortest solution lies in the span of the rows
            span = np.linalg.qr(Vt[:rank].T * (sizes / sizes.max())[:, None])[0]
            w = span @ (span.T @ w)
        return np.asarray(w)

    return U[:, :rank], back


def nearest_to_zero(E: FloatArray, start: FloatArray | None = None) -> FloatArray:
    """Return the w on the simplex that minimises ``|E w|²``, by the active-set method of Wolfe (1976).

    Examples
    --------
    >>> nearest_to_zero(np.array([[1.0, -1.0, 3.0], [1.0, 1.0, 2.0]])).tolist()
    [0.5, 0.5, 0.0]
    """
    n = E.shape[1]
    size = float(np.abs(E).max(initial=0.0))
    if size == 0:
        return np.full(n, 1 / n)
    E = E / size
    R = np.asarray(np.linalg.qr(E, mode="r")) if len(E) > n else E  # |R w| = |E w|
    lengths = np.sqrt(np.einsum("ti,ti->i", R, R))
    corner = np.zeros(n)
    corner[np.argmin(lengths)] = 1.0
    if not lengths.all():
        return corner
    start = corner if start is None else start
    w = _within(R, lengths, start, np.flatnonzero(start))
    best = _square(R @ w)
    for _ in range(CYCLES_PER_EXPERT * n):
        r = R @ w
        new = int(np.argmin((R.T @ r - _square(r)) / lengths))  # |r|² is the mean of R' r, weighted by w
        if w[new] > 0:
            break
        trial = _within(R, lengths, w, np.append(np.flatnonzero(w), new))
        square = _square(R @ trial)
        if square >= best:
            break
        w, best = trial, square
    return w


def _square(r: FloatArray) -> float:
    return float(r @ r)


def _within(R: FloatArray, lengths: FloatArray, w: FloatArray, support: IntArray) -> FloatArray:
    """Move from w to the best weights on the support; columns whose weight would become negative leave it."""
    w = w.copy()
    tiny = ROUNDING * lengths.min() / lengths  # relative to the effect of a weight on forecasts
    while True:
        v = np.zeros(len(w))
        v[support] = _affine(R[:, support], lengths[support])
        low = support[v[support] <= tiny[support]]
        if not low.size or len(support) == 1:
            return np.asarray(v / v.sum())
        steps = w[low] / np.maximum(w[low] - v[low], tiny[low])
        first = int(np.argmin(steps))
        w += min(1.0, float(steps[first])) * (v - w)
        w[low[first]] = 0.0
        w[w < 0] = 0.0
        support = support[support != low[first]]


def _affine(R: FloatArray, lengths: FloatArray) -> FloatArray:
    """Return the v with ``Σ v = 1``, of either sign, that minimises ``|R v|``: least squares relative to one column."""
    base = int(np.argmin(lengths))
    others = np.delete(np.arange(R.shape[1]), base)
    v = np.empty(R.shape[1])
    v[others] = np.linalg.lstsq((R[:, others] - R[:, [base]]) / lengths[others], -R[:, base], rcond=None)[0]
    v[others] /= lengths[others]
    v[base] = 1 - v[others].sum()
    return v


def maximum_likelihood(P: FloatArray) -> FloatArray:
    """Return the w on the simplex that minimises ``−Σ_t ln (P w)_t``, where P ≥ 0 and the maximum of each row is 1.

    With ``s_t = (P w')_t / (P w)_t``, Newton's model of ``−ln s`` is ``(s − 2)²/2`` up to a constant, so each step is
    solved by `nearest_to_zero`. A step is halved until the loss falls.

    Examples
    --------
    >>> maximum_likelihood(np.array([[1, 1 / 9], [1, 1 / 9], [1 / 9, 1]])).round(6).tolist()
    [0.708333, 0.291667]
    """
    n = P.shape[1]
    w, target = np.full(n, 1 / n), None
    q = P @ w
    for _ in range(NEWTON_STEPS):
        J = P / q[:, None]
        mean = J.mean(axis=0)  # minus the derivative, per round; w @ mean = 1
        target = nearest_to_zero(J - 2, target)
        gain = float(mean @ (target - w))
        if max(gain, float(mean.max()) - 1) <= SMALLEST_GAIN:
            break
        step = 1.0
        while step > SMALLEST_GAIN:
            trial = w + step * (target - w)
            ahead = P @ trial
            if np.all(ahead > 0) and np.mean(np.log(ahead / q)) >= 0.1 * step * gain:
                break
            step /= 2
        else:
            break
        w, q = trial, ahead
    return np.asarray(w / w.sum())
