"""`mix`: record, names, labels and files of a mixed learner; what cannot be mixed; it goes on learning."""

from __future__ import annotations

import json
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import Model, sign_model
from linear_checks import LEARNERS, streams_for

import mistakebound as mb
from mistakebound.models.model_file import fingerprint
from mistakebound.play.mixing import Epoch, Mixing, Shard
from mistakebound.rules.registry import DECLARATIONS

LINEAR = [declared.id for declared in DECLARATIONS.values() if declared.linear]
every_rule = pytest.mark.parametrize("rule", LINEAR)


def shards(start: Any, X: Any, y: Any, sizes: tuple[int, ...]) -> list[Any]:
    """Return copies that each learned so many of the rows."""
    parts, at = [], 0
    for size in sizes:
        parts.append(copy(start))
        parts[-1].run(X[at : at + size], y[at : at + size])
        at += size
    return parts


def named(X: np.ndarray) -> list[dict[str, float]]:
    return [{f"f{i}": float(row[i]) for i in np.flatnonzero(row)} for row in X]


def record(learner: Any) -> tuple[Any, ...]:
    """Return the record in the core."""
    found: tuple[Any, ...] = learner._play.engine.core.__getstate__()[-7:]
    return found


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and np.array_equal(a, b))
    return bool(a == b)


# ---------------------------------------------------------------------- the result


def test_a_mix_worked_by_hand() -> None:
    start = mb.Perceptron(classes=(-1, 1))
    start.learn_one({"a": 2.0}, -1)  # a tie predicts +1: z_a = −2
    parts = [copy(start) for _ in range(3)]
    parts[0].learn_one({"b": 1.0}, -1)  # z_b = −1
    parts[0].learn_one({"a": 1.0}, 1)  # the score −2 is a mistake: z_a = −1
    parts[1].learn_one({"c": 1.0, "b": 1.0}, -1)  # z_b = z_c = −1
    parts[1].learn_one({"a": 1.0}, -1)  # right
    found = mb.mix(start, parts, [0.5, 0.25, 0.25])
    assert found.weights_ == {"a": -1.5, "b": -0.75, "c": -0.25}
    ledger = found.ledger_
    assert ledger.predictions.tolist() == [1, 1, -1, 1, -1]
    assert ledger.mistake_rounds.tolist() == [0, 1, 2, 3]
    assert ledger.kept.index.tolist() == [0, 1, 0, 2, 1]
    assert ledger.kept.labels.tolist() == [-1, -1, 1, -1]
    expected = Epoch(1, (Shard(2, 2, 2, 0.5), Shard(2, 1, 1, 0.25), Shard(0, 0, 0, 0.25)))
    assert ledger.mixing == Mixing((expected,))
    assert mb.mix(start, parts).weights_ == {"a": -1.5, "b": -1.0, "c": -0.5}  # the idle part has no share
    assert mb.mix(start, parts, "mistakes").ledger_.mixing.epochs[0].shards[1].share == 1 / 3


@every_rule
@pytest.mark.parametrize("with_names", [False, True])
def test_one_part_is_returned_as_it_is(rule: str, with_names: bool) -> None:
    parameters, X, y = streams_for(rule)[-1]
    rows: Any = named(X) if with_names else X
    for begun in (0, 30):
        start = LEARNERS[rule](classes=(-1, 1), **parameters)
        if begun:
            start.run(rows[:begun], y[:begun])
        (part,) = shards(start, rows[begun:], y[begun:], (70,))
        for shares in (None, "mistakes", [1.0]):
            assert fingerprint(mb.mix(start, [part], shares)) == fingerprint(part)
        found = mb.mix(start, [copy(start), part, copy(start)])
        assert fingerprint(found) == fingerprint(part)
        assert found.ledger_.mixing is None
        assert fingerprint(mb.mix(start, [copy(start), copy(start)])) == fingerprint(start)


