"""Base class of the losses: value, derivative with respect to the forecast, and domain.

All functions work elementwise, broadcast, and return float64. With several classes, the last axis is the class: see
``vector_value``. A forecast of NaN means that the expert is asleep. Its loss is NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.errors import Expert, OutcomeClass, StreamError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mistakebound._support.arrays import BoolArray, FloatArray


class Loss:
    """A loss ``ℓ(forecast, outcome)`` and ``∂ℓ/∂forecast``.

    Attributes
    ----------
    id : str
        ``loss_named(loss.id)`` returns the loss again, unless it is a `Custom` loss.
    name : str
        Name in reports.
    convex : bool
        Whether it is convex in the forecast.
    exp_concave : float or None
        The largest η for which ``e^{−η ℓ}`` is concave in the forecast if forecasts and outcomes lie in [0, 1]. None if
        there is none. See docs/theory.md, "The exponentially weighted average".
    """

    convex: bool = True
    exp_concave: float | None = None

    @property
    def id(self) -> str:
        """The name that `loss_named` accepts."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name in reports."""
        raise NotImplementedError

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return the loss, elementwise."""
        raise NotImplementedError

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return the derivative with respect to the forecast, elementwise. At a kink it is a subgradient."""
        raise NotImplementedError

    def vector_value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return the loss of forecasts with several classes: the sum over the last axis."""
        return np.asarray(self.value(forecast, outcome).sum(axis=-1))

    def vector_gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return the derivatives of `vector_value`, in the shape of the forecast."""
        return np.broadcast_to(self.gradient(forecast, outcome), np.shape(forecast)).copy()

    def check(self, forecasts: ArrayLike, outcomes: ArrayLike, *, first_round: int = 0) -> None:
        """Raise StreamError, with round and expert, if a forecast or outcome is not in the domain of the loss.

        Parameters
        ----------
        forecasts : array
            Rounds, rounds × experts, or rounds × experts × classes. NaN (asleep) is allowed.
        outcomes : array
            Rounds, or rounds × classes. NaN is not allowed.
        first_round : int
            The number of the first of these rounds.
        """
        f, y = _numbers(forecasts, "forecast", first_round), _numbers(outcomes, "outcome", first_round)
        if not f.ndim or not y.ndim or len(f) != len(y):
            message = (
                "forecasts and outcomes must have the same number of rounds (their first axis), "
                f"got forecasts of shape {f.shape} and outcomes of shape {y.shape}"
            )
            raise StreamError(message)
        refuse(y, ~np.isfinite(y), "outcome", "it must be finite", first_round)
        refuse(f, np.isinf(f), "forecast", "it must be finite, or NaN for an expert that is asleep", first_round)


def floats(values: ArrayLike) -> FloatArray:
    """Return the values as an array of floats."""
    return np.asarray(values, np.float64)


def _numbers(values: ArrayLike, what: str, first_round: int) -> FloatArray:
    """Return the values as floats. Raise StreamError with the round of the first value that is not a number."""
    try:
        return floats(values)
    except (TypeError, ValueError) as error:
        rows = values if isinstance(values, (list, tuple, np.ndarray)) else ()
        for number, row in enumerate(rows):
            if not _is_numeric(row):
                cells = row if what == "forecast" and isinstance(row, (list, tuple, np.ndarray)) else ()
                place = next((k for k, cell in enumerate(cells) if not _is_numeric(cell)), None)
                cell = () if place is None else (": ", Expert(place), f" has {cells[place]!r}")
                shown = row.tolist() if isinstance(row, np.ndarray) else row
                message = f"the {what} {shown!r} is not numeric"
                raise StreamError(message, *cell, round=first_round + number, value=shown) from None
        message = f"the {what}s are not an array of numbers: {error}"
        raise StreamError(message) from None


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, or the NA of pandas."""
    try:
        return value is None or (np.ndim(value) == 0 and bool(value != value))  # noqa: PLR0124 - NaN
    except TypeError:  # the NA of pandas cannot be compared
        return True


def asleep(forecasts: Any) -> BoolArray:
    """Return which forecasts are missing: NaN, and in arrays of objects also None and the NA of pandas."""
    if np.issubdtype(forecasts.dtype, np.floating):
        return np.asarray(np.isnan(forecasts), bool)
    if forecasts.dtype != object:
        return np.zeros(forecasts.shape, bool)
    missing = [is_missing(each) for each in forecasts.ravel()]
    return np.array(missing, bool).reshape(forecasts.shape)


def _is_numeric(row: Any) -> bool:
    try:
        floats(row)
    except (TypeError, ValueError):
        return False
    return True


def refuse(values: Any, bad: BoolArray, what: str, why: str, first_round: int) -> None:
    """Raise StreamError for the first bad value, if there is one.

    ``what`` is "forecast" or "outcome", and ``why`` is the second half of the message.
    """
    if not bad.any():
        return
    at = np.unravel_index(int(np.argmax(bad)), bad.shape)
    whose = Expert(int(at[1]), forecast=True) if what == "forecast" and len(at) > 1 else f"the {what}"
    which = (" for ", OutcomeClass(int(at[-1]))) if len(at) > (2 if what == "forecast" else 1) else ()
    words = f" is {values[at]}; {why}"
    raise StreamError(whose, *which, words, round=first_round + int(at[0]), kind=what, value=values[at])
