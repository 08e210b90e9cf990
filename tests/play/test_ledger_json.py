"""A ledger is checked when it is read: what contradicts itself is refused by field, and never reaches the core."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from input_streams import dicts, stream

import mistakebound as mb

INF = float("inf")


def ledger_of(kind: str = "perceptron") -> mb.Ledger:
    """Return a small ledger, complete unless the kind keeps little."""
    X, y = stream(40, binary="winnow" in kind or kind == "elimination")
    make: dict[str, Callable[[], Any]] = {
        "perceptron": mb.Perceptron,
        "named": mb.Perceptron,
        "keeps little": lambda: mb.Perceptron(keep_bytes=300),
        "winnow": mb.Winnow,
        "winnow, conjunction": lambda: mb.Winnow(target="conjunction"),
        "elimination": mb.Elimination,
        "halving": lambda: mb.NormalizedWinnow(eta=INF),
        "pnorm": mb.PNormPerceptron,
        "arow": mb.Arow,
        "adagrad": mb.AdaGradHinge,
    }
    learner = make[kind]()
    learner.run(dicts(X) if kind == "named" else X, y)
    return learner.ledger_


def changed(ledger: mb.Ledger, where: str, value: Any) -> str:
    """Return the ledger's JSON with one field changed, such as "kept.index.0"; a function gets the old value."""
    data = json.loads(ledger.to_json())
    *way, last = where.split(".")
    at: Any = data
    for step in way:
        at = at[int(step) if isinstance(at, list) else step]
    key: Any = int(last) if isinstance(at, list) else last
    at[key] = value(at[key]) if callable(value) else value
    return json.dumps(data)


