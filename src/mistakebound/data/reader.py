"""Read the files of a stream one after another: open them, detect their format, parse them and yield `Part`s."""

from __future__ import annotations

import os
import threading
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from mistakebound._core import BadKind
from mistakebound._support.text import many
from mistakebound._support.threads import parallel_map
from mistakebound.data import blocks as texts
from mistakebound.data.blocks import Block, Text, parse, parsed_one_by_one, skip_bytes, texts_of, total_size
from mistakebound.data.follow import Follower, LastForNow, check_that_it_can_be_followed
from mistakebound.data.formats import ENOUGH, check_layout, reader_of, suffices
from mistakebound.data.label_codes import (
    MOST,
    encode_labels,
    every_label,
    label_lines,
    labels_of_good_rows,
    one_against_rest,
)
from mistakebound.data.labels import NO_LABEL
from mistakebound.data.parts import START, Part, Place
from mistakebound.data.remarks import BadLine, Remark, no_positive
from mistakebound.errors import InputError, Option

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound._core import BadRecord, Chunk
    from mistakebound.data.arrow import Columns
    from mistakebound.data.cache import Begin
    from mistakebound.data.formats import TextFormat
    from mistakebound.data.options import Reading, Settings
    from mistakebound.data.source import Source

ADVICE: dict[BadKind, tuple[str | Option, ...]] = {
    BadKind.NOT_UTF8: (" (if the file is Latin-1: iconv -f latin1 -t utf8 FILE)",),
    BadKind.NO_LABEL: ("; if the labels are in another file, ", Option("labels", "set labels=FILE")),
    BadKind.ZERO_INDEX: ("; if they count from 0, ", Option("zero_based", "set zero_based=True")),
}
"""What to do about a bad line, after the message of the core."""
WEIGHTS_IGNORED = "importance weights are ignored: every line counts once"


class Notes:
    """What a reader records while it reads; ``ReadReport`` shows it to the user."""

    def __init__(self, skipped: Iterable[BadLine] = (), remarks: Iterable[Remark] = ()) -> None:
        self.skipped, self.remarks = [*skipped], [*remarks]
        self.columns: list[str] = []
        self.bytes = self.done = 0
        self.options: Reading | None = None
        self.format: TextFormat | None = None
        """The format of the current file."""
        self.unlabelled: tuple[str | Option, ...] = (NO_LABEL,)
        """The message for a row without a label."""
        self.possible_header: tuple[str, ...] = ()
        """The cells of line 1, if it is read as an example but could be a header."""

    def remark(self, kind: str, *words: str | Option, file: str = "") -> None:
        """Add a remark, if it is not there yet."""
        remark = Remark(kind, words, file)
        if remark not in self.remarks:
            self.remarks.append(remark)


class ReadReport:
    r"""What a ``StreamReader`` has read so far; read-only.

    Parameters
    ----------
    notes : Notes
        The record of the reader.

    Examples
    --------
    >>> import mistakebound as mb, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.vw"
    >>> _ = file.write_text("1 2.0 | a b\nx | a\n-1 | c\n")
    >>> report = mb.Perceptron().run(mb.Source(file, skip_bad=1)).reading
    >>> report
    <ReadReport: 25 bytes, 1 skipped, 1 remark>
    >>> report.skipped[0].line, str(report.remarks[0])
    (2, 'importance weights are ignored: every line counts once')
    """

    __slots__ = ("_notes",)

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    @classmethod
    def from_texts(cls, skipped: Iterable[str], remarks: Iterable[str]) -> ReadReport:
        """Return the report of an earlier process from the texts in a checkpoint."""
        lines = [BadLine((words,)) for words in skipped]
        return cls(Notes(lines, (Remark("earlier", (words,)) for words in remarks)))

    @property
    def skipped(self) -> tuple[BadLine, ...]:
        """The bad lines that were skipped."""
        return tuple(self._notes.skipped)

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Other remarks: a file has no examples, importance weights are not used, a followed file was replaced."""
        return tuple(self._notes.remarks)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the current table; empty for files without columns."""
        return tuple(self._notes.columns)

    @property
    def has_header(self) -> bool:
        """Whether line 1 of the current file holds the names of its columns."""
        found = self._notes.format
        return found is not None and found.layout is not None and found.layout.header

    @property
    def bytes(self) -> int:
        """The bytes of (decompressed) text that were parsed."""
        return self._notes.bytes

    @property
    def done(self) -> int:
        """The bytes of the files that were read."""
        return self._notes.done

    @property
    def options(self) -> Reading | None:
        """The options that a model stores to read other files in the same way; None before reading starts."""
        return self._notes.options

    def __repr__(self) -> str:
        counts = f"{len(self._notes.skipped)} skipped, {many(len(self._notes.remarks), 'remark')}"
        return f"<ReadReport: {self.bytes} bytes, {counts}>"


