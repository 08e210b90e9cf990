"""``mistakebound experts``: mix forecasts of experts, or follow their labels, and print losses and regret bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mistakebound.aggregation.registry import ADAPTIVE, ALIASES, BY_ID, FOLLOWING, MIXING
from mistakebound.cli.help import Manual
from mistakebound.cli.options import FILES, OutputFile, column_options, refuse_to_overwrite
from mistakebound.cli.output import as_flag, picture_maker, tell_skipped, waiting, written

if TYPE_CHECKING:
    from mistakebound.losses import Loss

MOST_AT_ONCE = 50_000
"""Numbers, times rules, that need no line of progress."""
LOSS_NAMES = ("square", "absolute", "percentage", "pinball:TAU", "log")


class Rules(click.Choice):  # type: ignore[type-arg]  # older versions of click have no argument there
    """Names between commas, each of which must be one of the choices."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """All of them."""
        convert = super().convert
        return [convert(each.strip(), param, ctx) for each in value.split(",")] if isinstance(value, str) else value


def in_one_row(_: click.Context, __: click.Parameter, value: tuple[list[str], ...]) -> tuple[str, ...]:
    """What was given in several options, and between commas."""
    return tuple(each for some in value for each in some)


def loss_of(_: click.Context, __: click.Parameter, value: str | None) -> Loss | None:
    """A loss by its name; refuse what is no loss of numbers."""
    if value is None:
        return None
    from mistakebound.losses import loss_named  # noqa: PLC0415 - "--help" needs none of it

    if value.partition(":")[0] not in {each.partition(":")[0] for each in LOSS_NAMES}:
        message = f"no loss {value!r}; there are {', '.join(LOSS_NAMES)}"
        raise click.BadParameter(message)
    try:
        return loss_named(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def losses_like(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Losses for the Tab key."""
    return [each.removesuffix("TAU") for each in LOSS_NAMES if each.startswith(incomplete)]


def rate_of(_: click.Context, __: click.Parameter, value: str | None) -> float | str | None:
    """A number, or "theorem"."""
    try:
        return value if value in (None, "theorem") else float(value)
    except ValueError:
        message = f"{value!r} is neither a number nor 'theorem'"
        raise click.BadParameter(message) from None


def listed(_: click.Context, __: click.Parameter, value: str | None) -> list[str]:
    """Words between commas."""
    return [] if value is None else [each.strip() for each in value.split(",")]


def rules_in_words(rules: tuple[str, ...]) -> str:
    """Rules for a list, each with a few words about it."""
    entries = [BY_ID[each] for each in rules]
    names = [f"{each.alias} = {each.id}" if each.alias else each.id for each in entries]
    return ", ".join(
        f"{name} ({each.about})" if each.about else name for name, each in zip(names, entries, strict=True)
    )


