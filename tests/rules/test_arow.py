"""AROW: the paper's formula, planted streams, extreme values, files, and the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from files import call
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_checks import check_parity

import mistakebound as mb
from mistakebound.rules.arow import ArowRule

if TYPE_CHECKING:
    from pathlib import Path


def paper(X: np.ndarray, y: np.ndarray, r: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Return weights, variances and the number of updates by the formulas of the paper, in float64."""
    w, s, updates = np.zeros(X.shape[1]), np.ones(X.shape[1]), 0
    for x, label in zip(X, y, strict=True):
        loss = 1 - label * (w @ x)
        if loss > 0:
            beta = 1 / (s @ x**2 + r)
            w, s = w + label * loss * beta * s * x, s - beta * s**2 * x**2
            updates += 1
    return w, s, updates


@pytest.mark.parametrize("r", [0.03, 1.0, 10.0])
def test_weights_and_variances_equal_the_formula_of_the_paper(r: float) -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 6))
    y = np.where(X @ rng.standard_normal(6) + 0.3 * rng.standard_normal(300) >= 0, 1, -1)
    w, s, updates = paper(X, y, r)
    learner = mb.Arow(r=r)
    ledger = learner.run(X, y)
    state = learner._play.engine.core.__getstate__()[2].reshape(-1, 2)
    assert learner.weights_ == pytest.approx(w, rel=1e-3, abs=1e-4)
    assert state[:, 1] == pytest.approx(s, rel=1e-3)
    assert ledger.updates == updates >= ledger.mistakes > 0


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_planted_target_is_learned(norm: str) -> None:
    """AROW makes fewer mistakes than the Perceptron, and none in the second half of the stream."""
    stream = mb.streams.margin(n=30, rounds=4000, margin=0.1, seed=2, norm=norm)
    ledger = mb.Arow().run(stream.X, stream.y)
    assert ledger.mistakes < mb.Perceptron().run(stream.X, stream.y).mistakes
    assert ledger.mistakes < 100
    assert max(ledger.mistake_rounds) < 2000


def test_features_of_very_different_sizes() -> None:
    """AROW adapts to features of different scales. The Perceptron does not."""
    rng = np.random.default_rng(1)
    X = rng.choice([-1.0, 1.0], (2000, 8))
    y = np.where(X[:, 0] + X[:, 1] + X[:, 2] > 0, 1, -1)
    X *= 10.0 ** np.arange(8)
    assert mb.Arow().run(X, y).mistakes * 3 < mb.Perceptron().run(X, y).mistakes


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_extreme_values(data: st.DataObject) -> None:
    """Weights stay finite, variances stay above 0, and core and reference stay equal."""
    width = data.draw(st.integers(1, 9))
    value = st.sampled_from([0.0, 1.0, -1.0, 1e30, -1e30, 1e-30, 1e15, -1e-15, 1e8])
    rows = data.draw(st.lists(st.lists(value, min_size=width, max_size=width), min_size=1, max_size=30))
    y = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(rows), max_size=len(rows)))
    parameters = {
        "r": data.draw(st.sampled_from([1e-30, 0.03, 1.0, 1e30])),
        "bias": data.draw(st.sampled_from([0, 1e30])),
    }
    check_parity("arow", parameters, np.array(rows), np.array(y), ArowRule)
    learner = mb.Arow(classes=(-1, 1), **parameters)
    learner.run(np.array(rows), y)
    state = learner._play.engine.core.__getstate__()[2].reshape(-1, 2)
    assert np.isfinite(state).all()
    assert ((state[:, 1] > 0) & (state[:, 1] <= 1)).all()


def test_a_feature_with_large_values_keeps_learning() -> None:
    """After a value of 1e9 the variance is 1e-18, not 0. Hence a change of the label is still learned."""
    learner = mb.Arow()
    learner.run(np.array([[1e9]] * 5), [1] * 5)
    flipped = learner.run(np.array([[1e9]] * 30), [-1] * 30)
    assert flipped.mistakes < 15


def test_arrays_named_features_files_and_learn_one_give_the_same_weights(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    X = (rng.random((200, 9)) < 0.4) * rng.integers(1, 4, (200, 9)).astype(float)
    y = np.where(X[:, 0] > X[:, 1], 1, -1)
    whole = mb.Arow(bias=1.0)
    whole.run(X, y)
    rows = [{f"f{i}": x[i] for i in np.flatnonzero(x)} for x in X]
    named, single = mb.Arow(bias=1.0), mb.Arow(bias=1.0)
    named.run(rows, y)
    for x, label in zip(X, y, strict=True):
        single.learn_one(x, label)
    path = tmp_path / "a.svm"
    lines = (" ".join(f"{i + 1}:{x[i]:g}" for i in np.flatnonzero(x)) for x in X)
    path.write_text("".join(f"{label} {line}\n" for label, line in zip(y, lines, strict=True)))
    read = mb.Arow(bias=1.0)
    read.run(mb.Source(path))
    weights: Any = whole.weights_
    assert isinstance(named.weights_, dict)
    assert [named.weights_.get(f"f{i}", 0.0) for i in range(9)] == weights.tolist()
    assert single.weights_ == pytest.approx(weights, abs=0)
    assert read.weights_ == pytest.approx(weights, abs=0)
    assert named.intercept_ == single.intercept_ == read.intercept_ == whole.intercept_
    for other in (named, single, read):
        assert other.ledger_.updates == whole.ledger_.updates >= whole.ledger_.mistakes


def test_repeated_words_of_a_file_count_as_their_sum(tmp_path: Path) -> None:
    """A word that occurs twice is x = 2, not two features with x = 1: the variance depends on x²."""
    path = tmp_path / "a.vw"
    path.write_text("1 | a a b\n-1 | b a\n")
    learner = mb.Arow()
    learner.run(mb.Source(path))
    same = mb.Arow()
    same.run([{"a": 2, "b": 1}, {"b": 1, "a": 1}], [1, -1])
    assert learner.weights_ == same.weights_


@pytest.mark.parametrize("r", [0, -1, float("inf"), float("nan"), 1e31, "best", None])
def test_r_is_checked(r: Any) -> None:
    with pytest.raises(ValueError, match=r"^r .*1e-30.*1e30"):
        mb.Arow(r=r).run([[1.0]], [1])


def test_command_line(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n-1 2:1\n1 1:1 2:0.5\n" * 20)
    found = json.loads(call("run", path, "--learner", "arow", "--r", 0.1, "--json", "--save", tmp_path / "m.mb"))
    assert found["rule"]["id"] == "arow"
    assert found["rule"]["r"] == 0.1
    assert mb.load(tmp_path / "m.mb").ledger_.updates >= found["mistakes"]
    assert call("weights", tmp_path / "m.mb")
    assert call("explain", tmp_path / "m.mb", path)
    for option in (["--certify"], ["--certificate", tmp_path / "c.json"]):
        message = call("run", path, "--learner", "arow", *option, fails=2)
        assert "arow" in message
        assert "bound" in message
        assert option[0] in message
    ranked = json.loads(call("compare", path, "--certify", "--json"))["learners"]
    arow = [each for each in ranked if each["options"].startswith("--learner arow")]
    assert [each["options"] for each in arow].count("--learner arow --r 1") == 1
    assert all(each["status"] is None and each["bound"] is None for each in arow)
