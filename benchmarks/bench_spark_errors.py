"""Measure the errors of learners that were mixed from shards on Spark, beside one machine.

    python benchmarks/bench_spark_errors.py [--sets a9a spam_stream kdd99] [--learners panel ...]
        [--shards 1 2 4 8 16] [--epochs 3]

For each set there are rows to learn, and rows to test that are never learned: a9a has a test file; of the others, each
fifth row is tested. A learner learns the rows in their order, in so many passes, on one machine; and through Spark in
local mode with ``OnlineClassifier``, in so many shards and epochs. The table has the error on the test rows after each
epoch, and the mistakes in all rounds (each prediction was made before its label was learned). "ratio" is the error
beside that of one machine with as many passes.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from outside_data import add_data_option, loaders
from pyarrow import parquet
from spark_local import session

import mistakebound as mb
from mistakebound.rules.registry import DECLARATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

SPARSE = 0
"""The type of a sparse vector of pyspark.ml."""
SETS = ("a9a", "spam_stream", "kdd99")


def split(data: Any, name: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return the rows to learn with their labels, and the rows to test with theirs."""
    if name == "a9a":
        return *data.a9a(), *data.a9a_test()
    X, y = data.kdd99_10pct() if name == "kdd99" else getattr(data, name)()
    tested = np.arange(len(y)) % 5 == 4
    return X[~tested], y[~tested], X[tested], y[tested]


def error(learner: Any, X: Any, y: np.ndarray) -> float:
    """Return the share of rows that a learner predicts wrongly."""
    return float(np.mean(learner.predict(X) != y))


def vectors(batches: Iterator[Any]) -> Iterator[Any]:
    """Return the columns ``index`` and ``value`` of batches as one column of sparse vectors, on a worker."""
    for batch in batches:
        width, index, value, *others = batch.columns
        fields = [
            pa.field("type", pa.int8(), nullable=False),
            pa.field("size", pa.int32()),
            pa.field("indices", pa.list_(pa.field("element", pa.int32(), nullable=False))),
            pa.field("values", pa.list_(pa.field("element", pa.float64(), nullable=False))),
        ]
        kind = pa.array(np.full(batch.num_rows, SPARSE, np.int8))
        lists = [each.cast(field.type) for each, field in zip((index, value), fields[2:], strict=True)]
        features = pa.StructArray.from_arrays([kind, width.cast(pa.int32()), *lists], fields=fields)
        yield pa.RecordBatch.from_arrays([features, *others], names=["features", *batch.schema.names[3:]])


@contextmanager
def frame_of(spark: Any, X: Any, y: np.ndarray) -> Iterator[Any]:
    """Return the rows of a CSR matrix with labels 0 and 1 as a DataFrame: features, label, and t, their order."""
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql.types import DoubleType, LongType, StructField, StructType

    offsets = pa.array(X.indptr.astype(np.int32))
    table = pa.table(
        {
            "width": np.full(len(y), X.shape[1]),
            "index": pa.ListArray.from_arrays(offsets, pa.array(X.indices.astype(np.int32))),
            "value": pa.ListArray.from_arrays(offsets, pa.array(X.data.astype(np.float64))),
            "label": y.astype(np.float64),
            "t": np.arange(len(y)),
        }
    )
    fields = [StructField("features", VectorUDT()), StructField("label", DoubleType()), StructField("t", LongType())]
    with tempfile.TemporaryDirectory() as folder:
        parquet.write_table(table, Path(folder) / "rows.parquet", row_group_size=20_000)
        yield spark.read.parquet(folder).mapInArrow(vectors, StructType(fields))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_option(parser)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--learners", nargs="+", default=["panel", "perceptron", "adagrad-logistic", "arow"])
    parser.add_argument("--shards", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    from mistakebound.spark import OnlineClassifier

    data = loaders(options.data)
    print(f"{'set':12} {'learner':17} {'shards':>6}  {'test error after each epoch':32} {'ratio':>6} {'mistakes':>9}")
    spark = session("local[2]", {"spark.driver.memory": "4g"})
    try:
        for name in options.sets:
            X, y, X_test, y_test = split(data, name)
            with frame_of(spark, X, y) as frame:
                rows = frame.repartition(4).persist()
                for rule in options.learners:
                    kind = getattr(mb, DECLARATIONS[rule].learner)
                    alone, errors = kind(classes=(0.0, 1.0)), []
                    for _ in range(options.epochs):
                        alone.run(X, y.astype(float))
                        errors.append(error(alone, X_test, y_test))
                    show(name, rule, "alone", errors, 1.0, alone)
                    for shards in options.shards:
                        learner, found = kind(classes=(0.0, 1.0)), []
                        for _ in range(options.epochs):
                            estimator = OnlineClassifier(learner=learner, orderCol="t", shards=shards)
                            learner = estimator.fit(rows).learner
                            found.append(error(learner, X_test, y_test))
                        show(name, rule, str(shards), found, found[-1] / max(errors[-1], 1e-12), learner)
                rows.unpersist()
    finally:
        spark.stop()


def show(name: str, rule: str, shards: str, errors: list[float], ratio: float, learner: Any) -> None:
    shown = "  ".join(f"{each:.5f}" for each in errors)
    print(f"{name:12} {rule:17} {shards:>6}  {shown:32} {ratio:6.3f} {learner.ledger_.mistakes:9}", flush=True)


if __name__ == "__main__":
    main()
