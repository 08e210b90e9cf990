"""What the Panel knows of each feature, and the four views of an example that its members learn from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Example = Sequence[tuple[int, float]]
    """The non-zeros of an example as (feature, value)."""

CONSTANT = -1
"""The feature with value 1 in every view. It has no counts and takes part in no interaction."""


@dataclass(slots=True)
class Feature:
    """Scale, counts and moments of one feature."""

    scale: float = 0.0
    """Largest |x| so far."""
    count: float = 0
    """Weights of the rounds with this feature."""
    seen: int = 0
    """How many values its moments are of."""
    mean: float = 0.0
    spread: float = 0.0
    """Sum of the squared deviations from the mean."""

    def part(self, x: float) -> int:
        """Return into which part of its values x falls: 0 if it has had one value only, else half deviations.

        >>> Feature().part(3.0), Feature(seen=4, mean=2.0, spread=4.0).part(2.6)
        (0, 1001)
        """
        if self.seen == 0 or (self.spread == 0 and x == self.mean):
            return 0
        deviation = math.sqrt(self.spread / self.seen)
        z = (x - self.mean) / deviation if deviation > 0 else math.copysign(3.0, x - self.mean)
        return math.floor(2 * min(max(z, -2.49), 2.49)) + 1000

    def measure(self, x: float) -> None:
        """Add x to the moments (Welford)."""
        self.seen += 1
        off = x - self.mean
        self.mean += off / self.seen
        self.spread += off * (x - self.mean)


class Views(NamedTuple):
    """One example in four scales; each has the constant last."""

    scaled: Example
    """x divided by the largest |x| of its feature."""
    unit_scaled: Example
    """The same with length 1."""
    unit: Example
    """x with length 1."""
    unit_rare: Example
    """Scaled, times the logarithm of how rare the feature is, with length 1."""


@dataclass(slots=True)
class Features:
    """All features of a stream, and the weights of its rounds so far."""

    of: dict[int, Feature] = field(default_factory=dict)
    rounds: float = 0

    def __getitem__(self, j: int) -> Feature:
        return self.of.setdefault(j, Feature())

    def views(self, x: Example) -> Views:
        """Return the views of an example after its scales were widened by it."""
        scaled = []
        rare = []
        for j, value in x:
            feature = self[j]
            feature.scale = max(feature.scale, abs(value))
            u = value / feature.scale
            scaled.append((j, u))
            rare.append((j, u * math.log(1 + (self.rounds + 1) / (feature.count + 1))))
        return Views([*scaled, (CONSTANT, 1.0)], unit_length(scaled), unit_length(x), unit_length(rare))

    def count(self, x: Example, weight: float = 1.0) -> None:
        """Count the features of an example, by its weight."""
        for j, _ in x:
            self[j].count += weight
        self.rounds += weight


def unit_length(x: Iterable[tuple[int, float]]) -> Example:
    """Append the constant and divide by the length.

    >>> unit_length([(0, 1.0), (1, 2.0**0.5)])
    [(0, 0.5), (1, 0.7071067811865476), (-1, 0.5)]
    """
    row = [*x, (CONSTANT, 1.0)]
    length = math.sqrt(sum(value * value for _, value in row))
    return [(j, value / length) for j, value in row]
