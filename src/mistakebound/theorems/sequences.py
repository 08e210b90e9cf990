"""Fixed Share against sequences of experts, for every number of switches. See docs/theory.md, "Fixed Share".

A sequence that begins with expert i and switches k times has a prior weight of at least ``π_i (α/n)^k (1−α)^{T−1−k}``.
So the regret against it is at most ``(ln(1/π_i) + k ln(n/α) + (T−1−k) ln(1/(1−α)))/η``, plus a term for a loss
that is not exp-concave at η. A sleeping expert has the loss of the learner. A sequence cannot use an expert before the
expert has come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mistakebound._support.text import grouped, many
from mistakebound.bounds import regret as regret_bounds
from mistakebound.hindsight.oracles import best_switching

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.exponential import FixedShare

SWITCHES, FEW_ROUNDS = 10, 64
"""The largest number of switches that is checked; up to 64 rounds, every number is."""
STEPS = 10_000_000
"""The largest rounds × experts × switches that is searched."""


@dataclass(frozen=True)
class SequenceCheck:
    """The best sequence of experts with this many switches, and the bound on the regret against it."""

    switches: int
    regret: float
    bound: float
    most: int
    """Sequences with 1 to this many switches were checked; this one has the regret nearest to its bound."""

    def __str__(self) -> str:
        numbers = f"regret {grouped(self.regret)}, bound {grouped(self.bound)}"
        if not self.switches:
            return f"no sequence with up to {self.most} switches did better than one expert: {numbers}"
        times = many(self.switches, "switch", "es")
        return f"best sequence with {times}: {numbers}{f'; nearest of 1 to {self.most}' if self.most > 1 else ''}"


def against_sequences(
    rule: FixedShare, r: FloatArray, added: float, slack: float
) -> tuple[SequenceCheck | None, bool, str]:
    """Check the bound for every number of switches.

    Return the sequence nearest to its bound, whether a bound is violated, and the reason if nothing was checked.

    Parameters
    ----------
    rule : FixedShare
        The rule after all rounds.
    r : array
        Regrets, rounds × experts; 0 while an expert sleeps, NaN before it has come.
    added : float
        What is added to the bound because the loss is not exp-concave.
    slack : float
        Rounding error to allow.
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
    table[0] -= head_start  # then one search covers every first expert, each with its prior
    # The bound for at most k switches: staying can count as a switch to the same expert, which has a share, too.
    allowed = np.array([_allowed(rule, rounds, k, 1.0) + added for k in range(most + 1)])
    reached = -np.asarray(best_switching(table, most).totals)
    broken = bool(np.any(reached > allowed + slack))
    start = float(-head_start.min())
    hardest = 1 + int(np.argmax((reached + start)[1:] / (allowed + start)[1:]))
    sequence = np.asarray(best_switching(table, hardest).sequence)
    switches = int(np.count_nonzero(np.diff(sequence)))
    regret = float(r[np.arange(rounds), sequence].sum())
    prior = float(np.exp(rule.log_prior[sequence[0]]))
    return SequenceCheck(switches, regret, _allowed(rule, rounds, switches, prior) + added, most), broken, ""


def _allowed(rule: FixedShare, rounds: int, switches: int, prior: float) -> float:
    return regret_bounds.fixed_share(rule.n, rule.eta, rule.alpha, rounds, switches, prior)
