"""Mistake bounds for outcomes that come late (THEORY §5): the rule updates if the prediction that was served was wrong.

The plain theorems ask that a prediction is made with the weights of now. Here it may be older: τ_i is the number of
updates between prediction i and its outcome, and τ̄ their mean over the rounds that updated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.bounds.delayed import winnow_gain_delayed
from mistakebound.theorems.base import Theorem, Witness, least, relative_hinge
from mistakebound.theorems.evidence import Premise
from mistakebound.theorems.normalized_winnow import WinnowAgnostic
from mistakebound.theorems.pnorm import dual_norm, pnorm_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.theorems.evidence import Evidence, Step


def _lateness(evidence: Evidence) -> Premise:
    statement = "each update is decided by the prediction that was served"
    return Premise(statement, True, f"τ̄ = {evidence.mean_delay:.6g}, {evidence.ledger.late} outcomes came late")


def _gamma(evidence: Evidence, witness: Witness) -> float:
    """γ as given, otherwise the margin of u."""
    return least(evidence.margins(witness.vector())) if witness.margin is None else witness.margin


class DelayedPNorm(Theorem):
    """M ≤ (1+2τ̄)(p−1)(X‖u‖_q/γ)², and in the hinge form √(1+2τ̄)·k for k: ``pnorm`` with late outcomes."""

    id: ClassVar[str] = "delayed-pnorm"
    rule: ClassVar[str] = "pnorm"
    norm_is: ClassVar[str] = "‖u‖_q"
    delayed: ClassVar[bool] = True

    def power(self, evidence: Evidence) -> float:
        """The p of the norm."""
        return evidence.rule.parameter

    def search(self, evidence: Evidence) -> Witness | None:
        """Greatest margin in the dual norm."""
        from mistakebound.hindsight.separating import max_pnorm_margin  # noqa: PLC0415 - scipy's optimisers load slowly

        u = max_pnorm_margin(evidence.X, evidence.y, self.power(evidence))
        return None if u is None else Witness(u=u)

    def premises(self, evidence: Evidence, witness: Witness) -> Iterator[Premise]:
        """Check that γ > 0: what u loses below it is paid for."""
        gamma, radius = _gamma(evidence, witness), evidence.radius(self.power(evidence))
        yield Premise("γ > 0", gamma > 0, f"γ = {gamma:.6g}, the largest norm of an example {radius:.6g}")
        yield _lateness(evidence)

    def bound(self, evidence: Evidence, witness: Witness) -> float:
        """The formula of ``pnorm`` with √(1+2τ̄)·X for X."""
        p = self.power(evidence)
        sizes = (evidence.radius(p), self.norm(evidence, witness), _gamma(evidence, witness), evidence.mean_delay)
        return bounds.delayed_pnorm(p, *sizes, evidence.rule.update_margin, self.loss(evidence, witness))

    def norm(self, evidence: Evidence, witness: Witness) -> float:
        """‖u‖_q."""
        return dual_norm(witness.vector(), self.power(evidence))

    def loss(self, evidence: Evidence, witness: Witness) -> float:
        """L₁ = Σ max(0, 1 − y u·x/γ); 0 for a u that separates and is measured at its own margin."""
        return relative_hinge(evidence, witness.vector(), _gamma(evidence, witness))

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """‖z⁺‖² ≤ ‖z‖² + (p−1)‖x‖(‖x‖ + 2‖z−z_seen‖) + 2b, in p-norms, and u·z grows by y(u·x)."""
        p, u = step.power, witness.vector()
        before, after, x, gap = (pnorm_of(v, p) for v in (step.z, step.z_next, step.x, step.z - step.z_seen))
        return {
            "‖z⁺‖² ≤ ‖z‖² + (p−1)‖x‖(‖x‖ + 2‖z−z_seen‖) + 2b": before**2
            + (p - 1) * x * (x + 2 * gap)
            + 2 * step.rule.update_margin
            - after**2,
            "u·z⁺ ≥ u·z + y u·x": float(u @ step.z_next - u @ step.z - step.y * (u @ step.x)),
        }


class Delayed(DelayedPNorm):
    """M ≤ (1+2τ̄)(R‖u‖/γ)²: ``novikoff`` with late outcomes. It is tight."""

    id: ClassVar[str] = "delayed"
    rule: ClassVar[str] = "perceptron"
    norm_is: ClassVar[str] = "‖u‖₂"

    def power(self, evidence: Evidence) -> float:  # noqa: ARG002
        """2."""
        return 2.0

    def search(self, evidence: Evidence) -> Witness | None:
        """Maximum L2 margin."""
        from mistakebound.hindsight.separating import max_l2_margin  # noqa: PLC0415

        u = max_l2_margin(evidence.X, evidence.y)
        return None if u is None else Witness(u=u)


class DelayedWinnow(WinnowAgnostic):
    """M ≤ (RE(u‖uniform) + ηH)/(ηγ − η²L²(½+τ̄) − ηb): normalised Winnow with late outcomes."""

    id: ClassVar[str] = "delayed-winnow"
    agnostic: ClassVar[bool] = False
    delayed: ClassVar[bool] = True

    def search(self, evidence: Evidence) -> Witness | None:
        """Maximum L1/L∞ margin, by linear programming."""
        from mistakebound.hindsight.separating import max_l1_margin  # noqa: PLC0415

        u = max_l1_margin(evidence.X, evidence.y, nonnegative=not self.doubled)
        return None if u is None else Witness(u=u)

    def premises(self, evidence: Evidence, witness: Witness) -> Iterator[Premise]:
        """A distribution, and a margin that is large enough for the rate and the delays."""
        yield self._unit(witness)
        yield from self._steps(evidence)
        gamma, rule = _gamma(evidence, witness), evidence.rule
        yield Premise("γ > 0", gamma > 0, f"γ = {gamma:.6g}")
        gain = winnow_gain_delayed(
            gamma, rule.parameter, evidence.mean_delay, evidence.radius(np.inf), rule.update_margin
        )
        yield Premise("C = ηγ − η²L²(½+τ̄) − ηb > 0", gain > 0, f"C = {gain:.6g}, η = {rule.parameter:g}")
        yield _lateness(evidence)

    def bound(self, evidence: Evidence, witness: Witness) -> float:
        """(RE + ηH)/C."""
        rule = evidence.rule
        return bounds.delayed_winnow(
            self.norm(evidence, witness),
            _gamma(evidence, witness),
            rule.parameter,
            evidence.mean_delay,
            evidence.radius(np.inf),
            self.loss(evidence, witness),
            rule.update_margin,
        )

    def _gamma(self, evidence: Evidence, witness: Witness) -> float:
        return _gamma(evidence, witness)


class DelayedBalancedWinnow(DelayedWinnow):
    """The same on (x, −x): any u with ‖u‖₁ = 1."""

    id: ClassVar[str] = "delayed-balanced-winnow"
    rule: ClassVar[str] = "balanced-winnow"
    doubled: ClassVar[bool] = True
