"""`StreamingClassifier`: predict, then learn, the batches of a Structured Streaming query, each exactly once."""

from __future__ import annotations

import os
import threading
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from mistakebound._support.atomic_file import sweep
from mistakebound._support.schema import fields, need
from mistakebound.errors import StreamError
from mistakebound.learners.linear import KINDS, not_a_learner
from mistakebound.learners.panel import Panel
from mistakebound.models.model_file import load_with_progress, save
from mistakebound.spark.columns import Columns, find_columns, hashed, quoted
from mistakebound.spark.predictions import prediction_column
from mistakebound.spark.rows import learn_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from mistakebound._support.arrays import AnyArray
    from mistakebound.learners.learner import Learner
    from mistakebound.play.ledger import Ledger

QUERY, BATCH = "query", "batch"
"""What the model file stores of the last batch: the id of the query, and the number of the batch."""
QUERY_ID = "sql.streaming.queryId"
"""The property of Spark that has the id of the query. The id is the same after a restart."""


class StreamingClassifier:
    """Predict, then learn, every batch of a streaming query, exactly once: pass it to ``foreachBatch``.

    The learner is stored in a model file after each batch, together with the number of the batch. If the query is
    killed at any time and started again with the same checkpoint, the batch that Spark repeats is learned if the file
    does not have it, and skipped if it does. The result is the same as without the interruption.

    Parameters
    ----------
    path : path
        The model file, on a disk that is still there when the driver is started again. It is created by the first
        batch. ``mistakebound.load`` reads it.
    learner : Learner, optional
        The learner to begin with if there is no file; by default ``mb.Panel()``. Set its ``classes`` if the first
        batch may lack a label.
    featuresCol, inputCols, table, labelCol, weightCol
        Those of ``OnlineClassifier``.
    orderCol : str, optional
        The column that orders the rows of a batch. Without it, they have the order of the source.
    predictions : path, optional
        A folder of Parquet files, with a folder for each batch: its rows, and the label that was predicted before the
        row was learned, in the column ``predictionCol``. Any file system that Spark can write.

    Examples
    --------
    See docs/spark.md.
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
        self.path, self.start = os.path.realpath(os.fspath(path)), start
        self._features: dict[str, Any] = {"features": featuresCol, "inputs": inputCols, "label": labelCol}
        self._features |= {"weight": weightCol, "table": table}
        self._order, self._prediction = orderCol, predictionCol
        self._predictions = None if predictions is None else os.fspath(predictions)
        self._lock = threading.Lock()
        self._learner: Learner | None = None
        self._last: tuple[str, int] | None = None
        self._written: tuple[int, int, int] | None = None

    def __repr__(self) -> str:
        return f"StreamingClassifier({self.path!r}, {self.start!r})"

    @property
    def learner(self) -> Learner:
        """The learner after the last batch, from the model file; before the first one, a copy of ``start``."""
        return self._read()[0]

    @property
    def ledger(self) -> Ledger:
        """The rounds of all batches. Each prediction was made before its label was learned."""
        return self.learner.ledger_

    @property
    def last_batch(self) -> int | None:
        """The number of the last batch that was learned; None before the first one."""
        last = self._read()[1]
        return None if last is None else last[1]

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Learn one batch, unless the model file has it: Spark calls this for every batch."""
        with self._lock:
            self._learn(frame, batch)

    def _learn(self, frame: DataFrame, batch: int) -> None:
        query = query_of(frame)
        self._use_file()
        if self._is_learned(query, batch):
            return
        columns = find_columns(frame, **self._features)
        learner, self._learner = self._learner or self.start, None  # if the batch fails, the file is read again
        rows = self._rows(frame, columns).toArrow()
        try:
            predicted = [ledger.predictions for ledger in learn_batches(learner, columns, rows.to_batches())]
        except ValueError as error:
            message = f"batch {batch}: {error}"
            raise StreamError(message) from error
        if self._predictions is not None:
            self._write_predictions(frame, batch, rows, predicted)
        save(learner, self.path, KINDS, {QUERY: query, BATCH: batch})
        self._learner, self._last, self._written = learner, (query, batch), state_of(self.path)

    def _rows(self, frame: DataFrame, columns: Columns) -> DataFrame:
        """Return the rows of a batch in order."""
        if self._predictions is None:
            used = [*columns.used, *([] if self._order is None else [self._order])]
            frame = frame.select(*(F.col(quoted(name)) for name in dict.fromkeys(used)))
        if self._order is None:
            return frame
        return frame.sort(F.col(quoted(self._order)), hashed(frame, columns.used))

    def _is_learned(self, query: str, batch: int) -> bool:
        """Return whether the file has this batch; raise StreamError if batches before it are missing."""
        last = self._last[1] if self._last is not None and self._last[0] == query else -1
        if batch > last + 1:
            has = f"has batch {last} of this query" if last >= 0 else "has no batch of this query"
            missing = f"{last + 1}" if batch == last + 2 else f"{last + 1} to {batch - 1}"
            remedy = "restore the model file, or start again with a new checkpoint"
            message = f"{self.path} {has}, and the query goes on with batch {batch}: {missing} would be lost; {remedy}"
            raise StreamError(message)
        return batch <= last

    def _use_file(self) -> None:
        """Read the file if it was not read yet; otherwise raise StreamError if another process wrote it."""
        if self._learner is None:
            sweep(Path(self.path))
            self._learner, self._last = self._read()
            self._written = state_of(self.path)
        elif state_of(self.path) != self._written:
            self._learner = None
            message = f"{self.path} was changed by another process: two queries cannot learn one model"
            raise StreamError(message)

    def _read(self) -> tuple[Learner, tuple[str, int] | None]:
        """Return the learner in the file, and its last batch; without a file, a copy of the first learner."""
        if not os.path.exists(self.path):
            return deepcopy(self.start), None
        learner, progress = load_with_progress(self.path, KINDS)
        if progress is None:
            return learner, None
        message = f"{self.path} stores the position of a run over files, not of a query: save the learner without it"
        need(set(progress) == {QUERY, BATCH}, message, "progress")
        query, batch = fields(progress, QUERY, BATCH, path="progress")
        fit = type(query) is str and type(batch) is int and 0 <= batch < 2**63
        need(fit, "progress.batch must be a whole number, and progress.query a text", "progress")
        return learner, (query, batch)

    def _write_predictions(self, frame: DataFrame, batch: int, rows: Any, predicted: list[AnyArray]) -> None:
        """Write the rows of a batch with their predictions; an earlier attempt is replaced."""
        if self._prediction in rows.column_names:
            message = f"the column {self._prediction} exists already: set predictionCol"
            raise ValueError(message)
        labels = prediction_column(np.concatenate(predicted)) if predicted else pa.nulls(0, pa.float64())
        with_predictions = rows.append_column(self._prediction, labels)
        folder = os.path.join(self._predictions or "", f"batch={batch:012d}")
        written = frame.sparkSession.createDataFrame(with_predictions)
        written.coalesce(1).write.mode("overwrite").parquet(folder)


def query_of(frame: DataFrame) -> str:
    """Return the id of the streaming query that a batch belongs to; empty for a frame that is no batch."""
    context = frame.sparkSession.sparkContext
    return str(context.getLocalProperty(QUERY_ID) or "")


def state_of(path: str) -> tuple[int, int, int] | None:
    """Return what changes if a file is replaced; None if there is no file."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
