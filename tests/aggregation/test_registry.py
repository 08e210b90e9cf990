"""The table of rules over experts is complete: learners, rules on regrets, theorems, the core and the command line."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest
from files import call

import mistakebound as mb
from mistakebound._core import Mixture
from mistakebound.aggregation import exponential, gradient, polynomial, second_order
from mistakebound.aggregation.base import Rule
from mistakebound.aggregation.registry import (
    ADAPTIVE,
    ALIASES,
    BY_ID,
    BY_RULE,
    EXPERT_RULES,
    FORECASTS,
    POSITIVE,
    SHARE,
    VARIANTS,
    ExpertRule,
)
from mistakebound.bounds import BOUNDS

every_rule = pytest.mark.parametrize("entry", EXPERT_RULES, ids=lambda entry: entry.id)


@every_rule
def test_every_entry_has_its_learner_and_the_learner_its_parameters(entry: ExpertRule) -> None:
    kind = getattr(mb.experts, entry.learner)
    assert kind.id == entry.id
    assert {*entry.parameters} <= {*inspect.signature(kind).parameters}
    assert BY_ID[entry.id] is entry


def test_every_learner_and_every_rule_on_regrets_has_an_entry() -> None:
    others = {"Aggregation", "Asked", "Comparison", "compare"}
    assert {entry.learner for entry in EXPERT_RULES} == {*mb.experts.__all__} - others
    rules = {
        kind
        for module in (exponential, gradient, polynomial, second_order)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Rule) and kind is not Rule
    }
    assert {*BY_RULE} == rules


@every_rule
def test_out_of_range_is_refused_by_the_learner(entry: ExpertRule) -> None:
    kind = getattr(mb.experts, entry.learner)
    for name, parameter in entry.parameters.items():
        for value in (-1.0, np.inf, "never"):
            with pytest.raises(ValueError, match=f"{name} must be {parameter.range}"):
                kind(**{name: value})


def test_every_theorem_is_one_that_has_a_formula_or_is_not_known() -> None:
    without = {"ml-ewa"}
    assert {variant.theorem for variant in VARIANTS.values()} <= {*BOUNDS, *without}
    assert {entry.id for entry in EXPERT_RULES if entry.takes != FORECASTS} <= {*BOUNDS}


@pytest.mark.parametrize("name", VARIANTS)
def test_what_is_compiled_is_known_to_the_core(name: str) -> None:
    variant, prior = VARIANTS[name], np.full(2, 0.5)
    parameters = dict.fromkeys(variant.needs, 0.25)
    variant.rule(prior, **parameters)
    if variant.compiled:
        assert Mixture(name, parameters, "square", 0.5, True, prior).experts() == 2
    else:
        with pytest.raises(ValueError, match=name):
            Mixture(name, parameters, "square", 0.5, True, prior)


def test_the_certificate_of_each_learner_names_the_theorem_of_its_variant() -> None:
    rng = np.random.default_rng(0)
    y = rng.random(12)
    A = np.clip(y[:, None] + 0.1 * rng.normal(size=(12, 3)), 0, 1)
    for entry in EXPERT_RULES:
        if entry.takes == FORECASTS and entry.variants:
            learner = getattr(mb.experts, entry.learner)()
            learner.run(A, y)
            variant = entry.variant(learner.parameters(), gradient=learner.uses_gradient)
            assert learner.certify().theorem == variant.theorem, entry.id
    fixed = mb.experts.BOA(eta=0.1)
    fixed.run(A, y)
    assert fixed.certify().theorem == "boa"
    average = mb.experts.ExponentiallyWeightedAverage(eta="theorem")
    average.run(A, y)
    assert average.certify().theorem == "exponentially-weighted-average"


def test_ranges() -> None:
    assert POSITIVE.checked("eta", np.float64(2)) == 2
    assert type(POSITIVE.checked("eta", np.float64(2))) is float
    assert SHARE.checked("alpha", 0) == 0
    for parameter, value in ((POSITIVE, 0), (POSITIVE, np.nan), (SHARE, 1), (SHARE, -0.1), (ADAPTIVE, None)):
        with pytest.raises(ValueError, match="x must be"):
            parameter.checked("x", value)


def test_the_command_line_lists_every_rule() -> None:
    told = call("experts", "--help").split("Rules for numbers:")[1].split("Examples:")[0]
    for entry in EXPERT_RULES:
        assert entry.id in told
    assert all(f"{alias} = {rule}" in " ".join(told.split()) for alias, rule in ALIASES.items())


def test_the_table_needs_no_numpy() -> None:
    code = "import sys; import mistakebound.aggregation.registry; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
