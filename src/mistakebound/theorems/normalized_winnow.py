"""Mistake bounds of normalised and balanced Winnow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.theorems.base import (
    Theorem,
    Witness,
    indicator,
    least,
    nearly_separates,
    relative_entropy,
    separates,
)
from mistakebound.theorems.evidence import MISTAKEN_ROUNDS, Premise
from mistakebound.theorems.perceptron import panel_premises

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import FloatArray
    from mistakebound.theorems.evidence import Evidence, Step


class WinnowFixedRate(Theorem):
    """M ≤ RE(u‖uniform)/C ≤ ln n/C, C = ηγ − ln cosh(ηL) > 0, if u ≥ 0, ‖u‖₁ = 1, y(u·x) ≥ γ, ‖x‖_∞ ≤ L (COS 511).

    With an update margin b: C = ηγ − ln(cosh ηL + (b/L) sinh ηL).
    """

    id: ClassVar[str] = "winnow-fixed-rate"
    rule: ClassVar[str] = "normalized-winnow"
    norm_is: ClassVar[str] = "RE(u‖uniform)"
    doubled: ClassVar[bool] = False
    """Whether the rule sees (x, −x), so that u may have either sign."""

    def search(self, evidence: Evidence) -> Witness | None:
        """Maximum L1/L∞ margin, by linear programming."""
        from mistakebound.hindsight.separating import max_l1_margin  # noqa: PLC0415 - scipy's optimisers load slowly

        if "l1" not in evidence.searched:
            evidence.searched["l1"] = max_l1_margin(evidence.X, evidence.y, nonnegative=True)
        u = evidence.searched["l1"]
        return None if u is None else Witness(u=u)

    def read(self, evidence: Evidence, comparator: Any, margin: float | None) -> Witness:
        """Scale the given u to ‖u‖₁ = 1."""
        return Witness(u=unit_l1(evidence.as_vector(comparator)), margin=margin)

    def premises(self, evidence: Evidence, witness: Witness) -> Iterator[Premise]:
        """A distribution that separates with a margin large enough for the rate that was used."""
        yield self._unit(witness)
        yield from self._steps(evidence)
        gamma = least(evidence.margins(witness.vector()))
        yield separates(evidence, gamma)
        gain = _gain(evidence, gamma) if gamma > 0 else -math.inf
        yield Premise("C = ηγ − ln cosh(ηL) > 0", gain > 0, f"C = {gain:.6g}, η = {evidence.rule.parameter:g}")

    def bound(self, evidence: Evidence, witness: Witness) -> float:
        """RE(u‖uniform)/C."""
        rule = evidence.rule
        return bounds.winnow_fixed_rate(
            evidence.n,
            min(least(evidence.margins(witness.vector())), evidence.radius(np.inf)),
            rule.parameter,
            evidence.radius(np.inf),
            relative_entropy=self.norm(evidence, witness),
            update_margin=rule.update_margin,
        )

    def norm(self, evidence: Evidence, witness: Witness) -> float:
        """RE(u‖uniform), over 2n features if doubled."""
        return relative_entropy(np.abs(witness.vector()), 2 * evidence.n if self.doubled else evidence.n)

    def _steps(self, evidence: Evidence) -> Iterator[Premise]:
        step = evidence.rule.parameter * evidence.radius(np.inf)
        if step < LEAST_STEP:
            yield Premise(f"ηL ≥ {LEAST_STEP:g}, for weights in float32", False, f"ηL = {step:.6g}")

    def _unit(self, witness: Witness) -> Premise:
        u = witness.vector()
        holds = abs(float(np.abs(u).sum()) - 1) <= 2 * UNIT and (self.doubled or bool(np.all(u >= 0)))
        return Premise("‖u‖₁ = 1" if self.doubled else "u ≥ 0 and ‖u‖₁ = 1", holds)

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """RE(u‖w⁺) ≤ RE(u‖w) − C + η·max(0, γ − y u·x)."""
        return entropy_falls(step, witness, doubled=False)


class WinnowBestRate(WinnowFixedRate):
    """M ≤ ln n/g(γ/L) ≤ 2L² ln n/γ² if the learner ran with η = (1/2L) ln((L+γ)/(L−γ)) for this γ and L.

    Turned round: the rate η that was used is the best one for γ = L·tanh(ηL), and u must reach that margin.
    """

    id: ClassVar[str] = "winnow-best-rate"

    def premises(self, evidence: Evidence, witness: Witness) -> Iterator[Premise]:
        """A distribution that reaches the margin that the rate was made for."""
        yield self._unit(witness)
        yield from self._steps(evidence)
        wanted = self._margin(evidence)
        gamma = least(evidence.margins(witness.vector()))
        yield Premise("y(u·x) ≥ γ, the margin that η is best for", gamma >= wanted * (1 - 1e-9), f"γ = {wanted:.6g}")
        yield Premise("no update margin", evidence.rule.update_margin == 0)

    def bound(self, evidence: Evidence, witness: Witness) -> float:  # noqa: ARG002
        """Ln n/g(γ/L)."""
        return bounds.winnow_best_rate(evidence.n, self._margin(evidence), evidence.radius(np.inf))

    def _margin(self, evidence: Evidence) -> float:
        radius = evidence.radius(np.inf)
        return radius * math.tanh(evidence.rule.parameter * radius)


class WinnowAgnostic(WinnowFixedRate):
    """M ≤ (RE(u‖uniform) + ηH)/C for any u ≥ 0, ‖u‖₁ = 1 and any γ with C > 0, H = Σ max(0, γ − y u·x)."""

    id: ClassVar[str] = "winnow-agnostic"
    agnostic: ClassVar[bool] = True

    def search(self, evidence: Evidence) -> Witness | None:
        """Minimise the bound, a convex problem for each γ; not over the mistaken rounds, where it would say nothing."""
        from mistakebound.hindsight.agnostic import agnostic_winnow  # noqa: PLC0415

        rule, radius = evidence.rule, evidence.radius(np.inf)
        if math.isinf(rule.parameter):
            return None
        if evidence.scope == MISTAKEN_ROUNDS or _gain(evidence, radius) <= LEAST_GAIN * rule.parameter * radius:
            return Witness(u=self._even(evidence), margin=radius)
        u, gamma = agnostic_winnow(
            evidence.X,
            evidence.y,
            evidence.n,
            rule.parameter,
            radius,
            doubled=self.doubled,
            update_margin=rule.update_margin,
            weight=evidence.times,
        )
        return Witness(u=u, margin=gamma)

    def _even(self, evidence: Evidence) -> FloatArray:
        """As much weight on each feature; if doubled, with the sign that goes with the labels."""
        signs = np.where(evidence.X.T @ evidence.y < 0, -1.0, 1.0) if self.doubled else np.ones(evidence.n)
        return signs / evidence.n

    def premises(self, evidence: Evidence, witness: Witness) -> Iterator[Premise]:
        """γ large enough for the rate that was used."""
        yield self._unit(witness)
        yield from self._steps(evidence)
        gamma = self._gamma(evidence, witness)
        radius = evidence.radius(np.inf)
        yield Premise("0 < γ ≤ L", 0 < gamma <= radius, f"γ = {gamma:.6g}, L = {radius:.6g}")
        gain = _gain(evidence, gamma) if gamma > 0 else -math.inf
        yield Premise("C = ηγ − ln cosh(ηL) > 0", gain > 0, f"C = {gain:.6g}, γ = {gamma:.6g}")

    def bound(self, evidence: Evidence, witness: Witness) -> float:
        """(RE + ηH)/C."""
        rule, radius = evidence.rule, evidence.radius(np.inf)
        entropy, hinge = self.norm(evidence, witness), self.loss(evidence, witness)
        gamma = self._gamma(evidence, witness)
        return bounds.winnow_agnostic(entropy, hinge, gamma, rule.parameter, radius, rule.update_margin)

    def loss_of_zero(self, evidence: Evidence, witness: Witness) -> float:
        """γ in each round."""
        return super().loss_of_zero(evidence, witness) * self._gamma(evidence, witness)

    def loss(self, evidence: Evidence, witness: Witness) -> float:
        """H = Σ max(0, γ − y u·x)."""
        gamma = self._gamma(evidence, witness)
        return evidence.total(np.maximum(0.0, gamma - evidence.margins(witness.vector())))

    def _gamma(self, evidence: Evidence, witness: Witness) -> float:
        """Return γ as given, otherwise the margin of u if the rate allows it, otherwise the largest there is."""
        if witness.margin is not None:
            return witness.margin
        own, radius = least(evidence.margins(witness.vector())), evidence.radius(np.inf)
        return own if 0 < own <= radius and _gain(evidence, own) > 0 else radius


class BalancedWinnow(WinnowAgnostic):
    """The bounds of normalised Winnow for the doubled vector: any u with ‖u‖₁ = 1, ln 2n for ln n.

    The agnostic form is used; where u separates, its hinge losses are zero and it is the separable one.
    """

    id: ClassVar[str] = "balanced-winnow"
    rule: ClassVar[str] = "balanced-winnow"
    agnostic: ClassVar[bool] = False
    doubled: ClassVar[bool] = True

    def search(self, evidence: Evidence) -> Witness | None:
        """Maximum L1/L∞ margin if it is large enough for the rate, or the agnostic form: the smaller bound."""
        from mistakebound.hindsight.separating import max_l1_margin  # noqa: PLC0415

        agnostic, whole = super().search(evidence), evidence.scope != MISTAKEN_ROUNDS
        if agnostic is not None and whole and not nearly_separates(self, evidence, agnostic):
            return agnostic
        u = max_l1_margin(evidence.X, evidence.y, nonnegative=False)
        if u is None or _gain(evidence, least(evidence.margins(u))) <= 0:
            return agnostic
        if agnostic is None or not whole:
            return Witness(u=u)
        return min(Witness(u=u), agnostic, key=lambda witness: self.bound(evidence, witness))

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """The same on (x, −x)."""
        return entropy_falls(step, witness, doubled=True)


class WinnowPanel(WinnowBestRate):
    """M ≤ 2k² ln n if the majority of k (odd) of n ±1 experts is right and η is the best rate for γ = 1/k."""

    id: ClassVar[str] = "winnow-panel"
    norm_is: ClassVar[str] = "k"
    takes_variables: ClassVar[bool] = True
    in_hindsight: ClassVar[bool] = False

    def read(self, evidence: Evidence, comparator: Any, margin: float | None) -> Witness:
        """Read the k experts."""
        return Witness(variables=evidence.as_variables(comparator), margin=margin)

    def premises(self, evidence: Evidence, witness: Witness) -> Iterator[Premise]:
        """±1 advice, an odd panel that is always right, and the rate for its margin."""
        yield from panel_premises(evidence, witness)
        k = max(len(witness.chosen()), 1)
        best = bounds.winnow_rate(1 / k)
        used = evidence.rule.parameter
        yield Premise("η is the best rate for γ = 1/k", math.isclose(used, best, rel_tol=1e-6), f"η = {used:g}")

    def bound(self, evidence: Evidence, witness: Witness) -> float:
        """2k² ln n."""
        return bounds.winnow_panel(evidence.n, len(witness.chosen()))

    def norm(self, evidence: Evidence, witness: Witness) -> float:  # noqa: ARG002
        """Number of experts in the panel."""
        return float(len(witness.chosen()))

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """RE falls, with u uniform over the panel."""
        u = indicator(witness.chosen(), len(step.z))
        return super().lemma(step, Witness(u=u / u.sum(), margin=1 / u.sum()))


def unit_l1(u: FloatArray) -> FloatArray:
    """u/‖u‖₁; u itself where its norm is 1 up to rounding."""
    top = float(np.abs(u).max(initial=0.0))
    if top == 0:
        message = "the comparator is zero"
        raise ValueError(message)
    scaled = u / top  # otherwise the sum of very small weights is not exact
    norm = float(np.abs(scaled).sum()) * top
    return u if abs(norm - 1) <= UNIT else scaled / float(np.abs(scaled).sum())


LEAST_GAIN = 1e-9
"""A gain C that is so small a part of ηL is lost in rounding: there is nothing to search for."""
LEAST_STEP = 1e-5
"""A step of ηL below it changes a float32 weight by so little that it is not the rule's own any more."""
UNIT = 1e-12
"""How far from 1 rounding may leave a sum of weights."""


def _gain(evidence: Evidence, gamma: float) -> float:
    """C at this γ, never above the radius (a margin cannot be)."""
    radius, rule = evidence.radius(np.inf), evidence.rule
    return (
        bounds.winnow_gain(min(gamma, radius), rule.parameter, radius, rule.update_margin) if radius > 0 else math.inf
    )


def log_weights(z: FloatArray, eta: float, *, doubled: bool) -> FloatArray:
    """Logarithm of the normalised weights; at η = ∞ uniform over the leaders."""
    score = np.concatenate([z, -z]) if doubled else z
    if math.isinf(eta):
        lead = score == score.max()
        return np.where(lead, -np.log(lead.sum()), -np.inf)
    score = eta * score
    top = score.max()
    return np.asarray(score - top - np.log(np.sum(np.exp(score - top))))


def entropy_falls(step: Step, witness: Witness, *, doubled: bool) -> dict[str, float]:
    """RE(u‖w) − RE(u‖w⁺) ≥ C − η·max(0, γ − y u·x); RE differs by u·(ln w⁺ − ln w) only."""
    u, eta = witness.vector(), step.rule.parameter
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
