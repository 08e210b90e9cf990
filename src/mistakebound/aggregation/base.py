"""Base class of the rules over experts: weights on the simplex, updated by the regrets of each round.

``r_k`` is the learner's loss less that of expert k, and 0 while k is asleep: a sleeper suffers what the learner does,
so that ``R_k``, the sum, counts only the rounds in which k was awake. The learner's loss is that of the weighted mean
of the forecasts, hence ``Σ w_k r_k ≤ 0`` for convex losses, with equality for linear ones: all that the proofs use.

See docs/theory.md, "Regret".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np

if TYPE_CHECKING:
    from mistakebound._support.arrays import BoolArray, FloatArray


class Rule:
    """Weights over experts, from their regrets alone."""

    id: ClassVar[str]
    has_unit: ClassVar[bool] = False
    """Whether the rate is a constant that was passed. Then very small losses count as 0 instead of being refused."""
    own: ClassVar[tuple[str, ...]] = ()
    """Arrays, besides R, that have a number for each expert, 0 for a newcomer."""

    def __init__(self, prior: FloatArray) -> None:
        self.R = np.zeros(0)
        self.rounds = 0
        self.log_prior = np.zeros(0)
        for name in self.own:
            setattr(self, name, np.zeros(0))
        self.join(prior)

    @property
    def n(self) -> int:
        """Number of experts."""
        return len(self.R)

    def join(self, prior: FloatArray) -> None:
        """Let experts in at the end, who have slept so far; ``prior`` is that of all, and sums to 1."""
        new = np.zeros(len(prior) - self.n)
        for name in ("R", *self.own):
            setattr(self, name, np.concatenate([getattr(self, name), new]))
        self.log_prior = np.log(prior)

    def weights(self) -> FloatArray:
        """Non-negative, the largest about 1; they need not sum to 1."""
        raise NotImplementedError

    def logs(self) -> FloatArray | None:
        """Logarithms of the weights, up to a constant; None if the rule has none that say more than the weights."""
        return None

    def among(self, awake: BoolArray) -> FloatArray:
        """Weights of some, when those of others are so large that theirs are lost beside them; else by the prior."""
        z = self.logs()
        return softmax(np.where(awake, self.log_prior if z is None else z, -np.inf))

    def learn(self, r: FloatArray, h: float) -> None:
        """Take in the regrets of a round; h is the learner's own loss in the same units."""
        raise NotImplementedError

    def update(self, r: FloatArray, h: float) -> None:
        """One round."""
        self.learn(r, h)
        self.rounds += 1

    def bound(self) -> FloatArray | None:
        """What the rule's theorem allows ``R_k`` to be, for each k, by what has happened; None without a theorem."""
        return None


def softmax(z: FloatArray) -> FloatArray:
    """``e^z``, the largest being 1; safe for all that is not NaN or +∞."""
    return np.asarray(np.exp(z - z.max()))


def log_sum_exp(z: FloatArray) -> float:
    """``ln Σ e^z`` without overflow."""
    top = float(z.max())
    return top + float(np.log(np.exp(z - top).sum()))
