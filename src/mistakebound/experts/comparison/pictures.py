"""Plot a comparison: the weights of the best rule over time, and regrets with the bound of the theorem."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.experts.comparison.compared import BOUNDED, learner_for
from mistakebound.viz import plot

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.experts.comparison.advice import Advice
    from mistakebound.experts.comparison.compare import Comparison
    from mistakebound.experts.comparison.compared import Mix

MOST_DRAWN = 500
"""Rounds whose weights are drawn."""


@dataclass(frozen=True)
class History:
    """Weights before some rounds, and what the theorem allowed after some."""

    rounds: IntArray
    weights: FloatArray
    bounds: list[tuple[int, float]]


def history(mix: Mix, learner: Any, advice: Advice) -> History:
    """Let a fresh learner play in steps what was played, and look at it between them.

    Certificates are derived after half of the rounds, a quarter and so on: together they take no longer than the one
    of all rounds did.
    """
    T = advice.rounds
    halves = {T >> k for k in range(1, T.bit_length())} if mix.bound is not None else set()
    drawn = np.unique(np.linspace(0, T - 1, min(T, MOST_DRAWN)).astype(np.int64)).tolist()
    starts = sorted({0, *drawn, *halves})
    weights, bounds = [], []
    for begin, end in pairwise([*starts, T]):
        weights.append(learner.weights_for(advice.row(begin)))
        learner.run(advice.table(begin, end), advice.outcomes[begin:end])
        if end in halves:
            bounds.append((end, learner.certify()))
    bounds.append((T, mix.certificate))
    known = [(t, told.bound) for t, told in bounds if told is not None and told.status in BOUNDED]
    return History(np.array(starts), np.array(weights), known)


def figure(found: Comparison) -> Any:
    """Weights of the best rule, and the regret of each to the expert that it is furthest behind."""
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
    # A bound on mistakes is one on the regret, once the best expert's own are taken off.
    taken = np.concatenate([[0.0], np.cumsum(lost)]) if found.of_labels else np.zeros(advice.rounds + 1)
    allowed = ""
    if past.bounds:
        allowed = what_is_allowed(found, past.bounds[-1][1], advice.names[place], float(taken[-1]))
    return plot.experts(
        past.rounds,
        past.weights,
        regrets,
        names=advice.names,
        against=rivals if found.some_slept else advice.names[place],
        bounds=[(t, bound - float(taken[t])) for t, bound in past.bounds],
        allowed=allowed,
    )


def what_is_allowed(found: Comparison, bound: float, rival: str, mistakes: float) -> str:
    """The bound of the table in words; a picture of regrets has it less the mistakes of the best expert."""
    best = found.best
    if found.of_labels:
        taken = f"{bound:.4g} mistakes in the end, less\nthe {mistakes:,.0f} of {rival}: {bound - mistakes:.4g}"
        return f"what a theorem allows {best.rule}:\n{taken}"
    kind = "regret" if best.linear_regret is None else "linear regret"
    return f"what a theorem allows the {kind}\nof {best.rule} to be: {bound:.4g} in the end"
