"""Compare a learner's mistakes with the bound of a theorem. Everything is recomputed from the recorded rounds."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.certificates.certificate import (
    DOES_NOT_APPLY,
    FLOAT32,
    HOLDS,
    INCOMPLETE,
    VACUOUS,
    VIOLATED,
    Certificate,
    too_large,
)
from mistakebound.certificates.expert_certificate import certify_experts
from mistakebound.certificates.panel_certificate import certify_panel
from mistakebound.play.engine import is_panel
from mistakebound.play.expert_ledger import ExpertLedger
from mistakebound.rules.registry import DECLARATIONS
from mistakebound.theorems import NEARLY, THEOREMS, Theorem
from mistakebound.theorems.evidence import MISTAKEN_ROUNDS, WHOLE_STREAM, Evidence, Measured, Premise, Witness

if TYPE_CHECKING:
    from mistakebound.play.ledger import Ledger

USELESS = 0.95
"""On the mistaken rounds, a comparator is useless if its loss is at least this share of the loss of u = 0. See
docs/theory.md, "Circular certificates"."""


def certify(
    ledger: Ledger | ExpertLedger | Evidence,
    theorem: str | None = None,
    comparator: Any = None,
    margin: float | None = None,
) -> Certificate:
    """Check a theorem on recorded rounds. Without a theorem, use the one that gives the smallest bound.

    Parameters
    ----------
    ledger : Ledger or Evidence
        The ledger of all rounds of a learner, or of its first run. Premises are then checked on the mistaken rounds. Or
        evidence of the whole stream; ``learner.certify(X=X, y=y)`` makes it, and calls this function.
    theorem : str, optional
        An id that ``mistakebound bound`` lists.
    comparator : array, dict or sequence of variables, optional
        The comparator. By default, a good one is searched for in the same rounds, in hindsight.
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
    _check_margin(margin, comparator)
    if isinstance(ledger, ExpertLedger) or is_panel(ledger.rule):
        return _of_experts(ledger, theorem, comparator)
    rule = ledger.rule.id
    if theorem is not None:
        chosen = _find(theorem, rule)
        evidence = _evidence(ledger)
        witness = None if comparator is None else _given(evidence, chosen, comparator, margin)
        return _with_theorem(evidence, chosen, witness, hindsight=comparator is None)
    if comparator is not None:
        message = "comparator is only valid with a theorem: pass it, too, for example theorem='novikoff'"
        raise ValueError(message)
    if not DECLARATIONS[rule].has_theorem:
        message = f"no mistake bound is known for {rule}, so its mistakes cannot be certified"
        raise ValueError(message)
    evidence = _evidence(ledger)
    known = [t for t in THEOREMS.values() if t.rule == rule and t.in_hindsight]
    candidates = [t for t in known if not t.delayed and not t.mixed]
    if evidence.alone:
        candidates = [t for t in known if t.mixed] or candidates
    elif evidence.late:
        candidates = [t for t in known if t.delayed] or candidates
    if len(candidates) == 1:
        return _with_theorem(evidence, candidates[0])
    agnostic = [_with_theorem(evidence, t) for t in candidates if t.agnostic]
    if evidence.scope == WHOLE_STREAM and agnostic and _far_from_separable(agnostic):
        return _smallest(agnostic) or agnostic[0]
    separable = [_with_theorem(evidence, t) for t in candidates if not t.agnostic]
    best = _smallest(separable)
    if best is not None and evidence.scope == MISTAKEN_ROUNDS:
        return best  # an agnostic bound is circular there
    return _smallest([*separable, *agnostic]) or separable[0]


def _of_experts(ledger: Ledger | ExpertLedger | Evidence, theorem: str | None, comparator: Any = None) -> Certificate:
    """Check a theorem whose comparators are the experts that voted: those of a panel are its members and mixers."""
    if isinstance(ledger, ExpertLedger):
        return certify_experts(ledger)
    if isinstance(ledger, Evidence) or comparator is not None:
        message = "a panel is compared with its own members and mixers: pass its ledger, and no comparator"
        raise ValueError(message)
    return certify_panel(ledger, theorem)


def _evidence(ledger: Ledger | Evidence) -> Evidence:
    return ledger if isinstance(ledger, Evidence) else Evidence.of(ledger)


def _given(evidence: Evidence, theorem: Theorem, comparator: Any, margin: float | None) -> Witness:
    """Return the comparator that a caller passed or a certificate stores."""
    if theorem.takes_variables:
        return Witness(variables=evidence.as_variables(comparator), margin=margin)
    return Witness(u=evidence.as_vector(comparator), margin=margin)


