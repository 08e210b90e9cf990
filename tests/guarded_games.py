"""Games against the guard: a trace worked by hand, opponents that choose votes and outcomes, and broken guards."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import mistakebound as mb
from mistakebound.aggregation.guard import FOLLOW, UNDECIDED, VOTE, GuardedMajority
from mistakebound.experts import Guarded
from mistakebound.theorems import EXPERT_THEOREMS

# Four experts, β = ½. The advice is followed while (W + weight of the strongest other label)/2 ≤ 4·(3/4)^(M+1).
# weights before the round       W      strongest other   left      limit     prediction
# 1, 1, 1, 1                     4      a: 2              3       = 3         follow b, wrong; equality is allowed
# 1/2, 1/2, 1/2, 1               5/2    no advice                             vote: a and c have 1 each: c, wrong
# 1/4, 1/4, 1/2, 1/2             3/2    a: 1              5/4     ≤ 27/16     follow b, right; three experts pay
# 1/8, 1/8, 1/4, 1/2             1      b: 1              1       ≤ 27/16     follow c, wrong
# the same                       1      b: 1              1       ≤ 81/64     follow c, wrong
# the same                       1      b: 1              1       > 243/256   vote: b, right
# the same                       1      c: 3/4            7/8     ≤ 243/256   follow a, for which nobody votes, wrong
# 1/16, 1/16, 1/4, 1/2           7/8    a, c: 1/16        15/32   ≤ 729/1024  follow b, right
TRACE = [
    ("aabc", "b", "c"),
    ("aabc", None, "b"),
    ("aaab", "b", "b"),
    ("bbbb", "c", "b"),
    ("bbbb", "c", "b"),
    ("bbbb", "c", "b"),
    ("bbcc", "a", "c"),
    ("cabb", "b", "b"),
]
VOTES, ADVICE, OUTCOMES = [list(row) for row, _, _ in TRACE], [a for _, a, _ in TRACE], [y for _, _, y in TRACE]


def check_trace(ledger: Any) -> None:
    assert "".join(ledger.predictions) == "bcbccbab"
    assert ledger.mistake_rounds.tolist() == [0, 1, 3, 4, 6]
    assert ledger.expert_mistakes.tolist() == [5, 5, 2, 1]
    assert (ledger.override_rounds.tolist(), ledger.overrides) == ([5], 1)
    assert (ledger.advice_rounds, ledger.advice_mistakes) == (7, 5)
    expected = Fraction(3, 4) + Fraction(4, 5) + Fraction(2, 3) + Fraction(1, 4) + Fraction(1, 7)
    assert math.isclose(ledger.expected_mistakes, expected, rel_tol=1e-12)


def check_invariant(guard: Any) -> None:
    """W ≤ n((1+β)/2)^M in whole numbers, for experts that never slept."""
    ledger, beta = guard.ledger_, Fraction(guard.beta)
    weight = sum(beta ** int(mistakes) for mistakes in ledger.expert_mistakes)
    assert weight <= len(ledger.names) * ((1 + beta) / 2) ** ledger.mistakes


def check_invariant_with_sleepers(guard: Any) -> None:
    """The same with the losses that sleeping and new experts are charged, and a prior; by the theorem's own method."""
    ledger = guard.ledger_
    exponents = np.log(ledger.prior) + math.log(guard.beta) * ledger.expert_losses
    log_weight = float(np.logaddexp.reduce(exponents))
    slack = EXPERT_THEOREMS[guard.id].invariant(log_weight, ledger.mistakes, guard.beta)
    assert min(slack.values()) >= -1e-9 * (1 + abs(log_weight))


def bound_of(guard: Any) -> float:
    found = guard.certify()
    assert found.theorem == "guarded-weighted-majority"
    assert all(premise.holds for premise in found.premises)
    return float(found.bound)


def lie(guard: Any, n: int, kinds: int, m: int) -> None:
    """All experts but one err until they weigh nothing, that one errs m times; then only the advice errs."""
    rng = np.random.default_rng(n)
    for t in range(m + 60):
        truth = int(rng.integers(kinds))
        wrong = (truth + 1 + rng.integers(0, kinds - 1, n)) % kinds
        wrong[0] = wrong[0] if t < m else truth
        guard.learn_one(wrong.tolist(), truth, advice=(truth + 1) % kinds)
    for _ in range(math.ceil(4 * (m + math.log2(n)) / (1 - guard.beta)) + 4):
        truth = int(rng.integers(kinds))
        guard.learn_one([truth] * n, truth, advice=(truth + 1) % kinds)


