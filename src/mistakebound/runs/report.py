"""Write the HTML report of a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mistakebound.errors import add_file_name
from mistakebound.learners.explain import Features
from mistakebound.viz.report import CertificateText, page

if TYPE_CHECKING:
    from os import PathLike

    from mistakebound.runs.runner import RunResult

TOP = 40
"""How many weights are listed."""


def write_report(
    result: RunResult, path: str | PathLike[str], *, learner: str | None = None, stopped: str | None = None
) -> None:
    """Write a page with everything about a run, which needs nothing but itself.

    Parameters
    ----------
    result : RunResult
        What ``run`` returned, with its curve.
    path : path
        The HTML file.
    learner, stopped : str
        How the learner and what ended the run are called on the page; by default as in Python.
    """
    import mistakebound as mb  # noqa: PLC0415 - which imports this room

    found, ledger = result.certificate, result.ledger
    facts = {
        "files": result.source.files,
        "stopped": str(result.stopped or "") if stopped is None else stopped,
        "skipped": result.skipped,
        "learner": repr(result.learner) if learner is None else learner,
        "classes": ledger.classes,
        "majority": result.majority,
        **{name: getattr(result, name) for name in ("rounds", "mistakes", "false_positives", "false_negatives")},
        **{name: getattr(result, name) for name in ("majority_mistakes", "seconds", "bytes")},
    }
    shown = (
        None
        if found is None
        else CertificateText(found.status, found.scope, found.meaning(), found.details(), found.bound)
    )
    features = Features(result.learner)
    constant = [] if features.constant is None else [(features.constant.feature, features.constant.adds)]
    points = [(0, 0), (result.rounds, result.mistakes)] if result.curve is None else result.curve.to_now()
    text = page(facts, points, [*constant, *features.largest(TOP)], shown, mb.__version__)
    with add_file_name(os.fspath(path)), open(path, "w", encoding="utf-8") as file:
        file.write(text)