@every_rule
@pytest.mark.parametrize("with_names", [False, True])
def test_a_mixed_learner_is_saved_loaded_mixed_again_and_goes_on(rule: str, with_names: bool, tmp_path: Path) -> None:
    for parameters, X, y in streams_for(rule)[-2:]:
        rows: Any = named(X) if with_names else X
        found = LEARNERS[rule](classes=(-1, 1), **parameters)
        for epoch in range(3):
            before = deepcopy(found)
            parts = shards(found, rows[epoch * 40 :], y[epoch * 40 :], (17, 3, 12))
            prints = [fingerprint(each) for each in (found, *parts)]
            found = mb.mix(found, parts, (None, "mistakes", [0.25, 0.5, 0.25])[epoch])
            assert [fingerprint(each) for each in (before, *parts)] == prints  # nothing has changed
            path = tmp_path / "m.mb"
            found.save(path)
            loaded = mb.load(path)
            assert fingerprint(loaded) == fingerprint(found)
            assert loaded.ledger_.mixing == found.ledger_.mixing
            for each in (loaded, found):
                each.run(rows[120:125], y[120:125])
                each.learn_one(rows[126], y[126])
            assert fingerprint(loaded) == fingerprint(found)
            again = mb.Ledger.from_json(found.ledger_.to_json())
            assert again.mixing == found.ledger_.mixing
            assert again.to_json() == found.ledger_.to_json()
        assert len(found.ledger_.mixing.epochs) == 3
        assert found.ledger_.rounds == 3 * 38
        assert found.run(rows[:4], y[:4]).mixing is None


# Each row has a feature of its own, so what is predicted does not depend on what was learned. Then one learner of all
# rows has the same record.
@pytest.mark.parametrize("keep_bytes", [0, 1, 17, 30, 60, 61, 100, 150, 179, 180, 181, 240, 300, 10**6])
@pytest.mark.parametrize("rule", ["perceptron", "elimination", "arow", "adagrad-logistic", "averaged-perceptron"])
@pytest.mark.parametrize("with_names", [False, True])
def test_the_record_is_that_of_one_stream(rule: str, keep_bytes: int, with_names: bool) -> None:
    rng = np.random.default_rng(keep_bytes)
    X, y = np.eye(24), rng.choice([-1, 1], 24)
    if rule != "elimination":
        X *= rng.integers(1, 4, (24, 1))
    rows: Any = named(X) if with_names else X

    def learn(learner: Any, places: Any) -> None:
        """Learn rows, some of them late."""
        for first in places[::3]:
            asked = learner.ask(rows[first] if with_names else X[first])
            for place in places[list(places).index(first) + 1 :][:2]:
                learner.learn_one(rows[place], y[place])
            learner.tell(asked, y[first])

    one, start = (LEARNERS[rule](classes=(-1, 1), keep_bytes=keep_bytes) for _ in range(2))
    pieces = [range(6), range(6, 15), range(15, 18), range(18, 24)]
    for places in pieces:
        learn(one, places)
    learn(start, pieces[0])
    parts = [copy(start) for _ in range(3)]
    for part, places in zip(parts, pieces[1:], strict=True):
        learn(part, places)
    found = mb.mix(start, parts)
    (*expected, measured), (*got, mixed) = record(one), record(found)
    assert same(tuple(got), tuple(expected))
    if measured is not None:
        assert mixed[0] == measured[0]
        assert all(np.array_equal(mixed[k], measured[k]) for k in (4, 5))
        of_both = (found.ledger_.measures, one.ledger_.measures)
        assert of_both[0].log_loss == pytest.approx(of_both[1].log_loss, rel=1e-12)
        assert of_both[0].brier == pytest.approx(of_both[1].brier, rel=1e-12)
    if with_names and rule != "averaged-perceptron":
        assert found._play.engine.core.names() == one._play.engine.core.names()


@pytest.mark.parametrize("make", [mb.Winnow, mb.NaiveBayes, mb.Panel])
def test_nothing_was_learned(make: Any) -> None:
    start = make()
    for shares in (None, "mistakes", [0.5, 0.5]):
        assert fingerprint(mb.mix(start, [copy(start), copy(start)], shares)) == fingerprint(start)
    with pytest.raises(ValueError, match="shares must"):
        mb.mix(start, [copy(start)], [0.5])


