"""Mistake bounds of the Perceptron."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.theorems.base import Theorem, indicator, least, relative_hinge, separates
from mistakebound.theorems.evidence import MISTAKEN_ROUNDS, Measured, Premise, Witness

if TYPE_CHECKING:
    from mistakebound.theorems.evidence import Evidence, Step


class Novikoff(Theorem):
    """M ≤ (R‖u‖/γ)² if y(u·x) ≥ γ > 0 and ‖x‖₂ ≤ R (Novikoff 1962).

    With an update margin b the updates are at most (R² + 2b)(‖u‖/γ)².
    """

    id: ClassVar[str] = "novikoff"
    rule: ClassVar[str] = "perceptron"
    norm_is: ClassVar[str] = "‖u‖₂"

    def search(self, evidence: Evidence) -> list[Measured]:
        """Maximum L2 margin."""
        from mistakebound.hindsight.pnorm import max_l2_margin  # noqa: PLC0415 - scipy's optimisers load slowly

        u = max_l2_margin(evidence.X, evidence.y)
        return [] if u is None else [self.measure(evidence, Witness(u))]

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """γ = min y(u·x), and ‖u‖₂."""
        witness = self.scaled(evidence, witness)
        scores = evidence.X @ witness.u
        gamma, norm = least(evidence.y * scores), float(np.linalg.norm(witness.u))
        return Measured(witness, scores, evidence.errors(scores), norm, gamma)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Separation with a margin; R is taken as measured."""
        return (
            separates(evidence, measured.gamma),
            Premise(f"‖x‖₂ ≤ R in {evidence.every_round}", True, f"R = {evidence.radius(2):.6g}"),
        )

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """(R² + 2b)(‖u‖/γ)²."""
        return bounds.novikoff(evidence.radius(2), measured.norm, measured.gamma, evidence.rule.update_margin)

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """‖z⁺‖² ≤ ‖z‖² + ‖x‖² + 2b, and u·z grows by y(u·x), so by γ at least."""
        u, z, z_next, x = witness.u, step.z, step.z_next, step.x
        return {
            "‖z⁺‖² ≤ ‖z‖² + ‖x‖² + 2b": float(z @ z + x @ x - z_next @ z_next) + 2 * step.rule.update_margin,
            "u·z⁺ ≥ u·z + y u·x": float(u @ z_next - u @ z - step.y * (u @ x)),
        }


class PerceptronPanel(Novikoff):
    """M ≤ nk if the majority of k (odd) of n ±1 experts is always right: Novikoff with u = 1 on the k, γ = 1."""

    id: ClassVar[str] = "perceptron-panel"
    norm_is: ClassVar[str] = "k"
    takes_variables: ClassVar[bool] = True
    in_hindsight: ClassVar[bool] = False

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """The sum of what the experts say, and k."""
        return measured_panel(evidence, witness)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """±1 advice, an odd panel, always right."""
        return panel_premises(evidence, measured)

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """n·k."""
        return bounds.perceptron_panel(evidence.n, len(measured.witness.variables))

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Novikoff's, with the panel's indicator as u."""
        return super().lemma(step, Witness(indicator(witness.variables, len(step.z))))


class PerceptronAgnostic(Theorem):
    """No premise: any u and γ, paid for by hinge losses. M ≤ ((R‖u‖+D)/γ)², or ((k+√(k²+4L₁))/2)² with k = R‖u‖/γ.

    Freund and Schapire 1999 (D); Shalev-Shwartz 2007, Mohri and Rostamizadeh 2013 (L₁). The smaller one is taken.

    Over the mistaken rounds alone u = 0 loses 1 in each of them and the theorem says M ≤ M; no u does better. Such a
    certificate is vacuous. Over the whole stream u = 0 says M ≤ T, and a good u says more.
    """

    id: ClassVar[str] = "perceptron-agnostic"
    rule: ClassVar[str] = "perceptron"
    agnostic: ClassVar[bool] = True
    norm_is: ClassVar[str] = "‖u‖₂"

    def search(self, evidence: Evidence) -> list[Measured]:
        """The solutions of two convex problems; u = 0 over the mistaken rounds, where nothing is better."""
        if evidence.scope == MISTAKEN_ROUNDS:
            return [self.measure(evidence, Witness(np.zeros(evidence.n), margin=1.0))]
        from mistakebound.hindsight.pnorm import LARGE, agnostic_pnorm, agnostic_squared  # noqa: PLC0415

        radius = math.hypot(evidence.radius(2), math.sqrt(2 * evidence.rule.update_margin))
        data = evidence.X, evidence.y
        found = [agnostic_pnorm(*data, 2.0, radius, weight=evidence.times)]
        if evidence.X.nnz <= LARGE:  # otherwise the time is better spent on one of them
            found.append(agnostic_squared(*data, radius, weight=evidence.times))
        return [self.measure(evidence, Witness(u, margin=1.0)) for u in found]

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """‖u‖₂ and L₁ = Σ max(0, 1 − y u·x/γ); γ as given, or the margin if u separates, or the median margin or 1."""
        witness = self.scaled(evidence, witness)
        scores = evidence.X @ witness.u
        margins = evidence.y * scores
        gamma = witness.margin
        if gamma is None:
            middle = float(np.median(margins)) if len(margins) else 1.0
            gamma = next((g for g in (least(margins), middle) if g > 0), 1.0)
        loss, norm = relative_hinge(evidence, margins, gamma), float(np.linalg.norm(witness.u))
        return Measured(witness, scores, evidence.errors(scores), norm, gamma, loss)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check nothing but that γ > 0."""
        return (Premise("γ > 0", measured.gamma > 0, f"γ = {measured.gamma:.6g}, R = {evidence.radius(2):.6g}"),)

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Smaller of the two forms."""
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
        """u·z⁺ ≥ u·z + γ − max(0, γ − y u·x), and the growth of the norm as for Novikoff."""
        u = witness.u
        gamma = witness.margin or 1.0
        shortfall = max(0.0, gamma - step.y * float(u @ step.x))
        growth = Novikoff().lemma(step, witness)
        return growth | {"u·z⁺ ≥ u·z + γ − hinge": float(u @ step.z_next - u @ step.z) - gamma + shortfall}


def measured_panel(evidence: Evidence, witness: Witness) -> Measured:
    """The sum of what the k experts say in each round, and k."""
    scores = evidence.X @ indicator(witness.variables, evidence.n)
    return Measured(witness, scores, evidence.errors(scores), float(len(witness.variables)))


def panel_premises(evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
    """±1 advice from all n experts, k odd, and the panel's majority right in every round."""
    k = len(measured.witness.variables)
    x = evidence.X
    experts = x.shape[1] - (1 if evidence.named else 0)  # a named learner counts one for those without a name
    right = evidence.y * measured.scores > 0
    return (
        Premise("every expert says +1 or −1", x.nnz == x.shape[0] * experts and bool(np.all(np.abs(x.data) == 1))),
        Premise("no update margin", evidence.rule.update_margin == 0),
        Premise("the panel is odd", k % 2 == 1, f"k = {k}"),
        Premise(f"the panel's majority is right in {evidence.every_round}", bool(right.all())),
    )
