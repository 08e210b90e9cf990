"""A run that is stopped or killed at any moment goes on, and ends with the very model of a run that never stopped."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from files import STREAMS, call, shows, svmlight, with_bad_lines
from processes import DEADLINE, is_read, lines_of, opened_for, running, wait_until

import mistakebound as mb
from mistakebound._support.atomic_file import sweep
from mistakebound._support.signals import uninterrupted
from mistakebound.cli import main
from mistakebound.learners.linear import KINDS
from mistakebound.models import model_file as store


@pytest.fixture(params=STREAMS)
def stream(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Words of a command that reads a stream in many small blocks."""
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", 700)
    monkeypatch.setattr("mistakebound.data.arrow.CELLS", 60)
    return STREAMS[request.param](tmp_path)


class Stop(Exception):  # noqa: N818
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


def of_the_stream(found: dict[str, Any]) -> dict[str, Any]:
    """All but what is of the process: how long it took, how much it read, and where it wrote to."""
    return {name: value for name, value in found.items() if name not in ("seconds", "bytes", "saved")}


@pytest.mark.parametrize("every", [1, 7, 64])
def test_stopped_again_and_again_is_never_stopped(
    stream: list[Any], every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Model, counts, predictions and skipped lines are those of a run in one go; slices and blocks do not matter."""
    saved, whole = tmp_path / "m.mb", tmp_path / "whole.mb"
    plain = json.loads(call("run", *stream, "--save", tmp_path / "plain.mb", "--json", "--predictions", tmp_path / "p"))
    in_one_go = ["run", *stream, "--json", "--checkpoint-every", 1000, "--predictions", tmp_path / "p"]
    assert of_the_stream(json.loads(call(*in_one_go, "--save", whole))) == of_the_stream(plain)

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
    assert of_the_stream(found) == of_the_stream(plain)
    assert saved.read_bytes() == whole.read_bytes()
    assert (tmp_path / "q").read_bytes() == (tmp_path / "p").read_bytes()
    assert store.fingerprint(mb.load(saved)) == store.fingerprint(mb.load(tmp_path / "plain.mb"))

    monkeypatch.setattr(store, "save", store_save)  # what has ended stays so
    again = call(*command)
    assert of_the_stream(json.loads(again.splitlines()[-1])) == of_the_stream(plain)
    assert saved.read_bytes() == whole.read_bytes()


def test_at_most_n_examples_are_learned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint comes after every N examples, wherever blocks end, and however many of them one holds."""
    path, rounds = svmlight(tmp_path / "a.svm"), []
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", 1700)

    def save(learner: Any, *given: Any) -> None:
        rounds.append(learner.ledger_.rounds)
        store_save(learner, *given)

    monkeypatch.setattr(store, "save", save)
    call("run", path, "--save", tmp_path / "m.mb", "--checkpoint-every", 7)
    assert rounds == [*range(7, 300, 7), 300]


# ---------------------------------------------------------------------- real processes


DYING = """
import os, signal, sys
left = int(sys.argv.pop(1))
def dying(step):
    def counted(*given):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*given)
    return counted
os.fsync, os.replace = dying(os.fsync), dying(os.replace)
from mistakebound.__main__ import start
start()
"""
"""The command, killed before its so many-th step at the disk; a checkpoint has three."""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """kill -9: whatever stands at the path is whole, litter does not matter and is swept, the end is the same."""
    path, saved = svmlight(tmp_path / "a.svm", count=1000), tmp_path / "m.mb"
    command = ["run", path, "--save", saved, "--checkpoint-every", 10, "--resume", "--passes", 3, "--json"]
    call("run", path, "--save", tmp_path / "whole.mb", "--checkpoint-every", 10**6, "--passes", 3, "--json")
    rng, rounds, litter = random.Random(3), [], 0
    for last in (1, 2, 3, 1, 2, 3):  # the step within a checkpoint before which it is killed
        steps = 3 * rng.randrange(1, 20) + last
        with running(steps, *command, program=(sys.executable, "-c", DYING)) as process:
            err = process.communicate(timeout=DEADLINE)[1]
        assert process.returncode == -signal.SIGKILL, err
        rounds.append(mb.load(saved).ledger_.rounds)
        litter += len(list(tmp_path.glob(".*")))
    assert rounds == sorted(rounds)
    assert 0 < rounds[0] < rounds[-1] < 3_000
    assert litter == 4  # before its content was on the disk, or before it took the place of the file
    with running(*command) as process:
        assert json.loads(process.communicate(timeout=DEADLINE)[0])["rounds"] == 3_000
    assert saved.read_bytes() == (tmp_path / "whole.mb").read_bytes()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.svm", "m.mb", "whole.mb"]


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("more", [[], ["--checkpoint-every", 100]])
def test_interrupted_and_resumed(number: signal.Signals, more: list[Any], tmp_path: Path) -> None:
    """Ctrl-C while a pipe is read: what was learned is counted and saved; of a file, the rest can follow later."""
    path, fifo, saved = svmlight(tmp_path / "a.svm", count=2000), tmp_path / "fifo", tmp_path / "m.mb"
    os.mkfifo(fifo)
    more = [*more, "--predictions", tmp_path / "p"]
    with (
        running("run", path, fifo, "--format", "svmlight", "--save", saved, *more) as process,
        opened_for(process, fifo) as pipe,
    ):
        pipe.write(b"1 1:")  # no line yet
        wait_until(lambda: is_read(pipe) and lines_of(tmp_path / "p") == 2000, process)
        process.send_signal(number)
        out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 128 + number, err
    assert re.search(r"^stopped +by Ctrl-C or SIGTERM", out, re.MULTILINE)
    rounds = mb.load(saved).ledger_.rounds
    assert f"mistakes in {rounds:,} rounds" in out
    assert rounds == 2000
    fifo.unlink()
    svmlight(fifo, seed=5)  # what had not been read may be another now
    call("run", path, fifo, "--format", "svmlight", "--save", saved, "--resume", *more)
    call("run", path, fifo, "--format", "svmlight", "--save", tmp_path / "whole.mb")
    assert store.fingerprint(mb.load(saved)) == store.fingerprint(mb.load(tmp_path / "whole.mb"))


def test_uninterrupted_lets_ctrl_c_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mistakebound._support.signals.ECHO", 0.0)
    steps = []
    with pytest.raises(KeyboardInterrupt), uninterrupted:  # noqa: PT012
        with uninterrupted:
            signal.raise_signal(signal.SIGINT)
            steps.append("inner")
        steps.append("outer")
    assert steps == ["inner", "outer"]
    with pytest.raises(KeyboardInterrupt):  # outside of it, at once
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), uninterrupted:  # noqa: PT012 - the first error is reported
        signal.raise_signal(signal.SIGINT)
        1 / 0  # noqa: B018
    with uninterrupted:  # and nothing is left over
        pass


