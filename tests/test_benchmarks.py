"""The benchmarks of the Panel: their scores, their streams, and what they report if something is missing."""

from __future__ import annotations

import importlib
import math
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import spark_session
from pages import ROOT
from scipy.sparse import csr_matrix

PROGRAMS = ROOT / "benchmarks"


@pytest.fixture
def accuracy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(PROGRAMS)
    return importlib.import_module("bench_accuracy")


def run(program: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, PROGRAMS / program, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_speed_of_the_panel_is_measured_beside_its_goals(tmp_path: Path) -> None:
    """Without data; the sizes are small, so the times mean nothing."""
    done = run("bench_panel.py", "--quick", "--data", tmp_path / "nowhere")
    assert done.returncode == 0, done.stderr
    assert "no real streams: " in done.stdout
    for name in ("full, one thread", "full, two threads", "lean, one thread", "lean, two threads"):
        assert sum(line.startswith(name) for line in done.stdout.splitlines()) == 2
    assert "≤ 5.5x" in done.stdout
    assert "B a feature" in done.stdout


def test_missing_data_and_unknown_streams_are_reported(tmp_path: Path) -> None:
    done = run("bench_accuracy.py", "--data", tmp_path)
    assert done.returncode == 1
    assert f"{tmp_path / 'loaders.py'} does not exist: pass the data folder with --data" in done.stderr
    done = run("bench_accuracy.py", "--streams", "a9a,a8a")
    assert done.returncode == 2
    assert "there is no stream 'a8a'; the streams are a9a, rcv1_small" in done.stderr


def write_scores(*command: Any) -> None:
    """Write predictions in place of Vowpal Wabbit."""
    Path(command[command.index("-p") + 1]).write_text("0\n1.0986123\n-1.0986123 tag\n-60\n")


def test_the_score_of_vowpal_wabbit_is_that_of_its_predictions(
    accuracy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: p is 1/2, 3/4, 1/4 and, clipped, 1e-9. A score of 0 predicts the negative label."""
    monkeypatch.setattr(accuracy, "process", write_scores)
    found = accuracy.vw(accuracy.SETTINGS["sgd"], tmp_path / "stream.vw", np.array([1, 1, 0, 1]))
    assert found.error == 2 / 4
    assert found.log_loss == pytest.approx((math.log(2) - 2 * math.log(0.75) - math.log(1e-9)) / 4, rel=1e-6)
    hinge = accuracy.vw(accuracy.SETTINGS["hinge"], tmp_path / "stream.vw", np.array([0, 1, 0, 0]))
    assert hinge == (0, math.inf)


def test_the_panel_is_scored_by_its_own_predictions(accuracy: Any) -> None:
    """Two mistakes: it predicts the positive label first; then the constant feature makes unseen ones negative."""
    X, y = csr_matrix(np.tile(np.eye(2), (100, 1))), np.tile([0, 1], 100)
    found = accuracy.panel(X, y)
    assert found.error == 2 / 200
    assert 0 < found.log_loss < 0.2


def test_only_the_monks_are_permuted(accuracy: Any) -> None:
    X, y = csr_matrix(np.arange(1.0, 9)[:, None]), np.arange(8)
    data = SimpleNamespace(a9a=lambda: (X, y), monks=lambda k: (X * k, y))
    assert accuracy.stream(data, "a9a")[1].tolist() == list(range(8))
    rows, labels = accuracy.stream(data, "monks3")
    assert sorted(labels) == list(range(8)) != labels.tolist()
    assert rows.toarray().ravel().tolist() == (3.0 * (labels + 1)).tolist()


def test_tolerances(accuracy: Any) -> None:
    assert accuracy.tolerance("a9a", 32_561) == 0.0005
    assert accuracy.tolerance("monks1", 500) == 0.004
    assert accuracy.tolerance("sms_spam", 5_574) == 0.0015
    assert set(accuracy.PROTOTYPE) == set(accuracy.STREAMS)


# ---------------------------------------------------------------------- several classes


@pytest.fixture
def classes(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(PROGRAMS)
    return importlib.import_module("bench_classes")


@pytest.fixture
def class_streams(classes: Any) -> Any:
    return importlib.import_module("class_streams")


def test_missing_data_and_unknown_streams_of_classes_are_reported(class_streams: Any, tmp_path: Path) -> None:
    done = run("bench_classes.py", "--streams", "digits,letter")
    assert done.returncode == 2
    assert "there is no stream 'letter'; the streams are digits, digits_shuffled, iris" in done.stderr
    with pytest.raises(SystemExit, match=r"loaders.py does not exist: pass the data folder with --data"):
        list(class_streams.streams("kdd99", tmp_path))


def test_the_first_round_of_each_label_is_a_mistake(classes: Any) -> None:
    y = np.array([0, 0, 1, 0, 2])
    assert classes.first_rounds(y).tolist() == [True, False, True, False, True]
    assert classes.error([0, 0, 1, 1, 2], y) == 4 / 5
    assert classes.error([None, 1, 0, 0, 0], y) == 4 / 5


def write_chances(*command: Any) -> None:
    """Write predictions of three classes in place of Vowpal Wabbit."""
    assert command[command.index("--oaa") + 1] == "3"
    lines = ["1:0.5 2:0.25 3:0.25", "1:0.25 2:0.5 3:0.25", "1:0 2:1 3:0", "1:0.25 2:0.25 3:0.5", "1:0.5 2:0.5 3:0"]
    if "--probabilities" not in command:
        lines = [line[line.rindex(max(line.split(), key=lambda cell: float(cell[2:]))) :][0] for line in lines]
    Path(command[command.index("-p") + 1]).write_text("\n".join(lines) + "\n")


def test_the_score_of_vowpal_wabbit_for_classes_is_that_of_its_predictions(
    classes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: rounds 1, 2 and 4 are the first of their labels; p is 1/2, 1/2, clipped 1e-9, 1/2, and 1/2 at a tie."""
    monkeypatch.setattr(classes, "process", write_chances)
    y = np.array([0, 1, 0, 2, 0])
    found = classes.vw(classes.SETTINGS["ftrl"], tmp_path / "stream.vw", y)
    assert found.error == 4 / 5
    assert found.log_loss == pytest.approx((4 * math.log(2) - math.log(1e-9)) / 5)
    hinge = classes.vw(classes.SETTINGS["hinge"], tmp_path / "stream.vw", y)
    assert hinge == (4 / 5, math.inf)


def test_the_best_setting_is_that_of_the_least_mean(classes: Any) -> None:
    scores = [{"a": classes.Score(0.1, 3.0), "b": classes.Score(0.2, 1.0)}] * 2 + [
        {"a": classes.Score(0.6, 1.0), "b": classes.Score(0.2, 1.0)}
    ]
    assert classes.best_mean(scores, lambda score: score.error) == (pytest.approx(0.2), "b")
    assert classes.best_mean(scores[:2], lambda score: score.error) == (pytest.approx(0.1), "a")


def test_the_panel_of_classes_is_scored_by_its_own_predictions(classes: Any) -> None:
    """Each of the three labels is new once, and once more the constant feature leads to a wrong one."""
    X, y = csr_matrix(np.tile(np.eye(3), (100, 1))), np.tile([0, 1, 2], 100)
    found = classes.panel(X, y)
    assert found.error == 4 / 300
    assert 0 < found.log_loss < 0.2


def test_rows_are_standardised_by_the_rows_so_far(classes: Any) -> None:
    found = classes.standardised(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]))
    assert found[:, 0].tolist() == pytest.approx([0, 1, 0])
    assert found[:, 1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("learner", ["sgd", "river"])
def test_other_libraries_learn_after_they_predict(classes: Any, learner: str) -> None:
    """A label that equals the feature is learned; one that is drawn after the row cannot be."""
    pytest.importorskip("sklearn" if learner == "sgd" else "river")
    play = {"sgd": lambda *rows: classes.sgd({"loss": "log_loss"}, *rows), "river": classes.river}[learner]
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=100)
    assert play(csr_matrix(np.eye(3)[y]), y) < 0.1
    assert 0.5 < play(csr_matrix(np.eye(3)[rng.integers(3, size=100)]), y) < 0.8


