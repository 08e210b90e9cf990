"""Plot a comparison: the weights of the best rule over time, and regrets with the bound of the theorem."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.experts.comparison.results import BOUNDED, learn_rounds, learner_for
from mistakebound.viz import plot

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.experts.comparison.advice import Advice
    from mistakebound.experts.comparison.compare import Comparison
    from mistakebound.experts.comparison.results import RuleResult

MOST_DRAWN = 500
"""Most rounds whose weights are drawn."""


@dataclass(frozen=True)
class History:
    """Weights before some rounds, and the bound after some rounds."""

    rounds: IntArray
    weights: FloatArray
    bounds: list[tuple[int, float]]

    def limits(self, found: Comparison) -> list[float]:
        """Return the bounds on the regret of the best rule, after the rounds of ``bounds``.

        A bound on mistakes, minus the mistakes of the best expert, is a bound on the regret.
        """
        if not found.of_labels:
            return [bound for _, bound in self.bounds]
        place = int(np.argmax(found.best.expert_regrets))
        lost = np.where(found.advice.awake[:, place], found.expert_losses[:, place], 0.0)
        so_far = np.concatenate([[0.0], np.cumsum(lost)])
        return [bound - float(so_far[t]) for t, bound in self.bounds]


def history(result: RuleResult, learner: Any, advice: Advice) -> History:
    """Run a new learner on the rounds again, in steps, and record its weights and bounds between them.

    Certificates are derived after half of the rounds, a quarter and so on. Together they take no longer than the
    certificate of all rounds.
    """
    T = advice.rounds
    halves = {T >> k for k in range(1, T.bit_length())} if result.bound is not None else set()
    drawn = np.unique(np.linspace(0, T - 1, min(T, MOST_DRAWN)).astype(np.int64)).tolist()
    starts = sorted({0, *drawn, *halves})
    weights, bounds = [], []
    for begin, end in pairwise([*starts, T]):
        weights.append(learner.weights_for(advice.row(begin)))
        learn_rounds(result.rule, learner, advice, begin, end)
        if end in halves:
            bounds.append((end, learner.certify()))
    bounds.append((T, result.certificate))
    known = [(t, each.bound) for t, each in bounds if each is not None and each.status in BOUNDED]
    return History(np.array(starts), np.array(weights), known)


def regret_curves(found: Comparison) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """Return, for each rule, its regret after each round to the expert with the largest regret, and that expert."""
    advice, curves, rivals = found.advice, {}, {}
    for each in found.mixes:
        place = int(np.argmax(each.expert_regrets))
        counted, theirs = advice.awake[:, place], found.expert_losses[:, place]
        curves[each.rule] = np.cumsum(np.where(counted, each.losses - theirs, 0.0))
        rivals[each.rule] = advice.names[place]
    return curves, rivals


def figure(found: Comparison, *, dark: bool = False) -> Any:
    """Return a figure: the weights of the best rule, and each rule's regret to the expert with the largest regret."""
    advice, best = found.advice, found.best
    curves, rivals = regret_curves(found)
    past = history(best, learner_for(best.rule, found.loss, found.parameters), advice)
    limits, allowed = past.limits(found), ""
    if past.bounds:
        bound = past.bounds[-1][1]
        allowed = bound_in_words(found, bound, rivals[best.rule], bound - limits[-1])
    return plot.experts(
        past.rounds,
        past.weights,
        curves,
        names=advice.names,
        against={rule: f"{rival}, while awake" for rule, rival in rivals.items()}
        if found.some_slept
        else rivals[best.rule],
        bounds=[(t, limit) for (t, _), limit in zip(past.bounds, limits, strict=True)],
        allowed=allowed,
        dark=dark,
    )


def bound_in_words(found: Comparison, bound: float, rival: str, mistakes: float) -> str:
    """Return the legend of the bound; for labels, the mistakes of the best expert are subtracted from the bound."""
    best = found.best
    if found.of_labels:
        return (
            f"bound on the mistakes of {best.rule}:\n"
            f"{bound:.4g} in the end, minus the {mistakes:,.0f}\nmistakes of {rival}: {bound - mistakes:.4g}"
        )
    kind = "regret" if best.linear_regret is None else "linear regret"
    return f"bound on the {kind} of {best.rule}:\n{bound:.4g} in the end"
