"""Mistake bounds of the Perceptron."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.theorems.base import Theorem, indicator, relative_hinge, separates, smallest
from mistakebound.theorems.evidence import MISTAKEN_ROUNDS, Measured, Premise, Witness

if TYPE_CHECKING:
    from mistakebound.theorems.evidence import Evidence
    from mistakebound.theorems.steps import Step


class Novikoff(Theorem):
    """M ≤ (R‖u‖/γ)² if y(u·x) ≥ γ > 0 and ‖x‖₂ ≤ R (Novikoff 1962).

    With an update margin b there are at most (R² + 2b)(‖u‖/γ)² updates. See docs/theory.md, "Novikoff's theorem".
    """

    id: ClassVar[str] = "novikoff"
    rule: ClassVar[str] = "perceptron"
    norm_is: ClassVar[str] = "‖u‖₂"

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the u of greatest L2 margin."""
        from mistakebound.hindsight.pnorm import max_l2_margin  # noqa: PLC0415 - scipy's optimisers load slowly

        u = max_l2_margin(evidence.X, evidence.y)
        return [] if u is None else [self.measure(evidence, Witness(u))]

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure γ = min y(u·x) and ‖u‖₂."""
        witness = self.scaled(evidence, witness)
        scores = evidence.X @ witness.u
        gamma, norm = smallest(evidence.y * scores), float(np.linalg.norm(witness.u))
        return Measured(witness, scores, evidence.errors(scores), norm, gamma)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that u separates the labels with a margin. R is measured."""
        return (
            separates(evidence, measured.gamma),
            Premise(f"‖x‖₂ ≤ R in {evidence.every_round}", True, f"R = {evidence.radius(2):.6g}"),
        )

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return (R² + 2b)(‖u‖/γ)²."""
        return bounds.novikoff(evidence.radius(2), measured.norm, measured.gamma, evidence.rule.update_margin)

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check ‖z⁺‖² ≤ ‖z‖² + ‖x‖² + 2b, and that u·z grows by y(u·x)."""
        u, z, z_next, x = witness.u, step.z, step.z_next, step.x
        return {
            "‖z⁺‖² ≤ ‖z‖² + ‖x‖² + 2b": float(z @ z + x @ x - z_next @ z_next) + 2 * step.rule.update_margin,
            "u·z⁺ ≥ u·z + y u·x": float(u @ z_next - u @ z - step.y * (u @ x)),
        }


class PerceptronPanel(Novikoff):
    """M ≤ nk if the majority of k (odd) of n ±1 experts is always right: Novikoff with u = 1 on the k, γ = 1.

    See docs/theory.md, "The Perceptron and a majority of k experts".
    """

    id: ClassVar[str] = "perceptron-panel"
    norm_is: ClassVar[str] = "k"
    takes_variables: ClassVar[bool] = True
    in_hindsight: ClassVar[bool] = False

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure k, the number of experts in the panel, and the sum of their advice in each round."""
        return measured_panel(evidence, witness)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that advice is ±1, that the panel is odd and that its majority is always right."""
        return panel_premises(evidence, measured)

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return n·k."""
        return bounds.perceptron_panel(evidence.n, len(measured.witness.variables))

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check the lemma of Novikoff with u = 1 on the panel."""
        return super().lemma(step, Witness(indicator(witness.variables, len(step.z))))


