"""Charts of forecasters: reliability diagrams, and the difference of two scores with its confidence sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mistakebound.viz.chart import Axis, Band, Chart, Level, Line
from mistakebound.viz.expert_charts import thinned_rounds
from mistakebound.viz.probability_charts import reliability_chart
from mistakebound.viz.time_axis import ROUNDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.forecasters.verdict import Pair, Report
    from mistakebound.viz.chart import Mark
    from mistakebound.viz.time_axis import TimeAxis


MOST_FORECASTERS = 12
"""Only the best forecasters are drawn, at most this many."""


def forecaster_charts(report: Report, time: TimeAxis = ROUNDS) -> tuple[list[Chart], list[Chart]]:
    """Return the reliability diagrams of the best forecasters, and the differences from the first of them."""
    names = list(report.scores)[:MOST_FORECASTERS]
    drawn = {*names}
    pairs = [pair for pair in report.pairs if names[0] in pair.names and drawn.issuperset(pair.names)]
    limit = difference_limit(pairs)
    of = f"{report.classes[0]}, " if report.classes else ""  # the diagram of one class
    diagrams = [
        reliability_chart(report.reliability(name), f"{name}: {of}Brier {report.scores[name].brier.score:.4f}")
        for name in names
    ]
    return diagrams, [difference_chart(each, limit, confidence=report.confidence, time=time) for each in pairs]


def difference_chart(pair: Pair, limit: float, *, confidence: str, time: TimeAxis = ROUNDS) -> Chart:
    """Return the mean difference of two Brier scores after each common round, and its confidence sequence."""
    at = thinned_rounds(len(pair.means))
    rounds = (at + 1 if time.dates is None else pair.rounds[at] + 1).tolist()
    x = time.at(rounds)
    colour = 2 if pair.clear else 0
    low, high = (np.clip(each[at], -limit, limit).tolist() for each in (pair.bounds.lower, pair.bounds.upper))
    marks: list[Mark] = [
        Band(f"{confidence} confidence sequence", x, low, high, colour=colour),
        Level("no difference", 0.0, guide=True),
        Line("mean difference so far", x, pair.means[at].tolist(), colour=colour),
    ]
    verdict = "not yet clear"
    if pair.clear_since is not None:
        verdict = f"clear since round {pair.clear_since:,}"
        first = pair.clear_since if time.dates is None else int(pair.rounds[pair.clear_since - 1]) + 1
        marks.append(Level(verdict, time.at([first])[0], along="x", colour=colour))
    note = f"Below 0, {pair.better} is better. The difference is {verdict}."
    y = Axis("difference of the Brier scores", low=-limit, high=limit)
    return Chart(f"{pair.better} minus {pair.worse}", time.axis(), y, marks, note=note)


def difference_limit(pairs: Sequence[Pair]) -> float:
    """Return a limit of the y axis for all pairs, without the first tenth of the rounds, where bounds are wide."""
    late = [np.abs(each[len(each) // 10 :]).max() for pair in pairs for each in pair.bounds if len(each)]
    return max((float(each) for each in late), default=1.0)