def test_only_files_of_dead_processes_are_removed(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    gone = [tmp_path / f".m.mb.{dead.pid}.0a.unfinished.mb", tmp_path / f".m.mb.{10**30}.0a.unfinished.mb"]
    stay = [
        tmp_path / name for name in (f".m.mb.{os.getpid()}.0a.unfinished.mb", f".other.mb.{dead.pid}.0a.mb", "m.mb")
    ]
    for each in gone + stay:
        each.touch()
    sweep(tmp_path / "m.mb")
    assert sorted(tmp_path.iterdir()) == sorted(stay)


# ---------------------------------------------------------------------- another run, other files


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A command whose run was stopped in the second of two files."""
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", 700)
    words = ["run", svmlight(tmp_path / "a", 0, 100), svmlight(tmp_path / "b", 1, 100), "--save", tmp_path / "m.mb"]
    stopped_at_every(monkeypatch, 14)
    with pytest.raises(Stop):
        CliRunner().invoke(main, [str(w) for w in (*words, "--checkpoint-every", 10)], catch_exceptions=False)
    monkeypatch.setattr(store, "save", store_save)
    return [*words, "--resume"]


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda a, b: flip(a, 2), "a has changed: the bytes that were read have another SHA-256"),
        (lambda a, b: flip(a, -3), "a has changed"),
        (lambda a, b: flip(b, 300), "b has changed"),
        (lambda a, b: a.write_bytes(a.read_bytes() + b"1 1:1\n"), "a has changed: it had"),
        (lambda a, b: b.write_bytes(b.read_bytes()[:-9]), "b has changed: it had"),
        (lambda a, b: a.unlink(), "No such file"),
        (lambda a, b: a.write_bytes(gzip.compress(a.read_bytes())), "a has changed"),
    ],
)
def test_changed_files_are_refused(stopped: list[Any], change: Any, reason: str, tmp_path: Path) -> None:
    """One byte is enough; the model stays as it was."""
    before = (tmp_path / "m.mb").read_bytes()
    change(tmp_path / "a", tmp_path / "b")
    output = call(*stopped, fails=1)
    assert reason in output
    assert (tmp_path / "m.mb").read_bytes() == before


def test_a_broken_gz_file_is_reported(tmp_path: Path) -> None:
    """Cut short or altered: one line, and what came before is saved and verified."""
    text = svmlight(tmp_path / "a", count=180_000).read_bytes()
    data, saved = gzip.compress(text, 1, mtime=0), tmp_path / "m.mb"
    wrong_sum = data[:-8] + bytes([data[-8] ^ 1]) + data[-7:]
    for broken in (data[:-9000], data[: len(data) - 99_000] + b"x" * 90_000 + data[-9000:], wrong_sum):
        (tmp_path / "a.gz").write_bytes(broken)
        rounds = []
        for threads in (1, 2, 5):  # what was parsed ahead is not lost
            saved.unlink(missing_ok=True)  # otherwise an error would leave it as it is
            words = ["run", tmp_path / "a.gz", "--save", saved, "--certificate", tmp_path / "c.json"]
            assert f"{tmp_path / 'a.gz'}: this compressed file is damaged" in call(
                *words, "--threads", threads, fails=1
            )
            rounds.append(mb.load(saved).ledger_.rounds)
            assert "✗" not in call("verify", tmp_path / "c.json", tmp_path / "a", "--model", saved)
        assert 0 < rounds[0] < 180_000
        assert rounds == rounds[:1] * 3


def test_lines_that_were_not_read_yet_may_change(stopped: list[Any], tmp_path: Path) -> None:
    flip(tmp_path / "b", -5)
    assert "resuming after 140 examples" in call(*stopped)


@pytest.mark.parametrize(
    ("more", "names"),
    [
        (["--passes", 2], ["--passes 1", "--passes 2"]),
        (["--members", "lean"], ["--members lean"]),
        (["--learner", "perceptron"], ["Panel", "Perceptron"]),
        (["--zero-based"], ["--zero-based", "--zero-based"]),
        (["--positive", "1"], ["no --positive", "--positive 1"]),
        (["--classes", "0,1"], ["--classes"]),
        (["--predictions", "p"], ["--predictions"]),
    ],
)
def test_another_run_is_refused(stopped: list[Any], more: list[Any], names: list[str], tmp_path: Path) -> None:
    assert shows(call(*stopped, *more, fails=1), "Error: ", str(tmp_path / "m.mb"), *names)


def test_other_files_no_checkpoint_and_standard_input(stopped: list[Any], tmp_path: Path) -> None:
    run, a, b, *rest = stopped
    assert f"{a}, {b}" in call(run, a, *rest, fails=1)
    assert f"{b}, {a}" in call(run, b, a, *rest, fails=1)
    assert "needs --save" in call("run", a, "--resume", fails=2)
    assert "needs --save" in call("run", a, "--checkpoint-every", 5, fails=2)
    assert "--passes" in call("run", "-", "--passes", 2, text="1 1:1\n", fails=2)
    call("run", a, "--save", tmp_path / "m.mb")
    assert str(tmp_path / "m.mb") in call("run", a, "--save", tmp_path / "m.mb", "--resume", fails=1)
    piped = ["run", "-", "--save", tmp_path / "p.mb"]
    call(*piped, "--checkpoint-every", 2, text="1 1:1\n0 2:1\n1 1:1 bad\n", fails=1)
    assert mb.load(tmp_path / "p.mb").ledger_.rounds == 2
    assert shows(call(*piped, "--resume", text="1 1:1\n0 2:1\n", fails=1), str(tmp_path / "p.mb"), ": - ")
    assert f" {tmp_path / 'new.mb'} " in call("run", a, "--save", tmp_path / "new.mb", "--resume")


def test_a_bad_line_can_be_skipped_later(tmp_path: Path) -> None:
    """A run that a bad line stopped goes on with a higher --skip-bad, as if it had had it from the start."""
    path, saved = with_bad_lines(tmp_path / "a.svm"), tmp_path / "m.mb"
    assert "a.svm:52" in call("run", path, "--save", saved, "--skip-bad", 2, fails=1)
    refused = call("run", path, "--save", saved, "--skip-bad", 1, "--resume", fails=1)
    assert shows(refused, f"{saved}: ", "2 bad lines")
    assert "--skip-bad" in refused
    found = json.loads(call("run", path, "--save", saved, "--skip-bad", 5, "--resume", "--json").splitlines()[-1])
    assert found["skipped"] == json.loads(call("run", path, "--skip-bad", 5, "--json"))["skipped"]
    call("run", path, "--save", tmp_path / "whole.mb", "--skip-bad", 5)
    assert store.fingerprint(mb.load(saved)) == store.fingerprint(mb.load(tmp_path / "whole.mb"))


def leaves(at: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything in a JSON value."""
    yield way
    for key, value in at.items() if isinstance(at, dict) else enumerate(at) if isinstance(at, list) else ():
        yield from leaves(value, (*way, key))


def test_forged_progress_is_refused_or_harmless(stopped: list[Any], tmp_path: Path) -> None:
    """Whatever stands in the progress of a model, there is a reason or a run, never a traceback."""
    learner, progress = store.load_with_progress(tmp_path / "m.mb", KINDS)
    original, refused = json.dumps(progress), 0
    for way in list(leaves(progress))[1:]:
        for value in (None, -1, 10**30, "x", [], {}, True, 1.5):
            forged = json.loads(original)
            at = forged
            for key in way[:-1]:
                at = at[key]
            at[way[-1]] = value
            store.save(learner, tmp_path / "m.mb", KINDS, forged)
            result = CliRunner().invoke(main, [str(word) for word in stopped])
            assert result.exception is None or isinstance(result.exception, SystemExit), (way, value, result.exception)
            refused += result.exit_code != 0
    assert refused > 200
