"""Base class of the theorems: premises, bound, the lemma for one mistake, the search for a comparator."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound.theorems.evidence import Premise

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.theorems.evidence import Evidence, Measured, Step, Witness

NEARLY = 0.01
"""A search for separation is worth its time if a comparator errs in no larger part of the rounds."""


class Theorem:
    """One row of THEORY §2. A subclass has its formula in ``mistakebound.bounds`` and says here when it applies.

    ``search`` finds a comparator, or a user gives one; ``measure`` takes from it and from the rounds the numbers that
    ``premises`` and ``bound`` are made of.
    """

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

    def search(self, evidence: Evidence) -> list[Measured]:
        """Find good comparators over these rounds, if there are any. The one with the smallest bound is used."""
        raise NotImplementedError

    def scaled(self, evidence: Evidence, witness: Witness) -> Witness:  # noqa: ARG002
        """Return the comparator as this theorem measures it: the same one at another scale, if that matters."""
        factor = moderate(witness.u)
        margin = None if witness.margin is None else witness.margin * factor
        return witness._replace(u=witness.u * factor, margin=margin)

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure a comparator on these rounds: one that was searched for, given by a user or read from a file."""
        raise NotImplementedError

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check what the theorem asks for, on these rounds."""
        raise NotImplementedError

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return the bound; meaningful when every premise holds."""
        raise NotImplementedError

    def loss_of_zero(self, evidence: Evidence, measured: Measured) -> float:  # noqa: ARG002
        """What u = 0 would lose over these rounds."""
        return evidence.total(np.ones(len(evidence.y)))

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """What the proof says of one update, as {inequality: slack}; a slack below 0 breaks it."""
        raise NotImplementedError


def moderate(u: FloatArray) -> float:
    """Power of 2 that brings the largest weight near 1 if it is so extreme that a square could leave float64."""
    top = float(np.abs(u).max(initial=0.0))
    exponent = int(np.frexp(top)[1])
    return 1.0 if top == 0 or abs(exponent) <= 100 else float(np.ldexp(1.0, min(-exponent, 1023)))


def relative_hinge(evidence: Evidence, margins: FloatArray, gamma: float) -> float:
    """L₁ = Σ max(0, 1 − y u·x/γ)."""
    return evidence.total(np.maximum(0.0, 1 - margins / gamma))


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
