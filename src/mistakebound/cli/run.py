"""``mistakebound run``: learn from files, and count the mistakes."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from mistakebound._support.json_numbers import json_of
from mistakebound._support.signals import exit_code
from mistakebound._support.text import escaped
from mistakebound.cli.help import RUN_EXIT_CODES, Manual
from mistakebound.cli.options import (
    FILES,
    PARAMETERS,
    OutputFile,
    learner_options,
    make_learner,
    reading_options,
    refuse_to_overwrite,
    source_of,
)
from mistakebound.cli.output import COLOUR, command_line
from mistakebound.cli.progress import Table
from mistakebound.cli.summary import as_text, certificate_as_text, facts
from mistakebound.learners.linear import load
from mistakebound.models.container import is_zip
from mistakebound.runs import runner

if TYPE_CHECKING:
    from mistakebound.learners.learner import Learner
    from mistakebound.runs.runner import RunResult


@click.command(cls=Manual, epilog=RUN_EXIT_CODES, short_help="Learn from FILE, and count the mistakes.")
@FILES
@learner_options
@click.option("--update-margin", type=float, help="Also learn if y times the score is at or below this.")
@click.option("--bias", type=float, help="Value of a constant feature; 0 for none.")
@click.option(
    "--classes",
    metavar="LABELS",
    help="NEGATIVE,POSITIVE; by default the greater label is positive. The panel also takes more than two labels.",
)
@click.option(
    "--passes", default=1, show_default=True, type=click.IntRange(1, 10_000), help="How many times to read the files."
)
@click.option("--follow", is_flag=True, help="Wait for more lines at the end of the last file.")
@click.option("--relevant", type=click.IntRange(1), metavar="R", help="For winnow: the label is an OR of R features.")
@click.option("--load", "load_from", type=click.Path(exists=True), help="Continue with a saved model.")
@click.option("--save", "save_to", type=OutputFile(replaced=True), help="Write the model to this file at the end.")
@click.option(
    "--checkpoint-every",
    type=click.IntRange(1),
    metavar="N",
    help="Also save after every N examples; after a crash at most N are learned again.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Continue the run that wrote the --save file; start at the beginning if there is no such file. The files and "
    "all other options must be the same.",
)
@click.option(
    "--predictions",
    type=OutputFile(),
    help="Write what was predicted in each round before learning: label, probability of the "
    "positive label (if the learner has it) and score, separated by tabs.",
)
@click.option("--report", type=OutputFile(dash=False), metavar="FILE.html", help="Write an HTML page about the run.")
@click.option(
    "--certificate",
    "certificate_to",
    type=OutputFile(replaced=True),
    help="Write a certificate that 'verify' can check, and print it.",
)
@click.option(
    "--certify",
    is_flag=True,
    help="Read FILE a second time, find the best comparator in hindsight, and print the certificate.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of the table.")
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
    r"""Predict, then learn, each line of FILE in turn, and count the mistakes.

    FILE is a table (CSV, TSV, ...), JSON lines, svmlight, VW text, Parquet or Arrow. Text may be compressed (.gz,
    .zst), and - is standard input. Several files are one stream. A table needs --label, the column to predict. Its
    other cells need no option: numbers of any size, categories, true and false, dates, missing cells and short texts.

    \b
    Examples:
      mistakebound run stream.svm
      mistakebound run mail.csv --label kind --save model.mb
      mistakebound run more.csv --load model.mb --save model.mb
      mistakebound run access.csv --label bad --report page.html
      mistakebound run flowers.csv --label kind --positive rose --threshold 0.2
      mistakebound run trips.parquet --label late --categorical hour
      mistakebound run trips.parquet --label late --interact hour,day
      mistakebound run stream.svm --learner perceptron --passes 3 --certify
      mistakebound run stream.svm --learner winnow --threshold 16 --relevant 1
      mistakebound run access.csv --label bad --follow --save access.mb
      zcat train.vw.gz | mistakebound run - --json

    \b
    The table has a line at rounds 1, 2, 4, 8, ..., and at the end:
      mistakes  wrong predictions so far; each was made before its label was read
      rate      mistakes per round so far
      since     mistakes per round since the previous line
      bound     the bound of a theorem on the mistakes, if it is known during the
                run, otherwise –
                panel: 2.41 (m + lg n) for the mistakes m of the best of its n
                members and mixers (lg is log2), or a bound that follows from
                its log loss, if that is smaller
                elimination: the number of features so far, until a positive
                example is missed
                winnow with --relevant R: Littlestone's bound for an OR of R
                features; "exceeded" means that the label is not such an OR
      mix loss  log loss of the panel's mixture: the mean of -ln p, where p is
                the probability that was predicted for the true label; with
                more than two labels, without the first round of each label
      its bound the bound of a theorem on it
    On a terminal, a bar below the table shows the progress.

    \b
    The certificate (--certify) compares the mistakes with the bound of a theorem:
      comparator      one fixed rule, such as weights u, chosen after the run
                      because it gives the smallest bound
      loss            how far the comparator falls short of the margin γ, summed
                      over the rounds (hinge loss)
      whole stream    premises are checked, and losses summed, in every round
      mistaken rounds the same, but only in the rounds with a mistake, because
                      FILE cannot be read twice
      holds           every premise holds, and the bound is clearly below the
                      number of rounds; this does not mean that the learner is
                      good: compare it with always predicting one label
      vacuous         the bound is true, but too large to say anything
      does not apply  a premise fails: the theorem says nothing about this stream
    'mistakebound bound' lists the theorems with their formulas.

    --follow waits at the end of the last file for more lines, as tail -F does, and learns each line within a fraction
    of a second. It starts when both labels have occurred, or at once with --classes. Ctrl-C ends it with the summary,
    the saved model and exit code 0. A last line without a newline may be incomplete, and is not learned. A file that is
    replaced (rotated) or cut short is read again from its beginning, and a note says so.

    In any other run, Ctrl-C also prints the summary and saves the model. The exit code is then 130 (143 after SIGTERM).
    Later, the same command with --resume (and without --report) continues the run; after a crash, this needs a
    checkpoint. The final model equals that of a run that never stopped. A file that has changed is an error, but a
    followed file may have grown. With --resume or a certificate, Parquet and Arrow must be files, not a pipe.

    \b
    A long run that can be killed at any time:
      mistakebound run big.svm --save big.mb --checkpoint-every 1000000 --resume
    """
    refuse_conflicts(load_from, certificate_to, resume=resume, report=report)
    refuse_parameters_of_a_model(options, load_from)
    refuse_to_overwrite(files, options["labels"], save_to, certificate_to, report, predictions)
    loaded = load_to_continue(load_from) if load_from else None
    threads = options["threads"]
    source = source_of(files, options, loaded, follow=follow)
    if threads == 1 and learner == "panel" and not loaded:
        options["threads"] = 1
    model = loaded or make_learner(learner, options, keep=certify or bool(certificate_to or save_to))
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
    """Write the result as JSON or as text, and the report; then exit with the code of the run."""
    found, certificate = facts(result), result.certificate
    if report is not None:
        words = {"learner": found["options"], "stopped": found["stopped"], "remarks": found["remarks"]}
        result.write_report(report, **words, command=command_line())
        found["report"] = report
    if as_json:
        own = {"certificate": json.loads(certificate.to_json())} if certificate else {}
        click.echo(json_of(found | own))
    else:
        for line in found["skipped"]:
            click.echo(f"skipped {escaped(line)}", err=True)
        if result.rounds or not result.stopped:  # without any round there is nothing to sum up
            click.echo("\n" + as_text(found), color=COLOUR)
        if certificate:
            click.echo(certificate_as_text(certificate), color=COLOUR)
    if isinstance(result.stopped, KeyboardInterrupt):
        sys.exit(exit_code(result.stopped))
    if result.stopped:
        raise click.ClickException(found["stopped"])


def load_to_continue(path: str) -> Learner:
    """Return the learner of a model file; raise UsageError if it is one that learns sets of labels."""
    if is_zip(path):
        message = (
            f"{path} is a model of a MultilabelPanel, which 'run' cannot continue. 'mistakebound predict' can use it, "
            "and in Python, mistakebound.load returns a learner that goes on learning"
        )
        raise click.UsageError(message)
    return load(path)


def refuse_conflicts(load_from: str | None, certificate_to: str | None, *, resume: bool, report: str | None) -> None:
    """Raise UsageError for options that cannot both be set."""
    if report and resume:
        message = "--report and --resume cannot both be set: a report shows a run from its start"
        raise click.UsageError(message)
    if load_from and certificate_to:
        message = "--certificate and --load cannot both be set: a certificate covers all rounds of a learner"
        raise click.UsageError(message)


def refuse_parameters_of_a_model(options: dict[str, Any], load_from: str | None) -> None:
    """Raise UsageError if --load is combined with a learner or its parameters, which the model stores."""
    context = click.get_current_context()
    for name in (
        () if load_from is None else ("learner", *(name for name in PARAMETERS if options.get(name) is not None))
    ):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            message = (
                f"--{name.replace('_', '-')} and --load cannot both be set: the saved learner keeps its parameters"
            )
            raise click.UsageError(message)
