"""The loop over rounds of expert advice in plain Python: weigh the awake experts, mix their forecasts, learn.

This is the specification. For most rules the core has a compiled version with the same methods (``core/experts``).
An expert without a forecast in a round is asleep in that round. The others are awake.
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
"""If the awake experts have less weight than this, their weights are recomputed among them alone."""
LARGEST, LEAST, LEAST_LOSS = loss_limits()
"""Limits of losses, so that their squares fit into float64.

A round with a loss above LARGEST (1e150) is an error. A difference below LEAST (1e-150) counts as 0. A round whose
largest loss is above 0 but below LEAST_LOSS (1e-135) is an error too, because true differences of losses could be below
LEAST. Rules with a fixed rate (``fixed_rate``) and the losses SCALE_FREE_LOSSES accept such a round.
"""
SCALE_FREE_LOSSES = ("log", "percentage")
"""Losses that do not depend on the unit of the outcomes."""


SUMS = ("regrets", "squares", "losses", "own_losses", "rounds")
"""The sums for each expert k, over the rounds in which k was awake.

``regrets`` is ``R_k`` and ``squares`` is ``V_k``, as the rule learned them (from linearised losses, if it uses
gradients). ``losses`` is the sum of the expert's losses, ``own_losses`` of the learner's losses. ``rounds`` is the
number of these rounds.
"""


@dataclass(frozen=True)
class Served:
    """A forecast, and the data needed to learn from it when the outcome arrives."""

    x: FloatArray
    """Forecasts of the experts (× classes). 0 for an expert that is asleep."""
    awake: BoolArray
    p: FloatArray
    """Weights of the experts, 0 if asleep. They sum to 1, except for ridge."""
    forecast: FloatArray
    """The learner's forecast: one number, or one for each class."""


def weighted_mean_forecast(x: FloatArray, awake: BoolArray, p: FloatArray) -> Served:
    """Return the weighted mean of the forecasts, clipped to their range: a mean of probabilities must not exceed 1."""
    forecasts = x[awake]
    # If all experts with weight have the same forecast, the quotient is exactly that forecast.
    mean = (p @ x if x.ndim > 1 else (p * x).sum()) / p.sum()
    if x.ndim > 1:
        return Served(x, awake, p, np.asarray(np.clip(mean, forecasts.min(axis=0), forecasts.max(axis=0))))
    return Served(x, awake, p, np.asarray(min(max(mean, forecasts.min()), forecasts.max())))


def with_new_experts(served: Served, new: int) -> Served:
    """Return the same forecast with ``new`` more experts at the end, which were asleep."""
    x, awake, p = (
        np.concatenate([a, np.zeros((new, *a.shape[1:]), a.dtype)]) for a in (served.x, served.awake, served.p)
    )
    return Served(x, awake, p, served.forecast)


class Forecaster(Protocol):
    """The interface of an object that mixes forecasts."""

    def join(self, prior: FloatArray) -> None:
        """Add experts at the end. ``prior`` is the prior of all experts."""

    def serve(self, x: FloatArray, awake: BoolArray) -> Served:
        """Mix the forecasts."""

    def learn(self, served: Served, outcome: FloatArray) -> tuple[FloatArray, float]:
        """Learn from the outcome. Return the regret to each expert, and the learner's loss in the same units."""

    def bound(self) -> FloatArray | None:
        """Return a bound on the regret to each expert, or None if no theorem gives one."""


class Mixture:
    """A forecaster that mixes forecasts with the weights of a rule, which learns from regrets."""

    def __init__(self, rule: Rule, loss: Loss, *, gradient: bool) -> None:
        self.rule, self.loss, self.gradient = rule, loss, gradient

    def join(self, prior: FloatArray) -> None:
        """Add experts at the end. ``prior`` is the prior of all experts."""
        self.rule.join(prior)

    def bound(self) -> FloatArray | None:
        """Return the rule's bound on the regret to each expert."""
        return self.rule.bound()

    def serve(self, x: FloatArray, awake: BoolArray) -> Served:
        """Mix the forecasts by the weights of the awake experts."""
        w = np.where(awake, self.rule.weights(), 0.0)
        total = w.sum()
        if not total > SMALLEST:
            w = self.rule.weights_among(awake)
            total = w.sum()
        return weighted_mean_forecast(x, awake, w / total)

    def learn(self, served: Served, outcome: FloatArray) -> tuple[FloatArray, float]:
        """Learn ``r_k``, the learner's loss minus the loss of expert k, both linearised if ``gradient`` is set."""
        r, h = regrets(self.loss, served, outcome, gradient=self.gradient, any_unit=not self.rule.fixed_rate)
        self.rule.learn(r, h)
        self.rule.rounds += 1
        return r, h


