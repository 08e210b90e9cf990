"""Mistake bounds for learners that were mixed from shards: iterative parameter mixing.

In epoch n, shard i continues from the mixed z of the epoch before, updates k_in times, and its z gets the share μ_in.
Σ_nΣ_i μ_in k_in ≤ B, the bound of one learner: the potential of each proof is convex in z, so mixing does not raise it.
If Σ_i μ_i k_i ≥ Σ_i k_i/shards in every epoch, the total is at most shards·B, which the certificate shows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.theorems.base import Theorem, indicator, separates, smallest
from mistakebound.theorems.evidence import Measured, Premise, Witness
from mistakebound.theorems.normalized_winnow import WinnowFixedRate, entropy_falls, log_weights
from mistakebound.theorems.perceptron import Novikoff
from mistakebound.theorems.pnorm import PNorm, dual_norm, pnorm_of
from mistakebound.theorems.winnow import Littlestone, as_winnow

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.rules.base import Rule
    from mistakebound.theorems.evidence import Evidence
    from mistakebound.theorems.steps import Mix, Step

ROUNDING = 1e-9


class Mixed(Theorem):
    """What the theorems on mixing have in common; the other base class is the theorem on one learner."""

    mixed: ClassVar[bool] = True

    def of_shards(self, evidence: Evidence, measured: Measured, shards: int) -> float:
        """Return shards·B."""
        raise NotImplementedError

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return shards·B, the bound on the updates of all shards."""
        return self.of_shards(evidence, measured, evidence.shards)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check the premises for one learner, and that the shares are not too small where there are many updates."""
        own = super().premises(evidence, measured)
        if not all(premise.holds for premise in own):
            return own
        try:
            bound = self.of_shards(evidence, measured, 1)
        except (ValueError, ArithmeticError):
            bound = math.inf  # the certificate says why
        return *own, self.shares_fit(evidence, bound)

    def shares_fit(self, evidence: Evidence, bound: float) -> Premise:
        """Return the premise on the shares, with both numbers that the theorem compares."""
        epochs, most = evidence.epochs, evidence.shards
        counts = [sum(piece.end - piece.first for piece in epoch) for epoch in epochs]
        means = [sum(piece.share * (piece.end - piece.first) for piece in epoch) for epoch in epochs]
        fit = all(mean >= count / most * (1 - ROUNDING) for mean, count in zip(means, counts, strict=True))
        total = sum(means) if epochs else float(evidence.updates)
        sizes = f"ΣΣ μk = {total:.6g}, at most B = {bound:.6g}; {most} shards"
        return Premise("Σ μ_i k_i ≥ Σ k_i/shards in every epoch, with k_i updates of shard i", fit, sizes)

    def potential(self, rule: Rule, z: FloatArray, witness: Witness) -> float:
        """Return what the proof follows besides u·z; it is convex in z."""
        raise NotImplementedError

    def lemma_of_mixing(self, mix: Mix, witness: Witness) -> dict[str, float]:
        """Return the inequalities of the proof for one mix, as {inequality: slack}."""
        mean = sum(
            share * self.potential(mix.rule, end, witness) for share, end in zip(mix.shares, mix.ends, strict=True)
        )
        return {"Φ(Σμz) ≤ ΣμΦ(z)": mean - self.potential(mix.rule, mix.z, witness)}


class MixingPerceptron(Mixed, Novikoff):
    """ΣΣ μk ≤ (R² + 2b)(‖u‖/γ)², so that all shards together make at most as many times this as there are shards.

    See docs/theory.md, "Mixing: the Perceptron".
    """

    id: ClassVar[str] = "mixing"

    def of_shards(self, evidence: Evidence, measured: Measured, shards: int) -> float:
        """Return shards·(R² + 2b)(‖u‖/γ)²."""
        return bounds.mixing(
            evidence.radius(2), measured.norm, measured.gamma, shards, update_margin=evidence.rule.update_margin
        )

    def potential(self, rule: Rule, z: FloatArray, witness: Witness) -> float:  # noqa: ARG002
        """Return ‖z‖²."""
        return float(z @ z)


class MixingPNorm(Mixed, PNorm):
    """ΣΣ μk ≤ ((p−1)X² + 2b)(‖u‖_q/γ)².

    See docs/theory.md, "Mixing: the p-norm Perceptron".
    """

    id: ClassVar[str] = "mixing-pnorm"

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the u of greatest margin in the dual norm."""
        from mistakebound.hindsight.pnorm import max_pnorm_margin  # noqa: PLC0415 - it loads slowly

        u = max_pnorm_margin(evidence.X, evidence.y, evidence.parameter)
        return [] if u is None else [self.measure(evidence, Witness(u))]

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure γ = min y(u·x) and ‖u‖_q."""
        witness = self.scaled(evidence, witness)
        scores = evidence.X @ witness.u
        norm = dual_norm(witness.u, evidence.parameter)
        return Measured(witness, scores, evidence.errors(scores), norm, smallest(evidence.y * scores))

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that u separates the labels with a margin, and the shares."""
        own = separates(evidence, measured.gamma)
        return (*super().premises(evidence, measured)[1:], own) if own.holds else (own,)

    def of_shards(self, evidence: Evidence, measured: Measured, shards: int) -> float:
        """Return shards·((p−1)X² + 2b)(‖u‖_q/γ)²."""
        p, b = evidence.parameter, evidence.rule.update_margin
        return bounds.mixing_pnorm(p, evidence.radius(p), measured.norm, measured.gamma, shards, update_margin=b)

    def potential(self, rule: Rule, z: FloatArray, witness: Witness) -> float:  # noqa: ARG002
        """Return ‖z‖_p²."""
        return pnorm_of(z, rule.parameter) ** 2


