"""The loop over rounds of advice in plain Python: weigh the awake experts, mix their forecasts, learn from regrets.

This is the specification; the core has a twin of it for most rules (``core/experts``), with the same methods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mistakebound._core import loss_limits
from mistakebound.errors import Expert, StreamError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray
    from mistakebound.aggregation.base import Rule
    from mistakebound.losses import Loss

EPSILON = float(np.finfo(float).eps)
SMALLEST = 1e-200
"""Weight of those awake below which it is computed anew without the others."""
LARGEST, LEAST, LEAST_LOSS = loss_limits()
"""Limits of losses, so that squares fit into float64. A round with a loss above LARGEST (1e150) is refused. Differences
below LEAST (1e-150) are 0. A round whose largest loss is above 0 but below LEAST_LOSS (1e-135) is refused, because real
differences could be among those; rules with a fixed rate (``has_unit``) and losses in HAVE_UNITS accept it."""
HAVE_UNITS = ("log", "percentage")


SUMS = ("regrets", "squares", "losses", "own_losses", "rounds")
"""For each expert, over the rounds in which it was awake: ``R_k`` and ``V_k`` as they were learned from (made linear by
the gradient trick), its losses, the learner's losses, and the number of those rounds."""


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
    mean = (p @ x if x.ndim > 1 else (p * x).sum()) / p.sum()  # exactly what all say who have any weight
    if x.ndim > 1:
        return Served(x, awake, p, np.asarray(np.clip(mean, said.min(axis=0), said.max(axis=0))))
    return Served(x, awake, p, np.asarray(min(max(mean, said.min()), said.max())))


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
        total = w.sum()
        if not total > SMALLEST:
            w = self.rule.among(awake)
            total = w.sum()
        return mean_of(x, awake, w / total)

    def learn(self, served: Served, outcome: FloatArray) -> tuple[FloatArray, float]:
        """``r_k``: the learner's loss less expert k's; or both made linear at the forecast (the gradient trick)."""
        r, h = regrets(self.loss, served, outcome, gradient=self.gradient, any_unit=not self.rule.has_unit)
        self.rule.learn(r, h)
        self.rule.rounds += 1
        return r, h


class Engine:
    """One forecaster, one loss, one loop."""

    def __init__(self, forecaster: Forecaster, loss: Loss, prior: FloatArray) -> None:
        self.forecaster, self.loss = forecaster, loss
        self.n = len(prior)
        self.sums = {name: np.zeros(self.n) for name in SUMS}
        self.learned = np.zeros(self.n)
        """Regrets that the last round was learned from."""

    def join(self, prior: FloatArray) -> None:
        """Let experts in at the end; ``prior`` is that of all."""
        self.forecaster.join(prior)
        new = np.zeros(len(prior) - self.n)
        self.n = len(prior)
        self.sums = {name: np.concatenate([values, new]) for name, values in self.sums.items()}

    def serve(self, x: FloatArray) -> Served:
        """Mix forecasts; NaN is asleep."""
        missing = np.isnan(x)
        awake = np.asarray(~(missing if x.ndim == 1 else missing.any(axis=1)), bool)
        if not awake.any():
            message = "every expert is asleep"
            raise StreamError(message)
        return self.forecaster.serve(np.where(missing, 0.0, x), awake)

    def learn(self, served: Served, outcome: FloatArray) -> float:
        """Learn from an outcome; return the learner's loss."""
        of = self.loss.vector_value if served.forecast.ndim else self.loss.value
        x, awake = served.x, served.awake
        with np.errstate(all="ignore"):
            mine, theirs = float(of(served.forecast, outcome)), of(x, outcome)
        lost = awake & ~np.isfinite(theirs)
        if not math.isfinite(mine):
            raise infinite_loss(mine, int(np.argmax(lost)) if lost.any() else None)
        if lost.any():
            k = int(np.argmax(lost))
            raise loss_of_expert(k, theirs[k])
        r, _ = self.forecaster.learn(served, outcome)
        self.learned = r
        everybody = bool(awake.all())
        added: tuple[FloatArray | float, ...] = (r, r**2, theirs, mine, 1.0)
        for name, values in zip(SUMS, added, strict=True):
            self.sums[name] += values if everybody else np.where(awake, values, 0.0)
        return mine

    def run(self, A: FloatArray, y: FloatArray) -> tuple[Sequence[Any], list[float], Exception | None]:
        """Round after round, until one is refused, or a loss of one's own raises: forecasts, losses, and why."""
        forecasts: list[Any] = []
        losses: list[float] = []
        for number, (x, outcome) in enumerate(zip(A, y, strict=True)):
            try:
                served = self.serve(x)
                losses.append(self.learn(served, np.asarray(outcome)))
            except StreamError as error:
                return forecasts, losses, error.at_round(number)
            except Exception as error:  # noqa: BLE001 - for the caller to raise, when it has counted these rounds
                return forecasts, losses, error
            forecasts.append(served.forecast if served.forecast.ndim else float(served.forecast))
        return forecasts, losses, None

    def replay(
        self, A: FloatArray, y: FloatArray, told: FloatArray, joins: Mapping[int, FloatArray]
    ) -> tuple[list[float], FloatArray]:
        """Play rounds again that were told these forecasts; ``joins`` has the prior since each round with newcomers.

        Returns the losses and the regrets that were learned from: rounds × experts, 0 asleep, NaN before one came.
        """
        losses, learned = [], np.full(A.shape[:2], np.nan)
        for t, (x, outcome) in enumerate(zip(A, y, strict=True)):
            if t in joins and t > 0:
                self.join(joins[t])
            served = self.serve(x[: self.n])
            if served.forecast.ndim or float(served.forecast) != told[t]:
                served = as_told(served, told[t])
            losses.append(self.learn(served, np.asarray(outcome)))
            learned[t, : self.n] = self.learned
        return losses, learned

    def weights(self) -> FloatArray:
        """Weights if everybody is awake."""
        shape = (self.n,)
        return self.forecaster.serve(np.zeros(shape), np.ones(shape, bool)).p

    def bound(self) -> FloatArray | None:
        """What the rule's theorem allows each expert's regret to be."""
        return self.forecaster.bound()


