"""The loop over the parts of a stream: learn each part, in one step or in several, up to the first bad row."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from mistakebound.data.labels import plain_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.data.parts import Part
    from mistakebound.data.reader import StreamReader
    from mistakebound.errors import InputError

HELD_BYTES = 32 << 20
"""Most bytes of text that are held in memory until both labels are known: a file may be sorted by label."""


class HasRounds(Protocol):
    """The result of one step, such as a ``Ledger``."""

    @property
    def rounds(self) -> int:
        """Number of rows that were learned."""


Learned_co = TypeVar("Learned_co", bound=HasRounds, covariant=True)


class LearnsParts(Protocol[Learned_co]):
    """A learner, or several that learn the same parts."""

    @property
    def labels_settled(self) -> bool:
        """Whether both labels are known."""

    def run_part(
        self,
        part: Part,
        first: int = 0,
        last: int | None = None,
        y: AnyArray | None = None,
        *,
        scores: bool = False,
        weights: FloatArray | None = None,
    ) -> tuple[Learned_co, InputError | None]:
        """Learn rows of a part. Return their ledger, and the error of the row after them, or None.

        ``scores`` is whether the ledger shall have the score of each row.
        """


class Step(Generic[Learned_co]):
    """Rows of a part that were learned.

    Attributes
    ----------
    part : Part
        The part that has these rows.
    first, last : int
        The first of these rows, and the row after them: reading continues at ``part.begin`` plus ``last`` rows.
    ledger : Ledger
        The ledger of these rows.
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
    scores: bool = False,
    weights: FloatArray | None = None,
    guard: AbstractContextManager[Any] = nullcontext(),  # noqa: B008 - it has no state
) -> Iterator[Step[Learned_co]]:
    """Learn the parts that a reader yields, and yield a `Step` after each step.

    Parameters
    ----------
    learner : LearnsParts
        Learns the rows of each part.
    reader : StreamReader
        Reads the stream.
    y : array, optional
        The labels, if they are not those of the stream.
    parts : iterable of Part, optional
        The parts of the reader, if the caller reads them itself. By default, ``parts_of`` reads them.
    skip : int
        Number of rows that were learned before. They are read, but not learned again.
    limit : callable, optional
        Returns the largest number of rows that the next step may learn; None for all rows of its part.
    scores : bool
        Whether the ledgers shall have the score of each row.
    weights : array, optional
        The weights of the rows, if they are not those of the stream.
    guard : context manager
        Entered before each step, and left when the caller asks for the next one.

    Raises
    ------
    StreamError
        For a bad row, after the rows before it were yielded. Its round counts from the first row that was learned.
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
        given = {} if weights is None else {"weights": weights[part.begin.rows :][: part.rows]}
        while True:
            with guard:
                most = None if limit is None else limit()
                end = None if most is None else first + most
                ledger, error = learner.run_part(part, first, end, own, scores=scores, **given)
                learned = ledger.rounds
                begin, first, rounds = first, first + learned, rounds + learned
                yield Step(part, begin, first, ledger, error)
            if error:
                reader.end_at(part, first)
                raise error.at_round(rounds)
            if first >= part.rows:
                break


def parts_of(learner: LearnsParts[Any], reader: StreamReader, y: AnyArray | None = None) -> Iterator[Part]:
    """Return the parts of a reader. Unless both labels are known, the first parts wait for them."""
    settled = learner.labels_settled or reader.settings.how.positive is not None
    return iter(reader) if y is not None or settled else both_labels_first(reader)


def both_labels_first(stream: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts of a stream. The first parts are held until both labels were read, and get both labels.

    The labels of a stream that is read line by line are then the same as if it were read in one block. If the waiting
    ends early, by an error or a limit, the parts that were held are yielded. But if the only label so far is text,
    nothing can be learned, and the first error is raised.
    """
    held: list[Part] = []
    found: dict[object, bytes] = {}  # the first two labels, as written in the file
    reason: BaseException | None = None
    size, parts = 0, iter(stream)
    try:
        for part in parts:
            held.append(part)
            size += part.chunk.consumed
            for text in part.labels:
                if text and len(found) < 2:
                    found.setdefault(plain_label(text), text)
            if len(found) == 2 or part.error or size >= HELD_BYTES:
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
    """Return the part with these labels added to its own, unless it has two labels already."""
    if len(part.labels) > 2:  # an empty one counts, too
        return part
    return part._replace(labels=part.labels + [text for text in labels if text not in part.labels])


def first_error(parts: list[Part]) -> InputError | None:
    """Return the error of the first line that is bad or has no label; None if there is no such line."""
    for part in parts:
        row = part.label_ids.find(part.labels.index(b"")) if b"" in part.labels else part.rows
        if 0 <= row < part.rows:
            return part.no_label(row)
        if part.error:
            return part.error
    return None
