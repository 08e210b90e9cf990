"""Mistake bounds of normalised and balanced Winnow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.bounds.winnow import winnow_agnostic_unchecked, winnow_gain_unchecked
from mistakebound.theorems.base import NEARLY, Theorem, indicator, separates
from mistakebound.theorems.evidence import MISTAKEN_ROUNDS, Measured, Premise, Witness
from mistakebound.theorems.perceptron import measured_panel, panel_premises

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.theorems.evidence import Evidence
    from mistakebound.theorems.steps import Step


class WinnowFixedRate(Theorem):
    """M ≤ RE(u‖uniform)/C ≤ ln n/C, C = ηγ − ln cosh(ηL) > 0, if u ≥ 0, ‖u‖₁ = 1, y(u·x) ≥ γ, ‖x‖_∞ ≤ L.

    With an update margin b: C = ηγ − ln(cosh ηL + (b/L) sinh ηL). See docs/theory.md, "Normalised Winnow at a fixed
    rate".
    """

    id: ClassVar[str] = "winnow-fixed-rate"
    rule: ClassVar[str] = "normalized-winnow"
    norm_is: ClassVar[str] = "RE(u‖uniform)"
    doubled: ClassVar[bool] = False
    """Whether the rule doubles x to (x, −x). Then u may have either sign."""

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the u of greatest margin with u ≥ 0 and ‖u‖₁ = 1, found by linear programming."""
        from mistakebound.hindsight.winnow import max_l1_margin  # noqa: PLC0415 - scipy's optimisers load slowly

        if "l1" not in evidence.searched:
            evidence.searched["l1"] = max_l1_margin(evidence.X, evidence.y, nonnegative=True)
        u = evidence.searched["l1"]
        return [] if u is None else [self.measure(evidence, Witness(u))]

    def scaled(self, evidence: Evidence, witness: Witness) -> Witness:  # noqa: ARG002
        """Scale u to ‖u‖₁ = 1."""
        return witness._replace(u=unit_l1(witness.u))

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure RE(u‖uniform) (over 2n features if doubled), γ, C at this γ, and H = Σ max(0, γ − y u·x)."""
        u = unit_l1(witness.u)
        scores = evidence.X @ u
        margins = evidence.y * scores
        norm = relative_entropy(np.abs(u), 2 * evidence.n if self.doubled else evidence.n)
        gamma, gain = self.margin(evidence, witness.margin, float(np.min(margins, initial=np.inf)))
        loss = evidence.total(np.maximum(0.0, gamma - margins))
        return Measured(witness._replace(u=u), scores, evidence.errors(scores), norm, gamma, loss, gain)

    def margin(self, evidence: Evidence, given: float | None, reached: float) -> tuple[float, float]:  # noqa: ARG002
        """Return γ = min y(u·x), and C at this γ."""
        return reached, self.gain(evidence, reached)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that u is a distribution that separates the labels, with a margin large enough for the rate."""
        gain = measured.gain
        return (
            *self.well_scaled(evidence, measured),
            separates(evidence, measured.gamma),
            Premise("C = ηγ − ln cosh(ηL) > 0", gain > 0, f"C = {gain:.6g}, η = {evidence.parameter:g}"),
        )

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return RE(u‖uniform)/C."""
        rule, radius = evidence.rule, evidence.largest_value
        return bounds.winnow_fixed_rate(
            evidence.n,
            min(measured.gamma, radius),
            evidence.parameter,
            radius,
            relative_entropy=measured.norm,
            update_margin=rule.update_margin,
        )

    def gain(self, evidence: Evidence, gamma: float) -> float:
        """Return C at this γ; −∞ if γ ≤ 0. Rounding may put γ above the radius; then C is taken at the radius."""
        radius, rule = evidence.largest_value, evidence.rule
        if gamma <= 0:
            return -math.inf
        if radius == 0:
            return math.inf
        return winnow_gain_unchecked(min(gamma, radius), evidence.parameter, radius, rule.update_margin)

    def well_scaled(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that ‖u‖₁ = 1. A step too small for float32 weights adds a premise that fails."""
        u, step = measured.witness.u, evidence.parameter * evidence.largest_value
        holds = abs(float(np.abs(u).sum()) - 1) <= 2 * UNIT and (self.doubled or bool(np.all(u >= 0)))
        unit = Premise("‖u‖₁ = 1" if self.doubled else "u ≥ 0 and ‖u‖₁ = 1", holds)
        if step < LEAST_STEP:
            return unit, Premise(f"ηL ≥ {LEAST_STEP:g}, for weights in float32", False, f"ηL = {step:.6g}")
        return (unit,)

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check RE(u‖w⁺) ≤ RE(u‖w) − C + η·max(0, γ − y u·x)."""
        return entropy_falls(step, witness, doubled=False)


class WinnowBestRate(WinnowFixedRate):
    """M ≤ ln n/g(γ/L) ≤ 2L² ln n/γ² if the learner ran with η = (1/2L) ln((L+γ)/(L−γ)) for this γ and L.

    Conversely, the rate η of the learner is the best one for γ = L·tanh(ηL), and u must reach that margin. See
    docs/theory.md, "Normalised Winnow at the best rate".
    """

    id: ClassVar[str] = "winnow-best-rate"

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that u is a distribution with the margin that the rate is best for."""
        wanted = best_margin(evidence)
        reached = measured.gamma >= wanted * (1 - 1e-9)
        return (
            *self.well_scaled(evidence, measured),
            Premise("y(u·x) ≥ γ, the margin that η is best for", reached, f"γ = {wanted:.6g}"),
            Premise("no update margin", evidence.rule.update_margin == 0),
        )

    def bound(self, evidence: Evidence, measured: Measured) -> float:  # noqa: ARG002
        """Return ln n/g(γ/L)."""
        return bounds.winnow_best_rate(evidence.n, best_margin(evidence), evidence.largest_value)


