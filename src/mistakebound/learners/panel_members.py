"""The members of a `Panel`: the parameter that chooses them, members from outside, and how good each one is."""

from __future__ import annotations

import math
from collections.abc import Collection
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound.errors import OptionError, setting
from mistakebound.learners.learner import Learner
from mistakebound.rules.panel_members import MEMBERS, MOST_JOINED, ROSTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mistakebound.learners.panel import Panel
    from mistakebound.play.engine import LearnerEngine


class Member(NamedTuple):
    """A row of ``Panel.members()``."""

    name: str
    mistakes: int
    log_loss: float
    """Mean of −ln p(y) over all rounds; NaN before the first."""
    weight: float
    """Weight of its logit in the mixture."""
    leads_since: int | None
    """The round since which it has had the least log loss of all members; None if another member leads."""


class Members:
    """The attribute ``members`` of a panel: setting it stores the parameter, reading it returns a method."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method

    def __get__(self, panel: Any, _: Any = None) -> Any:
        return self if panel is None else partial(self.method, panel)

    def __set__(self, panel: Any, value: Any) -> None:
        vars(panel)["members"] = value


def members(panel: Panel) -> list[Member]:
    """Return a row for each member: its mistakes, log loss, weight in the mixture, and since when it leads.

    The leader is the member with the least log loss so far. Changes of the leader are recorded every 32 rounds.

    Examples
    --------
    >>> import mistakebound as mb
    >>> panel = mb.Panel()
    >>> ledger = panel.run([[1, 0], [0, 1]] * 100, [1, -1] * 100)
    >>> rows = panel.members()
    >>> len(rows), rows[0].name, min(row.mistakes for row in rows)
    (16, 'coin-betting', 1)
    """
    standings, leads = panel.standings, panel.leadership()
    rounds = standings.rounds
    leader = min(range(len(standings.members)), key=lambda k: standings.members[k].log_loss)
    since = leads[-1][0] if leads and leads[-1][1] == standings.members[leader].name else rounds
    return [
        Member(
            each.name,
            each.mistakes,
            each.log_loss / rounds if rounds else math.nan,
            each.weight,
            since if k == leader and rounds else None,
        )
        for k, each in enumerate(standings.members)
    ]


def joined_to(engine: LearnerEngine) -> Sequence[tuple[str, Any]]:
    """Return the members from outside, with their names."""
    found: Sequence[tuple[str, Any]] = getattr(engine, "joined", ())
    return found


def fresh(member: Any) -> Any:
    """Return a copy of a member from outside, which will see the labels True and False."""
    copy = deepcopy(member)
    if isinstance(copy, Learner) and copy.classes is not None:
        copy.set_params(classes=(False, True))
    return copy


def class_name(member: Any) -> str:
    """Return the name of the class of a member from outside, with its module."""
    return f"{type(member).__module__}.{type(member).__qualname__}"


def named_apart(others: list[Any]) -> list[tuple[str, Any]]:
    """Return the objects with their names: the class, and a number if the class has occurred before.

    >>> [name for name, _ in named_apart([1, "a", 2])]
    ['int', 'str', 'int-2']
    """
    counts: dict[str, int] = {}
    named = []
    for each in others:
        name = type(each).__name__
        counts[name] = counts.get(name, 0) + 1
        named.append((name if counts[name] == 1 else f"{name}-{counts[name]}", each))
    return named


def split_members(wanted: Any) -> tuple[tuple[str, ...], list[tuple[str, Any]]]:
    """Return the names of the members that are the Panel's own, and the members from outside with their names.

    ``wanted`` is the parameter ``members`` of a Panel. Raises OptionError if it is not valid.
    """
    if isinstance(wanted, str) or not isinstance(wanted, Collection):
        if not isinstance(wanted, str) or wanted not in ROSTERS:
            raise OptionError(setting("members"), f' must be "all", "lean" or a sequence, got {wanted!r}')
        return ROSTERS[wanted], []
    own = [name for each in wanted if isinstance(each, str) for name in ROSTERS.get(each, (each,))]
    for name in own:
        if name not in MEMBERS:
            known = ", ".join((*ROSTERS, *MEMBERS))
            raise OptionError(setting("members"), f" must be among {known}, got {name!r}")
    others = [each for each in wanted if not isinstance(each, str)]
    for each in others:
        if isinstance(each, type) or not (hasattr(each, "predict_one") and hasattr(each, "learn_one")):
            reason = f" must be names, and objects with predict_one and learn_one, got {each!r}"
            raise OptionError(setting("members"), reason)
    twice = [name for place, name in enumerate(own) if name in own[:place]]
    if twice:
        raise OptionError(setting("members"), f" must have each member once, got {twice[0]!r} twice")
    if not len(own) + len(others) > 0 or len(others) > MOST_JOINED:
        reason = f" must have at least one member, and at most {MOST_JOINED} from outside"
        raise OptionError(setting("members"), reason)
    return tuple(name for name in MEMBERS if name in own), named_apart(others)
