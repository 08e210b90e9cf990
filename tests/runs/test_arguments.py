"""Wrong types in place of files or of a learner: the error names the type to pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import mistakebound as mb

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n-1 2:1\n" * 10)
    return path


def test_a_path_in_place_of_a_source(file: Path) -> None:
    wanted = f"pass mb.Source({str(file)!r})"
    learner = mb.Perceptron()
    for call in (
        lambda: mb.runs.run(file, learner),  # type: ignore[arg-type] # the wrong type is on purpose, here and below
        lambda: mb.runs.compare(str(file)),  # type: ignore[arg-type]
        lambda: mb.runs.predict(file, learner, file.with_name("out")),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError) as raised:
            call()
        assert wanted in str(raised.value)
    with pytest.raises(TypeError, match=r"ndarray.*mb\.Source"):
        mb.runs.run(np.eye(2), learner)  # type: ignore[arg-type]


@pytest.mark.parametrize("found", [mb.Perceptron, mb.experts.MLPoly(), "perceptron"])
def test_an_object_that_is_not_a_linear_learner_raises(file: Path, found: Any) -> None:
    what = "the class Perceptron" if isinstance(found, type) else type(found).__name__
    for call in (
        lambda: mb.runs.run(mb.Source(file), found),
        lambda: mb.runs.compare(mb.Source(file), [mb.Perceptron(), found]),
        lambda: mb.runs.predict(mb.Source(file), found, file.with_name("out")),
    ):
        with pytest.raises(TypeError, match=rf"mb\.Perceptron\(\).* {what}$"):
            call()


def test_predictions_to_a_path_and_to_a_stream_are_the_same(file: Path) -> None:
    learner = mb.runs.run(mb.Source(file), mb.Perceptron()).learner
    out = file.with_name("out")
    mb.runs.predict(mb.Source(file), learner, out)
    assert out.read_text() == "1\n-1\n" * 10
    with file.with_name("stream").open("w") as stream:
        mb.runs.predict(mb.Source(file), learner, stream)
        assert not stream.closed
    assert file.with_name("stream").read_text() == out.read_text()


def test_results_have_a_short_repr(file: Path) -> None:
    document = file.with_name("c.json")
    result = mb.runs.run(mb.Source(file), mb.Perceptron(), certificate=document)
    assert repr(result) == "<RunResult: 1 mistake in 20 rounds; Perceptron(); certificate: holds>"
    assert repr(mb.runs.run(mb.Source(file, label="x"), mb.Perceptron())).endswith("svmlight>")
    found = mb.runs.compare(mb.Source(file), [mb.Perceptron()])
    best = "fewest mistakes: <Contender: 1 mistake in 20 rounds; Perceptron()>"
    assert repr(found) == f"<Comparison: 1 ranked, 0 refused; {best}>"
    assert repr(mb.runs.verify(document, file)).endswith("agree>")
    file.write_text(file.read_text().replace("2:1", "2:2"))
    assert "a.svm" in repr(mb.runs.verify(document, mb.Source(file)))
