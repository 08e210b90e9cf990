"""Values that are too small to be learned are refused, whatever they come in; those at the limits are learned."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mistakebound as mb

TINY = 1e-46
"""Not zero, but zero in float32."""
ROWS = [(0, {"a": 1.0}), (1, {"b": 2.0}), (0, {"b": TINY})]


def lines(form: Callable[[int, dict[str, float]], str]) -> str:
    return "".join(form(y, x) + "\n" for y, x in ROWS)


def write_parquet(path: Path) -> None:
    pa, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {name: [x.get(name, 0.0) for _, x in ROWS] for name in "ab"}
    writer.write_table(pa.table({**columns, "label": [y for y, _ in ROWS]}), path)


FILES: dict[str, Callable[[Path], Any]] = {
    "svmlight": lambda path: path.write_text(
        lines(lambda y, x: f"{y} " + "".join(f"{'ab'.index(k) + 1}:{v}" for k, v in x.items()))
    ),
    "vw": lambda path: path.write_text(lines(lambda y, x: f"{y} | " + "".join(f"{k}:{v}" for k, v in x.items()))),
    "csv": lambda path: path.write_text("a,b,label\n" + lines(lambda y, x: f"{x.get('a', 0)},{x.get('b', 0)},{y}")),
    "tsv": lambda path: path.write_text("a\tb\tlabel\n" + lines(lambda y, x: f"{x.get('a', 0)}\t{x.get('b', 0)}\t{y}")),
    "json": lambda path: path.write_text(lines(lambda y, x: json.dumps({"label": y, **x}))),
    "parquet": write_parquet,
}


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("form", FILES)
def test_the_error_for_a_file_has_the_line(form: str, cached: bool, tmp_path: Path) -> None:
    """It has file, line, round and feature, with and without a cache; the rounds before are learned."""
    path = tmp_path / "stream"
    FILES[form](path)
    table = {"label": "label", "table": {"auto": False}} if form in ("csv", "tsv", "json", "parquet") else {}
    for _ in range(1 + cached):
        learner = mb.Perceptron(classes=(0, 1))
        source = mb.Source(path, cache=path.with_name("cache") if cached else None, **table)
        with pytest.raises(mb.StreamError, match="1e-30") as caught:
            learner.run(source)
        line = 4 if form in ("csv", "tsv") else 3
        assert caught.value.round == 2
        assert f"{path}{': row 3' if form == 'parquet' else f':{line}'}: feature " in str(caught.value)
        assert ("feature 2 " if form == "svmlight" else "'b'") in str(caught.value)
        assert learner.ledger_.rounds == 2


def test_a_namespace_weight_does_not_make_a_value_vanish(tmp_path: Path) -> None:
    """The product of the namespace's weight and a value is 0 only if one of them is."""
    path = tmp_path / "a.vw"
    path.write_text("0 |a:1e-200 x:1e-200\n")
    with pytest.raises(mb.StreamError, match=f"{path}:1"):
        mb.Perceptron(classes=(0, 1)).run(mb.Source(path))
    path.write_text("0 |a:0 x:1e-200 |b y:0 z\n")
    learner = mb.Perceptron(classes=(0, 1))
    learner.run(mb.Source(path))
    assert learner.weights_ == {"b^z": -1.0}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e-40, -1e-31])
def test_denormal_and_negative_values(kind: type, size: float) -> None:
    """In float32 and float64, dense and sparse."""
    X = np.array([[1.0, size]], kind)
    for rows in (X, sp.csr_matrix(X)):
        learner = mb.Perceptron(classes=(0, 1))
        with pytest.raises(mb.StreamError, match="^round 0: feature 1 is ") as caught:
            learner.run(rows, [0])
        assert caught.value.round == 0
        assert learner.ledger_.rounds == 0


def scaled(factor: float) -> list[Any]:
    """Return learners that predict a stream times this factor like ``scaled(1.0)`` predicts the stream."""
    return [
        mb.Perceptron(),
        mb.Perceptron(bias=factor),
        mb.PNormPerceptron(p=2),
        mb.PNormPerceptron(p=5.5),
        mb.NormalizedWinnow(eta=0.25 / factor),
        mb.BalancedWinnow(eta=0.25 / factor),
    ]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [2.0**-99, 2.0**99])
def test_scale_does_not_matter_up_to_the_limits(factor: float, kind: type) -> None:
    """Just above 1e-30 and just below 1e30, predictions and verdicts are those of the same stream at scale 1."""
    rng = np.random.default_rng(0)
    X = rng.choice([1.0, -1.0, 1.25], (400, 9)).astype(kind)
    y = np.where(X @ rng.choice([-1, 1, 2], 9) >= 1, 1, -1)
    for plain, learner in zip(scaled(1.0), scaled(factor), strict=True):
        wanted, found = plain.run(X, y), learner.run(X * kind(factor), y)
        assert found.predictions.tolist() == wanted.predictions.tolist()
        assert learner.certify().status == plain.certify().status != "violated"


def test_the_limits_themselves_are_learned() -> None:
    """1e-30 and 1e30, in float32 and float64."""
    for kind in (np.float32, np.float64):
        for size in (1e-30, 1e30):
            learner = mb.Perceptron()
            learner.run(np.array([[size]], kind), [-1])
            assert learner.weights_.tolist() == [-float(np.float32(size))]


@pytest.mark.parametrize("bias", [1e-310, -1e-31, 5e-324, 1.1e30])
def test_the_constant_feature_has_the_same_limits(bias: float) -> None:
    """Because it is learned like any other feature."""
    with pytest.raises(ValueError, match="bias"):
        mb.Perceptron(bias=bias).run([[1.0]], [1])
    for good in (0.0, 1e-30, -1e30):
        assert mb.Perceptron(bias=good).run([[1.0]], [1]).rounds == 1
