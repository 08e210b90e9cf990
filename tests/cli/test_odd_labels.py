"""Labels that look like numbers: the text decides, and NaN and infinity are not labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from files import call, shows


def strict(text: str) -> Any:
    """JSON as other programs read it: without Infinity and NaN."""

    def refuse(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_underscores_are_text(tmp_path: Path) -> None:
    """1_0 is a third label beside 10 and 0, not another way to write one of them."""
    path, labels = tmp_path / "a.csv", tmp_path / "y"
    path.write_text("x,y\n1,10\n2,0\n3,10\n4,1_0\n")
    refused = call("run", path, "--label", "y", "--learner", "arow", fails=1)
    assert shows(refused, f"{path}:5: label '1_0'", "0 and 10")
    assert json.loads(call("run", path, "--label", "y", "--json"))["classes"] == [10, 0, "1_0"]
    path.write_text("x\n1\n2\n3\n")
    labels.write_text("1_0\n2_0\n1_0\n")
    call("run", path, "--labels", labels, "--save", tmp_path / "m.mb", "--header")
    assert set(call("predict", tmp_path / "m.mb", path).splitlines()) <= {"1_0", "2_0"}


@pytest.mark.parametrize("word", ["inf", "-inf", "1e400", "-1e400", "Infinity", "1" * 5000])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_label_without_size_is_refused_where_it_stands(word: str, at: int, tmp_path: Path) -> None:
    """In a column, in JSON, in a file of labels; before the others, between them, and after them."""
    labels = ["0", "1", "0", "1"]
    labels.insert(at, word)
    table, lines, own = tmp_path / "a.csv", tmp_path / "a.json", tmp_path / "y"
    table.write_text("x,y\n" + "".join(f"1,{label}\n" for label in labels))
    lines.write_text("".join(f'{{"label": "{label}", "x": 1}}\n' for label in labels))
    own.write_text("".join(f"{label}\n" for label in labels))
    for words, line in (
        (["--label", "y", table], at + 2),
        ([lines], at + 1),
        (["--labels", own, "--ignore", "y", table], at + 2),
    ):
        output = call("run", *words, fails=1)
        assert f":{line}: label " in output
        assert "finite" in output or (at == 2 and "label nan" in output)
        report = strict(call("run", *words, "--json", fails=1).splitlines()[0])
        assert report["rounds"] == at


def test_classes_without_size_are_refused(tmp_path: Path) -> None:
    """A learner with such a label would write it everywhere."""
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n0 2:1\n")
    assert shows(call("run", path, "--classes", "0,inf", fails=1), "Error: ", "classes", "(0, nan)")


def test_labels_that_are_not_utf8_are_refused_where_they_stand(tmp_path: Path) -> None:
    """Decoded somehow, two different ones could become the same."""
    path, labels = tmp_path / "a.csv", tmp_path / "y"
    path.write_text("x\n" + "1\n" * 4)
    labels.write_bytes(b"a\nb\n\xe4\n\xf6\n")
    assert shows(call("run", path, "--labels", labels, "--header", fails=1), f"{labels}:3: ", "label", "UTF-8")
