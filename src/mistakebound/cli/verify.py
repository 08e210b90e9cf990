"""``mistakebound verify``: replay the stream of a certificate, and derive everything in it again."""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound._support.escaping import escaped
from mistakebound.cli.manual import Manual
from mistakebound.cli.output import told
from mistakebound.cli.reading import THREADS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.learners.linear import LinearLearner

EXIT_CODES = """\b
Exit codes:
  0    everything agrees
  1    something does not, or cannot be read: the answer says what
  2    the command was not understood
  130  Ctrl-C (143: SIGTERM)"""


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Learn FILE again, and check a certificate.")
@click.argument("certificate", type=click.Path(exists=True, dir_okay=False))
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--labels", metavar="FILE", help="The labels, if they were in a file of their own.")
@click.option(
    "--model",
    type=click.Path(exists=True, dir_okay=False),
    help="Also check that the replay learns this model.",
)
@THREADS
def verify(certificate: str, files: tuple[str, ...], labels: str | None, model: str | None, threads: int) -> None:
    r"""Learn FILE again, and check a certificate.

    Everything is learned from nothing, and compared with what CERTIFICATE says.

    CERTIFICATE is what "run --certificate" wrote, FILE the same files in the same order (- is standard input), wherever
    they lie now and whether packed or not; Parquet and Arrow are the same byte for byte. How they are parsed, and the
    learner with its parameters, is taken from the certificate. Each line of the answer is one check; exit code 1 if
    anything differs. Of a file that was followed, what came later does not matter. The seal is a checksum of the
    certificate: it detects accidents, not forgery. The replay detects forgery.

    \b
    Example:
      mistakebound run stream.svm --save m.mb --certificate c.json
      mistakebound verify c.json stream.svm --model m.mb
    """
    with told(), ExitStack() as until_the_end:
        from mistakebound.certificates.certificate import Certificate  # noqa: PLC0415 - "--help" needs none of it
        from mistakebound.cli.document import read  # noqa: PLC0415
        from mistakebound.cli.summary import meaning  # noqa: PLC0415
        from mistakebound.errors import ModelError  # noqa: PLC0415

        try:
            said = read(certificate)
        except ModelError as error:
            message = f"{certificate} cannot be verified: {error} (the order is: verify CERTIFICATE FILE...)"
            raise ModelError(message) from None
        answer = Answer(files)
        copies = [until_the_end.enter_context(kept(file)) for file in files]
        labels = None if labels is None else until_the_end.enter_context(kept(labels))
        check(said, copies, labels, model, threads, answer)
    name = escaped(certificate)
    if answer.differ and answer.differ == answer.other_model:
        other = escaped(str(model))
        click.echo(f"\n{name} tells the truth of this stream, but {other} is not the model that was learned.")
        sys.exit(1)
    if answer.differ:
        click.echo(f"\n{name} does not tell the truth of this stream: {answer.differ} of {answer.asked} differ")
        sys.exit(1)
    found = Certificate.from_object(said["certificate"])
    click.echo(f"\n{name} tells the truth of this stream: {found.status} on the {found.scope}, {meaning(found)}.")


@contextmanager
def kept(file: str) -> Iterator[str]:
    """A file that can be read twice: standard input and pipes are copied first."""
    from mistakebound.cli.journey import size_of  # noqa: PLC0415

    if size_of(file) is not None:
        yield file
        return
    with tempfile.NamedTemporaryFile() as copy, click.open_file(file, "rb") as pipe:
        shutil.copyfileobj(pipe, copy)
        copy.flush()
        yield copy.name


def beginnings(files: list[str], stream: list[dict[str, Any]]) -> list[Any]:
    """What a run that did not end has read of its files, as files: the rest is not what the certificate speaks of."""
    return [beginning(file, text["bytes"]) for file, text in zip(files, stream, strict=False)]


