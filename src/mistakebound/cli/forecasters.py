"""``mistakebound forecasters``: who of several forecasters is the best, and how sure that is by now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound._support.text import escaped
from mistakebound.cli.errors import told
from mistakebound.cli.help import Manual
from mistakebound.cli.options import FILES, OutputFile, column_options
from mistakebound.cli.output import picture_maker, tell_skipped

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.data.columns import Frame
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
    from mistakebound.cli.experts import columns_named, listed  # noqa: PLC0415 - of the same family

    with told():
        draw = picture_maker("forecasters") if plot else None
        frame = columns_named(files, outcome, **options)
        if not frame.rows:
            message = f"{', '.join(files)}: there are no rows"
            raise click.ClickException(message)
        used = listed(names) or frame.names
        frame.refuse_decimal_commas([frame.name(outcome)], "choose another --outcome")
        frame.refuse_decimal_commas([frame.name(each) for each in used], "choose others: --forecasters")
        frame = frame_with_outcomes(frame, frame.name(outcome), options["skip_bad"])
        y = outcomes_of(frame, outcome, positive_outcome)
        chosen, left = forecasts_of(frame, frame.name(outcome), names)
        report = compared(frame, chosen, y, failing)
        if as_json:
            click.echo(report.to_json())
        else:
            click.echo(in_words(report, left))
        if draw and plot:
            draw(report).savefig(plot, dpi=150)


def frame_with_outcomes(frame: Frame, name: str, skip_bad: int) -> Frame:
    """The rows that have an outcome, if the others may be skipped."""
    from mistakebound.cli.advisers import texts_of  # noqa: PLC0415

    bad = [row for row, text in enumerate(texts_of(frame, name)) if not text]
    if not bad:
        return frame
    rest = frame.without(bad, f"column {name!r}: there is no outcome", skip_bad)
    tell_skipped(rest.skipped[len(frame.skipped) :])
    return rest


def outcomes_of(frame: Frame, column: str, positive: str | None) -> FloatArray:
    """The outcomes as 0 and 1; a row without one is refused."""
    import numpy as np  # noqa: PLC0415 - "--help" needs none of it

    name = frame.name(column)
    words = frame.words.get(name)
    if positive is not None:
        texts = words or ["" if value != value else f"{value:.17g}" for value in frame.numbers[name].tolist()]  # noqa: PLR0124
        require(frame, name, [text != "" for text in texts], texts)
        if positive not in texts:
            message = f"{positive!r} is never the outcome: column {name!r} has {', '.join(sorted(set(texts))[:10])}"
            raise ValueError(message)
        return np.array([float(text == positive) for text in texts])
    if words is not None:
        meant = [{"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}.get(word.lower()) for word in words]
        require(frame, name, [value is not None for value in meant], words)
        return np.array(meant, np.float64)
    numbers = frame.numbers[name]
    require(frame, name, ((numbers == 0) | (numbers == 1)).tolist(), [f"{value:g}" for value in numbers.tolist()])
    return numbers


def require(frame: Frame, name: str, good: list[bool], texts: list[str]) -> None:
    """Refuse a column of outcomes by the first row that has none."""
    if not all(good):
        row = good.index(False)
        what = f"{texts[row]!r} is neither 0 nor 1" if texts[row] not in ("", "nan") else "there is no outcome"
        hint = "; --positive tells which word is 1" if name in frame.words and texts[row] else ""
        message = f"{frame.where(row)}: column {name!r}: {what}{hint}"
        raise mb.StreamError(message)


def forecasts_of(frame: Frame, outcome: str, names: str | None) -> tuple[dict[str, FloatArray], list[str]]:
    """The columns of the forecasters, and why the others were left out: they hold no probabilities."""
    if names is not None:
        return {frame.name(each.strip()): frame.column(each.strip()) for each in names.split(",")}, []
    others = [name for name in frame.names if name != outcome]
    faults = {name: fault_of(frame, name) for name in others}
    chosen = {name: frame.numbers[name] for name, fault in faults.items() if not fault}
    left = [f"{name}: {fault}" for name, fault in faults.items() if fault]
    if not chosen:
        numbers = [frame.numbers[name] for name in others if name in frame.numbers]
        there = f"; {'; '.join(left)}" if left else ""
        message = f"no column but {outcome!r} holds probabilities{there}{hint_of_percent(numbers)}"
        raise ValueError(message)
    return chosen, left


def fault_of(frame: Frame, name: str) -> str:
    """Why a column holds no probabilities, by the first row that shows it; "" if it does."""
    import numpy as np  # noqa: PLC0415

    from mistakebound.data.table_header import is_number  # noqa: PLC0415

    if name in frame.words:
        row, word = next((row, word) for row, word in enumerate(frame.words[name]) if not is_number(word))
        return f"{frame.where(row)} says {word!r}, no number"
    values = frame.numbers[name]
    if np.isnan(values).all():
        return "it is empty"
    outside = (values < 0) | (values > 1)
    if not outside.any():
        return ""
    row = int(np.argmax(outside))
    return f"{frame.where(row)} says {values[row]:g}, no probability"


def hint_of_percent(columns: list[FloatArray]) -> str:
    """A hint, if all columns lie between 0 and 100 and are no probabilities with a slip."""
    import numpy as np  # noqa: PLC0415

    told = [values[~np.isnan(values)] for values in columns if not np.isnan(values).all()]
    percent = told and all(values.min() >= 0 and values.mean() > 1 and 2 <= values.max() <= 100 for values in told)
    return "; if these are percentages, divide them by 100" if percent else ""


def compared(frame: Frame, chosen: dict[str, FloatArray], y: FloatArray, alpha: float) -> Report:
    """The report; what is wrong with a row is said of its line."""
    try:
        return mb.forecasters.compare(chosen, y, alpha=alpha)
    except mb.StreamError as error:
        if error.round is None:
            raise
        words = str(error).removeprefix(f"round {error.round}: ")
        message = f"{frame.where(error.round)}: {words}{hint_of_percent(list(chosen.values()))}"
        raise mb.StreamError(message) from None


def in_words(report: Report, left: list[str]) -> str:
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
    if left:
        lines.append(f"(not forecasters: {'; '.join(left)})")
    return "\n".join(map(escaped, lines))
