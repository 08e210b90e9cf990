"""Elimination: predict with the OR of all variables that no mistake has removed."""

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
    """Start with h = OR of all variables. A mistake on a negative example removes every variable that is 1 in it.

    z_i < 0 means that variable i is removed. The score is the number of variables of h that are 1, and h is true if the
    score is at least 1. A mistake on a positive example changes nothing. (Blum 1998.)

    See docs/theory.md, "Elimination".
    """

    id: ClassVar[str] = "elimination"
    binary: ClassVar[bool] = True
    learns_from_positives: ClassVar[bool] = False
    threshold: ClassVar[float] = 1.0
    """One variable of h that is 1 makes h true."""
    ranges: ClassVar[dict[str, Range]] = {
        "update_margin": Range(lambda b: b == 0, "0, because elimination has no update margin"),
        "bias": Range(lambda b: b == 0, "0, because elimination has no constant feature"),
    }

    def link(self, z: float, factor: float) -> float:  # noqa: ARG002
        """Return 1 for a variable of h, 0 for a removed one."""
        return 0.0 if z < 0 else 1.0

    def step(self, now: Round) -> float:
        """Return −1 on a false positive, otherwise 0."""
        return -1 if self.is_positive(now.score) and now.y == -1 else 0

    def weights(self, z: FloatArray) -> FloatArray:
        """Return 1 for each variable of h, 0 for each removed one."""
        return np.where(z < 0, 0.0, 1.0)
