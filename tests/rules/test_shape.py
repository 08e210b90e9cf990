"""The rules with steps of their own: what they learn, from arrays, dicts and files, and the form of their state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from games import nonzeros
from linear_checks import LEARNERS, OPTIONS

import mistakebound as mb
from mistakebound.rules import RULES
from mistakebound.rules.base import Rule
from mistakebound.rules.label_counts import LabelCountRule
from mistakebound.rules.reference import ReferenceGame, float32

STEPPING = [name for name, rule in RULES.items() if rule.step is not Rule.step and not rule.binary]
COUNTING = [name for name in STEPPING if issubclass(RULES[name], LabelCountRule)]
every_rule = pytest.mark.parametrize("rule", STEPPING)


def planted(rule: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a stream whose label depends on few features: words for rules that count, numbers for the others."""
    rng = np.random.default_rng(5)
    if rule in COUNTING:
        X = (rng.random((400, 12)) < 0.3).astype(float)
        return X, np.where(X[:, 0] + X[:, 1] > X[:, 2] + X[:, 3] - 0.5, 1, -1)
    X = rng.standard_normal((400, 6))
    return X, np.where(X @ [2.0, -1.0, 0.5, 0.0, 0.0, 0.0] > 0, 1, -1)


@every_rule
def test_a_planted_target_is_learned(rule: str) -> None:
    X, y = planted(rule)
    game = ReferenceGame(RULES[rule](), X.shape[1])
    wrong = [game.round(nonzeros(x), int(label)) != (label > 0) for x, label in zip(X, y, strict=True)]
    assert sum(wrong) < (120 if rule in COUNTING else 60)
    assert sum(wrong[200:]) < sum(wrong[:200])
    assert {len(state) for state in (*game.state, game.bias_state)} == {len(RULES[rule].start)}
    assert game.state == [tuple(map(float32, state)) for state in game.state]


