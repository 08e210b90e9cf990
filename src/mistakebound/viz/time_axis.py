"""The x axis of charts over time: rounds, or the dates of the rounds if the data have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mistakebound.viz.chart import Axis

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class TimeAxis:
    """Rounds, or dates instead of them.

    Attributes
    ----------
    label : str
        The label of the axis: "rounds", or the name of the column of dates.
    dates : sequence of float, optional
        The date of each round in seconds since 1970, never decreasing. Without them, the axis has the rounds.
    """

    label: str = "rounds"
    dates: Sequence[float] | None = None

    def axis(self, *, logarithmic: bool = False) -> Axis:
        """Return the axis; dates are never logarithmic."""
        if self.dates is not None:
            return Axis(self.label, "date")
        return Axis(self.label, "log", whole=True) if logarithmic else Axis(self.label, low=0, whole=True)

    def at(self, rounds: Iterable[float]) -> list[float]:
        """Return the place of the end of each round, which counts from 1; 0 is before the first round.

        >>> TimeAxis("day", [100.0, 200.0, 200.0]).at([0, 1, 3])
        [100.0, 100.0, 200.0]
        """
        if self.dates is None:
            return list(rounds)
        return [self.dates[min(max(int(number), 1), len(self.dates)) - 1] for number in rounds]


ROUNDS = TimeAxis()
