"""Mistake bounds of the passive-aggressive rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.theorems.base import Theorem, smallest
from mistakebound.theorems.evidence import MISTAKEN_ROUNDS, Measured, Premise, Witness

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.theorems.evidence import Evidence
    from mistakebound.theorems.steps import Step


class PassiveAggressiveI(Theorem):
    """M ≤ max(R², 1/c)(‖u‖² + 2cΣℓ) for any u, with its hinge losses ℓ = max(0, 1 − y u·x) (Crammer et al. 2006).

    It bounds mistakes, not updates. With a γ, u/γ takes the place of u; without one, u is measured at its best length.
    See docs/theory.md, "Passive-aggressive I".
    """

    id: ClassVar[str] = "passive-aggressive-i"
    rule: ClassVar[str] = "passive-aggressive-i"
    norm_is: ClassVar[str] = "‖u‖₂"
    bounds_updates: ClassVar[bool] = False
    squared: ClassVar[bool] = False
    """Whether losses are squared."""

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the u with the least bound; on the mistaken rounds, the u of greatest margin, or u = 0."""
        if evidence.scope == MISTAKEN_ROUNDS:
            from mistakebound.hindsight.pnorm import max_l2_margin  # noqa: PLC0415 - scipy's optimisers load slowly

            u = max_l2_margin(evidence.X, evidence.y)
            if u is None:
                return [self.measure(evidence, Witness(np.zeros(evidence.n), margin=1.0))]
            return [self.measure(evidence, Witness(u, margin=smallest(evidence.y * (evidence.X @ u))))]
        from mistakebound.hindsight.passive_aggressive import least_hinge  # noqa: PLC0415

        data = evidence.X, evidence.y, evidence.parameter
        return [self.measure(evidence, Witness(least_hinge(*data, squared=self.squared, weight=evidence.times)))]

    def scaled(self, evidence: Evidence, witness: Witness) -> Witness:
        """Return u as it is, if a γ is given; otherwise at the length with the least bound, and γ = 1."""
        witness = super().scaled(evidence, witness)
        if witness.margin is not None:
            return witness
        from mistakebound.hindsight.passive_aggressive import best_length  # noqa: PLC0415

        margins, norm = evidence.y * (evidence.X @ witness.u), float(np.linalg.norm(witness.u))
        s = best_length(margins, norm, evidence.parameter, squared=self.squared, times=evidence.times)
        return Witness(witness.u * s, margin=1.0)

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure ‖u‖₂ and the sum of the losses max(0, 1 − y u·x/γ)."""
        witness = self.scaled(evidence, witness)
        gamma = 1.0 if witness.margin is None else witness.margin
        scores = evidence.X @ witness.u
        loss = evidence.total(self.losses(evidence.y * scores / gamma)) if gamma > 0 else 0.0
        return Measured(witness, scores, evidence.errors(scores), float(np.linalg.norm(witness.u)), gamma, loss)

    def losses(self, margins: FloatArray) -> FloatArray:
        """Return the losses at these margins, squared for PA-II."""
        short = np.maximum(0.0, 1 - margins)
        return short**2 if self.squared else short

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that γ > 0. There is no other premise."""
        return (Premise("γ > 0", measured.gamma > 0, f"γ = {measured.gamma:.6g}, R = {evidence.radius(2):.6g}"),)

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return max(R², 1/c)(‖u‖²/γ² + 2cΣℓ)."""
        sizes = evidence.radius(2), measured.norm / measured.gamma, measured.loss
        return bounds.passive_aggressive_i(*sizes, evidence.parameter)

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check ‖w−u‖² − ‖w⁺−u‖² ≥ τ(ℓ − 2ℓ_u), where ℓ is the loss of w, and that τℓ ≥ min(c, 1/‖x‖²) on a mistake."""
        u, c = witness.u / (witness.margin or 1.0), step.rule.parameter
        loss, other = (max(0.0, 1 - step.y * float(v @ step.x)) for v in (step.z, u))
        square = float(step.x @ step.x)
        tau = min(c, loss / square) if square > 0 else c
        found = {"‖w−u‖² − ‖w⁺−u‖² ≥ τ(ℓ − 2ℓ_u)": approach(step, u) - tau * (loss - 2 * other)}
        if step.mistaken and square > 0:
            found["τℓ ≥ min(c, 1/‖x‖²)"] = tau * loss - min(c, 1 / square)
        return found


class PassiveAggressiveII(PassiveAggressiveI):
    """M ≤ (R² + 1/(2c))(‖u‖² + 2cΣℓ²) for any u, with its hinge losses ℓ = max(0, 1 − y u·x) (Crammer et al. 2006).

    It bounds mistakes, not updates. With a γ, u/γ takes the place of u; without one, u is measured at its best length.
    See docs/theory.md, "Passive-aggressive II".
    """

    id: ClassVar[str] = "passive-aggressive-ii"
    rule: ClassVar[str] = "passive-aggressive-ii"
    squared: ClassVar[bool] = True

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return (R² + 1/(2c))(‖u‖²/γ² + 2cΣℓ²)."""
        sizes = evidence.radius(2), measured.norm / measured.gamma, measured.loss
        return bounds.passive_aggressive_ii(*sizes, evidence.parameter)

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check ‖w−u‖² − ‖w⁺−u‖² ≥ ℓ²/(‖x‖² + 1/(2c)) − 2cℓ_u², where ℓ is the loss of w and ℓ_u that of u."""
        u, c = witness.u / (witness.margin or 1.0), step.rule.parameter
        loss, other = (max(0.0, 1 - step.y * float(v @ step.x)) for v in (step.z, u))
        gained = loss**2 / (float(step.x @ step.x) + 0.5 / c) - 2 * c * other**2
        return {"‖w−u‖² − ‖w⁺−u‖² ≥ ℓ²/(‖x‖² + 1/(2c)) − 2cℓ_u²": approach(step, u) - gained}


def approach(step: Step, u: FloatArray) -> float:
    """Return by how much an update lowers the squared distance of w from u."""
    before, after = step.z - u, step.z_next - u
    return float(before @ before - after @ after)
