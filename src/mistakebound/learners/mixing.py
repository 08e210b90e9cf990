"""`mix`: one learner from learners that continued from copies of the same one (iterative parameter mixing)."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.learners.mixed_record import History, concatenated
from mistakebound.learners.mixed_shares import shares_of
from mistakebound.play.engine import is_panel
from mistakebound.play.mixed_state import HISTORY, WIDTH, Union, engine_with, mixed_state, united
from mistakebound.play.mixing import Epoch, Mixing, Shard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import IntArray
    from mistakebound.data.labels import Labels
    from mistakebound.learners.learner import Learner
    from mistakebound.play.engine import LearnerEngine

    State = tuple[Any, ...]
    """The state of an engine of the core."""

LIMIT, THREADS = 8, 12
"""Places of ``keep_bytes`` and of the number of threads in the settings of the core."""


def mix(start: Learner, parts: Sequence[Learner], shares: Sequence[float] | str | None = None) -> Learner:
    """Return one learner that has learned what the parts have learned, by averaging weights; see ``mistakebound.mix``.

    The parts are linear learners or Panels. If only one part has a share and no other part has learned anything, the
    result is a copy of that part.
    """
    parts = list(parts)
    _check_kinds(start, parts)
    if start.several or any(part.several for part in parts):
        from mistakebound.learners.class_mixing import mix_classes  # noqa: PLC0415 - few have several classes

        return mix_classes(start, parts, shares)
    if not any(part.has_learned for part in parts):
        shares_of(shares, [0] * len(parts), [0] * len(parts))
        return deepcopy(start)
    origin = _engine_of(start, parts)
    engines = [origin if part._play is None else part._play.engine for part in parts]
    first, states = origin.core.__getstate__(), [engine.core.__getstate__() for engine in engines]
    past, pasts = _history(first), [_history(state) for state in states]
    for place, (engine, state) in enumerate(zip(engines, states, strict=True)):
        if parts[place].has_learned:
            _check_continues(place, (origin, first, past), (engine, state, pasts[place]))
    own = [each.rounds - past.rounds for each in pasts]
    found = shares_of(shares, own, [each.updates - past.updates for each in pasts])
    used = [place for place, share in enumerate(found) if share > 0 or own[place] > 0]
    if not any(own):
        return deepcopy(start)
    if len(used) == 1 and found[used[0]] == 1:
        return deepcopy(parts[used[0]])
    found, states = [found[k] for k in used], [states[k] for k in used]
    engine = _mixed_engine(origin, (first, past), states, [pasts[k] for k in used], found)
    return _learner_with(start, [parts[k] for k in used], engine)


def _panel_state(first: State, states: Sequence[State], shares: Sequence[float], union: Union) -> list[Any]:
    """Return the part of the core's state that a panel has in place of weights."""
    from mistakebound.learners.panel_mixing import mixed_panel  # noqa: PLC0415 - only panels need it

    return [mixed_panel(first[2], [state[2] for state in states], shares, union.places, union.slots)]


def _history(state: State) -> History:
    return History(*state[-HISTORY:])


def _engine_of(start: Learner, parts: Sequence[Learner]) -> LearnerEngine:
    """Return the engine of ``start``; if it has learned nothing, a new one with the kind of features of the parts."""
    if start._play is not None and start.has_learned:
        return start._play.engine
    like = next(part._play.engine for part in parts if part._play is not None and part.has_learned)
    return start._new_engine(None, growing=True) if like.growing else start._new_engine(like.width)


def _mixed_engine(
    origin: LearnerEngine,
    start: tuple[State, History],
    states: Sequence[State],
    pasts: Sequence[History],
    shares: Sequence[float],
) -> LearnerEngine:
    """Return the engine with the mixed state, the record of all rounds, and what was mixed."""
    first, past = start
    union = united(first, states, named=origin.named)
    offset = 1 if origin.named else 0
    features: list[IntArray] = [places[offset:] - offset for places in union.places]
    keeps = origin.rule.keeps_examples
    history = concatenated(past, pasts, features, first[0][LIMIT], keeps_examples=keeps)
    state = (
        _panel_state(first, states, shares, union)
        if is_panel(origin.rule)
        else mixed_state(origin, first, states, shares, union)
    )
    engine = engine_with(origin, first, union, state, history)
    shards = tuple(
        Shard(each.rounds - past.rounds, each.mistakes - past.mistakes, each.updates - past.updates, float(share))
        for each, share in zip(pasts, shares, strict=True)
    )
    earlier = () if origin.mixing is None else origin.mixing.epochs
    engine.mixing = Mixing((*earlier, Epoch(past.rounds, shards)))
    return engine


