"""The declaration of each linear rule. Learners, commands, ``compare``, model files and tests read this list.

Classes are named here and imported at their first use, because a run needs only one of them. The theorems of a rule are
not listed here: each theorem names its rule.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mistakebound.rules.base import Rule


class Declaration(NamedTuple):
    """The names, options and defaults of one rule."""

    id: str
    """Name of the rule in files, theorems, the core and on the command line."""
    module: str
    """Module of ``mistakebound.rules`` that defines the class of the rule."""
    rule: str
    """Name of the class. It declares the ranges of the parameters."""
    learner: str
    """Name of the public class in ``learners.linear``."""
    has_theorem: bool = True
    """Whether a theorem bounds the mistakes of the rule. If not, runs cannot be certified."""
    options: Mapping[str, str] = {}
    """Help text of each numeric parameter that commands offer as an option and not all rules have."""
    defaults: Mapping[str, float] = {}
    """Defaults of the command line that differ from the defaults of the learner."""
    variants: tuple[Mapping[str, float], ...] = ({},)
    """The sets of parameters that ``compare`` runs."""
    linear: bool = True
    """Whether predictions are a function of one w·x. Those of the Panel and of the multiclass Perceptron are not."""

    def load(self) -> type[Rule]:
        """Import the rule's class."""
        found: type[Rule] = getattr(import_module(f"mistakebound.rules.{self.module}"), self.rule)
        return found


MARGIN = 0.0003
"""Update margin of Balanced Winnow on the command line. On real data it gives fewer mistakes than 0."""
ETA = "Learning rate of the Winnow family and of exponentiated-gradient."
RATE = "Learning rate of the AdaGrad rules, implicit-logistic and logistic-sgd."
THRESHOLD = "Winnow's threshold; for the panel, the least probability at which the positive label is predicted."
ALPHA = "Winnow's factor of a promotion, or the learning rate of ftrl-proximal."
C = "Aggressiveness of passive-aggressive-i and -ii: a larger c makes larger updates."
WITH_BIAS: tuple[Mapping[str, float], ...] = ({"bias": 1},)

DECLARATIONS: dict[str, Declaration] = {
    declared.id: declared
    for declared in (
        Declaration("panel", "panel", "PanelRule", "Panel", linear=False),
        Declaration(
            "perceptron",
            "perceptron",
            "PerceptronRule",
            "Perceptron",
            variants=({}, {"bias": 1}),
        ),
        Declaration(
            "multiclass-perceptron",
            "multiclass_perceptron",
            "MulticlassPerceptronRule",
            "MulticlassPerceptron",
            variants=({}, {"bias": 1}),
            linear=False,
        ),
        Declaration(
            "balanced-winnow",
            "balanced_winnow",
            "BalancedWinnowRule",
            "BalancedWinnow",
            options={"eta": ETA},
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
            options={"eta": ETA},
            variants=({"eta": 0.1},),
        ),
        Declaration(
            "winnow",
            "winnow",
            "WinnowRule",
            "Winnow",
            options={"alpha": ALPHA, "threshold": THRESHOLD},
            variants=({"alpha": 2}, {"alpha": 1.2}),
        ),
        Declaration("elimination", "elimination", "EliminationRule", "Elimination"),
        Declaration(
            "arow",
            "arow",
            "ArowRule",
            "Arow",
            has_theorem=False,
            options={"r": "r of AROW: a larger r makes smaller updates."},
            variants=({}, {"bias": 1}, {"r": 0.1}),
        ),
        Declaration(
            "passive-aggressive-i",
            "passive_aggressive",
            "PassiveAggressiveIRule",
            "PassiveAggressiveI",
            options={"c": C},
            variants=WITH_BIAS,
        ),
        Declaration(
            "passive-aggressive-ii",
            "passive_aggressive",
            "PassiveAggressiveIIRule",
            "PassiveAggressiveII",
            options={"c": C},
            variants=WITH_BIAS,
        ),
        Declaration(
            "averaged-perceptron",
            "averaged_perceptron",
            "AveragedPerceptronRule",
            "AveragedPerceptron",
            has_theorem=False,
            variants=WITH_BIAS,
        ),
        Declaration(
            "coin-betting",
            "coin_betting",
            "CoinBettingRule",
            "CoinBetting",
            has_theorem=False,
            variants=WITH_BIAS,
        ),
        Declaration(
            "implicit-logistic",
            "adagrad",
            "ImplicitLogisticRule",
            "ImplicitLogistic",
            has_theorem=False,
            options={"rate": RATE},
            variants=WITH_BIAS,
        ),
        Declaration(
            "adagrad-logistic",
            "adagrad",
            "AdaGradLogisticRule",
            "AdaGradLogistic",
            has_theorem=False,
            options={"rate": RATE},
            variants=WITH_BIAS,
        ),
        Declaration(
            "adagrad-hinge",
            "adagrad",
            "AdaGradHingeRule",
            "AdaGradHinge",
            has_theorem=False,
            options={"rate": RATE},
            variants=WITH_BIAS,
        ),
        Declaration(
            "ftrl-proximal",
            "gradient_descent",
            "FtrlProximalRule",
            "FtrlProximal",
            has_theorem=False,
            options={"alpha": ALPHA},
            variants=WITH_BIAS,
        ),
        Declaration(
            "logistic-sgd",
            "gradient_descent",
            "LogisticSgdRule",
            "LogisticSgd",
            has_theorem=False,
            options={"rate": RATE},
            variants=WITH_BIAS,
        ),
        Declaration(
            "exponentiated-gradient",
            "gradient_descent",
            "ExponentiatedGradientRule",
            "ExponentiatedGradient",
            has_theorem=False,
            options={"eta": ETA},
            variants=WITH_BIAS,
        ),
        Declaration("naive-bayes", "label_counts", "NaiveBayesRule", "NaiveBayes", has_theorem=False),
        Declaration("decision-list", "label_counts", "DecisionListRule", "DecisionList", has_theorem=False),
    )
}
OPTIONS: dict[str, str] = {name: text for each in DECLARATIONS.values() for name, text in each.options.items()}
"""Help text of each numeric option that only some rules have."""


@cache
def rule_class(id: str) -> type[Rule]:  # noqa: A002 - files and theorems also use the name "id"
    """Return the class of the rule with this id."""
    return DECLARATIONS[id].load()
