"""Pictures of mistakes and bounds. Needs matplotlib: ``pip install 'mistakebound[plot]'``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for number, (name, (ledger, certificate)) in enumerate(runs.items()):
        colour = f"C{number}"
        steps = np.concatenate([[1], ledger.mistake_rounds + 1, [max(ledger.rounds, 1)]])
        counts = np.concatenate([[0], np.arange(1, ledger.mistakes + 1), [ledger.mistakes]])
        axes.step(steps, counts, where="post", color=colour, label=f"{name}: {ledger.mistakes} mistakes")
        if certificate is not None and np.isfinite(certificate.bound):
            label = f"{name}: at most {certificate.bound:.4g} ({certificate.theorem})"
            axes.axhline(certificate.bound, color=colour, linestyle="--", linewidth=1, label=label)
    axes.set(xscale="log", xlabel="rounds", ylabel="mistakes so far", title=title)
    axes.set_yscale("symlog", linthresh=10)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")
    return figure
