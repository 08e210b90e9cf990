"""`StreamingClassifier`: predict, then learn, the batches of a Structured Streaming query, each exactly once."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import StringType, StructField, StructType, UserDefinedType

from mistakebound._core import ignore_leaks
from mistakebound._support.atomic_file import sweep
from mistakebound.errors import StreamError
from mistakebound.learners.linear import KINDS, not_a_learner
from mistakebound.learners.panel import Panel
from mistakebound.spark.columns import Columns, find_columns, hashed, labels_type, quoted, require
from mistakebound.spark.predictions import prediction_column, unchanged
from mistakebound.spark.rows import learn_batches
from mistakebound.spark.shards import from_bytes, to_bytes, without_warning
from mistakebound.spark.stream_file import BATCH, QUERY, Stored, read, version_of, write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from mistakebound._support.arrays import AnyArray
    from mistakebound.learners.learner import Learner
    from mistakebound.play.ledger import Ledger

QUERY_ID = "sql.streaming.queryId"
"""The property of Spark that has the id of the query. The id is the same after a restart."""


class StreamingClassifier:
    """Predict, then learn, every batch of a streaming query, exactly once: pass it to ``foreachBatch``.

    The learner is stored in a model file after each batch, together with the number of the batch. If the query is
    killed at any time and started again with the same checkpoint, the batch that Spark repeats is learned if the file
    does not have it, and skipped if it does. The result is the same as without the interruption.

    A query with another checkpoint is another query: its batches are learned in addition. Only one query at a time can
    learn a model. Spark Connect is not supported: the model file is a file of the driver.

    Parameters
    ----------
    path : path
        The model file, in a folder that is still there when the driver is started again. It is created by the first
        batch. ``mistakebound.load`` reads it.
    learner : Learner, optional
        The learner to begin with if there is no file; by default ``mb.Panel()``. It stays as it is. If there is a file,
        its learner must be of the same class with the same parameters. Set ``classes`` if the first batch may lack a
        label.
    featuresCol, inputCols, table, labelCol, weightCol
        Those of ``OnlineClassifier``.
    orderCol : str, optional
        The column that orders the rows of a batch. Without it, they are learned in the order in which Spark reads
        them, which may depend on the number of cores if a batch has several files or partitions.
    predictions : path, optional
        A folder of Parquet files: the rows of each batch, and the label that was predicted before the row was learned,
        in the column ``predictionCol``. Reading it also gives the columns ``query`` and ``batch``. It may be in any
        file system that Spark can write.

    Examples
    --------
    Kafka stores a message as bytes. Their fields are parsed before they are learned::

        from pyspark.sql import functions as F

        lines = spark.readStream.format("kafka").option("subscribe", "mail").option(...).load()
        schema = "words array<string>, kind string, sent timestamp"
        mail = lines.select(F.from_json(F.col("value").cast("string"), schema).alias("mail")).select("mail.*")
        learn = StreamingClassifier("mail.mb", featuresCol="words", labelCol="kind", orderCol="sent")
        mail.writeStream.foreachBatch(learn).option("checkpointLocation", "checkpoint").start()

    See docs/spark.md for more.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        learner: Learner | None = None,
        *,
        featuresCol: str = "features",
        inputCols: list[str] | None = None,
        table: dict[str, Any] | None = None,
        labelCol: str = "label",
        weightCol: str | None = None,
        orderCol: str | None = None,
        predictionCol: str = "prediction",
        predictions: str | os.PathLike[str] | None = None,
    ) -> None:
        start = Panel() if learner is None else learner
        if type(start).__name__ not in KINDS:
            raise not_a_learner(start)
        self.path = os.path.realpath(os.fspath(path))
        if not os.path.isdir(os.path.dirname(self.path)):
            raise FileNotFoundError(errno.ENOENT, "there is no such folder", os.path.dirname(self.path))
        self._start, self._is_given = to_bytes(start), learner is not None
        self._features: dict[str, Any] = {"features": featuresCol, "inputs": inputCols, "label": labelCol}
        self._features |= {"weight": weightCol, "table": table}
        self._order, self._prediction = orderCol, predictionCol
        self._predictions = None if predictions is None else os.fspath(predictions)
        self._lock = threading.Lock()
        self._stored: Stored | None = None
        ignore_leaks()  # of this object, which Spark's gateway still refers to when the process ends
        self._read()  # a bad file is refused before a query starts

    def __repr__(self) -> str:
        return f"StreamingClassifier({self.path!r}, {from_bytes(self._start)!r})"

    @property
    def learner(self) -> Learner:
        """The learner after the last batch, from the model file; before the first one, the learner to begin with."""
        return self._read().learner

    @property
    def ledger(self) -> Ledger:
        """The rounds of all batches. Each prediction was made before its label was learned."""
        return self.learner.ledger_

    @property
    def last_batch(self) -> int | None:
        """The number of the last batch that was learned; None before the first one."""
        stored = self._read()
        return stored.batch if stored.query else None

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Learn one batch, unless the model file has it: Spark calls this for every batch."""
        with self._lock:
            stored, self._stored = self._current(), None  # if the batch fails, the file is read again
            query = query_of(frame)
            if not self._is_learned(query, batch, stored):
                learner = stored.learner
                self._learn(learner, frame, query, batch)
                self._check_unchanged(stored)
                stored = write(self.path, learner, query, batch)
            self._stored = stored

    def _current(self) -> Stored:
        """Return what the file has. It is read once, and after an error."""
        if self._stored is None:
            sweep(Path(self.path))
            return self._read()
        stored, self._stored = self._stored, None
        self._check_unchanged(stored)
        return stored

    def _check_unchanged(self, stored: Stored) -> None:
        if version_of(self.path) != stored.version:
            message = f"{self.path} was changed by another process: only one query at a time can learn a model"
            raise StreamError(message)

    def _is_learned(self, query: str, batch: int, stored: Stored) -> bool:
        """Return whether the file has this batch; raise StreamError if batches before it are missing."""
        last = stored.batch if stored.query == query else -1
        if batch > last + 1:
            has = f"has batch {last} of this query" if last >= 0 else "has no batch of this query"
            missing = f"batch {last + 1}" if batch == last + 2 else f"batches {last + 1} to {batch - 1}"
            remedy = "restore the model file, or start the query with a new checkpoint"
            message = (
                f"{self.path} {has}, and the query continues with batch {batch}: {missing} would be lost; {remedy}"
            )
            raise StreamError(message)
        return batch <= last

    def _learn(self, learner: Learner, frame: DataFrame, query: str, batch: int) -> None:
        """Learn the rows of a batch, and write their predictions."""
        columns = find_columns(frame, **self._features)
        rows = self._rows(frame, columns).toArrow()
        try:
            predicted = [ledger.predictions for ledger in learn_batches(learner, columns, rows.to_batches())]
        except ValueError as error:
            message = f"batch {batch}: {error}"
            raise StreamError(message) from error
        if self._predictions is not None and predicted:
            folder = os.path.join(self._predictions, f"{QUERY}={query}", f"{BATCH}={batch:012d}")
            self._write(frame, rows, np.concatenate(predicted), learner, folder)

    def _rows(self, frame: DataFrame, columns: Columns) -> DataFrame:
        """Return the rows of a batch in order, with all columns only if they are written."""
        types = {each.name: each.dataType for each in frame.schema.fields}
        if self._order is not None:
            require(self._order, types, "orderCol")
            frame = frame.sort(F.col(quoted(self._order)), hashed(frame, columns.used))
        if self._predictions is None:
            return frame.select(*(F.col(quoted(name)) for name in columns.used))
        added = {self._prediction.lower(), QUERY, BATCH}
        if taken := [name for name in types if name.lower() in added]:
            message = f"the predictions have a column {taken[0]!r}, too: set predictionCol, or rename the column"
            raise ValueError(message)
        return frame

    def _write(self, frame: DataFrame, rows: Any, predicted: AnyArray, learner: Learner, folder: str) -> None:
        """Write rows with their predictions; those of an earlier attempt are replaced."""
        is_text = isinstance(frame.schema[self._features["label"]].dataType, StringType)
        kind = StringType() if is_text else labels_type(learner.classes_.tolist())
        schema = StructType([*frame.schema.fields, StructField(self._prediction, kind)])
        table = rows.append_column(self._prediction, prediction_column(predicted, kind.simpleString()))
        written = frame.sparkSession.createDataFrame(table).coalesce(1)
        if any(isinstance(each.dataType, UserDefinedType) for each in schema):  # Arrow has no vectors of pyspark.ml
            with without_warning():
                written = written.mapInArrow(unchanged, schema)
        written.write.mode("overwrite").parquet(folder)

    def _read(self) -> Stored:
        return read(self.path, self._start, same=self._is_given)


def query_of(frame: DataFrame) -> str:
    """Return the id of the streaming query that a batch belongs to."""
    query = frame.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
    if not query:
        message = "the DataFrame is not a batch of a streaming query: pass the StreamingClassifier to foreachBatch"
        raise ValueError(message)
    return str(query)
