"""``mistakebound experts``: combine the forecasts or labels of experts, and print losses, regrets and bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mistakebound.aggregation.registry import ADAPTIVE, ALIASES, BY_ID, FOLLOWING, MIXING
from mistakebound.cli.help import Manual
from mistakebound.cli.options import FILES, OutputFile, column_options, refuse_to_overwrite, split_at_commas
from mistakebound.cli.output import (
    as_flag,
    command_line,
    note,
    output_file,
    picture_maker,
    show_files,
    show_skipped,
    step_progress,
)

if TYPE_CHECKING:
    from mistakebound.experts.comparison import Comparison
    from mistakebound.losses import Loss

MOST_AT_ONCE = 50_000
"""Numbers times rules up to which no progress is shown."""
OVERLAPS = ("refuse", "skip", "learn")
LOSS_NAMES = ("square", "absolute", "percentage", "pinball:TAU", "log")


class Rules(click.Choice):  # type: ignore[type-arg]  # Choice is not generic in older versions of click
    """The type of a list of names, separated by commas, each of which is one of the choices."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the list of names."""
        convert = super().convert
        return [convert(each.strip(), param, ctx) for each in value.split(",")] if isinstance(value, str) else value


def joined_lists(_: click.Context, __: click.Parameter, value: tuple[list[str], ...]) -> tuple[str, ...]:
    """Join the lists of an option that was set several times."""
    return tuple(each for some in value for each in some)


