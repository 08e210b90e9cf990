"""Premises of the regret theorems. The rules compute the bounds from sums that they keep.

See docs/theory.md, "Experts with losses".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mistakebound._support.text import grouped
from mistakebound.aggregation.registry import BY_ID
from mistakebound.theorems.evidence import Premise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.reference import Engine
    from mistakebound.play.expert_ledger import AggregationLedger

AGREES = 1e-6
"""Relative difference of a replay in float64 that rounding can explain."""


def theorem_of(ledger: AggregationLedger) -> str:
    """Return the id of the theorem on a rule with these parameters."""
    entry = BY_ID.get(ledger.rule)
    if entry is None or not entry.variants:  # a rule defined by the caller, or one that mixes forecasts directly
        return ledger.rule
    return entry.variant(ledger.parameters, gradient=ledger.gradient).theorem


class Applied(NamedTuple):
    """The premises and the bound of a theorem, measured on a replay."""

    premises: tuple[Premise, ...]
    allowed: FloatArray | None
    """The bound on the regret against each expert; None if there is no bound."""
    added: float
    """For Fixed Share: what is added to the bound because the loss is not exp-concave at η."""


def apply_theorem(theorem: str, ledger: AggregationLedger, engine: Engine, losses: Sequence[float]) -> Applied:
    """Check the premises of a theorem on a replay of all rounds, and return them with the bound.

    ``engine`` has replayed the rounds, and ``losses`` are its losses.
    """
    allowed, added = engine.bound(), 0.0
    premises = []
    if not ledger.late:  # a replay learns each outcome before the next forecast, so late ones change its forecasts
        replayed, recorded = float(np.sum(losses)), float(np.sum(ledger.losses))
        same = abs(replayed - recorded) <= AGREES * (abs(replayed) + 1e-300)
        sums = f"replay {replayed:.9g}, ledger {recorded:.9g}"
        premises.append(Premise("a replay by the specification has the same loss", same, sums))
    premises.append(Premise("no outcome came late", ledger.late == 0, f"{ledger.late} did"))
    premises.append(Premise("the loss is convex", ledger.loss.convex, ledger.loss.name))
    if allowed is None:
        shown = ", ".join(f"{name} {value}" for name, value in ledger.parameters.items())
        premises.append(Premise("a theorem on this rule is known", False, shown or ledger.rule))
    if theorem == "exponentially-weighted-average":
        premises.append(exp_concave(ledger))
    if theorem == "fixed-share" and allowed is not None:
        concave, gaps = exp_concave(ledger), float(engine.forecaster.rule.gaps)  # type: ignore[attr-defined]
        proved = concave.holds and not ledger.gradient
        added = 0.0 if proved else gaps
        what = "the loss is not exp-concave at η, so Σ min(s, ηs²/8) is added; s is the range of the losses of a round"
        premises.append(concave if proved else Premise(what, True, grouped(added)))
        allowed = allowed - (gaps - added)
    if theorem == "boa":
        largest = engine.forecaster.rule.largest * ledger.parameters["eta"]  # type: ignore[attr-defined]
        premises.append(Premise("η|r| ≤ 1/2 in every round", largest <= 0.5, f"η|r| up to {largest:.6g}"))
    return Applied(tuple(premises), allowed, added)


def exp_concave(ledger: AggregationLedger) -> Premise:
    """Return the premise that the loss is exp-concave at the rate of the rule, where it was measured.

    See docs/theory.md, "The exponentially weighted average".
    """
    eta = ledger.parameters["eta"]
    A, y = ledger.kept.rounds()
    low, high = float(min(np.nanmin(A), y.min())), float(max(np.nanmax(A), y.max()))
    best = ledger.loss.exp_concave or 0.0
    if ledger.loss.id == "square":  # e^{−η‖f−y‖²} is concave in f where 2η‖f−y‖² ≤ 1, which is largest at an expert
        errors = (A - y[:, None]) ** 2
        best = 0.5 / max(float(np.nanmax(errors if A.ndim == 2 else errors.sum(axis=2))), 1e-300)
    elif low < 0 or high > 1:
        best = 0.0
    return Premise(
        f"the loss is exp-concave at η = {eta:.6g} where it was measured",
        eta <= best * (1 + 1e-12),
        f"from {low:.6g} to {high:.6g}: up to η = {best:.6g}",
    )
