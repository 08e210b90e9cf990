"""The command line, as a person at a terminal has it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import call, shows, svmlight

import mistakebound as mb
from mistakebound.cli import main
from mistakebound.data.reader import StreamReader
from mistakebound.rules.registry import DECLARATIONS


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    """A stream of 100 rows in svmlight: the label is whether feature 1 is there."""
    rng = np.random.default_rng(0)
    rows = [sorted(rng.choice(8, 3, replace=False) + 1) for _ in range(100)]
    path = tmp_path / "stream.svm"
    path.write_text("".join(f"{1 if 1 in x else 0} " + " ".join(f"{i}:1" for i in x) + "\n" for x in rows))
    return path


def test_run_shows_the_counts_of_the_ledger(stream: Path) -> None:
    """A line at 1, 2, 4, ... and at the end, whose numbers are those of the learner itself."""
    ledger = mb.Perceptron().run(mb.Source(stream))
    curve = ledger.mistake_curve
    lines = [line.split() for line in call("run", stream, "--learner", "perceptron").splitlines()]
    assert lines[0] == ["rounds", "mistakes", "rate", "since", "bound", "examples/s"]
    before = 0
    for line, rounds in zip(lines[1:], (1, 2, 4, 8, 16, 32, 64, 100), strict=False):
        mistakes = int(curve[rounds - 1])
        since = (mistakes - (int(curve[before - 1]) if before else 0)) / (rounds - before)
        assert line[:4] == [str(rounds), str(mistakes), f"{mistakes / rounds:.4f}", f"{since:.4f}"]
        before = rounds
    assert [str(ledger.mistakes), "mistakes", "in", "100", "rounds"] in [line[:5] for line in lines]


@pytest.mark.parametrize("learner", DECLARATIONS)
def test_every_learner_runs(learner: str, stream: Path) -> None:
    """As JSON, with the counts of the learner. Winnow needs a threshold, because the width of a file is not known."""
    more = ["--threshold", 8] if learner == "winnow" else []
    found = json.loads(call("run", stream, "--learner", learner, "--json", *more))
    assert found["rounds"] == 100
    if learner == "multiclass-perceptron":  # it has no positive label
        assert found["false_positives"] is None
    else:
        assert found["mistakes"] == found["false_positives"] + found["false_negatives"]
    assert found["stopped"] == ""


def test_save_predict_weights_and_going_on(stream: Path, tmp_path: Path) -> None:
    """A model continues as if it had never stopped; predict and weights use it."""
    half, rest, model = (tmp_path / name for name in ("half", "rest", "model.mb"))
    lines = stream.read_text().splitlines(keepends=True)
    half.write_text("".join(lines[:50]))
    rest.write_text("".join(lines[50:]))
    linear = ["--json", "--learner", "balanced-winnow"]
    whole = json.loads(call("run", stream, *linear, "--save", tmp_path / "whole.mb"))
    first = json.loads(call("run", half, *linear, "--save", model))
    second = json.loads(call("run", rest, "--json", "--load", model, "--save", model))
    assert first["mistakes"] + second["mistakes"] == whole["mistakes"]
    assert call("weights", model) == call("weights", tmp_path / "whole.mb")
    assert call("weights", model).split()[1] == "1"  # as the file counts
    predicted = call("predict", model, stream).split()
    scored = [line.split("\t") for line in call("predict", model, stream, "--scores").splitlines()]
    assert predicted == [label for label, _ in scored]
    assert all((float(score) >= 0) == (label == "1") for label, score in scored)
    learner = mb.load(model)
    assert predicted[:5] == [
        str(learner.predict_one([float(f" {i}:" in line) for i in range(1, 9)])) for line in lines[:5]
    ]
    wider = call("predict", model, "-", text="1 1:1 900:5\n")
    assert wider == call("predict", model, "-", text="1 1:1\n")  # what was never seen weighs nothing
    assert mb.load(model).ledger_.n == learner.ledger_.n


def test_predictions_and_certificate(stream: Path, tmp_path: Path) -> None:
    """The predictions made before learning, and the certificate of the learner."""
    learner = mb.Panel()
    ledger = learner.run(mb.Source(stream))
    found = json.loads(call("run", stream, "--json", "--certify", "--predictions", tmp_path / "p"))
    assert found["certificate"] == json.loads(learner.certify(X=mb.Source(stream)).to_json())
    predicted = [line.split("\t")[0] for line in (tmp_path / "p").read_text().splitlines()]
    assert predicted == [str(label) for label in ledger.predictions.tolist()]


def test_tables(tmp_path: Path) -> None:
    """From a CSV to a saved model and predictions, with text and categories named all the way through."""
    path, model = tmp_path / "mail.csv", tmp_path / "m.mb"
    path.write_text("id,subject,kind\n1,win money now,spam\n2,lunch now,ham\n3,money money,spam\n4,lunch money,ham\n")
    options = ["--label", "kind", "--text", "subject", "--ignore", "id"]
    found = json.loads(call("run", path, *options, "--save", model, "--json", "--learner", "perceptron", "--passes", 5))
    assert found["rounds"] == 20
    assert call("predict", model, path, *options).split() == ["spam", "ham", "spam", "ham"]
    assert {line.split("=")[1] for line in call("weights", model).splitlines()} == {"win", "money", "now", "lunch"}
    assert "--label" in call("run", path, fails=1)
    assert shows(call("run", path, "--label", "nothing", fails=1), str(path), "column 'nothing'")
    assert shows(call("run", path, "--label", "kind", "--interact", "a", fails=2), "--interact", "columns")


def test_a_name_of_two_columns_is_an_error(tmp_path: Path) -> None:
    """The error is not that there is no header."""
    path = tmp_path / "twice.csv"
    for rows in ("1,2,yes\n3,4,no\n", "p,q,yes\nr,s,no\n"):
        path.write_text("a,a,y\n" + rows)
        assert shows(call("run", path, "--label", "y", fails=1), f"Error: {path}: ", "'a'", "two columns")
    assert shows(call("run", path, "--label", "z", fails=1), "column 'z'")
    path.write_text("a,a,y\n1,2,yes\n3,4,no\n")  # numbers show that it is a header, whoever asks for what
    assert shows(call("run", path, "--label", 3, fails=1), f"Error: {path}: ", "'a'", "two columns")


def test_errors_have_a_way_out(stream: Path, tmp_path: Path) -> None:
    """One line, exit code 1 or 2, and the rounds before stay counted and saved."""
    assert str(tmp_path / "absent") in call("run", tmp_path / "absent", fails=1)
    assert shows(call("run", stream, "--learner", "perceptron", "--eta", 1, fails=2), "--eta", "perceptron")
    with stream.open("a") as file:
        file.write("1 broken\n")
    output = call("run", stream, "--save", tmp_path / "m.mb", fails=1)
    assert shows(output, "stream.svm:101:3: ", "index:value", "'broken'")
    assert mb.load(tmp_path / "m.mb").ledger_.rounds == 100
    assert "skipped" in call("run", stream, "--skip-bad", 1)
    (tmp_path / "m.mb").write_bytes(b"nonsense")
    assert "m.mb" in call("predict", tmp_path / "m.mb", stream, fails=1)


def test_interrupt_ends_with_the_summary_and_saves(
    stream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after the first block: the rounds so far are counted, shown and saved. Exit code 130."""
    whole = StreamReader.__iter__

    def interrupted(self: StreamReader) -> Iterator[Any]:
        yield next(whole(self))
        raise KeyboardInterrupt

    monkeypatch.setattr(StreamReader, "__iter__", interrupted)
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", 500)
    output = call("run", stream, "--save", tmp_path / "m.mb", fails=130)
    rounds = mb.load(tmp_path / "m.mb").ledger_.rounds
    assert 0 < rounds < 100
    assert f" {rounds} rounds" in output


