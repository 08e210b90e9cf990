"""Every learner on the same stream, in one reading of it."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import call, shows

import mistakebound as mb
from mistakebound._support.signals import uninterrupted
from mistakebound._support.text import many
from mistakebound.data.reader import StreamReader
from mistakebound.rules.registry import DECLARATIONS
from mistakebound.runs.comparison import VARIANTS, Contender


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    """300 rows of 0/1 features: the label is whether feature 1 or 2 is there."""
    rng = np.random.default_rng(0)
    path = tmp_path / "stream.svm"
    rows = [sorted(rng.choice(20, rng.integers(1, 5), replace=False) + 1) for _ in range(300)]
    path.write_text("".join(f"{int(x[0] <= 2)} " + " ".join(f"{i}:1" for i in x) + "\n" for x in rows))
    return path


@pytest.mark.parametrize("block", [200, 1 << 20])
def test_each_learner_has_the_result_of_a_run_of_its_own(
    block: int, stream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options that are shown, given to run, make the same mistakes; ranked; every learner is there."""
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", block)
    found = json.loads(call("compare", stream, "--json"))
    assert found["rounds"] == 300
    assert found["not_counted"] == []
    left_out = ["--learner multiclass-perceptron", "--learner multiclass-perceptron --bias 1"]  # there are two labels
    left_out += ["--learner normalized-winnow --eta 0.1"]  # its weights cannot be negative
    assert found["left_out"] == left_out
    assert len(found["learners"]) == len(VARIANTS) - 3
    unfit = {"normalized-winnow", "multiclass-perceptron"}
    assert {each["options"].split()[1] for each in found["learners"]} == {*DECLARATIONS} - unfit
    counts = [each["mistakes"] for each in found["learners"]]
    assert counts == sorted(counts)
    for each in found["learners"]:
        alone = json.loads(call("run", stream, "--json", *each["options"].split()))
        assert (each["mistakes"], each["rate"]) == (alone["mistakes"], alone["rate"])
        assert found["majority_mistakes"] == alone["majority_mistakes"]
        assert found["bytes"] == alone["bytes"]
    shown = call("compare", stream)
    worse = [each["worse_than_majority"] for each in found["learners"]]
    assert worse == [each["mistakes"] > found["majority_mistakes"] for each in found["learners"]]
    expected = [each["options"].removeprefix("--learner ") for each in found["learners"]]
    expected.insert(worse.index(True), "(always predicting 0)")
    assert [line.split("  ")[-1].strip() for line in shown.splitlines()[1 : 1 + len(expected)]] == expected
    assert f"warning: {many(sum(worse), 'learner')} of {len(worse)} made more mistakes" in shown


def test_members_of_the_panel_are_listed(stream: Path) -> None:
    panel = mb.Panel()
    panel.run(mb.Source(stream))
    members = panel.members()
    (row,) = (each for each in json.loads(call("compare", stream, "--json"))["learners"] if "members" in each)
    assert [each["name"] for each in row["members"]] == [each.name for each in members]
    assert [each["mistakes"] for each in row["members"]] == [each.mistakes for each in members]
    shown = call("compare", stream).split("members of the panel:")[1].split("\n\n")[0].splitlines()[2:]
    counts = [int(line.split()[0]) for line in shown]
    assert counts == sorted(each.mistakes for each in members)
    assert {line.split()[-1] for line in shown} == {each.name for each in members}


def test_normalized_winnow_is_compared_on_votes_only(tmp_path: Path) -> None:
    """Its weights cannot be negative, so it is made for values 1 and -1 of which some follow the label."""
    path, rng = tmp_path / "votes.svm", np.random.default_rng(0)
    name = "--learner normalized-winnow --eta 0.1"
    for size, there in ((1, True), (0.5, False)):
        votes = rng.choice([-1, 1], (200, 3))
        path.write_text("".join(f"{a} 1:{a * size} 2:{b} 3:{c}\n" for a, b, c in votes.tolist()))
        found = json.loads(call("compare", path, "--json"))
        assert (name in [each["options"] for each in found["learners"]]) == there
        assert (name in found["left_out"]) != there


