"""A feature that comes more than once in a row is the sum of its values, before it is predicted with or learned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from input_streams import BINARY, REAL, facts

import mistakebound as mb
from mistakebound.rules.registry import DECLARATIONS

Rows = list[list[tuple[int, float]]]


def repeated_rows(seed: int, *, ordered: bool = False, kind: type = np.float64, ones: bool = False) -> Rows:
    """Rows of up to 40 features out of 25, with repetitions, some of which cancel; some rows have none."""
    rng = np.random.default_rng(seed)
    rows = []
    for size in rng.integers(0, 41, 80):
        index = rng.integers(0, 25, size) if size % 4 else rng.permutation(25)[:size]
        value = np.ones(len(index)) if ones else rng.choice([1.0, -1.0, 0.3, 2.5, 1e-4], len(index)).astype(kind)
        row = [(int(i), float(v)) for i, v in zip(index, value, strict=True)]
        rows.append(sorted(row) if ordered else row)
    return rows


def summed(row: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Sum the values of each feature in float64, in their order, at the first place of the feature."""
    found: dict[int, float] = {}
    for index, value in row:
        found[index] = found[index] + value if index in found else value
    return [(index, value) for index, value in found.items() if value != 0]


def csr(rows: Rows, kind: type = np.float64, index: type = np.int32) -> sp.csr_matrix:
    matrix = sp.csr_matrix((len(rows), 25), dtype=kind)
    matrix.indptr = np.cumsum([0, *map(len, rows)])
    matrix.indices = np.array([i for row in rows for i, _ in row], index)
    matrix.data = np.array([v for row in rows for _, v in row], kind)
    return matrix


def labels(rows: Rows) -> list[int]:
    return np.random.default_rng(1).integers(0, 2, len(rows)).tolist()


def same(make: Callable[..., Any], given: Any, once: Any, y: list[int], *, simd: bool = True) -> None:
    """Check that both streams give the same state, bit for bit, and the same scores afterwards."""
    learners = [make(classes=(0, 1)) for _ in range(2)]
    for learner, rows in zip(learners, (given, once), strict=True):
        if not simd:
            learner.predict_one(np.zeros(25))
            learner._play.engine.core.use_simd(False)
        learner.run(rows, y)
    assert facts(learners[0]) == facts(learners[1])
    assert learners[0].decision_function(given).tolist() == learners[1].decision_function(once).tolist()


@pytest.mark.parametrize("simd", [True, False])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("make", REAL)
def test_sparse_matrices(make: Callable[..., Any], kind: type, index: type, ordered: bool, simd: bool) -> None:
    """Repeated indices may be adjacent or far apart; float32 values are summed in float64."""
    rows = repeated_rows(3, ordered=ordered, kind=kind)
    same(make, csr(rows, kind, index), csr([summed(row) for row in rows]), labels(rows), simd=simd)


def svmlight(path: Path, rows: Rows, y: list[int]) -> mb.Source:
    lines = (f"{label} " + " ".join(f"{i + 1}:{v!r}" for i, v in row) for row, label in zip(rows, y, strict=True))
    path.write_text("\n".join([*lines, ""]))
    return mb.Source(path, format="svmlight")


def vw(path: Path, rows: Rows, y: list[int], name: str = "f{}", space: str = "", **more: Any) -> mb.Source:
    lines = []
    for row, label in zip(rows, y, strict=True):
        words = [name.format(i) + (f":{v!r}" if v != 1 else "") for i, v in row]
        lines.append(f"{label} |{space} " + " ".join(words))
    path.write_text("\n".join([*lines, ""]))
    return mb.Source(path, format="vw", **more)


@pytest.mark.parametrize("make", REAL)
def test_svmlight(make: Callable[..., Any], tmp_path: Path) -> None:
    """Equal to rows that were summed before; values that cancel count as absent."""
    rows = repeated_rows(4)
    y = labels(rows)
    once, given = make(classes=(0, 1)), make(classes=(0, 1))
    given.run(svmlight(tmp_path / "a", rows, y))
    once.run(svmlight(tmp_path / "b", [summed(row) for row in rows], y))
    assert facts(given) == facts(once)


@pytest.mark.parametrize("name", ["f{}", "a feature{}".replace(" ", "-"), "é{}", "a-name-that-is-long-{}"])
@pytest.mark.parametrize("space", ["", "s"])
@pytest.mark.parametrize("ones", [True, False])
@pytest.mark.parametrize("make", [mb.Perceptron, mb.BalancedWinnow])
def test_vw_text(make: Callable[..., Any], ones: bool, space: str, name: str, tmp_path: Path) -> None:
    """With short and long names, with and without values, with and without a namespace, and from the cache."""
    rows = repeated_rows(5, ones=ones)
    y = labels(rows)
    once = make(classes=(0, 1))
    once.run(vw(tmp_path / "b", [summed(row) for row in rows], y, name, space))
    for cache in (None, tmp_path / "cache", tmp_path / "cache"):
        given = make(classes=(0, 1))
        given.run(vw(tmp_path / "a", rows, y, name, space, cache=cache))
        assert facts(given) == facts(once)


