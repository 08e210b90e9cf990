"""The linear members of the Panel with several classes: a weight vector for each class."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mistakebound.panel.members import LinearMember, linear_members, slot_members
from mistakebound.rules.base import Round
from mistakebound.rules.panel_members import MEMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.panel.members import Scene

AGAINST_REST = ("implicit-logistic", "arow", "adagrad-hinge", "balanced-winnow")
"""Members that learn each class against all others. The other linear members learn softmax loss."""
MOST_ACTIVE = 16
"""How many classes learn from a round: the label and its strongest rivals."""
LINEAR = tuple(name for k, name in enumerate(MEMBERS) if k <= 8 or 11 <= k <= 14)
"""The names of the linear members, in their order."""


class Lesson(NamedTuple):
    """What the members learn from a round."""

    scene: Scene
    label: int
    active: Sequence[int]
    """The classes that learn."""
    tau: float
    """Factor of the scores of softmax members."""


def temperature(classes: int) -> float:
    """Return τ = 1 − 1/K, with which two classes have the probabilities of the panel of two labels.

    >>> temperature(1), temperature(2), temperature(4)
    (0.5, 0.5, 0.75)
    """
    return 1 - 1 / max(classes, 2)


def softmax(z: FloatArray) -> FloatArray:
    """Return probabilities that are proportional to e^z.

    >>> softmax(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    p = np.exp(z - z.max())
    return np.asarray(p / p.sum())


class LinearClasses:
    """All linear members, with a weight vector for each member and class."""

    def __init__(self) -> None:
        self.of: list[dict[str, LinearMember]] = []

    def start_class(self) -> None:
        """Start a class with weights of 0."""
        self.of.append(dict(zip(LINEAR, (*linear_members(), *slot_members()), strict=True)))

    def scores(self, name: str, scene: Scene) -> list[float]:
        """Return the scores of a member for each class."""
        return [members[name].score(scene) for members in self.of]

    def gradients(self, scores: FloatArray, lesson: Lesson) -> FloatArray:
        """Return 1[k = y] − p_k for each active class, p = softmax(τz) over them."""
        p = softmax(lesson.tau * scores[list(lesson.active)])
        return np.asarray(np.equal(lesson.active, lesson.label) - p)

    def learn(self, name: str, scores: FloatArray, lesson: Lesson) -> None:
        """Learn the label in all active classes; ``scores`` are those of the member for each class."""
        if name in AGAINST_REST:
            for k in lesson.active:
                self.of[k][name].learn(lesson.scene, float(scores[k]), 1 if k == lesson.label else -1)
            return
        for k, gradient in zip(lesson.active, self.gradients(scores, lesson).tolist(), strict=True):
            now = Round(1 if k == lesson.label else -1, float(scores[k]))
            self.of[k][name].move(lesson.scene, gradient, now)
