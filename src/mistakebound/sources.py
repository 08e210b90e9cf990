"""Files as streams: found by content, read block by block, parsed in the core, in the order of the file."""

from __future__ import annotations

import mmap
import os
import sys
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from mistakebound._core import Reader
from mistakebound.labels import plain_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

    from mistakebound._core import Chunk

BLOCK = 1 << 20
"""Bytes parsed at a time: large enough that calls do not count, small enough for the processor's cache."""

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True)
class Place:
    """Where a part of a stream begins: what it takes to read on from there."""

    file: int = 0
    """Its place among the files."""
    byte: int = 0
    """Of the file's text, unpacked."""
    line: int = 0
    """Lines of the file before it."""
    rows: int = 0
    """Good examples before it, in all files."""
    skipped: int = 0
    """Bad lines left out before it, in all files."""


START = Place()


@dataclass(frozen=True)
class Part:
    """Some rows of one file, parsed; ``rows`` of them are good, and after them comes ``error``, if there is one."""

    chunk: Chunk
    file: str
    rows: int
    error: str
    labels: list[bytes]
    """The different ones."""
    label_ids: bytes
    """Of each row, its place among them."""
    begin: Place

    def label(self, row: int) -> Any:
        """Label of a row."""
        place = self.label_ids[row]
        return plain_label(self.labels[place]) if place < len(self.labels) else "(one of very many)"

    def where(self, row: int) -> str:
        """File and line of a row."""
        return f"{self.file}:{self.begin.line + self.chunk.line(row)}"


