"""Errors about options name the option, and end with the right exit code."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from files import call

import mistakebound as mb
from mistakebound.errors import ResumeError

MAIL = "subject,kind\ncheap pills,spam\nhi mom,ham\nwin cash,spam\nlunch,ham\n"


def mail(folder: Path) -> Path:
    path = folder / "mail.csv"
    path.write_text(MAIL)
    return path


@pytest.mark.parametrize("more", [[], ["--cache"]])
def test_a_header_read_as_an_example_is_named_with_its_option(more: list[str], tmp_path: Path) -> None:
    """No header can be detected if every cell is text and the columns are passed by number."""
    path = mail(tmp_path)
    for _ in range(2):
        assert "set --header" in call("run", path, "--label", 2, "--text", 1, *more)  # the Panel learns a third label
        output = call("run", path, "--label", 2, "--text", 1, "--learner", "arow", *more, fails=1)
        assert f"{path}:3:" in output
        assert "'ham'" in output
        assert "line 1 is a header: set --header" in output
    assert "--header" not in call("run", path, "--label", 2, "--text", 1, "--no-header", "--learner", "arow", fails=1)
    call("run", path, "--label", 2, "--text", 1, "--header")
    with pytest.raises(mb.StreamError, match=re.escape('table={"header": True}')) as caught:
        mb.Perceptron().run(mb.Source(path, label="2", table={"text": ["1"]}))
    assert (caught.value.kind, caught.value.line, caught.value.value) == ("third label", 3, "ham")


def test_a_third_label_without_a_label_from_line_1_does_not_name_the_header(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,1\nb,0\na,2\n")
    assert "header" not in call("run", path, "--label", 2, "--learner", "arow", fails=1)
    assert "header" not in call("run", path, "--label", 2)


@pytest.mark.parametrize(
    ("learner", "option", "value"),
    [
        ("balanced-winnow", "--eta", -1),
        ("winnow", "--alpha", 0.5),
        ("winnow", "--threshold", -3),
        ("pnorm", "--p", 1),
        ("perceptron", "--bias", "nan"),
        ("perceptron", "--update-margin", -2),
    ],
)
def test_a_learner_option_out_of_range_is_a_usage_error(learner: str, option: str, value: Any, tmp_path: Path) -> None:
    (tmp_path / "x.svm").write_text("1 1:1\n-1 2:1\n")
    output = call("run", tmp_path / "x.svm", "--learner", learner, option, value, fails=2)
    assert f"{option} must be" in output
    assert f"got {value}" in output


def test_a_parameter_out_of_range_is_named_in_python_by_its_own_name() -> None:
    with pytest.raises(mb.InputError) as caught:
        mb.Winnow(alpha=0.5).learn_one({"a": 1}, 1)
    assert caught.value.option == "alpha"
    assert str(caught.value).startswith("alpha must be")


@pytest.mark.parametrize("command", ["run", "compare"])
@pytest.mark.parametrize(
    ("name", "text", "more"),
    [
        ("x.csv", MAIL, ["--label", "kind"]),
        ("x.vw", "1 | a\n-1 | b\n", []),
        ("x.jsonl", '{"label": 1, "a": 1}\n{"label": 0, "b": 1}\n', []),
    ],
)
def test_zero_based_is_refused_for_other_formats(
    command: str, name: str, text: str, more: list[str], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    output = call(command, tmp_path / name, *more, "--zero-based", fails=1)
    assert f"{tmp_path / name}: --zero-based is only valid for svmlight" in output


def test_a_column_to_ignore_that_nobody_has_is_refused(tmp_path: Path) -> None:
    path, model = mail(tmp_path), tmp_path / "m.mb"
    call("run", path, "--label", "kind", "--ignore", "subject", "--save", model)
    output = call("predict", model, path, "--ignore", "subjec", fails=1)
    assert f"{path}: there is no column 'subjec' for --ignore" in output
    assert "did you mean 'subject'?" in output
    with pytest.raises(mb.InputError) as caught:
        mb.load(model).predict(mb.Source(path, table={"ignore": ["nosuch"]}))
    assert (caught.value.option, caught.value.feature) == ("ignore", "nosuch")
    (tmp_path / "new.csv").write_text("kind,note\nspam,x\n")
    for ignored in ("note", "subject", "1"):  # of the file, of the model, a number
        call("predict", model, tmp_path / "new.csv", "--ignore", "note", "--ignore", ignored)


def test_one_label_in_the_whole_file_is_noted(tmp_path: Path) -> None:
    path, page = tmp_path / "x.svm", tmp_path / "page.html"
    path.write_text("1 1:1\n1 1:1\n")
    note = "only one label occurred: all 2 examples have the label 1"
    assert note in call("run", path, "--report", page)
    assert note in page.read_text()
    assert json.loads(call("run", path, "--json"))["remarks"] == [note]
    (remark,) = mb.runs.run(mb.Source(path), mb.Perceptron()).remarks
    assert remark.kind == "one label"
    path.write_text("1 1:1\n-1 1:1\n")
    assert "only one label" not in call("run", path)


def test_the_words_of_verify_begin_in_one_column(tmp_path: Path) -> None:
    path, certificate = tmp_path / "x.svm", tmp_path / "c.json"
    path.write_text("1 1:1\n-1 2:1\n1 1:1\n-1 2:1\n")
    call("run", path, "--certificate", certificate, "--learner", "perceptron")
    checks = [line for line in call("verify", certificate, path).splitlines() if line.startswith("✓")]
    assert any("comparator: mistakes" in line for line in checks)
    where = checks[0].index("unchanged")
    assert all(line[where - 1] == " " and line[where] != " " for line in checks)


@pytest.mark.parametrize(
    ("before", "now", "option"),
    [
        (mb.Perceptron(bias=1.0), mb.Perceptron(bias=2.0), "bias"),
        (mb.Perceptron(), mb.Perceptron(classes=(-1, 1)), "classes"),
        (mb.Perceptron(), mb.Winnow(), "learner"),
    ],
)
def test_a_changed_parameter_of_a_resumed_run_is_a_field(
    before: mb.Perceptron, now: mb.Perceptron, option: str, tmp_path: Path
) -> None:
    path, model = tmp_path / "x.svm", tmp_path / "m.mb"
    path.write_text("1 1:1\n-1 2:1\n1 1:x\n")
    mb.runs.run(mb.Source(path), deepcopy(before), checkpoint=model)  # the parameters outlive the test
    with pytest.raises(ResumeError) as caught:
        mb.runs.run(mb.Source(path), now, checkpoint=model, resume=True)
    assert caught.value.option == option
    if option != "learner":
        assert (caught.value.before, caught.value.now) == (getattr(before, option), getattr(now, option))


def test_guesses_that_are_not_numbers_are_refused_once() -> None:
    sequence = mb.forecasters.ConfidenceSequence()
    with pytest.raises(ValueError, match="guesses") as caught:
        sequence.run([0.5], guesses=[None])
    assert str(caught.value).count("guesses") == 1
