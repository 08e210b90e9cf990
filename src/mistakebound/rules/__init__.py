"""The linear rules, one file each. Each rule is imported at its first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mistakebound.rules.registry import DECLARATIONS

if TYPE_CHECKING:
    from mistakebound.rules.balanced_winnow import BalancedWinnowRule
    from mistakebound.rules.base import Range, Rule
    from mistakebound.rules.elimination import EliminationRule
    from mistakebound.rules.normalized_winnow import NormalizedWinnowRule
    from mistakebound.rules.perceptron import PerceptronRule
    from mistakebound.rules.pnorm import PNormRule
    from mistakebound.rules.winnow import WinnowRule

    RULES: dict[str, type[Rule]]

__all__ = [
    "RULES",
    "BalancedWinnowRule",
    "EliminationRule",
    "NormalizedWinnowRule",
    "PNormRule",
    "PerceptronRule",
    "Range",
    "Rule",
    "WinnowRule",
]

_MODULES = {"Range": "base", "Rule": "base"} | {each.rule: each.module for each in DECLARATIONS.values()}


def __getattr__(name: str) -> Any:
    if name == "RULES":
        found: Any = {each.id: each.load() for each in DECLARATIONS.values() if each.linear}
    elif name in _MODULES:
        found = getattr(import_module(f"mistakebound.rules.{_MODULES[name]}"), name)
    else:
        message = f"module 'mistakebound.rules' has no attribute {name!r}"
        raise AttributeError(message)
    globals()[name] = found  # later accesses do not call __getattr__
    return found
