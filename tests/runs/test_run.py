"""``runs.run`` and the command give the same model, counts and certificate; progress and checkpoints."""

from __future__ import annotations

import io
import json
import signal
import threading
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from files import call, svmlight, with_bad_lines, without_spans

import mistakebound as mb
from mistakebound._support.signals import uninterrupted
from mistakebound.errors import OptionError, ResumeError
from mistakebound.models import model_file
from mistakebound.models.model_file import fingerprint

if TYPE_CHECKING:
    from mistakebound.runs.progress import Position, Tally


def labels_of(path: Path) -> list[str]:
    """Return the labels of a file in svmlight."""
    return [line.split()[0] for line in path.read_text().splitlines()]


class Recorder(mb.runs.Progress):
    """Records every call."""

    lines = True

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.shown: list[tuple[int, int]] = []

    def begin(self, rounds: int | None) -> None:
        self.calls.append(("begin", rounds))

    def learned(self, tally: Tally, position: Position) -> None:
        self.calls.append(("learned", tally.rounds, tally.mistakes))
        self.shown += [line[:2] for line in tally.lines]

    def remark(self, text: str) -> None:
        self.calls.append(("remark", text))

    def end(self, tally: Tally) -> None:
        self.calls.append(("end", tally.rounds, tally.mistakes))
        self.shown += [line[:2] for line in tally.lines]


def fresh() -> mb.Panel:
    """The learner of the command line."""
    return mb.Panel()


@pytest.mark.parametrize("passes", [1, 3])
def test_python_and_shell_do_the_same(passes: int, tmp_path: Path) -> None:
    """Model file, counts, predictions, certificate and progress are equal."""
    path = svmlight(tmp_path / "a.svm")
    words = ["--passes", passes, "--save", tmp_path / "shell.mb", "--predictions", tmp_path / "shell.txt"]
    found = json.loads(call("run", path, *words, "--certificate", tmp_path / "shell.json", "--json"))
    result = mb.runs.run(
        mb.Source(path),
        fresh(),
        passes=passes,
        checkpoint=tmp_path / "python.mb",
        predictions=tmp_path / "python.txt",
        certificate=tmp_path / "python.json",
    )
    for kind in ("mb", "txt", "json"):
        assert (tmp_path / f"python.{kind}").read_bytes() == (tmp_path / f"shell.{kind}").read_bytes()
    for name in ("rounds", "mistakes", "false_positives", "false_negatives", "positives", "bound", "majority_mistakes"):
        assert getattr(result, name) == found[name]
    assert result.certificate is not None
    assert json.loads(result.certificate.to_json()) == found["certificate"]
    assert (result.stopped, result.saved) == (None, str(tmp_path / "python.mb"))
    assert result.majority == found["majority"]
    assert fingerprint(result.learner) == fingerprint(mb.load(tmp_path / "python.mb"))
    with pytest.raises(FrozenInstanceError):
        result.rounds = 0  # type: ignore[misc]


def test_a_run_learns_as_the_learner_alone(tmp_path: Path) -> None:
    """Counts and curve are those of the ledger; without certify there is no certificate, and nothing is saved."""
    path, learner = svmlight(tmp_path / "a.svm"), fresh()
    result = mb.runs.run(mb.Source(path), learner)
    alone = fresh()
    ledger = alone.run(mb.Source(path))
    assert result.learner is learner
    assert fingerprint(learner) == fingerprint(alone)
    assert (result.rounds, result.mistakes) == (ledger.rounds, ledger.mistakes)
    assert result.curve is not None
    assert dict(result.curve.to_now())[300] == ledger.mistakes
    assert all(count == int(ledger.mistake_curve[at - 1]) for at, count in result.curve.to_now() if at)
    assert (result.certificate, result.saved, result.remarks, result.skipped) == (None, None, (), ())


