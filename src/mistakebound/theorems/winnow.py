"""Mistake bounds of Littlestone's Winnow and of Elimination, on disjunctions and on separated binary data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound import bounds
from mistakebound.rules import WinnowRule
from mistakebound.theorems.base import Theorem, indicator
from mistakebound.theorems.evidence import Measured, Premise, Witness

if TYPE_CHECKING:
    from mistakebound.theorems.evidence import Evidence, Step


class OnDisjunctions(Theorem):
    """A theorem whose comparator is an OR of variables."""

    takes_variables: ClassVar[bool] = True
    asks: ClassVar[str] = "the labels are an OR of some variables"
    norm_is: ClassVar[str] = "r"

    def scaled(self, evidence: Evidence, witness: Witness) -> Witness:  # noqa: ARG002
        """Return the variables as they are."""
        return witness

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Scores are 0 where one of the variables is true, −1 elsewhere; the norm is the number of variables."""
        true = evidence.X @ indicator(witness.variables, evidence.n) > 0
        scores = true.astype(np.float64) - 1
        return Measured(witness, scores, evidence.errors(scores), float(len(witness.variables)))


class Littlestone(OnDisjunctions):
    """M < αn/((α−1)θ) + (1+α)·r·s if the labels are an OR of r of the n variables (Littlestone 1988).

    s is the number of steps from 1 until α^s ≥ θ (``strict``: > θ). α = 2, θ = n: M < 2 + 3r⌈lg n⌉.
    """

    id: ClassVar[str] = "littlestone"
    rule: ClassVar[str] = "winnow"
    strictly_below: ClassVar[bool] = True

    def search(self, evidence: Evidence) -> list[Measured]:
        """Smallest disjunction that a greedy cover finds (not promised to be the smallest there is)."""
        from mistakebound.hindsight.disjunctions import smallest_disjunction  # noqa: PLC0415 - scipy loads slowly

        found = smallest_disjunction(evidence.X, evidence.positive)
        return [] if found is None else [self.measure(evidence, Witness(variables=found))]

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """A known number of variables, and labels that are their OR."""
        return known_number(evidence), consistent(evidence, measured)

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """αn/((α−1)θ) + (1+α)·r·s."""
        rule = winnow(evidence.rule)
        return bounds.littlestone(evidence.n, len(measured.witness.variables), rule.alpha, rule.theta, rule.strict)

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Relevant weights never fall; a promotion adds < (α−1)θ to Σw, a demotion removes ≥ (1−1/α)θ."""
        relevant = list(witness.variables)
        fall = (step.z_next - step.z)[relevant]
        return {"relevant weights never fall": float(np.min(fall, initial=0.0))} | sum_of_weights(step)


class InfiniteWinnow(Littlestone):
    """M ≤ (1 + (c+1)/(c/2−1))·r·⌈lg cσ⌉ for α = 2, θ = cσ, c > 2: any number of features, unknown ahead.

    σ is the largest number of features active at once, over the mistaken rounds.
    """

    id: ClassVar[str] = "infinite-winnow"
    strictly_below: ClassVar[bool] = False

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """α = 2, θ > 2σ, and labels that are an OR."""
        rule, sigma = winnow(evidence.rule), evidence.most_active
        return (
            Premise("α = 2", rule.alpha == 2, f"α = {rule.alpha:g}"),
            Premise("θ > 2σ", sigma >= 1 and rule.theta > 2 * sigma, f"θ = {rule.theta:g}, σ = {sigma}"),
            consistent(evidence, measured),
        )

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """(1 + (c+1)/(c/2−1))·r·⌈lg cσ⌉ with c = θ/σ."""
        rule, sigma = winnow(evidence.rule), evidence.most_active
        return bounds.infinite_winnow(len(measured.witness.variables), sigma, rule.theta / sigma, rule.strict)

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """As Littlestone's; and a mistake brings at most σ new weight."""
        active = int(np.sum(step.x != 0))
        return super().lemma(step, witness) | {"at most σ new features": float(active - step.first_seen)}


