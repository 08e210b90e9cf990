"""`Standings`: the mistakes, log loss and weight in the mixture of each member and mixer of a panel."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from mistakebound.bounds import bayes_mixture, guarded_plurality
from mistakebound.rules.panel_members import MIXERS, PRIOR_OF_MEMBERS, PRIOR_OF_MIXERS

OF_MIXERS = dict(zip(MIXERS, PRIOR_OF_MIXERS, strict=True))


class Standing(NamedTuple):
    """A member or mixer of a panel."""

    name: str
    mistakes: int
    log_loss: float
    """Σ −ln p(y) over all rounds, where p is the probability with its logit as log odds."""
    share: float
    """Its weight in the Bayes mixture of probabilities."""
    weight: float
    """The weight of its logit in the mixture: its weights in the mixers times their shares, plus its own share."""


class Standings(NamedTuple):
    """The members of a panel, its mixers, and the panel itself, after all rounds so far."""

    members: tuple[Standing, ...]
    mixers: tuple[Standing, ...]
    rounds: int
    mistakes: int
    """Wrong predictions of the panel."""
    overrides: int
    """Rounds in which the guard did not follow the mixture."""
    log_loss: float
    """Σ −ln p(y) of the mixture, before the guard."""
    first_seen: int = 0
    """With several classes, rounds whose label had not occurred before. The other counts do not include them."""
    mixed: bool = False
    """Whether the panel was mixed from panels that learned shards. The theorems are not about such a panel."""

    @property
    def all_rounds(self) -> int:
        """All rounds, those of first-seen labels included."""
        return self.rounds + self.first_seen

    @property
    def all_mistakes(self) -> int:
        """All mistakes, those on first-seen labels included."""
        return self.mistakes + self.first_seen

    @property
    def voters(self) -> tuple[Standing, ...]:
        """Members and mixers."""
        return (*self.members, *self.mixers)

    @property
    def best(self) -> Standing:
        """The member or mixer with the fewest mistakes."""
        return min(self.voters, key=lambda each: each.mistakes)

    def prior(self, voter: Standing) -> float:
        """Return the weight of a voter in the Bayes mixture at the start."""
        return OF_MIXERS.get(voter.name, PRIOR_OF_MEMBERS / len(self.members))

    @property
    def best_by_loss(self) -> Standing:
        """The member or mixer with the smallest L + ln(1/π): the best comparator of the mixture."""
        return min(self.voters, key=lambda each: each.log_loss - math.log(self.prior(each)))

    @property
    def loss_bound(self) -> float:
        """The bound on the log loss of the mixture: the smallest L + ln(1/π) of a voter; ∞ for a mixed panel."""
        if self.mixed:
            return math.inf
        best = self.best_by_loss
        return bayes_mixture(max(best.log_loss, 0.0), self.prior(best))

    @property
    def bounds(self) -> dict[str, float]:
        """The bound of each theorem on the mistakes of the panel: see ``theorems.panel``. Empty if it was mixed."""
        if self.mixed:
            return {}
        return {
            "guarded-weighted-majority": guarded_plurality(len(self.voters), self.best.mistakes, self.first_seen),
            # If the guard did not follow the mixture, a mistake may have a small log loss, so these rounds are added.
            "bayes-mixture": self.loss_bound / math.log(2) + self.overrides + self.first_seen,
        }


def of_core(found: Any, names: tuple[str, ...], first_seen: int = 0, *, mixed: bool = False) -> Standings:
    """Return the standings that the core reports; ``names`` are those of the members."""
    voters, (rounds, mistakes, overrides, loss, _) = found
    all_of_them = tuple(
        Standing(name, int(wrong), each_loss, share, weight)
        for name, (wrong, each_loss, share, weight) in zip((*names, *MIXERS), voters, strict=True)
    )
    count = len(names)
    totals = int(rounds), int(mistakes), int(overrides), loss, first_seen, mixed
    return Standings(all_of_them[:count], all_of_them[count:], *totals)
