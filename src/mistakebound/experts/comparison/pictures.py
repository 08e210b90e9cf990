"""Plot a comparison: the weights of the best rule over time, and regrets with the bound of the theorem."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.experts.comparison.results import BOUNDED, learner_for
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
        given = advice.to_follow(result.rule, slice(begin, end))
        learner.run(advice.table(begin, end), advice.outcomes[begin:end], **given)
        if end in halves:
            bounds.append((end, learner.certify()))
    bounds.append((T, result.certificate))
    known = [(t, each.bound) for t, each in bounds if each is not None and each.status in BOUNDED]
    return History(np.array(starts), np.array(weights), known)


def figure(found: Comparison) -> Any:
    """Return a figure: the weights of the best rule, and each rule's regret to the expert with the largest regret."""
    advice, best = found.advice, found.best
    leaders = {each.rule: int(np.argmax(each.expert_regrets)) for each in found.mixes}
    regrets = {}
    for each in found.mixes:
        counted, theirs = advice.awake[:, leaders[each.rule]], found.expert_losses[:, leaders[each.rule]]
        regrets[each.rule] = np.cumsum(np.where(counted, each.losses - theirs, 0.0))
    place = leaders[best.rule]
    lost = np.where(advice.awake[:, place], found.expert_losses[:, place], 0.0)
    past = history(best, learner_for(best.rule, advice, found.loss, found.parameters), advice)
    rivals = {rule: f"{advice.names[k]}, while awake" for rule, k in leaders.items()}
    # A bound on mistakes, minus the mistakes of the best expert, is a bound on the regret.
    subtracted = np.concatenate([[0.0], np.cumsum(lost)]) if found.of_labels else np.zeros(advice.rounds + 1)
    allowed = ""
    if past.bounds:
        allowed = bound_in_words(found, past.bounds[-1][1], advice.names[place], float(subtracted[-1]))
    return plot.experts(
        past.rounds,
        past.weights,
        regrets,
        names=advice.names,
        against=rivals if found.some_slept else advice.names[place],
        bounds=[(t, bound - float(subtracted[t])) for t, bound in past.bounds],
        allowed=allowed,
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
