"""The loop over the parts of a stream: learn each part, in one step or in several, up to the first bad row."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from mistakebound.data.first_labels import both_labels_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from mistakebound._support.arrays import AnyArray
    from mistakebound.data.parts import Part
    from mistakebound.data.reader import StreamReader
    from mistakebound.errors import InputError


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
