"""Track the position of a run in its files: pass, part and row, and how much of each file was read."""

from __future__ import annotations

import os
import stat
from collections import deque
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from mistakebound._support.signals import uninterrupted
from mistakebound.data.blocks import opened
from mistakebound.data.parts import START, Place
from mistakebound.learners.stream_loop import parts_of, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mistakebound.data.parts import Part
    from mistakebound.data.reader import StreamReader
    from mistakebound.data.report import ReadReport, Remark
    from mistakebound.data.source import Source
    from mistakebound.learners.learner import Learner
    from mistakebound.learners.stream_loop import Step
    from mistakebound.play.ledger import Ledger


class FileRead:
    """What was read of one file: the number of bytes of its text (unpacked), and their SHA-256 if it is computed.

    A file of columns (Parquet, Arrow) has no text: it counts as a whole, however much of it was read.
    """

    def __init__(
        self,
        size: int | None,
        bytes: int = 0,  # noqa: A002 - as everywhere
        *,
        whole: bool = False,
        columns: bool = False,
        sha: Any = None,
    ) -> None:
        self.size = size
        """Bytes of the file itself; None for what cannot be read twice, as standard input and pipes."""
        self.bytes, self.whole, self.columns, self.sha = bytes, whole, columns, sha

    def add(self, part: Part) -> None:
        """Count what was read for a part."""
        if part.in_rows:
            if not self.columns:
                self.columns, self.bytes, self.sha = True, self.size or 0, None
            return
        self.bytes += part.chunk.consumed
        if self.sha is not None:
            self.sha.update(memoryview(part.chunk.text)[: part.chunk.consumed])

    def digest(self, file: str) -> str | None:
        """SHA-256 of what was read; the file is read again if it was not kept up."""
        if self.sha is None and self.size is not None:
            found = hashes(file, self.bytes)
            if not found:
                message = f"{file} has changed while it was read"
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
        How often to go through them.
    hashing : bool
        Whether to compute the SHA-256 of what is read.
    """

    def __init__(self, source: Source, passes: int, *, hashing: bool) -> None:
        self.source = source
        self.passes = passes
        self.hashing = hashing
        self.at: tuple[int, Place, int] = (0, START, 0)
        """Pass, beginning of a part, and how many of its rows are learned: in one tuple, so that they always agree."""
        self.report: ReadReport | None = None
        """What was read in the present pass, or before the place where an earlier run stopped."""
        self.reader: StreamReader | None = None
        self.replaced = False
        """Whether a followed file was replaced or cut short: what it held before cannot be read again."""
        self._read: list[FileRead] = []
        self._part: Part | None = None
        self.remarks: tuple[Remark, ...] = ()
        """The remarks of the reader in the present pass."""
        self.bytes_before = 0
        """Bytes of text that were parsed in the passes before, by this process."""
        self._stopped = False
        if hashing and source.labels is not None and size_of(os.fspath(source.labels)) is None:
            message = f"checkpoints and certificates need labels that can be read again, and {source.labels} is no file"
            raise ValueError(message)

    @cached_property
    def labels_digest(self) -> str | None:
        """SHA-256 of the file of labels, if there is one and it can be read twice."""
        file = None if self.source.labels is None else os.fspath(self.source.labels)
        return None if file is None or size_of(file) is None else str(hashes(file)[0].hexdigest())

    @property
    def ended(self) -> bool:
        """Whether nothing is left to read. A followed file may always grow."""
        return self.at[0] == self.passes

    @property
    def files_read(self) -> list[FileRead]:
        """Of the files that the first pass has reached; later passes read the same again."""
        if self.at[0] > 0:
            self._reach(len(self.source.files))
        return self._read

    @property
    def done(self) -> int:
        """Bytes of the files that were read, of all passes together."""
        done = 0 if self.report is None else self.report.done
        return self.at[0] * (self.source.total or 0) + done if self.at[0] else done

    def restore(self, at: tuple[int, Place, int], read: list[FileRead], report: ReadReport, *, replaced: bool) -> None:
        """Set the position at which an earlier process stopped."""
        self.at, self._read, self.report, self.replaced = at, read, report, replaced

    def stop(self) -> None:
        """End a file that is followed, after the lines that are there now."""
        self._stopped = True
        if self.reader is not None:
            self.reader.stop()

    def steps(self, learner: Learner, limit: Callable[[], int | None] | None) -> Iterator[Step[Ledger]]:
        """Learn what is still ahead, and yield after each step; signals wait until the next one is asked for.

        ``limit`` returns how many examples the next step may learn.
        """
        begun, start, skip = self.at
        known = learner.known_for(self.source)
        for number in range(begun, self.passes):
            before = self.report if number == begun else None
            if self.report is not None:
                self.bytes_before += self.report.bytes
            keep_text = self.hashing and number == 0  # a cache does not have it
            reader = self.source.open(known, start=start, before=before, keep_text=keep_text, warn=False)
            self.report, self.reader = reader.report, reader
            if self._stopped:
                reader.stop()
            parts = self._past(skip, parts_of(learner, reader)) if skip else None
            for step in steps(learner, reader, parts=parts, skip=skip, limit=limit, guard=uninterrupted):
                if step.part is not self._part:
                    self._arrive(step.part)
                self.at, self.remarks = (number, step.part.begin, step.last), self.report.remarks
                yield step
            if self.source.follow:
                return
            self.at, start, skip = (number + 1, START, 0), START, 0

    def _past(self, skip: int, parts: Iterator[Part]) -> Iterator[Part]:
        """The parts, of which the first ``skip`` rows are learned already: no step comes of a part that ends there."""
        for part in parts:
            skip = max(0, skip - part.rows)
            if skip:
                with uninterrupted:
                    self._arrive(part)
            yield part
        if skip and not self.source.follow:
            message = f"there are {skip} examples less than were learned"
            raise ValueError(message)

    def _arrive(self, part: Part) -> None:
        """Count what was read for a part."""
        self._part = part
        if self.at[0] > 0:
            return
        self._reach(part.begin.file)
        read = self._read[-1]
        if self.source.follow and part.begin.byte == 0 < read.bytes and part.begin.file == len(self.source.files) - 1:
            self.replaced = True
            self._read[-1] = read = self._unread(part.file)
        if part.in_rows and self.hashing and read.size is None:
            message = f"{part.file}: checkpoints and certificates need Parquet and Arrow as files, not through a pipe"
            raise ValueError(message)
        read.add(part)

    def _reach(self, file: int) -> None:
        """All files before this one are read."""
        while len(self._read) <= file:
            if self._read:
                self._read[-1].whole = True
            if len(self._read) == len(self.source.files):
                return
            self._read.append(self._unread(self.source.files[len(self._read)]))

    def _unread(self, file: str) -> FileRead:
        return FileRead(size_of(file), sha=sha256() if self.hashing else None)


def sha256() -> Any:
    """A SHA-256 of nothing yet."""
    from hashlib import sha256 as made  # noqa: PLC0415 - importing it takes a while, and most runs do without

    return made()


def size_of(file: str) -> int | None:
    """Bytes of a file; None for what cannot be read a second time."""
    if file == "-":
        return None
    status = os.stat(file)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def hashes(file: str, *ends: int) -> list[Any]:
    """SHA-256 of a file's text: of all of it, or of its first bytes, for as many ends (rising) as it has.

    That is what it holds unpacked; of columns it is the file itself.
    """
    sha, at, found, pending = sha256(), 0, [], deque(ends)
    with opened(file) as text:
        for block, _ in chain([(b"", False)], text.blocks):
            done = 0
            while pending and pending[0] <= at + len(block):
                end = pending.popleft() - at
                sha.update(bytes(block[done:end]))
                done = end
                found.append(sha.copy())
            if ends and not pending:
                return found
            sha.update(bytes(block[done:]))
            at += len(block)
    return found if ends else [sha]


def cannot_be_read_again(source: Source) -> str:
    """Which file cannot be read a second time, if any, in words."""
    files = [*source.files, *([] if source.labels is None else [os.fspath(source.labels)])]
    once = next((file for file in files if size_of(file) is None), None)
    return "" if once is None else f"{'standard input' if once == '-' else once} cannot be read a second time"
