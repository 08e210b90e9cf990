"""Encode the label of each row as one byte: most streams have two labels, few have more than 255."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from mistakebound.data.blocks import opened
from mistakebound.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound._core import Chunk

MOST = 255
"""The first so many different labels have a number of their own; it stands for all others."""


def of_rows(labels: Iterator[bytes], rows: int, left_out: list[int]) -> Iterator[bytes]:
    """The labels of so many rows. A line that was left out has one, too, which nobody wants.

    >>> list(of_rows(iter([b"a", b"bad", b"b", b"c"]), 2, [1]))
    [b'a', b'b']
    """
    done = 0
    for row in left_out:  # how many good ones came before it
        yield from islice(labels, row - done)
        next(labels, None)
        done = row
    yield from islice(labels, rows - done)


def of_positive(labels: Iterable[bytes], wanted: bytes) -> Iterator[bytes]:
    """One label against all others; none stays none."""
    other = b"not " + wanted
    return (each if each in (wanted, b"") else other for each in labels)


def numbered(labels: Iterable[bytes]) -> tuple[list[bytes], bytes, tuple[bytes, ...]]:
    """The different labels, the place of each among them, and what those are that no byte has a place for."""
    places: dict[bytes, int] = {}
    ids, others = bytearray(), []
    for label in labels:
        place = places.setdefault(label, len(places)) if len(places) < MOST else places.get(label, MOST)
        ids.append(place)
        if place == MOST:
            others.append(label)
    return list(places), bytes(ids), tuple(others)


def labels_of(chunk: Chunk) -> tuple[list[bytes], bytes, tuple[bytes, ...]]:
    """The same of a chunk."""
    labels = chunk.labels
    return labels, chunk.label_ids, tuple(chunk.other_labels) if len(labels) == MOST else ()


def every_label(labels: list[bytes], ids: bytes, others: Iterable[bytes]) -> Iterator[bytes]:
    """The label of each row, from what ``numbered`` has made of them."""
    rest = iter(others)
    return (labels[place] if place < MOST else next(rest) for place in ids)


def label_lines(file: str) -> Iterator[bytes]:
    """The lines of a file of labels, without spaces around them."""
    with opened(file) as text:
        behind = 0
        for block, _ in text.blocks:
            whole = bytes(block)
            lines = whole.splitlines()
            if not is_utf8(whole):
                line = next(number for number, line in enumerate(lines, behind + 1) if not is_utf8(line))
                message = "not UTF-8"
                raise InputError(message, kind="labels", file=file, line=line)
            yield from (line.strip() for line in lines)
            behind += len(lines)


def is_utf8(text: bytes) -> bool:
    """Whether it is; texts that are not could not be told apart once they were decoded."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
