"""What every oracle is given, checked once; and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import StreamError
from mistakebound.losses import Log, Loss, loss_named

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mistakebound.arrays import BoolArray, FloatArray, IntArray
    from mistakebound.losses import LossLike


@dataclass(frozen=True, eq=False)
class Oracle:
    """The best of a class in hindsight.

    Attributes
    ----------
    name : str
        What was best, and, where experts slept, what that means.
    total, mean : float
        Its loss over `rounds`.
    rounds : int
        The rounds that count.
    weights : array or None
        One per expert; for a single expert 1 at its place.
    sequence : array or None
        The expert of each round, if experts take turns.
    gap : float
        Nothing in the class has a total below ``total − gap``, up to rounding. Computed from a lower bound that is
        found beside the solution, whoever found that.
    totals : array or None
        Of a single expert: each expert's loss. Of turns: the least loss with at most 0, 1, 2, … switches.
    awake : array or None
        Of a single expert: in how many rounds each was awake.
    """

    name: str
    total: float
    mean: float
    rounds: int
    weights: FloatArray | None = None
    sequence: IntArray | None = None
    gap: float = 0.0
    totals: FloatArray | None = None
    awake: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Advice:
    """Forecasts, outcomes and the loss, checked: who is awake gave numbers in the loss's domain."""

    forecasts: FloatArray
    outcomes: FloatArray
    loss: Loss
    awake: BoolArray

    @property
    def errors(self) -> FloatArray:
        """Forecasts less outcomes, rounds (times classes) × experts."""
        return _rows(self.forecasts - self.outcomes[:, None])

    @property
    def rows(self) -> FloatArray:
        """Forecasts, rounds (times classes) × experts."""
        return _rows(self.forecasts)

    def total(self, weights: FloatArray) -> float:
        """Return the loss of the fixed combination."""
        return self.judge(np.einsum("tn...,n->t...", self.forecasts, weights))

    def judge(self, combined: FloatArray) -> float:
        """Return the loss of a forecast per round."""
        return float(self._losses(combined, self.outcomes).sum())

    def slopes(self, combined: FloatArray) -> FloatArray:
        """Return the derivatives by the forecasts, rounds times classes."""
        if self.forecasts.ndim == 3:
            return self.loss.vector_gradient(combined, self.outcomes).ravel()
        return self.loss.gradient(combined, self.outcomes)

    def expert_losses(self) -> FloatArray:
        """Return rounds × experts, NaN where the expert sleeps."""
        return self._losses(self.forecasts, self.outcomes[:, None])

    def _losses(self, forecasts: FloatArray, outcomes: FloatArray) -> FloatArray:
        value = self.loss.vector_value if self.forecasts.ndim == 3 else self.loss.value
        with np.errstate(over="ignore"):
            return value(forecasts, outcomes)


def advice(A: ArrayLike, y: ArrayLike, loss: LossLike) -> Advice:
    """Check forecasts and outcomes; a StreamError names the round and the expert."""
    loss = loss_named(loss)
    loss.check(A, y)
    numeric = loss.id != "zero-one"
    forecasts, outcomes = (np.asarray(x, np.float64 if numeric else None) for x in (A, y))
    if forecasts.ndim not in {2, 3} or outcomes.shape != forecasts.shape[:1] + forecasts.shape[2:]:
        message = (
            f"forecasts of the shape {forecasts.shape} and outcomes of the shape {outcomes.shape} do not fit: they are "
            "rounds × experts and rounds, or rounds × experts × classes and rounds × classes"
        )
        raise StreamError(message)
    if not forecasts.size:
        message = f"there is nothing to compare: forecasts have the shape {forecasts.shape}"
        raise StreamError(message)
    given = Advice(forecasts, outcomes, loss, _awake(forecasts))
    losses = given.expert_losses()
    _refuse(np.isnan(losses) & given.awake, "the loss is not a number")
    if not isinstance(loss, Log):  # whose infinite loss is meant
        _refuse(np.isinf(losses), "the loss overflows; scale the values down")
    return given


def expert_losses(A: ArrayLike, y: ArrayLike, loss: LossLike) -> FloatArray:
    """Return every expert's loss in every round, NaN where the expert sleeps: what `best_switching` takes.

    Examples
    --------
    >>> expert_losses([[1, 2], [3, float("nan")]], [2, 2], "square").tolist()
    [[1.0, 0.0], [1.0, nan]]
    """
    return advice(A, y, loss).expert_losses()


def _rows(x: FloatArray) -> FloatArray:
    return x if x.ndim == 2 else np.ascontiguousarray(np.moveaxis(x, 1, 2)).reshape(-1, x.shape[1])


def _awake(forecasts: Any) -> BoolArray:
    """Return who is awake: who gave a forecast, for every class or for none."""
    floats = np.issubdtype(forecasts.dtype, np.floating)
    absent: BoolArray = np.isnan(forecasts) if floats else np.zeros(forecasts.shape, bool)
    if absent.ndim == 3:
        partly = np.asarray(absent.any(axis=2) & ~absent.all(axis=2))
        _refuse(partly, "a forecast for some of the classes is missing")
        absent = np.asarray(absent.all(axis=2))
    return ~absent


def _refuse(bad: BoolArray, why: str) -> None:
    if bad.any():
        at, expert = np.unravel_index(int(np.argmax(bad)), bad.shape)
        message = f"expert {expert}: {why}"
        raise StreamError(message, round=int(at))
