"""Write the HTML report of a run."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from mistakebound._support.text import escaped, many, percent, share
from mistakebound.certificates.certificate import rounded_up
from mistakebound.learners.panel import Panel
from mistakebound.runs import class_section, report_sections
from mistakebound.runs.panel_facts import panel_facts
from mistakebound.runs.round_dates import time_axis
from mistakebound.viz.chart import Line
from mistakebound.viz.mistake_charts import Bound, mistakes_chart, points_at, window_borders, window_chart
from mistakebound.viz.page import cards, charts, listing, page, section, text, versions, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from mistakebound.play.class_ledger import ClassLedger
    from mistakebound.runs.runner import RunResult
    from mistakebound.viz.chart import Chart

FEWEST = 20
"""Rounds from which the error in windows is drawn."""


def write_report(
    result: RunResult,
    path: str | PathLike[str],
    *,
    learner: str | None = None,
    stopped: str | None = None,
    remarks: Sequence[str] | None = None,
    command: str = "",
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
    command : str
        The command that makes the page again.
    """
    ledger, rounds = result.ledger, result.rounds
    ended = str(result.stopped or type(result.stopped).__name__) if result.stopped is not None else ""
    ended = ended if stopped is None else stopped
    sections = [
        f"<p class='fails'>Stopped early: {text(ended)}</p>" if ended else "",
        numbers(result),
        section("Mistakes over time", charts(over_time(result))),
    ]
    if result.certificate is not None:
        sections.append(report_sections.certificate(result.certificate))
    if ledger.several:
        sections += class_section.classes(cast("ClassLedger", ledger))
    else:
        sections.append(report_sections.confusion(result))
        if ledger.counts.measures is not None:
            sections.append(report_sections.probabilities(ledger, rounds))
    if isinstance(result.learner, Panel) and rounds:
        sections += report_sections.members(panel_facts(result.learner), ledger.rounds)
    sections += [
        report_sections.weights(result),
        report_sections.data(result, repr(result.learner) if learner is None else learner),
        listing("Notes", result.remarks if remarks is None else remarks),
        listing("Skipped lines", result.skipped),
    ]
    write(path, page(headline(result), lead(result), sections, made_by=versions(), command=command))


def headline(result: RunResult) -> str:
    """Return the result in a few words."""
    if not result.rounds:
        return "No examples were learned"
    return f"{brief_share(result.mistakes, result.rounds)} mistakes on {many(result.rounds, 'example')}"


def brief_share(part: int, whole: int) -> str:
    """Return a part in percent with two digits.

    >>> brief_share(74, 5574), brief_share(0, 5), brief_share(2, 2)
    ('1.3 %', '0 %', '100 %')
    """
    percent = 100 * part / max(whole, 1)
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.2g} %"


def lead(result: RunResult) -> str:
    """Return what the headline means, in sentences, as HTML."""
    rounds, mistakes, guessing = result.rounds, result.mistakes, result.majority_mistakes
    files = ", ".join(text(os.path.basename(file)) for file in result.source.files)
    first = f"{many(mistakes, 'mistake')} in {many(rounds, 'round')} of {files}."
    if not rounds:
        return first
    words = [first, "Each label was predicted before it was read, so this is the error on new examples."]
    guess = f"Always predicting {text(result.majority)} makes {many(guessing, 'mistake')} ({share(guessing, rounds)})"
    if not guessing:
        words.append(f"{guess}: only one label occurred.")
    elif mistakes < guessing:
        times = guessing / max(mistakes, 1)
        factor = f": {times:.0f} times as many" if times >= 10 else f": {times:.2g} times as many"
        words.append(guess + (f"{factor}." if times >= 1.1 else ", hardly more."))
    else:
        words.append(f"{guess}, so the learner has learned nothing useful yet.")
    if result.curve is not None and rounds >= FEWEST:
        late = result.curve.late_rate()
        words.append(f"In the second half of the rounds, {100 * late:.2g} % of the predictions were wrong.")
    return " ".join(words)


def numbers(result: RunResult) -> str:
    """Return the cards with the most important numbers."""
    if not result.rounds:
        return ""
    ledger, rounds = result.ledger, result.rounds
    shown = {"mistakes": f"{result.mistakes:,}", "of the examples": share(result.mistakes, rounds)}
    if result.curve is not None and rounds >= FEWEST:
        shown["in the second half"] = percent(result.curve.late_rate())
    shown[f"always predicting {escaped(result.majority)}"] = share(result.majority_mistakes, rounds)
    if (answers := ledger.answers) is not None:
        shown["rounds with a prediction"] = share(answers.answered, answers.answered + answers.abstentions)
        shown["of these wrong"] = share(answers.mistakes, answers.answered)
    if ledger.counts.measures is not None and ledger.rule.log_odds:
        measures = ledger.measures
        shown["log loss"] = f"{measures.log_loss:.4f}"
        if not ledger.several:
            shown["AUC"] = class_section.shown(measures.auc) or "–"
    if (known := bound_of(result)) is not None and known.bound < rounds:
        shown["bound on the mistakes"] = rounded_up(known.bound)
    return cards(shown)


def bound_of(result: RunResult) -> Bound | None:
    """Return the bound of the certificate, or one that is known without it; None if there is none."""
    found = result.certificate
    if found is not None:
        return Bound(found.bound, found.theorem) if found.status in ("holds", "vacuous") else None
    return None if result.bound is None else Bound(result.bound, result.learner.known_theorem())


def over_time(result: RunResult) -> list[Chart]:
    """Return the mistakes so far and the error in windows; dates are on the axis if the table has them."""
    rounds, mistakes = result.rounds, result.mistakes
    if not rounds:
        return []
    points = [(0, 0), (rounds, mistakes)] if result.curve is None else result.curve.to_now()
    time = time_axis(result.source, result.report, rounds)
    guess = f"always predicting {escaped(result.majority)}"
    limit = bound_of(result)
    bounds = {} if limit is None or limit.bound >= rounds else {"learner": limit}
    near = limit is not None and limit.bound <= 2 * max(mistakes, result.majority_mistakes, 1)
    first = mistakes_chart(
        {"learner": points}, bounds if near else {}, title="Mistakes so far", time=time, logarithmic=False, totals=False
    )
    ends = [at for at, _ in points]
    always = Line(guess, time.at(ends), [at * result.majority_mistakes / rounds for at in ends], colour=6, dashed=True)
    drawn = [replace(first, marks=[*first.marks, always])]
    if rounds >= FEWEST:
        borders = window_borders(rounds)
        drawn.append(
            window_chart(
                {"learner": points_at(points, borders)},
                title=f"Error in windows of about {borders[1]:,} rounds",
                time=time,
                guide=(guess, result.majority_mistakes / rounds),
            )
        )
    if rounds >= 1000:
        title = "Mistakes so far, both axes logarithmic"
        drawn.append(mistakes_chart({"learner": points}, bounds, title=title, totals=False))
    return drawn
