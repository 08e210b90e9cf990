"""Littlestone's Winnow: weights α^z, and a positive threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.rules.base import LARGEST, Range, Rule

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class WinnowRule(Rule):
    r"""Predict 1 if :math:`\sum_{i: x_i=1} \alpha^{z_i} \ge \theta`; a mistake multiplies the active weights by α^±1.

    If ``strict``, the rule predicts 1 only if the sum is greater than θ. Littlestone 1988, "Learning quickly when
    irrelevant attributes abound". Blum's lecture uses α = 2 and θ = n.

    See docs/theory.md, "Winnow".
    """

    alpha: float = 2.0
    theta: float = 1.0
    strict: bool = False
    id: ClassVar[str] = "winnow"
    binary: ClassVar[bool] = True
    ranges: ClassVar[dict[str, Range]] = {
        "update_margin": Range(lambda b: b == 0, "0, because Winnow has no update margin"),
        "bias": Range(lambda b: b in (0, 1), "0 or 1, because x must lie in {0, 1}"),
        "alpha": Range(lambda a: 1 < a <= LARGEST, "above 1 (and at most 1e30)"),
        "theta": Range(lambda t: 0 < t <= LARGEST, "above 0 (and at most 1e30)"),
    }

    @property
    def parameter(self) -> float:
        """α."""
        return self.alpha

    @property
    def threshold(self) -> float:
        """θ."""
        return self.theta

    def link(self, z: float, factor: float) -> float:  # noqa: ARG002
        """Return α^z."""
        return math.pow(self.alpha, z)

    @property
    def tie_is_negative(self) -> bool:
        """Whether a score equal to the threshold predicts the negative label: only if strict."""
        return self.strict

    def size(self, z: float) -> float:
        """Return z, because the largest z has the largest weight."""
        return z

    def weights(self, z: FloatArray) -> FloatArray:
        """Return α^z. These weights are not normalised, because they are compared with the threshold."""
        return np.power(self.alpha, z)
