"""Files as streams: found by content, read block by block, parsed in the core, in the order of the file."""

from __future__ import annotations

import os
import threading
import warnings
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from mistakebound._core import Chunk, Reader, sniff_table
from mistakebound._support.threads import in_order
from mistakebound.data import blocks as texts
from mistakebound.data.arrow import Columns
from mistakebound.data.blocks import Text, after, label_lines, of_file, opened, total_size
from mistakebound.data.follow import Follower
from mistakebound.data.formats import BYTE_ORDER_MARK, is_columnar, is_packed, refuse_what_is_no_text, tell_format
from mistakebound.data.label_codes import every_label, labels_of, numbered, of_positive, of_rows
from mistakebound.data.labels import NO_LABEL
from mistakebound.data.option_checks import fault_of, fault_of_table
from mistakebound.data.parse import parsed, parsed_one_by_one
from mistakebound.data.parts import START, Part, Place
from mistakebound.data.reading_options import (
    Reading,
    declared,
    first_line,
    inherited,
    learned_from,
    missing_columns,
    required,
)
from mistakebound.data.table_header import (
    BY_HEADER,
    Layout,
    first_cells,
    names_of,
    numbered_names,
    require_columns,
    separator_of,
    table_of,
)
from mistakebound.errors import MissingColumnsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound._support.arrays import AnyArray
    from mistakebound.data.cache import Begin
    from mistakebound.data.mapped_pages import Pages


