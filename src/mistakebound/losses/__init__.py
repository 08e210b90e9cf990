"""Loss functions, each with its derivative with respect to the forecast."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mistakebound.losses.base import Loss
from mistakebound.losses.labels import Log, ZeroOne
from mistakebound.losses.numbers import Absolute, Custom, Given, Percentage, Pinball, Square

if TYPE_CHECKING:
    from mistakebound.losses.numbers import Function

    LossLike: TypeAlias = "str | Loss | tuple[Function, Function]"

__all__ = [
    "LOSSES",
    "Absolute",
    "Custom",
    "Given",
    "Log",
    "Loss",
    "Percentage",
    "Pinball",
    "Square",
    "ZeroOne",
    "loss_named",
]

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
