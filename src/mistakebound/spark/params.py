"""The parameters of the Spark estimator and its model, as ``pyspark.ml`` has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasInputCols,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasWeightCol,
)
from typing_extensions import Self

from mistakebound.learners.linear import KINDS, not_a_learner

if TYPE_CHECKING:
    from mistakebound.learners.learner import Learner

    Owner = TypeVar("Owner", bound="HasColumns")

UNIFORM, MISTAKES = "uniform", "mistakes"
SHARES = (UNIFORM, MISTAKES)


class HasColumns(HasFeaturesCol, HasInputCols, HasLabelCol, HasWeightCol, HasPredictionCol, HasProbabilityCol):
    """Columns that are read, and columns that predictions add."""

    scoreCol: Param[str] = Param(  # noqa: N815 - pyspark's style, here and below
        Params._dummy(),
        "scoreCol",
        "score column name: the log odds or w·x of two labels; of several, the probability or score of the prediction",
        typeConverter=TypeConverters.toString,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(scoreCol="score")

    def getScoreCol(self) -> str:  # noqa: N802 - pyspark's style, here and below
        """Return the name of the column of scores."""
        found: str = self.getOrDefault(self.scoreCol)
        return found

    def setFeaturesCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of features: a vector, an array of numbers or names, or a map from names to numbers."""
        return self._set(featuresCol=value)

    def setInputCols(self, value: list[str]) -> Self:  # noqa: N802
        """Set columns that are read like those of a table, instead of ``featuresCol``."""
        return self._set(inputCols=value)

    def setPredictionCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of predicted labels. An empty name leaves it out."""
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of probabilities. An empty name leaves it out."""
        return self._set(probabilityCol=value)

    def setScoreCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of scores. An empty name leaves it out."""
        return self._set(scoreCol=value)

    @property
    def inputs(self) -> list[str] | None:
        """The columns that are read like those of a table; None if features are in one column."""
        return list(self.getInputCols()) if self.isDefined(self.inputCols) else None

    @property
    def weight(self) -> str | None:
        """The column of the weights, if there is one."""
        return (self.getWeightCol() or None) if self.isDefined(self.weightCol) else None


class HasTraining(Params):
    """How a learner is trained."""

    learner: Param[Any] = Param(
        Params._dummy(), "learner", "learner that is trained; one that has learned goes on", typeConverter=None
    )
    orderCol: Param[str] = Param(  # noqa: N815
        Params._dummy(), "orderCol", "column that orders the rows of a shard", typeConverter=TypeConverters.toString
    )
    shards: Param[int] = Param(
        Params._dummy(), "shards", "number of parts that are learned side by side", typeConverter=TypeConverters.toInt
    )
    epochs: Param[int] = Param(
        Params._dummy(), "epochs", "number of passes over the data", typeConverter=TypeConverters.toInt
    )
    mixing: Param[str] = Param(
        Params._dummy(),
        "mixing",
        "shares of the shards: uniform, or by mistakes",
        typeConverter=TypeConverters.toString,
    )
    table: Param[Any] = Param(
        Params._dummy(), "table", "options of Source for columns of a table, such as text and bins", typeConverter=None
    )

    def getLearner(self) -> Learner:  # noqa: N802
        """Return the learner that is trained. It stays as it is."""
        found: Learner = self.getOrDefault(self.learner)
        return found

    def getShards(self) -> int:  # noqa: N802
        """Return the number of shards."""
        found: int = self.getOrDefault(self.shards)
        return found

    def getEpochs(self) -> int:  # noqa: N802
        """Return the number of epochs."""
        found: int = self.getOrDefault(self.epochs)
        return found

    def getMixing(self) -> str:  # noqa: N802
        """Return how the shares of the shards are chosen."""
        found: str = self.getOrDefault(self.mixing)
        return found

    def getOrderCol(self) -> str | None:  # noqa: N802
        """Return the column that orders the rows; None if there is none."""
        return self.getOrDefault(self.orderCol) if self.isDefined(self.orderCol) else None

    def getTable(self) -> dict[str, Any]:  # noqa: N802
        """Return the options for columns of a table."""
        return dict(self.getOrDefault(self.table)) if self.isDefined(self.table) else {}

    def check(self) -> None:
        """Raise ValueError or TypeError for a parameter that is out of range."""
        learner = self.getLearner()
        if type(learner).__name__ not in KINDS:
            raise not_a_learner(learner)
        for name, value in (("shards", self.getShards()), ("epochs", self.getEpochs())):
            if value < 1:
                message = f"{name} must be a whole number of at least 1, got {value}"
                raise ValueError(message)
        if self.getMixing() not in SHARES:
            message = f"mixing must be one of {', '.join(SHARES)}, got {self.getMixing()!r}"
            raise ValueError(message)
