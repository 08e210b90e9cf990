"""Convert measures of probabilities to JSON, and back: only bins that are not empty are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistakebound._support import schema
from mistakebound._support.lazy import np
from mistakebound._support.schema import need
from mistakebound.play.measures import BINS, Measures

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray
    from mistakebound.rules import Rule

FIELDS = ("rounds", "squares", "loss", "product", "bins", "negatives", "positives")
LEAST_PRODUCT = 1e-200
"""The core takes the logarithm of a smaller product."""
LARGEST_LOSS = 50.1
"""−ln p of one round is at most this: scores beyond ±50 count as ±50."""
ROUNDING = 1e-6
"""What differences of two sums may be off by: the measures of some rounds are those after minus those before them."""


def write_measures(measures: Measures) -> dict[str, Any]:
    """Return measures for JSON; ``read_measures`` returns them with the same bits."""
    loss, product = measures.parts
    pairs = zip(measures.negatives, measures.positives, strict=True)
    bins = [place for place, pair in enumerate(pairs) if any(pair)]
    return {
        "rounds": int(measures.rounds),
        "squares": float(measures.squares),
        "loss": float(loss),
        "product": float(product),
        "bins": bins,
        "negatives": [measures.negatives[place] for place in bins],
        "positives": [measures.positives[place] for place in bins],
    }


def read_measures(value: Any, rule: Rule, rounds: int, path: str = "measures") -> Measures | None:
    """Return the measures of at most ``rounds`` rounds, None for null; raise ModelError if they are not valid."""
    if value is None:
        return None
    need(rule.log_odds, f"{path} must be absent, because {rule.id} predicts no probabilities", path)
    measured, squares, loss, product, bins, negatives, positives = schema.fields(value, *FIELDS, path=path)
    measured = schema.whole(measured, f"{path}.rounds", 0, rounds)
    size = len(schema.rising(bins, f"{path}.bins", BINS - 1))
    counts = [
        schema.wholes(each, f"{path}.{name}", 0, measured, size)
        for name, each in (("negatives", negatives), ("positives", positives))
    ]
    full = all(a + b > 0 for a, b in zip(*counts, strict=True))
    need(
        full and sum(map(sum, counts)) == measured, f"{path}.bins must have all rounds, and none empty", f"{path}.bins"
    )
    return Measures(
        measured,
        schema.number(squares, f"{path}.squares", -ROUNDING, measured + ROUNDING),
        schema.number(loss, f"{path}.loss", -ROUNDING, measured * LARGEST_LOSS + ROUNDING),
        schema.number(product, f"{path}.product", LEAST_PRODUCT if measured else 1.0, 1.0),
        _all_bins(bins, counts[0]),
        _all_bins(bins, counts[1]),
    )


def check_labels(measures: Measures | None, counts: tuple[int, ...], predictions: AnyArray | None) -> None:
    """Raise ModelError if the labels of the measures contradict the predictions and mistakes of the same rounds."""
    rounds, false_positives, false_negatives, *_ = counts
    if measures is None or predictions is None or measures.rounds != rounds:
        return
    labels = int(np.count_nonzero(predictions)) - false_positives + false_negatives
    need(sum(measures.positives) == labels, "measures.positives contradict the predictions", "measures.positives")


def _all_bins(bins: list[int], counts: list[int]) -> list[int]:
    found = dict(zip(bins, counts, strict=True))
    return [found.get(place, 0) for place in range(BINS)]
