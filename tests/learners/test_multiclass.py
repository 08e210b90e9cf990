"""MulticlassPerceptron: labels at any time, certificates, model files, scikit-learn, commands."""

from __future__ import annotations

import dataclasses
import json
import math
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner
from files import call, shows
from scipy.sparse import csr_matrix
from sklearn.base import clone

import mistakebound as mb
from mistakebound.certificates.certify import recheck
from mistakebound.cli import main
from mistakebound.hindsight import multiclass
from mistakebound.models.container import pack, unpack

if TYPE_CHECKING:
    from pathlib import Path

STREAM = mb.streams.classes(n=15, k=5, rounds=1200, margin=0.2, seed=1)
NAMES = np.array(["sport", "news", "art", "tech", "food"])
X, Y = STREAM.X, NAMES[STREAM.y]
TARGET = {str(label): STREAM.target[r] for r, label in enumerate(NAMES)}


def named(rows: Any) -> list[dict[str, float]]:
    """Return rows with feature names."""
    return [{f"f{i}": float(v) for i, v in enumerate(row) if v} for row in rows]


def learned(**parameters: Any) -> mb.MulticlassPerceptron:
    """Return a learner that has learned the stream."""
    learner = mb.MulticlassPerceptron(**parameters)
    learner.run(X, Y)
    return learner


# ---------------------------------------------------------------------- rounds


def test_labels_of_any_type_appear_at_any_time() -> None:
    learner = mb.MulticlassPerceptron()
    for x, y in [({"a"}, "spam"), ({"b"}, 3), ({"c"}, True), ({"a"}, "spam"), ({"d"}, "new")]:
        learner.learn_one(x, y)
    assert learner.ledger_.seen == ["spam", 3, True, "new"]
    assert learner.predict_one({"b"}) == 3
    assert learner.predict_one({"d"}) == "new"
    assert learner.predict_one({"unknown"}) == "spam"  # a tie of all classes
    assert learner.ledger_.first_seen == 4


def test_before_the_first_label_nothing_is_predicted() -> None:
    assert mb.MulticlassPerceptron(classes=("x", "y", "z")).predict_one({"a": 1}) is None
    learner = mb.MulticlassPerceptron(classes=("x", "y", "z"))
    ledger: Any = learner.run([[1.0], [1.0]], ["z", "z"])
    assert ledger.class_ids.tolist() == [-1, 0]
    assert learner.classes_.tolist() == ["x", "y", "z"]
    assert learner.ledger_.updates == 0


