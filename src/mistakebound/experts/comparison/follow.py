"""Learn rows as they are appended to a file: forecast each, and learn it when it has an outcome."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.signals import stop_at_signal
from mistakebound.data.columns import frames_of, paths_of
from mistakebound.data.source import Source
from mistakebound.errors import StreamError, setting
from mistakebound.experts.comparison.advice import LABELS, NUMBERS
from mistakebound.experts.comparison.past_rows import joined, part_of, rows_of, without_rows
from mistakebound.experts.comparison.records import outcome_cells
from mistakebound.experts.comparison.results import prediction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mistakebound.data.columns import Frame
    from mistakebound.experts.comparison.advice import Advice
    from mistakebound.experts.comparison.state import State
    from mistakebound.hindsight.oracles import CheckedForecasts


class FollowedRound(NamedTuple):
    """A row of a followed file."""

    ids: dict[str, str]
    """The columns that identify the row, such as a date."""
    round: int | None
    """The number of the round, from 1; None for a row without an outcome, which is not learned."""
    forecasts: dict[str, Any]
    """The forecast of each rule, made before the outcome was used; None if every expert is asleep."""
    outcome: Any
    """A number or a label; None if it is not known."""


def follow(
    table: Any,
    state: State,
    on_round: Callable[[FollowedRound], None] | None,
    overlap: str,
    reading: dict[str, Any],
) -> tuple[Advice, CheckedForecasts]:
    """Let a state learn the rows of a file until Ctrl-C or SIGTERM; return all rows that it has learned.

    A row without an outcome is forecast, and not learned; before the first outcome, it is left out.
    """
    rounds, last = state.rounds, state.last
    try:
        found = learn_frames(table, state, on_round, overlap, reading)
    finally:  # also after a bad row: the rows before it stay learned
        state.last = state.rounds - rounds or last
    if found is None or state.past is None:
        message = f"no row had an outcome in column {state.outcome!r}"
        raise StreamError(message, kind="no outcome", feature=state.outcome)
    return found


def learn_frames(
    table: Any,
    state: State,
    on_round: Callable[[FollowedRound], None] | None,
    overlap: str,
    reading: dict[str, Any],
) -> tuple[Advice, CheckedForecasts] | None:
    """Let a state learn the rows of a file as they come; return all its rows, or None if it has learned none."""
    found = None
    waiting: Frame | None = None
    with ExitStack() as stack:
        for frame in followed_frames(table, state.outcome, reading, stack):
            whole = frame if waiting is None else joined(waiting, frame)
            known = [bool(text) for text in whole.texts(whole.name(state.outcome))]
            if state.past is None and not any(known):  # which columns are experts depends on the outcomes
                waiting = whole
                continue
            waiting = None
            if state.past is None:
                state.settle(without_rows(whole, [row for row, has_outcome in enumerate(known) if not has_outcome]))
            for has_outcome, group in groupby(range(whole.rows), known.__getitem__):
                rows = list(group)
                if not has_outcome and state.past is None:  # there is no learner before the first outcome
                    continue
                segment = part_of(whole, rows[0], rows[-1] + 1, whole.names)
                begin = state.rounds
                found = state.stream(segment, overlap)
                state.learn(found[0])
                state.last = 0  # later rows may be equal by chance, unless ids say that they are the same
                for each in rounds_from(state, found[0], begin):
                    if on_round:
                        on_round(each)
    return found


def followed_frames(table: Any, outcome: str, reading: dict[str, Any], stack: ExitStack) -> Iterator[Frame]:
    """Yield the rows of a file that grows; the column ``outcome`` must be one of its columns."""
    options = {name: reading[name] for name in ("separator", "header") if reading.get(name) is not None}

    def opened(**more: Any) -> Iterator[Frame]:
        source = Source(paths_of(table), follow=True, skip_bad=reading.get("skip_bad", 0), table={**options, **more})
        reader = source.open(all_columns=True)
        stack.enter_context(stop_at_signal(reader.stop))
        return frames_of(reader)

    frames = opened()
    first = next(frames, None)
    unnamed = first is not None and first.names == [f"c{number}" for number in range(1, len(first.names) + 1)]
    if first is not None and unnamed and "header" not in options and not first.has(outcome) and not outcome.isdigit():
        frames = opened(header=True)  # if all columns hold text, a header cannot be detected
        first = next(frames, None)
        if first is not None and not first.has(outcome):
            message = f"there is no column {outcome!r}; if the first line is a header, set "
            raise StreamError(message, setting("header", True), kind="unknown column", feature=outcome)
    if first is not None:
        yield first
    yield from frames


def rounds_from(state: State, stream: Advice, begin: int) -> Iterator[FollowedRound]:
    """Yield the rows of a stream from ``begin`` on, with the forecasts of each rule."""
    ids = rows_of(stream.frame, stream.ids)
    outcomes = stream.outcomes.tolist() if stream.kind == NUMBERS else outcome_cells(stream)
    ledgers = {rule: learner.ledger_ for rule, learner in state.learners.items()}
    for t in range(begin, len(stream.forecasts)):
        learned = t < stream.rounds
        forecasts = {
            rule: ledgers[rule].predictions[t].tolist() if learned else prediction(rule, learner, stream, t)
            for rule, learner in state.learners.items()
        }
        if stream.kind == LABELS:
            forecasts = {rule: None if code is None else stream.labels[int(code)] for rule, code in forecasts.items()}
        named = dict(zip(stream.ids, ids[t], strict=True))
        yield FollowedRound(named, t + 1 if learned else None, forecasts, outcomes[t] if learned else None)
