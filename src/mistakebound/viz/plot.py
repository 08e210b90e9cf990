"""Pictures of mistakes and bounds. Needs matplotlib: ``pip install 'mistakebound[plot]'``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.forecasters.confidence_sequence import Bounds
    from mistakebound.forecasters.verdict import Pair, Report
    from mistakebound.play.ledger import Ledger


def mistakes(
    runs: Mapping[str, tuple[Ledger, Certificate | None]], title: str = "Mistakes, and what a theorem allows"
) -> Any:
    """Draw mistakes made so far against rounds, with each certificate's bound as a dashed line of the same colour.

    Parameters
    ----------
    runs : mapping
        {name: (ledger, certificate or None)}.
    title : str
        Above the picture.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig("mistakes.png")``. No window is opened.
    """
    figure, axes = _figure(8)
    for number, (name, (ledger, certificate)) in enumerate(runs.items()):
        colour = f"C{number}"
        steps = np.concatenate([[1], ledger.mistake_rounds + 1, [max(ledger.rounds, 1)]])
        counts = np.concatenate([[0], np.arange(1, ledger.mistakes + 1), [ledger.mistakes]])
        axes.step(steps, counts, where="post", color=colour, label=f"{name}: {ledger.mistakes} mistakes")
        if certificate is not None and np.isfinite(certificate.bound):
            label = f"{name}: at most {certificate.bound:.4g} ({certificate.theorem})"
            axes.axhline(certificate.bound, color=colour, linestyle="--", linewidth=1, label=label)
    return _finished(figure, axes, title, fontsize="small")


def curves(lines: Mapping[str, Sequence[tuple[int, int]]], title: str = "Mistakes on the same stream") -> Any:
    """Draw mistakes made so far against rounds from {name: points of (rounds, mistakes)}, as ``mistakes`` does."""
    from matplotlib import colormaps  # noqa: PLC0415 - optional

    figure, axes = _figure(12)
    twenty = colormaps["tab20"]
    for number, (name, points) in enumerate(lines.items()):
        rounds, counts = zip(*(point for point in points if point[0] > 0), strict=True)
        # With twenty colours in pairs, the darker ones come first.
        colour = twenty((2 * number) % 20 + (2 * number) // 20 % 2)
        axes.plot(rounds, counts, color=colour, label=f"{name}: {counts[-1]:,}")
    return _finished(figure, axes, title, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))


def _figure(width: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    figure = Figure(figsize=(width, 4.5), layout="constrained")
    return figure, figure.add_subplot()


def _finished(figure: Any, axes: Any, title: str, **legend: Any) -> Any:
    """Rounds across and mistakes upward, in scales for many sizes; once all is drawn, for limits follow it."""
    axes.set(xscale="log", xlabel="rounds", ylabel="mistakes so far", title=title)
    axes.set_yscale("symlog", linthresh=10)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(**legend)
    return figure


MOST_FORECASTERS = 12
"""More of them than that are no picture; the best ones are drawn."""
MOST_POINTS = 2000
"""Of a line."""


def forecasters(report: Report) -> Any:
    """Draw the reliability diagram of each forecaster, and how the best one's difference from each other became clear.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig("forecasters.png")``. No window is opened.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    names = list(report.scores)[:MOST_FORECASTERS]
    best = names[0]
    pairs = [
        pair for pair in report.pairs if best in (pair.better, pair.worse) and {pair.better, pair.worse} <= {*names}
    ]
    wide = min(4, max(2, len(names)))
    high = -(-len(names) // wide)
    rows = high + -(-len(pairs) // wide)
    figure = Figure(figsize=(3.4 * wide, 3.4 * rows), layout="constrained")
    for number, name in enumerate(names):
        _diagram(figure.add_subplot(rows, wide, number + 1), report, name)
    limit = max((float(np.abs(_late(pair.bounds)).max()) for pair in pairs), default=1.0)
    for number, pair in enumerate(pairs):
        _difference(figure.add_subplot(rows, wide, high * wide + number + 1), pair, limit)
    return figure


def _diagram(axes: Any, report: Report, name: str) -> None:
    """How often what was said came true, with the band for a forecaster who is right, and how often it was said."""
    found = report.reliability(name)
    parts = report.scores[name].brier
    axes.fill_between(found.forecasts, found.low, found.high, color="C0", alpha=0.2, linewidth=0)
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8, linestyle="--")
    axes.plot(found.forecasts, found.observed, color="C3", marker=".", markersize=3, linewidth=1.2)
    heights, edges = np.histogram(found.forecasts, 20, (0, 1), weights=found.counts)
    axes.bar(edges[:-1], 0.15 * heights / heights.max(), width=0.05, align="edge", color="grey", alpha=0.5)
    title = f"{_plain(name)}: Brier {parts.score:.4f}\nMCB {parts.miscalibration:.4f}, DSC {parts.discrimination:.4f}"
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="forecast", ylabel="came true", title=title)


