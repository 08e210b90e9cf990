"""The declaration of each rule over experts: names, parameters with their ranges, theorems, and the core's rules.

The learners of ``mistakebound.experts``, the choice of an engine, certificates, the command line and the tests read
this table. Importing it does not import numpy.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mistakebound.aggregation.exponential import AdaHedge, Anytime, ExpConcave, Exponential, FixedShare, MLEwa
from mistakebound.aggregation.gradient import OGD
from mistakebound.aggregation.polynomial import MLPoly
from mistakebound.aggregation.second_order import BOA, FixedBOA, MLProd, ObservedBOA, ObservedMLProd, Squint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mistakebound.aggregation.base import Rule

FORECASTS, LABELS = "forecasts", "labels"
LARGEST = sys.float_info.max


@dataclass(frozen=True)
class Parameter:
    """The allowed values of a parameter."""

    range: str
    """The allowed values in words, for messages."""
    least: float = -math.inf
    above: float = -math.inf
    below: float = math.inf
    words: tuple[str, ...] = ()
    """Strings that are allowed instead of a number."""
    required: bool = False
    """Whether None (not set) is an error."""

    @property
    def takes_numbers(self) -> bool:
        """Whether a number is allowed."""
        return max(self.least, self.above) > -math.inf

    def has_valid_type(self, value: Any) -> bool:
        """Return whether the value is a plain number, one of ``words``, or None if that is allowed.

        Model files are checked with it. `checked` checks the range.

        >>> [RATE_OR_THEOREM.has_valid_type(value) for value in (0.5, "theorem", None, "best", True)]
        [True, True, True, False, False]
        """
        if value is None:
            return not self.required
        if isinstance(value, str):
            return value in self.words
        return self.takes_numbers and type(value) in (int, float) and abs(value) <= LARGEST

    def checked(self, name: str, value: Any) -> Any:
        """Return the value as a plain number or string. Raise ValueError if it is not allowed.

        >>> POSITIVE.checked("eta", 0.5), POSITIVE.checked("eta", None)
        (0.5, None)
        >>> SHARE.checked("alpha", 1)
        Traceback (most recent call last):
        ...
        ValueError: alpha must be at least 0 and below 1, got 1
        """
        if (value is None and not self.required) or (isinstance(value, str) and value in self.words):
            return value
        number = self.takes_numbers and not isinstance(value, str)
        if not number or not (self.least <= value < self.below and value > self.above):
            message = f"{name} must be {self.range}, got {value!r}"
            raise ValueError(message)
        return value.item() if hasattr(value, "item") else value  # numpy numbers cannot be written as JSON


POSITIVE = Parameter("a positive number", above=0)
RATE_OR_THEOREM = Parameter("a positive number", above=0, words=("theorem",))
RANGE = Parameter("a positive number", above=0, required=True)
SHARE = Parameter("at least 0 and below 1", least=0, below=1)
OPEN_SHARE = Parameter("above 0 and below 1", above=0, below=1)
ADAPTIVE = Parameter("'observed' or 'proved'", words=("observed", "proved"), required=True)


@dataclass(frozen=True)
class Variant:
    """The rule on regrets that a learner uses if its parameters satisfy ``needs`` and ``when``."""

    name: str
    """Name of the rule in the core."""
    rule: type[Rule]
    theorem: str
    """The id of its theorem, or of the rule if no theorem is known. A certificate checks the premises."""
    needs: tuple[str, ...] = ()
    """Parameters of the learner that must be numbers. They are passed to the rule."""
    when: Mapping[str, str] = field(default_factory=dict)
    """Parameters of the learner that must have these values."""
    gradient: bool | None = None
    """Whether the learner must linearise losses (True), must not (False), or may do either (None)."""
    compiled: bool = True
    """Whether the core has this rule."""


@dataclass(frozen=True)
class ExpertRule:
    """A rule over experts, by the name that users pass."""

    id: str
    """Name in ledgers, certificates and on the command line."""
    learner: str
    """Name of the class in ``mistakebound.experts``."""
    takes: str = FORECASTS
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    variants: tuple[Variant, ...] = ()
    alias: str = ""
    about: str = ""
    """A short description for lists of rules."""
    only_loss: str = ""
    """Id of the only loss that the rule supports, or an empty string if it supports all."""
    takes_advice: bool = False
    """Whether the rule follows advice beside the votes of the experts."""

    def variant(self, parameters: Mapping[str, Any], *, gradient: bool) -> Variant:
        """Return the first variant that fits these parameters, or the last one if none fits.

        No variant fits if a rate is not set, because the learner then chooses it during the run.
        """
        for each in self.variants:
            numbers = all(isinstance(parameters.get(name), (int, float)) for name in each.needs)
            values = all(parameters.get(name) == value for name, value in each.when.items())
            if numbers and values and each.gradient in (None, gradient):
                return each
        return self.variants[-1]

    def checked(self, name: str, value: Any) -> Any:
        """Return the value of a parameter. Raise ValueError if it is not allowed."""
        return self.parameters[name].checked(name, value)


ETA = {"eta": POSITIVE}
OBSERVED, PROVED = {"rates": "observed"}, {"rates": "proved"}
HEDGE = Variant("hedge", Exponential, "hedge", ("eta",))

EXPERT_RULES: tuple[ExpertRule, ...] = (
    ExpertRule(
        "ml-poly", "MLPoly", variants=(Variant("ml-poly", MLPoly, "ml-poly"),), about="nothing to tune, any scale"
    ),
    ExpertRule(
        "ml-prod",
        "MLProd",
        parameters={"rates": ADAPTIVE},
        variants=(
            Variant("ml-prod", MLProd, "ml-prod", when=PROVED),
            Variant("ml-prod-observed", ObservedMLProd, "ml-prod", when=OBSERVED),
        ),
    ),
    ExpertRule("ml-ewa", "MLEwa", variants=(Variant("ml-ewa", MLEwa, "ml-ewa"),)),
    ExpertRule(
        "boa",
        "BOA",
        parameters={**ETA, "rates": ADAPTIVE},
        variants=(
            Variant("boa", FixedBOA, "boa", ("eta",)),
            Variant("boa-adaptive", BOA, "boa-adaptive", when=PROVED),
            Variant("boa-observed", ObservedBOA, "boa-adaptive", when=OBSERVED),
        ),
    ),
    ExpertRule("adahedge", "AdaHedge", variants=(Variant("adahedge", AdaHedge, "adahedge"),)),
    ExpertRule(
        "hedge",
        "Hedge",
        parameters={**ETA, "horizon": POSITIVE, "loss_range": RANGE},
        variants=(HEDGE, Variant("anytime", Anytime, "hedge")),
    ),
    ExpertRule("squint", "Squint", variants=(Variant("squint", Squint, "squint", compiled=False),)),
    ExpertRule("ogd", "OGD", variants=(Variant("ogd", OGD, "ogd"),)),
    ExpertRule("ridge", "Ridge", parameters={"penalty": POSITIVE}, about="weights of either sign", only_loss="square"),
    ExpertRule(
        "exponentially-weighted-average",
        "ExponentiallyWeightedAverage",
        parameters={"eta": RATE_OR_THEOREM},
        variants=(
            Variant("hedge", ExpConcave, "exponentially-weighted-average", ("eta",), gradient=False),
            HEDGE,
        ),
        alias="ewa",
    ),
    ExpertRule(
        "fixed-share",
        "FixedShare",
        parameters={**ETA, "alpha": SHARE},
        variants=(Variant("fixed-share", FixedShare, "fixed-share", ("eta", "alpha")),),
        about="experts take turns",
    ),
    ExpertRule("weighted-majority", "WeightedMajority", LABELS, {"beta": SHARE}),
    ExpertRule("randomized-weighted-majority", "RandomizedWeightedMajority", LABELS, {"beta": SHARE}),
    ExpertRule("halving", "Halving", LABELS),
    ExpertRule("guarded-weighted-majority", "Guarded", LABELS, {"beta": OPEN_SHARE}, takes_advice=True),
)
"""All rules, in the order of lists and comparisons. The first rule of each kind is the default."""

BY_ID = {each.id: each for each in EXPERT_RULES}
ALIASES = {each.alias: each.id for each in EXPERT_RULES if each.alias}
VARIANTS: dict[str, Variant] = {each.name: each for entry in EXPERT_RULES for each in entry.variants}
"""The variants by their names in the core."""
BY_RULE: dict[type[Rule], Variant] = {each.rule: each for entry in EXPERT_RULES for each in entry.variants}
MIXING = tuple(each.id for each in EXPERT_RULES if each.takes == FORECASTS)
"""Ids of the rules that mix forecasts. The first is the default."""
FOLLOWING = tuple(each.id for each in EXPERT_RULES if each.takes == LABELS)
"""Ids of the rules that vote on labels. The first is the default."""
ADVISED = tuple(each.id for each in EXPERT_RULES if each.takes_advice)
"""Ids of the rules that follow advice. The first is the default if there is advice."""


def declared(learner: type) -> ExpertRule:
    """Return the declaration of a learner's class, or of the nearest base class that has one."""
    found = next((BY_ID[name] for name in _ids(learner) if name in BY_ID), None)
    if found is None:
        message = f"{learner.__name__} is not a declared rule: extend a rule such as MLPoly, or define _make"
        raise TypeError(message)
    return found


def known_parameters(learner: type) -> Mapping[str, Parameter]:
    """Return the declared parameters of a learner's class. A class that the caller defined has none."""
    return next((BY_ID[name].parameters for name in _ids(learner) if name in BY_ID), {})


def _ids(learner: type) -> list[str]:
    return [vars(each).get("id", "") for each in learner.__mro__]
