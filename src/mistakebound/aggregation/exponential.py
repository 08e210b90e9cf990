"""Rules with weights exponential in the regret: Hedge, AdaHedge, Fixed Share, and ML-EWA."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.aggregation.base import Rule, log_sum_exp, softmax
from mistakebound.bounds.regret import concave_regret, shared_regret

if TYPE_CHECKING:
    from mistakebound._support.arrays import BoolArray, FloatArray


class Exponential(Rule):
    """Hedge: ``w ∝ π e^{ηR}``. The rate ``η_t`` must not increase.

    ``R_k ≤ ln(1/π_k)/η_T + Σ gaps``. In a round the gap is the mean loss minus the mix loss, and at most
    ``min(s, η s²/8)`` by Hoeffding's lemma, where s is the range of the losses.

    See docs/theory.md, "Hedge".
    """

    id: ClassVar[str] = "hedge"
    fixed_rate: ClassVar[bool] = True

    def __init__(self, prior: FloatArray, eta: float) -> None:
        self.eta = float(eta)
        self.gaps = 0.0
        super().__init__(prior)

    def weights(self) -> FloatArray:
        """Return ``π e^{ηR}``. If η = ∞, only the experts with the largest R have weight."""
        if math.isinf(self.eta):
            return np.where(self.R.max() <= self.R, np.exp(self.log_prior), 0.0)
        return softmax(self.log_weights())

    def log_weights(self) -> FloatArray:
        """Return ``ln π + ηR``, for a finite η."""
        return self.log_prior + self.eta * self.R

    def weights_among(self, awake: BoolArray) -> FloatArray:
        """Return the weights of the awake experts. If η = ∞, only those with the largest R have weight."""
        if math.isinf(self.eta):
            return np.where(awake & (self.R[awake].max() <= self.R), np.exp(self.log_prior), 0.0)
        return super().weights_among(awake)

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002 - the rule needs only r
        """Add r to R, and the bound of the gap to ``gaps``."""
        spread = float(r.max() - r.min())
        self.gaps += spread if math.isinf(self.eta) else min(spread, self.eta * spread**2 / 8)
        self.R += r

    def bound(self) -> FloatArray:
        """Return ``ln(1/π)/η + Σ min(s, η s²/8)``."""
        return concave_regret(-self.log_prior, self.eta) + self.gaps


class ExpConcave(Exponential):
    """Exponential weights for a loss with ``e^{−ηℓ}`` concave in the forecast: ``R_k ≤ ln(1/π_k)/η`` for any T.

    See docs/theory.md, "The exponentially weighted average".
    """

    id: ClassVar[str] = "exponentially-weighted-average"

    def bound(self) -> FloatArray:
        """Return ``ln(1/π)/η``, because ``Σ π e^{ηR}`` does not increase if ``e^{−ηℓ}`` is concave."""
        return concave_regret(-self.log_prior, self.eta)


class Anytime(Exponential):
    """Hedge with ``η_t = 2√(ln n/t)/S``, where S is the largest range of losses so far. R is about ``S√(T ln n)``.

    See docs/theory.md, "Hedge".
    """

    fixed_rate: ClassVar[bool] = False

    def __init__(self, prior: FloatArray) -> None:
        self.widest = 0.0
        super().__init__(prior, math.inf)

    def learn(self, r: FloatArray, h: float) -> None:
        """Learn the regrets, and compute the rate of the next round."""
        super().learn(r, h)
        self.widest = max(self.widest, float(r.max() - r.min()))
        if self.widest > 0:
            self.eta = min(self.eta, 2 * math.sqrt(math.log(max(self.n, 2)) / (self.rounds + 2)) / self.widest)


class AdaHedge(Exponential):
    """AdaHedge: ``η = ln n/Δ``, where Δ is the sum of the gaps so far. ``R ≤ 2Δ`` (de Rooij et al. 2014).

    It needs neither the number of rounds nor the range of the losses in advance.

    See docs/theory.md, "AdaHedge".
    """

    id: ClassVar[str] = "adahedge"
    fixed_rate: ClassVar[bool] = False

    def __init__(self, prior: FloatArray) -> None:
        self.variance = self.widest = 0.0
        super().__init__(prior, math.inf)

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """Add the gap to Δ: the mean loss minus the mix loss."""
        # The mix loss is computed from logarithms: a weight that underflows now may be the largest after this round.
        w = self.weights()
        w = w / w.sum()
        mean = -float(w @ r)
        if math.isinf(self.eta):
            mix = float(self.R.max() - (self.R + r).max())
        else:
            z = self.log_prior + self.eta * (self.R - self.R.max())
            mix = (log_sum_exp(z) - log_sum_exp(z + self.eta * r)) / self.eta
        self.gaps += max(0.0, mean - mix)
        self.variance += max(0.0, float(w @ r**2) - mean**2)
        self.widest = max(self.widest, float(r.max() - r.min()))
        self.R += r
        if self.gaps > 0 and self.n > 1:
            # The rate must not increase when experts join.
            self.eta = min(self.eta, -float(self.log_prior.min()) / self.gaps)

    def bound(self) -> FloatArray:
        """Return ``ln n/η + Δ`` for every k. This is 2Δ if no expert has joined."""
        return np.full(self.n, -float(self.log_prior.min()) / self.eta + self.gaps)


class FixedShare(Rule):
    """Fixed Share: exponential weights at rate η, then a share α of the weight is divided evenly among all experts.

    It has small regret to sequences of experts with few switches (Herbster and Warmuth 1998).

    See docs/theory.md, "Fixed Share".
    """

    id: ClassVar[str] = "fixed-share"
    fixed_rate: ClassVar[bool] = True

    def __init__(self, prior: FloatArray, eta: float, alpha: float) -> None:
        self.eta, self.alpha = float(eta), float(alpha)
        self.gaps = 0.0
        self.z = np.zeros(0)
        super().__init__(prior)

    def join(self, prior: FloatArray) -> None:
        """Add experts, each with its prior as its weight. The weights of the others are scaled down."""
        old = self.n
        log_old_share = np.log(prior[:old].sum()) if old else 0.0
        self.z = np.concatenate([self.z + log_old_share, np.log(prior[old:])])
        super().join(prior)

    def weights(self) -> FloatArray:
        """Return the weights. They sum to 1."""
        return np.exp(self.z)

    def log_weights(self) -> FloatArray:
        """Return the logarithms of the weights, which are the state: with α = 0, a weight may underflow and recover."""
        return self.z

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """Compute ``w ← α/n + (1−α)·w e^{ηr}/Σ`` in logarithms."""
        spread = float(r.max() - r.min())
        self.gaps += min(spread, self.eta * spread**2 / 8)
        v = self.z + self.eta * r
        v -= log_sum_exp(v)
        self.z = np.logaddexp(math.log(self.alpha / self.n), math.log1p(-self.alpha) + v) if self.alpha else v
        self.R += r

    def bound(self) -> FloatArray:
        """Return the bound without switches: ``(ln(1/π) + (T−1) ln(1/(1−α)))/η + Σ gaps``."""
        return shared_regret(-self.log_prior, self.eta, self.alpha, max(0, self.rounds - 1)) + self.gaps


class MLEwa(Rule):
    """ML-EWA: ``w ∝ π e^{η_k R_k}`` with a rate per expert, ``η_k = √(ln n/V_k)``, as in opera. No theorem is known.

    See docs/theory.md, "ML-Ewa".
    """

    id: ClassVar[str] = "ml-ewa"
    per_expert: ClassVar[tuple[str, ...]] = ("V",)
    V: FloatArray

    def weights(self) -> FloatArray:
        """Return ``π e^{ηR}``. An expert without regrets so far has its prior as its weight."""
        return softmax(self.log_weights())

    def log_weights(self) -> FloatArray:
        """Return ``ln π + ηR``."""
        rate = np.sqrt(math.log(max(self.n, 2)) / np.where(self.V > 0, self.V, 1.0))
        return self.log_prior + np.where(self.V > 0, rate * self.R, 0.0)

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """Add r to R and r² to V."""
        self.R += r
        self.V += r**2
