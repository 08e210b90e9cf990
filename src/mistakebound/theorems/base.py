"""Base class of the theorems: the search for a comparator, premises, bound, and the lemma for one mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound.theorems.evidence import Premise

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.theorems.evidence import Evidence, Measured, Witness
    from mistakebound.theorems.steps import Step

NEARLY = 0.01
"""A separating comparator is searched for only if the agnostic one errs in at most this share of the rounds."""


class Theorem:
    """Base class of the theorems on linear rules. The formula of each bound is in ``mistakebound.bounds``.

    A user passes a comparator, or ``search`` finds one. ``measure`` computes from the comparator and the rounds the
    numbers that ``premises`` and ``bound`` use.

    See docs/theory.md, "The shape of the proofs".
    """

    id: ClassVar[str]
    rule: ClassVar[str]
    """Id of the rule that the theorem is about."""
    strictly_below: ClassVar[bool] = False
    """Whether the number of mistakes is strictly below the bound."""
    bounds_updates: ClassVar[bool] = True
    """Whether the bound is on updates, which include the mistakes. Otherwise it is on mistakes only."""
    takes_variables: ClassVar[bool] = False
    """Whether the comparator is a set of variables rather than a vector."""
    agnostic: ClassVar[bool] = False
    """Whether the comparator need not separate the labels; the bound then includes its loss."""
    asks: ClassVar[str] = "some u separates the labels: y(u·x) ≥ γ > 0"
    """What the comparator must do, for the certificate of a stream for which none was found."""
    norm_is: ClassVar[str]
    """The formula of ``Measured.norm``, in the notation of the theorem."""
    first_is_free: ClassVar[bool] = False
    """Whether the first round is a mistake that the proof does not count; see ``free``."""
    delayed: ClassVar[bool] = False
    """Whether outcomes may come late. Otherwise every prediction must be made with the current weights."""
    mixed: ClassVar[bool] = False
    """Whether shards may have learned from copies, whose states were mixed. Otherwise one learner learned all."""
    in_hindsight: ClassVar[bool] = True
    """Whether ``search`` can find a comparator; otherwise the user must pass one."""

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return good comparators for these rounds, or an empty list. The one with the smallest bound is used."""
        raise NotImplementedError

    def scaled(self, evidence: Evidence, witness: Witness) -> Witness:  # noqa: ARG002
        """Return the comparator at the scale at which this theorem measures it."""
        factor = moderate_scale(witness.u)
        margin = None if witness.margin is None else witness.margin * factor
        return witness._replace(u=witness.u * factor, margin=margin)

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure a comparator on these rounds. It may come from ``search``, from a user or from a file."""
        raise NotImplementedError

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check the premises of the theorem on these rounds."""
        raise NotImplementedError

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return the bound. It is valid if every premise holds."""
        raise NotImplementedError

    def loss_of_zero(self, evidence: Evidence, measured: Measured) -> float:  # noqa: ARG002
        """Return the loss of u = 0 over these rounds."""
        return evidence.total(np.ones(len(evidence.y)))

    def free(self, evidence: Evidence) -> int:  # noqa: ARG002
        """Return the number of mistakes that the proof does not count, and that are added to the bound."""
        return 0

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Return the inequalities of the proof for one update, as {inequality: slack}; a slack below 0 violates it."""
        raise NotImplementedError


def moderate_scale(u: FloatArray) -> float:
    """Return 1, or the power of 2 that scales the largest weight to about 1 if its square could leave float64."""
    top = float(np.abs(u).max(initial=0.0))
    exponent = int(np.frexp(top)[1])
    return 1.0 if top == 0 or abs(exponent) <= 100 else float(np.ldexp(1.0, min(-exponent, 1023)))


def relative_hinge(evidence: Evidence, margins: FloatArray, gamma: float) -> float:
    """Return L₁ = Σ max(0, 1 − y u·x/γ)."""
    return evidence.total(np.maximum(0.0, 1 - margins / gamma))


def separates(evidence: Evidence, margin: float) -> Premise:
    """Return the premise y(u·x) ≥ γ > 0 in every round."""
    return Premise(f"y(u·x) ≥ γ > 0 in {evidence.every_round}", bool(margin > 0), f"γ = {margin:.6g}")


def indicator(variables: tuple[int, ...], n: int) -> FloatArray:
    """Return a vector with 1 at the variables and 0 elsewhere."""
    u = np.zeros(n)
    u[list(variables)] = 1.0
    return u


def smallest(margins: FloatArray) -> float:
    """Return the smallest margin; infinity if there are no rounds."""
    return float(np.min(margins, initial=np.inf))
