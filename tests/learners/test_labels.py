"""Labels are any two values, and come back as they are; negated targets keep the user's labels too."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.learners.linear import KINDS

X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
SIDES = [False, True, True, False, True, False]
NAMED = [{f"f{i}": 1 for i in np.flatnonzero(row)} for row in X]
NAN = float("nan")
LEARNERS = list(KINDS.values())

PAIRS: list[tuple[Any, Any]] = [
    (0, 1),
    (-1, 1),
    (3, 8),
    (-8, -3),
    (0, 0.5),
    (0.1, 1),
    (-1e300, 2.5),
    (False, True),
    ("ham", "spam"),
    (b"a", b"b"),
    (np.int8(-1), np.int8(1)),
    (np.uint8(0), np.uint8(255)),
    (np.float32(0.1), np.float32(0.7)),
    (np.bool_(False), np.bool_(True)),
    (np.str_("a"), np.str_("b")),
    (2**62, 2**63 - 1),
]


def labels_of(negative: Any, positive: Any) -> list[Any]:
    """Return the labels of the six rounds."""
    return [positive if side else negative for side in SIDES]


def same(found: Any, wanted: Any) -> bool:
    """Whether values are equal; a number is not equal to its text."""
    return list(found) == list(wanted) and [isinstance(v, str) for v in found] == [isinstance(v, str) for v in wanted]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_any_two_values(pair: tuple[Any, Any]) -> None:
    """The greater is positive; every prediction is one of the two values."""
    plain = mb.Perceptron().run(X, labels_of(-1, 1))
    wanted = [pair[int(p > 0)] for p in plain.predictions]
    for rows in (X, NAMED):
        for y in (labels_of(*pair), np.array(labels_of(*pair)), tuple(labels_of(*pair))):
            learner = mb.Perceptron()
            ledger = learner.run(rows, y)
            assert same(ledger.predictions, wanted)
            assert (ledger.false_positives, ledger.false_negatives) == (plain.false_positives, plain.false_negatives)
            assert ledger.classes == learner.ledger_.classes == pair
            assert learner.predict_one(rows[1]) == pair[1]
            assert learner.classes_.tolist() == list(pair)
    learner = mb.Perceptron().fit(X, labels_of(*pair))
    assert same(learner.predict(X), [learner.predict_one(x) for x in X])


MIXED: list[tuple[Any, Any]] = [
    (0, "a"),
    ("a", 0),
    (None, 1),
    (1.5, "x"),
    (True, "no"),
    (-1, 2**63 + 1),
    ((0, 1), (1, 0)),
]


@pytest.mark.parametrize(
    "pair", [*PAIRS, *(pair[::-1] for pair in PAIRS), *MIXED, (Fraction(1), Fraction(1, 2))], ids=str
)
def test_classes_set_the_positive_label(pair: tuple[Any, Any]) -> None:
    """classes=(negative, positive), in that order, for values of any type, even two different ones."""
    wanted = [pair[int(p > 0)] for p in mb.Perceptron().run(X, labels_of(-1, 1)).predictions]
    one, many, named = (mb.Perceptron(classes=pair) for _ in range(3))
    assert one.predict_one(X[0]) == pair[1]
    for x, y, prediction in zip(X, labels_of(*pair), wanted, strict=True):
        assert one.predict_one(x) == prediction
        one.learn_one(x, y)
    assert same(one.ledger_.predictions, wanted)
    assert same(named.run(iter(NAMED), iter(labels_of(*pair))).predictions, wanted)
    assert same(many.run(X, labels_of(*pair)).predictions, wanted)
    assert same(many.predict(X), [many.predict_one(x) for x in X])


def test_a_fresh_learner_predicts_its_default_labels() -> None:
    """0/1 for Winnow and Elimination, ±1 for the rest."""
    for make in LEARNERS:
        if make is mb.MulticlassPerceptron:  # it has no labels yet
            continue
        low = 0 if make in (mb.Winnow, mb.Elimination) else -1
        learner = make()
        assert learner.predict_one(X[2]) in (low, 1)
        assert learner.ledger_.classes == (low, 1)
        assert make(classes=("n", "y")).predict_one(X[2]) in ("n", "y")
    assert mb.Winnow().predict_one([0.0, 0.0]) == mb.Elimination().predict_one([0.0]) == 0


SINGLY: list[Any] = [
    ([1, 0], (0, 1)),
    ([0, 1], (0, 1)),
    ([5.0, 0], (0, 5.0)),
    ([-3, -1], (-3, -1)),
    ([True, 0], (0, 1)),
]


@pytest.mark.parametrize(("y", "pair"), [*SINGLY, ([-1, -3], None), ([1, 2], None)])
def test_labels_one_at_a_time(y: list[Any], pair: tuple[Any, Any] | None) -> None:
    """A single label is positive if it is above zero; a second one that contradicts this raises and changes nothing."""
    for rows in (X, NAMED):
        learner = mb.Perceptron()
        learner.learn_one(rows[0], y[0])
        if pair is not None:
            learner.learn_one(rows[1], y[1])
            assert learner.ledger_.classes == pair
            continue
        weights = dict(enumerate(learner.weights_)) if rows is X else learner.weights_
        for call in (lambda: learner.learn_one(rows[1], y[1]), lambda: learner.run(rows[1:2], y[1:])):
            with pytest.raises(mb.StreamError, match=rf"^round \d: .*{y[0]}.*{y[1]}.*classes="):
                call()
        assert learner.ledger_.rounds == 1
        assert (dict(enumerate(learner.weights_)) if rows is X else learner.weights_) == weights
        learner.learn_one(rows[1], y[0])


def test_text_labels_need_classes_unless_both_occur() -> None:
    """A single text label may be the negative or the positive one."""
    for rows in (X, NAMED):
        for call in (lambda a: a.learn_one(rows[0], "spam"), lambda a: a.run(rows, ["spam"] * 6)):
            learner = mb.Perceptron()
            with pytest.raises(mb.StreamError, match="round 0: .*'spam'.*classes="):
                call(learner)
            assert learner.ledger_.rounds == 0
            learner.run(rows, labels_of("ham", "spam"))
            assert learner.ledger_.classes == ("ham", "spam")
            learner.learn_one(rows[0], "ham")
    learner = mb.Perceptron().partial_fit(X[:1], ["spam"], classes=["spam", "ham"])
    assert learner.classes_.tolist() == ["ham", "spam"]
    assert mb.Perceptron(classes=("spam", "ham")).fit(X, labels_of("spam", "ham")).classes_.tolist() == ["spam", "ham"]


BAD: list[tuple[list[Any], int]] = [
    ([0, 1, 0, 2, 1, 0], 3),
    ([0, 1, 0, NAN, 1, 0], 3),
    ([NAN, 1, 0, 1, 1, 0], 0),
    (["a", "b", "a", "b", "c", "a"], 4),
    ([0, 1, None, 0, 1, 1], 2),
    ([0, None, 1, 0, 1, 1], 1),
    ([None] * 6, 0),
    ([0, 1, {}, 1, 1, 1], 2),
    ([{}] * 6, 0),
    ([0, 1, 0, "1", 1, 1], 3),
]


@pytest.mark.parametrize(("y", "at"), BAD, ids=lambda value: str(value))
def test_a_bad_label_stops_at_its_round(y: list[Any], at: int) -> None:
    """A third label, NaN, None or unhashable: ValueError at its round, with the earlier ones learned."""
    for rows in (X, NAMED):
        twin = mb.Perceptron()
        twin.run(rows[:at], y[:at]) if at else None
        for labels in (y, np.array(y, object)):
            learner = mb.Perceptron()
            with pytest.raises(mb.StreamError, match=f"^round {at}: .*label") as caught:
                learner.run(rows, labels)
            assert caught.value.ledger.rounds == learner.ledger_.rounds == at
            assert learner.ledger_.mistakes == twin.ledger_.mistakes
            with pytest.raises(mb.StreamError, match=f"^round {at}: .*label"):
                learner.learn_one(rows[at], y[at])
            assert learner.ledger_.rounds == at


@pytest.mark.parametrize("classes", [(1,), (1, 1), (0, 1, 2), (1, 1.0), (True, 1), ([1], [2]), (NAN, 1), 5], ids=str)
def test_classes_must_be_two_different_labels(classes: Any) -> None:
    """The error is raised at the first use, as in scikit-learn."""
    with pytest.raises(ValueError, match="classes"):
        mb.Perceptron(classes=classes).predict_one(X[0])


def test_classes_of_partial_fit_must_agree_with_the_labels_so_far() -> None:
    """They may add the second label, but neither swap the labels nor add a third."""
    learner = mb.Perceptron().partial_fit(X[:1], [1])
    with pytest.raises(ValueError, match="classes|label"):
        learner.partial_fit(X[:1], [1], classes=[1, 2])
    learner = mb.Perceptron().partial_fit(X[:2], [0, 1])
    with pytest.raises(ValueError, match="classes|label"):
        learner.partial_fit(X[:1], [1], classes=[5, 6])
    assert mb.Perceptron().partial_fit(X[:2], [0, 0], classes=[0, 1]).partial_fit(X[:1], [1]).classes_.tolist() == [
        0,
        1,
    ]


def test_score_needs_one_label_per_row() -> None:
    """The score is the fraction of correct predictions."""
    learner = mb.Perceptron().fit(X, labels_of("no", "yes"))
    assert learner.score(X, labels_of("no", "yes")) == np.mean(learner.predict(X) == labels_of("no", "yes"))
    for y in (["no"], ["no"] * 7):
        with pytest.raises(ValueError, match="labels|samples"):
            learner.score(X, y)


# ---------------------------------------------------------------------- targets that contain negations


def seen_by(rule_x: list[int], conjunction: bool, complements: bool) -> list[int]:
    """Return the variables that the rule sees: negated for a conjunction, or with their negations."""
    negated = [1 - v for v in rule_x]
    return rule_x + negated if complements else negated if conjunction else rule_x


def by_hand(kind: str, rows: list[list[int]], y: list[int], conjunction: bool, complements: bool) -> list[int]:
    """Winnow (α = 2, θ = n) and Elimination in plain Python, on the variables that the rule sees."""
    n = len(seen_by(rows[0], conjunction, complements))
    w, theta, found = [1.0] * n, n if kind == "winnow" else 1, []
    for x, label in zip(rows, y, strict=True):
        active = [i for i, v in enumerate(seen_by(x, conjunction, complements)) if v]
        fires, truth = sum(w[i] for i in active) >= theta, bool(label) != conjunction
        for i in active:
            w[i] *= (
                1 if fires == truth else (0 if kind != "winnow" else 0.5) if fires else (2 if kind == "winnow" else 1)
            )
        found.append(int(fires != conjunction))
    return found


@pytest.mark.parametrize("kind", ["winnow", "elimination"])
@pytest.mark.parametrize("conjunction", [False, True])
@pytest.mark.parametrize("complements", [False, True])
def test_reductions_against_brute_force(kind: str, conjunction: bool, complements: bool) -> None:
    """All rows of three variables, all labellings by one or two literals, in the user's labels."""
    make: Callable[..., Any] = mb.Winnow if kind == "winnow" else mb.Elimination
    rows = [list(bits) for bits in product((0, 1), repeat=3)] * 4
    rows = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    literals = [(i, sign) for i in range(3) for sign in ((0, 1) if complements else (1,))]
    for a, b in product(literals, repeat=2):
        join = all if conjunction else any
        y = [int(join(x[i] == sign for i, sign in (a, b))) for x in rows]
        wanted = by_hand(kind, rows, y, conjunction, complements)
        pair = ("no", "yes")
        learner = make(target="conjunction" if conjunction else "disjunction", complements=complements, classes=pair)
        ledger = learner.run(rows, [pair[label] for label in y])
        assert (
            [pair.index(p) for p in ledger.predictions]
            == wanted
            == [pair.index(p) for p in learner.ledger_.predictions]
        )
        assert ledger.false_positives == sum(p > t for p, t in zip(wanted, y, strict=True))
        assert ledger.false_negatives == sum(p < t for p, t in zip(wanted, y, strict=True))
        assert ledger.mistake_rounds.tolist() == [i for i, (p, t) in enumerate(zip(wanted, y, strict=True)) if p != t]
        one = make(target=learner.target, complements=complements)
        for x, label, predicted in zip(rows, y, wanted, strict=True):
            assert one.predict_one(x) == predicted
            one.learn_one(x, label)
        assert one.weights_.tolist() == learner.weights_.tolist()
        decided = learner.decision_function(np.array(rows, float))
        assert (learner.predict(rows) == "yes")[decided != 0].tolist() == (decided > 0)[decided != 0].tolist()
        assert learner.certify().status in ("holds", "vacuous")


