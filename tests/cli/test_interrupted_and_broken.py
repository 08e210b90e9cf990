"""What somebody broke on purpose, and must not break again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import call, shows, svmlight
from processes import DEADLINE, PROGRAM, is_read, lines_of, opened_for, running, wait_until

import mistakebound as mb
from mistakebound.data import blocks as texts

# ---------------------------------------------------------------------- rows without features


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ('{"label":"b"}\n', [], ":1: label 'b' is the only label"),
        ('{"label":1}\n{"label":2}\n{"label":3}\n', [], ":3: label 3 is a third"),
        ("1 | a\n2 |\n3 |\n", [], ":3: label 3 is a third"),
        ("y,a\nb,0\n", ["--label", "y"], ":2: label 'b' is the only label"),
        ("1\n2\n3\n", ["--format", "svmlight"], ":3: label 3 is a third"),
    ],
)
def test_a_label_is_refused_of_a_row_without_features(
    text: str, options: list[str], reason: str, tmp_path: Path
) -> None:
    """Also in the last row of a block, which no feature follows."""
    path = tmp_path / "file"
    path.write_text(text)
    assert f"{path}{reason}" in call("run", path, *options, "--learner", "arow", fails=1)
    third = "third" in reason  # which the Panel learns
    assert f"{path}{reason}" in call("compare", path, *options, **({} if third else {"fails": 1}))


def test_the_rounds_before_a_bad_label_are_saved(tmp_path: Path) -> None:
    path, saved = svmlight(tmp_path / "a.svm"), tmp_path / "m.mb"
    with path.open("a") as file:
        file.write("5\n")
    assert "a.svm:301: label 5 " in call("run", path, "--learner", "arow", "--save", saved, fails=1)
    assert mb.load(saved).ledger_.rounds == 300


@pytest.mark.parametrize("first", ["1\n", "-1\n", "1 1:0\n-1 2:-0\n"])
def test_rows_without_features_come_first(first: str, tmp_path: Path) -> None:
    """Nothing is there to be scaled yet; what is learned then is what the same rows in memory teach."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 5)), rng.choice([-1, 1], 60)
    X[0] = 1
    lines = [f"{t} " + " ".join(f"{i + 1}:1" for i in np.flatnonzero(x)) for x, t in zip(X, y, strict=True)]
    path = tmp_path / "a.svm"
    path.write_text(first + "\n".join(lines))
    begun = [int(line.split()[0]) for line in first.splitlines()]
    for make in (mb.BalancedWinnow, mb.NormalizedWinnow, mb.Perceptron, mb.PNormPerceptron):
        ledger = make().run(mb.Source(path, format="svmlight"))
        expected = make().run(np.vstack([np.zeros((len(begun), 5)), X]), np.concatenate([begun, y]))
        assert ledger.predictions.tolist() == expected.predictions.tolist()
    assert mb.BalancedWinnow(update_margin=0.01).run(mb.Source(path, format="svmlight")).rounds == 60 + len(begun)


