"""`OnlineClassifier` learns what `learner.run` and `mb.mix` learn in one process."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import spark_frames as frames
from spark_frames import KINDS, columns_of, fresh, learned, stream

import mistakebound as mb
from mistakebound.models.model_file import fingerprint
from mistakebound.spark import OnlineClassifier
from mistakebound.spark.columns import find_columns
from mistakebound.spark.shards import sharded


@pytest.mark.parametrize("kind", KINDS)
def test_one_shard_and_one_epoch_is_run(spark: Any, kind: str) -> None:
    X, y = stream()
    alone = fresh()
    learned(alone, kind, X, y)
    shuffled = frames.frame(spark, kind, X, y).repartition(3)
    model = OnlineClassifier(learner=fresh(), orderCol="t", **columns_of(kind)).fit(shuffled)
    assert fingerprint(model.learner) == fingerprint(alone)
    assert model.ledger.rounds == len(y)


@pytest.mark.parametrize(
    ("name", "binary"),
    [("Perceptron", False), ("BalancedWinnow", False), ("Winnow", True), ("NaiveBayes", True), ("Arow", False)],
)
def test_other_learners_learn_as_alone(spark: Any, name: str, binary: bool) -> None:
    X, y = stream(binary=binary)
    alone = fresh(name)
    alone.run(X, y)
    model = OnlineClassifier(learner=fresh(name), orderCol="t").fit(frames.frame(spark, "sparse", X, y))
    assert fingerprint(model.learner) == fingerprint(alone)


def shards_of(frame: Any, shards: int, kind: str) -> list[list[int]]:
    """Return the rows of each shard, by number, in their order."""
    given = columns_of(kind)
    columns = find_columns(frame, "features", given.get("inputCols"), label="label")
    rows = sharded(frame, columns, shards, "t").select("__mistakebound_order").rdd.glom().collect()
    return [[row[0] for row in part] for part in rows]


@pytest.mark.parametrize(("name", "kind"), [("Perceptron", "sparse"), ("Panel", "table"), ("NaiveBayes", "map")])
@pytest.mark.parametrize("shares", ["uniform", "mistakes"])
def test_shards_and_epochs_equal_mixing_by_hand(spark: Any, name: str, kind: str, shares: str) -> None:
    X, y = stream()
    frame = frames.frame(spark, kind, X, y)
    parts = shards_of(frame, 3, kind)
    assert sorted(t for part in parts for t in part) == list(range(len(y)))
    assert all(part == sorted(part) and part for part in parts)
    by_hand = fresh(name)
    for _ in range(2):
        copies = [deepcopy(by_hand) for _ in parts]
        for copy, part in zip(copies, parts, strict=True):
            learned(copy, kind, X[part], y[part])
        by_hand = mb.mix(by_hand, copies, None if shares == "uniform" else shares)
    estimator = OnlineClassifier(
        learner=fresh(name), orderCol="t", shards=3, epochs=2, mixing=shares, **columns_of(kind)
    )
    assert fingerprint(estimator.fit(frame).learner) == fingerprint(by_hand)


def test_perceptron_equals_the_mean_of_vectors(spark: Any) -> None:
    X, y = stream()
    frame = frames.frame(spark, "dense", X, y)
    parts, z = shards_of(frame, 4, "dense"), np.zeros(X.shape[1])
    for _ in range(3):
        ends = []
        for part in parts:
            own = z.copy()
            for t in part:
                sign = 1 if y[t] else -1
                if (1 if float(own @ X[t]) >= 0 else -1) != sign:
                    own = (own + sign * X[t]).astype(np.float32).astype(float)
            ends.append(own)
        z = sum(each / 4 for each in ends).astype(np.float32).astype(float)
    model = OnlineClassifier(learner=fresh("Perceptron"), orderCol="t", shards=4, epochs=3).fit(frame)
    assert np.allclose(model.learner.weights_, z, rtol=1e-6)


def test_the_result_does_not_depend_on_partitions(spark: Any) -> None:
    X, y = stream()
    frame = frames.frame(spark, "array", X, [float(each) for each in y], day=[t // 150 for t in range(len(y))])
    estimator = OnlineClassifier(learner=fresh(), orderCol="day", shards=2)  # many rows have the same day
    found = {fingerprint(estimator.fit(frame.repartition(n).sort("label")).learner) for n in (1, 3, 5)}
    assert len(found) == 1


def test_without_an_order_partitions_are_joined(spark: Any) -> None:
    X, y = stream()
    frame = frames.frame(spark, "dense", X, y).coalesce(1)
    alone = fresh()
    alone.run(X, y)
    assert fingerprint(OnlineClassifier(learner=fresh()).fit(frame).learner) == fingerprint(alone)
    more = OnlineClassifier(learner=fresh("Perceptron"), shards=3).fit(frame)
    assert more.ledger.rounds == len(y)


def test_a_learner_that_has_learned_goes_on(spark: Any) -> None:
    X, y = stream()
    start, alone = fresh(), fresh()
    start.run(X[:100], y[:100])
    alone.run(X, y)
    before = fingerprint(start)
    model = OnlineClassifier(learner=start, orderCol="t").fit(frames.frame(spark, "dense", X[100:], y[100:]))
    assert fingerprint(model.learner) == fingerprint(alone)
    assert fingerprint(start) == before


def test_weights_of_rows(spark: Any) -> None:
    X, y = stream()
    w = np.where(np.arange(len(y)) % 3, 1.0, 2.5)
    alone = fresh()
    alone.run(X, y, sample_weight=w)
    for kind in ("dense", "table"):
        frame = frames.frame(spark, kind, X, y, w=w.tolist())
        model = OnlineClassifier(learner=fresh(), orderCol="t", weightCol="w", **columns_of(kind)).fit(frame)
        if kind == "dense":
            assert fingerprint(model.learner) == fingerprint(alone)
        assert model.learner._play.weighted


def test_labels_may_be_texts_or_booleans(spark: Any) -> None:
    X, y = stream()
    for labels in (["spam" if each else "ham" for each in y], [bool(each) for each in y]):
        for kind in ("dense", "table"):
            frame = frames.frame(spark, kind, X, labels)
            model = OnlineClassifier(orderCol="t", shards=2, **columns_of(kind)).fit(frame)
            rows = model.transform(frame).select("label", "prediction").collect()
            assert sum(row.label == row.prediction for row in rows) > 0.9 * len(rows)


def test_labels_may_be_decimals(spark: Any) -> None:
    X, y = stream(60)
    frame = frames.frame(spark, "dense", X, y)
    decimals = frame.selectExpr("features", "t", "cast(label as decimal(3, 1)) as label")
    found = [OnlineClassifier(learner=fresh(), orderCol="t").fit(each).learner for each in (frame, decimals)]
    assert fingerprint(found[0]) == fingerprint(found[1])


def test_several_classes(spark: Any) -> None:
    X, _ = stream()
    y = np.argmax(X[:, :3], axis=1).astype(float)
    frame = frames.frame(spark, "dense", X, y)
    alone = mb.Panel(classes=(0.0, 1.0, 2.0))
    alone.run(X, y)
    model = OnlineClassifier(learner=mb.Panel(classes=(0.0, 1.0, 2.0)), orderCol="t").fit(frame)
    assert fingerprint(model.learner) == fingerprint(alone)
    mixed = OnlineClassifier(orderCol="t", shards=2).fit(frame)
    rows = mixed.transform(frame).collect()
    assert mixed.numClasses == 3
    assert np.allclose([row.probability.toArray() for row in rows], mixed.learner.predict_proba(X))
    assert [row.prediction for row in sorted(rows, key=lambda row: row.t)] == mixed.learner.predict(X).tolist()


# ---------------------------------------------------------------------- bad input


def refused(spark: Any, match: str, frame: Any, **given: Any) -> None:
    with pytest.raises(ValueError, match=match):
        OnlineClassifier(**{"learner": fresh("Perceptron"), "orderCol": "t", **given}).fit(frame)


def test_bad_parameters(spark: Any) -> None:
    X, y = stream(40)
    frame = frames.frame(spark, "dense", X, y)
    refused(spark, "shards must be a whole number of at least 1, got 0", frame, shards=0)
    refused(spark, "epochs must be a whole number of at least 1, got -1", frame, epochs=-1)
    refused(spark, "mixing must be one of uniform, mistakes, got 'best'", frame, mixing="best")
    refused(spark, "there is no column 'lable'.*did you mean 'label'", frame, labelCol="lable")
    refused(spark, "there is no column 'T'", frame, orderCol="T")
    refused(spark, "there is no column 'feature'.*featuresCol.*inputCols", frame, featuresCol="feature")
    refused(spark, "column 't' is bigint, but features must be", frame, featuresCol="t")
    refused(spark, "takes no weights", frame, weightCol="t")
    refused(spark, "table is only valid with inputCols", frame, table={"bins": 4})
    refused(spark, "labels must be numbers, texts or booleans; column 'features'", frame, labelCol="features")
    with pytest.raises(TypeError):
        OnlineClassifier(learner=3).fit(frame)


def test_bad_rows(spark: Any) -> None:
    X, y = stream(40)
    refused(spark, "the DataFrame has no rows", frames.frame(spark, "dense", X, y).where("t < 0"))
    bad = X.copy()
    bad[17, 2] = np.nan
    refused(spark, "shard 0: round 17: feature 2 is nan", frames.frame(spark, "dense", bad, y))
    frame = frames.frame(spark, "dense", X, y)
    refused(spark, "column 'label' must not be null", frame.selectExpr("features", "t", "nullif(label, 1.0) as label"))
    refused(spark, "'features' is null", frame.selectExpr("if(t = 3, null, features) as features", "label", "t"))
    refused(spark, "third label|two labels", frame.selectExpr("features", "t", "cast(t % 3 as double) as label"))
    uneven = frame.selectExpr("if(t = 5, array(1.0D), array(1.0D, 2.0D)) as features", "label", "t")
    refused(spark, "an example has 1 features, but those before it have 2", uneven)
    holes = frame.selectExpr("if(t = 5, array(1.0D, null), array(1.0D, 2.0D)) as features", "label", "t")
    refused(spark, "has a null", holes)
