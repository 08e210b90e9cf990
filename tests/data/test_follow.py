"""Text that is still being written: learned as it comes, with the result of the finished file."""

from __future__ import annotations

import io
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import DEADLINE, lines_of, running, wait_until

import mistakebound as mb
from mistakebound.data import follow as live
from mistakebound.data.follow import arriving
from mistakebound.data.reader import StreamReader
from mistakebound.models.model_file import fingerprint


class Looks(threading.Event):
    """In place of the event that stops a follower: it waits for a test, not for a time, before it looks again."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []
        self.allowed = threading.Semaphore(0)

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        assert self.allowed.acquire(timeout=DEADLINE)
        return self.is_set()

    def set(self) -> None:
        super().set()
        self.allowed.release()


class Following:
    """A learner that follows a file in a thread of its own."""

    def __init__(self, *files: Path, step_by_step: bool = False, **options: Any) -> None:
        self.learner = mb.Perceptron(**options.pop("learner", {}))
        self.reader = mb.Source(files, follow=True, **options).open()
        self.looks = Looks()
        if step_by_step:
            self.reader._stop = self.looks
        self.rounds, self.error = 0, None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            for part in self.learner.run_parts(self.reader):
                self.rounds += part.rounds
        except ValueError as error:
            self.error = error

    def sees(self, rounds: int) -> None:
        wait_until(lambda: self.rounds == rounds or not self.thread.is_alive())
        assert self.rounds == rounds, self.error

    def looks_once(self) -> None:
        """Step by step: let it look at its file once, learn what is new there, and wait again."""
        wait_until(lambda: self.looks.waits)  # the first time, for its start
        before = len(self.looks.waits)
        self.looks.allowed.release()
        wait_until(lambda: len(self.looks.waits) > before or not self.thread.is_alive())
        assert self.thread.is_alive(), self.error

    def end(self) -> None:
        self.reader.stop()
        self.thread.join(DEADLINE)
        assert not self.thread.is_alive()


@pytest.fixture
def follow() -> Iterator[Callable[..., Following]]:
    """Followers that are ended, whatever happens."""
    begun: list[Following] = []

    def make(*files: Path, **options: Any) -> Following:
        begun.append(Following(*files, **options))
        return begun[-1]

    yield make
    for each in begun:
        each.end()


def model(learner: Any, path: Path) -> bytes:
    learner.save(path)
    return path.read_bytes()


FORMATS = {
    "svmlight": (["1 1:1 2:0.5", "0 2:1", "1 1:2 7:1", "0 3:1 2:4"] * 9, {}),
    "vw": (["1 |a x y:2", "-1 |b z", "1 |a x"] * 9, {}),
    "json": (['{"label": "b", "x": 1}', '{"label": "a", "y": {"z": "w"}}'] * 9, {}),
    "table": (["kind,x,c", "spam,1,red", "spam,2,red", 'ham,0.5,"a ""b', 'c"', "spam,3,blue"], {"label": "kind"}),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_a_followed_file_is_the_finished_file(kind: str, tmp_path: Path, follow: Callable[..., Following]) -> None:
    """Line by line, half lines too: the model has the bytes of one that read the file when it was finished."""
    lines, options = FORMATS[kind]
    file = tmp_path / "grows"
    file.write_text("")
    following = follow(file, step_by_step=True, **options)
    rng = np.random.default_rng(0)
    with file.open("a") as out:
        for line in lines:
            at = int(rng.integers(len(line) + 1))
            for piece in (line[:at], line[at:] + "\n"):
                out.write(piece)
                out.flush()
                if rng.random() < 0.7:  # otherwise two pieces are seen at once, or more
                    following.looks_once()
    following.looks_once()
    finished = mb.Perceptron()
    rounds = finished.run(mb.Source(file, **options)).rounds
    assert following.rounds == rounds
    following.end()
    assert model(following.learner, tmp_path / "a") == model(finished, tmp_path / "b")
    assert following.reader.report.remarks == ()


@pytest.mark.parametrize("labels", [("1", "2"), ("b", "a"), ("1", "+1.0", "2"), ("2", "1")])
def test_labels_that_come_one_at_a_time_are_those_of_the_finished_file(
    labels: tuple[str, ...], tmp_path: Path, follow: Callable[..., Following]
) -> None:
    """Nothing is learned before both are known, for the first one alone would not tell which is positive."""
    file = tmp_path / "grows"
    file.write_text("")
    following = follow(file)
    for number, label in enumerate(labels):
        with file.open("a") as out:
            out.write(f'{{"label": "{label}", "x{number}": 1}}\n')
        wait_until(lambda: following.reader.report.done == file.stat().st_size)
        assert following.rounds == 0 or label == labels[-1]
    following.sees(len(labels))
    following.end()
    finished = mb.Perceptron()
    finished.run(mb.Source(file))
    assert model(following.learner, tmp_path / "a") == model(finished, tmp_path / "b")


def test_a_line_is_learned_soon_after_it_is_written(tmp_path: Path, follow: Callable[..., Following]) -> None:
    """The next look at the file finds it, and it is a fraction of a second until then."""
    file = tmp_path / "grows"
    file.write_text("1 1:1\n0 2:1\n")
    following = follow(file, step_by_step=True)
    following.sees(2)
    for number in range(3, 23):
        with file.open("a") as out:
            out.write("1 1:1\n")
        following.looks_once()
        assert following.rounds == number
    assert set(following.looks.waits) == {live.WAIT}
    assert live.WAIT < 0.1


def test_only_the_last_file_is_followed(tmp_path: Path, follow: Callable[..., Following]) -> None:
    first, last = tmp_path / "first", tmp_path / "last"
    first.write_text("1 1:1\n0 2:1")  # its last line needs no newline, for it is finished
    last.write_text("1 1:1\n")
    following = follow(first, last)
    following.sees(3)
    with last.open("a") as out:
        out.write("0 2:1\n")
    following.sees(4)


def test_a_half_line_is_not_learned(tmp_path: Path, follow: Callable[..., Following]) -> None:
    file = tmp_path / "grows"
    file.write_text("1 1:1\n0 2:1\n1 1:1")
    following = follow(file, step_by_step=True)
    following.sees(2)
    following.looks_once()
    following.looks_once()
    following.end()
    assert following.rounds == 2
    (remark,) = following.reader.report.remarks
    assert (remark.kind, remark.file) == ("half a line", str(file))


def test_a_file_that_is_replaced_or_truncated_is_read_from_its_beginning(
    tmp_path: Path, follow: Callable[..., Following]
) -> None:
    """Like tail -F. The new file has a header, too; the last line of the old one counts even without a newline."""
    file, old = tmp_path / "grows.csv", tmp_path / "old.csv"
    file.write_text("y,x\na,1\nb,2\na,3")
    following = follow(file, label="y")
    following.sees(2)
    file.rename(old)
    file.write_text("y,x\nb,4\n")
    following.sees(4)
    assert following.reader.report.remarks[0].kind == "replaced"
    file.write_text("y,x\n")
    wait_until(lambda: len(following.reader.report.remarks) == 2)
    with file.open("a") as out:
        out.write("a,5\nb,6\n")
    following.sees(6)
    assert following.reader.report.remarks[1].kind == "cut short"
    file.rename(tmp_path / "older.csv")
    file.write_text("x,y\n7,a\n")
    following.thread.join(DEADLINE)
    assert all(columns in str(following.error) for columns in ("x, y", "y, x"))


def test_files_that_cannot_be_followed_raise_an_error(tmp_path: Path) -> None:
    packed, plain = tmp_path / "x.gz", tmp_path / "x"
    packed.write_bytes(b"\x1f\x8b\x08")
    plain.write_text("1 1:1\n")
    for files, options, words in (
        ([packed], {}, "compressed"),
        ([plain, "-"], {}, "pipe"),
        ([tmp_path], {}, "regular file"),
        ([plain], {"labels": plain}, "labels"),
    ):
        with pytest.raises(ValueError, match=words):
            mb.Perceptron().run(mb.Source(files, follow=True, **options))
    with pytest.raises(FileNotFoundError):
        mb.Perceptron().run(mb.Source(tmp_path / "absent", follow=True))


def test_a_table_whose_layout_changes_raises_an_error(tmp_path: Path, follow: Callable[..., Following]) -> None:
    """What the first two lines say of a header may be wrong: as soon as more lines show it, the run stops."""
    file = tmp_path / "grows"
    file.write_text("a,b\nx,1\n")
    following = follow(file, label="1", learner={"classes": ("a", "x")})
    following.sees(1)  # a header, for below b stands a number
    with file.open("a") as out:
        out.write("a,c\n")
    following.thread.join(DEADLINE)
    assert following.error.kind == "other layout"
    assert following.rounds == 1


# ---------------------------------------------------------------- pipes


def test_arriving_waits_for_nothing_and_loses_nothing() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as stream, os.fdopen(write, "wb", buffering=0) as out:
        pieces = arriving(stream, 1 << 20)
        for text in (b"a", b"bc\n", b"d" * 3000):
            out.write(text)
            assert next(pieces) == text
        out.write(b"x" * 3000)
        out.close()
        assert b"".join(arriving(stream, 1000)) == b"x" * 3000
    assert list(arriving(io.BufferedReader(io.BytesIO(b"abcde")), 2)) == [b"ab", b"cd", b"e"]


def test_no_read_of_a_pipe_blocks_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """BUG: a signal that came just before such a read was handled only after it, when more input had come."""
    read, write = os.pipe()
    look, waits = select.select, []

    class Pipe:
        def fileno(self) -> int:
            return read

        def read1(self, size: int) -> bytes:
            assert look([read], [], [], 0)[0], "this would block"
            return os.read(read, size)

    def looked(*given: Any) -> Any:
        waits.append(given[-1])
        if len(waits) == 5:
            os.write(write, b"b")
        return look(*given[:-1], 0)

    monkeypatch.setattr(select, "select", looked)
    try:
        os.write(write, b"a")
        pieces = arriving(Pipe(), 100)
        assert next(pieces) == b"a"
        assert next(pieces) == b"b"
        os.close(write)
        assert list(pieces) == []
    finally:
        os.close(read)
    assert max(waits) <= 1  # seconds, after each of which Python handles signals


@pytest.mark.parametrize("labels", [("1", "0"), ("1", "2"), ("spam", "ham")])
def test_lines_of_a_pipe_are_learned_as_they_arrive(labels: tuple[str, str], tmp_path: Path) -> None:
    """The prediction of each line is there before the next line is written, and labels are settled as in a file."""
    rows = [(labels[0], "1"), (labels[0], "2"), (labels[1], "3"), (labels[0], "1")]
    lines = [f'{{"label": "{label}", "x{x}": 1}}\n' for label, x in rows]
    with running("run", "-", "--json", "--predictions", tmp_path / "p", stdin=subprocess.PIPE) as process:
        for number, line in enumerate(lines, 1):
            process.stdin.write(line)
            process.stdin.flush()
            if number >= 3:  # both labels have come
                wait_until(lambda: lines_of(tmp_path / "p") == number, process)
        output = process.communicate(timeout=DEADLINE)[0]
    (tmp_path / "file").write_text("".join(lines))
    twin = mb.Panel().run(mb.Source(tmp_path / "file"))
    assert json.loads(output)["mistakes"] == twin.mistakes
    predicted = [line.split("\t")[0] for line in (tmp_path / "p").read_text().splitlines()]
    assert predicted == [str(label) for label in twin.predictions.tolist()]


def test_a_label_that_comes_alone_is_learned_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the stream ends or is interrupted while the other label is waited for."""
    whole = StreamReader.__iter__

    def interrupted(self: StreamReader) -> Iterator[Any]:
        yield from whole(self)
        raise KeyboardInterrupt

    file = tmp_path / "x"
    file.write_text("1 1:1\n1 2:1\n")
    assert mb.Perceptron().run(mb.Source(file)).rounds == 2
    monkeypatch.setattr(StreamReader, "__iter__", interrupted)
    learner = mb.Perceptron()
    with pytest.raises(KeyboardInterrupt):
        learner.run(mb.Source(file))
    assert learner.ledger_.rounds == 2


