"""Mistake bounds of the voting rules over experts. The mistakes m of an expert are counted over all rounds.

With a prior, the theorems hold for every expert with ``ln(1/π)`` of that expert instead of ``ln n``. The comparator is
the expert with the smallest bound, which need not have the fewest mistakes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.play.guarded_ledger import GuardedLedger
from mistakebound.theorems.evidence import Premise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import FloatArray
    from mistakebound.play.expert_ledger import ExpertLedger


DELTA = 0.05


@dataclass(frozen=True)
class BestExpert:
    """The expert with the smallest bound."""

    name: str
    m: float
    """Its mistakes, plus the expected mistakes of the learner in the rounds in which the expert slept."""
    mistakes: int
    prior: float | None
    """Its prior weight; None if all experts have the same."""

    def __str__(self) -> str:
        asleep = self.m - self.mistakes
        slept = (
            f" ({self.mistakes} mistakes, and {asleep:.6g} expected of the learner while it slept)"
            if asleep > 0
            else ""
        )
        share = "" if self.prior is None else f", π = {self.prior:.6g}, ln(1/π) = {-math.log(self.prior):.6g}"
        return f"expert {self.name}: m = {self.m:.6g}{slept}{share}"


def best_expert(ledger: ExpertLedger) -> BestExpert | None:
    """Return the expert with the smallest ``m ln(1/β) + ln(1/π)``; None before the first round."""
    if not ledger.rounds:
        return None
    alike = bool(np.ptp(ledger.prior) <= 1e-12 * ledger.prior.max())
    costs = ledger.expert_losses if alike else ledger.expert_losses * -math.log(ledger.beta) - np.log(ledger.prior)
    k = int(np.argmin(costs))
    prior = None if alike else float(ledger.prior[k])
    return BestExpert(ledger.names[k], float(ledger.expert_losses[k]), int(ledger.expert_mistakes[k]), prior)


NOT_ALL_ROUNDS = Premise("the learner began with these rounds", False, "certify learner.ledger_, which has all rounds")


class WeightedMajority:
    """M ≤ (ln n + m ln(1/β))/ln(2/(1+β)), without a premise; for β = 1/2: 2.41(m + lg n).

    Littlestone and Warmuth 1994. See docs/theory.md, "Weighted Majority".
    """

    id: ClassVar[str] = "weighted-majority"
    rule: ClassVar[str] = "weighted-majority"
    randomized: ClassVar[bool] = False
    """Whether the bound is on the expected number of mistakes."""

    def premises(self, ledger: ExpertLedger) -> Iterator[Premise]:
        """Check that the ledger has all rounds and no late outcome. The last premise shows the best expert."""
        best = best_expert(ledger)
        if not ledger.from_start:
            yield NOT_ALL_ROUNDS
        if ledger.late:
            yield Premise("no outcome came late", False, f"{ledger.late} did")
        if best is None:
            yield Premise("at least one round was learned", False)
        elif best.prior is None:
            yield Premise("m is the best expert's number of mistakes", True, str(best))
        else:
            yield Premise(
                "m is the number of mistakes of the expert with the smallest bound, π its prior", True, str(best)
            )

    def bound(self, ledger: ExpertLedger) -> float:
        """Return (ln(1/π) + m ln(1/β))/ln(2/(1+β)) for the best expert; ln n for ln(1/π) without a prior."""
        best = best_expert(ledger)
        return math.inf if best is None else self._formula(len(ledger.names), best, ledger.beta)

    def _formula(self, n: int, best: BestExpert, beta: float) -> float:
        return bounds.weighted_majority(n, best.m, beta, best.prior)

    def counted(self, ledger: ExpertLedger) -> float:
        """Return what the theorem bounds: the mistakes of the learner."""
        return float(ledger.mistakes)

    def note(self, ledger: ExpertLedger) -> str:  # noqa: ARG002
        """Return a remark for the certificate; empty for most rules."""
        return ""

    def lemma(self, before: FloatArray, after: FloatArray, beta: float, wrong: float) -> dict[str, float]:  # noqa: ARG002
        """Check W⁺ ≤ W(1+β)/2 on each mistake. ``before`` and ``after`` are the weights at the same scale."""
        return {"W⁺ ≤ W(1+β)/2": float(before.sum()) * (1 + beta) / 2 - float(after.sum())}


class Halving(WeightedMajority):
    """M ≤ ⌊lg n⌋ if one expert never errs. See docs/theory.md, "Halving"."""

    id: ClassVar[str] = "halving"
    rule: ClassVar[str] = "halving"

    def premises(self, ledger: ExpertLedger) -> Iterator[Premise]:
        """Check that one expert never errs."""
        best = best_expert(ledger)
        if not ledger.from_start:
            yield NOT_ALL_ROUNDS
        if ledger.late:
            yield Premise("no outcome came late", False, f"{ledger.late} did")
        if best is None:
            yield Premise("at least one round was learned", False)
        else:
            yield Premise("one expert never errs", best.m == 0, str(best))

    def _formula(self, n: int, best: BestExpert, beta: float) -> float:  # noqa: ARG002
        """Return ⌊lg n⌋."""
        return bounds.halving(n)

    def lemma(self, before: FloatArray, after: FloatArray, beta: float, wrong: float) -> dict[str, float]:  # noqa: ARG002
        """Check that a mistake removes at least half of the remaining experts."""
        return {"half of the living are removed": np.sum(before > 0) / 2 - float(np.sum(after > 0))}


class GuardedWeightedMajority(WeightedMajority):
    """The bound of Weighted Majority for a learner that follows any advice, without a premise.

    See docs/theory.md, "Guarded Weighted Majority".
    """

    id: ClassVar[str] = "guarded-weighted-majority"
    rule: ClassVar[str] = "guarded-weighted-majority"

    def _formula(self, n: int, best: BestExpert, beta: float) -> float:
        return bounds.guarded_weighted_majority(n, best.m, beta, best.prior)

    def note(self, ledger: ExpertLedger) -> str:
        """Return what the advice did; the bound does not depend on it."""
        if not isinstance(ledger, GuardedLedger) or not ledger.rounds:
            return ""
        mistakes, advised = ledger.advice_mistakes, ledger.advice_rounds
        return f"the advice was wrong in {mistakes} of {advised} rounds, and not followed in {ledger.overrides}"

    def lemma(self, before: FloatArray, after: FloatArray, beta: float, wrong: float) -> dict[str, float]:  # noqa: ARG002
        """Check that no round raises W."""
        return {"W⁺ ≤ W": float(before.sum()) - float(after.sum())}

    def invariant(self, log_weight: float, mistakes: int, beta: float) -> dict[str, float]:
        """Check ``W ≤ ((1+β)/2)^M`` after every round; W is 1 at the start, and ``log_weight`` is ln W."""
        return {"W ≤ ((1+β)/2)^M": mistakes * math.log1p((beta - 1) / 2) - log_weight}


class RandomizedWeightedMajority(WeightedMajority):
    """Σ F_t ≤ (m ln(1/β) + ln n)/(1−β) for the expected number of mistakes, without a premise.

    See docs/theory.md, "Randomized Weighted Majority".
    """

    id: ClassVar[str] = "randomized-weighted-majority"
    rule: ClassVar[str] = "randomized-weighted-majority"

    randomized: ClassVar[bool] = True

    def _formula(self, n: int, best: BestExpert, beta: float) -> float:
        """Return (m ln(1/β) + ln(1/π))/(1−β)."""
        return bounds.randomized_weighted_majority(n, best.m, beta, best.prior)

    def counted(self, ledger: ExpertLedger) -> float:
        """Return what the theorem bounds: the expected number of mistakes."""
        return ledger.expected_mistakes

    def note(self, ledger: ExpertLedger) -> str:
        """Return a bound on the drawn mistakes: with probability 1 − δ, expected + √(T ln(1/δ)/2) (Azuma)."""
        above = math.sqrt(ledger.rounds * math.log(1 / DELTA) / 2)
        return (
            f"{ledger.mistakes} mistakes were drawn; the bound is not about this number, but with probability "
            f"{1 - DELTA:.0%}, for a T fixed in advance, it is at most {ledger.expected_mistakes + above:.6g}"
        )

    def lemma(self, before: FloatArray, after: FloatArray, beta: float, wrong: float) -> dict[str, float]:
        """Check W⁺ = W(1 − (1−β)F) in every round. F is the share of weight on the wrong label."""
        expected = float(before.sum()) * (1 - (1 - beta) * wrong)
        return {"W⁺ = W(1 − (1−β)F)": -abs(float(after.sum()) - expected)}


EXPERT_THEOREMS: dict[str, WeightedMajority] = {
    theorem.rule: theorem
    for theorem in (WeightedMajority(), GuardedWeightedMajority(), Halving(), RandomizedWeightedMajority())
}
