"""Losses for labels and for probabilities of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mistakebound._support.lazy import np
from mistakebound.errors import StreamError
from mistakebound.losses.base import Loss, asleep, floats, refuse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mistakebound._support.arrays import FloatArray


@dataclass(frozen=True)
class ZeroOne(Loss):
    """The zero-one loss: 1 if the forecast is not equal to the outcome, otherwise 0.

    Forecasts and outcomes may be of any type. The loss is not convex.

    Examples
    --------
    >>> ZeroOne().value(["sun", "rain"], "sun").tolist()
    [0.0, 1.0]
    """

    id = "zero-one"
    name = "zero-one loss"
    convex = False

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return 1 where ``f ≠ y``, otherwise 0."""
        f = np.asarray(forecast)
        wrong = np.asarray(f != np.asarray(outcome), np.float64)
        return np.where(asleep(f), np.nan, wrong)

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return 0, the derivative wherever it exists."""
        return 0.0 * self.value(forecast, outcome)

    def vector_value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return 1 unless all classes are equal."""
        return np.asarray(self.value(forecast, outcome).max(axis=-1))

    def check(self, forecasts: ArrayLike, outcomes: ArrayLike, *, first_round: int = 0) -> None:
        """Raise StreamError if an outcome is missing. Any other value is allowed."""
        y = np.asarray(outcomes)
        if len(np.asarray(forecasts)) != len(y):
            message = (
                "forecasts and outcomes must have the same number of rounds, "
                f"got {len(np.asarray(forecasts))} forecasts and {len(y)} outcomes"
            )
            raise StreamError(message)
        missing = np.array([value is None or value != value for value in y.ravel()], bool)  # noqa: PLR0124 - NaN
        refuse(y, missing.reshape(y.shape), "outcome", "it must not be missing", first_round)


@dataclass(frozen=True)
class Log(Loss):
    """The log loss: ``−ln`` of the probability of the outcome.

    The outcome is 0 or 1, and the forecast is the probability of 1. With several classes the loss is ``−Σ y ln p``.

    Examples
    --------
    >>> [round(loss, 6) for loss in Log().value([0.5, 0.25, 0.0], [1, 0, 1]).tolist()]
    [0.693147, 0.287682, inf]
    >>> round(float(Log().vector_value([0.2, 0.5, 0.3], [0, 1, 0])), 6)
    0.693147
    """

    id = "log"
    name = "log loss"
    exp_concave = 1.0

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return ``−y ln p − (1 − y) ln(1 − p)``, where 0 ln 0 is 0."""
        p, y = floats(forecast), floats(outcome)
        with np.errstate(divide="ignore"):
            return _zero_times(-y, np.log(p), p) + _zero_times(y - 1, np.log1p(-p), p)

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return ``−y/p + (1 − y)/(1 − p)``. A term with the factor 0 is 0."""
        p, y = floats(forecast), floats(outcome)
        with np.errstate(divide="ignore", over="ignore"):
            return _zero_times(-y, 1 / p, p) + _zero_times(1 - y, 1 / (1 - p), p)

    def vector_value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return ``−Σ y ln p``."""
        p, y = floats(forecast), floats(outcome)
        with np.errstate(divide="ignore"):
            return np.asarray(_zero_times(-y, np.log(p), p).sum(axis=-1))

    def vector_gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return ``−y/p``, and 0 where y is 0."""
        p, y = floats(forecast), floats(outcome)
        with np.errstate(divide="ignore", over="ignore"):
            return np.broadcast_to(_zero_times(-y, 1 / p, p), p.shape).copy()

    def check(self, forecasts: ArrayLike, outcomes: ArrayLike, *, first_round: int = 0) -> None:
        """Raise StreamError unless forecasts are probabilities, outcomes are 0 or 1, and one class has outcome 1."""
        super().check(forecasts, outcomes, first_round=first_round)
        p, y = floats(forecasts), floats(outcomes)
        refuse(y, (y != 0) & (y != 1), "outcome", "for the log loss it must be 0 or 1", first_round)
        if y.ndim > 1 and np.any(y.sum(axis=1) != 1):
            number = int(np.argmax(y.sum(axis=1) != 1))
            message = f"{int(y[number].sum())} classes have the outcome 1; the log loss needs exactly one"
            raise StreamError(message, round=first_round + number)
        refuse(p, (p < 0) | (p > 1), "forecast", "for the log loss it must lie between 0 and 1", first_round)


def _zero_times(factor: FloatArray, values: FloatArray, forecast: FloatArray) -> FloatArray:
    """Return ``factor · values``: 0 where the factor is 0, also if the value is infinite, and NaN if asleep."""
    with np.errstate(invalid="ignore"):
        product = factor * values
    return np.where((factor == 0) & ~np.isnan(forecast), 0.0, product)
