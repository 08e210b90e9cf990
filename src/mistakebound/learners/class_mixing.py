"""The state and the labels of a learner of several classes, mixed from learners that continued from the same one.

Weights of the multiclass Perceptron are averaged by shares; ``class_panel_mixing`` has the Panel. Counts are added.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.data.class_labels import ClassLabels
from mistakebound.learners.class_panel_mixing import mixed_class_panel
from mistakebound.learners.class_play import converted
from mistakebound.learners.mixed_class_record import LIMIT, NAMED, ClassRecord, joined_records
from mistakebound.learners.mixed_numbers import mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import AnyArray, IntArray
    from mistakebound.learners.learner import Learner

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
    record = joined_records(record_of(start), [record_of(part) for part in parts], features, ids, start[0][LIMIT])
    inner = [state[2] for state in (start, *parts)]
    if is_panel:
        arrays = mixed_class_panel(inner[0], inner[1:], shares, places, ids, classes)
        state = (*arrays, record.predictions, *record.losses, record.confusion, record.measured)
    else:
        weights = _mixed_weights(inner[0], inner[1:], shares, places, ids, (slots, classes))
        state = (*weights, record.predictions, *record.losses, record.confusion, *record.kept[6:])
    history = record.mistake_rounds, record.kept[:6], record.keeping, record.late, record.confidence
    return (state, record.counts, start[4], *history)


def with_class_ids(learner: Learner, name: str) -> Learner:
    """Return a learner of several classes as it is, and a converted copy of a panel of two labels."""
    if learner.several:
        return learner
    found, play = deepcopy(learner), learner._play
    if play is None or not learner.has_learned:
        labels: Any = ClassLabels()
        found._play, found._early_labels = None, labels
        return found
    if not play.labels.settled:
        message = f"{name} has seen only one label, and another learner more than two: set classes=(…, …), all labels"
        raise ValueError(message)
    found._play = converted(play)
    return found


def united_labels(all_labels: Sequence[ClassLabels]) -> tuple[ClassLabels, list[IntArray]]:
    """Return the labels of a start and of its parts, and for each part the class id in the union of each of its ids."""
    start, *parts = all_labels
    labels = start.copy()
    labels.given = next((each.given for each in all_labels if each.given), ())
    ids = [np.array([labels.ids.setdefault(label, len(labels.ids)) for label in part.ids], np.int64) for part in parts]
    return labels, ids


def record_of(state: State) -> ClassRecord:
    """Return the record of the rounds in a state of the core."""
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
