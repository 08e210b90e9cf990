"""Divide a DataFrame into shards, and learn each of them on a worker from the same learner."""

from __future__ import annotations

import warnings
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from mistakebound.errors import StreamError
from mistakebound.learners.panel import Panel
from mistakebound.spark.columns import hashed, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame

    from mistakebound.learners.learner import Learner
    from mistakebound.spark.columns import Columns

ORDER, TIE = "__mistakebound_order", "__mistakebound_tie"
"""Columns that a sharded frame has besides those of the learner."""
RESULT = "shard int, model binary, error string"


def sharded(frame: DataFrame, columns: Columns, shards: int, order: str | None) -> DataFrame:
    """Return the columns of a learner in so many partitions, each in order.

    With a column of the order, a row's shard and its place there depend on the row alone: rows are dealt by a hash of
    the row, and sorted. Rows that are equal in this column are ordered by the hash. Without it, partitions are joined
    in their order, which Spark does not promise to repeat.
    """
    if order is not None:
        keys = F.col(quoted(order)).alias(ORDER), hashed(frame, columns.used).alias(TIE)
    elif partitions_of(frame) >= shards:
        return frame.select(*columns.sent).coalesce(shards)
    else:
        keys = F.monotonically_increasing_id().alias(ORDER), F.lit(0).alias(TIE)
    keyed = frame.select(*columns.sent, *keys)
    return keyed.repartition(shards, ORDER, TIE).sortWithinPartitions(ORDER, TIE)


def partitions_of(frame: DataFrame) -> int:
    """Return the number of partitions of a frame."""
    return int(
        frame.select(F.spark_partition_id()).distinct().count() if is_remote(frame) else frame.rdd.getNumPartitions()
    )


def is_remote(frame: DataFrame) -> bool:
    """Return whether a frame is that of Spark Connect, which has no RDDs."""
    return type(frame).__module__.startswith("pyspark.sql.connect")


def learn_shards(data: DataFrame, columns: Columns, learner: Learner) -> list[Learner]:
    """Learn each shard, starting from a copy of the learner; return what was learned, in the order of the shards.

    Shards without rows are left out. Raise StreamError if a shard has a bad row.
    """
    with without_warning():
        learned = data.mapInArrow(worker(to_bytes(learner), columns), RESULT)
    rows = learned.collect()
    rows.sort(key=lambda row: row["shard"])
    for row in rows:
        if row["error"] is not None:
            message = f"shard {row['shard']}: {row['error']}"
            raise StreamError(message)
    return [from_bytes(bytes(row["model"])) for row in rows]


@contextmanager
def without_warning() -> Iterator[None]:
    """Leave out pyspark's warning about pandas 3, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def worker(start: bytes, columns: Columns) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function that learns one shard on a worker, from its Arrow batches."""

    def learn(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415 - on the worker
        from pyspark import TaskContext  # noqa: PLC0415

        from mistakebound._support.threads import read_ahead  # noqa: PLC0415
        from mistakebound.spark.rows import learn_batches  # noqa: PLC0415

        learner, error = from_bytes(start), None
        before = learner.ledger_.rounds
        try:
            # While the core learns a batch, a thread receives the next ones from Spark.
            with closing(read_ahead(batches)) as ahead, on_one_thread(learner):
                for _ in learn_batches(learner, columns, ahead):
                    pass
        except ValueError as wrong:
            error = str(wrong)
        if error is None and learner.ledger_.rounds == before:
            return  # a shard without rows
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        model = None if error else to_bytes(learner)
        yield pa.RecordBatch.from_arrays(
            [pa.array([number], pa.int32()), pa.array([model], pa.binary()), pa.array([error], pa.string())],
            names=["shard", "model", "error"],
        )

    return learn


@contextmanager
def on_one_thread(learner: Learner) -> Iterator[None]:
    """Let a Panel learn on one thread: Spark runs a task on each core. The parameter ``threads`` stays as it is."""
    if not isinstance(learner, Panel):
        yield
        return
    wanted, learner.threads = learner.threads, 1
    if learner.has_learned and not learner.several:
        learner._current_play().engine.core.use_threads(1)
    try:
        yield
    finally:
        learner.threads = wanted


def to_bytes(learner: Learner) -> bytes:
    """Return the model file of a learner."""
    from mistakebound.learners.linear import KINDS  # noqa: PLC0415 - here and below, also on the worker
    from mistakebound.models.model_file import parts_of  # noqa: PLC0415

    return b"".join(parts_of(learner, KINDS))


def from_bytes(model: bytes) -> Learner:
    """Return the learner in a model file."""
    from mistakebound.learners.linear import KINDS  # noqa: PLC0415
    from mistakebound.models.model_file import restored  # noqa: PLC0415

    return restored(model, KINDS)[0]
