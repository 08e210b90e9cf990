"""Mix the states of learners that continued from the same start: iterative parameter mixing.

Each rule declares how its floats are mixed (``Rule.mixing``), by these words; scalars are counts, which are added:

- ``mean``: the mean with the shares of the parts. Theorems on mixing are about it.
- ``mean of met``: the mean over the parts that have met the feature since the start, with shares in the same
  proportions that sum to 1. A part has met a feature if one of its floats is not that of the start. A feature that no
  part has met keeps its state. Rules without a theorem use it: a part that has not met a feature knows nothing of it,
  and would only pull it back to the start. Sums of squares and variances are mixed like weights.
- ``added``: start + Σ(part − start), for counts. Start and parts are whole numbers, so the result is exact. If the
  counts of a part are below those of the start, they were halved meanwhile; such a feature gets the mean.
- ``largest``: the largest of the parts.
- ``over all rounds``: the a of the averaged Perceptron. The sum of its weight vectors over all rounds is cw − a; these
  sums are added, so that w − a/c of the result is the mean of w over all rounds of the start and of the parts that have
  met the feature.

Sums are float64, in the order of the parts, and the result is rounded to float32. A feature whose state is the same in
all parts keeps it, because the shares sum to 1 up to an error that float32 does not see.

See docs/theory.md, "Mixing: many shards".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from mistakebound._support.lazy import np
from mistakebound.rules.base import LARGEST_SUM

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray
    from mistakebound.rules.base import Rule

    Shares = Sequence[float] | FloatArray
    """A share for each part, or a row of shares for each part, with one for each feature."""


class Floats(NamedTuple):
    """The floats of features, a row of S float32 numbers for each, and the scalars."""

    rows: FloatArray
    scalars: tuple[float, ...]


def mixed(rule: Rule, start: Floats, parts: Sequence[Floats], shares: Sequence[float]) -> Floats:
    """Return the mixed state of learners that continued from ``start``; all have the same features in the same order.

    >>> from mistakebound.rules import PerceptronRule
    >>> start, *parts = (Floats(np.array([[z]], np.float32), ()) for z in (1, 2, 4))
    >>> mixed(PerceptronRule(), start, parts, [0.5, 0.5]).rows.tolist()
    [[3.0]]
    """
    rows = np.empty(start.rows.shape)
    of_met = shares if set(rule.mixing) <= {"mean", "added"} else _shares_of_met(start, parts, shares)
    for place, kind in enumerate(rule.mixing):
        rows[:, place] = COLUMNS[kind](place, start, parts, shares if kind == "mean" else of_met)
    if "added" in rule.mixing:
        halved = np.any([(part.rows < start.rows).any(axis=1) for part in parts], axis=0)
        for place in range(len(rule.mixing)):
            rows[halved, place] = _mean(place, start, parts, shares)[halved]
    scalars = tuple(
        first + math.fsum(part.scalars[k] - first for part in parts) for k, first in enumerate(start.scalars)
    )
    return Floats(rule.after_mixing(rows).astype(np.float32), scalars)


def _met(start: Floats, parts: Sequence[Floats]) -> BoolArray:
    """Return which parts have met each feature, a row for each part; all of them for a feature that none has met."""
    met = np.array([(part.rows != start.rows).any(axis=1) for part in parts])
    return met | ~met.any(axis=0)


def _shares_of_met(start: Floats, parts: Sequence[Floats], shares: Sequence[float]) -> FloatArray:
    """Return the shares of the parts for each feature, a row for each part: 0 for a part that has not met it."""
    of_parts = np.array(shares)[:, None]
    own = _met(start, parts) * of_parts
    total = np.zeros(own.shape[1])
    for row in own:  # in the order of the parts
        total += row
    return np.where(total > 0, own / np.where(total > 0, total, 1.0), of_parts)


def _mean(place: int, start: Floats, parts: Sequence[Floats], shares: Shares) -> FloatArray:
    total = np.zeros(len(start.rows))
    for share, part in zip(shares, parts, strict=True):
        total += share * part.rows[:, place].astype(np.float64)
    return total


def _added(place: int, start: Floats, parts: Sequence[Floats], shares: Shares) -> FloatArray:  # noqa: ARG001
    first = start.rows[:, place].astype(np.float64)
    total = first.copy()
    for part in parts:
        total += part.rows[:, place].astype(np.float64) - first
    return total


def _largest(place: int, start: Floats, parts: Sequence[Floats], shares: Shares) -> FloatArray:  # noqa: ARG001
    return np.asarray(np.max([part.rows[:, place] for part in parts], axis=0), np.float64)


def _over_all_rounds(place: int, start: Floats, parts: Sequence[Floats], shares: Shares) -> FloatArray:
    def summed(state: Floats) -> FloatArray:
        w, a = (state.rows[:, k].astype(np.float64) for k in (0, place))
        return state.scalars[0] * w - a

    first, rounds = summed(start), start.scalars[0]
    total, counted = first.copy(), np.full(len(first), rounds)
    for part, met in zip(parts, _met(start, parts), strict=True):
        own = part.scalars[0] - start.scalars[0]
        total += np.where(met, summed(part) - first, 0.0)
        counted += np.where(met, own, 0.0)
        rounds += own
    # As float32, because the weights are stored so.
    w = _mean(0, start, parts, shares).astype(np.float32).astype(np.float64)
    return np.asarray(np.clip(rounds * w - total * (rounds / counted), -LARGEST_SUM, LARGEST_SUM))


COLUMNS: dict[str, Callable[..., FloatArray]] = {
    "mean": _mean,
    "mean of met": _mean,
    "added": _added,
    "largest": _largest,
    "over all rounds": _over_all_rounds,
}
"""How a float of all features is mixed, by the word that rules declare."""


def running_sums(rule: Rule, z: FloatArray, bias_z: float) -> tuple[float, float, float, float]:
    """Return the factor, the total of the masses with its rest, and the peak, which a normalised rule keeps.

    They are what the core would have after it chose the common factor anew for this z: the factor is that of the
    largest z, and the masses are those of the float32 weights. Their sum is rounded once, so it has no rest.
    """
    if not rule.normalised:
        return 0.0, 0.0, 0.0, 0.0
    values, counts = np.unique(np.append(z, np.float32(bias_z)) if rule.bias else z, return_counts=True)
    if not len(values):
        return rule.first_factor, 0.0, 0.0, 0.0
    distinct = [float(each) for each in values]
    factor = rule.factor_for(max(map(rule.size, distinct)))
    weights = [float(np.float32(rule.link(each, factor))) for each in distinct]
    masses = (rule.mass(w, each, factor) for w, each in zip(weights, distinct, strict=True))
    total = math.fsum(mass * count for mass, count in zip(masses, counts.tolist(), strict=True))
    return factor, total, 0.0, total