@click.command(cls=Manual, short_help="Mix the forecasts of experts, with a guarantee.")
@FILES
@click.option("--outcome", required=True, metavar="COLUMN", help="What happened: a number or a word.")
@click.option("--experts", "names", callback=listed, metavar="A,B,...", help="Their columns; without it, all that fit.")
@click.option("--ignore", multiple=True, metavar="A,B,...", help="Leave columns out.")
@click.option(
    "--classes",
    "class_names",
    callback=listed,
    metavar="H,D,A",
    help="Probabilities of each outcome: columns b_H, b_D, b_A.",
)
@click.option("--positive", "positive_outcome", metavar="WORD", help="Probabilities of this outcome, against others.")
@click.option("--ahead", is_flag=True, help="Forecast the last rows, whose outcome is still empty.")
@click.option(
    "--rule",
    "rules",
    multiple=True,
    type=Rules([*MIXING, *ALIASES, *FOLLOWING, "all"]),
    callback=in_one_row,
    metavar="A,B,...",
    help="How to mix; several are compared, or 'all'.  [default: ml-poly; of labels weighted-majority]",
)
@click.option(
    "--loss",
    callback=loss_of,
    shell_complete=losses_like,
    metavar="LOSS",
    help=f"{', '.join(LOSS_NAMES)}.  [default: square]",
)
@click.option("--no-gradient", is_flag=True, help="Compete with the best expert alone, not with the best mix.")
@click.option("--eta", "rate", callback=rate_of, metavar="X", help="Fixed rate; 'theorem' for ewa.")
@click.option("--alpha", "share", type=float, metavar="X", help="Share that fixed-share spreads.")
@click.option("--beta", type=float, metavar="X", help="Factor for who errs, of weighted-majority.  [default: 0.5]")
@click.option("--rates", type=click.Choice(ADAPTIVE.words), help="Of boa and ml-prod; 'proved' has a theorem.")
@click.option("--penalty", type=float, metavar="X", help="Of ridge.")
@click.option("--seed", type=int, metavar="N", help="Of what randomized-weighted-majority draws.  [default: 0]")
@click.option("--top", default=10, show_default=True, type=click.IntRange(1), metavar="N", help="Experts to show.")
@click.option(
    "--switches",
    default=5,
    show_default=True,
    type=click.IntRange(0),
    metavar="K",
    help="Of the best sequence.",
)
@click.option("--certify", is_flag=True, help="Show what the theorem asks for; also for very long files.")
@click.option("--predictions", type=OutputFile(), metavar="FILE", help="Write the prediction of each round, as CSV.")
@click.option("--plot", type=OutputFile(), metavar="FILE.png", help="Draw weights and regret; needs matplotlib.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the tables.")
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
    predictions: str | None,
    plot: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    r"""Mix the forecasts of the experts of FILE, a column each, a round a row, learning whom to trust as rows come.

    FILE is a table, JSON lines, Parquet or Arrow. Each forecast is made before its outcome is known. An empty field is
    an expert who sleeps. What is shown: the experts, the rules with their regret and what a theorem allows it to be,
    and what would have been best in hindsight.

    \b
      numbers        all columns of numbers are experts; --loss tells what is to be small
      probabilities  of an outcome 0 or 1, the same; of several outcomes, --classes
      labels         columns that say what the outcome may be: mistakes are counted

    \b
      regret          total loss of a rule less that of the best expert; other losses are means
      linear regret   the same by the tangents of the loss, from which rules learn unless
                      --no-gradient; the largest to an expert, and at least the regret to any mix
      bound           what a theorem allows, whatever comes: of the linear regret; without it, of
                      the regret to any expert; of rules for labels, of their mistakes
      holds           the premises were checked, and the rule is within the bound
      vacuous         so it is, but the bound is so large that no rule could exceed it
      does not apply  a premise fails, or no theorem on such a rule is known: there is no bound

    Rules for numbers: FORECAST_RULES.

    Rules for labels: LABEL_RULES.

    \b
    Examples:
      mistakebound experts load.csv --outcome Load
      mistakebound experts load.csv --outcome Load --rule all --loss absolute --plot load.png
      mistakebound experts games.csv --outcome result --classes H,D,A --predictions mixed.csv
      mistakebound experts votes.csv --outcome truth --certify
    """
    from mistakebound import experts as room  # noqa: PLC0415 - "--help" needs none of it
    from mistakebound.cli.expert_tables import in_words  # noqa: PLC0415
    from mistakebound.data.columns import columns_with  # noqa: PLC0415

    if predictions or plot:
        refuse_to_overwrite(files, None, predictions, plot)
    if plot:
        picture_maker("experts")
    reading = {name: options.pop(name) for name in ("separator", "header")}
    frame = columns_with(files, outcome, **reading, skip_bad=options["skip_bad"])
    tell_skipped(frame.skipped)
    with waiting(MOST_AT_ONCE, wanted=not as_json) as progress:
        found = room.compare(
            frame,
            outcome,
            rules=rules,
            loss=loss,
            switches=switches,
            certify=certify,
            progress=progress,
            **parameters_of(options),
        )
    if found.advice.frame is not frame:  # rows without an outcome, or in which every expert is asleep
        tell_skipped(found.advice.frame.skipped[len(frame.skipped) :])
    if predictions:
        with written(predictions) as out:
            found.write_predictions(out)
    shown = found.to_json(as_flag) if as_json else in_words(found, top, certify=certify)
    click.echo(shown, err=predictions == "-")
    if plot:
        found.plot().savefig(plot, dpi=150)


def parameters_of(options: dict[str, Any]) -> dict[str, Any]:
    """Options by the names that they have in Python."""
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
    .replace("FORECAST_RULES", rules_in_words(MIXING))
    .replace("LABEL_RULES", rules_in_words(FOLLOWING))
)