def test_names_are_united_in_order() -> None:
    start = mb.Perceptron(classes=(-1, 1))
    start.learn_one({"s": 1}, -1)
    parts = [copy(start) for _ in range(3)]
    for part, names in zip(parts, (["c", "a"], [], ["b", "c", "z"]), strict=True):
        for name in names:
            part.learn_one({name: 1}, -1)
    assert list(mb.mix(start, parts).weights_) == ["s", "c", "a", "b", "z"]


def test_positions_grow_to_the_largest_width(tmp_path: Path) -> None:
    files = [tmp_path / f"{k}.svm" for k in range(3)]
    for file, text in zip(files, ("-1 1:1\n", "-1 2:1\n1 2:1\n", "-1 9:2 1:1\n"), strict=True):
        file.write_text(text)
    start = mb.NormalizedWinnow(eta=0.5)
    start.run(mb.Source(files[0]))
    parts = [copy(start) for _ in range(2)]
    for part, file in zip(parts, files[1:], strict=True):
        part.run(mb.Source(file))
    found = mb.mix(start, parts)
    z, _ = found._play.engine.core.z()
    narrow, wide = (part._play.engine.core.z()[0] for part in parts)
    assert (len(narrow), len(wide)) == (2, 9)
    assert z.tolist() == (0.5 * np.append(narrow, np.zeros(7)) + 0.5 * wide).tolist()
    assert found.known_reading() == parts[0].known_reading()
    found.run(mb.Source(files[2]))


def test_labels_are_united() -> None:
    start = mb.Perceptron()
    parts = [copy(start) for _ in range(2)]
    parts[0].learn_one({"a": 1}, 0)
    parts[1].learn_one({"a": 1}, 1)
    found = mb.mix(start, parts)
    assert found.ledger_.classes == (0, 1)
    assert found.predict_one({}) == 1
    other = copy(start)
    other.learn_one({"a": 1}, 7)
    with pytest.raises(ValueError, match=r"part 1 has other labels, 7 \(positive\), .* 1 \(positive\): set classes"):
        mb.mix(start, [parts[1], other])


def test_reductions_keep_their_meaning() -> None:
    stream = mb.streams.disjunction(12, 2, 90, seed=1)
    X, y = 1 - stream.X, 1 - stream.y  # a conjunction
    start = mb.Winnow(target="conjunction", complements=True)
    parts = shards(start, X, y, (30, 30, 30))
    found = mb.mix(start, parts)
    own = [part.ledger_ for part in parts]
    assert found.ledger_.false_positives == sum(each.false_positives for each in own)
    assert found.ledger_.predictions.tolist() == np.concatenate([each.predictions for each in own]).tolist()
    mb.mix(found, shards(found, X, y, (45, 45)))


# ---------------------------------------------------------------------- refused


def learned(learner: Any, *rounds: tuple[Any, Any]) -> Any:
    for x, y in rounds:
        learner.learn_one(x, y)
    return learner


START = learned(mb.Perceptron(classes=(0, 1)), ({"a": 1}, 0), ({"b": 1}, 0))
OTHER = learned(mb.Perceptron(classes=(0, 1)), ({"b": 1}, 0), ({"a": 1}, 0), ({"a": 1}, 0))
SHARDS = [learned(copy(START), ({name: 1}, 0)) for name in "cd"]


