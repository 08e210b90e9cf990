"""Split the logit of the Panel into what each member adds to it. See docs/theory.md, "What adds to a prediction"."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mistakebound.panel.reference import LARGEST_LOGIT

if TYPE_CHECKING:
    from mistakebound._support.arrays import BoolArray, FloatArray

LARGEST_MIX = 20.0
"""Logits of the mixers are clipped to ± this value; with several classes, their log probabilities are floored there."""
FLOOR = 12.0
"""With several classes, a member's log probabilities are at most this far below the largest of them."""
LEAST_CHANCE = 1e-12
"""The least probability of a class."""
NODES = 64
"""Of the integral over the scores of the rivals, whose range is at most LARGEST_MIX: the error is below 1e-14."""


class Split(NamedTuple):
    """The logit of the mixture as ``start`` plus the sum of ``factors`` times the scores of the members."""

    logit: float
    """Before the guard."""
    start: float
    """The logit of a label if nothing is known: 0, or that of 1/K for K classes."""
    factors: FloatArray
    """What a score of 1 adds to the logit: of each member, for each class. Two labels have one score."""
    own: FloatArray
    """The logit that each member gives to the label."""

    def negated(self) -> Split:
        """Return the same for the other one of two labels."""
        return Split(-self.logit, -self.start, -self.factors, -self.own)


def two_labels(scores: FloatArray, to_logit: FloatArray, mixing: FloatArray, shares: FloatArray) -> Split:
    """Split the logit of the positive label.

    Parameters
    ----------
    scores, to_logit : array
        Of each member: its score, and the factor that makes it a logit.
    mixing : array
        Of each mixer: the weights of the members.
    shares : array
        Of members and mixers in the Bayes mixture; their sum is 1.

    Examples
    --------
    >>> one = np.ones(2)
    >>> split = two_labels(np.array([2.0, -1.0]), one, np.array([[0.5, 0.5]] * 3), np.array([0, 0, 0.5, 0.5, 0]))
    >>> round(split.logit, 12), (split.factors[:, 0] * [2.0, -1.0]).round(12).tolist()
    (0.5, [1.0, -0.5])
    """
    logits = scores * to_logit
    advice = np.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT)
    mixed = mixing @ advice
    clipped = np.clip(mixed, -LARGEST_MIX, LARGEST_MIX)
    e = np.concatenate([advice, clipped])
    # The part of an expert in p − ½ is w·tanh(e/2)/2.
    above = 0.5 * np.tanh(e / 2)
    distance = float(shares @ above)
    if abs(distance) < 0.25:
        logit = 2 * math.atanh(2 * distance)
    else:
        logit = math.log(float(shares @ sigma(e)) / float(shares @ sigma(-e)))
    to_logits = logit / distance if distance else 4.0
    of_expert = to_logits * shares * ratio(above, e, 0.25)
    count = len(scores)
    of_mixer = of_expert[count:] * ratio(clipped, mixed, 1.0)
    of_advice = of_expert[:count] + of_mixer @ mixing
    return Split(logit, 0.0, (of_advice * ratio(advice, logits, 1.0) * to_logit)[:, None], advice)


