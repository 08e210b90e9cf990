"""``mistakebound run``: learn from files, and show the mistakes."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound._support.escaping import escaped
from mistakebound._support.signals import exit_code, uninterrupted
from mistakebound.cli.bar import Bar
from mistakebound.cli.curve import Curve
from mistakebound.cli.journey import Journey
from mistakebound.cli.keeper import Keeper
from mistakebound.cli.making import LEARNERS, make
from mistakebound.cli.manual import EXIT_CODES, Manual
from mistakebound.cli.output import OutputFile, Table, in_lines, json_of, told, written
from mistakebound.cli.reading import FILES, reading, source_of
from mistakebound.cli.running import running_bound
from mistakebound.cli.summary import certificate_in_words, facts, in_words
from mistakebound.errors import InputError, naming

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.learners.linear import LinearLearner

PARAMETERS = ("eta", "alpha", "threshold", "p", "update_margin", "bias", "classes")
SKIPPING = " (--skip-bad N leaves out up to N bad lines)"
COLOUR = False if os.environ.get("NO_COLOR") else None
"""None: on a terminal only."""


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Learn from FILE, and show the mistakes.")
@FILES
@click.option("--learner", type=click.Choice(list(LEARNERS)), default="balanced-winnow", show_default=True)
@click.option("--eta", type=float, help="Learning rate of the Winnow family.")
@click.option("--alpha", type=float, help="Winnow's factor.")
@click.option("--threshold", type=float, help="Winnow's threshold.")
@click.option("--p", type=float, help="p of the p-norm Perceptron.")
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
@reading
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
    refuse(files, passes, load_from, save_to, certificate_to, checkpoint_every, resume=resume, report=report)
    refuse_to_overwrite(files, options["labels"], save_to, certificate_to, report, predictions)
    refuse_what_a_model_has_settled(options, load_from)
    with told():
        loaded_model = mb.load(load_from) if load_from else None
    source = source_of(files, options, loaded_model, follow=follow)
    if follow and passes > 1:
        message = "a file that is followed has no end, and so no second pass: leave out --passes"
        raise click.UsageError(message)
    if source.positive is not None:
        options["classes"] = options["classes"] or f"not {source.positive},{source.positive}"
    with told():
        wanted = certify or bool(certificate_to)
        keep = wanted or bool(save_to)
        model = loaded_model or make(learner, options, keep=keep)
        bar = Bar(source, passes, wanted=not as_json)
        table = Table(bar, running_bound(model, relevant, loaded=load_from is not None), quiet=as_json)
        curve = Curve() if report else None
        journey = Journey(source, passes, hashing=bool(checkpoint_every or resume or certificate_to))
        keeper = Keeper(journey, table, save_to, checkpoint_every, resumable=bool(checkpoint_every or resume))
        model, at = keeper.resume(model, predictions) if resume else (model, 0)
        remarks: list[str] = []
        with written(predictions, at) as out, ended_by_signals(journey):
            stopped = learn(model, keeper, curve, out) or no_model(keeper, loaded_model)
            nothing = bool(stopped) and not table.rounds  # such as a column that is not there: no model, no summary
            kept = keeps_what_is_there(keeper, stopped)
            with uninterrupted:
                if not kept:
                    keeper.save(model, out)
        certificate, interrupted = (
            certified_run(model, journey, remarks, loaded=load_from is not None)
            if wanted and table.rounds
            else (None, None)
        )
        stopped = stopped or interrupted
        if certificate_to:
            stopped = stopped_or_written(model, certificate, journey, certificate_to, stopped)
        if not nothing:
            remark_on_the_end(keeper, remarks, kept=kept)
        found = facts(model, journey, table, remarks, stopped)
        if save_to and not kept:
            found["saved"] = save_to
        if report and curve:
            from mistakebound.cli.report import write_page  # noqa: PLC0415 - seldom needed

            write_page(report, found, curve, model, certificate)
            found["report"] = report
        say(found, certificate, nothing=nothing, as_json=as_json)
    if isinstance(stopped, KeyboardInterrupt):
        sys.exit(exit_code(stopped))
    if stopped:
        raise click.ClickException(found["stopped"])


def certified_run(
    model: LinearLearner, journey: Journey, remarks: list[str], *, loaded: bool
) -> tuple[mb.Certificate | None, KeyboardInterrupt | None]:
    """Certify over the whole stream if its files can be read again; otherwise a remark says why not."""
    from mistakebound.cli.second_pass import certified  # noqa: PLC0415 - most runs do without

    try:
        certificate, reason = certified(model, journey.source, loaded=loaded)
    except KeyboardInterrupt as interrupt:
        remarks.append("no certificate: the second pass was interrupted")
        return None, interrupt
    if reason:
        remarks.append(reason)
    return certificate, None


def say(found: dict[str, Any], certificate: mb.Certificate | None, *, nothing: bool, as_json: bool) -> None:
    """Tell what is known of the run, to a machine or to a person."""
    if as_json:
        told_of = {"certificate": json.loads(certificate.to_json())} if certificate else {}
        click.echo(json_of(found | told_of))
        return
    for line in found["skipped"]:
        click.echo(f"skipped {escaped(line)}", err=True)
    if not nothing:
        click.echo("\n" + in_words(found), color=COLOUR)
    if certificate:
        click.echo(certificate_in_words(certificate), color=COLOUR)


def refuse(
    files: tuple[str, ...],
    passes: int,
    load_from: str | None,
    save_to: str | None,
    certificate_to: str | None,
    checkpoint_every: int | None,
    *,
    resume: bool,
    report: str | None,
) -> None:
    """Say which options do not go together."""
    if save_to is None and (checkpoint_every or resume):
        message = f"{'--resume' if resume else '--checkpoint-every'} needs --save: the file that holds the checkpoint"
        raise click.UsageError(message)
    if report and resume:
        message = "a report shows a run from its start, and --resume begins in the midst of one: leave out --report"
        raise click.UsageError(message)
    if load_from and certificate_to:
        message = "a certificate tells of a learner's whole life, and --load begins in the midst of one"
        raise click.UsageError(message)
    if passes > 1 and "-" in files:
        message = "standard input can be read only once: --passes needs files"
        raise click.UsageError(message)


def no_model(keeper: Keeper, loaded_model: LinearLearner | None) -> ValueError | None:
    """Say that there is no model to be saved: who goes on with that file should hear it."""
    source = keeper.journey.source
    if keeper.path is None or loaded_model is not None or keeper.table.rounds or source.follow:
        return None
    return ValueError(f"{', '.join(source.files)}: there are no examples: nothing was learned, and nothing is saved")


def keeps_what_is_there(keeper: Keeper, stopped: BaseException | None) -> bool:
    """Whether the model is not saved: of nothing, or after an error over what an earlier run has saved."""
    return not keeper.table.rounds or (isinstance(stopped, ValueError) and keeper.would_replace())


def remark_on_the_end(keeper: Keeper, remarks: list[str], *, kept: bool) -> None:
    """Say what a person may not expect."""
    table, source = keeper.table, keeper.journey.source
    if keeper.path is not None and kept:
        what = "the run was stopped by an error" if table.rounds else "nothing was learned"
        remarks.append(f"{what}: {keeper.path} is not written")
    if source.positive is not None and table.rounds and not table.positives:
        remarks.append(f"no line has the label {source.positive!r}: --positive takes it as it is written there")
    table.tell([*keeper.journey.remarks, *remarks])


def refuse_to_overwrite(files: tuple[str, ...], labels: str | None, *outputs: str | None) -> None:
    """Say if a file would be written that is read, or that something else is written to."""
    read = {os.path.realpath(file): file for file in (*files, labels) if file not in (None, "-")}
    taken: set[str] = set()
    for output in outputs:
        if output is None or output == "-" or output.startswith("/dev/"):
            continue
        place = os.path.realpath(output)
        if place in read or place in taken:
            message = f"{output} is {'read' if place in read else 'written'} already: choose another name to write to"
            raise click.UsageError(message)
        taken.add(place)


def refuse_what_a_model_has_settled(options: dict[str, Any], load_from: str | None) -> None:
    """Say that a model that is loaded goes on as it is."""
    context = click.get_current_context()
    for name in (
        () if load_from is None else ("learner", *(name for name in PARAMETERS if options.get(name) is not None))
    ):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            message = f"--load goes on with the learner that was saved: leave out --{name.replace('_', '-')}"
            raise click.UsageError(message)


def stopped_or_written(
    model: LinearLearner,
    certificate: mb.Certificate | None,
    journey: Journey,
    path: str,
    stopped: BaseException | None,
) -> BaseException | None:
    """Write the certificate with all that it takes to check it; return why the run stopped, or why none is written."""
    if certificate is None:
        return stopped or ValueError("no certificate: there are no examples")
    if journey.replaced:
        return ValueError(f"no certificate: {journey.source.files[-1]} was replaced, so it could not be checked")
    from mistakebound.cli.document import document, write  # noqa: PLC0415 - most runs do without

    write(document(model, certificate, journey), path)
    return stopped


def learn(model: LinearLearner, keeper: Keeper, curve: Curve | None, out: Any) -> BaseException | None:
    """Learn what is still ahead, and return what ended it before its end, if anything did."""
    table, journey = keeper.table, keeper.journey
    try:
        for step in journey.steps(model, keeper.left):
            table.bar.passed(journey.at[0])
            table.add(step.ledger, journey.report.done if journey.report else 0)
            if curve:
                curve.add(step.ledger)
            table.tell(journey.remarks)
            if out:
                with naming(out.name):
                    out.writelines(f"{label}\n" for label in in_lines(step.ledger.predictions.tolist()))
                    out.flush()
            keeper.learned(model, step.ledger.rounds, out)
    except (KeyboardInterrupt, ValueError) as reason:
        if isinstance(reason, InputError) and reason.kind == "bad line":
            reason.args = (*reason.args, SKIPPING)
        return reason
    finally:
        table.end()
        table.tell(journey.remarks)
    return None


@contextmanager
def ended_by_signals(journey: Journey) -> Iterator[None]:
    """While a file is followed, Ctrl-C (or the end of a service) is how it ends, and not how it breaks off."""
    if not journey.source.follow:
        yield
        return

    ending = False

    def end(number: int, _: Any) -> None:
        nonlocal ending
        if uninterrupted.is_echo():
            return
        if ending:  # asked for again: something takes too long
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        ending = True
        journey.stop()

    heeded = [each for each in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
