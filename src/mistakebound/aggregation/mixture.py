"""The one loop over experts: weigh those who are awake, mix their forecasts, be told the outcome, learn the regrets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mistakebound.errors import StreamError

if TYPE_CHECKING:
    from mistakebound.aggregation.base import Rule
    from mistakebound.arrays import BoolArray, FloatArray
    from mistakebound.losses import Loss

EPSILON = float(np.finfo(float).eps)
LARGEST, SMALLEST = 1e150, 1e-200


@dataclass(frozen=True)
class Served:
    """A forecast, and all that is needed to learn from it when its outcome is known."""

    x: FloatArray
    """Forecasts of the experts (× classes); 0 asleep."""
    awake: BoolArray
    p: FloatArray
    """Weights, 0 asleep; they sum to 1 (but for ridge)."""
    forecast: FloatArray
    """One number, or one for each class."""


def mean_of(x: FloatArray, awake: BoolArray, p: FloatArray) -> Served:
    """Forecast the weighted mean, which rounding must not put beyond all that was said: no probability is above 1."""
    said = x[awake]
    mean = (p @ x if x.ndim > 1 else np.sum(p * x)) / np.sum(p)  # exactly what all say who have any weight
    return Served(x, awake, p, np.asarray(np.clip(mean, said.min(axis=0), said.max(axis=0))))


def widened(served: Served, new: int) -> Served:
    """The same, with so many experts more, who slept."""
    x, awake, p = (
        np.concatenate([a, np.zeros((new, *a.shape[1:]), a.dtype)]) for a in (served.x, served.awake, served.p)
    )
    return Served(x, awake, p, served.forecast)


class Forecaster(Protocol):
    """What mixes forecasts."""

    def join(self, prior: FloatArray) -> None:
        """Let experts in."""

    def serve(self, x: FloatArray, awake: BoolArray) -> Served:
        """Mix the forecasts."""

    def learn(self, served: Served, outcome: FloatArray) -> tuple[FloatArray, float]:
        """Learn from the outcome; return the regrets that were learned from."""

    def bound(self) -> FloatArray | None:
        """What a theorem allows each regret to be."""


class Mixture:
    """A rule on regrets, at work on forecasts."""

    def __init__(self, rule: Rule, loss: Loss, *, gradient: bool) -> None:
        self.rule, self.loss, self.gradient = rule, loss, gradient

    def join(self, prior: FloatArray) -> None:
        """Let experts in."""
        self.rule.join(prior)

    def bound(self) -> FloatArray | None:
        """The rule's."""
        return self.rule.bound()

    def serve(self, x: FloatArray, awake: BoolArray) -> Served:
        """Mix by the weights of those who are awake; by the prior, if none of them has any weight."""
        w = np.where(awake, self.rule.weights(), 0.0)
        if not w.sum() > SMALLEST:
            w = self.rule.among(awake)
        return mean_of(x, awake, w / w.sum())

    def learn(self, served: Served, outcome: FloatArray) -> tuple[FloatArray, float]:
        """``r_k``: the learner's loss less expert k's; or both made linear at the forecast (the gradient trick)."""
        r, h = regrets(self.loss, served, outcome, gradient=self.gradient)
        self.rule.update(r, h)
        return r, h


def regrets(loss: Loss, served: Served, outcome: FloatArray, *, gradient: bool) -> tuple[FloatArray, float]:
    """Regrets to each expert, 0 asleep, and the learner's loss in the same units.

    What can only be rounding is set to 0: if one expert is awake, or all say the same, the range of the losses must not
    be taken to be 1e-16. What cannot be squared is refused.
    """
    x, forecast = served.x, served.forecast
    vectors = forecast.ndim > 0
    slope = loss.vector_gradient(forecast, outcome) if vectors else loss.gradient(forecast, outcome)
    size = np.abs(x).max()
    if np.isnan(slope).any():
        message = "the gradient of the loss is nan"
        raise StreamError(message)
    if gradient:
        each = (x @ slope) if vectors else x * slope
        h = float(np.sum(slope * forecast))
        r = ((forecast - x) @ slope) if vectors else slope * (forecast - x)
        noise = float(np.abs(slope).sum()) * size
    else:
        each = loss.vector_value(x, outcome) if vectors else loss.value(x, outcome)
        h = float(loss.vector_value(forecast, outcome) if vectors else loss.value(forecast, outcome))
        r = h - each
        noise = abs(h) if not np.all(np.isfinite(slope)) else float(np.abs(slope).sum()) * size + abs(h)
    r = np.where(served.awake & (np.abs(r) > 16 * EPSILON * noise), r, 0.0)
    if max(float(np.abs(r).max()), abs(h)) > LARGEST:
        message = "the losses are too large to be squared; scale the values down"
        raise StreamError(message)
    return r, h
