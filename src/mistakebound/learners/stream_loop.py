"""The loop over the parts of a stream: learn each part, in one step or in several, up to the first bad row."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from mistakebound.data.labels import plain_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from mistakebound._support.arrays import AnyArray
    from mistakebound.data.parts import Part
    from mistakebound.data.reader import StreamReader
    from mistakebound.errors import InputError

PATIENCE = 32 << 20
"""Bytes of text whose rows are held in memory, at most: a file that is sorted by label may be large."""


class HasRounds(Protocol):
    """What was learned in one step, such as a ``Ledger``."""

    @property
    def rounds(self) -> int:
        """How many rows."""


Learned_co = TypeVar("Learned_co", bound=HasRounds, covariant=True)


class LearnsParts(Protocol[Learned_co]):
    """What the loop drives: a learner, or several of them that learn the same parts."""

    @property
    def labels_settled(self) -> bool:
        """Whether both labels are known."""

    def run_part(
        self, part: Part, first: int = 0, last: int | None = None, y: AnyArray | None = None
    ) -> tuple[Learned_co, InputError | None]:
        """Learn rows of a part; return their ledger, and what is wrong with the row after them."""


class Step(Generic[Learned_co]):
    """Some rows of a part that were learned.

    Attributes
    ----------
    part : Part
        Where they are from.
    first, last : int
        The first of the rows, and the row after them: reading goes on at ``part.begin`` plus ``last`` rows.
    ledger : Ledger
        What happened in them.
    error : InputError or None
        What is wrong with the row after them; it is raised next.
    """

    __slots__ = ("error", "first", "last", "ledger", "part")

    def __init__(self, part: Part, first: int, last: int, ledger: Learned_co, error: InputError | None) -> None:
        self.part, self.first, self.last = part, first, last
        self.ledger, self.error = ledger, error


def steps(
    learner: LearnsParts[Learned_co],
    reader: StreamReader,
    y: AnyArray | None = None,
    *,
    parts: Iterable[Part] | None = None,
    skip: int = 0,
    limit: Callable[[], int | None] | None = None,
    guard: AbstractContextManager[Any] = nullcontext(),  # noqa: B008 - it has no state
) -> Iterator[Step[Learned_co]]:
    """Learn the parts that a reader yields, and yield what was learned after each step.

    Parameters
    ----------
    learner : LearnsParts
        Learns the rows.
    reader : StreamReader
        The stream.
    y : array, optional
        The labels, if they are not those of the stream.
    parts : iterable of Part, optional
        The parts of the reader, if the caller needs to see each of them first; otherwise ``parts_of``.
    skip : int
        How many rows are learned already, and only read.
    limit : callable, optional
        How many rows the next step may learn; None for all of its part.
    guard : context manager
        Entered for each step, until the caller asks for the next: learning and what the caller does about it are one.

    Raises
    ------
    StreamError
        At a bad row, after the step before it was yielded. Its round counts from the first row that was not skipped.
    """
    rounds = 0
    for part in parts_of(learner, reader, y) if parts is None else parts:
        first = min(skip, part.rows)
        skip -= first
        if skip:
            if part.error:
                raise part.error
            continue
        own = None if y is None else y[part.begin.rows :][: part.rows]
        while True:
            with guard:
                most = None if limit is None else limit()
                ledger, error = learner.run_part(part, first, None if most is None else first + most, own)
                learned = ledger.rounds
                begin, first, rounds = first, first + learned, rounds + learned
                yield Step(part, begin, first, ledger, error)
            if error:
                reader.end_at(part, first)
                raise error.at_round(rounds)
            if first >= part.rows:
                break


def parts_of(learner: LearnsParts[Any], reader: StreamReader, y: AnyArray | None = None) -> Iterator[Part]:
    """The parts of a reader as they are to be learned: none before both labels are known, if that can be."""
    return iter(reader) if y is not None or learner.labels_settled else both_labels_first(reader)


def both_labels_first(stream: Iterable[Part]) -> Iterator[Part]:
    """Hold the first parts back until they have shown both labels, and add those to the labels of each part.

    So a stream that comes line by line settles its labels as the same lines in one block would. Whatever ends the
    waiting, nothing that was read is lost. But if a word is the only label, nothing can be learned: the first other
    error is then the one to raise.
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
    yield from (with_labels(part, list(found.values())) for part in held)
    if reason:
        raise reason
    yield from parts


def with_labels(part: Part, labels: list[bytes]) -> Part:
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
