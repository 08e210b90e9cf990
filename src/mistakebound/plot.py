"""Pictures of mistakes and bounds. Needs matplotlib: ``pip install 'mistakebound[plot]'``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mistakebound.certificate import Certificate
    from mistakebound.ledger import Ledger


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
