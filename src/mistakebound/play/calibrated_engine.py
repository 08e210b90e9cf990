"""Choose a rate online: a growing grid of rates, each with a forecaster of its own; the best so far is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from mistakebound.aggregation.reference import Engine, regrets, weighted_mean_forecast
from mistakebound.play.expert_engine import compiled_if_possible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray
    from mistakebound.aggregation.reference import Forecaster, Served
    from mistakebound.losses import Loss
    from mistakebound.play.expert_engine import CompiledEngine


class Grid(Protocol):
    """What is tried."""

    def first(self, served: Served, outcome: FloatArray) -> float:
        """The value to begin with, by the first losses; not finite if they do not say."""

    def make(self, prior: FloatArray, value: float, other: float) -> Forecaster:
        """A fresh forecaster at this point of the grid."""


class Calibrated:
    """Follow, of a grid of rates, the one with the least loss so far.

    The grid begins with one value, when the first losses differ. When the best stands at an end of it, three more
    values are added beyond, each twice the last, and are taken through the past; but not once it is better than its
    neighbour by less than ``little`` of its loss, for then they are much the same. With ``only``, a value that is
    given, it is the only one. There is no theorem for following the best; each member has its own. A member whose loss
    is not finite is out. The past is kept for newcomers: rounds × experts numbers.

    See docs/theory.md, "Observed rates and rates from a grid".
    """

    factor, step, most, little = 2.0, 3, 80, 1e-6

    def __init__(
        self,
        grid: Grid,
        loss: Loss,
        others: Sequence[float] = (0.0,),
        *,
        prior: FloatArray,
        gradient: bool,
        only: float | None = None,
    ) -> None:
        self.grid, self.others, self.only = grid, tuple(others), only
        self.loss, self.gradient, self.prior = loss, gradient, prior
        self.values: list[float] = []
        self.members: list[list[Engine | CompiledEngine]] = []
        self.totals = np.zeros((0, len(self.others)))
        self.rows: list[FloatArray] = []
        self.outcomes: list[FloatArray] = []
        self.best = (0, len(self.others) // 2)

    def join(self, prior: FloatArray) -> None:
        """Let experts in, who have slept so far."""
        grown = len(prior) - len(self.prior)
        self.prior = prior
        for row in self.members:
            for member in row:
                member.join(prior)
        self.rows = [np.concatenate([row, np.full((grown, *row.shape[1:]), np.nan)]) for row in self.rows]

    def bound(self) -> None:
        """None for the whole."""
        return

    def serve(self, x: FloatArray, awake: BoolArray) -> Served:
        """The forecast of the best member; the prior's mean before there is one."""
        if not self.values:
            p = np.where(awake, self.prior, 0.0)
            return weighted_mean_forecast(x, awake, p / p.sum())
        return self.members[self.best[0]][self.best[1]].serve(_row(x, awake))

    def learn(self, served: Served, outcome: FloatArray) -> tuple[FloatArray, float]:
        """Every member learns from what it would have said."""
        r, h = regrets(self.loss, served, outcome, gradient=self.gradient, any_unit=self.only is None)
        row = _row(served.x, served.awake)
        if self.only is not None and not self.values:
            self._add(self.only, 0, row.ndim)
        if self.only is None:
            self.rows.append(row)
            self.outcomes.append(outcome)
        if self.values:
            rows, outcomes = row[None], outcome[None]
            for i, members in enumerate(self.members):
                self.totals[i] += [self._play(member, rows, outcomes) for member in members]
            best = np.unravel_index(int(np.argmin(self.totals)), self.totals.shape)
            self.best = (int(best[0]), int(best[1]))
            self._grow()
            return r, h
        value = self.grid.first(served, outcome)
        if np.isfinite(value) and value > 0:
            self._add(value, 0, row.ndim)
            self._grow()
        return r, h

    def _play(self, member: Engine | CompiledEngine, rows: FloatArray, outcomes: FloatArray) -> float:
        """Its loss in these rounds; infinite if it could not go on."""
        _, losses, error = member.run(rows, outcomes)
        return float(sum(losses)) if error is None else np.inf

    def _add(self, value: float, place: int, dimensions: int) -> None:
        """A row of members, taken through the past."""
        made = [Engine(self.grid.make(self.prior, value, other), self.loss, self.prior) for other in self.others]
        members = [compiled_if_possible(each, self.prior) if dimensions == 1 else each for each in made]
        rows, outcomes = np.array(self.rows), np.array(self.outcomes)
        total = [self._play(member, rows, outcomes) if len(rows) else 0.0 for member in members]
        self.values.insert(place, value)
        self.members.insert(place, members)
        self.totals = np.insert(self.totals, place, total, axis=0)

    def _grow(self) -> None:
        (i, j), dimensions = self.best, self.rows[-1].ndim if self.rows else 1
        low, high = i == 0, i == len(self.values) - 1
        if self.only is not None or len(self.values) >= self.most:
            return
        if len(self.values) > 1 and (low or high):
            best, neighbour = self.totals[i, j], self.totals[1 if low else -2, j]
            if not neighbour - best > self.little * abs(best):
                return
        if high:
            for _ in range(self.step):
                self._add(self.values[-1] * self.factor, len(self.values), dimensions)
        if low:
            for _ in range(self.step):
                self._add(self.values[0] / self.factor, 0, dimensions)
            self.best = (i + self.step, j)


def _row(x: FloatArray, awake: BoolArray) -> FloatArray:
    """Forecasts as an engine takes them: NaN is asleep."""
    return np.where(awake.reshape(-1, *[1] * (x.ndim - 1)), x, np.nan)
