"""`Explanation`: the score or logit of one prediction as a sum of terms, as data and as text."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from mistakebound._support.text import escaped, many

CONSTANT = "(constant)"
"""The feature that ``bias`` adds to every example, or the prior of a rule; for a panel, the sum of both."""
HISTORY = "(labels before)"
"""What a panel predicts from the last labels."""
GUARD = "(guard)"
"""What the guard of a panel adds when it overrides the mixture."""
UNIFORM = "(uniform)"
"""The logit of 1/K: that of each of K classes without any evidence."""


LARGEST_PLAIN = 2
"""Numbers of tables above it are scaled: see docs/files.md, "Tables"."""


@dataclass(frozen=True)
class Term:
    """What one feature, one interaction or another part of a learner adds to a score."""

    name: str
    """Of an interaction, the names of its features, joined by " & "."""
    adds: float
    value: float | None = None
    """The value of the feature; None for all other terms."""
    weight: float | None = None
    """The weight of the feature; None for a panel."""
    features: tuple[str, ...] = ()
    """The names of the features: one, or those of an interaction; empty for all other terms."""
    by_member: dict[str, float] = field(default_factory=dict)
    """Of a panel: what the term adds through each member."""


class MemberShare(NamedTuple):
    """What one member of a panel adds to the logit."""

    name: str
    logit: float
    """Its own logit of the label, from its own probability."""
    adds: float
    """What it adds to the logit of the panel: the sum over all terms."""


@dataclass(frozen=True)
class Explanation:
    """The score of one example as the sum of ``terms``, the largest first."""

    prediction: Any
    score: float
    """w·x; of a learner with probabilities, the logit of ``of``."""
    terms: list[Term]
    of: Any
    """The label whose score it is: the positive one; with more than two labels, the predicted one."""
    threshold: float | None = 0.0
    """The score at which the prediction changes, with two labels; None if the largest score of all labels predicts."""
    probability: float | None = None
    """Of the label ``of``; None if the learner has no probabilities."""
    members: list[MemberShare] = field(default_factory=list)
    """The members of a panel, the largest first."""
    classes: int = 2
    """Number of labels so far."""
    file: str | None = None
    line: int | None = None
    label: Any = None
    """The label in the file, if it has one."""
    scaled: bool = False
    """Whether large numbers of tables were scaled, so that ``value`` is not the number in the table."""

    @property
    def logit(self) -> float | None:
        """The score, if the learner has probabilities: ln(p/(1 − p)) of the label ``of``."""
        return None if self.probability is None else self.score

    def in_table(self, term: Term) -> float | None:
        """Return the number in the table of a term whose value was scaled; None for a term with the same value."""
        return unscaled(term.value) if self.scaled and term.value is not None and is_scaled(term) else None

    def largest(self, count: int | None) -> Explanation:
        """Return a copy with the ``count`` largest terms, and one term for the sum of the others."""
        if count is None or count >= len(self.terms):
            return self
        rest = self.terms[count:]
        by_member: dict[str, float] = {}
        for term in rest:
            for name, adds in term.by_member.items():
                by_member[name] = by_member.get(name, 0.0) + adds
        total = Term(f"({many(len(rest), 'more term')})", math.fsum(term.adds for term in rest), by_member=by_member)
        return replace(self, terms=[*self.terms[:count], total])

    def as_text(self, members: int = 5) -> str:
        """Return a table of the terms, and of the members of a panel that add most."""
        lines = [self._heading(), self._score()]
        weights = any(term.weight is not None for term in self.terms)
        lines.append(f"{'adds':>14} {'value':>12} " + (f"{'weight':>14}  feature" if weights else " feature"))
        for term in self.terms:
            weight = f"{number(term.weight):>14} " if weights else ""
            original = self.in_table(term)
            here = "" if original is None else f" ({original:,.12g} in the table)"
            lines.append(f"{term.adds:>14.6g} {number(term.value):>12} {weight} {escaped(term.name)}{here}")
        if any(self.in_table(term) is not None for term in self.terms):
            lines.append("(value: numbers above 2 are scaled; 4 becomes 3, 8 becomes 4, 1,024 becomes 11)")
        if any(term.name == UNIFORM for term in self.terms):
            lines.append(f"{UNIFORM}: the logit of 1/{self.classes}, the probability of each label without evidence")
        if self.members:
            lines.append(f"{'adds':>14} {'its logit':>12}  member")
            lines += [
                f"{each.adds:>14.6g} {each.logit:>12.6g}  {escaped(each.name)}" for each in self.members[:members]
            ]
            rest = self.members[members:]
            if rest:
                adds = math.fsum(each.adds for each in rest)
                lines.append(f"{adds:>14.6g} {'':>12}  ({many(len(rest), 'more member')})")
        return "\n".join(line for line in lines if line)

    def _heading(self) -> str:
        where = "" if self.file is None else f"{escaped(self.file)}:{self.line}: "
        label = "" if self.label is None else f", the label is {escaped(self.label)}"
        predicted = escaped(self.prediction)
        if isinstance(self.prediction, bool) and not isinstance(self.of, bool):  # whether a set has the label ``of``
            predicted = escaped(self.of) if self.prediction else f"not {escaped(self.of)}"
        made = "no prediction" if self.prediction is None else f"predicted {predicted}"
        return f"{where}{made}{label}"

    def _score(self) -> str:
        if self.members:
            return f"logit of {escaped(self.of)} {self.score:.6g}, probability {self.probability:.6g}"
        if self.threshold is None:
            return f"score of {escaped(self.of)} {self.score:.6g}; the label with the largest score is predicted"
        sign = ">=" if self.score >= self.threshold else "<"
        return f"score {self.score:.6g} {sign} threshold {self.threshold:.6g}"

    def __str__(self) -> str:
        return self.as_text()


def is_scaled(term: Term) -> bool:
    """Return whether a term is a number of a table that is not shown as it is; names of other cells contain "="."""
    return term.value is not None and abs(term.value) > LARGEST_PLAIN and "=" not in term.name


def unscaled(value: float) -> float:
    """Return the number of a table that was scaled to ``value``.

    >>> [unscaled(value) for value in (3.0, 3.5, -4.0, 11.0)]
    [4.0, 6.0, -8.0, 1024.0]
    """
    exponent = math.floor(abs(value)) - 1
    return math.copysign(math.ldexp(abs(value) - exponent, exponent), value)


def number(value: float | None) -> str:
    """Return a number as text; nothing for None."""
    return "" if value is None else f"{value:.6g}"
