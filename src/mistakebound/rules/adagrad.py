"""AdaGrad: a learning rate per feature that falls with the gradients it has seen, for logistic and for hinge loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound.rules.base import LARGEST_SUM, POSITIVE, Range, Rule, limited, no_update_margin
from mistakebound.rules.logistic import logistic_step, sigmoid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.rules.base import Round

FIRST_SUM = 1e-8
"""Σγ² at the start: small, so that the first step is as large as the rate."""
NEWTON_STEPS = 4


@dataclass(frozen=True, kw_only=True)
class AdaGradRule(Rule):
    """Base of the three: a weight w and the sum G of squared gradients of each feature."""

    rate: float = 1.0
    takes_weights: ClassVar[bool] = True
    keeps_examples: ClassVar[bool] = False
    start: ClassVar[tuple[float, ...]] = (0.0, FIRST_SUM)
    mixing: ClassVar[tuple[str, ...]] = ("mean of met", "mean of met")
    ranges: ClassVar[dict[str, Range]] = {
        **Rule.ranges,
        "update_margin": no_update_margin("every example with a loss is learned"),
        "rate": POSITIVE,
    }

    @property
    def parameter(self) -> float:
        """The learning rate."""
        return self.rate

    def link(self, z: float, factor: float) -> float:  # noqa: ARG002
        """Identity."""
        return z

    def stepped(self, w: float, by: float, total: float) -> tuple[float, float]:
        """Return w moved by a step of this size over √G, and the new G."""
        return limited(w + by / math.sqrt(total)), min(total, LARGEST_SUM)

    def allows(self, state: FloatArray) -> bool:
        """Whether every sum of squares is at least that of the start."""
        return bool((state[:, 1] >= FIRST_SUM * (1 - 1e-6)).all())

    def weights(self, z: FloatArray) -> FloatArray:
        """Return w, as it is."""
        return z.copy()


@dataclass(frozen=True, kw_only=True)
class AdaGradLogisticRule(AdaGradRule):
    r"""Gradient steps on logistic loss: γ = yσ(−y·score)x_i, then G ← G + γ² and w ← w + rate·γ/√G.

    Duchi, Hazan & Singer 2011, "Adaptive subgradient methods for online learning and stochastic optimization".

    See docs/theory.md, "AdaGrad on logistic loss".
    """

    id: ClassVar[str] = "adagrad-logistic"
    log_odds: ClassVar[bool] = True

    def step(self, now: Round) -> float:
        """Return yσ(−y·score)."""
        return logistic_step(now)

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:  # noqa: ARG002
        """Add the squared gradient, then step."""
        gradient = tau * x
        return self.stepped(state[0], self.rate * gradient, state[1] + gradient * gradient)


@dataclass(frozen=True, kw_only=True)
class ImplicitLogisticRule(AdaGradRule):
    r"""The same with an implicit step: the gradient is taken at the weights after the update.

    With G ← G + (σ(−y·score)x_i)² and D = Σx_i²/√G_i, the update w ← w + rate·y·h·x_i/√G moves the score by
    rate·y·h·D, so h solves h = σ(−(y·score + rate·D·h)). Four Newton steps from h = σ(−y·score) find it. Kulis &
    Bartlett 2010, "Implicit online learning".

    See docs/theory.md, "Implicit AdaGrad on logistic loss".
    """

    rate: float = 2.0
    id: ClassVar[str] = "implicit-logistic"
    log_odds: ClassVar[bool] = True

    def gather(self, state: Sequence[float], x: float, now: Round) -> float:
        """x²/√G with the new G: summed up, D."""
        return x * x / math.sqrt(self._new_sum(state, x, now))

    def step(self, now: Round) -> float:
        """Return y·h."""
        margin, reach = now.y * now.score, self.rate * now.gathered
        h = sigmoid(-margin)
        for _ in range(NEWTON_STEPS):
            e = sigmoid(-(margin + reach * h))
            h -= (h - e) / (1 + reach * e * (1 - e))
        return now.y * h

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:
        """Add the squared gradient, then step."""
        return self.stepped(state[0], self.rate * tau * x, self._new_sum(state, x, now))

    def _new_sum(self, state: Sequence[float], x: float, now: Round) -> float:
        gradient = sigmoid(-now.y * now.score) * x
        return state[1] + gradient * gradient


@dataclass(frozen=True, kw_only=True)
class AdaGradHingeRule(AdaGradRule):
    r"""Steps on hinge loss, no longer than needed: if y·score < 1, w ← w + τx_i/√G, τ = y·min(rate, (1 − y·score)/D).

    G ← G + x_i² comes first, and D = Σx_i²/√G_i is how far a step of 1 moves the score, so that the score reaches 1
    at most.

    See docs/theory.md, "AdaGrad on hinge loss".
    """

    id: ClassVar[str] = "adagrad-hinge"

    def gather(self, state: Sequence[float], x: float, now: Round) -> float:  # noqa: ARG002
        """x²/√G with the new G: summed up, D."""
        return x * x / math.sqrt(state[1] + x * x)

    def step(self, now: Round) -> float:
        """Return τ; 0 if the margin y·score is at least 1."""
        loss = 1 - now.y * now.score
        if loss <= 0:
            return 0.0
        return now.y * (min(self.rate, loss / now.gathered) if now.gathered > 0 else self.rate)

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:  # noqa: ARG002
        """Add x² to G, then step."""
        return self.stepped(state[0], tau * x, state[1] + x * x)
