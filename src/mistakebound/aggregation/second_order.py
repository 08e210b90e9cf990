"""Rules with a rate for each expert, computed from the squares of its regrets: BOA, ML-Prod, Squint."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.aggregation.base import Rule, softmax
from mistakebound.bounds.regret import second_order_regret

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray


class FixedBOA(Rule):
    """BOA with a fixed rate: ``w ∝ π e^{ηR − η²V}``.

    If ``η|r| ≤ ½`` in every round, ``R_k ≤ ln(1/π_k)/η + ηV_k`` (Wintenberger 2017).

    See docs/theory.md, "BOA at a fixed rate".
    """

    id: ClassVar[str] = "boa"
    fixed_rate: ClassVar[bool] = True
    per_expert: ClassVar[tuple[str, ...]] = ("V",)
    V: FloatArray

    def __init__(self, prior: FloatArray, eta: float) -> None:
        self.eta = float(eta)
        self.largest = 0.0
        super().__init__(prior)

    def weights(self) -> FloatArray:
        """Return ``π e^{ηR − η²V}``."""
        return softmax(self.log_weights())

    def log_weights(self) -> FloatArray:
        """Return ``ln π + ηR − η²V``."""
        return self.log_prior + self.eta * (self.R - self.eta * self.V)

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """Add r to R and r² to V."""
        self.largest = max(self.largest, float(np.abs(r).max()))
        self.R += r
        self.V += r**2

    def bound(self) -> FloatArray:
        """Return ``ln(1/π)/η + ηV``. It holds only if ``η|r| ≤ ½`` in every round, which the caller must check."""
        return second_order_regret(-self.log_prior, self.eta, self.V)


class BOA(Rule):
    """BOA: ``w ∝ π η_k e^{η_k X_k}`` with ``X += s − η s²`` and ``η_k = min(1/2B, √(ln n/V_k))``.

    B is the largest |r| so far, because the range is not known in advance. If a round raises it from ``B_{t−1}`` to
    ``B_t``, its regrets are scaled down to the old range: ``s = r·B_{t−1}/B_t``. Over all rounds this changes R by at
    most ``B_T − B_1``. The first round is not scaled, because its weights do not depend on the rate.

    See docs/theory.md, "BOA with adaptive rates".
    """

    id: ClassVar[str] = "boa-adaptive"
    per_expert: ClassVar[tuple[str, ...]] = ("V", "X", "eta", "cost")
    V: FloatArray
    X: FloatArray
    eta: FloatArray
    cost: FloatArray

    def __init__(self, prior: FloatArray) -> None:
        self.largest = self.first = self.drift = 0.0
        super().__init__(prior)

    def weights(self) -> FloatArray:
        """Return ``π η e^{ηX}``."""
        return softmax(self.log_weights())

    def log_weights(self) -> FloatArray:
        """Return ``ln π + ln η + ηX``, or ``ln π`` if all regrets so far are 0."""
        return self.log_prior if self.largest == 0 else self.log_prior + np.log(self.eta) + self.eta * self.X

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """Update X at the old rates, then compute new rates."""
        range_now = max(self.largest, float(np.abs(r).max()))
        if range_now == 0:
            return
        if self.largest == 0:
            self.largest = self.first = range_now
            self.eta = self._rates()
        s = r * (self.largest / range_now)
        self.largest = range_now
        old = self.eta
        self.X += self.gain(s, old)
        self.cost += old * s**2
        self.R += r
        self.V += s**2
        self.eta = np.minimum(old, self._rates())  # rates must not increase when experts join
        self.drift += float(np.exp(self.log_prior) @ (old / self.eta - 1))

    def join(self, prior: FloatArray) -> None:
        """Add experts with the rate of an expert without regrets. The others keep their rates."""
        old = self.n
        super().join(prior)
        if self.largest > 0:
            self.eta[old:] = self._rates()[old:]

    def gain(self, s: FloatArray, eta: FloatArray) -> FloatArray:
        """Return ``s − η s²``."""
        return s - eta * s**2

    def _rates(self) -> FloatArray:
        safe = np.where(self.V > 0, self.V, 1.0)
        return np.where(self.V > 0, np.minimum(0.5 / self.largest, np.sqrt(self._log_n() / safe)), 0.5 / self.largest)

    def _log_n(self) -> float:
        return math.log(max(self.n, 2))

    def bound(self) -> FloatArray | None:
        """Return ``B_T − B_1 + Σ η_{t−1}s² + (ln(1/π) + ln(1 + D/e))/η_T``.

        D is ``Σ_k π_k Σ_t (η_{t−1}/η_t − 1)``.
        """
        if self.largest == 0:
            return np.zeros(self.n)
        tail = (-self.log_prior + math.log1p(self.drift / math.e)) / self.eta
        return (self.largest - self.first) + self.cost + tail


class MLProd(BOA):
    """ML-Prod: BOA with ``X += ln(1 + ηs)/η``, which is at least ``s − η s²`` (Gaillard et al. 2014).

    See docs/theory.md, "ML-Prod".
    """

    id: ClassVar[str] = "ml-prod"

    def gain(self, s: FloatArray, eta: FloatArray) -> FloatArray:
        """Return ``ln(1 + ηs)/η``."""
        return np.asarray(np.log1p(eta * s) / eta)


class ObservedBOA(BOA):
    """BOA with rates that include the current round and the range of each expert, as in the R package opera.

    ``η_k = min(1/2b_k, √(ln n/V_k))``, where ``b_k`` is the largest |r_k| so far. The rates are larger than those of
    `BOA`, and the losses on real data are usually smaller, but no theorem is known.

    See docs/theory.md, "Observed rates and rates from a grid".
    """

    id: ClassVar[str] = "boa-observed"
    per_expert: ClassVar[tuple[str, ...]] = ("V", "X", "eta", "cost", "b")
    b: FloatArray

    def log_weights(self) -> FloatArray:
        """Return ``ln π + ln η + ηX``. An expert without regrets so far has the largest rate of the others."""
        if self.largest == 0:
            return self.log_prior
        eta = np.where(self.b > 0, self.eta, self.eta[self.b > 0].max())
        return self.log_prior + np.log(eta) + eta * self.X

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """Compute new rates, then update X at the new rates."""
        self.largest = max(self.largest, float(np.abs(r).max()))
        self.b = np.maximum(self.b, np.abs(r))
        self.V += r**2
        self.R += r
        if self.largest > 0:
            self.eta = self._rates()
            self.X += np.where(self.b > 0, self.gain(r, self.eta), 0.0)

    def _rates(self) -> FloatArray:
        b, V = np.where(self.b > 0, self.b, 1.0), np.where(self.b > 0, self.V, 1.0)
        return np.minimum(0.5 / b, np.sqrt(self._log_n() / V))

    def bound(self) -> None:
        """Return None, because no theorem is known."""
        return


class ObservedMLProd(ObservedBOA):
    """ML-Prod with the rates of `ObservedBOA`.

    See docs/theory.md, "Observed rates and rates from a grid".
    """

    id: ClassVar[str] = "ml-prod-observed"

    def gain(self, s: FloatArray, eta: FloatArray) -> FloatArray:
        """Return ``ln(1 + ηs)/η``."""
        return np.asarray(np.log1p(eta * s) / eta)


class Squint(Rule):
    """Squint: ``w ∝ π ∫₀^{1/2B} e^{ηR − η²V} dη``, an integral over all rates (Koolen and van Erven 2015).

    Regrets are scaled down to the old range, as in `BOA`. The potential ``Σ_k π_k ∫ (e^{ηR−η²V} − 1)/η dη`` starts at 0
    and increases only when B increases, by at most ``ln(B_t/B_{t−1})``. `squint_regret` computes a bound on R from it.

    See docs/theory.md, "Squint".
    """

    id: ClassVar[str] = "squint"
    per_expert: ClassVar[tuple[str, ...]] = ("V", "S")
    V: FloatArray
    S: FloatArray

    def __init__(self, prior: FloatArray) -> None:
        self.largest = self.first = 0.0
        super().__init__(prior)

    def weights(self) -> FloatArray:
        """Return ``π ∫₀^{1/2B} e^{ηR − η²V} dη``."""
        return softmax(self.log_weights())

    def log_weights(self) -> FloatArray:
        """Return ``ln(π ∫₀^{1/2B} e^{ηR − η²V} dη)``, or ``ln π`` if all regrets so far are 0."""
        if self.largest == 0:
            return self.log_prior
        return self.log_prior + log_integral(self.S, self.V, 0.5 / self.largest)

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """Add the regrets to R, and the scaled regrets s to S."""
        range_now = max(self.largest, float(np.abs(r).max()))
        if range_now == 0:
            return
        if self.largest == 0:
            self.largest = self.first = range_now
        s = r * (self.largest / range_now)
        self.largest = range_now
        self.R += r
        self.S += s
        self.V += s**2

    def bound(self) -> FloatArray:
        """Return ``B_T − B_1`` plus the largest S that the potential allows."""
        if self.largest == 0:
            return np.zeros(self.n)
        increase = math.log(self.largest / self.first)
        return (self.largest - self.first) + squint_regret(self.V, self.log_prior, self.largest, self.rounds, increase)


def log_integral(R: FloatArray, V: FloatArray, h: float) -> FloatArray:
    """Return ``ln ∫₀^h e^{xR − x²V} dx`` for each element without overflow. V must be at least 0."""
    from scipy.special import log_ndtr  # noqa: PLC0415 - importing mistakebound must not import scipy

    out = np.empty(len(R))
    flat = V * h * h < 1e-8  # there x²V is negligible
    a = np.abs(R[flat] * h)
    safe = np.where(a > 1e-8, a, 1.0)
    out[flat] = np.log(h) + np.where(
        a > 1e-8, np.maximum(R[flat] * h, 0) + np.log(-np.expm1(-safe) / safe), R[flat] * h / 2
    )
    r, v = R[~flat], V[~flat]
    width = np.sqrt(2 * v)
    low, high = -r / width, h * width - r / width  # the limits of integration for a standard normal
    flip = low > 0  # use the left tail, where log_ndtr is accurate
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    top, bottom = log_ndtr(high), log_ndtr(low)
    between = top + np.log1p(-np.exp(np.minimum(bottom - top, -1e-300)))
    out[~flat] = 0.5 * np.log(np.pi / v) + r * r / (4 * v) + between
    return out


def squint_regret(V: FloatArray, log_prior: FloatArray, largest: float, rounds: int, increase: float) -> FloatArray:
    """Return the largest S with ``Σ_k π_k ∫₀^h (e^{xS−x²V} − 1)/x dx ≤ increase``, where h = 1/(2·largest).

    The terms of the other experts are at least −C with ``C = ln((T+1)/2) + 1 + 1/(2(T+1))``, because the integrand is
    at least ``S − xV ≥ −TB − xTB²`` for ``x ≤ 1/(B(T+1))``, and at least −1/x for larger x. Hence
    ``π_k ∫₀^h … ≤ increase + C``. A lower bound of the integral is its part up to ``x₁ = min(h, S/V)``, where the
    integrand is positive, minus ``ln(h/x₁)``. The largest S is found by bisection.

    See docs/theory.md, "Squint".
    """
    V, h = V / largest**2, 0.5  # in units of the largest regret
    C = math.log((rounds + 1) / 2) + 1 + 0.5 / (rounds + 1)
    limit = (increase + C) / np.exp(log_prior)
    node, weight = np.polynomial.legendre.leggauss(64)
    u, weight = (node + 1) / 2, weight / 2

    def lower_bound(S: FloatArray) -> FloatArray:
        x = np.minimum(h, S / np.maximum(V, 1e-200))
        exponent = np.minimum(x[:, None] * u * (S[:, None] - x[:, None] * u * V[:, None]), 700.0)
        return np.asarray((np.expm1(exponent) / u) @ weight - np.log(h / x))

    low, high = np.full(len(V), 1e-9), np.ones(len(V))
    for _ in range(200):
        more = lower_bound(high) <= limit
        if not more.any():
            break
        high = np.where(more, 2 * high, high)
    for _ in range(40):
        middle = (low + high) / 2
        fits = lower_bound(middle) <= limit
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return high * largest