class PerceptronAgnostic(Theorem):
    """For any u and γ: M ≤ ((R‖u‖+D)/γ)², and M ≤ ((k+√(k²+4L₁))/2)² with k = R‖u‖/γ. The smaller bound is used.

    D and L₁ are hinge losses of u: Freund and Schapire 1999 (D); Shalev-Shwartz 2007, Mohri and Rostamizadeh 2013
    (L₁). See docs/theory.md, "The Perceptron on any stream".

    On the mistaken rounds alone, u = 0 loses 1 in each round and the theorem says M ≤ M. No u does better, so such a
    certificate is vacuous. Over the whole stream, u = 0 gives M ≤ T, and a good u gives less.
    """

    id: ClassVar[str] = "perceptron-agnostic"
    rule: ClassVar[str] = "perceptron"
    agnostic: ClassVar[bool] = True
    norm_is: ClassVar[str] = "‖u‖₂"

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the solutions of two convex problems; on the mistaken rounds u = 0, because no u is better there."""
        if evidence.scope == MISTAKEN_ROUNDS:
            return [self.measure(evidence, Witness(np.zeros(evidence.n), margin=1.0))]
        from mistakebound.hindsight.pnorm import LARGE, agnostic_pnorm, agnostic_squared  # noqa: PLC0415

        radius = math.hypot(evidence.radius(2), math.sqrt(2 * evidence.rule.update_margin))
        data = evidence.X, evidence.y
        found = [agnostic_pnorm(*data, 2.0, radius, weight=evidence.times)]
        if evidence.X.nnz <= LARGE:  # on larger data the second problem takes too long
            found.append(agnostic_squared(*data, radius, weight=evidence.times))
        return [self.measure(evidence, Witness(u, margin=1.0)) for u in found]

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure ‖u‖₂ and L₁ = Σ max(0, 1 − y u·x/γ).

        Without a given γ, it is the margin if u separates, otherwise the median margin if it is positive, otherwise 1.
        """
        witness = self.scaled(evidence, witness)
        scores = evidence.X @ witness.u
        margins = evidence.y * scores
        gamma = witness.margin
        if gamma is None:
            middle = float(np.median(margins)) if len(margins) else 1.0
            gamma = next((g for g in (smallest(margins), middle) if g > 0), 1.0)
        loss, norm = relative_hinge(evidence, margins, gamma), float(np.linalg.norm(witness.u))
        return Measured(witness, scores, evidence.errors(scores), norm, gamma, loss)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that γ > 0. There is no other premise."""
        return (Premise("γ > 0", measured.gamma > 0, f"γ = {measured.gamma:.6g}, R = {evidence.radius(2):.6g}"),)

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return the smaller of the two bounds."""
        gamma = measured.gamma
        shortfall = np.maximum(0.0, 1 - evidence.y * measured.scores / gamma)
        return bounds.perceptron_agnostic(
            evidence.radius(2),
            measured.norm,
            gamma,
            squared_hinge=gamma * math.sqrt(evidence.total(shortfall**2)),
            hinge=measured.loss,
            update_margin=evidence.rule.update_margin,
        )

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check u·z⁺ ≥ u·z + γ − max(0, γ − y u·x), and the lemma of Novikoff."""
        u = witness.u
        gamma = witness.margin or 1.0
        shortfall = max(0.0, gamma - step.y * float(u @ step.x))
        growth = Novikoff().lemma(step, witness)
        return growth | {"u·z⁺ ≥ u·z + γ − hinge": float(u @ step.z_next - u @ step.z) - gamma + shortfall}


def measured_panel(evidence: Evidence, witness: Witness) -> Measured:
    """Measure k, the number of experts in the panel, and the sum of their advice in each round."""
    scores = evidence.X @ indicator(witness.variables, evidence.n)
    return Measured(witness, scores, evidence.errors(scores), float(len(witness.variables)))


def panel_premises(evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
    """Check that all n experts give ±1, that k is odd and that the panel's majority is right in every round."""
    k = len(measured.witness.variables)
    x = evidence.X
    experts = x.shape[1] - (1 if evidence.named else 0)  # names have one more column, for all unknown names
    right = evidence.y * measured.scores > 0
    return (
        Premise("every expert says +1 or −1", x.nnz == x.shape[0] * experts and bool(np.all(np.abs(x.data) == 1))),
        Premise("no update margin", evidence.rule.update_margin == 0),
        Premise("the panel is odd", k % 2 == 1, f"k = {k}"),
        Premise(f"the panel's majority is right in {evidence.every_round}", bool(right.all())),
    )
