"""Mistake bounds with expert advice. Their m runs over all rounds, not over the master's mistakes only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.theorems.base import Premise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.arrays import FloatArray
    from mistakebound.ledger import ExpertLedger


DELTA = 0.05


class WeightedMajority:
    """M ≤ (ln n + m ln(1/β))/ln(2/(1+β)), no premise; β = 1/2: 2.41(m + lg n) (Littlestone and Warmuth 1994)."""

    id: ClassVar[str] = "weighted-majority"
    rule: ClassVar[str] = "weighted-majority"

    def premises(self, ledger: ExpertLedger) -> Iterator[Premise]:
        """None; m is measured."""
        yield Premise("m is the best expert's number of mistakes", True, f"m = {_best(ledger):.6g}")

    def bound(self, ledger: ExpertLedger) -> float:
        """(ln n + m ln(1/β))/ln(2/(1+β))."""
        return bounds.weighted_majority(len(ledger.expert_mistakes), _best(ledger), ledger.beta)

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
        yield Premise("one expert never errs", _best(ledger) == 0, f"m = {_best(ledger):.6g}")

    def bound(self, ledger: ExpertLedger) -> float:
        """⌊lg n⌋."""
        return bounds.halving(len(ledger.expert_mistakes))

    def lemma(self, before: FloatArray, after: FloatArray, beta: float, wrong: float) -> dict[str, float]:  # noqa: ARG002
        """At least half of the living experts are removed."""
        return {"half of the living are removed": np.sum(before > 0) / 2 - float(np.sum(after > 0))}


class RandomizedWeightedMajority(WeightedMajority):
    """Σ F_t ≤ (m ln(1/β) + ln n)/(1−β), no premise, for the expected number of mistakes."""

    id: ClassVar[str] = "randomized-weighted-majority"
    rule: ClassVar[str] = "randomized-weighted-majority"

    def bound(self, ledger: ExpertLedger) -> float:
        """(m ln(1/β) + ln n)/(1−β)."""
        return bounds.randomized_weighted_majority(len(ledger.expert_mistakes), _best(ledger), ledger.beta)

    def counted(self, ledger: ExpertLedger) -> float:
        """What is bounded: the expected number of mistakes."""
        return ledger.expected_mistakes

    def note(self, ledger: ExpertLedger) -> str:
        """What was drawn exceeds what was expected by at most √(T ln(1/δ)/2), with probability 1 − δ (Azuma)."""
        above = math.sqrt(ledger.rounds * math.log(1 / DELTA) / 2)
        return (
            f"the bound is on the expected mistakes, {ledger.expected_mistakes:.6g}; with probability {1 - DELTA:.0%}, "
            f"T fixed ahead, those drawn are at most {ledger.expected_mistakes + above:.6g}"
        )

    def lemma(self, before: FloatArray, after: FloatArray, beta: float, wrong: float) -> dict[str, float]:
        """W⁺ = W(1 − (1−β)F), exactly, in every round; F is the share of weight on the wrong answer."""
        expected = float(before.sum()) * (1 - (1 - beta) * wrong)
        return {"W⁺ = W(1 − (1−β)F)": -abs(float(after.sum()) - expected)}


EXPERT_THEOREMS: dict[str, WeightedMajority] = {
    theorem.rule: theorem for theorem in (WeightedMajority(), Halving(), RandomizedWeightedMajority())
}


def _best(ledger: ExpertLedger) -> float:
    """Losses of the best expert, a prior below the uniform one being so many losses more."""
    handicap = np.log(1 / (ledger.prior * len(ledger.prior)))
    if not np.any(np.abs(handicap) > 1e-12):
        return float(ledger.expert_losses.min(initial=math.inf))
    return float(np.min(ledger.expert_losses + handicap / -math.log(ledger.beta), initial=math.inf))
