"""Losses of numbers, and every loss by its name."""

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
    """The forecast is the loss itself, for rules that are told losses and nothing else; outcomes say nothing."""

    id = "given"
    name = "given loss"

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """``f``."""
        return floats(forecast) + 0.0 * floats(outcome)

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """1; NaN for who sleeps."""
        return 1.0 + 0.0 * self.value(forecast, outcome)


@dataclass(frozen=True)
class Square(Loss):
    """``(f − y)²``.

    Examples
    --------
    >>> Square().value([1, 3], 2.5).tolist(), Square().gradient([1, 3], 2.5).tolist()
    ([2.25, 0.25], [-3.0, 1.0])
    """

    id = "square"
    name = "square loss"
    exp_concave = 0.5

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """``(f − y)²``."""
        return np.square(_difference(forecast, outcome))

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """``2 (f − y)``."""
        return 2 * _difference(forecast, outcome)


@dataclass(frozen=True)
class Absolute(Loss):
    """``|f − y|``.

    Examples
    --------
    >>> Absolute().value([1, 2.5, 3], 2.5).tolist(), Absolute().gradient([1, 2.5, 3], 2.5).tolist()
    ([1.5, 0.0, 0.5], [-1.0, 0.0, 1.0])
    """

    id = "absolute"
    name = "absolute loss"

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """``|f − y|``."""
        return np.abs(_difference(forecast, outcome))

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """``sign(f − y)``, which is 0 where the forecast is exact."""
        return np.sign(_difference(forecast, outcome))


@dataclass(frozen=True)
class Percentage(Loss):
    """``|f − y| / |y|``, as a part of 1.

    Examples
    --------
    >>> Percentage().value([3, 5], 4).tolist(), Percentage().gradient([3, 5], 4).tolist()
    ([0.25, 0.25], [-0.25, 0.25])
    """

    id = "percentage"
    name = "percentage loss"

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """``|f − y| / |y|``."""
        return np.abs(_difference(forecast, outcome)) / np.abs(floats(outcome))

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """``sign(f − y) / |y|``, which is 0 where the forecast is exact."""
        return np.sign(_difference(forecast, outcome)) / np.abs(floats(outcome))

    def check(self, forecasts: ArrayLike, outcomes: ArrayLike, *, first_round: int = 0) -> None:
        """No outcome is 0, nor so small that one cannot divide by it."""
        super().check(forecasts, outcomes, first_round=first_round)
        y = floats(outcomes)
        tiny = np.abs(y) < np.finfo(np.float64).tiny
        refuse(y, tiny, "outcome", "the percentage loss divides by it", first_round)


@dataclass(frozen=True)
class Pinball(Loss):
    """``τ (y − f)`` below the outcome, ``(1 − τ)(f − y)`` above: its best constant forecast is the τ-quantile.

    Parameters
    ----------
    tau : float
        0 < τ < 1; at 1/2 it is half the absolute loss.

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
        """With its τ."""
        return f"pinball:{float(self.tau)!r}"

    @property
    def name(self) -> str:
        """With its τ."""
        return f"pinball loss, τ = {self.tau:g}"

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """``τ (y − f)`` or ``(1 − τ)(f − y)``, whichever is positive."""
        d = _difference(forecast, outcome)
        return np.abs(d) * self._slope(d)

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """``−τ`` below the outcome, ``1 − τ`` above, 0 where the forecast is exact."""
        d = _difference(forecast, outcome)
        return np.sign(d) * self._slope(d)

    def _slope(self, d: FloatArray) -> FloatArray:
        return np.where(d > 0, 1 - self.tau, self.tau)


@dataclass(frozen=True)
class Custom(Loss):
    """A loss of one's own, by two functions of arrays ``(forecast, outcome)``: it and its derivative.

    Parameters
    ----------
    function, gradient_function : callable
        Elementwise.
    convex : bool
        Whether it is convex in the forecast: the caller's word, which the bounds rest on.
    exp_concave : float, optional
        As for `Loss`; also the caller's word.

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
    name = "a loss of one's own"

    def value(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return what the function says."""
        return self._shaped(self.function, forecast, outcome)

    def gradient(self, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        """Return what the other function says."""
        return self._shaped(self.gradient_function, forecast, outcome)

    def _shaped(self, function: Function, forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
        f, y = floats(forecast), floats(outcome)
        with np.errstate(invalid="ignore"):  # some functions warn when they are shown the NaN of a sleeper
            said = floats(function(f, y))
        wanted = np.broadcast_shapes(f.shape, y.shape)
        if said.shape not in {wanted, ()}:
            message = f"the loss must work elementwise: it returned the shape {said.shape} where {wanted} was due"
            raise ValueError(message)
        return np.where(np.isnan(f), np.nan, np.broadcast_to(said, wanted))


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
    """Return the loss of that name; ``pinball:0.1`` is the one with τ = 0.1. A Loss is itself.

    Parameters
    ----------
    spec : str, Loss or pair of functions
        A pair is a function and its derivative, both of ``(forecast, outcome)``; it is taken to be convex.

    Examples
    --------
    >>> loss_named("pinball:0.1")
    Pinball(tau=0.1)
    >>> loss_named("huber")
    Traceback (most recent call last):
    ...
    ValueError: no loss 'huber'; there are square, absolute, log, zero-one, percentage, pinball, given, pinball:TAU
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
            "a loss of one's own is a pair (loss, gradient), both functions of (forecast, outcome), but got "
            f"{spec!r}; the square loss would be (lambda f, y: (f - y) ** 2, lambda f, y: 2 * (f - y))"
        )
    return f"no loss {spec!r}; there are {', '.join(LOSSES)}, pinball:TAU"


def _tau(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        message = f"tau must be above 0 and below 1, got {text!r}"
        raise ValueError(message) from None
