"""Traces of the rules over experts, computed by hand: weights and bounds, round by round, as fractions and powers.

Most traces pass losses to an engine, and compute the regrets by hand. Where that would need difficult arithmetic, a
trace passes regrets directly to the rule.
"""

from __future__ import annotations

import math
from fractions import Fraction as F  # noqa: N817 - used very often
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from aggregation_games import NAN, Subject
from scipy.integrate import quad

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound.aggregation.base import Rule
    from mistakebound.aggregation.reference import Engine

LN2, LN3, E = math.log(2), math.log(3), math.e

TRACES: dict[str, list[Callable[[Subject], None]]] = {}


def trace(rule: str) -> Callable[[Callable[[Subject], None]], Callable[[Subject], None]]:
    """Add a trace of a rule."""

    def add(check: Callable[[Subject], None]) -> Callable[[Subject], None]:
        TRACES.setdefault(rule, []).append(check)
        return check

    return add


def near(values: Any, **more: float) -> Any:
    """Return these fractions as float64, for approximate comparison."""
    return pytest.approx(np.array([float(v) for v in values]), rel=1e-12, abs=1e-13, **more)


def shares(weights: Any) -> np.ndarray:
    """Weights that sum to 1."""
    return np.asarray(weights, float) / np.sum(np.asarray(weights, float))


def suffer(engine: Engine, losses: list[float], *, mine: Any, outcome: float = 0.0) -> None:
    """Play one round, and check the loss of the learner."""
    served = engine.serve(np.array(losses, float))
    assert engine.learn(served, np.asarray(outcome)) == pytest.approx(float(mine), rel=1e-12, abs=1e-13)


def shown(subject: Subject, prior: Any, regrets: list[Any], **parameters: float) -> Rule:
    """Return a rule after these regrets."""
    prior = np.full(prior, 1 / prior) if isinstance(prior, int) else np.asarray(prior, float)
    rule = subject.rule(prior, **parameters)
    for r in regrets:
        rule.update(np.array([float(each) for each in r]), 1.0)
    return rule


@trace("Exponential")
def hedge(subject: Subject) -> None:
    """η = ln 2: weights are 2^−loss. Expert 1 is asleep in round 2 and gets the loss of the learner."""
    engine = subject.engine(3, eta=LN2)
    suffer(engine, [0, 1, 2], mine=1)
    assert engine.weights() == near([F(4, 7), F(2, 7), F(1, 7)])
    suffer(engine, [1, 0, 0], mine=F(4, 7))
    assert engine.weights() == near([F(2, 5), F(2, 5), F(1, 5)])
    suffer(engine, [0, NAN, 1], mine=F(1, 3))  # 2/5 against 1/5
    assert engine.weights() == near(shares([2**-1, 2 ** (-4 / 3), 2**-3]))
    assert engine.sums["regrets"] == near([F(4, 7) + F(1, 3), F(4, 7), F(-3, 7) - F(2, 3)])
    # spreads 2, 1, 1: gaps ln 2 · (4 + 1 + 1)/8
    assert engine.bound() == near([LN3 / LN2 + 0.75 * LN2] * 3)
    suffer(engine, [0, 20, 0], mine=20 * engine.weights()[1])
    assert engine.bound() == near([LN3 / LN2 + 0.75 * LN2 + 20] * 3)  # 20 is less than ln 2 · 400/8


@trace("Exponential")
def hedge_with_a_prior(subject: Subject) -> None:
    engine = subject.engine([0.5, 0.25, 0.25], eta=LN2)
    suffer(engine, [1, 0, 0], mine=F(1, 2))
    assert engine.weights() == near([F(1, 3), F(1, 3), F(1, 3)])
    assert engine.bound() == near([1 + LN2 / 8, 2 + LN2 / 8, 2 + LN2 / 8])
    suffer(engine, [3, NAN, NAN], mine=3)  # only one expert is awake: no regret
    assert engine.weights() == near([F(1, 3), F(1, 3), F(1, 3)])


@trace("Exponential")
def leaders(subject: Subject) -> None:
    """η = ∞: all experts with the largest R have weight, in proportion to their prior."""
    rule = shown(subject, [0.5, 0.25, 0.25], [(1, 1, 0)], eta=math.inf)
    assert shares(rule.weights()) == near([F(2, 3), F(1, 3), 0])
    assert rule.bound() == near([1, 1, 1])