def parse_loss(_: click.Context, __: click.Parameter, value: str | None) -> Loss | None:
    """Return a loss by its name. Raise BadParameter if it is not a loss of numbers."""
    if value is None:
        return None
    from mistakebound.losses import loss_named  # noqa: PLC0415 - "--help" needs none of it

    if value.partition(":")[0] not in {each.partition(":")[0] for each in LOSS_NAMES}:
        message = f"there is no loss {value!r}; the losses are {', '.join(LOSS_NAMES)}"
        raise click.BadParameter(message)
    try:
        return loss_named(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def complete_loss(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the losses that start with the text, for the Tab key."""
    return [each.removesuffix("TAU") for each in LOSS_NAMES if each.startswith(incomplete)]


def parse_rate(_: click.Context, __: click.Parameter, value: str | None) -> float | str | None:
    """Return a number, or "theorem"."""
    try:
        return value if value in (None, "theorem") else float(value)
    except ValueError:
        message = f"must be a number or 'theorem', got {value!r}"
        raise click.BadParameter(message) from None


def split_all_at_commas(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> list[str]:
    """Split the words of an option that may be set several times at commas."""
    return [each.strip() for words in value for each in words.split(",")]


def rules_with_remarks(rules: tuple[str, ...]) -> str:
    """Return the names of rules, some with a few words about them."""
    entries = [BY_ID[each] for each in rules]
    names = [f"{each.alias} = {each.id}" if each.alias else each.id for each in entries]
    return ", ".join(
        f"{name} ({each.about})" if each.about else name for name, each in zip(names, entries, strict=True)
    )


@click.command(cls=Manual, short_help="Combine the forecasts of experts.")
@FILES
@click.option("--outcome", required=True, metavar="COLUMN", help="Column of the outcome: a number or a word.")
@click.option(
    "--experts",
    "names",
    multiple=True,
    callback=split_all_at_commas,
    metavar="A,B,...",
    help="Columns of the experts, or 'all' columns of numbers. By default all that can be forecasts.",
)
@click.option(
    "--id",
    "ids",
    multiple=True,
    callback=split_all_at_commas,
    metavar="A,B,...",
    help="Columns that identify a row.  [default: words, dates, row numbers]",
)
@click.option("--ignore", multiple=True, metavar="A,B,...", help="Columns to leave out.")
@click.option(
    "--classes",
    "class_names",
    callback=split_at_commas,
    metavar="H,D,A",
    help="The outcomes, if expert b gives their probabilities in columns b_H, b_D, b_A.",
)
@click.option("--positive", "positive_outcome", metavar="WORD", help="The outcome that the probabilities are for.")
@click.option(
    "--advice",
    metavar="COLUMN",
    help="Column of the labels that guarded-weighted-majority may follow instead of the experts.",
)
@click.option("--ahead", is_flag=True, help="Also forecast the last rows, whose outcome is still empty.")
@click.option(
    "--rule",
    "rules",
    multiple=True,
    type=Rules([*MIXING, *ALIASES, *FOLLOWING, "all"]),
    callback=joined_lists,
    metavar="A,B,...",
    help="Rules to run, or 'all'.  [default: ml-poly; for labels weighted-majority, with --advice the guarded one]",
)
@click.option(
    "--loss",
    callback=parse_loss,
    shell_complete=complete_loss,
    metavar="LOSS",
    help=f"{', '.join(LOSS_NAMES)}.  [default: square]",
)
@click.option("--no-gradient", is_flag=True, help="Compete with the best expert only, not with the best combination.")
@click.option("--eta", "rate", callback=parse_rate, metavar="X", help="Fixed learning rate; or 'theorem' for ewa.")
@click.option(
    "--alpha", "share", type=float, metavar="X", help="Share of the weight that fixed-share spreads over all experts."
)
@click.option(
    "--beta",
    type=float,
    metavar="X",
    help="Factor of weighted-majority for the weights of wrong experts.  [default: 0.5]",
)
@click.option(
    "--rates", type=click.Choice(ADAPTIVE.words), help="Learning rates of boa and ml-prod; 'proved' has a theorem."
)
@click.option("--penalty", type=float, metavar="X", help="Penalty of ridge.")
@click.option("--seed", type=int, metavar="N", help="Seed of the draws of randomized-weighted-majority.  [default: 0]")
@click.option(
    "--top", default=10, show_default=True, type=click.IntRange(1), metavar="N", help="How many experts to show."
)
@click.option(
    "--switches",
    default=5,
    show_default=True,
    type=click.IntRange(0),
    metavar="K",
    help="Switches of the best sequence of experts.",
)
@click.option(
    "--certify", is_flag=True, help="Show the premises of the theorems; also compute bounds for very long files."
)
@click.option("--load", type=click.Path(exists=True, dir_okay=False), help="Continue with a saved state.")
@click.option("--save", type=OutputFile(replaced=True), help="Write the state to this file at the end.")
@click.option(
    "--overlap",
    type=click.Choice(OVERLAPS),
    default=OVERLAPS[0],
    show_default=True,
    help="What to do with rows that the loaded state has learned already.",
)
@click.option("--follow", is_flag=True, help="Wait for more rows at the end of the file, and forecast each.")
@click.option("--predictions", type=OutputFile(), metavar="FILE", help="Write the prediction of each round as CSV.")
@click.option("--weights", type=OutputFile(), metavar="FILE", help="Write the weights after each round as CSV.")
@click.option("--report", type=OutputFile(), metavar="FILE.html", help="Write an HTML page about the result.")
@click.option(
    "--plot", type=OutputFile(dash=False), metavar="FILE.png", help="Draw weights and regret; needs matplotlib."
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of the tables.")
@column_options
def experts(
    files: tuple[str, ...],
    *,
    outcome: str,
    rules: tuple[str, ...],
    loss: Loss | None,
    top: int,
    switches: int,
    certify: bool,
    load: str | None,
    save: str | None,
    overlap: str,
    follow: bool,
    predictions: str | None,
    weights: str | None,
    report: str | None,
    plot: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    r"""Combine the forecasts of the experts in FILE, and learn which of them to trust.

    FILE is a table, JSON lines, Parquet or Arrow, with one row per round and one column per expert. Each forecast is
    made before its outcome is read. An empty field means that the expert is asleep in that round. The output shows the
    experts, the rules with their regret and the bound of a theorem, and the best choices in hindsight.

    \b
      numbers        every column of numbers is an expert; --loss sets the loss
      probabilities  of an outcome 0 or 1: the same; of several: set --classes
      labels         every column of labels is an expert; mistakes are counted

    \b
      regret          total loss of a rule minus that of the best expert
      linear regret   the same with tangents of the loss, from which rules learn
                      unless --no-gradient is set; the largest to any expert; the
                      regret to any combination of experts is not larger
      bound           the bound of a theorem: on the linear regret if there is
                      one, otherwise on the regret to any expert; for labels on
                      the number of mistakes
      holds           every premise holds, and the rule is within the bound
      vacuous         the same, but no rule could exceed so large a bound
      does not apply  a premise fails, or no theorem about this rule is known

    Columns of words, dates and row numbers are not experts: they identify a row, and are written beside its
    prediction. A column of numbers that are all far from the outcomes is not an expert either. A note lists them;
    --experts selects columns with any content.

    --load continues with a saved state, as if the rows of all files had been in one. Its rules and columns cannot
    change, but more experts may join: --experts names all of them. An ignored expert is asleep. A row that was learned
    already is an error, unless --overlap is set. A row is recognised by the columns that identify it. --follow waits
    for more rows at the end of the file, prints the forecast of each, and learns those that have an outcome. Ctrl-C
    ends it with the summary and the saved state.

    Rules for numbers: FORECAST_RULES.

    Rules for labels: LABEL_RULES.

    \b
    Examples:
      mistakebound experts load.csv --outcome Load
      mistakebound experts load.csv --outcome Load --rule all --loss absolute
      mistakebound experts load.csv --outcome Load --plot load.png
      mistakebound experts games.csv --outcome result --classes H,D,A
      mistakebound experts load.csv --outcome Load --predictions mixed.csv
      mistakebound experts load.csv --outcome Load --report load.html
      mistakebound experts load.csv --outcome Load --save load.mb
      mistakebound experts next.csv --outcome Load --load load.mb --save load.mb
      mistakebound experts votes.csv --outcome truth --certify
      mistakebound experts votes.csv --outcome truth --advice Carol
    """
    from mistakebound import experts as room  # noqa: PLC0415 - "--help" needs none of it
    from mistakebound.cli.expert_tables import FollowedTable, as_text  # noqa: PLC0415
    from mistakebound.data.columns import columns_with  # noqa: PLC0415

    refuse_to_overwrite(files, None, predictions, plot, weights, report, save)
    refuse_to_overwrite(files, load, predictions, plot, weights, report)  # only --save may replace the loaded state
    if plot:
        picture_maker("experts")
    reading = {name: options.pop(name) for name in ("separator", "header")}
    table: Any = files
    if not follow:
        table = columns_with(files, outcome, **reading, skip_bad=options["skip_bad"])
        show_skipped(table.skipped)
    shown = 0 if follow else len(table.skipped)
    quiet = as_json or "-" in (predictions, weights, report)
    with step_progress(MOST_AT_ONCE, wanted=not (as_json or follow)) as progress:
        found = room.compare(
            table,
            outcome,
            rules=rules,
            loss=loss,
            switches=switches,
            certify=certify,
            load=load,
            save=save if follow else None,  # rows that were followed are saved at once, also those before a bad row
            overlap=overlap,
            follow=follow,
            on_round=None if quiet else FollowedTable(),
            progress=progress,
            **reading,
            **parameters_of(options),
        )
    show_skipped(found.advice.frame.skipped[shown:])  # also rows without an outcome, or with all experts asleep
    text = found.to_json(as_flag) if as_json else as_text(found, top, certify=certify)
    try:
        write_files(found, command_again(load, save, overlap), predictions, weights, report, plot)
    except BaseException:
        if save:
            was = "was saved" if follow else "was not saved: the same command can be run again"
            note(f"the state {save} {was}")
        raise
    if save and not follow:  # after the other files: if one cannot be written, these rows are not learned yet
        found.save(save)
    click.echo(text, err="-" in (predictions, weights, report))
    made = {"predictions": predictions, "weights": weights, "report": report, "plot": plot, "saved": save}
    show_files(quiet=as_json, err="-" in (predictions, weights, report), **made)


def write_files(
    found: Comparison, command: str, predictions: str | None, weights: str | None, report: str | None, plot: str | None
) -> None:
    """Write the files that were asked for; ``command`` makes the page again."""
    for path, write in ((predictions, found.write_predictions), (weights, found.write_weights)):
        if path:
            with output_file(path) as out:
                write(out)
    if report:
        with output_file(report) as out:
            out.write(found.report(as_flag, command))
    if plot:
        found.plot().savefig(plot, dpi=150)


def command_again(load: str | None, save: str | None, overlap: str) -> str:
    """Return the command that makes the page again; a state that was replaced has learned the rows already."""
    replaced = load and save and Path(load).resolve() == Path(save).resolve()
    return command_line(*(("--overlap", "skip") if replaced and overlap != "skip" else ()))


def parameters_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options by their names in Python."""
    names = {
        "names": "experts",
        "class_names": "classes",
        "positive_outcome": "positive",
        "rate": "eta",
        "share": "alpha",
    }
    no_gradient = options.pop("no_gradient")
    return {names.get(name, name): value for name, value in options.items()} | {
        "gradient": False if no_gradient else None
    }


experts.help = (
    (experts.help or "")
    .replace("FORECAST_RULES", rules_with_remarks(MIXING))
    .replace("LABEL_RULES", rules_with_remarks(FOLLOWING))
)
