"""Mixers of logits: steps worked by hand, and their theorems on every path."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mistakebound.aggregation.logit_mixers import LARGEST, BayesMixture, GradientMixer, NewtonMixer
from mistakebound.rules.logistic import sigmoid


def log_loss(p: float, y: int) -> float:
    """−ln of the probability given to y."""
    return -math.log(p if y else 1 - p)


def test_a_newton_step_by_hand() -> None:
    """v = (0, 0), P = diag(1, 2), a = (2, 0), y = 1: p = ½, q = ¼, g = (2, 0), a·g = 4, 1/(1 + qa·g) = ½."""
    mixer = NewtonMixer(np.zeros(2), np.array([1.0, 2.0]))
    logits = np.array([2.0, 0.0])
    assert mixer.mix(logits) == 0
    mixer.learn(logits, 1)
    assert mixer.weights.tolist() == [0.5, 0.0]  # ½·½·2
    # P − ¼·½·(2, 0)(2, 0)ᵀ = diag(½, 2), and the first is below its start, so it drifts.
    assert mixer.covariance.tolist() == [[0.5 + 6e-6, 0.0], [0.0, 2.0]]


def test_the_curvature_has_a_floor() -> None:
    """v·a = 20, beyond which logits are cut: p(1−p) is far below 0.01, which is used instead."""
    mixer = NewtonMixer(np.array([5.0]), np.array([1.0]))
    logits = np.array([8.0])
    assert mixer.mix(logits) == LARGEST
    p = sigmoid(LARGEST)
    mixer.learn(logits, 0)
    shrink = 1 / (1 + 0.01 * 64)
    assert mixer.weights == pytest.approx(5.0 - p * shrink * 8.0, rel=1e-12)
    assert mixer.covariance == pytest.approx(1 - 0.01 * shrink * 64 + 6e-6, rel=1e-12)


def test_a_gradient_step_by_hand() -> None:
    mixer = GradientMixer(np.array([0.0, 1.0]))
    mixer.learn(np.array([3.0, 0.0]), 1)
    assert mixer.weights.tolist() == [0.003, 1.0]


STREAMS = st.integers(0, 2**32 - 1)


@given(STREAMS, st.integers(1, 60))
def test_the_gradient_mixer_keeps_up_with_every_mix(seed: int, rounds: int) -> None:
    """L ≤ L_u + ‖u − v⁰‖²/(2η) + (η/2) Σ (p − y)²‖a‖², for every u, on every path."""
    rng = np.random.default_rng(seed)
    first = rng.normal(0, 0.3, 4)
    mixer = GradientMixer(first)
    u = rng.normal(0, 1.0, 4)
    ours = theirs = paid = 0.0
    for _ in range(rounds):
        logits, y = np.clip(rng.normal(0, 2, 4), -3, 3), int(rng.integers(0, 2))
        p = sigmoid(mixer.mix(logits))
        ours += log_loss(p, y)
        theirs += log_loss(sigmoid(float(u @ logits)), y)
        paid += (p - y) ** 2 * float(logits @ logits)
        mixer.learn(logits, y)
    rate = GradientMixer.RATE
    assert ours <= theirs + float((u - first) @ (u - first)) / (2 * rate) + rate / 2 * paid + 1e-9


@given(STREAMS, st.integers(0, 200))
def test_the_bayes_mixture_loses_little_more_than_any_expert(seed: int, rounds: int) -> None:
    """L ≤ L_i + ln(1/π_i), for every i, on every path; the sum of the weights is exactly the probability so far."""
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(5))
    mixture = BayesMixture(prior)
    ours, each = 0.0, np.zeros(5)
    for _ in range(rounds):
        p, y = rng.uniform(0.01, 0.99, 5), int(rng.integers(0, 2))
        ours += log_loss(mixture.mix(p), y)
        each += [log_loss(float(chance), y) for chance in p]
        mixture.learn(p, y)
    assert (ours <= each + np.log(1 / prior) + 1e-9).all()
    assert ours == pytest.approx(-math.log(float(prior @ np.exp(-each + each.min()))) + float(each.min()), abs=1e-8)


def test_a_wrong_mixture_is_caught() -> None:
    """A mixture that forgets its prior, or raises the wrong experts, breaks the identity of the test above."""
    prior = np.array([0.9, 0.1])
    right, forgetful, inverted = BayesMixture(prior), BayesMixture(np.array([0.5, 0.5])), BayesMixture(prior)
    for _ in range(20):
        right.learn(np.array([0.2, 0.9]), 1)
        forgetful.learn(np.array([0.2, 0.9]), 1)
        inverted.learn(np.array([0.2, 0.9]), 0)
    assert right.weights[1] > 0.99
    assert abs(forgetful.weights[1] / forgetful.weights[0] - right.weights[1] / right.weights[0]) > 1
    assert inverted.weights[1] < 1e-6
