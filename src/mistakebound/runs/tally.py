"""Count the rounds and mistakes of a run, and follow the bound that is known during it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound._support.arrays import IntArray
    from mistakebound.play.ledger import Ledger

    RunningBound = Callable[[Ledger, int], float | None]


class Line(NamedTuple):
    """A line of the progress table, made at rounds 1, 2, 4, 8, … and at the end."""

    rounds: int
    mistakes: int
    since: float
    """Mistakes per round since the line before."""
    bound: float | None
    """The bound of a theorem; None if it is not known during a run."""
    speed: float
    """Examples per second."""


class Tally:
    """Counts of a run, including the rounds of an earlier process that it resumes.

    Parameters
    ----------
    bound : callable or None
        The bound that is known during a run, as a function of a part's ledger and of the positives missed so
        far; see ``Learner.known_bound``.
    missed : int
        Positives that the learner missed before this run.
    lines : bool
        Whether to make the lines at rounds 1, 2, 4, 8, …; they need numpy.
    """

    def __init__(self, bound: RunningBound | None, missed: int = 0, *, lines: bool) -> None:
        self.bound_of, self.missed, self.with_lines = bound, missed, lines
        self.rounds = self.mistakes = self.false_positives = self.false_negatives = self.positives = 0
        self.bound: float | None = None
        self.lines: list[Line] = []
        """Those of the last part."""
        self.start, self.seconds = time.perf_counter(), 0.0
        self.earlier = 0
        """Rounds of an earlier process, which do not count for the speed."""
        self.last = (0, 0)
        """Rounds and mistakes of the last line."""
        self._next = 1

    def resume(self, ledger: Ledger, counts: list[int], last: tuple[int, int]) -> None:
        """Begin with the counts of an earlier process; ``ledger`` is that of the learner so far."""
        self.rounds, self.false_positives, self.false_negatives, self.positives = counts
        self.mistakes = self.false_positives + self.false_negatives
        self.earlier, self.last, self._next = self.rounds, last, 1 << self.rounds.bit_length()
        if self.bound_of is not None and self.rounds:
            self.bound = self.bound_of(ledger, self.missed + self.false_negatives)

    def add(self, part: Ledger) -> None:
        """Count the rounds of a part, and make the lines that fall into it."""
        self.seconds = time.perf_counter() - self.start
        self.lines = []
        rounds, wrong_positives, wrong_negatives = part.rounds, part.false_positives, part.false_negatives
        positives = part.said_positive - wrong_positives + wrong_negatives
        if self.with_lines and self._next <= self.rounds + rounds:
            self._add_lines(part, part.mistake_rounds, self.rounds + rounds)
        self.rounds += rounds
        self.mistakes += wrong_positives + wrong_negatives
        self.false_positives += wrong_positives
        self.false_negatives += wrong_negatives
        self.positives += positives
        if self.bound_of is not None:
            self.bound = self.bound_of(part, self.missed + self.false_negatives)

    def end(self) -> None:
        """Make the last line."""
        self.seconds = time.perf_counter() - self.start
        self.lines = []
        if self.rounds > self.last[0]:
            self._add_line(self.rounds, self.mistakes, self.rounds)

    def _add_lines(self, part: Ledger, mistaken: IntArray, done: int) -> None:
        while self._next <= done:
            before = mistaken[mistaken < self._next - self.rounds]
            if self.bound_of is not None:
                missed = len(before) - int(part.positive[before].sum())
                self.bound = self.bound_of(part, self.missed + self.false_negatives + missed)
            self._add_line(self._next, self.mistakes + len(before), done)
            self._next *= 2

    def _add_line(self, rounds: int, mistakes: int, done: int) -> None:
        since = (mistakes - self.last[1]) / (rounds - self.last[0])
        self.last = (rounds, mistakes)
        speed = (done - self.earlier) / max(self.seconds, 1e-9)
        self.lines.append(Line(rounds, mistakes, since, self.bound, speed))
