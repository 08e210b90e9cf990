"""Base class of the rules over experts: weights on the simplex, updated by the regrets of each round.

``r_k`` is the learner's loss minus the loss of expert k, and 0 in a round in which k is asleep. ``R_k`` is the sum of
``r_k``, hence the regret over the rounds in which k was awake. ``V_k`` is the sum of ``r_k²``.

The learner forecasts the weighted mean, hence ``Σ w_k r_k ≤ 0`` for a convex loss, with equality for a linear one. The
proofs use only this.

See docs/theory.md, "Regret".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np

if TYPE_CHECKING:
    from mistakebound._support.arrays import BoolArray, FloatArray


class Rule:
    """A rule that computes the weights of experts from their regrets."""

    id: ClassVar[str]
    fixed_rate: ClassVar[bool] = False
    """Whether the rate is a constant that the user passed. Then very small losses count as 0 and are not an error."""
    per_expert: ClassVar[tuple[str, ...]] = ()
    """Names of the arrays, besides R, with one number per expert. The number starts at 0 when an expert joins."""

    def __init__(self, prior: FloatArray) -> None:
        self.R = np.zeros(0)
        self.rounds = 0
        self.log_prior = np.zeros(0)
        for name in self.per_expert:
            setattr(self, name, np.zeros(0))
        self.join(prior)

    @property
    def n(self) -> int:
        """Number of experts."""
        return len(self.R)

    def join(self, prior: FloatArray) -> None:
        """Add experts at the end. They count as asleep in all earlier rounds.

        ``prior`` is the prior of all experts, and sums to 1.
        """
        new = np.zeros(len(prior) - self.n)
        for name in ("R", *self.per_expert):
            setattr(self, name, np.concatenate([getattr(self, name), new]))
        self.log_prior = np.log(prior)

    def weights(self) -> FloatArray:
        """Return the weights: non-negative, the largest about 1. They need not sum to 1."""
        raise NotImplementedError

    def log_weights(self) -> FloatArray | None:
        """Return the logarithms of the weights, up to a constant, or None if the rule does not keep logarithms."""
        return None

    def weights_among(self, awake: BoolArray) -> FloatArray:
        """Return the weights of the awake experts, computed without those of the others.

        `weights` may round them all to 0 if an expert that is asleep has a much larger weight. Without
        `log_weights`, the weights are those of the prior.
        """
        z = self.log_weights()
        return softmax(np.where(awake, self.log_prior if z is None else z, -np.inf))

    def learn(self, r: FloatArray, h: float) -> None:
        """Learn the regrets r of a round. h is the learner's loss in the same units."""
        raise NotImplementedError

    def update(self, r: FloatArray, h: float) -> None:
        """Learn the regrets of a round, and count the round."""
        self.learn(r, h)
        self.rounds += 1

    def bound(self) -> FloatArray | None:
        """Return the theorem's bound on each ``R_k``, computed from the rounds so far, or None without a theorem."""
        return None


def softmax(z: FloatArray) -> FloatArray:
    """Return ``e^z``, scaled such that the largest is 1. z must not contain NaN or +∞."""
    return np.asarray(np.exp(z - z.max()))


def log_sum_exp(z: FloatArray) -> float:
    """Return ``ln Σ e^z`` without overflow."""
    top = float(z.max())
    return top + float(np.log(np.exp(z - top).sum()))
