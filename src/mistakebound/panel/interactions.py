"""Single features, pairs and triples of an example as slots of one hashed table."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mistakebound.panel.views import Example, Features

SLOT_BITS = 18
MOST_FOR_PAIRS, MOST_FOR_TRIPLES, MOST_FOR_TOKENS = 48, 12, 256
MASK_64, MASK_32 = (1 << 64) - 1, (1 << 32) - 1
SINGLE = 12345


class Slots(NamedTuple):
    """The slots of an example, each with its value."""

    pairs: Example
    """Of single features and of pairs."""
    triples: Example


class Token(NamedTuple):
    """A feature and the part of its values that x falls into, as one number."""

    number: int
    part: int


def tokens(x: Example, features: Features, *, moments_everywhere: bool = False) -> list[Token]:
    """Return the token of each non-zero, and add x to the moments.

    On rows of more than 48 non-zeros only features of at least a quarter of the rounds have moments (unless
    ``moments_everywhere``), because looking up rare ones takes too much time.
    """
    found = []
    for j, value in x:
        feature = features[j]
        part = feature.part(value)
        if moments_everywhere or len(x) <= MOST_FOR_PAIRS or (len(x) <= MOST_FOR_TOKENS and _often(features, j)):
            feature.measure(value)
        found.append(Token((j * 2654435761 + part * 3928791) & MASK_64, part))
    return found


def slots(x: Example, of: list[Token], features: Features, *, wide_hash: bool = False) -> Slots:
    """Return the slots of an example by its number of non-zeros m.

    m ≤ 48: singles and pairs; m ≤ 12: also triples; 48 < m ≤ 256: singles of frequent features whose values differ;
    otherwise none. Of each order the squared values sum to ½ (singles, pairs) or 1.
    """
    hashes = WideHash() if wide_hash else NarrowHash()
    m = len(x)
    if MOST_FOR_PAIRS < m <= MOST_FOR_TOKENS:
        single = [hashes.single(t.number) for t, (j, _) in zip(of, x, strict=True) if t.part and _often(features, j)]
        return Slots([(slot, 1 / math.sqrt(len(single))) for slot in single], [])
    if not 0 < m <= MOST_FOR_PAIRS:
        return Slots([], [])
    numbers = [token.number for token in of]
    single = [hashes.single(number) for number in numbers]
    pair = [hashes.pair(*both) for both in combinations(numbers, 2)]
    of_single = math.sqrt(0.5 / m) if pair else 1 / math.sqrt(m)
    both_orders = [(slot, of_single) for slot in single] + [(slot, math.sqrt(0.5 / len(pair))) for slot in pair]
    triple = [hashes.triple(*three) for three in combinations(numbers, 3)] if m <= MOST_FOR_TRIPLES else []
    return Slots(both_orders, [(slot, 1 / math.sqrt(len(triple))) for slot in triple])


def _often(features: Features, j: int) -> bool:
    return 4 * (features[j].count + 1) >= features.rounds


class WideHash:
    """The hash of the recipe: 64-bit products of both tokens."""

    def single(self, a: int) -> int:
        """Slot of a feature."""
        return self._of(a, SINGLE, SLOT_BITS)

    def pair(self, a: int, b: int) -> int:
        """Slot of a pair."""
        return self._of(a, b, SLOT_BITS)

    def triple(self, a: int, b: int, c: int) -> int:
        """Slot of a triple."""
        return self._of(self._of(a, b, 63), c, SLOT_BITS)

    def _of(self, a: int, b: int, bits: int) -> int:
        x = ((a * 0x9E3779B97F4A7C15) & MASK_64) ^ ((b * 0xC2B2AE3D27D4EB4F + 0x165667B19E3779F9) & MASK_64)
        return mixed(x) & ((1 << bits) - 1)


class NarrowHash:
    """A hash that costs one multiplication of 32 bits a pair: three words of each token, made once, are added.

    The order of the features does not matter, so a table may have its columns in another order later.
    """

    def single(self, a: int) -> int:
        """Slot of a feature."""
        return self._slot(self._words(a)[0] + 0x5BD1E995)

    def pair(self, a: int, b: int) -> int:
        """Slot of a pair."""
        return self._slot(self._words(a)[1] + self._words(b)[1])

    def triple(self, a: int, b: int, c: int) -> int:
        """Slot of a triple."""
        return self._slot(self._words(a)[2] + self._words(b)[2] + self._words(c)[2])

    def _words(self, token: int) -> tuple[int, int, int]:
        h = mixed((token * 0x9E3779B97F4A7C15 + 0x243F6A8885A308D3) & MASK_64)
        third = mixed((h + 0x9E3779B97F4A7C15) & MASK_64) >> 13
        return h & MASK_32, h >> 32, third & MASK_32

    def _slot(self, h: int) -> int:
        return ((h * 0x9E3779B1) & MASK_32) >> (32 - SLOT_BITS)


def mixed(x: int) -> int:
    """Return 64 bits, of which each depends on many of x."""
    x ^= x >> 29
    x = (x * 0xBF58476D1CE4E5B9) & MASK_64
    return x ^ (x >> 32)
