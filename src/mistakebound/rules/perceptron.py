"""The Perceptron: weights are z itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound.rules.base import Rule

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class PerceptronRule(Rule):
    r"""Predict the sign of :math:`z \cdot x`. On a mistake, add y·x to z (Rosenblatt 1958; Novikoff 1962).

    See docs/theory.md, "The Perceptron".
    """

    id: ClassVar[str] = "perceptron"

    def link(self, z: float, factor: float) -> float:  # noqa: ARG002
        """Return z."""
        return z

    def weights(self, z: FloatArray) -> FloatArray:
        """Return a copy of z."""
        return z.copy()
