"""Fixed Share against sequences of experts: the theorem `fixed-share` of THEORY §4, for every number of switches.

A path that begins with expert i and switches k times keeps at least ``π_i (α/n)^k (1−α)^{T−1−k}`` of the prior over
paths. So its regret is at most ``(ln(1/π_i) + k ln(n/α) + (T−1−k) ln(1/(1−α)))/η``, and what the loss adds that is not
exp-concave at η. A sleeper loses what the learner loses; who has not come yet cannot be followed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mistakebound.bounds import regret as regret_bounds
from mistakebound.hindsight.oracles import best_switching

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.exponential import FixedShare

SWITCHES, FEW_ROUNDS = 10, 64
"""The most switches that are looked at; in so few rounds, all that there can be."""
STEPS = 10_000_000
"""The most rounds × experts × switches that are worth the time."""


@dataclass(frozen=True)
class Turns:
    """The best sequence of experts with so many switches, beside what the theorem allows."""

    switches: int
    regret: float
    bound: float
    most: int
    """Sequences with 1 to this many switches were checked; this is the one that comes nearest to its bound."""

    def __str__(self) -> str:
        beside = f"regret {self.regret:.6g}, bound {self.bound:.6g}"
        if not self.switches:
            return f"no sequence with up to {self.most} switches did better than one expert: {beside}"
        times = "1 switch" if self.switches == 1 else f"{self.switches} switches"
        return f"best sequence with {times}: {beside}{f'; nearest of 1 to {self.most}' if self.most > 1 else ''}"


def against_sequences(rule: FixedShare, r: FloatArray, added: float, slack: float) -> tuple[Turns | None, bool, str]:
    """Check every number of switches; tell the hardest, whether any bound is broken, and why if none was looked at.

    Parameters
    ----------
    rule : FixedShare
        As it stands after all rounds.
    r : array
        Regrets, rounds × experts; 0 asleep, NaN before an expert came.
    added : float
        What is lost because the loss is not exp-concave.
    slack : float
        Of rounding.
    """
    rounds, n = len(r), rule.n
    if rounds < 2 or n < 2:
        return None, False, ""
    if not rule.alpha:
        return None, False, "no sequence with switches was checked: with α = 0 there is no theorem on them"
    most = min(rounds - 1 if rounds <= FEW_ROUNDS else SWITCHES, STEPS // r.size)
    if most < 1:
        size = f"{rounds:,} rounds × {n:,} experts"
        return None, False, f"no sequence with switches was checked: {size} are above {STEPS:,}"
    head_start = rule.log_prior[: r.shape[1]] / rule.eta
    table = -r
    table[0] -= head_start  # then one search is over sequences that begin with anybody
    # Of sequences with at most k switches: who stays may be said to switch to itself, for it gets a share too.
    allowed = np.array([_allowed(rule, rounds, k, 1.0) + added for k in range(most + 1)])
    reached = -np.asarray(best_switching(table, most).totals)
    broken = bool(np.any(reached > allowed + slack))
    start = float(-head_start.min())
    hardest = 1 + int(np.argmax((reached + start)[1:] / (allowed + start)[1:]))
    sequence = np.asarray(best_switching(table, hardest).sequence)
    switches = int(np.count_nonzero(np.diff(sequence)))
    regret = float(r[np.arange(rounds), sequence].sum())
    prior = float(np.exp(rule.log_prior[sequence[0]]))
    return Turns(switches, regret, _allowed(rule, rounds, switches, prior) + added, most), broken, ""


def _allowed(rule: FixedShare, rounds: int, switches: int, prior: float) -> float:
    return regret_bounds.fixed_share(rule.n, rule.eta, rule.alpha, rounds, switches, prior)
