"""`mix` of learners of several classes: labels, record, files; panels of two labels that are converted."""

from __future__ import annotations

import json
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from input_streams import dicts
from mixed_streams import learned_shards

import mistakebound as mb
from mistakebound.models.model_file import fingerprint

LABELS = np.array(["ant", "bee", "cat", "dog"])
LEARNERS: dict[str, Any] = {
    "panel": lambda **k: mb.Panel(**({"classes": tuple(LABELS)} | k)),
    "perceptron": lambda **k: mb.MulticlassPerceptron(bias=1.0, **k),
}
every_learner = pytest.mark.parametrize("kind", LEARNERS)


def rows(rounds: int, seed: int, labels: list[int] | None = None, *, named: bool = False) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = LABELS[rng.choice(labels or range(4), rounds)]
    X = rng.normal(size=(rounds, 6)).astype(np.float32)
    X[np.arange(rounds), np.searchsorted(LABELS, y)] += 3
    return (dicts(X) if named else X), y


def shards(start: Any, *, seed: int = 0, named: bool = False) -> list[Any]:
    return learned_shards(start, [rows(40, seed, [2, 0], named=named), rows(30, seed + 1, [3, 2, 1], named=named)])


@every_learner
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("rounds", [0, 20])
def test_a_mixed_learner_is_saved_loaded_and_mixed_again(kind: str, named: bool, rounds: int, tmp_path: Path) -> None:
    start = LEARNERS[kind]()
    if rounds:
        start.run(*rows(rounds, 9, named=named))
    found, path = start, tmp_path / "m.mb"
    for epoch in range(3):
        parts = shards(found, seed=2 * epoch, named=named)
        prints = [fingerprint(each) for each in (found, *parts)]
        before, found = found, mb.mix(found, parts, (None, "mistakes", [0.25, 0.75])[epoch])
        assert [fingerprint(each) for each in (before, *parts)] == prints  # nothing has changed
        found.save(path)
        loaded: Any = mb.load(path)
        assert fingerprint(loaded) == fingerprint(found)
        ledger = found.ledger_
        assert loaded.ledger_.mixing == ledger.mixing
        again = mb.Ledger.from_json(ledger.to_json())
        assert again.mixing == ledger.mixing
        assert again.to_json() == ledger.to_json()
        for each in (loaded, found):
            each.run(*rows(5, 77, named=named))
        assert fingerprint(loaded) == fingerprint(found)
    assert [epoch.first for epoch in found.ledger_.mixing.epochs] == [rounds + 75 * k for k in range(3)]
    assert found.run(*rows(5, 78, named=named)).mixing is None
    X, y = rows(200, 3, named=named)
    assert np.mean(found.predict(X) != y) < 0.1


@every_learner
def test_the_record_names_the_shards(kind: str) -> None:
    start = LEARNERS[kind]()
    parts = shards(start)
    (epoch,) = mb.mix(start, parts, [0.25, 0.75]).ledger_.mixing.epochs
    ledgers = [part.ledger_ for part in parts]
    own = [(each.rounds, each.mistakes, each.updates) for each in ledgers]
    assert [tuple(shard) for shard in epoch.shards] == [(*own[0], 0.25), (*own[1], 0.75)]


@every_learner
@pytest.mark.parametrize("rounds", [0, 20])
def test_one_part_is_returned_as_it_is(kind: str, rounds: int) -> None:
    start = LEARNERS[kind]()
    start.run(*rows(rounds, 9))
    (part,) = learned_shards(start, [rows(40, 1)])
    for shares in (None, "mistakes", [1.0]):
        assert fingerprint(mb.mix(start, [part], shares)) == fingerprint(part)
    found = mb.mix(start, [copy(start), part, copy(start)])
    assert fingerprint(found) == fingerprint(part)
    assert found.ledger_.mixing is None
    assert fingerprint(mb.mix(start, [copy(start), copy(start)])) == fingerprint(start)


def test_labels_are_united_in_their_order() -> None:
    start = mb.MulticlassPerceptron()
    start.learn_one({"a": 1}, "s")
    parts = [copy(start) for _ in range(3)]
    for part, labels in zip(parts, (["c", "a"], [], ["b", "c", "z"]), strict=True):
        for label in labels:
            part.learn_one({label: 1}, label)
    found = mb.mix(start, parts)
    assert found.ledger_.seen == ["s", "c", "a", "b", "z"]
    assert [found.predict_one({label: 1}) for label in "cabz"] == ["c", "a", "b", "z"]
    given = mb.MulticlassPerceptron(classes=("z", "s"))
    found = mb.mix(given, shards(given))
    assert found.classes_.tolist() == ["z", "s", *LABELS]


