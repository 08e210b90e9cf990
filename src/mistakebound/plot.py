"""Pictures of mistakes and bounds. Needs matplotlib: ``pip install 'mistakebound[plot]'``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mistakebound.certificate import Certificate
    from mistakebound.confidence import Bounds
    from mistakebound.ledger import Ledger
    from mistakebound.verdict import Pair, Report


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
