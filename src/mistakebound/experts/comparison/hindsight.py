"""Compute the best expert, combination and sequence in hindsight, or the reason why one cannot be computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mistakebound.experts.comparison.advice import LABELS
from mistakebound.hindsight.oracles import Oracle, best_convex, best_linear, best_switching

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound._support.arrays import BoolArray, FloatArray
    from mistakebound.experts.comparison.advice import Advice
    from mistakebound.hindsight.oracles import CheckedForecasts

MOST_CELLS = 2_000_000
"""Numbers for which a programme is solved to find the best combination."""


@dataclass(frozen=True)
class Hindsight:
    """What would have been best, and over which rounds; or why that is not known.

    Attributes
    ----------
    kind : str
        ``expert``, ``convex``, ``linear`` or ``switching``.
    name : str
        In words.
    oracle : Oracle or None
        None if it is not known.
    counted : array
        The rounds that it is of.
    reason : str
        Why it is not known.
    """

    kind: str
    name: str
    oracle: Oracle | None
    counted: BoolArray
    reason: str = ""


def in_hindsight(
    advice: Advice, checked: CheckedForecasts, switches: int, learner_losses: FloatArray
) -> list[Hindsight]:
    """The best expert (first), combinations, and sequence; the learner is the one that regrets are of."""
    awake, losses = advice.awake, checked.losses
    leader = int(np.argmax(regrets_to_each(awake, losses, learner_losses)))
    total, rounds = float(losses[awake[:, leader], leader].sum()), int(awake[:, leader].sum())
    alone = (np.arange(len(advice.names)) == leader).astype(float)
    best = Oracle(f"best expert ({leader})", total, total / rounds, rounds, alone)
    found = [Hindsight("expert", f"best expert: {advice.names[leader]}", best, awake[:, leader])]
    everywhere, all_awake = np.ones(advice.rounds, bool), np.asarray(awake.all(axis=1))
    if advice.kind != LABELS:
        few = advice.known.size <= MOST_CELLS
        found += [
            tried("convex", "best convex combination", everywhere, lambda: best_convex(checked), few=few),
            tried("linear", "best linear combination", all_awake, lambda: best_linear(checked), few=few),
        ]
    if switches:
        times = "1 switch" if switches == 1 else f"{switches} switches"
        name = f"best sequence of experts with at most {times}"
        found.append(tried("switching", name, everywhere, lambda: best_switching(losses, switches), few=True))
    return found


def regrets_to_each(awake: BoolArray, losses: FloatArray, learner_losses: FloatArray) -> FloatArray:
    """The learner's losses less each expert's, over the rounds in which that expert was awake; −∞ if there are none.

    Experts who were awake in different rounds cannot be ranked by their means: who sleeps through hard rounds looks
    good. The one to whom the regret is the largest is the hardest to beat; where nobody sleeps, that is the best one.
    """
    totals = np.where(awake, learner_losses[:, None] - losses, 0.0).sum(axis=0)
    return np.where(awake.any(axis=0), totals, -np.inf)


def tried(kind: str, name: str, counted: BoolArray, search: Callable[[], Oracle], *, few: bool) -> Hindsight:
    """What a search finds, or why it does not."""
    if not few:
        return Hindsight(kind, name, None, counted, "too many numbers to search among")
    try:
        oracle = search()
    except ValueError as error:
        return Hindsight(kind, name, None, counted, str(error).removeprefix(name).removeprefix(", "))
    if oracle.total == np.inf:
        return Hindsight(kind, name, None, counted, "no sequence is awake in every round")
    return Hindsight(kind, name + oracle.name.partition(",")[1] + oracle.name.partition(",")[2], oracle, counted)
