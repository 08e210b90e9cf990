"""Draw mistakes, bounds, experts and forecasters with matplotlib (``pip install 'mistakebound[plot]'``)."""

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
    runs: Mapping[str, tuple[Ledger, Certificate | None]], title: str = "Mistakes, and the bounds of theorems"
) -> Any:
    """Draw the number of mistakes against rounds, with the bound of each certificate as a dashed line.

    Parameters
    ----------
    runs : mapping
        {name: (ledger, certificate or None)}.
    title : str
        The title of the picture.

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
    """Draw the number of mistakes against rounds, like ``mistakes``, from {name: [(rounds, mistakes), ...]}."""
    from matplotlib import colormaps  # noqa: PLC0415 - optional

    figure, axes = _figure(12)
    twenty = colormaps["tab20"]
    for number, (name, points) in enumerate(lines.items()):
        rounds, counts = zip(*(point for point in points if point[0] > 0), strict=True)
        # The colours come in pairs; use the darker one of each pair first.
        colour = twenty((2 * number) % 20 + (2 * number) // 20 % 2)
        axes.plot(rounds, counts, color=colour, label=f"{name}: {counts[-1]:,}")
    return _finished(figure, axes, title, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))


def leadership(changes: Sequence[tuple[int, str]], rounds: int, title: str = "Leader of the panel over time") -> Any:
    """Draw which member of a panel had the least log loss so far: a row for each member that ever led.

    Parameters
    ----------
    changes : sequence of (round, member)
        The changes of the leader, as ``Panel.leadership()`` returns them.
    rounds : int
        Number of rounds of the panel.
    title : str
        The title of the picture.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig("leaders.png")``. No window is opened.
    """
    figure, axes = _figure(8)
    names = list(dict.fromkeys(name for _, name in changes))
    ends = [*(begin for begin, _ in changes[1:]), rounds]
    for (begin, name), end in zip(changes, ends, strict=True):
        row = names.index(name)
        axes.barh(row, end - begin, left=begin, height=0.6, color=f"C{row % 10}")
    axes.set_yticks(range(len(names)), [_plain(name) for name in names])
    axes.invert_yaxis()
    axes.set(xscale="log", xlim=(1, max(rounds, 2)), xlabel="rounds", title=title)
    axes.grid(visible=True, axis="x", alpha=0.3)
    return figure


def _figure(width: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    figure = Figure(figsize=(width, 4.5), layout="constrained")
    return figure, figure.add_subplot()


def _finished(figure: Any, axes: Any, title: str, **legend: Any) -> Any:
    """Set the axes (logarithmic) and the legend. Call it after drawing, because the limits depend on the lines."""
    axes.set(xscale="log", xlabel="rounds", ylabel="mistakes so far", title=title)
    axes.set_yscale("symlog", linthresh=10)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(**legend)
    return figure


MOST_FORECASTERS = 12
"""Only the best forecasters are drawn, at most this many."""
MOST_POINTS = 2000
"""Points of a line at most."""


def forecasters(report: Report) -> Any:
    """Draw the reliability diagram of each forecaster, and its difference from the best one over time.

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
    columns = min(4, max(2, len(names)))
    diagram_rows = -(-len(names) // columns)
    rows = diagram_rows + -(-len(pairs) // columns)
    figure = Figure(figsize=(3.4 * columns, 3.4 * rows), layout="constrained")
    for number, name in enumerate(names):
        _diagram(figure.add_subplot(rows, columns, number + 1), report, name)
    limit = max((float(np.abs(_late(pair.bounds)).max()) for pair in pairs), default=1.0)
    for number, pair in enumerate(pairs):
        _difference(figure.add_subplot(rows, columns, diagram_rows * columns + number + 1), pair, limit)
    return figure


def _diagram(axes: Any, report: Report, name: str) -> None:
    """Draw a reliability diagram with its consistency band, and the number of forecasts of each size as bars."""
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
    """Draw the mean difference of two scores after each round, and its confidence sequence."""
    at = np.unique(np.linspace(0, len(pair.means) - 1, MOST_POINTS).astype(np.int64))
    colour = "C2" if pair.clear else "C0"
    axes.fill_between(at + 1, pair.bounds.lower[at], pair.bounds.upper[at], color=colour, alpha=0.2)
    axes.plot(at + 1, pair.means[at], color=colour, linewidth=1.2)
    axes.axhline(0, color="grey", linewidth=0.8, linestyle="--")
    if pair.clear_since is not None:
        axes.axvline(pair.clear_since, color="C2", linewidth=0.8, linestyle=":")
    verdict = "not yet clear" if pair.clear_since is None else f"clear since round {pair.clear_since:,}"
    title = f"Brier: {_plain(pair.better)} minus {_plain(pair.worse)}\n{verdict}"
    axes.set(ylim=(-limit, limit), xlabel="rounds", title=title)
    axes.grid(visible=True, alpha=0.3)


def _plain(name: str) -> str:
    """Return a name for matplotlib, which would read text between $ signs as a formula."""
    return name.replace("$", r"\$")


def _late(bounds: Bounds) -> Any:
    """Return the bounds without the first tenth of the rounds, where they are wide."""
    start = len(bounds.lower) // 10
    return np.concatenate([bounds.lower[start:], bounds.upper[start:]])


MOST_EXPERTS = 8
"""Experts with an area of their own at most; the others share one."""
FAR = 3
"""A bound above this multiple of the largest regret gets its own panel; beside it, the regret could not be seen."""


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
    """Draw the weights of the experts over time, and below them the regret of each rule to the best expert.

    All axes are linear. A bound far above the regrets gets its own panel, together with the regret of the first rule.

    Parameters
    ----------
    rounds, weights : array
        0-based rounds, and the weights of the experts in each of them. If a weight is below 0, they are drawn as lines.
    regrets : mapping
        {rule: regret after each round}. The weights and the bounds belong to the first rule.
    names : sequence of str
        The names of the experts.
    against : str or mapping
        The expert that the regret is measured against; or {rule: expert}, if it differs.
    bounds : sequence of (rounds, bound)
        Bounds of a theorem on the regret after that many rounds.
    allowed : str
        The text for the bounds in the legend.

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
    whom = (
        f"the best expert, {_plain(rivals[first])}" if one else "the expert to which each rule has the largest regret"
    )
    below.set(ylabel="regret", title=f"Loss so far minus the loss of {whom}")
    for axes in last:
        _regrets(axes, {first: regrets[first]}, labels)
        axes.set(ylabel="regret", title="The same, with the bound of a theorem")
    if bounds:
        at, values = zip(*bounds, strict=True)
        label = _plain(allowed) if allowed else f"bound of a theorem for {_plain(first)}:\n{values[-1]:.4g} in the end"
        axes = last[0] if far else below
        axes.plot(at, values, color="C0", linestyle="--", marker=".", linewidth=1, label=label)
    for axes in (below, *last):
        axes.set_xlim(0, len(regrets[first]))
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    (below, *last)[-1].set_xlabel("rounds")
    return figure


def _regrets(axes: Any, regrets: Mapping[str, FloatArray], labels: Mapping[str, str]) -> None:
    """Draw a line for each rule, and one for no regret."""
    for number, (rule, regret) in enumerate(regrets.items()):
        at = np.unique(np.linspace(0, len(regret) - 1, MOST_POINTS).astype(np.int64))
        axes.plot(at + 1, regret[at], color=f"C{number % 10}", linestyle="-:"[number // 10 % 2], label=labels[rule])
    axes.axhline(0, color="grey", linewidth=0.8)


def _weights(axes: Any, rounds: IntArray, weights: FloatArray, names: Sequence[str]) -> None:
    """Draw an area for each of the experts with the largest mean weight, and one for all others."""
    largest = np.argsort(-np.abs(weights).mean(axis=0), kind="stable")[:MOST_EXPERTS]
    if weights.min() < 0:
        for k in largest:
            axes.plot(rounds + 1, weights[:, k], label=_plain(names[k]))
        axes.axhline(0, color="grey", linewidth=0.8)
    else:
        others = np.maximum(weights.sum(axis=1) - weights[:, largest].sum(axis=1), 0)
        more = len(names) > len(largest)
        layers = [*weights[:, largest].T, *([others] if more else [])]
        labels = [*(_plain(names[k]) for k in largest), *([f"{len(names) - len(largest)} others"] if more else [])]
        colours = [*(f"C{k}" for k in (0, 1, 2, 3, 4, 5, 6, 8)[: len(largest)]), "lightgrey"]
        axes.stackplot(rounds + 1, layers, labels=labels, colors=colours, step="post")
        axes.set_ylim(0, 1)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