class Engine:
    """The loop over rounds for one forecaster and one loss."""

    def __init__(self, forecaster: Forecaster, loss: Loss, prior: FloatArray) -> None:
        self.forecaster, self.loss = forecaster, loss
        self.n = len(prior)
        self.sums = {name: np.zeros(self.n) for name in SUMS}
        self.learned = np.zeros(self.n)
        """The regrets of the last round, as they were learned."""

    def join(self, prior: FloatArray) -> None:
        """Add experts at the end. ``prior`` is the prior of all experts."""
        self.forecaster.join(prior)
        new = np.zeros(len(prior) - self.n)
        self.n = len(prior)
        self.sums = {name: np.concatenate([values, new]) for name, values in self.sums.items()}

    def serve(self, x: FloatArray) -> Served:
        """Mix the forecasts of one round. NaN means that the expert is asleep."""
        missing = np.isnan(x)
        awake = np.asarray(~(missing if x.ndim == 1 else missing.any(axis=1)), bool)
        if not awake.any():
            message = "every expert is asleep"
            raise StreamError(message)
        return self.forecaster.serve(np.where(missing, 0.0, x), awake)

    def learn(self, served: Served, outcome: FloatArray) -> float:
        """Learn from an outcome. Return the learner's loss."""
        loss_of = self.loss.vector_value if served.forecast.ndim else self.loss.value
        x, awake = served.x, served.awake
        with np.errstate(all="ignore"):
            own_loss, losses = float(loss_of(served.forecast, outcome)), loss_of(x, outcome)
        not_finite = awake & ~np.isfinite(losses)
        if not math.isfinite(own_loss):
            raise infinite_loss(own_loss, int(np.argmax(not_finite)) if not_finite.any() else None)
        if not_finite.any():
            k = int(np.argmax(not_finite))
            raise infinite_expert_loss(k, losses[k])
        r, _ = self.forecaster.learn(served, outcome)
        self.learned = r
        all_awake = bool(awake.all())
        added: tuple[FloatArray | float, ...] = (r, r**2, losses, own_loss, 1.0)
        for name, values in zip(SUMS, added, strict=True):
            self.sums[name] += values if all_awake else np.where(awake, values, 0.0)
        return own_loss

    def run(self, A: FloatArray, y: FloatArray) -> tuple[Sequence[Any], list[float], Exception | None]:
        """Play rounds until the end or the first error.

        Returns the forecasts and the losses of the rounds that were played, and the error or None. An error may also
        come from a custom loss function.
        """
        forecasts: list[Any] = []
        losses: list[float] = []
        for number, (x, outcome) in enumerate(zip(A, y, strict=True)):
            try:
                served = self.serve(x)
                losses.append(self.learn(served, np.asarray(outcome)))
            except StreamError as error:
                return forecasts, losses, error.at_round(number)
            except Exception as error:  # noqa: BLE001 - the caller raises it after it has counted these rounds
                return forecasts, losses, error
            forecasts.append(served.forecast if served.forecast.ndim else float(served.forecast))
        return forecasts, losses, None

    def replay(
        self, A: FloatArray, y: FloatArray, recorded: FloatArray, joins: Mapping[int, FloatArray]
    ) -> tuple[list[float], FloatArray]:
        """Play recorded rounds again.

        Parameters
        ----------
        A, y : array
            Forecasts of the experts, and outcomes.
        recorded : array
            The learner's forecasts in the recorded run.
        joins : mapping
            The prior of all experts from each round in which experts joined.

        Returns
        -------
        tuple
            The losses, and the regrets that were learned (rounds × experts): 0 for an expert that was asleep, NaN
            before it joined.
        """
        losses, learned = [], np.full(A.shape[:2], np.nan)
        for t, (x, outcome) in enumerate(zip(A, y, strict=True)):
            if t in joins and t > 0:
                self.join(joins[t])
            served = self.serve(x[: self.n])
            if served.forecast.ndim or float(served.forecast) != recorded[t]:
                served = with_recorded_forecast(served, recorded[t])
            losses.append(self.learn(served, np.asarray(outcome)))
            learned[t, : self.n] = self.learned
        return losses, learned

    def weights(self) -> FloatArray:
        """Return the weights that a round with all experts awake would use."""
        shape = (self.n,)
        return self.forecaster.serve(np.zeros(shape), np.ones(shape, bool)).p

    def bound(self) -> FloatArray | None:
        """Return the rule's bound on the regret to each expert, or None if no theorem gives one."""
        return self.forecaster.bound()


def with_recorded_forecast(served: Served, forecast: FloatArray) -> Served:
    """Replace the forecast by the recorded one if they differ only by rounding.

    A small difference matters where the gradient of the loss jumps.
    """
    near = np.abs(served.forecast - forecast) <= 1e-9 * float(np.abs(served.x).max())
    return replace(served, forecast=np.asarray(forecast)) if near.all() else served


