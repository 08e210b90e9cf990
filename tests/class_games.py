"""Games of the combiner for several classes: a trace worked by hand, and the theorems after every round."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from panel_games import check_guard

from mistakebound import bounds
from mistakebound.panel.class_combiner import ClassCombiner
from mistakebound.panel.class_combiner import votes as votes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Game = Iterator[tuple[np.ndarray, int]]
    Make = Callable[[int], Any]

WEIGHT, FAST, SLOW = 0.02, 0.06, 0.018


def combiner(members: int) -> ClassCombiner:
    """Return a combiner whose members all start equal."""
    return ClassCombiner(np.full(members, WEIGHT), np.full(members, FAST), np.full(members, SLOW))


# Probabilities that two members give to the seen classes, and the label of each round. Round 2 has ties: member 2, and
# the mixture of round 3, prefer no class. In round 5 a third label occurs, in round 10 a fourth.
# In round 9 mixers with weights of 1 are so sure that the second class is raised to 0.01, and the third is not used.
TRACE: list[tuple[list[list[float]], int]] = [
    ([[], []], 0),
    ([[1.0], [1.0]], 0),
    ([[1.0], [1.0]], 1),
    ([[0.75, 0.25], [0.25, 0.75]], 1),
    ([[0.25, 0.75], [0.5, 0.5]], 0),
    ([[0.999, 0.001], [0.9, 0.1]], 2),
    ([[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]], 2),
    ([[0.2, 0.2, 0.6], [0.6, 0.2, 0.2]], 1),
    ([[0.1, 0.8, 0.1], [0.98, 0.01, 0.01]], 0),
    ([[0.99, 0.005, 0.005], [0.99, 0.005, 0.005]], 0),
    ([[0.3, 0.3, 0.4], [0.4, 0.3, 0.3]], 3),
    ([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]], 3),
]
FRESH = [Fraction(1), Fraction(5, 8), Fraction(1, 3) * Fraction(2, 3) + Fraction(1, 6) * Fraction(1, 3)]
"""The chance of a new label in the first rounds: in round 1 the mean of 1/2 and 3/4; then the weights are 2/3 and 1/3,
and the chances 1/3 and (0 + ½)/3."""
VOTES = {1: [0, 0, 0, 0, 0], 3: [0, 1, 0, 0, 0], 4: [1, 0], 6: [0, 2], 7: [2, 0], 9: [0, 0], 10: [2, 0], 11: [3, 0]}
"""The votes of the members, and of the mixers while they have learned nothing; of equal classes the earlier one."""


def worked_by_hand(weight: float) -> Iterator[tuple[list[list[float]], list[float], float]]:
    """Chances of all experts, of the mixture and of a new label in each round of TRACE: the formulas, number by number.

    ``weight`` is that of each member in each mixer at the start.
    """
    v = [[weight, weight] for _ in range(3)]
    P = [[[FAST, 0.0], [0.0, FAST]], [[SLOW, 0.0], [0.0, SLOW]]]
    shares, new, counts = [0.005, 0.005, 0.47, 0.47, 0.05], [0.5, 0.5], []
    for t, (members, y) in enumerate(TRACE):
        logs, K = [[math.log(p) for p in row] for row in members], len(counts)
        mixed = [proportional([math.exp(w[0] * a + w[1] * b) for a, b in zip(*logs, strict=True)]) for w in v]
        experts = [*members, *mixed]
        once = sum(count == 1 for count in counts)
        chances = [1 / (t + 1), min((once + 0.5) / (t + 1), 1 - 0.5 / (t + 1))]
        fresh = (new[0] * chances[0] + new[1] * chances[1]) / sum(new) if t else 1.0
        yield (
            experts,
            [sum(s * e[k] for s, e in zip(shares, experts, strict=True)) / sum(shares) for k in range(K)],
            fresh,
        )
        if t:
            new = [w * (c if y == K else 1 - c) for w, c in zip(new, chances, strict=True)]
        if y == K:
            counts.append(1)
            continue
        counts[y] += 1
        shares = [s * e[y] for s, e in zip(shares, experts, strict=True)]
        if K == 1:
            continue
        for b, p in enumerate(mixed):
            g = [logs[i][y] - sum(p[k] * logs[i][k] for k in range(K)) for i in (0, 1)]
            if b < 2:
                P[b] = smaller(P[b], logs, p)
                v[b] = [v[b][i] + P[b][i][0] * g[0] + P[b][i][1] * g[1] for i in (0, 1)]
                for i in (0, 1):
                    P[b][i][i] += 6e-6 if P[b][i][i] < (FAST, SLOW)[b] else 0.0
            else:
                v[2] = [v[2][0] + 0.002 * g[0], v[2][1] + 0.002 * g[1]]


def smaller(P: list[list[float]], logs: list[list[float]], p: list[float]) -> list[list[float]]:
    """Return the covariance of a mixer after the updates by each class, of which there are at most four."""
    q = sorted(((chance, k) for k, chance in enumerate(p)), key=lambda each: (-each[0], each[1]))
    q[1] = (max(q[1][0], 0.01), q[1][1])
    total = sum(chance for chance, _ in q)
    mean = [sum(chance * logs[i][k] for chance, k in q) / total for i in (0, 1)]
    for chance, k in q:
        if chance >= 1e-4:
            w = [logs[0][k] - mean[0], logs[1][k] - mean[1]]
            u = [P[i][0] * w[0] + P[i][1] * w[1] for i in (0, 1)]
            f = chance / total / (1 + chance / total * (w[0] * u[0] + w[1] * u[1]))
            P = [[P[i][j] - f * u[i] * u[j] for j in (0, 1)] for i in (0, 1)]
    return P


def proportional(values: list[float]) -> list[float]:
    return [value / sum(values) for value in values]


def check_trace(make: Make = combiner) -> None:
    """The combiner, or a mutant of it, says what was worked by hand, also with mixers that are sure."""
    for weight in (WEIGHT, 1.0):
        check_trace_from(make, weight)


def check_trace_from(make: Make, weight: float) -> None:
    panel, mistakes, wrong = make(2), 0, np.zeros(5, int)
    for mixer in (panel.fast, panel.slow, panel.gradient):
        mixer.weights[:] = weight
    for t, ((members, y), (experts, mixture, fresh)) in enumerate(zip(TRACE, worked_by_hand(weight), strict=True)):
        verdict = panel.predict(np.log(np.array(members)))
        np.testing.assert_allclose(np.exp(verdict.experts), np.array(experts).reshape(5, -1), atol=1e-12, rtol=0)
        np.testing.assert_allclose(verdict.mixture, mixture, atol=1e-12, rtol=0)
        np.testing.assert_allclose(verdict.fresh, fresh, atol=1e-12, rtol=0)
        if t < len(FRESH):
            np.testing.assert_allclose(verdict.fresh, float(FRESH[t]), atol=1e-15, rtol=0)
        if t in VOTES:
            assert [-vote for vote in votes_of(verdict.experts)][: len(VOTES[t])] == VOTES[t]
        assert verdict.prediction == (int(np.argmax(mixture)) if t else -1)
        panel.learn(verdict, y)
        if y < len(mixture):
            mistakes += int(np.argmax(mixture)) != y
            wrong += np.argmax(np.array(experts), axis=1) != y
    assert panel.guard.mistakes == mistakes
    assert panel.guard.wrong == wrong.tolist()
    assert panel.guard.wrong[:2] == [5, 2]


# ---------------------------------------------------------------------- streams of log probabilities


def chances(rng: np.random.Generator, votes: Any, classes: int, sizes: Any) -> np.ndarray:
    """Log probabilities of members that prefer these classes, more or less."""
    z = rng.random((len(votes), classes)) * 1e-9
    z[np.arange(len(votes)), votes] += sizes
    return np.asarray(z - np.log(np.exp(z).sum(axis=1, keepdims=True)))


def labels(rng: np.random.Generator, classes: int, rounds: int) -> Iterator[tuple[int, int]]:
    """Yield labels, of which new ones come now and then, and the number of classes before."""
    seen = 0
    for _ in range(rounds):
        is_new = seen == 0 or (seen < classes and rng.random() < 0.1)
        yield (seen if is_new else int(rng.integers(seen))), seen
        seen += is_new


def random_members(seed: int, members: int = 4, classes: int = 6, rounds: int = 150) -> Game:
    """Members that are right with different chances, and sure or not."""
    rng = np.random.default_rng(seed)
    skill, size = rng.random(members), 10.0 ** rng.uniform(-2, 1, members)
    for y, seen in labels(rng, classes, rounds):
        votes = np.where((rng.random(members) < skill) & (y < seen), y, rng.integers(max(seen, 1), size=members))
        yield chances(rng, votes, seen, size) if seen else np.zeros((members, 0)), y


def quiet_and_loud(seed: int, members: int = 4, classes: int = 6, rounds: int = 150) -> Game:
    """A member that is right but hardly prefers the label, beside loud noise: the guard must act."""
    rng = np.random.default_rng(seed)
    for y, seen in labels(rng, classes, rounds):
        votes = rng.integers(max(seen, 1), size=members)
        votes[0] = min(y, max(seen - 1, 0))
        yield (
            chances(rng, votes, seen, np.array([1e-6, *[12.0] * (members - 1)])) if seen else np.zeros((members, 0)),
            y,
        )


def turning(seed: int, members: int = 4, classes: int = 5, rounds: int = 150) -> Game:
    """Members that are sure and right for a while, one after the other, then sure and wrong."""
    rng = np.random.default_rng(seed)
    for t, (y, seen) in enumerate(labels(rng, classes, rounds)):
        right = np.arange(members) == t // 20 % members
        votes = np.where(right, min(y, max(seen - 1, 0)), (y + 1) % max(seen, 1))
        yield chances(rng, votes, seen, 9.0) if seen else np.zeros((members, 0)), y


GAMES = {"random": random_members, "quiet and loud": quiet_and_loud, "turning": turning}


class Watch:
    """The theorems on a combiner, checked after each round."""

    def __init__(self, panel: Any, *, lies: bool = False) -> None:
        self.panel, self.mistakes, self.seen, self.lies = panel, 0, 0, lies
        self.prior, self.of_experts = panel.mixture.weights.copy(), np.zeros(len(panel.guard.wrong))
        self.of_mixture = self.of_fresh = self.overrides = 0.0
        self.of_estimates = np.zeros(2)

    def play(self, logs: Any, y: int) -> Any:
        """Play a round, and check all bounds after it."""
        estimates, fresh = self.panel.fresh.chances, self.panel.fresh.chance
        verdict = self.panel.predict(logs)
        if self.seen:
            is_new = y == self.seen
            self.of_estimates -= np.log(estimates if is_new else 1 - estimates)
            self.of_fresh -= math.log(fresh if is_new else 1 - fresh)
        self.mistakes += verdict.prediction != y
        if y < self.seen:
            self.of_experts -= verdict.experts[:, y]
            self.of_mixture -= math.log(verdict.mixture[y])
            self.overrides += verdict.overridden
        self.seen = max(self.seen, y + 1)
        self.panel.learn(verdict, y)
        self.check(verdict)
        return verdict

    def check(self, verdict: Any) -> None:
        of_seen = self.mistakes - self.seen  # each first label is a mistake
        check_guard(self.panel.guard.wrong, of_seen)
        m, n = min(self.panel.guard.wrong), len(self.panel.guard.wrong)
        assert self.mistakes <= self.seen + 2.41 * (m + math.log2(n))
        assert self.mistakes <= bounds.guarded_plurality(n, m, self.seen)
        for loss, prior in zip(self.of_experts, self.prior, strict=True):
            assert self.lies or self.of_mixture <= bounds.bayes_mixture(max(float(loss), 0.0), float(prior)) + 1e-7
        assert self.of_fresh <= self.of_estimates.min() + math.log(2) + 1e-9
        probabilities = verdict.probabilities
        assert abs(probabilities.sum() - 1) < 1e-9
        assert verdict.prediction == (int(probabilities[:-1].argmax()) if len(probabilities) > 1 else -1)


def check_game(make: Make, game: Game, members: int = 4) -> Watch:
    watch = Watch(make(members))
    for logs, y in game:
        watch.play(logs, y)
    assert watch.panel.guard.mistakes == watch.mistakes - watch.seen
    return watch


def check_theorems(make: Make = combiner, seeds: int = 2) -> None:
    """All theorems in every round of every game."""
    for game in GAMES.values():
        for seed in range(seeds):
            check_game(make, game(seed))


def check_against_a_liar(make: Make = combiner, members: int = 17, classes: int = 50, rounds: int = 400) -> Watch:
    """The guard if the advice is always wrong: one member is always right but hardly sure, the others are loud."""
    sizes = np.array([1e-6, *[1.0] * (members - 1)])
    panel, rng, truth = make(members), np.random.default_rng(0), 0

    def lie(experts: Any) -> Any:
        p = np.full(experts.shape[1], 1 / (experts.shape[1] + 1))
        p[(truth + 1) % len(p)] *= 2
        return p

    panel.mixed = lie
    watch = Watch(panel, lies=True)
    for y, seen in ((k, k) for k in range(classes)):
        truth = y
        watch.play(np.full((members, seen), -math.log(seen)) if seen else np.zeros((members, 0)), y)
    for _ in range(rounds):
        truth = int(rng.integers(classes))
        votes = np.where(rng.random(members) < 0.3, truth, rng.integers(classes, size=members))
        votes[0] = truth
        watch.play(chances(rng, votes, classes, sizes), truth)
    return watch
