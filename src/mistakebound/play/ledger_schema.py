"""Check a ledger in JSON: the type and range of every field, then the fields against each other.

After these checks, no index and no offset points outside of an array, so the core and the certificates can use the
ledger. They do not show that the ledger is true: a certificate replays the rounds for that.
"""

from __future__ import annotations

from dataclasses import fields as fields_of
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support import schema
from mistakebound._support.lazy import np
from mistakebound._support.schema import need, refuse
from mistakebound.data.labels import check_classes
from mistakebound.errors import ModelError
from mistakebound.play.measures_json import check_labels, read_measures
from mistakebound.play.mixing import check_mistakes, read_mixing
from mistakebound.play.standings_json import read_standings
from mistakebound.rules.base import LARGEST
from mistakebound.rules.registry import DECLARATIONS, rule_class

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mistakebound._support.arrays import AnyArray
    from mistakebound.play.measures import Measures
    from mistakebound.play.mixing import Mixing
    from mistakebound.play.standings import Standings
    from mistakebound.rules import Rule

LEDGER = (*("counts", "rule", "n", "classes", "from_start", "named", "names", "predictions", "mistake_rounds", "kept"),)
COUNTS = ("rounds", "false_positives", "false_negatives", "updates", "to_keep")
KEPT = {
    "rounds": "int64",
    "labels": "int8",
    "mistaken": "bool",
    "indptr": "int64",
    "index": "int64",
    "value": "float64",
}
"""The arrays of the kept rounds, each with its dtype."""
LATE = ("rounds", "delays")
"""The arrays of the kept rounds whose outcome came late."""
OPTIONAL = ("late", "measures", "standings", "mixing")
"""Fields that are absent if there is nothing to write."""
MOST_FEATURES = 2**27
"""Limit for features by position: a certificate takes some 10 bytes for each, however small the file is."""


class LedgerFields(NamedTuple):
    """The fields of a ledger that was read and checked."""

    counts: tuple[int, ...]
    rule: Rule
    n: int
    classes: tuple[Any, Any]
    from_start: bool
    named: bool
    names: list[str]
    predictions: AnyArray | None
    mistake_rounds: AnyArray | None
    kept: dict[str, AnyArray]
    late: tuple[AnyArray, AnyArray]
    measures: Measures | None
    standings: Standings | None
    mixing: Mixing | None


def check(data: dict[str, Any]) -> LedgerFields:
    """Return the fields of a ledger; raise ModelError if one is missing, unknown, out of range or inconsistent."""
    late, measures, standings, mixing = (data.pop(name, None) for name in OPTIONAL)
    counts, rule, n, classes, from_start, named, names, predictions, mistakes, kept = schema.fields(data, *LEDGER)
    rule = read_rule(rule)
    counts = read_counts(counts, rule)
    rounds, mistaken = counts[0], counts[1] + counts[2]
    named = schema.flag(named, "named")
    names = schema.texts(names, "names", distinct=True)
    need(named or not names, "names should be empty, because named is false", "names")
    n = schema.whole(n, "n", 0, MOST_FEATURES) if not named else schema.whole(n, "n", len(names) + 1, len(names) + 1)
    found = read_kept(kept, rounds, len(names) if named else n, binary=rule.binary)
    from_start = schema.flag(from_start, "from_start")
    delays = read_late(late, found["rounds"], rule, counts)
    checked = LedgerFields(
        counts,
        rule,
        n,
        read_classes(classes),
        from_start,
        named,
        names,
        _array(schema.optional(schema.wholes, predictions, "predictions", 0, 1, rounds), "bool"),
        _array(schema.optional(schema.rising, mistakes, "mistake_rounds", rounds - 1, mistaken), "int64"),
        found,
        delays,
        read_measures(measures, rule, rounds),
        read_standings(standings, rule, counts, from_start=from_start, late=len(delays[0])),
        read_mixing(mixing, rounds, mistaken, counts[3]),
    )
    # The kept labels of a conjunction are negated, because its rule learns the negation. Only rules on {0, 1} learn
    # conjunctions.
    negated = (False, True) if rule.binary else (False,)
    compare(counts, rule, checked.predictions, checked.mistake_rounds, checked.kept, negated=negated)
    check_labels(checked.measures, counts, checked.predictions)
    need(mixing is None or from_start, "mixing must be absent, because from_start is false", "mixing")
    if checked.mixing is not None and checked.mistake_rounds is not None:
        check_mistakes(checked.mixing, checked.mistake_rounds, mistaken)
    return checked


def read_counts(value: Any, rule: Rule) -> tuple[int, ...]:
    """Return the five totals."""
    listed = schema.items(value, "counts", len(COUNTS))
    counts = tuple(schema.whole(each, f"counts.{name}") for name, each in zip(COUNTS, listed, strict=True))
    rounds, false_positives, false_negatives, updates, to_keep = counts
    mistakes = false_positives + false_negatives
    if rule.keeps_examples:
        need(mistakes <= to_keep <= rounds, "counts should have mistakes ≤ to_keep ≤ rounds", "counts")
    else:
        possible = max(mistakes, updates) <= rounds and to_keep == 0
        need(possible, "counts should have mistakes and updates ≤ rounds, and to_keep = 0", "counts")
    return counts


LATER: dict[str, dict[str, Any]] = {"panel": {"cut": 0.5, "abstain": 0.0}}
"""Parameters that early ledgers do not have, with their values."""


def read_rule(value: Any, path: str = "rule") -> Rule:
    """Return a rule by its id, with all of its parameters, after checking their ranges."""
    rule_id = value.get("id") if isinstance(value, dict) else None
    kind = rule_class(schema.text(rule_id, f"{path}.id", DECLARATIONS))
    names = [field.name for field in fields_of(kind)]
    value = LATER.get(kind.id, {}) | value
    given = dict(zip(names, schema.fields(value, "id", *names, path=path)[1:], strict=True))
    return kind(**{name: _parameter(kind, name, each, f"{path}.{name}") for name, each in given.items()})


