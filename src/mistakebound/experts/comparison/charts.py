"""Charts of a comparison: weights over time, regrets with the bound of a theorem, and the loss in windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mistakebound.experts.comparison.pictures import history, regret_curves
from mistakebound.experts.comparison.results import learner_for
from mistakebound.viz import expert_charts
from mistakebound.viz.chart import Axis, Chart, Level, Line
from mistakebound.viz.time_axis import ROUNDS, TimeAxis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.experts.comparison.compare import Comparison
    from mistakebound.experts.comparison.pictures import History

MOST_LINES = 6
"""Rules that get a line of their own."""
WINDOWS = 25
"""Number of windows in which the mean loss is shown."""
NEAR = 0.02
"""If losses differ by less than this share, only their differences can be seen."""
FAR = 4.0
"""A bound this many times as large as the regrets is not drawn, because they would look like zero."""


def charts(found: Comparison) -> list[Chart]:
    """Return the charts of a comparison; none for a single round."""
    if found.advice.rounds < 2:
        return []
    past = history(found.best, learner_for(found.best.rule, found.loss, found.parameters), found.advice)
    return [weights_chart(found, past), regret_chart(found, past), loss_chart(found)]


def time_axis(found: Comparison) -> TimeAxis:
    """Return the x axis: the dates of the rounds if the table has dates, otherwise the rounds."""
    rounds, dates = found.advice.rounds, found.advice.dates()
    if dates is not None and dates[1][0] < dates[1][rounds - 1]:
        return TimeAxis(dates[0], dates[1])
    return ROUNDS


def weights_chart(found: Comparison, past: History) -> Chart:
    """Return the weights of the best rule: the heaviest experts, and the sum of the others."""
    awake = found.advice.awake[past.rounds]
    silent = bool((~awake).any()) and not past.weights[~awake].any()  # ridge fills in the forecasts of sleeping experts
    drawn = np.where(awake, past.weights, np.nan) if silent else past.weights
    asleep = " A line has a gap while its expert is asleep: its weight is then 0." if silent else ""
    return expert_charts.weights_chart(
        past.rounds.tolist(),
        drawn,
        found.advice.names,
        title="Weights of the experts",
        time=time_axis(found),
        stacked=False,
        note=f"The weight of each expert in the forecast of a round, by {found.best.rule}.{asleep}",
    )


def regret_chart(found: Comparison, past: History) -> Chart:
    """Return the regret of each rule to the best expert, with the bound on that of the best rule."""
    curves, rivals = regret_curves(found)
    chosen = [each.rule for each in found.mixes[:MOST_LINES]]
    best, one = found.best, len({*rivals.values()}) == 1
    note = f"The loss so far minus that of {rivals[best.rule] if one else 'the expert that is hardest to beat'}."
    note += " Below 0, a rule is ahead of that expert."
    bounds: list[tuple[int, float]] = []
    if past.bounds:
        largest = max(float(max(curves[rule].max(), np.ptp(curves[rule]) / 4)) for rule in chosen)
        allowed = past.limits(found)
        if max(allowed) <= FAR * largest:
            bounds = [(t, limit) for (t, _), limit in zip(past.bounds, allowed, strict=True)]
        else:
            note += f" The bound of a theorem, {allowed[-1]:,.4g} in the end, is far above the chart."
    if len(found.mixes) > MOST_LINES:
        note += f" The {MOST_LINES} best rules of {len(found.mixes)} are shown."
    return expert_charts.regret_chart(
        {rule if one else f"{rule}, to {rivals[rule]}": curves[rule] for rule in chosen},
        title=f"Regret to the best expert, {rivals[best.rule]}"
        if one
        else "Regret to the expert that is hardest to beat",
        bounds=bounds,
        bound_name=f"bound for {best.rule}",
        time=time_axis(found),
        note=note,
    )


def loss_chart(found: Comparison) -> Chart:
    """Return the mean loss in windows, for the best rule, the best expert and the plain average.

    If they are nearly equal, the differences from the plain average are drawn.
    """
    time = time_axis(found)
    rounds, leader = found.advice.rounds, int(np.argmax(found.best.expert_regrets))
    size = max(1, -(-rounds // WINDOWS))
    starts = list(range(0, rounds, size))
    if len(starts) > 1 and rounds - starts[-1] < size / 2:
        starts.pop()  # a short last window would be noisy
    plain = "plain majority" if found.of_labels else "plain average"
    ends = [*starts[1:], rounds]
    lost = {found.best.rule: found.best.losses, found.advice.names[leader]: found.expert_losses[:, leader]}
    average = windows(found.plain, starts, ends, found.rooted)
    means = {name: windows(values, starts, ends, found.rooted) for name, values in lost.items()}
    ahead = {  # each in the rounds in which the expert was awake
        name: means[name] - windows(np.where(np.isnan(values), np.nan, found.plain), starts, ends, found.rooted)
        for name, values in lost.items()
    }
    what = "mistakes per round" if found.of_labels else "RMSE" if found.rooted else f"mean {found.measure}"
    note = f"Each point is the mean of {size:,} rounds." if size > 1 else "Each point is a round."
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.concatenate([np.abs(each) / average for each in ahead.values()])
    near = np.isfinite(shares).any() and float(np.median(shares[np.isfinite(shares)])) < NEAR
    x, axis = time.at(ends), time.axis()
    title = f"{what[0].upper()}{what[1:]}"
    if near:
        marks: list[Line | Level] = [Level("", 0.0, guide=True)]
        marks += [Line(name, x, each.tolist(), dots=True) for name, each in ahead.items()]
        return Chart(
            f"{title} minus that of the {plain}", axis, Axis("difference"), marks, f"{note} Below 0 is better."
        )
    lines = [Line(name, x, each.tolist(), dots=True) for name, each in {**means, plain: average}.items()]
    return Chart(f"{title} over time", axis, Axis(what, low=0.0), lines, note)


def windows(losses: FloatArray, starts: Sequence[int], ends: Sequence[int], rooted: bool) -> FloatArray:  # noqa: FBT001
    """Return the mean loss of each window, or its root; NaN if the expert was asleep in all of its rounds."""
    means = []
    for begin, end in zip(starts, ends, strict=True):
        known = losses[begin:end][~np.isnan(losses[begin:end])]
        mean = float(known.mean()) if known.size else float("nan")
        means.append(mean**0.5 if rooted else mean)
    return np.array(means)