def play_against(guard: Any, rng: np.random.Generator, n: int, kinds: int, rounds: int, tries: int) -> None:
    """Play votes, advice and outcome that leave the potential as high as possible, the best of some random ones.

    With one try the opponent is a random one.
    """
    beta, limit = guard.beta, (1 + guard.beta) / 2
    losses = np.zeros(n)
    for _ in range(rounds):
        moves = []
        for _ in range(tries):
            votes, advice = rng.integers(0, kinds, n), int(rng.integers(kinds))
            prediction = guard.predict_one(votes.tolist(), advice)
            outcome = (prediction + int(rng.integers(kinds - 1)) + 1) % kinds if rng.random() < 0.9 else prediction
            after = losses + (votes != outcome)
            left = np.log(np.sum(beta ** (after - after.min()))) + after.min() * math.log(beta)
            moves.append((left - (prediction != outcome) * math.log(limit), len(moves), votes, outcome, advice, after))
        _, _, votes, outcome, advice, losses = max(moves, key=lambda move: move[:2])
        guard.learn_one(votes.tolist(), outcome, advice=advice)
        check_invariant(guard)


def by_specification(engine: type[GuardedMajority] = GuardedMajority) -> Any:
    """Return the learner with this engine instead of the core."""
    return type("BySpecification", (Guarded,), {"engine": engine})


# ---------------------------------------------------------------------- broken guards


class NoGuard(GuardedMajority):
    """Mutant: the advice is always followed."""

    def decide(self, *given: Any) -> int:
        return FOLLOW


class Strict(GuardedMajority):
    """Mutant: < instead of ≤."""

    def predict_guarded(self, *given: Any) -> int:
        code = super().predict_guarded(*given)
        return super().predict_guarded(*given[:5], VOTE) if code == UNDECIDED or given[5:] == (FOLLOW,) else code


class OneMore(GuardedMajority):
    """Mutant: exponent M instead of M + 1."""

    def decide(self, codes: Any, kinds: int, advice: int, mistakes: int, start: float) -> int:
        return super().decide(codes, kinds, advice, mistakes - 1, start)


class Lazy(GuardedMajority):
    """Mutant: wrong experts are charged only if the learner is wrong."""

    def run_guarded(self, codes: Any, kinds: int, right: Any, *given: Any) -> Any:
        before = self.losses()
        predictions, wrong = super().run_guarded(codes[:1], kinds, right[:1], given[0][:1], *given[1:])
        if len(predictions) and predictions[0] == right[0]:
            self.loss = before
        return predictions, wrong


class LowTie(GuardedMajority):
    """Mutant: of equal labels the vote takes the smallest."""

    def shares(self, codes: Any, kinds: int) -> Any:
        return super().shares(codes, kinds) * (1 + 1e-9 * np.arange(kinds, 0, -1))


class Forgiving(GuardedMajority):
    """Mutant: the right experts are charged."""

    def learn(self, codes: Any, right: int, wrong: float) -> None:
        self.loss = self.loss + (codes == right)


class Harsher(GuardedMajority):
    """Mutant: β² instead of β."""

    def power(self, difference: float) -> float:
        return super().power(difference) ** 2


class Minority(GuardedMajority):
    """Mutant: the lightest label wins the vote."""

    def predict_guarded(self, codes: Any, kinds: int, *given: Any) -> int:
        code = super().predict_guarded(codes, kinds, *given)
        voted = [each for each in range(kinds) if (codes == each).any()]
        return code if code in (given[0], UNDECIDED) else min(voted, key=lambda each: self.shares(codes, kinds)[each])


MUTANTS = [NoGuard, Strict, OneMore, Lazy, LowTie, Forgiving, Harsher, Minority]


def planted(rounds: int = 400, n: int = 8, kinds: int = 3, seed: int = 0) -> tuple[Any, Any, Any]:
    """Votes (expert 0 errs in 5 % of the rounds, the others often), outcomes, and advice that gets bad later."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, kinds, rounds)

    def noisy(rate: Any) -> Any:
        shift = rng.integers(1, kinds, rounds)
        return np.where(rng.random(rounds) < rate, (y + shift) % kinds, y)

    V = np.column_stack([noisy(0.05), *(noisy(0.3 + 0.05 * k) for k in range(n - 1))])
    return V, y, noisy(np.where(np.arange(rounds) < rounds // 2, 0.02, 0.9))


BOUND = mb.bounds.guarded_weighted_majority
