"""The Panel as a rule, of two labels and of several classes. ``mistakebound.panel`` specifies what its members do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mistakebound._support.lazy import np
from mistakebound.rules.base import Range, Rule, no_update_margin
from mistakebound.rules.panel_members import CLASS_PRIOR, EVEN, MEMBERS, MOST_JOINED

if TYPE_CHECKING:
    from mistakebound._support.arrays import BoolArray, FloatArray


@dataclass(frozen=True, kw_only=True)
class PanelRule(Rule):
    """A panel of members. The score is the log odds of the positive label.

    Parameters
    ----------
    members : int
        A bit for each of the MEMBERS: whether the panel has it.
    joined : int
        Number of members from outside.
    cut : float
        The least probability at which the positive label is predicted. The guard is only used at ½.
    abstain : float
        No label is predicted if the probability is at least ``cut − abstain`` and below ``cut + abstain``.

    See docs/theory.md, "The Panel".
    """

    members: int = (1 << len(MEMBERS)) - 1
    joined: int = 0
    cut: float = 0.5
    abstain: float = 0.0

    id: ClassVar[str] = "panel"
    start: ClassVar[tuple[float, ...]] = ()
    log_odds: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    keeps_examples: ClassVar[bool] = False
    ranges: ClassVar[dict[str, Range]] = {
        "update_margin": no_update_margin("every example is learned"),
        "bias": Range(lambda b: b == 0, "0, because the Panel has a constant feature of its own"),
        "members": Range(lambda m: 0 <= m < 1 << len(MEMBERS) and m == int(m), "a whole number from 0 to 65535"),
        "joined": Range(lambda k: 0 <= k <= MOST_JOINED and k == int(k), f"a whole number from 0 to {MOST_JOINED}"),
        "cut": Range(lambda p: 0 < p < 1, "a number between 0 and 1"),
        "abstain": Range(lambda b: 0 <= b <= EVEN, "a number from 0 to 0.5"),
    }

    @property
    def threshold(self) -> float:
        """The log odds of ``cut``."""
        return 0.0 if self.cut == EVEN else log_odds_of(self.cut)

    @property
    def band(self) -> tuple[float, float] | None:
        """The probabilities between which no label is predicted; None if a label is always predicted."""
        if self.abstain == 0:
            return None
        return round(self.cut - self.abstain, 3), round(self.cut + self.abstain, 3)

    def abstains(self, scores: FloatArray) -> BoolArray:
        """Return for which log odds no label is predicted."""
        if self.band is None:
            return np.zeros(len(scores), np.bool_)
        low, high = map(log_odds_of, self.band)
        return np.asarray((scores >= low) & (scores < high))

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names of those of MEMBERS that the panel has."""
        return tuple(name for k, name in enumerate(MEMBERS) if int(self.members) >> k & 1)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members, without those from outside."""
        return self.chosen


def log_odds_of(p: float) -> float:
    """Return ln(p/(1 − p)).

    >>> log_odds_of(0.5), log_odds_of(0.0), log_odds_of(1.0)
    (0.0, -inf, inf)
    """
    return math.log(p) - math.log1p(-p) if 0 < p < 1 else math.copysign(math.inf, p - EVEN)


class MulticlassPanelRule(PanelRule):
    """A panel of members for several classes. It is made by ``Panel``, when a third label occurs or is given.

    See docs/theory.md, "The Panel with several classes".
    """

    id: ClassVar[str] = "multiclass-panel"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members."""
        return (*self.chosen, CLASS_PRIOR)
