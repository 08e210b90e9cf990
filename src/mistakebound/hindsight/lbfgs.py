"""Minimise a smooth function over a box, by L-BFGS on the variables that are free to move.

SciPy's L-BFGS-B does the same, but its dot products go through BLAS. On vectors of some ten thousand numbers a BLAS
with threads spends its time waiting for them, on a busy machine ten times as much as it computes. Sums of products by
numpy use no threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Loss = Callable[[Array], tuple[float, Array]]
"""The function and its gradient, both at once."""
Pairs = deque[tuple[Array, Array]]
"""The last steps, and what the gradient changed by in each: what L-BFGS knows of the curvature."""

MEMORY = 8
SUFFICIENT, LEAST_DECREASE, LEAST_CURVATURE = 1e-4, 1e-13, 1e-12


def minimise(loss: Loss, a: Array, upper: Array | float, iterations: int, pairs: Pairs) -> tuple[Array, float]:
    """Return a point of ``0 <= a <= upper`` with a lower loss than the given one, and its loss.

    Parameters
    ----------
    loss : callable
        Returns the value and the gradient at a point.
    a : array
        Where to start: a point of the box.
    upper : array or float
        Upper limits, perhaps infinite.
    iterations : int
        How many steps to take at most.
    pairs : deque
        An empty deque, or the one of an earlier call with the same loss.

    Examples
    --------
    >>> target = np.array([0.3, 2.0, -1.0])
    >>> a, value = minimise(lambda a: (float(np.sum((a - target) ** 2)) / 2, a - target), np.zeros(3), 1.0, 50, deque())
    >>> [round(float(x), 6) for x in a]
    [0.3, 1.0, 0.0]
    """
    value, gradient = loss(a)
    for _ in range(iterations):
        fixed = ((a <= 0) & (gradient > 0)) | ((a >= upper) & (gradient < 0))
        downhill = np.where(fixed, 0.0, -gradient)
        if not downhill.any():
            break
        d = _direction(downhill, fixed, pairs)
        if _dot(d, gradient) >= 0:
            pairs.clear()
            d = downhill
        found = _step(loss, a, d, (value, gradient), upper, 1.0 if pairs else _first_step(d, upper))
        if found is None:
            if not pairs:
                break
            pairs.clear()  # what is known of the curvature has misled: begin anew
            continue
        new, new_value, new_gradient = found
        s, y = new - a, new_gradient - gradient
        if _dot(s, y) > LEAST_CURVATURE * _dot(y, y):
            pairs.append((s, y))
            if len(pairs) > MEMORY:
                pairs.popleft()
        settled = value - new_value <= LEAST_DECREASE * max(abs(value), abs(new_value))
        a, value, gradient = new, new_value, new_gradient
        if settled:
            break
    return a, value


def _direction(downhill: Array, fixed: NDArray[np.bool_], pairs: Pairs) -> Array:
    """The quasi-Newton direction among the free variables (Nocedal's two loops)."""
    d, used = downhill, []
    for s, y in reversed(pairs):
        s_free, y_free = np.where(fixed, 0.0, s), np.where(fixed, 0.0, y)
        curvature = _dot(s_free, y_free)
        if curvature > LEAST_CURVATURE * _dot(y_free, y_free):
            share = _dot(s_free, d) / curvature
            d = d - share * y_free
            used.append((s_free, y_free, curvature, share))
    if used:
        _, y_free, curvature, _ = used[0]
        d = d * (curvature / _dot(y_free, y_free))
    for s_free, y_free, curvature, share in reversed(used):
        d = d + s_free * (share - _dot(y_free, d) / curvature)
    return d


def _first_step(d: Array, upper: Array | float) -> float:
    """How far to try first while nothing is known of the curvature: across the box, or one unit."""
    widest = float(np.max(upper))
    return widest / float(np.abs(d).max()) if np.isfinite(widest) else 1.0 / float(np.sqrt(_dot(d, d)))


def _step(
    loss: Loss, a: Array, d: Array, here: tuple[float, Array], upper: Array | float, t: float
) -> tuple[Array, float, Array] | None:
    """Go along d, bent into the box, as far as the loss falls sufficiently; None if it never does."""
    value, gradient = here
    for _ in range(40):
        new = np.clip(a + t * d, 0.0, upper)
        new_value, new_gradient = loss(new)
        if new_value <= value + SUFFICIENT * _dot(gradient, new - a) and new_value < value:
            return new, new_value, new_gradient
        t /= 3
    return None


def _dot(a: Array, b: Array) -> float:
    return float(np.sum(a * b))
