"""Compare the regret with the bound of a theorem; both are recomputed from the advice and the outcomes."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support import schema
from mistakebound._support.json_numbers import finite
from mistakebound._support.text import escaped, grouped
from mistakebound.certificates.certificate import (
    DOES_NOT_APPLY,
    HOLDS,
    INCOMPLETE,
    ROUNDING,
    STATUSES,
    VACUOUS,
    VIOLATED,
)
from mistakebound.certificates.expert_certificate import PARTS
from mistakebound.theorems import Premise
from mistakebound.theorems.evidence import ALONE
from mistakebound.theorems.regret import apply_theorem, theorem_of
from mistakebound.theorems.sequences import SequenceCheck, against_sequences

if TYPE_CHECKING:
    from mistakebound.play.expert_ledger import AggregationLedger


LATER = "they begin after the first round; certify() of the learner covers all rounds"


@dataclass(frozen=True)
class RegretCertificate:
    """The result of checking a regret theorem on a stream.

    See docs/theory.md, "Regret certificates".

    Attributes
    ----------
    regret : float
        The learner's total loss minus that of the expert ``against``. With the gradient trick it is computed on
        linearised losses; it is then at least the regret to any convex combination of the experts.
    bound : float
        Bound on this regret. If the regret to any expert exceeds the bound for that expert, the status is ``violated``.
    status : str
        ``holds``; ``vacuous`` (true, but no stream with such losses could violate it); ``does not apply`` (a premise
        fails, or no theorem is known); ``violated`` (a bug in mistakebound); ``incomplete`` (the advice was too
        large to keep).
    """

    theorem: str
    rule: dict[str, Any]
    loss: str
    gradient: bool
    rounds: int
    experts: int
    total_loss: float
    regret: float
    against: str
    bound: float
    status: str
    premises: tuple[Premise, ...]
    sequence: SequenceCheck | None = None
    """For Fixed Share: the number of switches whose best *sequence* of experts is nearest to its bound."""
    note: str = ""

    def to_json(self) -> str:
        """Return JSON text, from which ``from_json`` makes an equal certificate. A missing bound or regret is null."""
        data = asdict(self)
        data |= {"bound": finite(self.bound), "regret": finite(self.regret)}
        return json.dumps(data, ensure_ascii=False, indent=2)

    @classmethod
    def from_json(cls, text: str) -> RegretCertificate:
        """Return the certificate that ``to_json`` wrote; raise ModelError with the ``field`` that is not valid."""
        data = {"sequence": None, "note": "", **schema.parse(text, "the certificate")}
        schema.fields(data, *(field.name for field in fields(cls)))
        bound, regret = (schema.optional(schema.number, data[name], name) for name in ("bound", "regret"))
        rule = data["rule"] if isinstance(data["rule"], dict) else {}
        schema.text(rule.get("id"), "rule.id")
        for name, value in rule.items():
            if value is not None and type(value) not in schema.LABEL_TYPES:
                schema.refuse(f"rule.{name}", "a number, a string, true, false or null", value)
        return cls(
            theorem=schema.text(data["theorem"], "theorem"),
            rule=rule,
            loss=schema.text(data["loss"], "loss"),
            gradient=schema.flag(data["gradient"], "gradient"),
            rounds=schema.whole(data["rounds"], "rounds"),
            experts=schema.whole(data["experts"], "experts"),
            total_loss=schema.number(data["total_loss"], "total_loss"),
            regret=math.nan if regret is None else regret,
            against=schema.text(data["against"], "against"),
            bound=math.inf if bound is None else bound,
            status=schema.text(data["status"], "status", STATUSES),
            premises=tuple(map(_premise, schema.items(data["premises"], "premises"))),
            sequence=schema.optional(_sequence_check, data["sequence"], "sequence"),
            note=schema.text(data["note"], "note"),
        )

    def __str__(self) -> str:
        sign = {HOLDS: "✓", VACUOUS: "·", VIOLATED: "✗"}.get(self.status, "–")
        lines = [f"{sign} {escaped(self.theorem)}: {self._regret_and_bound()}: {escaped(self.status)}"]
        lines += [
            f"    {'✓' if p.holds else '✗'} {escaped(p.statement)}{f'  ({escaped(p.measured)})' if p.measured else ''}"
            for p in self.premises
        ]
        if self.sequence is not None:
            lines.append(f"    {'✗' if self.status == VIOLATED else '✓'} {escaped(self.sequence)}")
        return "\n".join([*lines, *([f"    {escaped(self.note)}"] if self.note else [])])

    def meaning(self) -> str:
        """Return the result in one sentence."""
        return f"{escaped(self.theorem)}, {self.rounds:,} rounds: {self._regret_and_bound()}"

    def _regret_and_bound(self) -> str:
        if not self.rounds:
            return "there is no regret, because no round was learned"
        if math.isnan(self.regret):
            return "regret and bound are not known, because the advice of all rounds is not available"
        kind = "linear regret" if self.gradient else "regret"
        bound = "no bound" if math.isinf(self.bound) else f"bound {grouped(self.bound)}"
        return f"{kind} {grouped(self.regret)} to {escaped(self.against)}, {bound}"


def _premise(value: Any) -> Premise:
    statement, holds, measured = schema.fields(value, "statement", "holds", "measured", path="premises")
    holds = schema.flag(holds, "premises.holds")
    return Premise(schema.text(statement, "premises.statement"), holds, schema.text(measured, "premises.measured"))


def _sequence_check(value: Any, path: str) -> SequenceCheck:
    switches, regret, bound, most = schema.fields(value, "switches", "regret", "bound", "most", path=path)
    return SequenceCheck(
        schema.whole(switches, f"{path}.switches"),
        schema.number(regret, f"{path}.regret"),
        schema.number(bound, f"{path}.bound"),
        schema.whole(most, f"{path}.most"),
    )


def certify_regret(ledger: AggregationLedger) -> RegretCertificate:
    """Replay the rule's specification, and check its theorem for every expert; for Fixed Share, for sequences, too.

    The specification is Python: it takes 0.1 to 0.2 ms per round with ten experts (10 to 20 s for 100,000 rounds),
    hundreds of times as long as the core. The search for the best sequences with up to 10 switches adds about a
    quarter; if rounds × experts exceed 10⁷, it is skipped, and ``note`` says so. Memory: rounds × experts numbers. See
    docs/theory.md, "Regret certificates".
    """
    found: dict[str, Any] = {"regret": math.nan, "against": "", "bound": math.inf, "status": INCOMPLETE}
    theorem, rounds = theorem_of(ledger), len(ledger.losses)
    premises: tuple[Premise, ...] = ()
    if ledger.mixed:
        found["status"] = DOES_NOT_APPLY
        premises = (Premise(ALONE, False, PARTS),)
    elif not ledger.from_start or not ledger.kept.complete:
        premises = (
            Premise("the rounds include the first round", ledger.from_start, "" if ledger.from_start else LATER),
            Premise("the advice of all rounds was kept", ledger.kept.complete, f"keep_bytes is {ledger.kept.most:,}"),
        )
    elif rounds == 0:
        found["status"] = DOES_NOT_APPLY
        premises = (Premise("at least one round was learned", False),)
    else:
        engine, losses, r = ledger.replay()
        spread = np.nanmax(r, axis=1) - np.nanmin(r, axis=1)
        premises, allowed, added = apply_theorem(theorem, ledger, engine, losses)
        regrets = ledger.linear_regrets if ledger.late else engine.sums["regrets"]
        slack = ROUNDING * (np.abs(regrets).max() + float(spread.sum()))
        k = int(np.argmax(regrets if allowed is None else regrets - np.minimum(allowed, 0)))
        found |= {"regret": float(regrets[k]), "against": ledger.names[k]}
        if allowed is None or not all(p.holds for p in premises):
            found["status"] = DOES_NOT_APPLY
        else:
            found["bound"] = float(allowed[k])
            broken = bool(np.any(regrets > allowed + slack))
            if ledger.rule == "fixed-share":
                rule = engine.forecaster.rule  # type: ignore[attr-defined]
                turns, worse, note = against_sequences(rule, r, added, slack)
                found |= {"sequence": turns, "note": note}
                broken |= worse
            useful = VACUOUS if allowed[k] >= spread.sum() else HOLDS
            found["status"] = VIOLATED if broken else useful
    return RegretCertificate(
        theorem=theorem,
        rule={"id": ledger.rule, **ledger.parameters},
        loss=ledger.loss.id,
        gradient=ledger.gradient,
        rounds=rounds,
        experts=len(ledger.names),
        total_loss=float(np.sum(ledger.losses)),
        premises=premises,
        **found,
    )
