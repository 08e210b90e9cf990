"""Passive-aggressive rules: as little change as makes the example right with a margin, within a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound.rules.base import POSITIVE, Range, Rule, limited, no_update_margin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.rules.base import Round


@dataclass(frozen=True, kw_only=True)
class PassiveAggressiveRule(Rule):
    """Base of both: w ← w + τx if the loss ℓ = max(0, 1 − y w·x) is positive. c limits the size of τ.

    Crammer, Dekel, Keshet, Shalev-Shwartz & Singer 2006, "Online passive-aggressive algorithms".
    """

    c: float = 1.0
    ranges: ClassVar[dict[str, Range]] = {
        **Rule.ranges,
        "update_margin": no_update_margin("the rule always updates below a margin of 1"),
        "c": POSITIVE,
    }

    @property
    def parameter(self) -> float:
        """Return c."""
        return self.c

    def link(self, z: float, factor: float) -> float:  # noqa: ARG002
        """Return z, which is w."""
        return z

    def gather(self, state: Sequence[float], x: float, now: Round) -> float:  # noqa: ARG002
        """Return x². The sum of these terms is ‖x‖²."""
        return x * x

    def step(self, now: Round) -> float:
        """Return τ, or 0 if there is no loss."""
        loss = 1 - now.y * now.score
        return now.y * self.size_of_step(loss, now.gathered) if loss > 0 else 0.0

    def size_of_step(self, loss: float, square: float) -> float:
        """Return |τ| for a positive loss and ‖x‖²."""
        raise NotImplementedError

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:  # noqa: ARG002
        """Return w + τx."""
        return (limited(state[0] + tau * x),)

    def weights(self, z: FloatArray) -> FloatArray:
        """Return a copy of the weights."""
        return z.copy()


@dataclass(frozen=True, kw_only=True)
class PassiveAggressiveIRule(PassiveAggressiveRule):
    """PA-I: τ = y·min(c, ℓ/‖x‖²).

    See docs/theory.md, "Passive-aggressive I".
    """

    id: ClassVar[str] = "passive-aggressive-i"

    def size_of_step(self, loss: float, square: float) -> float:
        """Return min(c, ℓ/‖x‖²), and c for an example without features."""
        return min(self.c, loss / square) if square > 0 else self.c


@dataclass(frozen=True, kw_only=True)
class PassiveAggressiveIIRule(PassiveAggressiveRule):
    """PA-II: τ = y·ℓ/(‖x‖² + 1/(2c)).

    See docs/theory.md, "Passive-aggressive II".
    """

    id: ClassVar[str] = "passive-aggressive-ii"

    def size_of_step(self, loss: float, square: float) -> float:
        """Return ℓ/(‖x‖² + 1/(2c))."""
        return loss / (square + 0.5 / self.c)
