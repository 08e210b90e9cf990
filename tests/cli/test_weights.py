"""Weights, thresholds and abstention on the command line: runs, resumed runs, certificates that are verified."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from files import call, shows

import mistakebound as mb

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = [
        f"{a:.3f},{b:.3f},{w},{'yes' if a + rng.normal() / 2 > b else 'no'}\n"
        for a, b, w in zip(rng.random(400), rng.random(400), rng.choice([0, 0.5, 1, 3], 400), strict=True)
    ]
    file = tmp_path / "rows.csv"
    file.write_text("a,b,w,y\n" + "".join(lines))
    return file


def test_a_column_of_weights(table: Path, tmp_path: Path) -> None:
    options = ("--label", "y", "--weight", "w")
    call("run", table, *options, "--save", tmp_path / "m.mb")
    panel = mb.Panel()
    panel.run(mb.Source(table, label="y", weight="w"))
    saved = mb.load(tmp_path / "m.mb")
    assert isinstance(saved, mb.Panel)
    assert saved.members() == panel.members()
    unweighted = mb.Panel()
    unweighted.run(mb.Source(table, label="y", table={"ignore": ["w"]}))
    assert unweighted.members() != panel.members()
    assert "Perceptron takes no weights" in call("run", table, *options, "--learner", "perceptron", fails=1)
    assert "only used by learners that take weights" in call("compare", table, *options)


def test_a_certificate_of_weighted_rows_is_verified(table: Path, tmp_path: Path) -> None:
    certificate = tmp_path / "c.json"
    call("run", table, "--label", "y", "--weight", "w", "--certificate", certificate)
    assert json.loads(certificate.read_text())["reading"]["table"]["weight"] == "w"
    assert "holds" in call("verify", certificate, table)
    changed = json.loads(certificate.read_text())
    del changed["reading"]["table"]["weight"]
    certificate.write_text(json.dumps(changed))
    call("verify", certificate, table, fails=1)


def test_a_bad_weight_names_its_line(table: Path) -> None:
    text = table.read_text().splitlines()
    text[7] = text[7].rsplit(",", 2)[0] + ",-2,yes"
    table.write_text("\n".join(text) + "\n")
    shown = call("run", table, "--label", "y", "--weight", "w", fails=1)
    assert f"{table}:8:" in shown
    assert "the weight must be a number from 0 to 1e9, got '-2'" in shown
    assert "1 bad line" in call("run", table, "--label", "y", "--weight", "w", "--skip-bad", "1")


def test_threshold_and_abstention(table: Path) -> None:
    options = ("--label", "y", "--ignore", "w")
    found = json.loads(call("run", table, *options, "--threshold", "0.3", "--abstain", "0.1", "--json"))
    panel = mb.Panel(threshold=0.3, abstain=0.1)
    answers = panel.run(mb.Source(table, label="y", table={"ignore": ["w"]})).answers
    assert answers is not None
    assert found["answers"] == {**answers._asdict(), "coverage": answers.coverage}
    assert found["options"] == "--learner panel --threshold 0.3 --abstain 0.1"
    shown = call("run", table, *options, "--threshold", "0.3", "--abstain", "0.1")
    assert f"abstentions   {answers.abstentions}; {answers.mistakes} mistakes in {answers.answered} rounds" in shown
    assert "--threshold must be a number between 0 and 1" in call("run", table, *options, "--threshold", "8", fails=2)
    assert "--abstain is not a parameter of arow" in call(
        "run", table, *options, "--learner", "arow", "--abstain", "0.1", fails=2
    )
    assert "does not apply" in call("run", table, *options, "--threshold", "0.3", "--certify")


def test_a_certificate_with_a_threshold_is_verified(table: Path, tmp_path: Path) -> None:
    """It says which premises fail, and a replay of the stream agrees."""
    certificate, model = tmp_path / "c.json", tmp_path / "m.mb"
    options = ("--label", "y", "--weight", "w", "--threshold", "0.3", "--abstain", "0.1")
    call("run", table, *options, "--certificate", certificate, "--save", model)
    shown = call("verify", certificate, table, "--model", model)
    assert "agrees with the stream: does not apply" in shown
    assert "✗ the guard makes the predictions" in shown
    assert "✗ a label is predicted in every round" in shown


CLASS_WEIGHT = ("--class-weight", "yes=0.25", "--class-weight", "no=4")


def test_weights_of_labels(table: Path, tmp_path: Path) -> None:
    options, model = ("--label", "y", "--ignore", "w"), tmp_path / "m.mb"
    found = json.loads(call("run", table, *options, *CLASS_WEIGHT, "--save", model, "--json"))
    panel = mb.Panel(class_weight={"yes": 0.25, "no": 4})
    panel.run(mb.Source(table, label="y", table={"ignore": ["w"]}))
    saved = mb.load(model)
    assert isinstance(saved, mb.Panel)
    assert saved.members() == panel.members()
    assert found["mistakes"] == panel.ledger_.mistakes
    assert found["options"] == "--learner panel --class-weight yes=0.25 --class-weight no=4"
    plain = json.loads(call("run", table, *options, "--json"))
    assert plain["mistakes"] != found["mistakes"]
    again = ("run", table, *options, "--checkpoint-every", 100, "--save", tmp_path / "r.mb", "--resume")
    call(*again, *CLASS_WEIGHT)
    assert shows(call(*again, fails=1), "its run had --class-weight yes=0.25 --class-weight no=4", "no --class-weight")
    certificate = tmp_path / "c.json"
    call("run", table, *options, *CLASS_WEIGHT, "--certificate", certificate)
    assert "✗" not in call("verify", certificate, table)


def test_weights_of_labels_with_positive_and_unknown_labels(table: Path) -> None:
    options = ("--label", "y", "--ignore", "w")
    shown = call("run", table, *options, "--class-weight", "Yes=2")
    assert "note: no example has the label 'Yes' of --class-weight; did you mean 'yes'?" in shown
    weighted = ("--positive", "yes", "--class-weight", "not yes=3")
    assert "note" not in call("run", table, *options, *weighted)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["yes"], "must be LABEL=WEIGHT, such as spam=5, got 'yes'"),
        (["=2"], "must be LABEL=WEIGHT"),
        (["yes=much"], "must be LABEL=WEIGHT"),
        (["yes=-1"], "must have weights from 0 to 1e9, got -1.0 for 'yes'"),
        (["yes=nan"], "must have weights from 0 to 1e9"),
        (["yes=1e10"], "must have weights from 0 to 1e9"),
        (["yes=1", "yes=2"], "'yes' twice"),
    ],
)
def test_bad_weights_of_labels(table: Path, tmp_path: Path, words: list[str], message: str) -> None:
    options = [part for word in words for part in ("--class-weight", word)]
    assert f"--class-weight {message}" in call("run", table, "--label", "y", *options, fails=2).replace(
        "must have each label once, got ", ""
    )
    several = ("--label", "y", "--class-weight", "yes=5,no=2")
    assert "set --class-weight once for each label" in call("run", table, *several, fails=2)
    learner = ("--learner", "arow", "--class-weight", "yes=2")
    assert "--class-weight is not a parameter of arow" in call("run", table, "--label", "y", *learner, fails=2)
    call("run", table, "--label", "y", "--save", tmp_path / "m.mb")
    loaded = ("--load", tmp_path / "m.mb", "--class-weight", "yes=2")
    assert "--class-weight and --load cannot both be set" in call("run", table, *loaded, fails=2)


def test_the_report_shows_abstentions(table: Path, tmp_path: Path) -> None:
    page, options = tmp_path / "page.html", ("--label", "y", "--ignore", "w")
    found = json.loads(call("run", table, *options, "--abstain", "0.2", "--report", page, "--json"))["answers"]
    every = found["abstentions"] + found["answered"]
    words = f"The panel abstained in {found['abstentions']:,} of {every:,} rounds; {found['mistakes']:,} of the "
    assert f"{words}{found['answered']:,} rounds with a prediction were mistakes" in page.read_text()
    assert "rounds with a prediction</li>" in page.read_text()
    call("run", table, *options, "--report", page)
    assert "abstained" not in page.read_text()


def test_the_summary_names_the_column_of_the_weights(table: Path) -> None:
    assert "weights       column w\n" in call("run", table, "--label", "y", "--weight", "w")
    assert json.loads(call("run", table, "--label", "y", "--weight", "w", "--json"))["weight"] == "w"
    assert json.loads(call("run", table, "--label", "y", "--json"))["weight"] is None


def test_predict_has_no_threshold(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.mb"
    call("run", table, "--label", "y", "--threshold", 0.3, "--save", model)
    wrong = call("predict", model, table, "--threshold", 0.3, fails=2)
    assert shows(wrong, "--threshold is not an option of predict", "run --threshold", "--probabilities")
    assert "--threshold" not in call("predict", "--help").split("Options")[-1]
