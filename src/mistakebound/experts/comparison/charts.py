"""Charts of a comparison: weights over time, regrets with the bound of a theorem, and the loss in windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mistakebound.experts.comparison.pictures import history, regret_curves
from mistakebound.experts.comparison.results import learner_for
from mistakebound.viz.chart import Axis, Chart, Level, Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.experts.comparison.compare import Comparison
    from mistakebound.experts.comparison.pictures import History

MOST_LINES = 6
"""Experts, or rules, that get a line of their own."""
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


def time_axis(found: Comparison) -> tuple[Axis, FloatArray]:
    """Return the x axis, and the place of each round on it: its date, if the table has dates, otherwise its number."""
    rounds, dates = found.advice.rounds, found.advice.dates()
    if dates is not None and dates[1][0] < dates[1][rounds - 1]:
        return Axis(dates[0], scale="date"), np.array(dates[1][:rounds])
    return Axis("round"), np.arange(1.0, rounds + 1)


def weights_chart(found: Comparison, past: History) -> Chart:
    """Return the weights of the best rule: the heaviest experts, and the sum of the others."""
    axis, at = time_axis(found)
    order = np.argsort(-np.abs(past.weights).mean(axis=0), kind="stable")
    most = MOST_LINES if len(order) > MOST_LINES + 1 else MOST_LINES + 1
    x = at[past.rounds].tolist()
    awake = found.advice.awake[past.rounds]
    silent = bool((~awake).any()) and not past.weights[~awake].any()  # ridge fills in the forecasts of sleeping experts
    drawn = np.where(awake, past.weights, np.nan) if silent else past.weights
    lines = [Line(found.advice.names[k], x, drawn[:, k].tolist()) for k in order[:most]]
    if len(order) > most:
        rest = past.weights[:, order[most:]].sum(axis=1).tolist()
        lines.append(Line(f"{len(order) - most} others, together", x, rest))
    asleep = " A line has a gap while its expert is asleep: its weight is then 0." if silent else ""
    note = f"The weight of each expert in the forecast of a round, by {found.best.rule}.{asleep}"
    low = 0.0 if past.weights.min() >= 0 else None
    return Chart("Weights of the experts", axis, Axis("weight", low=low), lines, note)


def regret_chart(found: Comparison, past: History) -> Chart:
    """Return the regret of each rule to the best expert, with the bound on that of the best rule."""
    axis, at = time_axis(found)
    curves, rivals = regret_curves(found)
    chosen = [each.rule for each in found.mixes[:MOST_LINES]]
    marks: list[Line | Level] = [Level("", 0.0, guide=True)]
    one = len({*rivals.values()}) == 1
    marks += [
        Line(rule if one else f"{rule}, to {rivals[rule]}", at.tolist(), curves[rule].tolist()) for rule in chosen
    ]
    best = found.best
    note = f"The loss so far minus that of {rivals[best.rule] if one else 'the expert that is hardest to beat'}."
    note += " Below 0, a rule is ahead of that expert."
    if past.bounds:
        largest = max(float(max(curves[rule].max(), np.ptp(curves[rule]) / 4)) for rule in chosen)
        times, allowed = [float(at[t - 1]) for t, _ in past.bounds], past.limits(found)
        if max(allowed) <= FAR * largest:
            marks.append(Line(f"bound for {best.rule}", times, allowed, dashed=True, dots=True))
        else:
            note += f" The bound of a theorem, {allowed[-1]:,.4g} in the end, is far above the chart."
    if len(found.mixes) > MOST_LINES:
        note += f" The {MOST_LINES} best rules of {len(found.mixes)} are shown."
    title = f"Regret to the best expert, {rivals[best.rule]}" if one else "Regret to the expert that is hardest to beat"
    return Chart(title, axis, Axis("regret"), marks, note)


def loss_chart(found: Comparison) -> Chart:
    """Return the mean loss in windows, for the best rule, the best expert and the plain average.

    If they are nearly equal, the differences from the plain average are drawn.
    """
    axis, at = time_axis(found)
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
    x = [float(at[end - 1]) for end in ends]
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