@contextmanager
def beginning(file: str, size: int) -> Iterator[str]:
    """A copy of the first bytes of a file's text."""
    from mistakebound.data.blocks import opened  # noqa: PLC0415

    with tempfile.NamedTemporaryFile() as copy, opened(file) as text:
        for block, _ in text.blocks:
            copy.write(bytes(block[:size]))
            size -= min(size, len(block))
            if not size:
                break
        copy.flush()
        yield copy.name


@dataclass
class Answer:
    """What agrees and what does not, a line each."""

    names: tuple[str, ...] = ()
    """Of the files, as they were given."""
    asked: int = 0
    differ: int = 0
    other_model: int = 0
    """Whether one of these is that the model given is not the one that was learned."""

    def compare(self, what: str, told: Any, found: Any, shown: str | None = None) -> None:
        """Say whether what is told is what was found: numbers with a fraction up to rounding, all else exactly."""
        self.say(what, shown or brief(told), "" if same(told, found) else f"told {brief(told)}, found {brief(found)}")

    def say(self, what: str, shown: str, wrong: str) -> None:
        """Show a line."""
        self.asked += 1
        self.differ += bool(wrong)
        click.echo(f"{'✗' if wrong else '✓'} {escaped(what):16} {escaped(wrong or shown)}")


def same(told: Any, found: Any) -> bool:
    """Whether two JSON values are equal."""
    if type(told) is float and type(found) is float:
        return math.isclose(told, found, rel_tol=1e-9)
    return json.dumps(told, sort_keys=True) == json.dumps(found, sort_keys=True)


def brief(value: Any) -> str:
    """A JSON value in one short line."""
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
    return text if len(text) <= 70 else f"{text[:67]}..."


def check(
    said: dict[str, Any], files: list[str], labels: str | None, model: str | None, threads: int, answer: Answer
) -> None:
    """Derive everything that is said again."""
    from mistakebound.cli.document import COUNTS, seal  # noqa: PLC0415
    from mistakebound.models.model_file import fingerprint  # noqa: PLC0415

    answer.say("seal", "as it was written", "" if said["seal"] == seal(said) else "altered since it was written")
    check_stream(said, files, labels, answer)
    try:
        with ExitStack() as copies:
            read = (
                files if said["ended"] else [copies.enter_context(each) for each in beginnings(files, said["stream"])]
            )
            learner, stream, skipped = replay(said, read, labels, threads)
        ledger = learner.ledger_
    except REFUSED as error:
        answer.say("replay", "", f"it stops: {error}")
        return
    for name in COUNTS:
        answer.compare(name.replace("_", " "), said["counts"][name], getattr(ledger, name))
    if said["ended"]:
        answer.compare("skipped lines", said["skipped"], skipped)
    answer.compare("model", said["model"], fingerprint(learner))
    if model is not None:
        other = fingerprint(mb.load(model)) != fingerprint(learner)
        answer.say(model, "the model that was learned", "not the model that was learned" if other else "")
        answer.other_model = int(other)
    if check_certificate(said["certificate"], ledger, stream, answer) == "incomplete":
        source = source_of(said, files, labels, threads)
        click.echo(f"\nThe run did not keep all examples. With all of them:\n{learner.certify(X=source)}")


REFUSED = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError)
"""What parameters, options or comparators that make no sense come to: a file may say anything."""


