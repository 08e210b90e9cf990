"""What a newcomer tried first, and should have been told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from files import call

import mistakebound as mb

MAIL = [{"kind": "spam", "subject": "win money", "x": {"y": 1}}, {"kind": "ham", "subject": "tea", "list": ["a"]}] * 3


def lines(path: Path, objects: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in objects))
    return path


# ---------------------------------------------------------------------- keys that never come


def test_a_label_key_that_is_not_there_is_told_with_those_there_are(tmp_path: Path) -> None:
    file = lines(tmp_path / "m.jsonl", MAIL)
    wanted = f"Error: {file}:1: there is no label in this line: it has no key 'knd'; there are: kind, subject, x, x.y"
    assert wanted in call("run", file, "--label", "knd", fails=1)
    assert wanted in call("compare", file, "--label", "knd", fails=1)
    assert "it has no key 'label'" in call("run", file, fails=1)
    lines(file, [*MAIL[:3], {"subject": "?", "kind": None}])
    assert f"{file}:4: there is no label in this line: its label is empty" in call(
        "run", file, "--label", "kind", fails=1
    )
    with pytest.raises(mb.StreamError, match="it has no key 'knd'; there are: kind"):
        mb.Perceptron().run(mb.Source(file, label="knd"))
    for _ in range(2):  # the second time from the cache, which has no lines
        assert "there is no label in this line" in call("run", file, "--label", "kind", "--cache", fails=1)


def test_a_text_key_that_never_comes_is_noted(tmp_path: Path) -> None:
    file = lines(tmp_path / "m.jsonl", MAIL)
    told = call("run", file, "--label", "kind", "--text", "subjct", "--save", tmp_path / "m.mb")
    assert "note: none of the first 6 lines has a key 'subjct'; there are: kind, subject, x, x.y, list\n" in told
    assert "no key 'subject'" not in call("predict", tmp_path / "m.mb", file, "--text", "subject")
    for key in ("subject", "list", "x", "x.y"):
        assert "note" not in call("run", file, "--label", "kind", "--text", key)
    assert "has a key 'z'" in call("run", file, "--label", "kind", "--ignore", "z")
    assert "the first line has no key 'z'" in call("predict", tmp_path / "m.mb", lines(file, MAIL[:1]), "--text", "z")


def test_a_table_without_a_label_lists_its_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    wanted = "t.csv:2: there is no label (tell which column it is: --label NAME or NUMBER; there are: a, b)"
    assert wanted in call("run", tmp_path / "t.csv", fails=1)
    assert "t.csv:2: there is no label in this line" not in call("run", tmp_path / "t.csv", "--classes", "x,y", fails=1)


# ---------------------------------------------------------------------- nothing in a file


@pytest.mark.parametrize("text", ["", "kind,subject\n", "\n\n"])
def test_a_file_without_examples_is_named(text: str, tmp_path: Path) -> None:
    good, empty, model = tmp_path / "good.csv", tmp_path / "empty.csv", tmp_path / "m.mb"
    good.write_text("kind,subject\nspam,win\nham,tea\n")
    call("run", good, "--label", "kind", "--save", model)
    empty.write_text(text)
    wanted = f"{empty}: there are no examples"
    options = ["--label", "kind", "--header"] if text.strip() else []
    assert f"note: {wanted} in it" in call("run", empty, *options)
    assert json.loads(call("run", empty, *options, "--json"))["remarks"] == [f"{wanted} in it"]
    assert f"Error: {wanted}" in call("compare", empty, *options, fails=1)
    if text.strip() or not text:
        assert call("predict", model, empty) == call("explain", model, empty) == f"note: {wanted} in it\n"
        assert f"note: {wanted} in it" in call("run", good, empty, "--label", "kind")
    assert "note" not in call("run", good, "--label", "kind")


# ---------------------------------------------------------------------- numbers out of range


@pytest.mark.parametrize(
    "words",
    [("--passes", 0), ("--passes", -1), ("--threads", 0), ("--skip-bad", -1), ("--words", -1), ("--letters", -2)]
    + [("--bins", -1), ("--checkpoint-every", 0), ("--relevant", 0)],
)
def test_numbers_that_make_no_sense_are_refused(words: tuple[str, int], tmp_path: Path) -> None:
    (tmp_path / "x.svm").write_text("1 1:1\n-1 2:1\n")
    assert f"Invalid value for '{words[0]}'" in call("run", tmp_path / "x.svm", *words, fails=2)
