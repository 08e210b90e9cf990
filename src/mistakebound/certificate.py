"""A learner's mistakes beside what a theorem allows: recomputed from the ledger, trusting no learner."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.evidence import Evidence
from mistakebound.expert_ledger import ExpertLedger
from mistakebound.theorems import EXPERT_THEOREMS, THEOREMS, Premise, Theorem, Witness, rival

if TYPE_CHECKING:
    from mistakebound.arrays import FloatArray
    from mistakebound.ledger import Ledger

HOLDS, VACUOUS, DOES_NOT_APPLY = "holds", "vacuous", "does not apply"
VIOLATED, INCOMPLETE = "violated", "incomplete"
ROUNDING = 1e-9
"""Relative error that float64 arithmetic may leave in a bound."""


@dataclass(frozen=True)
class Certificate:
    """What a theorem says of what happened.

    Attributes
    ----------
    status : str
        ``holds``; ``vacuous`` (true, but the bound is not below the number of rounds); ``does not apply`` (a premise
        fails); ``violated`` (the premises hold and the bound does not: a bug, ours); ``incomplete`` (not all mistaken
        examples were kept, so nothing can be said).
    bound : float
        On the number of updates, which the mistakes are among (they are the same without an update margin).
    comparator : dict
        The witness: ``{"weights": {feature: weight}}`` or ``{"variables": [...]}``, and its ``margin``.
    """

    theorem: str
    rule: dict[str, Any]
    rounds: int
    mistakes: int
    updates: int
    bound: float
    status: str
    premises: tuple[Premise, ...]
    comparator: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    """What else should be known: of a randomized rule, what was drawn."""
    expected: float | None = None
    """Of a randomized rule: the expected number of mistakes, which is what the bound speaks of."""

    def to_json(self) -> str:
        """JSON text, from which ``from_json`` makes an equal certificate. An infinite bound is null."""
        data = asdict(self)
        data["bound"] = _to_json_number(self.bound)
        data["rule"] = {key: _to_json_number(value) for key, value in self.rule.items()}
        for name in ("note", "expected"):  # what `verify` reads has none, before there were such and now
            if getattr(self, name) in ("", None):
                del data[name]
        return json.dumps(data, ensure_ascii=False, indent=2)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what ``to_json`` wrote."""
        data = json.loads(text)
        data["bound"] = math.inf if data["bound"] is None else data["bound"]
        data["rule"] = {key: math.inf if value is None else value for key, value in data["rule"].items()}
        data["premises"] = tuple(Premise(**premise) for premise in data["premises"])
        return cls(**data)

    def __str__(self) -> str:
        sign = {HOLDS: "✓", VACUOUS: "·", VIOLATED: "✗"}.get(self.status, "–")
        counted = f"{self.mistakes} mistakes" if self.expected is None else f"{self.expected:.6g} expected mistakes"
        bound = "no bound" if math.isinf(self.bound) else f"bound {self.bound:.6g}"
        lines = [f"{sign} {self.theorem}: {counted} in {self.rounds} rounds, {bound}: {self.status}"]
        lines += [
            f"    {'✓' if p.holds else '✗'} {p.statement}{f'  ({p.measured})' if p.measured else ''}"
            for p in self.premises
        ]
        return "\n".join([*lines, *([f"    {self.note}"] if self.note else [])])


