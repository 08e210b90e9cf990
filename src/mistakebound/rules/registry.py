"""Every linear rule, declared once. Learners, commands, ``compare``, files and tests read this list.

Classes are given by name and imported at their first use, because a run needs only one. Which theorems a rule has is
written in the theorems: each names its rule.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mistakebound.rules.base import Rule


class Declaration(NamedTuple):
    """What the package needs to know of a rule besides its mathematics."""

    id: str
    """Its name in files, theorems and the core, and on the command line."""
    module: str
    """Module of ``mistakebound.rules`` that has its class, which has the ranges of its parameters."""
    rule: str
    """Name of that class."""
    learner: str
    """Name of the public class in ``learners.linear``."""
    has_theorem: bool = True
    """Whether a theorem bounds its mistakes, so that they can be certified."""
    options: Mapping[str, str] = {}
    """Its own numeric parameters that are options of commands, each with its help text."""
    defaults: Mapping[str, float] = {}
    """Defaults of the command line that differ from the learner's."""
    variants: tuple[Mapping[str, float], ...] = ({},)
    """The sets of parameters that ``compare`` runs."""

    def load(self) -> type[Rule]:
        """Import the rule's class."""
        found: type[Rule] = getattr(import_module(f"mistakebound.rules.{self.module}"), self.rule)
        return found


MARGIN = 0.0003
"""Update margin of Balanced Winnow on the command line: on real data it makes fewer mistakes than with 0."""
RATE = "Learning rate of the Winnow family."

DECLARATIONS: dict[str, Declaration] = {
    declared.id: declared
    for declared in (
        Declaration(
            "perceptron",
            "perceptron",
            "PerceptronRule",
            "Perceptron",
            variants=({}, {"bias": 1}),
        ),
        Declaration(
            "balanced-winnow",
            "balanced_winnow",
            "BalancedWinnowRule",
            "BalancedWinnow",
            options={"eta": RATE},
            defaults={"update_margin": MARGIN},
            variants=({}, {"bias": 1}, {"eta": 0.02}, {"eta": 0.5}, {"update_margin": 0}),
        ),
        Declaration(
            "pnorm",
            "pnorm",
            "PNormRule",
            "PNormPerceptron",
            options={"p": "p of the p-norm Perceptron."},
            variants=({"p": 4}, {"p": 10}),
        ),
        Declaration(
            "normalized-winnow",
            "normalized_winnow",
            "NormalizedWinnowRule",
            "NormalizedWinnow",
            options={"eta": RATE},
            variants=({"eta": 0.1},),
        ),
        Declaration(
            "winnow",
            "winnow",
            "WinnowRule",
            "Winnow",
            options={"alpha": "Winnow's factor.", "threshold": "Winnow's threshold."},
            variants=({"alpha": 2}, {"alpha": 1.2}),
        ),
        Declaration("elimination", "elimination", "EliminationRule", "Elimination"),
        Declaration(
            "arow",
            "arow",
            "ArowRule",
            "Arow",
            has_theorem=False,
            options={"r": "AROW's r: the larger, the smaller its steps."},
            variants=({}, {"bias": 1}, {"r": 0.1}),
        ),
    )
}
OPTIONS: dict[str, str] = {name: words for each in DECLARATIONS.values() for name, words in each.options.items()}
"""The numeric options of commands that only some rules have, each with its help text."""


@cache
def rule_class(id: str) -> type[Rule]:  # noqa: A002 - the word of files and theorems
    """The class of a rule."""
    return DECLARATIONS[id].load()
