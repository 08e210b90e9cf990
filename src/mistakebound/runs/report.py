"""Write the HTML report of a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from mistakebound.errors import add_file_name
from mistakebound.learners.explain import weights_and_constant
from mistakebound.learners.explanation import CONSTANT
from mistakebound.learners.panel import Panel
from mistakebound.runs.panel_facts import panel_facts
from mistakebound.viz import class_report, panel_report
from mistakebound.viz.report import CertificateText, page
from mistakebound.viz.report import text as html

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from mistakebound.play.class_ledger import ClassLedger
    from mistakebound.runs.runner import RunResult

TOP = 40
"""Number of weights that are listed."""


def write_report(
    result: RunResult,
    path: str | PathLike[str],
    *,
    learner: str | None = None,
    stopped: str | None = None,
    remarks: Sequence[str] | None = None,
) -> None:
    """Write a self-contained HTML page about a run.

    Parameters
    ----------
    result : RunResult
        The result of ``run``.
    path : path
        The HTML file.
    learner, stopped : str
        Texts for the learner and for the error that ended the run early; by default their ``repr`` and ``str``.
    remarks : sequence of str
        Texts for the remarks; by default their ``str``.
    """
    import mistakebound as mb  # noqa: PLC0415 - it imports this module

    found, ledger = result.certificate, result.ledger
    facts = {
        "files": result.source.files,
        "stopped": str(result.stopped or "") if stopped is None else stopped,
        "skipped": result.skipped,
        "remarks": result.remarks if remarks is None else remarks,
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
    sections = []
    if ledger.several:
        sections += several_classes(cast("ClassLedger", ledger))
    elif ledger.counts.measures is not None:
        if (answers := ledger.answers) is not None:
            sections.append(panel_report.abstentions(answers._asdict()))
        sections.append(panel_report.probabilities(ledger.measures.to_dict(), html(ledger.classes[1])))
    largest: list[tuple[str, float]] = []
    if isinstance(result.learner, Panel):
        if result.rounds:
            sections.append(panel_report.members(panel_facts(result.learner), ledger.rounds))
    elif not ledger.several:
        weights, constant = weights_and_constant(result.learner, top=TOP)
        largest = [*([(CONSTANT, constant)] if constant is not None else []), *weights]
    points = [(0, 0), (result.rounds, result.mistakes)] if result.curve is None else result.curve.to_now()
    text = page(facts, points, largest, shown, mb.__version__, sections)
    with add_file_name(os.fspath(path)), open(path, "w", encoding="utf-8") as file:
        file.write(text)


def several_classes(ledger: ClassLedger) -> list[str]:
    """Return the sections about several classes; none before the first round."""
    if ledger.counts.measures is None:
        return []
    found = {each.label: each._asdict() for each in ledger.by_class()}
    places = [k for k, label in enumerate(ledger.classes) if label in found]  # labels that have occurred
    labels = [ledger.classes[k] for k in places]
    confusion = ledger.confusion[places][:, places].tolist()
    listed = [found[label] for label in labels]
    measured = ledger.measures.to_dict() if ledger.rule.log_odds else {}
    shown = [html(each) for each in labels]
    return [class_report.classes(measured, shown, confusion, listed, ledger.without_prediction)]
