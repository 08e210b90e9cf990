"""Messages for common slips: wrong files, options out of range, missing columns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from files import call, shows

import mistakebound as mb

MAIL = [{"kind": "spam", "subject": "win money", "x": {"y": 1}}, {"kind": "ham", "subject": "tea", "list": ["a"]}] * 3


def lines(path: Path, objects: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in objects))
    return path


# ---------------------------------------------------------------------- keys that never come


def test_a_missing_label_key_is_reported_with_the_existing_keys(tmp_path: Path) -> None:
    file = lines(tmp_path / "m.jsonl", MAIL)
    wanted = (f"Error: {file}:1: ", "label", "'knd'", "kind, subject, x, x.y")
    assert shows(call("run", file, "--label", "knd", fails=1), *wanted)
    assert shows(call("compare", file, "--label", "knd", fails=1), *wanted)
    assert shows(call("run", file, fails=1), f"Error: {file}:1: ", "'label'")
    lines(file, [*MAIL[:3], {"subject": "?", "kind": None}])
    assert shows(call("run", file, "--label", "kind", fails=1), f"Error: {file}:4: ", "label")
    with pytest.raises(mb.StreamError, match="'knd'.*kind"):
        mb.Perceptron().run(mb.Source(file, label="knd"))
    for _ in range(2):  # the second time from the cache, which has no lines
        assert shows(call("run", file, "--label", "kind", "--cache", fails=1), f"Error: {file}:4: ", "label")


def test_a_text_key_that_never_comes_is_noted(tmp_path: Path) -> None:
    file = lines(tmp_path / "m.jsonl", MAIL)
    result = call("run", file, "--label", "kind", "--text", "subjct", "--save", tmp_path / "m.mb")
    assert shows(result, "note: ", "6 lines", "'subjct'", "kind, subject, x, x.y, list\n")
    assert "--text subjct" in call("predict", tmp_path / "m.mb", file, "--text", "subject", fails=2)
    for key in ("subject", "list", "x", "x.y"):
        assert "note" not in call("run", file, "--label", "kind", "--text", key)
    assert shows(call("run", file, "--label", "kind", "--ignore", "z"), "note: ", "'z'")
    one = lines(file, MAIL[:1])
    assert shows(call("predict", tmp_path / "m.mb", one, "--ignore", "z"), "note: ", "first line", "'z'")


def test_a_table_without_a_label_lists_its_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    wanted = ("t.csv:2: ", "label", "--label NAME or NUMBER", ": a, b")
    assert shows(call("run", tmp_path / "t.csv", fails=1), *wanted)
    assert shows(call("run", tmp_path / "t.csv", "--classes", "x,y", fails=1), "--label NAME or NUMBER")


# ---------------------------------------------------------------------- nothing in a file


@pytest.mark.parametrize("text", ["", "kind,subject\n", "\n\n"])
def test_a_file_without_examples_is_named(text: str, tmp_path: Path) -> None:
    good, empty, model = tmp_path / "good.csv", tmp_path / "empty.csv", tmp_path / "m.mb"
    good.write_text("kind,subject\nspam,win\nham,tea\n")
    call("run", good, "--label", "kind", "--save", model, "--learner", "perceptron")
    empty.write_text(text)
    options = ["--label", "kind", "--header"] if text.strip() else []
    assert shows(call("run", empty, *options), f"note: {empty}: ", "examples")
    (remark,) = json.loads(call("run", empty, *options, "--json"))["remarks"]
    assert shows(remark, f"{empty}: ", "examples")
    assert shows(call("compare", empty, *options, fails=1), f"Error: {empty}: ", "examples")
    if text.strip() or not text:
        assert call("predict", model, empty) == call("explain", model, empty) == f"note: {remark}\n"
        assert f"note: {remark}" in call("run", good, empty, "--label", "kind")
    assert "note" not in call("run", good, "--label", "kind")


# ---------------------------------------------------------------------- numbers out of range


OUT_OF_RANGE = [("--passes", 0), ("--passes", -1), ("--threads", 0), ("--skip-bad", -1), ("--words", -1)]
OUT_OF_RANGE += [("--letters", -2), ("--bins", -1), ("--checkpoint-every", 0), ("--relevant", 0)]


@pytest.mark.parametrize("words", OUT_OF_RANGE)
def test_numbers_out_of_range_are_refused(words: tuple[str, int], tmp_path: Path) -> None:
    (tmp_path / "x.svm").write_text("1 1:1\n-1 2:1\n")
    assert f"Invalid value for '{words[0]}'" in call("run", tmp_path / "x.svm", *words, fails=2)


# ---------------------------------------------------------------------- words


@pytest.mark.parametrize("classes", ["bad", "a,a", "a,b,b", "a,", "1,1.0"])
@pytest.mark.parametrize("command", ["run", "compare"])
def test_classes_are_different_labels(classes: str, command: str, tmp_path: Path) -> None:
    (tmp_path / "x.svm").write_text("1 1:1\n-1 2:1\n")
    output = call(command, tmp_path / "x.svm", "--classes", classes, fails=2)
    assert shows(output, "--classes", repr(classes))


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--text", "t"], ["--text s", "--text t"]),
        ([], ["--text s", "--text"]),
        (["--text", "s", "--bins", 4], ["--bins", "--bins 4"]),
        (["--text", "s", "--no-header"], ["--header", "--no-header"]),
        (["--text", "s", "--zero-based"], ["--zero-based", "--zero-based"]),
        (["--text", "s", "--interact", "s,t"], ["--interact", "--interact s,t"]),
    ],
)
def test_a_changed_option_of_a_resumed_run_is_named(words: list[Any], wanted: list[str], tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("y,s,t\nno,a b,c\nyes,b,d\n")
    result = ["run", tmp_path / "x.csv", "--label", "y", "--save", tmp_path / "m.mb", "--resume"]
    call(*result, "--text", "s")
    assert shows(call(*result, *words, fails=1), "m.mb", *wanted)


def test_bins_are_advised_for_numbers_of_different_sizes(tmp_path: Path) -> None:
    file, hint = tmp_path / "x.csv", "--bins 4"
    file.write_text("size,y\n" + "".join(f"{10**k},{'yes' if k % 4 == 0 else 'no'}\n" for k in range(12)))
    assert hint in call("run", file, "--label", "y", "--learner", "perceptron")
    assert hint not in call("run", file, "--label", "y", "--learner", "perceptron", "--bins", 4)
    assert hint not in call("run", file, "--label", "y", "--learner", "perceptron", "--categorical", "size")
    file.write_text("size,y\n" + "1,yes\n-1,no\n" * 20)
    assert hint not in call("run", file, "--label", "y")


def test_errors_about_unusual_files_suggest_an_option(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes("a,y\nschön,1\nx,0\n".encode("latin1"))
    output = call("run", file, "--label", "y", fails=1)
    assert shows(output, "x:2:4: ", "UTF-8", "iconv -f latin1 -t utf8 FILE")
    file.write_bytes("größe,y\n1,1\n2,0\n".encode("latin1"))
    assert "iconv -f latin1 -t utf8" in call("run", file, "--label", "y", fails=1)
    for text in ('[{"a": 1, "label": 1}]', '\n [\n  {"a": 1}\n]'):
        file.write_text(text)
        assert shows(call("run", file, fails=1), f"Error: {file}: ", "JSON array")


@pytest.mark.skipif(os.name == "nt", reason="pipes break otherwise there")
@pytest.mark.parametrize("command", ["weights", "predict", "bound"])
def test_a_closed_pipe_is_not_an_error(command: str, tmp_path: Path) -> None:
    file, model = tmp_path / "x.svm", tmp_path / "m.mb"
    file.write_text("1 1:1\n-1 2:1\n")
    call("run", file, "--save", model, "--learner", "perceptron")
    words = {"weights": [model], "predict": [model, file], "bound": []}[command]
    command_line = [sys.executable, "-m", "mistakebound", command, *map(str, words)]
    reads, writes = os.pipe()
    os.close(reads)  # before anything is written
    try:
        done = subprocess.run(command_line, stdout=writes, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writes)
    assert (done.returncode, done.stderr) == (141, b"")


def test_the_help_of_verify_lists_its_exit_codes() -> None:
    codes = call("verify", "--help").partition("Exit codes:\n")[2].splitlines()
    assert [line.split()[0] for line in codes] == ["0", "1", "2", "130"]


# ---------------------------------------------------------------------- what was passed is something else


def test_a_model_of_experts_is_refused_by_commands_for_linear_learners(tmp_path: Path) -> None:
    file, model = tmp_path / "a.svm", tmp_path / "m.mb"
    file.write_text("1 1:1\n-1 2:1\n")
    mixer = mb.experts.MLPoly()
    mixer.learn_one({"Ann": 20.0, "Bob": 25.0}, 21.0)
    mixer.save(model)
    for words in (
        ("predict", model, file),
        ("weights", model),
        ("explain", model, file),
        ("run", file, "--load", model),
    ):
        assert shows(call(*words, fails=1), "Error: ", f"{model}: ", "'MLPoly'", "Perceptron, ")