HOSTILE: list[tuple[str, str, Any, str]] = [
    ("", "more", 1, ""),
    ("", "kept.more", 1, "kept"),
    ("", "rule.more", 1, "rule"),
    ("", "counts", [1, 2, 3], "counts"),
    ("", "counts.0", -1, "counts.rounds"),
    ("", "counts.0", 10**400, "counts.rounds"),
    ("", "counts.0", 2**63, "counts.rounds"),
    ("", "counts.0", 40.0, "counts.rounds"),
    ("", "counts.0", True, "counts.rounds"),
    ("", "counts.0", 41, "predictions"),
    ("", "counts.0", 3, "counts"),
    ("", "counts.1", lambda old: old - 1, "mistake_rounds"),
    ("", "counts.3", lambda old: old - 1, "counts.updates"),
    ("", "counts.4", lambda old: old - 1, "counts"),
    ("", "counts.4", 41, "counts"),
    ("", "rule.id", "eval", "rule.id"),
    ("", "rule.id", ["perceptron"], "rule.id"),
    ("", "rule.id", "winnow", "rule"),
    ("", "rule.bias", "1", "rule.bias"),
    ("", "rule.bias", "inf", "rule.bias"),
    ("", "rule.bias", 1e31, "rule.bias"),
    ("", "rule.bias", 10**400, "rule.bias"),
    ("", "rule.bias", None, "rule.bias"),
    ("", "rule.update_margin", -0.5, "rule.update_margin"),
    ("", "rule.update_margin", True, "rule.update_margin"),
    ("winnow", "rule.alpha", 1.0, "rule.alpha"),
    ("winnow", "rule.theta", 0.0, "rule.theta"),
    ("winnow", "rule.strict", 1, "rule.strict"),
    ("winnow", "rule.update_margin", 0.5, "rule.update_margin"),
    ("winnow", "rule.bias", 0.5, "rule.bias"),
    ("elimination", "rule.bias", 1.0, "rule.bias"),
    ("halving", "rule.eta", "nan", "rule.eta"),
    ("halving", "rule.eta", 0.0, "rule.eta"),
    ("pnorm", "rule.p", "inf", "rule.p"),
    ("pnorm", "rule.p", 1.5, "rule.p"),
    ("", "n", -1, "n"),
    ("", "n", 2**60, "n"),
    ("", "n", 3, "kept.index"),
    ("", "n", "12", "n"),
    ("", "classes", [0], "classes"),
    ("", "classes", [0, 0], "classes"),
    ("", "classes", [0, [1]], "classes"),
    ("", "from_start", 1, "from_start"),
    ("", "named", "yes", "named"),
    ("", "named", True, "n"),
    ("", "names", ["a"], "names"),
    ("named", "names.0", 7, "names"),
    ("named", "names", lambda old: [old[1], *old[1:]], "names"),
    ("named", "names", lambda old: old[:-1], "n"),
    ("named", "n", 2, "n"),
    ("named", "kept.index.0", lambda _: 12, "kept.index"),
    ("", "predictions.0", 2, "predictions"),
    ("", "predictions.0", True, "predictions"),
    ("", "predictions", [], "predictions"),
    ("", "predictions", "0" * 40, "predictions"),
    ("", "predictions", lambda old: [1 - each for each in old], "predictions"),
    ("", "mistake_rounds", lambda old: old[::-1], "mistake_rounds"),
    ("", "mistake_rounds", lambda old: old[:-1], "mistake_rounds"),
    ("", "mistake_rounds", lambda old: [*old[:-1], 40], "mistake_rounds"),
    ("", "mistake_rounds", lambda old: [-1, *old[1:]], "mistake_rounds"),
    ("", "kept.rounds", lambda old: old[::-1], "kept.rounds"),
    ("", "kept.rounds", lambda old: old[:-1], "kept.labels"),
    ("", "kept.rounds", lambda old: [*old[:-1], 40], "kept.rounds"),
    ("", "kept.rounds", lambda old: [*old[:-1], 10**400], "kept.rounds"),
    ("", "kept.labels.0", 0, "kept.labels"),
    ("", "kept.labels.0", 257, "kept.labels"),
    ("", "kept.labels", lambda old: [-each for each in old], "kept.labels"),
    ("", "kept.labels", lambda old: old[1:], "kept.labels"),
    ("", "kept.mistaken.0", 1, "kept.mistaken"),
    ("", "kept.mistaken.0", False, "mistake_rounds"),
    ("", "kept.indptr.0", 1, "kept.indptr"),
    ("", "kept.indptr.1", 10**9, "kept.indptr"),
    ("", "kept.indptr.1", -(10**9), "kept.indptr"),
    ("", "kept.indptr", [], "kept.indptr"),
    ("", "kept.indptr", lambda old: [*old[:-1], old[-1] + 10**6], "kept.indptr"),
    ("", "kept.index.0", -1, "kept.index"),
    ("", "kept.index.0", 10**9, "kept.index"),
    ("", "kept.index.0", 2**40, "kept.index"),
    ("", "kept.index.0", 0.0, "kept.index"),
    ("", "kept.index", lambda old: old[:-1], "kept.value"),
    ("", "kept.value.0", "1", "kept.value"),
    ("", "kept.value.0", None, "kept.value"),
    ("", "kept.value.0", 2e30, "kept.value"),
    ("", "kept.value.0", 10**400, "kept.value"),
    ("winnow", "kept.value.0", 0.5, "kept.value"),
    ("keeps little", "kept.rounds.0", 40, "kept.rounds"),
    ("keeps little", "kept.index.0", 10**9, "kept.index"),
    ("winnow, conjunction", "counts.1", lambda old: old - 1, "mistake_rounds"),
    ("adagrad", "counts.4", 1, "counts"),
    ("adagrad", "counts.3", 41, "counts"),
    ("adagrad", "counts.1", 41, "counts"),
    ("adagrad", "counts.1", lambda old: old - 1, "mistake_rounds"),
    ("adagrad", "kept.rounds", [0], "kept"),
    ("adagrad", "rule.rate", 0.0, "rule.rate"),
]


@pytest.mark.parametrize(("kind", "where", "value", "field"), HOSTILE)
def test_each_contradiction_is_rejected(kind: str, where: str, value: Any, field: str) -> None:
    ledger = ledger_of(kind or "perceptron")
    text = changed(ledger, where, value)
    assert text != ledger.to_json()
    with pytest.raises(mb.ModelError) as caught:
        mb.Ledger.from_json(text)
    assert (caught.value.field or "").startswith(field)


