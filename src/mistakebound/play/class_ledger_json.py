"""Write a ledger of several classes as JSON, and read it back, with checks of every field."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mistakebound._support import schema
from mistakebound._support.lazy import np
from mistakebound._support.schema import need, refuse, to_json
from mistakebound.data.class_labels import ClassLabels
from mistakebound.errors import ModelError
from mistakebound.play.class_ledger import ClassCounts, ClassLedger
from mistakebound.play.class_measures import ClassMeasures
from mistakebound.play.ledger_schema import LATE, MOST_FEATURES, read_late
from mistakebound.play.standings_json import read_standings, write_standings
from mistakebound.rules.panel import MulticlassPanelRule

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, IntArray
    from mistakebound.play.ledger import Kept

COUNTS = ("rounds", "mistakes", "first_seen", "updates")
LEDGER = (
    *("counts", "rule", "n", "given", "seen", "from_start", "named", "names", "predictions", "mistake_rounds", "late"),
    *("measures", "standings"),
)
MEASURES = ("rounds", "total_log_loss", "squares", "truth", "predicted", "counts")
LARGEST_LOSS = 100.0
"""−ln p of one round is at most this."""
ROUNDING = 1e-6


def write(ledger: ClassLedger) -> str:
    """Return a ledger as JSON text."""
    record, measures = ledger.record, ledger.counts.measures
    predictions, mistakes = record.predictions(), record.mistake_rounds()
    measured = None if measures is None else {name: _plain(getattr(measures, name)) for name in MEASURES}
    return json.dumps(
        {
            "counts": ledger.counts[: len(COUNTS)],
            "rule": {"id": ledger.rule.id, **asdict(ledger.rule)},
            "n": ledger.n,
            "given": list(map(to_json, ledger.given)),
            "seen": list(map(to_json, ledger.seen)),
            "from_start": ledger.from_start,
            "named": ledger.named,
            "names": ledger.names,
            "predictions": None if predictions is None else np.asarray(predictions).tolist(),
            "mistake_rounds": None if mistakes is None else mistakes.tolist(),
            "late": dict(zip(LATE, (each.tolist() for each in record.late()), strict=True)),
            "measures": measured,
            "standings": None if ledger.standings is None else write_standings(ledger.standings),
        }
    )


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def read(data: dict[str, Any]) -> ClassLedger:
    """Return the ledger that ``write`` wrote, from its parsed JSON; raise ModelError if it is not valid."""
    found = dict(zip(LEDGER, schema.fields(data, *LEDGER), strict=True))
    rule = _read_rule(found["rule"])
    listed = schema.items(found["counts"], "counts", len(COUNTS))
    rounds, mistakes, first_seen, updates = (
        schema.whole(each, f"counts.{name}") for name, each in zip(COUNTS, listed, strict=True)
    )
    need(first_seen <= mistakes <= rounds == updates, "counts should have first_seen ≤ mistakes ≤ rounds", "counts")
    named = schema.flag(found["named"], "named")
    names = schema.texts(found["names"], "names", distinct=True)
    need(named or not names, "names should be empty, because named is false", "names")
    low, high = (len(names) + 1, len(names) + 1) if named else (0, MOST_FEATURES)
    labels = _read_labels(found["given"], found["seen"])
    classes = len(labels.ids)
    from_start = schema.flag(found["from_start"], "from_start")
    late = read_late(found["late"], np.zeros(0, np.int64), rule, (rounds, mistakes, 0, updates, 0))
    predictions = schema.optional(schema.wholes, found["predictions"], "predictions", -1, classes - 1, rounds)
    wrong = schema.optional(schema.rising, found["mistake_rounds"], "mistake_rounds", rounds - 1, mistakes)
    measures = _read_measures(found["measures"], rounds, mistakes, classes)
    if predictions is not None and measures is not None and measures.rounds == rounds:
        _compare(np.array(predictions, np.int64), measures, classes)
    counts = (rounds, mistakes, 0, updates, 0)
    standings = read_standings(found["standings"], rule, counts, from_start=from_start, late=len(late[0]))
    totals: Any = ClassCounts(rounds, mistakes, first_seen, updates, measures)
    ledger = ClassLedger(
        totals,
        rule=rule,
        n=schema.whole(found["n"], "n", low, high),
        classes=tuple(labels.ordered),
        from_start=from_start,
        named=named,
        record=StoredClassRecord(predictions, wrong, late, names),
        standings=standings,
    )
    ledger.given, ledger.seen = labels.given, labels.seen
    return ledger


def _read_rule(value: Any) -> MulticlassPanelRule:
    rule_id, members, joined, *rest = schema.fields(
        value, "id", "members", "joined", "update_margin", "bias", path="rule"
    )
    schema.text(rule_id, "rule.id", (MulticlassPanelRule.id,))
    fixed = (joined, *rest) == (0, 0, 0) and not any(type(each) is bool for each in (joined, *rest))
    need(fixed, "rule.joined, rule.update_margin and rule.bias must be 0", "rule")
    most = MulticlassPanelRule.members
    return MulticlassPanelRule(members=schema.whole(members, "rule.members", 0, most))


def _read_labels(given: Any, seen: Any) -> ClassLabels:
    try:
        listed = [schema.from_json(each, "given") for each in schema.items(given, "given")]
        labels = ClassLabels(listed or None)
        for each in schema.items(seen, "seen"):
            labels.id_of(schema.from_json(each, "seen"))
    except ModelError:
        raise
    except ValueError as error:
        raise ModelError(str(error), field="seen") from None
    need(len(labels.ids) == len(seen), "a label occurs twice", "seen")
    return labels


def _read_measures(value: Any, rounds: int, mistakes: int, classes: int) -> ClassMeasures | None:
    if value is None:
        return None
    measured, loss, squares, truth, predicted, counts = schema.fields(value, *MEASURES, path="measures")
    measured = schema.whole(measured, "measures.rounds", 0, rounds)
    size = len(schema.wholes(truth, "measures.truth", 0, classes - 1))
    schema.wholes(predicted, "measures.predicted", -1, classes - 1, size)
    schema.wholes(counts, "measures.counts", 1, max(measured, 1), size)
    pairs = list(zip(truth, predicted, strict=True))
    need(len(set(pairs)) == len(pairs), "measures has a pair of labels twice", "measures.truth")
    need(sum(counts) == measured, "measures.counts must add up to measures.rounds", "measures.counts")
    wrong = sum(count for (a, b), count in zip(pairs, counts, strict=True) if a != b)
    need(measured < rounds or wrong == mistakes, "measures.counts contradict the mistakes in counts", "measures.counts")
    return ClassMeasures(
        measured,
        schema.number(loss, "measures.total_log_loss", -ROUNDING, measured * LARGEST_LOSS + ROUNDING),
        schema.number(squares, "measures.squares", -ROUNDING, 2 * measured + ROUNDING),
        *(np.array(each, np.int64) for each in (truth, predicted, counts)),
    )


def _compare(predictions: AnyArray, measures: ClassMeasures, classes: int) -> None:
    expected = np.zeros(classes + 1, np.int64)
    np.add.at(expected, measures.predicted + 1, measures.counts)
    if not np.array_equal(np.bincount(predictions + 1, minlength=classes + 1), expected):
        refuse("predictions", "as many of each class as measures.counts", "others")


class StoredClassRecord:
    """The record of a ledger of several classes that was read from JSON."""

    def __init__(self, predictions: Any, mistakes: Any, late: tuple[IntArray, IntArray], names: list[str]) -> None:
        self._predictions = None if predictions is None else np.array(predictions, np.int64)
        self._mistakes = None if mistakes is None else np.array(mistakes, np.int64)
        self._late, self._names = late, names

    def predictions(self) -> Any:
        """Return the predicted class ids; None if not all were kept."""
        return self._predictions

    def mistake_rounds(self) -> IntArray | None:
        """Return the 0-based rounds of the mistakes; None if not all were kept."""
        return self._mistakes

    def kept(self) -> Kept:
        """Raise ValueError, because no examples are kept."""
        message = "a panel keeps no examples"
        raise ValueError(message)

    def late(self) -> tuple[IntArray, IntArray]:
        """Return the rounds whose outcome came late, and for each the updates since its prediction."""
        return self._late

    def names(self) -> list[str]:
        """Return the names of the features by index; empty for features by position."""
        return self._names
