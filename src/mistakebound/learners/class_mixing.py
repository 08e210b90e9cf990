"""The state of a learner of several classes, mixed from learners that continued from copies of the same one.

Weights of the multiclass Perceptron are averaged by shares; ``class_panel_mixing`` has the Panel. Counts are added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.learners.class_panel_mixing import mixed_class_panel
from mistakebound.learners.mixed_class_record import LIMIT, NAMED, ClassRecord, joined_records
from mistakebound.learners.mixed_numbers import mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import AnyArray, IntArray

    State = tuple[Any, ...]

PANEL = "multiclass-panel"


def mixed_classes(
    start: State,
    parts: Sequence[State],
    shares: Sequence[float],
    places: Sequence[IntArray],
    class_places: Sequence[IntArray],
    slots: int,
) -> State:
    """Return the state of one learner from those of parts that continued from copies of ``start``.

    States are those of the core. The result has what follows the settings and the names. ``places[i]`` has, for each
    slot of part i, its slot among the ``slots`` of the union, and ``class_places[i]`` the same for class ids; slots
    and classes of the start keep their numbers. The state of a single part is returned as it is.
    """
    if len(parts) == 1:
        return tuple(parts[0][2:])
    is_panel = start[0][0] == PANEL
    offset = 1 if start[0][NAMED] else 0
    features: list[IntArray] = [np.asarray(own)[offset:] - offset for own in places]
    ids = [np.asarray(own, np.int64) for own in class_places]
    classes = max(int(own.max(initial=-1)) + 1 for own in ids)
    record = joined_records(_record(start), [_record(part) for part in parts], features, ids, start[0][LIMIT])
    inner = [state[2] for state in (start, *parts)]
    if is_panel:
        arrays = mixed_class_panel(inner[0], inner[1:], shares, places, ids, classes)
        state = (*arrays, record.predictions, *record.losses, record.confusion, record.measured)
    else:
        weights = _mixed_weights(inner[0], inner[1:], shares, places, ids, (slots, classes))
        state = (*weights, record.predictions, *record.losses, record.confusion, *record.kept[6:])
    history = record.mistake_rounds, record.kept[:6], record.keeping, record.late, record.confidence
    return (state, record.counts, start[4], *history)


def _record(state: State) -> ClassRecord:
    inner, counts, _, mistake_rounds, kept, keeping, late, confidence = state[2:]
    is_panel = state[0][0] == PANEL
    predictions, log_loss, brier, confusion = inner[16:20] if is_panel else inner[2:6]
    none = np.zeros(0, np.int32)
    kept = (*kept, *((none, none) if is_panel else inner[6:8]))
    measured = inner[20] if is_panel else 0
    losses = (log_loss, brier)
    return ClassRecord(
        counts, predictions, losses, confusion, mistake_rounds, kept, keeping, late, confidence, measured
    )


def _mixed_weights(
    start: State,
    parts: Sequence[State],
    shares: Sequence[float],
    places: Sequence[IntArray],
    ids: Sequence[IntArray],
    shape: tuple[int, int],
) -> tuple[AnyArray, AnyArray]:
    """Return the mean weights of the multiclass Perceptron; where a part has none, it has those of the start."""
    known = len(start[1])
    first, constant = np.zeros(shape, np.float32), np.zeros(shape[1], np.float32)
    first[: len(start[0]) // max(known, 1), :known] = start[0].reshape(-1, known) if known else 0
    constant[:known] = start[1]
    all_weights, constants = [], []
    for part, own, classes in zip(parts, places, ids, strict=True):
        weights, bias = first.copy(), constant.copy()
        if len(classes):
            weights[np.ix_(own, classes)] = part[0].reshape(-1, len(classes))
        bias[classes] = part[1]
        all_weights.append(weights)
        constants.append(bias)
    return mean(all_weights, shares).astype(np.float32).ravel(), mean(constants, shares).astype(np.float32)
