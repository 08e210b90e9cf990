"""Mutants: rules that are wrong on purpose, in signs, ties, factors, exponents, normalisers or updates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mistakebound.rules import (
    BalancedWinnowRule,
    EliminationRule,
    NormalizedWinnowRule,
    PerceptronRule,
    PNormRule,
    Rule,
    WinnowRule,
)
from mistakebound.rules.adagrad import AdaGradHingeRule, AdaGradLogisticRule, ImplicitLogisticRule
from mistakebound.rules.arow import ArowRule
from mistakebound.rules.averaged_perceptron import AveragedPerceptronRule
from mistakebound.rules.coin_betting import CoinBettingRule
from mistakebound.rules.gradient_descent import ExponentiatedGradientRule, FtrlProximalRule, LogisticSgdRule
from mistakebound.rules.hyperbolic import sinh
from mistakebound.rules.label_counts import DecisionListRule, NaiveBayesRule, fourth, prior
from mistakebound.rules.passive_aggressive import PassiveAggressiveIIRule, PassiveAggressiveIRule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mistakebound.rules.base import Round


@dataclass(frozen=True)
class Mutant:
    """A rule with some of its methods replaced."""

    name: str
    rule: type[Rule]

    def make(self, **parameters: object) -> Rule:
        """Return the wrong rule with these parameters."""
        return self.rule(**parameters)  # type: ignore[arg-type]


MUTANTS: list[Mutant] = []


def mutant(name: str, base: type[Rule], **methods: object) -> None:
    """Add a mutant of a rule."""
    MUTANTS.append(Mutant(f"{base.id}: {name}", type(base.__name__, (base,), methods)))


def _always(self: Rule, now: Round) -> float:
    return now.y


def _wrong_sign(self: Rule, now: Round) -> float:
    return -now.y if self.is_positive(now.score) != (now.y == 1) else 0


def _adds_the_prediction(self: Rule, now: Round) -> float:
    positive = self.is_positive(now.score)  # a common mistake of lecture notes: ŷ·x instead of y·x
    return (1 if positive else -1) if positive != (now.y == 1) else 0


def _twice(self: Rule, now: Round) -> float:
    return 2 * now.y if self.is_positive(now.score) != (now.y == 1) else 0


def _only_when(sign: int) -> Callable[..., int]:
    def step(self: Rule, now: Round) -> float:
        return now.y if self.is_positive(now.score) != (now.y == 1) and now.y == sign else 0

    return step


def _harder_demotion(self: Rule, now: Round) -> float:
    return (now.y if now.y > 0 else 2 * now.y) if self.is_positive(now.score) != (now.y == 1) else 0


def _margin_ignored(self: Rule, now: Round) -> float:
    return now.y if self.is_positive(now.score) != (now.y == 1) else 0


def _margin_strict(self: Rule, now: Round) -> float:
    inside = self.update_margin > 0 and now.y * now.score < self.update_margin * now.normaliser
    return now.y if self.is_positive(now.score) != (now.y == 1) or inside else 0


def _margin_without_normaliser(self: Rule, now: Round) -> float:
    inside = self.update_margin > 0 and now.y * now.score <= self.update_margin
    return now.y if self.is_positive(now.score) != (now.y == 1) or inside else 0


def _tie_is_negative(self: Rule, score: float) -> bool:
    return score > self.threshold


for _rule in (PerceptronRule, NormalizedWinnowRule, BalancedWinnowRule, PNormRule):
    mutant("tie predicts negative", _rule, is_positive=_tie_is_negative)
    mutant("updates always", _rule, step=_always)
    mutant("wrong sign", _rule, step=_wrong_sign)
    mutant("update margin ignored", _rule, step=_margin_ignored)
for _rule in (NormalizedWinnowRule, BalancedWinnowRule, PNormRule):
    mutant("update margin on unnormalised scores", _rule, step=_margin_without_normaliser)
    mutant("normaliser lost", _rule, normaliser=lambda self, total, factor: 1.0)

mutant("adds the prediction", PerceptronRule, step=_adds_the_prediction)
mutant("twice the step", PerceptronRule, step=_twice)
mutant("learns from positives only", PerceptronRule, step=_only_when(1))
mutant("learns from negatives only", PerceptronRule, step=_only_when(-1))
mutant("update margin strict", PerceptronRule, step=_margin_strict)
mutant("weights are signs", PerceptronRule, link=lambda self, z, factor: math.copysign(1.0, z) if z else 0.0)

mutant("tie predicts 0", WinnowRule, is_positive=lambda self, score: score > self.theta)
mutant("strict ignored", WinnowRule, is_positive=lambda self, score: score >= self.theta)
mutant("updates always", WinnowRule, step=_always)
mutant("wrong sign", WinnowRule, step=_wrong_sign)
mutant("harder demotion", WinnowRule, step=_harder_demotion)
mutant("demotes only", WinnowRule, step=_only_when(-1))
mutant("promotes only", WinnowRule, step=_only_when(1))
mutant("demotes to zero", WinnowRule, link=lambda self, z, factor: 0.0 if z < 0 else self.alpha**z)
mutant("exponent off by one", WinnowRule, link=lambda self, z, factor: self.alpha ** (z + 1))
mutant("factor one too large", WinnowRule, link=lambda self, z, factor: (1 + self.alpha) ** z)
mutant("adds instead of multiplying", WinnowRule, link=lambda self, z, factor: max(0.0, 1 + (self.alpha - 1) * z))
mutant("half the threshold", WinnowRule, is_positive=lambda self, score: score >= self.theta / 2)

mutant(
    "exponent has the wrong sign",
    NormalizedWinnowRule,
    link=lambda self, z, factor: NormalizedWinnowRule.link(self, -z, factor),
)
mutant(
    "twice the rate", NormalizedWinnowRule, link=lambda self, z, factor: NormalizedWinnowRule.link(self, 2 * z, factor)
)
mutant("linear weights", NormalizedWinnowRule, link=lambda self, z, factor: max(0.0, 1 + min(self.eta, 1.0) * z))
mutant("twice the step", NormalizedWinnowRule, step=_twice)
mutant("learns from positives only", NormalizedWinnowRule, step=_only_when(1))
mutant("all weights follow at η = ∞", NormalizedWinnowRule, factor_for=lambda self, top: 0.0)

mutant("cosh for sinh", BalancedWinnowRule, link=lambda self, z, factor: math.cosh(min(self.eta, 5.0) * z))
mutant("half of the vector lost", BalancedWinnowRule, link=lambda self, z, factor: math.exp(min(self.eta, 5.0) * z))
mutant("twice the rate", BalancedWinnowRule, link=lambda self, z, factor: BalancedWinnowRule.link(self, 2 * z, factor))
mutant("mass without the square root's 1", BalancedWinnowRule, mass=lambda self, w, z, factor: abs(w))
mutant("identity link", BalancedWinnowRule, link=lambda self, z, factor: z)

mutant("exponent p", PNormRule, link=lambda self, z, factor: math.copysign(abs(z) ** self.p, z))
mutant("exponent p − 2", PNormRule, link=lambda self, z, factor: math.copysign(abs(z) ** (self.p - 2), z) if z else 0.0)
mutant("dual exponent", PNormRule, link=lambda self, z, factor: math.copysign(abs(z) ** (1 / (self.p - 1)), z))
mutant("sign lost", PNormRule, link=lambda self, z, factor: abs(z) ** (self.p - 1))
mutant("wrong power of the norm", PNormRule, normaliser=lambda self, total, factor: total ** ((self.p - 1) / self.p))
mutant("twice the step", PNormRule, step=_twice)

mutant("puts variables back", EliminationRule, step=_margin_ignored)
mutant("needs two active variables", EliminationRule, is_positive=lambda self, score: score > 1)
mutant("never removes", EliminationRule, step=lambda self, now: 0)
mutant("removes on positives", EliminationRule, step=lambda self, now: -1 if now.score >= 1 else 0)
mutant("removes at the second time", EliminationRule, link=lambda self, z, factor: 0.0 if z < -1 else 1.0)

LOGISTIC = (
    AdaGradLogisticRule,
    CoinBettingRule,
    ExponentiatedGradientRule,
    FtrlProximalRule,
    ImplicitLogisticRule,
    LogisticSgdRule,
)
MARGIN = (AdaGradHingeRule, ArowRule, PassiveAggressiveIRule, PassiveAggressiveIIRule)
for _rule in (*LOGISTIC, *MARGIN):
    mutant("tie predicts negative", _rule, is_positive=_tie_is_negative)
    mutant("wrong sign", _rule, step=lambda self, now, base=_rule: -base.step(self, now))
    mutant(
        "learns from mistakes only",
        _rule,
        step=lambda self, now, base=_rule: base.step(self, now) if self.is_positive(now.score) != (now.y == 1) else 0.0,
    )
for _rule in LOGISTIC:
    mutant("gradient of a mistake is constant", _rule, step=lambda self, now: now.y * 0.5)
mutant(
    "r forgotten",
    ArowRule,
    step=lambda self, now: now.y * max(0.0, 1 - now.y * now.score) / now.gathered,
)
mutant(
    "loss forgotten", ArowRule, step=lambda self, now: now.y / (now.gathered + self.r) if now.y * now.score < 1 else 0.0
)
mutant("variances stay", ArowRule, apply=lambda self, state, x, tau, now: (state[0] + tau * state[1] * x, state[1]))
mutant(
    "variances not squared",
    ArowRule,
    apply=lambda self, state, x, tau, now: (
        state[0] + tau * state[1] * x,
        max(state[1] - state[1] * x * x / (now.gathered + self.r), 1e-30),
    ),
)
mutant(
    "weights move without variances",
    ArowRule,
    apply=lambda self, state, x, tau, now: (state[0] + tau * x, ArowRule.apply(self, state, x, tau, now)[1]),
)
mutant("x for its square in the confidence", ArowRule, gather=lambda self, state, x, now: state[1] * abs(x))

mutant("rate forgotten", LogisticSgdRule, apply=lambda self, state, x, tau, now: (state[0] + tau * x,))
mutant(
    "clipped at a small score",
    LogisticSgdRule,
    step=lambda self, now: LogisticSgdRule.step(self, now._replace(score=min(max(now.score, -1.0), 1.0))),
)

mutant(
    "rate of the round before",
    FtrlProximalRule,
    apply=lambda self, state, x, tau, now: (
        state[0] + self.alpha * tau * x / (self.beta + math.sqrt(state[1])),
        state[1] + (tau * x) ** 2,
    ),
)
mutant(
    "β forgotten",
    FtrlProximalRule,
    apply=lambda self, state, x, tau, now: (
        state[0] + self.alpha * tau * x / math.sqrt(state[1] + (tau * x) ** 2),
        state[1] + (tau * x) ** 2,
    ),
)
mutant(
    "no root",
    FtrlProximalRule,
    apply=lambda self, state, x, tau, now: (
        state[0] + self.alpha * tau * x / (self.beta + state[1] + (tau * x) ** 2),
        state[1] + (tau * x) ** 2,
    ),
)

mutant(
    "no limit of z", ExponentiatedGradientRule, apply=lambda self, state, x, tau, now: (state[0] + self.eta * tau * x,)
)
mutant("U forgotten", ExponentiatedGradientRule, link=lambda self, z, factor: math.copysign(sinh(abs(z)), z))
mutant("identity link", ExponentiatedGradientRule, link=lambda self, z, factor: z)


def _coins(largest: Callable[..., float], reward: Callable[..., float]) -> Callable[..., tuple[float, ...]]:
    def apply(self: Rule, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:
        w, total, size, won, top = state
        gradient = tau * x
        total, size, won, top = (
            total + gradient,
            size + abs(gradient),
            reward(won, w, gradient),
            largest(top, gradient, x),
        )
        return total / (size + top) * (1 + won / top), total, size, won, top

    return apply


mutant(
    "L without its floor",
    CoinBettingRule,
    apply=_coins(lambda top, g, x: max(top, abs(g)), lambda won, w, g: max(won + w * g, 0.0)),
)
mutant(
    "a reward may be negative",
    CoinBettingRule,
    apply=_coins(lambda top, g, x: max(top, abs(g), 0.5 * abs(x)), lambda won, w, g: won + w * g),
)
mutant(
    "a reward is never lost",
    CoinBettingRule,
    apply=_coins(lambda top, g, x: max(top, abs(g), 0.5 * abs(x)), lambda won, w, g: won + max(w * g, 0.0)),
)
mutant(
    "L of this round only",
    CoinBettingRule,
    apply=_coins(lambda top, g, x: max(abs(g), 0.5 * abs(x)), lambda won, w, g: max(won + w * g, 0.0)),
)


def _adagrad(power: float, first: float = 0.0) -> Callable[..., tuple[float, ...]]:
    def apply(self: AdaGradLogisticRule, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:
        total = state[1] + (tau * x) ** 2
        return state[0] + self.rate * tau * x / (total**power + first), total

    return apply


mutant("no root", AdaGradLogisticRule, apply=_adagrad(1.0))
mutant("rate + √G", AdaGradLogisticRule, apply=_adagrad(0.5, 1e6))
mutant(
    "rate forgotten",
    AdaGradLogisticRule,
    apply=lambda self, state, x, tau, now: AdaGradLogisticRule().apply(state, x, tau, now),
)
mutant(
    "rate of the round before",
    AdaGradLogisticRule,
    apply=lambda self, state, x, tau, now: (
        state[0] + self.rate * tau * x / math.sqrt(state[1]),
        state[1] + (tau * x) ** 2,
    ),
)

mutant("explicit step", ImplicitLogisticRule, step=lambda self, now: AdaGradLogisticRule().step(now))
mutant(
    "half as far",
    ImplicitLogisticRule,
    gather=lambda self, state, x, now: ImplicitLogisticRule.gather(self, state, x, now) / 2,
)
mutant("G of the round before", ImplicitLogisticRule, gather=lambda self, state, x, now: x * x / math.sqrt(state[1]))
mutant(
    "G of the implicit gradient",
    ImplicitLogisticRule,
    apply=lambda self, state, x, tau, now: self.stepped(state[0], self.rate * tau * x, state[1] + (tau * x) ** 2),
)

mutant("rate is no limit", AdaGradHingeRule, step=lambda self, now: AdaGradHingeRule(rate=1e30).step(now))
mutant("always the rate", AdaGradHingeRule, step=lambda self, now: now.y * self.rate if now.y * now.score < 1 else 0.0)
mutant(
    "updates at the margin", AdaGradHingeRule, step=lambda self, now: AdaGradHingeRule.step(self, now) or now.y * 1e-9
)
mutant("G of the round before", AdaGradHingeRule, gather=lambda self, state, x, now: x * x / math.sqrt(state[1]))

mutant("c is no limit", PassiveAggressiveIRule, size_of_step=lambda self, loss, square: loss / square)
mutant("always c", PassiveAggressiveIRule, size_of_step=lambda self, loss, square: self.c)
mutant("the larger step", PassiveAggressiveIRule, size_of_step=lambda self, loss, square: max(self.c, loss / square))
mutant("norm not squared", PassiveAggressiveIRule, gather=lambda self, state, x, now: abs(x))
mutant("loss forgotten", PassiveAggressiveIRule, size_of_step=lambda self, loss, square: min(self.c, 1 / square))
mutant("no ridge", PassiveAggressiveIIRule, size_of_step=lambda self, loss, square: loss / square)
mutant("ridge 1/c", PassiveAggressiveIIRule, size_of_step=lambda self, loss, square: loss / (square + 1 / self.c))
mutant("ridge c/2", PassiveAggressiveIIRule, size_of_step=lambda self, loss, square: loss / (square + self.c / 2))
mutant("norm not squared", PassiveAggressiveIIRule, gather=lambda self, state, x, now: abs(x))
mutant("loss forgotten", PassiveAggressiveIIRule, size_of_step=lambda self, loss, square: 1 / (square + 0.5 / self.c))

mutant("tie predicts negative", AveragedPerceptronRule, is_positive=_tie_is_negative)
mutant("the mean decides the update", AveragedPerceptronRule, step=_margin_ignored)
mutant("predicts by w", AveragedPerceptronRule, weight=lambda self, state, scalars: state[0])
mutant(
    "predicts by the sum", AveragedPerceptronRule, weight=lambda self, state, scalars: state[0] * scalars[0] - state[1]
)
mutant("wrong sign", AveragedPerceptronRule, step=lambda self, now: -AveragedPerceptronRule.step(self, now))
mutant("mean without the start", AveragedPerceptronRule, scalars=(0.0,))
mutant("counts updates only", AveragedPerceptronRule, count=lambda self, scalars, y, weight: scalars)
mutant(
    "a without c",
    AveragedPerceptronRule,
    apply=lambda self, state, x, tau, now: (state[0] + tau * x, state[1] + tau * x),
)

for _rule in (NaiveBayesRule, DecisionListRule):
    mutant("tie predicts negative", _rule, is_positive=_tie_is_negative)
    mutant(
        "prior forgotten",
        _rule,
        score=lambda self, weighted, scalars, add, base=_rule: base.score(self, weighted, (1.0, 1.0), add),
    )
    mutant(
        "evidence with the prior",
        _rule,
        weight=lambda self, state, scalars, base=_rule: base.weight(self, state, scalars) + prior(scalars),
    )
    mutant("labels not counted", _rule, count=lambda self, scalars, y, weight: scalars)
    mutant(
        "labels swapped",
        _rule,
        count=lambda self, scalars, y, weight, base=_rule: base.count(self, scalars, -y, weight),
    )
    mutant(
        "features swapped",
        _rule,
        apply=lambda self, state, x, tau, now, base=_rule: base.apply(self, state, x, -tau, now),
    )
    mutant("counts mistakes only", _rule, step=_margin_ignored)
mutant(
    "signs of values count",
    NaiveBayesRule,
    score=lambda self, weighted, scalars, add: (
        prior(scalars) + add(x * r for r, x in weighted) / max(1, len(weighted) / 24)
    ),
)
mutant(
    "long rows count in full",
    NaiveBayesRule,
    score=lambda self, weighted, scalars, add: prior(scalars) + add(abs(x) * r for r, x in weighted),
)
mutant(
    "cubes for fifth powers",
    DecisionListRule,
    score=lambda self, weighted, scalars, add: (
        prior(scalars) + add(r**3 for r, _ in weighted) / max(add(r**2 for r, _ in weighted), 1e-300)
    ),
)
mutant(
    "values count",
    DecisionListRule,
    score=lambda self, weighted, scalars, add: (
        prior(scalars)
        + add(fourth(r) * r * abs(x) for r, x in weighted) / max(add(fourth(r) for r, _ in weighted), 1e-300)
    ),
)
