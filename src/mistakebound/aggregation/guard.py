"""The guard: Weighted Majority that follows any advice as long as its own mistake bound allows.

Whether the bound allows a mistake is decided without rounding errors: in floating-point numbers if the difference is
larger than their errors, otherwise in whole numbers. If that is not possible, the advice is not followed.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from mistakebound.aggregation.majority import Majority, heaviest

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from mistakebound._support.arrays import AnyArray, FloatArray

Label = TypeVar("Label", bound="Hashable")
FOLLOW, VOTE, UNDECIDED = 1, 0, -1
"""Decisions of a round: follow the advice, or vote; or it is not decided yet. The core has the same numbers."""
MOST_BITS = 2**20
"""Length of the whole numbers up to which a decision is computed with them."""


class GuardedMajority(Majority):
    """Follow the advice while W(β + (1−β)τ*) ≤ W₀((1+β)/2)^(M+1), otherwise the weighted plurality.

    W is the weight of all experts, W₀ their weight at the start; τ* is the largest share of the awake weight that votes
    for one label other than the advice, M the number of mistakes so far. Then W ≤ W₀((1+β)/2)^M after every round, so
    that the bound of Weighted Majority holds, whatever the advice is.

    The specification of ``core/experts/guard.hpp``. See docs/theory.md, "Guarded Weighted Majority".
    """

    def predict_guarded(
        self, codes: AnyArray, kinds: int, advice: int, mistakes: int, start: float, decision: int = UNDECIDED
    ) -> int:
        """Return the code of the predicted label, or UNDECIDED if rounding errors could change the prediction.

        Parameters
        ----------
        codes, kinds
            As in `shares`.
        advice : int
            The code of the advised label; −1 if there is no advice, which is a vote.
        mistakes : int
            M, the number of mistakes so far.
        start : float
            ln W₀.
        decision : int
            FOLLOW or VOTE, if it is known.
        """
        if advice < 0:
            decision = VOTE
        elif decision == UNDECIDED:
            decision = self.decide(codes, kinds, advice, mistakes, start)
        if decision == VOTE:
            return heaviest(self.shares(codes, kinds))
        return advice if decision == FOLLOW else UNDECIDED

    def run_guarded(
        self,
        codes: AnyArray,
        kinds: int,
        right: AnyArray,
        advice: AnyArray,
        mistakes: int,
        start: float,
        decision: int = UNDECIDED,
    ) -> tuple[AnyArray, FloatArray]:
        """Play rounds, until one is undecided. ``decision`` is that of the first round, if it is known.

        Returns the code of the prediction, and the wrong share of the awake weight, of each round that was played.
        """
        predictions: list[int] = []
        wrong: list[float] = []
        for row, outcome, advised in zip(codes, right.tolist(), advice.tolist(), strict=True):
            prediction = self.predict_guarded(row, kinds, advised, mistakes, start, decision)
            if prediction == UNDECIDED:
                break
            shares = self.shares(row, kinds)
            wrong.append(1 - float(shares[outcome] / shares.sum()))
            predictions.append(prediction)
            self.learn(row, outcome, wrong[-1])
            mistakes += prediction != outcome
            decision = UNDECIDED
        return np.array(predictions, np.int32), np.array(wrong)

    def decide(self, codes: AnyArray, kinds: int, advice: int, mistakes: int, start: float) -> int:
        """Return FOLLOW or VOTE; UNDECIDED if the two sides of the inequality differ by less than rounding errors."""
        terms = self.slack(codes, kinds, advice, mistakes, start)
        doubt = (2 * len(self.loss) + 512) * 2.0**-51 + 2.0**-49 * sum(map(abs, terms))
        slack = sum(terms)
        return FOLLOW if slack > doubt else VOTE if slack < -doubt else UNDECIDED

    def slack(
        self, codes: AnyArray, kinds: int, advice: int, mistakes: int, start: float
    ) -> tuple[float, float, float, float]:
        """Return ln W₀, the logarithm of the factor of M + 1 mistakes, and two terms of what a mistake leaves.

        The advice may be followed if their sum is at least 0.
        """
        shares = self.shares(codes, kinds)
        other = float(np.delete(shares, advice).max(initial=0.0) / shares.sum())
        after = self.total() * (self.beta + (1 - self.beta) * other)  # relative to the best expert
        return (
            start,
            (mistakes + 1) * math.log1p((self.beta - 1) / 2),
            -float(self.loss.min()) * math.log(self.beta),
            -math.log(after),
        )


class CautiousMajority(GuardedMajority):
    """The same without whole numbers: if the two sides are almost equal, the advice is not followed.

    The Panel's core decides in this way (``core/panel/combiner.hpp``).
    """

    MARGIN = 1e-12

    def decide(self, codes: AnyArray, kinds: int, advice: int, mistakes: int, start: float) -> int:
        """Return FOLLOW if the inequality holds by more than rounding errors, otherwise VOTE."""
        terms = self.slack(codes, kinds, advice, mistakes, start)
        return FOLLOW if sum(terms) >= self.MARGIN * (1 + abs(terms[1])) else VOTE


def decide_exactly(beta: float, losses: FloatArray, codes: AnyArray, advice: int, mistakes: int) -> int:
    """Return FOLLOW or VOTE for experts with equal weights at the start, computed with whole numbers.

    With β = p/q, and weights multiplied by q^(largest − least loss), both sides of the inequality are whole numbers.
    VOTE if they would be too long, or if a loss is not a whole number.

    >>> import numpy as np
    >>> votes, losses = np.array([0, 1]), np.zeros(2)  # 2·(1/2 + 1/2·1/2) is exactly 2·3/4
    >>> decide_exactly(0.5, losses, votes, 0, 0), decide_exactly(0.5, losses, votes, 0, 1)
    (1, 0)
    """
    p, q = float(beta).as_integer_ratio()
    least, most, M = float(losses.min()), float(losses.max()), mistakes
    whole = bool((losses == np.floor(losses)).all()) and least >= 0
    if not whole or (M + 1 + most) * q.bit_length() > MOST_BITS:
        return VOTE
    spread, m = int(most - least), int(least)

    def weight(losses: FloatArray) -> int:
        behind = Counter((losses - least).astype(int).tolist())
        return sum(count * p**each * q ** (spread - each) for each, count in behind.items())

    total, awake = weight(losses), weight(losses[codes >= 0])
    other = max((weight(losses[codes == each]) for each in {*codes.tolist()} - {-1, advice}), default=0)
    left = total * (p * awake + (q - p) * other) * (2 * q) ** (M + 1) * p**m
    allowed = len(losses) * awake * (p + q) ** (M + 1) * q ** (m + spread + 1)
    return FOLLOW if left <= allowed else VOTE


class Guard:
    """`GuardedMajority` for n experts of equal weight that are always awake, and labels of any type.

    M ≤ (m ln(1/β) + ln n)/ln(2/(1+β)) for the mistakes m of the best expert, whatever the advice was.

    >>> guard = Guard(3, 0.5)
    >>> guard.predict([1, 1, -1], advice=-1), guard.predict([1, -1, -1], advice=-1)
    (1, -1)
    >>> guard.learn([1, -1, -1], 1)
    >>> guard.wrong, guard.mistakes
    ([0, 1, 1], 1)
    """

    kind: type[GuardedMajority] = GuardedMajority

    def __init__(self, experts: int, beta: float = 0.5) -> None:
        self.beta = beta
        self.wrong = [0] * experts
        self.mistakes = 0
        self._answer: Hashable = None

    def predict(self, votes: Sequence[Label], advice: Label) -> Label:
        """Return the advice, or the plurality vote if a mistake of the advice could break the bound."""
        labels: list[Label] = sorted({*votes, advice})  # type: ignore[type-var]
        codes, advised = np.array([labels.index(vote) for vote in votes], np.int32), labels.index(advice)
        rule, losses = self.kind(self.beta), np.array(self.wrong, np.float64)
        rule.join(losses)
        given = (codes, len(labels), advised, self.mistakes, math.log(len(losses)))
        code = rule.predict_guarded(*given)
        if code == UNDECIDED:
            code = rule.predict_guarded(*given, decide_exactly(self.beta, losses, codes, advised, self.mistakes))
        self._answer = labels[code]
        return labels[code]

    def learn(self, votes: Sequence[Hashable], outcome: Hashable) -> None:
        """Count the mistakes of this round: of the answer that was given last, and of each expert."""
        self.mistakes += self._answer != outcome
        self.wrong = [wrong + (vote != outcome) for vote, wrong in zip(votes, self.wrong, strict=True)]


class CautiousGuard(Guard):
    """A guard that does not follow advice which its bound just allows.

    >>> Guard(2).predict([1, -1], advice=-1), CautiousGuard(2).predict([1, -1], advice=-1)
    (-1, 1)
    """

    kind = CautiousMajority
