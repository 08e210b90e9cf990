"""What a file is, told by how it begins."""

from __future__ import annotations

from io import BytesIO
from itertools import islice

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
PARQUET, ARROW_FILE, ARROW_STREAM, OLD_FEATHER = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"FEA1"
FOREIGN = {
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"BZh": "packed by bzip2: unpack it first, or pipe it in: bzcat FILE | mistakebound run -",
    b"\xfd7zXZ": "packed by xz: unpack it first, or pipe it in: xzcat FILE | mistakebound run -",
    b"\xff\xfe": "UTF-16: save it as UTF-8",
    b"\xfe\xff": "UTF-16: save it as UTF-8",
}


def is_packed(start: bytes) -> bool:
    """Whether a file that begins so is packed in a way that is unpacked here."""
    return start.startswith((GZIP, ZSTD))


def is_columnar(start: bytes) -> bool:
    """Whether a file that begins so is Parquet or Arrow."""
    return start.startswith((PARQUET, ARROW_FILE, ARROW_STREAM, OLD_FEATHER))


def refuse_what_is_no_text(beginning: bytes) -> None:
    """Say what a file is that cannot be a text, with what to do about it."""
    for start, what in FOREIGN.items():
        if beginning.startswith(start):
            message = f"this is {what}"
            raise ValueError(message)
    if beginning.lstrip().startswith(b"[") and beginning.lstrip()[1:].lstrip().startswith(b"{"):
        message = "this is a JSON array: JSON lines have one object a line, without [ and commas: jq -c '.[]' FILE"
        raise ValueError(message)
    if b"\0" in beginning:
        message = f"this is no text: byte {beginning.index(0) + 1} is zero. {KNOWN}"
        raise ValueError(message)


KNOWN = "Known are svmlight, VW text, tables (CSV, TSV), JSON lines, Parquet and Arrow, plain, .gz or .zst"


def tell_format(beginning: bytes) -> str:
    r"""Say what a text is by its first line that is not empty; if that is no line of svmlight, by those after it, too.

    >>> [tell_format(line) for line in (b"+1 3:0.5", b"3:0.5 4:1", b"1 |f a:2 b", b'{"a": 1}', b"a,b")]
    ['svmlight', 'svmlight', 'vw', 'json', 'table']
    >>> tell_format(b"+1 3:o.5 7:1\n-1 2:1 5:1\n")
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
    return "svmlight" if _is_svmlight_with_a_slip(texts) else "table"


FIRST_LINES = 20


def _is_svmlight(line: bytes) -> bool:
    """Whether this is a label and pairs, or pairs alone."""
    first, *pairs = line.split()[:20]
    if not all(map(_is_pair, pairs)):
        return False
    return _is_pair(first) or (_is_number(first) and (bool(pairs) or b"," not in line))


def _is_svmlight_with_a_slip(lines: list[bytes]) -> bool:
    """Whether the first line has a pair at least, and most of the others are nothing but a label and pairs."""
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