class WinnowAgnostic(WinnowFixedRate):
    """M ≤ (RE(u‖uniform) + ηH)/C for any u ≥ 0, ‖u‖₁ = 1 and any γ with C > 0, H = Σ max(0, γ − y u·x).

    See docs/theory.md, "Normalised Winnow on any stream".
    """

    id: ClassVar[str] = "winnow-agnostic"
    agnostic: ClassVar[bool] = True

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the u and γ of least bound; even weights on the mistaken rounds, where the bound is circular."""
        from mistakebound.hindsight.winnow import agnostic_winnow, even_weights  # noqa: PLC0415

        rule, radius = evidence.rule, evidence.largest_value
        if math.isinf(evidence.parameter):
            return []
        if evidence.scope == MISTAKEN_ROUNDS or rule.update_margin >= radius:
            u, gamma = even_weights(evidence.X, evidence.y, evidence.n, doubled=self.doubled), radius
        else:
            u, gamma = agnostic_winnow(
                evidence.X,
                evidence.y,
                evidence.n,
                evidence.parameter,
                radius,
                doubled=self.doubled,
                update_margin=rule.update_margin,
                weight=evidence.times,
            )
        return [self.measure(evidence, Witness(u, margin=gamma))]

    def margin(self, evidence: Evidence, given: float | None, reached: float) -> tuple[float, float]:
        """Return γ, and C at this γ. Without a given γ, it is the margin of u if then C > 0, otherwise L."""
        if given is not None:
            return given, self.gain(evidence, given)
        gain = self.gain(evidence, reached)
        if reached <= evidence.largest_value and gain > 0:
            return reached, gain
        return evidence.largest_value, self.gain(evidence, evidence.largest_value)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that ‖u‖₁ = 1 and that γ is large enough for the rate."""
        gamma, gain, radius = measured.gamma, measured.gain, evidence.largest_value
        return (
            *self.well_scaled(evidence, measured),
            Premise("0 < γ ≤ L", 0 < gamma <= radius, f"γ = {gamma:.6g}, L = {radius:.6g}"),
            Premise("C = ηγ − ln cosh(ηL) > 0", gain > 0, f"C = {gain:.6g}, γ = {gamma:.6g}"),
        )

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return (RE + ηH)/C."""
        rule, radius = evidence.rule, evidence.largest_value
        return winnow_agnostic_unchecked(
            measured.norm, measured.loss, measured.gamma, evidence.parameter, radius, rule.update_margin
        )

    def loss_of_zero(self, evidence: Evidence, measured: Measured) -> float:
        """Return γ times the number of rounds."""
        return super().loss_of_zero(evidence, measured) * measured.gamma


class BalancedWinnow(WinnowAgnostic):
    """The bound of ``winnow-agnostic`` for the doubled vector (x, −x): any u with ‖u‖₁ = 1, and ln 2n for ln n.

    If u separates the labels, its hinge losses are 0 and the bound is that of ``winnow-fixed-rate``. See
    docs/theory.md, "Balanced Winnow".
    """

    id: ClassVar[str] = "balanced-winnow"
    rule: ClassVar[str] = "balanced-winnow"
    agnostic: ClassVar[bool] = False
    doubled: ClassVar[bool] = True

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the u of greatest margin, if that is large enough for the rate, and the u of least agnostic bound."""
        from mistakebound.hindsight.winnow import max_l1_margin  # noqa: PLC0415

        agnostic, whole = super().search(evidence), evidence.scope != MISTAKEN_ROUNDS
        hopeless = evidence.rule.update_margin >= evidence.largest_value  # then C ≤ 0 at every margin
        if agnostic and (hopeless or (whole and agnostic[0].mistakes > NEARLY * evidence.rounds)):
            return agnostic
        u = max_l1_margin(evidence.X, evidence.y, nonnegative=False)
        if u is None:
            return agnostic
        separating = self.measure(evidence, Witness(u))
        if separating.loss > 0:  # its margin is too small for the rate
            return agnostic
        return [separating, *agnostic] if whole else [separating]

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check the lemma of ``winnow-fixed-rate`` on (x, −x)."""
        return entropy_falls(step, witness, doubled=True)


class WinnowPanel(WinnowBestRate):
    """M ≤ 2k² ln n if the majority of k (odd) of n ±1 experts is right and η is the best rate for γ = 1/k.

    See docs/theory.md, "Normalised Winnow and a majority of k experts".
    """

    id: ClassVar[str] = "winnow-panel"
    norm_is: ClassVar[str] = "k"
    takes_variables: ClassVar[bool] = True
    in_hindsight: ClassVar[bool] = False

    def scaled(self, evidence: Evidence, witness: Witness) -> Witness:  # noqa: ARG002
        """Return the panel unchanged: a set of experts has no scale."""
        return witness

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure k, the number of experts in the panel, and the sum of their advice in each round."""
        return measured_panel(evidence, witness)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check the premises on the panel, and that η is the best rate for its margin."""
        used, k = evidence.parameter, max(len(measured.witness.variables), 1)
        best = math.isclose(used, bounds.winnow_rate(1 / k), rel_tol=1e-6)
        panel = panel_premises(evidence, measured)
        return *panel, Premise("η is the best rate for γ = 1/k", best, f"η = {used:g}")

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return 2k² ln n."""
        return bounds.winnow_panel(evidence.n, len(measured.witness.variables))

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check the lemma of ``winnow-fixed-rate`` for the u that is uniform over the experts of the panel."""
        u = indicator(witness.variables, len(step.z))
        return super().lemma(step, Witness(u / u.sum(), margin=1 / u.sum()))


LEAST_STEP = 1e-5
"""A smaller step ηL is lost in the rounding of float32 weights, so the learner would not follow the rule."""
UNIT = 1e-12
"""Largest difference from 1 that rounding may leave in a sum of weights."""


def unit_l1(u: FloatArray) -> FloatArray:
    """Return u/‖u‖₁; u itself if its norm is 1 up to rounding. Raise ValueError if u is zero."""
    top = float(np.abs(u).max(initial=0.0))
    if top == 0:
        message = "the comparator must have a weight that is not 0"
        raise ValueError(message)
    scaled = u / top  # the sum of very small weights would not be exact
    norm = float(np.abs(scaled).sum()) * top
    return u if abs(norm - 1) <= UNIT else scaled / float(np.abs(scaled).sum())


def best_margin(evidence: Evidence) -> float:
    """Return the γ for which the rate of the learner is best."""
    radius = evidence.largest_value
    return radius * math.tanh(evidence.parameter * radius)


def relative_entropy(u: FloatArray, n: int) -> float:
    """Return RE(u‖uniform over n) of a non-negative u that sums to 1.

    It is the sum of ``(t ln t − t + 1)/n`` with ``t = un``. No term is negative, so nothing cancels near uniform u.
    """
    t = u[u > 0] * n
    near = np.abs(t - 1) < 0.5
    logs = np.where(near, np.log1p(np.where(near, t - 1, 0.0)), np.log(t))
    return max(0.0, float(np.sum(t * logs - (t - 1)) + (n - len(t))) / n)


def log_weights(z: FloatArray, eta: float, *, doubled: bool) -> FloatArray:
    """Return the logarithm of the normalised weights. At η = ∞ they are uniform over the largest z."""
    score = np.concatenate([z, -z]) if doubled else z
    if math.isinf(eta):
        lead = score == score.max()
        return np.where(lead, -np.log(lead.sum()), -np.inf)
    score = eta * score
    top = score.max()
    return np.asarray(score - top - np.log(np.sum(np.exp(score - top))))


def entropy_falls(step: Step, witness: Witness, *, doubled: bool) -> dict[str, float]:
    """Check RE(u‖w) − RE(u‖w⁺) ≥ C − η·max(0, γ − y u·x). The left side is u·(ln w⁺ − ln w)."""
    u, eta = witness.u, step.rule.parameter
    radius = float(np.abs(step.x).max())
    reached = step.y * float(u @ step.x)
    gamma = witness.margin if witness.margin is not None else reached
    lost = max(0.0, gamma - reached)
    spread = np.concatenate([np.maximum(u, 0), np.maximum(-u, 0)]) if doubled else u
    on = spread > 0
    before, after = (log_weights(z, eta, doubled=doubled)[on] for z in (step.z, step.z_next))
    gain = bounds.winnow_gain(min(gamma, radius), eta, radius, step.rule.update_margin)
    pays = 0.0 if lost == 0 else eta * lost
    return {"RE(u‖w⁺) ≤ RE(u‖w) − C + ηH": float(spread[on] @ (after - before)) - gain + pays}
