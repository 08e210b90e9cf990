"""The compiled engine of a rule over experts, with the methods of the reference `Engine`; and the choice of one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._core import Mixture as CoreMixture
from mistakebound.aggregation.reference import (
    LARGEST,
    LEAST_LOSS,
    SUMS,
    Engine,
    Mixture,
    Served,
    infinite_expert_loss,
    infinite_loss,
    too_large,
    too_small,
    without_rounding,
)
from mistakebound.aggregation.registry import BY_RULE, VARIANTS
from mistakebound.errors import Expert, StreamError
from mistakebound.losses import Pinball

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mistakebound._core import Complaint
    from mistakebound._support.arrays import FloatArray
    from mistakebound.losses import Loss

COMPILED_LOSSES = frozenset({"square", "absolute", "percentage", "pinball", "log", "given"})


class CompiledEngine:
    """The engine of one rule with one loss in the core. A forecast is a number."""

    def __init__(
        self, rule: str, parameters: Mapping[str, float], loss: Loss, prior: FloatArray, *, gradient: bool
    ) -> None:
        self.rule, self.loss = rule, loss
        kind, tau = (loss.id.partition(":")[0], loss.tau) if isinstance(loss, Pinball) else (loss.id, 0.5)
        kind = "absolute" if kind == "given" else kind  # given losses are passed to the core by `run_losses`
        self.core = CoreMixture(rule, dict(parameters), kind, tau, gradient, _row(prior))

    @property
    def n(self) -> int:
        """Number of experts."""
        return self.core.experts()

    @property
    def sums(self) -> dict[str, FloatArray]:
        """Sums for each expert over the rounds in which it was awake; see `SUMS`."""
        return self.core.sums()

    def join(self, prior: FloatArray) -> None:
        """Add experts at the end; ``prior`` has the weights of all experts."""
        self.core.join(_row(prior))

    def serve(self, x: FloatArray) -> Served:
        """Return the mix of forecasts; NaN is an expert that sleeps."""
        row = _row(x)
        forecast, p, fault = self.core.serve(row)
        if p is None or fault is not None:
            raise self._error(fault or (0, 0, ""), row, np.nan, None)
        awake = ~np.isnan(row)
        return Served(np.where(awake, row, 0.0), awake, p, np.asarray(forecast))

    def learn(self, served: Served, outcome: FloatArray | float) -> float:
        """Learn from an outcome; return the learner's loss."""
        row = np.where(served.awake, served.x, np.nan)
        y = float(outcome)
        if self.loss.id == "given":
            losses, error = self.run_losses(row[None])
            if error is not None:
                raise error.at_round(None)
            return float(losses[0])
        loss, fault = self.core.learn(row, float(served.forecast), y)
        if fault is not None:
            raise self._error(fault, row, y, None)
        return loss

    def run(self, A: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, StreamError | None]:
        """Run rounds until one raises an error; return forecasts, losses and the error."""
        if self.loss.id == "given":
            losses, error = self.run_losses(A)
            return losses, losses, error
        rows, outcomes = _rows(A), _row(y)
        forecasts, losses, fault = self.core.run(rows, outcomes)
        if fault is None:
            return forecasts, losses, None
        return forecasts, losses, self._error(fault, rows[fault[0]], outcomes[fault[0]], fault[0])

    def run_losses(self, L: FloatArray) -> tuple[FloatArray, StreamError | None]:
        """Learn from losses, rounds × experts, NaN asleep; the learner's loss is their weighted mean."""
        rows = _rows(L)
        losses, fault = self.core.run_losses(rows)
        return losses, None if fault is None else loss_error(rows[fault[0]], fault[0], fault[2])

    def weights(self) -> FloatArray:
        """Return the weights if all experts are awake."""
        return self.core.weights()

    def _loss_of(self, forecast: float, y: float) -> float:
        with np.errstate(all="ignore"):
            return float(self.loss.value(forecast, y))

    def _error(self, fault: Complaint, row: FloatArray, y: float, number: int | None) -> StreamError:
        _, k, kind = fault
        forecasts, outcomes = row[None], np.array([y])
        if kind in {"infinite forecast", "forecast domain", "infinite outcome", "outcome domain"}:
            try:
                if kind.endswith("forecast") or kind.startswith("forecast"):
                    outcomes = np.ones(1)
                self.loss.check(forecasts, outcomes, first_round=number or 0)
            except StreamError as error:
                return error.at_round(number)
        if kind == "all asleep":
            return StreamError("every expert is asleep", kind=kind, round=number)
        if kind == "own loss":
            return infinite_loss(math.inf, k if k < len(row) else None).at_round(number)
        if kind == "loss":
            return infinite_expert_loss(k, self._loss_of(row[min(k, len(row) - 1)], y)).at_round(number)
        return (too_small(k) if kind == "too small" else too_large(k)).at_round(number)


