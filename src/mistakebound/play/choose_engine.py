"""Who plays a rule over experts: its specification in Python, or the core's twin of it, if there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound.aggregation.exponential import ExpConcave
from mistakebound.aggregation.mixture import Mixture
from mistakebound.play.expert_engine import COMPILED, COMPILED_LOSSES, RULES, CompiledEngine

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.reference import Engine

NAMES = {rule: name for name, rule in RULES.items()} | {ExpConcave: "hedge"}
PARAMETERS = {"hedge": ("eta",), "fixed-share": ("eta", "alpha"), "boa": ("eta",)}


def quickest(specified: Engine, prior: FloatArray) -> Engine | CompiledEngine:
    """The core's engine for numbers, at its beginning; or the given one, if the core has none like it."""
    mixture, loss = specified.forecaster, specified.loss
    if not isinstance(mixture, Mixture) or loss.id.partition(":")[0] not in COMPILED_LOSSES:
        return specified
    name = NAMES.get(type(mixture.rule))
    if name not in COMPILED or getattr(mixture.rule, "alpha", 1) == 0:  # without a share, weights may be below float64
        return specified
    parameters = {each: float(getattr(mixture.rule, each)) for each in PARAMETERS.get(name, ())}
    return CompiledEngine(name, parameters, loss, prior, gradient=mixture.gradient)
