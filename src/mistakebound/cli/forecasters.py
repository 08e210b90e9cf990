"""``mistakebound forecasters``: rank forecasters, with a confidence sequence for the difference of each pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound._support.text import escaped
from mistakebound.cli.help import Manual
from mistakebound.cli.options import FILES, OutputFile, column_options
from mistakebound.cli.output import picture_maker, tell_skipped

if TYPE_CHECKING:
    from mistakebound.forecasters.verdict import Report


@click.command(cls=Manual, short_help="Rank forecasters, and say how sure it is.")
@FILES
@click.option("--outcome", required=True, metavar="COLUMN", help="What happened: 1 or 0, true or false.")
@click.option("--positive", "positive_outcome", metavar="WORD", help="This outcome against all others.")
@click.option(
    "--forecasters", "names", metavar="A,B,...", help="Their columns; without it, all that hold probabilities."
)
@click.option(
    "--alpha",
    "failing",
    default=0.05,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Probability that any bound fails in any round.",
)
@click.option(
    "--plot", type=OutputFile(), metavar="FILE.png", help="Draw reliability and differences; needs matplotlib."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the table.")
@column_options
def forecasters(
    files: tuple[str, ...],
    *,
    outcome: str,
    positive_outcome: str | None,
    names: str | None,
    failing: float,
    plot: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    r"""Compare the forecasters of FILE, a column of probabilities each, by what happened, a round a row.

    FILE is a table, JSON lines, Parquet or Arrow. An empty field is no forecast: two forecasters are compared on the
    rows in which both gave one, and the table is about the rows in which all did.

    \b
      Brier      mean of (forecast − outcome)², the smaller the better; = MCB − DSC + UNC
      MCB        miscalibration: what recalibrating (isotonic regression) would gain
      DSC        discrimination: what forecasts, recalibrated, gain over the base rate
      UNC        uncertainty: the score of always saying the base rate
      skill      1 − Brier/UNC
      log score  mean of −ln of the probability of what happened: another opinion

    Brier's score is the one that tells who is closer to the true probabilities. A confidence sequence encloses the
    difference of two at every moment: you may look after every row, and stop when it is clear. All pairs together hold
    with probability 1 − ALPHA, whatever the weather is like; rows need not be independent.

    "not yet clear (evidence 0.8 of 120)": a coin is bet, half of it on each of the two being better, at odds that are
    fair if they are equally good. Evidence is what the half on the better one has become. If they are equally good,
    either half ever grows to 120 with probability 1/120 at most; so when one has, the pair is clear. Of several pairs,
    each needs 1/ALPHA times their number.

    \b
    Examples:
      mistakebound forecasters rain.csv --outcome rain
      mistakebound forecasters rain.csv --outcome rain --forecasters Alice,Bob --plot rain.png
      mistakebound forecasters games.parquet --outcome winner --positive home --json
    """
    draw = picture_maker("forecasters") if plot else None
    chosen = [] if names is None else [each.strip() for each in names.split(",")]
    report = mb.forecasters.compare(
        files, names=chosen, alpha=failing, outcome=outcome, positive=positive_outcome, **options
    )
    tell_skipped(report.skipped)
    click.echo(report.to_json() if as_json else in_words(report))
    if draw and plot:
        draw(report).savefig(plot, dpi=150)


def in_words(report: Report) -> str:
    """What a person sees."""
    from mistakebound._support.text import many  # noqa: PLC0415

    lines = str(report).split("\n")
    if len(report.pairs) > 1:
        lines.append(f"({report.confidence}: all {len(report.pairs)} pairs together, at every moment)")
    infinite = [each.name for each in report.scores.values() if each.log.score == float("inf")]
    fewer = [each for each in report.scores.values() if each.forecasts > report.rounds]
    if fewer:
        table = f"the table is of the {many(report.rounds, 'round')} in which all gave a forecast"
        first, *others = fewer
        counts = [f"{first.name} gave one in {many(first.forecasts, 'round')}"]
        counts += [f"{each.name} in {each.forecasts:,}" for each in others]
        lines.append(f"({table}; {', '.join(counts)})")
    if infinite:
        lines.append(f"(an infinite log score: what happened had been called impossible by {', '.join(infinite)})")
    if report.left:
        lines.append(f"(not forecasters: {'; '.join(report.left)})")
    return "\n".join(map(escaped, lines))
