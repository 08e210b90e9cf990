"""Games of the Panel's combiner: members whose scores are given, a trace worked by hand, and the theorems pathwise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

import mistakebound as mb
from mistakebound import bounds
from mistakebound.panel.reference import ReferencePanel

if TYPE_CHECKING:
    from collections.abc import Iterator

    Game = Iterator[tuple[list[float], int]]

MIXERS = 3


class Scripted:
    """A member from outside whose score is a feature of the example."""

    def __init__(self, name: str) -> None:
        self.name = name

    def score_one(self, x: Any) -> float:
        return float(x[self.name])

    def predict_one(self, x: Any) -> bool:
        return self.score_one(x) >= 0

    def learn_one(self, x: Any, y: Any) -> None: ...


def scripted(count: int) -> mb.Panel:
    """A panel of members from outside only, played by `scores`."""
    return mb.Panel([Scripted(f"s{k}") for k in range(count)], classes=(-1, 1))


def example(scores: list[float]) -> dict[str, float]:
    return {f"s{k}": score for k, score in enumerate(scores)}


def sigma(z: float) -> float:
    return 1 / (1 + math.exp(-z))


# Two members from outside; scores and label of each round. In round 0 the logit of each mixer is .02·2 − .02·1. In
# round 2 the first score is cut to −8.
TRACE = [((2.0, -1.0), 1), ((1.0, 3.0), -1), ((-20.0, 0.5), -1), ((8.0, 9.0), 1), ((-8.0, 0.0), 1)]


def trace() -> Iterator[tuple[list[float], float]]:
    """Logits of members and mixers, and of the mixture, in each round of TRACE: the formulas, number by number."""
    fast, slow = [0.02, 0.02, 0.06, 0.0, 0.06], [0.02, 0.02, 0.018, 0.0, 0.018]  # v1, v2, P11, P12, P22
    starts = {id(fast): 0.06, id(slow): 0.018}
    o1 = o2 = 0.02
    weights = [0.005, 0.005, 0.47, 0.47, 0.05]
    for (a, b), y in TRACE:
        a, b = max(a, -8.0), min(b, 8.0)  # noqa: PLW2901
        logits = [a, b, fast[0] * a + fast[1] * b, slow[0] * a + slow[1] * b, o1 * a + o2 * b]
        p = sum(w * sigma(z) for w, z in zip(weights, logits, strict=True)) / sum(weights)
        yield logits, math.log(p / (1 - p))
        target = 1.0 if y > 0 else 0.0
        weights = [w * sigma(y * z) for w, z in zip(weights, logits, strict=True)]
        step = 0.002 * (target - sigma(logits[4]))
        o1, o2 = o1 + step * a, o2 + step * b
        for mixer, z in ((fast, logits[2]), (slow, logits[3])):
            v1, v2, p11, p12, p22 = mixer
            g1, g2 = p11 * a + p12 * b, p12 * a + p22 * b
            q = max(sigma(z) * (1 - sigma(z)), 0.01)
            d = 1 + q * (a * g1 + b * g2)
            e = (target - sigma(z)) / d
            p11, p12, p22 = p11 - q / d * g1 * g1, p12 - q / d * g1 * g2, p22 - q / d * g2 * g2
            drift = [6e-6 if variance < starts[id(mixer)] else 0.0 for variance in (p11, p22)]
            mixer[:] = [v1 + e * g1, v2 + e * g2, p11 + drift[0], p12, p22 + drift[1]]


def check_trace(make: Any = ReferencePanel) -> None:
    """The reference, or a mutant of it, says what was worked by hand."""
    panel = make((), len(TRACE[0][0]))
    for (scores, y), (logits, logit) in zip(TRACE, trace(), strict=True):
        said = panel.round([], y, scores)
        np.testing.assert_allclose(said.logits, logits, atol=1e-12, rtol=0)
        np.testing.assert_allclose(said.logit, logit, atol=1e-12, rtol=0)
    assert panel.guard.wrong == [2, 3, 2, 2, 2]
    sure = make((), 1)
    sure.fast.weights[:] = sure.slow.weights[:] = 1.0
    sure.round([], 1, [8.0])
    for mixer, variance in ((sure.fast, 0.06), (sure.slow, 0.018)):  # σ(8)(1 − σ(8)) is below 0.01
        g = 8 * variance
        shrink = 1 / (1 + 0.01 * 8 * g)
        np.testing.assert_allclose(mixer.weights, 1 + sigma(-8) * shrink * g, atol=1e-12, rtol=0)
        np.testing.assert_allclose(mixer.covariance, variance - 0.01 * shrink * g * g + 6e-6, atol=1e-12, rtol=0)


# ---------------------------------------------------------------------- streams of scores


def random_scores(seed: int, members: int = 4, rounds: int = 150) -> Game:
    """Members that are right with different chances, and sure or not."""
    rng = np.random.default_rng(seed)
    skill, size = rng.random(members), 10.0 ** rng.uniform(-2, 1, members)
    for _ in range(rounds):
        y = 1 if rng.random() < 0.5 else -1
        right = np.where(rng.random(members) < skill, y, -y)
        yield (right * size * rng.random(members)).tolist(), y


def quiet_and_loud(seed: int, members: int = 4, rounds: int = 150) -> Game:
    """A member that is right but almost 0, beside loud noise: the mixture is noise, so that the guard must act."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        y = 1 if rng.random() < 0.5 else -1
        yield [y * 1e-7, *(8 * rng.choice([-1, 1], members - 1)).tolist()], y


