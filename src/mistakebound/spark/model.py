"""`OnlineClassifierModel`: a trained learner as a transformer of ``pyspark.ml``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.ml import Model
from pyspark.ml.linalg import VectorUDT
from pyspark.sql.types import DoubleType, StructField, StructType

from mistakebound.rules.registry import rule_class
from mistakebound.spark.columns import find_columns, labels_type
from mistakebound.spark.params import HasColumns
from mistakebound.spark.predictions import predictor
from mistakebound.spark.saving import Readable, Writable
from mistakebound.spark.shards import mapped

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame

    from mistakebound.certificates.certificate import Certificate
    from mistakebound.learners.learner import Learner
    from mistakebound.play.ledger import Ledger


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
        has_probabilities = rule_class(learner.rule_id).log_odds
        added = {
            self.getPredictionCol(): labels_type(learner.classes_.tolist()),
            self.getScoreCol(): DoubleType(),
            self.getProbabilityCol(): VectorUDT() if has_probabilities else None,
        }
        wanted = [bool(name) and kind is not None for name, kind in added.items()]
        fields = [StructField(name, kind) for name, kind in added.items() if name and kind is not None]
        taken = {field.name for field in fields}.intersection(dataset.columns)
        if taken:
            message = (
                f"the columns {', '.join(sorted(taken))} exist already: set predictionCol, scoreCol or probabilityCol"
            )
            raise ValueError(message)
        schema = StructType([*dataset.schema.fields, *fields])
        return mapped(dataset, predictor(learner, columns, wanted, schema), schema)
