"""The certificate of a rule that follows votes of experts: its mistakes, compared with the bound of its theorem."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mistakebound.certificates.certificate import DOES_NOT_APPLY, HOLDS, ROUNDING, VACUOUS, VIOLATED, Certificate
from mistakebound.theorems import EXPERT_THEOREMS, best_expert
from mistakebound.theorems.evidence import ALONE, WHOLE_STREAM, Premise

if TYPE_CHECKING:
    from mistakebound.play.expert_ledger import ExpertLedger


PARTS = "it was mixed from parts, which predicted without the rounds of each other: certify each part"
"""What a mixed learner lacks; the weights are exact, but its predictions are not those of one learner."""


def certify_experts(ledger: ExpertLedger) -> Certificate:
    """Check the one theorem that the rule has.

    See docs/theory.md, "Experts with votes".
    """
    theorem = EXPERT_THEOREMS[ledger.rule]
    mixed = (Premise(ALONE, False, PARTS),) if ledger.mixed else ()
    premises = (*mixed, *theorem.premises(ledger))
    applies = all(p.holds for p in premises)
    bound = theorem.bound(ledger) if applies and ledger.rounds else math.inf
    broken = theorem.counted(ledger) > bound * (1 + ROUNDING)
    useful = VACUOUS if bound >= ledger.rounds else HOLDS
    against = best_expert(ledger)
    return Certificate(
        theorem=theorem.id,
        rule={"id": ledger.rule, "n": len(ledger.expert_mistakes), "beta": ledger.beta},
        scope=WHOLE_STREAM,
        hindsight=True,
        rounds=ledger.rounds,
        mistakes=ledger.mistakes,
        updates=ledger.rounds,
        bound=bound if broken or theorem.randomized else max(bound, float(ledger.mistakes)),
        status=(VIOLATED if broken else useful) if applies else DOES_NOT_APPLY,
        premises=premises,
        comparator={} if against is None else {"variables": [against.name]},
        note="" if ledger.mixed else theorem.note(ledger),
        expected=ledger.expected_mistakes if theorem.randomized else None,
    )
