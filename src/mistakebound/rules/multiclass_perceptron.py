"""The multiclass Perceptron: a weight vector for each class. ``core/play/class_perceptron.hpp`` gives the same bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound.rules.base import Range, Rule, no_update_margin
from mistakebound.rules.reference import float32, ordered_sum, summed

if TYPE_CHECKING:
    from mistakebound.rules.reference import Example

NO_CLASS = -1
"""The prediction before the first label."""


@dataclass(frozen=True, kw_only=True)
class MulticlassPerceptronRule(Rule):
    r"""Predict the class r with the largest :math:`w_r \cdot x`. On a mistake, add x to w_y, and subtract it from w_ŷ.

    This is Kesler's construction (Duda and Hart 1973; Crammer and Singer 2003). If scores are equal, the class that was
    seen first is predicted. The first round of all has no prediction, and changes no weight.

    See docs/theory.md, "The multiclass Perceptron".
    """

    id: ClassVar[str] = "multiclass-perceptron"
    ranges: ClassVar[dict[str, Range]] = {
        **Rule.ranges,
        "update_margin": no_update_margin("the multiclass Perceptron learns from mistakes only"),
    }


class MulticlassGame:
    """The rule in plain Python: slow, but easy to read. Classes are numbered in the order of their first rounds.

    >>> game = MulticlassGame(MulticlassPerceptronRule(), slots=2)
    >>> [game.round([(0, 1.0)], 0), game.round([(1, 1.0)], 1), game.round([(1, 1.0)], 1)]
    [-1, 0, 1]
    >>> game.w
    [[0.0, -1.0], [0.0, 1.0]]
    """

    def __init__(self, rule: MulticlassPerceptronRule, slots: int) -> None:
        self.rule, self.slots = rule, slots
        self.w: list[list[float]] = []
        """The weights of each class."""
        self.bias_w: list[float] = []
        """The weight of the constant feature in each class."""
        self.updates = 0

    def scores(self, x: Example) -> list[float]:
        """Return w·x for each class. The term of the constant feature is the last one."""
        values = summed(x)
        found = []
        for w, bias_w in zip(self.w, self.bias_w, strict=True):
            terms = [w[i] * v for i, v in values]
            found.append(ordered_sum([*terms, bias_w * self.rule.bias] if self.rule.bias else terms))
        return found

    def predict(self, x: Example) -> int:
        """Return the class with the largest score, the first one of equal scores; −1 if there is no class yet."""
        scores = self.scores(x)
        return scores.index(max(scores)) if scores else NO_CLASS

    def round(self, x: Example, y: int) -> int:
        """Predict the class of x, then learn the class y. Return the prediction."""
        y_hat = self.predict(x)
        if y == len(self.w):
            self.w.append([0.0] * self.slots)
            self.bias_w.append(0.0)
        if y_hat not in (y, NO_CLASS):
            self.updates += 1
            self.add(+1, x, y)
            self.add(-1, x, y_hat)
        return y_hat

    def add(self, sign: int, x: Example, r: int) -> None:
        """Add sign·x to the weights of class r, which are rounded to float32."""
        for i, v in summed(x):
            self.w[r][i] = float32(self.w[r][i] + sign * v)
        if self.rule.bias:
            self.bias_w[r] = float32(self.bias_w[r] + sign * self.rule.bias)