def test_progress_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is called after each part, with lines at rounds 1, 2, 4, ... and at the end, for any size of parts."""
    path, whole, parts = svmlight(tmp_path / "a.svm"), Recorder(), Recorder()
    mb.runs.run(mb.Source(path), fresh(), progress=whole)
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", 700)
    result = mb.runs.run(mb.Source(path), fresh(), progress=parts)
    assert [kind for kind, *_ in whole.calls] == ["learned"] * 10 + ["end"]  # at rounds 1, 2, ..., 256 and 300
    assert [kind for kind, *_ in parts.calls] == ["learned"] * (len(parts.calls) - 1) + ["end"]
    assert len(parts.calls) > 3
    assert parts.calls[-1] == whole.calls[-1] == ("end", 300, result.mistakes)
    assert whole.shown == parts.shown
    assert [rounds for rounds, _ in whole.shown] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
    curve = fresh().run(mb.Source(path)).mistake_curve
    assert [count for _, count in whole.shown] == [int(curve[rounds - 1]) for rounds, _ in whole.shown]


class Stop(Exception):  # noqa: N818
    """Raised to simulate a killed process."""


def test_checkpoint_and_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is stopped after a checkpoint and resumed gives the model of a run without a stop."""
    path, saved, written = svmlight(tmp_path / "a.svm"), tmp_path / "m.mb", 0
    options: dict[str, Any] = {"passes": 2, "checkpoint": saved, "checkpoint_every": 50, "predictions": tmp_path / "p"}
    save = model_file.save

    def dying(*given: Any) -> None:
        nonlocal written
        save(*given)
        written += 1
        if written == 7:
            raise Stop

    monkeypatch.setattr(model_file, "save", dying)
    with pytest.raises(Stop):
        mb.runs.run(mb.Source(path), fresh(), **options)
    monkeypatch.setattr(model_file, "save", save)
    progress = Recorder()
    result = mb.runs.run(mb.Source(path), fresh(), **options, resume=True, progress=progress)
    assert progress.calls[0] == ("begin", 350)
    never = mb.runs.run(mb.Source(path), fresh(), passes=2, predictions=tmp_path / "q")
    assert (result.rounds, result.mistakes, result.positives) == (600, never.mistakes, never.positives)
    assert fingerprint(result.learner) == fingerprint(never.learner)
    assert (tmp_path / "p").read_bytes() == (tmp_path / "q").read_bytes()
    again = mb.runs.run(mb.Source(path), fresh(), **options, resume=True)  # what has ended stays so
    assert (again.rounds, again.mistakes) == (600, never.mistakes)
    start = Recorder()
    mb.runs.run(mb.Source(path), fresh(), checkpoint=tmp_path / "new.mb", resume=True, progress=start)
    assert start.calls[0] == ("begin", None)


