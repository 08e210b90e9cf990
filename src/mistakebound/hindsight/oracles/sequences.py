"""The best expert, and the best sequence of experts with few switches, by exact dynamic programming."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support.text import many
from mistakebound.errors import Expert, StreamError
from mistakebound.hindsight.oracles.base import Oracle, checked_forecasts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.losses import LossLike


def best_expert(A: Any, y: ArrayLike | None = None, loss: LossLike = "square") -> Oracle:
    """Return the expert with the smallest mean loss over the rounds in which it was awake; the first one if tied.

    An expert that sleeps in difficult rounds has a small mean: see the rounds in ``awake`` and the losses in
    ``totals``.

    Parameters
    ----------
    A : array, DataFrame, dict of columns, or sequence of dicts
        Forecasts: rounds × experts, or rounds × experts × classes; NaN while an expert sleeps. Names are kept. The
        result of `checked_forecasts` may be passed instead of all three parameters.
    y : array
        Outcomes: rounds, or rounds × classes.
    loss : str, Loss or pair of functions
        As for `losses.loss_named`.

    Examples
    --------
    >>> best = best_expert([[1, 2, float("nan")], [3, 5, 2]], [1, 2], "absolute")
    >>> best.name, best.total, best.totals.tolist(), best.awake.tolist()
    ('best expert (2), by mean loss over the rounds in which each was awake', 0.0, [1.0, 4.0, 0.0], [2, 2, 1])
    >>> best_expert({"Ann": [1, 3], "Bob": [2, 5]}, [2, 5]).name
    'best expert (Bob)'
    """
    given = checked_forecasts(A, y, loss)
    awake = given.awake.sum(axis=0)
    totals = np.where(given.awake, given.losses, 0.0).sum(axis=0)
    ever = np.flatnonzero(awake)
    if not ever.size:
        message = "no expert was ever awake"
        raise StreamError(message)
    best = int(ever[np.argmin(totals[ever] / awake[ever])])
    weights = np.zeros(len(totals))
    weights[best] = 1.0
    name = f"best expert ({given.names[best] if given.names else best})"
    if not given.awake.all():
        name += ", by mean loss over the rounds in which each was awake"
    total, rounds = float(totals[best]), int(awake[best])
    return Oracle(name, total, total / rounds, rounds, weights, totals=totals, awake=awake, names=given.names)


def best_switching(losses: ArrayLike, switches: int) -> Oracle:
    """Return the best sequence of experts with at most this number of switches.

    Let ``D_s(i)`` be the smallest loss so far of a sequence that follows expert i now, after at most s switches. A
    round updates ``D_s(i) ← min(D_s(i), min_j D_{s−1}(j)) + ℓ_i``. Among the best sequences, one with the fewest and
    earliest switches is returned. Time is rounds × experts × switches, memory rounds × switches.

    See docs/theory.md, "The best combination and the best sequence".

    Parameters
    ----------
    losses : array
        Rounds × experts, such as the result of `expert_losses`; NaN while an expert sleeps and cannot be followed. A
        loss may be infinite.
    switches : int
        Largest number of switches, at least 0.

    Returns
    -------
    Oracle
        ``totals[s]`` is the smallest loss with at most s switches; infinite if sleeping experts make that impossible.
        ``sequence`` is None if all of them are infinite.

    Examples
    --------
    >>> best = best_switching([[0, 1], [0, 1], [1, 0], [1, 0], [0, 1]], switches=2)
    >>> best.totals.tolist(), best.sequence.tolist()
    ([2.0, 1.0, 0.0], [0, 0, 1, 1, 0])
    """
    table = _table(losses)
    if isinstance(switches, bool) or not isinstance(switches, (int, np.integer)) or switches < 0:
        message = f"switches must be an integer of at least 0, got {switches!r}"
        raise ValueError(message)
    rounds = len(table)
    levels = min(int(switches), rounds - 1) + 1
    D = np.repeat(table[:1], levels, axis=0)
    since = np.zeros(D.shape, np.int64)
    # For a switch to level s+1 at round t: the expert before the switch, and the first round of its turn.
    came_from, began = np.zeros((2, rounds, levels), np.int64)
    level = np.arange(levels)
    for t in range(1, rounds):
        leader = came_from[t]
        D.argmin(axis=1, out=leader)
        began[t] = since[level, leader]
        least = D[level, leader][:-1, None]
        np.putmask(since[1:], least < D[1:], t)
        np.minimum(D[1:], least, out=D[1:])
        D += table[t]
    totals = np.minimum.accumulate(D.min(axis=1))
    total, at = float(totals[-1]), int(np.argmin(totals))
    sequence = None
    if total < np.inf:
        last = int(D[at].argmin())
        sequence = _trace(came_from, began, (at, last, int(since[at, last])))
    totals = np.concatenate([totals, np.full(int(switches) + 1 - levels, total)])
    name = f"best sequence of experts with at most {many(switches, 'switch', 'es')}"
    return Oracle(name, total, total / rounds, rounds, sequence=sequence, totals=totals)


def _trace(came_from: IntArray, began: IntArray, end: tuple[int, int, int]) -> IntArray:
    """Return the sequence, traced back from its last turn (level, expert, first round)."""
    level, expert, first = end
    sequence = np.empty(len(came_from), np.int64)
    sequence[first:] = expert
    while first > 0:
        level, after = level - 1, first
        expert, first = int(came_from[after, level]), int(began[after, level])
        sequence[first:after] = expert
    return sequence


def _table(losses: ArrayLike) -> FloatArray:
    try:
        table = np.array(losses, np.float64)
    except (TypeError, ValueError) as error:
        message = f"losses must be an array of numbers: {error}"
        raise StreamError(message) from None
    if table.ndim != 2 or not table.size:
        message = f"losses must have the shape (rounds, experts), got {table.shape}"
        raise StreamError(message)
    if np.isneginf(table).any():
        at, expert = np.argwhere(np.isneginf(table))[0]
        raise StreamError(Expert(int(expert)), ": the loss must not be -inf", round=int(at))
    asleep = np.isnan(table)
    if asleep.all(axis=1).any():
        message = "every expert is asleep, so none can be followed"
        raise StreamError(message, round=int(np.argmax(asleep.all(axis=1))))
    table[asleep] = np.inf
    return table
