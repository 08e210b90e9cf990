"""While only one text label is known, nothing can be learned: the first other error of the stream is raised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from files import call, shows

import mistakebound as mb

BAD: dict[str, tuple[bytes, str, str]] = {
    "fields": (b"a,b,y\n1,2,x\n1,2\n3,4,z\n", ":3:4: ", "2 fields"),
    "utf-8": (b"a,b,y\n1,2,x\n1,\xe9,x\n3,4,z\n", ":3:3: ", "UTF-8"),
    "quote": (b'a,b,y\n1,2,x\n1,"2,x\n3,4,z\n', ":3:3: ", "quote"),
    "infinite": (b"a,b,y\n1,2,x\n1,inf,x\n3,4,z\n", ":3:3: ", "'inf' in column 'b'"),
    "no label": (b"a,b,y\n1,2,x\n1,2,\n", ":3: ", "label"),
    "no label, then a bad line": (b"a,b,y\n1,2,x\n1,2,\n1,2\n", ":3: ", "label"),
    "no label first": (b"a,b,y\n1,2,\n1,2,x\n", ":2: ", "label"),
    "json": (b'{"a": 1, "y": "x"}\n{"a": 1\n{"a": 2, "y": "z"}\n', ":2:8: ", "expected"),
}
"""Text, and the place and an identifying word of the error."""


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("command", ["run", "compare"])
def test_the_first_error_other_than_a_lone_label_is_raised(kind: str, command: str, tmp_path: Path) -> None:
    text, place, word = BAD[kind]
    file = tmp_path / "w1.csv"
    file.write_bytes(text)
    [line] = [line for line in call(command, file, "--label", "y", fails=1).splitlines() if "Error: " in line]
    assert f"Error: {file}{place}" in line
    assert word in line
    learner = mb.Perceptron()
    with pytest.raises(mb.StreamError, match=r"round 0: .*w1\.csv:[23]:") as caught:
        learner.run(mb.Source(file, label="y"))
    assert f"{file}{place}" in str(caught.value)
    assert word in str(caught.value)
    assert (caught.value.kind == "no label") == kind.startswith("no label")
    assert learner.ledger_.rounds == 0


def test_the_lines_before_a_bad_one_stay_learned(tmp_path: Path) -> None:
    """With both labels known, the lines before the bad one count, also those of one label only."""
    file = tmp_path / "w2.csv"
    file.write_text("a,b,y\n1,2,x\n1,2,x\n3,4,\n5,6,z\n")
    learner = mb.Perceptron()
    with pytest.raises(mb.StreamError) as caught:
        learner.run(mb.Source(file, label="y"))
    assert (caught.value.kind, caught.value.round, caught.value.line) == ("no label", 2, 4)
    assert learner.ledger_.rounds == 2


def files(folder: Path, *texts: str) -> list[Path]:
    found = [folder / f"{number}.csv" for number in range(len(texts))]
    for file, text in zip(found, texts, strict=True):
        file.write_text("a,b,y\n" + text)
    return found


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (("1,2,x\n", "1,2\n"), "1.csv:2:4: 2 fields"),
        (("1,2,x\n", "3,4,\n", "1,2\n"), "1.csv:2: "),
        (("1,2,x\n", "", "3,4,x\n"), "0.csv:2: "),
    ],
)
def test_the_error_may_be_in_a_later_part(texts: tuple[str, ...], words: str, tmp_path: Path) -> None:
    assert words in call("run", *files(tmp_path, *texts), "--label", "y", fails=1)
    assert words in call("compare", *files(tmp_path, *texts), "--label", "y", fails=1)


@pytest.mark.parametrize("texts", [("", "1,2,x\n", "3,4,z\n"), ("1,2,x\n", "1,2,x\n", "", "3,4,z\n")])
def test_parts_without_rows_do_not_end_the_wait_for_both_labels(texts: tuple[str, ...], tmp_path: Path) -> None:
    found = files(tmp_path, *texts)
    rounds = "".join(texts).count("\n")
    assert mb.Perceptron().run(mb.Source(found, label="y")).rounds == rounds
    assert f"{rounds} rounds" in call("compare", *found, "--label", "y")


def test_a_file_of_labels_must_have_one_label_per_example(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n1,2\n3,4\n")
    for labels in ("x\nx\n", "x\nx\nx\nx\n"):
        (tmp_path / "y").write_text(labels)
        output = call("run", tmp_path / "x.csv", "--labels", tmp_path / "y", fails=1)
        assert shows(output, f"{tmp_path / 'y'}: ", "labels", "examples")


@pytest.mark.parametrize("command", ["run", "compare"])
def test_the_error_for_a_lone_label_names_the_option_of_the_interface(command: str, tmp_path: Path) -> None:
    (file,) = files(tmp_path, "1,2,x\n1,2,x\n")
    output: Any = call(command, file, "--label", "y", fails=1)
    assert f"{file}:2: " in output
    assert "'x'" in output
    assert "--classes NEGATIVE,POSITIVE" in output
    with pytest.raises(mb.StreamError, match=r"classes=\(negative, positive\)") as caught:
        mb.Perceptron().run(mb.Source(file, label="y"))
    assert (caught.value.kind, caught.value.option, caught.value.value) == ("lone label", "classes", "x")
    assert "2 rounds" in call(command, file, "--label", "y", "--classes", "w,x")