def test_the_file_is_read_once(stream: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many learners there are; standard input is enough, for it cannot be read twice."""
    whole, readings = StreamReader.__iter__, []

    def counted(self: StreamReader) -> Iterator[Any]:
        readings.append(self)
        return whole(self)

    monkeypatch.setattr(StreamReader, "__iter__", counted)
    first = json.loads(call("compare", stream, "--json"))
    assert len(readings) == 1
    again = json.loads(call("compare", "-", "--json", text=stream.read_text()))
    assert [each["mistakes"] for each in again["learners"]] == [each["mistakes"] for each in first["learners"]]


def test_last_half(tmp_path: Path) -> None:
    """A stream that is easy in its second half."""
    path = tmp_path / "x.svm"
    path.write_text("".join(f"{k % 2} {k % 2 + 1}:1\n" for k in range(100)))
    found = {each["options"]: each for each in json.loads(call("compare", path, "--json"))["learners"]}
    assert found["--learner perceptron"]["mistakes"] == 1
    assert found["--learner perceptron"]["late_rate"] == 0


def test_learners_that_cannot_take_the_stream_are_listed(tmp_path: Path) -> None:
    """With the reason, also if it comes late; the others go on to the end."""
    path = tmp_path / "x.svm"
    path.write_text("1 1:1\n0 2:1\n" * 50 + "1 1:0.5\n" + "0 2:1\n" * 9)
    found = json.loads(call("compare", path, "--json"))
    assert found["rounds"] == 110
    refused = {each["options"].split()[1]: each["reason"] for each in found["not_counted"]}
    assert set(refused) == {"winnow", "elimination"}
    assert shows(refused["winnow"], f"{path}:101: ", "feature 1", "0.5")
    output = call("compare", path)
    assert shows(output, f"learners: {path}:101: ", "feature 1", "    elimination")


def test_bounds(stream: Path, tmp_path: Path) -> None:
    """Those of the Panel, and of Elimination without a missed positive, are known at once; others with --certify."""
    simple = json.loads(call("compare", stream, "--json"))["learners"]
    known = {each["options"]: each for each in simple if each["bound"] is not None}
    assert {*known} == {"--learner elimination", "--learner panel"}
    assert known["--learner panel"]["mistakes"] <= known["--learner panel"]["bound"]
    own = known["--learner elimination"]
    assert own["mistakes"] <= own["bound"] == 20
    certified = json.loads(call("compare", stream, "--json", "--certify"))["learners"]
    without = [each for each in certified if not DECLARATIONS[each["options"].split()[1]].has_theorem]
    assert {(each["status"], each["bound"]) for each in without} == {(None, None)}
    for each in (each for each in certified if each not in without):
        assert each["status"] in ("holds", "vacuous", "does not apply")
        assert (each["bound"] is None) == (each["status"] == "does not apply")
        assert each["bound"] is None or each["mistakes"] <= each["bound"] * (1 + 1e-9)
    path = tmp_path / "never.svm"
    path.write_text("0 1:1\n1 1:1\n")  # no disjunction: Elimination errs on a positive example
    linear = [each for each in json.loads(call("compare", path, "--json"))["learners"] if "members" not in each]
    assert all(each["bound"] is None for each in linear)


def test_faults_of_the_stream(stream: Path, tmp_path: Path) -> None:
    """A bad line ends the reading; the rounds before it are ranked. Only two learners learn a third label."""
    with stream.open("a") as file:
        file.write("broken\n")
    output = call("compare", stream, fails=1)
    assert "300 rounds" in output
    assert "stream.svm:301:1: " in output
    assert "300 rounds" in call("compare", stream, "--skip-bad", 1)
    third = tmp_path / "third.svm"
    third.write_text("1 1:1\n2 1:1\n3 1:1\n")
    found = json.loads(call("compare", third, "--json"))
    several = ["panel", "multiclass-perceptron", "multiclass-perceptron --bias 1"]
    assert [each["options"] for each in found["learners"]] == [f"--learner {each}" for each in several]
    assert shows(call("compare", third), "third.svm:3: label 3", "1 and 2", "--positive", "always predicting 1")
    assert json.loads(call("compare", third, "--positive", 3, "--json"))["rounds"] == 3
    (tmp_path / "empty").write_text("")
    assert shows(call("compare", tmp_path / "empty", fails=1), "Error: ", "examples")


def test_ctrl_c_comes_between_the_rounds_of_all(stream: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However early it comes: all learners are ranked by the same rounds."""
    learn = Contender.learn

    def interrupted(self: Contender, *rows: Any) -> None:
        learn(self, *rows)
        if "pnorm" in self.learner.ledger_.rule.id and self.curve.rounds > 100:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Contender, "learn", interrupted)
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", 500)
    monkeypatch.setattr(uninterrupted, "is_listening", False)
    found = json.loads(call("compare", stream, "--json", fails=130).split("stopped by Ctrl-C")[0])
    assert 100 < found["rounds"] < 300
    for each in found["learners"]:
        assert each["mistakes"] == pytest.approx(each["rate"] * found["rounds"])


def test_interrupt_ends_with_the_table(stream: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = StreamReader.__iter__

    def interrupted(self: StreamReader) -> Iterator[Any]:
        yield next(whole(self))
        raise KeyboardInterrupt

    monkeypatch.setattr(StreamReader, "__iter__", interrupted)
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", 500)
    assert "perceptron --bias 1" in call("compare", stream, fails=130)


def test_picture(stream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PNG; without matplotlib, a sentence before anything is read."""
    call("compare", stream, "--plot", tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    from mistakebound.viz.plot import curves

    figure = curves({"a": [(0, 0), (1, 1), (10, 4)], "b": [(0, 0), (1, 0), (10, 1000)]})
    (axes,) = figure.axes
    assert [line.get_xydata().tolist() for line in axes.lines] == [[[1, 1], [10, 4]], [[1, 0], [10, 1000]]]
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylim()[1] >= 1000
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "pip install 'mistakebound[plot]'" in call("compare", stream, "--plot", tmp_path / "y.png", fails=1)


def test_the_same_reason_is_shown_once(tmp_path: Path) -> None:
    """Every learner of two labels is stopped by the third one; Winnow also by a value."""
    file = tmp_path / "three.csv"
    file.write_text("n,label\n" + "1,a\n1,b\n" * 5 + "1,c\n")
    shown = call("compare", file, "--label", "label")
    assert shown.count("is a third label") == 1
    listed = shown.split("is a third label")[1].split("members of the panel")[0]
    assert all(f"    {name}" in listed for name in ("perceptron", "arow --r 1", "naive-bayes"))
    found = json.loads(call("compare", file, "--label", "label", "--json"))
    assert f"  {len(found['not_counted'])} learners: {file}:12: label 'c' is a third label" in shown
    file.write_text("n,label\n" + "1,a\n2,b\n" * 5)
    assert shows(call("compare", file, "--label", "label"), "3 learners: ", "must be 0 or 1", "    elimination")
