"""One learner over files: predict, then learn, with checkpoints, predictions, progress and a certificate."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mistakebound._support.signals import stopping, uninterrupted
from mistakebound.errors import OptionError, StreamError
from mistakebound.rules.registry import DECLARATIONS
from mistakebound.runs.position import Position, size_of
from mistakebound.runs.predictions import predictions_file
from mistakebound.runs.tally import Tally, running_bound

if TYPE_CHECKING:
    from os import PathLike
    from typing import IO

    from mistakebound.certificates.certificate import Certificate
    from mistakebound.data.parts import Part
    from mistakebound.data.source import Source
    from mistakebound.learners.linear import LinearLearner
    from mistakebound.runs.checkpoint import Checkpoint
    from mistakebound.runs.curve import Curve
    from mistakebound.runs.predictions import PredictionsFile

    Path = str | PathLike[str]


class Progress:
    """What ``run`` calls while it works; each method does nothing. Override those that you need."""

    lines: bool = False
    """Whether ``Tally.lines`` is wanted: a line at rounds 1, 2, 4, 8, … and at the end."""

    def begin(self, rounds: int | None) -> None:
        """A run is resumed after so many rounds; None if there is no checkpoint yet, and it begins at the start."""

    def learned(self, tally: Tally) -> None:
        """A part of the files was learned."""

    def remark(self, text: str) -> None:
        """Something about the files or the run should be known."""

    def end(self, tally: Tally) -> None:
        """Nothing more will be learned."""


@dataclass(frozen=True)
class RunResult:
    """What happened in a run.

    Attributes
    ----------
    learner : LinearLearner
        It has learned; of a resumed run, the one that was read from the checkpoint.
    source : Source
        The files.
    rounds, false_positives, false_negatives, positives : int
        Counts of the whole run: rounds, both kinds of mistakes, and examples with the positive label.
    bound : float or None
        What a theorem allows, if that is known without a search.
    seconds : float
        Of this process, for reading and learning.
    bytes : int
        Read in this process.
    skipped, remarks : tuple of str
        Bad lines that were skipped, and what should be known of the files and the run.
    curve : Curve or None
        Mistakes against rounds, if wanted.
    certificate : Certificate or None
        If wanted.
    stopped : Exception, KeyboardInterrupt or None
        What ended the run before the end of its files.
    saved : str or None
        The model file, if it was written.
    """

    learner: LinearLearner
    source: Source
    rounds: int
    false_positives: int
    false_negatives: int
    positives: int
    bound: float | None
    seconds: float
    bytes: int
    skipped: tuple[str, ...]
    remarks: tuple[str, ...]
    curve: Curve | None
    certificate: Certificate | None
    stopped: ValueError | KeyboardInterrupt | None
    saved: str | None

    @property
    def mistakes(self) -> int:
        """Wrong predictions."""
        return self.false_positives + self.false_negatives

    @property
    def majority_mistakes(self) -> int:
        """Mistakes of always predicting the more frequent label."""
        return min(self.positives, self.rounds - self.positives)

    @property
    def majority(self) -> Any:
        """The more frequent label."""
        negative, positive = self.learner.ledger_.classes
        return positive if self.positives >= self.rounds - self.positives else negative

    def write_report(self, path: Path, *, learner: str | None = None, stopped: str | None = None) -> None:
        """Write an HTML page with everything about the run; see ``mistakebound.runs.report``."""
        from mistakebound.runs.report import write_report  # noqa: PLC0415 - seldom needed

        write_report(self, path, learner=learner, stopped=stopped)

    def raise_if_stopped(self) -> None:
        """Raise what ended the run before its end, if anything did."""
        if self.stopped is not None:
            raise self.stopped


def run(
    source: Source,
    learner: LinearLearner,
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
    """Predict, then learn, each example of the files in turn. What ends a run early is in ``RunResult.stopped``.

    Parameters
    ----------
    source : Source
        The files. One that is followed ends with Ctrl-C or ``source.stop()``.
    learner : LinearLearner
        A fresh learner, or one that goes on.
    passes : int
        How often to go through the files.
    checkpoint : path
        The model is written here at the end, also if the run ends early.
    checkpoint_every : int
        It is also written after so many examples.
    resume : bool
        Go on where the run that wrote ``checkpoint`` stopped; from the start if there is no such file. The files, their
        options and the parameters of the learner must be the same.
    predictions : path or text stream
        What was predicted in each round before learning from it is written here, one label in a line.
    certify : bool
        Certify at the end: over the whole stream if the files can be read a second time, otherwise on the mistaken
        rounds, which a remark explains.
    certificate : path
        Certify, and write a portable certificate here, which ``verify`` checks against the files.
    relevant : int
        Of Winnow: the label is an OR of so many features, so that Littlestone's bound is known during the run.
    curve : bool
        Whether to keep the curve of mistakes.
    progress : Progress
        Its methods are called during the run.
    """
    progress = Progress() if progress is None else progress
    refuse_conflicts(source, passes, checkpoint, checkpoint_every, resume=resume)
    before = learner.ledger_
    if certificate is not None and before.rounds:
        template = "{certificate} covers the whole life of a learner, and this one has learned something before"
        raise OptionError(template)
    if (certify or certificate is not None) and not DECLARATIONS[learner.rule_id].has_theorem:
        asked = "{certify}" if certify else "{certificate}"
        template = f"{asked} needs a theorem, and no mistake bound is known for {learner.rule_id}"
        raise OptionError(template)
    position = Position(source, passes, hashing=bool(checkpoint_every or resume or certificate))
    tally = Tally(running_bound(learner, relevant, missed=before.false_negatives), lines=progress.lines)
    job = Job(source, learner, position, tally, progress)
    if curve:
        from mistakebound.runs.curve import Curve  # noqa: PLC0415 - here and below, what most commands do without

        job.curve = Curve()
    if checkpoint is not None:
        from mistakebound.runs.checkpoint import Checkpoint  # noqa: PLC0415

        resumable = bool(checkpoint_every or resume)
        job.checkpoint = Checkpoint(os.fspath(checkpoint), position, tally, checkpoint_every, resumable)
    at = job.resume(predictions=predictions is not None) if resume else 0
    with predictions_file(predictions, at) as out, stopping(source.stop if source.follow else None):
        stopped = job.learn(out)
        if checkpoint is not None and not tally.rounds and not (stopped or before.rounds or source.follow):
            files = ", ".join(source.files)
            stopped = ValueError(f"{files}: there are no examples: nothing was learned, and nothing is saved")
        saved = job.save(stopped, out)
    found: Certificate | None = None
    if (certify or certificate is not None) and tally.rounds:
        try:
            found, reason = certified(job.learner, source, continued=bool(before.rounds))
        except KeyboardInterrupt as interrupt:
            stopped, reason = stopped or interrupt, "no certificate: the second pass was interrupted"
        job.remark(*([reason] if reason else []))
    if certificate is not None:
        stopped = write_certificate(job.learner, found, position, certificate, stopped)
    if source.positive is not None and tally.rounds and not tally.positives:
        job.remark(f"no line has the label {source.positive!r}: the positive label must be spelled as in the files")
    return job.result(found, stopped, saved)


def refuse_conflicts(
    source: Source, passes: int, checkpoint: Path | None, checkpoint_every: int | None, *, resume: bool
) -> None:
    """Refuse options that do not go together."""
    if checkpoint is None and (checkpoint_every or resume):
        option = "{resume}" if resume else "{checkpoint_every}"
        raise OptionError(option + " needs {checkpoint}: the file that holds the checkpoint")
    if passes > 1 and "-" in source.files:
        template = "standard input can be read only once: {passes} needs files"
        raise OptionError(template)
    if passes > 1 and source.follow:
        template = "a file that is followed has no end, and so no second pass: leave out {passes}"
        raise OptionError(template)


@dataclass
class Job:
    """A run at work."""

    source: Source
    learner: LinearLearner
    position: Position
    tally: Tally
    progress: Progress
    curve: Curve | None = None
    checkpoint: Checkpoint | None = None
    remarks: dict[str, None] = field(default_factory=dict)
    """Each once, in their order."""

    def resume(self, *, predictions: bool) -> int:
        """Go on with the learner of the checkpoint, if there is one; returns where its predictions go on."""
        found = None if self.checkpoint is None else self.checkpoint.resume(self.learner, predictions=predictions)
        if found is None:
            self.progress.begin(None)
            return 0
        self.learner, at = found
        self.progress.begin(self.tally.rounds)
        return at

    def learn(self, out: PredictionsFile | None) -> ValueError | KeyboardInterrupt | None:
        """Learn what is still ahead, and return what ended it before its end, if anything did."""
        try:
            for part, first in self.position.parts(self.learner):
                if wrong := self.learn_part(part, first, out):
                    return wrong
        except (KeyboardInterrupt, ValueError) as reason:
            return reason
        finally:
            self.tally.end()
            self.progress.end(self.tally)
            self.remark(*self.source.remarks)
        return None

    def learn_part(self, part: Part, first: int, out: PredictionsFile | None) -> StreamError | None:
        """Learn the rows of a part from its row ``first`` on, up to one checkpoint after the other."""
        begin = first
        while True:
            with uninterrupted:  # what is learned is also counted, written and known to be behind
                left = None if self.checkpoint is None else self.checkpoint.left()
                if first == begin:
                    self.position.arrive(part, first)
                ledger, wrong = self.learner.run_part(part, first, None if left is None else first + left)
                first += ledger.rounds
                self.position.learned(first)
                self.tally.add(ledger)
                if self.curve is not None:
                    self.curve.add(ledger)
                self.tally.done = self.position.done()
                self.progress.learned(self.tally)
                self.remark(*self.source.remarks)
                if out is not None:
                    out.write(ledger)
                if self.checkpoint is not None:
                    self.checkpoint.learned(self.learner, ledger.rounds, out)
            if wrong:
                del self.source.skipped[part.skipped_before(first) :]  # lines after it were not reached
                error = StreamError(wrong, round=self.tally.rounds)
                error.skippable = wrong == part.error and wrong.startswith(f"{part.file}:")
                return error
            if first >= part.rows:
                return None

    def save(self, stopped: BaseException | None, out: PredictionsFile | None) -> str | None:
        """Write the model, unless nothing was learned, or an earlier model would be lost after an error."""
        if self.checkpoint is None:
            return None
        if self.tally.rounds and not (isinstance(stopped, ValueError) and self.checkpoint.would_replace()):
            with uninterrupted:
                self.checkpoint.save(self.learner, out)
            return self.checkpoint.path
        if self.tally.rounds or not stopped:
            what = "the run was stopped by an error" if self.tally.rounds else "nothing was learned"
            self.remark(f"{what}: {self.checkpoint.path} is not written")
        return None

    def remark(self, *texts: str) -> None:
        """Pass on what was not remarked yet."""
        for text in texts:
            if text not in self.remarks:
                self.remarks[text] = None
                self.progress.remark(text)

    def result(
        self, certificate: Certificate | None, stopped: ValueError | KeyboardInterrupt | None, saved: str | None
    ) -> RunResult:
        """What happened."""
        tally, source = self.tally, self.source
        return RunResult(
            learner=self.learner,
            source=source,
            rounds=tally.rounds,
            false_positives=tally.false_positives,
            false_negatives=tally.false_negatives,
            positives=tally.positives,
            bound=tally.bound,
            seconds=tally.seconds,
            bytes=source.bytes,
            skipped=tuple(source.skipped),
            remarks=tuple(self.remarks),
            curve=self.curve,
            certificate=certificate,
            stopped=stopped,
            saved=saved,
        )


def certified(model: LinearLearner, source: Source, *, continued: bool = False) -> tuple[Certificate, str]:
    """The certificate, and if it covers the mistaken rounds only, why.

    Parameters
    ----------
    model : LinearLearner
        It has learned from the source.
    source : Source
        As it was read; its files are read again.
    continued : bool
        Whether the learner had learned something else before.
    """
    earlier = "the run continued a saved model, whose earlier examples are not available"
    reason = earlier if continued else cannot_be_read_again(source)
    if not reason:
        try:
            return model.certify(X=again(source)), ""
        except (OSError, ValueError) as error:
            reason = f"the second pass failed ({error})"
    return model.certify(), f"the certificate covers the mistaken rounds only: {reason}"


def again(source: Source) -> Source:
    """The same files, to be read in the same way once more."""
    from mistakebound.runs.resume import text_options  # noqa: PLC0415

    return type(source)(
        source.files,
        labels=source.labels,
        skip_bad=source.skip_bad,
        threads=source.threads,
        cache=source.cache if source.cache and os.path.isfile(source.cache) else None,
        **text_options(source),
    )


def cannot_be_read_again(source: Source) -> str:
    """Which file cannot be read a second time, if any."""
    files = [*source.files, *([] if source.labels is None else [os.fspath(source.labels)])]
    once = next((file for file in files if size_of(file) is None), None)
    return "" if once is None else f"{'standard input' if once == '-' else once} cannot be read a second time"


def write_certificate(
    model: LinearLearner,
    certificate: Certificate | None,
    position: Position,
    path: Path,
    stopped: ValueError | KeyboardInterrupt | None,
) -> ValueError | KeyboardInterrupt | None:
    """Write the certificate with all that it takes to check it; return why the run stopped, or why none is written."""
    if certificate is None:
        return stopped or ValueError("no certificate: there are no examples")
    if position.replaced:
        return ValueError(f"no certificate: {position.source.files[-1]} was replaced, so it could not be checked")
    from mistakebound.certificates import portable  # noqa: PLC0415
    from mistakebound.models.model_file import describe_parameters, fingerprint  # noqa: PLC0415
    from mistakebound.runs.resume import files_read, text_options  # noqa: PLC0415

    source, ledger = position.source, model.ledger_
    stream = zip(source.files, files_read(position), strict=False)
    document = portable.document(
        certificate,
        learner=type(model).__name__,
        parameters=describe_parameters(model),
        reading=text_options(source),
        skip_bad=source.skip_bad,
        passes=position.passes,
        stream=[{"file": file, **read} for file, read in stream],
        labels=position.labels_digest,
        ended=position.ended,
        skipped=len(source.skipped) if position.ended else None,
        counts={name: getattr(ledger, name) for name in portable.COUNTS},
        model=fingerprint(model),
    )
    portable.write(document, path)
    return stopped