class Source:
    r"""One or several files as one stream of examples.

    Parameters
    ----------
    files : path or iterable of paths
        ``-`` is standard input. Compressed files (.gz, .zst) are told by their content, not by their name.
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
        More about tables and JSON: ``ignore`` and ``text`` (lists of columns), ``words`` and ``letters`` (n-grams of a
        text), and of tables ``categorical`` columns, ``interact`` (pairs of columns), ``separator`` and ``header``.
    zero_based : bool
        Whether svmlight indices count from 0 instead of 1.
    skip_bad : int
        How many bad lines to leave out before giving up. They are listed in ``skipped``.
    threads : int
        With 2 or more, that many blocks are parsed ahead while another one is learned; the result is the same.

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
    ) -> None:
        self.files = [os.fspath(files)] if isinstance(files, (str, os.PathLike)) else [os.fspath(f) for f in files]
        self.format = format
        self.label = label
        self.labels = labels
        self.positive = positive
        self.table = table or {}
        self.zero_based = zero_based
        self.skip_bad = skip_bad
        self.threads = threads
        self.skipped: list[str] = []

    def parts(self, start: Place = START) -> Iterator[Part]:
        """Parse the files; raises OSError for one that cannot be read and ValueError for one of unknown format.

        From another place than the start, ``skipped`` must hold the bad lines that came before it.
        """
        del self.skipped[start.skipped :]
        reader: Reader | None = None
        told = None if self.labels is None else islice(label_lines(os.fspath(self.labels)), start.rows, None)
        rows = start.rows
        for number, file in enumerate(self.files):
            if number < start.file and reader is not None:
                continue
            with opened(file) as blocks:
                first = list(beginning(blocks))
                reader = reader or self._reader(b"".join(block for block, _ in first))
                if number < start.file:
                    continue  # the first file tells the format, also of a stream that is taken up later
                byte, lines = (start.byte, start.line) if number == start.file else (0, 0)
                for chunk in self._chunks(reader, after(chain(first, blocks), byte), fresh=byte == 0):
                    part = self._part(chunk, file, Place(number, byte, lines, rows, len(self.skipped)), told)
                    yield part
                    byte, lines, rows = byte + chunk.consumed, lines + chunk.lines, rows + part.rows
        if told is not None and next(told, None) is not None:
            message = f"{self.labels}: there are more labels than examples"
            raise ValueError(message)

    def _reader(self, start: bytes) -> Reader:
        kind = tell_format(start) if self.format == "auto" else self.format
        if kind == "table":
            return Reader.table(start, **self._told(self.label or ""))
        if kind == "json":
            return Reader.json(**self._told(self.label or "label"))
        if self.label is not None or self.table:
            message = f"this is {kind}: a label and columns can be told of tables and JSON lines only"
            raise ValueError(message)
        return Reader(kind, self.zero_based)

    def _chunks(self, reader: Reader, blocks: Iterator[tuple[Any, bool]], *, fresh: bool) -> Iterator[Chunk]:
        """Parsed blocks of a file, from its beginning if ``fresh``."""
        if reader.columns:  # a record of a table may go on over several lines, so its blocks are not independent
            return parsed_one_by_one(reader, blocks, self.skip_bad, first=fresh)
        return parsed(reader, blocks, self.skip_bad, self.threads)

    def _told(self, label: str) -> dict[str, Any]:
        return {"label": label, **self.table}

    def _part(self, chunk: Chunk, file: str, begin: Place, told: Iterator[bytes] | None) -> Part:
        """The rows of a chunk, up to where one bad line too many comes."""
        rows, error = len(chunk), ""
        for row, line, column, what in chunk.bad:
            message = f"{file}:{begin.line + line}:{column}: {what.decode(errors='replace')}"
            if len(self.skipped) == self.skip_bad:
                rows, error = row, message
                break
            self.skipped.append(message)
        labels, ids = (chunk.labels, chunk.label_ids) if told is None else numbered(islice(told, rows))
        if len(ids) < rows:
            rows, error = len(ids), f"{self.labels}: there are fewer labels than examples"
        if self.positive is not None:
            wanted = self.positive.encode()
            labels = [each if each in (wanted, b"") else b"not " + wanted for each in labels]
        return Part(chunk, file, rows, error, labels, ids, begin)


def label_lines(file: str) -> Iterator[bytes]:
    """The lines of a file of labels, without spaces around them."""
    with opened(file) as blocks:
        for block, _ in blocks:
            yield from (line.strip() for line in bytes(block).splitlines())


def numbered(labels: Iterable[bytes]) -> tuple[list[bytes], bytes]:
    """The different labels, and the place of each among them; 255 for all beyond what two classes could be."""
    places: dict[bytes, int] = {}
    ids = bytes(places.setdefault(label, min(len(places), 255)) for label in labels)
    return list(places)[:255], ids


def beginning(blocks: Iterator[tuple[Any, bool]]) -> Iterator[tuple[Any, bool]]:
    """As many of the first blocks as it takes to tell what a file is."""
    seen = 0
    for block in blocks:
        yield block
        seen += len(block[0])
        if seen >= ENOUGH:
            return


ENOUGH = 1 << 16
LONGEST = 64 << 20
"""A record of a table that is longer has surely lost a closing quote."""


def after(blocks: Iterable[tuple[Any, bool]], byte: int) -> Iterator[tuple[Any, bool]]:
    """What follows after so many bytes."""
    for block, last in blocks:
        if byte < len(block):
            yield block[byte:], last
        byte = max(0, byte - len(block))


def parsed_one_by_one(
    reader: Reader, blocks: Iterable[tuple[Any, bool]], most_bad: int, *, first: bool
) -> Iterator[Chunk]:
    """Chunks of blocks whose last record may end in the next one; in the first one, a header may come."""
    rest = b""
    for block, last in chain(blocks, [(b"", True)]):
        text = rest + bytes(block) if rest else block
        if last and not len(text):
            break
        chunk = reader.parse(text, last, most_bad, first)
        rest, first = bytes(text[chunk.consumed :]) if len(chunk.bad) <= most_bad else b"", False
        if len(rest) > LONGEST:
            message = f"a record of more than {LONGEST >> 20} MB: is a closing quote missing?"
            raise ValueError(message)
        yield chunk


def parsed(reader: Reader, blocks: Iterable[tuple[Any, bool]], most_bad: int, threads: int) -> Iterator[Chunk]:
    """Chunks in the order of the blocks. Several threads parse ahead; parsing does not hold Python's lock."""
    if threads < 2:
        for block, last in blocks:
            yield reader.parse(block, last, most_bad)
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - importing it takes a while

    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[Chunk]] = deque()
        for block, last in blocks:
            ahead.append(pool.submit(reader.parse, block, last, most_bad))
            if len(ahead) > threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


