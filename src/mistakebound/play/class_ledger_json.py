"""Write a ledger of several classes as JSON, and read it back, with checks of every field."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from mistakebound._support import schema
from mistakebound._support.lazy import np
from mistakebound._support.schema import need, refuse, to_json
from mistakebound.data.class_labels_json import read_class_labels
from mistakebound.play.class_ledger import ClassCounts, ClassKept, ClassLedger
from mistakebound.play.class_measures import ClassMeasures, check_confidence
from mistakebound.play.ledger_schema import LATE, MOST_FEATURES, read_late, read_rule
from mistakebound.play.measures_json import read_measures, write_measures
from mistakebound.play.mixing import check_mistakes, read_mixing, write_mixing
from mistakebound.play.record import StoredRecord
from mistakebound.play.standings_json import read_standings, write_standings
from mistakebound.rules.base import LARGEST
from mistakebound.rules.multiclass_perceptron import MulticlassPerceptronRule
from mistakebound.rules.panel import MulticlassPanelRule

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, IntArray
    from mistakebound.rules import Rule

COUNTS = ("rounds", "mistakes", "first_seen", "updates")
LEDGER = (
    *("counts", "rule", "n", "given", "seen", "from_start", "named", "names", "predictions", "mistake_rounds", "late"),
    *("measures", "standings"),
)
KEPT = {
    "rounds": "int64",
    "labels": "int32",
    "indptr": "int64",
    "index": "int64",
    "value": "float64",
    "predicted": "int32",
}
"""Fields of the kept rounds of a multiclass Perceptron, and their types."""
MEASURES = ("rounds", "total_log_loss", "squares", "truth", "predicted", "counts")
MIXING = "mixing"
"""An optional field: what was mixed."""
CONFIDENCE = "confidence"
"""An optional field of the measures: that of the calibration."""
LARGEST_LOSS = 100.0
"""−ln p of one round is at most this."""
ROUNDING = 1e-6


def write(ledger: ClassLedger) -> str:
    """Return a ledger as JSON text."""
    record, measures = ledger.record, ledger.counts.measures
    predictions, mistakes = record.predictions(), record.mistake_rounds()
    measured = None if measures is None else {name: _plain(getattr(measures, name)) for name in MEASURES}
    if measured is not None and measures is not None and measures.confidence is not None:
        measured[CONFIDENCE] = write_measures(measures.confidence)
    kept = {"kept": {name: getattr(ledger.kept, name).tolist() for name in KEPT}} if ledger.rule.keeps_examples else {}
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
        | kept
        | ({} if ledger.mixing is None else {MIXING: write_mixing(ledger.mixing)})
    )


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def read(data: dict[str, Any]) -> ClassLedger:
    """Return the ledger that ``write`` wrote, from its parsed JSON; raise ModelError if it is not valid."""
    rule, mixing = _read_rule(data.get("rule")), data.pop(MIXING, None)
    names_of_fields = (*LEDGER, "kept") if rule.keeps_examples else LEDGER
    found = dict(zip(names_of_fields, schema.fields(data, *names_of_fields), strict=True))
    listed = schema.items(found["counts"], "counts", len(COUNTS))
    rounds, mistakes, first_seen, updates = (
        schema.whole(each, f"counts.{name}") for name, each in zip(COUNTS, listed, strict=True)
    )
    possible = first_seen <= mistakes <= rounds and (updates <= mistakes if rule.keeps_examples else updates == rounds)
    need(possible, "counts should have first_seen ≤ mistakes ≤ rounds, and as many updates as the rule makes", "counts")
    named = schema.flag(found["named"], "named")
    names = schema.texts(found["names"], "names", distinct=True)
    need(named or not names, "names should be empty, because named is false", "names")
    low, high = (len(names) + 1, len(names) + 1) if named else (0, MOST_FEATURES)
    n = schema.whole(found["n"], "n", low, high)
    labels = read_class_labels(found["given"], found["seen"])
    classes = len(labels.ids)
    from_start = schema.flag(found["from_start"], "from_start")
    kept, features = None, len(names) if named else n
    if rule.keeps_examples:
        kept = _read_kept(found["kept"], rounds, updates, features, classes)
    kept_rounds = np.zeros(0, np.int64) if kept is None else kept.rounds
    late = read_late(found["late"], kept_rounds, rule, (rounds, mistakes, 0, updates, 0))
    predictions = schema.optional(schema.wholes, found["predictions"], "predictions", -1, classes - 1, rounds)
    wrong = schema.optional(schema.rising, found["mistake_rounds"], "mistake_rounds", rounds - 1, mistakes)
    measures = _read_measures(found["measures"], rule, rounds, mistakes, classes)
    if predictions is not None and measures is not None:
        _compare(np.array(predictions, np.int64), measures, classes)
    all_known = from_start and first_seen == classes  # otherwise it may be a panel that began with two labels
    check_confidence(measures, mistakes, f"measures.{CONFIDENCE}", all_known=all_known)
    counts = (rounds, mistakes, 0, updates, 0)
    standings = read_standings(found["standings"], rule, counts, from_start=from_start, late=len(late[0]))
    need(mixing is None or from_start, f"{MIXING} must be absent, because from_start is false", MIXING)
    epochs = read_mixing(mixing, rounds, mistakes, updates)
    if epochs is not None and wrong is not None:
        check_mistakes(epochs, np.array(wrong, np.int64), mistakes)
    totals: Any = ClassCounts(rounds, mistakes, first_seen, updates, measures)
    ledger = ClassLedger(
        totals,
        rule=rule,
        n=n,
        classes=tuple(labels.ordered),
        from_start=from_start,
        named=named,
        record=StoredRecord(_whole_numbers(predictions), _whole_numbers(wrong), kept, late, names),
        standings=standings,
        mixing=epochs,
    )
    ledger.given, ledger.seen = labels.given, labels.seen
    return ledger


def _whole_numbers(values: list[int] | None) -> IntArray | None:
    return None if values is None else np.array(values, np.int64)


def _read_kept(value: Any, rounds: int, updates: int, features: int, classes: int) -> ClassKept:
    """Return the kept rounds of a multiclass Perceptron, after checking that they fit each other."""
    found = dict(zip(KEPT, schema.fields(value, *KEPT, path="kept"), strict=True))
    size = len(schema.rising(found["rounds"], "kept.rounds", rounds - 1))
    need(size <= updates, "kept.rounds has more rounds than counts.updates", "kept.rounds")
    for name in ("labels", "predicted"):
        schema.wholes(found[name], f"kept.{name}", 0, classes - 1, size)
    wrong = all(label != made for label, made in zip(found["labels"], found["predicted"], strict=True))
    need(wrong, "kept.labels and kept.predicted must differ, because these rounds are mistakes", "kept.predicted")
    stored = len(schema.wholes(found["index"], "kept.index", 0, features - 1))
    schema.numbers(found["value"], "kept.value", -LARGEST, LARGEST, stored)
    schema.wholes(found["indptr"], "kept.indptr", 0, stored, size + 1)
    arrays = {name: np.array(found[name], kind) for name, kind in KEPT.items()}
    cuts = arrays["indptr"][0] == 0 and arrays["indptr"][-1] == stored and (np.diff(arrays["indptr"]) >= 0).all()
    need(cuts, f"kept.indptr should rise from 0 to {stored}, the length of kept.index", "kept.indptr")
    return ClassKept(**arrays, mistaken=np.ones(size, np.bool_))


def _read_rule(value: Any) -> MulticlassPanelRule | MulticlassPerceptronRule:
    if isinstance(value, dict) and value.get("id") == MulticlassPerceptronRule.id:
        return cast("MulticlassPerceptronRule", read_rule(value))
    fixed = {name: default for name, default in asdict(MulticlassPanelRule()).items() if name != "members"}
    rule_id, members, *rest = schema.fields(value, "id", "members", *fixed, path="rule")
    schema.text(rule_id, "rule.id", (MulticlassPanelRule.id,))
    same = rest == list(fixed.values()) and not any(type(each) is bool for each in rest)
    need(same, f"the rule of several classes has fixed {', '.join(fixed)}", "rule")
    most = MulticlassPanelRule.members
    return MulticlassPanelRule(members=schema.whole(members, "rule.members", 0, most))


def _read_measures(value: Any, rule: Rule, rounds: int, mistakes: int, classes: int) -> ClassMeasures | None:
    if value is None:
        return None
    stored_confidence = value.pop(CONFIDENCE, None) if isinstance(value, dict) else None
    measured, loss, squares, truth, predicted, counts = schema.fields(value, *MEASURES, path="measures")
    measured = schema.whole(measured, "measures.rounds", 0, rounds)
    size = len(schema.wholes(truth, "measures.truth", 0, classes - 1))
    schema.wholes(predicted, "measures.predicted", -1, classes - 1, size)
    schema.wholes(counts, "measures.counts", 1, max(rounds, 1), size)
    pairs = list(zip(truth, predicted, strict=True))
    need(len(set(pairs)) == len(pairs), "measures has a pair of labels twice", "measures.truth")
    need(sum(counts) == rounds, "measures.counts must add up to the number of rounds", "measures.counts")
    wrong = sum(count for (a, b), count in zip(pairs, counts, strict=True) if a != b)
    need(wrong == mistakes, "measures.counts contradict the mistakes in counts", "measures.counts")
    truth, predicted, counts = (np.array(each, np.int64) for each in (truth, predicted, counts))
    return ClassMeasures(
        measured,
        schema.number(loss, "measures.total_log_loss", -ROUNDING, measured * LARGEST_LOSS + ROUNDING),
        schema.number(squares, "measures.squares", -ROUNDING, 2 * measured + ROUNDING),
        truth,
        predicted,
        counts,
        read_measures(stored_confidence, rule, rounds, f"measures.{CONFIDENCE}"),
    )


def _compare(predictions: AnyArray, measures: ClassMeasures, classes: int) -> None:
    expected = np.zeros(classes + 1, np.int64)
    np.add.at(expected, measures.predicted + 1, measures.counts)
    if not np.array_equal(np.bincount(predictions + 1, minlength=classes + 1), expected):
        refuse("predictions", "as many of each class as measures.counts", "others")
