"""Progress of a run: its counts, its position in the files, and the callbacks that show them."""

from __future__ import annotations

import os
import stat
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from mistakebound._support.signals import uninterrupted
from mistakebound.data.parts import START, Place
from mistakebound.learners.stream_loop import parts_of, steps
from mistakebound.learners.streams import use_weights
from mistakebound.runs.file_hash import hashes, sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mistakebound._support.arrays import IntArray
    from mistakebound.data.parts import Part
    from mistakebound.data.reader import ReadReport, StreamReader
    from mistakebound.data.remarks import Remark
    from mistakebound.data.source import Source
    from mistakebound.learners.learner import Learner
    from mistakebound.learners.stream_loop import Step
    from mistakebound.play.class_ledger import ClassLedger
    from mistakebound.play.ledger import Ledger
    from mistakebound.play.standings import Standings

    RunningBound = Callable[[Ledger, int], float | None]


class Progress:
    """Callbacks of ``run``. Each method does nothing: override those that you need."""

    lines: bool = False
    """Whether ``Tally.lines`` is needed: a line at rounds 1, 2, 4, 8, … and at the end."""

    def begin(self, rounds: int | None) -> None:
        """Called before a resumed run, with the rounds of its checkpoint; None if there is no checkpoint yet."""

    def learned(self, tally: Tally, position: Position) -> None:
        """Called after each learned part of the files."""

    def remark(self, remark: Remark) -> None:
        """Called for each note on the files or the run."""

    def end(self, tally: Tally) -> None:
        """Called when learning has ended."""


class Line(NamedTuple):
    """A line of the progress table, made at rounds 1, 2, 4, 8, … and at the end."""

    rounds: int
    mistakes: int
    since: float
    """Mistakes per round since the line before."""
    bound: float | None
    """The bound of a theorem; None if it is not known during a run."""
    speed: float
    """Examples per second."""
    loss: float | None = None
    """Of a panel: mean log loss of its mixture, over all of its rounds whose label had occurred before."""
    loss_bound: float | None = None
    """The bound of a theorem on it; None if the panel was mixed."""


class Tally:
    """Counts of a run, including the rounds of an earlier process that it resumes.

    Parameters
    ----------
    bound : callable or None
        Computes the bound during a run, from the ledger of a part and the number of positives missed so far; see
        ``Learner.known_bound``.
    missed : int
        Positives that the learner missed before this run.
    lines : bool
        Whether to make the lines at rounds 1, 2, 4, 8, …; they need numpy.
    """

    def __init__(self, bound: RunningBound | None, missed: int = 0, *, lines: bool) -> None:
        self.bound_of, self.missed, self.with_lines = bound, missed, lines
        self.rounds = self.mistakes = self.false_positives = self.false_negatives = self.positives = 0
        self.labels: dict[Any, int] | None = None
        """With several classes, how often each label occurred; otherwise None."""
        self.bound: float | None = None
        self.lines: list[Line] = []
        """The lines of the last part."""
        self.start, self.seconds = time.perf_counter(), 0.0
        self.earlier = 0
        """Rounds of an earlier process, which are left out of the speed."""
        self.last = (0, 0)
        """Rounds and mistakes of the last line."""
        self._next = 1
        self._standings: Standings | None = None

    def resume(self, ledger: Ledger, counts: list[int], last: tuple[int, int]) -> None:
        """Set the counts of an earlier process. ``ledger`` is the ledger of the resumed learner."""
        self.rounds, self.false_positives, self.false_negatives, self.positives = counts
        self.mistakes = self.false_positives + self.false_negatives
        if ledger.several:
            self.labels = cast("ClassLedger", ledger).label_counts()
        self.earlier, self.last, self._next = self.rounds, last, 1 << self.rounds.bit_length()
        self._standings = ledger.standings
        if ledger.mixing is not None:
            self.bound_of = None
        if self.bound_of is not None and self.rounds:
            self.bound = self.bound_of(ledger, self.missed + self.false_negatives)

    def until_line(self) -> int | None:
        """Return the rounds until the next line, if its bound is known at its round only; otherwise None."""
        return self._next - self.rounds if self.with_lines and self.bound_of is not None else None

    def add(self, part: Ledger) -> None:
        """Count the rounds of a part, and make its lines."""
        self.seconds = time.perf_counter() - self.start
        self.lines = []
        rounds = part.rounds
        self._standings = part.standings
        if self.with_lines and self._next <= self.rounds + rounds:
            self._add_lines(part, part.mistake_rounds, self.rounds + rounds)
        self._count_labels(part)
        self.rounds += rounds
        self.mistakes += part.mistakes
        if self.bound_of is not None:
            self.bound = self.bound_of(part, self.missed + self.false_negatives)

    def _count_labels(self, part: Ledger) -> None:
        """Count mistakes by their kind, and labels."""
        if not part.several:
            self.false_positives += part.false_positives
            self.false_negatives += part.false_negatives
            self.positives += part.positive_labels
            return
        several = cast("ClassLedger", part)
        if self.labels is None:  # the rounds so far had two labels, whose class ids are 0 and 1
            before = (self.rounds - self.positives, self.positives) if self.rounds else ()
            self.labels = dict(zip(several.seen, before, strict=False))
        for label, count in several.label_counts().items():
            self.labels[label] = self.labels.get(label, 0) + count

    def end(self) -> None:
        """Make the last line."""
        self.seconds = time.perf_counter() - self.start
        self.lines = []
        if self.rounds > self.last[0]:
            self._add_line(self.rounds, self.mistakes, self.rounds)

    def _add_lines(self, part: Ledger, mistaken: IntArray, done: int) -> None:
        while self._next <= done:
            before = mistaken[mistaken < self._next - self.rounds]
            if self.bound_of is not None:
                missed = 0 if part.several else len(before) - int(part.positive[before].sum())
                self.bound = self.bound_of(part, self.missed + self.false_negatives + missed)
            self._add_line(self._next, self.mistakes + len(before), done)
            self._next *= 2

    def _add_line(self, rounds: int, mistakes: int, done: int) -> None:
        since = (mistakes - self.last[1]) / (rounds - self.last[0])
        self.last = (rounds, mistakes)
        speed = (done - self.earlier) / max(self.seconds, 1e-9)
        line = Line(rounds, mistakes, since, self.bound, speed)
        if (found := self._standings) is not None:
            counted = max(found.rounds, 1)  # the first rounds of labels of several classes do not count
            loss = max(found.log_loss, 0.0) / counted  # rounding may make a loss of 0 negative
            line = line._replace(loss=loss, loss_bound=None if found.mixed else found.loss_bound / counted)
        self.lines.append(line)