@every_rule
def test_arrays_dicts_files_and_single_rounds_give_the_same_bits(rule: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    X = (rng.random((150, 9)) < 0.4) * rng.integers(1, 4, (150, 9)).astype(float)
    y = np.where(X[:, 0] > X[:, 1], 1, -1)
    rows = [{f"f{i}": x[i] for i in np.flatnonzero(x)} for x in X]
    texts = {
        "a.svm": (" ".join(f"{i + 1}:{x[i]:g}" for i in np.flatnonzero(x)) for x in X),
        "a.vw": ("| " + " ".join(f"f{i}:{x[i]:g}" for i in np.flatnonzero(x)) for x in X),
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{label} {line}\n" for label, line in zip(y, lines, strict=True)))
    for parameters in OPTIONS[rule]:
        whole, named, single, svm, vw = (LEARNERS[rule](classes=(-1, 1), **parameters) for _ in range(5))
        whole.run(X, y)
        named.run(rows, y)
        for x, label in zip(X, y, strict=True):
            single.learn_one(x, label)
        svm.run(mb.Source(tmp_path / "a.svm"))
        vw.run(mb.Source(tmp_path / "a.vw"))
        weights: Any = whole.weights_
        for each in (named, vw):
            assert [each.weights_.get(f"f{i}", 0.0) for i in range(9)] == weights.tolist()
        for each in (single, svm):
            assert each.weights_.tolist() == weights.tolist()
        for each in (named, single, svm, vw):
            assert each.intercept_ == whole.intercept_
            assert each.ledger_.predictions.tolist() == whole.ledger_.predictions.tolist()
            assert each.ledger_.updates == whole.ledger_.updates


@every_rule
def test_repeated_words_of_a_file_count_as_their_sum(rule: str, tmp_path: Path) -> None:
    """A word that occurs twice is one feature with x = 2, also if it is new, before the prediction."""
    lines = ["a a b", "b a", "c c c", "a c new new", "b a b", "a"]
    labels = [1, -1, -1, 1, -1, -1]
    path = tmp_path / "a.vw"
    path.write_text("".join(f"{label} | {line}\n" for label, line in zip(labels, lines, strict=True)))
    learner, same = LEARNERS[rule](classes=(-1, 1)), LEARNERS[rule](classes=(-1, 1))
    learner.run(mb.Source(path))
    counted = [{word: line.split().count(word) for word in line.split()} for line in lines]
    same.run(counted, labels)
    assert learner.weights_ == same.weights_
    assert learner.ledger_.predictions.tolist() == same.ledger_.predictions.tolist()
    found = np.concatenate([scores for scores, _ in learner.score_parts(mb.Source(path))])
    assert found.tolist() == pytest.approx([same.score_one(x) for x in counted], rel=1e-12, abs=1e-12)


def test_long_rows_of_repeated_words_count_their_different_words(tmp_path: Path) -> None:
    """Naive Bayes damps rows of more than 24 features. Repeated words are one feature, known or not."""
    words = " ".join(f"w{k}" for k in range(20))
    (tmp_path / "a.vw").write_text(f"1 | {words}\n-1 | other\n")
    (tmp_path / "b.vw").write_text(f"1 | {words} {words} {' '.join(['new'] * 30)}\n")
    learner = mb.NaiveBayes()
    learner.run(mb.Source(tmp_path / "a.vw"))
    (score,) = np.concatenate([scores for scores, _ in learner.score_parts(mb.Source(tmp_path / "b.vw"))])
    assert score == learner.score_one({**{f"w{k}": 2 for k in range(20)}, "new": 30})


def test_the_mean_of_the_averaged_perceptron_is_the_mean_of_its_weights() -> None:
    """Compared with the plain definition: the mean of w at the start and after each round."""
    rng = np.random.default_rng(3)
    X = rng.integers(-3, 4, (60, 5)).astype(float)
    y = np.where(rng.random(60) < 0.5, 1, -1)
    learner = mb.AveragedPerceptron(bias=1.0)
    w, total, mistakes, updates = np.zeros(6), np.zeros(6), 0, 0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        x1 = np.append(x, 1.0)
        mean = total / (t + 1)
        assert learner.score_one(x) == pytest.approx(mean @ x1, abs=1e-5)
        mistakes += (mean @ x1 >= 0) != (label > 0)
        learner.learn_one(x, label)
        if (w @ x1 >= 0) != (label > 0):
            w, updates = w + label * x1, updates + 1
        total += w
    assert learner.ledger_.updates == updates
    assert learner.ledger_.mistakes == mistakes
    assert learner.weights_ == pytest.approx((total / 61)[:5], abs=1e-5)
    assert learner.intercept_ == pytest.approx((total / 61)[5], abs=1e-5)


def test_naive_bayes_is_the_textbook_formula_on_words() -> None:
    """With presence only, it is ln P(y)/P(−y) + Σ ln P(x_i|y)/P(x_i|−y), with prior counts π and 1 − π."""
    rng = np.random.default_rng(4)
    X = (rng.random((200, 6)) < 0.4).astype(float)
    y = np.where(X[:, 0] + (rng.random(200) < 0.2) > 0.5, 1, -1)
    learner = mb.NaiveBayes()
    learner.run(X, y)
    positives, negatives = (y > 0).sum() + 1, (y < 0).sum() + 1
    share = positives / (positives + negatives)
    odds = np.log((X[y > 0].sum(axis=0) + share) / (X[y < 0].sum(axis=0) + 1 - share)) - np.log(positives / negatives)
    assert learner.weights_ == pytest.approx(odds)
    assert learner.intercept_ == pytest.approx(np.log(positives / negatives))
    assert learner.decision_function(X) == pytest.approx(X @ odds + np.log(positives / negatives), abs=1e-9)


@every_rule
def test_rules_without_a_theorem_keep_no_examples(rule: str) -> None:
    X, y = planted(rule)
    learner = LEARNERS[rule]()
    ledger = learner.run(X, y)
    kept = RULES[rule].keeps_examples
    assert (len(ledger.kept) > 0) == kept == ledger.complete
    assert ledger.counts.to_keep == len(ledger.kept)
    assert len(ledger.predictions) == len(y)
    assert ledger.mistakes == len(ledger.mistake_rounds)


def test_only_the_bindings_include_python_headers() -> None:
    core = Path(__file__).parents[2] / "core"
    files = [path for path in core.rglob("*") if path.suffix in (".hpp", ".cpp") and path.parent.name != "bindings"]
    assert len(files) > 30
    assert not [path for path in files if "nanobind" in path.read_text() or "Python.h" in path.read_text()]