def test_bound() -> None:
    """Formulas by the names of their theorems."""
    assert call("bound", "littlestone", "--n", 100, "--r", 2) == "44.0\n"
    assert "novikoff" in call("bound")
    assert shows(call("bound", "x", fails=2), "theorem 'x'")
    assert shows(call("bound", "littlestone", "--n", 9, fails=2), "littlestone", "--r", "--n --r [--alpha]")
    assert shows(call("bound", "halving", "--r", 9, fails=2), "halving", "--r", "--n")
    assert shows(call("bound", "litlestone", fails=2), "'litlestone'", "'littlestone'?")
    assert "--NAME VALUE" in call("bound", "halving", 3, fails=2)
    assert "Error: " in call("bound", "halving", "--n", 0, fails=2)


def test_bounds_of_experts() -> None:
    """Every theorem that a certificate may name is there, with what must hold; ewa is what `experts` calls it."""
    listed = call("bound")
    for name in mb.bounds.BOUNDS:
        assert f"\n{name}\n    --" in f"\n{listed}", name
    assert "Losses lie in [0, 1]." in listed
    answer = ["--n", 2, "--eta", 0.5, "--alpha", 0.01, "--rounds", 500]
    assert float(call("bound", "fixed-share", *answer)) == mb.bounds.fixed_share(2, 0.5, 0.01, 500)
    assert float(call("bound", "ewa", "--n", 10, "--eta", 1)) == pytest.approx(math.log(10))
    assert float(call("bound", "boa-adaptive", "--n", 9, "--squares", 4)) == mb.bounds.boa_adaptive(9, 4)
    shown = call("bound", "ogd")
    assert "G (2 sqrt(T) - 1/2)" in shown
    assert "\nPremises\n" in shown
    assert "at most G" in shown.split("\nPremises\n")[1]
    assert shown.endswith("\n\nOptions: --n --rounds [--longest]\n")
    message = call("bound", "hedge", "--n", 10, fails=2)
    assert all(option in message for option in ("rounds", "best", "eta"))


