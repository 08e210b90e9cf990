"""Learners of several classes that learned shards, mixed into one."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from input_streams import dicts
from mixed_streams import flat, learned_shards, state_of, united, with_state

import mistakebound as mb
from mistakebound.learners.class_mixing import mixed_classes
from mistakebound.learners.class_panel_mixing import CELL_PLACE

LABELS = np.array(["ant", "bee", "cat", "dog", "elk"])
LEARNERS: dict[str, Any] = {
    "panel": lambda **k: mb.Panel(**({"classes": tuple(LABELS)} | k)),
    "lean": lambda **k: mb.Panel("lean", **({"classes": tuple(LABELS)} | k)),
    "perceptron": lambda **k: mb.MulticlassPerceptron(bias=1.0, **k),
}


def mixed(start: Any, parts: list[Any], shares: list[float] | None = None) -> Any:
    states = [state_of(part) for part in parts]
    names, places, slots = united(start, parts)
    labels = list(dict.fromkeys(label for each in (start, *parts) for label in each._labels.ids))
    ids = [np.array([labels.index(label) for label in part._labels.ids], np.int64) for part in parts]
    shares = shares or [1 / len(parts)] * len(parts)
    rest = mixed_classes(state_of(start), states, shares, places, ids, slots)
    found = with_state(parts[0], (state_of(start)[0], names, *rest))
    found._play.labels.ids = {label: k for k, label in enumerate(labels)}
    return found


def rows_of(rounds: int, seed: int, labels: np.ndarray = LABELS, *, named: bool = False) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = (rng.random((rounds, 12)) < 0.5) * rng.normal(size=(rounds, 12)).astype(np.float32)
    hidden = np.random.default_rng(0).normal(size=(12, len(LABELS)))
    y = LABELS[(X @ hidden).argmax(1)]
    keep = np.isin(y, labels)
    return (dicts(X[keep]) if named else X[keep]), y[keep]


def shards_of(*, named: bool, seed: int = 1) -> list[tuple[Any, Any]]:
    """Three shards, whose classes occur in different order; the last one has some that the others have not."""
    of_shards = ((150, LABELS[:3]), (90, LABELS[:4]), (150, LABELS[[4, 1]]))
    return [rows_of(rounds, seed + k, labels, named=named) for k, (rounds, labels) in enumerate(of_shards)]


def started(kind: str, *, named: bool, rounds: int = 30, **options: Any) -> Any:
    learner = LEARNERS[kind](**options)
    learner.run(*rows_of(rounds, 9, LABELS[[2, 0]], named=named))
    return learner


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kind", LEARNERS)
def test_a_single_part_keeps_all_its_bits(kind: str, named: bool) -> None:
    start = started(kind, named=named)
    (part,) = learned_shards(start, [rows_of(100, 3, named=named)])
    assert flat(state_of(mixed(start, [part]))) == flat(state_of(part))


@pytest.mark.parametrize("keep_bytes", [0, 700, 1 << 20])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kind", LEARNERS)
def test_a_mixed_learner_is_saved_loaded_and_learns_on(kind: str, named: bool, keep_bytes: int, tmp_path: Path) -> None:
    learner = started(kind, named=named, keep_bytes=keep_bytes)
    rounds = learner.ledger_.rounds
    for epoch in range(3):
        shards = shards_of(named=named, seed=1 + 3 * epoch)
        rounds += sum(len(y) for _, y in shards)
        learner = mixed(learner, learned_shards(learner, shards))
    file = tmp_path / "mixed.mb"
    learner.save(file)
    loaded: Any = mb.load(file)
    X, y = rows_of(200, 70, named=named)
    assert learner.ledger_.rounds == rounds
    assert learner.predict(X).tolist() == loaded.predict(X).tolist()
    assert np.mean(learner.predict(X) != y) < 0.4
    for each in (learner, loaded):
        each.run(X, y)
    assert flat(state_of(learner)) == flat(state_of(loaded))
    loaded.save(file)
    assert flat(state_of(mb.load(file))) == flat(state_of(loaded))


@pytest.mark.parametrize("kind", ["panel", "perceptron"])
def test_the_record_is_that_of_all_rounds(kind: str) -> None:
    start = started(kind, named=True)
    parts = learned_shards(start, shards_of(named=True))
    found, first = mixed(start, parts).ledger_, start.ledger_
    ledgers = [part.ledger_ for part in parts]
    own = [each.predictions[first.rounds :].tolist() for each in ledgers]
    assert found.predictions.tolist() == [*first.predictions.tolist(), *chain.from_iterable(own)]
    assert found.mistakes == first.mistakes + sum(each.mistakes - first.mistakes for each in ledgers)
    assert len(found.mistake_rounds) == found.mistakes
    confusion: dict[Any, int] = {}
    for sign, ledger in ((1 - len(parts), first), *((1, each) for each in ledgers)):
        for pair, count in pairs_of(ledger).items():
            confusion[pair] = confusion.get(pair, 0) + sign * count
    assert pairs_of(found) == {pair: count for pair, count in confusion.items() if count}
    if kind == "panel":
        assert found.measures.log_loss * found.rounds == pytest.approx(
            sum(each.measures.log_loss * each.rounds for each in ledgers)
            - (len(parts) - 1) * first.measures.log_loss * first.rounds
        )
        assert found.standings.rounds == found.rounds - found.first_seen


def pairs_of(ledger: Any) -> dict[Any, int]:
    measures = ledger.counts.measures
    truth, predicted = ([[*ledger.seen, None][k] for k in ids] for ids in (measures.truth, measures.predicted))
    return dict(zip(zip(truth, predicted, strict=True), measures.counts.tolist(), strict=True))


def test_weights_of_the_perceptron_are_averaged_and_its_examples_kept() -> None:
    start = started("perceptron", named=True)
    parts = learned_shards(start, shards_of(named=True))
    found = mixed(start, parts, [0.5, 0.25, 0.25])
    every = [(label, name) for label in LABELS for name in state_of(found)[1]]

    def weight(learner: Any, label: str, name: str) -> float:
        names, ids = state_of(learner)[1], learner._labels.ids
        if name not in names or label not in ids:
            return 0.0
        return float(learner._play.engine.class_weights()[ids[label]][names.index(name) + 1])

    for label, name in every:
        each = [weight(part, label, name) for part in parts]
        assert weight(found, label, name) == pytest.approx(0.5 * each[0] + 0.25 * (each[1] + each[2]), abs=1e-6)


def test_kept_examples_keep_their_names_and_classes() -> None:
    start = mb.MulticlassPerceptron()
    start.run([{"a": 1.0}, {"a": 1.0}], ["ant", "bee"])
    first = ([{"b": 1.0}, {"c": 2.0}, {"b": 3.0}], ["bee", "cat", "cat"])
    second = ([{"c": 4.0}, {"b": 5.0}, {"d": 6.0}], ["dog", "cat", "bee"])
    parts = learned_shards(start, [first, second])
    ledgers = [start.ledger_, *(part.ledger_ for part in parts)]
    begin = len(kept_of(start))
    expected = [*kept_of(start), *kept_of(parts[0])[begin:], *kept_of(parts[1])[begin:]]
    found = mixed(start, parts)
    assert kept_of(found) == expected
    own = [each.kept.rounds[begin:].tolist() for each in ledgers[1:]]
    shifted = [*own[0], *(at + 3 for at in own[1])]
    assert found.ledger_.kept.rounds[begin:].tolist() == shifted


def kept_of(learner: Any) -> list[Any]:
    names, kept = state_of(learner)[1], learner.ledger_.kept
    seen = [*learner._labels.ids, None]
    cells = [(names[k], value) for k, value in zip(kept.index, kept.value.tolist(), strict=True)]
    ends = zip(kept.indptr[:-1], kept.indptr[1:], kept.labels, kept.predicted, strict=True)
    return [(cells[low:high], seen[label], seen[made]) for low, high, label, made in ends]


def test_the_last_labels_and_the_labels_seen_once() -> None:
    start = started("panel", named=False)
    X = np.eye(12)[:5]
    second = ["dog", "bee", "elk", "elk", "ant"]
    parts = learned_shards(start, [(X, ["elk", "bee", "dog", "dog", "dog"]), (X, second)])
    found = mixed(start, parts)
    numbers, seen = state_of(found)[2][14], list(found._labels.ids)
    assert [seen[int(each) - 1] for each in numbers[1:4]] == second[:1:-1]
    assert len(seen) == 5
    assert numbers[-2 * len(seen) - 3] == 0  # each label has been seen twice
    again = mixed(start, learned_shards(start, [(X[:2], ["bee", "dog"]), (X[:2], ["ant", "dog"])]))
    assert state_of(again)[2][14][-2 * len(again._labels.ids) - 3] == 1  # the bee


def test_a_class_of_one_part_keeps_its_weights() -> None:
    start = started("panel", named=False)
    parts = learned_shards(start, shards_of(named=False))
    found = mixed(start, parts)
    mine, its = (cells_of(each, "elk") for each in (found, parts[2]))
    assert {owner for owner, _ in its.items()} <= set(mine)
    for owner, numbers in its.items():
        assert mine[owner] == pytest.approx(numbers, rel=1e-5)


def cells_of(panel: Any, label: str) -> dict[int, Any]:
    owners, counts, classes, values = state_of(panel)[2][:4]
    which = classes == panel._labels.ids[label]
    rows = values.reshape(-1, len(CELL_PLACE))[which]
    return dict(zip(np.repeat(owners, counts)[which].tolist(), rows, strict=True))


def test_the_order_of_classes_in_a_part_changes_no_count() -> None:
    start = LEARNERS["panel"]()
    X, y = rows_of(200, 1)
    start.run(X[:0], y[:0])
    parts = learned_shards(start, [(X[:90], y[:90]), (X[90:], y[90:])])
    swapped = learned_shards(start, [(X[:90][::-1].copy(), y[:90][::-1]), (X[90:], y[90:])])
    one, two = mixed(start, parts), mixed(start, swapped)
    assert list(one._labels.ids) != list(two._labels.ids)
    for label in LABELS:
        mine, its = cells_of(one, label), cells_of(two, label)
        assert mine.keys() == its.keys()
        for owner, numbers in mine.items():
            assert numbers[CELL_PLACE["count"]] == its[owner][CELL_PLACE["count"]]
    rows, truth = rows_of(100, 2)
    assert max(np.mean(each.predict(rows) != truth) for each in (one, two)) < 0.45


def test_many_classes_are_mixed(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 6)), rng.integers(24, size=600)
    X[np.arange(600), y % 6] += 3
    start = mb.Panel(classes=range(24))
    start.run(X[:0], y[:0])
    parts = learned_shards(start, [(X[y < 14], y[y < 14]), (X[y >= 6], y[y >= 6])])
    found = mixed(start, parts)
    found.save(tmp_path / "many.mb")
    assert len(found._labels.ids) == 24
    found.run(X, y)
    again = mb.load(tmp_path / "many.mb").run(X, y)
    assert again.predictions.tolist() == found.ledger_.predictions[-600:].tolist()


def test_a_converted_panel_is_mixed(tmp_path: Path) -> None:
    start = mb.Panel(classes=("ant", "bee"))
    X, y = rows_of(60, 3, LABELS[:3])
    for row, label in zip(X, y, strict=True):
        start.learn_one(row.tolist(), label)
    assert start.several
    found = mixed(start, learned_shards(start, shards_of(named=False)))
    found.save(tmp_path / "converted.mb")
    mb.load(tmp_path / "converted.mb")


def test_mixing_is_deterministic_and_changes_no_part() -> None:
    start = started("panel", named=True)
    parts = learned_shards(start, shards_of(named=True))
    before = flat([state_of(each) for each in (start, *parts)])
    assert flat(state_of(mixed(start, parts))) == flat(state_of(mixed(start, parts)))
    assert flat([state_of(each) for each in (start, *parts)]) == before
