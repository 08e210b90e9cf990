"""Mixers of log probabilities of several classes, with weights that all classes share; the chance of a new label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mistakebound.aggregation.logit_mixers import BayesMixture

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray

LEAST_MIXED = -20.0
"""Mixed log probabilities are at least the largest minus 20."""


def normalised(z: FloatArray, floor: float) -> FloatArray:
    """Return log probabilities: z minus its maximum, at least ``floor``, normalised.

    >>> np.exp(normalised(np.array([3.0, 3.0]), -12.0))
    array([0.5, 0.5])
    """
    z = np.maximum(z - z.max(), floor)
    return np.asarray(z - np.log(np.exp(z).sum()))


class ClassMixer:
    """Base of the mixers: weights v of the members, for log probabilities l_ik of member i and class k."""

    def __init__(self, weights: FloatArray) -> None:
        self.weights = weights.copy()

    def mix(self, logs: FloatArray) -> FloatArray:
        """Return the log probabilities of the classes from Σ_i v_i l_ik."""
        return normalised(self.weights @ logs, LEAST_MIXED)

    def gradient(self, logs: FloatArray, y: int) -> FloatArray:
        """Return l_iy − Σ_k p_k l_ik of each member, p the mixed probabilities."""
        return np.asarray(logs[:, y] - logs @ np.exp(self.mix(logs)))


class ClassNewtonMixer(ClassMixer):
    """Online Newton steps on log loss, with a covariance P that drifts.

    q is p with its second largest entry raised to at least 0.01, normalised, and ā = Σ_k q_k l_k. For the four classes
    with the largest q (at least 1e-4 before normalising): w = l_k − ā, u = Pw, P ← P − q_k/(1 + q_k w·u) uuᵀ. Then
    v ← v + Pg, and each P_ii that is below its start grows by 6e-6. No adversarial bound is known to us for it.
    """

    LEAST_SECOND, LEAST_USED, MOST_USED, DRIFT = 0.01, 1e-4, 4, 6e-6

    def __init__(self, weights: FloatArray, variances: FloatArray) -> None:
        super().__init__(weights)
        self.variances = variances
        self.covariance = np.diag(variances)

    def learn(self, logs: FloatArray, y: int) -> None:
        """Take a Newton step towards the label y."""
        gradient = self.gradient(logs, y)
        p = np.exp(self.mix(logs))
        ranked = np.argsort(-p, kind="stable")
        p[ranked[1]] = max(p[ranked[1]], self.LEAST_SECOND)
        q = p / p.sum()
        mean = logs @ q
        for k in np.argsort(-p, kind="stable")[: self.MOST_USED]:
            if p[k] >= self.LEAST_USED:
                off = logs[:, k] - mean
                u = self.covariance @ off
                self.covariance = self.covariance - q[k] / (1 + q[k] * (off @ u)) * np.outer(u, u)
        self.weights = self.weights + self.covariance @ gradient
        diagonal = np.einsum("ii->i", self.covariance)
        diagonal[diagonal < self.variances] += self.DRIFT


class ClassGradientMixer(ClassMixer):
    """Gradient steps of rate 0.002 on log loss."""

    RATE = 0.002

    def learn(self, logs: FloatArray, y: int) -> None:
        """Step along the gradient towards the label y."""
        self.weights = self.weights + self.RATE * self.gradient(logs, y)


class NewLabel:
    """The probability that the next label has never occurred.

    A Bayes mixture with equal priors of 1/(t + 1) and (n₁ + ½)/(t + 1), at most 1 − ½/(t + 1), where n₁ labels have
    occurred once. Its log loss is at most that of either plus ln 2. The first label is new with probability 1.

    >>> fresh = NewLabel()
    >>> fresh.chance
    1.0
    >>> fresh.learn(0)
    >>> fresh.chance  # the mean of 1/2 and (1 + 1/2)/2
    0.625
    """

    def __init__(self) -> None:
        self.mixture = BayesMixture(np.array([0.5, 0.5]))
        self.counts: dict[int, int] = {}
        self.rounds = 0

    @property
    def chances(self) -> FloatArray:
        """The two probabilities that are mixed."""
        once = sum(count == 1 for count in self.counts.values())
        after = self.rounds + 1
        return np.array([1 / after, min((once + 0.5) / after, 1 - 0.5 / after)])

    @property
    def chance(self) -> float:
        """The probability of a new label."""
        return self.mixture.mix(self.chances) if self.rounds else 1.0

    def learn(self, label: int) -> None:
        """Count a label."""
        if self.rounds:
            self.mixture.learn(self.chances, int(label not in self.counts))
        self.counts[label] = self.counts.get(label, 0) + 1
        self.rounds += 1
