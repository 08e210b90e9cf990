"""The same stream gives the same bits: alone or in parts, as file or array, with one thread or two."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from panel_streams import STREAMS, matrix, named, rows_of, state_of

import mistakebound as mb
from mistakebound._core import has_avx2

if TYPE_CHECKING:
    from pathlib import Path

    from panel_streams import Rows

every_stream = pytest.mark.parametrize("name", STREAMS)
rosters = pytest.mark.parametrize("roster", ["all", "lean"])
ODD = (1, 2, 3, 31, 32, 33, 7, 65, 5)


def learned(X: Any, y: Any, roster: str = "all", **more: Any) -> mb.Panel:
    panel = mb.Panel(roster, classes=(-1, 1), **more)
    panel.run(X, y)
    return panel


def same(one: mb.Panel, other: mb.Panel) -> bool:
    """Whether states, predictions and measures are equal to the bit."""
    predictions = np.array_equal(one.ledger_.predictions, other.ledger_.predictions)
    return predictions and state_of(one) == state_of(other) and one.standings == other.standings


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))


def cut(length: int) -> list[slice]:
    """Return parts of odd sizes, again and again."""
    ends = [0]
    while ends[-1] < length:
        ends.append(min(ends[-1] + ODD[len(ends) % len(ODD)], length))
    return [slice(a, b) for a, b in pairwise(ends)]


def long_stream(rounds: int = 3000) -> tuple[Rows, list[int]]:
    """More rows than two threads need, of all widths and with empty ones; and duplicates in a row."""
    rng = np.random.default_rng(0)
    rows = [
        row
        for sizes in ((0, 13), (0, 60), (1, 300))
        for row in rows_of(rng, sizes, 400, rounds // 3, lambda size: rng.choice([1.0, 2.0, -0.25, 1e6], size))
    ]
    order = np.repeat(rng.permutation(len(rows))[: rounds // 2], 2)
    rows = [rows[k] for k in order]
    return rows, [1 if sum(j % 2 for j, _ in row) * 2 >= len(row) else -1 for row in rows]


@rosters
@every_stream
def test_one_at_a_time_equals_a_batch_and_parts(name: str, roster: str) -> None:
    rows, y = STREAMS[name]()
    X = matrix(rows)
    batch, single, parts = learned(X, y, roster), mb.Panel(roster, classes=(-1, 1)), mb.Panel(roster, classes=(-1, 1))
    for t, label in enumerate(y):
        single.learn_one(X[t], label)
    for part in cut(len(y)):
        parts.run(X[part], y[part])
    assert same(batch, single)
    assert same(batch, parts)


@every_stream
def test_dense_equals_sparse_whatever_the_type(name: str) -> None:
    rows, y = STREAMS[name]()
    X = matrix(rows)
    sparse = learned(X, y)
    assert same(sparse, learned(X.toarray(), y))
    assert same(sparse, learned(np.asfortranarray(X.toarray().astype(np.float64)), y))
    assert same(sparse, learned(X.astype(np.float64), y))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert same(sparse, learned(X, y))


@every_stream
def test_a_file_equals_an_array(name: str, tmp_path: Path) -> None:
    rows, y = STREAMS[name]()
    path = tmp_path / "stream.svm"
    write(path, [f"{label} " + " ".join(f"{j}:{x!r}" for j, x in row) for label, row in zip(y, rows, strict=True)])
    file = mb.Panel(classes=(-1, 1))
    file.run(mb.Source(path, format="svmlight", zero_based=True))
    array = learned(matrix(rows), y)
    assert np.array_equal(file.ledger_.predictions, array.ledger_.predictions)
    assert file.standings == array.standings
    assert file.ledger_.measures.to_dict() == array.ledger_.measures.to_dict()


@every_stream
def test_dicts_equal_a_file_with_names(name: str, tmp_path: Path) -> None:
    rows, y = STREAMS[name]()
    path = tmp_path / "stream.vw"
    write(path, [f"{label} | " + " ".join(f"f{j}:{x!r}" for j, x in row) for label, row in zip(y, rows, strict=True)])
    file, batch, single = mb.Panel(classes=(-1, 1)), learned(named(rows), y), mb.Panel(classes=(-1, 1))
    file.run(mb.Source(path))
    for x, label in zip(named(rows), y, strict=True):
        single.learn_one(x, label)
    assert same(batch, single)
    assert same(batch, file)


@rosters
def test_two_threads_equal_one(roster: str) -> None:
    rows, y = long_stream()
    X = matrix(rows)
    one, two = learned(X, y, roster, threads=1), learned(X, y, roster, threads=2)
    assert same(one, two)
    dense = learned(X.toarray(), y, roster, threads=2)
    assert same(one, dense)
    assert same(learned(named(rows), y, roster, threads=1), learned(named(rows), y, roster, threads=2))


@pytest.mark.skipif(not has_avx2(), reason="this machine has no AVX2")
@rosters
def test_plain_equals_avx2(roster: str) -> None:
    rows, y = long_stream(1200)
    X = matrix(rows)
    plain = mb.Panel(roster, classes=(-1, 1))
    plain.run(X[:1], y[:1])
    plain._play.engine.core.use_simd(False)
    plain.run(X[1:], y[1:])
    assert same(learned(X, y, roster), plain)


@rosters
@every_stream
def test_predicting_agrees_in_all_forms_and_changes_nothing(name: str, roster: str) -> None:
    rows, y = STREAMS[name]()
    X, half = matrix(rows), len(rows) // 2
    panel = learned(X[:half], y[:half], roster)
    before = state_of(panel)
    decisions, chances, labels = panel.decision_function(X), panel.predict_proba(X), panel.predict(X)
    assert [panel.predict_one(X[t]) for t in range(len(rows))] == labels.tolist()
    assert [panel.score_one(X[t]) for t in range(len(rows))] == decisions.tolist()
    assert state_of(panel) == before
    assert ((decisions > 0) == (labels == 1)).all()
    assert ((chances[:, 1] >= 0.5) == (labels == 1)).all()
    assert chances[:, 1] == pytest.approx(1 / (1 + np.exp(-decisions)), abs=1e-8)
    assert chances.sum(1) == pytest.approx(1.0)
    assert np.array_equal(panel.run(X[half : half + 1], y[half : half + 1]).predictions, labels[half : half + 1])


def test_features_never_seen_can_be_predicted() -> None:
    panel = mb.Panel(classes=(-1, 1))
    panel.run([{"a": 1.0}, {"b": 1.0}] * 20, [1, -1] * 20)
    before = state_of(panel)
    assert panel.predict_one({"a": 1.0, "new": 1.0}) == 1
    assert state_of(panel) == before


@every_stream
def test_outcomes_told_at_once_equal_learning(name: str) -> None:
    rows, y = STREAMS[name]()
    told = mb.Panel(classes=(-1, 1))
    for x, label in zip(named(rows), y, strict=True):
        told.tell(told.ask(x), label)
    learned_at_once = learned(named(rows), y)
    assert same(told, learned_at_once)
    assert told.certify().status == learned_at_once.certify().status


@pytest.mark.parametrize("form", ["named", "position"])
def test_late_outcomes_are_learned_in_their_order(form: str) -> None:
    rows, y = STREAMS["binary"]()
    X: Any = named(rows) if form == "named" else [np.asarray(x.toarray()[0]) for x in matrix(rows)]
    rng = np.random.default_rng(0)
    panel, waiting, order, wrong = mb.Panel(classes=(-1, 1)), [], [], 0
    for t, x in enumerate(X):
        waiting.append((t, panel.ask(x)))
        if rng.random() < 0.5 or t == len(X) - 1:
            for _ in range(len(waiting) if t == len(X) - 1 else 1):
                s, asked = waiting.pop(int(rng.integers(len(waiting))))
                panel.tell(asked, y[s])
                wrong += asked.prediction != y[s]
                order.append(s)
    straight = learned(
        [X[s] for s in order] if form == "named" else np.array([X[s] for s in order]), [y[s] for s in order]
    )
    assert panel.standings == straight.standings
    assert panel.ledger_.mistakes == wrong
    assert panel.ledger_.late > 0
    assert panel.certify().status == "does not apply"
