"""The compiled core gives the same bits as the Python reference, for every rule and every kind of input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_checks import LEARNERS, OPTIONS, check_parity, streams_for
from scipy.sparse import csr_matrix

from mistakebound.rules import RULES
from mistakebound.rules.reference import ReferenceGame

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("rule", RULES)
def test_core_equals_reference(rule: str) -> None:
    for parameters, X, y in streams_for(rule):
        check_parity(rule, parameters, X, y, RULES[rule])


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_core_equals_reference_on_any_stream(rule: str, data: st.DataObject) -> None:
    """Few features and chosen values, so that ties and equal rows occur often."""
    width = data.draw(st.integers(1, 20))
    value = (
        st.sampled_from([0.0, 1.0])
        if RULES[rule].binary
        else st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5, 3.0, -0.1, 1e-3, 700.0, 1e6])
    )
    rows = data.draw(st.lists(st.lists(value, min_size=width, max_size=width), min_size=1, max_size=30))
    labels = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(rows), max_size=len(rows)))
    parameters = data.draw(st.sampled_from(OPTIONS[rule]))
    check_parity(rule, parameters, np.array(rows), np.array(labels), RULES[rule])


@pytest.mark.parametrize("rule", RULES)
def test_every_input_type_gives_the_same_bits(rule: str) -> None:
    """Dense or CSR, 32 or 64 bits, with and without SIMD, the whole stream or one example at a time."""
    for parameters, values, y in streams_for(rule):
        X = values.astype(np.float32).astype(float)  # so that float32 holds the same numbers
        sparse = csr_matrix(X)
        wide = sparse.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)

        def state(feed: Callable[[Any], None], *, simd: bool = True, p: dict[str, Any] = parameters) -> tuple[Any, ...]:
            learner = LEARNERS[rule](classes=(-1, 1), **p)
            learner.predict_one(np.zeros(len(X[0])))
            learner._play.engine.core.use_simd(simd)
            feed(learner)
            scores = learner.decision_function(X[:7])
            return learner._play.engine.core.z()[0].tolist(), learner.ledger_.predictions.tolist(), scores.tolist()

        def one_by_one(learner: Any, rows: Any = X, labels: np.ndarray = y) -> None:
            for x, label in zip(rows, labels, strict=True):
                learner.learn_one(x, label)

        def in_parts(learner: Any, rows: Any = sparse, labels: np.ndarray = y) -> None:
            for start in (0, 1, 2, 40, 41, 149):
                stop = {0: 1, 1: 2, 2: 40, 40: 41, 41: 149, 149: 150}[start]
                learner.partial_fit(rows[start:stop], labels[start:stop])

        whole = state(lambda learner: learner.run(X, y))
        assert whole == state(lambda learner: learner.run(X, y), simd=False)
        assert whole == state(lambda learner: learner.run(X.astype(np.float32), y))
        assert whole == state(lambda learner: learner.run(sparse, y))
        assert whole == state(lambda learner: learner.run(sparse.astype(np.float32), y), simd=False)
        assert whole == state(lambda learner: learner.run(wide, y))
        assert whole == state(lambda learner: learner.run(wide.astype(np.float32), y))
        assert whole == state(one_by_one)
        assert whole == state(in_parts)


def test_the_prefetching_loop_gives_the_same_bits() -> None:
    """The core uses another loop if the weights do not fit into the cache. Its order of additions is the same."""
    rng = np.random.default_rng(3)
    rows, width, active = 300, 2**21, 37
    index = np.sort(rng.integers(0, width, (rows, active)), axis=1)
    X = csr_matrix(
        (rng.standard_normal(rows * active), index.ravel(), np.arange(0, rows * active + 1, active)), (rows, width)
    )
    X.sum_duplicates()
    y = np.where(rng.random(rows) < 0.5, 1, -1)
    used, small = np.unique(X.indices, return_inverse=True)
    packed = csr_matrix((X.data, small, X.indptr), (rows, len(used)))  # the same stream on a small table
    for rule in ("perceptron", "pnorm"):
        a, b = LEARNERS[rule](), LEARNERS[rule]()
        assert np.array_equal(a.run(X, y).predictions, b.run(packed, y).predictions)
        assert np.array_equal(a._play.engine.core.z()[0][used], b._play.engine.core.z()[0])


@pytest.mark.parametrize("rule", [rule for rule in RULES if not RULES[rule].binary])
@pytest.mark.parametrize("simd", [True, False])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_features_in_any_order_and_repeated(rule: str, simd: bool, kind: type) -> None:
    """A row may contain a feature twice, and in any order. Its values are added."""
    rng = np.random.default_rng(3)
    for parameters in OPTIONS[rule]:
        sizes = rng.integers(0, 40, 60)
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        index = rng.integers(0, 25, indptr[-1]).astype(np.int32)
        value = rng.choice([1.0, -1.0, 0.3, 2.5, 1e-4], indptr[-1]).astype(kind)
        X = csr_matrix((value, index, indptr), shape=(60, 25))
        y = rng.choice([-1, 1], 60)
        learner = LEARNERS[rule](classes=(-1, 1), **parameters)
        learner.predict_one(np.zeros(25))
        learner._play.engine.core.use_simd(simd)
        learner.run(X, y)
        game = ReferenceGame(RULES[rule](**parameters), 25)
        for r in range(60):
            row = slice(indptr[r], indptr[r + 1])
            game.round(list(zip(index[row].tolist(), value[row].astype(float).tolist(), strict=True)), int(y[r]))
        assert learner._play.engine.core.z()[0].tolist() == game.z
        assert learner.ledger_.updates == game.updates
        assert learner.score_one(np.ones(25)) == game.score([(i, 1.0) for i in range(25)])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_balanced_winnow_on_rows_around_the_block_size(kind: type) -> None:
    """Row lengths around the block size of the SIMD code, and values that are too large for it inside a block."""
    rng = np.random.default_rng(5)
    sizes = [*range(12), *range(120, 137), *range(250, 263), 400] * 2
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    index = np.concatenate([np.sort(rng.choice(500, size, replace=False)) for size in sizes]).astype(np.int32)
    value = rng.choice([1.0, -1.0, 0.3, 2.5, 1e-4], indptr[-1]).astype(kind)
    y = rng.choice([-1, 1], len(sizes))
    far = value.copy()
    far[rng.random(len(far)) < 0.002] = 400
    for eta, values in ((0.5, value), (0.01, value), (2.0, far)):
        X = csr_matrix((values, index, indptr), shape=(len(sizes), 500))
        found = []
        for simd in (True, False):
            learner = LEARNERS["balanced-winnow"](classes=(-1, 1), eta=eta, update_margin=0.5)
            learner.predict_one(np.zeros(500))
            learner._play.engine.core.use_simd(simd)
            learner.run(X, y)
            state = learner._play.engine.core.z()[0].tolist()
            found.append((state, learner.ledger_.updates, learner.decision_function(X).tolist()))
        assert found[0] == found[1]
        game = ReferenceGame(RULES["balanced-winnow"](eta=eta, update_margin=0.5), 500)
        for r in range(len(sizes)):
            row = slice(indptr[r], indptr[r + 1])
            game.round(list(zip(index[row].tolist(), values[row].astype(float).tolist(), strict=True)), int(y[r]))
        assert found[0][0] == game.z
        assert found[0][1] == game.updates > 50
        assert found[0][2][-1] == game.score(
            list(zip(index[row].tolist(), values[row].astype(float).tolist(), strict=True))
        )
