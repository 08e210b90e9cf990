"""What a file is, told by how it begins."""

from __future__ import annotations

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
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
    if b"\0" in beginning:
        message = f"this is no text: byte {beginning.index(0) + 1} is zero. {KNOWN}"
        raise ValueError(message)


KNOWN = "Known are svmlight, VW text, tables (CSV, TSV), JSON lines, Parquet and Arrow, plain, .gz or .zst"


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
