"""``predict`` writes labels, probabilities of every label and scores, as lines or as CSV with a header."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import call
from labelled_streams import stream, table

import mistakebound as mb


def model(folder: Path, learner: mb.Learner, y: Any, X: Any = None) -> Path:
    """Learn a table with these labels; write model and new rows without labels, and return the model."""
    rows = stream(len(y))[0] if X is None else X
    file = table(folder / "kinds.csv", rows, y)
    mb.runs.run(mb.Source(file, label="kind"), learner, checkpoint=folder / "m.mb").raise_if_stopped()
    cells = [line.rsplit(",", 1)[0] for line in file.read_text().splitlines()[:8]]
    (folder / "new.csv").write_text("\n".join(cells) + "\n")
    return folder / "m.mb"


def written(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


@pytest.mark.parametrize("labels", [3, 2])
def test_probabilities_of_every_label(labels: int, tmp_path: Path) -> None:
    y = np.array(["ant", "bee", "cat"])[np.arange(90) % labels]
    path, new = model(tmp_path, mb.Panel(), y), tmp_path / "new.csv"
    panel = mb.load(path)
    wanted = panel.predict_proba(mb.Source(new))
    lines = written(call("predict", path, new, "--probabilities"))
    assert [label for label, *_ in lines] == panel.predict(mb.Source(new)).tolist()
    assert np.allclose(np.array([found for _, *found in lines], float), wanted, atol=1e-5)
    out = tmp_path / "out.tsv"
    mb.runs.predict(mb.Source(new), panel, out, probabilities=True)
    assert written(out.read_text()) == lines
    with_scores = written(call("predict", path, new, "--probabilities", "--scores"))
    assert [line[: labels + 1] for line in with_scores] == lines
    assert {len(line) for line in with_scores} == {4}  # two labels also have a score


def test_csv_has_a_header_and_quotes_labels(tmp_path: Path) -> None:
    y = np.array(['a "b"', "c, d", "e"], object)[np.arange(90) % 3]
    X, _ = stream(90)
    panel = mb.Panel(classes=sorted(set(y)))
    lines = [",".join(map(str, row)) for row in X.tolist()]
    quoted = ['"{}"'.format(label.replace('"', '""')) for label in y]
    head = ",".join(f"f{i}" for i in range(8))
    file, new = tmp_path / "kinds.csv", tmp_path / "new.csv"
    file.write_text("\n".join([f"{head},kind", *(f"{a},{b}" for a, b in zip(lines, quoted, strict=True))]) + "\n")
    new.write_text("\n".join([head, *lines[:6]]) + "\n")
    mb.runs.run(mb.Source(file, label="kind"), panel, checkpoint=tmp_path / "m.mb").raise_if_stopped()
    text = call("predict", tmp_path / "m.mb", new, "--probabilities", "--csv")
    names, *rows = csv.reader(io.StringIO(text))
    assert names == ["prediction", 'p(a "b")', "p(c, d)", "p(e)"]
    assert [row[0] for row in rows] == panel.predict(mb.Source(new)).tolist()
    assert np.allclose(np.array([row[1:] for row in rows], float).sum(axis=1), 1, atol=1e-5)


HEADERS: dict[str, tuple[Any, int, list[str], list[str]]] = {
    "labels only": (mb.Panel, 3, [], ["prediction"]),
    "several": (mb.Panel, 3, ["--scores"], ["prediction", "probability"]),
    "two labels": (mb.Panel, 2, ["--scores"], ["prediction", "p(bee)", "score"]),
    "two labels, all": (mb.Panel, 2, ["--scores", "--probabilities"], ["prediction", "p(ant)", "p(bee)", "score"]),
    "no probabilities": (mb.Perceptron, 2, ["--scores"], ["prediction", "score"]),
    "no probabilities, several": (mb.MulticlassPerceptron, 3, ["--scores"], ["prediction", "score"]),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name: str, tmp_path: Path) -> None:
    kind, labels, options, names = HEADERS[name]
    path = model(tmp_path, kind(), np.array(["ant", "bee", "cat"])[np.arange(60) % labels])
    first, *rest = call("predict", path, tmp_path / "new.csv", "--csv", *options).splitlines()
    assert first.split(",") == names
    assert {len(line.split(",")) for line in rest} == {len(names)}
    assert [line.replace(",", "\t") for line in rest] == call(
        "predict", path, tmp_path / "new.csv", *options
    ).splitlines()


@pytest.mark.parametrize("kind", [mb.Perceptron, mb.MulticlassPerceptron])
def test_a_learner_without_probabilities_refuses(kind: Any, tmp_path: Path) -> None:
    path = model(tmp_path, kind(), np.array(["ant", "bee"])[np.arange(60) % 2])
    output = call("predict", path, tmp_path / "new.csv", "--probabilities", fails=2)
    assert "--probabilities" in output
    assert "predicts no probabilities" in output
    with pytest.raises(mb.InputError, match="probabilities .*predicts no probabilities"):
        mb.runs.predict(mb.Source(tmp_path / "new.csv"), mb.load(path), tmp_path / "never-written", probabilities=True)
    assert not (tmp_path / "never-written").exists()


def test_an_abstaining_panel_writes_probabilities_beside_empty_labels(tmp_path: Path) -> None:
    X, y = stream(90)
    path = model(tmp_path, mb.Panel(abstain=0.4), np.where(y == "ant", "ant", "bee"), X)
    source = mb.Source(tmp_path / "new.csv")
    lines = written(call("predict", path, tmp_path / "new.csv", "--probabilities"))
    panel = mb.load(path)
    assert [label or None for label, *_ in lines] == panel.predict(source).tolist()
    assert "" in [label for label, *_ in lines]
    assert np.allclose(np.array([found for _, *found in lines], float), panel.predict_proba(source), atol=1e-5)
