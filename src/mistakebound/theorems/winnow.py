"""Mistake bounds of Littlestone's Winnow and of Elimination, on disjunctions and on separable binary data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.rules import WinnowRule
from mistakebound.theorems.base import Theorem, indicator
from mistakebound.theorems.evidence import Measured, Premise, Witness

if TYPE_CHECKING:
    from mistakebound.theorems.evidence import Evidence
    from mistakebound.theorems.steps import Step


class OnDisjunctions(Theorem):
    """Base class of the theorems whose comparator is an OR of variables."""

    takes_variables: ClassVar[bool] = True
    asks: ClassVar[str] = "the labels are an OR of some variables"
    norm_is: ClassVar[str] = "r"

    def scaled(self, evidence: Evidence, witness: Witness) -> Witness:  # noqa: ARG002
        """Return the disjunction unchanged: a set of variables has no scale."""
        return witness

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure the number of variables. A score is 0 if one of them is true, otherwise −1."""
        true = evidence.X @ indicator(witness.variables, evidence.n) > 0
        scores = true.astype(np.float64) - 1
        return Measured(witness, scores, evidence.errors(scores), float(len(witness.variables)))


class Littlestone(OnDisjunctions):
    """M < αn/((α−1)θ) + (1+α)·r·s if the labels are an OR of r of the n variables (Littlestone 1988).

    s is the smallest number with α^s ≥ θ (``strict``: > θ). With α = 2 and θ = n: M < 2 + 3r⌈lg n⌉. See
    docs/theory.md, "Winnow on disjunctions".
    """

    id: ClassVar[str] = "littlestone"
    rule: ClassVar[str] = "winnow"
    strictly_below: ClassVar[bool] = True

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return a small consistent disjunction, found by a greedy cover. A smaller one may exist."""
        from mistakebound.hindsight.disjunctions import smallest_disjunction  # noqa: PLC0415 - scipy loads slowly

        found = smallest_disjunction(evidence.X, evidence.positive)
        return [] if found is None else [self.measure(evidence, Witness(variables=found))]

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that the number of variables is known and that the labels are an OR of the chosen ones."""
        return number_is_known(evidence), labels_are_or(evidence, measured)

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return αn/((α−1)θ) + (1+α)·r·s."""
        rule = as_winnow(evidence.rule)
        return bounds.littlestone(evidence.n, len(measured.witness.variables), rule.alpha, rule.theta, rule.strict)

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check that relevant weights never fall, and how much an update changes the sum of the weights."""
        relevant = list(witness.variables)
        fall = (step.z_next - step.z)[relevant]
        return {"relevant weights never fall": float(np.min(fall, initial=0.0))} | sum_of_weights(step)