# ---------------------------------------------------------------------- files


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_or_device_is_not_replaced(tmp_path: Path) -> None:
    """A model takes the place of the old one, but never that of a device or a pipe."""
    path, pipe = svmlight(tmp_path / "a.svm"), tmp_path / "pipe"
    os.mkfifo(pipe)
    for option in ("--save", "--certificate"):
        assert shows(call("run", path, option, pipe, fails=2), option, str(pipe), "regular file")
    learner = mb.Perceptron()
    learner.run(mb.Source(path))
    with pytest.raises(OSError, match="regular file"):
        learner.save(pipe)
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs a device that is always full")
@pytest.mark.parametrize("option", ["--predictions", "--report"])
def test_a_full_disk_is_reported_with_the_file(option: str, tmp_path: Path) -> None:
    path = svmlight(tmp_path / "a.svm")
    assert "Error: /dev/full: No space left" in call("run", path, option, "/dev/full", fails=1)
    words = f"{sys.executable} -m mistakebound run {path} {option} {tmp_path / 'other'} > /dev/full"
    result = subprocess.run(words, shell=True, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "other" not in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_a_model_that_does_not_fit_on_the_disk_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text("".join(f"{k % 2} {k * 1000 + 1}:1\n" for k in range(100)))
    outputs = f"--save {tmp_path / 'm.mb'} --predictions {tmp_path / 'p'}"
    words = f"ulimit -f 20; {sys.executable} -m mistakebound run {path} {outputs}"
    result = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "m.mb: File too large" in result.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.svm", "p"]


def test_a_file_that_is_written_to_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not known which text was read, but the run reports that the file has changed."""
    monkeypatch.setattr(texts, "BLOCK", 300)
    path = svmlight(tmp_path / "a.svm")
    source = mb.Source(path)
    reader = source.open()
    parts = iter(reader)
    next(parts)
    os.utime(path, (1, 1))
    rest = list(parts)
    assert rest
    (remark,) = reader.report.remarks
    assert str(path) in str(remark)
    again = source.open()
    assert len(list(again)) == len(rest) + 1
    assert again.report.remarks == ()
    reader = source.open()
    parts = iter(reader)
    next(parts)
    path.rename(tmp_path / "b.svm")  # as logs are
    assert len(list(parts)) == len(rest)
    assert reader.report.remarks == ()


def test_a_byte_order_mark(tmp_path: Path) -> None:
    """Tables and JSON lines may have one. Errors of other formats name it, because it is invisible."""
    path = tmp_path / "file"
    for text, kind in (("1 | a\n", "vw"), ("1 1:1\n", "svmlight")):
        path.write_text("\ufeff" + text, encoding="utf-8")
        shown = call("run", path, fails=1)
        assert "byte order mark" in shown
        assert kind in shown
        good = tmp_path / "good"
        good.write_text(text)
        assert "byte order mark" in call("run", good, path, fails=1)
    path.write_text('\ufeff{"label": 1, "a": 2}\n', encoding="utf-8")
    assert json.loads(call("run", path, "--json"))["rounds"] == 1


def test_bad_lines_after_the_end_of_a_run_are_not_listed(tmp_path: Path) -> None:
    """Bad lines before the line that ended the run were skipped; those after it were not read."""
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\nfirst\n-1 2:1\n7 1:1\nsecond\n")
    found = json.loads(call("run", path, "--learner", "arow", "--skip-bad", 3, "--json", fails=1).splitlines()[0])
    assert [line.split(":")[-3] for line in found["skipped"]] == ["2"]
    source = mb.Source(path, skip_bad=3)
    with pytest.raises(mb.StreamError) as caught:
        mb.Perceptron().run(source)
    assert [str(line) for line in caught.value.ledger.reading.skipped] == found["skipped"]


# ---------------------------------------------------------------------- however it comes


def from_slow_pipe(text: bytes, *words: Any, first: int) -> tuple[int, str]:
    """Exit code and output of a run whose input comes in two goes, the second when the first has been read."""
    with running("run", "-", *words, stdin=subprocess.PIPE, stderr=subprocess.STDOUT, text=False) as process:
        process.stdin.write(text[:first])
        process.stdin.flush()
        wait_until(lambda: is_read(process.stdin), process)
        out, _ = process.communicate(text[first:], timeout=DEADLINE)
        return process.returncode, out.decode()


@pytest.mark.parametrize("block", [300, 20_000, 1 << 20])
def test_a_label_that_comes_late_is_waited_for(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the text is cut, and however late: what comes before the second label is learned with it."""
    monkeypatch.setattr(texts, "BLOCK", block)
    path = tmp_path / "t.csv"
    path.write_text("kind,x\n" + "ham,1\n" * 9000 + "spam,2\n" + "ham,1\n" * 10)
    ledger = mb.Perceptron().run(mb.Source(path, label="kind"))
    assert ledger.rounds == 9011
    assert set(ledger.predictions.tolist()) <= {"ham", "spam"}


def test_binary_data_is_refused_from_a_file_and_a_pipe() -> None:
    text = b"1 | a\n0 | b\n" * 100 + b"1 | a\0b\n"
    for first in (12, len(text)):
        code, out = from_slow_pipe(text, first=first)
        assert code == 1
        assert shows(out, "Error: -: ", "byte 1206")


# ---------------------------------------------------------------------- Ctrl-C, and nobody who listens


def test_ctrl_c_in_the_midst_of_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that Ctrl-C causes, such as in an import, has its exit code; other errors are reported as usual."""

    def failing(*_: Any, **__: Any) -> None:
        message = "of numpy"
        raise ImportError(message) from KeyboardInterrupt(signal.SIGTERM)

    monkeypatch.setattr("mistakebound.runs.comparison.compare", failing)
    assert call("compare", svmlight(tmp_path / "a.svm"), fails=143) == ""

    def failing_later(*_: Any, **__: Any) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        message = "no room"
        raise ValueError(message)

    monkeypatch.setattr("mistakebound.runs.comparison.compare", failing_later)
    assert call("compare", tmp_path / "a.svm", fails=1) == "Error: no room\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_the_very_start_has_its_exit_code(number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """BUG: as soon as the handlers were set, but before the command began, it was "Aborted!" with exit code 1."""

    def listen() -> None:
        raise KeyboardInterrupt(number)

    monkeypatch.setattr("mistakebound.cli.uninterrupted.listen", listen)
    assert call("version", fails=128 + number) == ""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_signals_that_are_to_be_ignored_are(tmp_path: Path) -> None:
    """As those of a shell's background job."""
    path, fifo, predicted = svmlight(tmp_path / "a.svm"), tmp_path / "fifo", tmp_path / "p"
    os.mkfifo(fifo)
    ignoring = ("bash", "-c", 'trap "" INT; exec "$@"', "bash", *PROGRAM)
    words = ["run", fifo, "--format", "svmlight", "--json", "--predictions", predicted]
    with running(*words, program=ignoring) as process:
        with opened_for(process, fifo) as pipe:
            pipe.write(path.read_bytes())
            wait_until(lambda: lines_of(predicted) == 300, process)
            process.send_signal(signal.SIGINT)
            pipe.write(path.read_bytes())
        out, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0
    assert json.loads(out)["rounds"] == 600


@pytest.mark.parametrize("threads", [1, 2])
def test_lines_of_a_pipe_are_learned_before_it_ends(threads: int, tmp_path: Path) -> None:
    """However many lines there are: the next one may come late, and SIGTERM may come first."""
    lines = svmlight(tmp_path / "a.svm").read_bytes() * 200  # more than half a block
    echo = "from mistakebound._support import signals; signals.ECHO = 1e9"  # however late the next one is taken
    program = (sys.executable, "-c", f"{echo}; from mistakebound.__main__ import start; start()")
    words = ["run", "-", "--json", "--threads", threads, "--predictions", tmp_path / "p"]
    with running(*words, program=program, stdin=subprocess.PIPE, text=False) as process:
        process.stdin.write(lines)
        process.stdin.flush()
        wait_until(lambda: lines_of(tmp_path / "p") == 60_000, process)
        wait_until(lambda: process.send_signal(signal.SIGTERM) or process.poll() is not None)
        out, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 143
    assert json.loads(out)["rounds"] == 60_000


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_closed_standard_output_is_an_error(tmp_path: Path) -> None:
    words = f"{sys.executable} -m mistakebound run {svmlight(tmp_path / 'a.svm')} --json >&-"
    result = subprocess.run(words, shell=True, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "standard output" in result.stderr
