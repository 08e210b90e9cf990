"""The state of a Panel of two labels, mixed from panels that continued from copies of the same one.

No theorem is claimed for the result. Each number is mixed as was best on public streams:

========================================  ==================================================================
number                                    how it is mixed
========================================  ==================================================================
scale, largest bet of coin betting        the largest one
rows with a feature, and labels           added: what each part has counted since the start
moments of a feature                      those of all values (Chan's formula)
sums of coin betting (T and G)            added, like gradients of one stream
weights of other members                  moved by the parts that met the feature (``mixed_numbers.moved``), with
                                          rows as evidence: moves by many rows are averaged, those by a few are added
weights in the table of interactions      the same; the evidence is the sum of the gradients' sizes
sums of squares, variances, rewards       mean of the parts that met the feature
label history, mixers                     mean of all parts; the last labels are those of the last part
mistakes, losses, totals                  added; products of probabilities are taken into the losses
shares in the Bayes mixture               follow from the losses
========================================  ==================================================================

Where no part has met a feature, it keeps the numbers of the start. Means are by shares.
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
from mistakebound.models.panel_state import (
    MOST_LEADS,
    RECORD,
    SLOT,
    SLOTS,
    THIRD,
    TOGETHER,
    Numbers,
    split_numbers,
)
from mistakebound.rules.logistic import exp, ln
from mistakebound.rules.panel_members import MIXERS, priors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import AnyArray, FloatArray, IntArray

    PanelState = tuple[AnyArray, ...]
    """Features, records, touched slots, slot records, numbers, leads: a panel in the state of the core."""

PLACE = {name: place for place, name in enumerate(RECORD)}
LIMITS = {name: limits for name, limits in RECORD.items() if limits is not None and name != "spare"}
MOMENTS = ("mean", "spread")
SLOT_PLACE = {name: place for place, name in enumerate(SLOT)}
RELIEF = 32.0
"""Rows of a feature; with fewer of them, a weight has only begun to move."""
RELIEFS = {"arow_w": 8.0, "adagrad_w": 0.0}
"""Members with larger steps: AROW, and AdaGrad, whose view makes rare features large."""
RELIEF_OF_SLOTS = 0.5
LARGEST_COUNT = 2**30
"""Of a count: the core adds to it without a check."""
AT_ONCE = 1 << 15
"""Features that are mixed at the same time; it bounds the memory."""
SETTLED = -700.0
"""The least logarithm of a share, as in the core."""


def mixed_panel(
    start: PanelState, parts: Sequence[PanelState], shares: Sequence[float], places: Sequence[IntArray], slots: int
) -> PanelState:
    """Return the state of one panel from those of parts that continued from copies of ``start``.

    ``places[i]`` has, for each slot of part i, its slot among the ``slots`` of the result; slots of the start keep
    their numbers. The state of a single part is returned as it is.
    """
    if len(parts) == 1:
        features, records, *others = parts[0]
        owners, sorted_records = _placed(features, records, places[0])
        return (owners, np.append(sorted_records, records[-len(RECORD) :]), *others)
    keys, records = _features(start, parts, shares, places)
    touched, slot_records = _slots(start, parts, shares)
    if len(keys) and keys[-1] >= slots:
        message = "places must be below the number of slots"
        raise ValueError(message)
    numbers = _numbers(split_numbers(start[4]), [split_numbers(part[4]) for part in parts], shares)
    members = int(np.isfinite(numbers.wrong).sum()) - len(MIXERS)
    rounds, leader = int(numbers.totals[2]), int(np.argmin(numbers.loss[:members]))
    leads = leads_of(start[5], rounds, leader, TOGETHER, MOST_LEADS)
    return (keys.astype(np.uint32), records, touched, slot_records, np.concatenate(numbers), leads)


# ---------------------------------------------------------------------- features


class _Aligned(NamedTuple):
    """Records of the same features: of the start, and of each part."""

    start: AnyArray
    parts: AnyArray

    def of(self, place: int) -> tuple[FloatArray, FloatArray]:
        return self.start[:, place].astype(float), self.parts[:, :, place].astype(float)


def _placed(features: AnyArray, records: AnyArray, places: IntArray) -> tuple[AnyArray, AnyArray]:
    """Return the places of the features in the union, in order, and their records without that of the constant."""
    keys = np.asarray(places)[features]
    order = np.argsort(keys, kind="stable")
    rows = records.reshape(-1, len(RECORD))[:-1]
    return keys[order].astype(np.uint32), rows[order].ravel()


def _features(
    start: PanelState, parts: Sequence[PanelState], shares: Sequence[float], places: Sequence[IntArray]
) -> tuple[AnyArray, AnyArray]:
    """Return the features with records, and their records and that of the constant."""
    width = len(RECORD)
    first = start[0], start[1][:-width].reshape(-1, width)
    placed = [_placed(part[0], part[1], own) for part, own in zip(parts, places, strict=True)]
    others = [(keys, rows.reshape(-1, width)) for keys, rows in placed]
    keys = np.unique(np.concatenate([first[0], *(own for own, _ in others)]))
    constants = _Aligned(start[1][None, -width:], np.stack([part[1][None, -width:] for part in parts]))
    with_third = bool(constants.start[0, PLACE["hinge_sum"]] > 0)
    blank = _blank(with_third=with_third)
    mixed = []
    for low in range(0, len(keys), AT_ONCE):
        some = keys[low : low + AT_ONCE]
        rows = _Aligned(aligned(*first, some, blank), np.stack([aligned(*own, some, blank) for own in others]))
        mixed.append(_mixed_records(rows, shares, with_third=with_third).ravel())
    mixed.append(_mixed_records(constants, shares, with_third=with_third, constant=True).ravel())
    return keys, np.concatenate(mixed)


def _blank(*, with_third: bool) -> AnyArray:
    """Return the record of a feature that was never learned."""
    record = np.zeros(len(RECORD), np.float32)
    sums = ("implicit_sum", "adagrad_sum", "hinge_sum") if with_third else ("implicit_sum", "adagrad_sum")
    for name in sums:
        record[PLACE[name]] = LIMITS[name][0]
    record[PLACE["arow_variance"]] = 1
    return record


def _mixed_records(rows: _Aligned, shares: Sequence[float], *, with_third: bool, constant: bool = False) -> AnyArray:
    found = rows.start.copy()
    counts = {name: (_counts(rows.start, name), _counts(rows.parts, name)) for name in ("positives", "negatives")}
    own: FloatArray = np.add(*(others - first for first, others in counts.values()))
    # The constant is in each row, but not counted: it has more evidence than any feature.
    evidence: Any = np.full(own.shape, 1e9) if constant else own
    weights = weights_of(evidence > 0, shares)
    for name, (first, others) in counts.items():
        found[:, PLACE[name]] = _count_bits(found, rows.parts, name, added(first, list(others)))
    _mix_moments(rows, found)
    for name, limits in LIMITS.items():
        if name in MOMENTS or (name in THIRD and not with_third):
            continue
        place = PLACE[name]
        start, parts = rows.of(place)
        if name in {"scale", "coin_most"}:
            value = np.maximum(parts.max(0), start)
        elif name in {"coin_sum", "coin_size"}:
            value = added(start, list(parts))
        elif name.endswith("_w"):
            value = moved(start, parts, weights, evidence, RELIEFS.get(name, RELIEF))
        else:
            value = moved(start, parts, weights)
        found[:, place] = clipped(value, limits)
    return found


def _counts(records: AnyArray, name: str) -> FloatArray:
    """Return counts: integers in the bits of floats or, if they are negative, floats whose size is the count."""
    kept = np.ascontiguousarray(records[..., PLACE[name]])
    counts: FloatArray = np.where(np.signbit(kept), -kept.astype(float), kept.view(np.int32).astype(float))
    return counts


def _count_bits(start: AnyArray, parts: AnyArray, name: str, counts: FloatArray) -> AnyArray:
    place = PLACE[name]
    fractions = np.signbit(start[:, place]) | np.signbit(parts[:, :, place]).any(0)
    whole = np.minimum(np.floor(counts), LARGEST_COUNT).astype(np.int32)
    bits: AnyArray = np.where(fractions, -counts.astype(np.float32), whole.view(np.float32))
    return bits


def _mix_moments(rows: _Aligned, found: AnyArray) -> None:
    """Set the moments of all values that any part has seen."""
    first = Moments(_counts(rows.start, "seen"), rows.start[:, PLACE["mean"]], rows.start[:, PLACE["spread"]])
    total = Moments(*(each.astype(float) for each in first))
    before = total
    for part in rows.parts:
        own = Moments(_counts(part, "seen"), part[:, PLACE["mean"]], part[:, PLACE["spread"]])
        total = total.plus(Moments(*(each.astype(float) for each in own)).since(before))
    found[:, PLACE["seen"]] = np.minimum(total.seen, LARGEST_COUNT).astype(np.int32).view(np.float32)
    for name, value in zip(MOMENTS, total[1:], strict=True):
        found[:, PLACE[name]] = clipped(value, LIMITS[name])


# ---------------------------------------------------------------------- interactions


def _slots(start: PanelState, parts: Sequence[PanelState], shares: Sequence[float]) -> tuple[AnyArray, AnyArray]:
    width = len(SLOT)
    blank = np.zeros(width, np.float32)
    blank[SLOT_PLACE["adagrad_sum"]] = SLOT["adagrad_sum"][0]
    touched = np.unique(np.concatenate([start[2], *(part[2] for part in parts)])).astype(np.uint32)
    if len(touched) and touched[-1] >= SLOTS:
        message = f"slots of interactions must be below {SLOTS}"
        raise ValueError(message)
    rows = _Aligned(
        aligned(start[2], start[3].reshape(-1, width), touched, blank),
        np.stack([aligned(part[2], part[3].reshape(-1, width), touched, blank) for part in parts]),
    )
    return touched, mixed_slots(rows.start, rows.parts, shares, SLOT_PLACE, dict(SLOT)).ravel()


def mixed_slots(
    start: AnyArray,
    parts: AnyArray,
    shares: Sequence[float],
    place: dict[str, int],
    limits: dict[str, tuple[float, float]],
) -> AnyArray:
    """Return mixed records of interactions; ``place`` and ``limits`` are those of their numbers."""
    weights = weights_of((parts != start).any(2), shares)
    of = {name: (start[:, at].astype(float), parts[:, :, at].astype(float)) for name, at in place.items()}
    own = np.maximum(of["coin_size"][1] - of["coin_size"][0], 0.0)
    evidence = own / (2 * np.where(of["coin_most"][1] > 0, of["coin_most"][1], 1.0))
    mixed = {name: added(of[name][0], list(of[name][1])) for name in ("coin_sum", "coin_size")}
    mixed["coin_most"] = np.maximum(of["coin_most"][1].max(0), of["coin_most"][0])
    mixed["coin_reward"] = moved(*of["coin_reward"], weights)
    mixed["adagrad_sum"] = moved(*of["adagrad_sum"], weights)
    mixed["adagrad_w"] = moved(*of["adagrad_w"], weights, evidence, RELIEF_OF_SLOTS)
    mixed["coin_w"] = bet_of(*(mixed[name] for name in ("coin_sum", "coin_size", "coin_reward", "coin_most")))
    found = start.copy()
    for name, at in place.items():
        found[:, at] = clipped(mixed[name], limits[name])
    return found


# ---------------------------------------------------------------------- single numbers


def _numbers(start: Numbers, parts: Sequence[Numbers], shares: Sequence[float]) -> Numbers:
    averaged = {name: mean([getattr(part, name) for part in parts], shares) for name in Numbers._fields[2:11]}
    voters = np.isfinite(start.wrong)
    wrong = start.wrong.copy()
    wrong[voters] = added(start.wrong[voters], [part.wrong[voters] for part in parts])
    loss = added(_losses(start), [_losses(part) for part in parts])
    totals = added(start.totals, [part.totals for part in parts])
    own = [part.totals[3] - ln(float(part.totals[4])) for part in (start, *parts)]
    totals[3:] = own[0] + sum(each - own[0] for each in own[1:]), 1.0
    return Numbers(
        labels=added(start.labels, [part.labels for part in parts]),
        last=parts[-1].last,
        **averaged,
        loss=loss,
        product=np.ones(len(loss)),
        share=_shares(loss, voters),
        wrong=wrong,
        totals=totals,
    )


def _losses(numbers: Numbers) -> FloatArray:
    """Return the losses with the products that were not taken into them yet."""
    found: FloatArray = numbers.loss - np.array([ln(product) for product in numbers.product.tolist()])
    return found


def _shares(loss: FloatArray, voters: AnyArray) -> FloatArray:
    prior = [ln(each) for each in priors(int(voters.sum()) - len(MIXERS))]
    logs = np.array(prior) - loss[voters]
    share = np.zeros(len(loss))
    share[voters] = [exp(max(each, SETTLED)) for each in (logs - logs.max()).tolist()]
    return share
