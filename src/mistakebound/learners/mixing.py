"""`mix`: one learner from learners that continued from copies of the same one (iterative parameter mixing)."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.lazy import np
from mistakebound.data.class_labels import ClassLabels
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
    if not any(part.has_learned for part in parts):
        shares_of(shares, [0] * len(parts), [0] * len(parts))
        return deepcopy(start)
    copies = parts
    if start.several or any(part.several for part in parts):
        from mistakebound.learners.class_mixing import with_class_ids  # noqa: PLC0415 - few have several classes

        start, copies = (
            with_class_ids(start, "start"),
            [with_class_ids(each, f"part {k}") for k, each in enumerate(parts)],
        )
    first = _learned(_engine_of(start, copies), start._labels)
    states = [
        first if each._play is None or not each.has_learned else _learned(each._play.engine, each._labels)
        for each in copies
    ]
    for place, state in enumerate(states):
        if state is not first:
            _check_continues(place, first, state)
    own = [each.past.rounds - first.past.rounds for each in states]
    found = shares_of(shares, own, [each.past.updates - first.past.updates for each in states])
    used = [place for place, share in enumerate(found) if share > 0 or own[place] > 0]
    if not any(own):
        return deepcopy(start)
    if len(used) == 1:
        return deepcopy(parts[used[0]])
    return _mixed(start, [copies[k] for k in used], first, [states[k] for k in used], [found[k] for k in used])


class _Learned(NamedTuple):
    """What a learner has learned."""

    engine: LearnerEngine
    core: State
    past: History
    labels: Any


def _learned(engine: LearnerEngine, labels: Any) -> _Learned:
    state = engine.core.__getstate__()
    past = History(*state[-HISTORY:])
    if isinstance(labels, ClassLabels):
        from mistakebound.learners.class_mixing import record_of  # noqa: PLC0415 - few have several classes

        past = past._replace(predictions=record_of(state).predictions)
    return _Learned(engine, state, past, labels)


def _panel_state(first: State, states: Sequence[State], shares: Sequence[float], union: Union) -> list[Any]:
    """Return the part of the core's state that a panel has in place of weights."""
    from mistakebound.learners.panel_mixing import mixed_panel  # noqa: PLC0415 - only panels need it

    return [mixed_panel(first[2], [state[2] for state in states], shares, union.places, union.slots)]


def _engine_of(start: Learner, parts: Sequence[Learner]) -> LearnerEngine:
    """Return the engine of ``start``; if it has learned nothing, a new one with the kind of features of the parts."""
    if start._play is not None and start.has_learned:
        return start._play.engine
    like = next(part._play.engine for part in parts if part._play is not None and part.has_learned)
    fresh = type(start)(**start.get_params())
    fresh._early_labels = start._labels
    return fresh._begin(None if like.growing else like.width, growing=like.growing).engine


def _mixed(
    start: Learner, parts: Sequence[Learner], first: _Learned, states: Sequence[_Learned], shares: Sequence[float]
) -> Learner:
    """Return the learner with the mixed state, the record of all rounds, and what was mixed."""
    origin, cores, past = first.engine, [each.core for each in states], first.past
    union = united(first.core, cores, named=origin.named)
    labels: Any
    if isinstance(first.labels, ClassLabels):
        from mistakebound.learners.class_mixing import mixed_classes, united_labels  # noqa: PLC0415 - see above

        labels, ids = united_labels([each.labels for each in (first, *states)])
        state, *history = mixed_classes(first.core, cores, shares, union.places, ids, union.slots)
        engine = engine_with(origin, first.core, union, [state], history)
    else:
        labels = _united_labels([each.labels for each in (first, *states)])
        engine = _engine_of_two_labels(first, states, shares, union)
    shards = tuple(
        Shard(each.rounds - past.rounds, each.mistakes - past.mistakes, each.updates - past.updates, float(share))
        for each, share in zip((state.past for state in states), shares, strict=True)
    )
    earlier = () if origin.mixing is None else origin.mixing.epochs
    engine.mixing = Mixing((*earlier, Epoch(past.rounds, shards)))
    return _learner_with(start, parts, engine, labels)


def _engine_of_two_labels(
    first: _Learned, states: Sequence[_Learned], shares: Sequence[float], union: Union
) -> LearnerEngine:
    origin, cores = first.engine, [each.core for each in states]
    offset = 1 if origin.named else 0
    features: list[IntArray] = [places[offset:] - offset for places in union.places]
    pasts, keeps = [each.past for each in states], origin.rule.keeps_examples
    history = concatenated(first.past, pasts, features, first.core[0][LIMIT], keeps_examples=keeps)
    state = (
        _panel_state(first.core, cores, shares, union)
        if is_panel(origin.rule)
        else mixed_state(origin, first.core, cores, shares, union)
    )
    return engine_with(origin, first.core, union, state, history)


def _learner_with(start: Learner, parts: Sequence[Learner], engine: LearnerEngine, labels: Any) -> Learner:
    """Return a learner like ``start`` with this engine and these labels, and with the reading options of the parts."""
    plays = [each._play for each in (start, *parts) if each._play is not None]
    found = type(start)(**start.get_params())
    found._early_labels = labels
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
    if outside := [*start.objects(), *(name for part in parts for name in part.objects())]:
        message = f"members from outside cannot be mixed: remove {outside[0]} from members"
        raise ValueError(message)


def _check_continues(place: int, start: _Learned, part: _Learned) -> None:
    """Raise ValueError unless the part can have continued from a copy of the start."""
    (origin, first, past, labels), (engine, state, own, own_labels) = start, part
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
    if isinstance(labels, ClassLabels) and own_labels.seen[: len(labels.seen)] != labels.seen:
        _refuse(place, f"its first labels are {own_labels.seen}, and those of start {labels.seen}")


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