@trace("ExpConcave")
def bayes(subject: Subject) -> None:
    """Log loss at η = 1 is Bayes' rule. Forecasts ½, ¼, ¾ for the outcome 1, then ½, ½, 0 for the outcome 0."""
    engine = subject.engine(3, "log", by_gradient=False, eta=1.0)
    suffer(engine, [1 / 2, 1 / 4, 3 / 4], mine=LN2, outcome=1.0)
    assert engine.weights() == near([F(2, 6), F(1, 6), F(3, 6)])
    suffer(engine, [1 / 2, 1 / 2, 0], mine=math.log(4 / 3), outcome=0.0)
    assert engine.weights() == near([F(2, 9), F(1, 9), F(6, 9)])
    # e^R is the expert's probability of all outcomes divided by the learner's: ½·¾ = ⅜
    assert np.exp(engine.sums["regrets"]) == near([F(2, 3), F(1, 3), 2])
    assert engine.bound() == near([LN3] * 3)


@trace("Anytime")
def anytime(subject: Subject) -> None:
    """``η_t = 2√(ln n/t)/S``: ∞ in the first round, then computed from the rounds and the largest range."""
    engine = subject.engine(2)
    suffer(engine, [0, 1], mine=F(1, 2))
    rate = 2 * math.sqrt(LN2 / 2)
    assert engine.weights() == near(shares([1, math.exp(-rate)]))
    assert engine.bound() == near([LN2 / rate + 1] * 2)
    suffer(engine, [2, 2], mine=2)
    assert engine.weights() == near(shares([1, math.exp(-2 * math.sqrt(LN2 / 3))]))
    suffer(engine, [0, 4], mine=4 * engine.weights()[1])
    rate = 2 * math.sqrt(LN2 / 4) / 4
    assert engine.weights() == near(shares([1, math.exp(-5 * rate)]))
    gap = min(4, 2 * math.sqrt(LN2 / 3) * 16 / 8)
    assert engine.bound() == near([LN2 / rate + 1 + gap] * 2)
    suffer(engine, [0, 1], mine=engine.weights()[1])
    assert engine.weights() == near(shares([1, math.exp(-6 * 2 * math.sqrt(LN2 / 5) / 4)]))


@trace("AdaHedge")
def adahedge(subject: Subject) -> None:
    """Δ = ½, hence η = 2 ln 2. Then h = ⅘, m = −lg(⅘·¼ + ⅕)/2 = lg(5/2)/2."""
    engine = subject.engine(2)
    suffer(engine, [1, 1], mine=1)  # nothing is learned
    assert engine.bound() == near([0, 0])
    suffer(engine, [0, 1], mine=F(1, 2))
    assert engine.weights() == near([F(4, 5), F(1, 5)])
    assert engine.bound() == near([1, 1])
    suffer(engine, [1, 0], mine=F(4, 5))
    delta = 0.5 + 0.8 - math.log2(2.5) / 2
    assert engine.bound() == near([2 * delta] * 2)
    assert engine.weights() == near([F(1, 2), F(1, 2)])
    rule = engine.forecaster.rule  # type: ignore[attr-defined]
    assert rule.eta == pytest.approx(LN2 / delta, rel=1e-12)
    assert rule.variance == pytest.approx(1 / 4 + 4 / 25, rel=1e-12)
    assert rule.widest == pytest.approx(1.0, rel=1e-12)
    suffer(engine, [0, 1], mine=F(1, 2))
    delta += 0.5 + math.log((1 + math.exp(-LN2 / delta)) / 2) * delta / LN2
    assert engine.bound() == near([2 * delta] * 2)


@trace("AdaHedge")
def adahedge_with_a_prior(subject: Subject) -> None:
    """ln 4 replaces ln n. The first round is a mean weighted by the prior: ¼·4 = 1."""
    engine = subject.engine([0.25, 0.75])
    suffer(engine, [4, 0], mine=1)
    assert engine.weights() == near(shares([1 / 4 * 2**-8, 3 / 4]))
    assert engine.bound() == near([2, 2])


@trace("FixedShare")
def fixed_share(subject: Subject) -> None:
    """η = ln 2, α = ¼: (⅔, ⅓) shared is (⅝, ⅜); then (5/16, 6/16) is (5/11, 6/11)."""
    engine = subject.engine(2, eta=LN2, alpha=0.25)
    suffer(engine, [0, 1], mine=F(1, 2))
    assert engine.weights() == near([F(5, 8), F(3, 8)])
    suffer(engine, [1, 0], mine=F(5, 8))
    assert engine.weights() == near([F(41, 88), F(47, 88)])
    suffer(engine, [NAN, 7], mine=7)
    assert engine.weights() == near([F(1, 8) + F(3, 4) * F(41, 88), F(1, 8) + F(3, 4) * F(47, 88)])
    # one term ln(1/(1−α)) for each round after the first
    assert engine.bound() == near([1 + 2 * math.log(4 / 3) / LN2 + 2 * LN2 / 8] * 2)