class LittlestoneSeparable(Theorem):
    """Winnow on data with μ·x ≥ 1 on positives and ≤ 1−δ on negatives, μ ≥ 0 (Littlestone 1988, Theorem 9; r-of-k).

    Tighter, for any 1 < α < 1/(1−δ): with A = Σμ(1+log_α θ) and v = (A + n/((α−1)θ))/(1/α−1+δ), M ≤ A + (2−δ)v.
    """

    id: ClassVar[str] = "littlestone-separable"
    rule: ClassVar[str] = "winnow"
    asks: ClassVar[str] = "some μ ≥ 0 separates the labels: μ·x ≥ 1 or ≤ 1−δ"
    norm_is: ClassVar[str] = "Σμ"

    def search(self, evidence: Evidence) -> list[Measured]:
        """Smallest Σμ by linear programming, for a few values of δ that this α allows."""
        from mistakebound.hindsight.disjunctions import separating_weights  # noqa: PLC0415

        alpha = winnow(evidence.rule).alpha
        lowest = 1 - 1 / alpha
        own = 2 * (alpha - 1)  # Theorem 9 asks for α = 1 + δ/2
        deltas = {lowest + (1 - lowest) * share for share in (0.1, 0.25, 0.5, 0.75, 1.0)} | (
            {own} if own <= 1 else set()
        )
        found = []
        for delta in sorted(deltas):
            mu = separating_weights(evidence.X, evidence.positive, delta)
            if mu is None:
                break  # a larger δ asks for more
            found.append(self.measure(evidence, Witness(mu, margin=delta)))
        return found

    def scaled(self, evidence: Evidence, witness: Witness) -> Witness:
        """μ as given, for μ·x is compared with 1; δ as given, otherwise what μ reaches on the negatives."""
        if witness.margin is not None:
            return witness
        worst = float(np.max((evidence.X @ witness.u)[~evidence.positive], initial=0.0))
        return witness._replace(margin=min(1.0, 1 - worst))

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Scores are μ·x less the middle between 1 and 1−δ; the norm is Σμ, and γ is δ."""
        witness = self.scaled(evidence, witness)
        delta = witness.margin or 0.0
        scores = evidence.X @ witness.u - (1 - delta / 2)
        return Measured(witness, scores, evidence.errors(scores), float(witness.u.sum()), delta)

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """The separation, and a threshold of at least 1."""
        rule, mu, delta = winnow(evidence.rule), measured.witness.u, measured.gamma
        value = evidence.X @ mu
        finite = np.isfinite(self.bound(evidence, measured)) if 0 < delta <= 1 else False
        return (
            known_number(evidence),
            Premise("θ ≥ 1", rule.theta >= 1),
            Premise("0 < δ ≤ 1", 0 < delta <= 1, f"δ = {delta:.6g}"),
            Premise("μ ≥ 0", bool(np.all(mu >= 0)), f"Σμ = {measured.norm:.6g}"),
            Premise("μ·x ≥ 1 on positives", bool(np.all(value[evidence.positive] >= 1 - ROUNDING))),
            Premise("μ·x ≤ 1−δ on negatives", bool(np.all(value[~evidence.positive] <= 1 - delta + ROUNDING))),
            Premise("α = 1 + δ/2, or 1 < α < 1/(1−δ)", bool(finite), f"α = {rule.alpha:g}"),
        )

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Smallest of the forms whose premise on α holds."""
        rule, mass = winnow(evidence.rule), measured.norm
        if rule.theta < 1 or mass < 0:
            return math.inf
        return bounds.littlestone_separable(evidence.n, mass, measured.gamma, rule.alpha, rule.theta)

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:  # noqa: ARG002
        """What Winnow's sum of weights does in every case."""
        return sum_of_weights(step)


class Elimination(OnDisjunctions):
    """M ≤ n − r if the labels are an OR of r of the n variables; never a mistake on a positive example (Blum)."""

    id: ClassVar[str] = "elimination"
    rule: ClassVar[str] = "elimination"

    def search(self, evidence: Evidence) -> list[Measured]:
        """Largest consistent disjunction: it leaves the fewest variables to remove."""
        from mistakebound.hindsight.disjunctions import largest_disjunction  # noqa: PLC0415

        mask = largest_disjunction(evidence.X, evidence.positive, evidence.n)
        if mask is None:
            return []
        return [self.measure(evidence, Witness(variables=tuple(np.flatnonzero(mask).tolist())))]

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """A known number of variables, and labels that are their OR."""
        return known_number(evidence), consistent(evidence, measured)

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """N − r."""
        return bounds.elimination(evidence.n, len(measured.witness.variables))

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Each mistake is on a negative example and removes at least one variable, all irrelevant."""
        removed = (step.z >= 0) & (step.z_next < 0)
        return {
            "mistakes are on negatives": float(-step.y),
            "at least one variable is removed": float(removed.sum() - 1),
            "no relevant variable is removed": -float(removed[list(witness.variables)].sum()),
        }


ROUNDING = 1e-9


def winnow(rule: Any) -> WinnowRule:
    """Return the rule, which these theorems need to be Winnow."""
    if not isinstance(rule, WinnowRule):
        message = f"this theorem speaks of Winnow, not of {rule.id}"
        raise TypeError(message)
    return rule


def known_number(evidence: Evidence) -> Premise:
    """A positional learner knows n from the start."""
    return Premise("the number of variables is known", not evidence.named, f"n = {evidence.n}")


def consistent(evidence: Evidence, measured: Measured) -> Premise:
    """Labels are the OR of the chosen variables in every round."""
    statement = f"the labels are an OR of r variables in {evidence.every_round}"
    holds = bool(np.array_equal(measured.scores >= 0, evidence.positive))
    return Premise(statement, holds, f"r = {len(measured.witness.variables)}")


def sum_of_weights(step: Step) -> dict[str, float]:
    """A promotion adds < (α−1)θ to Σw, a demotion removes ≥ (1−1/α)θ; for ``strict`` ≤ and >."""
    rule = winnow(step.rule)
    change = float(np.sum(rule.weights(step.z_next) - rule.weights(step.z)))
    if step.y > 0:
        slack = (rule.alpha - 1) * rule.theta - change
        return {"a promotion adds less than (α−1)θ": slack if rule.strict or slack > 0 else -1.0}
    slack = -change - (1 - 1 / rule.alpha) * rule.theta
    return {"a demotion removes at least (1−1/α)θ": slack if not rule.strict or slack > 0 else -1.0}
