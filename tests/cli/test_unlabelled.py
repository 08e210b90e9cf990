"""svmlight without labels: to be predicted, or with the labels in a file of their own; and slips in its first line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from files import call, shows

import mistakebound as mb
from mistakebound.data.formats import detect_format

LABELLED = "1 1:1 3:1\n-1 2:1 3:1\n" * 5


def without_labels(text: str) -> str:
    return "".join(line.partition(" ")[2] + "\n" for line in text.splitlines())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "x.svm").write_text(LABELLED)
    call("run", "--learner", "balanced-winnow", tmp_path / "x.svm", "--save", tmp_path / "m.mb")
    (tmp_path / "xl.svm").write_text("# no labels\n" + without_labels(LABELLED))
    return tmp_path / "m.mb"


def test_labels_may_be_missing_when_predicting(model: Path, tmp_path: Path) -> None:
    assert call("predict", model, tmp_path / "xl.svm").split() == ["1", "-1"] * 5
    assert call("predict", model, tmp_path / "xl.svm", "--scores") == call(
        "predict", model, tmp_path / "x.svm", "--scores"
    )
    result = call("explain", model, tmp_path / "xl.svm", "--first", 1)
    assert re.search(rf"{tmp_path / 'xl.svm'}:2: .*\b1\n", result)
    learner = mb.load(model)  # which knows nothing of files
    learner.save(tmp_path / "bare.mb")
    assert call("predict", tmp_path / "bare.mb", tmp_path / "xl.svm").split() == ["1", "-1"] * 5
    assert call("predict", model, "-", text="3:1 1:1 # some have one\n1 2:1 3:1\n").split() == ["1", "-1"]


def test_labels_of_their_own(model: Path, tmp_path: Path) -> None:
    (tmp_path / "lab.txt").write_text("1\n-1\n" * 5)
    call(
        "run",
        "--learner",
        "balanced-winnow",
        tmp_path / "xl.svm",
        "--labels",
        tmp_path / "lab.txt",
        "--save",
        tmp_path / "l.mb",
    )
    assert call("weights", tmp_path / "l.mb") == call("weights", model)


def test_nothing_is_learned_without_labels(model: Path, tmp_path: Path) -> None:
    for more in ((), ("--load", model)):
        output = call("run", tmp_path / "xl.svm", *more, fails=1)
        assert shows(output, f"Error: {tmp_path / 'xl.svm'}:2:1: ", "label", "'1:1'", "--labels FILE")
    (tmp_path / "x.svm").write_text(LABELLED + "3:1\n" + LABELLED)
    assert shows(
        call("run", "--learner", "balanced-winnow", tmp_path / "x.svm", fails=1), "x.svm:11:1: ", "label", "'3:1'"
    )
    assert "20 rounds" in call("run", "--learner", "balanced-winnow", tmp_path / "x.svm", "--skip-bad", 1)


def test_a_cache_with_labels_is_not_one_without(model: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert call("predict", model, tmp_path / "xl.svm", "--cache").split() == ["1", "-1"] * 5
    assert shows(
        call("run", "--learner", "balanced-winnow", tmp_path / "xl.svm", "--cache", fails=1),
        "xl.svm:2:1: ",
        "label",
        "'1:1'",
    )


@pytest.mark.parametrize(
    ("line", "place"),
    [("1 1:1 3:x", ":1:9: the value"), ("1 1;1 3:1", ":1:3: a feature"), ("x 1:1 3:1", ":1:1: the label")],
)
def test_a_file_with_a_typing_error_in_line_1_is_still_read_as_svmlight(line: str, place: str, tmp_path: Path) -> None:
    file = tmp_path / "typing_error.svm"
    file.write_text(f"{line}\n{LABELLED}")
    assert f"Error: {file}{place}" in call("run", "--learner", "balanced-winnow", file, fails=1)
    file.write_text(f"{LABELLED}{line}\n")
    assert f"Error: {file}{place.replace(':1:', ':11:', 1)}" in call(
        "run", "--learner", "balanced-winnow", file, fails=1
    )


@pytest.mark.parametrize(
    "text",
    [
        b"1 12:30 red\n0 12:40 blue\n",  # times
        b"day time other\n1 12:30 13:30\n0 12:40 14:50\n",
        b"x\n1\n2\n",
        b"1,2\n3,4\n",
        b"12:30,1\n12:40,2\n",
    ],
)
def test_tables_stay_tables(text: bytes) -> None:
    assert detect_format(text) == "table"