@trace("FixedShare")
def fixed_share_with_a_prior(subject: Subject) -> None:
    """The initial weights are the prior, but the share is divided evenly."""
    engine = subject.engine([0.5, 0.25, 0.25], eta=LN2, alpha=0.5)
    suffer(engine, [1, 0, 0], mine=F(1, 2))
    assert engine.weights() == near([F(1, 3), F(1, 3), F(1, 3)])
    suffer(engine, [0, 1, 1], mine=F(2, 3))
    assert engine.weights() == near([F(1, 6) + F(1, 4), F(1, 6) + F(1, 8), F(1, 6) + F(1, 8)])
    assert engine.bound() == near([1 + 1 + LN2 / 4, 2 + 1 + LN2 / 4, 2 + 1 + LN2 / 4])


@trace("MLEwa")
def ml_ewa(subject: Subject) -> None:
    """``η R`` is √(ln 3)·R/√V. An expert without regrets has its prior as its weight."""
    root = math.sqrt(LN3)
    rule = shown(subject, 3, [(F(1, 2), -1, 0)])
    assert shares(rule.weights()) == near(shares([math.exp(root), math.exp(-root), 1]))
    rule = shown(subject, [0.5, 0.25, 0.25], [(3, -1, 0), (4, -1, 0)])
    assert shares(rule.weights()) == near(
        shares([2 * math.exp(7 / 5 * root), math.exp(-2 / math.sqrt(2) * root), 1]),
    )


@trace("MLPoly")
def ml_poly(subject: Subject) -> None:
    """``1/η`` is ½, ½ after round 0; 1 + ¼ and 1 + 5/4 after round 1: 9 to 5."""
    engine = subject.engine(2)
    suffer(engine, [0, 1], mine=F(1, 2))
    assert engine.weights() == near([1, 0])
    assert engine.bound() == near([F(1, 2)] * 2)  # φ = ¼/½
    suffer(engine, [1, 0], mine=1)
    assert engine.weights() == near([F(9, 14), F(5, 14)])
    # φ + Σ η r² = ½ + 2 for the squares; (√½ + √(4/9))² = 1.893 for the triangle inequality, which is less
    phi = (math.sqrt(1 / 2) + 2 / 3) ** 2
    assert engine.bound() == near([math.sqrt(phi * 5 / 4), math.sqrt(phi * 9 / 4)])
    suffer(engine, [0, 1], mine=F(5, 14))
    phi += float(F(4, 5) * F(25, 196) + F(4, 9) * F(81, 196))  # less than by the triangle inequality
    V = [F(1, 4) + F(25, 196), F(5, 4) + F(81, 196)]
    assert engine.weights() == near([1, 0])
    assert engine.bound() == near([math.sqrt(phi * (1 + v)) for v in V])
    assert engine.sums["squares"] == near(V)


@trace("MLPoly")
def ml_poly_with_a_prior(subject: Subject) -> None:
    """The prior is the weight while no R is positive, then a factor, and the weight of awake experts without weight."""
    engine = subject.engine([0.5, 0.25, 0.25])
    suffer(engine, [2, 2, 2], mine=2)
    assert engine.weights() == near([F(1, 2), F(1, 4), F(1, 4)])
    suffer(engine, [0, 0, 4], mine=1)  # r = 1, 1, −3; 1/η = 10, 10, 18
    assert engine.weights() == near([F(2, 3), F(1, 3), 0])
    # φ = 1/10 + ½·1/10
    assert engine.bound() == near([math.sqrt(0.15 * 10), math.sqrt(0.15 * 20), math.sqrt(0.15 * 36)])
    suffer(engine, [NAN, NAN, 9], mine=9)
    suffer(engine, [NAN, 1, 0], mine=1)
    # r = 0, 0, 1: R = 1, 1, −2
    assert engine.sums["regrets"] == near([1, 1, -2])


@trace("FixedBOA")
def fixed_boa(subject: Subject) -> None:
    """η = ln 2: V is equal after round 0, hence weights are 2 to 1. Then R is equal, and V differs by ⅓."""
    engine = subject.engine(2, eta=LN2)
    suffer(engine, [0, 1], mine=F(1, 2))
    assert engine.weights() == near([F(2, 3), F(1, 3)])
    suffer(engine, [1, 0], mine=F(2, 3))
    assert np.log(engine.weights()[0] / engine.weights()[1]) == pytest.approx(LN2**2 / 3, rel=1e-12)
    V = [F(1, 4) + F(1, 9), F(1, 4) + F(4, 9)]
    assert engine.bound() == near([1 + LN2 * float(v) for v in V])
    assert shown(subject, [0.25, 0.75], [(0.5, -0.5)], eta=1.0).weights() == near([E / 3, 1])
    assert shown(subject, [0.25, 0.75], [(0.5, -0.5)], eta=1.0).bound() == near(
        [math.log(4) + 1 / 4, math.log(4 / 3) + 1 / 4]
    )


