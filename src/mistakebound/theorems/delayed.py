"""Mistake bounds for late outcomes: the rule updates if the prediction that was returned was wrong.

The other theorems require that each prediction is made with the current weights. Here the weights may be older: τ_i is
the number of updates between prediction i and its outcome, and τ̄ is their mean over the rounds that updated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mistakebound import bounds
from mistakebound.bounds.delayed import winnow_gain_delayed
from mistakebound.theorems.base import Theorem, relative_hinge, smallest
from mistakebound.theorems.evidence import Measured, Premise, Witness
from mistakebound.theorems.normalized_winnow import WinnowFixedRate
from mistakebound.theorems.pnorm import dual_norm, pnorm_of

if TYPE_CHECKING:
    from mistakebound.theorems.evidence import Evidence
    from mistakebound.theorems.steps import Step


class DelayedPNorm(Theorem):
    """M ≤ (1+2τ̄)(p−1)(X‖u‖_q/γ)². Without separation: the bound of ``pnorm`` with √(1+2τ̄)·k for k.

    See docs/theory.md, "Late outcomes: the p-norm Perceptron".
    """

    id: ClassVar[str] = "delayed-pnorm"
    rule: ClassVar[str] = "pnorm"
    norm_is: ClassVar[str] = "‖u‖_q"
    delayed: ClassVar[bool] = True

    def power(self, parameter: float) -> float:
        """Return the p of the norms, from the rule's parameter."""
        return parameter

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the u of greatest margin in the dual norm."""
        from mistakebound.hindsight.pnorm import max_pnorm_margin  # noqa: PLC0415 - it loads slowly

        u = max_pnorm_margin(evidence.X, evidence.y, self.power(evidence.parameter))
        return [] if u is None else [self.measure(evidence, Witness(u))]

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure ‖u‖_q and L₁ = Σ max(0, 1 − y u·x/γ). Without a given γ, it is the margin of u, and L₁ is 0."""
        witness = self.scaled(evidence, witness)
        scores = evidence.X @ witness.u
        margins = evidence.y * scores
        gamma = smallest(margins) if witness.margin is None else witness.margin
        loss = relative_hinge(evidence, margins, gamma) if gamma > 0 else 0.0
        norm = dual_norm(witness.u, self.power(evidence.parameter))
        return Measured(witness, scores, evidence.errors(scores), norm, gamma, loss)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that γ > 0. The bound includes the loss of u below γ."""
        radius = evidence.radius(self.power(evidence.parameter))
        sizes = f"γ = {measured.gamma:.6g}, the largest norm of an example {radius:.6g}"
        return Premise("γ > 0", measured.gamma > 0, sizes), _lateness(evidence)

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return the bound of ``pnorm`` with √(1+2τ̄)·X for X."""
        p = self.power(evidence.parameter)
        sizes = (evidence.radius(p), measured.norm, measured.gamma, evidence.mean_delay)
        return bounds.delayed_pnorm(p, *sizes, evidence.rule.update_margin, measured.loss)

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check ‖z⁺‖² ≤ ‖z‖² + (p−1)‖x‖(‖x‖ + 2‖z−z_seen‖) + 2b in p-norms, and that u·z grows by y(u·x)."""
        p, u = self.power(step.rule.parameter), witness.u
        before, after, x, gap = (pnorm_of(v, p) for v in (step.z, step.z_next, step.x, step.z - step.z_seen))
        grown = (p - 1) * x * (x + 2 * gap) + 2 * step.rule.update_margin
        return {
            "‖z⁺‖² ≤ ‖z‖² + (p−1)‖x‖(‖x‖ + 2‖z−z_seen‖) + 2b": before**2 + grown - after**2,
            "u·z⁺ ≥ u·z + y u·x": float(u @ step.z_next - u @ step.z - step.y * (u @ step.x)),
        }


class Delayed(DelayedPNorm):
    """M ≤ (1+2τ̄)(R‖u‖/γ)²: ``novikoff`` with late outcomes. The bound is tight.

    See docs/theory.md, "Late outcomes: the Perceptron".
    """

    id: ClassVar[str] = "delayed"
    rule: ClassVar[str] = "perceptron"
    norm_is: ClassVar[str] = "‖u‖₂"

    def power(self, parameter: float) -> float:  # noqa: ARG002
        """Return 2: the Euclidean norm."""
        return 2.0

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the u of greatest L2 margin."""
        from mistakebound.hindsight.pnorm import max_l2_margin  # noqa: PLC0415

        u = max_l2_margin(evidence.X, evidence.y)
        return [] if u is None else [self.measure(evidence, Witness(u))]


class DelayedWinnow(WinnowFixedRate):
    """M ≤ (RE(u‖uniform) + ηH)/(ηγ − η²L²(½+τ̄) − ηb): normalised Winnow with late outcomes.

    See docs/theory.md, "Late outcomes: normalised Winnow".
    """

    id: ClassVar[str] = "delayed-winnow"
    delayed: ClassVar[bool] = True

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the u of greatest margin with ‖u‖₁ = 1, found by linear programming."""
        from mistakebound.hindsight.winnow import max_l1_margin  # noqa: PLC0415

        u = max_l1_margin(evidence.X, evidence.y, nonnegative=not self.doubled)
        return [] if u is None else [self.measure(evidence, Witness(u))]

    def margin(self, evidence: Evidence, given: float | None, reached: float) -> tuple[float, float]:
        """Return γ and C. Without a given γ, it is the margin of u."""
        gamma = reached if given is None else given
        return gamma, self.gain(evidence, gamma)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that ‖u‖₁ = 1 and that γ is large enough for the rate and the delays."""
        gain = measured.gain
        return (
            *self.well_scaled(evidence, measured),
            Premise("γ > 0", measured.gamma > 0, f"γ = {measured.gamma:.6g}"),
            Premise("C = ηγ − η²L²(½+τ̄) − ηb > 0", gain > 0, f"C = {gain:.6g}, η = {evidence.parameter:g}"),
            _lateness(evidence),
        )

    def gain(self, evidence: Evidence, gamma: float) -> float:
        """Return C at this γ."""
        radius, delay = evidence.largest_value, evidence.mean_delay
        return winnow_gain_delayed(gamma, evidence.parameter, delay, radius, evidence.rule.update_margin)

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return (RE + ηH)/C."""
        return bounds.delayed_winnow(
            measured.norm,
            measured.gamma,
            evidence.parameter,
            evidence.mean_delay,
            evidence.largest_value,
            measured.loss,
            evidence.rule.update_margin,
        )

    def loss_of_zero(self, evidence: Evidence, measured: Measured) -> float:
        """Return γ times the number of rounds."""
        return super().loss_of_zero(evidence, measured) * measured.gamma


class DelayedBalancedWinnow(DelayedWinnow):
    """The bound of ``delayed-winnow`` on the doubled vector (x, −x), for any u with ‖u‖₁ = 1.

    See docs/theory.md, "Late outcomes: balanced Winnow".
    """

    id: ClassVar[str] = "delayed-balanced-winnow"
    rule: ClassVar[str] = "balanced-winnow"
    doubled: ClassVar[bool] = True


def _lateness(evidence: Evidence) -> Premise:
    statement = "each update is decided by the prediction that was served"
    return Premise(statement, True, f"τ̄ = {evidence.mean_delay:.6g}, {evidence.late} outcomes came late")
