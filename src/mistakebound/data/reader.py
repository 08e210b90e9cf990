"""Reads the files of a stream, one after another: opens, recognizes and parses them, and yields their parts."""

from __future__ import annotations

import os
import threading
import warnings
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from mistakebound.data import blocks as texts
from mistakebound.data.blocks import Text, after, label_lines, of_file, opened, total_size
from mistakebound.data.follow import Follower, check_that_it_can_be_followed
from mistakebound.data.formats import (
    ENOUGH,
    TextFormat,
    first_lines,
    kind_of,
    refuse_byte_order_mark,
    refuse_what_is_no_text,
    text_format,
)
from mistakebound.data.label_codes import MOST, every_label, numbered, of_positive, of_rows
from mistakebound.data.labels import NO_LABEL
from mistakebound.data.options import learned_from, numbered_names
from mistakebound.data.parse import parsed, parsed_one_by_one
from mistakebound.data.parts import START, Part, Place, lines_of
from mistakebound.data.report import BadLine, Notes, ReadReport
from mistakebound.errors import LISTED, InputError, Option

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound._core import Chunk, Reader
    from mistakebound.data.arrow import Columns
    from mistakebound.data.cache import Begin
    from mistakebound.data.options import Settings
    from mistakebound.data.source import Source
    from mistakebound.data.table_header import Layout

HEADER_READ = (
    "this line looks like names of columns, but the model learned from tables without a header: it is read as an "
    'example; if it is a header, pass table={"header": True} to Source'
)
LABEL = Option("label", "label=NAME or NUMBER")
LATIN_1 = " (if the file is Latin-1: iconv -f latin1 -t utf8 FILE)"
WEIGHTS_IGNORED = "importance weights are ignored: every line counts once"


