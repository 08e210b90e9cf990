"""The multiclass Perceptron: a trace worked by hand, the core, a planted stream, the lemma, and mutants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import mistakebound as mb
from mistakebound.rules.multiclass_perceptron import NO_CLASS, MulticlassGame, MulticlassPerceptronRule
from mistakebound.theorems import THEOREMS, Witness
from mistakebound.theorems.steps import Step

THEOREM = THEOREMS["multiclass-perceptron"]

# Worked by hand. In rounds 3, 4 and 6, two scores are equal, and the class that was seen first predicts.
TRACE_X = [[1, 0], [1, 1], [1, -1], [1, 0], [0, 2], [1, 0]]
TRACE_Y = ["A", "B", "C", "B", "C", "C"]
TRACE_PREDICTED = [NO_CLASS, 0, 0, 1, 1, 1]
TRACE_WEIGHTS = {"A": [-2.0, 0.0], "B": [0.0, -1.0], "C": [2.0, 1.0]}


def pairs(x: Any) -> list[tuple[int, float]]:
    """Return the non-zeros of a row."""
    return [(i, float(v)) for i, v in enumerate(x) if v]


def ids_of(y: Any) -> list[int]:
    """Return class ids in the order of the first rounds."""
    seen: dict[Any, int] = {}
    return [seen.setdefault(label, len(seen)) for label in y]


def played(game: MulticlassGame, X: Any, ids: list[int], classes: int) -> tuple[list[int], list[Step]]:
    """Play rounds; return the predictions and the rounds that changed the weights."""
    predictions, steps = [], []

    def flat() -> Any:
        rows = [*game.w, *([0.0] * game.slots for _ in range(classes - len(game.w)))]
        return np.array(rows).ravel()

    for x, y in zip(np.asarray(X, float), ids, strict=True):
        before = flat()
        predictions.append(game.round(pairs(x), y))
        after = flat()
        if not np.array_equal(before, after):
            steps.append(Step(game.rule, before, after, x, y, True, 0))
    return predictions, steps


def check_trace(kind: type[MulticlassGame]) -> None:
    """Raise AssertionError unless the game plays the trace that was worked by hand."""
    game = kind(MulticlassPerceptronRule(), 2)
    assert [game.round(pairs(x), y) for x, y in zip(TRACE_X, ids_of(TRACE_Y), strict=True)] == TRACE_PREDICTED
    assert game.w == list(TRACE_WEIGHTS.values())
    assert game.updates == 4


STREAM = mb.streams.classes(n=12, k=4, rounds=1500, margin=0.25, seed=3)
BOUND = mb.bounds.multiclass_perceptron(radius=1, norm=1, margin=0.25)


def check_planted(kind: type[MulticlassGame]) -> None:
    """Raise AssertionError unless the bound and the lemma at each mistake hold on the planted stream."""
    order = np.array([STREAM.y.tolist().index(r) for r in range(4)]).argsort()  # by their first rounds
    U = np.asarray(STREAM.target)[order].ravel()
    ids = ids_of(STREAM.y)
    predictions, steps = played(kind(MulticlassPerceptronRule(), 12), STREAM.X, ids, 4)
    wrong = sum(made not in (y, NO_CLASS) for made, y in zip(predictions, ids, strict=True))
    assert predictions.count(NO_CLASS) == 1
    assert wrong <= BOUND < len(ids) / 10
    assert len(steps) == wrong
    for step in steps:
        for inequality, slack in THEOREM.lemma(step, Witness(U)).items():
            assert slack >= -1e-5, inequality
    for step in steps:  # the premise, with the planted margin
        assert THEOREM.lemma(step, Witness(U))["⟨U,W⁺⟩ ≥ ⟨U,W⟩ + γ"] >= -1e-5
        assert U @ step.z_next - U @ step.z >= 0.25 - 1e-5


def test_the_reference_plays_the_trace_and_the_planted_stream() -> None:
    check_trace(MulticlassGame)
    check_planted(MulticlassGame)


def test_the_core_plays_the_trace() -> None:
    learner = mb.MulticlassPerceptron()
    ledger: Any = learner.run(TRACE_X, TRACE_Y)
    assert ledger.class_ids.tolist() == TRACE_PREDICTED
    assert {label: w.tolist() for label, w in learner.weights_.items()} == TRACE_WEIGHTS
    assert (ledger.mistakes, ledger.updates, ledger.first_seen) == (5, 4, 3)
    assert ledger.mistake_rounds.tolist() == [0, 1, 2, 4, 5]
    assert ledger.kept.labels.tolist() == [1, 2, 2, 2]
    assert ledger.kept.predicted.tolist() == [0, 0, 1, 1]


# ---------------------------------------------------------------------- mutants


class LastTie(MulticlassGame):
    """Of equal scores, the class that was seen last predicts."""

    def predict(self, x: Any) -> int:
        scores = self.scores(x)
        return len(scores) - 1 - scores[::-1].index(max(scores)) if scores else NO_CLASS


class LearnsTheFirst(MulticlassGame):
    """The first label of all changes the weights."""

    def round(self, x: Any, y: int) -> int:
        is_first = not self.w
        made = super().round(x, y)
        if is_first:
            self.add(+1, x, y)
        return made


class OnlyAdds(MulticlassGame):
    """Nothing is subtracted from the prediction."""

    def add(self, sign: int, x: Any, r: int) -> None:
        if sign > 0:
            super().add(sign, x, r)


class WrongSign(MulticlassGame):
    """The label is demoted."""

    def add(self, sign: int, x: Any, r: int) -> None:
        super().add(-sign, x, r)


class DemotesAll(MulticlassGame):
    """x is subtracted from all other classes."""

    def round(self, x: Any, y: int) -> int:
        made = super().round(x, y)
        if made not in (y, NO_CLASS):
            for r in {*range(len(self.w))} - {y, made}:
                self.add(-1, x, r)
        return made


class AlwaysLearns(MulticlassGame):
    """Each round adds x to the weights of its label."""

    def round(self, x: Any, y: int) -> int:
        made = super().round(x, y)
        if made == y:
            self.add(+1, x, y)
        return made


class HalfStep(MulticlassGame):
    """Half of x is subtracted. Predictions are other ones, and weights do not add up to 0."""

    def add(self, sign: int, x: Any, r: int) -> None:
        super().add(sign, [(i, v if sign > 0 else v / 2) for i, v in x], r)


class SkipsNewLabels(MulticlassGame):
    """The first round of each label changes nothing."""

    def round(self, x: Any, y: int) -> int:
        if y < len(self.w):
            return super().round(x, y)
        made = self.predict(x)
        self.w.append([0.0] * self.slots)
        self.bias_w.append(0.0)
        return made


MUTANTS = [LastTie, LearnsTheFirst, OnlyAdds, WrongSign, DemotesAll, AlwaysLearns, HalfStep, SkipsNewLabels]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_trace_catches_every_mutant(mutant: type[MulticlassGame]) -> None:
    with pytest.raises(AssertionError):
        check_trace(mutant)


@pytest.mark.parametrize("mutant", [LearnsTheFirst, OnlyAdds, WrongSign, AlwaysLearns, HalfStep, SkipsNewLabels])
def test_the_planted_stream_catches_mutants(mutant: type[MulticlassGame]) -> None:
    """The theorem stays true for another tie, and for larger updates that keep its lemma."""
    with pytest.raises(AssertionError):
        check_planted(mutant)


# ---------------------------------------------------------------------- the core gives the same bits


def streams() -> list[tuple[Any, list[int], float]]:
    """Return random streams with many ties, and labels that appear late."""
    found = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        n, rounds, classes = int(rng.integers(1, 20)), int(rng.integers(1, 120)), int(rng.integers(1, 9))
        X = rng.integers(-2, 3, (rounds, n)).astype(float) if seed % 2 else rng.normal(size=(rounds, n))
        X[rng.random(X.shape) < 0.4] = 0
        y = np.minimum(rng.integers(0, classes, rounds), np.arange(rounds) // 7).tolist()
        found.append((X, y, [0.0, 1.0, 0.3][seed % 3]))
    return found


@pytest.mark.parametrize("case", range(24))
def test_the_core_equals_the_reference_bit_for_bit(case: int) -> None:
    X, y, bias = streams()[case]
    n, ids = X.shape[1], ids_of(y)
    game = MulticlassGame(MulticlassPerceptronRule(bias=bias), n)
    predictions = [game.round(pairs(x), r) for x, r in zip(X, ids, strict=True)]
    names = [{f"f{i}": float(v) for i, v in enumerate(x) if v} for x in X]
    for rows in (X, csr_matrix(X), names):
        learner = mb.MulticlassPerceptron(bias=bias)
        ledger: Any = learner.run(rows, y)
        assert ledger.class_ids.tolist() == predictions
        assert ledger.updates == game.updates
        labels = ledger.seen
        for r, label in enumerate(labels):
            w = learner.weights_[label]
            dense = [w.get(f"f{i}", 0.0) for i in range(n)] if isinstance(w, dict) else w.tolist()
            assert dense == game.w[r]
            assert learner.intercept_[label] == game.bias_w[r] * bias
        scores = [learner.score_one(rows[0] if isinstance(rows, list) else X[0])[label] for label in labels]
        assert scores == game.scores(pairs(X[0]))


def test_float32_rows_and_repeated_features_are_played_like_their_sums() -> None:
    X, y, _ = streams()[0]
    X = X.astype(np.float32)
    one, two = mb.MulticlassPerceptron(), mb.MulticlassPerceptron()
    one.run(X, y)
    two.run(X.astype(np.float64), y)
    assert one.ledger_.to_json() == two.ledger_.to_json()
    twice = csr_matrix(([1.0, 2.0, 1.0, 4.0], [0, 0, 1, 1], [0, 2, 4]), shape=(2, 2))
    summed, again = mb.MulticlassPerceptron(), mb.MulticlassPerceptron()
    summed.run([[3.0, 0.0], [0.0, 5.0]], ["a", "b"])
    again.run(twice, ["a", "b"])
    assert again.weights_["b"].tolist() == summed.weights_["b"].tolist() == [0.0, 5.0]


def test_with_two_labels_it_is_the_perceptron_after_the_first_round() -> None:
    """Without ties, w_1 − w_0 = 2z: the predictions are those of the Perceptron with two labels."""
    X, y = mb.streams.margin(n=15, rounds=400, margin=0.05, seed=2)
    first = int(np.flatnonzero(y != y[0])[0])
    several: Any = mb.MulticlassPerceptron()
    ledger = several.run(X[first - 1 :], y[first - 1 :])
    z = np.zeros(15)
    for t in range(first, len(y)):
        w = z @ X[t]
        assert ledger.predictions[t - first + 1] == (y[first - 1] if t == first or w == 0 else np.sign(w))
        if ledger.predictions[t - first + 1] != y[t]:
            z = (z + y[t] * X[t]).astype(np.float32).astype(float)
    assert several.weights_[1].tolist() == z.tolist()
