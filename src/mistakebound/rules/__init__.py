"""The linear rules of the mistake-bound model, one file each."""

from mistakebound.rules.balanced_winnow import BalancedWinnowRule
from mistakebound.rules.base import Rule
from mistakebound.rules.elimination import EliminationRule
from mistakebound.rules.normalized_winnow import NormalizedWinnowRule
from mistakebound.rules.perceptron import PerceptronRule
from mistakebound.rules.pnorm import PNormRule
from mistakebound.rules.winnow import WinnowRule

RULES: dict[str, type[Rule]] = {
    rule.id: rule
    for rule in (
        PerceptronRule,
        WinnowRule,
        NormalizedWinnowRule,
        BalancedWinnowRule,
        PNormRule,
        EliminationRule,
    )
}

__all__ = [
    "RULES",
    "BalancedWinnowRule",
    "EliminationRule",
    "NormalizedWinnowRule",
    "PNormRule",
    "PerceptronRule",
    "Rule",
    "WinnowRule",
]
