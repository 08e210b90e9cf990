"""Elimination: the OR of all variables that no mistake has ruled out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.rules.base import Range, Rule

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.rules.base import Round


@dataclass(frozen=True, kw_only=True)
class EliminationRule(Rule):
    """Start with h = OR of all variables; a mistake on a negative example removes every variable that is 1 in it.

    In the shape of the one loop: z_i < 0 means removed, the score counts the active variables still in h, and h is true
    if that is at least 1. A mistake on a positive example changes nothing: no variable ever comes back. (Blum.)

    See docs/theory.md, "Elimination".
    """

    id: ClassVar[str] = "elimination"
    binary: ClassVar[bool] = True
    learns_from_positives: ClassVar[bool] = False
    ranges: ClassVar[dict[str, Range]] = {
        "update_margin": Range(lambda b: b == 0, "0, because elimination has no update margin"),
        "bias": Range(lambda b: b == 0, "0, because elimination has no constant feature"),
    }

    @property
    def threshold(self) -> float:
        """One active variable is enough."""
        return 1.0

    def link(self, z: float, factor: float) -> float:  # noqa: ARG002
        """1 while in h, then 0."""
        return 0.0 if z < 0 else 1.0

    def step(self, now: Round) -> float:
        """−1 on a false positive, otherwise 0."""
        return -1 if self.is_positive(now.score) and now.y == -1 else 0

    def weights(self, z: FloatArray) -> FloatArray:
        """1 for each variable still in h."""
        return np.where(z < 0, 0.0, 1.0)
