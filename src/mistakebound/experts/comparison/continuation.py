"""Continue from a loaded state: which options may change, and which columns of the next rows are used.

The state fixes the rules, the loss and the columns. New experts may join; an ignored expert is asleep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.text import many
from mistakebound.aggregation.registry import ADVISED, ALIASES, FOLLOWING, MIXING
from mistakebound.errors import OptionError, setting
from mistakebound.experts.comparison.advice import EVERY
from mistakebound.experts.comparison.class_columns import grouped, likely_experts
from mistakebound.experts.comparison.roles import experts_option, ignored_columns, refuse_ignored_experts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mistakebound.data.columns import Frame
    from mistakebound.errors import Option
    from mistakebound.experts.comparison.state import State


class NextColumns(NamedTuple):
    """Which columns of the next rows are used."""

    experts: list[str]
    """The experts of the state, and those that join."""
    new: list[str]
    """The columns of the experts that join."""
    ignored: list[str]
    """The columns that are left out."""
    notes: list[tuple[str | Option, ...]]
    """What changes, and which columns are not used."""


def check_options(state: State, wanted: State) -> None:
    """Raise OptionError for an option, other than a column, that differs from that of the state."""
    rules = {*state.rules, *(each.rule for each in state.refused)}
    asked_rules = {ALIASES.get(rule, rule) for rule in wanted.rules}
    if "all" in asked_rules:
        every = [rule for rule in FOLLOWING if state.choice.advice or rule not in ADVISED]
        asked_rules = asked_rules - {"all"} | {*(every if rules <= {*FOLLOWING} else MIXING)}
    compared: dict[str, tuple[Any, Any]] = {
        "classes": ([*wanted.choice.classes], [*state.choice.classes]),
        "positive": (wanted.choice.positive, state.choice.positive),
        "loss": (None if wanted.loss is None else wanted.loss.id, "square" if state.loss is None else state.loss.id),
        **{name: (value, state.parameters.get(name)) for name, value in wanted.parameters.items()},
    }
    if asked_rules and asked_rules != rules:
        raise contradiction(wanted.rules, sorted(rules), "rules")
    for name, (asked, known) in compared.items():
        if asked not in (None, []) and asked != known:
            raise contradiction(asked, known, name)


def columns_of_next_rows(state: State, frame: Frame) -> NextColumns:
    """Return which columns of the next rows are used; raise OptionError for a column that the state does not allow."""
    choice = state.choice
    check_columns(state, frame)
    ignored = ignored_columns(frame, choice)
    for name in ignored:
        if name in (state.outcome, choice.advice, *choice.ids):
            message = f" is {name}, but the loaded state needs this column; do not set it, or start without a state"
            raise OptionError(setting("ignore"), message, kind="another option than the state", value=name)
    known = [*choice.experts]
    experts = experts_of_next_rows(state, frame, ignored)
    joining = experts[len(known) :]
    used = {*state.past.names} if state.past else set()
    groups = grouped([name for name in frame.names if name not in used], choice.classes)[0]
    new = [column for name in joining for column in (groups.get(name, []) if choice.classes else [name])]
    left = [name for name in frame.names if name not in {*used, *ignored, *new}]
    notes: list[tuple[str | Option, ...]] = []
    if joining:
        again = f"they were asleep in the {many(state.rounds, 'round')} before, which were learned again"
        notes.append((f"new experts: {', '.join(joining)}; {again}",))
    if ignored:
        notes.append((f"ignored: {', '.join(ignored)}",))
    missing = [
        name for name in (state.past.names if state.past else ()) if not frame.has(name) and name != state.outcome
    ]
    if missing:
        notes.append((f"missing in the new rows: {', '.join(missing)} (an expert without a forecast is asleep)",))
    asleep = [name for name in ignored if name in used]
    if asleep:
        notes.append((f"asleep in the new rows, because they are ignored: {', '.join(asleep)}",))
    return NextColumns(experts, new, ignored, [*notes, *unused_note(state, frame, left, experts)])


def check_columns(state: State, frame: Frame) -> None:
    """Raise OptionError if the outcome, the advice or the ids that were passed are not those of the state."""
    wanted, choice = state.wanted, state.choice
    if wanted is None:
        return
    advice = [] if wanted.choice.advice is None else [wanted.choice.advice]
    compared = {
        "outcome": ([wanted.outcome], [state.outcome]),
        "advice": (advice, [choice.advice] if choice.advice else []),
        "ids": ([*wanted.choice.ids], [*choice.ids]),
    }
    for name, (asked, known) in compared.items():
        if asked and names_in(frame, asked, known) != known:
            raise contradiction(asked, known, name)


def experts_of_next_rows(state: State, frame: Frame, ignored: Sequence[str]) -> list[str]:
    """Return the experts of the state, and then those that join: passed experts that the state does not have."""
    known, choice = [*state.choice.experts], state.choice
    asked = [] if state.wanted is None else [*state.wanted.choice.experts]
    if not asked:
        return known
    if choice.classes:
        names = asked
    elif asked == [EVERY] and not frame.has(EVERY):
        others = {*known, *ignored, *choice.ids, state.outcome, choice.advice}
        names = [*known, *(name for name in frame.names if name in frame.numbers and name not in others)]
    else:
        names = names_in(frame, asked, known)
    if not {*known} <= {*names}:
        raise contradiction(asked, known, "experts")
    joining = [name for name in dict.fromkeys(names) if name not in known]
    refuse_ignored_experts(joining, ignored)
    for name in joining:
        if name in (state.outcome, choice.advice, *choice.ids):
            message = f" names {name}, which is not an expert of the loaded state, but its outcome, advice or id"
            raise OptionError(setting("experts"), message, kind="another option than the state", value=name)
    return [*known, *joining]


def names_in(frame: Frame, given: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the names of columns that are given by name or number; a known column need not be in the frame."""
    return [each if each in known else frame.name(each) for each in given]


def unused_note(state: State, frame: Frame, left: list[str], experts: Sequence[str]) -> list[tuple[str | Option, ...]]:
    """Return a note about columns that could be experts, and how they become experts."""
    if state.choice.classes:
        able = [*grouped(left, state.choice.classes)[0]]
    else:
        able = [name for name in left if name in frame.numbers or name in likely_experts(frame, state.labels, left)]
    if not able:
        return []
    why = f"not used, because the state does not have these columns: {', '.join(able)}; set "
    return [(why, experts_option([*experts, *able]), " (the names of all experts) to let them join")]


def contradiction(asked: Any, known: Any, name: str) -> OptionError:
    """Return the error for the option ``name``, which differs from that of the loaded state."""
    has = "has none" if known is None or known in ([], ()) else f"has {_listed(known)}"
    differs = (
        " is not an option of the loaded state"
        if asked is False
        else f" is {_listed(asked)}, but the loaded state {has}"
    )
    message = f"{differs}; do not set it, or start without a state"
    return OptionError(setting(name), message, kind="another option than the state", value=asked)


def _listed(value: str | Iterable[str]) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
