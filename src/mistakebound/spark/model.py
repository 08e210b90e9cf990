"""`OnlineClassifierModel`: a trained learner as a transformer of ``pyspark.ml``."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

from pyspark.ml import Model
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import DoubleType, StructField, StructType

from mistakebound.rules.registry import rule_class
from mistakebound.spark.columns import find_columns, labels_type
from mistakebound.spark.params import HasColumns
from mistakebound.spark.predictions import ADDED, predictor
from mistakebound.spark.saving import Readable, Writable
from mistakebound.spark.shards import without_warning

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame

    from mistakebound.certificates.certificate import Certificate
    from mistakebound.learners.learner import Learner
    from mistakebound.play.ledger import Ledger

FEW = 64
"""Vectors with so many features are sent to the workers as arrays: Spark sends dense vectors slowly."""
TOGETHER = "__mistakebound_predictions"
"""A column with all predictions of a row, which is split into columns."""


class OnlineClassifierModel(Model, HasColumns, Writable, Readable):
    """A learner that was trained by ``OnlineClassifier``, or anywhere else.

    Parameters
    ----------
    learner : Learner
        The learner. ``OnlineClassifierModel(mb.load("m.mb"))`` predicts on Spark with a model from a laptop.
    """

    def __init__(self, learner: Learner | None = None) -> None:
        super().__init__()
        self._learner = learner

    @property
    def learner(self) -> Learner:
        """The learner, as Python has it: it can predict, explain, go on learning and be saved."""
        if self._learner is None:
            message = "the model has no learner: pass one to the constructor"
            raise ValueError(message)
        return self._learner

    @property
    def ledger(self) -> Ledger:
        """The rounds of all shards, epoch by epoch. Each prediction was made before its label was learned."""
        return self.learner.ledger_

    @property
    def numClasses(self) -> int:  # noqa: N802 - the name in pyspark.ml
        """Number of labels."""
        return len(self.learner.classes_)

    def certify(self, theorem: str | None = None, comparator: Any = None) -> Certificate:
        """Compare the mistakes of all shards with the bound of the theorem ``mixing``, and check its premises."""
        return self.learner.certify(theorem, comparator)

    def saveModel(self, path: str | os.PathLike[str]) -> None:  # noqa: N802 - like save, but one file
        """Write the learner to one local file, which ``mistakebound.load`` reads."""
        self.learner.save(path)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        learner = self.learner
        if not learner.has_learned:
            message = "the learner has not learned anything: fit an OnlineClassifier first"
            raise ValueError(message)
        columns = find_columns(dataset, self.getFeaturesCol(), self.inputs, label=None)
        width = learner._current_play().engine.width
        if width is not None and width <= FEW:
            columns = columns.as_arrays()
        probability = VectorUDT() if rule_class(learner.rule_id).log_odds else None
        names = (self.getPredictionCol(), self.getScoreCol(), self.getProbabilityCol())
        types = (labels_type(learner.classes_.tolist()), DoubleType(), probability)
        wanted = [bool(name) and kind is not None for name, kind in zip(names, types, strict=True)]
        if taken := {*compress(names, wanted)}.intersection(dataset.columns):
            listed = ", ".join(sorted(taken))
            message = f"the columns {listed} exist already: set predictionCol, scoreCol or probabilityCol"
            raise ValueError(message)
        kinds = [kind for kind in compress(types, wanted) if kind is not None]
        fields = [StructField(name, kind) for name, kind in zip(compress(ADDED, wanted), kinds, strict=True)]
        predict = predictor(learner, columns, wanted, [kind.simpleString() for kind in kinds])
        with without_warning():
            make: Any = arrow_udf  # its declared types do not allow a struct
            predicted = make(predict, StructType(fields))
            with_all = dataset.withColumn(TOGETHER, predicted(F.struct(*columns.sent)))
        added = [
            F.col(TOGETHER).getField(field.name).alias(name)
            for field, name in zip(fields, compress(names, wanted), strict=True)
        ]
        return with_all.select("*", *added).drop(TOGETHER)
