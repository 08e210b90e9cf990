"""The guard keeps the bound of Weighted Majority whatever the advice is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mistakebound.aggregation.guard import Guard
from mistakebound.aggregation.majority import heaviest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    Advise = Callable[[list[Hashable], Hashable], Hashable]


def log_weight(guard: Guard) -> float:
    """ln W."""
    return math.log(sum(guard.beta**wrong for wrong in guard.wrong))


def bound(guard: Guard) -> float:
    """The theorem's bound for the best expert."""
    fewest = min(guard.wrong)
    return (fewest * math.log(1 / guard.beta) + math.log(len(guard.wrong))) / math.log(2 / (1 + guard.beta))


def test_a_trace_worked_by_hand() -> None:
    """Three experts, β = ½. A mistake is allowed while W(1+τ*)/2 ≤ 3·(3/4)^(M+1)."""
    guard = Guard(3)
    # W = 3, τ* = 2/3 (two say 1): 3·(5/6) = 2.5 > 2.25, so the vote counts, not the advice.
    assert guard.predict([1, 1, 0], advice=0) == 1
    guard.learn([1, 1, 0], 1)
    assert (guard.mistakes, guard.wrong) == (0, [0, 0, 1])
    # W = 2.5, the others have 1/2.5: 2.5·0.7 = 1.75 ≤ 2.25: the advice is followed, and is wrong.
    assert guard.predict([1, 0, 1], advice=1) == 1
    guard.learn([1, 0, 1], 0)
    assert (guard.mistakes, guard.wrong) == (1, [1, 0, 2])
    # W = 1.75, the other label has 0.75: (1.75 + 0.75)/2 = 1.25 ≤ 27/16: followed.
    assert guard.predict([1, 0, 1], advice=0) == 0
    # The other label has 1: (1.75 + 1)/2 = 1.375 ≤ 1.6875: followed, too.
    assert guard.predict([1, 0, 1], advice=1) == 1
    guard.learn([1, 0, 1], 0)
    assert (guard.mistakes, guard.wrong) == (2, [2, 0, 3])
    # W = 1.375: (1.375 + 1)/2 = 1.1875 ≤ 81/64 = 1.265625: followed.
    assert guard.predict([1, 0, 1], advice=1) == 1
    guard.learn([1, 0, 1], 0)
    # W = 1.1875: (1.1875 + 1)/2 = 1.09375 > 243/256: now the vote.
    assert guard.predict([1, 0, 1], advice=1) == 0


def test_a_tie_of_the_vote_is_the_greater_label() -> None:
    assert heaviest(np.array([1.0, 1.0])) == 1
    assert heaviest(np.array([2.0, 1.0, 2.0, 1.0])) == 2
    assert heaviest(np.array([2.0, 1.0, 2.0 - 2**-45])) == 2  # equal up to rounding
    assert heaviest(np.array([2.0, 1.0, 2.0 - 2**-30])) == 0


