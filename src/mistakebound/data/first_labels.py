"""Hold back the first parts of a stream until both labels have occurred."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound.data.labels import plain_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound.data.parts import Part
    from mistakebound.errors import InputError

PATIENCE = 32 << 20
"""Bytes of text whose rows are held in memory, at most: a file that is sorted by label may be large."""


def both_labels_first(stream: Iterable[Part]) -> Iterator[Part]:
    """Hold the first parts back until they have shown both labels, which each of them is then told.

    So a stream that comes line by line settles its labels as the same lines in one block would. Whatever ends the
    waiting, nothing that was read is lost. But a word that is the only label tells no side, so that nothing can be
    learned: then whatever else is wrong is what there is to say.
    """
    held: list[Part] = []
    found: dict[object, bytes] = {}  # the first two labels, as they are written
    reason: BaseException | None = None
    size, parts = 0, iter(stream)
    try:
        for part in parts:
            held.append(part)
            size += part.chunk.consumed
            for text in part.labels:
                if text and len(found) < 2:
                    found.setdefault(plain_label(text), text)
            if len(found) == 2 or part.error or size >= PATIENCE:
                break
    except (KeyboardInterrupt, ValueError) as stopped:
        reason = stopped
    if len(found) == 1 and isinstance(next(iter(found)), str):
        if error := first_error(held):
            yield held[0]._replace(rows=0, error=error)
            return
        if reason:
            raise reason
    yield from (told(part, list(found.values())) for part in held)
    if reason:
        raise reason
    yield from parts


def told(part: Part, labels: list[bytes]) -> Part:
    """The part with these labels beside its own; one that has two already needs no more."""
    if len(part.labels) > 2:  # one may be empty
        return part
    return part._replace(labels=part.labels + [text for text in labels if text not in part.labels])


def first_error(parts: list[Part]) -> InputError | None:
    """What is wrong with the first bad line, or line without a label, if there is one."""
    for part in parts:
        row = part.label_ids.find(part.labels.index(b"")) if b"" in part.labels else part.rows
        if 0 <= row < part.rows:
            return part.no_label(row)
        if part.error:
            return part.error
    return None
