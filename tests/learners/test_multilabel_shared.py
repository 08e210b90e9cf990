"""Panels of several labels on shared views: equal to separate panels bit for bit, for all kinds of rows and threads."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import mistakebound as mb
from mistakebound._core import Engine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mistakebound._support.arrays import AnyArray

LABELS = ("sport", "news", "art", "law")


def rows_of(rng: np.random.Generator, rounds: int, width: int, *, binary: bool = False) -> AnyArray:
    """Return rows with 0 to ``width`` non-zeros: with triples, pairs, frequent features only, and no interactions."""
    share = rng.choice([5, 30, 100, 300], rounds) / width
    values = np.ones((rounds, width)) if binary else rng.choice([-2.0, 0.5, 1.0, 3.0], (rounds, width))
    return np.where(rng.random((rounds, width)) < share[:, None], values, 0)


RNG = np.random.default_rng(1)
X = rows_of(RNG, 300, 320)
HAS = np.array([X[:, 0] != 0, X[:, 1] + X[:, 2] > 0, RNG.random(300) < 0.1, X.sum(axis=1) > 3])
SETS = [{label for label, has in zip(LABELS, column, strict=True) if has} for column in HAS.T]
NAMED = [{f"feature {i}" if i % 3 else f"f{i}": float(row[i]) for i in np.flatnonzero(row)} for row in X]
KINDS: dict[str, Any] = {
    "dense": X,
    "dense float32": X.astype(np.float32),
    "csr": csr_matrix(X),
    "csr float32": csr_matrix(X.astype(np.float32)),
    "dicts": NAMED,
    "sets": [set(each) for each in NAMED],
    "lists with repeated names": [[*each, *list(each)[:2]] for each in NAMED],
}


def assert_equal_parts(found: Any, expected: Any) -> None:
    """Compare nested tuples and lists of arrays and numbers, bit for bit."""
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_equal_parts(one, other)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()
    else:
        assert found == expected


def state(panel: mb.Panel) -> tuple[Any, ...]:
    """Return all that a panel has learned and recorded; the number of threads is not part of it."""
    return panel._current_play().engine.core.__getstate__()[1:]


def separate(rows: Any, y: Sequence[bool] | AnyArray, members: Any = "all") -> mb.Panel:
    panel = mb.Panel(members, classes=(False, True))
    panel.run(rows, list(map(bool, y)))
    return panel


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("members", ["all", "lean", ("coin-betting", "naive-bayes", "coin-betting-pairs")])
def test_a_run_equals_separate_panels(kind: str, members: Any) -> None:
    rows = KINDS[kind]
    learner = mb.MultilabelPanel(members, classes=LABELS)
    ledger = learner.run(rows, SETS)
    for label, has in zip(LABELS, HAS, strict=True):
        alone = separate(rows, has, members)
        assert_equal_parts(state(learner.panels[label]), state(alone))
        assert learner.panels[label].ledger_.to_json() == alone.ledger_.to_json()
        assert ledger.by_label[label].to_json() == alone.ledger_.to_json()
        assert learner.certify(label).to_json() == alone.certify().to_json()
    made = learner.predict_proba(rows)
    for k, label in enumerate(LABELS):
        assert made[:, k].tolist() == separate(rows, HAS[k], members).predict_proba(rows)[:, 1].tolist(), label


@pytest.mark.parametrize("kind", ["dense", "csr", "dicts", "sets"])
def test_batches_of_any_size_and_any_number_of_threads_give_the_same_bits(kind: str) -> None:
    rows = KINDS[kind]
    whole = mb.MultilabelPanel(classes=LABELS, threads=1)
    whole.run(rows, SETS)
    two = mb.MultilabelPanel(classes=LABELS, threads=2)
    two.run(rows, SETS)
    one = mb.MultilabelPanel(classes=LABELS)
    for t, labels in enumerate(SETS):
        one.learn_one(rows[t], labels)
    parts = mb.MultilabelPanel(classes=LABELS)
    for begin, end in ((0, 1), (1, 33), (33, 40), (40, 300)):
        parts.run(rows[begin:end], SETS[begin:end])
    for label in LABELS:
        for other in (two, one, parts):
            assert_equal_parts(state(other.panels[label]), state(whole.panels[label]))
            assert other.ledger_.subset_mistakes == whole.ledger_.subset_mistakes


def late_panel(earlier: Any, *, named: bool) -> mb.Panel:
    """Return a panel that has counted earlier rows without its label, and has learned nothing."""
    if len(earlier) == 0:
        return mb.Panel(classes=(False, True))
    counted, fresh = separate(earlier, [False] * len(earlier)), separate(earlier[:0], [])
    fresh._start(None if named else X.shape[1])
    settings, had, (features, records, *_), *_ = counted._current_play().engine.core.__getstate__()
    _, _, (_, empty, *rest), *history = fresh._current_play().engine.core.__getstate__()
    start = np.zeros(24, np.float32)
    start[[9, 13, 17]], start[11] = 1e-8, 1  # sums of squares, and the variance of AROW
    made = np.tile(start, (len(features), 1))
    kept = [0, 1, 2, 20, 21, 22]  # scale, counts by label, moments
    made[:, kept] = records.reshape(-1, 24)[:-1, kept]
    numbers = rest[2].copy()
    numbers[:3] = 1, 1 + len(earlier), len(earlier)
    core = Engine.__new__(Engine)
    arrays = (features, np.concatenate([made.ravel(), empty[-24:]]), rest[0], rest[1], numbers, rest[3])
    core.__setstate__((settings, had, arrays, *history))
    engine = fresh._current_play().engine
    engine.core = core
    fresh._restore(engine)
    return fresh


@pytest.mark.parametrize("kind", ["dense", "dicts"])
def test_a_label_that_occurs_late_counts_the_earlier_rows_as_rows_without_it(kind: str) -> None:
    rows = list(KINDS[kind]) if kind == "dicts" else KINDS[kind]
    starts = {"sport": 10, "news": 10, "law": 70, "art": 71}
    sets = [{label for label in each if starts[label] <= t} for t, each in enumerate(SETS)]
    sets[10] |= {"sport", "news"}
    sets[70] |= {"law"}
    sets[71] |= {"art"}
    whole, single = mb.MultilabelPanel(), mb.MultilabelPanel()
    ledger = whole.run(rows, sets)
    for x, labels in zip(rows, sets, strict=True):
        single.learn_one(x, labels)
    for label, start in starts.items():
        alone = late_panel(rows[10:start], named=kind == "dicts")
        alone.run(rows[start:], [label in each for each in sets[start:]])
        assert alone.ledger_.rounds == 300 - start
        for learner in (whole, single):
            assert_equal_parts(state(learner.panels[label]), state(alone))
            assert learner.certify(label).status in ("holds", "vacuous")
            assert learner.certify(label).rounds == 300 - start
        assert ledger.by_label[label].to_json() == alone.ledger_.to_json()
    assert repr(single.ledger_) == repr(whole.ledger_) == repr(ledger)
    assert (ledger.first_seen, ledger.rounds) == (4, 300)


def test_first_rounds_of_labels_are_counted_once() -> None:
    """Naive Bayes alone predicts that a label does not occur that has never occurred: its ledger has the mistake."""
    learner = mb.MultilabelPanel(("naive-bayes",))
    learner.run([{"a"}] * 20, [{"x"}] * 20)
    ledger = learner.run([{"a"}], [{"x", "y"}])
    assert (ledger.first_seen, ledger.first_missed, ledger.by_label["y"].mistakes) == (1, 1, 1)
    assert ledger.hamming_mistakes == ledger.subset_mistakes == 1
    usual = mb.MultilabelPanel()
    usual.run([{"a"}] * 20, [{"x"}] * 20)
    ledger = usual.run([{"a"}], [{"x", "y"}])
    assert (ledger.first_seen, ledger.first_missed, ledger.by_label["y"].mistakes) == (1, 0, 0)
    assert ledger.hamming_mistakes == ledger.subset_mistakes == 1


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_learns_by_itself(copied: Any) -> None:
    learner = mb.MultilabelPanel()
    learner.run(NAMED[:150], SETS[:150])
    before = {label: state(panel) for label, panel in learner.panels.items()}
    other = copied(learner)
    other.run(NAMED[150:], SETS[150:])
    for label, panel in learner.panels.items():
        assert_equal_parts(state(panel), before[label])
    learner.run(NAMED[150:], SETS[150:])
    for label, panel in learner.panels.items():
        assert_equal_parts(state(panel), state(other.panels[label]))
    assert repr(learner.ledger_) == repr(other.ledger_)


def test_a_panel_of_a_label_learns_with_the_others_only_but_its_copy_learns_alone() -> None:
    learner = mb.MultilabelPanel(classes=LABELS)
    learner.run(NAMED[:100], SETS[:100])
    panel = learner.panels["art"]
    for learn in (
        lambda: panel.learn_one(NAMED[0], True),
        lambda: panel.run(NAMED, HAS[2]),
        lambda: panel.tell(panel.ask(NAMED[0]), True),
    ):
        with pytest.raises(ValueError, match="learns with the panels of other labels"):
            learn()
    assert panel.ledger_.rounds == 100
    alone = copy.deepcopy(panel)
    alone.run(NAMED[100:], HAS[2, 100:])
    learner.run(NAMED[100:], SETS[100:])
    assert_equal_parts(state(alone), state(panel))


def test_the_panel_of_a_late_label_can_be_saved_alone(tmp_path: Path) -> None:
    learner = mb.MultilabelPanel()
    learner.run(NAMED[:100], [each & {"sport"} | ({"law"} if t > 60 else set()) for t, each in enumerate(SETS[:100])])
    learner.panels["law"].save(tmp_path / "law.mb")
    loaded = mb.load(tmp_path / "law.mb")
    assert_equal_parts(state(loaded), state(learner.panels["law"]))
    assert loaded.predict_proba(NAMED).tolist() == learner.panels["law"].predict_proba(NAMED).tolist()


def test_the_core_refuses_panels_that_do_not_fit() -> None:
    def engine(*, named: bool = True, shared: bool = False, width: int = 0) -> Engine:
        return Engine("panel", 0.0, 0.0, False, 0.0, 0.0, named, width, 0, shared=shared)

    reader, panel = engine(shared=True), engine()
    y, out = np.ones((1, 1), np.int8), np.empty((1, 1), np.uint8)
    rows = (np.array([0, 1], np.int64), np.array([0], np.int32), np.ones(1))
    with pytest.raises(ValueError, match="must be added first"):
        reader.play_csr_labels([panel], *rows, y, out, False)
    with pytest.raises(ValueError, match="cannot learn with"):
        reader.add_label(engine(named=False, width=2), True)
    with pytest.raises(ValueError, match="cannot learn with"):
        panel.add_label(engine(), True)
    reader.add_label(panel, True)
    with pytest.raises(ValueError, match="does not read rows"):
        panel.play_csr_labels([reader], *rows, y, out, False)
    with pytest.raises(ValueError, match="occur once"):
        reader.play_csr_labels([panel, panel], *rows, np.ones((2, 1), np.int8), np.empty((2, 1), np.uint8), False)
    with pytest.raises(ValueError, match="a row for each panel"):
        reader.play_csr_labels([panel], *rows, np.ones((2, 1), np.int8), out, False)
    other = engine()
    other.learn_named({"a": 1.0}, 1)
    with pytest.raises(ValueError, match="other names"):
        reader.add_label(other, False)