def several(
    scores: FloatArray, to_logit: FloatArray, are_logits: BoolArray, mixing: FloatArray, shares: FloatArray, label: int
) -> Split:
    """Split the logit of a class.

    Parameters
    ----------
    scores : array
        Of each member, for each class.
    to_logit, are_logits : array
        Of each member: a factor of its scores, and whether they are then logits of one class against the rest.
        Otherwise they are log probabilities, up to a constant.
    mixing, shares : array
        As for two labels.
    label : int
        The class.
    """
    count, classes = scores.shape
    if classes == 1:
        most = -math.log(LEAST_CHANCE)
        return Split(most, most, np.zeros_like(scores), np.full(count, most))
    start = -math.log(classes - 1)
    of_score = np.where(are_logits[:, None], log_sigma_factor(scores * to_logit[:, None]), 1.0) * to_logit[:, None]
    advice = of_score * scores
    floored, floor_of_member = against(advice, label, FLOOR)
    mixed, floor_of_mixer = against(mixing @ floored, label, LARGEST_MIX)
    experts = np.concatenate([floored, mixed])
    chances = np.exp(experts) / np.exp(experts).sum(axis=1, keepdims=True)
    others = np.delete(chances, label, axis=1)
    above = chances[:, label] - 1 / classes
    advantage = np.log(chances[:, label]) - np.log(others.sum(axis=1)) - start
    level = (classes - 1) / classes**2  # dp/d(logit) at p = 1/K
    mixture = np.maximum(shares @ chances, LEAST_CHANCE)
    logit = math.log(mixture[label]) - math.log(float(np.delete(mixture, label).sum()))
    distance = float(shares @ above)
    to_logits = (logit - start) / distance if abs(distance) * classes > 1e-7 else 1 / level
    of_expert = to_logits * shares * ratio(above, advantage, level, 1e-6)
    # What the difference between the scores of the class and of each rival adds to the logit.
    of_rival = of_expert[:, None] * rivals(experts, label)
    of_mixer = of_rival[count:] * floor_of_mixer
    of_rival = (of_rival[:count] + mixing.T @ of_mixer) * floor_of_member
    factors = -of_rival
    factors[:, label] = of_rival.sum(axis=1)
    return Split(logit, start, factors * of_score, advantage[:count] + start)


def alone(logits: FloatArray, are_logits: BoolArray, weights: FloatArray, label: int | None) -> FloatArray:
    """Return what features add to a logit if each of them is alone in an example and nothing else is known.

    Parameters
    ----------
    logits : array
        [feature, member, class]: what the feature adds to the scores, times the factor of each member.
    are_logits : array
        As for `several`.
    weights : array
        Weight of each member's logit in the mixture, near equal probabilities of all labels.
    label : int or None
        The class; None for two labels.
    """
    if label is None:
        return np.asarray((np.clip(logits[:, :, 0], -LARGEST_LOGIT, LARGEST_LOGIT) * weights).sum(axis=1))
    advice = np.where(are_logits[:, None], log_sigma_factor(logits), 1.0) * logits
    of_label = advice[:, :, label]
    rivals_of_label = (advice.sum(axis=2) - of_label) / max(logits.shape[2] - 1, 1)
    return np.asarray((np.clip(of_label - rivals_of_label, -FLOOR, FLOOR) * weights).sum(axis=1))


def against(numbers: FloatArray, label: int, floor: float) -> tuple[FloatArray, FloatArray]:
    """Return rows of numbers with their maximum subtracted and a floor, and how much that scales differences.

    The second result has, for each class, the difference from ``label`` with the floor, divided by that without.
    """
    low = numbers - numbers.max(axis=1, keepdims=True)
    high = np.maximum(low, -floor)
    scale = ratio(high[:, label, None] - high, low[:, label, None] - low, 1.0)
    return high, np.where((low[:, label, None] >= -floor) & (low >= -floor), 1.0, scale)


def rivals(experts: FloatArray, label: int) -> FloatArray:
    """Return how much each rival counts: its mean probability among the rivals, if all numbers grow from 0 on.

    With these weights ρ, the logit of the class minus that of 1/K is Σ ρ_c (u_label − u_c), because the derivative of
    ln Σ e^(s·u_c) by s is the mean of u_c under those probabilities.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    found = np.zeros_like(experts)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        chances = np.exp(node * experts)
        chances[:, label] = 0
        found += weight * chances / chances.sum(axis=1, keepdims=True)
    return found


def sigma(z: FloatArray) -> FloatArray:
    """Return the logistic function."""
    return np.asarray(1 / (1 + np.exp(-z)))


def log_sigma_factor(z: FloatArray) -> FloatArray:
    """Return (ln σ(y) + ln 2)/z for y = z clipped to ±8; ½ at z = 0."""
    y = np.clip(z, -LARGEST_LOGIT, LARGEST_LOGIT)
    return ratio(math.log(2) - np.logaddexp(0, -y), z, 0.5, 1e-9)


def ratio(above: FloatArray, below: FloatArray, limit: float, least: float = 0.0) -> FloatArray:
    """Return above/below, and ``limit`` where the size of ``below`` is at most ``least``."""
    small = np.abs(below) <= least
    return np.where(small, limit, above / np.where(small, 1.0, below))