class MixingWinnow(Mixed, WinnowFixedRate):
    """ΣΣ μk ≤ RE(u‖uniform)/C with C of ``winnow-fixed-rate``.

    See docs/theory.md, "Mixing: normalised Winnow".
    """

    id: ClassVar[str] = "mixing-winnow"
    formula: ClassVar[Any] = staticmethod(bounds.mixing_winnow)

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the u of greatest margin with ‖u‖₁ = 1, found by linear programming."""
        from mistakebound.hindsight.winnow import max_l1_margin  # noqa: PLC0415 - scipy's optimisers load slowly

        u = max_l1_margin(evidence.X, evidence.y, nonnegative=not self.doubled)
        return [] if u is None else [self.measure(evidence, Witness(u))]

    def of_shards(self, evidence: Evidence, measured: Measured, shards: int) -> float:
        """Return shards·RE/C."""
        radius = evidence.largest_value
        found: float = self.formula(
            evidence.n,
            min(measured.gamma, radius),
            evidence.parameter,
            shards,
            radius,
            relative_entropy=measured.norm,
            update_margin=evidence.rule.update_margin,
        )
        return found

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check RE(u‖w⁺) ≤ RE(u‖w) − C + η·max(0, γ − y u·x), on (x, −x) if doubled."""
        return entropy_falls(step, witness, doubled=self.doubled)

    def potential(self, rule: Rule, z: FloatArray, witness: Witness) -> float:
        """Return −Σu ln w, which differs from RE(u‖w) by a number that does not depend on z."""
        u = witness.u
        spread = np.concatenate([np.maximum(u, 0), np.maximum(-u, 0)]) if self.doubled else u
        on = spread > 0
        return -float(spread[on] @ log_weights(z, rule.parameter, doubled=self.doubled)[on])


class MixingBalancedWinnow(MixingWinnow):
    """The bound of ``mixing-winnow`` on the doubled vector (x, −x), for any u with ‖u‖₁ = 1.

    See docs/theory.md, "Mixing: balanced Winnow".
    """

    id: ClassVar[str] = "mixing-balanced-winnow"
    rule: ClassVar[str] = "balanced-winnow"
    doubled: ClassVar[bool] = True
    formula: ClassVar[Any] = staticmethod(bounds.mixing_balanced_winnow)


class MixingLittlestone(Mixed, Littlestone):
    """ΣΣ μk < αn/((α−1)θ) + (1+α)·r·(1 + log_α θ) if the labels are an OR of r of the n variables, and θ ≥ 1.

    See docs/theory.md, "Mixing: Winnow".
    """

    id: ClassVar[str] = "mixing-littlestone"

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that θ ≥ 1, and the premises of ``littlestone`` and on the shares."""
        theta = as_winnow(evidence.rule).theta
        high = Premise("θ ≥ 1", theta >= 1, f"θ = {theta:g}")
        return (*super().premises(evidence, measured), high) if high.holds else (high,)

    def of_shards(self, evidence: Evidence, measured: Measured, shards: int) -> float:
        """Return shards·(αn/((α−1)θ) + (1+α)·r·(1 + log_α θ))."""
        rule, r = as_winnow(evidence.rule), len(measured.witness.variables)
        return bounds.mixing_littlestone(evidence.n, r, rule.theta, rule.alpha, shards)

    def potential(self, rule: Rule, z: FloatArray, witness: Witness) -> float:  # noqa: ARG002
        """Return Σα^z."""
        return float(np.sum(rule.weights(z)))

    def lemma_of_mixing(self, mix: Mix, witness: Witness) -> dict[str, float]:
        """Check also that relevant z stay at most 1 + log_α θ."""
        rule, relevant = as_winnow(mix.rule), indicator(witness.variables, len(mix.z)) > 0
        most = 1 + np.log(rule.theta) / np.log(rule.alpha)
        highest = max(float(np.max(end[relevant], initial=-np.inf)) for end in mix.ends)
        return super().lemma_of_mixing(mix, witness) | {"z ≤ 1 + log_α θ": most - highest}
