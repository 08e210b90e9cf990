"""The best fixed combination of experts: convex, or linear with weights of any sign and sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import StreamError
from mistakebound.hindsight.oracles import solvers
from mistakebound.hindsight.oracles.base import CheckedForecasts, Oracle, checked_forecasts
from mistakebound.losses import Custom, Log, Square

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from mistakebound._support.arrays import FloatArray
    from mistakebound.losses import LossLike

FAR = 40.0  # e^40 to 1: where experts sleep the best weights may differ without limit


def best_convex(A: Any, y: ArrayLike | None = None, loss: LossLike = "square") -> Oracle:
    """Return the best weights ``w ≥ 0, Σ w = 1``, fixed for all rounds.

    Square loss: an active-set method; absolute, pinball and percentage loss: a linear programme; log loss: Newton's
    method; a loss of one's own: sequential quadratic programming. The gap is computed afterwards, from the solution.

    Where experts sleep, a round's weights are those of who is awake, scaled to sum to 1 (as in R's opera). The loss is
    then no convex function of w: a local optimum is returned, the best from several starts, and its gap is to what a
    combination of the awake could have lost at least if it were chosen anew in each round. That may be far away.

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
        message = f"the {given.loss.name} is not convex: the best combination cannot be found; ask for the best expert"
        raise ValueError(message)
    if not given.awake.all():
        return _renormalised(given)
    E, rounds = given.errors, len(given.outcomes)
    slopes = given.two_slopes()
    name = "best convex combination"
    if slopes is not None:
        below, above, factor = slopes
        w, least = solvers.best_on_simplex(E * factor[:, None], below, above)
        total = solvers.lost(factor * (E @ w), below, above)
        return Oracle(name, total, total / rounds, rounds, w, gap=max(total - least, 0.0), names=given.names)
    if isinstance(given.loss, Log):
        w, total, gap = _likeliest(_given_to_outcomes(given))
        return Oracle(name, total, total / rounds, rounds, w, gap=gap, names=given.names)
    if isinstance(given.loss, Square):
        w = solvers.nearest_to_zero(E)
        r = E @ w  # not A w − y, where great outcomes would drown small errors
        total, pull = float(r @ r), 2 * (E.T @ r)
    else:
        w = _descend(given, E)
        combined = _combined(given, w)
        total, pull = given.judge(combined), E.T @ given.slopes(combined)
    # Convexity: any w' has at least total + pull @ (w' − w), and pull @ w' is at least the least of pull.
    return Oracle(name, total, total / rounds, rounds, w, gap=max(float(w @ pull - pull.min()), 0.0), names=given.names)


def _combined(given: CheckedForecasts, w: FloatArray) -> FloatArray:
    """Return the combination's forecasts; rounding must not take them beyond those of the experts."""
    A = given.forecasts
    return np.asarray(np.clip(np.einsum("tn...,n->t...", A, w), A.min(axis=1), A.max(axis=1)))


def _given_to_outcomes(given: CheckedForecasts) -> FloatArray:
    """Return the probabilities that the experts gave to what came true, a row per outcome that is 1."""
    if given.forecasts.ndim == 3:
        return np.asarray(given.rows[given.outcomes.ravel() == 1])
    return np.where(given.outcomes[:, None] == 1, given.forecasts, 1 - given.forecasts)


def _likeliest(P: FloatArray) -> tuple[FloatArray, float, float]:
    """Return weights, log loss and gap; however improbable the outcomes were, nothing underflows."""
    top = P.max(axis=1, keepdims=True, initial=0.0)
    if not top.all():  # in some round all experts were sure of the contrary
        return np.full(P.shape[1], 1 / P.shape[1]), np.inf, 0.0
    P = P / top
    w = solvers.likeliest(P)
    q = P @ w
    total = max(0.0, -float(np.sum(np.log(top[:, 0]) + np.log(q))))
    return w, total, max(0.0, float((P.T @ (1 / q)).max()) - len(q))  # convexity, as below


def _descend(given: CheckedForecasts, E: FloatArray) -> FloatArray:
    """Return the best weights for a loss of which nothing is known but that it is convex."""
    n = E.shape[1]

    def objective(w: FloatArray) -> tuple[float, FloatArray]:
        combined = _combined(given, w)
        return given.judge(combined), E.T @ given.slopes(combined)

    corners = given.losses.sum(axis=0)
    corner = (np.arange(n) == np.argmin(corners)).astype(float)
    found = [corner, *(solvers.smooth(objective, start) for start in (np.full(n, 1 / n), (corner + 1 / n) / 2))]
    return min(found, key=lambda w: objective(w)[0])


def _renormalised(given: CheckedForecasts) -> Oracle:
    """Descend in ``θ = ln w``, from the uniform weights, from the best expert, and from the best if sleepers were 0."""
    from scipy.optimize import minimize  # noqa: PLC0415 - importing the package must not need scipy

    idle = ~given.awake.any(axis=1)
    if idle.any():
        message = "every expert sleeps: no combination has a forecast"
        raise StreamError(message, round=int(np.argmax(idle)))
    awake, asleep = given.awake, np.isnan(given.forecasts)
    A, rounds = np.where(asleep, 0.0, given.forecasts), len(given.outcomes)
    low = np.where(asleep, np.inf, A).min(axis=1)
    high = np.where(asleep, -np.inf, A).max(axis=1)

    def shares(theta: FloatArray) -> FloatArray:
        tops = np.where(awake, theta, -np.inf)
        p = np.exp(tops - tops.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        p = shares(theta)
        combined = np.clip(np.einsum("tn...,tn->t...", A, p), low, high)
        away = (A - combined[:, None]).reshape(*awake.shape, -1)
        pull = np.einsum("tnc,tc->tn", away, given.slopes(combined).reshape(rounds, -1))
        return given.judge(combined) / scale, np.einsum("tn,tn->n", p, pull) / scale

    losses = np.where(awake, given.losses, 0.0).sum(axis=0) / np.maximum(awake.sum(axis=0), 1)
    losses[~awake.any(axis=0)] = np.inf
    scale = 1.0
    scale = objective(np.zeros(awake.shape[1]))[0] or 1.0
    errors = np.where(asleep, 0.0, given.forecasts - given.outcomes[:, None])
    corner = np.where(np.arange(awake.shape[1]) == np.argmin(losses), 10.0, 0.0)
    near = np.log(solvers.nearest_to_zero(np.moveaxis(errors, 1, -1).reshape(-1, awake.shape[1])) + 1e-6)
    limits = [(-FAR, FAR)] * awake.shape[1]
    found = [
        minimize(objective, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 2000}).x
        for start in (np.zeros(awake.shape[1]), corner, near)
    ]
    theta = min(found, key=lambda theta: objective(theta)[0])
    total, least = objective(theta)[0] * scale, -np.inf
    if not isinstance(given.loss, Custom):  # whose least need not be at the outcome
        least = given.judge(np.clip(given.outcomes, low, high))
    w = np.exp(theta - theta.max())
    name = "best convex combination, renormalised over who is awake (a local optimum)"
    return Oracle(name, total, total / rounds, rounds, w / w.sum(), gap=total - least, names=given.names)


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
        more, least = solvers.best_unconstrained(Q, rest, below, above)
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