def as_told(served: Served, forecast: FloatArray) -> Served:
    """The same with the forecast that was told, if that differs by rounding alone: at a kink of a loss that is much."""
    near = np.abs(served.forecast - forecast) <= 1e-9 * float(np.abs(served.x).max())
    return replace(served, forecast=np.asarray(forecast)) if near.all() else served


def regrets(
    loss: Loss, served: Served, outcome: FloatArray, *, gradient: bool, any_unit: bool = False
) -> tuple[FloatArray, float]:
    """Regrets to each expert, 0 asleep, and the learner's loss in the same units.

    What can only be rounding is set to 0: if one expert is awake, or all say the same, the range of the losses must not
    be taken to be 1e-16. What cannot be squared is refused; with ``any_unit``, losses that are all too small, too.
    """
    x = served.x
    size = float(np.abs(x).max())
    if served.forecast.ndim:
        r, h, steep = _of_vectors(loss, served, outcome, gradient=gradient)
    else:
        forecast = float(served.forecast)  # numpy is slow with single numbers
        slope = float(loss.gradient(forecast, outcome))
        steep = abs(slope)
        h = slope * forecast if gradient else float(loss.value(forecast, outcome))
        r = slope * (forecast - x) if gradient else h - loss.value(x, outcome)
    if math.isnan(steep):
        message = "the gradient of the loss is nan"
        raise StreamError(message)
    noise = steep * size if gradient else steep * size + abs(h) if math.isfinite(steep) else abs(h)
    r = without_rounding(r, served.awake, noise)
    refuse_sizes(r, h)
    if any_unit and 0 < noise < LEAST_LOSS and loss.id not in HAVE_UNITS:
        refuse_small(noise + abs(_loss_of(loss, served.forecast, outcome)), np.where(served.awake, np.abs(r), 0.0))
    return r, h


def without_rounding(r: FloatArray, awake: BoolArray, noise: float) -> FloatArray:
    """Regrets, 0 asleep and where they can only be rounding of losses of this size, or have no square."""
    return np.where(awake & (np.abs(r) > max(16 * EPSILON * noise, LEAST)), r, 0.0)


def refuse_sizes(r: FloatArray, h: float) -> None:
    """Raise for regrets that have no square."""
    if not max(float(np.abs(r).max()), abs(h)) <= LARGEST:
        raise too_large(int(np.argmax(np.abs(r))))


def refuse_small(scale: float, sizes: FloatArray) -> None:
    """Raise for losses none of which is large enough to be told from the others."""
    if 0 < scale < LEAST_LOSS:
        raise too_small(int(np.argmax(sizes)))


def infinite_loss(mine: float, k: int | None) -> StreamError:
    """The error for a round in which the learner's loss is not finite, and mostly that of expert k, too."""
    words = f"the loss of the forecast is {mine}"
    if k is None:
        return StreamError(words, kind="loss", value=mine)
    return StreamError(words, ", as is that of ", Expert(k), kind="losses", value=mine)


def loss_of_expert(k: int, loss: float) -> StreamError:
    """The error for a round in which only the loss of expert k is not finite."""
    return StreamError("the loss of ", Expert(k), f" is {loss}", kind="loss", value=loss)


def too_large(k: int) -> StreamError:
    """The error for a round whose regrets have no square; that of expert k is the largest."""
    limit = f"): each must be at most {LARGEST:g} in absolute value; scale the numbers down"
    return StreamError("the losses are too large to be squared (largest regret: ", Expert(k), limit, kind="too large")


def too_small(k: int) -> StreamError:
    """The error for a round whose losses are nearly nothing; that of expert k is the largest."""
    limit = f"): in each round the largest must be 0 or at least {LEAST_LOSS:g} in absolute value; scale the numbers up"
    return StreamError("the losses are too small to be squared (largest: ", Expert(k), limit, kind="too small")


def _loss_of(loss: Loss, forecast: FloatArray, outcome: FloatArray) -> float:
    return float((loss.vector_value if forecast.ndim else loss.value)(forecast, outcome))


def _of_vectors(loss: Loss, served: Served, outcome: FloatArray, *, gradient: bool) -> tuple[FloatArray, float, float]:
    """Regrets, the learner's loss, and how steep it is, of forecasts with several numbers."""
    x, forecast = served.x, served.forecast
    slope = loss.vector_gradient(forecast, outcome)
    steep = float(np.abs(slope).sum())
    if gradient:
        return (forecast - x) @ slope, float(np.sum(slope * forecast)), steep
    h = float(loss.vector_value(forecast, outcome))
    return h - loss.vector_value(x, outcome), h, steep