class StreamReader:
    """One reading of a stream: iterate it for its parts, once. ``Source.open`` makes it.

    Parameters
    ----------
    source : Source
        The files and the options passed for them.
    settings : Settings
        The options in use.
    start : Place
        Where to begin.
    keep_text : bool
        Whether parts keep the text that they were parsed from, so that a cache is not read.
    warn : bool
        Whether a header that is read as an example raises a UserWarning; it is among the remarks, too.
    before : ReadReport, optional
        What was read before ``start``: its skipped lines and remarks come first in this one's report.

    Attributes
    ----------
    report : ReadReport
        What was read so far.

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
        warn: bool = True,
        before: ReadReport | None = None,
    ) -> None:
        self.source, self.settings, self.files = source, settings, source.files
        self._keep_text, self._warn = keep_text, warn
        self._notes = Notes()
        if before is not None:
            self._notes = Notes([*before.skipped[: start.skipped]], [*before.remarks])
        self._unlisted = start.skipped - len(self._notes.skipped)
        self.report = ReadReport(self._notes)
        self._stop = threading.Event()
        self._unlabelled: tuple[str | Option, ...] = (NO_LABEL,)
        self._label_key = ""
        self._start: Place | None = start

    def __iter__(self) -> Iterator[Part]:
        start, self._start = self._start, None
        if start is None:
            message = "a reader reads its stream once: open another one"
            raise RuntimeError(message)
        return self._read(start)

    def stop(self) -> None:
        """End a file that is followed, after the lines that are there now. May be called from any thread."""
        self._stop.set()

    def end_at(self, part: Part, row: int) -> None:
        """Take this row for the end of the stream: bad lines after it do not count as skipped."""
        del self._notes.skipped[part.skipped_before(row) - self._unlisted :]

    def _read(self, start: Place) -> Iterator[Part]:
        """The parts, and in the end a check that every label was used."""
        source, notes = self.source, self._notes
        if source.follow:
            check_that_it_can_be_followed(source.files[-1], own_labels=source.labels is None)
        told = None
        if source.labels is not None:
            told = islice(label_lines(os.fspath(source.labels)), start.rows + start.skipped, None)
        rows = start.rows
        reached, examples = start.file, start.byte
        for (number, byte, line, in_rows), chunk in self._all_chunks(start):
            reached, examples = self._reach(number, reached, examples)
            place = Place(number, byte, line, rows, self._unlisted + len(notes.skipped))
            notes.bytes += chunk.consumed
            examples += len(chunk) + len(chunk.bad)
            part = self._part(chunk, place, told, in_rows=bool(in_rows))
            yield part
            rows += part.rows
        self._reach(len(self.files), reached, examples)
        if told is not None and next(told, None) is not None:
            message = "there are more labels than examples"
            raise InputError(message, kind="labels", file=os.fspath(source.labels or ""))

    def _reach(self, number: int, reached: int, examples: int) -> tuple[int, int]:
        """Go on to this file, and remark on those since the one that was reached that have no examples."""
        while reached < number:
            if not examples:
                file = self.files[reached]
                self._notes.remark("no examples", f"{file}: there are no examples in it", file=file)
            reached, examples = reached + 1, 0
        return reached, examples

    # ------------------------------------------------------------------ chunks

    def _all_chunks(self, start: Place) -> Iterator[tuple[Begin, Chunk]]:
        """Every chunk with where it begins, from the cache if there is one, which otherwise is made."""
        source = self.source
        if source.cache is None or start != START:
            return self._parsed_chunks(start)
        from mistakebound.data.cache import Cache  # noqa: PLC0415 - most runs do without

        if source.follow:
            message = "a file that is followed cannot be cached: it has no end"
            raise InputError(message)
        settings = self.settings
        how = {name: getattr(source, name) for name in ("format", "label", "table", "zero_based")}
        how |= {"label_optional": settings.label_optional, "all_columns": settings.all_columns}
        how |= {"other labels": source.labels is not None, "known": settings.known and settings.known.to_json()}
        cache = Cache(os.fspath(source.cache), self.files, how)
        stored = cache.stored(source.threads)
        if stored is None:
            return cache.filled(self._parsed_chunks(start))
        return self._parsed_chunks(start) if self._keep_text else self._cached_chunks(stored)

    def _cached_chunks(self, stored: Iterator[tuple[Begin, Chunk]]) -> Iterator[tuple[Begin, Chunk]]:
        for text in self._texts(self.files[0]):  # a cache does not have the columns
            if first := list(self._beginning(text)):
                self._recognized(self.files[0], text, b"".join(bytes(block) for block, _ in first), None)
        sizes = [total_size([file]) or 0 for file in self.files]
        for begin, chunk in stored:
            # Of a packed file, only its text was kept.
            self._notes.done = sum(sizes[: begin[0]]) + min(begin[1] + chunk.consumed, sizes[begin[0]])
            yield begin, chunk

    def _parsed_chunks(self, start: Place) -> Iterator[tuple[Begin, Chunk]]:
        """Every chunk from the files themselves, and where it begins."""
        notes = self._notes
        known: TextFormat | None = None
        for number, file in enumerate(self.files):
            before, begin = notes.done, start if number == start.file else Place(number)
            for text in self._texts(file):
                first = list(self._beginning(text))
                if not first:
                    continue
                known = self._recognized(file, text, b"".join(bytes(block) for block, _ in first), known)
                if number < start.file:  # behind, but how those after it are read may depend on it
                    notes.done = before + (total_size([file]) or 0)
                    continue
                byte, line, in_rows = begin.byte, begin.line, text.columns is not None
                for chunk in self._chunks(file, known.reader, text, first, byte):
                    its_begin = (number, byte, line, int(in_rows))
                    byte += chunk.consumed
                    line += lines_of(chunk, in_rows=in_rows)
                    notes.done = before + (text.position() if text.position else byte)
                    yield its_begin, chunk
                begin = Place(number)  # of one that is followed and replaced, the new file begins at its beginning

    def _texts(self, file: str) -> Iterator[Text]:
        """What the file holds: several texts, one after another, if it is followed and replaced."""
        if self.source.follow and file is self.files[-1]:
            yield from map(Text, Follower(file, self._stop, self._notes.remarks.append).texts(texts.BLOCK))
            return
        with opened(file, partial(self._columns, file) if self.source.format == "auto" else None) as text:
            yield text
            if text.was_written_to():
                self._notes.remark("changed", f"{file} was written to while it was read", file=file)

    def _columns(self, file: str, raw: Any, start: bytes) -> Columns:
        from mistakebound.data.arrow import Columns  # noqa: PLC0415 - here and below, only files of columns need it
        from mistakebound.data.table_columns import roles_of  # noqa: PLC0415

        return Columns(file, raw, start, partial(roles_of, self.settings))

    def _chunks(
        self, file: str, reader: Reader, text: Text, first: list[tuple[Any, bool]], byte: int
    ) -> Iterator[Chunk]:
        """Parse a file from this byte on; ``first`` are those of its blocks that were read already."""
        source = self.source
        rest: Iterable[tuple[Any, bool]] = () if first[-1][1] and not text.columns else text.blocks
        if rest and text.columns is None:
            start = b"".join(bytes(block[:ENOUGH]) for block, _ in first)
            rest = self._watched(file, reader, start, rest) if len(start) < ENOUGH else rest
        blocks = after(chain(first, rest), byte) if byte else chain(first, rest)
        if text.columns or not reader.columns:
            return parsed(reader, blocks, source.skip_bad, source.threads, keep_text=self._keep_text)
        # A record of a table may go on over several lines, so its blocks are not independent.
        return parsed_one_by_one(reader, blocks, source.skip_bad, first=byte == 0)

    # ------------------------------------------------------------------ what a file is

    def _beginning(self, text: Text) -> Iterator[tuple[Any, bool]]:
        """As many of the first blocks as it takes to recognize a file; of one that comes slowly, the first lines."""
        seen = b""
        for block, last in text.blocks:
            yield block, last
            if last or text.columns:
                return
            seen += bytes(block[:ENOUGH])
            if len(seen) >= ENOUGH or (len(block) < texts.BLOCK // 2 and self._suffices(seen)):
                return

    def _suffices(self, seen: bytes) -> bool:
        lines = [line for line in seen.split(b"\n")[:-1] if line.strip() and not line.startswith(b"#")]
        is_table = kind_of(seen, self.settings) == "table"
        return len(lines) >= (2 if is_table and "header" not in self.settings.how.table else 1)

    def _watched(
        self, file: str, reader: Reader, seen: bytes, blocks: Iterable[tuple[Any, bool]]
    ) -> Iterator[tuple[Any, bool]]:
        """Check that what was recognized by the first lines stays true while the beginning grows."""
        for block, last in blocks:
            if len(seen) < ENOUGH:
                seen += bytes(block)
                with of_file(file):
                    if self.source.format == "auto":
                        refuse_what_is_no_text(seen[:ENOUGH])
                    if reader.columns and self._table(seen).columns != reader.columns:
                        message = "the first lines looked like another table than these: set "
                        options = Option("separator", "separator"), " and ", Option("header", "header")
                        raise InputError(message, *options, kind="other layout")
            yield block, last

    def _recognized(self, file: str, text: Text, start: bytes, known: TextFormat | None) -> TextFormat:
        """The format of a file: each of columns has its own, and texts have that of the file before."""
        if text.columns:
            self._know_columns(text.columns.reader.columns)
            self._keep("columnar")
            return TextFormat("columnar", text.columns.reader)
        with of_file(file):
            if known is None:
                known = text_format(start, self.settings, self._notes)
                if self._warn and any(each.kind == "header read as example" for each in self._notes.remarks):
                    warnings.warn(f"{file}:1: {HEADER_READ}", UserWarning, stacklevel=2)
                self._label_key = known.label_key
                self._know_columns(known.reader.columns)
                self._keep(known.kind, known.layout)
                return known
            refuse_byte_order_mark(start, self.settings)
            names = known.reader.columns
            if names and not numbered_names(names):
                from mistakebound.data.table_header import require_columns  # noqa: PLC0415 - only tables need it

                require_columns(names, self._table(start, header=True).columns)
        return known

    def _table(self, start: bytes, **more: Any) -> Reader:
        from mistakebound.data.table_columns import table_reader  # noqa: PLC0415 - only tables need it

        return table_reader(first_lines(start), self.settings, self._notes, **more)[0]

    def _know_columns(self, columns: list[str]) -> None:
        self._notes.columns = columns
        if columns and self.source.labels is None:
            there = f"; there are: {', '.join(columns[:LISTED])})"
            nowhere = ("there is no label (tell which column it is: ", LABEL, there)
            self._unlabelled = nowhere if self.settings.how.label is None else (NO_LABEL,)

    def _keep(self, kind: str, layout: Layout | None = None) -> None:
        """Note what a model should keep of the file that is read now, beside those before it."""
        how, before = self.settings.how, self._notes.options or self.settings.known
        if kind == "json":
            how = replace(how, label=self._label_key)
        if before is None or not before.has_columns or before.format == "auto":
            how = replace(how, format=kind)
        else:
            how = replace(how, format=before.format)  # the first one settles it
        if layout is not None:
            how = replace(how, table={**how.table, **layout._asdict()})
        self._notes.options = learned_from(how, self._notes.columns, before)

    # ------------------------------------------------------------------ parts

    def _part(self, chunk: Chunk, begin: Place, told: Iterator[bytes] | None, *, in_rows: bool) -> Part:
        """The rows of a chunk, up to where one bad line too many comes."""
        source, notes, file = self.source, self._notes, self.files[begin.file]
        left_out: list[int] = []
        rows, error = len(chunk), None
        for number, (row, line, column, what) in enumerate(chunk.bad, 1):
            reason = what.decode(errors="replace") + (LATIN_1 if what == b"not UTF-8" else "")
            if in_rows:
                bad = BadLine(reason, file, begin.line + row + number, in_rows=True)
            else:
                bad = BadLine(reason, file, begin.line + line, column)
            if begin.skipped + len(left_out) == source.skip_bad:
                rows, error = row, bad.error()
                break
            notes.skipped.append(bad)
            left_out.append(row)
        if told is None:
            labels, ids = chunk.labels, chunk.label_ids
            others = tuple(chunk.other_labels) if len(labels) == MOST else ()
        else:
            labels, ids, others = numbered(of_rows(told, rows, left_out))
        if len(ids) < rows:
            message = "there are fewer labels than examples"
            rows, error = len(ids), InputError(message, kind="labels", file=os.fspath(source.labels or ""))
        if source.positive is not None:
            wanted = source.positive.encode()
            if others:
                labels, ids, others = numbered(of_positive(every_label(labels, ids, others), wanted))
            labels = list(of_positive(labels, wanted))
        if chunk.weighted:
            notes.remark("weights ignored", WEIGHTS_IGNORED)
        first = 0 if self.settings.how.zero_based else 1
        said = (self._unlabelled, self._label_key)
        return Part(chunk, file, begin, rows, error, labels, ids, in_rows, first, *said, others, notes.options)
