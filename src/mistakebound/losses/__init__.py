"""Loss functions, each with its derivative with respect to the forecast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound.losses.base import Loss
from mistakebound.losses.labels import Log, ZeroOne
from mistakebound.losses.numbers import LOSSES, Absolute, Custom, Given, Percentage, Pinball, Square, loss_named

if TYPE_CHECKING:
    from mistakebound.losses.numbers import LossLike as LossLike

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