def _parameter(kind: type[Rule], name: str, value: Any, path: str) -> Any:
    if name not in kind.ranges:
        return schema.flag(value, path)
    allowed = kind.ranges[name]
    found = float("inf") if value == "inf" and type(value) is str else schema.number(value, path)
    if not allowed.includes(found):
        refuse(path, allowed.numbers, value)
    return int(found) if kind.__annotations__.get(name) == "int" else found


def read_classes(value: Any) -> tuple[Any, Any]:
    """Return the (negative, positive) labels."""
    labels = [schema.from_json(each, "classes") for each in schema.items(value, "classes", 2)]
    try:
        return check_classes(labels)
    except ValueError as error:
        raise ModelError(str(error), field="classes") from None


def read_kept(value: Any, rounds: int, features: int, *, binary: bool) -> dict[str, AnyArray]:
    """Return the arrays of the kept rounds, after checking that they fit each other."""
    its_rounds, labels, mistaken, indptr, index, values = schema.fields(value, *KEPT, path="kept")
    size = len(schema.rising(its_rounds, "kept.rounds", rounds - 1))
    for place, each in enumerate(schema.items(labels, "kept.labels", size)):
        if type(each) is not int or each not in (-1, 1):
            refuse(f"kept.labels[{place}]", "1 or -1", each)
    schema.flags(mistaken, "kept.mistaken", size)
    stored = len(schema.wholes(index, "kept.index", 0, features - 1))
    schema.numbers(values, "kept.value", -LARGEST, LARGEST, stored)
    schema.wholes(indptr, "kept.indptr", 0, stored, size + 1)
    cuts = indptr[0] == 0 and indptr[-1] == stored and all(a <= b for a, b in pairwise(indptr))
    need(cuts, f"kept.indptr should rise from 0 to {stored}, the length of kept.index", "kept.indptr")
    need(not binary or set(values) <= {0, 1}, "kept.value should be 0 and 1 only, because of this rule", "kept.value")
    given = (its_rounds, labels, mistaken, indptr, index, values)
    return {name: np.array(each, kind) for (name, kind), each in zip(KEPT.items(), given, strict=True)}


def read_late(value: Any, kept: AnyArray, rule: Rule, counts: Sequence[int]) -> tuple[AnyArray, AnyArray]:
    """Return the rounds whose outcome came late, and for each the number of updates since its prediction."""
    if value is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    rounds, delays = schema.fields(value, *LATE, path="late")
    size = len(schema.rising(rounds, "late.rounds", schema.MOST - 1))
    schema.wholes(delays, "late.delays", 1, schema.MOST - 1, size)
    late, by = np.array(rounds, np.int64), np.array(delays, np.int64)
    if rule.keeps_examples:
        need(np.isin(late, kept).all(), "late.rounds should be among kept.rounds", "late.rounds")
        so_far = np.searchsorted(kept, late)
    else:
        need((late < counts[0]).all(), "late.rounds should be below the number of rounds", "late.rounds")
        so_far = np.minimum(late, counts[3])
    need((by <= so_far).all(), "late.delays should be below the updates so far", "late.delays")
    return late, by


def _array(values: list[int] | None, kind: str) -> AnyArray | None:
    return None if values is None else np.array(values, kind)


def compare(
    counts: tuple[int, ...],
    rule: Rule,
    predictions: AnyArray | None,
    mistake_rounds: AnyArray | None,
    kept: Mapping[str, AnyArray],
    *,
    negated: tuple[bool, ...],
) -> None:
    """Raise ModelError if counts, predictions, mistakes and kept rounds contradict each other.

    ``negated`` has the possible signs of the kept labels: as in the counts (False), or negated (True). All kept labels
    must have the same sign.
    """
    _, false_positives, false_negatives, updates, to_keep = counts
    mistakes = false_positives + false_negatives
    if predictions is not None and mistake_rounds is not None:
        positive = np.count_nonzero(predictions[mistake_rounds])
        need(positive == false_positives, "predictions at mistake_rounds contradict counts", "predictions")
    found, size = kept["rounds"][kept["mistaken"]], len(kept["rounds"])
    need(size <= to_keep, f"counts.to_keep should be at least {size}, the rounds that are kept", "counts.to_keep")
    need(len(found) <= mistakes, "kept.mistaken marks more mistakes than counts has", "kept.mistaken")
    if mistake_rounds is not None:
        # The kept rounds are the first of those to keep, and their mistakes the first of all mistakes.
        same = np.array_equal(found, mistake_rounds[: len(found)])
        need(same, "mistake_rounds contradicts kept.rounds and kept.mistaken", "mistake_rounds")
    if predictions is not None:
        predicted, wrong = predictions[kept["rounds"]], kept["mistaken"]
        negated = tuple(flip for flip in negated if np.array_equal(predicted ^ wrong, (kept["labels"] > 0) ^ flip))
        need(negated, "kept.labels contradict predictions and kept.mistaken", "kept.labels")
    if size < to_keep or not rule.keeps_examples:
        return
    need(len(found) == mistakes, "kept.mistaken marks fewer mistakes than counts has", "kept.mistaken")
    on_negative = int(np.count_nonzero(kept["labels"][kept["mistaken"]] < 0))
    counted = {False: false_positives, True: false_negatives}
    need(any(counted[flip] == on_negative for flip in negated), "kept.labels contradict counts", "kept.labels")
    learned = to_keep if rule.learns_from_positives else on_negative
    need(updates == learned, f"counts.updates should be {learned}", "counts.updates")