class Source:
    r"""One or several files as one stream of examples.

    Parameters
    ----------
    files : path or iterable of paths
        ``-`` is standard input. Compressed files (.gz, .zst), Parquet and Arrow (files, streams, Feather) are told by
        their content, not by their name.
    format : {"auto", "svmlight", "vw", "table", "json"}
        A table is CSV, TSV, or separated by semicolons or spaces; json is one object a line. "auto" looks at the
        beginning of the first file.
    label : str, optional
        Column (name, or number from 1) or dotted JSON key of the label. JSON's is "label" unless told.
    labels : path, optional
        A file of its own for the labels, one a line.
    positive : str, optional
        This label against all others, which become "not" it.
    table : dict, optional
        More about tables (those of Parquet and Arrow, too) and JSON: ``ignore`` and ``text`` (lists of columns),
        ``words`` and ``letters`` (n-grams of a text), ``bins`` (numbers as categories, so many between two powers of
        two: a million is not a million times one); of tables alone ``categorical`` columns, ``interact`` (pairs of
        columns), ``separator`` and ``header``.
    zero_based : bool
        Whether svmlight indices count from 0 instead of 1.
    skip_bad : int
        How many bad lines to leave out before giving up. They are listed in ``skipped``.
    threads : int
        With 2 or more, that many blocks are parsed ahead while another one is learned; the result is the same.
    follow : bool
        Wait for more at the end of the last file, which somebody is writing, until ``stop`` is called. The lines are
        learned as they come, with the result of a file that was there from the beginning.

    cache : path, optional
        Read the files from this binary cache, which is made if it is not there, or is of other files or options.

    Attributes
    ----------
    needs_text : bool
        Set it to read the files themselves even if there is a cache.
    label_may_be_missing : bool
        Set it to read also a table that has no column of that name, and svmlight without labels.
    labels_needed : bool
        Set it to False for prediction: then labels may be missing, unless ``label`` was passed.
    how : Reading
        The options that are in use: those passed here and, for the rest, those inherited from a model.
    reading : Reading or None
        What a model should keep of these files to read others in the same way; None before reading has begun.
    as_columns : bool
        Set it to get every field of a table or of JSON lines as a feature, zeros among them, and none as the label:
        then what is no feature was not there. Files without columns are refused.
    warns : bool
        Whether a header that is read as an example raises a UserWarning. Set it to False to show ``remarks`` instead.
    columns : list of str
        Of a table, once its reading has begun, its columns.
    skipped : list of str
        The bad lines that were left out.
    remarks : list of str
        What else should be known: a file has no examples, importance weights are not used, a followed file was
        replaced.
    done : int
        Bytes of the files that were read so far.
    bytes : int
        How much text was parsed so far, over all readings, after it was unpacked.

    Examples
    --------
    >>> import mistakebound as mb, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "stream.svm"
    >>> _ = file.write_text("+1 1:1 3:0.5\n-1 2:1\n")
    >>> mb.Perceptron().run(mb.Source(file)).mistakes
    1
    """

    def __init__(
        self,
        files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        format: str = "auto",  # noqa: A002 - the natural word
        label: str | None = None,
        labels: str | os.PathLike[str] | None = None,
        positive: str | None = None,
        table: dict[str, Any] | None = None,
        zero_based: bool = False,
        skip_bad: int = 0,
        threads: int = 2,
        follow: bool = False,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        options = {"label": label, "positive": positive, "skip_bad": skip_bad, "threads": threads, **(table or {})}
        if fault := fault_of_table(table or {}) or fault_of(options):
            raise ValueError(fault)
        self.files = [os.fspath(files)] if isinstance(files, (str, os.PathLike)) else [os.fspath(f) for f in files]
        self.format = format
        self.label = label
        self.labels = labels
        self.positive = positive
        self.table = table or {}
        self.zero_based = zero_based
        self.skip_bad = skip_bad
        self.threads = threads
        self.follow = follow
        self.cache = cache
        self.needs_text = False
        self.label_may_be_missing = False
        self.labels_needed = True
        self.as_columns = False
        self.warns = True
        self.columns: list[str] = []
        self.skipped: list[str] = []
        self.bytes = 0
        self.remarks: list[str] = []
        self.done = 0
        self._stop = threading.Event()
        self._unlabelled, self._label_key = NO_LABEL, ""
        self._known: Reading | None = None
        self.reading: Reading | None = None

    @property
    def rows(self) -> int | None:
        """Number of rows, or None if it is not known before reading."""
        return None

    def inherit(self, known: Reading | None) -> None:
        """Use the reading options of a model where none were passed; None stops using them.

        Raises
        ------
        OptionConflictError
            If an option was passed that contradicts the model's.
        """
        inherited(self._given, known)
        self._known = known

    @property
    def _given(self) -> Reading:
        return Reading(self.format, self.label, self.zero_based, self.table)

    @property
    def how(self) -> Reading:
        """The options that are in use."""
        return inherited(self._given, self._known)

    @property
    def total(self) -> int | None:
        """Bytes of all files together; None if somebody knows only later."""
        return None if self.follow else total_size(self.files)

    def stop(self) -> None:
        """End a file that is followed, after the lines that are there now. May be called from anywhere."""
        self._stop.set()

    def parts(self, start: Place = START) -> Iterator[Part]:
        """Parse the files; raises OSError for one that cannot be read and ValueError for one of unknown format.

        From another place than the start, ``skipped`` must hold the bad lines that came before it, and ``remarks`` what
        was remarked of them.
        """
        del self.skipped[start.skipped :]
        if start == START:
            self.remarks.clear()
        self.reading = None
        if self.follow:
            self._check_that_it_can_be_followed()
        behind = start.rows + start.skipped
        told = None if self.labels is None else islice(label_lines(os.fspath(self.labels)), behind, None)
        rows, self.done = start.rows, 0
        reached, examples = start.file, start.byte
        for (number, byte, line, in_rows), chunk in self._all_chunks(start):
            reached, examples = self._reach(number, reached, examples)
            place = Place(number, byte, line, rows, len(self.skipped))
            self.bytes += chunk.consumed
            examples += len(chunk) + len(chunk.bad)
            part = self._part(chunk, self.files[number], place, told, in_rows=bool(in_rows))
            yield part
            rows += part.rows
        self._reach(len(self.files), reached, examples)
        if told is not None and next(told, None) is not None:
            message = f"{self.labels}: there are more labels than examples"
            raise ValueError(message)

    def _reach(self, number: int, reached: int, examples: int) -> tuple[int, int]:
        """Go on to this file, and remark on those since the one that was reached that have no examples."""
        while reached < number:
            if not examples:
                self._remark(f"{self.files[reached]}: there are no examples in it")
            reached, examples = reached + 1, 0
        return reached, examples

    def to_csr(self) -> tuple[Any, AnyArray]:
        """All of the stream in memory: a scipy CSR matrix of float64, and the labels. Features must have no names.

        An index that is repeated stays so, and means the sum; zeros that are written are kept.
        """
        from mistakebound.data.csr import matrix_of  # noqa: PLC0415 - only who asks for it needs it

        return matrix_of(self)

    def _all_chunks(self, start: Place) -> Iterator[tuple[Begin, Chunk]]:
        """Every chunk with where it begins, from the cache if there is one, which otherwise is made."""
        if self.cache is None or start != START:
            yield from self._parsed_chunks(start)
            return
        from mistakebound.data.cache import Cache  # noqa: PLC0415 - most runs do without

        if self.follow:
            message = "a file that is followed cannot be cached: it has no end"
            raise ValueError(message)
        names = ("format", "label", "table", "zero_based", "label_may_be_missing", "labels_needed")
        how = {name: getattr(self, name) for name in names} | {"other labels": self.labels is not None}
        how["known"] = None if self._known is None else self._known.to_json()
        cache = Cache(os.fspath(self.cache), self.files, how)
        stored = cache.stored()
        if stored is not None:
            yield from self._parsed_chunks(start) if self.needs_text else self._cached_chunks(*stored)
            return
        try:
            for begin, chunk in self._parsed_chunks(start):
                cache.add(begin, chunk)
                yield begin, chunk
            cache.finish()
        finally:
            cache.discard()

    def _cached_chunks(self, pages: Pages, stored: Iterator[tuple[Begin, memoryview]]) -> Iterator[tuple[Begin, Chunk]]:
        def unpacked(record: tuple[Begin, memoryview]) -> tuple[Begin, Chunk]:
            pages.give_back()
            with of_file(os.fspath(self.cache or "")):
                return record[0], Chunk.unpack(record[1])

        from mistakebound.data.cache import Order  # noqa: PLC0415

        self._look_at_columns()
        sizes = [total_size([file]) or 0 for file in self.files]
        order = Order(os.fspath(self.cache or ""), len(self.files))
        for begin, chunk in in_order(unpacked, stored, self.threads, lambda _: False):
            order.check(begin, chunk.consumed, _lines_of(chunk, begin))
            # Of a packed file, only its text was kept.
            self.done = sum(sizes[: begin[0]]) + min(begin[1] + chunk.consumed, sizes[begin[0]])
            yield begin, chunk

    def _look_at_columns(self) -> None:
        """Read the beginning of the first file, for a cache does not know its columns."""
        for text in self._texts(self.files[0]):
            if first := list(self._beginning(text.blocks)):
                self._reader_of(self.files[0], text, b"".join(bytes(block) for block, _ in first), None)

    def _parsed_chunks(self, start: Place) -> Iterator[tuple[Begin, Chunk]]:
        """Every chunk from the files themselves, and where it begins."""
        reader: Reader | None = None
        for number, file in enumerate(self.files):
            before, begin = self.done, start if number == start.file else Place(number)
            for text in self._texts(file):
                first = list(self._beginning(text.blocks))
                if not first:
                    continue
                reader = self._reader_of(file, text, b"".join(bytes(block) for block, _ in first), reader)
                if number < start.file:  # behind, but how those after it are read may depend on it
                    self.done = before + (total_size([file]) or 0)
                    continue
                byte, line = begin.byte, begin.line
                for chunk in self._chunks(file, reader, text, first, byte):
                    its_begin = (number, byte, line, int(text.columns is not None))
                    byte += chunk.consumed
                    line += _lines_of(chunk, its_begin)
                    self.done = before + (text.position() if text.position else byte)
                    yield its_begin, chunk
                begin = Place(number)  # of one that is followed and replaced, the new file begins at its beginning

    def _remark(self, text: str) -> None:
        """Say it once."""
        if text not in self.remarks:
            self.remarks.append(text)

    def _texts(self, file: str) -> Iterator[Text]:
        """Whatever the file holds, one text after another if it is followed and replaced."""
        if self.follow and file is self.files[-1]:
            yield from map(Text, Follower(file, self._stop, self.remarks.append).texts(texts.BLOCK))
        else:
            with opened(file, partial(self._columns, file) if self.format == "auto" else None) as text:
                yield text
                if text.was_written_to():
                    self._remark(f"{file} was written to while it was read")

    def _chunks(
        self, file: str, reader: Reader, text: Text, first: list[tuple[Any, bool]], byte: int
    ) -> Iterator[Chunk]:
        """Parse a file from this byte on; ``first`` are those of its blocks that were read already."""
        start = b"".join(bytes(block[:ENOUGH]) for block, _ in first)
        unseen = text.columns is None and len(start) < ENOUGH
        blocks = after(chain(first, self._watched(file, reader, start, text.blocks) if unseen else text.blocks), byte)
        if text.columns or not reader.columns:
            return parsed(reader, blocks, self.skip_bad, self.threads, keep_text=self.needs_text)
        # A record of a table may go on over several lines, so its blocks are not independent.
        return parsed_one_by_one(reader, blocks, self.skip_bad, first=byte == 0)

    def _columns(self, file: str, raw: Any, start: bytes) -> Columns:
        return Columns(file, raw, start, self._declared)

    def _check_that_it_can_be_followed(self) -> None:
        file = self.files[-1]
        if file == "-" or (os.path.exists(file) and not os.path.isfile(file)):
            message = f"{file}: only a file can be followed; a pipe is learned as it comes without being told to"
            raise ValueError(message)
        with open(file, "rb") as raw:
            start = raw.read(8)
        if is_packed(start) or is_columnar(start):
            message = f"{file}: only a plain text can be followed, not a packed file or one of columns"
            raise ValueError(message)
        if self.labels is not None:
            message = "a file that is followed must hold its own labels"
            raise ValueError(message)

    def _beginning(self, blocks: Iterator[tuple[Any, bool]]) -> Iterator[tuple[Any, bool]]:
        """As many of the first blocks as it takes to tell what a file is; of one that comes slowly, the first lines."""
        seen = b""
        for block, last in blocks:
            yield block, last
            seen += bytes(block[:ENOUGH])
            if len(seen) >= ENOUGH or (len(block) < texts.BLOCK // 2 and self._suffices(seen)):
                return

    def _suffices(self, seen: bytes) -> bool:
        lines = [line for line in seen.split(b"\n")[:-1] if line.strip() and not line.startswith(b"#")]
        return len(lines) >= (2 if self._kind(seen) == "table" and "header" not in self.how.table else 1)

    def _watched(
        self, file: str, reader: Reader, seen: bytes, blocks: Iterable[tuple[Any, bool]]
    ) -> Iterator[tuple[Any, bool]]:
        """See to it that what was told by the first lines stays true while the beginning grows."""
        for block, last in blocks:
            if len(seen) < ENOUGH:
                seen += bytes(block)
                with of_file(file):
                    if self.format == "auto":
                        refuse_what_is_no_text(seen[:ENOUGH])
                    if reader.columns and self._table(seen)[0].columns != reader.columns:
                        message = "the first lines looked like another table than these: tell --separator and --header"
                        raise ValueError(message)
            yield block, last

    def _reader_of(self, file: str, text: Text, start: bytes, known: Reader | None) -> Reader:
        """The reader of this file: each of columns has its own, and texts have that of the first one."""
        if text.columns:
            self._know_columns(text.columns.reader)
            self._keep("columnar")
            return text.columns.reader
        with of_file(file):
            if start.startswith(BYTE_ORDER_MARK) and (kind := self._kind(start)) in ("svmlight", "vw"):
                message = (
                    f"it begins with a byte order mark, which {kind} has not: tail -c +4 FILE | mistakebound ... -"
                )
                raise ValueError(message)
            if known is None:
                reader, kind, layout = self._reader(start)
                if self.warns and UNEXPECTED in self.remarks:
                    warnings.warn(f"{file}:1: {HEADER_READ}", UserWarning, stacklevel=2)
                self._know_columns(reader)
                self._keep(kind, layout)
                return reader
            if known.columns and not numbered_names(known.columns):
                require_columns(known.columns, self._table(start, header=True)[0].columns)
        return known

    def _know_columns(self, reader: Reader) -> None:
        self.columns = reader.columns
        if self.columns and self.labels is None:
            self._unlabelled = NO_COLUMN + ", ".join(self.columns[:20]) + ")" if self.how.label is None else NO_LABEL

    def _keep(self, kind: str, layout: Layout | None = None) -> None:
        """Note what a model should keep of the file that is read now, beside those before it."""
        how, before = self.how, self.reading or self._known
        if kind == "json":
            how = replace(how, label=self._label_key)
        if before is None or not before.has_columns or before.format == "auto":
            how = replace(how, format=kind)
        else:
            how = replace(how, format=before.format)  # the first one settles it
        if layout is not None:
            how = replace(how, table={**how.table, **layout._asdict()})
        self.reading = learned_from(how, self.columns, before)

    def _reader(self, start: bytes) -> tuple[Reader, str, Layout | None]:
        if self.format == "auto":
            refuse_what_is_no_text(start[:ENOUGH])
        kind = self._kind(start)
        if kind == "table":
            reader, layout = self._table(start)
            return reader, kind, layout
        how = self.how
        if kind == "json":
            known = {"ignore", "text", "words", "letters", "bins"}
            for name in self.table.keys() - known:
                message = f"this is json: {name} is told of tables only"
                raise ValueError(message)
            if wanted := [name for role in ("text", "ignore") for name in self.table.get(role, ())]:
                from mistakebound.data.json_keys import never_seen  # noqa: PLC0415 - most runs do without

                for remark in never_seen(start[: start.find(b"\n", ENOUGH) + 1 or None], wanted):
                    self._remark(remark)
            self._label_key = "" if self.as_columns else how.label or "label"
            told = {name: value for name, value in how.table.items() if name in known}
            return Reader.json(self._label_key, **told, zeros=self.as_columns), kind, None
        if self.as_columns:
            message = f"this is {kind}, which has no columns: tables, JSON lines, Parquet and Arrow have"
            raise ValueError(message)
        if self.label is not None or self.table:
            message = f"this is {kind}: a label and columns can be told of tables and JSON lines only"
            raise ValueError(message)
        return Reader(kind, how.zero_based, self._is_label_optional()), kind, None

    def _is_label_optional(self) -> bool:
        needed = self.labels_needed or self.label is not None  # who says where the label is has one
        return self.label_may_be_missing or self.labels is not None or not needed

    def _kind(self, start: bytes) -> str:
        """Format of a text: as passed; otherwise table or JSON for a model of either; otherwise detected."""
        how = self.how
        if self.format != "auto" or how.format not in ("table", "json"):
            return tell_format(start) if self.format == "auto" else self.format
        from mistakebound.data.json_keys import is_object  # noqa: PLC0415 - most runs do without

        return "json" if is_object(start, whole=how.format == "table") else "table"

    @property
    def _inherits(self) -> bool:
        """Whether columns are read as a model's own were."""
        return self._known is not None and self._known.has_columns

    def _table(self, start: bytes, **more: Any) -> tuple[Reader, Layout]:
        start = start[: start.find(b"\n", ENOUGH) + 1 or None]  # the same however the text is cut into blocks
        if not self._inherits:
            return table_of(start, {**self._declared([]), **more})
        how = self.how
        layout = self._known_layout(start, how)._replace(**more)
        names = own = self._names(start, layout)
        if numbered_names(how.columns):
            names = [f"c{number}" for number in range(1, len(own) + 1)]
        try:
            told = {**self._declared(names), **layout._asdict()}
        except MissingColumnsError as error:
            if layout.header:
                error.first_line = first_line(how, own, layout.separator)
            raise
        header = layout.separator.join(names).encode() + b"\n"  # names in the file are ignored: the model has none
        return Reader.table(start if names == own else header, **told), layout

    def _names(self, start: bytes, layout: Layout) -> list[str]:
        """Names of the columns; if line 1 cannot be a header and has none of the model's names, the error says so."""
        try:
            return names_of(start, layout)
        except ValueError:
            how, cells = self.how, first_cells(start, layout.separator)
            wanted = first_line(how, cells, layout.separator) if layout.header else ""
            if not wanted:
                raise
            error = missing_columns(how, required(how), cells, label_is_read=not self._is_label_optional())
            error.first_line = wanted
            raise error from None

    def _known_layout(self, start: bytes, how: Reading) -> Layout:
        """The layout of the model's own tables: the first rows of this one must not decide how it is read."""
        found = Layout(*sniff_table(start))
        separator = how.table.get("separator", found.separator)
        wanted = required(how)
        if how.columns or "header" in how.table:
            if found.header and not how.has_header and "header" not in self.table:
                self._remark(UNEXPECTED)
            found = found._replace(header=how.has_header)
        elif not found.header:  # an older model, or one of JSON lines
            with suppress(ValueError):
                first = names_of(start, Layout(separator, header=True))
                found = found._replace(header=not {how.label, *wanted}.isdisjoint(first))
        if found.header and "separator" not in self.table:
            separator = separator_of(start, separator, wanted)
        return found._replace(separator=separator)

    def _declared(self, names: list[str]) -> dict[str, Any]:
        """Options for ``Reader.table``; separator and header only if they were passed for these files."""
        how = self.how
        zeros = {"zeros": True} if self.as_columns else {}
        if not self._inherits:
            return {"label": how.label or "", **how.table, **zeros}
        told = declared(how, names, label_may_be_missing=self._is_label_optional())
        return {name: value for name, value in told.items() if name not in Layout._fields or name in self.table}

    def _part(self, chunk: Chunk, file: str, begin: Place, told: Iterator[bytes] | None, *, in_rows: bool) -> Part:
        """The rows of a chunk, up to where one bad line too many comes."""
        rows, error, left_out = len(chunk), "", []
        for number, (row, line, column, what) in enumerate(chunk.bad, 1):
            where = f": row {begin.line + row + number}" if in_rows else f":{begin.line + line}:{column}"
            message = f"{file}{where}: {what.decode(errors='replace')}"
            message += LATIN_1 if what == b"not UTF-8" else ""
            if len(self.skipped) == self.skip_bad:
                rows, error = row, message
                break
            self.skipped.append(message)
            left_out.append(row)
        labels, ids, others = labels_of(chunk) if told is None else numbered(of_rows(told, rows, left_out))
        if len(ids) < rows:
            rows, error = len(ids), f"{self.labels}: there are fewer labels than examples"
        if self.positive is not None:
            wanted = self.positive.encode()
            if others:
                labels, ids, others = numbered(of_positive(every_label(labels, ids, others), wanted))
            labels = list(of_positive(labels, wanted))
        if chunk.weighted:
            self._remark(IGNORED)
        first = 0 if self.how.zero_based else 1
        said = (self._unlabelled, self._label_key)
        return Part(chunk, file, begin, rows, error, labels, ids, in_rows, first, *said, others, self.reading)


def _lines_of(chunk: Chunk, begin: Begin) -> int:
    """How many lines a chunk takes in its file; of a file of columns, rows."""
    in_rows = begin[3]
    return len(chunk) + len(chunk.bad) if in_rows else chunk.lines


UNEXPECTED = (
    "line 1 looks like names of columns, but the model learned from tables without: it is taken for an example; "
    "if it is none, say --header"
)
HEADER_READ = (
    "this line looks like names of columns, but the model learned from tables without a header: it is read as an "
    f"example; if it is a header, pass {BY_HEADER} to Source"
)
"""The same for Python."""
NO_COLUMN = "there is no label (tell which column it is: --label NAME or NUMBER; there are: "
LATIN_1 = " (if the file is Latin-1: iconv -f latin1 -t utf8 FILE)"
IGNORED = "importance weights are ignored: every line counts once"


ENOUGH = 1 << 16
