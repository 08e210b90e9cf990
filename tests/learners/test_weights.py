"""Weights of examples and of labels, thresholds, in Python and in scikit-learn."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound._core import Engine
from mistakebound.errors import OptionConflictError, OptionError
from mistakebound.learners.linear import KINDS
from mistakebound.models.class_state import TENSORS as CLASS_TENSORS
from mistakebound.models.container import pack, unpack
from mistakebound.models.learner_state import TENSORS
from mistakebound.models.model_file import fingerprint
from mistakebound.models.panel_state import TENSORS as PANEL_TENSORS
from mistakebound.rules.reference import ReferenceGame
from mistakebound.rules.registry import DECLARATIONS, rule_class

if TYPE_CHECKING:
    from pathlib import Path

TAKES = [name for name in DECLARATIONS if name != "panel" and rule_class(name).takes_weights]
REFUSES = [name for name in DECLARATIONS if not rule_class(name).takes_weights]


def rows_of(n: int = 200, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32).astype(float)
    return X, np.where(X[:, 0] > X[:, 1], 1, -1), rng.choice([0.0, 0.3, 1.0, 2.5], n)


def test_which_learners_take_weights() -> None:
    assert sorted(TAKES) == sorted(
        [
            "coin-betting",
            "logistic-sgd",
            "adagrad-logistic",
            "adagrad-hinge",
            "implicit-logistic",
            "ftrl-proximal",
            "exponentiated-gradient",
            "naive-bayes",
            "decision-list",
        ]
    )


@pytest.mark.parametrize("name", TAKES)
def test_the_core_equals_the_specification(name: str) -> None:
    X, y, w = rows_of()
    learner = KINDS[DECLARATIONS[name].learner](classes=(-1, 1))
    game = ReferenceGame(rule_class(name)(), slots=4)
    expected = [game.round(list(enumerate(x)), int(label), weight) for x, label, weight in zip(X, y, w, strict=True)]
    ledger = learner.run(X, y, sample_weight=w)
    assert (np.asarray(ledger.predictions) == 1).tolist() == expected
    engine = learner._current_play().engine
    state = engine.core.__getstate__()[2].reshape(4, -1)
    assert state.tolist() == [list(each) for each in game.state]
    assert ledger.updates == game.updates < 200


@pytest.mark.parametrize("name", TAKES)
def test_weights_of_one_and_one_at_a_time(name: str, tmp_path: Path) -> None:
    X, y, w = rows_of()
    make = KINDS[DECLARATIONS[name].learner]
    plain, ones = make(classes=(-1, 1)).fit(X, y), make(classes=(-1, 1)).fit(X, y, np.ones(len(y)))
    assert plain.decision_function(X).tolist() == ones.decision_function(X).tolist()
    batch, single = make(classes=(-1, 1)).fit(X, y, w), make(classes=(-1, 1))
    for x, label, weight in zip(X, y, w, strict=True):
        single.learn_one(x, label, weight)
    assert fingerprint(batch) == fingerprint(single) != fingerprint(plain)
    batch.save(tmp_path / "m.mb")
    again = mb.load(tmp_path / "m.mb")
    again.save(tmp_path / "again.mb")
    assert (tmp_path / "m.mb").read_bytes() == (tmp_path / "again.mb").read_bytes()


@pytest.mark.parametrize("name", ["logistic-sgd", "implicit-logistic", "adagrad-hinge"])
def test_a_step_is_linear_in_the_weight(name: str) -> None:
    """From the same state, a weight of 2 moves the weights exactly twice as far."""
    make, x = KINDS[DECLARATIONS[name].learner], np.array([[1.0, -0.5, 0.25]])
    before = make(classes=(-1, 1)).fit(x, [-1])
    moved = [pickle.loads(pickle.dumps(before)).partial_fit(x, [1], sample_weight=[w]) for w in (1.0, 2.0)]
    one, two = (np.asarray(learner.weights_) - np.asarray(before.weights_) for learner in moved)
    assert one.any()
    assert two == pytest.approx(2 * one, rel=1e-6)


@pytest.mark.parametrize("name", REFUSES)
def test_other_learners_refuse_weights(name: str) -> None:
    kind = KINDS[DECLARATIONS[name].learner]
    learner = kind(threshold=1) if name == "winnow" else kind()
    words = f"{kind.__name__} takes no weights"
    with pytest.raises(ValueError, match=words):
        learner.run([[1.0], [0.0]], [1, -1], sample_weight=[1, 2])
    with pytest.raises(ValueError, match=words):
        learner.learn_one([1.0], 1, 2.0)
    assert not learner.has_learned
    learner.learn_one([1.0], 1, 1.0)  # as without weights


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0], "X has 2 rounds but sample_weight has 1 weights"),
        ([[1.0], [2.0]], "must be 1D"),
        (["a", "b"], "must be an array of real numbers"),
        (3.0, "must be 1D"),
    ],
)
def test_weights_that_do_not_fit(weights: Any, words: str) -> None:
    panel = mb.Panel()
    for learn in (
        panel.fit,
        panel.partial_fit,
        lambda X, y, sample_weight: panel.run(X, y, sample_weight=sample_weight),
    ):
        with pytest.raises(ValueError, match=words):
            learn([[1.0], [0.0]], [1, 0], sample_weight=weights)
    assert not panel.has_learned


def test_named_examples_need_as_many_weights() -> None:
    examples, y = [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}], ["x", "y", "x"]
    with pytest.raises(mb.StreamError, match="fewer weights than examples") as error:
        mb.Panel(classes=("x", "y")).run(iter(examples), iter(y), sample_weight=[1.0, 2.0])
    assert error.value.round == 2
    with pytest.raises(mb.StreamError, match="fewer examples than weights") as error:
        mb.Panel().run(examples, y, sample_weight=[1.0, 2.0, 3.0, 4.0])
    assert error.value.round == 3


def test_class_weight_is_a_weight_of_each_row() -> None:
    X, y, w = rows_of()
    of_label = {1: 3.0, -1: 0.5}
    by_row = mb.Panel(classes=(-1, 1)).fit(X, y, w * np.where(y > 0, 3.0, 0.5))
    by_label = mb.Panel(class_weight=of_label, classes=(-1, 1)).fit(X, y, w)
    assert by_row.members() == by_label.members()
    one = mb.Panel(class_weight=of_label, classes=(-1, 1))
    for x, label, weight in zip(X, y, w, strict=True):
        one.learn_one(x, label, weight)
    assert one.members() == by_row.members()
    assert mb.Panel(classes=(-1, 1)).fit(X, y).members() != by_row.members()
    assert pickle.loads(pickle.dumps(by_label)).partial_fit(X, y).members() == by_label.partial_fit(X, y).members()


def test_class_weight_of_named_examples_and_several_classes() -> None:
    examples = [{"a": 1.0}, {"b": 1.0}, {"c": 1.0}] * 20
    y = ["x", "y", "z"] * 20
    heavy = mb.Panel(class_weight={"z": 5})
    by_label, by_row = heavy.run(examples, y), mb.Panel().run(examples, y, sample_weight=[1.0, 1.0, 5.0] * 20)
    assert by_label.standings == by_row.standings
    one = mb.Panel(class_weight={"y": 4}, classes=("x", "y"))
    one.learn_one({"a": 1.0}, "x")
    one.learn_one({"b": 1.0}, "y")
    other = mb.Panel(classes=("x", "y"))
    other.learn_one({"a": 1.0}, "x")
    other.learn_one({"b": 1.0}, "y", 4.0)
    assert one.predict_proba_one({"b": 1.0}) == other.predict_proba_one({"b": 1.0})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("balanced", "a stream does not know in advance how often each label occurs"),
        ({1: -1.0}, "weights from 0 to 1e9, got -1.0 for 1"),
        ({1: float("nan")}, "got nan for 1"),
        ({1: "2"}, "got '2' for 1"),
        ([1, 2], "must be a dict"),
    ],
)
def test_bad_class_weights(value: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        mb.Panel(class_weight=value).fit([[1.0], [0.0]], [1, 0])


def test_models_keep_class_weight_and_threshold(tmp_path: Path) -> None:
    X, y, w = rows_of()
    panel = mb.Panel(class_weight={1: 2.0, -1: 0.25}, threshold=0.3).fit(X, y, w)
    panel.save(tmp_path / "m.mb")
    again = mb.load(tmp_path / "m.mb")
    assert again.get_params() == panel.get_params()
    again.partial_fit(X, y)
    panel.partial_fit(X, y)
    assert fingerprint(again) == fingerprint(panel)
    assert again.predict(X).tolist() == np.where(again.predict_proba(X)[:, 1] >= 0.3, 1, -1).tolist()


# ---------------------------------------------------------------------- threshold


def test_a_threshold_decides_predictions_and_counts() -> None:
    X, y, _ = rows_of(600)
    panel, usual = mb.Panel(threshold=0.2), mb.Panel()
    ledger, other = panel.run(X, y), usual.run(X, y)
    assert ledger.measures is not None
    assert other.measures is not None
    expected = other.measures.confusion(0.2)
    assert (ledger.false_positives, ledger.false_negatives) == (expected.false_positives, expected.false_negatives)
    assert ledger.mistakes != other.mistakes
    assert panel.predict_proba(X).tolist() == usual.predict_proba(X).tolist()
    assert panel.members() == usual.members()
    p = panel.predict_proba(X)[:, 1]
    assert panel.predict(X).tolist() == np.where(p >= 0.2, 1, -1).tolist()
    assert ((panel.decision_function(X) > 0) == (p >= 0.2)).all()
    assert panel.predict_one(X[0]) == panel.predict(X[:1])[0]


def test_the_bounds_do_not_apply_to_a_threshold() -> None:
    X, y, _ = rows_of(600)
    panel = mb.Panel(threshold=0.2)
    panel.run(X, y)
    for theorem in ("guarded-weighted-majority", "bayes-mixture"):
        certificate = panel.certify(theorem)
        assert certificate.status == "does not apply"
        failed = [premise for premise in certificate.premises if not premise.holds]
        assert [each.statement for each in failed] == ["the guard makes the predictions"]
        assert "from a probability of 0.2 on" in str(failed[0])
    half = mb.Panel(threshold=0.5)
    half.run(X, y)
    assert half.certify().status == "holds"


@pytest.mark.parametrize("value", [0, 1, -0.1, 2, float("nan"), "0.5", True])
def test_bad_thresholds(value: Any) -> None:
    with pytest.raises(OptionError, match="threshold must be a number between 0 and 1"):
        mb.Panel(threshold=value).fit([[1.0], [0.0]], [1, 0])


def test_a_threshold_is_for_two_labels() -> None:
    with pytest.raises(
        OptionError, match="threshold is only valid for two labels, and there are more; .* positive=LABEL predicts"
    ):
        mb.Panel(threshold=0.3).fit([[1.0], [0.0], [2.0]], [1, 0, 2])
    panel = mb.Panel(threshold=0.3, classes=(0, 1)).fit([[1.0], [0.0]], [1, 0])
    with pytest.raises(mb.StreamError, match="label"):
        panel.learn_one([1.0], 2)


# ---------------------------------------------------------------------- scikit-learn


def test_score_uses_weights() -> None:
    X, y, w = rows_of()
    panel = mb.Panel().fit(X[:20], y[:20])
    right = panel.predict(X) == y
    assert panel.score(X, y, sample_weight=w) == pytest.approx((right * w).sum() / w.sum())
    assert panel.score(X, y) == right.mean()


def test_partial_fit_with_weights_equals_fit() -> None:
    X, y, w = rows_of()
    once, parts = mb.Panel().fit(X, y, sample_weight=w), mb.Panel()
    parts.partial_fit(X[:50], y[:50], classes=[-1, 1], sample_weight=w[:50])
    parts.partial_fit(X[50:], y[50:], sample_weight=w[50:])
    assert once.members() == parts.members()


# ---------------------------------------------------------------------- abstention


@pytest.mark.parametrize(("threshold", "half"), [(None, 0.1), (0.3, 0.2), (None, 0.5)])
def test_a_panel_may_abstain(threshold: float | None, half: float) -> None:
    X, y, _ = rows_of(600)
    panel, usual = mb.Panel(threshold=threshold, abstain=half), mb.Panel(threshold=threshold)
    cut = threshold or 0.5
    kept = []
    for x, label in zip(X, y, strict=True):
        p = usual.predict_proba_one(x)[1]
        usual.learn_one(x, label)
        kept.append((p, label))
    ledger = panel.run(X, y)
    inside = [cut - half <= p < cut + half for p, _ in kept]
    answers = ledger.answers
    assert answers is not None
    assert answers.abstentions == sum(inside) > 0
    assert answers.answered == 600 - sum(inside)
    wrong = sum((p >= cut) != (label > 0) for (p, label), out in zip(kept, inside, strict=True) if not out)
    assert answers.mistakes == wrong
    assert answers.coverage == answers.answered / 600
    assert ledger.mistakes == usual.ledger_.mistakes  # of what would have been predicted
    p = panel.predict_proba(X)[:, 1]
    expected = [None if cut - half <= q < cut + half else 1 if q >= cut else -1 for q in p]
    assert panel.predict(X).tolist() == expected
    assert [panel.predict_one(x) for x in X[:50]] == expected[:50]
    assert panel.ask(X[0]).prediction == expected[0]
    assert panel.predict_proba(X).tolist() == usual.predict_proba(X).tolist()
    named = mb.Panel(abstain=0.499, classes=("ham", "spam"))
    named.learn_one({"a": 1.0}, "spam")
    assert named.predict_one({"a": 1.0}) is None


def test_the_bound_of_the_guard_does_not_apply_to_abstentions(tmp_path: Path) -> None:
    X, y, _ = rows_of(600)
    panel = mb.Panel(abstain=0.1)
    panel.run(X, y)
    for theorem in ("guarded-weighted-majority", "bayes-mixture"):
        certificate = panel.certify(theorem)
        failed = [premise.statement for premise in certificate.premises if not premise.holds]
        assert (certificate.status, failed) == ("does not apply", ["a label is predicted in every round"])
    panel.save(tmp_path / "m.mb")
    again = mb.load(tmp_path / "m.mb")
    assert again.ledger_.answers == panel.ledger_.answers
    assert again.predict(X).tolist() == panel.predict(X).tolist()


def test_ledgers_keep_threshold_and_band() -> None:
    X, y, w = rows_of(300)
    panel = mb.Panel(threshold=0.3, abstain=0.1)
    panel.run(X, y, sample_weight=w)
    again = mb.Ledger.from_json(panel.ledger_.to_json())
    assert again.answers == panel.ledger_.answers
    assert mb.certify(again).status == "does not apply"
    usual = mb.Panel()
    usual.run(X, y)
    early = json.loads(usual.ledger_.to_json())
    del early["rule"]["cut"], early["rule"]["abstain"]  # as written before there were thresholds
    assert mb.certify(mb.Ledger.from_json(json.dumps(early))).status == "holds"


@pytest.mark.parametrize("value", [-0.1, 0.6, float("nan"), float("inf"), "0.1", True, 0.0005])
def test_bad_bands(value: Any) -> None:
    with pytest.raises(OptionError, match="abstain must be a (number from 0 to 0.5|multiple of 0.001)"):
        mb.Panel(abstain=value).fit([[1.0], [0.0]], [1, 0])


def test_a_band_lies_between_0_and_1() -> None:
    with pytest.raises(OptionError, match="the distance of the threshold from 0 and 1"):
        mb.Panel(threshold=0.2, abstain=0.3).fit([[1.0], [0.0]], [1, 0])
    with pytest.raises(OptionError, match="abstain is only valid for two labels"):
        mb.Panel(abstain=0.1).fit([[1.0], [0.0], [2.0]], [1, 0, 2])


def test_lines_of_predictions_are_empty_where_a_panel_abstains(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n" + "1,yes\n2,no\n" * 20 + "1,yes\n")
    source = mb.Source(tmp_path / "a.csv", label="y")
    result = mb.runs.run(source, mb.Panel(abstain=0.2), predictions=tmp_path / "out.txt")
    lines = [line.split("\t") for line in (tmp_path / "out.txt").read_text().splitlines()]
    assert [line[0] == "" for line in lines] == [0.3 <= float(line[1]) < 0.7 for line in lines]
    assert result.learner.ledger_.answers is not None
    assert sum(line[0] == "" for line in lines) == result.learner.ledger_.answers.abstentions > 0
    mb.runs.predict(source, result.learner, tmp_path / "new.txt")
    predicted = result.learner.predict(source)
    assert (tmp_path / "new.txt").read_text().splitlines() == [label or "" for label in predicted]


# ---------------------------------------------------------------------- model files


def rewritten(path: Path, change: Any) -> None:
    """Change the JSON of a model file, and write the file again."""
    described, tensors = unpack(path.read_bytes(), TENSORS, PANEL_TENSORS, CLASS_TENSORS)
    change(described)
    path.write_bytes(b"".join(bytes(part) for part in pack(described, tensors)))


def test_counts_are_checked_without_weights(tmp_path: Path) -> None:
    """Only a file that says so may have counts that are not those of rounds."""
    X, y, w = rows_of(60)
    path = tmp_path / "m.mb"
    for learner in (mb.Panel(), mb.NaiveBayes()):
        learner.fit(X, y, w).save(path)
        mb.load(path)
        rewritten(path, lambda described: described["life"].pop("weighted"))
        with pytest.raises(mb.ModelError, match="rounds"):
            mb.load(path)
        rewritten(path, lambda described: described["life"].update(weighted=1))
        with pytest.raises(mb.ModelError, match="life.weighted"):
            mb.load(path)
    mb.Perceptron().fit(X, y).save(path)
    rewritten(path, lambda described: described["life"].update(weighted=True))
    with pytest.raises(mb.ModelError, match="takes no weights"):
        mb.load(path)


def test_weighted_counts_are_checked(tmp_path: Path) -> None:
    X, y, w = rows_of(60)
    panel = mb.Panel().fit(X, y, w)
    engine = panel._current_play().engine
    settings, names, parts, *history = engine.core.__getstate__()
    path = tmp_path / "m.mb"
    for value in (-1e30, np.nan, -np.inf):
        records = parts[1].copy()
        records[1] = value
        engine.core = Engine.__new__(Engine)
        engine.core.__setstate__((settings, names, (parts[0], records, *parts[2:]), *history))
        with pytest.raises(mb.ModelError, match="the counts of a feature do not fit"):
            panel.save(path)
    assert not path.exists()


@pytest.mark.parametrize(
    "weights",
    [
        ["1", "2", "3"],
        [1 + 0j, 1, 1],
        np.array([1, 2, 3], complex),
        np.array(["2024"] * 3, "datetime64[Y]"),
        np.ma.array([1, 2, 3], mask=[False, True, False]),
        np.array([1, "2", 3], object),
    ],
)
def test_what_numpy_would_convert_to_weights_is_refused(weights: Any) -> None:
    for X in (np.eye(3), [{"a": 1.0}, {"b": 1.0}, {"a": 2.0}]):
        panel = mb.Panel()
        with pytest.raises(ValueError, match="sample_weight must be an array of real numbers"):
            panel.run(X, [0, 1, 0], sample_weight=weights)
        assert panel.ledger_.rounds == 0


@pytest.mark.parametrize("weight", ["1", "heavy", None, [2.0], 1j, np.ones(2)])
def test_the_weight_of_a_round_is_a_number(weight: Any) -> None:
    panel = mb.Panel(classes=(0, 1))
    ticket = panel.ask({"a": 1.0})
    for learn in (lambda: panel.learn_one({"a": 1.0}, 1, weight), lambda: panel.tell(ticket, 1, weight)):
        with pytest.raises(ValueError, match="weight must be a number from 0 to 1e9, got "):
            learn()
    assert panel.ledger_.rounds == 0
    panel.tell(ticket, 1, np.float32(2))
    assert panel.ledger_.rounds == 1


def test_a_product_of_weights_that_is_too_large_names_class_weight() -> None:
    panel = mb.Panel(class_weight={1: 1e9})
    with pytest.raises(
        mb.StreamError, match="round 1: the weight must be .*1e9, also times that of its label in class_w"
    ):
        panel.run(np.eye(3), [0, 1, 0], sample_weight=[2, 2, 2])
    assert panel.ledger_.rounds == 1


def test_a_learned_column_cannot_become_the_weight(tmp_path: Path) -> None:
    """The model has a weight for this feature; a column that it did not learn may have the weights of later files."""
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("size,hours,y\n1,2,no\n3,4,yes\n")
    second.write_text("size,hours,w,y\n1,2,3,no\n3,4,1,yes\n")
    panel = mb.Panel()
    panel.run(mb.Source(first, label="y"))
    with pytest.raises(OptionConflictError, match="weight='hours' contradicts the model"):
        panel.run(mb.Source(first, weight="hours"))
    assert panel.ledger_.rounds == 2
    panel.run(mb.Source(second, weight="w"))
    assert panel.ledger_.rounds == 4
    ignored = mb.Panel()
    ignored.run(mb.Source(first, label="y", table={"ignore": ["hours"]}))
    ignored.run(mb.Source(first, table={"weight": "hours"}))
