"""Rates by trying them: a grid of forecasters that grows, of which the best so far is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from mistakebound.aggregation.mixture import mean_of, regrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.aggregation.mixture import Forecaster, Served
    from mistakebound.arrays import BoolArray, FloatArray
    from mistakebound.losses import Loss


class Grid(Protocol):
    """What is tried."""

    def first(self, served: Served, outcome: FloatArray) -> float:
        """The value to begin with, by the first losses; not finite if they do not say."""

    def make(self, prior: FloatArray, value: float, other: float) -> Forecaster:
        """A fresh forecaster at this point of the grid."""


class Calibrated:
    """Follow, of a grid of rates, the one with the least loss so far.

    The grid begins with one value, when the first losses differ. When the best stands at an end of it, three more
    values are added beyond, each twice the last, and are taken through the past. With ``only``, a value that is given,
    it is the only one. There is no theorem for following the best; each member has its own. The past is kept for
    newcomers: rounds × experts numbers.
    """

    factor, step, most = 2.0, 3, 80

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
        self.members: list[list[Forecaster]] = []
        self.totals = np.zeros((0, len(self.others)))
        self.past: list[tuple[FloatArray, BoolArray, FloatArray]] = []
        self.best = (0, len(self.others) // 2)
        if only is not None:
            self._add(only, 0)

    def join(self, prior: FloatArray) -> None:
        """Let experts in, who have slept so far."""
        grown = len(prior) - len(self.prior)
        self.prior = prior
        for row in self.members:
            for member in row:
                member.join(prior)
        self.past = [
            (np.concatenate([x, np.zeros((grown, *x.shape[1:]))]), np.concatenate([awake, np.zeros(grown, bool)]), y)
            for x, awake, y in self.past
        ]

    def bound(self) -> None:
        """None for the whole."""
        return

    def serve(self, x: FloatArray, awake: BoolArray) -> Served:
        """The forecast of the best member; the prior's mean before there is one."""
        if not self.values:
            p = np.where(awake, self.prior, 0.0)
            return mean_of(x, awake, p / p.sum())
        return self.members[self.best[0]][self.best[1]].serve(x, awake)

    def learn(self, served: Served, outcome: FloatArray) -> tuple[FloatArray, float]:
        """Every member learns from what it would have said."""
        x, awake = served.x, served.awake
        r, h = regrets(self.loss, served, outcome, gradient=self.gradient)
        if self.only is None:
            self.past.append((x, awake, outcome))
        if self.values:
            for i, row in enumerate(self.members):
                self.totals[i] += [self._play(member, x, awake, outcome) for member in row]
            best = np.unravel_index(int(np.argmin(self.totals)), self.totals.shape)
            self.best = (int(best[0]), int(best[1]))
            self._grow()
            return r, h
        value = self.grid.first(served, outcome)
        if np.isfinite(value) and value > 0:
            self._add(value, 0)
            self._grow()
        return r, h

    def _play(self, member: Forecaster, x: FloatArray, awake: BoolArray, outcome: FloatArray) -> float:
        served = member.serve(x, awake)
        member.learn(served, outcome)
        of = self.loss.vector_value if served.forecast.ndim else self.loss.value
        return float(of(served.forecast, outcome))

    def _add(self, value: float, place: int) -> None:
        """A row of members, taken through the past."""
        row = [self.grid.make(self.prior, value, other) for other in self.others]
        total = [sum(self._play(member, x, awake, y) for x, awake, y in self.past) for member in row]
        self.values.insert(place, value)
        self.members.insert(place, row)
        self.totals = np.insert(self.totals, place, total, axis=0)

    def _grow(self) -> None:
        i, j = self.best
        low, high = i == 0, i == len(self.values) - 1
        if self.only is not None or len(self.values) >= self.most:
            return
        if high:
            for _ in range(self.step):
                self._add(self.values[-1] * self.factor, len(self.values))
        if low:
            for _ in range(self.step):
                self._add(self.values[0] / self.factor, 0)
            self.best = (i + self.step, j)