def test_resume_refuses_another_run(tmp_path: Path) -> None:
    """The error has the option and both values, and does not name flags of the command line."""
    path, saved = svmlight(tmp_path / "a.svm"), tmp_path / "m.mb"
    mb.runs.run(mb.Source(path), fresh(), checkpoint=saved, checkpoint_every=100)
    for source, options, fields in (
        (mb.Source(path, zero_based=True), {}, ("zero_based", False, True)),
        (mb.Source(path), {"passes": 2}, ("passes", 1, 2)),
        (mb.Source(path), {"predictions": tmp_path / "p"}, ("predictions", False, True)),
    ):
        with pytest.raises(ResumeError) as raised:
            mb.runs.run(source, fresh(), checkpoint=saved, resume=True, **options)
        error = raised.value
        assert (error.path, error.option, error.before, error.now) == (str(saved), *fields)
        assert "--" not in str(error)
    with pytest.raises(ResumeError, match="learner.*Panel.*Perceptron"):
        mb.runs.run(mb.Source(path), mb.Perceptron(), checkpoint=saved, resume=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"resume": True}, "resume .*checkpoint"),
        ({"checkpoint_every": 5}, "checkpoint_every .*checkpoint"),
        ({"relevant": 1}, "relevant .*winnow"),
        ({"passes": 0}, r"passes .*1.* 0\b"),
        ({"passes": 1.5}, "passes .*1.* 1.5"),
        ({"checkpoint": "m.mb", "checkpoint_every": 0}, r"checkpoint_every .*1.* 0\b"),
        ({"checkpoint": "m.mb", "checkpoint_every": -5}, "checkpoint_every .*1.* -5"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    """The error is raised before anything is learned, and does not name flags of the command line."""
    learner = fresh()
    with pytest.raises(OptionError, match=words) as raised:
        mb.runs.run(mb.Source(svmlight(tmp_path / "a.svm")), learner, **options)
    assert "--" not in str(raised.value)
    assert learner.ledger_.rounds == 0


def test_standard_input_has_one_pass() -> None:
    with pytest.raises(OptionError, match="standard input.*2") as raised:
        mb.runs.run(mb.Source("-"), fresh(), passes=2)
    assert raised.value.option == "passes"


def test_a_bad_line_stops_a_run(tmp_path: Path) -> None:
    """The rounds before it are learned, counted and saved. ``raise_if_stopped`` raises the error."""
    path, saved = with_bad_lines(tmp_path / "a.svm"), tmp_path / "m.mb"
    result = mb.runs.run(mb.Source(path), fresh(), checkpoint=saved)
    assert isinstance(result.stopped, mb.StreamError)
    assert result.stopped.kind == "bad line"
    assert "--" not in str(result.stopped)
    assert 0 < result.rounds == mb.load(saved).ledger_.rounds
    with pytest.raises(mb.StreamError):
        result.raise_if_stopped()
    before = saved.read_bytes()  # an error does not replace an earlier model by one that cannot go on
    again = mb.runs.run(mb.Source(path), mb.Perceptron(), checkpoint=saved)
    assert again.saved is None
    assert saved.read_bytes() == before
    (remark,) = again.remarks
    assert remark.kind == "not saved"
    assert str(saved) in str(remark)
    whole = mb.runs.run(mb.Source(path, skip_bad=5), fresh())
    whole.raise_if_stopped()
    assert whole.rounds > result.rounds
    assert len(whole.skipped) > 0


def test_no_model_is_saved_without_examples(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    result = mb.runs.run(mb.Source(tmp_path / "empty"), fresh(), checkpoint=tmp_path / "m.mb")
    assert f"{tmp_path / 'empty'}: " in str(result.stopped)
    assert not (tmp_path / "m.mb").exists()


def test_a_learner_that_has_learned_before(tmp_path: Path) -> None:
    """The certificate covers the mistaken rounds only, with a reason; a portable certificate is refused."""
    path = svmlight(tmp_path / "a.svm")
    learner = mb.Perceptron()
    learner.run(mb.Source(path))
    with pytest.raises(OptionError) as raised:
        mb.runs.run(mb.Source(path), learner, certificate=tmp_path / "c.json")
    assert raised.value.option == "certificate"
    result = mb.runs.run(mb.Source(path), learner, certify=True)
    assert result.certificate is not None
    assert result.certificate.scope == "mistaken rounds"
    assert [remark.kind for remark in result.remarks] == ["certificate"]
    assert (result.rounds, learner.ledger_.rounds) == (300, 600)


def test_predictions_to_a_stream(tmp_path: Path) -> None:
    path, stream = svmlight(tmp_path / "a.svm"), io.StringIO()
    mb.runs.run(mb.Source(path), fresh(), predictions=stream)
    labels, probabilities, scores = zip(*(line.split("\t") for line in stream.getvalue().splitlines()), strict=True)
    alone = fresh()
    assert list(labels) == [str(label) for label in alone.run(mb.Source(path)).predictions]
    odds = np.array(scores, float)
    assert np.allclose(np.array(probabilities, float), 1 / (1 + np.exp(-odds)), atol=1e-6)
    assert ((odds >= 0) == (np.array(labels) == str(alone.ledger_.classes[1]))).all()
    losses = np.logaddexp(0, np.where(np.array(labels_of(path)) == str(alone.ledger_.classes[1]), -odds, odds))
    assert losses.mean() == pytest.approx(alone.ledger_.measures.log_loss, abs=1e-5)


def test_predictions_of_a_learner_without_probabilities(tmp_path: Path) -> None:
    path, stream, alone = svmlight(tmp_path / "a.svm"), io.StringIO(), mb.Perceptron()
    mb.runs.run(mb.Source(path), mb.Perceptron(), predictions=stream)
    labels, scores = zip(*(line.split("\t") for line in stream.getvalue().splitlines()), strict=True)
    assert list(labels) == [str(label) for label in alone.run(mb.Source(path)).predictions]
    assert ((np.array(scores, float) >= 0) == (np.array(labels) == str(alone.ledger_.classes[1]))).all()


def test_report(tmp_path: Path) -> None:
    """The page equals that of the command, except for the name of the learner and the time."""
    path = svmlight(tmp_path / "a.svm")
    mb.runs.run(mb.Source(path), fresh(), certify=True).write_report(tmp_path / "python.html")
    call("run", path, "--certify", "--report", tmp_path / "shell.html")
    pages = [without_spans((tmp_path / f"{name}.html").read_text()) for name in ("python", "shell")]
    assert "Panel" in pages[0]
    assert "mistakebound run " in pages[1]
    # Only the text of the learner, the time and the command differ.
    own = ("<code>", " s, ", "<h2>Make this page again</h2>")
    ours, theirs = ([line for line in page.splitlines() if not any(each in line for each in own)] for page in pages)
    assert ours == theirs
    assert len(ours) > 100


def test_in_a_thread(tmp_path: Path) -> None:
    """Only the main thread can take signals; a run in any other does without."""
    path, found = svmlight(tmp_path / "a.svm"), []
    thread = threading.Thread(target=lambda: found.append(mb.runs.run(mb.Source(path), fresh())))
    thread.start()
    thread.join()
    assert [result.rounds for result in found] == [300]


def test_signals_are_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run listens to Ctrl-C and SIGTERM while it lasts; afterwards they mean what they did before."""
    monkeypatch.setattr(uninterrupted, "is_listening", False)
    seen = []

    class Watching(mb.runs.Progress):
        def learned(self, tally: Tally, position: Position) -> None:
            seen.append(signal.getsignal(signal.SIGTERM))

    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        mb.runs.run(mb.Source(svmlight(tmp_path / "a.svm")), fresh(), progress=Watching())
        assert seen == [uninterrupted._handle]
        assert [signal.getsignal(number) for number in before] == [signal.SIG_DFL] * 2
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_ctrl_c_ends_a_run_between_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was learned is counted and saved; the interrupt is returned, and raised on demand."""
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", 700)
    monkeypatch.setattr("mistakebound._support.signals.ECHO", 0.0)

    class Interrupting(mb.runs.Progress):
        def learned(self, tally: Tally, position: Position) -> None:
            signal.raise_signal(signal.SIGINT)

    path, saved = svmlight(tmp_path / "a.svm"), tmp_path / "m.mb"
    result = mb.runs.run(mb.Source(path), fresh(), checkpoint=saved, progress=Interrupting())
    assert isinstance(result.stopped, KeyboardInterrupt)
    assert 0 < result.rounds == mb.load(saved).ledger_.rounds < 300
    with pytest.raises(KeyboardInterrupt):
        result.raise_if_stopped()


@pytest.mark.parametrize("output", ["checkpoint", "predictions", "certificate"])
@pytest.mark.parametrize("file", ["a.svm", "labels.txt"])
def test_a_file_that_is_read_is_not_written(output: str, file: str, tmp_path: Path) -> None:
    """Also if the output is a link to it."""
    (tmp_path / "a.svm").write_text("1:1\n2:1\n")
    (tmp_path / "labels.txt").write_text("1\n0\n")
    before, learner = (tmp_path / file).read_bytes(), fresh()
    (tmp_path / "link").symlink_to(tmp_path / file)
    source = mb.Source(tmp_path / "a.svm", labels=tmp_path / "labels.txt")
    with pytest.raises(OptionError, match="link.* read") as raised:
        mb.runs.run(source, learner, **{output: tmp_path / "link"})  # type: ignore[arg-type]
    assert raised.value.option == output
    assert (tmp_path / file).read_bytes() == before
    assert learner.ledger_.rounds == 0


def test_two_outputs_need_two_files(tmp_path: Path) -> None:
    """Model and predictions cannot be written to the same file."""
    source, file = mb.Source(svmlight(tmp_path / "a.svm")), tmp_path / "out"
    with pytest.raises(OptionError, match="out.* written") as raised:
        mb.runs.run(source, fresh(), checkpoint=file, predictions=file)
    assert raised.value.option == "predictions"
    assert not file.exists()


@pytest.mark.parametrize("reason", [KeyboardInterrupt, ValueError])
def test_an_error_raised_by_progress_loses_no_prediction(reason: type[BaseException], tmp_path: Path) -> None:
    """The saved model has as many rounds as there are predictions, and the run can be resumed."""

    class Raising(mb.runs.Progress):
        def learned(self, tally: Tally, position: Position) -> None:
            if tally.rounds >= 100:
                raise reason

    source, saved, lines = mb.Source(svmlight(tmp_path / "a.svm")), tmp_path / "m.mb", tmp_path / "p.txt"
    options: dict[str, Any] = {"checkpoint": saved, "checkpoint_every": 50, "predictions": lines}
    result = mb.runs.run(source, fresh(), progress=Raising(), **options)
    assert type(result.stopped) is reason
    assert result.rounds == mb.load(saved).ledger_.rounds == len(lines.read_text().splitlines()) == 100
    mb.runs.run(source, fresh(), resume=True, **options)
    mb.runs.run(source, fresh(), predictions=tmp_path / "whole.txt")
    assert lines.read_text() == (tmp_path / "whole.txt").read_text()


def test_a_run_in_a_thread_does_not_change_signal_handlers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in the main thread, while another thread has one, sets signal handlers and restores them."""
    monkeypatch.setattr(uninterrupted, "is_listening", False)
    source = mb.Source(svmlight(tmp_path / "a.svm"))
    inside, ready, seen = threading.Event(), threading.Event(), []

    class Waiting(mb.runs.Progress):
        def learned(self, tally: Tally, position: Position) -> None:
            inside.set()
            assert ready.wait(60)

    class Watching(mb.runs.Progress):
        def learned(self, tally: Tally, position: Position) -> None:
            seen.append(signal.getsignal(signal.SIGTERM))

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    thread = threading.Thread(target=lambda: mb.runs.run(source, fresh(), progress=Waiting()))
    thread.start()
    try:
        assert inside.wait(60)
        mb.runs.run(source, fresh(), progress=Watching())
        assert seen == [uninterrupted._handle]
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        ready.set()
        thread.join()
        signal.signal(signal.SIGTERM, before)


def test_predict(tmp_path: Path) -> None:
    """The lines equal those of the command, and can be written to any stream."""
    path, saved, out = svmlight(tmp_path / "a.svm"), tmp_path / "m.mb", io.StringIO()
    mb.runs.run(mb.Source(path), fresh(), checkpoint=saved)
    found = mb.runs.predict(mb.Source(path), mb.load(saved), out, scores=True)
    assert out.getvalue() == call("predict", saved, path, "--scores")
    assert (found.rounds, found.unknown, found.remarks) == (300, 0, ())
