"""The facts about a panel that JSON and the report show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mistakebound.learners.panel import Panel


def panel_facts(panel: Panel) -> dict[str, Any]:
    """Return the members of a panel, its leaders over time, and the bounds of its theorems.

    No theorem is about a mixed panel: its ``bounds`` are empty, and its ``log_loss_bound`` is None.
    """
    standings = panel.standings
    rounds = max(standings.rounds, 1)  # the first round of several classes does not count
    return {
        "rounds": standings.rounds,
        "first_seen": standings.first_seen,
        "members": [each._asdict() for each in panel.members()],
        "mixers": [
            {"name": each.name, "mistakes": each.mistakes, "log_loss": each.log_loss / rounds}
            for each in standings.mixers
        ],
        "leaders": [{"round": round_, "member": name} for round_, name in panel.leadership()],
        "overrides": standings.overrides,
        "log_loss": max(standings.log_loss, 0.0) / rounds,
        "log_loss_bound": None if standings.mixed else standings.loss_bound / rounds,
        "bounds": standings.bounds,
        "dropped_features": panel.dropped_features_,
    }
