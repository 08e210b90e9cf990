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
from mistakebound.rules.arow import ArowRule

if TYPE_CHECKING:
    from collections.abc import Callable

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


def mutant(name: str, base: type[Rule], **methods: Callable[..., object]) -> None:
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

mutant("tie predicts negative", ArowRule, is_positive=_tie_is_negative)
mutant("wrong sign", ArowRule, step=lambda self, now: -ArowRule.step(self, now))
mutant(
    "learns from mistakes only",
    ArowRule,
    step=lambda self, now: ArowRule.step(self, now) if self.is_positive(now.score) != (now.y == 1) else 0.0,
)
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
