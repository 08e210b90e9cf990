"""Encode the label of each row as one byte: most streams have two labels, few have more than 255."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from mistakebound.data.blocks import opened
from mistakebound.data.labels import all_others
from mistakebound.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound._core import Chunk

MOST = 255
"""The first 255 different labels have a code each; this code stands for all others."""


def labels_of_good_rows(labels: Iterator[bytes], rows: int, left_out: list[int]) -> Iterator[bytes]:
    """Yield the labels of ``rows`` good rows. Labels of lines that were left out are skipped.

    >>> list(labels_of_good_rows(iter([b"a", b"bad", b"b", b"c"]), 2, [1]))
    [b'a', b'b']
    """
    done = 0
    for row in left_out:  # the number of good rows before it
        yield from islice(labels, row - done)
        next(labels, None)
        done = row
    yield from islice(labels, rows - done)


def one_against_rest(labels: Iterable[bytes], wanted: bytes) -> Iterator[bytes]:
    """Return the labels with all except ``wanted`` replaced by one other label; a missing label stays missing."""
    other = all_others(wanted)
    return (each if each in (wanted, b"") else other for each in labels)


def encode_labels(labels: Iterable[bytes]) -> tuple[list[bytes], bytes, tuple[bytes, ...]]:
    """Return the different labels, the code of each row, and the labels of rows that have no code of their own."""
    codes: dict[bytes, int] = {}
    ids, others = bytearray(), []
    for label in labels:
        code = codes.setdefault(label, len(codes)) if len(codes) < MOST else codes.get(label, MOST)
        ids.append(code)
        if code == MOST:
            others.append(label)
    return list(codes), bytes(ids), tuple(others)


def labels_of(chunk: Chunk) -> tuple[list[bytes], bytes, tuple[bytes, ...]]:
    """Return what ``encode_labels`` returns, for the labels of a chunk."""
    labels = chunk.labels
    return labels, chunk.label_ids, tuple(chunk.other_labels) if len(labels) == MOST else ()


def every_label(labels: list[bytes], ids: bytes, others: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the label of each row, from the result of ``encode_labels``."""
    rest = iter(others)
    return (labels[code] if code < MOST else next(rest) for code in ids)


def label_lines(file: str) -> Iterator[bytes]:
    """Yield the lines of a file of labels, without surrounding spaces."""
    with opened(file) as text:
        before = 0
        for block, _ in text.blocks:
            whole = bytes(block)
            lines = whole.splitlines()
            if not is_utf8(whole):
                line = next(number for number, line in enumerate(lines, before + 1) if not is_utf8(line))
                message = "the label is not UTF-8"
                raise InputError(message, kind="labels", file=file, line=line)
            yield from (line.strip() for line in lines)
            before += len(lines)


def is_utf8(text: bytes) -> bool:
    """Return whether bytes are UTF-8. Different invalid bytes could become the same label when they are decoded."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
