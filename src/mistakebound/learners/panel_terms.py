"""Explain predictions of a panel: what each feature and each interaction adds to a logit, through each member."""

from __future__ import annotations

import math
from copy import copy, deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mistakebound.learners.explanation import CONSTANT, GUARD, HISTORY, UNIFORM, MemberShare, Term
from mistakebound.learners.sklearn import probabilities
from mistakebound.panel.attribution import LEAST_CHANCE, alone, several, two_labels
from mistakebound.play.parts import ALONE_MEMBERS, PLACE_MEMBERS, without_features
from mistakebound.rules.panel import PanelRule
from mistakebound.rules.panel_members import CLASS_PRIOR, MEMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray
    from mistakebound.panel.attribution import Split
    from mistakebound.play.engine import LearnerEngine
    from mistakebound.play.parts import Parts

OF_PAIRS, OF_TRIPLES, HISTORY_MEMBER = (11, 12), (13, 14), 15
"""Numbers of members: coin betting and AdaGrad on single features and pairs; the same on triples; the last labels."""
AGAINST_REST = ("implicit-logistic", "arow", "adagrad-hinge", "balanced-winnow", "decision-list")
"""With several classes, the scores of these members are logits of one class against the rest."""
LOG_PROBABILITIES = ("naive-bayes", "label-history", CLASS_PRIOR)
"""The scores of these members are log probabilities. Those of all others are multiplied by 1 − 1/K."""
BATCH = 2**20
"""Numbers of features that are read from the core at a time."""


class PanelLogit(NamedTuple):
    """The logit of a label, its terms, and the members, each the largest first."""

    logit: float
    probability: float
    terms: list[Term]
    members: list[MemberShare]


class Terms:
    """Collects what each part of an example adds, through each member."""

    def __init__(self, places: Sequence[tuple[str, float | None]]) -> None:
        self.places = places
        self.added: dict[tuple[int, ...] | str, dict[str, float]] = {(place,): {} for place in range(len(places))}

    def add(self, keys: list[Any], amounts: FloatArray, member: str, total: float) -> None:
        """Add the amounts of a member, corrected for the rounding of its score in float32: their sum is ``total``."""
        sizes = np.abs(amounts)
        size = float(sizes.sum())
        off = total - math.fsum(amounts.tolist())
        exact = amounts + off * sizes / size if size > 0 else amounts
        for key, amount in zip(keys, exact.tolist(), strict=True):
            if amount:
                of_key = self.added.setdefault(key, {})
                of_key[member] = of_key.get(member, 0.0) + amount

    def listed(self) -> list[Term]:
        """Return all terms, the largest first."""
        found = [self._term(key, by_member) for key, by_member in self.added.items()]
        return sorted(found, key=lambda term: -abs(term.adds))

    def _term(self, key: tuple[int, ...] | str, by_member: dict[str, float]) -> Term:
        adds = math.fsum(by_member.values())
        if isinstance(key, str):
            return Term(key, adds, by_member=by_member)
        if key == (len(self.places) - 1,):
            return Term(CONSTANT, adds, by_member=by_member)
        names = tuple(self.places[place][0] for place in key)
        value = self.places[key[0]][1] if len(key) == 1 else None
        return Term(" & ".join(names), adds, value, features=names, by_member=by_member)


def panel_logit(engine: LearnerEngine, parts: Parts, names: list[str], label: int) -> PanelLogit:
    """Return the logit of a label and its terms; ``label`` is 0 or 1 for two labels, otherwise a class id."""
    members = engine.member_names
    logit, probability = reported(parts, label)
    if not len(parts.scores):  # several classes, none of which has occurred
        return PanelLogit(logit, probability, [Term(UNIFORM, logit)], [])
    split = split_of(parts, members, label)
    terms = Terms([*zip(names, parts.values.tolist(), strict=True), (CONSTANT, None)])
    numbers = numbers_of(engine)
    for i, name in enumerate(members):
        add_member(terms, parts, (i, name, numbers.get(i)), split.factors[i])
    found = terms.listed()
    off = logit - math.fsum([split.start, *(term.adds for term in found)])
    extra = [Term(UNIFORM, split.start)] if split.start else []
    if parts.overridden:
        extra.append(Term(GUARD, off))
    else:
        found = corrected(found, off)
    shares = [
        MemberShare(name, float(split.own[i]), float(parts.scores[i] @ split.factors[i]))
        for i, name in enumerate(members)
    ]
    return PanelLogit(
        logit,
        probability,
        sorted([*found, *extra], key=lambda term: -abs(term.adds)),
        sorted(shares, key=lambda each: -abs(each.adds)),
    )


def numbers_of(engine: LearnerEngine) -> dict[int, int]:
    """Return the number of each member among all members of the Panel, without the prior and those from outside."""
    own = engine.rule.names if isinstance(engine.rule, PanelRule) else ()
    return {i: MEMBERS.index(name) for i, name in enumerate(own) if name in MEMBERS}


def split_of(parts: Parts, members: tuple[str, ...], label: int) -> Split:
    """Return how the logit of a label depends on the scores of the members."""
    if not len(parts.probabilities):
        split = two_labels(parts.scores[:, 0], parts.factors, parts.mixing, parts.shares)
        return split if label else split.negated()
    to_logit, are_logits = links(parts, members)
    return several(parts.scores, to_logit, are_logits, parts.mixing, parts.shares, label)


