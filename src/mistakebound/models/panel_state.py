"""Convert what a panel has learned to tensors, and back. Features and slots that were never learned are left out.

The core does not check these numbers, but it uses some as indices, and divides by others. So all of them are checked
before a file is written and after it is read. ``core/panel/state.hpp`` names the numbers of a feature and of a slot.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.lazy import np
from mistakebound._support.schema import need
from mistakebound.rules.panel_members import EVEN, MIXERS, priors

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.play.ledger import Counts
    from mistakebound.rules.panel import PanelRule

TENSORS = {
    "name_offsets": "I64",
    "mistake_rounds": "I64",
    "lead_rounds": "I64",
    "numbers": "F64",
    "touched_slots": "U32",
    "feature_records": "F32",
    "slot_records": "F32",
    "features": "U8",
    "lead_members": "U8",
    "name_bytes": "U8",
    "predictions": "U8",
}
"""The tensors of a file and their types, in order. ``features`` has a bit for each feature: whether it has a record."""

LARGEST = 3.4028234663852886e38  # of float32
ANY = (-LARGEST, LARGEST)
SUM_OF_SQUARES = (1e-8, LARGEST)
RECORD = {
    "scale": (1e-30, 1e30),
    "positives": None,
    "negatives": None,
    "coin_sum": ANY,
    "coin_size": (0.0, LARGEST),
    "coin_reward": (0.0, 1e20),
    "coin_most": (0.0, LARGEST),
    "eg_w": (-242582597.7, 242582597.7),
    "implicit_w": ANY,
    "implicit_sum": SUM_OF_SQUARES,
    "arow_w": (-1e30, 1e30),
    "arow_variance": (0.0, 1.0),
    "adagrad_w": ANY,
    "adagrad_sum": SUM_OF_SQUARES,
    "ftrl_w": ANY,
    "ftrl_sum": (0.0, LARGEST),
    "hinge_w": ANY,
    "hinge_sum": SUM_OF_SQUARES,
    "sgd_w": ANY,
    "winnow_w": (-5.343e12, 5.343e12),
    "seen": None,
    "mean": (-1.01e30, 1.01e30),
    "spread": (0.0, 1e38),
    "spare": (0.0, 0.0),
}
"""The numbers of a feature, with their ranges; None for counts, which are integers in the bits of the float."""
THIRD = ("hinge_w", "hinge_sum", "sgd_w", "winnow_w")
OF_THIRD = {"adagrad-hinge", "logistic-sgd", "balanced-winnow"}
"""Members that use the numbers in THIRD. In a panel without these members, the numbers are 0."""
SLOT = {
    "coin_w": (-1e30, 1e30),
    "adagrad_w": ANY,
    "coin_sum": ANY,
    "coin_size": (0.0, LARGEST),
    "coin_reward": (0.0, 1e20),
    "coin_most": (1e-45, LARGEST),
    "adagrad_sum": SUM_OF_SQUARES,
}
SLOTS = 1 << 18
WIDTHS = (12, 16, 64)
"""The core has places for one of these numbers of members: the smallest that is enough."""
MOST_LEADS = 4096
TOGETHER = 32
"""After every so many rounds, the core takes logarithms of products, and determines the leader."""
LARGEST_WEIGHT = 1e9
"""Of a round."""
LARGEST_LOSS = 21.0
"""The largest −ln p of one round."""
LN2 = math.log(2)
ROUNDING = 1e-9


class Numbers(NamedTuple):
    """The single numbers of a panel: ``core/panel/panel.hpp`` has their order."""

    labels: FloatArray
    """1 + positive rounds, 1 + negative rounds, rounds; if rounds have weights, their sums"""
    last: FloatArray
    after_positive: FloatArray
    after_negative: FloatArray
    fast: FloatArray
    fast_covariance: FloatArray
    fast_drift: FloatArray
    slow: FloatArray
    slow_covariance: FloatArray
    slow_drift: FloatArray
    gradient: FloatArray
    loss: FloatArray
    product: FloatArray
    share: FloatArray
    wrong: FloatArray
    totals: FloatArray
    """mistakes, overrides, rounds, log loss of the mixture, product of its probabilities"""


def to_tensors(state: tuple[AnyArray, ...], slots: int) -> dict[str, AnyArray]:
    """Return the state of a panel with this many slots as tensors."""
    features, records, touched, slot_records, numbers, leads = state
    has = np.zeros(slots, np.bool_)
    has[features] = True
    return {
        "features": np.packbits(has, bitorder="little"),
        "feature_records": records,
        "touched_slots": touched,
        "slot_records": slot_records,
        "numbers": numbers,
        "lead_rounds": leads[::2].astype(np.int64),
        "lead_members": leads[1::2].astype(np.uint8),
    }


def from_tensors(has: dict[str, AnyArray], slots: int) -> tuple[AnyArray, ...]:
    """Return the state for the core from tensors that were checked."""
    leads = np.empty(2 * len(has["lead_rounds"]))
    leads[::2], leads[1::2] = has["lead_rounds"], has["lead_members"]
    features = np.flatnonzero(_bits(has, slots)).astype(np.uint32)
    names = ("feature_records", "touched_slots", "slot_records", "numbers")
    return (features, *(has[name] for name in names), leads)


def check_features(has: dict[str, AnyArray], slots: int, *, named: bool) -> None:
    """Raise ModelError unless there is a bit for each feature. Call it before memory is allocated for the features."""
    bits = has["features"]
    need(len(bits) == -(-slots // 8), "features must have a bit for each feature", "features")
    found = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
    need(not len(found) or found[-1] < slots, "features has a bit without a feature", "features")
    need(not (named and len(found) and found[0] == 0), "the feature of all unknown names was never learned", "features")
    need(
        len(has["feature_records"]) == (len(found) + 1) * len(RECORD),
        f"feature_records must have {len(RECORD)} numbers for each feature, and for the constant",
        "feature_records",
    )


def check(
    rule: PanelRule,
    counts: Counts,
    late: int | None,
    positives: int | None,
    has: dict[str, AnyArray],
    slots: int,
    *,
    named: bool,
    weighted: bool = False,
    earlier: int = 0,
) -> None:
    """Raise ModelError unless a panel can have this state after so many rounds.

    ``late`` is the number of late outcomes, ``positives`` that of positive labels; None if they are not known. If
    rounds were ``weighted``, counts are sums of weights. ``earlier`` rounds with the negative label were only counted.
    """
    check_features(has, slots, named=named)
    count = len(rule.names) + int(rule.joined)
    numbers = _numbers(has["numbers"], count)
    _check_labels(numbers, counts, positives, weighted=weighted, earlier=earlier)
    _check_records(
        rule, has["feature_records"].reshape(-1, len(RECORD)), numbers.labels, counts.rounds, weighted=weighted
    )
    _check_slots(has["touched_slots"], has["slot_records"])
    _check_mixers(numbers, count)
    _check_voters(numbers, count, counts, late)
    _check_leads(has["lead_rounds"], has["lead_members"], count, counts.rounds)


def _bits(has: dict[str, AnyArray], slots: int) -> AnyArray:
    found: AnyArray = np.unpackbits(has["features"], count=slots, bitorder="little")
    return found


def _numbers(numbers: FloatArray, count: int) -> Numbers:
    sizes = _sizes(next(each for each in WIDTHS if count <= each))
    need(len(numbers) == sum(sizes), f"numbers must have {sum(sizes)} numbers", "numbers")
    return Numbers(*np.split(numbers, np.cumsum(sizes)[:-1]))


def split_numbers(numbers: FloatArray) -> Numbers:
    """Return the single numbers of a panel of the core, whose number of places follows from their count."""
    sizes = next(each for each in map(_sizes, WIDTHS) if sum(each) == len(numbers))
    return Numbers(*np.split(numbers, np.cumsum(sizes)[:-1]))


def _sizes(width: int) -> tuple[int, ...]:
    """Return how many numbers each field of ``Numbers`` has, if there are so many places for members."""
    mixer = (width, width * width, width)
    return (3, 1, 8, 8, *mixer, *mixer, width, *(width + 4,) * 4, 5)


def earlier_rounds(state: tuple[AnyArray, ...], rounds: int) -> int:
    """Return how many rounds a panel has only counted, besides those that it learned; see ``check``."""
    return int(state[4][2]) - rounds


def _check_labels(numbers: Numbers, counts: Counts, positives: int | None, *, weighted: bool, earlier: int = 0) -> None:
    rounds = counts.rounds
    of_positive, of_negative, learned = numbers.labels.tolist()
    if weighted:
        fit = _within(numbers.labels, 0, 2 + LARGEST_WEIGHT * rounds) and min(of_positive, of_negative) >= 1
        fit = fit and math.isclose(learned, of_positive + of_negative - 2, rel_tol=1e-6, abs_tol=1e-6)
    else:
        counted = rounds + earlier
        whole = counted <= 2**53 and _whole(numbers.labels, counted + 1)
        fit = whole and learned == counted == of_positive + of_negative - 2 and of_positive >= 1
        fit = fit and of_negative >= 1 + earlier
    need(fit, "the numbers of labels do not fit the number of rounds", "numbers")
    same = weighted or positives is None or positives == of_positive - 1
    need(same, "the numbers of labels do not fit the predictions", "numbers")
    need(_whole(numbers.last, 7), "the last three labels must be a whole number from 0 to 7", "numbers")
    after = numbers.after_positive + numbers.after_negative
    possible = _within(numbers.after_positive, 0, 250) and _within(numbers.after_negative, 0, 250)
    need(
        possible and _within(after, 0, min(250, rounds)), "the counts of the label history are out of range", "numbers"
    )


def _check_records(rule: PanelRule, records: AnyArray, labels: FloatArray, rounds: int, *, weighted: bool) -> None:
    names, with_third = list(RECORD), bool(OF_THIRD & set(rule.names))
    for name, column in zip(names, records.T, strict=True):
        found = (0.0, 0.0) if name in THIRD and not with_third else RECORD[name]
        if found is not None:
            low, high = map(np.float32, found)
            need(_within(column, low, high), f"{name} of a feature is out of range", "feature_records")
    places = [names.index(name) for name in ("positives", "negatives", "seen")]
    positives, negatives, seen = np.ascontiguousarray(records).view(np.int32)[:, places].astype(np.int64).T
    least = np.ones(len(records), np.int64)
    least[-1] = 0
    possible = (
        _weighted_counts_fit(records[:, places[:2]], seen, labels, rounds)
        if weighted
        else (
            (np.minimum(positives, negatives) >= 0).all()
            and (positives < labels[0]).all()
            and (negatives < labels[1]).all()
            and (positives + negatives >= least).all()
            and ((seen >= 0) & (seen <= positives + negatives)).all()
        )
    )
    need(possible, "the counts of a feature do not fit the number of rounds", "feature_records")
    constant = records[-1, 0] == 1 and positives[-1] == negatives[-1] == 0
    need(constant, "the record of the constant is out of range", "feature_records")


def _weighted_counts_fit(kept: AnyArray, seen: AnyArray, labels: FloatArray, rounds: int) -> bool:
    """Return whether sums of weights are possible: whole numbers in the bits of a float, or a negative float."""
    whole = np.ascontiguousarray(kept).view(np.int32).astype(np.float64)
    counts = np.where(np.signbit(kept), -kept.astype(np.float64), whole)
    largest = labels[:2] * (1 + 1e-3) + 1.0  # sums of float32
    return bool((np.isfinite(counts) & (counts <= largest)).all() and ((seen >= 0) & (seen <= rounds)).all())


def parameters_in_force(rule: Any) -> dict[str, Any]:
    """Return the parameters of a panel that its rule has."""
    return {
        "members": list(rule.names),
        "threshold": None if rule.cut == EVEN else rule.cut,
        "abstain": rule.abstain or None,
    }


def _check_slots(touched: AnyArray, records: AnyArray) -> None:
    fit = len(records) == len(touched) * len(SLOT)
    need(fit, f"slot_records must have {len(SLOT)} numbers for each of touched_slots", "slot_records")
    rising = not len(touched) or (touched[-1] < SLOTS and bool((touched[1:] > touched[:-1]).all()))
    need(rising, f"touched_slots must be different numbers below {SLOTS} in increasing order", "touched_slots")
    for (name, found), column in zip(SLOT.items(), records.reshape(-1, len(SLOT)).T, strict=True):
        low, high = map(np.float32, found)
        need(_within(column, low, high), f"{name} of a slot is out of range", "slot_records")


def _check_mixers(numbers: Numbers, count: int) -> None:
    width = len(numbers.fast)
    weights = np.concatenate([numbers.fast, numbers.slow, numbers.gradient])
    covariances = np.stack([numbers.fast_covariance, numbers.slow_covariance]).reshape(2, width, width)
    drifts = np.concatenate([numbers.fast_drift, numbers.slow_drift])
    finite = all(np.isfinite(each).all() for each in (weights, covariances, drifts)) and (drifts >= 0).all()
    need(finite, "a weight or covariance of a mixer is out of range", "numbers")
    unused = (
        not weights.reshape(3, width)[:, count:].any()
        and not drifts.reshape(2, width)[:, count:].any()
        and not covariances[:, count:].any()
        and not covariances[:, :, count:].any()
    )
    need(unused, "a mixer has a weight for a member that does not play", "numbers")


def _check_voters(numbers: Numbers, count: int, counts: Counts, late: int | None) -> None:
    rounds, voters = counts.rounds, np.zeros(len(numbers.wrong), np.bool_)
    voters[:count] = voters[len(numbers.fast) : len(numbers.fast) + len(MIXERS)] = True
    mistakes, overrides, learned, loss, product = numbers.totals.tolist()
    settled = rounds % TOGETHER == 0
    losses, products = np.append(numbers.loss, loss), np.append(numbers.product, product)
    need(_within(losses, -ROUNDING, LARGEST_LOSS * rounds), "a log loss is out of range", "numbers")
    low = 1.0 if settled else math.exp(-LARGEST_LOSS * TOGETHER)
    need(_within(products, low, 1.0), "a product of probabilities is out of range", "numbers")
    wrong, others = numbers.wrong[voters], numbers.wrong[~voters]
    need(_whole(wrong, rounds) and np.isinf(others).all(), "the mistakes of a member are out of range", "numbers")
    so_far = numbers.loss[voters] - np.log(numbers.product[voters])
    need(
        (so_far >= wrong * LN2 * (1 - ROUNDING) - ROUNDING).all(), "a log loss is too small for its mistakes", "numbers"
    )
    _check_shares(numbers.share, numbers.loss, voters, count)
    fit = _whole(numbers.totals[:3], rounds) and learned == rounds
    need(fit, "the totals of the panel do not fit the number of rounds", "numbers")
    made = counts.false_positives + counts.false_negatives
    fit = late is None or abs(mistakes - made) <= late
    need(fit, "the mistakes of the panel are not those that were counted", "numbers")
    followed = mistakes - overrides  # at most these mistakes were made by the mixture
    need(
        loss - math.log(product) >= followed * LN2 * (1 - 1e-6), "the log loss is too small for the mistakes", "numbers"
    )


def _check_shares(share: FloatArray, loss: FloatArray, voters: AnyArray, count: int) -> None:
    """Check that the shares in the Bayes mixture follow from the priors and the losses."""
    logs = np.log(priors(count)) - loss[voters]
    expected = np.exp(np.maximum(logs - logs.max(), -700.0))
    close = 1e-6 + 1e-14 * float(loss.max())
    fit = _within(share, 0, 1) and not share[~voters].any()
    need(
        fit and np.allclose(share[voters], expected, close, 1e-12),
        "the shares do not follow from the losses",
        "numbers",
    )


def _check_leads(rounds: AnyArray, members: AnyArray, count: int, played: int) -> None:
    fit = len(rounds) == len(members) <= MOST_LEADS
    need(fit, f"lead_rounds and lead_members must have the same length of at most {MOST_LEADS}", "lead_rounds")
    looked = (rounds % TOGETHER == 0).all() and (rounds[1:] > rounds[:-1]).all()
    inside = not len(rounds) or (rounds[0] > 0 and rounds[-1] <= played)
    need(looked and inside, f"lead_rounds must be increasing multiples of {TOGETHER}", "lead_rounds")
    need((members < count).all(), "lead_members has a member that does not play", "lead_members")


def _within(values: AnyArray, low: Any, high: Any) -> bool:
    """Return whether all values are from ``low`` to ``high``; NaN is not."""
    return bool(((values >= low) & (values <= high)).all())


def _whole(values: FloatArray, high: float) -> bool:
    """Return whether all values are whole numbers from 0 to ``high``."""
    return _within(values, 0, high) and bool((values == np.floor(values)).all())