def test_public_streams_of_classes_are_as_described(class_streams: Any, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    ((digits, y),) = class_streams.streams("digits", tmp_path)
    assert (digits.shape, digits.data.max(), y[:12].tolist()) == ((1797, 64), 1, [*range(10), 0, 1])
    wines = list(class_streams.streams("wine", tmp_path))
    assert len(wines) == 5
    assert wines[0][1].tolist() != wines[1][1].tolist()
    for X, _ in wines:
        assert X.toarray().std(axis=0).tolist() == pytest.approx([1] * 13)


@pytest.mark.parametrize(
    ("name", "shape", "labels"),
    [
        ("clusters", (5_000, 20), 12),
        ("topics", (10_000, 5_000), 40),
        ("letters", (10_000, 16), 26),
        ("products", (10_000, 24), 5),
    ],
)
def test_generated_streams_have_all_their_labels_in_order(
    class_streams: Any, tmp_path: Path, name: str, shape: tuple[int, int], labels: int
) -> None:
    pytest.importorskip("sklearn")
    ((X, y),) = class_streams.streams(name, tmp_path)
    assert X.shape == shape
    first = np.unique(y, return_index=True)[1]
    assert len(first) == labels
    assert sorted(first) == first.tolist()


def test_the_speed_of_the_panel_is_measured_by_classes() -> None:
    """The sizes are small, so the times mean nothing."""
    done = run("bench_class_speed.py", "--quick")
    assert done.returncode == 0, done.stderr
    for count in ("2", "10", "100", "1,000"):
        assert sum(line.startswith(f"| {count} |") for line in done.stdout.splitlines()) == 1
    assert "| digits, repeated |" in done.stdout or "no whole processes: pip install" in done.stdout


def test_the_memory_of_the_panel_is_below_its_bound() -> None:
    done = run("bench_class_memory.py", "--rows", "160", "--features", "200", "--classes", "40")
    assert done.returncode == 0, done.stderr
    cells = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:]]
    assert [cell[0] for cell in cells[:3]] == ["0", "20", "40"]
    peaks = [int(cell[1].replace(",", "")) for cell in cells]
    assert peaks == sorted(peaks)
    assert peaks[0] < peaks[-2] < peaks[-1]