def certify(
    ledger: Ledger | ExpertLedger, theorem: str | None = None, comparator: Any = None, margin: float | None = None
) -> Certificate:
    """Check a theorem on a ledger; without a theorem, find the one that gives the smallest bound.

    Parameters
    ----------
    ledger : Ledger
        Of a learner's whole life, or of its first run.
    theorem : str, optional
        An id of THEORY §2.
    comparator : array, dict or sequence of variables, optional
        The witness. Found in hindsight over the mistaken rounds if not given.
    margin : float, optional
        The γ at which an agnostic theorem measures hinge losses.

    Examples
    --------
    >>> import mistakebound as mb
    >>> learner = mb.Perceptron()
    >>> played = mb.adversaries.UnitVectors(9).play(learner)
    >>> certificate = mb.certify(learner.ledger_, "novikoff")
    >>> certificate.mistakes, round(certificate.bound, 6), certificate.status
    (9, 9.0, 'vacuous')
    """
    if isinstance(ledger, ExpertLedger):
        return _of_experts(ledger)
    evidence = Evidence(ledger)
    if theorem is not None:
        return _with_theorem(evidence, _find(theorem, ledger), comparator, margin)
    if comparator is not None:
        message = "a comparator belongs to a theorem: say which, for example theorem='novikoff'"
        raise ValueError(message)
    candidates = [t for t in THEOREMS.values() if t.rule == ledger.rule.id and t.in_hindsight]
    if not ledger.complete:
        return _with_theorem(evidence, candidates[0], None, None)
    separable = [_with_theorem(evidence, t, None, None) for t in candidates if not t.agnostic]
    best = _smallest(separable)
    if best is not None and best.status != VACUOUS:
        return best
    # The agnostic theorems are for streams that nothing separates, or not by enough to say something.
    agnostic = [_with_theorem(evidence, t, None, None) for t in candidates if t.agnostic]
    return _smallest([*separable, *agnostic]) or separable[0]


def recheck(ledger: Ledger, told: Certificate) -> Certificate:
    """Check the theorem and the comparator of a certificate anew, on a ledger that tells what truly happened.

    ValueError if the certificate's comparator is not one of this ledger.
    """
    theorem, evidence = _find(told.theorem, ledger), Evidence(ledger)
    return _with_theorem(evidence, theorem, None, None, _read_back(evidence, told.comparator))


def _smallest(found: list[Certificate]) -> Certificate | None:
    return min((c for c in found if c.status != DOES_NOT_APPLY), key=lambda c: c.bound, default=None)


def _of_experts(ledger: ExpertLedger) -> Certificate:
    """Certify with the one theorem that each rule over experts has."""
    theorem = EXPERT_THEOREMS[ledger.rule]
    premises = tuple(theorem.premises(ledger))
    applies = all(p.holds for p in premises)
    bound = theorem.bound(ledger) if applies and ledger.rounds else math.inf
    broken = theorem.counted(ledger) > bound * (1 + ROUNDING)
    useful = VACUOUS if bound >= ledger.rounds else HOLDS
    against = rival(ledger)
    return Certificate(
        theorem=theorem.id,
        rule={"id": ledger.rule, "n": len(ledger.expert_mistakes), "beta": ledger.beta},
        rounds=ledger.rounds,
        mistakes=ledger.mistakes,
        updates=ledger.rounds,
        bound=bound,
        status=(VIOLATED if broken else useful) if applies else DOES_NOT_APPLY,
        premises=premises,
        comparator={} if against is None else {"variables": [against.name]},
        note=theorem.note(ledger),
        expected=ledger.expected_mistakes if theorem.randomized else None,
    )


def _find(theorem: str, ledger: Ledger) -> Theorem:
    if theorem not in THEOREMS:
        message = f"unknown theorem {theorem!r}: one of {', '.join(THEOREMS)}"
        raise ValueError(message)
    found = THEOREMS[theorem]
    if found.rule != ledger.rule.id:
        message = f"{theorem} speaks of {found.rule}, but this ledger is of {ledger.rule.id}"
        raise ValueError(message)
    return found


