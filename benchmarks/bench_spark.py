"""Measure the speed of learning on Spark: beside pyspark.ml, and beside the core alone.

    python benchmarks/bench_spark.py [--rows 10000000] [--columns 30] [--cores 2] [--only pyspark|core]

Rows are drawn from a logistic model with a fixed seed, and written to Parquet files. Another 200,000 rows are tested.

1. OnlineClassifier (several learners; one epoch, a shard for each core) beside LogisticRegression and LinearSVC of
   pyspark.ml, with more and more iterations, on the same DataFrame of vectors, which is read from the files by each of
   them. The table has the seconds of ``fit``, the rows per second, and the error on the test rows.
2. The overhead of Spark: the rows per second of one task of ``mapInArrow`` that learns all rows (the files are read,
   assembled and converted to Arrow by Spark), beside the same learner on the same Arrow batches in one process without
   Spark. The batches are written to a file first, and read from memory.

--quick uses few rows; its times mean nothing.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from spark_local import session

import mistakebound as mb

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK, TEST_ROWS = 250_000, 200_000
QUICK = {"rows": 20_000, "columns": 5}
LEARNERS = ("Panel", "Panel lean", "AdaGradLogistic", "Perceptron")


def write_rows(folder: Path, rows: int, columns: int, seed: int) -> None:
    """Write rows in several Parquet files: x0, x1, ... and a label that is drawn from a logistic model."""
    folder.mkdir()
    w = np.random.default_rng(7).normal(size=columns) * 2 / np.sqrt(columns)
    rng = np.random.default_rng(seed)
    for number, begin in enumerate(range(0, rows, BLOCK)):
        X = rng.normal(size=(min(BLOCK, rows - begin), columns))
        y = rng.random(len(X)) < 1 / (1 + np.exp(-3 * (X @ w)))
        table = {f"x{i}": X[:, i] for i in range(columns)}
        parquet.write_table(
            pa.table({**table, "label": y.astype(float)}), folder / f"{number:05}.parquet", compression="none"
        )


def made(name: str) -> Any:
    """Return a new learner."""
    return mb.Panel(members="lean") if name == "Panel lean" else getattr(mb, name)()


def error_of(model: Any, test: Any) -> float:
    """Return the share of wrong predictions."""
    return float(model.transform(test).where("prediction != label").count()) / test.count()


def beside_pyspark(spark: Any, folder: Path, options: argparse.Namespace) -> None:
    """Print seconds, rows per second and test error of each."""
    from pyspark.ml.classification import LinearSVC, LogisticRegression

    from mistakebound.spark import OnlineClassifier

    train, test = (vectors_of(spark.read.parquet(str(folder / each)), options.columns) for each in ("train", "test"))
    estimators: dict[str, Any] = {
        f"mistakebound {name}": OnlineClassifier(learner=made(name), shards=options.cores) for name in LEARNERS
    }
    for iterations in (1, 2, 5, 10, 100):
        estimators[f"LogisticRegression, {iterations} iterations"] = LogisticRegression(maxIter=iterations)
        estimators[f"LinearSVC, {iterations} iterations"] = LinearSVC(maxIter=iterations)
    OnlineClassifier(learner=mb.Perceptron()).fit(test)  # start the workers and the compilers
    print(f"{'estimator':38} {'seconds':>8} {'rows/s':>10} {'test error':>10}")
    for name, estimator in estimators.items():
        began = time.perf_counter()
        model = estimator.fit(train)
        seconds = time.perf_counter() - began
        print(f"{name:38} {seconds:8.1f} {options.rows / seconds:10.0f} {error_of(model, test):10.5f}", flush=True)


def beside_the_core(spark: Any, folder: Path, options: argparse.Namespace) -> None:
    """Print the rows per second of one task, and of the core alone on the same Arrow batches."""
    from mistakebound.spark.columns import dense_as_arrays, find_columns
    from mistakebound.spark.rows import learn_batches
    from mistakebound.spark.shards import learn_shards

    rows = min(options.rows, options.core_rows)
    files = [str(folder / "train" / f"{number:05}.parquet") for number in range(-(-rows // BLOCK))]
    plain = spark.read.parquet(*files)
    by_vector = vectors_of(plain, options.columns)
    names = [f"x{i}" for i in range(options.columns)]
    print(f"\n{'one task':24} {'features':8} {'Spark rows/s':>13} {'core rows/s':>12} {'ratio':>6}")
    for kind, frame, inputs in (("vector", by_vector, None), ("table", plain, names)):
        columns = dense_as_arrays(frame, find_columns(frame, "features", inputs, label="label"))
        data = frame.select(*columns.sent).coalesce(1)
        stored = folder / f"{kind}.arrow"
        data.mapInArrow(writer(str(stored)), "done int").collect()
        for name in LEARNERS:
            began = time.perf_counter()
            (by_spark,) = learn_shards(data, columns, with_labels(made(name)))
            of_spark = by_spark.ledger_.rounds / (time.perf_counter() - began)
            alone = with_labels(made(name))
            with pa.memory_map(str(stored)) as source:
                batches = list(pa.ipc.open_stream(source))
                sum(int(batch.num_rows) for batch in batches)
                began = time.perf_counter()
                for _ in learn_batches(alone, columns, batches):
                    pass
                of_core = alone.ledger_.rounds / (time.perf_counter() - began)
            assert alone.ledger_.mistakes == by_spark.ledger_.mistakes
            print(f"{name:24} {kind:8} {of_spark:13.0f} {of_core:12.0f} {of_spark / of_core:6.2f}", flush=True)


def vectors_of(frame: Any, columns: int) -> Any:
    """Return the rows of a frame with their features as a vector."""
    from pyspark.ml.feature import VectorAssembler

    assemble = VectorAssembler(inputCols=[f"x{i}" for i in range(columns)], outputCol="features")
    return assemble.transform(frame).select("features", "label")


def with_labels(learner: Any) -> Any:
    """Return the learner with the labels 0 and 1."""
    return learner.set_params(classes=(0.0, 1.0))


def writer(path: str) -> Any:
    """Return a function that writes the batches of a task to a file."""

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        stream = None
        with pa.OSFile(path, "wb") as sink:
            for batch in batches:
                stream = stream or pa.ipc.new_stream(sink, batch.schema)
                stream.write_batch(batch)
            stream.close()
        yield pa.record_batch({"done": pa.array([1], pa.int32())})

    return write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--core-rows", type=int, default=2_000_000, help="rows of the second table")
    parser.add_argument("--only", choices=("pyspark", "core"), help="make one of the two tables only")
    parser.add_argument("--memory", default="8g", help="memory of Spark")
    parser.add_argument("--folder", type=Path, help="a folder for the files; by default, a temporary one")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        vars(options).update(QUICK)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write_rows(folder / "train", options.rows, options.columns, seed=0)
        write_rows(folder / "test", min(TEST_ROWS, options.rows), options.columns, seed=1)
        spark = session(f"local[{options.cores}]", {"spark.driver.memory": options.memory})
        try:
            print(f"{options.rows} rows of {options.columns} columns, {options.cores} cores")
            if options.only != "core":
                beside_pyspark(spark, folder, options)
            if options.only != "pyspark":
                beside_the_core(spark, folder, options)
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
