"""The lines and bars that charts of experiments share: measured numbers, bounds, and running totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.viz.chart import Axis, Boxes, Chart, Line
from mistakebound.viz.colours import colour_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from mistakebound.play.ledger import Ledger
    from mistakebound.viz.chart import Mark

MOST_DOTS = 60


def measured(name: str, x: Sequence[float], y: Sequence[float], colour: int | None = None) -> Line:
    """Return a line through measured points. Many points are not marked by dots."""
    return Line(name, x, y, colour=colour, dots=len(x) < MOST_DOTS)


def bound(name: str, x: Sequence[float], y: Sequence[float], colour: int | None = None) -> Line:
    """Return the dashed line of a bound; it has the colour of what it bounds."""
    return Line(name, x, y, colour=colour, dashed=True)


def beside_bound(
    name: str, of_bound: str, x: Sequence[float], y: Sequence[float], bounds: Sequence[float]
) -> list[Line]:
    """Return the measured line of a learner and the line of its bound, both in the colour of the learner.

    >>> [each.dashed for each in beside_bound("Winnow", "2k² ln n", [1, 2], [3, 4], [5, 6])]
    [False, True]
    """
    return [measured(name, x, y), bound(of_bound, x, bounds, colour_of(name))]


def mistakes_so_far(title: str, marks: Sequence[Mark], note: str = "") -> Chart:
    """Return a chart of the mistakes after each round."""
    return Chart(title, Axis("round", low=0), Axis("mistakes so far", low=0), marks, note=note)


def mistakes_over_time(name: str, ledger: Ledger, colour: int | None = None) -> Line:
    """Return the number of mistakes after each round, as steps."""
    rounds = [*ledger.mistake_rounds.tolist(), ledger.rounds]
    return Line(name, [0, *rounds], [0, *range(1, len(rounds)), len(rounds) - 1], colour=colour, step=True)


POINTS = 200
"""The largest number of points of a curve."""


def some_rounds(rounds: int, *, log: bool = False) -> list[int]:
    """Return at most 200 rounds, the first and the last included: evenly spaced, on a linear or a logarithmic axis.

    >>> some_rounds(5), len(some_rounds(10**6)), some_rounds(10**6)[-1]
    ([1, 2, 3, 4, 5], 200, 1000000)
    """
    if rounds <= POINTS:
        return list(range(1, rounds + 1))
    chosen = np.geomspace(1, rounds, POINTS) if log else np.linspace(1, rounds, POINTS)
    return [int(t) for t in np.unique(chosen.round())]


def curve(name: str, totals: ArrayLike, *, log: bool = False, **style: Any) -> Line:
    """Return a line through a value for each round, such as the mistakes so far; ``style`` is passed to `Line`."""
    values = np.asarray(totals, float)
    rounds = some_rounds(len(values), log=log)
    return Line(name, rounds, [float(values[t - 1]) for t in rounds], **style)


def line(name: str, rows: Sequence[Sequence[Any]], x: int, y: int, **style: Any) -> Line:
    """Return a line through two columns of a table: dashed, or with dots.

    >>> line("bound", [(1, 10.0), (2, 20.0)], 0, 1, dashed=True).y
    [10.0, 20.0]
    """
    return Line(name, [row[x] for row in rows], [row[y] for row in rows], **{"dots": not style.get("dashed"), **style})


def bars(rows: Sequence[Sequence[Any]], columns: Mapping[str, int]) -> list[Boxes]:
    """Return bars beside each other for some columns of each row, {name: column}. Row k is at x = k.

    >>> [each.name for each in bars([("a", 1, 5)], {"mistakes": 1, "bound": 2})]
    ['mistakes', 'bound']
    """
    width = 0.8 / len(columns)
    return [
        Boxes(
            name,
            [(x - 0.4 + k * width, x - 0.4 + (k + 0.92) * width, 0.0, float(row[at])) for x, row in enumerate(rows)],
            faint=name == "bound",
        )
        for k, (name, at) in enumerate(columns.items())
    ]
