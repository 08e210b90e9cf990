"""``mistakebound forecasters``: rank forecasters, with a confidence sequence for the difference of each pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound._support.text import escaped
from mistakebound.cli.help import Manual
from mistakebound.cli.options import FILES, OutputFile, column_options, refuse_to_overwrite, split_at_commas
from mistakebound.cli.output import command_line, picture_maker, show_files, show_skipped

if TYPE_CHECKING:
    from mistakebound.forecasters.verdict import Report


@click.command(cls=Manual, short_help="Rank forecasters by their probabilities.")
@FILES
@click.option("--outcome", required=True, metavar="COLUMN", help="Column of the outcome: 1 or 0, true or false.")
@click.option("--positive", "positive_outcome", metavar="WORD", help="The outcome that the probabilities are for.")
@click.option(
    "--forecasters",
    "names",
    metavar="A,B,...",
    help="Columns of the forecasters. By default all that hold probabilities.",
)
@click.option(
    "--classes",
    "class_names",
    callback=split_at_commas,
    metavar="H,D,A",
    help="The outcomes, if there are several: forecaster b gives their probabilities in columns b_H, b_D, b_A.",
)
@click.option(
    "--alpha",
    "failing",
    default=0.05,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Probability that a confidence sequence fails in any round.",
)
@click.option(
    "--plot",
    type=OutputFile(dash=False),
    metavar="FILE.png",
    help="Draw reliability diagrams and differences; needs matplotlib.",
)
@click.option(
    "--report",
    "page",
    type=OutputFile(dash=False),
    metavar="FILE.html",
    help="Write an HTML page about the forecasters.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of the table.")
@column_options
def forecasters(
    files: tuple[str, ...],
    *,
    outcome: str,
    positive_outcome: str | None,
    names: str | None,
    class_names: list[str] | None,
    failing: float,
    plot: str | None,
    page: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    r"""Compare forecasters by the probabilities that they gave.

    FILE is a table, JSON lines, Parquet or Arrow, with one row per round and one column of probabilities per
    forecaster. An empty field means that there is no forecast. Two forecasters are compared in the rows in which both
    gave a forecast; the table uses the rows in which all forecasters gave one. If there is no such row, each score is
    over the forecaster's own rows, and the ranking counts how many others each one is better than.

    With --classes, a forecaster has a column for each outcome. Its Brier score is the sum over all outcomes, and so are
    MCB, DSC and UNC.

    \b
      Brier      mean of (forecast − outcome)²; smaller is better;
                 it is MCB − DSC + UNC
      MCB        miscalibration: the gain from recalibrating (isotonic regression)
      DSC        discrimination: the gain of recalibrated forecasts over the base
                 rate
      UNC        uncertainty: the score of always forecasting the base rate
      skill      1 − Brier/UNC
      log score  mean of −ln p; p is the probability given to the actual outcome

    On average, a smaller Brier score means that the forecasts are closer to the true probabilities. A confidence
    sequence encloses the difference of two scores. It holds at every moment: you may look after every row, and stop
    when the difference is clear. All pairs together hold with probability 1 − ALPHA. Rows need not be independent.

    "not yet clear (evidence 0.8 of 120)": the evidence is the present value of a bet. Imagine two bets of half a coin,
    one on each forecaster of the pair, that this forecaster is better. The odds are fair if both are equally good. The
    evidence is the present value of the bet on the better one. If both are equally good, the probability that either
    bet ever reaches 120 is at most 1/120. A pair is clear when its evidence reaches the number of pairs divided by
    ALPHA.

    \b
    Examples:
      mistakebound forecasters rain.csv --outcome rain
      mistakebound forecasters rain.csv --outcome rain --forecasters Alice,Bob
      mistakebound forecasters rain.csv --outcome rain --plot rain.png --json
      mistakebound forecasters rain.csv --outcome rain --report rain.html
      mistakebound forecasters games.parquet --outcome winner --positive home
      mistakebound forecasters games.csv --outcome result --classes H,D,A
    """
    refuse_to_overwrite(files, None, plot, page)
    draw = picture_maker("forecasters") if plot else None
    chosen = [] if names is None else [each.strip() for each in names.split(",")]
    report = mb.forecasters.compare(
        files,
        names=chosen,
        alpha=failing,
        classes=class_names or None,
        outcome=outcome,
        positive=positive_outcome,
        **options,
    )
    show_skipped(report.skipped)
    click.echo(report.to_json() if as_json else as_text(report))
    if draw and plot:
        draw(report).savefig(plot, dpi=150)
    if page:
        report.write_report(page, command=command_line())
    show_files(quiet=as_json, plot=plot, report=page)


def as_text(report: Report) -> str:
    """Return the report as text, with notes on missing forecasts and columns."""
    from mistakebound._support.text import many  # noqa: PLC0415

    lines = str(report).split("\n")
    if len(report.pairs) > 1:
        lines.append(f"({report.confidence}: all {len(report.pairs)} pairs together, at every moment)")
    infinite = [each.name for each in report.scores.values() if each.log.score == float("inf")]
    fewer = [each for each in report.scores.values() if each.forecasts > report.rounds]
    if fewer and report.comparable:
        table = f"the table uses the {many(report.rounds, 'round')} in which all gave a forecast"
        first, *others = fewer
        counts = [f"{first.name} gave one in {many(first.forecasts, 'round')}"]
        counts += [f"{each.name} in {each.forecasts:,}" for each in others]
        lines.append(f"({table}; {', '.join(counts)})")
        lines += [f"({report.different_rounds})"] if report.different_rounds else []
    if infinite:
        lines.append(
            f"(the log score is infinite, because an actual outcome was given probability 0: {', '.join(infinite)})"
        )
    if report.left:
        lines.append(f"(not forecasters: {'; '.join(report.left)})")
    return "\n".join(map(escaped, lines))
