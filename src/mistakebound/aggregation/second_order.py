"""Weights that learn a rate for each expert from the squares of its regrets: BOA, ML-Prod, Squint."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.aggregation.base import Rule, softmax
from mistakebound.bounds.regret import second_order_regret

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray


class FixedBOA(Rule):
    """``w ∝ π e^{ηR − η²V}`` with a fixed rate, η|r| ≤ ½: ``R_k ≤ ln(1/π_k)/η + ηV_k`` (Wintenberger 2017).

    See docs/theory.md, "BOA at a fixed rate".
    """

    id: ClassVar[str] = "boa"
    has_unit: ClassVar[bool] = True
    own: ClassVar[tuple[str, ...]] = ("V",)
    V: FloatArray

    def __init__(self, prior: FloatArray, eta: float) -> None:
        self.eta = float(eta)
        self.largest = 0.0
        super().__init__(prior)

    def weights(self) -> FloatArray:
        """``π e^{ηR − η²V}``."""
        return softmax(self.logs())

    def logs(self) -> FloatArray:
        """``ln π + ηR − η²V``."""
        return self.log_prior + self.eta * (self.R - self.eta * self.V)

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """``R += r``, ``V += r²``."""
        self.largest = max(self.largest, float(np.abs(r).max()))
        self.R += r
        self.V += r**2

    def bound(self) -> FloatArray:
        """``ln(1/π)/η + ηV``; asked for only if η|r| was at most ½."""
        return second_order_regret(-self.log_prior, self.eta, self.V)


class BOA(Rule):
    """``w ∝ π η_k e^{η_k X_k}``, ``X += s − η s²``, ``η_k = min(1/2B, √(ln n/V_k))``: Bernstein's inequality at work.

    The range B is not known ahead. s is r, shrunk to the range that was known before the round: ``s = r·B_{t−1}/B_t``;
    what is lost so is at most ``B_T − B_1``. (In the first round weights do not depend on the rate: nothing is shrunk.)

    See docs/theory.md, "BOA with adaptive rates".
    """

    id: ClassVar[str] = "boa-adaptive"
    own: ClassVar[tuple[str, ...]] = ("V", "X", "eta", "cost")
    V: FloatArray
    X: FloatArray
    eta: FloatArray
    cost: FloatArray

    def __init__(self, prior: FloatArray) -> None:
        self.largest = self.first = self.drift = 0.0
        super().__init__(prior)

    def weights(self) -> FloatArray:
        """``π η e^{ηX}``."""
        return softmax(self.logs())

    def logs(self) -> FloatArray:
        """The prior while there is no range."""
        return self.log_prior if self.largest == 0 else self.log_prior + np.log(self.eta) + self.eta * self.X

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """Gain at the rate of before the round, then new rates."""
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
        self.eta = np.minimum(old, self._rates())  # they must not rise when n does
        self.drift += float(np.exp(self.log_prior) @ (old / self.eta - 1))

    def join(self, prior: FloatArray) -> None:
        """A newcomer has the rate of one without regrets; the others keep theirs."""
        old = self.n
        super().join(prior)
        if self.largest > 0:
            self.eta[old:] = self._rates()[old:]

    def gain(self, s: FloatArray, eta: FloatArray) -> FloatArray:
        """``s − η s²``."""
        return s - eta * s**2

    def _rates(self) -> FloatArray:
        safe = np.where(self.V > 0, self.V, 1.0)
        return np.where(self.V > 0, np.minimum(0.5 / self.largest, np.sqrt(self._log_n() / safe)), 0.5 / self.largest)

    def _log_n(self) -> float:
        return math.log(max(self.n, 2))

    def bound(self) -> FloatArray | None:
        """``B_T − B_1 + Σ η_{t−1}s² + (ln(1/π) + ln(1 + D/e))/η_T``, ``D = Σ_k π_k Σ_t (η_{t−1}/η_t − 1)``."""
        if self.largest == 0:
            return np.zeros(self.n)
        tail = (-self.log_prior + math.log1p(self.drift / math.e)) / self.eta
        return (self.largest - self.first) + self.cost + tail


class MLProd(BOA):
    """BOA's rates with ``X += ln(1 + ηs)/η``, which is never less: ``w_k ∝ η_k Π(1 + ηs)`` (Gaillard et al. 2014).

    See docs/theory.md, "ML-Prod".
    """

    id: ClassVar[str] = "ml-prod"

    def gain(self, s: FloatArray, eta: FloatArray) -> FloatArray:
        """``ln(1 + ηs)/η``."""
        return np.asarray(np.log1p(eta * s) / eta)


class ObservedBOA(BOA):
    """BOA whose rates already know the round that they are used for, and each expert's own range, as in R's opera.

    ``η_k = min(1/2b_k, √(ln n/V_k))``. Better on real data than what is proved, for the rates are larger; no theorem is
    known to us.

    See docs/theory.md, "Observed rates and rates from a grid".
    """

    id: ClassVar[str] = "boa-observed"
    own: ClassVar[tuple[str, ...]] = ("V", "X", "eta", "cost", "b")
    b: FloatArray

    def logs(self) -> FloatArray:
        """One who has had no regrets yet has the largest rate of the others."""
        if self.largest == 0:
            return self.log_prior
        eta = np.where(self.b > 0, self.eta, self.eta[self.b > 0].max())
        return self.log_prior + np.log(eta) + eta * self.X

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """New rates first, then the gain at them."""
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
        """None is known."""
        return


class ObservedMLProd(ObservedBOA):
    """ML-Prod with the rates of `ObservedBOA`."""

    id: ClassVar[str] = "ml-prod-observed"

    def gain(self, s: FloatArray, eta: FloatArray) -> FloatArray:
        """``ln(1 + ηs)/η``."""
        return np.asarray(np.log1p(eta * s) / eta)


class Squint(Rule):
    """``w ∝ π ∫₀^{1/2B} e^{ηR − η²V} dη``: all rates at once, none chosen (Koolen and van Erven 2015).

    Regrets are shrunk to the range known before, as in `BOA`. ``Σ_k π_k ∫ (e^{ηR−η²V} − 1)/η dη`` starts at 0 and rises
    only when B does, by at most ``ln(B_t/B_{t−1})``: a bound on R is read off by `squint_regret`.

    See docs/theory.md, "Squint".
    """

    id: ClassVar[str] = "squint"
    own: ClassVar[tuple[str, ...]] = ("V", "S")
    V: FloatArray
    S: FloatArray

    def __init__(self, prior: FloatArray) -> None:
        self.largest = self.first = 0.0
        super().__init__(prior)

    def weights(self) -> FloatArray:
        """``π ∫₀^{1/2B} e^{ηR − η²V} dη``."""
        return softmax(self.logs())

    def logs(self) -> FloatArray:
        """The prior while there is no range."""
        if self.largest == 0:
            return self.log_prior
        return self.log_prior + log_integral(self.S, self.V, 0.5 / self.largest)

    def learn(self, r: FloatArray, h: float) -> None:  # noqa: ARG002
        """S gathers what is shrunk, R what was lost."""
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
        """``B_T − B_1 +`` the largest S that the potential allows."""
        if self.largest == 0:
            return np.zeros(self.n)
        risen = math.log(self.largest / self.first)
        return (self.largest - self.first) + squint_regret(self.V, self.log_prior, self.largest, self.rounds, risen)


def log_integral(R: FloatArray, V: FloatArray, h: float) -> FloatArray:
    """``ln ∫₀^h e^{xR − x²V} dx``, elementwise, V ≥ 0, without overflow."""
    from scipy.special import log_ndtr  # noqa: PLC0415 - import must not need scipy

    out = np.empty(len(R))
    flat = V * h * h < 1e-8  # then the square is below rounding
    a = np.abs(R[flat] * h)
    safe = np.where(a > 1e-8, a, 1.0)
    out[flat] = np.log(h) + np.where(
        a > 1e-8, np.maximum(R[flat] * h, 0) + np.log(-np.expm1(-safe) / safe), R[flat] * h / 2
    )
    r, v = R[~flat], V[~flat]
    width = np.sqrt(2 * v)
    low, high = -r / width, h * width - r / width  # of a standard normal
    flip = low > 0  # both logarithms in the tail where they are accurate
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    top, bottom = log_ndtr(high), log_ndtr(low)
    between = top + np.log1p(-np.exp(np.minimum(bottom - top, -1e-300)))
    out[~flat] = 0.5 * np.log(np.pi / v) + r * r / (4 * v) + between
    return out


def squint_regret(V: FloatArray, log_prior: FloatArray, largest: float, rounds: int, risen: float) -> FloatArray:
    """The largest S that is possible while ``Σ_k π_k ∫₀^h (e^{xS−x²V} − 1)/x dx ≤ risen``, h = 1/(2·largest).

    The other experts' terms are at least −C, ``C = ln((T+1)/2) + 1 + 1/(2(T+1))``: up to x = 1/(B(T+1)) the integrand
    is at least S − xV ≥ −TB − xTB², and beyond it −1/x. So ``π_k ∫₀^h … ≤ risen + C``. The integral is bounded from
    below by its part up to ``x₁ = min(h, S/V)``, where the integrand is positive, less ``ln(h/x₁)``; the rest is
    bisection.

    See docs/theory.md, "Squint".
    """
    V, h = V / largest**2, 0.5  # in units of the largest regret, whatever it is
    owed = math.log((rounds + 1) / 2) + 1 + 0.5 / (rounds + 1)
    limit = (risen + owed) / np.exp(log_prior)
    node, weight = np.polynomial.legendre.leggauss(64)
    u, weight = (node + 1) / 2, weight / 2

    def least(S: FloatArray) -> FloatArray:
        x = np.minimum(h, S / np.maximum(V, 1e-200))
        exponent = np.minimum(x[:, None] * u * (S[:, None] - x[:, None] * u * V[:, None]), 700.0)
        return np.asarray((np.expm1(exponent) / u) @ weight - np.log(h / x))

    low, high = np.full(len(V), 1e-9), np.ones(len(V))
    for _ in range(200):
        more = least(high) <= limit
        if not more.any():
            break
        high = np.where(more, 2 * high, high)
    for _ in range(40):
        middle = (low + high) / 2
        fits = least(middle) <= limit
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return high * largest
