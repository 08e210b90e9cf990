"""One round of the Panel in plain Python: members score, mixers mix, the guard predicts, all learn."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mistakebound.aggregation.guard import CautiousGuard, Guard
from mistakebound.aggregation.logit_mixers import BayesMixture, GradientMixer, NewtonMixer
from mistakebound.panel.interactions import slots, tokens
from mistakebound.panel.members import MARGINS, NAMES, SLOT_MEMBERS, Scene, all_members
from mistakebound.panel.views import Features
from mistakebound.rules.logistic import sigmoid
from mistakebound.rules.panel_members import MIXERS, priors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.panel.views import Example

FIRST_WEIGHTS = np.array([0.15, 0.15, 0.08, 0.15, 0.08, 0.15, *[0.02] * 5, 0.30, 0.15, 0.10, 0.05, 0.02])
FAST_VARIANCES = np.array([*[0.06] * 6, *[0.015] * 5, *[0.18] * 4, 0.015])
SLOW_VARIANCES = np.array([*[0.018] * 6, *[0.0045] * 5, *[0.18] * 4, 0.0045])
OUTSIDE_WEIGHT, OUTSIDE_FAST, OUTSIDE_SLOW = 0.02, 0.06, 0.018
"""The same of members from outside."""
LARGEST_LOGIT, MARGIN_TO_LOGIT, LEAST = 8.0, 4.0, 1e-9
LEAST_GRADIENT = 0.001
"""Interactions of an order are not learned if the gradients of both its members are smaller."""


class Said(NamedTuple):
    """What the Panel says of an example before its label."""

    scores: list[float]
    """Of each member, in the order of NAMES, also of those that do not play; then of those from outside."""
    logits: list[float]
    """Of the members that play, then of the three mixers."""
    logit: float
    """Of the mixture, before the guard."""
    positive: bool
    """The prediction."""


class ReferencePanel:
    """The Panel for two labels: slow, and written to be read. The core is held to it within the errors of float32.

    Parameters
    ----------
    members : sequence of str
        The members that play, by name.
    joined : int
        Number of members from outside, whose scores are passed.
    literal : bool
        Without the three changes that make the core fast: moments of all features, a 64-bit hash of pairs, and
        learning of interactions in every round. The guard then has no margin for rounding errors.
    """

    def __init__(self, members: Sequence[str] = NAMES, joined: int = 0, *, literal: bool = False) -> None:
        self.literal = literal
        self.features = Features()
        self.members = all_members()
        self.plays = np.array([*(name in members for name in NAMES), *[True] * joined])
        weights, fast, slow = (
            np.append(own, [outside] * joined)[self.plays]
            for own, outside in (
                (FIRST_WEIGHTS, OUTSIDE_WEIGHT),
                (FAST_VARIANCES, OUTSIDE_FAST),
                (SLOW_VARIANCES, OUTSIDE_SLOW),
            )
        )
        count = len(weights)
        self.fast = NewtonMixer(weights, fast)
        self.slow = NewtonMixer(weights, slow)
        self.gradient = GradientMixer(weights)
        self.mixture = BayesMixture(np.array(priors(count)))
        self.guard = (Guard if literal else CautiousGuard)(count + len(MIXERS))

    def round(self, x: Example, y: int, outside: Sequence[float] = (), weight: float = 1.0) -> Said:
        """Predict the label of x, given the scores of members from outside; then learn y (+1 or −1).

        The weight multiplies what members learn. Mixers, mixture and guard do not use it. With the weight 0, only
        the label history learns from the example.
        """
        before = {j: replace(self.features[j]) for j, _ in x} if weight == 0 else {}
        views = self.features.views(x)
        of = tokens(x, self.features, moments_everywhere=self.literal)
        scene = Scene(x, views, slots(x, of, self.features, wide_hash=self.literal))
        scores = [*(member.score(scene) for member in self.members.values()), *outside]
        logits = np.array([logit_of(name, score) for name, score in zip_longest(NAMES, scores)])[self.plays]
        mixers = (self.fast, self.slow, self.gradient)
        advice = [*logits.tolist(), *(mixer.mix(logits) for mixer in mixers)]
        chances = np.array([sigmoid(logit) for logit in advice])
        p = min(max(self.mixture.mix(chances), LEAST), 1 - LEAST)
        logit = math.log(p / (1 - p))
        logit = 0.0 if abs(logit) < LEAST else logit
        votes = [1 if each >= 0 else -1 for each in advice]
        positive = self.guard.predict(votes, 1 if logit >= 0 else -1) == 1
        self._learn(scene, scores, y, weight)
        self.features.of.update(before)
        for mixer in mixers:
            mixer.learn(logits, int(y > 0))
        self.mixture.learn(chances, int(y > 0))
        self.guard.learn(votes, y)
        return Said(scores, advice, logit, positive)

    def _learn(self, scene: Scene, scores: list[float], y: int, weight: float) -> None:
        said = dict(zip(NAMES, scores[: len(NAMES)], strict=True))
        sure = {
            name
            for order in SLOT_MEMBERS
            if all(sigmoid(-y * said[each]) < LEAST_GRADIENT for each in order)
            for name in order
        }
        for name, member in self.members.items():
            if self.literal or name not in sure:
                member.learn(scene, said[name], y, weight)
        self.features.count(scene.x, weight)


def logit_of(name: str | None, score: float) -> float:
    """Return the score of a member as a logit within ±8; those from outside have no name.

    >>> logit_of("arow", 1.0), logit_of("naive-bayes", -9.0)
    (4.0, -8.0)
    """
    return min(max(score * (MARGIN_TO_LOGIT if name in MARGINS else 1.0), -LARGEST_LOGIT), LARGEST_LOGIT)
