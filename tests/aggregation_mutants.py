"""Mutants: rules over experts that are wrong on purpose, in signs, factors, exponents, rates or sleep."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from aggregation_games import RULES, Subject

from mistakebound.aggregation.base import softmax
from mistakebound.aggregation.gradient import OGD, onto_simplex
from mistakebound.aggregation.reference import Mixture, Served, regrets
from mistakebound.aggregation.ridge import Ridge
from mistakebound.aggregation.second_order import log_integral

if TYPE_CHECKING:
    from collections.abc import Callable

MUTANTS: list[tuple[str, Subject]] = []
"""Pairs of the original rule and its mutant."""
RIDGES: list[type[Ridge]] = []
MIXTURES: list[type[Mixture]] = []


def mutant(rule: str, name: str, **methods: Callable[..., Any]) -> None:
    """Add a rule with some of its methods replaced."""
    base = RULES[rule].rule
    broken = type(base.__name__, (base,), methods)
    MUTANTS.append((rule, Subject(broken, name=f"{rule}: {name}")))


def patched(rule: str, name: str, learn: Callable[[Any, np.ndarray, float, Callable[..., None]], None]) -> None:
    """Add a rule with another ``learn``, which gets the original one as an argument."""
    right = RULES[rule].rule.learn
    mutant(rule, name, learn=lambda self, r, h: learn(self, r, h, lambda r, h: right(self, r, h)))


def gain(rule: Any, r: Any) -> None:
    rule.R += r


# Signs and factors, for all rules that have them.
for _rule in RULES:
    patched(_rule, "wrong sign", lambda self, r, h, right: right(-r, h))
    patched(_rule, "forgets losses", lambda self, r, h, right: right(np.maximum(r, 0), h))
    mutant(
        _rule, "prior lost", join=lambda self, prior, _r=_rule: RULES[_r].rule.join(self, 0 * prior + 1 / len(prior))
    )
for _rule in ("Exponential", "ExpConcave", "Anytime", "AdaHedge"):
    _weights = RULES[_rule].rule.weights
    mutant(_rule, "twice the rate", weights=lambda self, w=_weights: w(self) * softmax(min(self.eta, 1e9) * self.R))
    mutant(_rule, "weights are not exponential", weights=lambda self: np.maximum(1 + min(self.eta, 9) * self.R, 0))
for _rule in ("Exponential", "Anytime", "FixedShare"):

    def _gap_of_4(self: Any, r: Any, h: float, right: Any) -> None:
        before = self.gaps
        right(r, h)
        self.gaps = before + (self.gaps - before) / 2

    patched(_rule, "gaps of s²/16", _gap_of_4)

# Hedge and related rules.
mutant("Exponential", "one leader", weights=lambda self: np.eye(self.n)[np.argmax(self.R)] + 1e-12)
mutant("Exponential", "bound without the prior", bound=lambda self: np.full(self.n, self.gaps))
mutant("Exponential", "prior forgotten in weights", weights=lambda self: softmax(self.eta * self.R))
mutant("ExpConcave", "rate in the numerator", bound=lambda self: -self.log_prior * self.eta)
mutant("ExpConcave", "half the rate", weights=lambda self: softmax(self.log_prior + self.eta / 2 * self.R))


def _rate(of: Callable[[Any], float]) -> Callable[..., None]:
    def learn(self: Any, r: Any, h: float, right: Any) -> None:
        before = self.eta
        right(r, h)
        if self.widest > 0:
            self.eta = of(self) if not math.isnan(of(self)) else before

    return learn


def _log_n(rule: Any) -> float:
    return math.log(max(rule.n, 2))


patched("Anytime", "rate of the round before", _rate(lambda q: 2 * math.sqrt(_log_n(q) / (q.rounds + 1)) / q.widest))
patched("Anytime", "root lost", _rate(lambda q: 2 * _log_n(q) / (q.rounds + 2) / q.widest))
patched("Anytime", "half the rate", _rate(lambda q: math.sqrt(_log_n(q) / (q.rounds + 2)) / q.widest))
patched("Anytime", "range lost", _rate(lambda q: 2 * math.sqrt(_log_n(q) / (q.rounds + 2))))


def _last_spread(self: Any, r: Any, h: float, right: Any) -> None:
    self.widest = 0.0
    right(r, h)


patched("Anytime", "range of the last round", lambda self, r, h, right: _last_spread(self, r, h, right))
patched("AdaHedge", "rate 1/Δ", _rate(lambda q: 1 / q.gaps if q.gaps else math.nan))
patched("AdaHedge", "rate of 2Δ", _rate(lambda q: _log_n(q) / q.gaps / 2 if q.gaps else math.nan))
mutant("AdaHedge", "bound Δ", bound=lambda self: np.full(self.n, self.gaps))


def _spread_for_gap(self: Any, r: Any, h: float, right: Any) -> None:
    before = self.gaps
    right(r, h)
    self.gaps = before + float(r.max() - r.min())
    self.eta = _log_n(self) / self.gaps if self.gaps else math.inf


def _gap_of_after(self: Any, r: Any, h: float, right: Any) -> None:
    before = self.gaps
    right(r, h)
    w = self.weights() / self.weights().sum()
    self.gaps = max(before, self.gaps + float(-w @ r))


patched("AdaHedge", "spread for gap", _spread_for_gap)
patched("AdaHedge", "gap with the weights of after", _gap_of_after)


def _share(shared: Callable[[Any, np.ndarray], np.ndarray]) -> Callable[..., None]:
    def learn(self: Any, r: Any, h: float, right: Any) -> None:
        w = self.weights()
        right(r, h)
        v = softmax(np.log(np.maximum(w, 1e-300)) + self.eta * r)
        self.z = np.log(np.maximum(shared(self, v / v.sum()), 1e-300))

    return learn


patched("FixedShare", "no share", _share(lambda q, v: v))
patched("FixedShare", "share not divided", _share(lambda q, v: q.alpha + (1 - q.alpha) * v))
patched("FixedShare", "shares everything", _share(lambda q, v: np.full(q.n, 1 / q.n)))
patched("FixedShare", "share by the prior", _share(lambda q, v: q.alpha * np.exp(q.log_prior) + (1 - q.alpha) * v))
patched(
    "FixedShare", "share to the others only", _share(lambda q, v: (1 - q.alpha) * v + q.alpha * (1 - v) / (q.n - 1))
)
patched("FixedShare", "1 + α kept", _share(lambda q, v: q.alpha / q.n + (1 + q.alpha) * v))


def _share_first(self: Any, r: Any, h: float, right: Any) -> None:
    self.z = np.log(self.alpha / self.n + (1 - self.alpha) * self.weights())
    right(r, h)


patched("FixedShare", "shares twice", _share_first)
mutant("FixedShare", "stays are free", bound=lambda self: -self.log_prior / self.eta + self.gaps)
mutant(
    "FixedShare",
    "a stay too many",
    bound=lambda self: (-self.log_prior - self.rounds * math.log1p(-self.alpha)) / self.eta + self.gaps,
)


def _of_ewa(exponent: Callable[[Any], np.ndarray]) -> Callable[[Any], np.ndarray]:
    return lambda self: softmax(self.log_prior + np.where(self.V > 0, exponent(self), 0.0))


def _safe(V: np.ndarray) -> np.ndarray:
    return np.where(V > 0, V, 1.0)


mutant("MLEwa", "root lost", weights=_of_ewa(lambda q: _log_n(q) / _safe(q.V) * q.R))
mutant("MLEwa", "n lost", weights=_of_ewa(lambda q: q.R / np.sqrt(_safe(q.V))))
mutant("MLEwa", "one rate for all", weights=_of_ewa(lambda q: np.sqrt(_log_n(q) / _safe(q.V).max()) * q.R))

# ML-Poly.
mutant("MLPoly", "no positive part", weights=lambda self: np.abs(self.R) / (self.largest**2 + self.V + 1e-300) + 1e-300)
mutant("MLPoly", "rates lost", weights=lambda self: np.maximum(self.R, 0) + (1e-300 if self.R.max() <= 0 else 0))


def _of_poly(rate: Callable[[Any], np.ndarray]) -> Callable[[Any], np.ndarray]:
    def weights(self: Any) -> np.ndarray:
        gained = np.maximum(self.R, 0)
        if gained.max() <= 0:
            return np.exp(self.log_prior)
        w = np.exp(self.log_prior) * gained * rate(self)
        return np.asarray(w / w.max())

    return weights


mutant("MLPoly", "range not squared", weights=_of_poly(lambda q: 1 / (q.largest + q.V)))
mutant("MLPoly", "range lost", weights=_of_poly(lambda q: 1 / np.maximum(q.V, 1e-300)))
mutant("MLPoly", "root of the rate", weights=_of_poly(lambda q: 1 / np.sqrt(q.largest**2 + q.V)))
mutant("MLPoly", "bound without the root", bound=lambda self: self.potential * (self.largest**2 + self.V))
mutant(
    "MLPoly",
    "uniform while nobody is ahead",
    weights=lambda self, w=RULES["MLPoly"].rule.weights: np.ones(self.n) if self.R.max() <= 0 else w(self),
)


def _absolute_squares(self: Any, r: Any, h: float, right: Any) -> None:
    V = self.V.copy()
    right(r, h)
    self.V = V + np.abs(r)


def _rates_of_after(self: Any, r: Any, h: float, right: Any) -> None:
    before = self.potential
    right(r, h)
    if before:
        self.potential = before + self._term(r**2)


patched("MLPoly", "|r| for r²", _absolute_squares)
patched("MLPoly", "potential by the rates of after", _rates_of_after)

# BOA, ML-Prod.
mutant(
    "FixedBOA",
    "plus the square",
    weights=lambda self: softmax(self.log_prior + self.eta * self.R + self.eta**2 * self.V),
)
mutant("FixedBOA", "square lost", weights=lambda self: softmax(self.log_prior + self.eta * self.R))
mutant("FixedBOA", "η for η²", weights=lambda self: softmax(self.log_prior + self.eta * self.R - self.eta * self.V))
mutant("FixedBOA", "V/η in the bound", bound=lambda self: -self.log_prior / self.eta + self.V / self.eta)
for _rule in ("BOA", "MLProd"):
    patched(_rule, "rates of the round itself", lambda self, r, h, right: (right(r, h), _regain(self, r))[0])
    mutant(
        _rule,
        "rate lost in the weights",
        weights=lambda self: softmax(self.log_prior + self.eta * self.X),
    )
    mutant(
        _rule,
        "twice the range",
        _rates=lambda self, f=RULES[_rule].rule._rates: np.minimum(f(self), 0.25 / self.largest),
    )
    mutant(_rule, "no root", _rates=lambda self: np.minimum(0.5 / self.largest, _log_n(self) / _safe(self.V)))
    mutant(_rule, "range only", _rates=lambda self: np.full(self.n, 0.5 / self.largest))

    def _unshrunk(self: Any, r: Any, h: float, right: Any) -> None:
        if self.largest:
            self.largest = max(self.largest, float(np.abs(r).max()))
        right(r, h)

    def _no_drift(self: Any, r: Any, h: float, right: Any) -> None:
        right(r, h)
        self.drift = 0.0

    patched(_rule, "regrets not shrunk", _unshrunk)
    patched(_rule, "drift lost", _no_drift)


def _regain(rule: Any, r: np.ndarray) -> None:
    """Compute the last gain at the rates after the round."""
    if rule.largest and np.abs(r).max():
        rule.X = rule.X + 0.1 * rule.gain(r, rule.eta)


mutant("BOA", "plus the square", gain=lambda self, s, eta: s + eta * s**2)
mutant("BOA", "rate lost in the square", gain=lambda self, s, eta: s - s**2)
mutant("MLProd", "gain not divided", gain=lambda self, s, eta: np.log1p(eta * s))
mutant("MLProd", "gain of BOA", gain=lambda self, s, eta: s - eta * s**2)
mutant("MLProd", "sign inside", gain=lambda self, s, eta: -np.log1p(-eta * s) / eta)
for _rule in ("ObservedBOA", "ObservedMLProd"):
    mutant(
        _rule,
        "one range for all",
        _rates=lambda self: np.minimum(0.5 / self.largest, np.sqrt(_log_n(self) / np.where(self.b > 0, self.V, 1.0))),
    )
    mutant(_rule, "newcomers wait", weights=lambda self, w=RULES[_rule].rule.weights: w(self) * (self.b > 0) + 1e-300)

    def _late_rates(self: Any, r: Any, h: float, right: Any) -> None:
        old, X = self.eta.copy(), self.X.copy()
        right(r, h)
        if old.any():
            self.X = X + np.where(self.b > 0, self.gain(r, np.where(old > 0, old, self.eta)), 0.0)

    patched(_rule, "rates of before", _late_rates)
mutant("ObservedBOA", "gain of ML-Prod", gain=lambda self, s, eta: np.log1p(np.maximum(eta * s, -0.9)) / eta)
mutant("ObservedMLProd", "gain of BOA", gain=lambda self, s, eta: s - eta * s**2)

# Squint.


def _of_squint(term: Callable[[Any], np.ndarray]) -> Callable[[Any], np.ndarray]:
    return lambda self: softmax(self.log_prior + (term(self) if self.largest else 0.0))


mutant("Squint", "up to 1/B", weights=_of_squint(lambda q: log_integral(q.S, q.V, 1 / q.largest)))
mutant("Squint", "squares lost", weights=_of_squint(lambda q: log_integral(q.S, 0 * q.V, 0.5 / q.largest)))
mutant("Squint", "not shrunk", weights=_of_squint(lambda q: log_integral(q.R, q.V, 0.5 / q.largest)))
mutant("Squint", "twice the squares", weights=_of_squint(lambda q: log_integral(q.S, 2 * q.V, 0.5 / q.largest)))
mutant("Squint", "one rate", weights=_of_squint(lambda q: 0.25 / q.largest * (q.S - 0.25 / q.largest * q.V)))
mutant("Squint", "half the bound", bound=lambda self: RULES["Squint"].rule.bound(self) / 2)

# Gradient descent.


def _step(change: Callable[[OGD, np.ndarray], np.ndarray]) -> Callable[..., None]:
    def learn(self: Any, r: Any, h: float, right: Any) -> None:
        w = self.w
        right(r, h)
        if self.longest:
            self.w = w
            self.w = change(self, h - r)

    return learn


patched("OGD", "climbs", _step(lambda q, loss: onto_simplex(q.w + q.eta * loss)))
patched("OGD", "cut off and normalised", _step(lambda q, loss: _normal(np.maximum(q.w - q.eta * loss, 0))))
patched("OGD", "rate 1/t", _step(lambda q, loss: onto_simplex(q.w - q.eta / math.sqrt(q.rounds + 1) * loss)))
patched("OGD", "twice the rate", _step(lambda q, loss: onto_simplex(q.w - 2 * q.eta * loss)))
mutant("OGD", "cost lost", bound=lambda self: np.full(self.n, 1 / self.eta))


def _normal(w: np.ndarray) -> np.ndarray:
    return w / w.sum() if w.sum() else np.full(len(w), 1 / len(w))


class RidgeUp(Ridge):
    """Wrong sign."""

    def learn(self, served: Served, outcome: Any) -> Any:
        w = self.w.copy()
        regrets_and_loss = super().learn(served, outcome)
        self.w = 2 * w - self.w
        return regrets_and_loss


class RidgeToZero(Ridge):
    """Regularised towards 0 instead of the prior."""

    def __init__(self, prior: Any, penalty: float) -> None:
        super().__init__(prior, penalty)
        self.w = 0 * self.w


class RidgeRoot(Ridge):
    """The wrong penalty."""

    def __init__(self, prior: Any, penalty: float) -> None:
        super().__init__(prior, penalty**2)


class RidgeForgets(Ridge):
    """The inverse is never updated."""

    def learn(self, served: Served, outcome: Any) -> Any:
        inverse = self.inverse.copy()
        regrets_and_loss = super().learn(served, outcome)
        self.inverse = inverse
        return regrets_and_loss


class RidgeDrops(Ridge):
    """An expert asleep forecasts 0."""

    def serve(self, x: Any, awake: Any) -> Served:
        return super().serve(np.where(awake, x, 0.0), np.ones(len(x), bool))


RIDGES += [RidgeUp, RidgeToZero, RidgeRoot, RidgeForgets, RidgeDrops]


class SleepersLearn(Mixture):
    """An expert asleep has the loss of the forecast 0."""

    def learn(self, served: Served, outcome: Any) -> Any:
        return super().learn(replace(served, awake=np.ones(len(served.awake), bool)), outcome)


class SleepersSpeak(Mixture):
    """The forecast 0 of an expert asleep is mixed in."""

    def serve(self, x: Any, awake: Any) -> Served:
        served = super().serve(x, np.ones(len(awake), bool))
        return replace(served, awake=awake)


class NotNormalised(Mixture):
    """The forecast is not divided by the weight of the awake experts."""

    def serve(self, x: Any, awake: Any) -> Served:
        served = super().serve(x, awake)
        w = self.rule.weights()
        p = np.where(awake, w / w.sum(), 0.0)
        return Served(x, awake, p, np.asarray(p @ x)) if p.sum() else served


class GradientAlways(Mixture):
    """Losses are linearised although they must not be."""

    def learn(self, served: Served, outcome: Any) -> Any:
        self.gradient = True
        return super().learn(served, outcome)


class GradientNever(Mixture):
    """Losses are not linearised."""

    def learn(self, served: Served, outcome: Any) -> Any:
        self.gradient = False
        return super().learn(served, outcome)


class HalfTheSlope(Mixture):
    """The derivative of (f − y)² without its 2."""

    def learn(self, served: Served, outcome: Any) -> Any:
        r, h = regrets(self.loss, served, outcome, gradient=self.gradient)
        r = r / 2 if self.gradient else r
        self.rule.update(r, h)
        return r, h


class UniformFallback(Mixture):
    """The forecast is 0 if no awake expert has weight."""

    def serve(self, x: Any, awake: Any) -> Served:
        served = super().serve(x, awake)
        if not np.where(awake, self.rule.weights(), 0.0).sum() > 0:
            return replace(served, p=0 * served.p, forecast=0 * served.forecast)
        return served


class RoundingIsRegret(Mixture):
    """Rounding errors count as regrets."""

    def learn(self, served: Served, outcome: Any) -> Any:
        r, h = super().learn(served, outcome)
        return np.where(r == 0, 1e-16, r), h


MIXTURES += [
    SleepersLearn,
    SleepersSpeak,
    NotNormalised,
    GradientAlways,
    GradientNever,
    HalfTheSlope,
    UniformFallback,
    RoundingIsRegret,
]
