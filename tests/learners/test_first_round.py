"""Before the first label of several classes there is no prediction: in Python, in files, in JSON and in reports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from files import call
from labelled_streams import LABELS, dicts, stream, table

import mistakebound as mb

LEARNERS = {"panel": mb.Panel, "multiclass-perceptron": mb.MulticlassPerceptron}


@pytest.mark.parametrize("name", LEARNERS)
def test_nothing_is_predicted_before_the_first_label(name: str) -> None:
    learner = LEARNERS[name](classes=LABELS)
    X, y = stream(60)
    assert learner.predict_one(X[0].tolist()) is None
    assert learner.ask(X[0].tolist()).prediction is None
    ledger = learner.run(X, y)
    assert ledger.predictions[0] is None
    assert all(label in LABELS for label in ledger.predictions[1:])
    assert learner.predict_one(X[0].tolist()) in LABELS


def test_rounds_with_and_without_a_prediction_add_up() -> None:
    X, y = stream(60)
    panel = mb.Panel()
    first, second = panel.run(X[:30], y[:30]), panel.run(X[30:], y[30:])
    assert (first.without_prediction, second.without_prediction) == (1, 0)
    assert int(first.confusion.sum()) == 29
    assert int(second.confusion.sum()) == 30
    off_diagonal = int(first.confusion.sum() - np.trace(first.confusion))
    assert off_diagonal + first.without_prediction == first.mistakes
    assert second.predictions.dtype.kind == "U"
    back = mb.Ledger.from_json(panel.ledger_.to_json())
    assert back.without_prediction == 1
    assert back.predictions.tolist() == [*first.predictions, *second.predictions]


def test_all_predictions_made_before_the_first_label_are_counted() -> None:
    panel = mb.Panel(classes=LABELS)
    rows = dicts(stream(2)[0])
    tickets = [panel.ask(row) for row in rows]
    for ticket in tickets:
        panel.tell(ticket, "ant")
    assert panel.ledger_.without_prediction == 2
    assert panel.ledger_.predictions.tolist() == [None, None]


def test_the_first_line_of_a_file_of_predictions_is_empty(tmp_path: Path) -> None:
    file, out, page = table(tmp_path / "kinds.csv", *stream(60)), tmp_path / "p.tsv", tmp_path / "r.html"
    text = call("run", file, "--label", "kind", "--predictions", out, "--report", page)
    assert "1  without a prediction, before the first label" in text
    assert "1 round has no prediction, because no label had occurred before it." in page.read_text()
    lines = out.read_text().splitlines()
    assert lines[0] == "\t"
    assert all(line.split("\t")[0] in LABELS for line in lines[1:])
    found = json.loads(call("run", file, "--label", "kind", "--json"))
    assert found["confusion"]["without_prediction"] == 1
    assert sum(map(sum, found["confusion"]["counts"])) == 59


def test_the_kinds_of_mistakes_add_up(tmp_path: Path) -> None:
    file = table(tmp_path / "kinds.csv", *stream(200))
    text = call("run", file, "--label", "kind", "--learner", "panel")
    head, _, rest = text.partition(" mistakes in 200 rounds")
    mistakes = int(head.split()[-1])
    kinds = [line.split()[0] for line in rest.split("mistakes of always")[0].splitlines()[1:-1]]
    assert sum(map(int, kinds)) == mistakes


def test_a_model_that_has_learned_nothing_predicts_no_label(tmp_path: Path) -> None:
    model, new = tmp_path / "m.mb", tmp_path / "new.svm"
    mb.Panel(classes=LABELS).save(model)
    new.write_text("1 1:1\n")
    mb.runs.predict(mb.Source(new), mb.load(model), tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "\n"
