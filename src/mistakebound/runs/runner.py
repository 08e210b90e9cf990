"""Run one learner on files: predict, then learn, with checkpoints, predictions, progress and a certificate."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from mistakebound._support.signals import stop_at_signal, uninterrupted
from mistakebound._support.text import did_you_mean, many
from mistakebound.data.labels import plain_label
from mistakebound.data.options import numbered_names
from mistakebound.data.remarks import Remark, no_positive
from mistakebound.data.source import Source, not_a_source
from mistakebound.errors import BY_HEADER, Option, OptionError, StreamError
from mistakebound.learners.learner import Learner
from mistakebound.learners.linear import not_a_learner
from mistakebound.learners.streams import check_positive
from mistakebound.rules.registry import DECLARATIONS
from mistakebound.runs.progress import Position, Progress, Tally, cannot_be_read_again

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from typing import IO

    from mistakebound.certificates.certificate import Certificate
    from mistakebound.data.reader import ReadReport
    from mistakebound.data.remarks import BadLine
    from mistakebound.play.ledger import Ledger
    from mistakebound.runs.checkpoint import Checkpoint
    from mistakebound.runs.curve import Curve
    from mistakebound.runs.predictions import PredictionsFile

    Path = str | PathLike[str]


POSITIVE_OF = Option("positive", "positive=LABEL")


@dataclass(frozen=True, eq=False, repr=False)  # generating fewer methods makes the command start faster
class RunResult:
    """The result of a run.

    Attributes
    ----------
    learner : Learner
        The learner after the run; for a resumed run, the one read from the checkpoint.
    ledger : Ledger
        All rounds of the learner, those before this run included.
    source : Source
        The files.
    rounds, mistakes : int
        Counts of the whole run.
    false_positives, false_negatives, positives : int or None
        Mistakes of both kinds, and examples with the positive label; None for more than two labels.
    labels : dict or None
        For more than two labels: how often each label occurred in the run. ``ledger.confusion`` has the mistakes.
    majority, majority_mistakes
        The more frequent label, and the number of mistakes of predicting it in every round.
    bound : float or None
        The bound of a theorem, if it can be computed without a search for a comparator.
    seconds : float
        Time spent on reading and learning in this process.
    bytes : int
        Bytes of text read in this process.
    report : ReadReport or None
        The report on the last pass over the files.
    columns, table
        For tables: their columns, and the options in use.
    skipped, remarks : tuple
        Bad lines that were skipped in the last pass, and notes on the files and the run.
    curve : Curve or None
        Mistakes against rounds, unless ``curve=False``.
    certificate : Certificate or None
        The certificate, if ``certify`` or ``certificate`` was set.
    stopped : Exception, KeyboardInterrupt or None
        The error that ended the run before the end of its files.
    saved : str or None
        The model file, if it was written.
    """

    learner: Learner
    ledger: Ledger
    source: Source
    rounds: int
    mistakes: int
    false_positives: int | None
    false_negatives: int | None
    positives: int | None
    labels: dict[Any, int] | None
    majority: Any
    majority_mistakes: int
    bound: float | None
    seconds: float
    bytes: int
    report: ReadReport | None
    columns: tuple[str, ...]
    table: dict[str, Any]
    skipped: tuple[BadLine, ...]
    remarks: tuple[Remark, ...]
    curve: Curve | None
    certificate: Certificate | None
    stopped: ValueError | KeyboardInterrupt | None
    saved: str | None

    def __repr__(self) -> str:
        parts = [f"{many(self.mistakes, 'mistake')} in {many(self.rounds, 'round')}", repr(self.learner)]
        if self.skipped:
            parts.append(f"{many(len(self.skipped), 'bad line')} skipped")
        if self.certificate is not None:
            parts.append(f"certificate: {self.certificate.status}")
        if self.stopped is not None:
            parts.append(f"stopped: {self.stopped or type(self.stopped).__name__}")
        return f"<RunResult: {'; '.join(parts)}>"

    def write_report(
        self,
        path: Path,
        *,
        learner: str | None = None,
        stopped: str | None = None,
        remarks: Sequence[str] | None = None,
        command: str = "",
    ) -> None:
        r"""Write an HTML page about the run.

        Parameters
        ----------
        path : path
            The HTML file. It loads nothing; its only script shows the values of charts under the pointer.
        learner, stopped : str, optional
            Texts for the learner and for the error that ended the run early; by default their ``repr`` and ``str``.
        remarks : sequence of str, optional
            Texts for the remarks; by default their ``str``.
        command : str, optional
            The command that makes the page again.

        Examples
        --------
        >>> import mistakebound as mb, pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.svm"
        >>> _ = file.write_text("1 1:1\n-1 2:1\n")
        >>> mb.runs.run(mb.Source(file), mb.Perceptron()).write_report(file.with_name("page.html"))
        >>> file.with_name("page.html").read_text().startswith("<!doctype html>")
        True
        """
        from mistakebound.runs.report import write_report  # noqa: PLC0415 - seldom needed

        write_report(self, path, learner=learner, stopped=stopped, remarks=remarks, command=command)

    def raise_if_stopped(self) -> None:
        """Raise the error that ended the run early, if there is one."""
        if self.stopped is not None:
            raise self.stopped


def run(
    source: Source,
    learner: Learner,
    *,
    passes: int = 1,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    resume: bool = False,
    predictions: Path | IO[str] | None = None,
    certify: bool = False,
    certificate: Path | None = None,
    relevant: int | None = None,
    curve: bool = True,
    progress: Progress | None = None,
) -> RunResult:
    r"""Predict each example of the files, then learn it, and return the result.

    A bad line, a missing label or Ctrl-C ends a run early. The rounds before it are counted and saved, and the error is
    in ``RunResult.stopped``. ``RunResult.raise_if_stopped`` raises it.

    Parameters
    ----------
    source : Source
        The files. Ctrl-C ends a file that is followed.
    learner : Learner
        A fresh learner, or one that has learned before and continues.
    passes : int
        Number of passes over the files.
    checkpoint : path
        Write the model here at the end, also if bad data or Ctrl-C ends the run early. If a file cannot be opened,
        OSError is raised and only earlier checkpoints remain.
    checkpoint_every : int
        Also write the model after each block of this many examples.
    resume : bool
        Continue where the run that wrote ``checkpoint`` stopped. If there is no such file, start at the beginning. The
        files, their options and the parameters of the learner must be the same.
    predictions : path or text stream
        Write the prediction of each round here, made before learning from it: a line with the label, the
        probability of the positive label if the learner has probabilities, and the score, separated by tabs. With
        several classes: the label and its probability, which are empty before the first label.
    certify : bool
        Certify at the end: over the whole stream if the files can be read a second time, otherwise on the mistaken
        rounds only. A remark then has the reason.
    certificate : path
        Certify, and write a portable certificate here. ``verify`` checks it against the files.
    relevant : int
        For Winnow: the label is an OR of this many features. Then Littlestone's bound is known during the run: see
        docs/theory.md, "Winnow on disjunctions".
    curve : bool
        Whether to record the curve of mistakes.
    progress : Progress
        An object whose methods are called during the run.

    Examples
    --------
    >>> import mistakebound as mb, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.svm").write_text("1 1:1\n-1 2:1\n1 x\n" * 10)
    >>> result = mb.runs.run(mb.Source(folder / "a.svm"), mb.Perceptron())
    >>> result.rounds, result.stopped.line
    (2, 3)
    >>> source = mb.Source(folder / "a.svm", skip_bad=10)
    >>> result = mb.runs.run(source, mb.Perceptron(), checkpoint=folder / "a.mb", checkpoint_every=5, certify=True)
    >>> result
    <RunResult: 1 mistake in 20 rounds; Perceptron(); 10 bad lines skipped; certificate: holds>
    >>> str(result.skipped[0]).removeprefix(str(folder))
    "/a.svm:3:3: a feature must be index:value, got 'x'"
    >>> again = mb.runs.run(source, mb.Perceptron(), checkpoint=folder / "a.mb", resume=True)
    >>> again.rounds, again.mistakes
    (20, 1)
    """
    if not isinstance(source, Source):
        raise not_a_source(source)
    if not isinstance(learner, Learner):
        raise not_a_learner(learner)
    refuse_conflicts(source, passes, checkpoint, checkpoint_every, resume=resume)
    refuse_to_overwrite(source, checkpoint=checkpoint, predictions=predictions, certificate=certificate)
    continued = learner.has_learned
    if certificate is not None and continued:
        reason = " needs a fresh learner, because it covers every round; this one has learned before"
        raise OptionError(Option("certificate", "certificate"), reason)
    if (certify or certificate is not None) and not DECLARATIONS[learner.rule_id].has_theorem:
        asked = Option("certify", "certify") if certify else Option("certificate", "certificate")
        raise OptionError(asked, f" needs a theorem: no mistake bound is known for {learner.rule_id}")
    refuse_objects(learner, checkpoint, certificate)
    check_positive(learner, source.positive)
    progress = Progress() if progress is None else progress
    missed = learner.ledger_.false_negatives if continued and not learner.several else 0
    known = learner.known_bound(relevant)
    if learner.ledger_.mixing is not None:  # it is the bound of one learner that learned all rounds
        known = None
    tally = Tally(known, missed, lines=progress.lines)
    position = Position(source, passes, hashing=bool(checkpoint_every or resume or certificate))
    job = Job(source, learner, position, tally, progress, continued=continued)
    if curve:
        from mistakebound.runs.curve import Curve  # noqa: PLC0415 - here and below, only some runs need it

        job.curve = Curve()
    if checkpoint is not None:
        from mistakebound.runs.checkpoint import Checkpoint  # noqa: PLC0415

        resumable = bool(checkpoint_every or resume)
        job.checkpoint = Checkpoint(os.fspath(checkpoint), position, tally, checkpoint_every, resumable)
    job.play(predictions, resume=resume)
    if (certify or certificate is not None) and tally.rounds:
        job.certify()
    if certificate is not None:
        job.write_certificate(certificate)
    job.remark_on_positive()
    job.remark_on_class_weight()
    return job.result()


def refuse_objects(learner: Learner, *written: Path | None) -> None:
    """Raise ModelError, before anything is learned, if files shall be written that cannot store the learner."""
    if any(path is not None for path in written):
        from mistakebound.models.parameters import need_no_objects  # noqa: PLC0415 - few runs write files

        need_no_objects(learner)


def refuse_conflicts(
    source: Source, passes: int, checkpoint: Path | None, checkpoint_every: int | None, *, resume: bool
) -> None:
    """Raise OptionError for options that are out of range or that exclude each other."""
    for name, number in (("passes", passes), ("checkpoint_every", checkpoint_every)):
        if number is not None and (not isinstance(number, int) or number < 1):
            raise OptionError(Option(name, name, number), f" must be a whole number of at least 1, got {number!r}")
    if checkpoint is None and (checkpoint_every or resume):
        name = "resume" if resume else "checkpoint_every"
        needed = Option("checkpoint", "checkpoint")
        raise OptionError(Option(name, name), " needs ", needed, ", the file to write checkpoints to")
    if passes > 1 and "-" in source.files:
        reason = f" must be 1 for standard input, which can be read only once, got {passes}"
        raise OptionError(Option("passes", "passes"), reason)
    if passes > 1 and source.follow:
        reason = f" must be 1 for a file that is followed, because the first pass has no end, got {passes}"
        raise OptionError(Option("passes", "passes"), reason)


def refuse_to_overwrite(source: Source, **outputs: Path | IO[str] | None) -> None:
    """Raise OptionError for an output file that is also read, or that another output is written to."""
    read = {os.path.realpath(file) for file in (*source.files, source.labels) if file not in (None, "-")}
    written: set[str] = set()
    for name, output in outputs.items():
        if not isinstance(output, str | os.PathLike) or os.fspath(output).startswith("/dev/"):
            continue
        place = os.path.realpath(output)
        if place in read or place in written:
            use = "read" if place in read else "written"
            raise OptionError(Option(name, name), f": {os.fspath(output)} is also {use}; choose another file")
        written.add(place)


class Job:
    """The state of one call of ``run``. Not a dataclass, because that would delay the start by half a millisecond."""

    curve: Curve | None = None
    checkpoint: Checkpoint | None = None
    certificate: Certificate | None = None
    stopped: ValueError | KeyboardInterrupt | None = None
    saved: str | None = None

    def __init__(
        self,
        source: Source,
        learner: Learner,
        position: Position,
        tally: Tally,
        progress: Progress,
        *,
        continued: bool,
    ) -> None:
        self.source, self.learner, self.position = source, learner, position
        self.tally, self.progress = tally, progress
        self.continued = continued
        """Whether the learner had learned before this run."""
        self.remarks: dict[Remark, None] = {}
        """The remarks without duplicates, in their order."""

    def play(self, predictions: Path | IO[str] | None, *, resume: bool) -> None:
        """Learn the files and write the model."""
        at = self.resume(predictions=predictions is not None) if resume else 0
        with ExitStack() as during:
            out = None
            if not uninterrupted.is_listening:  # a command listens to signals already, and for good
                during.enter_context(uninterrupted.listening())
            if self.source.follow:
                during.enter_context(stop_at_signal(self.position.stop))
            if predictions is not None:
                from mistakebound.runs.predictions import predictions_file  # noqa: PLC0415 - most runs do without

                out = during.enter_context(predictions_file(predictions, at))
            self.learn(out)
            self.refuse_unknown_positive()
            self.remark_on_labels()
            if self.checkpoint is not None:
                self.save(self.checkpoint, out)

    def resume(self, *, predictions: bool) -> int:
        """Take the learner of the checkpoint, if there is one. Return the byte at which its predictions continue."""
        found = None if self.checkpoint is None else self.checkpoint.resume(self.learner, predictions=predictions)
        if found is None:
            self.progress.begin(None)
            return 0
        self.learner, at = found
        self.progress.begin(self.tally.rounds)
        return at

    def learn(self, out: PredictionsFile | None) -> None:
        """Learn the rest of the files, until their end or until an error or a signal."""
        position, tally, checkpoint = self.position, self.tally, self.checkpoint
        try:
            for step in position.steps(self.learner, self.limit, scores=out is not None):
                tally.add(step.ledger)
                if self.curve is not None:
                    self.curve.add(step.ledger)
                if out is not None:  # before progress, which may raise: model and predictions must stay together
                    out.write(step.ledger)
                self.progress.learned(tally, position)
                self.remark_on_files()
                if checkpoint is not None:
                    checkpoint.learned(self.learner, step.ledger.rounds, out)
        except (KeyboardInterrupt, ValueError) as reason:
            if isinstance(reason, StreamError):
                reason.round = tally.rounds
            self.stopped = reason
        finally:
            tally.end()
            self.progress.end(tally)
            self.remark_on_files()

    def limit(self) -> int | None:
        """Return how many examples the next step may learn: up to the next checkpoint or line of the table."""
        limits = (None if self.checkpoint is None else self.checkpoint.left(), self.tally.until_line())
        return min((each for each in limits if each is not None), default=None)

    def remark_on_labels(self) -> None:
        """Add a remark if every example had the same label: then a count of 0 mistakes means nothing."""
        rounds, positives = self.tally.rounds, self.tally.positives
        labels = self.tally.labels
        if labels is not None and len(labels) > 1:
            self.remark_on_classes(labels)
        elif self.stopped is None and rounds > 1 and (labels is not None or positives in (0, rounds)):
            label = self.learner.ledger_.classes[int(positives > 0)] if labels is None else next(iter(labels))
            words = f"only one label occurred: all {rounds:,} examples have the label {label!r}"
            self.remark(Remark("one label", (words,)))

    def remark_on_files(self) -> None:
        """Pass on the remarks of the reader, except that on ``positive``: it knows only what it has read itself."""
        report = self.position.report
        self.remark(*(each for each in (() if report is None else report.remarks) if each.kind != "positive"))

    def unknown_positive(self) -> tuple[str | Option, ...]:
        """Return a message if the label that is learned against all others did not occur; otherwise nothing."""
        tally, reader = self.tally, self.position.reader
        positive = None if reader is None else reader.settings.how.positive
        if reader is None or positive is None or not tally.rounds:
            return ()
        seen = tally.positives if tally.labels is None else plain_label(positive.encode()) in tally.labels
        return () if seen else no_positive(positive, reader.labels_seen)

    def refuse_unknown_positive(self) -> None:
        """Raise OptionError, before the model is saved, if a new learner has read all files without a positive label.

        Such a model could only predict the other label, and would keep the misspelled one.
        """
        complete = not (self.stopped or self.source.follow or self.continued)
        if complete and (words := self.unknown_positive()):
            raise OptionError(*words, kind="no positive label")

    def remark_on_positive(self) -> None:
        """Add a remark if the label that is learned against all others did not occur."""
        if words := self.unknown_positive():
            self.remark(Remark("positive", words))

    def remark_on_class_weight(self) -> None:
        """Add a remark for each label of ``class_weight`` that the learner has not seen: it may be misspelled."""
        weights = self.learner.get_params().get("class_weight") or {}
        seen = self.tally.labels or self.learner.ledger_.classes
        for label in weights if self.tally.rounds else ():
            if label not in seen:
                name, hint = Option("class_weight", "class_weight"), did_you_mean(str(label), [*map(str, seen)])
                self.remark(Remark("class weight", (f"no example has the label {label!r} of ", name, hint)))

    def remark_on_classes(self, labels: dict[Any, int]) -> None:
        """Add a remark that a panel has more than two labels, and how to learn one of them against the others."""
        names = ", ".join(repr(label) for label in list(labels)[:5]) + (", …" if len(labels) > 5 else "")
        words = f"there are {len(labels)} labels ({names}), so this is a panel of several classes; "
        if self.learner.rule_id == "panel":
            self.remark(Remark("several classes", (words, POSITIVE_OF, " learns one label against all others")))
        first, count = next(iter(labels.items()))
        report = self.position.report
        unnamed = report is not None and numbered_names(list(report.columns))
        if count == 1 and isinstance(first, str) and unnamed:
            words = f"the label {first!r} occurs only in the first line; if that line is a header, set "
            self.remark(Remark("header read as example", (words, BY_HEADER)))

    def save(self, checkpoint: Checkpoint, out: PredictionsFile | None) -> None:
        """Write the model if something was learned. After an error, do not replace the model of another run."""
        rounds = self.tally.rounds
        if not rounds and not (self.stopped or self.continued or self.source.follow):
            files = ", ".join(self.source.files)
            self.stopped = ValueError(f"{files}: there are no examples, so nothing was learned and nothing is saved")
        elif rounds and not (isinstance(self.stopped, ValueError) and checkpoint.would_replace()):
            with uninterrupted:
                checkpoint.save(self.learner, out)
            self.saved = checkpoint.path
        elif rounds or not self.stopped:
            what = "the run was stopped by an error" if rounds else "nothing was learned"
            self.remark(Remark("not saved", (f"{what}: {checkpoint.path} is not written",)))

    def certify(self) -> None:
        """Certify the learner, over the whole stream if it can be read again."""
        try:
            self.certificate, reason = certified(self.learner, self.source, continued=self.continued)
        except KeyboardInterrupt as interrupt:
            self.stopped, reason = self.stopped or interrupt, "no certificate: the second pass was interrupted"
        if reason:
            self.remark(Remark("certificate", (reason,)))

    def write_certificate(self, path: Path) -> None:
        """Write the portable certificate. If there is none, set ``stopped`` to the reason."""
        if self.certificate is None:
            self.stopped = self.stopped or ValueError("no certificate: there are no examples")
        elif self.position.replaced:
            file = self.source.files[-1]
            self.stopped = ValueError(
                f"no certificate: {file} was replaced during the run, so it could not be verified"
            )
        else:
            from mistakebound.runs.portable import write  # noqa: PLC0415 - few runs need it

            write(self.learner, self.certificate, self.position, path)

    def remark(self, *remarks: Remark) -> None:
        """Pass each new remark to ``progress``."""
        for remark in remarks:
            if remark not in self.remarks:
                self.remarks[remark] = None
                self.progress.remark(remark)

    def result(self) -> RunResult:
        """Return the result."""
        tally, position, ledger = self.tally, self.position, self.learner.ledger_
        report, reader = position.report, position.reader
        two = tally.labels is None
        majority, majority_mistakes = self.majority(ledger)
        return RunResult(
            learner=self.learner,
            ledger=ledger,
            source=self.source,
            rounds=tally.rounds,
            mistakes=tally.mistakes,
            false_positives=tally.false_positives if two else None,
            false_negatives=tally.false_negatives if two else None,
            positives=tally.positives if two else None,
            labels=tally.labels,
            majority=majority,
            majority_mistakes=majority_mistakes,
            bound=tally.bound,
            seconds=tally.seconds,
            bytes=position.bytes_before + (0 if report is None else report.bytes),
            report=report,
            columns=() if report is None else report.columns,
            table={} if reader is None else dict(reader.settings.how.table),
            skipped=() if report is None else report.skipped,
            remarks=tuple(self.remarks),
            curve=self.curve,
            certificate=self.certificate,
            stopped=self.stopped,
            saved=self.saved,
        )

    def majority(self, ledger: Ledger) -> tuple[Any, int]:
        """Return the most frequent label, and the number of mistakes of always predicting it."""
        tally = self.tally
        if tally.labels is not None or ledger.several:
            label, count = max((tally.labels or {}).items(), key=itemgetter(1), default=(None, 0))
            return label, tally.rounds - count
        negative, positive = ledger.classes
        negatives = tally.rounds - tally.positives
        return positive if tally.positives >= negatives else negative, min(tally.positives, negatives)


def certified(model: Learner, source: Source, *, continued: bool = False) -> tuple[Certificate, str]:
    """Return the certificate and, if it covers the mistaken rounds only, the reason.

    Parameters
    ----------
    model : Learner
        A learner that has learned the source.
    source : Source
        The files, which are read again.
    continued : bool
        Whether the learner had learned other examples before.
    """
    if model.rule_id == "panel":  # it counts all that its theorems need
        return model.certify(), ""
    earlier = "the run continued a saved model, whose earlier examples are not available"
    reason = earlier if continued else cannot_be_read_again(source)
    if not reason:
        try:
            return model.certify(X=source), ""
        except (OSError, ValueError) as error:
            reason = f"the second pass failed ({error})"
    return model.certify(), f"the certificate covers the mistaken rounds only: {reason}"
