"""A run that is stopped or killed at any moment goes on, and ends with the very model of a run that never stopped."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mistakebound as mb
from mistakebound import store
from mistakebound.cli import main
from mistakebound.cli.interrupt import uninterrupted
from mistakebound.container import sweep
from mistakebound.learners import KINDS


def call(*words: Any, fails: int = 0, text: str | None = None) -> str:
    result = CliRunner().invoke(main, [str(word) for word in words], input=text)
    assert result.exit_code == fails, result.output
    return result.output


# ---------------------------------------------------------------------- streams of every format


def rows(count: int, seed: int = 0) -> list[tuple[int, list[int]]]:
    rng = np.random.default_rng(seed)
    found = [sorted(rng.choice(30, 4, replace=False).tolist()) for _ in range(count)]
    return [(int(x[0] < 4) ^ int(rng.random() < 0.1), x) for x in found]


def svmlight(path: Path, seed: int = 0, count: int = 300) -> Path:
    path.write_text("".join(f"{y} " + " ".join(f"{i + 1}:1" for i in x) + "\n" for y, x in rows(count, seed)))
    return path


def vw(path: Path) -> Path:
    path.write_text("".join(f"{y} |f " + " ".join(f"w{i}" for i in x) + "\n" for y, x in rows(300)))
    return path


def table(path: Path) -> Path:
    """With quoted fields that go on over lines, so that blocks end within records."""
    lines = [f'"{" ".join(f"w{i}" for i in x)}\nand more",{x[0]},{"yes" if y else "no"}\n' for y, x in rows(300)]
    path.write_text("words,first,label\n" + "".join(lines))
    return path


def json_lines(path: Path) -> Path:
    path.write_text("".join(json.dumps({"label": y, "x": {f"w{i}": 1 for i in x}}) + "\n" for y, x in rows(300)))
    return path


def packed(path: Path) -> Path:
    text = svmlight(path.with_suffix(".plain")).read_bytes()
    path.write_bytes(gzip.compress(text, mtime=0))
    return path


def with_bad_lines(path: Path) -> Path:
    lines = svmlight(path).read_text().splitlines(keepends=True)
    for at in (3, 50, 51, 200, 298):
        lines[at] = "1 broken\n"
    path.write_text("".join(lines))
    return path


def with_labels(path: Path) -> list[Any]:
    labels = path.with_name("labels")
    labels.write_text("".join(f"{y}\n" for y, _ in rows(300)))
    path.write_text("".join(" ".join(str(int(i in x)) for i in range(30)) + "\n" for _, x in rows(300)))
    return [path, "--labels", labels, "--no-header", "--format", "table"]


STREAMS: dict[str, Callable[[Path], list[Any]]] = {
    "svmlight": lambda folder: [svmlight(folder / "a.svm")],
    "one thread": lambda folder: [svmlight(folder / "a.svm"), "--threads", 1],
    "vw": lambda folder: [vw(folder / "a.vw")],
    "table": lambda folder: [table(folder / "a.csv"), "--label", "label", "--text", "words"],
    "json": lambda folder: [json_lines(folder / "a.json")],
    "gz": lambda folder: [packed(folder / "a.gz")],
    "files": lambda folder: [svmlight(folder / "a"), svmlight(folder / "b", 1, 0), svmlight(folder / "c", 2, 77)],
    "passes": lambda folder: [svmlight(folder / "a"), svmlight(folder / "b", 1, 50), "--passes", 3],
    "skip bad": lambda folder: [with_bad_lines(folder / "a"), "--skip-bad", 5, "--passes", 2],
    "labels": lambda folder: with_labels(folder / "a"),
}


@pytest.fixture(params=STREAMS)
def stream(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Words of a command that reads a stream in many small blocks."""
    monkeypatch.setattr("mistakebound.sources.BLOCK", 700)
    return STREAMS[request.param](tmp_path)


class Stop(Exception):
    """Stands for a killed process."""


def stopped_at_every(monkeypatch: pytest.MonkeyPatch, saves: int) -> None:
    """Kill the next run right after it has written so many checkpoints."""
    written = 0

    def save(*given: Any) -> None:
        nonlocal written
        store_save(*given)
        written += 1
        if written == saves:
            raise Stop

    monkeypatch.setattr(store, "save", save)


store_save = store.save


@pytest.mark.parametrize("every", [1, 7, 64])
def test_stopped_again_and_again_is_never_stopped(
    stream: list[Any], every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Model, counts, predictions and skipped lines are those of a run in one go; slices and blocks do not matter."""
    saved, whole = tmp_path / "m.mb", tmp_path / "whole.mb"
    plain = json.loads(call("run", *stream, "--save", tmp_path / "plain.mb", "--json", "--predictions", tmp_path / "p"))
    in_one_go = ["run", *stream, "--json", "--checkpoint-every", 1000, "--predictions", tmp_path / "p"]
    assert {**json.loads(call(*in_one_go, "--save", whole)), "seconds": 0} == {**plain, "seconds": 0}

    rng, stops, found = random.Random(every), 0, {}
    command = ["run", *stream, "--save", saved, "--checkpoint-every", every, "--resume", "--json"]
    command += ["--predictions", tmp_path / "q"]
    while True:
        stopped_at_every(monkeypatch, rng.randint(1, 1 + 150 // every))
        result = CliRunner().invoke(main, [str(word) for word in command])
        if result.exit_code == 0:
            found = json.loads(result.stdout)
            break
        assert isinstance(result.exception, Stop), result.output
        stops += 1
    assert stops >= 3 or every == 64
    assert {**found, "seconds": 0} == {**plain, "seconds": 0}
    assert saved.read_bytes() == whole.read_bytes()
    assert (tmp_path / "q").read_bytes() == (tmp_path / "p").read_bytes()
    assert store.fingerprint(mb.load(saved)) == store.fingerprint(mb.load(tmp_path / "plain.mb"))

    monkeypatch.setattr(store, "save", store_save)  # what has ended stays so
    again = call(*command)
    assert {**json.loads(again.splitlines()[-1]), "seconds": 0} == {**plain, "seconds": 0}
    assert saved.read_bytes() == whole.read_bytes()


def test_no_more_than_so_many_examples_are_learned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint comes after every N examples, also when one block holds many times as many."""
    path, rounds = svmlight(tmp_path / "a.svm"), []

    def save(learner: Any, *given: Any) -> None:
        rounds.append(learner.ledger_.rounds)
        store_save(learner, *given)

    monkeypatch.setattr(store, "save", save)
    call("run", path, "--save", tmp_path / "m.mb", "--checkpoint-every", 7)
    assert rounds == [*range(7, 300, 7), 300]
