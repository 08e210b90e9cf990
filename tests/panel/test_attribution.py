"""The split of a logit: it adds up, agrees with the mixture, and treats labels and members alike."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mistakebound.panel.attribution import against, alone, rivals, several, two_labels


def combination(members: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Factors of scores, weights of three mixers (some of them negative), and shares."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(members + 3, 0.3))
    return rng.choice([1.0, 4.0], members), rng.normal(0.1, 1.0, (3, members)), shares


def sigma(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-3, 1.0, 5.0, 100.0, 1e30])
@pytest.mark.parametrize("seed", range(6))
def test_two_labels_add_up(size: float, seed: int) -> None:
    """To the logit of the mixture, also where logits are clipped."""
    scores = np.random.default_rng(seed).normal(size=8) * size
    to_logit, mixing, shares = combination(8, seed)
    split = two_labels(scores, to_logit, mixing, shares)
    advice = np.clip(scores * to_logit, -8, 8)
    e = np.concatenate([advice, np.clip(mixing @ advice, -20, 20)])
    wanted = math.log(shares @ sigma(e)) - math.log(shares @ sigma(-e))
    assert split.logit == pytest.approx(wanted, rel=1e-9, abs=1e-14)
    assert split.own == pytest.approx(advice)
    parts = split.factors[:, 0] * scores
    assert parts.sum() + split.start == pytest.approx(split.logit, rel=1e-12, abs=1e-12 * np.abs(parts).sum())
    other = two_labels(-scores, to_logit, mixing, shares)
    assert other.logit == pytest.approx(split.negated().logit)
    assert -other.factors == pytest.approx(split.negated().factors)


def test_logits_that_cancel_have_the_factors_of_equal_probabilities() -> None:
    """The logit is 0, but what the two members add is not."""
    split = two_labels(np.array([3.0, -3.0]), np.ones(2), np.array([[0.5, 0.5]] * 3), np.array([0, 0, 1.0, 0, 0]))
    assert split.logit == 0
    assert split.factors[:, 0].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("classes", [2, 3, 10, 40])
@pytest.mark.parametrize("size", [0.0, 1e-9, 1.0, 6.0, 200.0, 1e30])
@pytest.mark.parametrize("seed", range(3))
def test_several_classes_add_up(classes: int, size: float, seed: int) -> None:
    """For every class, also where scores are clipped and probabilities have a floor."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(9, classes)) * size
    are_logits = rng.random(9) < 0.5
    to_logit, mixing, shares = combination(9, seed)
    logits = scores * to_logit[:, None]
    advice = np.where(are_logits[:, None], np.log(sigma(np.clip(logits, -8, 8))), logits)
    floored = np.maximum(advice - advice.max(axis=1, keepdims=True), -12)
    mixed = mixing @ floored
    mixed = np.maximum(mixed - mixed.max(axis=1, keepdims=True), -20)
    chances = np.exp(np.concatenate([floored, mixed]))
    mixture = np.maximum(shares @ (chances / chances.sum(axis=1, keepdims=True)), 1e-12)
    for label in range(classes):
        split = several(scores, to_logit, are_logits, mixing, shares, label)
        wanted = math.log(mixture[label]) - math.log(np.delete(mixture, label).sum())
        assert split.logit == pytest.approx(wanted, rel=1e-9, abs=1e-12)
        assert split.start == -math.log(classes - 1)
        parts = split.factors * scores
        assert parts.sum() + split.start == pytest.approx(split.logit, rel=1e-11, abs=1e-11 * (1 + np.abs(parts).sum()))


def test_two_classes_are_split_like_two_labels() -> None:
    """A logit is the difference of two log probabilities."""
    scores = np.random.default_rng(3).normal(size=7)
    _, mixing, shares = combination(7, 3)
    one, no = np.ones(7), np.zeros(7, bool)
    both = two_labels(scores, one, mixing, shares)
    split = several(np.stack([-scores / 2, scores / 2], axis=1), one, no, mixing, shares, 1)
    assert split.logit == pytest.approx(both.logit)
    parts = split.factors[:, 1] * scores / 2 - split.factors[:, 0] * scores / 2
    assert parts == pytest.approx(both.factors[:, 0] * scores)


def test_rivals_that_were_excluded_count() -> None:
    """Their weights are positive, sum to 1, and explain the logit exactly; the class itself has none."""
    experts, start = np.array([[0.0, -0.1, -12.0, -12.0], [-20.0, 0.0, -3.0, -7.0]]), -math.log(3)
    found = rivals(experts, 0)
    assert found[:, 0].tolist() == [0, 0]
    assert (found[:, 1:] > 0.01).all()
    assert found.sum(axis=1) == pytest.approx([1, 1])
    chances = np.exp(experts)
    logits = np.log(chances[:, 0] / chances[:, 1:].sum(axis=1))
    assert (found * (experts[:, :1] - experts)).sum(axis=1) == pytest.approx(logits - start, rel=1e-13)


def test_a_floor_scales_differences() -> None:
    high, scale = against(np.array([[5.0, 3.0, -20.0, -30.0]]), 2, 12.0)
    assert high.tolist() == [[0, -2, -12, -12]]
    assert scale[0] == pytest.approx([12 / 25, 10 / 23, 1, 0])


def test_one_class_has_no_rivals() -> None:
    split = several(np.ones((2, 1)), np.ones(2), np.zeros(2, bool), np.ones((3, 2)), np.full(5, 0.2), 0)
    assert split.logit == split.start == -math.log(1e-12)
    assert split.factors.tolist() == [[0], [0]]


def test_features_alone_have_the_weights_of_small_scores() -> None:
    """Near equal probabilities the split of a logit is linear, so both give the same; large logits are clipped."""
    rng = np.random.default_rng(5)
    to_logit, mixing, shares = combination(6, 5)
    weights = shares[:6] + shares[6:] @ mixing
    small = rng.normal(size=(1, 6, 1)) * 1e-6
    split = two_labels(small[0, :, 0], to_logit, mixing, shares)
    none = np.zeros(6, bool)
    assert alone(small * to_logit[:, None], none, weights, None)[0] == pytest.approx(split.logit, rel=1e-4)
    assert alone(np.full((1, 6, 1), 1e9), none, weights, None)[0] == pytest.approx(8 * weights.sum())
    are_logits = np.arange(6) % 2 == 0
    many = rng.normal(size=(1, 6, 5)) * 1e-6
    of_class = several(many[0], to_logit, are_logits, mixing, shares, 3)
    found = alone(many * to_logit[:, None], are_logits, weights, 3)[0]
    assert found == pytest.approx(of_class.logit - of_class.start, rel=1e-4)
