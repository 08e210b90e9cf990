"""``bench`` measures against the libraries that are installed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from files import call

import mistakebound as mb
from mistakebound.bench.peers import PEERS, as_river, our_matrix, our_rounds
from mistakebound.bench.timing import best_times, click_log, named_parts, write_texts


def test_bench_compares_with_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ratio for scikit-learn, and for the others how to install them."""
    there = importlib.util.find_spec
    only = lambda name, package=None: None if name in ("river", "vowpalwabbit") else there(name, package)  # noqa: E731
    monkeypatch.setattr("mistakebound.bench.peers.find_spec", only)
    found = json.loads(call("bench", "--rows", 200, "--repeats", 1, "--json"))
    assert found["not_installed"] == ["river", "vowpalwabbit"]
    assert {each["peer"] for each in found["results"]} == set(PEERS.values())
    for each in found["results"]:
        assert each["ours"] > 0
        if each["peer"] == "scikit-learn":
            assert each["ratio"] == pytest.approx(each["theirs"] / each["ours"])
        else:
            assert each["ratio"] is each["theirs"] is None
    output = call("bench", "--rows", 100, "--repeats", 1)
    assert "to compare: pip install river vowpalwabbit" in output
    lines = [line for line in output.splitlines() if "scikit-learn" in line]
    assert len(lines) == 3
    assert all(line.endswith("x") for line in lines)


def test_the_streams_have_the_documented_shape(tmp_path: Path) -> None:
    """75 non-zeros a row, learnable; the files have the same numbers; dicts have 30 names."""
    X, y = click_log(500, 2**20)
    assert set(np.diff(X.indptr)) == {75}
    assert mb.Perceptron().run(*click_log(4000, 2**12)).mistakes < 1600
    write_texts(X, y, tmp_path / "a", tmp_path / "b")
    index, value = our_matrix(tmp_path / "a")
    X.sort_indices()
    assert np.array_equal(index, X.indices)
    assert np.allclose(value, X.data, rtol=1e-5)
    assert mb.Source(tmp_path / "b").open().__iter__().__next__().chunk.named
    rows = [row for part in named_parts(100, 1000) for row in part]
    assert {len(x) for x, _ in rows} == {30}
    learner = as_river()
    our_rounds(learner, rows)
    assert learner.ledger_.rounds == 100


def test_turns_are_interleaved_and_the_best_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, turns = [0.0], []
    monkeypatch.setattr("mistakebound.bench.timing.time.perf_counter", lambda: clock[0])
    takes = {"a": [3.0, 1.0, 2.0], "b": [5.0, 6.0, 4.0]}

    def work(name: str) -> None:
        clock[0] += takes[name][sum(turn == name for turn in turns)]
        turns.append(name)

    result: list[str] = []

    def before(name: str) -> None:
        clock[0] += 9  # does not count
        result.append(name)

    contenders = {name: lambda name=name: work(name) for name in takes}
    assert best_times(contenders, 3, before) == {"a": 1.0, "b": 4.0}
    assert turns == result == ["a", "b"] * 3
