"""Before both labels are known nothing can be learned: what is said then is the first thing that is truly wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from files import call

import mistakebound as mb

BAD: dict[str, tuple[bytes, str]] = {
    "fields": (b"a,b,y\n1,2,x\n1,2\n3,4,z\n", ":3:4: 2 fields, but 3 columns"),
    "utf-8": (b"a,b,y\n1,2,x\n1,\xe9,x\n3,4,z\n", ":3:3: not UTF-8"),
    "quote": (b'a,b,y\n1,2,x\n1,"2,x\n3,4,z\n', ":3:3: a quote that is not closed"),
    "infinite": (b"a,b,y\n1,2,x\n1,inf,x\n3,4,z\n", ":3:3: 'inf' in column 'b' is not finite"),
    "no label": (b"a,b,y\n1,2,x\n1,2,\n", ":3: there is no label in this line"),
    "no label, then a bad line": (b"a,b,y\n1,2,x\n1,2,\n1,2\n", ":3: there is no label in this line"),
    "no label first": (b"a,b,y\n1,2,\n1,2,x\n", ":2: there is no label in this line"),
    "json": (b'{"a": 1, "y": "x"}\n{"a": 1\n{"a": 2, "y": "z"}\n', ":2:8: expected"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("command", ["run", "compare"])
def test_the_first_true_error_is_told(kind: str, command: str, tmp_path: Path) -> None:
    text, words = BAD[kind]
    file = tmp_path / "w1.csv"
    file.write_bytes(text)
    assert f"Error: {file}{words}" in call(command, file, "--label", "y", fails=1)
    learner = mb.Perceptron()
    with pytest.raises(mb.StreamError, match=r"round 0: .*w1\.csv:[23]:") as caught:
        learner.run(mb.Source(file, label="y"))
    assert words in str(caught.value)
    assert learner.ledger_.rounds == 0


def test_what_is_learned_before_it_stays_learned(tmp_path: Path) -> None:
    """With both labels known, the lines before the bad one count, also those of one label only."""
    file = tmp_path / "w2.csv"
    file.write_text("a,b,y\n1,2,x\n1,2,x\n3,4,\n5,6,z\n")
    learner = mb.Perceptron()
    with pytest.raises(mb.StreamError, match=r"round 2: .*w2\.csv:4: there is no label in this line"):
        learner.run(mb.Source(file, label="y"))
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
        (("1,2,x\n", "3,4,\n", "1,2\n"), "1.csv:2: there is no label"),
        (("1,2,x\n", "", "3,4,x\n"), "0.csv:2: label 'x' alone"),
    ],
)
def test_it_may_come_in_a_later_part(texts: tuple[str, ...], words: str, tmp_path: Path) -> None:
    assert words in call("run", *files(tmp_path, *texts), "--label", "y", fails=1)
    assert words in call("compare", *files(tmp_path, *texts), "--label", "y", fails=1)


@pytest.mark.parametrize("texts", [("", "1,2,x\n", "3,4,z\n"), ("1,2,x\n", "1,2,x\n", "", "3,4,z\n")])
def test_labels_are_waited_for_over_parts_without_rows(texts: tuple[str, ...], tmp_path: Path) -> None:
    found = files(tmp_path, *texts)
    rounds = "".join(texts).count("\n")
    assert mb.Perceptron().run(mb.Source(found, label="y")).rounds == rounds
    assert f"{rounds} rounds" in call("compare", *found, "--label", "y")


def test_labels_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n1,2\n3,4\n")
    for labels, words in (("x\nx\n", "fewer labels than examples"), ("x\nx\nx\nx\n", "more labels than examples")):
        (tmp_path / "y").write_text(labels)
        assert words in call("run", tmp_path / "x.csv", "--labels", tmp_path / "y", fails=1)


@pytest.mark.parametrize("command", ["run", "compare"])
def test_one_label_alone_has_a_way_out_in_the_words_of_who_asks(command: str, tmp_path: Path) -> None:
    (file,) = files(tmp_path, "1,2,x\n1,2,x\n")
    told: Any = call(command, file, "--label", "y", fails=1)
    assert f"{file}:2: label 'x' alone does not tell which side is positive: say --classes NEGATIVE,POSITIVE" in told
    with pytest.raises(mb.StreamError, match=r"pass classes=\(negative, positive\)"):
        mb.Perceptron().run(mb.Source(file, label="y"))
    assert "2 rounds" in call(command, file, "--label", "y", "--classes", "w,x")
