"""Certify: a learner's mistakes beside what a theorem allows, recomputed from the rounds, trusting no learner."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.certificates.certificate import (
    DOES_NOT_APPLY,
    FLOAT32,
    HOLDS,
    INCOMPLETE,
    ROUNDING,
    VACUOUS,
    VIOLATED,
    Certificate,
)
from mistakebound.play.expert_ledger import ExpertLedger
from mistakebound.theorems import EXPERT_THEOREMS, NEARLY, THEOREMS, Theorem, Witness, rival
from mistakebound.theorems.evidence import MISTAKEN_ROUNDS, WHOLE_STREAM, Evidence, Premise

if TYPE_CHECKING:
    from mistakebound.play.ledger import Ledger

USELESS = 0.95
"""A comparator that loses this part of what u = 0 loses is of no use over the mistaken rounds."""
CHANCE = 3.0
"""A bound with a comparator chosen in hindsight says something if it is below T − CHANCE·√T. On random labels, such a
search reaches about T − √T."""


def certify(
    ledger: Ledger | ExpertLedger | Evidence,
    theorem: str | None = None,
    comparator: Any = None,
    margin: float | None = None,
) -> Certificate:
    """Check a theorem on what happened; without a theorem, find the one that gives the smallest bound.

    Parameters
    ----------
    ledger : Ledger or Evidence
        A ledger of a learner's whole life, or of its first run: premises are then checked on the mistaken rounds. Or
        evidence of the whole stream, from ``replay.whole_stream``.
    theorem : str, optional
        An id that ``mistakebound bound`` lists.
    comparator : array, dict or sequence of variables, optional
        The witness. Found in hindsight over the same rounds if not given.
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
    evidence = ledger if isinstance(ledger, Evidence) else Evidence(ledger)
    rule = evidence.ledger.rule.id
    _check_margin(margin, comparator)
    if theorem is not None:
        return _with_theorem(evidence, _find(theorem, rule), comparator, margin, hindsight=comparator is None)
    if comparator is not None:
        message = "a comparator belongs to a theorem: say which, for example theorem='novikoff'"
        raise ValueError(message)
    candidates = [t for t in THEOREMS.values() if t.rule == rule and t.in_hindsight and not t.delayed]
    if evidence.ledger.late:
        candidates = [t for t in THEOREMS.values() if t.rule == rule and t.delayed] or candidates
    agnostic = [_with_theorem(evidence, t) for t in candidates if t.agnostic]
    if evidence.scope == WHOLE_STREAM and agnostic and _far_from_separable(agnostic):
        return _smallest(agnostic) or agnostic[0]
    separable = [_with_theorem(evidence, t) for t in candidates if not t.agnostic]
    best = _smallest(separable)
    if best is not None and evidence.scope == MISTAKEN_ROUNDS:
        return best  # the agnostic theorems say nothing there
    return _smallest([*separable, *agnostic]) or separable[0]


def _check_margin(margin: Any, comparator: Any) -> None:
    """Refuse a margin that is not a finite number, or that no comparator goes with."""
    if margin is None:
        return
    if comparator is None:
        message = "a margin belongs to a comparator: pass comparator=..., too"
        raise ValueError(message)
    if isinstance(margin, bool) or not isinstance(margin, (int, float, np.floating)) or not math.isfinite(margin):
        message = f"margin must be a finite number, got {margin!r}"
        raise ValueError(message)


def _far_from_separable(agnostic: list[Certificate]) -> bool:
    """Whether all agnostic comparators err too often for a search for a separating one to be worthwhile."""
    return all(c.comparator.get("mistakes", 0) > NEARLY * c.rounds for c in agnostic)


def recheck(ledger: Ledger | Evidence, told: Certificate) -> Certificate:
    """Check the theorem and the comparator of a certificate anew, on the rounds of what truly happened.

    ValueError if the certificate's comparator is not one of these rounds.
    """
    evidence = ledger if isinstance(ledger, Evidence) else Evidence(ledger)
    theorem = _find(told.theorem, evidence.ledger.rule.id)
    other = "weights" if theorem.takes_variables else "variables"
    if other in told.comparator:
        message = f"{theorem.id} does not take a comparator with {other}"
        raise ValueError(message)
    comparator = _read_back(evidence, told.comparator)
    if comparator is None:
        return _with_theorem(evidence, theorem, hindsight=told.hindsight, search=False)
    return _with_theorem(evidence, theorem, comparator, told.comparator.get("margin"), hindsight=told.hindsight)


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
        scope=WHOLE_STREAM,
        hindsight=True,
        rounds=ledger.rounds,
        mistakes=ledger.mistakes,
        updates=ledger.rounds,
        bound=bound if broken or theorem.randomized else max(bound, float(ledger.mistakes)),
        status=(VIOLATED if broken else useful) if applies else DOES_NOT_APPLY,
        premises=premises,
        comparator={} if against is None else {"variables": [against.name]},
        note=theorem.note(ledger),
        expected=ledger.expected_mistakes if theorem.randomized else None,
    )


