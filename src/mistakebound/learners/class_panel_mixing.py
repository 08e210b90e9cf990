"""The state of a Panel of several classes, mixed from panels that continued from copies of the same one.

Its numbers are mixed like those of the Panel of two labels (``panel_mixing``), for each class that a part has seen. The
label sequence is averaged over the parts whose class ids are those of the union: its contexts are hashes of ids, so
those of other parts cannot be changed to the ids of the union.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.lazy import np
from mistakebound.learners.mixed_numbers import (
    Moments,
    added,
    aligned,
    bet_of,
    clipped,
    leads_of,
    mean,
    moved,
    weights_of,
)
from mistakebound.learners.panel_mixing import AT_ONCE, RELIEF, RELIEFS, SLOT_PLACE, mixed_slots
from mistakebound.models.class_state import BEFORE, CONSTANT
from mistakebound.models.panel_state import MOST_LEADS, TOGETHER
from mistakebound.rules.panel_members import MEMBERS, MIXERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import AnyArray, FloatArray, IntArray

    State = tuple[Any, ...]

CELL = (
    *("coin_w", "implicit_w", "hinge_w", "eg_w", "arow_w", "adagrad_w", "ftrl_w", "sgd_w", "winnow_w", "count"),
    *("coin_sum", "coin_size", "coin_reward", "coin_most", "implicit_sum", "hinge_sum", "arow_variance"),
    *("adagrad_sum", "ftrl_sum"),
)
"""The numbers of a feature and a class, in the order of ``core/panel/classes/state.hpp``."""
CELL_PLACE = {name: place for place, name in enumerate(CELL)}
WEIGHT, SIZE = (-1e30, 1e30), (0.0, 1e38)
LEAST_BET = 1e-12
MOST_DENSE = 16
"""With so many classes, an owner has records for its first classes without gaps."""
FEATURE_NUMBERS = 5
"""scale, mean, spread, seen, count"""
MOST_SEEN = 2.0**32 - 1


class Pairs(NamedTuple):
    """Records of owners and classes: one after another, with owner · classes + class as increasing keys."""

    keys: IntArray
    values: AnyArray


def mixed_class_panel(
    start: State,
    parts: Sequence[State],
    shares: Sequence[float],
    places: Sequence[IntArray],
    ids: Sequence[IntArray],
    classes: int,
) -> State:
    """Return the arrays of a panel of several classes; arguments are those of ``class_mixing.mixed_classes``.

    States are the arrays of a panel in the state of the core: those of cells, slots and contexts, then of numbers.
    """
    owners = [np.append(np.arange(BEFORE), np.asarray(own) + BEFORE) for own in places]
    states = list(zip((start, *parts), (None, *owners), (np.arange(classes), *ids), strict=True))
    features = [_features(state, own) for state, own, _ in states]
    cells = [_pairs(state[:4], own, of, classes, len(CELL)) for state, own, of in states]
    slots = [_pairs(state[4:8], None, of, classes, len(SLOT_PLACE)) for state, _, of in states]
    cell_keys = _without_gaps([pairs.keys for pairs in cells], classes)
    slot_keys = _without_gaps([pairs.keys for pairs in slots], classes)
    values = [
        _mixed_cells(cells, features, cell_keys[low : low + AT_ONCE], shares, classes)
        for low in range(0, len(cell_keys), AT_ONCE)
    ]
    of_cells = np.concatenate([np.zeros((0, len(CELL)), np.float32), *values])
    first, *others = (aligned(*pairs, slot_keys, np.zeros(len(SLOT_PLACE), np.float32)) for pairs in slots)
    of_slots = mixed_slots(first, np.stack(others), shares, SLOT_PLACE, _slot_limits())
    contexts, sizes = _mixed_contexts(start, parts, shares, ids, classes)
    numbers, leads = _mixed_numbers(start, parts, shares, ids, classes)
    return (
        *_unpaired(cell_keys, of_cells, classes),
        *_unpaired(slot_keys, of_slots, classes),
        *_unpaired(*contexts, classes),
        *(_mixed_features(features[0], features[1:]).ravel(), sizes, numbers, leads),
    )


def _slot_limits() -> dict[str, tuple[float, float]]:
    return {name: WEIGHT if name.endswith(("_w", "coin_sum")) else SIZE for name in SLOT_PLACE}


def _pairs(part: State, owners: IntArray | None, ids: IntArray, classes: int, width: int) -> Pairs:
    """Return the records of pairs with the owners and classes of the union."""
    own, counts, of_classes, values = part
    owner = np.repeat(own if owners is None else owners[own], counts).astype(np.int64)
    keys = owner * max(classes, 1) + ids[of_classes]
    order = np.argsort(keys, kind="stable")
    return Pairs(keys[order], values.reshape(-1, width)[order])


def _unpaired(keys: IntArray, values: AnyArray, classes: int) -> State:
    owner, of_class = np.divmod(keys, max(classes, 1))
    owners, counts = np.unique(owner, return_counts=True)
    return owners.astype(np.uint32), counts.astype(np.uint32), of_class.astype(np.int32), values.ravel()


def _without_gaps(all_keys: Sequence[IntArray], classes: int) -> IntArray:
    """Return all keys; as long as classes are few, also those of the classes below the last one of each owner."""
    keys: IntArray = np.unique(np.concatenate(all_keys))
    if classes > MOST_DENSE or not len(keys):
        return keys
    owner, of_class = np.divmod(keys, classes)
    last = np.append(owner[1:] != owner[:-1], [True])
    sizes = of_class[last] + 1
    ends = np.cumsum(sizes)
    found: IntArray = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes) + np.repeat(owner[last] * classes, sizes)
    return found


def _features(state: State, owners: IntArray | None) -> tuple[IntArray, FloatArray]:
    """Return the owners of cells in the union, in order, and the numbers of each."""
    own: IntArray = (state[0] if owners is None else owners[state[0]]).astype(np.int64)
    order = np.argsort(own, kind="stable")
    return own[order], state[12].reshape(-1, FEATURE_NUMBERS)[order]


def _mixed_features(start: tuple[IntArray, FloatArray], parts: Sequence[tuple[IntArray, FloatArray]]) -> FloatArray:
    """Return the numbers of all owners of cells, in their order."""
    owners: IntArray = np.unique(np.concatenate([start[0], *(own for own, _ in parts)]))
    first, *others = (aligned(*each, owners, np.zeros(FEATURE_NUMBERS)).T for each in (start, *parts))
    before = total = Moments(first[3], first[1], first[2])
    for each in others:
        total = total.plus(Moments(each[3], each[1], each[2]).since(before))
    scale = np.maximum.reduce([first[0], *(each[0] for each in others)])
    count = added(first[4], [each[4] for each in others])
    narrow = (clipped(total.mean, (-1e38, 1e38)), clipped(total.spread, SIZE))
    return np.stack([scale, *narrow, np.minimum(total.seen, MOST_SEEN), count], axis=1)


def _mixed_cells(
    pairs: Sequence[Pairs],
    features: Sequence[tuple[IntArray, FloatArray]],
    keys: IntArray,
    shares: Sequence[float],
    classes: int,
) -> AnyArray:
    owner = keys // max(classes, 1)
    blank = np.zeros(len(CELL), np.float32)
    start, *parts = (aligned(*each, keys, blank).astype(float) for each in pairs)
    alone = np.unique(owner)
    counts = [aligned(own, numbers[:, 4:], alone, np.zeros(1)).ravel() for own, numbers in features]
    rows = np.stack([(each - counts[0])[np.searchsorted(alone, owner)] for each in counts[1:]])
    exists = np.stack([np.isin(keys, each.keys) for each in pairs[1:]])
    rows[:, owner == CONSTANT] = 1e9  # it is not counted, but in each row
    weights = weights_of((rows > 0) & exists, shares)
    stacked = np.stack(parts)
    for each in (start, stacked):  # a variance of 0 stands for 1
        variance = each[..., CELL_PLACE["arow_variance"]]
        variance[variance == 0] = 1
    found = np.empty((len(keys), len(CELL)), np.float32)
    for name, place in CELL_PLACE.items():
        first, others = start[:, place], stacked[:, :, place]
        if name in {"count", "coin_sum", "coin_size"}:
            value = added(first, list(others))
        elif name == "coin_most":
            value = np.maximum(others.max(0), first)
        elif name.endswith("_w"):
            value = moved(first, others, weights, rows, RELIEFS.get(name, RELIEF))
        else:
            value = moved(first, others, weights)
        found[:, place] = clipped(value, WEIGHT if name.endswith("_w") or name == "coin_sum" else SIZE)
    bets = (found[:, CELL_PLACE[name]].astype(float) for name in ("coin_sum", "coin_size", "coin_reward", "coin_most"))
    total, size, reward, most = bets
    most = np.where(most > 0, np.maximum(most, LEAST_BET), 0.0)
    found[:, CELL_PLACE["coin_w"]] = clipped(bet_of(total, size, reward, most), WEIGHT)
    return found


def _mixed_contexts(
    start: State, parts: Sequence[State], shares: Sequence[float], ids: Sequence[IntArray], classes: int
) -> tuple[Pairs, FloatArray]:
    """Return the counts of labels in each context, and the size of each context."""
    same = [k for k, own in enumerate(ids) if np.array_equal(own, np.arange(len(own)))]
    chosen = [parts[k] for k in same] or [start]
    of = np.array([shares[k] for k in same] or [1.0])
    of = of / of.sum() if of.sum() > 0 else np.full(len(of), 1 / len(of))
    pairs = [_pairs(state[8:12], None, np.arange(classes), classes, 1) for state in chosen]
    keys: IntArray = np.unique(np.concatenate([each.keys for each in pairs]))
    counts = mean([aligned(*each, keys, np.zeros(1, np.float32)) for each in pairs], of.tolist())
    contexts = np.unique(keys // max(classes, 1))
    sizes = [aligned(state[8], state[13][:, None], contexts, np.zeros(1)).ravel() for state in chosen]
    return Pairs(keys, counts.astype(np.float32)), mean(sizes, of.tolist())


# ---------------------------------------------------------------------- single numbers


class _Numbers(NamedTuple):
    """The single numbers of a panel of several classes, in the order of the core."""

    total: FloatArray
    last: FloatArray
    mixers: FloatArray
    """Weights of the three mixers, then the covariances of two."""
    losses: FloatArray
    """Losses and mistakes of all experts; mistakes, overrides, rounds and loss of the mixture."""
    new_label: FloatArray
    """Rounds, labels seen once, and the logarithms of two weights."""
    of_classes: FloatArray
    """For each class, the sum of the weights of its rows, and their number."""


def _split(numbers: FloatArray, members: int) -> _Numbers:
    return _Numbers(*np.split(numbers, np.cumsum(_sizes(members))))


def _sizes(members: int) -> tuple[int, ...]:
    """Return how many numbers come before those of the classes, for so many members with the prior."""
    return (1, 3, members * (2 * members + 3), 2 * (members + len(MIXERS)) + 4, 4)


def _mixed_numbers(
    start: State, parts: Sequence[State], shares: Sequence[float], ids: Sequence[IntArray], classes: int
) -> tuple[FloatArray, FloatArray]:
    fixed = len(parts[0][14]) - 2 * len(ids[0])
    members = next(count for count in range(2, len(MEMBERS) + 2) if sum(_sizes(count)) == fixed)
    first, *others = (_split(state[14], members) for state in (start, *parts))
    before = np.zeros((classes, 2))
    before[: len(first.of_classes) // 2] = first.of_classes.reshape(-1, 2)
    seen = before.copy()
    for each, own in zip(others, ids, strict=True):
        seen[own] += each.of_classes.reshape(-1, 2) - before[own]
    new_label = added(first.new_label, [each.new_label for each in others])
    new_label[1] = np.count_nonzero(seen[:, 1] == 1)
    losses = added(first.losses, [each.losses for each in others])
    last = np.append(0, ids[-1] + 1)[others[-1].last.astype(np.int64)].astype(float)
    total = added(first.total, [each.total for each in others])
    mixers = mean([each.mixers for each in others], shares)
    leads = leads_of(start[15], int(new_label[0]), int(np.argmin(losses[:members])), TOGETHER, MOST_LEADS)
    return np.concatenate([total, last, mixers, losses, new_label, seen.ravel()]), leads
