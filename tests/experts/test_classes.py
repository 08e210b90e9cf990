"""Labels as outcomes of rules that mix probabilities, and mistakes of these rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from aggregation_learners import LEARNERS, every_learner, every_mixer

import mistakebound as mb
from mistakebound.aggregation.registry import FOLLOWING

CLASSES = ["H", "D", "A"]


def games(rounds: int = 30) -> tuple[Any, list[str]]:
    rng = np.random.default_rng(5)
    return rng.dirichlet(np.ones(3), (rounds, 4)), [CLASSES[k] for k in rng.integers(0, 3, rounds)]


@every_mixer
def test_labels_are_outcomes(name: str) -> None:
    P, y = games()
    expected = LEARNERS[name]().run(P, np.eye(3)[[CLASSES.index(each) for each in y]])
    together, alone, asked = (LEARNERS[name]() for _ in range(3))
    ledger = together.run(P, y, classes=CLASSES)
    assert ledger.predictions.tolist() == expected.predictions.tolist()
    for rows, label in zip(P, y, strict=True):
        alone.learn_one(rows, label, classes=CLASSES)
        asked.tell(asked.ask(rows), label, classes=CLASSES)
    for each in (alone, asked):
        assert each.ledger_.predictions.tolist() == expected.predictions.tolist()
    chosen = [CLASSES[k] for k in ledger.predictions.argmax(axis=1)]
    wrong = [t for t, (label, right) in enumerate(zip(chosen, y, strict=True)) if label != right]
    assert ledger.mistake_rounds.tolist() == wrong
    assert ledger.mistakes == ledger.mistake_curve[-1] == len(wrong)


@pytest.mark.parametrize("kind", ["array", "list", "dict"])
def test_a_label_that_is_not_a_class(kind: str) -> None:
    P, y = games()
    y[20] = "X"
    table: Any = P
    if kind == "list":
        table = P.tolist()
    elif kind == "dict":
        table = {name: P[:, k] for k, name in enumerate("abcd")}
    mixer = mb.experts.MLPoly()
    with pytest.raises(mb.StreamError, match="^round 20: the outcome 'X' is not one of the classes H, D, A") as caught:
        mixer.run(table, y, classes=CLASSES)
    assert caught.value.ledger.rounds == mixer.ledger_.rounds == 20  # type: ignore[union-attr]
    with pytest.raises(mb.StreamError, match="^the outcome None"):
        mixer.learn_one(P[0], None, classes=CLASSES)
    assert mixer.ledger_.rounds == 20


def test_classes_that_do_not_fit() -> None:
    P, y = games(4)
    for classes in (["H", "H", "A"], ["H"], []):
        with pytest.raises(ValueError, match="at least two different labels"):
            mb.experts.MLPoly().run(P, y, classes=classes)
    with pytest.raises(mb.StreamError, match="same shape"):
        mb.experts.MLPoly().run(P, ["H"] * 4, classes=["H", "D"])
    with pytest.raises(ValueError, match="4 rounds of advice but 3 outcomes"):
        mb.experts.MLPoly().run(P, y[:3], classes=CLASSES)


@every_learner
def test_mistakes_of_probabilities(name: str) -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 40).astype(float)
    A = np.clip(0.6 * y[:, None] + 0.2 + rng.normal(scale=0.3, size=(40, 3)), 0.05, 0.95)
    learner = LEARNERS[name]()
    first, second = learner.run(A[:25], y[:25]), learner.run(A[25:], y[25:])
    wrong = (np.concatenate([first.predictions, second.predictions]) >= 0.5) != (y == 1)
    assert first.mistake_rounds.tolist() == np.flatnonzero(wrong[:25]).tolist()
    assert second.mistake_rounds.tolist() == np.flatnonzero(wrong[25:]).tolist()
    assert learner.ledger_.mistake_curve.tolist() == np.cumsum(wrong).tolist()
    assert learner.run(A[:0], y[:0]).mistakes == 0


def test_ties_count_for_the_greater_label() -> None:
    assert mb.experts.MLPoly().run([[0.5], [0.5]], [1.0, 0.0]).mistake_rounds.tolist() == [1]
    halves = [[[0.5, 0.5]], [[0.5, 0.5]]]
    assert mb.experts.MLPoly().run(halves, ["b", "a"], classes=["a", "b"]).mistake_rounds.tolist() == [1]


def test_mistakes_that_are_not_defined_or_not_known() -> None:
    ledger = mb.experts.MLPoly().run([[1.0, 2.0]], [1.5])
    with pytest.raises(ValueError, match="only defined for outcomes that are 0 and 1"):
        ledger.mistake_curve  # noqa: B018
    forgetful = mb.experts.MLPoly(keep_bytes=0).run([[0.5, 1.0]], [1.0])
    with pytest.raises(ValueError, match="keep_bytes"):
        forgetful.mistakes  # noqa: B018
    learner = mb.experts.MLPoly()
    learner.learn_one([0.5, 1.0], 1.0)
    later = mb.experts.MLPoly().run([[0.5, 1.0]], [1.0])
    assert type(later).from_json(later.to_json()).mistakes == 0
    again = learner.run([[0.5, 1.0]], [1.0])
    with pytest.raises(ValueError, match="not kept"):
        type(again).from_json(again.to_json()).mistakes  # noqa: B018


@pytest.mark.parametrize("rule", FOLLOWING)
def test_words_as_votes(rule: str) -> None:
    from mistakebound.aggregation.registry import BY_ID

    votes = [["H", "D", "A"], ["A", "D", "A"], ["H", "H", None]]
    y = ["H", "A", "H"]
    kind = getattr(mb.experts, BY_ID[rule].learner)
    more = {"seed": 0} if "randomized" in rule else {}
    ledger = kind(**more).run(votes, y, keep_weights=True)
    assert set(ledger.predictions) <= set(CLASSES)
    assert ledger.mistake_curve[-1] == ledger.mistakes
    assert ledger.weights.shape == (3, 3)
    columns = dict(zip("abc", zip(*votes, strict=True), strict=True))
    for table in (np.array(votes, object), columns):
        assert kind(**more).run(table, np.array(y)).predictions.tolist() == ledger.predictions.tolist()
