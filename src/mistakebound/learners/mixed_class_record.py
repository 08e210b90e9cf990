"""The record of a mixed learner of several classes: the rounds of its start, then the own rounds of each part in turn.

It has the form that the core would have written for one stream of these rounds, as far as ``keep_bytes`` allows.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.lazy import np
from mistakebound.learners.mixed_record import BYTES_PER_DELAY, BYTES_PER_MISTAKE, joined_examples, joined_late
from mistakebound.rules.logistic import ln

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import AnyArray, IntArray

LIMIT, NAMED = 8, 6
"""Places of ``keep_bytes`` and of whether features have names in the settings of the core."""
BYTES_PER_PREDICTION = 4
"""The memory of a class id, as the core counts it."""


class ClassRecord(NamedTuple):
    """The record of the rounds in the state of the core. Labels and predictions are class ids."""

    counts: tuple[int, int, int, int, int]
    """rounds, mistakes, 0, updates, rounds to keep"""
    predictions: AnyArray
    losses: tuple[float, float]
    confusion: tuple[AnyArray, AnyArray, AnyArray]
    mistake_rounds: IntArray
    kept: tuple[AnyArray, ...]
    """Rounds, ones, ones, indptr, index, value; then labels and predictions."""
    keeping: bool
    late: tuple[IntArray, IntArray]
    confidence: Any
    measured: int


def joined_records(
    start: ClassRecord,
    parts: Sequence[ClassRecord],
    features: Sequence[IntArray],
    classes: Sequence[IntArray],
    limit: int,
) -> ClassRecord:
    """Return the rounds of the start, then those that each part has added, with the features and classes of the union.

    ``features`` and ``classes`` have, for each part, the numbers in the union; ``limit`` is ``keep_bytes``.
    """
    added = [part.counts[0] - start.counts[0] for part in parts]
    firsts = np.cumsum([0, *added])[:-1].tolist()
    counts = np.array(start.counts) + sum(np.subtract(part.counts, start.counts) for part in parts)
    predictions, mistakes = [start.predictions], [start.mistake_rounds]
    for part, ids, by in zip(parts, classes, firsts, strict=True):
        predictions.append(in_union(part.predictions[start.counts[0] :], ids))
        mistakes.append(part.mistake_rounds[start.counts[1] :] + by)
    of_parts = [_examples_in_union(part, ids) for part, ids in zip(parts, classes, strict=True)]
    kept, keeping = joined_examples(start, of_parts, features, firsts, limit)
    rounds, delays = joined_late(start, parts, firsts)
    some = np.isin(rounds, kept[0]) if counts[4] else np.arange(len(rounds)) < max(1, -(-limit // BYTES_PER_DELAY))
    pairs = zip(start.losses, *(part.losses for part in parts), strict=True)
    return ClassRecord(
        tuple(counts.tolist()),
        np.concatenate(predictions)[: limit // BYTES_PER_PREDICTION],
        tuple(first + sum(each - first for each in others) for first, *others in pairs),
        _confusion(start, parts, classes),
        np.concatenate(mistakes)[: -(-limit // BYTES_PER_MISTAKE)],
        kept,
        keeping,
        (rounds[some], delays[some]),
        _confidence(start.confidence, [part.confidence for part in parts]),
        start.measured + sum(part.measured - start.measured for part in parts),
    )


def in_union(ids: AnyArray, places: IntArray) -> AnyArray:
    """Return class ids of a part as those of the union; −1 stays."""
    return np.append(places, -1)[ids].astype(ids.dtype)


def _confusion(
    start: ClassRecord, parts: Sequence[ClassRecord], classes: Sequence[IntArray]
) -> tuple[AnyArray, AnyArray, AnyArray]:
    first = Counter(dict(_pairs(start.confusion)))
    total = Counter(first)
    for part, ids in zip(parts, classes, strict=True):
        truth, predicted, counts = part.confusion
        own = Counter(dict(_pairs((in_union(truth, ids), in_union(predicted, ids), counts))))
        own.subtract(first)
        total.update(own)
    found = sorted((pair, count) for pair, count in total.items() if count > 0)
    truth, predicted = (np.array([pair[k] for pair, _ in found], np.int32) for k in (0, 1))
    return truth, predicted, np.array([count for _, count in found], np.int64)


def _pairs(confusion: tuple[AnyArray, AnyArray, AnyArray]) -> list[tuple[tuple[int, int], int]]:
    truth, predicted, counts = (each.tolist() for each in confusion)
    return list(zip(zip(truth, predicted, strict=True), counts, strict=True))


def _examples_in_union(part: ClassRecord, ids: IntArray) -> ClassRecord:
    labels, predicted = (in_union(each, ids) for each in part.kept[6:])
    return part._replace(kept=(*part.kept[:6], labels, predicted))


def _confidence(start: Any, parts: Sequence[Any]) -> Any:
    """Return measures of the start, and those that the parts have added; None if there are none."""
    found = [each for each in parts if each is not None]
    if not found:
        return start
    none = (0, 0.0, 0.0, 1.0, 0 * found[0][4], 0 * found[0][5])
    first, *others = (
        (rounds, squares, loss - ln(product), 0.0, negatives, positives)
        for rounds, squares, loss, product, negatives, positives in (none if start is None else start, *found)
    )
    rounds, squares, loss, _, *bins = (mine + sum(each[k] - mine for each in others) for k, mine in enumerate(first))
    return rounds, squares, loss, 1.0, *bins
