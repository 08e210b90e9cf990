"""Theorems by their ids, a small class each."""

from mistakebound.theorems.base import NEARLY, Theorem
from mistakebound.theorems.delayed import Delayed, DelayedBalancedWinnow, DelayedPNorm, DelayedWinnow
from mistakebound.theorems.evidence import Premise, Witness
from mistakebound.theorems.experts import EXPERT_THEOREMS, best_expert
from mistakebound.theorems.mixing import (
    MixingBalancedWinnow,
    MixingLittlestone,
    MixingPerceptron,
    MixingPNorm,
    MixingWinnow,
)
from mistakebound.theorems.multiclass import MulticlassPerceptron
from mistakebound.theorems.normalized_winnow import (
    BalancedWinnow,
    WinnowAgnostic,
    WinnowBestRate,
    WinnowFixedRate,
    WinnowPanel,
)
from mistakebound.theorems.panel import PANEL_THEOREMS
from mistakebound.theorems.passive_aggressive import PassiveAggressiveI, PassiveAggressiveII
from mistakebound.theorems.perceptron import Novikoff, PerceptronAgnostic, PerceptronPanel
from mistakebound.theorems.pnorm import PNorm
from mistakebound.theorems.winnow import Elimination, InfiniteWinnow, Littlestone, LittlestoneSeparable

THEOREMS: dict[str, Theorem] = {
    theorem.id: theorem
    for theorem in (
        Novikoff(),
        PerceptronPanel(),
        PerceptronAgnostic(),
        MulticlassPerceptron(),
        Littlestone(),
        LittlestoneSeparable(),
        InfiniteWinnow(),
        WinnowFixedRate(),
        WinnowBestRate(),
        WinnowAgnostic(),
        WinnowPanel(),
        BalancedWinnow(),
        PNorm(),
        Elimination(),
        PassiveAggressiveI(),
        PassiveAggressiveII(),
        Delayed(),
        DelayedPNorm(),
        DelayedWinnow(),
        DelayedBalancedWinnow(),
        MixingPerceptron(),
        MixingPNorm(),
        MixingWinnow(),
        MixingBalancedWinnow(),
        MixingLittlestone(),
    )
}

__all__ = [
    "EXPERT_THEOREMS",
    "NEARLY",
    "PANEL_THEOREMS",
    "THEOREMS",
    "BalancedWinnow",
    "Delayed",
    "DelayedBalancedWinnow",
    "DelayedPNorm",
    "DelayedWinnow",
    "Elimination",
    "InfiniteWinnow",
    "Littlestone",
    "LittlestoneSeparable",
    "MixingBalancedWinnow",
    "MixingLittlestone",
    "MixingPNorm",
    "MixingPerceptron",
    "MixingWinnow",
    "MulticlassPerceptron",
    "Novikoff",
    "PNorm",
    "PassiveAggressiveI",
    "PassiveAggressiveII",
    "PerceptronAgnostic",
    "PerceptronPanel",
    "Premise",
    "Theorem",
    "WinnowAgnostic",
    "WinnowBestRate",
    "WinnowFixedRate",
    "WinnowPanel",
    "Witness",
    "best_expert",
]
