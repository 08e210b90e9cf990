"""The sixteen members of the Panel: nine linear rules on views, two on counts, four on interactions, one on labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mistakebound.rules.adagrad import AdaGradHingeRule, AdaGradLogisticRule, ImplicitLogisticRule
from mistakebound.rules.arow import ArowRule
from mistakebound.rules.balanced_winnow import BalancedWinnowRule
from mistakebound.rules.base import Round
from mistakebound.rules.coin_betting import CoinBettingRule
from mistakebound.rules.gradient_descent import ExponentiatedGradientRule, FtrlProximalRule, LogisticSgdRule
from mistakebound.rules.label_counts import DecisionListRule, NaiveBayesRule
from mistakebound.rules.panel_members import MEMBERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound.panel.interactions import Slots
    from mistakebound.panel.views import Example, Views
    from mistakebound.rules.base import Rule


class Scene(NamedTuple):
    """All that members see of a round before its label."""

    x: Example
    views: Views
    slots: Slots


class Member(Protocol):
    """Scores an example, then learns its label."""

    def score(self, scene: Scene) -> float:
        """Return the log odds of the positive label, or a margin."""

    def learn(self, scene: Scene, score: float, y: int, weight: float = 1.0) -> None:
        """Learn y, which is +1 or −1; ``score`` is that of the member. The weight multiplies what is learned."""


class LinearMember:
    """A linear rule on one view of the example."""

    def __init__(self, rule: Rule, view: Callable[[Scene], Example]) -> None:
        self.rule = rule
        self.view = view
        self.state: dict[int, tuple[float, ...]] = {}
        self.scalars = rule.scalars

    def of(self, j: int) -> tuple[float, ...]:
        """Return the state of a feature."""
        return self.state.get(j, self.rule.start)

    def score(self, scene: Scene) -> float:
        """Return the score of the rule."""
        weighted = [(self.rule.weight(self.of(j), self.scalars), x) for j, x in self.view(scene)]
        return self.rule.score(weighted, self.scalars, sum)

    def learn(self, scene: Scene, score: float, y: int, weight: float = 1.0) -> None:
        """Make the step of the rule, times the weight."""
        row = self.view(scene)
        now = Round(y, score, scalars=self.scalars)
        now = now._replace(gathered=sum(self.rule.gather(self.of(j), x, now) for j, x in row))
        tau = self.rule.step(now) * weight
        if tau != 0:
            self.move(scene, tau, now)
        self.scalars = self.rule.count(self.scalars, y, weight)

    def move(self, scene: Scene, tau: float, now: Round) -> None:
        """Change the state of each feature of the example by the step τ."""
        for j, x in self.view(scene):
            self.state[j] = self.rule.apply(self.of(j), x, tau, now)


class LabelHistory:
    """How often each label followed the last three labels."""

    FORGET_BEYOND = 250

    def __init__(self) -> None:
        self.last = 0
        self.counts = [[0.0, 0.0] for _ in range(8)]

    def score(self, scene: Scene) -> float:  # noqa: ARG002
        """Return the log odds of the positive label after the last three."""
        negatives, positives = self.counts[self.last]
        return math.log((positives + 0.4) / (negatives + 0.4))

    def learn(self, scene: Scene, score: float, y: int, weight: float = 1.0) -> None:  # noqa: ARG002
        """Count the label once, whatever its weight; halve counts that are large, so that old labels are forgotten."""
        positive = int(y > 0)
        now = self.counts[self.last]
        now[positive] += 1
        if sum(now) > self.FORGET_BEYOND:
            now[0] *= 0.5
            now[1] *= 0.5
        self.last = (self.last << 1 | positive) & 7


NAMES = MEMBERS
MARGINS = ("arow", "adagrad-hinge")
"""Members whose score is a margin: four times it is a logit."""
SLOT_MEMBERS = (("coin-betting-pairs", "adagrad-pairs"), ("coin-betting-triples", "adagrad-triples"))


def linear_members() -> tuple[LinearMember, ...]:
    """Return the nine members that have a weight for each feature."""
    return (
        LinearMember(CoinBettingRule(), lambda scene: scene.views.unit_scaled),
        LinearMember(ImplicitLogisticRule(), lambda scene: scene.views.unit_scaled),
        LinearMember(ArowRule(r=0.03), lambda scene: scene.views.unit),
        LinearMember(AdaGradLogisticRule(), lambda scene: scene.views.unit_rare),
        LinearMember(AdaGradHingeRule(), lambda scene: scene.views.unit_scaled),
        LinearMember(FtrlProximalRule(), lambda scene: scene.views.scaled),
        LinearMember(LogisticSgdRule(), lambda scene: scene.views.scaled),
        LinearMember(BalancedWinnowRule(eta=0.1, update_margin=0.5), lambda scene: scene.views.scaled),
        LinearMember(ExponentiatedGradientRule(), lambda scene: scene.views.unit_scaled),
    )


def slot_members() -> tuple[LinearMember, ...]:
    """Return the four members that have a weight for each slot; those on triples share the tables of those on pairs."""
    coin = LinearMember(CoinBettingRule(), lambda scene: scene.slots.pairs)
    adagrad = LinearMember(AdaGradLogisticRule(rate=0.5), lambda scene: scene.slots.pairs)
    coin_triples = LinearMember(coin.rule, lambda scene: scene.slots.triples)
    adagrad_triples = LinearMember(adagrad.rule, lambda scene: scene.slots.triples)
    coin_triples.state, adagrad_triples.state = coin.state, adagrad.state
    return coin, adagrad, coin_triples, adagrad_triples


def all_members() -> dict[str, Member]:
    """Return the sixteen members by name, in their order."""
    members: tuple[Member, ...] = (
        *linear_members(),
        LinearMember(NaiveBayesRule(), lambda scene: scene.views.scaled[:-1]),  # without the constant
        LinearMember(DecisionListRule(), lambda scene: scene.views.scaled[:-1]),
        *slot_members(),
        LabelHistory(),
    )
    return dict(zip(NAMES, members, strict=True))
