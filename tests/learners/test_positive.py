"""`positive` of a Source: one label against all others, the same in Python, on the command line and after loading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import call, shows

import mistakebound as mb
from mistakebound.errors import OptionConflictError, OptionError
from mistakebound.models.container import pack, unpack
from mistakebound.models.learner_state import TENSORS
from mistakebound.models.panel_state import TENSORS as PANEL_TENSORS

LABELS = ("churn", "stay", "moved")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "customers.csv"
    draw = np.random.default_rng(3)
    rows = [f"{draw.integers(5)},{draw.choice(['a', 'b'])},{LABELS[draw.integers(3)]}" for _ in range(200)]
    file.write_text("n,kind,label\n" + "\n".join(rows) + "\n")
    return file


def source(table: Path, positive: str | None = "churn", **more: Any) -> mb.Source:
    return mb.Source(table, label="label", positive=positive, **more)


@pytest.mark.parametrize("make", [mb.Panel, mb.Perceptron, mb.NaiveBayes])
def test_the_label_passed_is_the_positive_one(make: Any, table: Path) -> None:
    """Also if it is the smaller of the two texts, and the same as on the command line."""
    learner = make()
    ledger = learner.run(source(table))
    assert learner.classes_.tolist() == ["not churn", "churn"]
    assert ledger.positive_labels == table.read_text().count("churn")
    ran = make()
    result = mb.runs.run(source(table), ran)
    assert result.ledger.classes == ("not churn", "churn")
    options = ["--label", "label", "--positive", "churn", "--learner", make.rule_id, "--json"]
    found = json.loads(call("run", table, *options))
    assert found["false_negatives"] == ledger.false_negatives == result.false_negatives
    assert found["false_positives"] == ledger.false_positives == result.false_positives


def test_a_number_and_a_label_with_a_comma_are_positive(tmp_path: Path) -> None:
    for label in ("1", "a,b"):
        file = tmp_path / "odd.csv"
        file.write_text(f'n,label\n1,"{label}"\n2,x\n3,y\n')
        learner = mb.Perceptron()
        learner.run(mb.Source(file, label="label", positive=label))
        assert [str(each) for each in learner.classes_] == [f"not {label}", label]
        assert json.loads(call("run", file, "--label", "label", "--positive", label, "--json"))["rounds"] == 3


def test_every_learner_of_a_comparison_has_the_same_positive_label(table: Path) -> None:
    found = mb.runs.compare(source(table))
    two = [each.learner for each in found.ranked if not each.learner.several]
    assert two
    assert {learner.ledger_.classes for learner in two} == {("not churn", "churn")}
    given = mb.runs.compare(source(table), [mb.Perceptron(), mb.NaiveBayes()])
    assert {each.learner.ledger_.classes for each in given.ranked} == {("not churn", "churn")}
    with pytest.raises(OptionError, match="positive='churn' contradicts"):
        mb.runs.compare(source(table), classes=("stay", "churn"))


@pytest.mark.parametrize("make", [mb.Panel, mb.Perceptron])
def test_a_model_reads_later_files_with_its_positive_label(make: Any, table: Path, tmp_path: Path) -> None:
    learner, model = make(), tmp_path / "m.mb"
    learner.run(source(table))
    learner.save(model)
    loaded = mb.load(model)
    ledger = loaded.run(source(table, None))
    assert loaded.classes_.tolist() == ["not churn", "churn"]
    again = learner.run(source(table))
    assert again.predictions.tolist() == ledger.predictions.tolist()
    assert {*call("predict", model, table, "--positive", "churn").split("\n")} <= {"not churn", "churn", ""}


@pytest.mark.parametrize("file", ["svm", "vw"])
def test_files_without_columns_keep_it_too(file: str, tmp_path: Path) -> None:
    path, model = tmp_path / f"a.{file}", tmp_path / "m.mb"
    path.write_text("1 1:1\n2 2:1\n3 1:1 2:1\n" * 5 if file == "svm" else "1 | a\n2 | b\n3 | a b\n" * 5)
    call("run", path, "--positive", "1", "--save", model)
    call("run", path, "--load", model, "--save", model)
    assert [str(each) for each in mb.load(model).classes_] == ["not 1", "1"]


def test_another_positive_label_is_refused(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.mb"
    call("run", table, "--label", "label", "--positive", "churn", "--save", model)
    before = model.read_bytes()
    wrong = call("run", table, "--load", model, "--positive", "stay", "--save", model, fails=2)
    assert shows(wrong, "--positive stay contradicts the model", "--positive churn", "remove --positive")
    assert model.read_bytes() == before
    learner = mb.load(model)
    with pytest.raises(OptionConflictError, match="positive='stay' contradicts"):
        learner.run(source(table, "stay"))
    assert learner.ledger_.rounds == 200


@pytest.mark.parametrize(
    "learner",
    [
        mb.Perceptron(classes=("churn", "not churn")),
        mb.Panel(classes=("stay", "churn")),
        mb.Panel(classes=("churn", "not churn", "moved")),
        mb.MulticlassPerceptron(classes=("churn", "stay")),
    ],
)
def test_classes_that_contradict_it_are_refused(learner: Any, table: Path) -> None:
    for run in (learner.run, lambda files: mb.runs.run(files, learner)):
        with pytest.raises(OptionError, match=r"positive='churn' contradicts the labels of the learner") as caught:
            run(source(table))
        assert "leave positive out" in str(caught.value)
        assert learner.ledger_.rounds == 0


def test_a_learner_of_other_labels_refuses_it(table: Path, tmp_path: Path) -> None:
    model, two = tmp_path / "m.mb", tmp_path / "two.csv"
    two.write_text("n,label\n1,no\n2,yes\n")
    call("run", two, "--label", "label", "--save", model)
    wrong = call("run", two, "--load", model, "--positive", "no", fails=2)
    assert shows(wrong, "--positive no contradicts the labels of the learner", "'no' and 'yes'", "leave --positive out")
    several = mb.Panel()
    several.run(mb.Source(table, label="label"))
    with pytest.raises(OptionError, match="positive='churn' contradicts"):
        several.run(source(table))
    assert call("predict", model, two, "--positive", "yes", fails=2)
    wrong = call("run", two, "--label", "label", "--positive", "no", "--classes", "no,yes", fails=2)
    assert shows(wrong, "--positive no contradicts")


def test_a_multiclass_learner_takes_the_two_labels(table: Path) -> None:
    learner = mb.MulticlassPerceptron()
    learner.run(source(table))
    assert {*learner.classes_} == {"churn", "not churn"}
    learner.run(source(table))
    assert learner.ledger_.rounds == 400


def test_a_file_that_cannot_be_read_settles_nothing(table: Path, tmp_path: Path) -> None:
    learner = mb.Panel()
    with pytest.raises(FileNotFoundError):
        learner.run(source(tmp_path / "missing.csv"))
    learner.run(mb.Source(table, label="label"))
    assert {*learner.classes_} == {*LABELS}


def test_a_label_that_never_occurs_is_reported(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.mb"
    for learner in (mb.Panel(), mb.MulticlassPerceptron()):
        with pytest.raises(OptionError, match=r"no line has the label 'Churn'; positive .* did you mean 'churn'\?"):
            mb.runs.run(source(table, "Churn"), learner, checkpoint=model)
        assert not model.exists()
    [remark] = mb.Panel().run(source(table, "Churn")).reading.remarks
    assert remark.kind == "positive"
    assert str(remark).endswith("; did you mean 'churn'?")


@pytest.mark.parametrize("labels", [3, 400])
def test_a_label_that_occurs_late_is_not_reported(labels: int, tmp_path: Path) -> None:
    """Also among more labels than have a code, in a later file, and in a run that is resumed after it."""
    first, second, model = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "m.mb"
    first.write_text("n,label\n" + "".join(f"{k},l{k}\n" for k in range(labels)))
    second.write_text("n,label\n" + "".join(f"{k},m{k}\n" for k in range(labels)) + "1,churn\n")
    both = mb.Source([first, second], label="label", positive="churn")
    assert not mb.Panel("lean").run(both).reading.remarks
    assert not mb.runs.run(both, mb.Perceptron()).remarks
    swapped = mb.Source([second, first], label="label", positive="churn")
    mb.runs.run(swapped, mb.Perceptron(), checkpoint=model, checkpoint_every=labels + 1, resume=True)
    assert not mb.runs.run(swapped, mb.Perceptron(), checkpoint=model, resume=True).remarks


def test_later_files_need_not_have_the_label(table: Path, tmp_path: Path) -> None:
    model, later = tmp_path / "m.mb", tmp_path / "later.csv"
    later.write_text("n,kind,label\n1,a,stay\n2,b,moved\n")
    call("run", table, "--label", "label", "--positive", "churn", "--save", model)
    assert "note: no line has the label 'churn'" in call("run", later, "--load", model, "--save", model)
    assert "no line" not in call("predict", model, later)
    assert mb.load(model).ledger_.rounds == 202


@pytest.mark.parametrize("positive", [1, "", "nan", b"churn"])
def test_what_is_not_the_text_of_a_label_is_refused(positive: Any) -> None:
    with pytest.raises(ValueError, match="positive must be a label as text, as it is written in the files"):
        mb.Source("a.csv", positive=positive)


def test_a_frame_with_its_label_column_is_read_like_the_files(table: Path) -> None:
    pandas = pytest.importorskip("pandas")
    learner = mb.Panel()
    learner.run(source(table))
    learner.run(pandas.read_csv(table))
    assert learner.classes_.tolist() == ["not churn", "churn"]
    assert learner.ledger_.rounds == 400


def test_a_certificate_and_a_second_pass_agree(table: Path, tmp_path: Path) -> None:
    certificate = tmp_path / "c.json"
    mb.runs.run(source(table), mb.Perceptron(), certificate=certificate)
    assert "✗" not in call("verify", certificate, table)
    model = tmp_path / "m.mb"
    learner = mb.Perceptron()
    learner.run(source(table))
    learner.save(model)
    loaded = mb.load(model)
    assert loaded.certify(X=source(table)).scope == "whole stream"
    assert loaded.certify(X=source(table, None)).scope == "whole stream"


def test_a_run_is_resumed_with_it(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.mb"
    for _ in range(2):
        found = mb.runs.run(source(table), mb.Panel(), checkpoint=model, checkpoint_every=50, resume=True)
        assert found.ledger.classes == ("not churn", "churn")


@pytest.mark.parametrize("stored", [5, "", ["churn"], "nan", {}, True])
def test_a_model_file_with_another_value_is_refused(stored: Any, table: Path, tmp_path: Path) -> None:
    learner, model = mb.Panel(), tmp_path / "m.mb"
    learner.run(source(table))
    learner.save(model)
    described, tensors = unpack(model.read_bytes(), TENSORS, PANEL_TENSORS)
    assert described["reading"]["positive"] == "churn"
    described["reading"]["positive"] = stored
    model.write_bytes(b"".join(map(bytes, pack(described, tensors))))
    with pytest.raises(mb.ModelError, match="the field 'reading' is not valid"):
        mb.load(model)


def test_a_model_that_does_not_store_it_can_get_it(table: Path, tmp_path: Path) -> None:
    """Earlier versions stored only the two labels."""
    learner, model = mb.Panel(), tmp_path / "m.mb"
    learner.run(source(table))
    learner.save(model)
    described, tensors = unpack(model.read_bytes(), TENSORS, PANEL_TENSORS)
    del described["reading"]["positive"]
    model.write_bytes(b"".join(map(bytes, pack(described, tensors))))
    call("run", table, "--load", model, "--positive", "churn", "--save", model)
    call("run", table, "--load", model, "--save", model)
    assert mb.load(model).classes_.tolist() == ["not churn", "churn"]