def test_names_one_at_a_time() -> None:
    """Lists of names, and a dict that has a name in two ways, equal the dicts of their sums."""
    given, once = mb.BalancedWinnow(classes=(0, 1)), mb.BalancedWinnow(classes=(0, 1))
    for row, label in zip(repeated_rows(6, ones=True), labels(repeated_rows(6)), strict=True):
        x = [f"f{i}" for i, _ in row]
        counted = {f"f{i}": v for i, v in summed(row)}
        assert given.score_one(x) == once.score_one(counted)
        given.learn_one(x, label)
        once.learn_one(counted, label)
    for x, counted in (({"a": "b", "a=b": 0.5}, {"a=b": 1.5}), ({"a": "b", "a=b": -1, "c": 1}, {"c": 1})):
        assert given.score_one(x) == once.score_one(counted)
        given.learn_one(x, 0)
        once.learn_one(counted, 0)
    assert facts(given) == facts(once)


@pytest.mark.parametrize("make", REAL)
def test_values_that_cancel_count_as_absent(make: Callable[..., Any]) -> None:
    """Large values that cancel lose no precision, and the certificate has the same rounds."""
    rows = [[(0, 1e30), (1, 1.0), (0, -1e30)], [(1, 1.0)], [(0, 1.0), (0, -1.0)]] * 20
    learner = make(classes=(0, 1))
    learner.run(csr(rows), [0, 1, 0] * 20)
    assert learner._play.engine.core.z()[0][0] == 0
    if DECLARATIONS[learner.rule_id].has_theorem:
        assert learner.certify().status != "violated"
    assert 0 not in learner.ledger_.kept.index.tolist()


@pytest.mark.parametrize(
    ("values", "words"), [((6e29, 6e29), "1e30"), ((1.5e-30, -1e-30), "1e-30"), ((1e308, 1e308), "finite")]
)
def test_a_sum_has_the_limits_of_a_value(values: tuple[float, float], words: str, tmp_path: Path) -> None:
    """Too large, too small, or not finite: the round and the feature are named, and nothing changes."""
    row = [(1, values[0]), (0, 1.0), (1, values[1])]
    forms: list[tuple[Any, Any, str]] = [
        (csr([[(0, 1.0)], row]), [0, 0], "feature 1 "),
        (svmlight(tmp_path / "a", [[(0, 1.0)], row], [0, 0]), None, "a:2: feature 2 "),
        (vw(tmp_path / "b", [[(0, 1.0)], row], [0, 0]), None, "b:2: feature 'f1' "),
    ]
    for rows, y, where in forms:
        learner, twin = mb.Perceptron(classes=(0, 1), update_margin=1e9), mb.Perceptron(classes=(0, 1))
        with pytest.raises(mb.StreamError, match=words) as caught:
            learner.run(rows, y)
        assert where in str(caught.value)
        assert caught.value.round == learner.ledger_.rounds == 1
        twin.run([{"f0": 1.0}] if "f1" in where else csr([[(0, 1.0)]]), [0])
        found, wanted = learner.weights_, twin.weights_
        assert dict(found) == dict(wanted) if isinstance(found, dict) else found[0] == wanted[0]


@pytest.mark.parametrize("make", BINARY)
def test_binary_rules_check_the_sum_of_repeated_values(make: Callable[..., Any], tmp_path: Path) -> None:
    """½ + ½ is 1, and 1 + 1 is neither 0 nor 1, in every kind of input."""
    half = make(classes=(0, 1)).run(csr([[(2, 0.5), (1, 1.0), (2, 0.5)]]), [0])
    assert half.predictions.tolist() == make(classes=(0, 1)).run(csr([[(2, 1.0), (1, 1.0)]]), [0]).predictions.tolist()
    row = [(3, 1.0), (1, 1.0), (3, 1.0)]
    for rows, y, feature in (
        (csr([row]), [0], "feature 3 "),
        ([["a", "b", "a"]], [0], "feature 'a' "),
        ([{"b": 1, "a": "a", "a=a": 1}], [0], "feature 'a=a' "),
        (svmlight(tmp_path / "a", [row], [0]), None, "feature 4 "),
        (vw(tmp_path / "b", [row], [0]), None, "feature 'f3' "),
    ):
        with pytest.raises(mb.StreamError, match="0 or 1") as caught:
            make(classes=(0, 1)).run(rows, y)
        assert feature in str(caught.value)
        assert (caught.value.round, caught.value.kind) == (0, "not_binary")