def _check_margin(margin: Any, comparator: Any) -> None:
    """Raise ValueError for a margin that is not a finite number, or that was passed without a comparator."""
    if margin is None:
        return
    if comparator is None:
        message = "margin is only valid with a comparator: pass it, too"
        raise ValueError(message)
    if isinstance(margin, bool) or not isinstance(margin, (int, float, np.floating)) or not math.isfinite(margin):
        message = f"margin must be a finite number, got {margin!r}"
        raise ValueError(message)


def _far_from_separable(agnostic: list[Certificate]) -> bool:
    """Return whether all agnostic comparators err too often to search for a separating one."""
    return all(c.comparator.get("mistakes", 0) > NEARLY * c.rounds for c in agnostic)


def recheck(ledger: Ledger | Evidence, stored: Certificate) -> Certificate:
    """Check the theorem and the comparator of a stored certificate again, on the given rounds.

    Raise ValueError if the comparator has features that do not occur in these rounds.
    """
    if is_panel(ledger.rule):
        return _of_experts(ledger, stored.theorem)
    theorem = _find(stored.theorem, ledger.rule.id)
    other = "weights" if theorem.takes_variables else "variables"
    if other in stored.comparator:
        message = f"the comparator of {theorem.id} must not have {other}"
        raise ValueError(message)
    evidence = _evidence(ledger)
    comparator, witness = _read_back(evidence, stored.comparator), None
    if comparator is not None:
        witness = _given(evidence, theorem, comparator, stored.comparator.get("margin"))
    return _with_theorem(evidence, theorem, witness, hindsight=stored.hindsight, search=False)


def _smallest(found: list[Certificate]) -> Certificate | None:
    return min((c for c in found if c.status != DOES_NOT_APPLY), key=lambda c: c.bound, default=None)


def _find(theorem: str, rule: str) -> Theorem:
    if theorem not in THEOREMS:
        message = f"there is no theorem {theorem!r}; there are: {', '.join(THEOREMS)}"
        raise ValueError(message)
    found = THEOREMS[theorem]
    if found.rule != rule:
        message = f"the theorem {theorem} is about {found.rule}, but this learner is {rule}"
        raise ValueError(message)
    return found


def _with_theorem(
    evidence: Evidence, theorem: Theorem, witness: Witness | None = None, *, hindsight: bool = True, search: bool = True
) -> Certificate:
    """Check one theorem with the given comparator, or with one that is searched for."""
    check = Check(evidence, theorem, hindsight)
    alone = () if theorem.mixed else evidence.alone
    premises = [*alone, *evidence.premises, *(() if theorem.delayed else evidence.prompt)]
    if alone or not evidence.complete:
        return check.certificate(premises)
    if evidence.scope == MISTAKEN_ROUNDS and not len(evidence.y):
        # There is nothing to search for. But a comparator that was passed is still checked and shown.
        free = theorem.free(evidence)
        first = " after the first label" if free else ""
        premises.append(Premise(f"there was no mistake{first}, so there is nothing to bound", True))
        shown = None if witness is None else theorem.scaled(evidence, witness)
        return check.certificate(premises, float(free), shown=shown)
    found = []
    if witness is not None:
        found = [theorem.measure(evidence, witness)]
    elif search and evidence.X.nnz:
        if not theorem.in_hindsight:
            message = f"the theorem {theorem.id} needs a comparator: pass the experts of the panel"
            raise ValueError(message)
        found = theorem.search(evidence)
    if not found:
        premises.append(Premise(f"{theorem.asks} in {evidence.every_round}", False, "none was found"))
        return check.certificate(premises)
    measured, bound = found[0], math.nan
    if len(found) > 1:
        bound, measured = min(((theorem.bound(evidence, each), each) for each in found), key=itemgetter(0))
    premises += theorem.premises(evidence, measured)
    if not all(p.holds for p in premises):
        return check.certificate(premises, math.inf, measured)
    try:
        bound = theorem.bound(evidence, measured) if len(found) == 1 else bound
    except (ValueError, ArithmeticError) as error:
        premises.append(Premise("the bound can be computed in float64", False, str(error)))
        bound = math.inf
    return check.certificate(premises, math.inf if math.isnan(bound) else bound, measured)


