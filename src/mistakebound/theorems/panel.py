"""Theorems on the Panel. They have no premises: the panel counts in every round all that the bounds depend on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from mistakebound.theorems.evidence import Premise

if TYPE_CHECKING:
    from mistakebound.play.standings import Standing, Standings


class PanelGuard:
    """M ≤ 2.41(m + lg n) for the mistakes m of the best of n members and mixers, whatever the mixture does.

    See docs/theory.md, "Guarded Weighted Majority" and "The Panel".
    """

    id: ClassVar[str] = "guarded-weighted-majority"

    def comparator(self, standings: Standings) -> Standing:
        """Return the member or mixer with the fewest mistakes."""
        return standings.best

    def bound(self, standings: Standings) -> float:
        """Return the bound on the mistakes."""
        return standings.bounds[self.id]

    def premise(self, standings: Standings) -> Premise:
        """Show the best member or mixer."""
        best, n = standings.best, len(standings.voters)
        shown = f"{best.name}: m = {best.mistakes}"
        if standings.first_seen:
            shown += f"; D = {standings.first_seen} labels occurred for the first time, and are added"
        return Premise(f"m is the fewest mistakes of {n} members and mixers", True, shown)

    def is_broken(self, standings: Standings, rounding: float) -> bool:
        """Return whether there were more mistakes than the theorem allows."""
        return standings.all_mistakes > self.bound(standings) * (1 + rounding)


class PanelMixture:
    """Σ −ln p(y) ≤ L + ln(1/π) for the log loss L of every member and mixer, so M ≤ (L + ln(1/π))/ln 2 + overrides.

    See docs/theory.md, "The Bayes mixture" and "The Panel".
    """

    id: ClassVar[str] = "bayes-mixture"

    def comparator(self, standings: Standings) -> Standing:
        """Return the member or mixer with the smallest L + ln(1/π)."""
        return standings.best_by_loss

    def bound(self, standings: Standings) -> float:
        """Return the bound on the mistakes, which includes the rounds in which the guard did not follow the mixture."""
        return standings.bounds[self.id]

    def premise(self, standings: Standings) -> Premise:
        """Show the best member or mixer and both log losses."""
        best = standings.best_by_loss
        shown = (
            f"{best.name}: L = {best.log_loss:.6g}, ln(1/π) = {-math.log(standings.prior(best)):.6g}; "
            f"log loss of the mixture {standings.log_loss:.6g}, bound {standings.loss_bound:.6g}"
        )
        return Premise("L + ln(1/π) is the smallest of all members and mixers", True, shown)

    def is_broken(self, standings: Standings, rounding: float) -> bool:
        """Return whether the log loss or the mistakes exceed their bounds, by more than rounding errors."""
        allowed = standings.loss_bound * (1 + rounding) + standings.rounds * rounding
        return (
            standings.log_loss > allowed or standings.all_mistakes > self.bound(standings) * (1 + rounding) + rounding
        )


PANEL_THEOREMS: dict[str, PanelGuard | PanelMixture] = {
    theorem.id: theorem for theorem in (PanelGuard(), PanelMixture())
}