class FileRead:
    """How much of one file was read: the number of bytes of its unpacked text, and their SHA-256 if it is computed.

    A file of columns (Parquet, Arrow) has no text. It counts as read completely once reading it has begun.
    """

    def __init__(
        self,
        size: int | None,
        bytes: int = 0,  # noqa: A002 - the name that reports use
        *,
        whole: bool = False,
        columns: bool = False,
        sha: Any = None,
    ) -> None:
        self.size = size
        """Size of the file in bytes; None if it cannot be read twice, such as standard input and pipes."""
        self.bytes, self.whole, self.columns, self.sha = bytes, whole, columns, sha

    def add(self, part: Part) -> None:
        """Add the bytes of a part."""
        if part.in_rows:
            if not self.columns:
                self.columns, self.bytes, self.sha = True, self.size or 0, None
            return
        self.bytes += part.chunk.consumed
        if self.sha is not None:
            self.sha.update(memoryview(part.chunk.text)[: part.chunk.consumed])

    def digest(self, file: str) -> str | None:
        """Return the SHA-256 of the bytes that were read. The file is read again if it was not computed yet."""
        if self.sha is None and self.size is not None:
            found = hashes(file, self.bytes)
            if not found:
                message = f"{file} was changed while it was read"
                raise ValueError(message)
            self.sha = found[0]
        return None if self.sha is None else str(self.sha.hexdigest())


