"""Every kind of input is read as the same stream, bit for bit, in one call or in many."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from input_streams import BINARY, NAMES, REAL, changed, dicts, facts, stream

import mistakebound as mb


def after(make: Callable[..., Any], X: Any, y: Any) -> tuple[Any, ...]:
    """Return the facts of a learner after one run."""
    learner = make(classes=(0, 1))
    learner.run(X, y)
    return facts(learner)


MATRICES: dict[str, Callable[[np.ndarray], Any]] = {
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "big endian": lambda X: X.astype(">f8"),
    "big endian float32": lambda X: X.astype(">f4"),
    "object": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "generator of lists": lambda X: iter(X.tolist()),
    "generator of arrays": lambda X: iter(X),
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed view": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "read-only": lambda X: changed(X, writeable=False),
    "unaligned": lambda X: np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape),
    "negative zeros": lambda X: np.where(X == 0, -0.0, X),
    "csr": sp.csr_matrix,
    "csr 64": lambda X: changed(sp.csr_matrix(X), indices=sp.csr_matrix(X).indices.astype(np.int64)),
    "csr float32": lambda X: sp.csr_matrix(X.astype(np.float32)),
    "csr_array": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "csr with zeros": lambda X: changed(sp.csr_matrix(np.ones_like(X)), data=X.ravel()),
}


@pytest.mark.parametrize("form", MATRICES)
@pytest.mark.parametrize("make", REAL)
def test_every_kind_of_matrix_gives_the_same_rounds(make: Callable[..., Any], form: str) -> None:
    """Equal bit for bit to dense float64, because the values are exact in float32."""
    X, y = stream()
    assert after(make, MATRICES[form](X), y) == after(make, X, y)


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint64, np.int64, np.float16, object])
@pytest.mark.parametrize("make", REAL + BINARY)
def test_number_types_of_binary_data(make: Callable[..., Any], kind: Any) -> None:
    """0/1 data may have any dtype, dense or sparse."""
    X, y = stream(binary=True)
    assert after(make, X.astype(kind), y) == after(make, X, y)
    if kind not in (object, np.float16):
        assert after(make, sp.csr_matrix(X.astype(kind)), y) == after(make, X, y)


@pytest.mark.parametrize("make", REAL)
def test_unsorted_and_repeated_indices(make: Callable[..., Any]) -> None:
    """Indices may be in any order, and the values of a repeated index are summed."""
    once, twice = make(classes=(0, 1)), make(classes=(0, 1))
    once.run([[2, 0, 4], [0, 1, 0]], [0, 0])
    twice.run(
        sp.csr_matrix((np.array([1.0, 2, 3, 1]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3)), [0, 0]
    )
    np.testing.assert_allclose(once.weights_, twice.weights_, rtol=1e-15)
    assert once.ledger_.predictions.tolist() == twice.ledger_.predictions.tolist()


@settings(max_examples=30, deadline=None)
@given(make=st.sampled_from(REAL + BINARY), seed=st.integers(0, 99), cuts=st.lists(st.integers(0, 60), max_size=6))
def test_splitting_a_stream_changes_nothing(make: Callable[..., Any], seed: int, cuts: list[int]) -> None:
    """One run, several runs, partial_fit and one at a time are equal bit for bit, with positions and with names."""
    X, y = stream(seed=seed, binary=make in BINARY)
    edges = [0, *sorted(set(cuts) - {0, 60}), 60]
    for rows in (X, sp.csr_matrix(X), dicts(X)):
        pieces, single = make(classes=(0, 1)), make(classes=(0, 1))
        for a, b in pairwise(edges):
            learn = pieces.partial_fit if a % 2 and rows is X else pieces.run
            learn(rows[a:b], y[a:b])
        for t in range(60):
            score, predicted = single.score_one(rows[t]), single.predict_one(rows[t])
            single.learn_one(rows[t], y[t])
            assert predicted == single.ledger_.predictions[-1] == int(score >= single.ledger_.rule.threshold)
        assert facts(pieces) == facts(single) == after(make, rows, y)


@pytest.mark.parametrize("make", [*REAL[:1], *REAL[2:], *BINARY])
def test_named_and_positional_features_give_the_same_rounds(make: Callable[..., Any]) -> None:
    """The same features in the same order make the same mistakes; normalised weights share one slot more."""
    X, y = stream(300, binary=make in BINARY)
    a, b = make(classes=(0, 1)), make(classes=(0, 1))
    assert a.run(X, y).predictions.tolist() == b.run(dicts(X), y).predictions.tolist()
    ratios = [b.weights_[name] / w for name, w in zip(NAMES, a.weights_, strict=True) if w]
    np.testing.assert_allclose(ratios, ratios[:1] * len(ratios))


def test_dicts_sets_and_lists_give_the_same_example() -> None:
    """Mappings, and sets, lists and tuples of names, alone and in a stream; zeros and False count as absent."""
    ones = {"a": 1, "b": True}
    forms = [ones, OrderedDict(ones), Counter(ones), MappingProxyType(ones), {"a": np.float32(1), "b": np.bool_(1)}]
    forms += [{"a", "b"}, frozenset("ab"), ["a", "b"], ("a", "b"), ones.keys(), [np.str_("a"), "b"]]
    forms += [{"a": np.int64(1), "b": Decimal(1)}, {"a": 1, "b": 1, "c": 0, "d": 0.0, "e": False}]
    for x in forms:
        one, many = mb.Perceptron(), mb.Perceptron()
        one.learn_one(x, -1)
        many.run(iter([x]), iter([-1]))
        assert one.weights_ == many.weights_ == {"a": -1.0, "b": -1.0}
        assert (one.predict_one(x), one.score_one(x)) == (-1, -2.0)


def test_text_values_and_repeats() -> None:
    """{k: "v"} is the feature k=v; the values of a repeated name are summed; Winnow rejects 1 + 1."""
    learner = mb.Perceptron()
    learner.run([{"colour": "red", "size": 2}, ["x", "x", "é"]], [-1, -1])
    assert learner.weights_ == {"colour=red": -1.0, "size": -2.0, "x": -2.0, "é": -1.0}
    for twice in (["x", "x"], {"a": "b", "a=b": 1}):
        with pytest.raises(mb.StreamError, match="round 0: ") as caught:
            mb.Winnow(threshold=4).learn_one(twice, 1)
        assert caught.value.feature in ("x", "a=b")
    with pytest.raises(mb.StreamError, match="round 0: feature 1 "):
        mb.Winnow().run(sp.csr_matrix((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 3)), [1])


@pytest.mark.parametrize("empty", [{}, set(), [], ()])
def test_examples_without_features(empty: Any) -> None:
    """A named example may be empty, one at a time as in a stream."""
    a, b = mb.Perceptron(), mb.Perceptron()
    a.run([{"a": 1}, empty], [-1, -1])
    b.learn_one({"a": 1}, -1)
    assert b.predict_one(empty) == 1
    b.learn_one(empty, -1)
    assert b.predict([{"a": 1}, empty]).tolist() == [-1, 1]
    assert facts(a) == facts(b)


def test_single_positional_examples() -> None:
    """Vectors, one-row matrices and sparse rows are all one example."""
    X, y = stream(20)
    for form in (list, tuple, lambda r: r.reshape(1, -1), lambda r: sp.csr_matrix([r]), sp.coo_array, np.float32):
        learner = mb.Perceptron(classes=(0, 1))
        for row, label in zip(X, y, strict=True):
            learner.learn_one(form(row), label)
        assert facts(learner) == after(mb.Perceptron, X, y)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("column", "cell"), [(["red", "blue"], "red"), ([1, "blue"], "blue"), ("2024-01-01", "2024-01-01")]
)
def test_a_frame_with_other_cells_than_numbers_is_for_run(method: str, column: Any, cell: Any) -> None:
    """The error of fit names the column, and the call that can read it; nothing is learned."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": [1.5, 2.5], "colour": pd.to_datetime([column] * 2) if cell == column else column})
    learner = mb.Panel()
    with pytest.raises(ValueError, match=r"column 'colour'.*learner\.run\(X, y\).* or encode them") as caught:
        getattr(learner, method)(frame, [0, 1])
    assert str(cell) in str(caught.value)
    assert not learner.has_learned
    assert learner.run(frame, [0, 1]).rounds == 2
    fitted = mb.Panel().fit([[1.0, 2.0], [2.0, 3.0]], [0, 1])
    with pytest.raises(ValueError, match="column 'colour'.*in the same way as for fit"):
        fitted.predict(frame)