def _difference(axes: Any, pair: Pair, limit: float) -> None:
    """The mean difference of two scores after each round, and its confidence sequence."""
    at = np.unique(np.linspace(0, len(pair.means) - 1, MOST_POINTS).astype(np.int64))
    colour = "C2" if pair.clear else "C0"
    axes.fill_between(at + 1, pair.bounds.lower[at], pair.bounds.upper[at], color=colour, alpha=0.2)
    axes.plot(at + 1, pair.means[at], color=colour, linewidth=1.2)
    axes.axhline(0, color="grey", linewidth=0.8, linestyle="--")
    if pair.clear_since is not None:
        axes.axvline(pair.clear_since, color="C2", linewidth=0.8, linestyle=":")
    verdict = "not yet clear" if pair.clear_since is None else f"clear since round {pair.clear_since:,}"
    title = f"Brier: {_plain(pair.better)} less {_plain(pair.worse)}\n{verdict}"
    axes.set(ylim=(-limit, limit), xlabel="rounds", title=title)
    axes.grid(visible=True, alpha=0.3)


def _plain(name: str) -> str:
    """A name as it is, not a formula."""
    return name.replace("$", r"\$")


def _late(bounds: Bounds) -> Any:
    """The bounds after the first tenth of the rounds, where they are wide."""
    start = len(bounds.lower) // 10
    return np.concatenate([bounds.lower[start:], bounds.upper[start:]])


MOST_EXPERTS = 8
"""Whose weights are drawn; the others are drawn together."""
FAR = 3
"""So many times the largest regret is far above it: drawn together, nothing of the regret would be seen."""


def experts(
    rounds: IntArray,
    weights: FloatArray,
    regrets: Mapping[str, FloatArray],
    *,
    names: Sequence[str],
    against: str | Mapping[str, str],
    bounds: Sequence[tuple[int, float]] = (),
    allowed: str = "",
) -> Any:
    """Draw the weights of experts over time, and below it how much more than the best expert each rule has lost.

    All axes are linear. A bound far above the regrets has a panel of its own, with the first rule's regret beside it.

    Parameters
    ----------
    rounds, weights : array
        0-based rounds, and for each the weights of the experts in it. Weights below 0 are drawn as lines.
    regrets : mapping
        {rule: regret after each round}. The weights and the bounds are of the first one.
    names : sequence of str
        Of the experts.
    against : str or mapping
        The expert whose losses were taken off; or {rule: expert}, where each has its own.
    bounds : sequence of (rounds, bound)
        What a theorem allows the regret to be after so many rounds.
    allowed : str
        What the bounds are, for the legend.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig("experts.png")``. No window is opened.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    largest = max(float(max(regret.max(), np.ptp(regret) / 4)) for regret in regrets.values())
    far = bool(bounds) and max(bound for _, bound in bounds) > FAR * largest
    figure = Figure(figsize=(10, 11 if far else 7.5), layout="constrained")
    above, below, *last = figure.subplots(3 if far else 2, 1, sharex=True)
    _weights(above, rounds, weights, names)
    first = next(iter(regrets))
    above.set(ylabel="weight", title=f"Weights of the experts by {_plain(first)}")
    rivals = dict.fromkeys(regrets, against) if isinstance(against, str) else against
    one = len({*rivals.values()}) == 1
    labels = {rule: _plain(rule if one else f"{rule}, to {rivals[rule]}") for rule in regrets}
    _regrets(below, regrets, labels)
    whom = f"the best expert, {_plain(rivals[first])}" if one else "the expert that each rule is furthest behind"
    below.set(ylabel="regret", title=f"Losses so far, less those of {whom}")
    for axes in last:
        _regrets(axes, {first: regrets[first]}, labels)
        axes.set(ylabel="regret", title="The same, with what a theorem allows")
    if bounds:
        at, values = zip(*bounds, strict=True)
        label = _plain(allowed) if allowed else f"what a theorem allows {_plain(first)}:\n{values[-1]:.4g} in the end"
        axes = last[0] if far else below
        axes.plot(at, values, color="C0", linestyle="--", marker=".", linewidth=1, label=label)
    for axes in (below, *last):
        axes.set_xlim(0, len(regrets[first]))
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    (below, *last)[-1].set_xlabel("rounds")
    return figure


def _regrets(axes: Any, regrets: Mapping[str, FloatArray], labels: Mapping[str, str]) -> None:
    """A line for each rule, and one for no regret."""
    for number, (rule, regret) in enumerate(regrets.items()):
        at = np.unique(np.linspace(0, len(regret) - 1, MOST_POINTS).astype(np.int64))
        axes.plot(at + 1, regret[at], color=f"C{number % 10}", linestyle="-:"[number // 10 % 2], label=labels[rule])
    axes.axhline(0, color="grey", linewidth=0.8)


def _weights(axes: Any, rounds: IntArray, weights: FloatArray, names: Sequence[str]) -> None:
    """An area for each of the heaviest experts, the steadiest below; one for all others."""
    heavy = np.argsort(-np.abs(weights).mean(axis=0), kind="stable")[:MOST_EXPERTS]
    if weights.min() < 0:
        for k in heavy:
            axes.plot(rounds + 1, weights[:, k], label=_plain(names[k]))
        axes.axhline(0, color="grey", linewidth=0.8)
    else:
        others = np.maximum(weights.sum(axis=1) - weights[:, heavy].sum(axis=1), 0)
        more = len(names) > len(heavy)
        layers = [*weights[:, heavy].T, *([others] if more else [])]
        labels = [*(_plain(names[k]) for k in heavy), *([f"{len(names) - len(heavy)} others"] if more else [])]
        colours = [*(f"C{k}" for k in (0, 1, 2, 3, 4, 5, 6, 8)[: len(heavy)]), "lightgrey"]
        axes.stackplot(rounds + 1, layers, labels=labels, colors=colours, step="post")
        axes.set_ylim(0, 1)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
