"""Mistake bound of the p-norm Perceptron."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.theorems.base import Theorem, Witness, least, nearly_separates, relative_hinge
from mistakebound.theorems.evidence import MISTAKEN_ROUNDS, Premise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import FloatArray
    from mistakebound.theorems.evidence import Evidence, Step


class PNorm(Theorem):
    """M ≤ (p−1)(X‖u‖_q/γ)² if y(u·x) ≥ γ > 0, ‖x‖_p ≤ X, 1/p + 1/q = 1 (Grove, Littlestone and Schuurmans 2001).

    Without separation: ((k + √(k²+4L₁))/2)² with k = √(p−1)·X‖u‖_q/γ and L₁ = Σ max(0, 1 − y u·x/γ) (Gentile 2003).
    """

    id: ClassVar[str] = "pnorm"
    rule: ClassVar[str] = "pnorm"
    norm_is: ClassVar[str] = "‖u‖_q"

    def search(self, evidence: Evidence) -> Witness | None:
        """Greatest margin in the dual norm, or the agnostic form: the smaller bound. Mistaken rounds: the former."""
        from mistakebound.hindsight.agnostic import agnostic_pnorm  # noqa: PLC0415 - scipy's optimisers load slowly
        from mistakebound.hindsight.separating import max_pnorm_margin  # noqa: PLC0415

        p = evidence.rule.parameter
        agnostic = Witness(u=np.zeros(evidence.n), margin=1.0)
        if evidence.scope != MISTAKEN_ROUNDS:
            radius = math.hypot(evidence.radius(p), math.sqrt(2 * evidence.rule.update_margin / (p - 1)))
            agnostic = Witness(u=agnostic_pnorm(evidence.X, evidence.y, p, radius, weight=evidence.times), margin=1.0)
            if not nearly_separates(self, evidence, agnostic):
                return agnostic
        u = max_pnorm_margin(evidence.X, evidence.y, p)
        if u is None:
            return agnostic
        separating = Witness(u=u)
        if evidence.scope == MISTAKEN_ROUNDS:
            return separating
        return min(separating, agnostic, key=lambda witness: self.bound(evidence, witness))

    def premises(self, evidence: Evidence, witness: Witness) -> Iterator[Premise]:
        """Check nothing but that γ > 0: what u loses is paid for."""
        gamma = _gamma(evidence, witness)
        measured = f"γ = {gamma:.6g}, X = {evidence.radius(evidence.rule.parameter):.6g}"
        yield Premise("γ > 0", gamma > 0, measured)

    def bound(self, evidence: Evidence, witness: Witness) -> float:
        """Smaller of the separable form at u's own margin and the agnostic form at γ."""
        p, b = evidence.rule.parameter, evidence.rule.update_margin
        radius, norm = evidence.radius(p), self.norm(evidence, witness)
        agnostic = bounds.pnorm(p, radius, norm, _gamma(evidence, witness), b, self.loss(evidence, witness))
        own = least(evidence.margins(witness.vector()))
        return min(agnostic, bounds.pnorm(p, radius, norm, own, b)) if own > 0 else agnostic

    def norm(self, evidence: Evidence, witness: Witness) -> float:
        """‖u‖_q."""
        return dual_norm(witness.vector(), evidence.rule.parameter)

    def loss(self, evidence: Evidence, witness: Witness) -> float:
        """L₁ = Σ max(0, 1 − y u·x/γ); 0 for a u that separates and is measured at its own margin."""
        return relative_hinge(evidence, witness.vector(), _gamma(evidence, witness))

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """‖z⁺‖_p² ≤ ‖z‖_p² + (p−1)‖x‖_p² + 2b, and u·z grows by y(u·x)."""
        p, u = step.rule.parameter, witness.vector()
        before, after, x = (pnorm_of(v, p) ** 2 for v in (step.z, step.z_next, step.x))
        return {
            "‖z⁺‖_p² ≤ ‖z‖_p² + (p−1)‖x‖_p² + 2b": before + (p - 1) * x + 2 * step.rule.update_margin - after,
            "u·z⁺ ≥ u·z + y u·x": float(u @ step.z_next - u @ step.z - step.y * (u @ step.x)),
        }


def pnorm_of(v: FloatArray, p: float) -> float:
    """‖v‖_p, scaled so that no power overflows."""
    top = float(np.abs(v).max(initial=0.0))
    return top * float(np.sum((np.abs(v) / top) ** p)) ** (1 / p) if top > 0 else 0.0


def dual_norm(u: FloatArray, p: float) -> float:
    """‖u‖_q with 1/p + 1/q = 1."""
    return pnorm_of(u, p / (p - 1))


def _gamma(evidence: Evidence, witness: Witness) -> float:
    if witness.margin is not None:
        return witness.margin
    own = least(evidence.margins(witness.vector()))
    return own if 0 < own < np.inf else 1.0
