"""Mistake bounds of the Perceptron."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.theorems.base import Theorem, Witness, indicator, least, relative_hinge, separates
from mistakebound.theorems.evidence import MISTAKEN_ROUNDS, Premise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.theorems.evidence import Evidence, Step


class Novikoff(Theorem):
    """M ≤ (R‖u‖/γ)² if y(u·x) ≥ γ > 0 and ‖x‖₂ ≤ R (Novikoff 1962).

    With an update margin b the updates are at most (R² + 2b)(‖u‖/γ)².
    """

    id: ClassVar[str] = "novikoff"
    rule: ClassVar[str] = "perceptron"
    norm_is: ClassVar[str] = "‖u‖₂"

    def search(self, evidence: Evidence) -> Witness | None:
        """Maximum L2 margin."""
        from mistakebound.hindsight.separating import max_l2_margin  # noqa: PLC0415 - scipy's optimisers load slowly

        u = max_l2_margin(evidence.X, evidence.y)
        return None if u is None else Witness(u=u)

    def premises(self, evidence: Evidence, witness: Witness) -> Iterator[Premise]:
        """Separation with a margin; R is taken as measured."""
        yield separates(evidence, least(evidence.margins(witness.vector())))
        yield Premise(f"‖x‖₂ ≤ R in {evidence.every_round}", True, f"R = {evidence.radius(2):.6g}")

    def bound(self, evidence: Evidence, witness: Witness) -> float:
        """(R² + 2b)(‖u‖/γ)²."""
        u = witness.vector()
        gamma = least(evidence.margins(u))
        return bounds.novikoff(evidence.radius(2), self.norm(evidence, witness), gamma, evidence.rule.update_margin)

    def norm(self, evidence: Evidence, witness: Witness) -> float:  # noqa: ARG002
        """‖u‖₂."""
        return float(np.linalg.norm(witness.vector()))

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """‖z⁺‖² ≤ ‖z‖² + ‖x‖² + 2b, and u·z grows by y(u·x), so by γ at least."""
        u, z, z_next, x = witness.vector(), step.z, step.z_next, step.x
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

    def premises(self, evidence: Evidence, witness: Witness) -> Iterator[Premise]:
        """±1 advice, an odd panel, always right."""
        yield from panel_premises(evidence, witness)

    def bound(self, evidence: Evidence, witness: Witness) -> float:
        """n·k."""
        return bounds.perceptron_panel(evidence.n, len(witness.chosen()))

    def norm(self, evidence: Evidence, witness: Witness) -> float:  # noqa: ARG002
        """Number of experts in the panel."""
        return float(len(witness.chosen()))

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Novikoff's, with the panel's indicator as u."""
        return super().lemma(step, Witness(u=indicator(witness.chosen(), len(step.z))))


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

    def search(self, evidence: Evidence) -> Witness | None:
        """Smaller of the two convex problems' solutions; u = 0 over the mistaken rounds, where nothing is better."""
        if evidence.scope == MISTAKEN_ROUNDS:
            return Witness(u=np.zeros(evidence.n), margin=1.0)
        from mistakebound.hindsight.agnostic import LARGE, agnostic_pnorm, agnostic_squared  # noqa: PLC0415

        radius = math.hypot(evidence.radius(2), math.sqrt(2 * evidence.rule.update_margin))
        data = evidence.X, evidence.y
        found = [Witness(u=agnostic_pnorm(*data, 2.0, radius, weight=evidence.times), margin=1.0)]
        if evidence.X.nnz <= LARGE:  # otherwise the time is better spent on one of them
            found.append(Witness(u=agnostic_squared(*data, radius, weight=evidence.times), margin=1.0))
        return min(found, key=lambda witness: self.bound(evidence, witness))

    def premises(self, evidence: Evidence, witness: Witness) -> Iterator[Premise]:
        """Check nothing but that γ > 0."""
        gamma = self._gamma(evidence, witness)
        yield Premise("γ > 0", gamma > 0, f"γ = {gamma:.6g}, R = {evidence.radius(2):.6g}")

    def bound(self, evidence: Evidence, witness: Witness) -> float:
        """Smaller of the two forms."""
        u, gamma = witness.vector(), self._gamma(evidence, witness)
        shortfall = np.maximum(0.0, 1 - evidence.margins(u) / gamma)
        return bounds.perceptron_agnostic(
            evidence.radius(2),
            self.norm(evidence, witness),
            gamma,
            squared_hinge=gamma * math.sqrt(evidence.total(shortfall**2)),
            hinge=self.loss(evidence, witness),
            update_margin=evidence.rule.update_margin,
        )

    def norm(self, evidence: Evidence, witness: Witness) -> float:  # noqa: ARG002
        """‖u‖₂."""
        return float(np.linalg.norm(witness.vector()))

    def loss(self, evidence: Evidence, witness: Witness) -> float:
        """L₁ = Σ max(0, 1 − y u·x/γ)."""
        return relative_hinge(evidence, witness.vector(), self._gamma(evidence, witness))

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """u·z⁺ ≥ u·z + γ − max(0, γ − y u·x), and the growth of the norm as for Novikoff."""
        u = witness.vector()
        gamma = witness.margin or 1.0
        shortfall = max(0.0, gamma - step.y * float(u @ step.x))
        growth = Novikoff().lemma(step, witness)
        return growth | {"u·z⁺ ≥ u·z + γ − hinge": float(u @ step.z_next - u @ step.z) - gamma + shortfall}

    def _gamma(self, evidence: Evidence, witness: Witness) -> float:
        """Return γ as given, otherwise the margin of u if it separates, otherwise the median margin or 1."""
        if witness.margin is not None:
            return witness.margin
        margins = evidence.margins(witness.vector())
        return next((g for g in (least(margins), float(np.median(margins)) if len(margins) else 1.0) if g > 0), 1.0)


def panel_premises(evidence: Evidence, witness: Witness) -> Iterator[Premise]:
    """±1 advice from all n experts, k odd, and the panel's majority right in every round."""
    k = len(witness.chosen())
    x = evidence.X
    experts = x.shape[1] - (1 if evidence.ledger.named else 0)  # a named learner counts one for those without a name
    yield Premise("every expert says +1 or −1", x.nnz == x.shape[0] * experts and bool(np.all(np.abs(x.data) == 1)))
    yield Premise("no update margin", evidence.rule.update_margin == 0)
    yield Premise("the panel is odd", k % 2 == 1, f"k = {k}")
    right = evidence.margins(indicator(witness.chosen(), evidence.n)) > 0
    yield Premise(f"the panel's majority is right in {evidence.every_round}", bool(right.all()))
