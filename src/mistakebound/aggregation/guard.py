"""The guard: Weighted Majority that follows any advice as long as its own mistake bound allows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


class Guard:
    """Follow the advice while W(β + (1−β)τ*) ≤ n((1+β)/2)^(M+1), otherwise the weighted plurality of n experts.

    Expert i weighs β^(mistakes of i) and W is the sum; τ* is the largest share of the weight that votes for one label
    other than the advice, M the number of mistakes of the guard so far. Then W ≤ n((1+β)/2)^M after every round, so
    that M ≤ (m ln(1/β) + ln n)/ln(2/(1+β)) for the mistakes m of the best expert, whatever the advice was.

    >>> guard = Guard(3, 0.5)
    >>> guard.predict([1, 1, -1], advice=-1), guard.predict([1, -1, -1], advice=-1)
    (1, -1)
    >>> guard.learn([1, -1, -1], 1)
    >>> guard.wrong, guard.mistakes
    ([0, 1, 1], 1)
    """

    def __init__(self, experts: int, beta: float = 0.5) -> None:
        self.beta = beta
        self.wrong = [0] * experts
        self.mistakes = 0
        self._answer: Hashable = None

    def predict(self, votes: Sequence[Hashable], advice: Hashable) -> Hashable:
        """Return the advice, or the plurality vote if a mistake of the advice could break the bound."""
        least = min(self.wrong)
        behind: dict[Hashable, float] = {}  # the weight behind each label, relative to the best expert
        for vote, wrong in zip(votes, self.wrong, strict=True):
            behind[vote] = behind.get(vote, 0.0) + self.beta ** (wrong - least)
        total = sum(behind.values())
        other = max((weight for label, weight in behind.items() if label != advice), default=0.0)
        left = math.log(self.beta * total + (1 - self.beta) * other) + least * math.log(self.beta)
        allowed = math.log(len(self.wrong)) + (self.mistakes + 1) * math.log((1 + self.beta) / 2)
        self._answer = advice if left <= allowed else plurality(behind)
        return self._answer

    def learn(self, votes: Sequence[Hashable], outcome: Hashable) -> None:
        """Count the mistakes of this round: of the answer that was given last, and of each expert."""
        self.mistakes += self._answer != outcome
        self.wrong = [wrong + (vote != outcome) for vote, wrong in zip(votes, self.wrong, strict=True)]


def plurality(behind: dict[Hashable, float]) -> Hashable:
    """Return the label with the most weight behind it; of equal ones the greatest.

    >>> plurality({-1: 2.0, 1: 2.0})
    1
    """
    return max(behind, key=lambda label: (behind[label], label))