def test_dicts_are_for_run() -> None:
    with pytest.raises(ValueError, match=r"list of dicts: call learner\.run\(X, y\)"):
        mb.Panel().fit([{"a": 1}, {"b": 1}], [0, 1])


def test_frames() -> None:
    """A DataFrame has names in run and *_one, and positions with feature_names_in_ in fit, partial_fit and predict."""
    pd = pytest.importorskip("pandas")
    X, y = stream(40)
    frame = pd.DataFrame(X, columns=NAMES)
    learner = mb.Perceptron(classes=(0, 1)).fit(frame, y)
    assert facts(learner) == after(mb.Perceptron, X, y)
    assert learner.feature_names_in_.tolist() == NAMES
    assert learner.predict(frame).tolist() == learner.predict(X).tolist()
    with pytest.raises(ValueError, match="feature names"):
        learner.predict(frame[NAMES[::-1]])
    assert facts(mb.Perceptron(classes=(0, 1)).partial_fit(frame[:9], y[:9]).partial_fit(frame[9:], y[9:])) == facts(
        learner
    )
    assert after(mb.Perceptron, frame, y) == after(mb.Perceptron, dicts(X), y)
    one = mb.Perceptron(classes=(0, 1))
    for t in range(40):
        one.learn_one(frame.iloc[[t]], y[t])
    assert facts(one) == after(mb.Perceptron, dicts(X), y)