@pytest.mark.parametrize("bad", [[float("nan"), 0.0], [1e31, 0.0], [1e-31, 0.0]])
def test_a_bad_row_changes_nothing(bad: list[float]) -> None:
    learner = mb.MulticlassPerceptron()
    learner.run([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    before = learner.ledger_.to_json()
    with pytest.raises(mb.StreamError) as caught:
        learner.run([[2.0, 2.0], bad], ["c", "d"])
    assert caught.value.ledger.rounds == 1
    assert learner.ledger_.seen == ["a", "b", "c"]
    with pytest.raises(mb.StreamError):
        learner.learn_one(bad, "e")
    for label in (None, float("nan"), []):
        with pytest.raises(mb.StreamError):
            learner.learn_one([1.0, 1.0], label)
    assert learner.ledger_.rounds == 3
    assert learner.ledger_.to_json() != before
    fresh = mb.MulticlassPerceptron()
    with pytest.raises(mb.StreamError):
        fresh.learn_one(bad, "a")
    assert not fresh.has_learned


def test_parts_of_a_stream_one_example_at_a_time_and_batches_are_equal(tmp_path: Path) -> None:
    whole = learned()
    batches, singles, files = mb.MulticlassPerceptron(), mb.MulticlassPerceptron(), mb.MulticlassPerceptron()
    for first in range(0, len(Y), 100):
        batches.partial_fit(X[first : first + 100], Y[first : first + 100])
    for x, y in zip(X, Y.tolist(), strict=True):
        singles.learn_one(x, y)
    file = tmp_path / "s.csv"
    lines = (",".join([y, *map(repr, row)]) for row, y in zip(X.tolist(), Y.tolist(), strict=True))
    file.write_text("\n".join(["kind," + ",".join(f"f{i}" for i in range(15)), *lines]) + "\n")
    files.run(mb.Source(file, label="kind"))
    for other in (batches, singles, files):
        assert other.ledger_.mistakes == whole.ledger_.mistakes
        assert other.ledger_.confusion.tolist() == whole.ledger_.confusion.tolist()
        for label, w in whole.weights_.items():
            found = other.weights_[label]
            assert (list(found.values()) if isinstance(found, dict) else found.tolist()) == w.tolist()
    assert files.certify(X=mb.Source(file, label="kind")).bound == whole.certify(X=X, y=Y).bound


def test_late_outcomes_use_the_earlier_prediction_and_have_no_theorem() -> None:
    learner = mb.MulticlassPerceptron()
    first, second = learner.ask({"a": 1}), learner.ask({"b": 1})
    learner.tell(first, "x")
    learner.tell(second, "y")  # nothing was predicted: a mistake that changes no weight
    assert (learner.ledger_.mistakes, learner.ledger_.updates) == (2, 0)
    late = learner.ask({"c": 1})
    learner.learn_one({"c": 1}, "y")
    learner.tell(late, "y")
    assert (learner.ledger_.mistakes, learner.ledger_.updates, learner.ledger_.late) == (4, 2, 1)
    assert learner.weights_["y"] == {"c": 2.0}
    assert learner.certify().status == "does not apply"


def test_the_largest_values_do_not_overflow() -> None:
    learner = mb.MulticlassPerceptron()
    learner.run([[1e30] * 9, [-1e30] * 9], ["a", "b"])
    for _ in range(3):
        learner.learn_one([1e30] * 9, "a")
    assert np.isfinite(list(learner.score_one([1e30] * 9).values())).all()


# ---------------------------------------------------------------------- certificates


def test_certificates_of_both_scopes() -> None:
    learner = learned()
    bound = mb.bounds.multiclass_perceptron(1, 1, 0.2)
    found = learner.certify()
    assert (found.status, found.scope) == ("holds", "mistaken rounds")
    whole = learner.certify(X=X, y=Y)
    assert (whole.status, whole.scope) == ("holds", "whole stream")
    given = learner.certify("multiclass-perceptron", TARGET, X=X, y=Y)
    assert not given.hindsight
    assert given.bound == pytest.approx(1 + bound, rel=0.02)
    assert learner.ledger_.mistakes <= found.bound <= whole.bound * 1.001 <= given.bound * 1.01
    for each in (found, whole, given):
        assert mb.Certificate.from_json(each.to_json()) == each
    assert recheck(learner.ledger_, found) == found
    in_order = [TARGET[label] for label in learner.ledger_.seen]
    assert learner.certify("multiclass-perceptron", in_order).bound == pytest.approx(
        learner.certify("multiclass-perceptron", TARGET).bound
    )


def test_the_lemma_holds_at_every_kept_mistake_of_the_core() -> None:
    from mistakebound.theorems import THEOREMS, Witness
    from mistakebound.theorems.evidence import Evidence

    learner = learned()
    evidence = Evidence.of(learner.ledger_)
    U = np.concatenate([TARGET[label] for label in learner.ledger_.seen])
    steps = list(evidence.steps())
    assert len(steps) == learner.ledger_.updates
    for step in steps:
        for inequality, slack in THEOREMS["multiclass-perceptron"].lemma(step, Witness(U)).items():
            assert slack >= -1e-5, inequality
    weights = np.concatenate([learner.weights_[label] for label in learner.ledger_.seen])
    assert steps[-1].z_next.tolist() == weights.tolist()


def test_statuses() -> None:
    empty = mb.MulticlassPerceptron()
    with pytest.raises(ValueError, match="not learned"):
        empty.certify(X=X, y=Y)
    one = mb.MulticlassPerceptron()
    one.run([[1.0, 0.0]] * 3, ["a"] * 3)
    assert (one.certify().status, one.certify().bound) == ("vacuous", 1.0)
    noise = mb.MulticlassPerceptron()
    noise.run([[1.0]] * 60, ["a", "b", "c"] * 20)
    assert noise.certify().status == "does not apply"
    small = learned(keep_bytes=100)
    assert small.certify().status == "incomplete"
    assert small.certify(X=X, y=Y).status == "holds"
    with pytest.raises(ValueError, match="same order"):
        learned().certify(X=X[::-1], y=Y[::-1])
    with pytest.raises(ValueError, match="novikoff"):
        learned().certify("novikoff")
    with pytest.raises(ValueError, match="'x', which has not occurred"):
        learned().certify("multiclass-perceptron", {"x": np.zeros(15)})


def test_a_wrong_bound_and_a_wrong_record_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = learned()
    forged = json.loads(learner.ledger_.to_json())
    forged["kept"]["predicted"][3] = (forged["kept"]["predicted"][3] + 1) % 5
    if forged["kept"]["predicted"][3] == forged["kept"]["labels"][3]:
        forged["kept"]["predicted"][3] = (forged["kept"]["predicted"][3] + 1) % 5
    assert mb.certify(mb.Ledger.from_json(json.dumps(forged))).status == "does not apply"
    monkeypatch.setattr(mb.theorems.MulticlassPerceptron, "bound", lambda *_: learner.ledger_.mistakes - 1.0)
    assert learner.certify().status == "violated"


def test_several_passes_and_named_features() -> None:
    learner = mb.MulticlassPerceptron(bias=0.5)
    for _ in range(2):
        learner.run(named(X), Y)
    found = learner.certify(X=named(X), y=Y)
    assert (found.status, found.rounds) == ("holds", 2400)
    assert {name.partition(":")[2] for name in found.comparator["weights"]} == {
        *(f"f{i}" for i in range(15)),
        "(constant)",
    }


def test_the_search_with_few_pairs_finds_almost_the_greatest_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, ids = csr_matrix(X[:300]), STREAM.y[:300]
    best = multiclass.max_class_margin(rows, ids, 5)
    monkeypatch.setattr(multiclass, "SMALL", 5000)
    found = multiclass.max_class_margin(rows, ids, 5)
    assert best is not None
    assert found is not None
    exact, near = (float(multiclass.rivals(rows @ U.T, ids)[0].min()) for U in (best, found))
    assert np.linalg.norm(found) == pytest.approx(1)
    assert exact >= 0.2
    assert 0.97 * exact <= near <= exact * 1.001
    assert multiclass.max_class_margin(csr_matrix([[1.0], [1.0]]), np.array([0, 1]), 2) is None


# ---------------------------------------------------------------------- files


def test_a_loaded_learner_continues_exactly(tmp_path: Path) -> None:
    for rows in (X, named(X)):
        learner, half = mb.MulticlassPerceptron(bias=1.0), mb.MulticlassPerceptron(bias=1.0)
        learner.run(rows, Y)
        half.run(rows[:600], Y[:600])
        half.save(tmp_path / "m.mb")
        loaded = mb.load(tmp_path / "m.mb")
        assert loaded.ledger_.to_json() == half.ledger_.to_json()
        loaded.run(rows[600:], Y[600:])
        assert loaded.ledger_.to_json() == learner.ledger_.to_json()
        assert loaded.certify() == learner.certify()
        again = deepcopy(learner)
        assert again.ledger_.to_json() == learner.ledger_.to_json()


def test_a_forged_model_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.mb"
    learned().save(path)
    from mistakebound.models.perceptron_state import TENSORS

    described, tensors = unpack(path.read_bytes(), TENSORS)

    def refused(**changed: Any) -> None:
        path.write_bytes(b"".join(pack(described, tensors | changed)))
        with pytest.raises(mb.ModelError):
            mb.load(path)

    path.write_bytes(b"".join(pack(described, tensors)))
    assert mb.load(path).ledger_.to_json() == learned().ledger_.to_json()
    refused(weights=tensors["weights"][:-1])
    refused(weights=tensors["weights"] * np.float32(np.nan))
    refused(bias_weights=tensors["bias_weights"][:-1])
    refused(kept_labels=tensors["kept_labels"] + np.int32(5))
    refused(kept_predictions=tensors["kept_labels"])
    refused(kept_index=tensors["kept_index"] + np.uint32(15))
    refused(kept_rounds=tensors["kept_rounds"][::-1].copy())
    refused(kept_rounds=tensors["kept_rounds"] + 1)
    refused(kept_value=tensors["kept_value"] * 1e40)
    refused(kept_indptr=tensors["kept_indptr"][:-1])
    refused(predictions=tensors["predictions"] * 0)
    refused(confusion_rounds=tensors["confusion_rounds"] + 1)
    described["life"]["counts"][2] -= 1
    refused()


def test_a_ledger_in_json_gives_the_same_certificate_and_is_checked() -> None:
    ledger: Any = learned().ledger_
    again = mb.Ledger.from_json(ledger.to_json())
    assert mb.certify(again) == mb.certify(ledger)
    for field, value in {
        "labels": 7,
        "predicted": -1,
        "index": 15,
        "value": 1e40,
        "indptr": 10**6,
        "rounds": -1,
    }.items():
        forged = json.loads(ledger.to_json())
        forged["kept"][field][1] = value
        with pytest.raises(mb.ModelError):
            mb.Ledger.from_json(json.dumps(forged))


# ---------------------------------------------------------------------- scikit-learn


def test_predictions_are_the_largest_column_also_for_ties() -> None:
    learner = clone(mb.MulticlassPerceptron()).fit(X, Y)
    scores = learner.decision_function(X)
    assert scores.shape == (1200, 5)
    assert learner.classes_[scores.argmax(axis=1)].tolist() == learner.predict(X).tolist()
    assert learner.score(X, Y) > 0.9
    late = mb.MulticlassPerceptron().fit(X[:3], ["c", "b", "a"])
    zeros = np.zeros((1, 15))
    assert late.predict(zeros).tolist() == ["c"]  # seen first
    assert late.classes_[late.decision_function(zeros).argmax(axis=1)].tolist() == ["c"]
    two = mb.MulticlassPerceptron().fit(X[:50], np.where(STREAM.y[:50] > 1, "b", "a"))
    decision = two.decision_function(np.concatenate([X, zeros]))
    assert decision.shape == (1201,)
    assert two.classes_[(decision > 0).astype(int)].tolist() == two.predict(np.concatenate([X, zeros])).tolist()


def test_partial_fit_takes_classes_and_probabilities_do_not_exist() -> None:
    learner = mb.MulticlassPerceptron().partial_fit(X[:1], ["b"], classes=["a", "b", "c"])
    assert learner.decision_function(X[:1]).tolist() == [[-np.inf, 0.0, -np.inf]]
    learner.partial_fit(X[1:2], ["c"], classes=["c", "b", "a"])
    with pytest.raises(ValueError, match="classes must be"):
        learner.partial_fit(X[1:2], ["c"], classes=["c", "d"])
    assert not hasattr(learner, "predict_proba")
    with pytest.raises(ValueError, match="predicts no probabilities"):
        _ = learner.ledger_.measures
    assert [each.label for each in learner.ledger_.by_class()] == ["b", "c"]  # those that have occurred


# ---------------------------------------------------------------------- commands


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with five labels."""
    path = tmp_path / "s.csv"
    lines = (",".join([y, *(f"{v:.5g}" for v in row)]) for row, y in zip(X, Y.tolist(), strict=True))
    path.write_text("\n".join(["kind," + ",".join(f"f{i}" for i in range(15)), *lines]) + "\n")
    return path


def run(*words: Any) -> str:
    """Run a command; return what it prints."""
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_line(table: Path, tmp_path: Path) -> None:
    proof, model, page = tmp_path / "c.json", tmp_path / "m.mb", tmp_path / "r.html"
    learner = ("--label", "kind", "--learner", "multiclass-perceptron")
    text = run("run", table, *learner, "--certify", "--certificate", proof, "--save", model, "--report", page)
    assert "holds on the whole stream" in text
    assert "Probabilities" not in page.read_text(encoding="utf-8")
    assert "holds on the whole stream" in run("verify", proof, table)
    assert run("predict", model, table, "--scores").splitlines()[0].split("\t")[0] in NAMES
    assert run("bound", "multiclass-perceptron", "--radius", 1, "--norm", 1, "--margin", 0.5).strip() == "8.0"
    ranked = run("compare", table, "--label", "kind").partition("cannot learn")[0]
    assert [line.split()[-1] for line in ranked.splitlines() if line.endswith(("panel", "multiclass-perceptron"))] == [
        "panel",
        "multiclass-perceptron",
    ]


def test_a_certificate_of_another_stream_is_not_verified(table: Path) -> None:
    learner = mb.MulticlassPerceptron()
    learner.run(mb.Source(table, label="kind"))
    found = learner.certify()
    wrong = dataclasses.replace(found, comparator={"weights": {"9:f0": 1.0}})
    for forged in (wrong, dataclasses.replace(found, comparator={"weights": {"f0": 1.0}})):
        with pytest.raises(ValueError, match="must begin with a class"):
            recheck(learner.ledger_, forged)


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("kind", ["dicts", "array"])
def test_explanations_and_weights_by_label(kind: str, bias: float) -> None:
    """The terms of each label add up to its score, with the weights of that label."""
    stream = mb.streams.classes(n=6, k=3, rounds=300, margin=0.1, seed=1)
    rows = (
        stream.X.tolist() if kind == "array" else [{f"f{k}": v for k, v in enumerate(row)} for row in stream.X.tolist()]
    )
    learner = mb.MulticlassPerceptron(bias=bias)
    learner.run(rows[:200], stream.y[:200])
    for row in rows[200:220]:
        scores = learner.score_one(row)
        predicted = learner.predict_one(row)
        assert learner.explain_one(row).of == predicted
        for label, score in scores.items():
            found = learner.explain_one(row, label=label)
            assert (found.prediction, found.of, found.threshold) == (predicted, label, None)
            assert found.score == pytest.approx(score)
            assert math.fsum(term.adds for term in found.terms) == pytest.approx(score)
            weights: Any = learner.weights_[label]
            own = dict(enumerate(weights)) if kind == "array" else weights
            listed = learner.feature_weights(label=label)
            assert dict(listed) == {str(name): weight for name, weight in own.items()}
            assert [abs(each.weight) for each in listed] == sorted((abs(each.weight) for each in listed), reverse=True)
    with pytest.raises(ValueError, match="label is needed, because each label has weights of its own"):
        learner.feature_weights()
    with pytest.raises(ValueError, match="label must be one of the labels"):
        learner.explain_one(rows[0], label="x")
    new = learner.explain_one({**rows[0], "new": 2.0}) if isinstance(rows[0], dict) else None
    assert new is None or next(term for term in new.terms if term.name == "new").adds == 0
    assert mb.MulticlassPerceptron().explain_one(rows[0]).score == 0


def test_commands_show_weights_and_explanations_by_label(tmp_path: Path) -> None:
    file, model = tmp_path / "a.csv", tmp_path / "m.mb"
    file.write_text("n,kind,label\n" + "1,a,x\n2,b,y\n3,c,z\n" * 20)
    call("run", file, "--label", "label", "--learner", "multiclass-perceptron", "--save", model)
    learner = mb.load(model)
    shown = call("weights", model)
    assert shows(shown, "score of x", "score of y", "score of z")
    one = json.loads(call("weights", model, "--class", "y", "--json"))
    assert [tuple(each) for each in one["weights"]] == [tuple(each) for each in learner.feature_weights(label="y")]
    assert shows(call("explain", model, file, "--line", 3), "predicted y", "score of y", "kind=b")
    explained = [json.loads(line) for line in call("explain", model, file, "--json", "--class", "z").splitlines()]
    assert [each["of"] for each in explained] == ["z"] * 3
    assert "must be one of the labels" in call("weights", model, "--class", "q", fails=2)
