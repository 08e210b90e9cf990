"""Sections of the HTML report for several classes: how good the probabilities were, and which labels were confused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mistakebound.viz.panel_report import probabilities_with_picture, single_measures, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_LABELS = 20
"""With more labels, the report has no table of all pairs of labels."""
MOST_PAIRS = 40
"""The most frequent mistakes that are listed."""


def classes(
    measured: Mapping[str, Any],
    labels: Sequence[str],
    confusion: Sequence[Sequence[int]],
    by_label: Sequence[Mapping[str, Any]],
    without_prediction: int,
) -> str:
    """Return the log loss and Brier score, precision and recall of each label, and the confusion.

    ``measured`` is empty for a learner without probabilities. ``labels`` are HTML already, in the order of
    the rows and columns of ``confusion``, which leaves out the rounds without a prediction.
    """
    scores = table(
        ("label", "rounds", "predicted", "precision", "recall"),
        (
            (label, f"{each['rounds']:,}", f"{each['predicted']:,}", shown(each["precision"]), shown(each["recall"]))
            for label, each in zip(labels, by_label, strict=True)
        ),
        numbers_from=1,
    )
    has = "1 round has" if without_prediction == 1 else f"{without_prediction:,} rounds have"
    first = f"<p>{has} no prediction, because no label had occurred before it.</p>" if without_prediction else ""
    return f"{probabilities(measured) if measured else ''}<h2>Labels</h2>{scores}{pairs(labels, confusion)}{first}"


def probabilities(measured: Mapping[str, Any]) -> str:
    """Return the measures of the probabilities, and the calibration as a picture if it was measured."""
    key = (
        "Each probability was predicted before its label was read. The Brier score adds the squares of all classes, "
        "and of the probability that the label is new."
    )
    if "calibration" not in measured:
        return f"<h2>Probabilities</h2>{single_measures(measured)}<p>{key}</p>"
    key += (
        " In the picture, each dot stands for the rounds whose predicted label had a probability in one interval: it "
        "shows the share of right predictions against their mean probability. On the dashed line, both are equal. The "
        "calibration error is the mean distance from it."
    )
    dots = [(each["mean"], each["right"], each["rounds"]) for each in measured["calibration"]]
    return probabilities_with_picture(measured, dots) + f"<p>{key}</p>"


def pairs(labels: Sequence[str], confusion: Sequence[Sequence[int]]) -> str:
    """Return the confusion as a table: of all labels, or of the most frequent mistakes if there are many labels."""
    if len(labels) <= MOST_LABELS:
        lines = ((label, *(f"{count:,}" for count in row)) for label, row in zip(labels, confusion, strict=True))
        body = table(("label \\ predicted", *labels), lines, numbers_from=1)
        return f"<h2>Confusion</h2>{body}<p>A row has the rounds of one label, a column those of one prediction.</p>"
    found = [
        (count, labels[row], labels[column])
        for row, counts in enumerate(confusion)
        for column, count in enumerate(counts)
        if count and row != column
    ]
    found.sort(key=lambda each: -each[0])
    lines = ((f"{count:,}", predicted, label) for count, label, predicted in found[:MOST_PAIRS])
    return f"<h2>Most frequent mistakes</h2>{table(('rounds', 'predicted', 'label'), lines)}"


def shown(ratio: float) -> str:
    """Return a share with four digits; empty if there is none."""
    return "" if math.isnan(ratio) else f"{ratio:.4f}"
