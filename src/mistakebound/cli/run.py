"""``mistakebound run``: learn from files, and show the mistakes."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from mistakebound._support.json_numbers import json_of
from mistakebound._support.signals import exit_code
from mistakebound._support.text import escaped
from mistakebound.cli.help import EXIT_CODES, Manual
from mistakebound.cli.options import (
    FILES,
    PARAMETERS,
    OutputFile,
    learner_options,
    make,
    reading_options,
    refuse_to_overwrite,
    source_of,
)
from mistakebound.cli.output import COLOUR
from mistakebound.cli.progress import Table
from mistakebound.cli.summary import certificate_in_words, facts, in_words
from mistakebound.learners.linear import load
from mistakebound.runs import runner

if TYPE_CHECKING:
    from mistakebound.runs.runner import RunResult


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Learn from FILE, and show the mistakes.")
@FILES
@learner_options
@click.option("--update-margin", type=float, help="Learn also when y times the score is at or below this.")
@click.option("--bias", type=float, help="Value of a constant feature; 0 for none.")
@click.option("--classes", metavar="NEGATIVE,POSITIVE", help="The two labels; otherwise the greater one is positive.")
@click.option(
    "--passes", default=1, show_default=True, type=click.IntRange(1, 10_000), help="How often to go through the files."
)
@click.option("--follow", is_flag=True, help="Go on with the last file as it grows, until Ctrl-C; see above.")
@click.option("--relevant", type=click.IntRange(1), metavar="R", help="Winnow: the label is an OR of R features.")
@click.option("--load", "load_from", type=click.Path(exists=True), help="Go on with a saved model.")
@click.option("--save", "save_to", type=OutputFile(replaced=True), help="Write the model here at the end.")
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
    "--predictions", type=OutputFile(), help="Write what was predicted in each round, before learning from it."
)
@click.option("--report", type=OutputFile(), metavar="FILE.html", help="Write a page with all about the run here.")
@click.option(
    "--certificate",
    "certificate_to",
    type=OutputFile(replaced=True),
    help="Write a certificate that 'verify' can check later, and print it.",
)
@click.option(
    "--certify",
    is_flag=True,
    help="Read FILE a second time, search for the best comparator in hindsight, and print the certificate.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the table.")
@reading_options
def run(
    files: tuple[str, ...],
    *,
    learner: str,
    passes: int,
    follow: bool,
    relevant: int | None,
    load_from: str | None,
    save_to: str | None,
    checkpoint_every: int | None,
    resume: bool,
    predictions: str | None,
    report: str | None,
    certificate_to: str | None,
    certify: bool,
    as_json: bool,
    **options: Any,
) -> None:
    r"""Predict, then learn, each line of FILE in turn, and show the mistakes.

    FILE is a table (CSV, TSV, ...), JSON lines, svmlight, VW text, Parquet or Arrow; text may be packed (.gz, .zst);
    - is standard input. Several files are one stream. A table needs to be told which column is the label.

    \b
    Examples:
      mistakebound run stream.svm
      mistakebound run mail.csv --label kind --text subject --save model.mb
      mistakebound run more.csv --load model.mb --save model.mb
      mistakebound run access.csv --label bad --bins 4 --report page.html
      mistakebound run trips.parquet --label late --categorical hour --interact hour,day
      mistakebound run stream.svm --learner perceptron --bias 1 --passes 3 --certify
      mistakebound run stream.svm --learner winnow --threshold 16 --relevant 1
      mistakebound run access.csv --label bad --follow --save access.mb
      zcat train.vw.gz | mistakebound run - --json

    \b
    The table has a line at rounds 1, 2, 4, 8, ..., and at the end:
      mistakes  wrong predictions so far, each made before the answer was known
      rate      mistakes per round so far
      since     mistakes per round since the line before
      bound     what a theorem allows, if that costs nothing to compute, otherwise –
                elimination: features so far, while no positive was missed
                winnow with --relevant R: Littlestone's, for an OR of R features;
                exceeded: there were more mistakes, so the label is not such an OR
    On a terminal a bar below it shows how far the run is.

    \b
    The certificate (--certify) compares the mistakes with the bound of a theorem:
      comparator      one fixed rule, such as weights u, that is chosen after the run
                      because it gives the smallest bound
      loss            how far the comparator falls short of the margin γ, summed over
                      the rounds (hinge loss)
      whole stream    premises were checked, and losses summed, in every round
      mistaken rounds only in the rounds with a mistake: FILE cannot be read twice
      holds           every premise holds, and the bound is clearly below the number
                      of rounds; whether the learner is good is another question:
                      compare it with "always saying ..."
      vacuous         the bound is true, but so large that it says nothing
      does not apply  a premise fails, so the theorem says nothing of this stream
    'mistakebound bound' lists the theorems with their formulas.

    --follow waits at the end of the last file for more lines, as tail -F does, and learns each within a fraction of a
    second, once both labels have come (or at once with --classes). Ctrl-C ends it with the summary, the model saved,
    and exit code 0. A last line without a newline may be half of one, and is not learned. A file that is replaced
    (rotated) or cut short is read from its beginning again, and a note says so.

    Ctrl-C ends any other run too, with the summary and exit code 130, and saves; so does the end of a service
    (SIGTERM), with 143. With --resume the same command, but for --report, goes on later, as it does after a crash if
    there were checkpoints; the model is that of a run that never stopped. Files that have changed meanwhile are
    refused, but one that is followed may have grown. Parquet and Arrow need to be files for that, and for a
    certificate, not a pipe.

    \b
    A long run that survives anything:
      mistakebound run big.svm --save big.mb --checkpoint-every 1000000 --resume
    """
    refuse_conflicts(load_from, certificate_to, resume=resume, report=report)
    refuse_what_a_model_has_settled(options, load_from)
    refuse_to_overwrite(files, options["labels"], save_to, certificate_to, report, predictions)
    loaded = load(load_from) if load_from else None
    source = source_of(files, options, loaded, follow=follow)
    if source.positive is not None:
        options["classes"] = options["classes"] or f"not {source.positive},{source.positive}"
    model = loaded or make(learner, options, keep=certify or bool(certificate_to or save_to))
    result = runner.run(
        source,
        model,
        passes=passes,
        checkpoint=save_to,
        checkpoint_every=checkpoint_every,
        resume=resume,
        predictions=click.open_file("-", "w") if predictions == "-" else predictions,
        certify=certify,
        certificate=certificate_to,
        relevant=relevant,
        curve=report is not None,
        progress=Table(source, passes, save_to, quiet=as_json),
    )
    show(result, report, as_json=as_json)


def show(result: RunResult, report: str | None, *, as_json: bool) -> None:
    """Write what is known of the run, for a machine or for a person, and the report; end with its exit code."""
    found, certificate = facts(result), result.certificate
    if report is not None:
        result.write_report(report, learner=found["options"], stopped=found["stopped"])
        found["report"] = report
    if as_json:
        own = {"certificate": json.loads(certificate.to_json())} if certificate else {}
        click.echo(json_of(found | own))
    else:
        for line in found["skipped"]:
            click.echo(f"skipped {escaped(line)}", err=True)
        if result.rounds or not result.stopped:  # of nothing, such as a column that is not there, there is no summary
            click.echo("\n" + in_words(found), color=COLOUR)
        if certificate:
            click.echo(certificate_in_words(certificate), color=COLOUR)
    if isinstance(result.stopped, KeyboardInterrupt):
        sys.exit(exit_code(result.stopped))
    if result.stopped:
        raise click.ClickException(found["stopped"])


def refuse_conflicts(load_from: str | None, certificate_to: str | None, *, resume: bool, report: str | None) -> None:
    """Refuse options that do not go together."""
    if report and resume:
        message = "a report shows a run from its start, and --resume begins in the midst of one: leave out --report"
        raise click.UsageError(message)
    if load_from and certificate_to:
        message = "a certificate tells of a learner's whole life, and --load begins in the midst of one"
        raise click.UsageError(message)


def refuse_what_a_model_has_settled(options: dict[str, Any], load_from: str | None) -> None:
    """Say that a model that is loaded goes on as it is."""
    context = click.get_current_context()
    for name in (
        () if load_from is None else ("learner", *(name for name in PARAMETERS if options.get(name) is not None))
    ):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            message = f"--load goes on with the learner that was saved: leave out --{name.replace('_', '-')}"
            raise click.UsageError(message)