def _with_theorem(
    evidence: Evidence, theorem: Theorem, comparator: Any, margin: float | None, witness: Witness | None = None
) -> Certificate:
    ledger = evidence.ledger
    premises = [
        Premise("the learner was fresh in the first round", ledger.from_start),
    ]
    if not ledger.complete:
        kept = Premise("every mistaken example was kept", False, f"{len(ledger.kept)} were")
        return _certificate(evidence, theorem, [*premises, kept], math.inf, None)
    replayed = Premise("the mistaken rounds replay to the same mistakes", evidence.replays)
    premises.append(replayed)
    if ledger.mistakes == 0 and ledger.updates == 0:
        # No round to sum over: nothing to search for. But a comparator that was given must be one, and is told.
        if comparator is not None:
            witness = theorem.read(evidence, comparator, margin)
        premises.append(Premise("there was no mistake, so nothing is left to bound", True))
        return _certificate(evidence, theorem, premises, 0.0, witness)
    if witness is None and evidence.X.nnz:
        witness = _witness(evidence, theorem, comparator, margin)
    if witness is None:
        none = Premise("some comparator fits every mistaken round", False)
        return _certificate(evidence, theorem, [*premises, none], math.inf, None)
    premises += theorem.premises(evidence, witness)
    bound = theorem.bound(evidence, witness) if all(p.holds for p in premises) else math.inf
    return _certificate(evidence, theorem, premises, bound, witness)


def _witness(evidence: Evidence, theorem: Theorem, comparator: Any, margin: float | None) -> Witness | None:
    if comparator is not None:
        return theorem.read(evidence, comparator, margin)
    if not theorem.in_hindsight:
        message = f"{theorem.id} needs a comparator: the experts of the panel"
        raise ValueError(message)
    return theorem.search(evidence)


def _certificate(
    evidence: Evidence, theorem: Theorem, premises: list[Premise], bound: float, witness: Witness | None
) -> Certificate:
    ledger = evidence.ledger
    return Certificate(
        theorem=theorem.id,
        rule={"id": ledger.rule.id, "n": evidence.n, **asdict(ledger.rule)},
        rounds=ledger.rounds,
        mistakes=ledger.mistakes,
        updates=ledger.updates,
        bound=float(bound),
        status=_status(ledger, theorem, premises, bound),
        premises=tuple(premises),
        comparator={} if witness is None else _describe(evidence, witness),
    )


def _status(ledger: Ledger, theorem: Theorem, premises: list[Premise], bound: float) -> str:
    if not ledger.complete:
        return INCOMPLETE
    if not all(p.holds for p in premises):
        return DOES_NOT_APPLY
    counted = max(ledger.mistakes, ledger.updates)
    broken = counted >= bound > 0 if theorem.strictly_below else counted > bound * (1 + ROUNDING)
    if broken:
        return VIOLATED
    return VACUOUS if bound * (1 + ROUNDING) >= ledger.rounds else HOLDS


def _constant(ledger: Ledger) -> str:
    """What the constant feature is called: a name that no other has."""
    name = "(constant)"
    while name in ledger.names:
        name = f"({name})"
    return name


def _describe(evidence: Evidence, witness: Witness) -> dict[str, Any]:
    ledger = evidence.ledger

    def name(i: int) -> str:
        if i == ledger.n:
            return _constant(ledger)
        return ledger.names[i] if i < len(ledger.names) else str(i)

    described: dict[str, Any] = {}
    if witness.u is not None:
        described["weights"] = {name(i): float(witness.u[i]) for i in np.flatnonzero(witness.u).tolist()}
    if witness.variables is not None:
        described["variables"] = [name(i) for i in witness.variables]
    if witness.margin is not None:
        described["margin"] = float(witness.margin)
    return described


def _read_back(evidence: Evidence, described: dict[str, Any]) -> Witness | None:
    """The comparator that ``_describe`` described, if there was one."""
    ledger = evidence.ledger
    ids = {name: i for i, name in enumerate(ledger.names)} | {_constant(ledger): ledger.n}

    def place(name: str) -> int:
        found = ids.get(name, int(name) if name.isdecimal() and len(name) < 20 else -1)
        if not 0 <= found < evidence.n:
            message = f"the comparator has a feature {name!r}, which no mistaken round had"
            raise ValueError(message)
        return found

    if not described:
        return None
    u: FloatArray | None = None
    if "weights" in described:
        u = np.zeros(evidence.n)
        for name, weight in described["weights"].items():
            u[place(name)] = weight
    variables = tuple(map(place, described["variables"])) if "variables" in described else None
    return Witness(u, variables, described.get("margin"))


def _to_json_number(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
