"""From log probabilities of the members to a prediction: mixers, Bayes mixture, chance of a new label, guard."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mistakebound.aggregation.guard import Guard
from mistakebound.aggregation.logit_mixers import BayesMixture
from mistakebound.panel.class_mixers import ClassGradientMixer, ClassNewtonMixer, NewLabel
from mistakebound.rules.panel_members import MIXERS, priors

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray

LEAST_CHANCE, JUST = 1e-12, 1e-9


class ClassVerdict(NamedTuple):
    """The output of the combiner for one example, before its label is read."""

    experts: FloatArray
    """Log probabilities of each seen class, by member and then by mixer."""
    mixture: FloatArray
    """Probabilities of the seen classes, before the guard, if the label is not new."""
    fresh: float
    """Probability of a new label."""
    prediction: int
    """A seen class; −1 before the first label."""
    overridden: bool
    """Whether the guard did not follow the mixture."""

    @property
    def probabilities(self) -> FloatArray:
        """The probability of each seen class, and then of a new label, as they are reported after the guard."""
        p = self.mixture
        if self.overridden:
            p = shared_out(p, int(p.argmax()), self.prediction)
        return np.append((1 - self.fresh) * p, self.fresh)


class ClassCombiner:
    """Three mixers, the Bayes mixture of members and mixers, and a guarded plurality, for classes that appear in turn.

    Classes are numbered in the order of their first round. A round whose label is new changes only the
    probability of new labels.
    """

    def __init__(self, weights: FloatArray, fast: FloatArray, slow: FloatArray) -> None:
        self.fast = ClassNewtonMixer(weights, fast)
        self.slow = ClassNewtonMixer(weights, slow)
        self.gradient = ClassGradientMixer(weights)
        self.mixture = BayesMixture(np.array(priors(len(weights))))
        self.guard = Guard(len(weights) + len(MIXERS))
        self.fresh = NewLabel()

    @property
    def classes(self) -> int:
        """Number of labels that have occurred."""
        return len(self.fresh.counts)

    def predict(self, logs: FloatArray) -> ClassVerdict:
        """Predict from the log probabilities l_ik of member i and class k."""
        if not self.classes:
            return ClassVerdict(np.zeros((len(self.guard.wrong), 0)), np.zeros(0), 1.0, -1, overridden=False)
        experts = np.vstack([logs, *(mixer.mix(logs) for mixer in (self.fast, self.slow, self.gradient))])
        mixture = self.mixed(experts)
        advice = int(mixture.argmax())
        prediction = -self.guard.predict(votes(experts), -advice)
        return ClassVerdict(experts, mixture, self.fresh.chance, prediction, prediction != advice)

    def mixed(self, experts: FloatArray) -> FloatArray:
        """Return the probabilities of the Bayes mixture. Its largest one is the advice that the guard may follow."""
        return np.maximum(self.mixture.weights @ np.exp(experts), LEAST_CHANCE)

    def learn(self, verdict: ClassVerdict, y: int) -> None:
        """Learn the label of the round that was predicted last."""
        if y < self.classes:
            self.guard.learn(votes(verdict.experts), -y)
            self.mixture.learn(np.exp(verdict.experts[:, y]), 1)
            if self.classes > 1:
                for mixer in (self.fast, self.slow, self.gradient):
                    mixer.learn(verdict.experts[: -len(MIXERS)], y)
        self.fresh.learn(y)


def votes(experts: FloatArray) -> list[int]:
    """Return the vote of each expert: minus the number of its most likely class, and of the earlier one in a tie.

    Between labels of equal weight, the guard takes the largest. With the minus sign, this is the earlier class.

    >>> votes(np.log([[0.25, 0.5, 0.25], [0.5, 0.5, 0.0]], where=[True, True, False], out=np.full((2, 3), -9.0)))
    [-1, 0]
    """
    return [-int(k) for k in experts.argmax(axis=1)]


def shared_out(p: FloatArray, advised: int, predicted: int) -> FloatArray:
    """Return probabilities that agree with a prediction that overrides the mixture.

    Both labels get the mean of their probabilities; the prediction gets slightly more. No other label gets more.

    >>> shared_out(np.array([0.5, 0.25, 0.25]), 0, 2).round(6).tolist()
    [0.375, 0.25, 0.375]
    """
    mean = (p[advised] + p[predicted]) / 2
    shared = np.minimum(p, mean * (1 - JUST))
    shared[advised], shared[predicted] = mean * (1 - JUST), mean * (1 + JUST)
    return np.asarray(shared / shared.sum())
