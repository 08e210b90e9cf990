"""What a theorem is: premises, a bound, the lemma of one mistake, and how its comparator is found in hindsight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound.theorems.evidence import Premise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import FloatArray
    from mistakebound.theorems.evidence import Evidence, Step


@dataclass(frozen=True)
class Witness:
    """The comparator: a vector u, or the variables of a disjunction or panel, and the margin it is used at."""

    u: FloatArray | None = None
    variables: tuple[int, ...] | None = None
    margin: float | None = None

    def vector(self) -> FloatArray:
        """Return u, which this theorem needs."""
        if self.u is None:
            message = "this theorem needs a vector as its comparator"
            raise ValueError(message)
        return self.u

    def chosen(self) -> tuple[int, ...]:
        """Return the variables, which this theorem needs."""
        if self.variables is None:
            message = "this theorem needs variables as its comparator"
            raise ValueError(message)
        return self.variables


class Theorem:
    """One row of THEORY §2. A subclass has its formula in ``mistakebound.bounds`` and says here when it applies."""

    id: ClassVar[str]
    rule: ClassVar[str]
    """Id of the rule that it speaks of."""
    strictly_below: ClassVar[bool] = False
    """Whether the number of mistakes is strictly below the bound."""
    takes_variables: ClassVar[bool] = False
    """Whether the comparator is a set of variables rather than a vector."""
    agnostic: ClassVar[bool] = False
    """Whether it asks for no separation, but pays for what the comparator loses."""
    asks: ClassVar[str] = "some u separates the labels: y(u·x) ≥ γ > 0"
    """What a comparator must do, for a stream that has none."""
    norm_is: ClassVar[str]
    """What ``norm`` is, in the letters of the theorem."""
    delayed: ClassVar[bool] = False
    """Whether outcomes may come late; otherwise every prediction must be made with the weights of now."""
    in_hindsight: ClassVar[bool] = True
    """Whether a comparator can be found without the user's help."""

    def search(self, evidence: Evidence) -> Witness | None:
        """A good comparator over these rounds, or None if there is none. Any valid one makes a true bound."""
        raise NotImplementedError

    def read(self, evidence: Evidence, comparator: Any, margin: float | None) -> Witness:
        """Read a comparator: what a user gave, and what a certificate says, take this one path."""
        if self.takes_variables:
            return Witness(variables=evidence.as_variables(comparator), margin=margin)
        u = evidence.as_vector(comparator)
        factor = moderate(u)
        return Witness(u=u * factor, margin=None if margin is None else margin * factor)

    def scores(self, evidence: Evidence, witness: Witness) -> FloatArray:
        """What the comparator says of each round: positive if at least 0."""
        u = indicator(witness.chosen(), evidence.n) if self.takes_variables else witness.vector()
        return np.asarray(evidence.X @ u)

    def norm(self, evidence: Evidence, witness: Witness) -> float:
        """Size of the comparator, as the bound measures it."""
        raise NotImplementedError

    def loss(self, evidence: Evidence, witness: Witness) -> float:  # noqa: ARG002
        """What the comparator loses over these rounds and the bound pays for; 0 where it must separate them."""
        return 0.0

    def loss_of_zero(self, evidence: Evidence, witness: Witness) -> float:  # noqa: ARG002
        """What u = 0 would lose over these rounds."""
        return evidence.total(np.ones(len(evidence.examples)))

    def mistakes(self, evidence: Evidence, witness: Witness) -> int:
        """Mistakes that the comparator itself makes over these rounds."""
        return round(evidence.total((self.scores(evidence, witness) >= 0) != evidence.positive))

    def premises(self, evidence: Evidence, witness: Witness) -> Iterator[Premise]:
        """Check what the theorem asks for, on these rounds."""
        raise NotImplementedError

    def bound(self, evidence: Evidence, witness: Witness) -> float:
        """Return the bound; meaningful when every premise holds."""
        raise NotImplementedError

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """What the proof says of one update, as {inequality: slack}; a slack below 0 breaks it."""
        raise NotImplementedError


NEARLY = 0.01
"""A search for separation is worth its time if a comparator errs in no larger part of the rounds."""


def nearly_separates(theorem: Theorem, evidence: Evidence, witness: Witness) -> bool:
    """Whether the comparator errs so seldom that another one may separate all rounds."""
    return theorem.mistakes(evidence, witness) <= NEARLY * evidence.ledger.rounds


def moderate(u: FloatArray) -> float:
    """Power of 2 that brings the largest weight near 1 if it is so extreme that a square could leave float64."""
    top = float(np.abs(u).max(initial=0.0))
    exponent = int(np.frexp(top)[1])
    return 1.0 if top == 0 or abs(exponent) <= 100 else float(np.ldexp(1.0, min(-exponent, 1023)))


def relative_hinge(evidence: Evidence, u: FloatArray, gamma: float) -> float:
    """L₁ = Σ max(0, 1 − y u·x/γ)."""
    return evidence.total(np.maximum(0.0, 1 - evidence.margins(u) / gamma))


def separates(evidence: Evidence, margin: float) -> Premise:
    """y(u·x) ≥ γ > 0 on every round."""
    return Premise(f"y(u·x) ≥ γ > 0 in {evidence.every_round}", bool(margin > 0), f"γ = {margin:.6g}")


def indicator(variables: tuple[int, ...], n: int) -> FloatArray:
    """1 on the variables, 0 elsewhere."""
    u = np.zeros(n)
    u[list(variables)] = 1.0
    return u


def least(margins: FloatArray) -> float:
    """Smallest margin; infinite when there is no round."""
    return float(np.min(margins, initial=np.inf))


def relative_entropy(u: FloatArray, n: int) -> float:
    """RE(u‖uniform over n) of a non-negative u that sums to 1.

    It is the sum of ``(t ln t − t + 1)/n`` with ``t = un``. No term is negative, so nothing cancels near uniform u.
    """
    t = u[u > 0] * n
    near = np.abs(t - 1) < 0.5
    logs = np.where(near, np.log1p(np.where(near, t - 1, 0.0)), np.log(t))
    return max(0.0, float(np.sum(t * logs - (t - 1)) + (n - len(t))) / n)