class Position:
    """The position of a run in its files, and the loop that moves it.

    Parameters
    ----------
    source : Source
        The files.
    passes : int
        Number of passes over them.
    hashing : bool
        Whether to compute the SHA-256 of what is read.
    """

    def __init__(self, source: Source, passes: int, *, hashing: bool) -> None:
        self.source = source
        self.passes = passes
        self.hashing = hashing
        self.at: tuple[int, Place, int] = (0, START, 0)
        """Pass, beginning of a part, and number of its rows that are learned. One tuple, so they change together."""
        self.report: ReadReport | None = None
        """The report on the current pass, or on what an earlier process read of it."""
        self.reader: StreamReader | None = None
        self.replaced = False
        """Whether a followed file was replaced or truncated, so that its earlier content cannot be read again."""
        self._read: list[FileRead] = []
        self._part: Part | None = None
        self.bytes_before = 0
        """Bytes of text that this process parsed in earlier passes."""
        self._stopped = False
        if hashing and source.labels is not None and size_of(os.fspath(source.labels)) is None:
            message = f"checkpoints and certificates must read the labels again, but {source.labels} is not a file"
            raise ValueError(message)

    @cached_property
    def labels_digest(self) -> str | None:
        """SHA-256 of the file of labels; None if there is none or it cannot be read twice."""
        file = None if self.source.labels is None else os.fspath(self.source.labels)
        return None if file is None or size_of(file) is None else str(hashes(file)[0].hexdigest())

    @property
    def ended(self) -> bool:
        """Whether all passes are complete. A followed file never is, because it may grow."""
        return self.at[0] == self.passes

    @property
    def files_read(self) -> list[FileRead]:
        """How much was read of each file that the first pass has reached. Later passes read the same again."""
        if self.at[0] > 0:
            self._reach(len(self.source.files))
        return self._read

    @property
    def done(self) -> int:
        """Bytes of the files that were read, in all passes together."""
        done = 0 if self.report is None else self.report.done
        return self.at[0] * (self.source.total or 0) + done if self.at[0] else done

    def restore(self, at: tuple[int, Place, int], read: list[FileRead], report: ReadReport, *, replaced: bool) -> None:
        """Set the position to where an earlier process stopped."""
        self.at, self._read, self.report, self.replaced = at, read, report, replaced

    def stop(self) -> None:
        """End a followed file after the lines that it has now. May be called from any thread."""
        self._stopped = True
        if self.reader is not None:
            self.reader.stop()

    def steps(
        self, learner: Learner, limit: Callable[[], int | None] | None, *, scores: bool = False
    ) -> Iterator[Step[Ledger]]:
        """Learn the rest of the files, and yield after each step. Signals are delayed until the next step is requested.

        ``limit`` returns how many examples the next step may learn. ``scores`` is whether the ledgers shall have the
        score of each example.
        """
        try:
            yield from self._steps(learner, limit, scores=scores)
        finally:
            learner.rest()

    def _steps(
        self, learner: Learner, limit: Callable[[], int | None] | None, *, scores: bool
    ) -> Iterator[Step[Ledger]]:
        first_pass, start, skip = self.at
        known = learner.reading_for(self.source)
        for number in range(first_pass, self.passes):
            learner.measure(on=number == 0)  # what was learned before is easier to predict
            before = self.report if number == first_pass else None
            if self.report is not None:
                self.bytes_before += self.report.bytes
            keep_text = self.hashing and number == 0  # a cache does not hold the text
            reader = self.source.open(known, start=start, before=before, keep_text=keep_text, warn=False)
            use_weights(learner, reader)
            self.report, self.reader = reader.report, reader
            if self._stopped:
                reader.stop()
            parts = self._past(skip, parts_of(learner, reader)) if skip else None
            for step in steps(learner, reader, parts=parts, skip=skip, limit=limit, scores=scores, guard=uninterrupted):
                if step.part is not self._part:
                    self._arrive(step.part)
                self.at = (number, step.part.begin, step.last)
                yield step
            if self.source.follow:
                return
            self.at, start, skip = (number + 1, START, 0), START, 0

    def _past(self, skip: int, parts: Iterator[Part]) -> Iterator[Part]:
        """Yield the parts, and count those whose rows are all among the first ``skip``, because they make no step."""
        for part in parts:
            skip = max(0, skip - part.rows)
            if skip:
                with uninterrupted:
                    self._arrive(part)
            yield part
        if skip and not self.source.follow:
            message = f"the files have {skip} fewer examples than were learned before"
            raise ValueError(message)

    def _arrive(self, part: Part) -> None:
        """Count a part as read."""
        self._part = part
        if self.at[0] > 0:
            return
        self._reach(part.begin.file)
        read = self._read[-1]
        if self.source.follow and part.begin.byte == 0 < read.bytes and part.begin.file == len(self.source.files) - 1:
            self.replaced = True
            self._read[-1] = read = self._unread(part.file)
        if part.in_rows and self.hashing and read.size is None:
            message = f"{part.file}: checkpoints and certificates need Parquet and Arrow as files, not from a pipe"
            raise ValueError(message)
        read.add(part)

    def _reach(self, file: int) -> None:
        """Count all files before this one as read."""
        while len(self._read) <= file:
            if self._read:
                self._read[-1].whole = True
            if len(self._read) == len(self.source.files):
                return
            self._read.append(self._unread(self.source.files[len(self._read)]))

    def _unread(self, file: str) -> FileRead:
        return FileRead(size_of(file), sha=sha256() if self.hashing else None)


def size_of(file: str) -> int | None:
    """Return the size of a file in bytes; None if it cannot be read a second time."""
    if file == "-":
        return None
    status = os.stat(file)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def cannot_be_read_again(source: Source) -> str:
    """Return which file cannot be read a second time, in words; an empty text if all can."""
    files = [*source.files, *([] if source.labels is None else [os.fspath(source.labels)])]
    once = next((file for file in files if size_of(file) is None), None)
    return "" if once is None else f"{'standard input' if once == '-' else once} cannot be read a second time"
