"""MultilabelPanel keeps its state whole: threads, panels that learn alone, bad labels, parameters, failures."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np
import pytest

import mistakebound as mb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 8))
Y = (X[:, :3] > 0).astype(int)
NAMED = [{f"f{k}": float(v) for k, v in enumerate(row)} for row in X]
LABELS = ("a", "b", "c")
SETS = [{LABELS[k] for k in np.flatnonzero(row)} for row in Y]


def learned() -> mb.MultilabelPanel:
    """Return a learner of three labels that has learned all rows."""
    learner = mb.MultilabelPanel("lean", classes=LABELS)
    learner.run(NAMED, SETS)
    return learner


def test_threads_learn_one_after_another(tmp_path: Any) -> None:
    learner = mb.MultilabelPanel("lean")
    errors: list[BaseException] = []

    def learn(first: int) -> None:
        try:
            for label in range(first, first + 10):
                learner.run(X, [{label}] * len(X))
                learner.learn_one(X[0], {label})
                learner.predict_proba(X[:5])
                learner.predict_one(X[0])
                for ledger in (learner.ledger_, copy.deepcopy(learner).ledger_):
                    assert ledger.rounds == max(each.rounds for each in ledger.by_label.values())
        except BaseException as error:  # noqa: BLE001 - it is shown by the assertion below
            errors.append(error)

    threads = [threading.Thread(target=learn, args=(first,)) for first in (0, 10)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors
    assert learner.ledger_.rounds == 2 * 10 * 101
    learner.save(tmp_path / "m.zip")
    assert repr(mb.load(tmp_path / "m.zip").ledger_) == repr(learner.ledger_)


@pytest.mark.parametrize("members", ["lean", ("lean", mb.Perceptron())])
@pytest.mark.parametrize("has_learned", [True, False])
def test_no_method_of_a_panel_learns_alone(members: Any, has_learned: bool) -> None:
    learner, other = (mb.MultilabelPanel(members, classes=LABELS) for _ in range(2))
    if has_learned:
        learner.run(X[:50], SETS[:50])
        other.run(X[:50], SETS[:50])
    panel = learner.panels["b"]
    ways: list[Any] = [
        lambda: panel.learn_one(X[0], True),
        lambda: panel.learn_one(X[0], "third"),
        lambda: panel.run(X[:2], ["third", "third"]),
        lambda: panel.run(X[:2], [True, False]),
        lambda: panel.fit(X, Y[:, 0] > 0),
        lambda: panel.partial_fit(X, Y[:, 0] > 0),
        lambda: panel.run([{"a": 1.0}], [True]),
        lambda: panel.tell(panel.ask(X[0]), True),
    ]
    for way in ways:
        with pytest.raises(ValueError, match="learns with the panels of other labels"):
            way()
    for each in (learner, other, copy.deepcopy(learner)):
        each.run(X[50:], SETS[50:])
        assert (each.predict_proba(X) == learner.predict_proba(X)).all()
    with pytest.raises(ValueError, match="learns with the panels of other labels"):
        copy.deepcopy(learner).panels["b"].learn_one(X[0], "third")
    copy.deepcopy(panel).learn_one(X[0], True)


def test_before_the_first_label_nothing_is_predicted() -> None:
    learner = mb.MultilabelPanel("lean")
    learner.learn_one({"a": 1}, set())
    assert learner.predict_one({"a": 1}) == set()
    assert learner.predict_proba_one({"a": 1}) == {}


def test_lists_of_0_and_1_are_a_matrix_for_fit_and_refused_by_run() -> None:
    expected = mb.MultilabelPanel("lean").fit(X, Y)
    found = mb.MultilabelPanel("lean").fit(X.tolist(), Y.tolist())
    assert found.classes_.tolist() == [0, 1, 2]
    assert (found.predict_proba(X) == expected.predict_proba(X)).all()
    assert mb.MultilabelPanel("lean").fit(X[:2], [[0, 1], [1, 0]]).predict(X).shape == (100, 2)
    learner = mb.MultilabelPanel("lean")
    with pytest.raises(mb.StreamError, match=r"np\.asarray\(Y\)"):
        learner.run(X, Y.tolist())
    assert learner.ledger_.rounds == 0
    two = mb.MultilabelPanel("lean", classes=("a", "b"))
    with pytest.raises(mb.StreamError, match=r"np\.asarray\(Y\)"):
        two.run(X[:2], [[0, 1], [1, 0]])
    learner.run(X[:3], [[0, 1], [1], []])  # lists of labels
    assert learner.classes_.tolist() == [0, 1]


def test_a_failed_first_run_or_fit_changes_nothing() -> None:
    learner = mb.MultilabelPanel("lean")
    with pytest.raises(mb.StreamError, match="X has 5 rows but Y has 100"):
        learner.run(X[:5], Y)
    assert learner.classes_.tolist() == []
    learner.run(X, Y[:, :2])
    before = learner.predict_proba(X)
    for bad in (Y * 7, Y[:5]):
        with pytest.raises(ValueError, match=r"matrix of 0 and 1|X has 100 rows"):
            learner.fit(X, bad)
        assert learner.ledger_.rounds == 100
        assert (learner.predict_proba(X) == before).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"members": "all"}, None),
        ({"members": ("lean", mb.Perceptron())}, None),
        ({"members": "none"}, "members must be"),
        ({"threads": 7}, "threads must be 1 or 2"),
        ({"keep_bytes": -1}, "keep_bytes must be"),
        ({"classes": ["x", "x"]}, "classes must be different"),
    ],
)
def test_parameters_take_effect_at_the_next_fit(tmp_path: Any, params: dict[str, Any], message: str | None) -> None:
    learner, other = learned(), learned()
    learner.set_params(**params)
    for each in (learner, other):
        each.run(NAMED * 3, [labels | {"new"} for labels in SETS] * 3)
        each.learn_one(NAMED[0], {"newer"})
    assert (learner.predict_proba(NAMED) == other.predict_proba(NAMED)).all()
    learner.save(tmp_path / "m.zip")
    assert mb.load(tmp_path / "m.zip").get_params() == other.get_params()
    if message is None:
        learner.fit(X, [set() if t < 50 else {"a"} for t in range(100)])
        assert len(learner.members("a")) == len(mb.Panel(params["members"]).members())
    else:
        with pytest.raises(ValueError, match=message):
            learner.fit(X, [set()] * 100)
        assert learner.ledger_.rounds == 401
        with pytest.raises(ValueError, match=message):
            mb.MultilabelPanel(**params).run(X, [set()] * 100)


@pytest.mark.parametrize("label", [(1, 2), 1 + 2j, b"x", None, float("nan")])
def test_labels_that_cannot_be_saved_are_not_learned(label: Any) -> None:
    learner = learned()
    with pytest.raises(mb.StreamError, match="label") as caught:
        learner.run(NAMED[:2], [{"a"}, {label}])
    assert caught.value.round == 1
    with pytest.raises(mb.StreamError, match="label"):
        learner.learn_one(NAMED[0], {label})
    assert learner.ledger_.rounds == 100
    with pytest.raises(ValueError, match="classes must be labels"):
        mb.MultilabelPanel("lean", classes=["a", label]).run(X, SETS)


@pytest.mark.parametrize("classes", [["a", "a"], [True, 1], "ab", 5])
def test_classes_must_be_different_labels(classes: Any) -> None:
    with pytest.raises(ValueError, match="classes must be"):
        mb.MultilabelPanel("lean", classes=classes).run(X, SETS)
    assert mb.MultilabelPanel("lean", classes=np.arange(3)).fit(X, Y).classes_.tolist() == [0, 1, 2]


class FailsOnce:
    """A member from outside that cannot learn the positive examples from the 60th example on."""

    def __init__(self) -> None:
        self.learned = 0

    def predict_one(self, x: Any) -> bool:
        """Return always the same prediction."""
        return True

    def learn_one(self, x: Any, y: bool) -> None:
        """Count an example, or fail."""
        self.learned += 1
        if y and self.learned >= 60:
            message = "no more"
            raise RuntimeError(message)


@pytest.mark.parametrize("rows", [X, NAMED], ids=["matrix", "named"])
def test_where_a_member_fails_the_totals_are_those_of_the_rounds_of_all_labels(rows: Any) -> None:
    learner = mb.MultilabelPanel(("lean", FailsOnce()), classes=LABELS)
    learner.run(rows[:20], SETS[:20])
    with pytest.raises(mb.StreamError, match="no more") as caught:
        learner.run(rows[20:], SETS[20:])
    firsts = {label: next(t for t in range(59, 100) if label in SETS[t]) for label in LABELS}
    least = min(firsts.values())
    assert learner.ledger_.rounds == caught.value.round + 20 == least
    rounds = {label: ledger.rounds for label, ledger in learner.ledger_.by_label.items()}
    assert min(rounds.values()) == least
    assert all(rounds[label] <= firsts[label] for label in LABELS)
    for label, ledger in caught.value.ledger.by_label.items():
        assert ledger.rounds == len(ledger.positive) == rounds[label] - 20
        wrong = ledger.positive != np.array([label in each for each in SETS[20 : 20 + ledger.rounds]])
        assert wrong.sum() == ledger.mistakes
    assert learner.ledger_.subset_mistakes <= learner.ledger_.rounds
