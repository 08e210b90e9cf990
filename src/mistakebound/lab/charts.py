"""The lines that charts of experiments share: what was measured, with dots, and bounds, dashed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound.viz.chart import Line

if TYPE_CHECKING:
    from collections.abc import Sequence


def measured(name: str, x: Sequence[float], y: Sequence[float], colour: int | None = None) -> Line:
    """Return a line through measured points. Many points are not marked by dots."""
    return Line(name, x, y, colour=colour, dots=len(x) < 60)


def bound(name: str, x: Sequence[float], y: Sequence[float], colour: int | None = None) -> Line:
    """Return the dashed line of a bound; it has the colour of what it bounds."""
    return Line(name, x, y, colour=colour, dashed=True)