BOA_REGRETS = [(0, 0), (F(1, 2), F(-1, 2)), (-1, 2)]
"""B = ½, hence η = 1 and X = ¼, −¾. Then B = 2, s = −¼, ½ and η = ¼."""


@trace("BOA")
def boa(subject: Subject) -> None:
    assert shares(shown(subject, 2, BOA_REGRETS[:1]).weights()) == near([F(1, 2)] * 2)
    assert shown(subject, 2, BOA_REGRETS[:1]).bound() == near([0, 0])
    rule = shown(subject, 2, BOA_REGRETS[:2])
    assert shares(rule.weights()) == near(shares([E, 1]))
    assert rule.bound() == near([F(1, 4) + LN2] * 2)
    rule = shown(subject, 2, BOA_REGRETS)
    X = [0.25 - 1 / 4 - 1 / 16, -0.75 + 1 / 2 - 1 / 4]
    assert shares(rule.weights()) == near(shares(np.exp(np.array(X) / 4)))
    cost = [0.25 + 1 / 16, 0.25 + 1 / 4]
    assert rule.bound() == near([1.5 + c + 4 * (LN2 + math.log1p(3 / E)) for c in cost])
    # two rounds with r = 4 make V so large that √(ln n/V) is the rate, and rounds with r = 1 do not change that
    rule = shown(subject, 2, [*BOA_REGRETS, (2, 0), (2, 0), (2, 0), (1, 0)])
    V = 5 / 16 + np.array([4, 8, 12, 13])
    eta = np.minimum(1 / 4, np.sqrt(LN2 / V))
    X0 = X[0] + sum(s - e * s**2 for s, e in zip((2, 2, 2, 1), [1 / 4, *eta], strict=False))
    assert eta[-1] < eta[-2] < 1 / 4 == eta[0]
    assert shares(rule.weights()) == near(shares([eta[-1] * math.exp(eta[-1] * X0), math.exp(X[1] / 4) / 4]))
    drift = (3 + 3) / 2 + (1 / 4 / eta[2] - 1 + eta[2] / eta[3] - 1) / 2
    paid = cost[0] + sum(e * s**2 for s, e in zip((2, 2, 2, 1), [1 / 4, *eta], strict=False))
    assert rule.bound()[0] == pytest.approx(1.5 + paid + (LN2 + math.log1p(drift / E)) / eta[-1], rel=1e-12)


@trace("MLProd")
def ml_prod(subject: Subject) -> None:
    """``w ∝ η Π(1 + ηs)``: 3/2 and ½; then ·¾ and ·3/2, to the power ¼."""
    rule = shown(subject, 2, BOA_REGRETS[:2])
    assert shares(rule.weights()) == near([F(3, 4), F(1, 4)])
    rule = shown(subject, 2, [(F(1, 2), 0)] * 12)  # V = 3: the rate is √(ln 2/3) for one, and 1 for the other
    rates = [min(1, math.sqrt(LN2 / (t / 4))) if t else 1 for t in range(13)]
    X = sum(math.log1p(rate / 2) / rate for rate in rates[:-1])
    assert shares(rule.weights()) == near(shares([rates[-1] * math.exp(rates[-1] * X), 1]))
    rule = shown(subject, [0.25, 0.75], BOA_REGRETS)
    assert shares(rule.weights()) == near(shares([(9 / 8) ** 0.25, 3 * (3 / 4) ** 0.25]))
    assert rule.bound() == near(
        [1.5 + 5 / 16 + 4 * (math.log(4) + math.log1p(3 / E)), 1.5 + 1 / 2 + 4 * (math.log(4 / 3) + math.log1p(3 / E))]
    )