@pytest.mark.parametrize(
    ("start", "part", "message"),
    [
        (START, mb.Arow(), "part 0 does not continue from start: it is a Arow, and start is a Perceptron"),
        (START, learned(mb.Perceptron(bias=1), ({"a": 1}, 0)), "it has other parameters"),
        (START, learned(mb.Perceptron(keep_bytes=9), ({"a": 1}, 0)), "it has other parameters"),
        (START, OTHER, "names of its features do not begin with those of start"),
        (START, learned(mb.Perceptron(), ([1.0], 0)), "names"),
        (START, learned(mb.Perceptron(), ({"a": 1}, 0)), "names of its features"),
        (mb.mix(START, SHARDS), learned(copy(START), ({"b": 1}, 0)), "names of its features"),
        (learned(mb.Perceptron(), ([1.0], 0)), learned(mb.Perceptron(), ([1.0], 1)), "it has 1 rounds, 0 mistakes"),
        (START, mb.Perceptron(), "it has not learned anything"),
        (
            START,
            learned(mb.Perceptron(), ({"a": 1}, 0), ({"c": 0}, 1), ({"b": 1}, 0), ({"a": 1}, 0)),
            "its first rounds are not those of start",
        ),
        (START, mb.mix(START, SHARDS), "it was mixed since start was copied"),
        (learned(mb.Perceptron(), ([1.0], 0)), learned(mb.Perceptron(), ([1.0, 2.0], 0)), "it has 2 features"),
    ],
)
def test_learners_that_do_not_continue(start: Any, part: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mb.mix(start, [part, copy(start)])


@pytest.mark.parametrize("shares", [[1.0], [0.5, 0.5, 0.0], [0.5, 0.6], [-0.5, 1.5], [float("nan"), 1.0], "rounds"])
def test_shares_that_are_not_valid(shares: Any) -> None:
    with pytest.raises(ValueError, match="shares must"):
        mb.mix(START, SHARDS, shares)


def test_no_parts() -> None:
    with pytest.raises(ValueError, match="parts must have at least one learner"):
        mb.mix(START, [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda epoch: epoch["shards"].pop(), "at least 2 shards"),
        (lambda epoch: epoch["shards"][0].update(share=0.25), "shares that sum to 1"),
        (lambda epoch: epoch["shards"][0].update(share=1.5), "share must be a number from 0 to 1"),
        (lambda epoch: epoch["shards"][0].update(rounds=3), "no more than counts has"),
        (lambda epoch: epoch["shards"][0].update(rounds=2**61), "rounds must be a whole number from 0 to 4"),
        (lambda epoch: epoch["shards"][0].update(mistakes=0), "contradicts the rounds of the mistakes"),
        (lambda epoch: epoch["shards"][0].update(updates=2), "updates must be a whole number from 0 to 1"),
        (lambda epoch: epoch.update(first=3), "no more than counts has"),
        (lambda epoch: epoch.pop("first"), "first is missing"),
        (lambda epoch: epoch.update(more=1), "'more' is unknown"),
    ],
)
def test_ledgers_that_contradict_themselves(change: Any, message: str) -> None:
    learner = mb.mix(START, SHARDS)
    data = json.loads(learner.ledger_.to_json())
    change(data["mixing"]["epochs"][0])
    with pytest.raises(mb.ModelError, match=message):
        mb.Ledger.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"epochs": []}, "mixing.epochs must not be empty"),
        ([], "mixing must be an object"),
        (
            {"epochs": [{"first": 2, "shards": [{"rounds": 1, "mistakes": 1, "updates": 1, "share": 1}] * 3}]},
            "sum to 1",
        ),
        (
            {"epochs": [{"first": 2, "shards": [{"rounds": 1, "mistakes": 0, "updates": 1, "share": 0.5}] * 2}]},
            "rounds of",
        ),
        (
            {"epochs": [{"first": 2, "shards": [{"rounds": 0, "mistakes": 0, "updates": 0, "share": 0.5}] * 2}]},
            "one round",
        ),
    ],
)
def test_model_files_that_contradict_themselves(value: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.mb"
    mb.mix(START, SHARDS).save(path)
    model = Model(path.read_bytes())
    assert model.metadata["mixing"]["epochs"][0]["first"] == 2
    model.metadata["mixing"] = value
    path.write_bytes(sign_model(model))
    with pytest.raises(mb.ModelError, match=message):
        mb.load(path)


def test_a_model_that_has_learned_nothing_was_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "m.mb"
    mb.Perceptron().save(path)
    model = Model(path.read_bytes())
    model.metadata["mixing"] = {"epochs": []}
    path.write_bytes(sign_model(model))
    with pytest.raises(mb.ModelError, match="mixing must be absent"):
        mb.load(path)