def test_positions_grow_to_the_largest_width(tmp_path: Path) -> None:
    start, parts = mb.MulticlassPerceptron(), []
    for k, text in enumerate(("1 1:1\n2 2:1\n", "2 1:1 9:2\n3 1:1\n")):
        file = tmp_path / f"{k}.svm"
        file.write_text(text)
        parts.append(copy(start))
        parts[-1].run(mb.Source(file))
    found = mb.mix(start, parts)
    assert len(found.weights_[2]) == 9
    assert found.known_reading() == parts[0].known_reading()


# ---------------------------------------------------------------------- two labels that became several


@pytest.mark.parametrize("rounds", [0, 12])
@pytest.mark.parametrize("named", [False, True])
def test_panels_of_two_labels_are_converted(rounds: int, named: bool, tmp_path: Path) -> None:
    start = mb.Panel(classes=("ant", "bee"))
    if rounds:
        start.run(*rows(rounds, 1, [0, 1], named=named))
    parts = learned_shards(start, [rows(40, 2, [0, 1], named=named), rows(40, 3, [1, 0, 2], named=named)])
    assert [each.several for each in (start, *parts)] == [False, False, True]
    prints = [fingerprint(each) for each in (start, *parts)]
    found = mb.mix(start, parts)
    assert [fingerprint(each) for each in (start, *parts)] == prints
    assert found.several
    assert found.ledger_.seen == ["ant", "bee", "cat"]
    assert found.ledger_.rounds == rounds + 80
    mb.mix(found, shards(found, named=named)).save(tmp_path / "m.mb")
    assert len(mb.load(tmp_path / "m.mb").ledger_.mixing.epochs) == 2


def test_a_panel_that_has_seen_one_label_is_not_converted() -> None:
    start = mb.Panel()
    parts = learned_shards(start, [(np.eye(2), [1, 1]), rows(40, 3, [1, 0, 2])])
    with pytest.raises(ValueError, match=r"part 0 has seen only one label.*: set classes"):
        mb.mix(start, parts)


# ---------------------------------------------------------------------- refused


class Outside:
    """A member that is not part of the package."""

    def predict_one(self, x: Any) -> bool:
        return x is not None

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn nothing."""


def test_members_from_outside() -> None:
    start = mb.Panel(["all", Outside()], classes=(0, 1))
    parts = learned_shards(start, [(np.eye(2), [1, 0])] * 2)
    with pytest.raises(ValueError, match="members from outside cannot be mixed: remove Outside from members"):
        mb.mix(start, parts)


def learned(*rounds: tuple[Any, Any], **options: Any) -> Any:
    learner = mb.MulticlassPerceptron(**options)
    for x, y in rounds:
        learner.learn_one(x, y)
    return learner


START = learned(({"a": 1}, 0), ({"b": 1}, 1), ({"b": 1}, 1))


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (mb.Panel(), "it is a Panel, and start is a MulticlassPerceptron"),
        (learned(({"a": 1}, 0), bias=1.0), "it has other parameters"),
        (learned(({"b": 1}, 0), ({"a": 1}, 1)), "names of its features do not begin with those of start"),
        (learned(({"a": 1}, 0)), "names of its features"),
        (learned(({"a": 1}, 1), ({"b": 1}, 0), ({"b": 1}, 0)), r"its first labels are \[1, 0\], and those of start"),
        (learned(({"a": 1}, 0), ({"b": 1}, 1), ({"b": -1}, 1)), "its first rounds are not those of start"),
        (learned(([1.0], 0)), "names"),
        (learned(), "it has not learned anything"),
    ],
)
def test_learners_that_do_not_continue(part: Any, message: str) -> None:
    other = copy(START)
    other.learn_one({"c": 1}, 2)
    with pytest.raises(ValueError, match=f"part 0 does not continue from start: .*{message}"):
        mb.mix(START, [part, other])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["mixing"]["epochs"][0]["shards"].pop(), "at least 2 shards"),
        (lambda data: data["mixing"]["epochs"][0]["shards"][0].update(mistakes=0), "contradicts the rounds"),
        (lambda data: data.update(from_start=False), "mixing must be absent"),
    ],
)
def test_ledgers_that_contradict_themselves(change: Any, message: str) -> None:
    data = json.loads(mb.mix(mb.MulticlassPerceptron(), shards(mb.MulticlassPerceptron())).ledger_.to_json())
    change(data)
    with pytest.raises(mb.ModelError, match=message):
        mb.Ledger.from_json(json.dumps(data))
