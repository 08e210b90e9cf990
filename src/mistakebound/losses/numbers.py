"""Losses for numeric outcomes, and the lookup of a loss by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from mistakebound._support.lazy import np
from mistakebound.losses.base import Loss, floats, refuse
from mistakebound.losses.labels import Log, ZeroOne

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from mistakebound._support.arrays import FloatArray

    Function: TypeAlias = Callable[[FloatArray, FloatArray], ArrayLike]
    LossLike: TypeAlias = "str | Loss | tuple[Function, Function]"


@dataclass(frozen=True)
class Given(Loss):
    """The forecast is the loss itself. For rules that get losses instead of forecasts; the outcome is ignored."""

    id = "given"
    name = "given loss"

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return ``f``."""
        return floats(forecast) + 0.0 * floats(outcome)

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return 1, or NaN if the expert is asleep."""
        return 1.0 + 0.0 * self.value(forecast, outcome)


@dataclass(frozen=True)
class Square(Loss):
    """The square loss, ``(f − y)²``.

    Examples
    --------
    >>> Square().value([1, 3], 2.5).tolist(), Square().gradient([1, 3], 2.5).tolist()
    ([2.25, 0.25], [-3.0, 1.0])
    """

    id = "square"
    name = "square loss"
    exp_concave = 0.5

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return ``(f − y)²``."""
        return np.square(_difference(forecast, outcome))

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return ``2 (f − y)``."""
        return 2 * _difference(forecast, outcome)


@dataclass(frozen=True)
class Absolute(Loss):
    """The absolute loss, ``|f − y|``.

    Examples
    --------
    >>> Absolute().value([1, 2.5, 3], 2.5).tolist(), Absolute().gradient([1, 2.5, 3], 2.5).tolist()
    ([1.5, 0.0, 0.5], [-1.0, 0.0, 1.0])
    """

    id = "absolute"
    name = "absolute loss"

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return ``|f − y|``."""
        return np.abs(_difference(forecast, outcome))

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return ``sign(f − y)``, which is 0 if the forecast equals the outcome."""
        return np.sign(_difference(forecast, outcome))


@dataclass(frozen=True)
class Percentage(Loss):
    """The percentage loss, ``|f − y| / |y|``, as a fraction: 0.25 means 25 %.

    Examples
    --------
    >>> Percentage().value([3, 5], 4).tolist(), Percentage().gradient([3, 5], 4).tolist()
    ([0.25, 0.25], [-0.25, 0.25])
    """

    id = "percentage"
    name = "percentage loss"

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return ``|f − y| / |y|``."""
        return np.abs(_difference(forecast, outcome)) / np.abs(floats(outcome))

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return ``sign(f − y) / |y|``, which is 0 if the forecast equals the outcome."""
        return np.sign(_difference(forecast, outcome)) / np.abs(floats(outcome))

    def check(self, forecasts: ArrayLike, outcomes: ArrayLike, *, first_round: int = 0) -> None:
        """Raise StreamError as `Loss.check` does, and also if an outcome is 0 or too small to divide by."""
        super().check(forecasts, outcomes, first_round=first_round)
        y = floats(outcomes)
        tiny = np.abs(y) < np.finfo(np.float64).tiny
        refuse(y, tiny, "outcome", "the percentage loss cannot divide by it", first_round)


@dataclass(frozen=True)
class Pinball(Loss):
    """The pinball loss: ``τ (y − f)`` if f < y, otherwise ``(1 − τ)(f − y)``. Its best constant is the τ-quantile.

    Parameters
    ----------
    tau : float
        0 < τ < 1. With τ = 1/2 it is half the absolute loss.

    Examples
    --------
    >>> Pinball(0.25).value([1, 2, 3], 2).tolist(), Pinball(0.25).gradient([1, 2, 3], 2).tolist()
    ([0.25, 0.0, 0.75], [-0.25, 0.0, 0.75])
    """

    tau: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.tau < 1:
            message = f"tau must be above 0 and below 1, got {self.tau!r}"
            raise ValueError(message)

    @property
    def id(self) -> str:
        """The name that `loss_named` accepts, such as ``pinball:0.1``."""
        return f"pinball:{float(self.tau)!r}"

    @property
    def name(self) -> str:
        """The name in reports, with τ."""
        return f"pinball loss, τ = {self.tau:g}"

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return ``τ (y − f)`` if f < y, otherwise ``(1 − τ)(f − y)``."""
        d = _difference(forecast, outcome)
        return np.abs(d) * self._slope(d)

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return ``−τ`` if f < y, ``1 − τ`` if f > y, and 0 if f = y."""
        d = _difference(forecast, outcome)
        return np.sign(d) * self._slope(d)

    def _slope(self, d: FloatArray) -> FloatArray:
        return np.where(d > 0, 1 - self.tau, self.tau)


@dataclass(frozen=True)
class Custom(Loss):
    """A loss that the caller defines by two functions of arrays ``(forecast, outcome)``.

    Parameters
    ----------
    function, gradient_function : callable
        The loss and its derivative with respect to the forecast. Both must work elementwise.
    convex : bool
        Whether it is convex in the forecast. This is not checked, and the bounds assume it.
    exp_concave : float, optional
        As for `Loss`. This is not checked either.

    Examples
    --------
    >>> import numpy as np
    >>> loss = Custom(lambda f, y: np.cosh(f - y) - 1, lambda f, y: np.sinh(f - y))
    >>> loss.value([1, 2], 2).round(3).tolist()
    [0.543, 0.0]
    """

    function: Function
    gradient_function: Function
    convex: bool = True
    exp_concave: float | None = None

    id = "custom"
    name = "custom loss"

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return the value of the loss function."""
        return self._shaped(self.function, forecast, outcome)

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return the value of the gradient function."""
        return self._shaped(self.gradient_function, forecast, outcome)

    def _shaped(self, function: Function, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        f, y = floats(forecast), floats(outcome)
        with np.errstate(invalid="ignore"):  # some functions warn about the NaN of an expert that is asleep
            values = floats(function(f, y))
        expected = np.broadcast_shapes(f.shape, y.shape)
        if values.shape not in {expected, ()}:
            message = f"a custom loss must return an array of shape {expected}, got shape {values.shape}"
            raise ValueError(message)
        return np.where(np.isnan(f), np.nan, np.broadcast_to(values, expected))


def _difference(forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
    return np.asarray(np.asarray(forecast, np.float64) - np.asarray(outcome, np.float64))


LOSSES: dict[str, type[Loss]] = {
    "square": Square,
    "absolute": Absolute,
    "log": Log,
    "zero-one": ZeroOne,
    "percentage": Percentage,
    "pinball": Pinball,
    "given": Given,
}


def loss_named(spec: LossLike) -> Loss:
    """Return the loss with this name, such as ``"square"`` or ``"pinball:0.1"`` (τ = 0.1).

    Parameters
    ----------
    spec : str, Loss or pair of functions
        A Loss is returned unchanged. A pair is a loss function and its derivative, both of ``(forecast, outcome)``; the
        loss is assumed to be convex.

    Raises
    ------
    ValueError
        If there is no such loss.

    Examples
    --------
    >>> loss_named("pinball:0.1")
    Pinball(tau=0.1)
    >>> loss_named("huber")  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    ...
    ValueError: there is no loss 'huber';
        choose square, absolute, log, zero-one, percentage, pinball, given or pinball:TAU
    """
    if isinstance(spec, Loss):
        return spec
    if isinstance(spec, str):
        kind, colon, tau = spec.partition(":")
        if not colon and kind in LOSSES:
            return LOSSES[kind]()
        if colon and kind == "pinball":
            return Pinball(_tau(tau))
    elif isinstance(spec, (tuple, list)) and len(spec) == 2 and all(map(callable, spec)):
        return Custom(*spec)
    raise ValueError(_reason(spec))


def _reason(spec: object) -> str:
    if callable(spec):
        return (
            f"a custom loss must be a pair (loss, gradient) of functions of (forecast, outcome), got {spec!r}; for "
            "example, the square loss is (lambda f, y: (f - y) ** 2, lambda f, y: 2 * (f - y))"
        )
    return f"there is no loss {spec!r}; choose {', '.join(LOSSES)} or pinball:TAU"


def _tau(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        message = f"tau must be above 0 and below 1, got {text!r}"
        raise ValueError(message) from None
