"""A Spark session for the benchmarks, and sparse matrices as DataFrames of vectors."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

if TYPE_CHECKING:
    from collections.abc import Iterator

SPARSE = 0


@contextmanager
def session(cores: int = 2, memory: str = "8g", **settings: str) -> Iterator[Any]:
    """Start Spark in local mode; the workers use the Python that runs the benchmark."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.driver.memory", memory)
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "4"}
    for name, value in {**quiet, **settings}.items():
        builder = builder.config(name.replace("_", "."), value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


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
