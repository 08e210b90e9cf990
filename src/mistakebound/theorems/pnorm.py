"""Mistake bound of the p-norm Perceptron."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.theorems.base import Premise, Theorem, Witness, least

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.arrays import FloatArray
    from mistakebound.evidence import Evidence, Step


class PNorm(Theorem):
    """M ≤ (p−1)(X‖u‖_q/γ)² if y(u·x) ≥ γ > 0, ‖x‖_p ≤ X, 1/p + 1/q = 1 (Grove, Littlestone and Schuurmans 2001).

    Without separation: ((k + √(k²+4L₁))/2)² with k = √(p−1)·X‖u‖_q/γ and L₁ = Σ max(0, 1 − y u·x/γ) (Gentile 2003).
    """

    id: ClassVar[str] = "pnorm"
    rule: ClassVar[str] = "pnorm"

    def search(self, evidence: Evidence) -> Witness | None:
        """Greatest margin in the dual norm if that bounds anything; otherwise minimise the agnostic form."""
        from mistakebound.agnostic import agnostic_pnorm  # noqa: PLC0415 - scipy's optimisers load slowly
        from mistakebound.comparator import max_pnorm_margin  # noqa: PLC0415

        p = evidence.rule.parameter
        u = max_pnorm_margin(evidence.X, evidence.y, p)
        if u is not None and self.bound(evidence, Witness(u=u)) < evidence.ledger.rounds:
            return Witness(u=u)
        return Witness(u=agnostic_pnorm(evidence.X, evidence.y, p, evidence.radius(p)), margin=1.0)

    def premises(self, evidence: Evidence, witness: Witness) -> Iterator[Premise]:
        """Check nothing but that γ > 0: what u loses is paid for."""
        gamma = _gamma(evidence, witness)
        measured = (
            f"γ = {gamma:.6g}, X = {evidence.radius(evidence.rule.parameter):.6g}, L₁ = {_hinge(evidence, witness):.6g}"
        )
        yield Premise("γ > 0", gamma > 0, measured)

    def bound(self, evidence: Evidence, witness: Witness) -> float:
        """Smaller of the separable form at u's own margin and the agnostic form at γ."""
        p, b = evidence.rule.parameter, evidence.rule.update_margin
        radius, norm = evidence.radius(p), dual_norm(witness.vector(), p)
        agnostic = bounds.pnorm(p, radius, norm, _gamma(evidence, witness), b, _hinge(evidence, witness))
        own = least(evidence.margins(witness.vector()))
        return min(agnostic, bounds.pnorm(p, radius, norm, own, b)) if own > 0 else agnostic

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


def _hinge(evidence: Evidence, witness: Witness) -> float:
    gamma = _gamma(evidence, witness)
    return float(np.sum(np.maximum(0.0, 1 - evidence.margins(witness.vector()) / gamma)))
