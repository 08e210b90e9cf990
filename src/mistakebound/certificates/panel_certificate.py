"""The certificate of a panel: its mistakes, compared with the bounds of its guard and of its mixture."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

from mistakebound.certificates.certificate import (
    DOES_NOT_APPLY,
    HOLDS,
    ROUNDING,
    VACUOUS,
    VIOLATED,
    Certificate,
    too_large,
)
from mistakebound.theorems.evidence import PROMPT, WHOLE_STREAM, Premise, mixed_from
from mistakebound.theorems.panel import PANEL_THEOREMS

if TYPE_CHECKING:
    from mistakebound.play.ledger import Ledger


def certify_panel(ledger: Ledger, theorem: str | None = None) -> Certificate:
    """Check a theorem on the rounds of a panel; by default, the one with the smaller bound.

    See docs/theory.md, "The Panel".
    """
    if theorem is not None and theorem not in PANEL_THEOREMS:
        message = f"there is no theorem {theorem!r} on the panel; there are: {', '.join(PANEL_THEOREMS)}"
        raise ValueError(message)
    names = PANEL_THEOREMS if theorem is None else [theorem]
    return min((_certificate(ledger, name) for name in names), key=lambda found: found.bound)


def _certificate(ledger: Ledger, name: str) -> Certificate:
    theorem, standings = PANEL_THEOREMS[name], ledger.standings
    if standings is None:
        message = f"the theorem {name} is about a panel, but this learner is {ledger.rule.id}"
        raise ValueError(message)
    premises = [Premise("the learner was fresh in the first round", ledger.from_start)]
    mixed = standings.mixed or ledger.mixing is not None
    if mixed:
        premises.append(mixed_from(ledger))
    if ledger.late:
        premises.append(Premise(PROMPT, False, f"{ledger.late} predictions had not seen all updates before them"))
    if ledger.from_start and standings.all_rounds != ledger.rounds:
        counted = f"{standings.all_rounds:,} rounds were counted"
        premises.append(Premise("the members were counted in these rounds and no others", False, counted))
    if ledger.rule.threshold != 0:
        cut = f"the positive label is predicted from a probability of {getattr(ledger.rule, 'cut', math.nan):g} on"
        premises.append(Premise("the guard makes the predictions", False, cut))
    if ledger.answers is not None:
        shown = f"{ledger.answers.abstentions:,} rounds had no prediction"
        premises.append(Premise("a label is predicted in every round", False, shown))
    if ledger.rounds == 0:
        premises.append(Premise("at least one round was learned", False))
    applies = all(premise.holds for premise in premises)
    bound = theorem.bound(standings) if applies else math.inf
    broken = applies and (theorem.is_broken(standings, ROUNDING) or standings.all_mistakes != ledger.mistakes)
    useless = too_large(bound, ledger.rounds, hindsight=True) if applies else ""
    return Certificate(
        theorem=name,
        rule={"id": ledger.rule.id, "n": len(standings.voters), **asdict(ledger.rule)},
        scope=WHOLE_STREAM,
        hindsight=True,
        rounds=ledger.rounds,
        mistakes=ledger.mistakes,
        updates=ledger.mistakes,
        bound=bound if broken else max(bound, float(ledger.mistakes)),
        status=(VIOLATED if broken else VACUOUS if useless else HOLDS) if applies else DOES_NOT_APPLY,
        premises=tuple(premises) if mixed else (*premises, theorem.premise(standings)),
        comparator={"variables": [theorem.comparator(standings).name]},
        note=useless,
    )