def turning(seed: int, members: int = 4, rounds: int = 150) -> Game:
    """Members that are sure and right for a while, one after the other, then sure and wrong."""
    rng = np.random.default_rng(seed)
    for t in range(rounds):
        y = 1 if rng.random() < 0.5 else -1
        yield [9.0 * y * (1 if t // 20 % members == k else -1) for k in range(members)], y


GAMES = {"random": random_scores, "quiet and loud": quiet_and_loud, "turning": turning}

# ---------------------------------------------------------------------- theorems, after each round


def check_guard(wrong: list[int], mistakes: float) -> None:
    """Theorem A: Σ 2^(−wrong) ≤ N(3/4)^M in whole numbers, and the bound that follows."""
    weight = sum(Fraction(1, 2**each) for each in wrong)
    assert weight <= len(wrong) * Fraction(3, 4) ** mistakes
    assert mistakes <= bounds.guarded_weighted_majority(len(wrong), min(wrong))


class Losses:
    """Theorems B and C: log losses of the mixture, of each expert, and of fixed mixes of the members' logits."""

    def __init__(self, panel: Any, members: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        first = panel.gradient.weights.copy()
        self.mixes = np.concatenate([first[None], np.eye(members), first + rng.normal(0, 1, (30, members))])
        self.distance = np.linalg.norm(self.mixes - first, axis=1)
        self.of_mixes = np.zeros(len(self.mixes))
        self.prior = panel.mixture.weights.copy()
        self.of_experts = np.zeros(len(self.prior))
        self.of_mixture = self.gradients = 0.0

    def add(self, said: Any, y: int) -> None:
        logits = np.array(said.logits[:-MIXERS])
        self.of_experts += np.logaddexp(0, -y * np.array(said.logits))
        self.of_mixture += math.log1p(math.exp(-y * said.logit))
        self.of_mixes += np.logaddexp(0, -y * (self.mixes @ logits))
        self.gradients += sigma(-y * said.logits[-1]) ** 2 * float(logits @ logits)

    def check(self) -> None:
        for loss, prior in zip(self.of_experts, self.prior, strict=True):
            assert self.of_mixture <= bounds.bayes_mixture(float(loss), float(prior)) + 1e-7
        for loss, distance in zip(self.of_mixes, self.distance, strict=True):
            bound = bounds.logit_mixing(float(loss), float(distance), 0.002, self.gradients)
            assert self.of_experts[-1] <= bound + 1e-7


def check_theorems(make: Any = ReferencePanel, seeds: int = 2) -> None:
    """All three theorems in every round of every game."""
    for game in GAMES.values():
        for seed in range(seeds):
            check_game(make, game(seed))


def check_game(make: Any, game: Game, members: int = 4) -> Any:
    panel = make((), members)
    losses, mistakes = Losses(panel, members), 0
    for scores, y in game:
        said = panel.round([], y, scores)
        mistakes += said.positive != (y > 0)
        losses.add(said, y)
        losses.check()
        check_guard(panel.guard.wrong, mistakes)
    return panel


class Liar:
    """In place of the Bayes mixture: advice that is always wrong, because it is set to the other label."""

    def __init__(self) -> None:
        self.truth = 1

    def mix(self, chances: Any) -> float:
        return 0.01 if self.truth > 0 else 0.99

    def learn(self, chances: Any, y: int) -> None: ...


def check_against_a_liar(make: Any = ReferencePanel, members: int = 13, rounds: int = 200) -> Any:
    """Theorem A if the advice is always wrong, one member always right, and the others random."""
    panel, rng = make((), members), np.random.default_rng(0)
    panel.mixture, mistakes = Liar(), 0
    for _ in range(rounds):
        y = 1 if rng.random() < 0.5 else -1
        panel.mixture.truth = y
        said = panel.round([], y, [y * 1e-3, *rng.choice([-1.0, 1.0], members - 1).tolist()])
        mistakes += said.positive != (y > 0)
        check_guard(panel.guard.wrong, mistakes)
    assert panel.guard.mistakes == mistakes
    return panel