def check_stream(said: dict[str, Any], files: list[str], labels: str | None, answer: Answer) -> None:
    """The files, byte by byte."""
    from mistakebound.cli.journey import hashes  # noqa: PLC0415

    wanted = len(said["stream"])
    short = len(files) < wanted or (said["ended"] and len(files) > wanted)
    answer.say("files", str(len(files)), f"told {wanted}, given {len(files)}" if short else "")
    for name, file, text in zip(answer.names, files, said["stream"], strict=False):
        found = hashes(file, text["bytes"], text["bytes"] + 1)
        length = f"{text['bytes']:,} bytes"
        wrong = ""
        if not found:
            wrong = f"it is shorter than {length}"
        elif text["whole"] and len(found) > 1:
            wrong = f"it is longer than {length}"
        elif found[0].hexdigest() != text["sha256"]:
            wrong = f"the SHA-256 of its {length} is another one"
        own, other = Path(name).name or "stream", Path(text["file"]).name
        named = "" if own == other else f" ({other} in the certificate)"
        answer.say(own, f"{length}, SHA-256 {text['sha256'][:16]}...{named}", f"{wrong}{named}" if wrong else "")
    if said["labels"] is None and labels is None:
        return
    if said["labels"] is None or labels is None:
        message = "there were no --labels" if said["labels"] is None else "give the file of labels too: --labels FILE"
        raise click.UsageError(message)
    answer.compare("labels", said["labels"], hashes(labels)[0].hexdigest())


def source_of(said: dict[str, Any], files: list[str], labels: str | None, threads: int) -> mb.Source:
    """The files, parsed as the certificate says."""
    return mb.Source(files, labels=labels, skip_bad=said["skip_bad"], threads=threads, **said["reading"])


def replay(
    said: dict[str, Any], files: list[str], labels: str | None, threads: int
) -> tuple[LinearLearner, mb.Ledger, int]:
    """A fresh learner that has learned the stream, all its examples, and how many bad lines the last pass skipped."""
    from mistakebound.learners.linear import KINDS  # noqa: PLC0415
    from mistakebound.learners.replay import EVERY_ROUND, STREAM_BYTES, Replica, replay_files  # noqa: PLC0415
    from mistakebound.models.model_file import construct  # noqa: PLC0415

    learner = construct(KINDS[said["learner"]], said["parameters"])
    source = source_of(said, files, labels, threads)
    recorder = Replica(learner, EVERY_ROUND, STREAM_BYTES)
    whole = said["certificate"]["scope"] == "whole stream"
    rounds = said["counts"]["rounds"]
    # One round more than there should be shows that there are more.
    recorders = [recorder] if whole else []
    report = replay_files(learner, source.open, rounds + said["ended"], *recorders, passes=said["passes"])
    return learner, recorder.ledger_, len(report.skipped) if report else 0


def check_certificate(said: dict[str, Any], ledger: mb.Ledger, stream: mb.Ledger, answer: Answer) -> str:
    """The theorem with its comparator, checked on what happened in the replay; returns the status that it found."""
    import numpy as np  # noqa: PLC0415

    from mistakebound.certificates.certify import recheck  # noqa: PLC0415
    from mistakebound.theorems.evidence import WHOLE_STREAM, Evidence, WholeStream  # noqa: PLC0415

    told_certificate = mb.Certificate.from_object(said)
    evidence = WholeStream(ledger, stream) if told_certificate.scope == WHOLE_STREAM else Evidence(ledger)
    try:
        with np.errstate(all="ignore"):  # a comparator may be as large as it likes
            checked = recheck(evidence, told_certificate)
        found = json.loads(checked.to_json())
    except REFUSED as error:
        answer.say("certificate", "", str(error))
        return ""
    for name, value in found.items():
        empty = value in ("", None) and said[name] == value
        if name not in ("premises", "comparator") and not empty:
            answer.compare(name if name in ("theorem", "bound", "status") else f"its {name}", said[name], value)
    for name in {**said["comparator"], **found["comparator"]}:
        answer.compare(f"comparator: {name}", said["comparator"].get(name), found["comparator"].get(name))
    answer.compare("premises", len(said["premises"]), len(found["premises"]))
    for told_premise, premise in zip(said["premises"], found["premises"], strict=False):
        words = in_words(premise)
        answer.say("premise", words, "" if told_premise == premise else f"told {in_words(told_premise)}, found {words}")
    return checked.status


def in_words(premise: dict[str, Any]) -> str:
    """A premise in one line."""
    measured = f" ({premise['measured']})" if premise["measured"] else ""
    return f"{'✓' if premise['holds'] else '✗'} {premise['statement']}{measured}"
