"""One round of the Panel with several classes in plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mistakebound.panel.class_combiner import ClassCombiner
from mistakebound.panel.class_counts import ClassCounts, LabelSequence
from mistakebound.panel.class_members import AGAINST_REST, LINEAR, MOST_ACTIVE, Lesson, LinearClasses, temperature
from mistakebound.panel.class_mixers import normalised
from mistakebound.panel.interactions import slots, tokens
from mistakebound.panel.members import MARGINS, SLOT_MEMBERS, Scene
from mistakebound.panel.reference import (
    FAST_VARIANCES,
    FIRST_WEIGHTS,
    LARGEST_LOGIT,
    LEAST_GRADIENT,
    MARGIN_TO_LOGIT,
    SLOW_VARIANCES,
)
from mistakebound.panel.views import Features
from mistakebound.rules.panel_members import CLASS_PRIOR, MEMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.panel.class_combiner import ClassVerdict
    from mistakebound.panel.views import Example

NAMES = (*MEMBERS, CLASS_PRIOR)
LOGITS = (*AGAINST_REST, "decision-list")
"""Members whose scores are logits of each class. Those of the others are log probabilities up to a constant."""
PRIOR_WEIGHT, PRIOR_FAST, PRIOR_SLOW = 0.0, 0.06, 0.018
"""First weight and variances of the class prior in the mixers."""
LEAST_LOG_CHANCE = -12.0
LEAST_LOGIT = -30.0


class ClassSaid(NamedTuple):
    """The output of the Panel for one example, before its label is read."""

    scores: FloatArray
    """Of each member, in the order of NAMES, also of those that do not play, and each seen class."""
    verdict: ClassVerdict


class ClassReferencePanel:
    """The Panel with several classes: slow, but easy to read. Tests compare the core with it, up to float32 errors.

    Labels are numbers of classes, in the order in which they first occur.

    Parameters
    ----------
    members : sequence of str
        The members that play, by name. The class prior always plays.
    literal : bool
        Without the two changes that make the core fast: a 64-bit hash of pairs, and learning of interactions in every
        round.
    """

    def __init__(self, members: Sequence[str] = MEMBERS, *, literal: bool = False) -> None:
        self.literal = literal
        self.features, self.counts, self.sequence = Features(), ClassCounts(), LabelSequence()
        self.linear = LinearClasses()
        self.plays = np.array([*(name in members for name in MEMBERS), True])
        self.first_weights = np.append(FIRST_WEIGHTS, PRIOR_WEIGHT)
        weights, fast, slow = (
            each[self.plays]
            for each in (
                self.first_weights,
                np.append(FAST_VARIANCES, PRIOR_FAST),
                np.append(SLOW_VARIANCES, PRIOR_SLOW),
            )
        )
        self.combiner = ClassCombiner(weights, fast, slow)

    def round(self, x: Example, label: int) -> ClassSaid:
        """Predict the label of x, then learn it."""
        views = self.features.views(x)
        of = tokens(x, self.features, moments_everywhere=True)
        scene = Scene(x, views, slots(x, of, self.features, wide_hash=self.literal))
        scores = self.scores(scene)
        verdict = self.combiner.predict(log_chances(scores)[self.plays])
        self.combiner.learn(verdict, label)
        self._learn(scene, scores, label)
        return ClassSaid(scores, verdict)

    def scores(self, scene: Scene) -> FloatArray:
        """Return the score of each member for each class."""
        scaled = scene.views.scaled[:-1]  # without the constant
        said = {name: self.linear.scores(name, scene) for name in LINEAR}
        said["naive-bayes"], said["decision-list"] = self.counts.naive_bayes(scaled), self.counts.decision_list(scaled)
        said["label-history"], said[CLASS_PRIOR] = self.sequence.scores(self.counts), self.counts.prior()
        return np.array([said[name] for name in NAMES])

    def _learn(self, scene: Scene, scores: FloatArray, label: int) -> None:
        if label == len(self.counts.labels):
            self.linear.start_class()
            self.counts.start_class()
            scores = np.hstack([scores, np.zeros((len(NAMES), 1))])
        lesson = Lesson(scene, label, self.active(scores, label), temperature(scores.shape[1]))
        said = dict(zip(NAMES, scores, strict=True))
        sure = {
            name
            for order in SLOT_MEMBERS
            if all(np.abs(self.linear.gradients(said[each], lesson)).max() < LEAST_GRADIENT for each in order)
            for name in order
        }
        for name in LINEAR:
            if self.literal or name not in sure:
                self.linear.learn(name, said[name], lesson)
        self.counts.learn(scene.x, label)
        self.sequence.learn(label)
        self.features.count(scene.x)

    def active(self, scores: FloatArray, label: int) -> list[int]:
        """Return the classes that learn: all, or the label and the 15 rivals with the largest mix by first weights."""
        classes = scores.shape[1]
        if classes <= MOST_ACTIVE:
            return list(range(classes))
        mixes = self.plays & (self.first_weights > 0) & (np.array(NAMES) != "label-history")
        rank = self.first_weights[mixes] @ advice(scores)[mixes]
        rivals = [k for k in np.argsort(-rank, kind="stable").tolist() if k != label]
        return [label, *rivals[: MOST_ACTIVE - 1]]


def log_sigmoid(z: FloatArray) -> FloatArray:
    """Return ln σ(z), which is z for very small z."""
    return np.where(z > LEAST_LOGIT, -np.log1p(np.exp(-np.maximum(z, LEAST_LOGIT))), z)


def advice(scores: FloatArray) -> FloatArray:
    """Return scores as log probabilities up to a constant, without limits."""
    logits = np.isin(NAMES, LOGITS)[:, None]
    z = np.where(np.isin(NAMES, MARGINS)[:, None], MARGIN_TO_LOGIT * scores, scores)
    return np.where(logits, log_sigmoid(z), z)


def log_chances(scores: FloatArray) -> FloatArray:
    """Return the scores of all members for each class as log probabilities.

    Scores of softmax members are multiplied by τ. Margins and the decision list are logits of a class, kept within ±8:
    ln σ of them. Then the maximum is subtracted, the rest is at least −12, and they are normalised.
    """
    if not scores.shape[1]:
        return scores
    tau = temperature(scores.shape[1])
    found = []
    for name, z in zip(NAMES, scores, strict=True):
        if name in LOGITS:
            logits = np.clip(z * (MARGIN_TO_LOGIT if name in MARGINS else 1.0), -LARGEST_LOGIT, LARGEST_LOGIT)
            found.append(normalised(log_sigmoid(logits), LEAST_LOG_CHANCE))
        else:
            found.append(normalised(z * (tau if name in LINEAR else 1.0), LEAST_LOG_CHANCE))
    return np.array(found)
