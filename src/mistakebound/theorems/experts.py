"""Mistake bounds with expert advice. Their m runs over all rounds, not over the master's mistakes only.

With a prior the theorems hold for every expert, ``ln(1/π)`` of its own in the place of ``ln n``: the one whose bound is
the smallest is the comparator, and it need not be the one with the fewest mistakes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.theorems.evidence import Premise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import FloatArray
    from mistakebound.play.expert_ledger import ExpertLedger


DELTA = 0.05


@dataclass(frozen=True)
class Rival:
    """The expert whose bound is the smallest."""

    name: str
    m: float
    """Its mistakes; and while it slept, what the learner expected to lose."""
    mistakes: int
    prior: float | None
    """What it began with; None if all experts began alike."""

    def __str__(self) -> str:
        asleep = self.m - self.mistakes
        slept = f" ({self.mistakes} mistakes, and {asleep:.6g} expected of us while it slept)" if asleep > 0 else ""
        share = "" if self.prior is None else f", π = {self.prior:.6g}, ln(1/π) = {-math.log(self.prior):.6g}"
        return f"expert {self.name}: m = {self.m:.6g}{slept}{share}"


def rival(ledger: ExpertLedger) -> Rival | None:
    """The expert with the least ``m ln(1/β) + ln(1/π)``; None before the first round."""
    if not ledger.rounds:
        return None
    alike = bool(np.ptp(ledger.prior) <= 1e-12 * ledger.prior.max())
    costs = ledger.expert_losses if alike else ledger.expert_losses * -math.log(ledger.beta) - np.log(ledger.prior)
    k = int(np.argmin(costs))
    prior = None if alike else float(ledger.prior[k])
    return Rival(ledger.names[k], float(ledger.expert_losses[k]), int(ledger.expert_mistakes[k]), prior)


BEGUN = Premise("the learner began with these rounds", False, "those of all its rounds are in its ledger_")


class WeightedMajority:
    """M ≤ (ln n + m ln(1/β))/ln(2/(1+β)), no premise; β = 1/2: 2.41(m + lg n) (Littlestone and Warmuth 1994)."""

    id: ClassVar[str] = "weighted-majority"
    rule: ClassVar[str] = "weighted-majority"
    randomized: ClassVar[bool] = False
    """Whether it speaks of expected mistakes."""

    def premises(self, ledger: ExpertLedger) -> Iterator[Premise]:
        """None; the expert is named, and its m is measured."""
        best = rival(ledger)
        if not ledger.from_start:
            yield BEGUN
        if ledger.late:
            yield Premise("no outcome came late", False, f"{ledger.late} did")
        if best is None:
            yield Premise("something has happened", False)
        elif best.prior is None:
            yield Premise("m is the best expert's number of mistakes", True, str(best))
        else:
            yield Premise(
                "m is the number of mistakes of the expert with the smallest bound, π its prior", True, str(best)
            )

    def bound(self, ledger: ExpertLedger) -> float:
        """(ln(1/π) + m ln(1/β))/ln(2/(1+β)), the smallest of all experts; ln n without a prior."""
        best = rival(ledger)
        return math.inf if best is None else self._formula(len(ledger.names), best, ledger.beta)

    def _formula(self, n: int, best: Rival, beta: float) -> float:
        return bounds.weighted_majority(n, best.m, beta, best.prior)

    def counted(self, ledger: ExpertLedger) -> float:
        """What is bounded: the master's mistakes."""
        return float(ledger.mistakes)

    def note(self, ledger: ExpertLedger) -> str:  # noqa: ARG002
        """Nothing more."""
        return ""

    def lemma(self, before: FloatArray, after: FloatArray, beta: float, wrong: float) -> dict[str, float]:  # noqa: ARG002
        """W⁺ ≤ W(1+β)/2 on each mistake; ``before`` and ``after`` are the weights on one scale."""
        return {"W⁺ ≤ W(1+β)/2": float(before.sum()) * (1 + beta) / 2 - float(after.sum())}


class Halving(WeightedMajority):
    """M ≤ ⌊lg n⌋ if one expert never errs."""

    id: ClassVar[str] = "halving"
    rule: ClassVar[str] = "halving"

    def premises(self, ledger: ExpertLedger) -> Iterator[Premise]:
        """A perfect expert."""
        best = rival(ledger)
        if not ledger.from_start:
            yield BEGUN
        if ledger.late:
            yield Premise("no outcome came late", False, f"{ledger.late} did")
        if best is None:
            yield Premise("something has happened", False)
        else:
            yield Premise("one expert never errs", best.m == 0, str(best))

    def _formula(self, n: int, best: Rival, beta: float) -> float:  # noqa: ARG002
        """⌊lg n⌋."""
        return bounds.halving(n)

    def lemma(self, before: FloatArray, after: FloatArray, beta: float, wrong: float) -> dict[str, float]:  # noqa: ARG002
        """At least half of the living experts are removed."""
        return {"half of the living are removed": np.sum(before > 0) / 2 - float(np.sum(after > 0))}


class RandomizedWeightedMajority(WeightedMajority):
    """Σ F_t ≤ (m ln(1/β) + ln n)/(1−β), no premise, for the expected number of mistakes."""

    id: ClassVar[str] = "randomized-weighted-majority"
    rule: ClassVar[str] = "randomized-weighted-majority"

    randomized: ClassVar[bool] = True

    def _formula(self, n: int, best: Rival, beta: float) -> float:
        """(m ln(1/β) + ln(1/π))/(1−β)."""
        return bounds.randomized_weighted_majority(n, best.m, beta, best.prior)

    def counted(self, ledger: ExpertLedger) -> float:
        """What is bounded: the expected number of mistakes."""
        return ledger.expected_mistakes

    def note(self, ledger: ExpertLedger) -> str:
        """What was drawn exceeds what was expected by at most √(T ln(1/δ)/2), with probability 1 − δ (Azuma)."""
        above = math.sqrt(ledger.rounds * math.log(1 / DELTA) / 2)
        return (
            f"{ledger.mistakes} mistakes were drawn; the bound does not speak of these, but with probability "
            f"{1 - DELTA:.0%}, T fixed ahead, they are at most {ledger.expected_mistakes + above:.6g}"
        )

    def lemma(self, before: FloatArray, after: FloatArray, beta: float, wrong: float) -> dict[str, float]:
        """W⁺ = W(1 − (1−β)F), exactly, in every round; F is the share of weight on the wrong answer."""
        expected = float(before.sum()) * (1 - (1 - beta) * wrong)
        return {"W⁺ = W(1 − (1−β)F)": -abs(float(after.sum()) - expected)}


EXPERT_THEOREMS: dict[str, WeightedMajority] = {
    theorem.rule: theorem for theorem in (WeightedMajority(), Halving(), RandomizedWeightedMajority())
}