def test_reductions_need_positions() -> None:
    """With names, every example would have the negations of all names that it lacks."""
    for learner in (mb.Winnow(threshold=4, target="conjunction"), mb.Elimination(complements=True)):
        with pytest.raises(ValueError, match="positional"):
            learner.learn_one({"a": 1}, 1)
    with pytest.raises(ValueError, match="target"):
        mb.Winnow(target="parity").learn_one([1.0], 1)


# ---------------------------------------------------------------------- NUL characters


def files_with(label: str, folder: Path) -> list[mb.Source]:
    """Write three rows as a table, as JSON lines and as Parquet; the last one has this label."""
    y = ["a", "b", label]
    table, lines, columns = folder / "a.csv", folder / "a.json", folder / "a.parquet"
    table.write_text("x,y\n" + "".join(f"1,{each}\n" for each in y))
    lines.write_text("".join(json.dumps({"y": each, "x": 1}) + "\n" for each in y))
    pa, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    writer.write_table(pa.table({"x": [1.0, 1.0, 1.0], "y": y}), columns)
    return [mb.Source(table, label="y", format="table"), *(mb.Source(file, label="y") for file in (lines, columns))]


@pytest.mark.parametrize("label", ["b\0", "\0", "b\0\0", "b\0c"])
def test_a_label_with_a_nul_is_rejected_at_its_round(label: str, tmp_path: Path) -> None:
    """In a NumPy array of text, 'b' and 'b' with a NUL are equal, so they could not be two labels."""
    y = ["a", "b", label]
    streams: list[tuple[Any, Any]] = [(rows[:3], labels) for rows in (X, NAMED) for labels in (y, np.array(y, object))]
    streams += [(rows[:3], [each.encode() for each in y]) for rows in (X, NAMED)]
    for rows, labels in streams + [(source, None) for source in files_with(label, tmp_path)]:
        pair = ("a", "b") if labels is None or isinstance(labels[0], str) else (b"a", b"b")
        for learner in (mb.Perceptron(), mb.Perceptron(classes=pair)):
            with pytest.raises(mb.StreamError, match="NUL") as caught:
                learner.run(rows, labels)
            assert caught.value.round == learner.ledger_.rounds == 2
            assert learner.ledger_.classes == pair
            if labels is not None:
                with pytest.raises(mb.StreamError, match="NUL"):
                    learner.learn_one(rows[2], labels[2])
    with pytest.raises(ValueError, match="three|3 labels|NUL"):
        mb.Perceptron().fit(X[:3], y)


@pytest.mark.parametrize("pair", [("b", "b\0"), ("b\0", "b"), (b"b", b"b\0"), ("\0", "a")], ids=repr)
def test_labels_that_differ_by_a_nul_are_different(pair: tuple[Any, Any]) -> None:
    """Neither in y nor as classes; nothing is learned."""
    for call in (
        lambda learner: learner.run(X, labels_of(*pair)),
        lambda learner: learner.run(NAMED, labels_of(*pair)),
        lambda learner: learner.fit(X, labels_of(*pair)),
        lambda learner: learner.partial_fit(X, labels_of(*pair), classes=list(pair)),
    ):
        learner = mb.Perceptron()
        with pytest.raises(ValueError, match="label|classes"):
            call(learner)
        assert learner.ledger_.rounds == 0
    with pytest.raises(ValueError, match="NUL"):
        mb.Perceptron(classes=pair).predict_one(X[0])