def test_kinds_do_not_mix() -> None:
    """The first input decides whether features have names; the other kind raises and changes nothing."""
    named, placed = mb.Perceptron(), mb.Perceptron()
    named.run([{"a": 1}], [-1])
    placed.run([[1.0, 2.0]], [-1])
    before = facts(named), facts(placed)
    for x in ([1.0], np.ones(1), np.ones((1, 2)), sp.csr_matrix([[1.0]])):
        for call in (named.predict_one, named.score_one, lambda x: named.learn_one(x, 1)):
            with pytest.raises(mb.StreamError, match="names.*positions") as caught:
                call(x)
            assert caught.value.kind == "names and positions"
        with pytest.raises(mb.StreamError, match="names.*positions") as caught:
            mb.Perceptron().run([{}, x], [1, 1])
        assert (caught.value.kind, caught.value.round) == ("names and positions", 1)
    for x in ({"a": 1}, ["a"], {"a"}):
        for call in (placed.predict_one, lambda x: placed.learn_one(x, 1), lambda x: placed.run([x], [1])):
            with pytest.raises(mb.StreamError, match="positions.*names") as caught:
                call(x)
            assert caught.value.kind == "names and positions"
    with pytest.raises(mb.StreamError, match="names.*positions"):
        named.run(np.ones((2, 2)), [1, 1])
    assert (facts(named), facts(placed)) == before


def test_an_empty_stream_does_not_start_a_learner() -> None:
    """No rounds, no mistakes, and any kind of input may still follow."""
    for X in ([], (), iter(())):
        for learner in (mb.Perceptron(), mb.Winnow()):
            assert learner.run(X, []).rounds == 0
            assert learner.run(np.ones((1, 2)), [1]).rounds == 1
    assert mb.Perceptron().run(np.empty((0, 3)), []).rounds == 0
    for make in REAL + BINARY:
        assert len(make().weights_) == 0
    assert mb.Perceptron().run(sp.csr_matrix((0, 3)), []).predictions.tolist() == []


def refused(call: Callable[[Any], Any]) -> None:
    """Check that the call raises ValueError, and that a learner of two features is unchanged and can go on."""
    learner, twin = mb.Perceptron(), mb.Perceptron()
    for each in (learner, twin):
        each.run([[1.0, 0.0], [0.0, 1.0]], [-1, 1])
    with pytest.raises(ValueError):
        call(learner)
    assert facts(learner) == facts(twin)
    learner.learn_one([1.0, 1.0], 1)


@pytest.mark.parametrize("value", [1j, "x", "2", {}, object(), 10**400, None], ids=lambda v: type(v).__name__)
def test_cells_that_are_not_numbers(value: Any) -> None:
    """In an array of objects they raise at their round; the text "2" is not the number 2.0."""
    cell = np.array([[1.0, None]], object)
    cell[0, 1] = value
    refused(lambda learner: learner.run(cell, [1]))


NO_ROWS: list[Any] = [
    [[1j, 0]],
    [["a", "b"]],
    np.array([["1", "2"]]),
    [1.0, 2.0],
    5,
    None,
    "ab",
    {"a": 1},
    ["a"],
    [None],
]


@pytest.mark.parametrize("X", [*NO_ROWS, np.ones((1, 2, 1))], ids=str)
def test_inputs_that_are_not_matrices(X: Any) -> None:
    """Complex numbers, text, and shapes that are not rows."""
    refused(lambda learner: learner.run(X, [1]))


@pytest.mark.parametrize("y", [[1], [1, 1, 1], [[1], [1]], [[1, 1]], None, 5], ids=str)
def test_labels_that_do_not_fit(y: Any) -> None:
    """Too few, too many, two-dimensional, or none."""
    refused(lambda learner: learner.run(np.ones((2, 2)), y))
    refused(lambda learner: learner.partial_fit(np.ones((2, 2)), y))


NO_VECTORS: list[Any] = [5, None, "ab", [], object(), np.ones((2, 2)), np.ones((1, 2, 1))]
NO_VECTORS += [sp.csr_matrix(np.eye(2)), sp.csr_matrix((0, 2))]


@pytest.mark.parametrize("x", NO_VECTORS, ids=lambda x: f"{type(x).__name__}{getattr(x, 'shape', '')}")
def test_inputs_that_are_not_single_examples(x: Any) -> None:
    """A number, an object, a cube, and two sparse rows or none."""
    refused(lambda learner: learner.learn_one(x, 1))
    refused(lambda learner: learner.predict_one(x))
    if isinstance(x, int):
        refused(lambda _: mb.Perceptron().learn_one(x, 1))


@pytest.mark.parametrize("bad", ["x", [1], {}, None, 10**400, 1j])
@pytest.mark.parametrize("name", ["margin", "radius"])
@pytest.mark.parametrize("make", [mb.NormalizedWinnow, mb.BalancedWinnow])
def test_margin_and_radius_are_numbers(make: Any, name: str, bad: Any) -> None:
    """For the best rate, they are checked like every other parameter."""
    with pytest.raises(ValueError, match=name):
        make(**{"eta": "best", "margin": 0.5, "radius": 1.0, name: bad}).run([[1.0]], [1])