def test_the_bound_of_the_memory_has_the_limits_of_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PROGRAMS)
    memory = importlib.import_module("bench_class_memory")
    core = (ROOT / "core" / "panel" / "classes" / "slot_members.hpp").read_text()
    factor, power = re.search(r"most_slot_blocks = std::size_t\{(\d+)\} << (\d+);", core).groups()
    assert (int(factor) << int(power)) * 260 + 12 * 2**18 == memory.BYTES_OF_SLOTS
    assert memory.largest(10_000, 1_000) < 2e9


def test_every_stream_of_classes_is_in_the_documentation(class_streams: Any) -> None:
    page = (ROOT / "docs" / "accuracy.md").read_text()
    assert [name for name in class_streams.STREAMS if f"\n| {name} |" not in page] == []


def test_tables_are_skipped_without_their_data(tmp_path: Path) -> None:
    done = run("bench_tables.py", "--data", tmp_path / "nowhere")
    assert done.returncode == 1
    assert f"{tmp_path / 'nowhere'} does not exist: pass the data folder with --data" in done.stderr
    done = run("bench_tables.py", "--data", tmp_path, "--sets", "elec2")
    assert done.returncode == 0
    assert f"elec2          skipped: {tmp_path / 'elec2' / 'elec2_data.dat.gz'} does not exist" in done.stdout
    assert "there is no set 'elec3'; the sets are a9a, elec2" in run("bench_tables.py", "--sets", "elec3").stderr


def test_several_labels_are_measured_beside_separate_panels() -> None:
    done = run("bench_multilabel.py", "--quick")
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if re.match(r"\| \d+, \d+ \|", line)]
    assert [line.split(" |")[0] for line in rows] == ["| 30, 5", "| 30, 50", "| 75, 5", "| 75, 50"]
    assert done.stdout.count("labels, 500 names |") == 2


@pytest.mark.skipif(spark_session.missing() is not None, reason=spark_session.missing() or "")
def test_bench_spark_compares_speeds_and_overhead() -> None:
    done = run("bench_spark.py", "--quick")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    names = ("mistakebound Panel", "LogisticRegression, 1 iterations", "LinearSVC, 100 iterations")
    errors = [float(line.split()[-1]) for name in names for line in lines if line.startswith(f"{name} ")]
    assert len(errors) == 3 + 1  # also the lean Panel
    assert max(errors) < 0.25
    assert sum(" vector " in line for line in lines) == sum(" table " in line for line in lines) == 4


@pytest.mark.skipif(spark_session.missing() is not None, reason=spark_session.missing() or "")
def test_bench_spark_errors_needs_the_data(tmp_path: Path) -> None:
    done = run("bench_spark_errors.py", "--data", tmp_path)
    assert "does not exist: pass the data folder with --data" in done.stderr
