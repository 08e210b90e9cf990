"""Sections of a report on several classes: precision and recall of each label, and which labels were confused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mistakebound._support.text import many
from mistakebound.viz.page import charts, paragraph, section, table, text
from mistakebound.viz.probability_charts import confidence_chart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.play.class_ledger import ClassLedger

MOST_LABELS = 20
"""With more labels, the report has no table of all pairs of labels."""
MOST_PAIRS = 40
"""The most frequent mistakes that are listed."""


def classes(ledger: ClassLedger) -> list[str]:
    """Return the sections about several classes; none before the first round."""
    if ledger.counts.measures is None:
        return []
    found = {each.label: each for each in ledger.by_class()}
    places = [k for k, label in enumerate(ledger.classes) if label in found]  # labels that have occurred
    labels = [ledger.classes[k] for k in places]
    scores = table(
        ("label", "rounds", "predicted", "precision", "recall"),
        (
            (text(each.label), f"{each.rounds:,}", f"{each.predicted:,}", shown(each.precision), shown(each.recall))
            for each in (found[label] for label in labels)
        ),
        numbers_from=1,
    )
    key = (
        "Precision is the share of the predictions of a label that were right; recall is the share of its rounds in "
        "which it was predicted."
    )
    confusion = pairs([text(label) for label in labels], ledger.confusion[places][:, places].tolist())
    without = ledger.without_prediction
    has = f"{many(without, 'round')} {'has' if without == 1 else 'have'}"
    first = paragraph(f"{has} no prediction, because no label had occurred before it.") if without else ""
    return [probabilities(ledger), section("Labels", scores, paragraph(key), first), confusion]


def probabilities(ledger: ClassLedger) -> str:
    """Return the log loss and Brier score; empty for a learner without probabilities."""
    if not ledger.rule.log_odds:
        return ""
    measured = ledger.measures
    values = {
        "log loss": measured.log_loss,
        "Brier score": measured.brier,
        "calibration error": measured.calibration_error,
    }
    lines = [(name, f"{value:.4f}") for name, value in values.items() if not math.isnan(value)]
    drawn = [confidence_chart(found)] if (found := measured.calibration()) else []
    key = (
        "Each probability was predicted before its label was read. The Brier score adds the squares of all classes, "
        "and of the probability that the label is new. The calibration error is the mean distance of the dots from "
        "the diagonal."
    )
    single = table(("measure", "value"), lines, numbers_from=1)
    return section("Probabilities", charts(drawn), single, paragraph(key))


def pairs(labels: Sequence[str], confusion: Sequence[Sequence[int]]) -> str:
    """Return the confusion as a table: of all labels, or of the most frequent mistakes if there are many labels."""
    if len(labels) <= MOST_LABELS:
        lines = ((label, *(f"{count:,}" for count in row)) for label, row in zip(labels, confusion, strict=True))
        body = table(("label \\ predicted", *labels), lines, numbers_from=1)
        return section(
            "Confusion", body, paragraph("A row has the rounds of one label, a column those of one prediction.")
        )
    found = [
        (count, labels[row], labels[column])
        for row, counts in enumerate(confusion)
        for column, count in enumerate(counts)
        if count and row != column
    ]
    found.sort(key=lambda each: -each[0])
    lines = ((predicted, label, f"{count:,}") for count, label, predicted in found[:MOST_PAIRS])
    return section("Most frequent mistakes", table(("predicted", "label", "rounds"), lines, numbers_from=2))


def shown(ratio: float) -> str:
    """Return a share with four digits; empty if there is none."""
    return "" if math.isnan(ratio) else f"{ratio:.4f}"
