"""Mistake bound of the p-norm Perceptron."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.theorems.base import NEARLY, Theorem, relative_hinge, smallest
from mistakebound.theorems.evidence import MISTAKEN_ROUNDS, Measured, Premise, Witness

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.theorems.evidence import Evidence
    from mistakebound.theorems.steps import Step


class PNorm(Theorem):
    """M ≤ (p−1)(X‖u‖_q/γ)² if y(u·x) ≥ γ > 0, ‖x‖_p ≤ X, 1/p + 1/q = 1 (Grove, Littlestone and Schuurmans 2001).

    Without separation: ((k + √(k²+4L₁))/2)² with k = √(p−1)·X‖u‖_q/γ and L₁ = Σ max(0, 1 − y u·x/γ) (Gentile 2003).
    See docs/theory.md, "The p-norm Perceptron".
    """

    id: ClassVar[str] = "pnorm"
    rule: ClassVar[str] = "pnorm"
    norm_is: ClassVar[str] = "‖u‖_q"

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the u of greatest margin in the dual norm, and the u of least agnostic bound.

        On the mistaken rounds, a u that separates is returned alone.
        """
        from mistakebound.hindsight.pnorm import agnostic_pnorm, max_pnorm_margin  # noqa: PLC0415 - it loads slowly

        p, whole = evidence.parameter, evidence.scope != MISTAKEN_ROUNDS
        u = np.zeros(evidence.n)
        if whole:
            radius = math.hypot(evidence.radius(p), math.sqrt(2 * evidence.rule.update_margin / (p - 1)))
            u = agnostic_pnorm(evidence.X, evidence.y, p, radius, weight=evidence.times)
        agnostic = self.measure(evidence, Witness(u, margin=1.0))
        if whole and agnostic.mistakes > NEARLY * evidence.rounds:
            return [agnostic]
        widest = max_pnorm_margin(evidence.X, evidence.y, p)
        if widest is None:
            return [agnostic]
        separating = self.measure(evidence, Witness(widest))
        return [separating, agnostic] if whole else [separating]

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure ‖u‖_q and L₁ = Σ max(0, 1 − y u·x/γ). L₁ is 0 for a u that separates and has no given γ."""
        witness = self.scaled(evidence, witness)
        scores = evidence.X @ witness.u
        margins = evidence.y * scores
        reached = smallest(margins)
        gamma = witness.margin if witness.margin is not None else reached if 0 < reached < np.inf else 1.0
        loss, norm = relative_hinge(evidence, margins, gamma), dual_norm(witness.u, evidence.parameter)
        return Measured(witness, scores, evidence.errors(scores), norm, gamma, loss)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that γ > 0. There is no other premise, because the bound includes the loss of u."""
        measures = f"γ = {measured.gamma:.6g}, X = {evidence.radius(evidence.parameter):.6g}"
        return (Premise("γ > 0", measured.gamma > 0, measures),)

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return the smaller of the separable bound at the margin of u and the agnostic bound at γ."""
        p, b = evidence.parameter, evidence.rule.update_margin
        radius, reached = evidence.radius(p), smallest(evidence.y * measured.scores)
        agnostic = bounds.pnorm(p, radius, measured.norm, measured.gamma, b, measured.loss)
        return min(agnostic, bounds.pnorm(p, radius, measured.norm, reached, b)) if reached > 0 else agnostic

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check ‖z⁺‖_p² ≤ ‖z‖_p² + (p−1)‖x‖_p² + 2b, and that u·z grows by y(u·x)."""
        p, u = step.rule.parameter, witness.u
        before, after, x = (pnorm_of(v, p) ** 2 for v in (step.z, step.z_next, step.x))
        return {
            "‖z⁺‖_p² ≤ ‖z‖_p² + (p−1)‖x‖_p² + 2b": before + (p - 1) * x + 2 * step.rule.update_margin - after,
            "u·z⁺ ≥ u·z + y u·x": float(u @ step.z_next - u @ step.z - step.y * (u @ step.x)),
        }


def pnorm_of(v: FloatArray, p: float) -> float:
    """Return ‖v‖_p. It is computed from scaled values, because a power could overflow."""
    top = float(np.abs(v).max(initial=0.0))
    return top * float(np.sum((np.abs(v) / top) ** p)) ** (1 / p) if top > 0 else 0.0


def dual_norm(u: FloatArray, p: float) -> float:
    """Return ‖u‖_q with 1/p + 1/q = 1."""
    return pnorm_of(u, p / (p - 1))