@contextmanager
def opened(file: str) -> Iterator[Iterator[tuple[Any, bool]]]:
    """Blocks of whole lines of a file, and whether each is the last."""
    if file == "-":
        yield cut(sys.stdin.buffer)
        return
    with Path(file).open("rb") as raw:
        start = raw.peek(4)  # a pipe cannot go back
        if start.startswith(GZIP):
            import gzip  # noqa: PLC0415 - seldom needed
            import zlib  # noqa: PLC0415

            try:
                with gzip.open(raw) as unpacked:
                    yield cut(unpacked)
            except (EOFError, zlib.error) as error:
                message = f"{file}: this .gz file is broken: {error}"
                raise ValueError(message) from None
        elif start.startswith(ZSTD):
            yield cut(zstd(raw))
        elif os.fstat(raw.fileno()).st_size == 0 or not raw.seekable():
            yield cut(raw)
        else:
            # Not closed here: chunks that somebody still holds point into it.
            yield slices(mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ))


def zstd(raw: IO[bytes]) -> Any:
    """A reader of a .zst file; needs the package zstandard."""
    try:
        import zstandard  # noqa: PLC0415 - optional
    except ImportError:
        message = "reading .zst files needs the package zstandard: pip install 'mistakebound[files]'"
        raise ModuleNotFoundError(message) from None
    return zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)


def slices(mapped: mmap.mmap) -> Iterator[tuple[memoryview, bool]]:
    """Blocks of a file in memory. Pages are given back once they are read: memory does not grow with the file."""
    whole = memoryview(mapped)
    begin, size, given_back = 0, len(whole), 0
    while begin < size:
        end = min(begin + BLOCK, size)
        if end < size:
            newline = mapped.rfind(b"\n", begin, end)
            if newline < 0:
                newline = mapped.find(b"\n", end)
            end = size if newline < 0 else newline + 1
        yield whole[begin:end], end == size
        begin = end
        done = (begin - 8 * BLOCK) // mmap.PAGESIZE * mmap.PAGESIZE  # what lies further back is surely parsed
        if done > given_back and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED, given_back, done - given_back)
            given_back = done


def cut(stream: Any) -> Iterator[tuple[bytes, bool]]:
    """Blocks of whole lines of something that can only be read."""
    rest = b""
    while block := stream.read(BLOCK):
        newline = block.rfind(b"\n") + 1
        if newline:
            yield rest + block[:newline], False
            rest = block[newline:]
        else:
            rest += block
    if rest:
        yield rest, True


def tell_format(beginning: bytes) -> str:
    """Say what a text is by its first line that is not empty.

    >>> [tell_format(line) for line in (b"+1 3:0.5", b"1 |f a:2 b", b'{"a": 1}', b"a,b")]
    ['svmlight', 'vw', 'json', 'table']
    """
    for line in beginning.split(b"\n"):
        text = line.split(b" #")[0].strip()
        if not text or text.startswith(b"#"):
            continue
        if text.startswith(b"{"):
            return "json"
        words = text.split()
        if (
            _is_number(words[0])
            and all(_is_pair(pair) for pair in words[1:20])
            and (len(words) > 1 or b"," not in text)
        ):
            return "svmlight"
        before, bar, _ = text.partition(b"|")
        if bar and all(_is_number(word) or word.startswith(b"'") for word in before.split()[:2]):
            return "vw"
        return "table"
    return "svmlight"


def _is_pair(text: bytes) -> bool:
    index, colon, value = text.partition(b":")
    return bool(colon) and (index.isdigit() or index == b"qid") and _is_number(value)


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
