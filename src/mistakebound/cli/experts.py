"""``mistakebound experts``: mix the forecasts of experts, or follow their labels, and show what that costs at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mistakebound.cli.choosing import (
    ALIASES,
    FOLLOWING,
    LOSS_NAMES,
    MIXING,
    Rules,
    in_one_row,
    loss_of,
    losses_like,
    rate_of,
    refuse_loss,
    rules_for,
)
from mistakebound.cli.errors import told
from mistakebound.cli.help import Manual
from mistakebound.cli.options import FILES, OutputFile, column_options, columns_of, refuse_to_overwrite
from mistakebound.cli.output import picture_maker, tell_skipped, written

if TYPE_CHECKING:
    from mistakebound.cli.advice import Advice
    from mistakebound.cli.mixing import Played
    from mistakebound.cli.standings import Standings
    from mistakebound.data.columns import Frame
    from mistakebound.losses import Loss

MOST_AT_ONCE = 50_000
"""Numbers, times rules, that are over before anybody asks how far it is."""


@click.command(cls=Manual, short_help="Mix the forecasts of experts, with a guarantee.")
@FILES
@click.option("--outcome", required=True, metavar="COLUMN", help="What happened: a number or a word.")
@click.option("--experts", "names", metavar="A,B,...", help="Their columns; without it, all that fit.")
@click.option("--ignore", multiple=True, metavar="A,B,...", help="Leave columns out.")
@click.option("--classes", "class_names", metavar="H,D,A", help="Probabilities of each outcome: columns b_H, b_D, b_A.")
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
@click.option("--rates", type=click.Choice(["observed", "proved"]), help="Of boa and ml-prod; 'proved' has a theorem.")
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

    \b
    Rules for numbers: ml-poly (nothing to tune, any unit), boa, ml-prod, ml-ewa, adahedge, hedge, squint, ogd, ridge
    (weights of either sign), fixed-share (experts take turns), ewa = exponentially-weighted-average.
    Rules for labels: weighted-majority, randomized-weighted-majority, halving.

    \b
    Examples:
      mistakebound experts load.csv --outcome Load
      mistakebound experts load.csv --outcome Load --rule all --loss absolute --plot load.png
      mistakebound experts games.csv --outcome result --classes H,D,A --predictions mixed.csv
      mistakebound experts votes.csv --outcome truth --certify
    """
    from mistakebound.cli.mixing import compared  # noqa: PLC0415 - "--help" needs none of it
    from mistakebound.cli.progress import waiting  # noqa: PLC0415
    from mistakebound.cli.records import as_json as in_json  # noqa: PLC0415
    from mistakebound.cli.records import write_predictions  # noqa: PLC0415
    from mistakebound.cli.standings import in_words  # noqa: PLC0415

    refuse_to_overwrite(files, None, predictions, plot)
    with told():
        draw = picture_maker("experts") if plot else None
        advice = read(files, outcome, options)
        parameters = {
            "loss": loss,
            "gradient": False if options.pop("no_gradient") else None,
            "eta": options.pop("rate"),
            "alpha": options.pop("share"),
            **options,
        }
        wanted = rules_for(advice, rules, loss)
        if wanted[0] in FOLLOWING:
            refuse_loss(wanted[0], loss)
            advice = advice.as_labels(wanted[0])
        takes_a_while = advice.said.size * len(wanted) >= MOST_AT_ONCE
        with waiting(len(wanted) + 1, wanted=takes_a_while and not as_json) as next_step:
            found = compared(advice, wanted, parameters, switches, certify=certify, next_step=next_step)
        with written(predictions) as out:
            if out is not None:
                write_predictions(found, out)
        click.echo(in_json(found) if as_json else in_words(found, top, certify=certify), err=predictions == "-")
        if plot and draw:
            drawn(draw, found, parameters).savefig(plot, dpi=150)


