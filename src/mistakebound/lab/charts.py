"""The lines that charts of experiments share: what was measured, with dots; bounds, dashed; mistakes over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound.viz.chart import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.play.ledger import Ledger

MOST_DOTS = 60


def measured(name: str, x: Sequence[float], y: Sequence[float], colour: int | None = None) -> Line:
    """Return a line through measured points. Many points are not marked by dots."""
    return Line(name, x, y, colour=colour, dots=len(x) < MOST_DOTS)


def bound(name: str, x: Sequence[float], y: Sequence[float], colour: int | None = None) -> Line:
    """Return the dashed line of a bound; it has the colour of what it bounds."""
    return Line(name, x, y, colour=colour, dashed=True)


def mistakes_over_time(name: str, ledger: Ledger, colour: int | None = None) -> Line:
    """Return the number of mistakes after each round, as steps."""
    rounds = [*ledger.mistake_rounds.tolist(), ledger.rounds]
    return Line(name, [0, *rounds], [0, *range(1, len(rounds)), len(rounds) - 1], colour=colour, step=True)
