"""Checkpoints and certificates of files that grow, files of columns, and pipes."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from files import arrow_with_bad_rows, call, parquet, svmlight
from processes import DEADLINE, lines_of, opened_for, running, wait_until

import mistakebound as mb
from mistakebound.models.model_file import fingerprint

needs_signals = pytest.mark.skipif(os.name == "nt", reason="needs signals")


def grow(path: Path, text: str) -> None:
    with path.open("a") as out:
        out.write(text)


def fresh() -> mb.Panel:
    return mb.Panel()


@needs_signals
def test_a_followed_file_goes_on_after_kill_and_ctrl_c(tmp_path: Path) -> None:
    """It may have grown meanwhile; model and predictions are those of the finished file, and others can verify them."""
    text = svmlight(tmp_path / "all").read_text().splitlines(keepends=True)
    file, saved, predicted = tmp_path / "grows", tmp_path / "m.mb", tmp_path / "p"
    file.write_text("".join(text[:50]))
    command = [
        "run",
        file,
        "--follow",
        "--save",
        saved,
        "--resume",
        "--checkpoint-every",
        10,
        "--predictions",
        predicted,
    ]
    command += ["--certificate", tmp_path / "c.json"]
    for number, so_far in ((signal.SIGKILL, 120), (signal.SIGINT, 200), (signal.SIGTERM, 300)):
        with running(*command) as process:
            grow(file, "".join(text[lines_of(file) : so_far]) + text[so_far - 1][:3] * (so_far == 300))
            wait_until(lambda so_far=so_far: lines_of(predicted) >= so_far, process)
            process.send_signal(number)
            out, err = process.communicate(timeout=DEADLINE)
        assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 0), err
        if number == signal.SIGINT:  # what was killed may have lost what came after its last checkpoint
            assert "resuming after 110" in err or "resuming after 120" in err
    assert "resuming after 200" in err
    assert "in 300 rounds" in out
    learner = fresh()
    learner.run(mb.Source(tmp_path / "all"))
    assert fingerprint(mb.load(saved)) == fingerprint(learner)
    call("run", tmp_path / "all", "--predictions", tmp_path / "q")
    assert predicted.read_text() == (tmp_path / "q").read_text()
    for path in (file, tmp_path / "all"):  # what came later does not matter
        assert "✗" not in call("verify", tmp_path / "c.json", path, "--model", saved)
    assert call(*(w for w in command if w != "--follow"), fails=1).count("--follow") == 2
    file.write_text("2" + file.read_text()[1:])
    assert "another SHA-256" in call(*command, fails=1)
    file.write_text("1 1:1\n")
    assert "grows has changed" in call(*command, fails=1)


@needs_signals
def test_a_followed_file_that_was_replaced_has_no_certificate(tmp_path: Path) -> None:
    """But the run goes on in the new file, after a stop too."""
    file, saved, certificate, predicted = (tmp_path / name for name in ("log", "m.mb", "c.json", "p"))
    file.write_text("1 1:1\n0 2:1\n")
    command = ["run", file, "--follow", "--save", saved, "--certificate", certificate, "--predictions", predicted]
    with running(*command) as process:
        wait_until(lambda: lines_of(predicted) == 2, process)
        file.rename(tmp_path / "log.1")
        file.write_text("1 3:1\n")
        wait_until(lambda: lines_of(predicted) == 3, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1
    assert "in 3 rounds" in out
    assert "no certificate: " in err
    grow(file, "0 2:1\n")
    with running(*command, "--resume") as process:
        wait_until(lambda: lines_of(predicted) == 4, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE)
    assert "resuming after 3 examples" in err
    assert "no certificate: " in err
    assert not certificate.exists()
    learner = fresh()
    learner.run(mb.Source([tmp_path / "log.1", file]))
    assert fingerprint(mb.load(saved)) == fingerprint(learner)


def test_a_followed_certificate_cannot_make_verify_wait(tmp_path: Path) -> None:
    path = svmlight(tmp_path / "a")
    call("run", path, "--certificate", tmp_path / "c.json")
    output = json.loads((tmp_path / "c.json").read_text())
    assert "follow" not in output["reading"]
    output["reading"]["follow"] = True
    (tmp_path / "c.json").write_text(json.dumps(output))
    assert "'follow'" in call("verify", tmp_path / "c.json", path, fails=1)


def test_changed_columns_are_refused_and_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole file counts, whatever of it was read."""
    monkeypatch.setattr("mistakebound.data.arrow.CELLS", 60)
    path, saved = parquet(tmp_path / "a"), tmp_path / "m.mb"
    command = ["run", path, "--label", "label", "--save", saved, "--checkpoint-every", 7]
    call(*command, "--certificate", tmp_path / "c.json")
    assert "✗" not in call("verify", tmp_path / "c.json", path, "--model", saved)
    assert "✗" not in call("verify", tmp_path / "c.json", "-", text=path.read_bytes())
    data = path.read_bytes()
    path.write_bytes(data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    assert "another SHA-256" in call(*command, "--resume", fails=1)
    assert "the SHA-256 of its" in call("verify", tmp_path / "c.json", path, fails=1)


def test_columns_through_a_pipe(tmp_path: Path) -> None:
    """They are learned, but cannot be verified or resumed."""
    data = arrow_with_bad_rows(tmp_path / "a").read_bytes()
    command = ["run", "-", "--label", "label", "--skip-bad", 2]
    call(*command, text=data)
    for more in (["--certificate", tmp_path / "c.json"], ["--save", tmp_path / "m.mb", "--checkpoint-every", 9]):
        assert "-: checkpoints and certificates need Parquet and Arrow as files" in call(
            *command, *more, text=data, fails=1
        )


@needs_signals
def test_a_run_from_a_pipe_cannot_be_resumed(tmp_path: Path) -> None:
    path, fifo, saved = svmlight(tmp_path / "a.svm", count=20), tmp_path / "fifo", tmp_path / "m.mb"
    os.mkfifo(fifo)
    command = ["run", path, fifo, "--save", saved, "--predictions", tmp_path / "p"]
    with running(*command) as process, opened_for(process, fifo) as pipe:
        pipe.write(b"1 1:1\n")
        wait_until(lambda: lines_of(tmp_path / "p") == 21, process)  # learned as it comes
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert mb.load(saved).ledger_.rounds == 21
    assert "fifo" in call(*command, "--resume", fails=1)


def test_a_resumed_run_shows_its_bound(tmp_path: Path) -> None:
    """Also one that has nothing left to do."""
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n0 2:1\n0 3:1\n")
    command = ["run", path, "--learner", "elimination", "--save", tmp_path / "m.mb", "--resume", "--json"]
    first = json.loads(call(*command).splitlines()[-1])
    assert first["bound"] == 3
    assert json.loads(call(*command).splitlines()[-1])["bound"] == 3
