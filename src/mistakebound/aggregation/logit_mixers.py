"""Mixers of logits: logistic regression over the scores of learners, by Newton steps or by gradient steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mistakebound.rules.logistic import sigmoid

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray

LARGEST = 20.0
"""Mixed logits are kept within ±20."""


class LogitMixer:
    """Base of the mixers: weights v of the logits a."""

    def __init__(self, weights: FloatArray) -> None:
        self.weights = weights.copy()

    def mix(self, logits: FloatArray) -> float:
        """Return v·a within ±20."""
        return float(np.clip(self.weights @ logits, -LARGEST, LARGEST))


class NewtonMixer(LogitMixer):
    r"""Online Newton steps on logistic loss, with a covariance P that drifts: a Kalman filter of logistic regression.

    Predict z = v·a. With p = σ(z), q = max(p(1−p), 0.01) and g = Pa: v ← v + (y − p)/(1 + q·a·g)·g and
    P ← P − q/(1 + q·a·g)·ggᵀ. Then each P_ii that is below its start grows by 6e-6, so that v never stops moving.
    No adversarial bound is known to us for it as it is run.
    """

    LEAST_CURVATURE = 0.01
    DRIFT = 6e-6

    def __init__(self, weights: FloatArray, variances: FloatArray) -> None:
        super().__init__(weights)
        self.variances = variances
        self.covariance = np.diag(variances)

    def learn(self, logits: FloatArray, y: int) -> None:
        """Take a Newton step; y is 0 or 1."""
        p = sigmoid(self.mix(logits))
        direction = self.covariance @ logits
        curvature = max(p * (1 - p), self.LEAST_CURVATURE)
        shrink = 1 / (1 + curvature * float(logits @ direction))
        self.weights = self.weights + (y - p) * shrink * direction
        self.covariance = self.covariance - curvature * shrink * np.outer(direction, direction)
        diagonal = np.einsum("ii->i", self.covariance)
        diagonal[diagonal < self.variances] += self.DRIFT


class GradientMixer(LogitMixer):
    """Gradient steps of rate 0.002 on logistic loss.

    Its loss is at most L_u + ‖u − v⁰‖²/(2η) + (η/2) Σ (p − y)²‖a‖² for every fixed mix u (Zinkevich 2003).
    """

    RATE = 0.002

    def learn(self, logits: FloatArray, y: int) -> None:
        """Step along the gradient; y is 0 or 1."""
        self.weights = self.weights + self.RATE * (y - sigmoid(self.mix(logits))) * logits


class BayesMixture:
    """Mixture of probabilities: each expert weighs its prior times the probability that it gave to the outcomes.

    Its log loss is at most that of expert i plus ln(1/prior_i), for every i and every sequence of outcomes.
    """

    def __init__(self, prior: FloatArray) -> None:
        self.log_weights = np.log(prior)

    @property
    def weights(self) -> FloatArray:
        """The weights, which sum to 1."""
        w = np.exp(self.log_weights - self.log_weights.max())
        return np.asarray(w / w.sum())

    def mix(self, probabilities: FloatArray) -> float:
        """Return the probability of outcome 1."""
        return float(self.weights @ probabilities)

    def learn(self, probabilities: FloatArray, y: int) -> None:
        """Multiply each weight by the probability that its expert gave to y."""
        gained = np.log(probabilities if y else 1 - probabilities)
        self.log_weights = self.log_weights + gained - self.log_weights.max()
