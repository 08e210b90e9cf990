"""A rule in words: its name and the parameters that a reader needs to make it again."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mistakebound.play.engine import is_panel
from mistakebound.rules.panel_members import ROSTERS
from mistakebound.rules.registry import DECLARATIONS

if TYPE_CHECKING:
    from mistakebound.rules import Rule

OF_EVERY_RULE = ("update_margin", "bias")


def parameters_of(rule: Rule) -> dict[str, Any]:
    """Return the parameters of a rule that differ from its defaults, its own before those of every rule.

    >>> from mistakebound.rules import WinnowRule
    >>> parameters_of(WinnowRule(alpha=1.5, theta=8.0))
    {'alpha': 1.5, 'theta': 8.0}
    """
    if is_panel(rule):
        known = next((name for name, members in ROSTERS.items() if members == rule.chosen), ",".join(rule.chosen))
        shown = {"members": known, "threshold": rule.cut, "abstain": rule.abstain}
        absent = {"members": "all", "threshold": rule.cut if rule.threshold == 0 else None, "abstain": 0}
        return {name: value for name, value in shown.items() if value != absent[name]}
    needed = DECLARATIONS[rule.id].defaults  # shown also if 0, because the default of the command line is not
    found = {name: value for name, value in asdict(rule).items() if name != "strict" and (value or name in needed)}
    return dict(sorted(found.items(), key=lambda each: each[0] in OF_EVERY_RULE))


def in_words(rule: Rule) -> str:
    """Return a rule with its parameters.

    >>> from mistakebound.rules import PerceptronRule, WinnowRule
    >>> in_words(WinnowRule(alpha=1.5, theta=8.0)), in_words(PerceptronRule())
    ('winnow (alpha 1.5, threshold 8)', 'perceptron')
    """
    shown = ", ".join(f"{PUBLIC.get(name, name)} {as_text(value)}" for name, value in parameters_of(rule).items())
    return f"{name_of(rule)} ({shown.replace('_', ' ')})" if shown else name_of(rule)


def name_of(rule: Rule) -> str:
    """Return the name that users know; that of a panel does not depend on the number of classes."""
    return "panel" if is_panel(rule) else rule.id


PUBLIC = {"theta": "threshold"}
"""Parameters of rules that have another name for users."""


def as_text(value: Any) -> str:
    """Return a parameter as text, numbers with at most 12 digits."""
    return value if isinstance(value, str) else f"{value:.12g}"
