"""Convert the standings of a panel to JSON, and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mistakebound._support import schema
from mistakebound._support.schema import need
from mistakebound.play.standings import Standing, Standings
from mistakebound.rules.panel import MulticlassPanelRule, PanelRule
from mistakebound.rules.panel_members import MIXERS

if TYPE_CHECKING:
    from mistakebound.rules import Rule

LARGEST_LOSS = 21.0
"""−ln p of one round is at most this: logits of mixers beyond ±20, and probabilities beyond 1e-9, are clipped."""
LARGEST_CLASS_LOSS = 100.0
"""The same for several classes, whose log probabilities are bounded from below before they are normalised."""
ROUNDING = 1e-9


def write_standings(standings: Standings) -> dict[str, Any]:
    """Return standings for JSON; ``read_standings`` returns them with the same bits."""
    voters = {name: [each._asdict() for each in getattr(standings, name)] for name in ("members", "mixers")}
    written = {**standings._asdict(), **voters}
    if not standings.first_seen:  # two labels have none
        del written["first_seen"]
    if not standings.mixed:
        del written["mixed"]
    return written


def read_standings(value: Any, rule: Rule, counts: tuple[int, ...], *, from_start: bool, late: int) -> Standings | None:
    """Return the standings of a panel, None for a linear rule; raise ModelError if they are not valid.

    ``counts`` are those of the ledger, ``late`` is its number of late outcomes: in these rounds the prediction that
    counts is an earlier one, which the members did not vote on.
    """
    if not isinstance(rule, PanelRule):
        need(value is None, f"standings must be absent, because {rule.id} has no members", "standings")
        return None
    several = isinstance(rule, MulticlassPanelRule)
    first_seen = value.pop("first_seen", 0) if several and isinstance(value, dict) else 0
    mixed = schema.flag(value.pop("mixed", False), "standings.mixed") if isinstance(value, dict) else False
    members, mixers, rounds, mistakes, overrides, log_loss = schema.fields(
        value, *Standings._fields[:-2], path="standings"
    )
    first_seen = schema.whole(first_seen, "standings.first_seen", 0, 2**53)
    rounds = schema.whole(rounds, "standings.rounds", max(counts[0] - first_seen, 0), 2**53)
    largest = LARGEST_CLASS_LOSS if several else LARGEST_LOSS
    listed = schema.items(members, "standings.members", len(rule.names) + int(rule.joined))
    found = Standings(
        tuple(_voter(each, f"standings.members[{k}]", rounds, largest) for k, each in enumerate(listed)),
        tuple(
            _voter(each, f"standings.mixers[{k}]", rounds, largest)
            for k, each in enumerate(schema.items(mixers, "standings.mixers", len(MIXERS)))
        ),
        rounds,
        schema.whole(mistakes, "standings.mistakes", 0, rounds),
        schema.whole(overrides, "standings.overrides", 0, rounds),
        schema.number(log_loss, "standings.log_loss", -ROUNDING, rounds * largest),
        first_seen,
        mixed,
    )
    names = tuple(each.name for each in found.voters)
    known = names[: len(rule.names)] == rule.names and names[len(found.members) :] == MIXERS
    need(known and len(set(names)) == len(names), "standings must have the members of the rule", "standings")
    shares = sum(each.share for each in found.voters)
    need(abs(shares - 1) < 1e-6, "the shares of members and mixers must add up to 1", "standings")
    wrong = counts[1] + counts[2]
    if from_start and found.all_rounds == counts[0] and rule.threshold == 0:  # the guard makes the predictions
        agree = found.all_mistakes == wrong or late > 0  # not all late rounds may be listed
        need(agree, "standings.mistakes contradict the mistakes in counts", "standings.mistakes")
    return found


def _voter(value: Any, path: str, rounds: int, largest: float) -> Standing:
    name, mistakes, log_loss, share, weight = schema.fields(value, *Standing._fields, path=path)
    found = Standing(
        schema.text(name, f"{path}.name"),
        schema.whole(mistakes, f"{path}.mistakes", 0, rounds),
        schema.number(log_loss, f"{path}.log_loss", -ROUNDING, rounds * largest),
        schema.number(share, f"{path}.share", 0.0, 1.0),
        schema.number(weight, f"{path}.weight"),
    )
    # A wrong prediction has a probability of at most ½ for the label.
    least = found.mistakes * math.log(2) * (1 - ROUNDING)
    need(found.log_loss >= least, f"{path}.log_loss is too small for its mistakes", f"{path}.log_loss")
    return found
