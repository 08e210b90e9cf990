"""``mistakebound run``: learn from files, and show the mistakes."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound.cli.interrupt import uninterrupted
from mistakebound.cli.journey import Journey
from mistakebound.cli.keeper import Keeper
from mistakebound.cli.making import LEARNERS, make
from mistakebound.cli.output import Table, told, written
from mistakebound.cli.reading import FILES, reading, source_of

if TYPE_CHECKING:
    from mistakebound.learners import LinearLearner

INTERRUPTED = 130


@click.command()
@FILES
@click.option("--learner", type=click.Choice(list(LEARNERS)), default="balanced-winnow", show_default=True)
@click.option("--eta", type=float, help="Learning rate of the Winnow family.")
@click.option("--alpha", type=float, help="Winnow's factor.")
@click.option("--threshold", type=float, help="Winnow's threshold.")
@click.option("--p", type=float, help="p of the p-norm Perceptron.")
@click.option("--update-margin", type=float, help="Learn also when y times the score is at or below this.")
@click.option("--bias", type=float, help="Value of a constant feature; 0 for none.")
@click.option("--classes", metavar="NEGATIVE,POSITIVE", help="The two labels; otherwise the greater one is positive.")
@click.option("--passes", default=1, show_default=True, help="How often to go through the files.")
@click.option("--load", "load_from", type=click.Path(exists=True), help="Go on with a saved model.")
@click.option("--save", "save_to", type=click.Path(), help="Write the model here at the end.")
@click.option(
    "--checkpoint-every",
    type=click.IntRange(1),
    metavar="N",
    help="Also write it after every N examples: whatever happens, no more than N are to be learned again.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Go on where the run that --save belongs to was stopped or killed; from the start if it wrote nothing yet. "
    "Everything else must be as it was, the files too.",
)
@click.option(
    "--predictions", type=click.Path(), help="Write what was predicted in each round, before learning from it."
)
@click.option(
    "--certificate", "certificate_to", type=click.Path(), help="Write a certificate that 'verify' can check later."
)
@click.option("--certify", is_flag=True, help="Find a comparator in hindsight, and say what its theorem allows.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the table.")
@reading
def run(
    files: tuple[str, ...],
    *,
    learner: str,
    passes: int,
    load_from: str | None,
    save_to: str | None,
    checkpoint_every: int | None,
    resume: bool,
    predictions: str | None,
    certificate_to: str | None,
    certify: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Predict, then learn, each line of FILE in turn, and show the mistakes.

    \b
    The table has a line at rounds 1, 2, 4, 8, ...:
      rate   mistakes per round so far
      since  mistakes per round since the line before

    FILE is svmlight, VW text, a table or JSON lines, plain, .gz or .zst; - is standard input. Ctrl-C ends with the
    summary, and saves.

    \b
    A long run that survives anything; after a crash, the same command goes on:
      mistakebound run big.svm --save m.mb --checkpoint-every 1000000 --resume
    """  # noqa: D301 - click reads the character \b
    refuse(files, passes, load_from, save_to, certificate_to, checkpoint_every, resume=resume)
    source = source_of(files, options)
    if source.positive is not None:
        options["classes"] = options["classes"] or f"not {source.positive},{source.positive}"
    with told():
        model = (
            mb.load(load_from) if load_from else make(learner, options, keep=certify or bool(certificate_to or save_to))
        )
        table = Table(quiet=as_json)
        journey = Journey(source, passes, hashing=bool(checkpoint_every or resume or certificate_to))
        keeper = Keeper(journey, table, save_to, checkpoint_every, resumable=bool(checkpoint_every or resume))
        model, at = keeper.resume(model, predictions) if resume else (model, 0)
        with written(predictions, at) as out:
            stopped = learn(model, keeper, out)
            with uninterrupted():
                keeper.save(model, out)
        certificate = model.certify() if certify or certificate_to else None
        if certificate and certificate_to:
            from mistakebound.cli.document import document, write  # noqa: PLC0415 - most runs do without

            write(document(model, certificate, journey), certificate_to)
        if as_json:
            more = {"learner": type(model).__name__, "skipped": source.skipped, "stopped": str(stopped or "")}
            found = {"certificate": json.loads(certificate.to_json())} if certificate else {}
            click.echo(json.dumps(table.totals() | more | found))
        else:
            for line in source.skipped:
                click.echo(f"skipped {line}", err=True)
            click.echo(f"\n{table.mistakes:,} mistakes in {table.rounds:,} rounds, {table.seconds:.2f} s")
            if certificate:
                click.echo(str(certificate))
    if isinstance(stopped, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    if stopped:
        raise click.ClickException(str(stopped))


def refuse(
    files: tuple[str, ...],
    passes: int,
    load_from: str | None,
    save_to: str | None,
    certificate_to: str | None,
    checkpoint_every: int | None,
    *,
    resume: bool,
) -> None:
    """Say which options do not go together."""
    if save_to is None and (checkpoint_every or resume):
        message = f"{'--resume' if resume else '--checkpoint-every'} needs --save: the file that holds the checkpoint"
        raise click.UsageError(message)
    if load_from and certificate_to:
        message = "a certificate tells of a learner's whole life, and --load begins in the midst of one"
        raise click.UsageError(message)
    if passes > 1 and "-" in files:
        message = "standard input can be read only once: --passes needs files"
        raise click.UsageError(message)


def learn(model: LinearLearner, keeper: Keeper, out: Any) -> BaseException | None:
    """Learn what is still ahead, and return what ended it before its end, if anything did."""
    try:
        for part, start in keeper.journey.parts():
            first = start
            while True:
                with uninterrupted():
                    left = keeper.left()
                    ledger, wrong = model.run_part(part, first, None if left is None else first + left)
                    first += ledger.rounds
                    keeper.journey.learned(first)
                    keeper.table.add(ledger)
                    if out:
                        out.writelines(f"{label}\n" for label in ledger.predictions.tolist())
                    keeper.learned(model, ledger.rounds, out)
                if wrong:
                    return mb.StreamError(wrong, round=keeper.table.rounds)
                if first >= part.rows:
                    break
    except (KeyboardInterrupt, ValueError) as reason:
        return reason
    finally:
        keeper.table.end()
    return None