def links(parts: Parts, members: tuple[str, ...]) -> tuple[FloatArray, BoolArray]:
    """Return the factor of each member's scores, and whether they are then logits of one class against the rest."""
    are_logits = np.array([name in AGAINST_REST for name in members])
    if not len(parts.probabilities):
        return parts.factors, are_logits
    as_they_are = are_logits | np.array([name in LOG_PROBABILITIES for name in members])
    return np.where(as_they_are, parts.factors, 1 - 1 / max(parts.classes, 2)), are_logits


def reported(parts: Parts, label: int) -> tuple[float, float]:
    """Return the logit and the probability of a label, as they are predicted; given that the label is not a new one."""
    if not len(parts.probabilities):
        pair = probabilities(np.array([parts.logit]), np.array([parts.prediction == 1]))[0]
        return (parts.logit if label else -parts.logit), float(pair[label])
    known = parts.probabilities[:-1]
    if len(known) < 2:
        return -math.log(LEAST_CHANCE) * len(known), len(known) or 0.5
    rest = float(np.delete(known, label).sum())
    return math.log(known[label]) - math.log(rest), float(known[label] / known.sum())


def corrected(terms: list[Term], off: float) -> list[Term]:
    """Return the terms with what rounding left over, which is about 1e-10, in proportion to their sizes."""
    size = math.fsum(abs(term.adds) for term in terms)
    return [scaled(term, 1 + math.copysign(off / size, off * term.adds)) for term in terms] if size else terms


def scaled(term: Term, by: float) -> Term:
    """Return a term times a number."""
    by_member = {name: adds * by for name, adds in term.by_member.items()}
    return replace(term, adds=term.adds * by, by_member=by_member)


def add_member(terms: Terms, parts: Parts, member: tuple[int, str, int | None], factors: FloatArray) -> None:
    """Add what each part of an example adds through a member, whose scores have these factors.

    ``member`` is its place, its name, and its number among the members of the Panel; None for the prior of several
    classes and for members from outside.
    """
    i, name, number = member
    total = float(parts.scores[i] @ factors)
    whole = np.array([total])
    if number is None:
        terms.add([(len(terms.places) - 1,) if name == CLASS_PRIOR else f"(member {name})"], whole, name, total)
    elif number < PLACE_MEMBERS:
        keys = [(place,) for place in range(len(terms.places))]
        terms.add(keys, parts.of_places[:, number] @ factors, name, total)
    elif number == HISTORY_MEMBER:
        terms.add([HISTORY], whole, name, total)
    else:
        triples = parts.slots[:, 2] >= 0
        rows = np.flatnonzero(triples if number in OF_TRIPLES else ~triples)
        slots = [tuple(place for place in slot if place >= 0) for slot in parts.slots[rows].tolist()]
        terms.add(slots, parts.of_slots[rows, (number - OF_PAIRS[0]) % 2] @ factors, name, total)


class PanelWeights(NamedTuple):
    """The weights of the features of a panel, all of the same round."""

    weights: FloatArray
    """Of each feature."""
    names: list[str]
    """Names of the features; empty if they have positions."""
    constant: float


def panel_weights(engine: LearnerEngine, label: int) -> PanelWeights:
    """Return the weight of each feature and of the constant.

    The weight of a feature is the sum, over the members, of the member's weight in the mixture times the logit that the
    feature gives to it, alone in an example with its largest absolute value so far.
    """
    engine = snapshot(engine)
    parts, members, slots = without_features(engine), engine.member_names, engine.core.slots()
    classes, two = parts.classes, not len(parts.probabilities)
    first_slot = int(engine.named)  # with names, slot 0 stands for all features that were never learned
    names = engine.names(slots) if engine.named else []
    if classes < 2 and not two:  # there is no other label
        return PanelWeights(np.zeros(slots - first_slot), names, 0.0)
    to_logit, are_logits = links(parts, members)
    mixed = parts.shares[: len(members)] + parts.shares[len(members) :] @ parts.mixing
    numbers = numbers_of(engine)
    places = [i for i, number in numbers.items() if number < ALONE_MEMBERS]
    columns = [numbers[i] for i in places]
    sign = -1.0 if two and label == 0 else 1.0

    def weights(scores: FloatArray, of: list[int]) -> FloatArray:
        logits = scores * to_logit[of, None]
        return sign * alone(logits, are_logits[of], mixed[of], None if two else label)

    step = max(BATCH // (ALONE_MEMBERS * classes), 1)
    found = [np.zeros(0)]
    for first in range(first_slot, slots, step):
        scores = engine.core.features_alone(first, min(first + step, slots))
        found.append(weights(scores.reshape(-1, ALONE_MEMBERS, classes)[:, columns], places))
    of_constant = [i for i in places if numbers[i] < PLACE_MEMBERS]
    constant = weights(parts.of_places[:1, [numbers[i] for i in of_constant]], of_constant)
    if CLASS_PRIOR in members:
        prior = members.index(CLASS_PRIOR)
        constant = constant + weights(parts.scores[None, prior : prior + 1], [prior])
    return PanelWeights(np.concatenate(found), names, float(constant[0]))


def snapshot(engine: LearnerEngine) -> LearnerEngine:
    """Return a copy of an engine, made under its lock: other threads may go on learning with the original."""
    found = copy(engine)
    found.core = deepcopy(engine.core)
    return found