@trace("ObservedBOA")
def observed_boa(subject: Subject) -> None:
    """``η`` is 1 and ½, from the range of each expert. An expert without regrets has the largest rate."""
    rule = shown(subject, 3, [(F(1, 2), -1, 0)])
    assert shares(rule.weights()) == near(shares([math.exp(1 / 4), math.exp(-3 / 4) / 2, 1]))
    rule = shown(subject, 3, [(F(1, 2), -1, 0), (-2, 0, 0)])
    # V = 17/4, η = min(¼, √(ln 3/4.25)); X = ¼ − 2 − ¼·4
    assert shares(rule.weights()) == near(shares([math.exp(-2.75 / 4) / 4, math.exp(-3 / 4) / 2, 1 / 2]))
    rule = shown(subject, 2, [(1, -1)] * 9)
    X = [sum(sign - min(1 / 2, math.sqrt(LN2 / t)) for t in range(1, 10)) for sign in (1, -1)]
    assert shares(rule.weights()) == near(shares([math.exp(math.sqrt(LN2 / 9) * x) for x in X]))
    assert rule.bound() is None
    assert shares(shown(subject, [0.25, 0.75], [(0, 0)]).weights()) == near([F(1, 4), F(3, 4)])


@trace("ObservedMLProd")
def observed_ml_prod(subject: Subject) -> None:
    rule = shown(subject, 3, [(F(1, 2), -1, 0)])
    assert shares(rule.weights()) == near(shares([3 / 2, 1 / 2 * 1 / 2, 1]))
    rule = shown(subject, 3, [(F(1, 2), -1, 0), (-2, 0, 0)])
    assert shares(rule.weights()) == near(shares([(3 / 2 * (1 / 2) ** 4) ** (1 / 4) / 4, 1 / 4, 1 / 2]))
    assert rule.bound() is None
    assert shares(shown(subject, [0.25, 0.75], [(0, 0)]).weights()) == near([F(1, 4), F(3, 4)])


def integral(R: float, V: float, h: float) -> float:
    """``∫₀^h e^{xR − x²V} dx``."""
    return float(quad(lambda x: math.exp(x * R - x * x * V), 0, h, epsabs=0, epsrel=1e-13, limit=200)[0])


@trace("Squint")
def squint(subject: Subject) -> None:
    """The integral goes up to 1/2B, with regrets scaled down to the old range."""
    assert shares(shown(subject, [0.25, 0.75], [(0, 0)]).weights()) == near([F(1, 4), F(3, 4)])
    rule = shown(subject, 3, [(F(1, 2), -1, 0)])
    assert shares(rule.weights()) == near(shares([integral(0.5, 0.25, 0.5), integral(-1, 1, 0.5), 0.5]))
    rule = shown(subject, [0.25, 0.5, 0.25], [(F(1, 2), -1, 0), (4, -2, 0)])  # s = 1, −½
    terms = [integral(1.5, 1.25, 0.125), 2 * integral(-1.5, 1.25, 0.125), 0.125]
    assert shares(rule.weights()) == pytest.approx(shares(terms), rel=1e-9)
    owed = math.log(4) + math.log(3 / 2) + 1 + 1 / 6  # the range has grown by the factor 4 in two rounds
    for S, V, prior in zip(rule.bound() - 3, (1.25, 1.25, 0), (0.25, 0.5, 0.25), strict=True):
        value = quad(lambda x, S=S, V=V: math.expm1(x * S - x * x * V) / x, 0, 0.125)[0]
        assert value == pytest.approx(owed / prior, rel=1e-6)


@trace("OGD")
def ogd(subject: Subject) -> None:
    """(½, ½) − (0, 1) is projected to (1, 0). Then η = 1/√2, and both coordinates stay positive."""
    engine = subject.engine(2)
    suffer(engine, [0, 0], mine=0)
    assert engine.bound() == near([0, 0])
    engine = subject.engine(2)
    suffer(engine, [0, 1], mine=F(1, 2))
    assert engine.weights() == near([1, 0])
    assert engine.bound() == near([1.5, 1.5])
    suffer(engine, [1, 0], mine=1)
    assert engine.weights() == near([1 - math.sqrt(2) / 4, math.sqrt(2) / 4])
    assert engine.bound() == near([math.sqrt(2) + 1 / 2 + 1 / math.sqrt(8)] * 2)


@trace("OGD")
def ogd_of_three(subject: Subject) -> None:
    """The norm of (3, 4, 0) is 5: w − ℓ/5 = (−.1, −.55, .25) + …. The second becomes 0, the others move by 0.3."""
    engine = subject.engine([0.5, 0.25, 0.25])
    suffer(engine, [3, 4, 0], mine=F(5, 2))
    assert engine.weights() == near([F(65, 200), 0, F(135, 200)])
    assert engine.bound() == near([5 + 25 / 10] * 3)
    suffer(engine, [NAN, 1, 1], mine=1)  # the expert asleep also gets the loss 1; √3 is less than 5
    assert engine.weights() == near([F(65, 200), 0, F(135, 200)])
    assert engine.bound() == near([5 * math.sqrt(2) + 2.5 + 3 / 5 / math.sqrt(8)] * 3)
