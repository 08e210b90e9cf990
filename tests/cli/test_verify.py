"""Certificates that travel: derived again from the stream, and whatever was changed on the way is found out."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from files import STREAMS, call, rows, shows, svmlight

from mistakebound.certificates.portable import seal
from mistakebound.cli import main
from mistakebound.rules.registry import DECLARATIONS


@pytest.fixture
def written_run(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A certificate, its stream and its model."""
    path, certificate, model = tmp_path / "a.svm", tmp_path / "c.json", tmp_path / "m.mb"
    svmlight(path, count=120, noise=0)
    call("run", path, "--learner", "perceptron", "--bias", 1, "--certificate", certificate, "--save", model)
    return certificate, path, model


def leaves(at: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Return every value in a JSON document that is not an object or a list, with its path."""
    if isinstance(at, (dict, list)):
        for key, value in at.items() if isinstance(at, dict) else enumerate(at):
            yield from leaves(value, (*way, key))
    else:
        yield way, at


def put(document: Any, way: tuple[Any, ...], value: Any) -> Any:
    changed = json.loads(json.dumps(document))
    at = changed
    for key in way[:-1]:
        at = at[key]
    at[way[-1]] = value
    return changed


@pytest.mark.parametrize("name", STREAMS)
def test_the_certificate_of_a_run_is_verified(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every format; resumed or not, in whatever blocks."""
    words = STREAMS[name](tmp_path)
    files = [each for each in words if isinstance(each, Path) and each.name != "labels"]
    labels = ["--labels", tmp_path / "labels"] if "--labels" in words else []
    call("run", *words, "--certificate", tmp_path / "c.json", "--save", tmp_path / "m.mb")
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", 700)
    document = call("verify", tmp_path / "c.json", *files, *labels, "--model", tmp_path / "m.mb")
    assert "✗" not in document
    assert "✗" not in document
    call("run", *words, "--certificate", tmp_path / "d.json", "--save", tmp_path / "n.mb", "--checkpoint-every", 9)
    assert (tmp_path / "c.json").read_bytes() == (tmp_path / "d.json").read_bytes()


@pytest.mark.parametrize("learner", [name for name, declared in DECLARATIONS.items() if declared.has_theorem])
def test_every_learner(learner: str, tmp_path: Path) -> None:
    path = svmlight(tmp_path / "a.svm")
    more = ["--threshold", 30] if learner == "winnow" else []
    call("run", path, "--learner", learner, *more, "--certificate", tmp_path / "c.json")
    assert not re.search("^✗", call("verify", tmp_path / "c.json", path), re.MULTILINE)


def test_standard_input_pipes_and_no_mistakes(tmp_path: Path) -> None:
    text = svmlight(tmp_path / "a.svm").read_text()
    call("run", "-", "--certificate", tmp_path / "c.json", text=text)
    assert "✗" not in call("verify", tmp_path / "c.json", tmp_path / "a.svm")
    assert "✗" not in call("verify", tmp_path / "c.json", "-", text=text)
    assert "✗" in call("verify", tmp_path / "c.json", "-", text=text + "1 1:1\n", fails=1)
    few, words = "1 1:1\n1 2:1\n", ("run", "-", "--learner", "perceptron", "--certificate")
    call(*words, tmp_path / "c.json", text=few)
    assert "✗" not in call("verify", tmp_path / "c.json", "-", text=few)
    assert shows(call(*words, tmp_path / "none.json", text="", fails=1), "Error: ", "examples")
    assert not (tmp_path / "none.json").exists()


def test_every_changed_number_is_detected(written_run: tuple[Path, Path, Path]) -> None:
    """One at a time; and any other leaf too."""
    certificate, path, _ = written_run
    document = json.loads(certificate.read_text())
    numbers = 0
    for way, value in leaves(document):
        if value is None:
            other: Any = 1
        elif isinstance(value, bool):
            other = not value
        elif isinstance(value, (int, float)):
            other, numbers = value + 1 if isinstance(value, int) else math.nextafter(value, 9.0), numbers + 1
        else:
            other = f"{value}x"
        certificate.write_text(json.dumps(put(document, way, other)))
        output = call("verify", certificate, path, fails=1)
        assert "Traceback" not in output
        assert "✗" in output or "Error" in output, way
    assert numbers > 30


HARMLESS = {("skip_bad",), ("reading", "format"), ("stream", 0, "file"), ("reading", "zero_based")}
"""Fields that may have other values and are still true of this stream, or are only names."""


def test_a_forgery_with_a_new_seal_is_detected_by_the_replay(written_run: tuple[Path, Path, Path]) -> None:
    """Every number, except where the new value is also true; the seal hides no field."""
    certificate, path, _ = written_run
    document = json.loads(certificate.read_text())
    for way, value in leaves(document):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or way in HARMLESS:
            continue
        for other in (value + 1, value * 2 + 1, 0 if value else 3):
            forged = put(document, way, other)
            forged["seal"] = seal(forged)
            certificate.write_text(json.dumps(forged))
            output = call("verify", certificate, path, fails=1)
            assert "✓ seal" in output or "Error" in output
    assert {way for way, _ in leaves(document)} >= HARMLESS


def test_every_changed_byte_of_the_stream_is_detected(written_run: tuple[Path, Path, Path]) -> None:
    certificate, path, _ = written_run
    data = path.read_bytes()
    for at in [*range(0, len(data), 97), len(data) - 1]:
        changed = bytearray(data)
        changed[at] ^= 1
        path.write_bytes(changed)
        assert "✗ a.svm" in call("verify", certificate, path, fails=1)
    for other in (data[:-1], data + b"\n", b""):
        path.write_bytes(other)
        assert "✗ a.svm" in call("verify", certificate, path, fails=1)


def test_another_model_and_other_files(written_run: tuple[Path, Path, Path], tmp_path: Path) -> None:
    certificate, path, model = written_run
    other = svmlight(tmp_path / "b.svm", seed=4)
    assert shows(call("verify", certificate, path, other, fails=1), "✗ ", "files", "1", "2")
    call("run", other, "--learner", "perceptron", "--bias", 1, "--save", model)
    answer = call("verify", certificate, path, "--model", model, fails=1)
    assert f"✗ {model}" in answer
    assert answer.count("✗") == 1
    conclusion = answer.splitlines()[-1]
    assert str(certificate) in conclusion
    assert str(model) in conclusion
    data = bytearray(model.read_bytes())
    data[-1] ^= 1
    model.write_bytes(data)
    assert shows(call("verify", certificate, path, "--model", model, fails=1), "SHA-256")
    assert "--labels" in call("verify", certificate, path, "--labels", other, fails=2)
    refused = call("run", path, "--load", model, "--certificate", "x", fails=2)
    assert "--certificate and --load" in refused


def test_the_model_is_compared_with_the_one_that_is_learned_again(written_run: tuple[Path, Path, Path]) -> None:
    """Not with the digest in the certificate, which may be false."""
    certificate, path, model = written_run
    changed = put(json.loads(certificate.read_text()), ("model",), "0" * 64)
    certificate.write_text(json.dumps({**changed, "seal": seal(changed)}))
    answer = call("verify", certificate, path, "--model", model, fails=1)
    assert f"✓ {model}" in answer
    assert "✗ model " in answer
    assert shows(answer, f"{certificate} ", ": 1 of ")


def test_labels_of_their_own(tmp_path: Path) -> None:
    words = STREAMS["labels"](tmp_path)
    call("run", *words, "--certificate", tmp_path / "c.json")
    assert "--labels" in call("verify", tmp_path / "c.json", words[0], fails=2)
    piped = [each if each != tmp_path / "labels" else "-" for each in words]
    assert shows(
        call("run", *piped, "--certificate", tmp_path / "d.json", text="1\n", fails=1), "Error: ", "- ", "file"
    )
    (tmp_path / "labels").write_text("".join(f"{y}.0\n" for y, _ in rows(300)))
    assert "✗ labels" in call("verify", tmp_path / "c.json", words[0], "--labels", tmp_path / "labels", fails=1)


def test_stopped_by_a_bad_line(tmp_path: Path) -> None:
    """What was learned before it is certified, and what follows does not matter."""
    path = svmlight(tmp_path / "a.svm", count=100)
    path.write_text(path.read_text() + "1 broken\n")
    call("run", path, "--certificate", tmp_path / "c.json", fails=1)
    assert not re.search("^✗", call("verify", tmp_path / "c.json", path), re.MULTILINE)


def test_incomplete_is_completed_by_the_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the mistaken examples of a pipe exceed what is kept, verify certifies the whole stream."""
    path = svmlight(tmp_path / "a.svm")
    keeping_little = DECLARATIONS["perceptron"]._replace(defaults={"keep_bytes": 500})
    monkeypatch.setitem(DECLARATIONS, "perceptron", keeping_little)
    piped = ("run", "-", "--learner", "perceptron", "--certificate", tmp_path / "c.json")
    assert shows(call(*piped, text=path.read_text()), "standard input")
    assert json.loads((tmp_path / "c.json").read_text())["certificate"]["status"] == "incomplete"
    document = call("verify", tmp_path / "c.json", path)
    monkeypatch.undo()
    whole = json.loads(call("run", path, "--learner", "perceptron", "--certify", "--json"))["certificate"]
    assert whole["scope"] == "whole stream"
    assert f"{whole['mistakes']} mistakes" in document
    assert f"{whole['bound']:,.6g}"[:4] in document


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not valid JSON"),
        ("garbage", "not valid JSON"),
        ("[]", "not a JSON object"),
        ("{}", "format 2"),
        ('{"format": 1}', "format 2"),
        ('{"format": true}', "format 2"),
        ('{"format": 2}', "learner is missing"),
        ("[" * 100_000, "not valid JSON"),
        ('{"a": 1, "a": 2}', "key twice"),
        ('{"a": NaN}', "NaN"),
        ("\ud800", "not valid JSON"),
        ('{"format": ' + "1" * 5000 + "}", ""),
    ],
)
def test_a_file_that_is_not_a_certificate_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    path = svmlight(tmp_path / "a.svm", count=5)
    (tmp_path / "c.json").write_bytes(text.encode(errors="surrogatepass"))
    assert reason in call("verify", tmp_path / "c.json", path, fails=1)


def test_hostile_certificates(written_run: tuple[Path, Path, Path]) -> None:
    """Anything in any place, sealed as if it were true: one line or a comparison, never a traceback; nothing is run."""
    certificate, path, _ = written_run
    document = json.loads(certificate.read_text())
    ways = {way[:end] for way, _ in leaves(document) for end in range(1, len(way) + 1)}
    extra = [("reading", "table", name) for name in ("text", "words", "interact", "separator", "nonsense")]
    extra += [("parameters", "x"), ("certificate", "comparator", "margin"), ("certificate", "comparator", "variables")]
    values = [None, -1, 10**30, 1e308, "x", [], {}, True, [[1]], {"tuple": [1]}, "__import__('os').abort()"]
    for way in sorted(ways | set(extra), key=str):
        for value in values:
            forged = put(document, way, value)
            if forged == document:
                continue
            if way != ("seal",):
                forged["seal"] = seal(forged)
            certificate.write_text(json.dumps(forged))
            result = CliRunner().invoke(main, ["verify", str(certificate), str(path)])
            assert result.exit_code in (0, 1, 2), (way, value, result.exception)
            assert result.exception is None or isinstance(result.exception, SystemExit), (way, value, result.exception)
            unread = way in (("certificate", "comparator", "margin"), ("certificate", "comparator", "variables"))
            if result.exit_code == 0 and not unread:  # novikoff takes neither
                assert way[0] in ("skip_bad", "reading", "stream"), (way, value)
    for name in list(document):
        certificate.write_text(json.dumps({key: value for key, value in document.items() if key != name}))
        assert shows(call("verify", certificate, path, fails=1), "Error: ", str(certificate))


@pytest.mark.parametrize("name", ["cache", "labels", "files", "threads", "follow", "skip_bad"])
def test_a_certificate_sets_only_the_options_for_parsing(
    written_run: tuple[Path, Path, Path], name: str, tmp_path: Path
) -> None:
    """A cache that a certificate names was written, and what it held was believed."""
    certificate, path, _ = written_run
    precious = tmp_path / "precious"
    precious.write_text("mine")
    document = json.loads(certificate.read_text())
    forged = put(document, ("reading", name), str(precious))
    forged["seal"] = seal(forged)
    certificate.write_text(json.dumps(forged))
    before = sorted(tmp_path.rglob("*"))
    assert "reading" in call("verify", certificate, path, fails=1)
    assert precious.read_text() == "mine"
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("name", "value"), [("expected", 0.0), ("note", "x"), ("bound", 0.0), ("bound", None)])
def test_empty_fields_are_compared(written_run: tuple[Path, Path, Path], name: str, value: Any) -> None:
    certificate, path, _ = written_run
    forged = put(json.loads(certificate.read_text()), ("certificate", name), value)
    forged["seal"] = seal(forged)
    certificate.write_text(json.dumps(forged))
    assert "✗" in call("verify", certificate, path, fails=1)


def test_an_interrupted_run_is_tied_to_the_bytes_that_it_read(written_run: tuple[Path, Path, Path]) -> None:
    certificate, path, _ = written_run
    document = {**json.loads(certificate.read_text()), "ended": False, "skipped": None}
    nothing = [{**document["stream"][0], "bytes": 0, "whole": False, "sha256": hashlib.sha256(b"").hexdigest()}]
    for stream in ([], nothing):
        forged = {**document, "stream": stream}
        forged["seal"] = seal(forged)
        certificate.write_text(json.dumps(forged))
        assert "✗" in call("verify", certificate, path, fails=1)


def test_labels_from_a_pipe_are_verified(tmp_path: Path) -> None:
    words = STREAMS["labels"](tmp_path)
    call("run", *words, "--certificate", tmp_path / "c.json")
    text = (tmp_path / "labels").read_text()
    assert "✗" not in call("verify", tmp_path / "c.json", words[0], "--labels", "-", text=text)


def test_too_many_passes_are_refused(written_run: tuple[Path, Path, Path]) -> None:
    certificate, path, _ = written_run
    for passes, rounds in ((2**61, 2**61), (10_001, 2**61), (0, 300), (301, 300)):
        forged = put(put(json.loads(certificate.read_text()), ("passes",), passes), ("counts", "rounds"), rounds)
        forged["seal"] = seal(forged)
        other = certificate.with_suffix(".forged")
        other.write_text(json.dumps(forged))
        assert "passes" in call("verify", other, path, fails=1)


def test_control_characters_of_a_certificate_are_escaped(written_run: tuple[Path, Path, Path]) -> None:
    certificate, path, _ = written_run
    document = json.loads(certificate.read_text())
    for way in (("stream", 0, "file"), ("certificate", "premises", 0, "statement"), ("certificate", "note")):
        forged = put(document, way, "\x1b]0;pwned\x07\r\x9b\u202e")
        forged["seal"] = seal(forged)
        certificate.write_text(json.dumps(forged))
        answer = CliRunner().invoke(main, ["verify", str(certificate), str(path)]).output
        assert "pwned" in answer
        assert not {"\x1b", "\x07", "\r", "\x9b", "\u202e"} & set(answer)


def test_a_certificate_is_written_completely_or_not_at_all(
    written_run: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, path, _ = written_run
    before = certificate.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert os.strerror(errno.ENOSPC) in call("run", path, "--certificate", certificate, fails=1)
    assert certificate.read_bytes() == before
