"""Several classes: the same stream gives the same bits, alone or in parts, at each SIMD level, saved or not."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from panel_class_streams import CLASS_STREAMS, Heard, csr, learn, new_engine, width_of
from panel_streams import flat, named

from mistakebound._core import has_avx2
from mistakebound.rules.panel_members import LEAN, MEMBERS

if TYPE_CHECKING:
    from mistakebound.play.class_engine import ClassEngine

every_stream = pytest.mark.parametrize("name", CLASS_STREAMS)
rosters = pytest.mark.parametrize("roster", [MEMBERS, LEAN], ids=["all", "lean"])


def state_of(engine: ClassEngine) -> list[Any]:
    """Return all that the core keeps, as plain values that can be compared; without the settings."""
    return list(flat(engine.core.__getstate__()[1:]))


def learned(name: str, roster: Any = MEMBERS) -> ClassEngine:
    rows, labels = CLASS_STREAMS[name]()
    engine = new_engine(width_of(rows), roster)
    learn(engine, rows, labels)
    return engine


@rosters
@every_stream
def test_one_at_a_time_equals_a_batch_and_parts(name: str, roster: Any) -> None:
    rows, labels = CLASS_STREAMS[name]()
    single, parts = new_engine(width_of(rows), roster), new_engine(width_of(rows), roster)
    for x, y in zip(rows, labels, strict=True):
        learn(single, [x], [y])
    for a, b in pairwise([*range(0, len(rows), 37), len(rows)]):
        learn(parts, rows[a:b], labels[a:b])
    batch = state_of(learned(name, roster))
    assert state_of(single) == batch
    assert state_of(parts) == batch


@every_stream
def test_dense_equals_sparse_whatever_the_type(name: str) -> None:
    rows, labels = CLASS_STREAMS[name]()
    width, ids = width_of(rows), np.array(labels, np.int32)
    wanted, X = state_of(learned(name)), np.zeros((len(rows), width_of(rows)))
    for t, row in enumerate(rows):
        for j, x in row:
            X[t, j] = x
    for dtype in (np.float32, np.float64):
        engine = new_engine(width)
        engine.core.play_dense_classes(X.astype(dtype), ids, np.empty(len(rows), np.int32))
        assert state_of(engine) == wanted
        for index_type in (np.int32, np.int64):
            indptr, index, value = csr(rows, width, dtype)
            engine = new_engine(width)
            engine.core.play_csr_classes(indptr, index.astype(index_type), value, ids, np.empty(len(rows), np.int32))
            assert state_of(engine) == wanted


@pytest.mark.skipif(not has_avx2(), reason="this machine has no AVX2")
@rosters
@every_stream
def test_plain_equals_avx2(name: str, roster: Any) -> None:
    rows, labels = CLASS_STREAMS[name]()
    plain = new_engine(width_of(rows), roster)
    plain.core.use_simd(False)
    learn(plain, rows, labels)
    assert state_of(plain) == state_of(learned(name, roster))


@rosters
@every_stream
def test_a_saved_state_continues(name: str, roster: Any) -> None:
    rows, labels = CLASS_STREAMS[name]()
    wanted, half = state_of(learned(name, roster)), len(rows) // 2
    for at in (0, 1, half):
        engine = new_engine(width_of(rows), roster)
        learn(engine, rows[:at], labels[:at])
        before = state_of(engine)
        engine.core = pickle.loads(pickle.dumps(engine.core))
        assert state_of(engine) == before
        learn(engine, rows[at:], labels[at:])
        assert state_of(engine) == wanted


@every_stream
def test_predicting_changes_nothing_and_agrees(name: str) -> None:
    rows, labels = CLASS_STREAMS[name]()
    half, width = len(rows) // 2, width_of(rows)
    engine = new_engine(width)
    learn(engine, rows[:half], labels[:half])
    before, classes = state_of(engine), engine.class_count
    out, predictions = np.empty((len(rows), classes + 1)), np.empty(len(rows), np.int32)
    engine.core.score_csr_classes(*csr(rows, width), out, predictions)
    for t, row in enumerate(rows):
        heard = Heard(engine, row)
        assert heard.probabilities.tobytes() == out[t].tobytes()
        assert heard.prediction == predictions[t] == out[t, :-1].argmax()
    assert state_of(engine) == before
    assert out.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    next_label = labels[half : half + 1]
    if next_label[0] <= classes:
        assert learn(engine, rows[half : half + 1], next_label)[0][0] == predictions[half]


@every_stream
def test_names_give_the_same_views(name: str) -> None:
    """Members that do not look at interactions say the same of features with and without names."""
    rows, labels = CLASS_STREAMS[name]()
    rows, labels = rows[:40], labels[:40]
    roster = [each for each in MEMBERS if not each.endswith(("pairs", "triples"))]
    by_name, by_place = new_engine(None, roster), new_engine(width_of(rows), roster)
    for x, dictionary, y in zip(rows, named(rows), labels, strict=True):
        one, other = Heard(by_place, x), Heard(by_name, dictionary)
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-6)
        learn(by_place, [x], [y])
        by_name.core.learn_named_class(dictionary, y)


def test_a_label_out_of_turn_is_refused_and_changes_nothing() -> None:
    rows, labels = CLASS_STREAMS["three_classes"]()
    engine = new_engine(width_of(rows))
    learn(engine, rows, labels)
    before = state_of(engine)
    for wrong in (-1, engine.class_count + 1, 2**31 - 1):
        given = (*csr(rows[:1], width_of(rows)), np.array([wrong], np.int32), np.empty(1, np.int32))
        row, fault = engine.core.play_csr_classes(*given)
        assert row == 0
        assert fault is not None
    assert state_of(engine) == before
