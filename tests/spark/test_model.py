"""A model on Spark predicts what its learner predicts, and can be saved, loaded and continued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spark_frames as frames
from spark_frames import KINDS, columns_of, fresh, stream

import mistakebound as mb
from mistakebound.errors import ModelError
from mistakebound.models.model_file import fingerprint
from mistakebound.spark import OnlineClassifier, OnlineClassifierModel


@pytest.fixture(scope="module")
def trained(spark: Any) -> dict[str, Any]:
    X, y = stream()
    made = {}
    for kind in KINDS:
        frame = frames.frame(spark, kind, X, y)
        made[kind] = frame, OnlineClassifier(learner=fresh(), orderCol="t", **columns_of(kind)).fit(frame)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_transform_predicts_as_the_learner(trained: dict[str, Any], kind: str) -> None:
    frame, model = trained[kind]
    rows = sorted(model.transform(frame.repartition(3)).collect(), key=lambda row: row.t)
    X, _ = stream()
    inputs = {"names": lambda: [[frames.NAMES[i] for i in np.flatnonzero(row)] for row in X]}
    inputs["map"] = lambda: frames.named(X)
    inputs["table"] = lambda: [
        {**dict(zip(frames.NAMES, row.tolist(), strict=True)), "word": word}
        for row, word in zip(X, frames.words(X), strict=True)
    ]
    examples = inputs.get(kind, lambda: X)()
    assert [row.prediction for row in rows] == model.learner.predict(examples).tolist()
    assert np.array_equal([row.probability.toArray() for row in rows], model.learner.predict_proba(examples))
    assert np.allclose([row.score for row in rows], model.learner.decision_function(examples))
    assert [row.label for row in rows] == stream()[1].tolist()


def test_evaluators_read_the_columns(trained: dict[str, Any]) -> None:
    from pyspark.ml.evaluation import BinaryClassificationEvaluator, MulticlassClassificationEvaluator

    frame, model = trained["dense"]
    predicted = model.transform(frame)
    assert BinaryClassificationEvaluator(rawPredictionCol="score").evaluate(predicted) > 0.95
    assert MulticlassClassificationEvaluator(metricName="accuracy").evaluate(predicted) > 0.9
    assert MulticlassClassificationEvaluator(metricName="logLoss").evaluate(predicted) < 0.3


def test_columns_can_be_left_out(trained: dict[str, Any]) -> None:
    frame, model = trained["dense"]
    few = model.copy().setProbabilityCol("").setScoreCol("")
    assert few.transform(frame).columns == [*frame.columns, "prediction"]
    with pytest.raises(ValueError, match="the columns prediction exist already"):
        few.transform(few.transform(frame))


def test_save_and_load(spark: Any, trained: dict[str, Any], tmp_path: Path) -> None:
    frame, model = trained["table"]
    model.save(str(tmp_path / "model"))
    again = OnlineClassifierModel.load(str(tmp_path / "model"))
    assert fingerprint(again.learner) == fingerprint(model.learner)
    assert again.getInputCols() == model.getInputCols()
    assert again.uid == model.uid
    assert again.transform(frame).collect() == model.transform(frame).collect()
    estimator = OnlineClassifier(learner=mb.Winnow(alpha=1.5), shards=3, orderCol="t", table={"bins": 2})
    estimator.save(str(tmp_path / "estimator"))
    loaded = OnlineClassifier.load(str(tmp_path / "estimator"))
    assert repr(loaded.getLearner()) == "Winnow(alpha=1.5)"
    assert (loaded.getShards(), loaded.getTable(), loaded.getOrderCol()) == (3, {"bins": 2}, "t")


def test_a_pipeline_is_saved_and_loaded(spark: Any, tmp_path: Path) -> None:
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import VectorAssembler

    X, y = stream()
    frame = frames.frame(spark, "table", X, y)
    assemble = VectorAssembler(inputCols=frames.NAMES, outputCol="features")
    fitted = Pipeline(stages=[assemble, OnlineClassifier(orderCol="t")]).fit(frame)
    fitted.save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    assert again.transform(frame).collect() == fitted.transform(frame).collect()


def test_a_model_file_goes_to_a_laptop_and_back(spark: Any, trained: dict[str, Any], tmp_path: Path) -> None:
    X, y = stream()
    _, model = trained["dense"]
    model.saveModel(tmp_path / "m.mb")
    learner = mb.load(tmp_path / "m.mb")
    more, labels = stream(100, seed=1)
    learner.run(more, labels)
    alone = fresh()
    alone.run(X, y)
    alone.run(more, labels)
    assert fingerprint(learner) == fingerprint(alone)
    frame = frames.frame(spark, "dense", more, labels)
    rows = sorted(OnlineClassifierModel(learner).transform(frame).collect(), key=lambda row: row.t)
    assert [row.prediction for row in rows] == learner.predict(more).tolist()


# pyspark leaves its pool of threads open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_grid_of_learners(spark: Any) -> None:
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.tuning import ParamGridBuilder, TrainValidationSplit

    X, y = stream()
    frame = frames.frame(spark, "dense", X, y)
    estimator = OnlineClassifier(orderCol="t")
    grid = ParamGridBuilder().addGrid(estimator.learner, [mb.Perceptron(), mb.Panel()]).build()
    evaluator = MulticlassClassificationEvaluator(metricName="accuracy")
    best = TrainValidationSplit(estimator=estimator, estimatorParamMaps=grid, evaluator=evaluator, seed=1).fit(frame)
    assert min(best.validationMetrics) > 0.6
    assert type(best.bestModel.learner) in (mb.Perceptron, mb.Panel)


def test_a_hostile_model_is_refused(spark: Any, trained: dict[str, Any], tmp_path: Path) -> None:
    _, model = trained["dense"]
    model.save(str(tmp_path / "model"))
    folder = tmp_path / "model" / "model"
    data = bytearray(spark.read.parquet(str(folder)).first()["model"])
    data[len(data) // 2] ^= 1
    spark.createDataFrame([(data,)], "model binary").write.mode("overwrite").parquet(str(folder))
    with pytest.raises(ModelError, match="SHA-256"):
        OnlineClassifierModel.load(str(tmp_path / "model"))


def test_a_model_without_a_learner(spark: Any, trained: dict[str, Any]) -> None:
    frame, _ = trained["dense"]
    with pytest.raises(ValueError, match="the model has no learner"):
        OnlineClassifierModel().transform(frame)
    with pytest.raises(ValueError, match="the learner has not learned anything"):
        OnlineClassifierModel(mb.Panel()).transform(frame)