class InfiniteWinnow(Littlestone):
    """M ≤ (1 + (c+1)/(c/2−1))·r·⌈lg cσ⌉ for α = 2, θ = cσ, c > 2. The number of features need not be known.

    σ is the largest number of non-zero features of an example, over the mistaken rounds. See docs/theory.md, "Winnow
    with an unknown number of features".
    """

    id: ClassVar[str] = "infinite-winnow"
    strictly_below: ClassVar[bool] = False

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that α = 2, θ > 2σ and that the labels are an OR of the variables."""
        rule, sigma = as_winnow(evidence.rule), evidence.most_active
        return (
            Premise("α = 2", rule.alpha == 2, f"α = {rule.alpha:g}"),
            Premise("θ > 2σ", sigma >= 1 and rule.theta > 2 * sigma, f"θ = {rule.theta:g}, σ = {sigma}"),
            labels_are_or(evidence, measured),
        )

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return (1 + (c+1)/(c/2−1))·r·⌈lg cσ⌉ with c = θ/σ."""
        rule, sigma = as_winnow(evidence.rule), evidence.most_active
        return bounds.infinite_winnow(len(measured.witness.variables), sigma, rule.theta / sigma, rule.strict)

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check the lemma of Littlestone, and that a mistake has at most σ features that are new."""
        active = int(np.sum(step.x != 0))
        return super().lemma(step, witness) | {"at most σ new features": float(active - step.first_seen)}


class LittlestoneSeparable(Theorem):
    """Winnow on data with μ·x ≥ 1 on positives and ≤ 1−δ on negatives, μ ≥ 0 (Littlestone 1988, Theorem 9; r-of-k).

    Tighter, for any 1 < α < 1/(1−δ): with A = Σμ(1+log_α θ) and v = (A + n/((α−1)θ))/(1/α−1+δ), M ≤ A + (2−δ)v. See
    docs/theory.md, "Winnow on separable data".
    """

    id: ClassVar[str] = "littlestone-separable"
    rule: ClassVar[str] = "winnow"
    asks: ClassVar[str] = "some μ ≥ 0 separates the labels: μ·x ≥ 1 or ≤ 1−δ"
    norm_is: ClassVar[str] = "Σμ"

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the μ of smallest Σμ for a few values of δ that this α allows, found by linear programming."""
        from mistakebound.hindsight.disjunctions import separating_weights  # noqa: PLC0415

        alpha = as_winnow(evidence.rule).alpha
        lowest = 1 - 1 / alpha
        of_theorem_9 = 2 * (alpha - 1)  # it requires α = 1 + δ/2
        deltas = {lowest + (1 - lowest) * share for share in (0.1, 0.25, 0.5, 0.75, 1.0)} | (
            {of_theorem_9} if of_theorem_9 <= 1 else set()
        )
        found = []
        for delta in sorted(deltas):
            mu = separating_weights(evidence.X, evidence.positive, delta)
            if mu is None:
                break  # a larger δ requires more separation
            found.append(self.measure(evidence, Witness(mu, margin=delta)))
        return found

    def scaled(self, evidence: Evidence, witness: Witness) -> Witness:
        """Return μ unchanged, because μ·x is compared with 1. Without a given δ, it is the one that μ reaches."""
        if witness.margin is not None:
            return witness
        worst = float(np.max((evidence.X @ witness.u)[~evidence.positive], initial=0.0))
        return witness._replace(margin=min(1.0, 1 - worst))

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure Σμ, stored as the norm, δ, stored as γ, and the scores, which are μ·x − (1 − δ/2)."""
        witness = self.scaled(evidence, witness)
        delta = witness.margin or 0.0
        scores = evidence.X @ witness.u - (1 - delta / 2)
        return Measured(witness, scores, evidence.errors(scores), float(witness.u.sum()), delta)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that μ separates the labels, that θ ≥ 1 and that α fits δ."""
        rule, mu, delta = as_winnow(evidence.rule), measured.witness.u, measured.gamma
        value = evidence.X @ mu
        finite = np.isfinite(self.bound(evidence, measured)) if 0 < delta <= 1 else False
        return (
            number_is_known(evidence),
            Premise("θ ≥ 1", rule.theta >= 1),
            Premise("0 < δ ≤ 1", 0 < delta <= 1, f"δ = {delta:.6g}"),
            Premise("μ ≥ 0", bool(np.all(mu >= 0)), f"Σμ = {measured.norm:.6g}"),
            Premise("μ·x ≥ 1 on positives", bool(np.all(value[evidence.positive] >= 1 - ROUNDING))),
            Premise("μ·x ≤ 1−δ on negatives", bool(np.all(value[~evidence.positive] <= 1 - delta + ROUNDING))),
            Premise("α = 1 + δ/2, or 1 < α < 1/(1−δ)", bool(finite), f"α = {rule.alpha:g}"),
        )

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return the smallest of the bounds whose premise on α holds."""
        rule, mass = as_winnow(evidence.rule), measured.norm
        if rule.theta < 1 or mass < 0:
            return math.inf
        return bounds.littlestone_separable(evidence.n, mass, measured.gamma, rule.alpha, rule.theta)

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:  # noqa: ARG002
        """Check how much an update changes the sum of the weights."""
        return sum_of_weights(step)


class Elimination(OnDisjunctions):
    """M ≤ n − r if the labels are an OR of r of the n variables. No mistake is on a positive example (Blum).

    See docs/theory.md, "Elimination".
    """

    id: ClassVar[str] = "elimination"
    rule: ClassVar[str] = "elimination"

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return the largest consistent disjunction, because the bound falls with r."""
        from mistakebound.hindsight.disjunctions import largest_disjunction  # noqa: PLC0415

        mask = largest_disjunction(evidence.X, evidence.positive, evidence.n)
        if mask is None:
            return []
        return [self.measure(evidence, Witness(variables=tuple(np.flatnonzero(mask).tolist())))]

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that the number of variables is known and that the labels are an OR of the chosen ones."""
        return number_is_known(evidence), labels_are_or(evidence, measured)

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return n − r."""
        return bounds.elimination(evidence.n, len(measured.witness.variables))

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check that each mistake is on a negative example and removes at least one variable, but none of the r."""
        removed = (step.z >= 0) & (step.z_next < 0)
        return {
            "mistakes are on negatives": float(-step.y),
            "at least one variable is removed": float(removed.sum() - 1),
            "no relevant variable is removed": -float(removed[list(witness.variables)].sum()),
        }


ROUNDING = 1e-9


def as_winnow(rule: Any) -> WinnowRule:
    """Return the rule as a WinnowRule; raise TypeError if it is another rule."""
    if not isinstance(rule, WinnowRule):
        message = f"this theorem is about the rule winnow, got {rule.id}"
        raise TypeError(message)
    return rule


def number_is_known(evidence: Evidence) -> Premise:
    """Return the premise that the number of variables is known. It is not if features have names."""
    return Premise("the number of variables is known", not evidence.named, f"n = {evidence.n}")


def labels_are_or(evidence: Evidence, measured: Measured) -> Premise:
    """Return the premise that the labels are the OR of the chosen variables in every round."""
    statement = f"the labels are an OR of r variables in {evidence.every_round}"
    holds = bool(np.array_equal(measured.scores >= 0, evidence.positive))
    return Premise(statement, holds, f"r = {len(measured.witness.variables)}")


def sum_of_weights(step: Step) -> dict[str, float]:
    """Check that a promotion adds < (α−1)θ to Σw and that a demotion removes ≥ (1−1/α)θ; for ``strict`` ≤ and >."""
    rule = as_winnow(step.rule)
    change = float(np.sum(rule.weights(step.z_next) - rule.weights(step.z)))
    if step.y > 0:
        slack = (rule.alpha - 1) * rule.theta - change
        return {"a promotion adds less than (α−1)θ": slack if rule.strict or slack > 0 else -1.0}
    slack = -change - (1 - 1 / rule.alpha) * rule.theta
    return {"a demotion removes at least (1−1/α)θ": slack if not rule.strict or slack > 0 else -1.0}
