"""Comparing learners and verifying certificates from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from files import call, svmlight

import mistakebound as mb
from mistakebound.certificates.portable import seal
from mistakebound.errors import CertificateError, OptionError
from mistakebound.models.model_file import fingerprint
from mistakebound.runs.comparison import VARIANTS


def test_compare_ranks_as_the_command_does(tmp_path: Path) -> None:
    path = svmlight(tmp_path / "a.svm")
    shell = json.loads(call("compare", path, "--json", "--certify"))
    found = mb.runs.compare(mb.Source(path), certify=True)
    assert len(found.ranked) + len(found.refused) + len(found.left_out) == len(VARIANTS)
    status = [None if each.certificate is None else each.certificate.status for each in found.ranked]
    assert {"holds", "vacuous"} & set(status)
    ours = [(each.curve.mistakes, each.bound, its) for each, its in zip(found.ranked, status, strict=True)]
    assert ours == [(each["mistakes"], each["bound"], each["status"]) for each in shell["learners"]]
    assert [str(each.error) for each in found.refused] == [each["reason"] for each in shell["not_counted"]]
    assert found.stopped is None
    assert found.ranked[0].majority == (shell["majority"], shell["majority_mistakes"])


def test_compare_own_learners(tmp_path: Path) -> None:
    """Each learns as it learns alone; one that cannot learn the stream has the error."""
    path = svmlight(tmp_path / "a.svm")
    path.write_text(path.read_text() + "1 1:0.5\n")
    learners = [mb.Winnow(threshold=8.0), mb.Perceptron(), mb.BalancedWinnow()]
    found = mb.runs.compare(mb.Source(path), learners)
    assert {type(each.learner) for each in found.ranked} == {mb.Perceptron, mb.BalancedWinnow}
    assert [type(each.learner) for each in found.refused] == [mb.Winnow]
    assert found.refused[0].error is not None
    assert (found.refused[0].error.feature, found.refused[0].error.value) == ("1", 0.5)
    for each in found.ranked:
        alone = type(each.learner)()
        alone.run(mb.Source(path))
        assert fingerprint(each.learner) == fingerprint(alone)
        assert each.curve.mistakes == alone.ledger_.mistakes
    counts = [each.curve.mistakes for each in found.ranked]
    assert counts == sorted(counts)


def test_compare_stops_at_a_bad_line(tmp_path: Path) -> None:
    path = svmlight(tmp_path / "a.svm")
    with path.open("a") as file:
        file.write("broken\n")
    found = mb.runs.compare(mb.Source(path), [mb.Perceptron()])
    assert isinstance(found.stopped, mb.StreamError)
    assert [each.curve.rounds for each in found.ranked] == [300]


@pytest.fixture
def certified(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A stream, its portable certificate and its model."""
    path, certificate, model = svmlight(tmp_path / "a.svm"), tmp_path / "c.json", tmp_path / "m.mb"
    mb.runs.run(mb.Source(path), mb.Perceptron(), certificate=certificate, checkpoint=model)
    return path, certificate, model


def test_verify(certified: tuple[Path, Path, Path]) -> None:
    """Every check agrees and is passed to ``on_check``. The checks equal those of the command."""
    path, certificate, model = certified
    reported: list[mb.runs.Check] = []
    found = mb.runs.verify(certificate, path, model=model, on_check=reported.append)
    assert found.agrees
    assert (found.differ, found.other_model, found.complete) == (0, False, None)
    assert tuple(reported) == found.checks
    assert found.certificate.status in ("holds", "vacuous", "does not apply")
    by_name = {each.what: each for each in found.checks}
    assert by_name["rounds"].expected == by_name["rounds"].found == 300
    assert by_name["model"].found == fingerprint(mb.load(model))
    lines = call("verify", certificate, path, "--model", model).splitlines()
    assert [line[0] for line in lines[: len(found.checks)]] == ["✓"] * len(found.checks)


def forged(certificate: Path, change: Any) -> Path:
    """Return the certificate with a change and a new seal, so that only the replay can detect it."""
    said = json.loads(certificate.read_text())
    change(said)
    said["seal"] = seal(said)
    path = certificate.with_name("forged.json")
    path.write_text(json.dumps(said))
    return path


def fewer_mistakes(said: dict[str, Any]) -> None:
    said["counts"]["mistakes"] -= 1


def lower_bound(said: dict[str, Any]) -> None:
    said["certificate"]["bound"] /= 2


def another_learner(said: dict[str, Any]) -> None:
    said["parameters"]["bias"] = 1.0


@pytest.mark.parametrize(
    ("change", "what"), [(fewer_mistakes, "mistakes"), (lower_bound, "bound"), (another_learner, "model")]
)
def test_a_forged_certificate_is_detected(change: Any, what: str, certified: tuple[Path, Path, Path]) -> None:
    path, certificate, _ = certified
    found = mb.runs.verify(forged(certificate, change), path)
    assert not found.agrees
    (wrong,) = [each for each in found.checks if each.what == what]
    assert not wrong.agrees
    assert wrong.expected != wrong.found
    assert {each.what: each.agrees for each in found.checks}["seal"]


def test_other_files_and_models(certified: tuple[Path, Path, Path], tmp_path: Path) -> None:
    path, certificate, _ = certified
    other = tmp_path / "other.mb"
    mb.Perceptron(bias=1).save(other)
    found = mb.runs.verify(certificate, [path], model=other)
    assert (found.other_model, found.differ) == (True, 1)
    path.write_text(path.read_text() + "1 1:1\n")
    (wrong,) = [each for each in mb.runs.verify(certificate, path).checks if each.what == "a.svm"]
    assert not wrong.agrees
    assert "longer" in wrong.words


def test_verify_refuses_a_file_that_is_not_a_certificate(certified: tuple[Path, Path, Path]) -> None:
    path, certificate, _ = certified
    with pytest.raises(CertificateError, match="JSON") as raised:
        mb.runs.verify(path, path)
    assert raised.value.path == str(path)
    with pytest.raises(OptionError) as refused:
        mb.runs.verify(certificate, path, labels=path)
    assert refused.value.option == "labels"


def test_the_package_lists_its_names() -> None:
    assert set(dir(mb.runs)) == set(mb.runs.__all__)
    assert all(getattr(mb.runs, name) is not None for name in mb.runs.__all__)
    with pytest.raises(AttributeError, match="'nothing'"):
        _ = mb.runs.nothing