@dataclass(frozen=True)
class Check:
    """The check of one theorem on one evidence. ``hindsight`` is whether the comparator was chosen after the stream."""

    evidence: Evidence
    theorem: Theorem
    hindsight: bool

    def certificate(
        self,
        premises: list[Premise],
        bound: float = math.inf,
        measured: Measured | None = None,
        shown: Witness | None = None,
    ) -> Certificate:
        """Return the certificate. A comparator without measured numbers is passed as ``shown``."""
        evidence, theorem = self.evidence, self.theorem
        witness = shown if measured is None else measured.witness
        comparator = {} if witness is None else _describe(evidence, theorem, witness)
        if measured is not None and len(evidence.y):
            comparator |= {"mistakes": measured.mistakes, "norm": measured.norm, "loss": measured.loss}
        counted = self.counted
        status, note = self._status(premises, bound, measured)
        return Certificate(
            theorem=theorem.id,
            rule={"id": evidence.rule.id, "n": evidence.n, **asdict(evidence.rule)},
            scope=evidence.scope,
            hindsight=self.hindsight,
            rounds=evidence.rounds,
            mistakes=evidence.mistakes,
            updates=evidence.updates,
            bound=float(bound) if status == VIOLATED else max(float(bound), float(counted)),
            status=status,
            premises=tuple(premises),
            comparator=comparator,
            note=note,
        )

    @property
    def counted(self) -> int:
        """The number that the theorem bounds: updates, which include the mistakes, or mistakes only."""
        evidence = self.evidence
        return max(evidence.mistakes, evidence.updates) if self.theorem.bounds_updates else evidence.mistakes

    def _status(self, premises: list[Premise], bound: float, measured: Measured | None) -> tuple[str, str]:
        """Return the status and, if it is ``vacuous``, the reason."""
        evidence, theorem = self.evidence, self.theorem
        if not evidence.complete and (theorem.mixed or not evidence.alone):
            return INCOMPLETE, ""
        if not all(p.holds for p in premises):
            return DOES_NOT_APPLY, ""
        counted = self.counted
        broken = counted >= bound > 0 if theorem.strictly_below else counted > bound * (1 + FLOAT32)
        if broken:
            return VIOLATED, ""
        if measured is None or not len(evidence.y):
            return VACUOUS, self._too_large(math.inf, evidence.rounds)
        reason = ""
        if evidence.scope == MISTAKEN_ROUNDS and (theorem.agnostic or measured.loss > 0):
            useless = measured.loss >= USELESS * theorem.loss_of_zero(evidence, measured)
            reason = CIRCULAR if self.hindsight or useless else ""
        reason = reason or self._too_large(max(bound, float(counted)), evidence.rounds)
        if not reason and (one_pass := evidence.one_pass()) is not evidence:
            bound_of_one = theorem.bound(one_pass, theorem.measure(one_pass, measured.witness))
            reason = self._too_large(bound_of_one, one_pass.rounds, " of one pass")
        return (VACUOUS if reason else HOLDS), reason

    def _too_large(self, bound: float, rounds: int, passes: str = "") -> str:
        """Return why a valid bound is too large to be useful; an empty text if it is not."""
        if self.evidence.scope == MISTAKEN_ROUNDS and not len(self.evidence.y):
            return "there was no mistake, so no round was checked"
        return too_large(bound, rounds, passes, hindsight=self.hindsight)


CIRCULAR = (
    "circular: on the mistaken rounds alone even a useless comparator gives a bound equal to the number of mistakes; "
    "certify over the whole stream"
)


def _reserved(evidence: Evidence) -> dict[int, str]:
    """Return names for columns without a name: the constant feature, and one for all names that were not learned."""
    taken = set(evidence.names)
    reserved = {evidence.features: "(constant)"} if evidence.rule.bias else {}
    if evidence.named:
        reserved |= dict.fromkeys(range(len(evidence.names), evidence.features), "(all others)")
    for place in reserved:
        while reserved[place] in taken:
            reserved[place] = f"({reserved[place]})"
    return reserved


def _describe(evidence: Evidence, theorem: Theorem, witness: Witness) -> dict[str, Any]:
    """Return the comparator as a certificate stores it, with the names of its features."""
    reserved = _reserved(evidence)

    def name(i: int) -> str:
        before, i = evidence.split(i)
        return before + (reserved[i] if i in reserved else evidence.names[i] if evidence.named else str(i))

    described: dict[str, Any] = {}
    if not theorem.takes_variables:
        described["weights"] = {name(i): float(witness.u[i]) for i in np.flatnonzero(witness.u).tolist()}
    else:
        described["variables"] = [name(i) for i in witness.variables]
    if witness.margin is not None:
        described["margin"] = float(witness.margin)
    return described


def _read_back(evidence: Evidence, described: dict[str, Any]) -> Any:
    """Return the comparator that ``_describe`` described: a vector, the indices of variables, or None."""
    ids = {name: i for i, name in enumerate(evidence.names)} | {name: i for i, name in _reserved(evidence).items()}

    def place(name: str) -> int:
        first, name = evidence.parse(name)
        position = -1 if evidence.named or not name.isdecimal() or len(name) >= 20 else int(name)
        found = ids.get(name, position if position < evidence.features else -1)
        if found < 0:
            message = f"the feature {name!r} of the comparator does not occur in these rounds"
            raise ValueError(message)
        return first + found

    if "variables" in described:
        return list(map(place, described["variables"]))
    if "weights" not in described:
        return None
    u = np.zeros(evidence.weights)
    for name, weight in described["weights"].items():
        u[place(name)] = weight
    return u