def test_version_and_module() -> None:
    """``python -m mistakebound`` is the same command."""
    found = subprocess.run(
        [sys.executable, "-m", "mistakebound", "version"], capture_output=True, text=True, check=True
    )
    assert found.stdout == call("version")
    assert found.stdout.startswith(f"mistakebound {mb.__version__} ")


def test_help_names_every_command() -> None:
    """And each command explains itself."""
    for name in main.commands:
        assert name in call("--help")
        assert "Usage" in call(name, "--help")


@pytest.mark.parametrize("learner", ["perceptron", "balanced-winnow", "panel"])
def test_a_run_with_json_imports_no_unneeded_modules(stream: Path, learner: str) -> None:
    """``run --json`` imports neither scipy nor rich, and numpy only if it is needed: for probabilities."""
    code = (
        "import sys; from mistakebound.cli import main; main(sys.argv[1:], standalone_mode=False); print(*sys.modules)"
    )
    table = stream.with_suffix(".csv")
    table.write_text("kind,size,colour\n" + "yes,1,red\nno,2,blue\n" * 50)
    for words in ([stream], [table, "--label", "kind"]):
        command = [sys.executable, "-c", code, "run", "--json", "--learner", learner, *map(str, words)]
        result, modules = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        assert json.loads(result)["rounds"] == 100
        unneeded = {"numpy", "scipy", "rich", "pyarrow", "sklearn", "matplotlib", "shutil", "pathlib"}
        if learner == "panel":
            unneeded -= {"numpy", "shutil", "pathlib"}  # numpy imports the other two
        assert not unneeded & set(modules.split())


@pytest.mark.parametrize("option", ["--save", "--report", "--certificate", "--predictions"])
def test_an_input_file_is_never_overwritten(stream: Path, option: str) -> None:
    before = stream.read_bytes()
    text_shown = call("run", stream, option, stream.parent / "." / stream.name, fails=2)
    assert shows(text_shown, "Error: ", str(stream), "input", "output")
    assert stream.read_bytes() == before
    assert shows(call("run", stream, "--save", "a.out", "--report", "a.out", fails=2), "a.out")


def test_an_error_leaves_an_earlier_model_alone(stream: Path, tmp_path: Path) -> None:
    model, bad = tmp_path / "m.mb", tmp_path / "bad.svm"
    bad.write_text(stream.read_text() + "broken\n")
    call("run", stream, "--save", model)
    before = model.read_bytes()
    assert f": {model} " in call("run", bad, "--save", model, fails=1)
    assert model.read_bytes() == before
    assert f": {tmp_path / 'new.mb'} " not in call("run", bad, "--save", tmp_path / "new.mb", fails=1)  # it is new
    assert mb.load(tmp_path / "new.mb").ledger_.rounds == 100


