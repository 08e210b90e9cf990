"""Every rule over experts, declared once: names, parameters with their ranges, theorems, and the engine that plays it.

The learners of ``mistakebound.experts``, the choice of an engine, certificates, the command line and the tests read
this table. Importing it needs no numpy.
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
    """The values that a parameter may have."""

    range: str
    """In words."""
    least: float = -math.inf
    above: float = -math.inf
    below: float = math.inf
    words: tuple[str, ...] = ()
    """Words that it may have instead of a number."""
    required: bool = False
    """Whether None, which leaves it out, is refused."""

    @property
    def takes_numbers(self) -> bool:
        """Whether it may be a number, or words alone."""
        return max(self.least, self.above) > -math.inf

    def is_of_its_kind(self, value: Any) -> bool:
        """Whether a model file may have the value: a plain number, a word, or None; `checked` looks at the range.

        >>> [RATE_OR_THEOREM.is_of_its_kind(value) for value in (0.5, "theorem", None, "best", True)]
        [True, True, True, False, False]
        """
        if value is None:
            return not self.required
        if isinstance(value, str):
            return value in self.words
        return self.takes_numbers and type(value) in (int, float) and abs(value) <= LARGEST

    def checked(self, name: str, value: Any) -> Any:
        """Return the value as a plain number or word; raise ValueError if it is out of range.

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
        return value.item() if hasattr(value, "item") else value  # numpy's numbers have no JSON


POSITIVE = Parameter("a positive number", above=0)
RATE_OR_THEOREM = Parameter("a positive number", above=0, words=("theorem",))
RANGE = Parameter("a positive number", above=0, required=True)
SHARE = Parameter("at least 0 and below 1", least=0, below=1)
ADAPTIVE = Parameter("'observed' or 'proved'", words=("observed", "proved"), required=True)


@dataclass(frozen=True)
class Variant:
    """A rule on regrets that plays a learner, for some of the learner's parameters."""

    name: str
    """What the core calls it."""
    rule: type[Rule]
    theorem: str
    """The id of its theorem, or of the rule if no theorem is known. A certificate checks the premises."""
    needs: tuple[str, ...] = ()
    """Parameters of the learner that must be numbers; the rule is built with them."""
    when: Mapping[str, str] = field(default_factory=dict)
    """Parameters of the learner that must have these values."""
    gradient: bool | None = None
    """Whether losses are made linear; None if both are possible."""
    compiled: bool = True


@dataclass(frozen=True)
class ExpertRule:
    """A rule over experts, as a user names it."""

    id: str
    """In ledgers, certificates and on the command line."""
    learner: str
    """The class in ``mistakebound.experts``."""
    takes: str = FORECASTS
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    variants: tuple[Variant, ...] = ()
    alias: str = ""
    about: str = ""
    """A few words for lists of rules."""
    only_loss: str = ""
    """The loss of numbers that it is for; empty if any will do."""

    def variant(self, parameters: Mapping[str, Any], *, gradient: bool) -> Variant:
        """The variant that plays these parameters; the last one if the rate is found by trying."""
        for each in self.variants:
            numbers = all(isinstance(parameters.get(name), (int, float)) for name in each.needs)
            alike = all(parameters.get(name) == value for name, value in each.when.items())
            if numbers and alike and each.gradient in (None, gradient):
                return each
        return self.variants[-1]

    def checked(self, name: str, value: Any) -> Any:
        """The value of a parameter; ValueError if it is out of range."""
        return self.parameters[name].checked(name, value)


ETA = {"eta": POSITIVE}
OBSERVED, PROVED = {"rates": "observed"}, {"rates": "proved"}
HEDGE = Variant("hedge", Exponential, "hedge", ("eta",))

EXPERT_RULES: tuple[ExpertRule, ...] = (
    ExpertRule(
        "ml-poly", "MLPoly", variants=(Variant("ml-poly", MLPoly, "ml-poly"),), about="nothing to tune, any unit"
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
)
"""In the order of lists and comparisons; of each kind the first is the default."""

BY_ID = {each.id: each for each in EXPERT_RULES}
ALIASES = {each.alias: each.id for each in EXPERT_RULES if each.alias}
VARIANTS: dict[str, Variant] = {each.name: each for entry in EXPERT_RULES for each in entry.variants}
"""By the names of the core."""
BY_RULE: dict[type[Rule], Variant] = {each.rule: each for entry in EXPERT_RULES for each in entry.variants}
MIXING = tuple(each.id for each in EXPERT_RULES if each.takes == FORECASTS)
"""Rules that mix forecasts; the first is the default."""
FOLLOWING = tuple(each.id for each in EXPERT_RULES if each.takes == LABELS)
"""Rules that follow labels; the first is the default."""


def declared(learner: type) -> ExpertRule:
    """The entry of a learner's class, or of the class that it extends."""
    return next(BY_ID[name] for name in _ids(learner) if name in BY_ID)


def known_parameters(learner: type) -> Mapping[str, Parameter]:
    """The parameters of a learner's class that have a range here: none, if it is a rule of the caller's own."""
    return next((BY_ID[name].parameters for name in _ids(learner) if name in BY_ID), {})


def _ids(learner: type) -> list[str]:
    return [vars(each).get("id", "") for each in learner.__mro__]
