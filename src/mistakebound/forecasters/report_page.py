"""Write the HTML report of a comparison of forecasters."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from mistakebound._support.text import escaped, many
from mistakebound.forecasters.verdict import evidence_of
from mistakebound.viz.forecaster_charts import forecaster_charts
from mistakebound.viz.page import cards, charts, facts, listing, page, paragraph, section, table, text, versions, write
from mistakebound.viz.probability_charts import reliability_chart
from mistakebound.viz.time_axis import ROUNDS, TimeAxis

if TYPE_CHECKING:
    from os import PathLike

    from mistakebound.forecasters.verdict import Forecaster, Pair, Report

COLUMNS = (
    "Brier: the mean of (forecast − outcome)²; smaller is better. It is miscalibration − discrimination + uncertainty. "
    "Miscalibration: how much recalibrating the forecasts would gain. Discrimination: how much the recalibrated "
    "forecasts gain over the base rate. Uncertainty: the score of always forecasting the base rate. Skill: the share "
    "of the uncertainty that is saved. Log score: the mean of −ln of the probability given to the actual outcome."
)
SEVERAL = (
    "There are several outcomes: the Brier score and its parts are sums over all of them. The diagrams show the "
    "probability of the first outcome; for the best forecaster, there is a diagram for each outcome."
)
NOT_COMPARABLE = (
    "These scores are not comparable, because each is the mean over the rounds of one forecaster, and forecasters have "
    "different rounds. The order is that of the pairwise ranking."
)
MOST_IN_MATRIX = 16
"""Forecasters in the matrix of differences at most."""
DIAGRAMS = (
    "On the dashed line, the share of events that occurred equals the forecast. A line outside its band is evidence "
    "against calibration. Bars: the number of forecasts near each probability."
)
DIFFERENCES = (
    "The band encloses the expected difference at every moment: you may look after every round, and stop when the band "
    "has left 0. All bands hold together with the stated confidence, also if the rounds depend on each other."
)


def write_report(report: Report, path: str | PathLike[str], command: str = "") -> None:
    """Write a self-contained HTML page about forecasters; see ``Report.write_report``."""
    time = ROUNDS if report.dates is None else TimeAxis(report.dates.name, report.dates.seconds)
    diagrams, differences = forecaster_charts(report, time)
    best = next(iter(report.scores))
    diagrams += [  # the first class has a diagram for every forecaster
        reliability_chart(report.reliability(best, label), f"{best}: {label}") for label in report.classes[1:]
    ]
    sections = [
        numbers(report),
        ranking(report),
        pairwise(report),
        section("Reliability diagrams", charts(diagrams), paragraph(DIAGRAMS)),
        section("Differences over time", charts(differences), paragraph(DIFFERENCES) if differences else ""),
        pairs(report),
        data(report),
        listing("Columns that are not forecasters", report.left),
        listing("Skipped lines", report.skipped),
    ]
    write(path, page(report.verdict, lead(report), sections, made_by=versions(), command=command))


def lead(report: Report) -> str:
    """Return what the headline means, in sentences, as HTML."""
    best, *others = report.scores.values()
    if not report.comparable:
        first = report.standings[0]
        return (
            f"There is no round in which all gave a forecast, so two forecasters are compared on the rounds that they "
            f"have in common. {text(first.name)} is better than {first.better:,} of {many(len(others), 'other')}, "
            f"{first.clearly_better:,} of them clearly ({report.confidence} confidence for all clear results together)."
        )
    words = [f"The mean Brier score of {text(best.name)} is {best.brier.score:.4f} in {many(report.rounds, 'round')}."]
    if others:
        clear = sum(pair.clear for pair in report.pairs)
        words.append(f"The second, {text(others[0].name)}, has {others[0].brier.score:.4f}.")
        if report.different_rounds:
            words.append("The ranking uses the rounds in which all gave a forecast.")
            words.append(escape(report.different_rounds))
        verb = "is" if clear == 1 else "are"
        words.append(
            f"{clear:,} of {many(len(report.pairs), 'difference')} between two forecasters {verb} clear by now, with "
            f"{report.confidence} confidence for all of them together."
        )
    words.append("On average, a smaller score means that the forecasts are closer to the true probabilities.")
    return " ".join(words)


def numbers(report: Report) -> str:
    """Return the cards with the most important numbers."""
    best = next(iter(report.scores.values()))
    clear = sum(pair.clear for pair in report.pairs)
    return cards(
        {
            "forecasters": f"{len(report.scores):,}",
            "rounds": f"{report.rounds or len(report.y):,}",
        }
        | (
            {"best Brier score": f"{best.brier.score:.4f}", "best skill": digits(best.skill, 3)}
            if report.comparable
            else {}
        )
        | {f"outcome {escaped(label)}": f"{100 * rate:.1f} %" for label, rate in report.base_rates.items()}
        | ({} if report.classes else {"base rate": f"{report.base_rate:.3f}"})
        | {"clear pairs": f"{clear:,} of {len(report.pairs):,}"}
    )


def ranking(report: Report) -> str:
    """Return the forecasters with their scores, the best first."""
    head = ("forecaster", "Brier", "miscalibration", "discrimination", "uncertainty", "skill", "log score", "forecasts")
    lines = (line_of(each) for each in report.scores.values())
    warning = "" if report.comparable else f"<p class='fails'>{NOT_COMPARABLE}</p>"
    several = paragraph(SEVERAL) if report.classes else ""
    return section("Ranking", warning, table(head, lines, numbers_from=1), paragraph(COLUMNS), several)


def pairwise(report: Report) -> str:
    """Return how many others each forecaster is better than, and a matrix of the differences, if scores do not rank."""
    if report.comparable:
        return ""
    head = ("forecaster", "better than", "clearly", "worse than", "clearly", "no common round")
    lines = ((text(each.name), *(f"{count:,}" for count in each[1:])) for each in report.standings)
    counts = table(head, lines, numbers_from=1)
    names = list(report.scores)
    if len(names) > MOST_IN_MATRIX:
        return section("Pairwise ranking", counts)
    cells = {pair.names: difference_cell(pair.difference, clear=pair.clear) for pair in report.pairs}
    cells |= {pair.names[::-1]: difference_cell(-pair.difference, clear=pair.clear) for pair in report.pairs}
    matrix = ((text(one), *(cells.get((one, other), "") for other in names)) for one in names)
    key = (
        "The difference of the Brier scores, row minus column, on the rounds in which both gave a forecast: below 0, "
        "the row is better. Bold differences are clear."
    )
    return section("Pairwise ranking", counts, table(("", *map(text, names)), matrix, numbers_from=1), paragraph(key))


def difference_cell(value: float, *, clear: bool) -> str:
    """Return a difference, in bold if it is clear."""
    return f'<b class="{"holds" if value < 0 else "fails"}">{value:+.5f}</b>' if clear else f"{value:+.5f}"


def line_of(each: Forecaster) -> tuple[str, ...]:
    """Return a line of the ranking."""
    parts = each.brier
    values = (parts.score, parts.miscalibration, parts.discrimination, parts.uncertainty, each.skill, each.log.score)
    return (text(each.name), *(digits(value) for value in values), f"{each.forecasts:,}")


def pairs(report: Report) -> str:
    """Return the difference of each pair with its confidence sequence."""
    if not report.pairs:
        return ""
    head = ("better", "worse", "difference", "from", "to", "verdict", "rounds", "log score")
    lines = (pair_line(pair) for pair in report.pairs)
    key = (
        f"Difference of the Brier scores in the rounds in which both gave a forecast, and its {report.confidence} "
        "confidence sequence (from, to) after the last of them. Evidence: the present value of a bet that the first is "
        "better; a pair is clear when it reaches the second number. Log score: the difference of the log scores."
    )
    return section("Pairs", table(head, lines, numbers_from=2), paragraph(key))


def pair_line(pair: Pair) -> tuple[str, ...]:
    """Return a line of the table of pairs."""
    verdict = evidence_of(pair)
    if pair.clear_since is not None:
        verdict = f'<b class="holds">clear since round {pair.clear_since:,}</b>'
    numbers_ = (f"{value:+.5f}" for value in (pair.difference, pair.low, pair.high))
    log_score = "" if math.isnan(pair.log_difference) else f"{pair.log_difference:+.5f}".replace("inf", "∞")
    return text(pair.better), text(pair.worse), *numbers_, verdict, f"{len(pair.rounds):,}", log_score


def data(report: Report) -> str:
    """Return facts about the table."""
    rows = {"files": ", ".join(map(text, report.files)), "rounds": f"{len(report.y):,}"}
    if report.dates is not None:
        rows["dates"] = f"column {text(report.dates.name)}"
    rows["rounds with all forecasts"] = f"{report.rounds:,}"
    rows["classes"] = ", ".join(map(text, report.classes))
    return section("Data", facts(rows))


def digits(value: float, count: int = 5) -> str:
    """Return a number; ∞ if it is infinite, empty if there is none."""
    if math.isnan(value):
        return ""
    return f"{value:.{count}f}" if math.isfinite(value) else "∞"
