"""The averaged Perceptron: it predicts by the mean of all weight vectors of a Perceptron so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound.rules.base import LARGEST_SUM, Range, Rule, limited, no_update_margin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.rules.base import Round


@dataclass(frozen=True, kw_only=True)
class AveragedPerceptronRule(Rule):
    r"""Predict the sign of :math:`\bar w \cdot x`, where w̄ is the mean of a Perceptron's w over all rounds so far.

    A feature keeps w and :math:`a = \sum_s s\,y_s x_s` over the rounds s that updated it. The scalar c is the number of
    rounds, plus 1. Then :math:`\bar w = w - a/c` is the mean of w at the start and after each round. The Perceptron
    updates if *its own* prediction, the sign of w·x, is wrong. A mistake of the learner is a wrong prediction of w̄.
    Freund & Schapire 1999, "Large margin classification using the Perceptron algorithm"; Collins 2002.

    See docs/theory.md, "The averaged Perceptron".
    """

    id: ClassVar[str] = "averaged-perceptron"
    start: ClassVar[tuple[float, ...]] = (0.0, 0.0)
    scalars: ClassVar[tuple[float, ...]] = (1.0,)
    mixing: ClassVar[tuple[str, ...]] = ("mean of met", "over all rounds")
    keeps_examples: ClassVar[bool] = False
    ranges: ClassVar[dict[str, Range]] = {
        **Rule.ranges,
        "update_margin": no_update_margin("the Perceptron inside updates on its own mistakes only"),
    }

    def weight(self, state: Sequence[float], scalars: Sequence[float]) -> float:
        """Return w − a/c."""
        return state[0] - state[1] / scalars[0]

    def gather(self, state: Sequence[float], x: float, now: Round) -> float:  # noqa: ARG002
        """Return the term of w·x, the score of the Perceptron."""
        return state[0] * x

    def step(self, now: Round) -> float:
        """Return y if the Perceptron's own prediction is wrong."""
        return now.y if self.is_positive(now.gathered) != (now.y == 1) else 0

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:
        """Add y·x to w, and c times it to a."""
        return state[0] + tau * x, limited(state[1] + now.scalars[0] * (tau * x), LARGEST_SUM)

    def count(self, scalars: tuple[float, ...], y: int, weight: float = 1.0) -> tuple[float, ...]:  # noqa: ARG002
        """Count the round."""
        return (scalars[0] + 1.0,)

    def allows_scalars(self, scalars: Sequence[float], rounds: int) -> bool:
        """Whether all rounds were counted."""
        return tuple(scalars) == (rounds + 1,)
