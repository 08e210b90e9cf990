"""Choose a rate online from a growing grid: each rate has a forecaster, and the best one so far is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mistakebound.aggregation.reference import Engine, regrets, weighted_mean_forecast
from mistakebound.play.expert_engine import compiled_if_possible
from mistakebound.play.stacked_members import stacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray
    from mistakebound.aggregation.reference import Forecaster, Served
    from mistakebound.losses import Loss
    from mistakebound.play.expert_engine import CompiledEngine
    from mistakebound.play.stacked_members import StackedMembers


class Grid(Protocol):
    """The values of a grid, and the forecaster of each value."""

    def first(self, served: Served, outcome: FloatArray) -> float:
        """Return the first value, from the losses of a round; not finite if they do not determine one."""

    def make(self, prior: FloatArray, value: float, other: float) -> Forecaster:
        """Return a new forecaster for this value; ``other`` is the value of a second parameter."""


class Calibrated:
    """Follow the member of a grid with the smallest loss so far; there is a member for each rate.

    The grid begins with one value, when the first losses differ. If the best value is at an end of the grid, three
    values are added beyond it, each larger (or smaller) by ``factor``, and their members run through the past rounds.
    No value is added if the best is better than its neighbour by less than ``little`` of its loss. If ``only`` is set,
    it is the only value. A member whose loss is not finite is never followed. All past rounds are kept for new members:
    rounds × experts numbers. There is no theorem on following the best member, only on each member.

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
        self._together: StackedMembers | None = None
        """All members; None if they have changed since, or cannot be stacked."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the stack, because the arrays of a copy are not views of it."""
        return vars(self) | {"_together": None}

    def join(self, prior: FloatArray) -> None:
        """Add experts at the end; they have slept so far."""
        grown = len(prior) - len(self.prior)
        self.prior, self._together = prior, None
        for row in self.members:
            for member in row:
                member.join(prior)
        self.rows = [np.concatenate([row, np.full((grown, *row.shape[1:]), np.nan)]) for row in self.rows]

    def bound(self) -> None:
        """Return None: there is no theorem on the whole grid."""
        return

    def serve(self, x: FloatArray, awake: BoolArray) -> Served:
        """Return the forecast of the best member; before there is one, the mean weighted by the prior."""
        if not self.values:
            p = np.where(awake, self.prior, 0.0)
            return weighted_mean_forecast(x, awake, p / p.sum())
        return self.members[self.best[0]][self.best[1]].serve(_row(x, awake))

    def learn(self, served: Served, outcome: FloatArray) -> tuple[FloatArray, float]:
        """Let every member learn from its own forecast; return the regrets and the loss of the forecast made."""
        r, h = regrets(self.loss, served, outcome, gradient=self.gradient, any_unit=self.only is None)
        row = _row(served.x, served.awake)
        if self.only is not None and not self.values:
            self._add_values([self.only], 0, row.ndim)
        if self.only is None:
            self.rows.append(row)
            self.outcomes.append(outcome)
        if self.values:
            if self._together is None:
                self._together = stacked([member for members in self.members for member in members])
            self.totals += self._losses_of(self._together, self.members, row[None], outcome[None])
            best = np.unravel_index(int(np.argmin(self.totals)), self.totals.shape)
            self.best = (int(best[0]), int(best[1]))
            self._grow()
            return r, h
        value = self.grid.first(served, outcome)
        if np.isfinite(value) and value > 0:
            self._add_values([value], 0, row.ndim)
            self._grow()
        return r, h

    def _losses_of(
        self,
        together: StackedMembers | None,
        members: list[list[Engine | CompiledEngine]],
        rows: FloatArray,
        outcomes: FloatArray,
    ) -> FloatArray:
        """Let members learn these rounds; return the loss of each, infinite if a round raises an error.

        ``together`` are the same members stacked; None if they cannot be.
        """
        totals = np.zeros((len(members), len(self.others)))
        alone = 0
        while together is not None and alone < len(rows):
            losses = together.learn(rows[alone], outcomes[alone])
            if losses is None:
                break
            totals += losses.reshape(totals.shape)
            alone += 1
        if alone < len(rows):
            self._together = None  # a member that learns alone replaces its arrays
            for i, row in enumerate(members):
                totals[i] += [_loss_of(member, rows[alone:], outcomes[alone:]) for member in row]
        return totals

    def _add_values(self, values: Sequence[float], place: int, dimensions: int) -> None:
        """Add the members of values, and let them learn the past rounds."""
        engines = [
            [Engine(self.grid.make(self.prior, value, other), self.loss, self.prior) for other in self.others]
            for value in values
        ]
        members = [
            [compiled_if_possible(each, self.prior) if dimensions == 1 else each for each in row] for row in engines
        ]
        total = np.zeros((len(values), len(self.others)))
        if self.rows:
            together = stacked([member for row in members for member in row])
            total = self._losses_of(together, members, np.array(self.rows), np.array(self.outcomes))
        self._together = None
        self.values[place:place] = values
        self.members[place:place] = members
        self.totals = np.insert(self.totals, place, total, axis=0) if len(self.totals) else total

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
            larger = [self.values[-1] * self.factor**k for k in range(1, self.step + 1)]
            self._add_values(larger, len(self.values), dimensions)
        if low:
            smaller = [self.values[0] / self.factor**k for k in range(self.step, 0, -1)]
            self._add_values(smaller, 0, dimensions)
            self.best = (i + self.step, j)


def _loss_of(member: Engine | CompiledEngine, rows: FloatArray, outcomes: FloatArray) -> float:
    """Let a member learn these rounds; return its loss, or infinity if a round raises an error."""
    _, losses, error = member.run(rows, outcomes)
    return float(sum(losses)) if error is None else np.inf


def _row(x: FloatArray, awake: BoolArray) -> FloatArray:
    """Return forecasts as an array for an engine; NaN for a sleeping expert."""
    return np.where(awake.reshape(-1, *[1] * (x.ndim - 1)), x, np.nan)
