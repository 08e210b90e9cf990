"""The input of the oracles, forecasts and outcomes that are checked once, and their result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import Expert, StreamError
from mistakebound.losses import Absolute, Log, Loss, Percentage, Pinball, loss_named
from mistakebound.losses.base import asleep

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mistakebound._support.arrays import BoolArray, FloatArray, IntArray
    from mistakebound.losses import LossLike


@dataclass(frozen=True, eq=False)
class Oracle:
    """The best choice in hindsight: an expert, a combination or a sequence.

    Attributes
    ----------
    name : str
        A description; if experts slept, with the rounds or the scaling that it refers to.
    total, mean : float
        Its total and its mean loss over `rounds`.
    rounds : int
        Number of rounds that count.
    weights : array or None
        A weight for each expert; for a single expert 1 at its place.
    sequence : array or None
        The expert of each round, for a sequence.
    gap : float
        Every choice of the same kind has a total of at least ``total − gap``, up to rounding. The gap is computed from
        a lower bound; it does not rely on the solver.
    totals : array or None
        For a single expert: the loss of each expert. For a sequence: the smallest loss with at most 0, 1, 2, …
        switches.
    awake : array or None
        For a single expert: the number of rounds in which each expert was awake.
    names : tuple of str
        Names of the experts, in the order of the weights; empty if they have no names.
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
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class CheckedForecasts:
    """Forecasts, outcomes and a loss; the forecasts of awake experts and the outcomes are in the domain of the loss."""

    forecasts: FloatArray
    outcomes: FloatArray
    loss: Loss
    awake: BoolArray
    losses: FloatArray
    """Rounds × experts, NaN while an expert sleeps."""
    names: tuple[str, ...] = ()

    @property
    def errors(self) -> FloatArray:
        """Forecasts minus outcomes: rounds (times classes) × experts."""
        return _rows(self.forecasts - self.outcomes[:, None])

    @property
    def rows(self) -> FloatArray:
        """Forecasts: rounds (times classes) × experts."""
        return _rows(self.forecasts)

    def total(self, weights: FloatArray) -> float:
        """Return the total loss of the combination with these weights."""
        return self.loss_of(np.einsum("tn...,n->t...", self.forecasts, weights))

    def loss_of(self, combined: FloatArray) -> float:
        """Return the total loss of these forecasts, one per round."""
        return float(_losses(self.loss, combined, self.outcomes, of_classes=self.outcomes.ndim == 2).sum())

    def slopes(self, combined: FloatArray) -> FloatArray:
        """Return the derivatives of the loss with respect to these forecasts, rounds times classes."""
        if self.forecasts.ndim == 3:
            return self.loss.vector_gradient(combined, self.outcomes).ravel()
        return self.loss.gradient(combined, self.outcomes)

    def two_slopes(self) -> tuple[float, float, FloatArray] | None:
        """Return the slopes below and above the outcome, and a factor per outcome; None for other losses."""
        ones = np.ones(self.outcomes.size)
        if isinstance(self.loss, Pinball):
            return self.loss.tau, 1 - self.loss.tau, ones
        if isinstance(self.loss, Absolute):
            return 1.0, 1.0, ones
        return (1.0, 1.0, 1 / np.abs(self.outcomes.ravel())) if isinstance(self.loss, Percentage) else None

    def in_rounds(self, counted: BoolArray) -> CheckedForecasts:
        """Return these rounds only."""
        forecasts, outcomes = self.forecasts[counted], self.outcomes[counted]
        return CheckedForecasts(forecasts, outcomes, self.loss, self.awake[counted], self.losses[counted], self.names)


def checked_forecasts(A: Any, y: ArrayLike | None = None, loss: LossLike = "square") -> CheckedForecasts:
    """Check forecasts and outcomes; raise StreamError with the round and the expert of a bad value.

    Every oracle accepts the result instead of ``A``, ``y`` and ``loss``; several oracles then share one check.

    Parameters
    ----------
    A, y, loss
        As for `best_expert`. If ``A`` is the result of an earlier call, it is returned.

    Examples
    --------
    >>> from mistakebound.hindsight.oracles import best_convex, best_linear
    >>> checked = checked_forecasts([[0.0, 4.0], [4.0, 0.0]], [1, 2])
    >>> round(best_convex(checked).total, 6), round(best_linear(checked).total, 6)
    (0.5, 0.0)
    """
    if isinstance(A, CheckedForecasts):
        return A
    if y is None:
        message = "y must be set: the outcomes"
        raise ValueError(message)
    table, names = _table(A)
    try:
        return _checked(table, y, loss if isinstance(loss, Loss) else loss_named(loss), names)
    except StreamError as error:
        raise error.with_names(names) from None


