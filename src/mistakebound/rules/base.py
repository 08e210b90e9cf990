"""Base class of the linear rules: the state, the link from state to weights, and when and how the state changes.

A rule keeps S floats per feature, of which the first, z, gives the weight ``w = link(z)``. Once a round ``step``
returns τ; if it is not 0, ``apply`` changes the state of each non-zero feature. Most rules are mistake-driven: they
keep z alone, start at 0 and on a mistake do ``z ← z + y·x``; that is S = 1 and τ = y. A rule that needs a second sum
before its step, such as ‖x‖² or a confidence, declares its terms by ``gather``. A rule is a few lines here;
``core/rules/rules.hpp`` holds its compiled twin.

See docs/theory.md, "One family: weights are a function of z".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mistakebound._support.arrays import FloatArray

LARGEST, SMALLEST = 1e30, 1e-30
"""Sizes between which a float32 sum learns without loss (core/play/example.hpp has the same limits for values)."""


class Round(NamedTuple):
    """What a rule uses of a round to decide on its update."""

    y: int
    """The label: +1 or −1."""
    score: float
    """w·x, before it is divided by the normaliser."""
    normaliser: float = 1.0
    gathered: float = 0.0
    """Σ gather(state_i, x_i) over the non-zeros; 0 while it is gathered."""


class Range(NamedTuple):
    """The range of a parameter, as a test and in words, for learners and for the readers of model files."""

    includes: Callable[[float], bool]
    numbers: str
    """The allowed numbers, in words. A model file holds numbers only."""
    other: str = ""
    """A word that a learner accepts in place of a number."""

    @property
    def words(self) -> str:
        """All values that a learner accepts, in words."""
        return f'{self.numbers}, or "{self.other}"' if self.other else self.numbers


RATE = Range(lambda rate: rate > 0, "above 0 (infinity is allowed)", other="best")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A linear rule with the parameters that a learner actually used. Without its own ``step``, it is mistake-driven.

    Parameters
    ----------
    update_margin : float
        b ≥ 0: if positive, also update when ``y·score ≤ b`` (score on normalised weights). 0 is the textbook's rule.
    bias : float
        Value of a constant feature that is appended to every example; 0 means none.
    """

    update_margin: float = 0.0
    bias: float = 0.0

    id: ClassVar[str]
    binary: ClassVar[bool] = False
    """Whether x must lie in {0, 1}ⁿ."""
    normalised: ClassVar[bool] = False
    """Whether scores are divided by a normaliser. It never changes a prediction."""
    first_factor: ClassVar[float] = 0.0
    start: ClassVar[tuple[float, ...]] = (0.0,)
    """The S floats of a feature that was never part of an update; the first is z."""
    learns_from_positives: ClassVar[bool] = True
    """Whether a mistake on a positive example is learned."""
    ranges: ClassVar[dict[str, Range]] = {
        "update_margin": Range(lambda b: 0 <= b < math.inf, "a finite number of at least 0"),
        "bias": Range(lambda b: b == 0 or SMALLEST <= abs(b) <= LARGEST, "0, or of size 1e-30 to 1e30"),
    }
    """The range of each numeric parameter."""

    @property
    def parameter(self) -> float:
        """The one number that the link depends on."""
        return 0.0

    @property
    def threshold(self) -> float:
        """What the score is compared with."""
        return 0.0

    def link(self, z: float, factor: float) -> float:
        """Weight of a feature whose sum is z, up to a positive factor common to all features."""
        raise NotImplementedError

    @property
    def tie_is_negative(self) -> bool:
        """Whether a score exactly at the threshold predicts the negative label."""
        return False

    def is_positive(self, score: float) -> bool:
        """A score exactly at the threshold predicts the positive label, unless ``tie_is_negative``."""
        return score > self.threshold if self.tie_is_negative else score >= self.threshold

    def gather(self, state: Sequence[float], x: float, now: Round) -> float:  # noqa: ARG002 - few rules need another sum
        """Term of one non-zero in the second sum that ``step`` needs, such as x² for ‖x‖²."""
        return 0.0

    def step(self, now: Round) -> float:
        """Return τ: y on a mistake (or inside the update margin), otherwise 0: no update."""
        mistaken = self.is_positive(now.score) != (now.y == 1)
        inside = self.update_margin > 0 and now.y * now.score <= self.update_margin * now.normaliser
        return now.y if mistaken or inside else 0

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:  # noqa: ARG002
        """Return the new state of a feature with value x; it is then rounded to float32."""
        return (state[0] + tau * x,)

    def allows(self, state: FloatArray) -> bool:  # noqa: ARG002 - z may be any number
        """Whether a learner can reach this state (S columns, a row per feature). Model files may be forged."""
        return True

    def mass(self, w: float, z: float, factor: float) -> float:  # noqa: ARG002 - rules without a normaliser
        """Share of a feature in the total from which the normaliser is made."""
        return 0.0

    def normaliser(self, total: float, factor: float) -> float:  # noqa: ARG002
        """Return what ``link(z)·x`` is divided by to give the score."""
        return 1.0

    def size(self, z: float) -> float:
        """Return the size of z by which the largest weight is found."""
        return abs(z)

    def factor_for(self, top: float) -> float:  # noqa: ARG002
        """Return the common factor that makes the weight of the largest z equal to 1."""
        return self.first_factor

    def weights(self, z: FloatArray) -> FloatArray:
        """Normalised weights of all features, computed where nothing overflows."""
        raise NotImplementedError
