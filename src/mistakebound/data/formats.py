"""Detect the format of a file from its first bytes, and make the core's reader for it."""

from __future__ import annotations

import warnings
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._core import Reader
from mistakebound.data.labels import NO_LABEL
from mistakebound.data.options import LINE_FORMATS, numbered_names
from mistakebound.errors import MOST_LISTED, InputError, Option, setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound.data.arrow import Columns
    from mistakebound.data.options import Settings
    from mistakebound.data.reader import Notes
    from mistakebound.data.tables import Layout

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
PARQUET, ARROW_FILE, ARROW_STREAM, OLD_FEATHER = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"FEA1"
PACKED = (GZIP, ZSTD)
"""First bytes of compressed files that can be read."""
COLUMNAR = (PARQUET, ARROW_FILE, ARROW_STREAM, OLD_FEATHER)
"""First bytes of files of columns."""
FOREIGN = {
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"BZh": "compressed by bzip2; decompress it first, or use a pipe: bzcat FILE | mistakebound run -",
    b"\xfd7zXZ": "compressed by xz; decompress it first, or use a pipe: xzcat FILE | mistakebound run -",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
}
"""First bytes of files that cannot be read, with what they are and what to do."""

ENOUGH = 1 << 16
"""Bytes at the beginning of a text that are used to detect its format."""
KIND_WORDS = {"vw": "VW text", "table": "a table", "json": "JSON lines", "columnar": "a Parquet or Arrow file"}
"""Formats other than svmlight, in words."""
LABEL = Option("label", "label=NAME or NUMBER")
HEADER_READ = (
    "this line looks like a header, but the model learned from tables without a header, so it is read as an example; "
    'if it is a header, pass table={"header": True} to Source'
)


class TextFormat(NamedTuple):
    """The format of a text, and its reader."""

    kind: str
    """One of FORMATS, except auto."""
    reader: Reader
    layout: Layout | None = None
    """The layout of a table; None for other formats."""
    label_key: str = ""
    """The key of the label in JSON lines."""


def reader_of(file: str, start: bytes, columns: Columns | None, settings: Settings, notes: Notes) -> Reader:
    """Return the core's reader for a file that begins with ``start``.

    A file of columns has its own reader; all texts have the reader of the first one. The columns and the options that a
    model stores are recorded in ``notes``.
    """
    known = notes.format
    try:
        if columns is not None:
            found = TextFormat("columnar", columns.reader)
        elif known is None:
            found = text_format(start, settings, notes)
            if settings.warn and any(each.kind == "header read as example" for each in notes.remarks):
                warnings.warn(f"{file}:1: {HEADER_READ}", UserWarning, stacklevel=2)
        else:
            refuse_byte_order_mark(start, settings)
            names = known.reader.columns
            if names and not numbered_names(names):
                from mistakebound.data.tables import require_columns  # noqa: PLC0415 - only tables need it

                require_columns(names, _columns_of(start, settings, notes, header=True))
            return known.reader
    except ValueError as error:
        raise _of_file(file, error) from None
    if settings.given.zero_based and found.kind != "svmlight":
        what = f" is only valid for svmlight; this file is {KIND_WORDS[found.kind]}"
        raise InputError(setting("zero_based"), what, kind="format", file=file)
    notes.format = found
    notes.columns = found.reader.columns
    if "header" not in settings.given.table:
        notes.possible_header = _possible_header(start, found.layout)
    if notes.columns and settings.labels_in_files:
        there = f"; the columns are: {', '.join(notes.columns[:MOST_LISTED])}{_names_in_line_1(notes)}"
        set_column = ("there is no label; set its column: ", LABEL, there)
        notes.unlabelled = set_column if settings.how.label is None else (NO_LABEL,)
    layout = {} if found.layout is None else found.layout._asdict()
    notes.options = settings.kept(found.kind, found.label_key, layout, notes.columns, notes.options)
    return found.reader


def _possible_header(start: bytes, layout: Layout | None) -> tuple[str, ...]:
    """Return the cells of line 1 if the table has no header but line 1 could be one; otherwise nothing."""
    if layout is None or layout.header:
        return ()
    from mistakebound.data.tables import first_cells, is_number  # noqa: PLC0415 - seldom needed

    names = first_cells(start, layout.separator)
    return () if any(is_number(name) for name in names) else tuple(names)


def _names_in_line_1(notes: Notes) -> str:
    """Return the cells of line 1 for a message, if it could be a header."""
    names = notes.possible_header
    return f" (or {', '.join(names[:MOST_LISTED])} if line 1 is a header)" if names else ""


def suffices(settings: Settings, seen: bytes) -> bool:
    """Return whether these first lines suffice to detect the format."""
    lines = [line for line in seen.split(b"\n")[:-1] if line.strip() and not line.startswith(b"#")]
    is_table = kind_of(seen, settings) == "table"
    return len(lines) >= (2 if is_table and "header" not in settings.how.table else 1)


def check_layout(
    file: str, seen: bytes, blocks: Iterable[tuple[Any, bool]], settings: Settings, notes: Notes
) -> Iterator[tuple[Any, bool]]:
    """Yield the blocks after the first lines; raise InputError if they contradict the detected layout."""
    columns = notes.columns
    for block, last in blocks:
        if len(seen) < ENOUGH:
            seen += bytes(block)
            try:
                if settings.given.format == "auto":
                    refuse_binary(seen[:ENOUGH])
                if columns and _columns_of(seen, settings, notes) != columns:
                    message = "the layout of the table changes after its first lines; set "
                    options = Option("separator", "separator"), " or ", Option("header", "header")
                    raise InputError(message, *options, kind="other layout")
            except ValueError as error:
                raise _of_file(file, error) from None
        yield block, last