class LossEngine(Engine):
    """The reference engine, with a method that learns from losses without forecasts."""

    def run_losses(self, L: FloatArray) -> tuple[FloatArray, StreamError | None]:
        """Learn from losses, rounds × experts, NaN asleep; the learner's loss is their weighted mean."""
        rows, losses = _rows(L), np.zeros(len(L))
        if not isinstance(self.forecaster, Mixture):
            message = f"{type(self.forecaster).__name__} cannot learn from losses without forecasts"
            raise TypeError(message)
        for number, row in enumerate(rows):
            awake = ~np.isnan(row)
            if not awake.any() or np.abs(row[awake]).max() > LARGEST:
                return losses[:number], loss_error(row, number)
            served = self.forecaster.serve(np.where(awake, row, 0.0), awake)
            h = float(served.forecast)
            noise = float(np.abs(served.x).max()) + abs(h)
            if 0 < noise + abs(h) < LEAST_LOSS and not self.forecaster.rule.fixed_rate:
                return losses[:number], loss_error(row, number, "too small")
            losses[number] = h
            r = without_rounding(h - served.x, awake, noise)
            self.forecaster.rule.update(r, h)
            for name, added in zip(SUMS, (r, r**2, served.x, awake * h, awake * 1.0), strict=True):
                self.sums[name] += added
        return losses, None


def engine_for(
    rule: str,
    parameters: Mapping[str, float],
    loss: Loss,
    gradient: bool,  # noqa: FBT001 - in the order of the core
    prior: FloatArray,
) -> CompiledEngine | LossEngine:
    """Return an engine for a rule of the registry: the core's if it has one, otherwise the reference.

    A forecast is a number.

    Examples
    --------
    >>> from mistakebound.losses import Square
    >>> engine = engine_for("ml-poly", {}, Square(), True, np.full(2, 0.5))
    >>> forecasts, losses, _ = engine.run(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([1.0, 1.0]))
    >>> [float(value) for value in forecasts], [float(value) for value in losses]
    ([0.5, 1.0], [0.25, 0.0])
    """
    variant = VARIANTS[rule]
    if variant.compiled and loss.id.partition(":")[0] in COMPILED_LOSSES:
        return CompiledEngine(rule, parameters, loss, prior, gradient=gradient)
    made: Any = variant.rule
    return LossEngine(Mixture(made(prior, **parameters), loss, gradient=gradient), loss, prior)


def compiled_if_possible(specified: Engine, prior: FloatArray) -> Engine | CompiledEngine:
    """Return a new engine of the core with the rule of ``specified``; or ``specified``, if the core does not have it.

    A forecast must be a number. ``specified`` must not have learned yet.
    """
    mixture, loss = specified.forecaster, specified.loss
    if not isinstance(mixture, Mixture) or loss.id.partition(":")[0] not in COMPILED_LOSSES:
        return specified
    variant = BY_RULE.get(type(mixture.rule))
    if variant is None or not variant.compiled:
        return specified
    if getattr(mixture.rule, "alpha", 1) == 0:  # without a share, weights may underflow
        return specified
    parameters = {each: float(getattr(mixture.rule, each)) for each in variant.needs}
    return CompiledEngine(variant.name, parameters, loss, prior, gradient=mixture.gradient)


def run_keeping_weights(
    engine: Engine | CompiledEngine, A: FloatArray, y: FloatArray
) -> tuple[list[Any], list[float], Exception | None, list[FloatArray]]:
    """Run rounds one at a time; return what ``engine.run`` returns, and the weights of each round."""
    forecasts: list[Any] = []
    losses: list[float] = []
    weights: list[FloatArray] = []
    for number in range(len(A)):
        try:
            before = engine.serve(A[number]).p.copy()
        except StreamError:
            before = np.zeros(0)  # engine.run below returns this error
        forecast, loss, fault = engine.run(A[number : number + 1], y[number : number + 1])
        if fault is not None and not isinstance(fault, StreamError):
            return forecasts, losses, fault, weights
        if fault is not None:
            return forecasts, losses, fault.at_round(number), weights
        forecasts.extend(forecast)
        losses.extend(loss)
        weights.append(before)
    return forecasts, losses, None, weights


def loss_error(row: FloatArray, number: int, kind: str = "") -> StreamError:
    """Return the error for a row of losses that cannot be learned."""
    if np.isnan(row).all():
        return StreamError("every expert is asleep", round=number)
    k = int(np.nanargmax(np.abs(row)))
    if kind == "too small":
        return too_small(k).at_round(number)
    limit = f" must be at most {LARGEST:g} in absolute value, or NaN if the expert sleeps, got {row[k]}"
    return StreamError("the loss of ", Expert(k), limit, kind="too large", round=number, value=row[k])


def _row(values: Any) -> FloatArray:
    return np.ascontiguousarray(values, np.float64)


def _rows(values: Any) -> FloatArray:
    return np.ascontiguousarray(values, np.float64)
