"""Every linear rule, declared once. Learners, commands, ``compare``, files and tests read this list.

Classes are named, not imported: a run needs one of them. A theorem names the rule that it speaks of.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mistakebound.rules.base import Rule


class Declaration(NamedTuple):
    """What the package knows of a rule besides its mathematics."""

    id: str
    """Its name in files, theorems and the core, and on the command line."""
    module: str
    """Module of this room with its class; the class has the ranges of its parameters."""
    rule: str
    """Name of that class."""
    learner: str
    """Name of the public class in ``learners.linear``."""
    has_theorem: bool = True
    """Whether a theorem bounds its mistakes, so that they can be certified."""
    options: Mapping[str, str] = {}
    """Parameters of its own that a command takes as numbers, each with a line of help."""
    defaults: Mapping[str, float] = {}
    """Where the default of a command is not the learner's."""
    variants: tuple[Mapping[str, float], ...] = ({},)
    """Parameters that ``compare`` tries."""

    def load(self) -> type[Rule]:
        """Import the rule's class."""
        found: type[Rule] = getattr(import_module(f"mistakebound.rules.{self.module}"), self.rule)
        return found


MARGIN = 0.0003
"""An update margin serves Balanced Winnow better on real data than the textbook's 0."""
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
"""All parameters that commands take as numbers and that not every rule has."""


@cache
def rule_class(id: str) -> type[Rule]:  # noqa: A002 - the word of files and theorems
    """The class of a rule."""
    return DECLARATIONS[id].load()
