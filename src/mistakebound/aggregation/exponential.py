"""Weights that are exponential in the regret: Hedge, AdaHedge, Fixed Share, and a rate for each expert."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.aggregation.base import Rule, log_sum_exp, softmax
from mistakebound.bounds.regret import concave_regret, shared_regret

if TYPE_CHECKING:
    from mistakebound._support.arrays import BoolArray, FloatArray


class Exponential(Rule):
    """``w ∝ π e^{ηR}``; ``η_t`` never rises.

    ``R_k ≤ ln(1/π_k)/η_T + Σ gaps``; the gap of a round in which losses spread over s is at most min(s, η s²/8)
    (Hoeffding).

    See docs/theory.md, "Hedge".
    """

    id: ClassVar[str] = "hedge"
    has_unit: ClassVar[bool] = True

    def __init__(self, prior: FloatArray, eta: float) -> None:
        self.eta = float(eta)
        self.gaps = 0.0
        super().__init__(prior)

    def weights(self) -> FloatArray:
        """``π e^{ηR}``; η = ∞ are the leaders."""
        if math.isinf(self.eta):
            return np.where(self.R.max() <= self.R, np.exp(self.log_prior), 0.0)
        return softmax(self.logs())

    def logs(self) -> FloatArray:
        """``ln π + ηR``, η finite."""
        return self.log_prior + self.eta * self.R

    def among(self, awake: BoolArray) -> FloatArray:
        """Among some, too, η = ∞ are the leaders."""
        if math.isinf(self.eta):
            return np.where(awake & (self.R[awake].max() <= self.R), np.exp(self.log_prior), 0.0)
        return super().among(awake)

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002 - all that matters is in r
        """``R += r``."""
        spread = float(r.max() - r.min())
        self.gaps += spread if math.isinf(self.eta) else min(spread, self.eta * spread**2 / 8)
        self.R += r

    def bound(self) -> FloatArray:
        """``ln(1/π)/η + Σ min(s, η s²/8)``."""
        return concave_regret(-self.log_prior, self.eta) + self.gaps


class ExpConcave(Exponential):
    """The same at a rate at which ``e^{−ηℓ}`` is concave in the forecast: ``R_k ≤ ln(1/π_k)/η``, whatever T.

    See docs/theory.md, "The exponentially weighted average".
    """

    id: ClassVar[str] = "exponentially-weighted-average"

    def bound(self) -> FloatArray:
        """``ln(1/π)/η``: by concavity ``Σ π e^{ηR}`` never rises."""
        return concave_regret(-self.log_prior, self.eta)


class Anytime(Exponential):
    """Hedge with ``η_t = 2√(ln n/t)/S``, S the widest spread of losses in a round so far: ``R ≤ S√(T ln n)`` about.

    See docs/theory.md, "Hedge".
    """

    has_unit: ClassVar[bool] = False

    def __init__(self, prior: FloatArray) -> None:
        self.widest = 0.0
        super().__init__(prior, math.inf)

    def learn(self, r: FloatArray, h: float) -> None:
        """Then the rate of the next round."""
        super().learn(r, h)
        self.widest = max(self.widest, float(r.max() - r.min()))
        if self.widest > 0:
            self.eta = min(self.eta, 2 * math.sqrt(math.log(max(self.n, 2)) / (self.rounds + 2)) / self.widest)


class AdaHedge(Exponential):
    """``η = ln n/Δ``, Δ the sum of the gaps so far: needs no horizon, no range; ``R ≤ 2Δ`` (de Rooij et al. 2014).

    See docs/theory.md, "AdaHedge".
    """

    id: ClassVar[str] = "adahedge"
    has_unit: ClassVar[bool] = False

    def __init__(self, prior: FloatArray) -> None:
        self.variance = self.widest = 0.0
        super().__init__(prior, math.inf)

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """Δ += h − m, m the mix loss; from logarithms, since a weight that was lost may lead after this round."""
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
            self.eta = min(self.eta, -float(self.log_prior.min()) / self.gaps)  # it must not rise when n does

    def bound(self) -> FloatArray:
        """``ln n/η + Δ``, for every k: 2Δ, unless experts have joined."""
        return np.full(self.n, -float(self.log_prior.min()) / self.eta + self.gaps)


class FixedShare(Rule):
    """Exponential weights at rate η; then a share α is spread evenly: competes with experts that are switched.

    See docs/theory.md, "Fixed Share".
    """

    id: ClassVar[str] = "fixed-share"
    has_unit: ClassVar[bool] = True

    def __init__(self, prior: FloatArray, eta: float, alpha: float) -> None:
        self.eta, self.alpha = float(eta), float(alpha)
        self.gaps = 0.0
        self.z = np.zeros(0)
        super().__init__(prior)

    def join(self, prior: FloatArray) -> None:
        """Newcomers get their part of the prior."""
        old = self.n
        kept = np.log(prior[:old].sum()) if old else 0.0
        self.z = np.concatenate([self.z + kept, np.log(prior[old:])])
        super().join(prior)

    def weights(self) -> FloatArray:
        """Sum to 1."""
        return np.exp(self.z)

    def logs(self) -> FloatArray:
        """All that is kept: without a share a weight may be too small for a number, and come back."""
        return self.z

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """``w ← α/n + (1−α)·w e^{ηr}/Σ``, in logarithms."""
        spread = float(r.max() - r.min())
        self.gaps += min(spread, self.eta * spread**2 / 8)
        v = self.z + self.eta * r
        v -= log_sum_exp(v)
        self.z = np.logaddexp(math.log(self.alpha / self.n), math.log1p(-self.alpha) + v) if self.alpha else v
        self.R += r

    def bound(self) -> FloatArray:
        """Against one expert, who is never left: ``(ln(1/π) + (T−1) ln(1/(1−α)))/η + Σ gaps``."""
        return shared_regret(-self.log_prior, self.eta, self.alpha, max(0, self.rounds - 1)) + self.gaps


class MLEwa(Rule):
    """``w ∝ π e^{η_k R_k}``, ``η_k = √(ln n/V_k)``: a rate for each expert, as in opera. No theorem is known to us.

    See docs/theory.md, "ML-Ewa".
    """

    id: ClassVar[str] = "ml-ewa"
    own: ClassVar[tuple[str, ...]] = ("V",)
    V: FloatArray

    def weights(self) -> FloatArray:
        """An expert with no regret of either sign yet has only its prior."""
        return softmax(self.logs())

    def logs(self) -> FloatArray:
        """``ln π + ηR``."""
        rate = np.sqrt(math.log(max(self.n, 2)) / np.where(self.V > 0, self.V, 1.0))
        return self.log_prior + np.where(self.V > 0, rate * self.R, 0.0)

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """``R += r``, ``V += r²``."""
        self.R += r
        self.V += r**2
