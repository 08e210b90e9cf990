"""Rules that count how often each feature occurred with each label: naive Bayes and a soft decision list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound.rules.base import Range, Rule, no_update_margin
from mistakebound.rules.logistic import ln

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.rules.base import Add, Round, Weighted

LARGEST_COUNT = 2.0**24
"""A feature with such a count has both counts halved, because float32 cannot add 1 to it."""
LONG = 24.0
"""Naive Bayes divides the evidence of a longer row by its number of features, in units of this number."""


@dataclass(frozen=True, kw_only=True)
class LabelCountRule(Rule):
    r"""Base of both: the weight of a feature is its evidence for the positive label, beside that of the label's share.

    A feature keeps c₊ and c₋, the rounds in which it occurred with each label. The scalars n₊ and n₋ are the rounds
    with each label, plus 1. With :math:`\pi = n_+/(n_+ + n_-)` and the prior :math:`\ell_0 = \ln(n_+/n_-)`, the weight
    is :math:`r = \ln\frac{c_+ + \pi}{c_- + 1 - \pi} - \ell_0`, and 0 for a feature that never occurred.
    """

    start: ClassVar[tuple[float, ...]] = (0.0, 0.0)
    scalars: ClassVar[tuple[float, ...]] = (1.0, 1.0)
    mixing: ClassVar[tuple[str, ...]] = ("added", "added")
    log_odds: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    keeps_examples: ClassVar[bool] = False
    ranges: ClassVar[dict[str, Range]] = {
        "update_margin": no_update_margin("every example is counted"),
        "bias": Range(lambda b: b == 0, "0, because the prior takes the place of a constant feature"),
    }

    def weight(self, state: Sequence[float], scalars: Sequence[float]) -> float:
        """Return r."""
        positives, negatives = state
        if positives + negatives == 0:
            return 0.0
        share = scalars[0] / (scalars[0] + scalars[1])
        return ln((positives + share) / (negatives + (1.0 - share))) - prior(scalars)

    def step(self, now: Round) -> float:
        """Return y: every example is counted."""
        return now.y

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:  # noqa: ARG002
        """Add the weight of the example to the count of its label; halve counts that are too large for float32."""
        positives, negatives = (state[0] + tau, state[1]) if tau > 0 else (state[0], state[1] - tau)
        while max(positives, negatives) >= LARGEST_COUNT - 0.5:  # before it is rounded up
            positives, negatives = positives * 0.5, negatives * 0.5
        return positives, negatives

    def count(self, scalars: tuple[float, ...], y: int, weight: float = 1.0) -> tuple[float, ...]:
        """Add the weight of the example to the count of its label."""
        return (scalars[0] + weight, scalars[1]) if y > 0 else (scalars[0], scalars[1] + weight)

    def after_mixing(self, rows: FloatArray) -> FloatArray:
        """Halve counts that are too large for float32, as ``apply`` does."""
        while (large := rows.max(axis=1, initial=0.0) >= LARGEST_COUNT - 0.5).any():
            rows[large] *= 0.5
        return rows

    def allows(self, state: FloatArray) -> bool:
        """Whether no count is negative or too large."""
        return bool(((state >= 0) & (state < LARGEST_COUNT)).all())

    def allows_scalars(self, scalars: Sequence[float], rounds: int) -> bool:
        """Whether the labels of all rounds were counted."""
        whole = all(each >= 1 and each.is_integer() for each in scalars)
        return super().allows_scalars(scalars, rounds) and whole and sum(scalars) == rounds + 2


@dataclass(frozen=True, kw_only=True)
class NaiveBayesRule(LabelCountRule):
    r"""Add the evidence of all m features to the prior: :math:`\ell_0 + \sum_i |x_i| r_i / \max(1, m/24)`.

    Naive Bayes treats features as independent. In long rows they are not, so the evidence of a row with more than 24
    features counts as that of 24 features.

    See docs/theory.md, "Naive Bayes".
    """

    id: ClassVar[str] = "naive-bayes"

    def score(self, weighted: Weighted, scalars: Sequence[float], add: Add) -> float:
        """Return the log odds."""
        return prior(scalars) + add(abs(x) * r for r, x in weighted) / max(1.0, len(weighted) / LONG)

    def contributions(self, weighted: Weighted) -> list[float]:
        """Return what each feature adds, after the damping of long rows."""
        return [abs(x) * r / max(1.0, len(weighted) / LONG) for r, x in weighted]


@dataclass(frozen=True, kw_only=True)
class DecisionListRule(LabelCountRule):
    r"""Follow the features with the strongest evidence: :math:`\ell_0 + \sum_i r_i^5 / \sum_i r_i^4`.

    This is the mean of r weighted by r⁴. A decision list would follow the one feature with the largest evidence. Values
    of features are not used, only whether they are 0. Yarowsky 1994, "Decision lists for lexical ambiguity resolution".

    See docs/theory.md, "The soft decision list".
    """

    id: ClassVar[str] = "decision-list"

    def score(self, weighted: Weighted, scalars: Sequence[float], add: Add) -> float:
        """Return the log odds."""
        fourths = add(fourth(r) for r, _ in weighted)
        return prior(scalars) + (add(fourth(r) * r for r, _ in weighted) / fourths if fourths > 0 else 0.0)

    def contributions(self, weighted: Weighted) -> list[float]:
        """Return r⁵ over the sum of the r⁴."""
        fourths = sum(fourth(r) for r, _ in weighted)
        return [fourth(r) * r / fourths if fourths > 0 else 0.0 for r, _ in weighted]


def prior(scalars: Sequence[float]) -> float:
    """Return ℓ₀, the log odds of the positive label before any feature is seen."""
    return ln(scalars[0] / scalars[1])


def fourth(r: float) -> float:
    """Return r⁴."""
    return (r * r) * (r * r)