def test_equality_is_still_allowed() -> None:
    """W = n and τ* = ½, so that W(β + (1−β)/2) = n(1+β)/2 exactly, for any β."""
    for beta in (0.5, 0.9, 1 / 3, 0.01):
        for n in (2, 6, 34):
            assert Guard(n, beta).predict([0] * (n // 2) + [1] * (n // 2), advice=0) == 0


LABELS = st.integers(2, 4).flatmap(
    lambda kinds: st.lists(
        st.tuples(st.lists(st.integers(0, kinds - 1), min_size=5, max_size=5), st.integers(0, kinds - 1)), max_size=80
    )
)


@given(LABELS, st.sampled_from([0.1, 0.5, 0.9]), st.sampled_from(["lies", "first", "vote", "fixed"]))
def test_the_bound_holds_for_any_advice(stream: list[tuple[list[int], int]], beta: float, kind: str) -> None:
    advise: Advise = {
        "lies": lambda votes, y: next(label for label in (0, 1) if label != y),
        "first": lambda votes, y: votes[0],
        "vote": lambda votes, y: max(votes),
        "fixed": lambda votes, y: 0,
    }[kind]
    guard = Guard(5, beta)
    for votes, y in stream:
        guard.predict(votes, advise(list(votes), y))
        before = log_weight(guard)
        guard.learn(votes, y)
        assert log_weight(guard) <= before + 1e-12
        assert log_weight(guard) <= math.log(5) + guard.mistakes * math.log((1 + beta) / 2) + 1e-9
    assert guard.mistakes <= bound(guard) + 1e-9


def play_the_worst(guard: Guard, rounds: int, experts: int) -> None:
    """Advice that always lies, and outcomes against the guard wherever one expert stays right."""
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        votes = [0, *rng.integers(0, 2, experts - 1).tolist()]  # expert 0 is always right
        guard.predict(votes, 1)
        guard.learn(votes, 0)


def test_advice_that_always_lies_comes_close_to_the_bound() -> None:
    guard = Guard(64)
    play_the_worst(guard, 400, 64)
    assert min(guard.wrong) == 0
    assert 0.8 * bound(guard) <= guard.mistakes <= bound(guard)


BROKEN: dict[str, Callable[[type[Guard]], type[Guard]]] = {}


def broken(change: Callable[[type[Guard]], type[Guard]]) -> None:
    """Add a guard that is broken on purpose."""
    BROKEN[change.__name__] = change


@broken
def never_acts(base: type[Guard]) -> type[Guard]:
    class Broken(base):  # type: ignore[misc, valid-type]
        def predict(self, votes: list[int], advice: int) -> int:
            super().predict(votes, advice)
            self._answer = advice
            return advice

    return Broken


@broken
def punishes_on_its_own_mistakes_only(base: type[Guard]) -> type[Guard]:
    class Broken(base):  # type: ignore[misc, valid-type]
        def learn(self, votes: list[int], outcome: int) -> None:
            if self._answer != outcome:
                super().learn(votes, outcome)

    return Broken


@broken
def punishes_the_right(base: type[Guard]) -> type[Guard]:
    class Broken(base):  # type: ignore[misc, valid-type]
        def learn(self, votes: list[int], outcome: int) -> None:
            super().learn([1 - vote for vote in votes], outcome)
            self.mistakes += 0

    return Broken


@broken
def one_mistake_too_many(base: type[Guard]) -> type[Guard]:
    class Broken(base):  # type: ignore[misc, valid-type]
        def predict(self, votes: list[int], advice: int) -> int:
            self.mistakes -= 1
            answer = super().predict(votes, advice)
            self.mistakes += 1
            return int(answer)

    return Broken


@broken
def votes_by_the_minority(base: type[Guard]) -> type[Guard]:
    class Broken(base):  # type: ignore[misc, valid-type]
        def predict(self, votes: list[int], advice: int) -> int:
            answer = super().predict(votes, advice)
            self._answer = answer if answer == advice else 1 - answer
            return int(self._answer)

    return Broken


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_broken_guards_are_caught(name: str) -> None:
    guard = BROKEN[name](Guard)(64)
    caught = False
    try:
        play_the_worst(guard, 400, 64)
        caught = guard.mistakes > bound(guard)
    except (OverflowError, ValueError):  # pragma: no cover - a broken guard may run out of weight
        caught = True
    if not caught:
        guard = BROKEN[name](Guard)(3)
        said = []
        for votes, advice, y in (([1, 1, 0], 0, 1), ([1, 0, 1], 1, 0), ([1, 0, 1], 1, 0), ([1, 0, 1], 1, 0)):
            said.append(guard.predict(votes, advice))
            guard.learn(votes, y)
        said.append(guard.predict([1, 0, 1], 1))
        caught = (said, guard.mistakes, guard.wrong) != ([1, 1, 1, 1, 0], 3, [3, 0, 4])
    assert caught
