"""When the regret theorems of THEORY §4 apply. Their bounds stand with the rules: they are sums that a rule gathers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mistakebound.aggregation.registry import BY_ID
from mistakebound.theorems.evidence import Premise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


def premises_of(ledger: AggregationLedger, engine: Engine, losses: Sequence[float]) -> Iterator[Premise]:
    """What each theorem asks for, measured on a replay."""
    if not ledger.late:  # a replay knows each outcome before the next forecast: it would have said something else
        told = float(np.sum(losses))
        same = abs(told - ledger.total_loss) <= AGREES * (abs(told) + 1e-300)
        yield Premise("a replay by the specification loses as much", same, f"{told:.9g}, told {ledger.total_loss:.9g}")
    yield Premise("no outcome came late", ledger.late == 0, f"{ledger.late} did")
    yield Premise("the loss is convex", ledger.loss.convex, ledger.loss.name)
    if engine.bound() is None:
        yield Premise("a theorem on this rule is known", False, str(ledger.parameters or ledger.rule))
    rule = theorem_of(ledger)
    if rule == "exponentially-weighted-average":
        yield exp_concave(ledger)
    if rule == "fixed-share" and engine.bound() is not None:
        concave = None if ledger.gradient else exp_concave(ledger)
        lost = added_by(ledger, engine)
        what = "what mixing loses, the loss not being exp-concave at η, is added: Σ min(s, ηs²/8), s the round's spread"
        yield concave if concave is not None and concave.holds else Premise(what, True, f"{lost:.6g}")
    if rule == "boa":
        largest = engine.forecaster.rule.largest * ledger.parameters["eta"]  # type: ignore[attr-defined]
        yield Premise("η|r| ≤ 1/2 in every round", largest <= 0.5, f"η|r| up to {largest:.6g}")


def added_by(ledger: AggregationLedger, engine: Engine) -> float:
    """Of Fixed Share: what its bound has beyond the theorem's, which asks for a loss that is exp-concave at η."""
    if not ledger.gradient and exp_concave(ledger).holds:
        return 0.0
    return float(engine.forecaster.rule.gaps)  # type: ignore[attr-defined]


def allowed_by(ledger: AggregationLedger, engine: Engine) -> FloatArray | None:
    """What the theorem allows each expert's regret to be; None if there is none."""
    allowed = engine.bound()
    if allowed is None or theorem_of(ledger) != "fixed-share":
        return allowed
    gaps = float(engine.forecaster.rule.gaps)  # type: ignore[attr-defined]
    return allowed - (gaps - added_by(ledger, engine))


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
