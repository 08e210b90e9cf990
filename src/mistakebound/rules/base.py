"""Base class of the linear rules: the state, the link from state to weights, and when and how the state changes.

A rule keeps S floats per feature. The first one, z, determines the weight ``w = link(z)``. In each round ``step``
returns τ. If τ is not 0, ``apply`` changes the state of each non-zero feature of the example.

A rule may also keep scalars: a few numbers that all features share, such as counts of labels, which change in every
round. The weights of such a rule are computed at each prediction, by ``weight``, from the state and the scalars.

Most rules are mistake-driven: they keep only z (S = 1), start at z = 0, and add ``y·x`` to z on a mistake (τ = y).
A rule whose step needs a second sum over the example, such as ‖x‖² or a variance, defines its terms in ``gather``.
``core/rules/rules.hpp`` has the compiled version of each rule.

See docs/theory.md, "One family: weights are a function of z".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from mistakebound._support.lazy import np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray

    Weighted = Sequence[tuple[float, float]]
    """The non-zero features of an example as pairs (weight, value)."""
    Add = Callable[[Iterable[float]], float]
    """Adds numbers up, in some order."""

LARGEST, SMALLEST = 1e30, 1e-30
"""Limits of the absolute value of a parameter. Numbers within them are safe to multiply and add in float32.
``core/play/example.hpp`` has the same limits for feature values."""
LARGEST_SUM = 1e37
"""Limit of the absolute value of a sum that a rule stores: float32 ends at 3.4e38."""


def limited(number: float, largest: float = LARGEST) -> float:
    """Return the number, or ±largest if it is beyond. Rules limit what they store, so that it is finite in float32."""
    return min(max(number, -largest), largest)


class Round(NamedTuple):
    """The numbers of one round from which a rule computes its update."""

    y: int
    """The label: +1 or −1."""
    score: float
    """w·x, before it is divided by the normaliser."""
    normaliser: float = 1.0
    gathered: float = 0.0
    """Σ gather(state_i, x_i) over the non-zero features; 0 until the sum is complete."""
    scalars: tuple[float, ...] = ()
    """The scalars of the rule before the round."""


class Range(NamedTuple):
    """The range of a parameter, as a predicate and in words. Learners and the readers of model files check it."""

    includes: Callable[[float], bool]
    numbers: str
    """The allowed numbers, in words. In a model file the value must be such a number."""
    other: str = ""
    """A string that a learner accepts instead of a number."""

    @property
    def words(self) -> str:
        """All values that a learner accepts, in words."""
        return f'{self.numbers}, or "{self.other}"' if self.other else self.numbers


POSITIVE = Range(lambda number: SMALLEST <= number <= LARGEST, "between 1e-30 and 1e30")
RATE = Range(lambda rate: rate > 0, "above 0 (infinity is allowed)", other="best")


def no_update_margin(why: str) -> Range:
    """Return the range of ``update_margin`` for a rule that has none."""
    return Range(lambda b: b == 0, f"0, because {why}")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A linear rule with its parameters. A subclass that does not override ``step`` is mistake-driven.

    Parameters
    ----------
    update_margin : float
        b ≥ 0. If b > 0, the rule also updates when ``y·score ≤ b`` (the score of the normalised weights). With b = 0,
        it updates only on mistakes.
    bias : float
        Value of a constant feature that is appended to every example. 0 means no such feature.
    """

    update_margin: float = 0.0
    bias: float = 0.0

    id: ClassVar[str]
    binary: ClassVar[bool] = False
    """Whether x must lie in {0, 1}ⁿ."""
    normalised: ClassVar[bool] = False
    """Whether scores are divided by a normaliser, which does not change predictions."""
    first_factor: ClassVar[float] = 0.0
    """The value of ``factor`` before the first update."""
    start: ClassVar[tuple[float, ...]] = (0.0,)
    """The S floats of a feature before its first update. The first is z."""
    scalars: ClassVar[tuple[float, ...]] = ()
    """The scalars before the first round. If there are any, weights are computed at each prediction by ``weight``."""
    mixing: ClassVar[tuple[str, ...]] = ("mean",)
    """How each of the S floats is mixed, if learners that continued from the same start are mixed: see ``mixing.py``.
    Scalars are counts, which are added."""
    learns_from_positives: ClassVar[bool] = True
    """Whether a mistake on a positive example causes an update."""
    log_odds: ClassVar[bool] = False
    """Whether the score is the log odds of the positive label."""
    takes_weights: ClassVar[bool] = False
    """Whether examples may have weights, which multiply ``step``."""
    keeps_examples: ClassVar[bool] = True
    """Whether the examples of mistakes and updates are kept. A rule without a theorem does not need them."""
    ranges: ClassVar[dict[str, Range]] = {
        "update_margin": Range(lambda b: 0 <= b < math.inf, "a finite number of at least 0"),
        "bias": Range(lambda b: b == 0 or SMALLEST <= abs(b) <= LARGEST, "0, or from 1e-30 to 1e30 in absolute value"),
    }
    """The range of each numeric parameter."""

    @property
    def parameter(self) -> float:
        """The number that the link depends on, such as η, α or p."""
        return 0.0

    @property
    def threshold(self) -> float:
        """The number that the score is compared with."""
        return 0.0

    @property
    def tie_is_negative(self) -> bool:
        """Whether a score exactly at the threshold predicts the negative label."""
        return False

    def link(self, z: float, factor: float) -> float:
        """Return the weight of a feature with state z, up to a positive factor that all features share."""
        raise NotImplementedError

    def weight(self, state: Sequence[float], scalars: Sequence[float]) -> float:  # noqa: ARG002
        """Return the weight of a feature from its state and the scalars."""
        return self.link(state[0], self.first_factor)

    def score(self, weighted: Weighted, scalars: Sequence[float], add: Add) -> float:  # noqa: ARG002
        """Return the score of an example, before it is divided by the normaliser: w·x, added up by ``add``."""
        return add(w * x for w, x in weighted)

    def contributions(self, weighted: Weighted) -> list[float]:
        """Return what each feature adds to the score of an example."""
        return [w * x for w, x in weighted]

    def is_positive(self, score: float) -> bool:
        """Return whether a score predicts the positive label. A tie is positive unless ``tie_is_negative``."""
        return score > self.threshold if self.tie_is_negative else score >= self.threshold

    def gather(self, state: Sequence[float], x: float, now: Round) -> float:  # noqa: ARG002 - few rules need another sum
        """Return the term of one non-zero feature in the second sum that ``step`` needs, such as x² for ‖x‖²."""
        return 0.0

    def step(self, now: Round) -> float:
        """Return τ: y on a mistake or within the update margin, otherwise 0, which means no update."""
        mistaken = self.is_positive(now.score) != (now.y == 1)
        inside = self.update_margin > 0 and now.y * now.score <= self.update_margin * now.normaliser
        return now.y if mistaken or inside else 0

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:  # noqa: ARG002
        """Return the new state of a feature with value x. The caller rounds it to float32."""
        return (state[0] + tau * x,)

    def count(self, scalars: tuple[float, ...], y: int, weight: float = 1.0) -> tuple[float, ...]:  # noqa: ARG002
        """Return the scalars after a round with the label y, also if the round caused no update."""
        return scalars

    @property
    def band(self) -> tuple[float, float] | None:
        """The probabilities between which no label is predicted; None if a label is always predicted."""
        return None

    def abstains(self, scores: FloatArray) -> BoolArray:
        """Return for which scores no label is predicted: for none, except for a Panel that may abstain."""
        return np.zeros(len(scores), np.bool_)

    def allows_weighted_scalars(self, scalars: Sequence[float]) -> bool:
        """Return whether a learner can reach these scalars if examples have weights."""
        return all(1 <= each < math.inf for each in scalars)

    def allows(self, state: FloatArray) -> bool:  # noqa: ARG002 - z may be any number
        """Return whether a learner can reach this state (one row of S floats per feature).

        Model files are checked with it, because a file may be forged.
        """
        return True

    def allows_scalars(self, scalars: Sequence[float], rounds: int) -> bool:  # noqa: ARG002
        """Return whether a learner can have these scalars after this many rounds. Model files are checked with it."""
        return len(scalars) == len(self.scalars)

    def after_mixing(self, rows: FloatArray) -> FloatArray:
        """Return mixed floats, a row for each feature, within the limits of the rule."""
        return rows

    def mass(self, w: float, z: float, factor: float) -> float:  # noqa: ARG002 - rules without a normaliser
        """Return the term of a feature in the total from which ``normaliser`` is computed."""
        return 0.0

    def normaliser(self, total: float, factor: float) -> float:  # noqa: ARG002
        """Return the number by which ``link(z)·x`` is divided to give the score."""
        return 1.0

    def size(self, z: float) -> float:
        """Return a number that is largest for the feature with the largest weight."""
        return abs(z)

    def factor_for(self, top: float) -> float:  # noqa: ARG002
        """Return the common factor that makes the weight of the largest z about 1. ``top`` is the largest `size`."""
        return self.first_factor

    def weights(self, z: FloatArray) -> FloatArray:
        """Return the normalised weights of all features, computed without overflow."""
        raise NotImplementedError