def _columns_of(start: bytes, settings: Settings, notes: Notes, **more: Any) -> list[str]:
    from mistakebound.data.tables import table_reader  # noqa: PLC0415 - only tables need it

    return table_reader(first_lines(start), settings, notes, **more)[0].columns


def _of_file(file: str, error: ValueError) -> InputError:
    """Return the error with its file."""
    found = error if isinstance(error, InputError) else InputError(str(error))
    found.file = found.file or file
    return found


def text_format(start: bytes, settings: Settings, notes: Notes) -> TextFormat:
    """Return the format of a text; raise InputError if it is not a text, or if options do not fit its format."""
    given, how = settings.given, settings.how
    if given.format == "auto":
        refuse_binary(start[:ENOUGH])
    refuse_byte_order_mark(start, settings)
    kind = kind_of(start, settings)
    if kind == "table":
        from mistakebound.data.tables import table_reader  # noqa: PLC0415 - only tables need it

        return TextFormat(kind, *table_reader(first_lines(start), settings, notes))
    if kind == "json":
        from mistakebound.data.json_keys import json_reader  # noqa: PLC0415 - only JSON needs it

        return TextFormat(kind, *json_reader(first_lines(start), settings, notes))
    if settings.all_columns:
        message = f"a table, JSON lines, Parquet or Arrow is needed; {kind} has no columns"
        raise InputError(message, kind="format")
    if given.label is not None or given.table:
        message = f"label and options of columns are only valid for tables and JSON lines; this file is {kind}"
        raise InputError(message, kind="format")
    return TextFormat(kind, Reader(kind, how.zero_based, settings.label_optional))


def kind_of(start: bytes, settings: Settings) -> str:
    """Return the format of a text: the one passed; table or JSON, if the model has one of these; else detected."""
    known = settings.how.format
    if settings.given.format != "auto" or known not in ("table", "json"):
        return detect_format(start) if settings.given.format == "auto" else settings.given.format
    from mistakebound.data.json_keys import is_object  # noqa: PLC0415 - few runs need it

    return "json" if is_object(start, whole=known == "table") else "table"


def refuse_byte_order_mark(start: bytes, settings: Settings) -> None:
    """Raise InputError for a byte order mark in a format that does not allow one."""
    if start.startswith(BYTE_ORDER_MARK) and (kind := kind_of(start, settings)) in LINE_FORMATS:
        message = f"a byte order mark is not allowed in {kind}; remove the first 3 bytes: tail -c +4 FILE > NEW"
        raise InputError(message, kind="format")


def first_lines(start: bytes) -> bytes:
    """Return the lines that decide how a text is read: the same lines for any size of blocks."""
    return start[: start.find(b"\n", ENOUGH) + 1 or None]


def refuse_binary(beginning: bytes) -> None:
    """Raise InputError for a file that cannot be read as text, with what it is and what to do."""
    for start, what in FOREIGN.items():
        if beginning.startswith(start):
            message = f"this is {what}"
            raise InputError(message, kind="format")
    if beginning.lstrip().startswith(b"[") and beginning.lstrip()[1:].lstrip().startswith(b"{"):
        message = "this is a JSON array; JSON lines have one object per line: jq -c '.[]' FILE"
        raise InputError(message, kind="format")
    if b"\0" in beginning:
        message = f"this is not text: byte {beginning.index(0) + 1} is zero; {KNOWN}"
        raise InputError(message, kind="format")


LINES = ", ".join(LINE_FORMATS.values())
KNOWN = f"known formats are {LINES}, tables (CSV, TSV), JSON lines, Parquet and Arrow, plain, .gz or .zst"


def detect_format(beginning: bytes) -> str:
    r"""Return the format of a text from its first non-empty line; if that is not svmlight, also from the next lines.

    >>> [detect_format(line) for line in (b"+1 3:0.5", b"3:0.5 4:1", b"1 |f a:2 b", b'{"a": 1}', b"a,b")]
    ['svmlight', 'svmlight', 'vw', 'json', 'table']
    >>> detect_format(b"+1 3:o.5 7:1\n-1 2:1 5:1\n")
    'svmlight'
    """
    lines = (line.split(b" #")[0].strip() for line in BytesIO(beginning.removeprefix(BYTE_ORDER_MARK)))
    texts = list(islice((line for line in lines if line and not line.startswith(b"#")), FIRST_LINES))
    if not texts:
        return "svmlight"
    if texts[0].startswith(b"{"):
        return "json"
    if _is_svmlight(texts[0]):
        return "svmlight"
    before, bar, _ = texts[0].partition(b"|")
    if bar and all(_is_number(word) or word.startswith(b"'") for word in before.split()[:2]):
        return "vw"
    return "svmlight" if _is_svmlight_with_an_error(texts) else "table"


FIRST_LINES = 20


def _is_svmlight(line: bytes) -> bool:
    """Return whether a line is a label and pairs, or only pairs."""
    first, *pairs = line.split()[:20]
    if not all(map(_is_pair, pairs)):
        return False
    return _is_pair(first) or (_is_number(first) and (bool(pairs) or b"," not in line))


def _is_svmlight_with_an_error(lines: list[bytes]) -> bool:
    """Return whether the first line has at least one pair, and most other lines are svmlight."""
    others = sum(_is_svmlight(line) and b":" in line for line in lines[1:])
    return any(map(_is_pair, lines[0].split())) and 2 * others > len(lines) - 1


def _is_pair(text: bytes) -> bool:
    index, colon, value = text.partition(b":")
    return bool(colon) and (index.isdigit() or index == b"qid") and _is_number(value)


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