def _find(theorem: str, rule: str) -> Theorem:
    if theorem not in THEOREMS:
        message = f"unknown theorem {theorem!r}: one of {', '.join(THEOREMS)}"
        raise ValueError(message)
    found = THEOREMS[theorem]
    if found.rule != rule:
        message = f"{theorem} speaks of {found.rule}, but this learner is {rule}"
        raise ValueError(message)
    return found


def _with_theorem(
    evidence: Evidence,
    theorem: Theorem,
    comparator: Any = None,
    margin: float | None = None,
    *,
    hindsight: bool = True,
    search: bool = True,
) -> Certificate:
    """Check one theorem with one comparator: as given, or found by a search."""
    ledger = evidence.ledger
    premises = [Premise("the learner was fresh in the first round", ledger.from_start)]
    if ledger.late and not theorem.delayed:
        stale = f"{ledger.late} predictions had not seen all updates before them"
        premises.append(Premise("no outcome came late", False, stale))

    def certificate(bound: float = math.inf, witness: Witness | None = None) -> Certificate:
        return _certificate(evidence, theorem, premises, bound, witness, hindsight=hindsight)

    complete = evidence.complete
    premises.append(evidence.replayed if complete.holds else complete)
    if not complete.holds:
        return certificate()
    if evidence.scope == MISTAKEN_ROUNDS and not len(evidence.examples):
        # No round to sum over: nothing to search for. But a comparator that was given must be one, and is shown.
        premises.append(Premise("there was no mistake, so nothing is left to bound", True))
        return certificate(0.0, None if comparator is None else theorem.read(evidence, comparator, margin))
    if comparator is None and search and evidence.X.nnz:
        comparator, margin = _searched(evidence, theorem)
    if comparator is None:
        premises.append(Premise(f"{theorem.asks} in {evidence.every_round}", False, "none was found"))
        return certificate()
    witness = theorem.read(evidence, comparator, margin)
    premises += theorem.premises(evidence, witness)
    if not all(p.holds for p in premises):
        return certificate(math.inf, witness)
    try:
        bound = theorem.bound(evidence, witness)
    except (ValueError, ArithmeticError) as error:
        premises.append(Premise("the bound can be computed in float64", False, str(error)))
        bound = math.inf
    return certificate(math.inf if math.isnan(bound) else bound, witness)


def _searched(evidence: Evidence, theorem: Theorem) -> tuple[Any, float | None]:
    """The comparator that a theorem finds in hindsight, and its margin."""
    if not theorem.in_hindsight:
        message = f"{theorem.id} needs a comparator: the experts of the panel"
        raise ValueError(message)
    found = theorem.search(evidence)
    if found is None:
        return None, None
    return (found.chosen() if theorem.takes_variables else found.vector()), found.margin


def _certificate(
    evidence: Evidence,
    theorem: Theorem,
    premises: list[Premise],
    bound: float,
    witness: Witness | None,
    *,
    hindsight: bool,
) -> Certificate:
    ledger = evidence.ledger
    comparator = {} if witness is None else _describe(evidence, witness)
    if witness is not None and len(evidence.examples):
        comparator |= {
            "mistakes": theorem.mistakes(evidence, witness),
            "norm": theorem.norm(evidence, witness),
            "loss": theorem.loss(evidence, witness),
        }
    counted = max(ledger.mistakes, ledger.updates)
    status, note = _status(evidence, theorem, premises, bound, witness, hindsight=hindsight)
    return Certificate(
        theorem=theorem.id,
        rule={"id": ledger.rule.id, "n": evidence.n, **asdict(ledger.rule)},
        scope=evidence.scope,
        hindsight=hindsight,
        rounds=ledger.rounds,
        mistakes=ledger.mistakes,
        updates=ledger.updates,
        bound=float(bound) if status == VIOLATED else max(float(bound), float(counted)),
        status=status,
        premises=tuple(premises),
        comparator=comparator,
        note=note,
    )