def read(files: tuple[str, ...], outcome: str, options: dict[str, Any]) -> Advice:
    """The advice in the files; the options that say where it stands are taken out of the others."""
    from mistakebound.cli.advice import Wanted, advice_of  # noqa: PLC0415

    skip_bad = options.pop("skip_bad")
    reading = {name: options.pop(name) for name in ("separator", "header")}
    frame = columns_named(files, outcome, skip_bad=skip_bad, **reading)
    if not frame.rows:
        message = f"{', '.join(files)}: there are no rows"
        raise click.ClickException(message)
    wanted = Wanted(
        experts=listed(options.pop("names")),
        ignore=options.pop("ignore"),
        classes=listed(options.pop("class_names")),
        positive=options.pop("positive_outcome"),
        ahead=options.pop("ahead"),
        skip_bad=skip_bad,
    )
    advice = advice_of(frame, outcome, wanted)
    tell_skipped(advice.frame.skipped[len(frame.skipped) :])
    return advice


def columns_named(files: tuple[str, ...], outcome: str, **reading: Any) -> Frame:
    """The columns. That the first line has names is not seen in a table of words alone, unless the outcome is there."""
    frame = columns_of(files, **reading)
    unnamed = frame.names == [f"c{number}" for number in range(1, len(frame.names) + 1)]
    if reading["header"] is not None or outcome in frame.names or outcome.isdigit() or not frame.rows or not unnamed:
        return frame
    if "-" not in files:
        headed = columns_of(files, **{**reading, "header": True})
        if outcome in headed.names:
            return headed
    message = f"{outcome!r} is no column, as far as is seen; if the first line has the names of columns, say --header"
    raise ValueError(message)


def listed(text: str | None) -> list[str]:
    """Words between commas."""
    return [] if text is None else [each.strip() for each in text.split(",")]


def drawn(draw: Any, found: Standings, parameters: dict[str, Any]) -> Any:
    """The picture: weights of the best rule, and the regret of each to the best expert."""
    import numpy as np  # noqa: PLC0415

    from mistakebound.cli.mixing import history, made  # noqa: PLC0415

    advice, best = found.advice, found.best
    leaders = {each.rule: int(np.argmax(found.regrets(each.losses))) for each in found.played}
    regrets = {}
    for each in found.played:
        counted, theirs = advice.awake[:, leaders[each.rule]], found.expert_losses[:, leaders[each.rule]]
        regrets[each.rule] = np.cumsum(np.where(counted, each.losses - theirs, 0.0))
    place = leaders[best.rule]
    lost = np.where(advice.awake[:, place], found.expert_losses[:, place], 0.0)
    past = history(best, made(best.rule, advice, parameters), advice)
    rivals = {rule: f"{advice.names[k]}, while awake" for rule, k in leaders.items()}
    # A bound on mistakes is one on the regret, once the best expert's own are taken off.
    taken = np.concatenate([[0.0], np.cumsum(lost)]) if found.of_labels else np.zeros(advice.rounds + 1)
    return draw(
        past.rounds,
        past.weights,
        regrets,
        names=advice.names,
        against=rivals if found.some_slept else advice.names[place],
        bounds=[(t, bound - float(taken[t])) for t, bound in past.bounds],
        allowed=what_is_allowed(best, past.bounds[-1][1], advice.names[place], taken[-1]) if past.bounds else "",
    )


def what_is_allowed(best: Played, bound: float, rival: str, mistakes: float) -> str:
    """The bound of the table in words; a picture of regrets has it less the mistakes of the best expert."""
    if best.rule in FOLLOWING:
        taken = f"{bound:.4g} mistakes in the end, less\nthe {mistakes:,.0f} of {rival}: {bound - mistakes:.4g}"
        return f"what a theorem allows {best.rule}:\n{taken}"
    kind = "regret" if best.linear_regret is None else "linear regret"
    return f"what a theorem allows the {kind}\nof {best.rule} to be: {bound:.4g} in the end"
