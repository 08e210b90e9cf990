"""The benchmarks of the Panel: their scores, their streams, and what they report if something is missing."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
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


def test_tables_are_skipped_without_their_data(tmp_path: Path) -> None:
    done = run("bench_tables.py", "--data", tmp_path / "nowhere")
    assert done.returncode == 1
    assert f"{tmp_path / 'nowhere'} does not exist: pass the data folder with --data" in done.stderr
    done = run("bench_tables.py", "--data", tmp_path, "--sets", "elec2")
    assert done.returncode == 0
    assert f"elec2          skipped: {tmp_path / 'elec2' / 'elec2_data.dat.gz'} does not exist" in done.stdout
    assert "there is no set 'elec3'; the sets are a9a, elec2" in run("bench_tables.py", "--sets", "elec3").stderr
