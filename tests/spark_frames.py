"""Small streams as Spark DataFrames, with features stored in every way that can be read."""

from __future__ import annotations

from typing import Any

import numpy as np

import mistakebound as mb

ROWS = 400
NAMES = [f"x{i}" for i in range(6)]
KINDS = ("dense", "sparse", "mixed", "array", "names", "map", "table")


def stream(rows: int = ROWS, *, seed: int = 0, binary: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Rows with some zeros, and labels of a linear rule with a little noise; ``binary``: features are 0 or 1."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (rows, len(NAMES))).astype(float)
    X = np.abs(X) > 1 if binary else X / 2
    y = X.astype(float) @ np.array([3, -2, 1, 0, 0, 1]) + rng.normal(size=rows) * 0.3 > (0.5 if binary else 0)
    return X.astype(float), y.astype(float)


def frame(spark: Any, kind: str, X: np.ndarray, y: Any, **more: Any) -> Any:
    """Return rows as a DataFrame with the columns of the kind, ``label``, ``t`` (the order), and ``more`` columns."""
    from pyspark.ml.linalg import SparseVector, Vectors

    def vector(row: np.ndarray, *, sparse: bool) -> Any:
        index = np.flatnonzero(row)
        return SparseVector(len(row), index, row[index]) if sparse else Vectors.dense(row.tolist())

    features: dict[str, list[Any]] = {
        "dense": lambda: {"features": [vector(row, sparse=False) for row in X]},
        "sparse": lambda: {"features": [vector(row, sparse=True) for row in X]},
        "mixed": lambda: {"features": [vector(row, sparse=t % 3 == 0) for t, row in enumerate(X)]},
        "array": lambda: {"features": X.tolist()},
        "names": lambda: {"features": [[NAMES[i] for i in np.flatnonzero(row)] for row in X]},
        "map": lambda: {"features": named(X)},
        "table": lambda: {name: X[:, i].tolist() for i, name in enumerate(NAMES)} | {"word": words(X)},
    }[kind]()
    labels = y.tolist() if isinstance(y, np.ndarray) else list(y)
    columns = {**features, "label": labels, "t": list(range(len(X))), **more}
    rows = list(zip(*columns.values(), strict=True))
    schema = {"names": "features array<string>", "map": "features map<string,double>"}.get(kind)
    if schema:
        rest = {"t": "int"} | {name: None for name in more}
        first = rows[0]
        kinds = [schema, *(f"{name} {sql_type(first[1 + i])}" for i, name in enumerate(["label", *rest]))]
        return spark.createDataFrame(rows, ", ".join(kinds))
    return spark.createDataFrame(rows, list(columns))


def sql_type(value: Any) -> str:
    """Return the type of a column with such a value."""
    return {bool: "boolean", int: "int", float: "double", str: "string"}[type(value)]


def named(X: np.ndarray) -> list[dict[str, float]]:
    """Return rows as examples with named features."""
    return [{NAMES[i]: float(row[i]) for i in np.flatnonzero(row)} for row in X]


def words(X: np.ndarray) -> list[str]:
    """Return a column of categories."""
    return ["many" if np.count_nonzero(row) > 3 else "few" for row in X]


def learned(learner: Any, kind: str, X: np.ndarray, y: Any) -> Any:
    """Let a learner learn the rows in this process, as Spark stores them in this kind of columns."""
    if kind == "table":
        import pyarrow as pa

        from mistakebound.data.batches import BatchSource

        columns = {name: X[:, i] for i, name in enumerate(NAMES)} | {"word": words(X), "label": list(y)}
        table = pa.table(columns)
        return learner.run(BatchSource(table.schema, table.to_batches(), label="label"))
    examples = X
    if kind == "names":
        examples = [[NAMES[i] for i in np.flatnonzero(row)] for row in X]
    elif kind == "map":
        examples = named(X)
    return learner.run(examples, y)


def columns_of(kind: str) -> dict[str, Any]:
    """Return the parameters that name the columns of the features."""
    return {"inputCols": [*NAMES, "word"]} if kind == "table" else {}


def fresh(name: str = "Panel", **parameters: Any) -> Any:
    """Return a new learner with two labels."""
    return getattr(mb, name)(classes=(0.0, 1.0), **parameters)