# ---------------------------------------------------------------- the command


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_following_with_the_summary_and_the_model(number: int, tmp_path: Path) -> None:
    file, saved = tmp_path / "grows", tmp_path / "m.mb"
    file.write_text("1 1:1\n0 2:1\n")
    with running("run", file, "--follow", "--save", saved, "--predictions", tmp_path / "p") as process:
        wait_until(lambda: lines_of(tmp_path / "p") == 2, process)
        with file.open("a") as out:
            out.write("1 1:1\n0 ")
        wait_until(lambda: lines_of(tmp_path / "p") == 3, process)
        process.send_signal(number)
        output, errors = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0
    assert "3 rounds" in output
    assert f"{file}: " in errors
    assert "\x1b" not in output + errors  # no terminal, no bar
    learner = mb.Panel()
    file.write_text("1 1:1\n0 2:1\n1 1:1\n")
    learner.run(mb.Source(file))
    assert fingerprint(mb.load(saved)) == fingerprint(learner)  # the file also says where its run is


def after_signals(code: str) -> subprocess.CompletedProcess[str]:
    """Run code that sends signals to its own process, in which a file is followed."""
    before = (
        "import signal, sys, mistakebound as mb\n"
        "from mistakebound._support import signals as interrupt\n"
        "from mistakebound.runs.progress import Position\n"
        "number, position = int(sys.argv[1]), Position(mb.Source('absent', follow=True), 1, hashing=False)\n"
    )
    command = [sys.executable, "-c", before + code]
    return subprocess.run([*command, str(int(signal.SIGINT))], capture_output=True, text=True, check=False)


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_signal_that_comes_twice_at_once_ends_following_once() -> None:
    """BUG: `timeout` sends each signal twice; the second one killed the process before the model was saved."""
    done = after_signals("""
interrupt.ECHO = 1e9
interrupt.uninterrupted.listen()
with interrupt.stop_at_signal(position.stop):
    signal.raise_signal(number)
    signal.raise_signal(number)
    print("saves")
signal.raise_signal(number)
print("sums up")
""")
    assert (done.returncode, done.stdout.split()) == (0, ["saves", "sums", "up"]), done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_signal_that_comes_again_later_kills() -> None:
    done = after_signals("""
interrupt.ECHO = 0.0
with interrupt.stop_at_signal(position.stop):
    signal.raise_signal(number)
    print("ends", flush=True)
    signal.raise_signal(number)
    print("still there")
""")
    assert (done.returncode, done.stdout.split()) == (-signal.SIGINT, ["ends"]), done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_signal_that_is_to_be_ignored_does_not_end_following() -> None:
    """BUG: a background job of a shell, for which SIGINT is ignored, was ended by it."""
    done = after_signals("""
signal.signal(number, signal.SIG_IGN)
with interrupt.stop_at_signal(position.stop):
    signal.raise_signal(number)
    print(position._stopped, signal.getsignal(number).name)
""")
    assert (done.returncode, done.stdout.split()) == (0, ["False", "SIG_IGN"]), done.stderr
