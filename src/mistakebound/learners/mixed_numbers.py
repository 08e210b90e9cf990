"""How numbers of a start and of the parts that continued from copies of it become one: means, sums, moved weights.

Arrays have a row for each part. The parts are added in their order, so equal inputs give equal bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mistakebound._support.lazy import np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray


class Moments(NamedTuple):
    """How many values were seen, their mean, and the sum of their squared deviations from it."""

    seen: FloatArray
    mean: FloatArray
    spread: FloatArray

    def plus(self, other: Moments) -> Moments:
        """Return the moments of all values of both (Chan's formula)."""
        total = self.seen + other.seen
        part = other.seen / np.maximum(total, 1)
        off = other.mean - self.mean
        return Moments(total, self.mean + off * part, self.spread + other.spread + off * off * self.seen * part)

    def since(self, before: Moments) -> Moments:
        """Return the moments of the values that came after ``before``."""
        own = self.seen - before.seen
        mean = self.mean + (self.mean - before.mean) * (before.seen / np.maximum(own, 1))
        off = mean - before.mean
        spread = self.spread - before.spread - off * off * before.seen * own / np.maximum(self.seen, 1)
        return Moments(own, np.where(own > 0, mean, before.mean), np.where(own > 0, np.maximum(spread, 0.0), 0.0))


def aligned(keys: AnyArray, records: AnyArray, wanted: AnyArray, blank: AnyArray) -> AnyArray:
    """Return the record of each wanted key, and ``blank`` for a key that has none. Both lists of keys increase."""
    found = np.tile(blank, (len(wanted), 1))
    places = np.searchsorted(wanted, keys)
    inside = places < len(wanted)
    inside[inside] = wanted[places[inside]] == keys[inside]
    found[places[inside]] = records[inside]
    return found


def mean(parts: Sequence[AnyArray], shares: Sequence[float]) -> FloatArray:
    """Return the mean by shares, which is not outside of the range of the parts in spite of rounding."""
    total: FloatArray = np.zeros(np.shape(parts[0]))
    for part, share in zip(parts, shares, strict=True):
        total = total + share * part
    low, high = np.minimum.reduce(list(parts)), np.maximum.reduce(list(parts))
    found: FloatArray = np.clip(total, low, high)
    return found


def added(start: AnyArray, parts: Sequence[AnyArray]) -> AnyArray:
    """Return the start, plus what each part has added to it."""
    total = start
    for part in parts:
        total = total + (part - start)
    return total


def weights_of(met: BoolArray, shares: Sequence[float]) -> FloatArray:
    """Return the share of each part among those that have met a row, times their number; 0 for the others.

    Unequal shares count as fewer parts: the number is (Σμ)²/Σμ².
    """
    weights: FloatArray = met * np.array(shares, float)[:, None]
    total, squares = sum_of(weights), sum_of(weights * weights)
    found: FloatArray = weights * (total / np.where(squares > 0, squares, 1.0))
    return found


def moved(
    start: FloatArray, parts: FloatArray, weights: FloatArray, evidence: FloatArray | float = 1.0, relief: float = 0.0
) -> FloatArray:
    """Return the start, moved by all parts that have met a row; ``weights`` are those of ``weights_of``.

    A part with much evidence has found the best weight for its own examples, so the moves of such parts are averaged.
    One with little evidence has only begun to move, so the moves of such parts are added: each is multiplied by
    evidence + relief, and their sum is divided by the sum of the evidence + relief. Without relief it is an average.
    """
    steps = sum_of(weights * (evidence + relief) * (parts - start))
    total = sum_of(weights * evidence) + relief
    return start + steps / np.where(total > 0, total, 1.0)


def sum_of(rows: AnyArray) -> AnyArray:
    """Return the sum of the rows, added in their order."""
    total = np.zeros(rows.shape[1:], rows.dtype)
    for row in rows:
        total = total + row
    return total


def clipped(values: FloatArray, limits: tuple[float, float]) -> AnyArray:
    """Return values as float32, within their range."""
    low, high = (np.float32(each) for each in limits)
    found: AnyArray = np.clip(values, low, high).astype(np.float32)
    return found


def bet_of(total: FloatArray, size: FloatArray, reward: FloatArray, most: FloatArray) -> FloatArray:
    """Return the weights of coin betting: 0 before the first bet."""
    least = np.where(most > 0, most, 1.0)
    return np.where(most > 0, total * (least + reward) / (least * (size + least)), 0.0)


def leads_of(start: FloatArray, rounds: int, leader: int, each: int, most: int) -> FloatArray:
    """Return the changes of the leader of the start, and the leader after all rounds, if it is another one.

    ``each``: after how many rounds the leader is determined. Of more than ``most`` changes, every second one is kept.
    """
    last = rounds // each * each
    pairs: FloatArray = start.reshape(-1, 2)
    if last == 0 or (len(pairs) and (pairs[-1, 0] >= last or pairs[-1, 1] == leader)):
        return start
    pairs = pairs[1::2] if len(pairs) >= most else pairs
    return np.append(pairs.ravel(), [last, leader]).astype(float)