def test_a_loaded_model_goes_on_as_it_is(stream: Path, tmp_path: Path) -> None:
    call("run", stream, "--save", tmp_path / "m.mb")
    for words in (["--learner", "perceptron"], ["--eta", "0.5"], ["--bias", "1"]):
        output = call("run", stream, "--load", tmp_path / "m.mb", *words, fails=2)
        assert shows(output, "Error: ", f"{words[0]} and --load")
    call("run", stream, "--load", tmp_path / "m.mb")


def test_a_file_that_does_not_fit_the_model_is_reported(tmp_path: Path) -> None:
    """A label that never occurs, columns read with other options than in training, a table without rows."""
    table, model = tmp_path / "t.csv", tmp_path / "m.mb"
    table.write_text("kind,subject\n" + "spam,win money\nham,tea time\n" * 3)
    wrong = call("run", table, "--label", "kind", "--positive", "Spam", "--save", model, fails=2)
    assert shows(wrong, "no line has the label 'Spam'; --positive must be", "did you mean 'spam'?")
    assert "note" not in wrong
    assert not model.exists()
    call("run", table, "--label", "kind", "--text", "subject", "--save", model)
    assert "note" not in call("predict", model, table)
    strange = tmp_path / "strange.csv"
    strange.write_text("kind,subject\n" + "spam,geld\nham,tee\n" * 3)
    assert shows(call("predict", model, strange), "note: ", "feature")
    table.write_text("kind,subject\n")
    words = ["run", table, "--label", "kind", "--header", "--save", tmp_path / "n.mb"]
    assert shows(call(*words, fails=1), "Error: ", "learned")
    assert not (tmp_path / "n.mb").exists()


def test_lines_without_a_known_feature_are_counted(tmp_path: Path) -> None:
    """Whatever its score: known words may add up to that of nothing, and Winnow gives an unknown one a weight."""
    learn, model, new = tmp_path / "l.vw", tmp_path / "m.mb", tmp_path / "n.vw"
    learn.write_text("1 | a c\n-1 | b c\n" * 5)
    call("run", learn, "--learner", "perceptron", "--save", model)
    new.write_text("| c\n| a b\n" * 3)
    assert {line.split()[1] for line in call("predict", model, new, "--scores").splitlines()} == {"0"}
    assert "note" not in call("predict", model, new)
    call("run", learn, "--learner", "winnow", "--threshold", 4, "--save", model)
    new.write_text("| x y\n| x\n| a x\n")
    assert shows(call("predict", model, new), "note: ", "2 of 3 lines", "feature")
    new.write_text("| x a\n| a\n| x\n")
    assert "note" not in call("predict", model, new)


def test_predict_takes_a_source(stream: Path) -> None:
    learner = mb.Perceptron()
    learner.run(mb.Source(stream))
    X, _ = mb.Source(stream).to_csr()
    assert learner.predict(mb.Source(stream)).tolist() == [learner.predict_one(x.toarray()[0]) for x in X]


@pytest.mark.parametrize("command", ["weights", "predict", "explain", "verify"])
def test_ctrl_c_is_130_wherever_it_falls(
    stream: Path, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1 of ``verify`` means that something differs, so Ctrl-C must have another one."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    call("run", stream, "--save", tmp_path / "m.mb", "--certificate", tmp_path / "c.json")
    monkeypatch.setattr("mistakebound.models.model_file.load_with_progress", interrupted)
    monkeypatch.setattr("mistakebound.runs.verification.Checker.check", interrupted)
    files = [] if command == "weights" else [stream]
    call(command, tmp_path / ("c.json" if command == "verify" else "m.mb"), *files, fails=130)


def test_without_arguments_the_help_is_shown() -> None:
    assert call() == call("--help")
    assert call().count("\n") > 20  # lines, not escaped newlines


@pytest.mark.parametrize(("command", "option"), [("run", "--report"), ("compare", "--report"), ("compare", "--plot")])
def test_pages_and_pictures_are_not_written_to_standard_output(command: str, option: str, tmp_path: Path) -> None:
    shown = call(command, svmlight(tmp_path / "a.svm"), option, "-", fails=2)
    assert "- (standard output) is not possible here: choose the name of a file" in " ".join(shown.split())


@pytest.mark.parametrize("option", ["--report", "--plot"])
def test_the_lab_writes_no_page_to_standard_output(option: str) -> None:
    shown = call("lab", "beta", option, "-", fails=2)
    assert "- (standard output) is not possible here" in " ".join(shown.split())