def regrets(
    loss: Loss, served: Served, outcome: FloatArray, *, gradient: bool, any_unit: bool = False
) -> tuple[FloatArray, float]:
    """Return the regret to each expert, 0 if asleep, and the learner's loss in the same units.

    A regret that can be a rounding error is set to 0. Otherwise, if all forecasts are equal, a rule would learn that
    the range of the losses is 1e-16. Losses that are too large to square raise StreamError. With ``any_unit``, losses
    that are all too small to square do, too.
    """
    x = served.x
    size = float(np.abs(x).max())
    if served.forecast.ndim:
        r, h, steep = _vector_regrets(loss, served, outcome, gradient=gradient)
    else:
        forecast = float(served.forecast)  # plain floats are faster than numpy scalars
        slope = float(loss.gradient(forecast, outcome))
        steep = abs(slope)
        h = slope * forecast if gradient else float(loss.value(forecast, outcome))
        r = slope * (forecast - x) if gradient else h - loss.value(x, outcome)
    if math.isnan(steep):
        message = "the gradient of the loss is nan"
        raise StreamError(message)
    noise = steep * size if gradient else steep * size + abs(h) if math.isfinite(steep) else abs(h)
    r = without_rounding(r, served.awake, noise)
    check_not_too_large(r, h)
    if any_unit and 0 < noise < LEAST_LOSS and loss.id not in SCALE_FREE_LOSSES:
        scale = noise + abs(_loss_of(loss, served.forecast, outcome))
        check_not_too_small(scale, np.where(served.awake, np.abs(r), 0.0))
    return r, h


def without_rounding(r: FloatArray, awake: BoolArray, noise: float) -> FloatArray:
    """Return the regrets. It is 0 for a sleeping expert, within rounding error, and if it is too small to square.

    ``noise`` is the size of the losses, which determines the rounding error.
    """
    return np.where(awake & (np.abs(r) > max(16 * EPSILON * noise, LEAST)), r, 0.0)


def check_not_too_large(r: FloatArray, h: float) -> None:
    """Raise StreamError if a regret is too large to square."""
    if not max(float(np.abs(r).max()), abs(h)) <= LARGEST:
        raise too_large(int(np.argmax(np.abs(r))))


def check_not_too_small(scale: float, sizes: FloatArray) -> None:
    """Raise StreamError if the losses are so small that their differences could be below LEAST."""
    if 0 < scale < LEAST_LOSS:
        raise too_small(int(np.argmax(sizes)))


def infinite_loss(own_loss: float, k: int | None) -> StreamError:
    """Return the error for a round in which the learner's loss and that of expert k, unless None, are not finite."""
    words = f"the loss of the forecast is {own_loss}"
    if k is None:
        return StreamError(words, kind="loss", value=own_loss)
    return StreamError(words, ", and so is the loss of ", Expert(k), kind="losses", value=own_loss)


def infinite_expert_loss(k: int, loss: float) -> StreamError:
    """Return the error for a round in which only the loss of expert k is not finite."""
    return StreamError("the loss of ", Expert(k), f" is {loss}", kind="loss", value=loss)


def too_large(k: int) -> StreamError:
    """Return the error for a round whose regrets are too large to square. Expert k has the largest regret."""
    limit = f"): each must be at most {LARGEST:g} in absolute value; scale the numbers down"
    return StreamError("the losses are too large to be squared (largest regret: ", Expert(k), limit, kind="too large")


def too_small(k: int) -> StreamError:
    """Return the error for a round whose losses are too small to square. Expert k has the largest loss."""
    limit = f"): in each round the largest must be 0 or at least {LEAST_LOSS:g} in absolute value; scale the numbers up"
    return StreamError("the losses are too small to be squared (largest: ", Expert(k), limit, kind="too small")


def _loss_of(loss: Loss, forecast: FloatArray, outcome: FloatArray) -> float:
    return float((loss.vector_value if forecast.ndim else loss.value)(forecast, outcome))


def _vector_regrets(
    loss: Loss, served: Served, outcome: FloatArray, *, gradient: bool
) -> tuple[FloatArray, float, float]:
    """Return regrets, the learner's loss, and the 1-norm of its gradient, for forecasts with several classes."""
    x, forecast = served.x, served.forecast
    slope = loss.vector_gradient(forecast, outcome)
    steep = float(np.abs(slope).sum())
    if gradient:
        return (forecast - x) @ slope, float(np.sum(slope * forecast)), steep
    h = float(loss.vector_value(forecast, outcome))
    return h - loss.vector_value(x, outcome), h, steep
