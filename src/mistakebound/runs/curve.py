"""The curve of mistakes against rounds, in bounded memory for a stream of any length."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mistakebound.play.ledger import Ledger

STEP = 100
"""From round 100 on, the distance of two points is a hundredth of the round: 2,000 points for 10⁹ rounds."""


class Curve:
    """The number of mistakes up to each round, for all rounds up to 100 and then for rounds 1 % apart."""

    def __init__(self) -> None:
        self.points: list[tuple[int, int]] = [(0, 0)]
        self.rounds = self.mistakes = 0
        self._next = 1

    def add(self, part: Ledger) -> None:
        """Add the rounds of a part."""
        mistaken = part.mistake_rounds
        while self._next <= self.rounds + part.rounds:
            self.points.append((self._next, self.mistakes + int(mistaken.searchsorted(self._next - self.rounds))))
            self._next += max(1, self._next // STEP)
        self.rounds += part.rounds
        self.mistakes += part.mistakes

    def to_now(self) -> list[tuple[int, int]]:
        """Return (rounds, mistakes) points from (0, 0) to the last round."""
        now = (self.rounds, self.mistakes)
        return self.points if self.points[-1] == now else [*self.points, now]

    def late_rate(self) -> float:
        """Return the mistakes per round in the second half of the rounds, from its first point on."""
        points = self.to_now()
        rounds, mistakes = points[bisect_left(points, (self.rounds + 1) // 2, key=lambda point: point[0])]
        return (self.mistakes - mistakes) / max(self.rounds - rounds, 1)
