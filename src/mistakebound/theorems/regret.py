"""Premises of the regret theorems of THEORY §4. The rules compute the bounds, from sums that they keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mistakebound.aggregation.registry import BY_ID
from mistakebound.theorems.evidence import Premise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.reference import Engine
    from mistakebound.play.expert_ledger import AggregationLedger

AGREES = 1e-6
"""Relative difference of a replay in float64 that is only rounding."""


def theorem_of(ledger: AggregationLedger) -> str:
    """The id of THEORY §4 that speaks of a rule with these parameters."""
    entry = BY_ID.get(ledger.rule)
    if entry is None or not entry.variants:  # a rule of the caller's own, or one on forecasts instead of regrets
        return ledger.rule
    return entry.variant(ledger.parameters, gradient=ledger.gradient).theorem


class Applied(NamedTuple):
    """What a theorem asks for and allows, measured on a replay."""

    premises: tuple[Premise, ...]
    allowed: FloatArray | None
    """What it allows each expert's regret to be; None if there is no bound."""
    added: float
    """Of Fixed Share: what its bound has beyond the theorem's, which asks for a loss that is exp-concave at η."""


def applied(theorem: str, ledger: AggregationLedger, engine: Engine, losses: Sequence[float]) -> Applied:
    """What a theorem asks for, and what it allows, by a replay of all rounds."""
    allowed, added = engine.bound(), 0.0
    premises = []
    if not ledger.late:  # a replay knows each outcome before the next forecast: it would have said something else
        told, total = float(np.sum(losses)), float(np.sum(ledger.losses))
        same = abs(told - total) <= AGREES * (abs(told) + 1e-300)
        premises.append(Premise("a replay by the specification loses as much", same, f"{told:.9g}, told {total:.9g}"))
    premises.append(Premise("no outcome came late", ledger.late == 0, f"{ledger.late} did"))
    premises.append(Premise("the loss is convex", ledger.loss.convex, ledger.loss.name))
    if allowed is None:
        premises.append(Premise("a theorem on this rule is known", False, str(ledger.parameters or ledger.rule)))
    if theorem == "exponentially-weighted-average":
        premises.append(exp_concave(ledger))
    if theorem == "fixed-share" and allowed is not None:
        concave, gaps = exp_concave(ledger), float(engine.forecaster.rule.gaps)  # type: ignore[attr-defined]
        proved = concave.holds and not ledger.gradient
        added = 0.0 if proved else gaps
        what = "what mixing loses, the loss not being exp-concave at η, is added: Σ min(s, ηs²/8), s the round's spread"
        premises.append(concave if proved else Premise(what, True, f"{added:.6g}"))
        allowed = allowed - (gaps - added)
    if theorem == "boa":
        largest = engine.forecaster.rule.largest * ledger.parameters["eta"]  # type: ignore[attr-defined]
        premises.append(Premise("η|r| ≤ 1/2 in every round", largest <= 0.5, f"η|r| up to {largest:.6g}"))
    return Applied(tuple(premises), allowed, added)


def exp_concave(ledger: AggregationLedger) -> Premise:
    """The loss at the rate that was used, where forecasts and outcomes lay."""
    eta = ledger.parameters["eta"]
    A, y = ledger.kept.rounds()
    low, high = float(min(np.nanmin(A), y.min())), float(max(np.nanmax(A), y.max()))
    best = ledger.loss.exp_concave or 0.0
    if ledger.loss.id == "square":  # e^{−η‖f−y‖²} is concave in f while 2η‖f−y‖² ≤ 1; the experts are the extremes
        errors = (A - y[:, None]) ** 2
        best = 0.5 / max(float(np.nanmax(errors if A.ndim == 2 else errors.sum(axis=2))), 1e-300)
    elif low < 0 or high > 1:
        best = 0.0
    return Premise(
        f"the loss is exp-concave at η = {eta:.6g} where it was measured",
        eta <= best * (1 + 1e-12),
        f"from {low:.6g} to {high:.6g}: up to η = {best:.6g}",
    )