def _learner_with(start: Learner, parts: Sequence[Learner], engine: LearnerEngine) -> Learner:
    """Return a learner like ``start`` with this engine, and with the labels and reading options of the parts."""
    plays = [each._play for each in (start, *parts) if each._play is not None]
    found = type(start)(**start.get_params())
    found._early_labels = _united_labels([start._labels, *(part._labels for part in parts)])
    play = found._restore(engine)
    play.reading = next((each.reading for each in plays if each.reading is not None), None)
    play.weighted = any(each.weighted for each in plays)
    play.use_class_weight(plays[-1].class_weight)
    columns = next((each.feature_names_in_ for each in (start, *parts) if hasattr(each, "feature_names_in_")), None)
    if columns is not None:
        found.feature_names_in_ = columns
    return found


def _united_labels(all_labels: Sequence[Labels]) -> Labels:
    labels = all_labels[0].copy()
    for place, other in enumerate(all_labels[1:]):
        signs = labels.signs | other.signs
        if len(set(signs.values())) < len(signs) or any(signs[each] != sign for each, sign in labels.signs.items()):
            message = (
                f"part {place} has other labels, {_pair(other)}, than the learners before it, {_pair(labels)}: "
                "set classes=(negative, positive)"
            )
            raise ValueError(message)
        if len(other.signs) >= len(labels.signs):
            labels.negative, labels.positive = other.pair
        labels.signs = signs
    for label, sign in labels.signs.items():
        labels.positive, labels.negative = (label, labels.negative) if sign > 0 else (labels.positive, label)
    return labels


def _pair(labels: Labels) -> str:
    return " and ".join(f"{label!r} ({'positive' if sign > 0 else 'negative'})" for label, sign in labels.signs.items())


# ---------------------------------------------------------------------- checks


def _check_kinds(start: Learner, parts: Sequence[Learner]) -> None:
    """Raise ValueError unless there are parts, all of the class of the start, that have learned if it has."""
    if not parts:
        message = "parts must have at least one learner"
        raise ValueError(message)
    for place, part in enumerate(parts):
        if type(part) is not type(start):
            _refuse(place, f"it is a {type(part).__name__}, and start is a {type(start).__name__}")
        if start.has_learned and not part.has_learned:
            _refuse(place, "it has not learned anything, and start has")


def _check_continues(
    place: int,
    start: tuple[LearnerEngine, State, History],
    part: tuple[LearnerEngine, State, History],
) -> None:
    """Raise ValueError unless the part can have continued from a copy of the start."""
    (origin, first, past), (engine, state, own) = start, part
    if (engine.named, engine.growing) != (origin.named, origin.growing):
        _refuse(place, "one has features with names and the other has not, or they grow in one only")
    if not origin.growing and engine.width != origin.width:
        _refuse(place, f"it has {engine.width} features, and start has {origin.width}")
    settings = [list(each[0][:THREADS]) for each in (first, state)]
    for each in settings:
        each[WIDTH] = 0
    if settings[0] != settings[1] or engine.rule != origin.rule or engine.reduction != origin.reduction:
        _refuse(place, f"it has other parameters: {engine.rule!r}, and start has {origin.rule!r}")
    if state[1][: len(first[1])] != first[1]:
        _refuse(place, "the names of its features do not begin with those of start")
    if engine.mixing != origin.mixing:
        _refuse(place, "it was mixed since start was copied; mix the learners that it was mixed from")
    if any(now < before for now, before in zip(own.counts, past.counts, strict=True)):
        _refuse(place, f"it has {own.rounds} rounds, {own.mistakes} mistakes; start {past.rounds}, {past.mistakes}")
    if not _begins_with(own, past) or state[0][WIDTH] < first[0][WIDTH]:
        _refuse(place, "its first rounds are not those of start")


def _begins_with(own: History, past: History) -> bool:
    """Return whether the record of a part begins with that of the start."""
    rows = len(past.kept[0])
    return (
        np.array_equal(own.predictions[: len(past.predictions)], past.predictions)
        and np.array_equal(own.mistake_rounds[: len(past.mistake_rounds)], past.mistake_rounds)
        and all(np.array_equal(own.kept[k][:rows], past.kept[k]) for k in range(3))
        and (past.keeping or not own.keeping)
    )


def _refuse(place: int, why: str) -> None:
    message = f"part {place} does not continue from start: {why}"
    raise ValueError(message)