class StreamReader:
    """One reading of a stream: iterate over it once for its parts. ``Source.open`` makes it.

    Parameters
    ----------
    source : Source
        The files and the options passed for them.
    settings : Settings
        The options in use.
    start : Place
        Where to begin.
    keep_text : bool
        Whether parts keep the text that they were parsed from. A cache is then not read.
    before : ReadReport, optional
        The report on the stream before ``start``: the new report begins with its skipped lines and remarks.

    Attributes
    ----------
    report : ReadReport
        What was read so far.
    weights_used : bool
        Whether the reader's caller uses weights of rows; otherwise a remark says that they are ignored.

    Raises
    ------
    OSError
        While it is iterated, for a file that cannot be read.
    InputError
        While it is iterated, for a file of unknown format, or options that do not fit.
    """

    def __init__(
        self,
        source: Source,
        settings: Settings,
        start: Place = START,
        *,
        keep_text: bool = False,
        before: ReadReport | None = None,
    ) -> None:
        self.source, self.settings, self.files = source, settings, source.files
        self._keep_text = keep_text
        self._notes = Notes() if before is None else Notes(before.skipped[: start.skipped], before.remarks)
        self._unlisted = start.skipped - len(self._notes.skipped)
        self._stop = threading.Event()
        self._start: Place | None = start
        self.report = ReadReport(self._notes)
        self.weights_used = False
        self._labels_seen: dict[bytes, None] = {}
        """With the option ``positive``: the labels of the files, or the first of them if there are many."""

    @property
    def labels_seen(self) -> list[str]:
        """With the option ``positive``: the labels that were read, as they are written; of many, the first ones."""
        return [label.decode(errors="replace") for label in self._labels_seen]

    def __iter__(self) -> Iterator[Part]:
        start, self._start = self._start, None
        if start is None:
            message = "a reader can be used only once; open another one"
            raise RuntimeError(message)
        return self._read(start)

    def stop(self) -> None:
        """Stop following a file after the lines that are there now. May be called from any thread."""
        self._stop.set()

    def end_at(self, part: Part, row: int) -> None:
        """End the stream at this row: bad lines after it do not count as skipped."""
        del self._notes.skipped[part.skipped_before(row) - self._unlisted :]

    def _read(self, start: Place) -> Iterator[Part]:
        """Yield the parts, and check at the end that every label was used."""
        source, notes = self.source, self._notes
        if source.follow:
            check_that_it_can_be_followed(source.files[-1], has_labels=source.labels is None)
        separate_labels = None
        if source.labels is not None:
            separate_labels = islice(label_lines(os.fspath(source.labels)), start.rows + start.skipped, None)
        rows = start.rows
        reached, examples = start.file, start.byte
        for (number, byte, line, in_rows), chunk in self._all_chunks(start):
            if number > reached:
                reached, examples = self._reach(number, reached, examples)
            place = Place(number, byte, line, rows, self._unlisted + len(notes.skipped))
            notes.bytes += chunk.consumed
            examples += len(chunk) + len(chunk.bad)
            part = self._part(chunk, place, separate_labels, in_rows=bool(in_rows))
            yield part
            rows += part.rows
        if not examples or reached < len(self.files) - 1:
            self._reach(len(self.files), reached, examples)
        if separate_labels is not None and next(separate_labels, None) is not None:
            message = "there are more labels than examples"
            raise InputError(message, kind="labels", file=os.fspath(source.labels or ""))
        positive = self.settings.given.positive if rows and start == START else None
        learned = self.settings.weights_needed  # files to predict need no such label
        if positive is not None and learned and positive.encode() not in self._labels_seen:
            notes.remark("positive", *no_positive(positive, self.labels_seen))

    def _reach(self, number: int, reached: int, examples: int) -> tuple[int, int]:
        """Continue with this file, and add a remark for each file before it that has no examples."""
        while reached < number:
            if not examples:
                file = self.files[reached]
                self._notes.remark("no examples", f"{file}: there are no examples", file=file)
            reached, examples = reached + 1, 0
        return reached, examples

    # ------------------------------------------------------------------ chunks

    def _all_chunks(self, start: Place) -> Iterator[tuple[Begin, Chunk]]:
        """Return every chunk with its position: from the cache if it exists; otherwise the cache is written."""
        source = self.source
        if source.cache is None or start != START:
            return self._parsed_chunks(start)
        from mistakebound.data.cache import Cache  # noqa: PLC0415 - few runs use a cache

        if source.follow:
            message = "a file that is followed cannot be cached, because it has no end"
            raise InputError(message)
        settings = self.settings
        how = {name: getattr(source, name) for name in ("format", "label", "table", "zero_based")}
        how |= {"label_optional": settings.label_optional, "all_columns": settings.all_columns}
        how |= {"weights": settings.weights_needed}
        how |= {"auto": settings.how.table["auto"]}
        how |= {"other labels": source.labels is not None, "known": settings.known and settings.known.to_json()}
        cache = Cache(os.fspath(source.cache), self.files, how)
        stored = cache.stored(source.threads)
        if stored is None:
            return cache.filled(self._parsed_chunks(start))
        return self._parsed_chunks(start) if self._keep_text else self._cached_chunks(stored)

    def _cached_chunks(self, stored: Iterator[tuple[Begin, Chunk]]) -> Iterator[tuple[Begin, Chunk]]:
        for text in self._texts(self.files[0]):  # a cache does not store the columns
            first, beginning = text.beginning(partial(suffices, self.settings))
            if first:
                reader_of(self.files[0], beginning, text.columns, self.settings, self._notes)
        sizes = [total_size([file]) or 0 for file in self.files]
        for begin, chunk in stored:
            # The cache has the size of the text, and not that of a compressed file.
            self._notes.done = sum(sizes[: begin[0]]) + min(begin[1] + chunk.consumed, sizes[begin[0]])
            yield begin, chunk

    def _parsed_chunks(self, start: Place) -> Iterator[tuple[Begin, Chunk]]:
        """Yield every chunk parsed from the files, with its position."""
        source, settings, notes = self.source, self.settings, self._notes
        for number, file in enumerate(self.files):
            before, begin = notes.done, start if number == start.file else Place(number)
            for text in self._texts(file):
                first, beginning = text.beginning(partial(suffices, settings))
                if not first:
                    continue
                reader = reader_of(file, beginning, text.columns, settings, notes)
                if number < start.file:  # already read, but later files may depend on its format
                    notes.done = before + (total_size([file]) or 0)
                    continue
                byte, line, in_rows = begin.byte, begin.line, text.columns is not None
                was_last = first[-1][1] and not in_rows
                rest: Iterable[Block] = () if was_last else text.blocks
                if not (in_rows or was_last or len(beginning) >= ENOUGH):
                    rest = check_layout(file, beginning, rest, settings, notes)
                blocks = skip_bytes(chain(first, rest), byte) if byte else chain(first, rest)
                if reader.columns and not in_rows:  # a record of a table may continue in the next block
                    chunks = parsed_one_by_one(reader, blocks, source.skip_bad, first=byte == 0)
                else:
                    work = partial(parse, reader, source.skip_bad, self._keep_text)
                    if was_last:  # a small file: there is nothing to parse ahead
                        chunks = map(work, blocks)
                    else:
                        chunks = parallel_map(
                            work, blocks, source.threads, lambda block: isinstance(block[0], LastForNow)
                        )
                for chunk in chunks:
                    its_begin = (number, byte, line, int(in_rows))
                    byte += chunk.consumed
                    line += lines_of(chunk, in_rows=in_rows)
                    notes.done = before + (text.position() if text.position else byte)
                    yield its_begin, chunk
                begin = Place(number)  # a file that replaced a followed one is read from its beginning

    def _texts(self, file: str) -> Iterator[Text]:
        """Return the text of a file; several, one after another, if it is followed and replaced."""
        if self.source.follow and file is self.files[-1]:
            return map(Text, Follower(file, self._stop, self._notes.remarks.append).texts(texts.BLOCK))
        message = f"{file} was written to while it was read"
        columns = partial(self._columns, file) if self.source.format == "auto" else None
        return texts_of(file, columns, partial(self._notes.remark, "changed", message, file=file))

    def _columns(self, file: str, raw: Any, start: bytes) -> Columns:
        from mistakebound.data.arrow import Columns, opened  # noqa: PLC0415 - here and below, only files of columns need it
        from mistakebound.data.tables import roles_of  # noqa: PLC0415

        return Columns(file, partial(opened, raw, start), partial(roles_of, self.settings))

    # ------------------------------------------------------------------ parts

    def _part(self, chunk: Chunk, begin: Place, separate_labels: Iterator[bytes] | None, *, in_rows: bool) -> Part:
        """Return the rows of a chunk, up to the first bad line that may not be skipped."""
        source, notes, file = self.source, self._notes, self.files[begin.file]
        left_out: list[int] = []
        rows, error = len(chunk), None
        for number, record in enumerate(chunk.bad, 1):
            row, line, column = record[:3]
            if in_rows:
                bad = bad_line(record, file, begin.line + row + number, in_rows=True)
            else:
                bad = bad_line(record, file, begin.line + line, column)
            if begin.skipped + len(left_out) == source.skip_bad:
                rows, error = row, bad.error()
                break
            notes.skipped.append(bad)
            left_out.append(row)
        if separate_labels is None:
            labels, ids = chunk.labels, chunk.label_ids
            others = tuple(chunk.other_labels) if len(labels) == MOST else ()
        else:
            labels, ids, others = encode_labels(labels_of_good_rows(separate_labels, rows, left_out))
        if len(ids) < rows:
            message = "there are fewer labels than examples"
            rows, error = len(ids), InputError(message, kind="labels", file=os.fspath(source.labels or ""))
        if (positive := self.settings.how.positive) is not None:
            labels, ids, others = self._against_rest(positive.encode(), labels, ids, others)
        if chunk.weighted and not self.weights_used:
            notes.remark("weights ignored", WEIGHTS_IGNORED)
        first = 0 if self.settings.how.zero_based else 1
        key = notes.format.label_key if notes.format else ""
        more = (notes.unlabelled, key, others, notes.options, notes.possible_header)
        return Part(chunk, file, begin, rows, error, labels, ids, in_rows, first, *more)

    def _against_rest(
        self, wanted: bytes, labels: list[bytes], ids: bytes, others: tuple[bytes, ...]
    ) -> tuple[list[bytes], bytes, tuple[bytes, ...]]:
        """Return encoded labels with all except ``wanted`` replaced by one other label; note which ones occurred."""
        if len(self._labels_seen) < MOST:
            self._labels_seen.update(dict.fromkeys(label for label in labels if label))
        if wanted in labels or wanted in others:
            self._labels_seen[wanted] = None
        if others:
            labels, ids, others = encode_labels(one_against_rest(every_label(labels, ids, others), wanted))
        return list(one_against_rest(labels, wanted)), ids, others


def bad_line(record: BadRecord, file: str, line: int, column: int | None = None, *, in_rows: bool = False) -> BadLine:
    """Return a bad line of the core, with advice and its place in the file."""
    _, _, _, kind, *texts_of_core = record
    message, feature, value = (text.decode(errors="replace") for text in texts_of_core)
    words = (message, *ADVICE.get(kind, ()))
    reason = kind.name.lower().replace("_", " ")
    return BadLine(words, file, line, column, in_rows, reason, feature or None, value or None)


def lines_of(chunk: Chunk, *, in_rows: bool) -> int:
    """Return the number of lines of a chunk; for a file of columns, rows."""
    return len(chunk) + len(chunk.bad) if in_rows else chunk.lines