def _status(
    evidence: Evidence,
    theorem: Theorem,
    premises: list[Premise],
    bound: float,
    witness: Witness | None,
    *,
    hindsight: bool,
) -> tuple[str, str]:
    """Status, and if it is vacuous why."""
    ledger = evidence.ledger
    if not evidence.complete.holds:
        return INCOMPLETE, ""
    if not all(p.holds for p in premises):
        return DOES_NOT_APPLY, ""
    counted = max(ledger.mistakes, ledger.updates)
    broken = counted >= bound > 0 if theorem.strictly_below else counted > bound * (1 + FLOAT32)
    if broken:
        return VIOLATED, ""
    if witness is None or not len(evidence.examples):
        return VACUOUS, _too_large(evidence, math.inf, hindsight=hindsight)
    bound, loss = max(bound, float(counted)), theorem.loss(evidence, witness)
    useless = loss >= USELESS * theorem.loss_of_zero(evidence, witness)
    reason = _circular(evidence, useless=useless, hindsight=hindsight) if theorem.agnostic or loss > 0 else ""
    reason = reason or _too_large(evidence, bound, hindsight=hindsight)
    if not reason and (once := evidence.one_pass) is not evidence:
        reason = _too_large(once, theorem.bound(once, witness), hindsight=hindsight)
    return (VACUOUS if reason else HOLDS), reason


def _circular(evidence: Evidence, *, useless: bool, hindsight: bool) -> str:
    """Return why a bound that pays for the comparator's losses says nothing over the mistaken rounds, if so."""
    return CIRCULAR if evidence.scope == MISTAKEN_ROUNDS and (hindsight or useless) else ""


def _too_large(evidence: Evidence, bound: float, *, hindsight: bool) -> str:
    """Return why a true bound says nothing beside the number of rounds, if so."""
    if evidence.scope == MISTAKEN_ROUNDS and not len(evidence.examples):
        return "there was no mistake, so no round was checked"
    rounds = evidence.rounds
    limit = rounds - (CHANCE * math.sqrt(rounds) if hindsight else 0.0)
    if bound * (1 + ROUNDING) < limit:
        return ""
    of = "rounds" if rounds == evidence.ledger.rounds else "rounds of one pass"
    if bound * (1 + ROUNDING) >= rounds:
        return f"the bound is not below the number of {of}, {rounds:,}"
    if limit <= 0:
        return f"{rounds} {of} are too few for a comparator that was chosen in hindsight"
    return (
        f"with a comparator chosen in hindsight, random labels can bring the bound down to T − 3√T = {limit:,.6g} "
        f"of {rounds:,} {of}"
    )


CIRCULAR = (
    "circular: on the mistaken rounds alone even a useless comparator gives a bound equal to the number of mistakes; "
    "certify over the whole stream"
)


def _reserved(evidence: Evidence) -> dict[int, str]:
    """What columns without a name are called: the constant feature, and one that stands for all names never learned."""
    taken = set(evidence.names)
    reserved = {evidence.features: "(constant)"} if evidence.rule.bias else {}
    if evidence.ledger.named:
        reserved |= dict.fromkeys(range(len(evidence.names), evidence.features), "(all others)")
    for place in reserved:
        while reserved[place] in taken:
            reserved[place] = f"({reserved[place]})"
    return reserved


def _describe(evidence: Evidence, witness: Witness) -> dict[str, Any]:
    reserved = _reserved(evidence)

    def name(i: int) -> str:
        return reserved[i] if i in reserved else evidence.names[i] if evidence.ledger.named else str(i)

    described: dict[str, Any] = {}
    if witness.u is not None:
        described["weights"] = {name(i): float(witness.u[i]) for i in np.flatnonzero(witness.u).tolist()}
    if witness.variables is not None:
        described["variables"] = [name(i) for i in witness.variables]
    if witness.margin is not None:
        described["margin"] = float(witness.margin)
    return described


def _read_back(evidence: Evidence, described: dict[str, Any]) -> Any:
    """The comparator that ``_describe`` described, if there was one: a vector, or the places of variables."""
    ids = {name: i for i, name in enumerate(evidence.names)} | {name: i for i, name in _reserved(evidence).items()}

    def place(name: str) -> int:
        position = -1 if evidence.ledger.named or not name.isdecimal() or len(name) >= 20 else int(name)
        found = ids.get(name, position if position < evidence.features else -1)
        if found < 0:
            message = f"the comparator has a feature {name!r}, which none of these rounds has"
            raise ValueError(message)
        return found

    if "variables" in described:
        return list(map(place, described["variables"]))
    if "weights" not in described:
        return None
    u = np.zeros(evidence.n)
    for name, weight in described["weights"].items():
        u[place(name)] = weight
    return u