def _checked(A: ArrayLike, y: ArrayLike, loss: Loss, names: tuple[str, ...]) -> CheckedForecasts:
    loss.check(A, y)
    numeric = loss.id != "zero-one"
    forecasts, outcomes = (np.asarray(x, np.float64 if numeric else None) for x in (A, y))
    if forecasts.ndim not in {2, 3} or outcomes.shape != forecasts.shape[:1] + forecasts.shape[2:]:
        message = (
            "forecasts and outcomes must have the shapes (rounds, experts) and (rounds,), "
            f"or (rounds, experts, classes) and (rounds, classes), got {forecasts.shape} and {outcomes.shape}"
        )
        raise StreamError(message)
    if not forecasts.size:
        message = f"there must be at least one round and one expert, got forecasts of the shape {forecasts.shape}"
        raise StreamError(message)
    absent = asleep(forecasts)
    losses = _losses(loss, forecasts, outcomes[:, None], of_classes=outcomes.ndim == 2)
    awake = _awake(absent)
    _refuse(np.isnan(losses) & awake, "the loss is not a number")
    if not isinstance(loss, Log):  # the log loss may be infinite
        _refuse(np.isinf(losses), "the loss overflows; scale the values down")
    return CheckedForecasts(forecasts, outcomes, loss, awake, losses, names)


def _losses(loss: Loss, forecasts: FloatArray, outcomes: FloatArray, *, of_classes: bool) -> FloatArray:
    with np.errstate(over="ignore"):
        return loss.vector_value(forecasts, outcomes) if of_classes else loss.value(forecasts, outcomes)


def expert_losses(A: Any, y: ArrayLike, loss: LossLike) -> FloatArray:
    """Return every expert's loss in every round, NaN while it sleeps: the input of `best_switching`.

    Examples
    --------
    >>> expert_losses([[1, 2], [3, float("nan")]], [2, 2], "square").tolist()
    [[1.0, 0.0], [1.0, nan]]
    """
    return checked_forecasts(A, y, loss).losses


def _table(A: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the forecasts, and the names in a DataFrame, in a dict of columns, or in rounds that are dicts."""
    if hasattr(A, "columns"):
        table = A.to_numpy()
        if table.dtype == object:  # it may contain pandas' NA
            table = np.where(asleep(table), np.nan, table)
        return table, tuple(str(name) for name in A.columns)
    if isinstance(A, Mapping):
        columns = [np.asarray(column) for column in A.values()]
        if len({column.shape for column in columns}) != 1:
            message = "every expert must have the same number of forecasts; use NaN where an expert sleeps"
            raise StreamError(message)
        return np.stack(columns, axis=1), tuple(str(name) for name in A)
    if not isinstance(A, (list, tuple)) or not A or not all(isinstance(row, Mapping) for row in A):
        return A, ()
    names = tuple(dict.fromkeys(name for row in A for name in row))
    some = next((forecast for row in A for forecast in row.values()), np.nan)
    nothing = np.full(np.shape(some), np.nan).tolist()
    cells = [[row.get(name, nothing) for name in names] for row in A]
    # An array of objects, because in an array of text NaN would become the label "nan".
    words = any(isinstance(forecast, str) for row in cells for forecast in row)
    return np.array(cells, object) if words else cells, tuple(str(name) for name in names)


def _rows(x: FloatArray) -> FloatArray:
    return x if x.ndim == 2 else np.ascontiguousarray(np.moveaxis(x, 1, 2)).reshape(-1, x.shape[1])


def _awake(absent: BoolArray) -> BoolArray:
    """Return whether each expert is awake; raise StreamError if it forecasts some classes, but not all."""
    if absent.ndim == 3:
        partly = np.asarray(absent.any(axis=2) & ~absent.all(axis=2))
        _refuse(partly, "there must be a forecast for all classes or for none")
        absent = np.asarray(absent.all(axis=2))
    return ~absent


def _refuse(bad: BoolArray, why: str) -> None:
    if bad.any():
        at, expert = np.unravel_index(int(np.argmax(bad)), bad.shape)
        raise StreamError(Expert(int(expert)), f": {why}", round=int(at))
