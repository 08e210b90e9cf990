"""The record of a mixed learner: the rounds of its start, then the own rounds of each part, one after another.

It has the form that the core would have written for one stream of these rounds, as far as ``keep_bytes`` allows. What
a part has left out for lack of memory would not have fit there either, because more rounds come before it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mistakebound._support.lazy import np
from mistakebound.play.ledger import Counts
from mistakebound.play.measures import Measures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import AnyArray, IntArray

BYTES_PER_VALUE, BYTES_PER_ROUND, BYTES_PER_MISTAKE, BYTES_PER_DELAY = 12, 18, 8, 16
"""The memory that ``keep_bytes`` limits, as ``core/play/record.hpp`` counts it."""


class AnyRecord(Protocol):
    """What the records of two and of several labels have in common."""

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """Its totals; the first is the number of rounds."""

    @property
    def late(self) -> tuple[IntArray, IntArray]:
        """The rounds whose outcome came late, and their delays."""

    @property
    def kept(self) -> tuple[AnyArray, ...]:
        """The arrays of the kept examples."""

    @property
    def keeping(self) -> bool:
        """Whether all of them fit so far."""


class History(NamedTuple):
    """The parts at the end of the state of the core: the record of the rounds."""

    counts: tuple[int, int, int, int, int]
    predictions: AnyArray
    mistake_rounds: IntArray
    kept: tuple[AnyArray, ...]
    """Rounds, labels, mistaken, indptr, index, value."""
    keeping: bool
    late: tuple[IntArray, IntArray]
    measured: Any

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return self.counts[0]

    @property
    def mistakes(self) -> int:
        """Wrong predictions."""
        return self.counts[1] + self.counts[2]

    @property
    def updates(self) -> int:
        """Rounds that changed the weights."""
        return self.counts[3]


def concatenated(
    start: History, parts: Sequence[History], features: Sequence[IntArray], limit: int, *, keeps_examples: bool
) -> History:
    """Return the rounds of ``start``, then the own rounds of each part, which continued from it.

    ``features`` has, for each part, the feature of the result for each feature of its kept examples; ``limit`` is
    ``keep_bytes``.
    """
    firsts = np.cumsum([0, *(part.rounds - start.rounds for part in parts)]).tolist()
    counts = np.array(start.counts) + sum(np.subtract(part.counts, start.counts) for part in parts)
    predictions = [start.predictions, *(part.predictions[start.rounds :] for part in parts)]
    mistakes = [start.mistake_rounds]
    mistakes += [part.mistake_rounds[start.mistakes :] + by for part, by in zip(parts, firsts, strict=False)]
    kept, keeping = joined_examples(start, parts, features, firsts[:-1], limit)
    late = joined_late(start, parts, firsts[:-1])
    if keeps_examples:
        among = np.isin(late[0], kept[0])
    else:
        among = np.arange(len(late[0])) < max(1, -(-limit // BYTES_PER_DELAY))
    return History(
        Counts(*counts.tolist()).totals,
        np.concatenate(predictions)[:limit],
        np.concatenate(mistakes)[: -(-limit // BYTES_PER_MISTAKE)],
        kept,
        keeping,
        (late[0][among], late[1][among]),
        _measured(start.measured, [part.measured for part in parts]),
    )


def joined_examples(
    start: AnyRecord, parts: Sequence[AnyRecord], features: Sequence[IntArray], firsts: Sequence[int], limit: int
) -> tuple[tuple[AnyArray, ...], bool]:
    """Return the kept examples up to the first one that is missing or does not fit, and whether all fit.

    The first six arrays are rounds, two arrays of labels, indptr, index and value; further arrays have an entry for
    each round, too.
    """
    pieces, keeping, first = [start.kept], start.keeping, len(start.kept[0])
    rows, values = first, len(start.kept[5])
    for part, own_features, by in zip(parts, features, firsts, strict=True):
        if not keeping:
            break
        rounds, labels, mistaken, indptr, index, value, *more = part.kept
        ends = indptr[first + 1 :] - indptr[first] + values
        used = ends * BYTES_PER_VALUE + (rows + 1 + np.arange(len(ends))) * BYTES_PER_ROUND
        fit = int(np.count_nonzero(used <= limit))  # it rises
        some, own = slice(first, first + fit), slice(indptr[first], indptr[first + fit])
        pieces.append(
            (
                *(rounds[some] + by, labels[some], mistaken[some], ends[:fit]),
                *(own_features[index[own]].astype(index.dtype), value[own]),
                *(each[some] for each in more),
            )
        )
        rows, values = rows + fit, values + len(value[own])
        keeping = part.keeping and fit == len(ends)
    return tuple(np.concatenate(each) for each in zip(*pieces, strict=True)), keeping


def joined_late(start: AnyRecord, parts: Sequence[AnyRecord], firsts: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Return the rounds of all late outcomes and their delays."""
    rounds, delays = [start.late[0]], [start.late[1]]
    for part, by in zip(parts, firsts, strict=True):
        own = part.late[0] >= start.counts[0]
        rounds.append(part.late[0][own] + by)
        delays.append(part.late[1][own])
    return np.concatenate(rounds), np.concatenate(delays)


def _measured(start: Any, parts: Sequence[Any]) -> Any:
    """Return the measures of all rounds: the sums of the start, and what each part added to them."""
    found = [each for each in parts if each is not None]
    if not found:
        return start
    first = Measures(*(start or (0, 0.0, 0.0, 1.0, 0 * found[0][4], 0 * found[0][5])))
    losses = [Measures(*each).total_log_loss - first.total_log_loss for each in found]
    return (
        first.rounds + sum(each[0] - first.rounds for each in found),
        math.fsum([first.squares, *(each[1] - first.squares for each in found)]),
        math.fsum([first.total_log_loss, *losses]),
        1.0,
        *(np.sum([each[k] for each in found], axis=0) - (len(found) - 1) * bins for k, bins in _bins(start, found)),
    )


def _bins(start: Any, found: Sequence[Any]) -> list[tuple[int, AnyArray]]:
    """Return the two places of the bins in measures, and the bins of the start."""
    return [(k, 0 * found[0][k] if start is None else start[k]) for k in (4, 5)]
