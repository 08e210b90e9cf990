"""Coin betting: each feature bets a fraction of its wealth on the sign of its next gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound.rules.base import LARGEST_SUM, limited
from mistakebound.rules.logistic import LogisticRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.rules.base import Round


@dataclass(frozen=True, kw_only=True)
class CoinBettingRule(LogisticRule):
    r"""Logistic regression whose learning rates come from betting, so that there is nothing to tune.

    A feature keeps the sum T of its gradients γ, the sum G of their sizes, its reward R and its largest gradient L.
    Its weight is :math:`w = \frac{T}{L(G + L)}(L + R)`: the fraction T/(G + L) of the wealth L + R, in units of L.
    After a round with :math:`\gamma = y\sigma(-y\,w \cdot x)\,x_i`: :math:`R \leftarrow \max(R + w\gamma, 0)`.
    Orabona & Tommasi 2017, "Training deep networks without learning rates through coin betting" (COCOB); here with
    L at least ½|x|, without which a feature that is first seen on an easy example gets an enormous weight.

    See docs/theory.md, "Coin betting".
    """

    id: ClassVar[str] = "coin-betting"
    start: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0, 0.0, 0.0)
    mixing: ClassVar[tuple[str, ...]] = (*("mean of met",) * 4, "largest")

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:  # noqa: ARG002
        """Settle the bet of this round, and bet anew."""
        w, total, size, reward, largest = state
        gradient = tau * x
        total += gradient
        size += abs(gradient)
        reward = min(max(reward + w * gradient, 0.0), LARGEST_SUM)
        largest = max(largest, abs(gradient), 0.5 * abs(x))
        w = total / (size + largest) * (1.0 + reward / largest) if largest > 0 else 0.0
        return limited(w), total, size, reward, largest

    def allows(self, state: FloatArray) -> bool:
        """Whether sizes are not negative, and |T| ≤ G."""
        return bool((state[:, 2:] >= 0).all() and (abs(state[:, 1]) <= state[:, 2] * (1 + 1e-3)).all())
