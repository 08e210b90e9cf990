"""Write the HTML report of a comparison of learners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound._support.text import escaped, many, percent, share, size
from mistakebound.certificates.certificate import rounded_up
from mistakebound.learners.panel import Panel
from mistakebound.runs.panel_facts import panel_facts
from mistakebound.runs.report import FEWEST, brief_share
from mistakebound.runs.report_sections import file_with_size, members
from mistakebound.runs.round_dates import time_axis
from mistakebound.viz.mistake_charts import comparison_chart, points_at, window_borders, window_chart
from mistakebound.viz.page import cards, charts, facts, listing, page, paragraph, section, table, text, versions, write

if TYPE_CHECKING:
    from os import PathLike

    from mistakebound.runs.comparison import Comparison, Contender
    from mistakebound.viz.chart import Chart

MOST_DRAWN, MOST_IN_WINDOWS = 12, 5
"""Learners that are drawn at most."""


def write_report(found: Comparison, path: str | PathLike[str], *, stopped: str | None, command: str) -> None:
    """Write a self-contained HTML page about a comparison; see ``Comparison.write_report``."""
    ended = str(found.stopped or type(found.stopped).__name__) if found.stopped is not None else ""
    ended = ended if stopped is None else stopped
    sections = [f"<p class='fails'>Stopped early: {text(ended)}</p>" if ended else ""]
    if found.ranked:
        sections += [numbers(found), section("Mistakes over time", charts(over_time(found))), ranking(found)]
    for learner in (each.learner for each in found.ranked):
        if isinstance(learner, Panel) and learner.standings.rounds:
            sections += members(panel_facts(learner), learner.ledger_.rounds)
    sections += [
        listing("Learners that cannot learn this stream", [f"{each.name}: {each.error}" for each in found.refused]),
        data(found),
        listing("Notes", found.remarks),
        listing("Skipped lines", found.skipped),
    ]
    write(path, page(headline(found), lead(found), sections, made_by=versions(), command=command))


def headline(found: Comparison) -> str:
    """Return the best learner in a few words."""
    if not found.ranked or not found.ranked[0].curve.rounds:
        return "No learner could learn the stream" if found.refused else "No examples were learned"
    best = found.ranked[0]
    wrong = brief_share(best.curve.mistakes, best.curve.rounds)
    also = sum(each.curve.mistakes == best.curve.mistakes for each in found.ranked[1:])
    who = f"{best.name} and {many(also, 'other')} make" if also else f"{best.name} makes"
    return f"{who} the fewest mistakes: {wrong} on {many(best.curve.rounds, 'example')}"


def lead(found: Comparison) -> str:
    """Return what the headline means, in sentences, as HTML."""
    if not found.ranked:
        return "No learner learned the whole stream."
    best, *others = found.ranked
    rounds = best.curve.rounds
    words = [f"{many(len(found.ranked), 'learner')} predicted each label of the same stream before it was read."]
    if worse := [each for each in others if each.curve.mistakes > best.curve.mistakes]:
        place = "second" if len(worse) == len(others) else "next"
        words.append(f"The {place}, {text(worse[0].name)}, makes {many(worse[0].curve.mistakes, 'mistake')}")
        words[-1] += f" ({share(worse[0].curve.mistakes, rounds)})."
    label, guessed = best.majority
    words.append(f"Always predicting {text(label)} makes {many(guessed, 'mistake')} ({share(guessed, rounds)}).")
    if bad := sum(each.worse_than_majority for each in found.ranked):
        words.append(f"{many(bad, 'learner')} made more mistakes than that.")
    return " ".join(words)


def numbers(found: Comparison) -> str:
    """Return the cards with the most important numbers."""
    best, worst = found.ranked[0], found.ranked[-1]
    rounds = best.curve.rounds
    shown = {
        "learners": f"{len(found.ranked):,}",
        "examples": f"{rounds:,}",
        "mistakes of the best": f"{best.curve.mistakes:,}",
        "of the last": f"{worst.curve.mistakes:,}",
        f"always predicting {escaped(best.majority[0])}": f"{best.majority[1]:,}",
    }
    return cards(shown)


def over_time(found: Comparison) -> list[Chart]:
    """Return the mistakes of the learners, and the error of the best ones in windows."""
    rounds = found.ranked[0].curve.rounds
    if not rounds:
        return []
    title = "Mistakes so far" + (f" of the best {MOST_DRAWN}" if len(found.ranked) > MOST_DRAWN else "")
    curves = {each.name: each.curve.to_now() for each in found.ranked[:MOST_DRAWN]}
    drawn = [comparison_chart(curves, title=title, totals=False)]
    if rounds >= FEWEST:
        borders = window_borders(rounds)
        best = {each.name: points_at(each.curve.to_now(), borders) for each in found.ranked[:MOST_IN_WINDOWS]}
        title = f"Error of the best {len(best)} in windows of about {borders[1]:,} rounds"
        drawn.append(window_chart(best, title=title, time=time_axis(found.source, found.report, rounds)))
    return drawn


def ranking(found: Comparison) -> str:
    """Return the learners with their mistakes, the best first, and always predicting the same label among them."""
    certified = any(each.certificate for each in found.ranked)
    head = ("learner", "mistakes", "rate", "second half", "seconds", "bound", *(("certificate",) if certified else ()))
    lines = [line_of(each, certified=certified) for each in found.ranked]
    label, guessed = found.ranked[0].majority
    rate = share(guessed, found.ranked[0].curve.rounds)
    always = (f"<i>always predicting {text(label)}</i>", f"{guessed:,}", rate, *[""] * (len(head) - 3))
    lines.insert(sum(not each.worse_than_majority for each in found.ranked), always)
    key = (
        "Second half: mistakes per round in the second half of the rounds. Seconds: time for learning, without reading."
    )
    return section("Ranking", table(head, lines, numbers_from=1), paragraph(key))


def line_of(each: Contender, *, certified: bool) -> tuple[str, ...]:
    """Return a line of the ranking."""
    curve = each.curve
    status = () if not certified else ("" if each.certificate is None else each.certificate.status,)
    return (
        text(each.name),
        f"{curve.mistakes:,}",
        share(curve.mistakes, curve.rounds),
        percent(curve.late_rate()),
        f"{each.seconds:.3f}",
        "–" if each.bound is None else rounded_up(each.bound),
        *status,
    )


def data(found: Comparison) -> str:
    """Return facts about the files and the time."""
    rows = {"files": "<br>".join(file_with_size(file) for file in found.source.files)}
    if found.ranked:
        rows["examples"] = f"{found.ranked[0].curve.rounds:,}"
        rows["features"] = f"{max(each.learner.ledger_.n for each in found.ranked):,}"
    rows["skipped lines"] = f"{len(found.skipped):,}"
    rows["time"] = f"{found.seconds:.2f} s" + (f", {size(found.bytes)} of text read once" if found.bytes else "")
    return section("Data", facts(rows))