@pytest.mark.parametrize("name", ["counts", "kept", "rule", "n", "names", "predictions"])
def test_no_field_may_be_missing(name: str) -> None:
    data = json.loads(ledger_of().to_json())
    del data[name]
    with pytest.raises(mb.ModelError, match=name):
        mb.Ledger.from_json(json.dumps(data))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        b"\xff".decode("latin-1"),
        "[" * 100_000,
        '{"n": ' + "[" * 100_000,
        '{"n": 1, "n": 2}',
        '{"n": NaN}',
        '{"n": -Infinity}',
        '{"n": ' + "9" * 5000 + "}",
    ],
    ids=range(11),
)
def test_texts_that_are_not_json_objects(text: str) -> None:
    with pytest.raises(mb.ModelError):
        mb.Ledger.from_json(text)


def test_a_number_beyond_a_float_is_rejected() -> None:
    """1e999 is valid JSON, but not a finite number."""
    text = ledger_of().to_json().replace('"bias": 0.0', '"bias": 1e999')
    with pytest.raises(mb.ModelError) as caught:
        mb.Ledger.from_json(text)
    assert caught.value.field == "rule.bias"


def test_a_bad_index_does_not_end_the_process() -> None:
    """In a process of its own, because a bad index that is not rejected would crash it."""
    for where, value in (("kept.index.0", 10**9), ("kept.indptr.1", 10**9), ("kept.indptr.1", -(10**9))):
        text = changed(ledger_of(), where, value)
        code = "import sys, mistakebound as mb\ntry: mb.certify(mb.Ledger.from_json(sys.stdin.read()))\n"
        code += "except mb.ModelError: print('refused')"
        done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.strip()) == (0, "refused")


@pytest.mark.parametrize("classes", [(0, 1), ("a", "b"), (False, True), (0.5, 1.5), (-INF, INF), (None, 1)])
def test_labels_keep_their_types_in_json(classes: Any) -> None:
    learner = mb.Perceptron(classes=classes)
    learner.run([[1, 0], [0, 1]], list(classes))
    text = learner.ledger_.to_json()
    back = mb.Ledger.from_json(text)
    assert back.classes == classes
    assert list(map(type, back.classes)) == list(map(type, classes))
    assert back.to_json() == text


def test_a_ledger_has_the_features_of_its_own_rounds() -> None:
    """Features that its learner learned later are not in the ledger, and not in its JSON."""
    learner = mb.Perceptron()
    past = learner.run([{"a": 1}, {"b": 1}], [-1, -1])
    learner.run([{"c": 1}, {"d": 2}], [-1, -1])
    assert (past.n, past.names) == (3, ["a", "b"])
    back = mb.Ledger.from_json(past.to_json())
    assert (back.n, back.names) == (past.n, past.names)


def test_an_incomplete_ledger_is_incomplete_after_reading() -> None:
    ledger = ledger_of("keeps little")
    back = mb.Ledger.from_json(ledger.to_json())
    assert not back.complete
    assert mb.certify(back).status == "incomplete"
    X, y = stream(60)
    nothing = mb.Perceptron(keep_bytes=0)
    nothing.run(X, y)
    back = mb.Ledger.from_json(nothing.ledger_.to_json())
    assert len(back.kept) == 0
    with pytest.raises(ValueError, match="keep_bytes"):
        back.mistake_rounds  # noqa: B018


@pytest.mark.parametrize("kind", ["winnow, conjunction", "elimination"])
def test_counts_of_a_negated_target_are_those_of_its_labels(kind: str) -> None:
    ledger = ledger_of(kind)
    back = mb.Ledger.from_json(ledger.to_json())
    assert (back.false_positives, back.false_negatives) == (ledger.false_positives, ledger.false_negatives)
    assert np.array_equal(back.positive, ledger.positive)
