"""`OnlineClassifier`: an estimator of ``pyspark.ml`` that trains any linear learner or a Panel on shards."""

from __future__ import annotations

import logging
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from pyspark import StorageLevel
from pyspark.ml import Estimator

from mistakebound.data.labels import label_array
from mistakebound.learners.mixing import mix
from mistakebound.learners.panel import Panel
from mistakebound.learners.rounds import look_ahead
from mistakebound.spark.columns import Columns, dense_as_arrays, find_columns, labels_in, require
from mistakebound.spark.model import OnlineClassifierModel
from mistakebound.spark.params import UNIFORM, HasColumns, HasTraining
from mistakebound.spark.saving import Readable, Writable
from mistakebound.spark.shards import learn_shards, sharded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from mistakebound.learners.learner import Learner

log = logging.getLogger("mistakebound.spark")


class OnlineClassifier(Estimator[OnlineClassifierModel], HasColumns, HasTraining, Writable, Readable):
    """Train a learner on Spark: each shard learns from a copy of the learner, and the copies are mixed.

    In every epoch the rows are learned in ``shards`` parts side by side, each in one pass, and the results are mixed
    by ``mb.mix``. One shard and one epoch is ``learner.run``.

    Parameters
    ----------
    learner : Learner
        A linear learner or a Panel, by default ``mb.Panel()``. It stays as it is. One that has learned goes on.
    featuresCol : str
        A vector of ``pyspark.ml``, an array of numbers (features by position), an array of names, or a map from names
        to numbers (features by name).
    inputCols : list of str, optional
        Columns that are read like those of a table, instead of ``featuresCol``: numbers, categories, dates, texts.
    table : dict, optional
        Options for these columns: ``table`` of ``mb.Source``, for example ``{"text": ["subject"]}``.
    labelCol : str
        The labels: numbers, texts or booleans.
    weightCol : str, optional
        A weight of each row, for learners that take weights.
    orderCol : str, optional
        The column that orders the rows. With it, the result depends on the rows, ``shards`` and ``epochs`` alone.
        Without it, it also depends on how Spark divides the data into partitions.
    shards : int
        The number of parts that are learned side by side.
    epochs : int
        The number of passes over the data.
    mixing : {"uniform", "mistakes"}
        The shares of the shards when their weights are averaged.
    predictionCol, scoreCol, probabilityCol : str
        The columns that the model's ``transform`` adds.

    Examples
    --------
    See docs/spark.md.
    """

    def __init__(
        self,
        *,
        learner: Learner | None = None,
        featuresCol: str = "features",
        inputCols: list[str] | None = None,
        table: dict[str, Any] | None = None,
        labelCol: str = "label",
        weightCol: str | None = None,
        orderCol: str | None = None,
        shards: int = 1,
        epochs: int = 1,
        mixing: str = UNIFORM,
        predictionCol: str = "prediction",
        scoreCol: str = "score",
        probabilityCol: str = "probability",
    ) -> None:
        super().__init__()
        self._setDefault(learner=Panel(), shards=1, epochs=1, mixing=UNIFORM)
        self.setParams(
            learner=learner,
            featuresCol=featuresCol,
            inputCols=inputCols,
            table=table,
            labelCol=labelCol,
            weightCol=weightCol,
            orderCol=orderCol,
            shards=shards,
            epochs=epochs,
            mixing=mixing,
            predictionCol=predictionCol,
            scoreCol=scoreCol,
            probabilityCol=probabilityCol,
        )

    def setParams(self, **params: Any) -> OnlineClassifier:  # noqa: N802 - pyspark's name
        """Set parameters by name: those of the constructor. None leaves a parameter as it is."""
        return self._set(**{name: value for name, value in params.items() if value is not None})

    def setLearner(self, value: Learner) -> OnlineClassifier:  # noqa: N802
        """Set the learner that is trained."""
        return self._set(learner=value)

    def _fit(self, dataset: DataFrame) -> OnlineClassifierModel:
        self.check()
        learner, label = self.getLearner(), self.getLabelCol()
        columns = find_columns(
            dataset, self.getFeaturesCol(), self.inputs, label=label, weight=self.weight, table=self.getTable()
        )
        if columns.weight is not None and not learner.takes_weights:
            message = f"{type(learner).__name__} takes no weights: leave weightCol out"
            raise ValueError(message)
        if (order := self.getOrderCol()) is not None:
            require(order, {each.name: each.dataType for each in dataset.schema.fields}, "orderCol")
        columns = dense_as_arrays(dataset, columns)
        trained = self._train(dataset, columns, with_labels(learner, labels_in(dataset, columns)))
        return self._copyValues(OnlineClassifierModel(trained))

    def _train(self, dataset: DataFrame, columns: Columns, learner: Learner) -> Learner:
        """Return a learner that has learned the dataset in all epochs."""
        epochs, shares = self.getEpochs(), None if self.getMixing() == UNIFORM else self.getMixing()
        data = sharded(dataset, columns, self.getShards(), self.getOrderCol())
        if epochs > 1:
            data = data.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            for epoch in range(epochs):
                before = learner.ledger_
                parts = learn_shards(data, columns, learner)
                if not parts:
                    message = "the DataFrame has no rows"
                    raise ValueError(message)
                learner = mix(learner, parts, shares)
                now = learner.ledger_
                log.info(
                    "epoch %d of %d: %d shards, %d rounds, %d mistakes",
                    epoch + 1,
                    epochs,
                    len(parts),
                    now.rounds - before.rounds,
                    now.mistakes - before.mistakes,
                )
        finally:
            if epochs > 1:
                data.unpersist()
        return learner


def with_labels(learner: Learner, labels: list[Any]) -> Learner:
    """Return a copy of a learner that expects these labels, so that all shards use the same."""
    copy = deepcopy(learner)
    look_ahead(copy, label_array(labels))
    return copy
