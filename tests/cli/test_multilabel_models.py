"""The commands that use a saved model, for a model with several labels."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

import mistakebound as mb
from mistakebound.cli import main

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [{"goal", "team"}, {"vote", "team"}, {"rain"}] * 20
SETS = [{"sport"}, {"news", "a\nb"}, set()] * 20


@pytest.fixture
def model(tmp_path: Path) -> Path:
    learner = mb.MultilabelPanel("lean", classes=("sport", "news", "a\nb"))
    learner.run(ROWS, SETS)
    learner.save(tmp_path / "topics.mb")
    (tmp_path / "new.vw").write_text("| goal team\n| vote\n| rain\n| never seen\n")
    return tmp_path / "topics.mb"


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def test_predict_writes_the_labels_of_each_line(model: Path) -> None:
    new, learner = model.parent / "new.vw", mb.load(model)
    done = call("predict", model, new)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[:3] == ["sport", "news,a\\nb", ""]
    assert len(done.stdout.splitlines()) == 4
    lines = call("predict", model, new, "--scores").stdout.splitlines()
    chances = learner.predict_proba_one({"vote"})
    shown = [f"{name}:{p:.6g}" for name, p in zip(("sport", "news", "a\\nb"), chances.values(), strict=True)]
    assert lines[1].split("\t") == ["news,a\\nb", *shown]
    (model.parent / "bad.vw").write_text("| goal\n| vote:x\n")
    done = call("predict", model, model.parent / "bad.vw")
    assert done.exit_code == 1
    assert done.stdout.splitlines() == ["sport"]
    assert "bad.vw:2" in done.stderr
    (model.parent / "other.vw").write_text("| never\n| seen\n")
    assert "2 of 2 lines have no feature" in call("predict", model, model.parent / "other.vw").stderr


@pytest.mark.parametrize("command", ["weights", "explain"])
def test_weights_and_explanations_are_those_of_one_label(model: Path, command: str) -> None:
    files = [model.parent / "new.vw"] if command == "explain" else []
    for words in ([], ["--class", "film"]):
        done = call(command, model, *files, *words)
        assert done.exit_code == 2
        assert "set --class to one of them (sport, news, a" in done.stderr
    done = call(command, model, *files, "--class", "sport")
    assert done.exit_code == 0, done.output
    mb.load(model).panels["sport"].save(model.parent / "sport.mb")
    alone = call(command, model.parent / "sport.mb", *files).stdout.replace("logit of True", "logit of sport")
    assert done.stdout == alone.replace("predicted True", "predicted sport").replace(
        "predicted False", "predicted not sport"
    )
    assert "goal" in done.stdout


def test_probabilities_have_a_column_for_each_label(model: Path) -> None:
    new, learner = model.parent / "new.vw", mb.load(model)
    rows = [{"goal", "team"}, {"vote"}, {"rain"}, {"never", "seen"}]
    wanted = [[f"{p:.6g}" for p in learner.predict_proba_one(row).values()] for row in rows]
    for option in ("--probabilities", "--scores"):
        header, *lines = csv.reader(call("predict", model, new, option, "--csv").stdout.splitlines())
        assert header == ["prediction", "p(sport)", "p(news)", "p(a\\nb)"]
        assert [line[1:] for line in lines] == wanted
        assert lines[1][0] == "news,a\\nb"
    lines = [line.split("\t") for line in call("predict", model, new, "--probabilities").stdout.splitlines()]
    assert [line[1:] for line in lines] == wanted
    assert call("predict", model, new, "--csv").stdout.splitlines()[:2] == ["prediction", "sport"]


def test_run_says_that_it_cannot_continue_the_model(model: Path) -> None:
    done = call("run", model.parent / "new.vw", "--load", model)
    assert done.exit_code == 2
    assert f"{model} is a model of a MultilabelPanel, which 'run' cannot continue" in done.output
    done = call("run", model.parent / "new.vw", "--save", model, "--resume")
    assert "as the model of a MultilabelPanel is" in done.output
