"""A stream is learned exactly once: after restarts, repeated batches, and errors."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spark_frames as frames
from processes import wait_until
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from spark_frames import columns_of, fresh, learned, stream

import mistakebound as mb
from mistakebound.errors import ModelError, StreamError
from mistakebound.learners.linear import KINDS
from mistakebound.models.model_file import fingerprint, save
from mistakebound.spark import StreamingClassifier, streaming

QUERY = "sql.streaming.queryId"


@pytest.fixture
def query(spark: Any) -> Iterator[Callable[[str], None]]:
    """Return a function that lets Spark believe that DataFrames are batches of a query with this id."""

    def name(query: str) -> None:
        spark.sparkContext.setLocalProperty(QUERY, query)

    name("a")
    yield name
    spark.sparkContext.setLocalProperty(QUERY, None)


def write(frame: Any, folder: Path, parts: int, *, first: int = 0) -> None:
    """Write a frame as this number of files in the order of ``t``, to be read one after another."""
    new = folder.with_name("new")
    frame.repartitionByRange(parts, "t").write.parquet(str(new))
    folder.mkdir(exist_ok=True)
    for number, file in enumerate(sorted(new.glob("*.parquet")), first):
        os.utime(file, (number + 1, number + 1))
        file.rename(folder / f"{number}.parquet")
    shutil.rmtree(new)


def run(spark: Any, frame: Any, folder: Path, learn: Any, *, checkpoint: str = "checkpoint") -> str:
    """Learn the files of a folder, each in a batch, until all are learned; return the id of the query."""
    source = spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    writer = source.writeStream.foreachBatch(learn).option("checkpointLocation", str(folder.parent / checkpoint))
    started = writer.trigger(availableNow=True).start()
    started.awaitTermination()
    return str(started.id)


def predictions_in(spark: Any, folder: Path) -> list[Any]:
    return [row.prediction for row in spark.read.parquet(str(folder)).sort("t").collect()]


# ---------------------------------------------------------------------- exactly once


def test_a_query_learns_each_row_once_after_any_restart(spark: Any, tmp_path: Path) -> None:
    X, y = stream()
    frame = frames.frame(spark, "mixed", X, y)
    files, path, predictions = tmp_path / "files", tmp_path / "m.mb", tmp_path / "predictions"
    alone = fresh()
    ledger = alone.run(X, y)

    def learner() -> StreamingClassifier:
        return StreamingClassifier(path, fresh(), orderCol="t", predictions=predictions)

    write(frame.where("t < 200"), files, 2)
    first = learner()
    name = run(spark, frame, files, first)
    assert (first.last_batch, first.ledger.rounds) == (1, 200)
    shutil.copy(path, tmp_path / "older.mb")

    write(frame.where("t >= 200"), files, 2, first=2)
    again = learner()
    assert run(spark, frame, files, again) == name
    assert (first.last_batch, again.last_batch) == (3, 3)
    assert fingerprint(again.learner) == fingerprint(mb.load(path)) == fingerprint(alone)
    written = spark.read.parquet(str(predictions)).sort("t")
    assert written.schema["features"] == frame.schema["features"]
    assert [row.prediction for row in written.collect()] == ledger.predictions.tolist()
    assert [row.t for row in written.collect()] == list(range(len(y)))
    assert {row.batch for row in written.collect()} == {0, 1, 2, 3}

    # Spark repeats the last batch if it did not note its end. The file has it already.
    before = path.stat()
    forget(tmp_path, 3)
    run(spark, frame, files, learner())
    assert path.stat() == before

    # With an older file, batches would be lost, unless Spark repeats them, too.
    shutil.copy(tmp_path / "older.mb", path)
    forget(tmp_path, 3)
    expected = "m.mb has batch 1 of this query, and the query continues with batch 3: batch 2 would be lost; restore"
    with pytest.raises(StreamingQueryException, match=expected):
        run(spark, frame, files, learner())
    forget(tmp_path, 3, "offsets")
    forget(tmp_path, 2)
    run(spark, frame, files, learner())
    assert fingerprint(mb.load(path)) == fingerprint(alone)
    assert predictions_in(spark, predictions) == ledger.predictions.tolist()


def forget(folder: Path, batch: int, *logs: str) -> None:
    """Remove a batch from logs of the checkpoint: by default, that it has ended."""
    for log in logs or ("commits",):
        for name in (f"{batch}", f".{batch}.crc"):
            (folder / "checkpoint" / log / name).unlink()


def test_rows_of_the_source_rate_are_learned_once(spark: Any, tmp_path: Path) -> None:
    """The query is stopped at any moment, and started again."""
    path, predictions = tmp_path / "m.mb", tmp_path / "predictions"
    rows = spark.readStream.format("rate").option("rowsPerSecond", 200).load()
    rows = rows.selectExpr("value", "array(value % 2, value % 3, 1) as features", "value % 6 = 3 as label")
    for goal in (1, 3):
        learn = StreamingClassifier(path, mb.Perceptron(), orderCol="value", predictions=predictions)
        writer = rows.writeStream.foreachBatch(learn).option("checkpointLocation", str(tmp_path / "checkpoint"))
        started = writer.start()
        wait_until(lambda: started.exception() or (path.exists() and (learn.last_batch or 0) >= goal))
        started.stop()
        assert started.exception() is None
    last = learn.last_batch
    found = spark.read.parquet(str(predictions)).where(F.col("batch") <= last).sort("value").collect()
    assert [row.value for row in found] == list(range(len(found)))
    alone = mb.Perceptron()
    ledger = alone.run([row.features for row in found], [row.label for row in found])
    assert fingerprint(learn.learner) == fingerprint(alone)
    assert [row.prediction for row in found] == ledger.predictions.tolist()


def test_another_process_must_not_change_the_file(spark: Any, tmp_path: Path) -> None:
    X, y = stream(40)
    frame, path = frames.frame(spark, "array", X, y), tmp_path / "m.mb"
    write(frame, tmp_path / "files", 2)
    learn = StreamingClassifier(path, fresh(), orderCol="t", predictions=tmp_path / "predictions")

    def change(batch: Any, number: int) -> None:
        learn(batch, number)
        learn.learner.save(path)

    with pytest.raises(StreamingQueryException, match="m.mb was changed by another process: only one query at a time"):
        run(spark, frame, tmp_path / "files", change)
    assert [each.name for each in tmp_path.glob("predictions/*/*")] == ["batch=000000000000"]


# ---------------------------------------------------------------------- batches, without the rest of a query


@pytest.mark.parametrize("kind", ["sparse", "array", "names", "map", "table"])
def test_features_of_each_kind(spark: Any, query: Any, tmp_path: Path, kind: str) -> None:
    X, y = stream(120)
    frame, alone = frames.frame(spark, kind, X, y), fresh()
    ledgers = [learned(alone, kind, X[rows], y[rows]) for rows in (slice(70), slice(70, 120))]
    predictions = tmp_path / "predictions"
    learn = StreamingClassifier(tmp_path / "m.mb", fresh(), orderCol="t", predictions=predictions, **columns_of(kind))
    learn(frame.where("t < 70").repartition(3), 0)
    learn(frame.where("t >= 70").repartition(2), 1)
    assert fingerprint(learn.learner) == fingerprint(alone)
    expected = np.concatenate([ledger.predictions for ledger in ledgers]).tolist()
    assert predictions_in(spark, predictions) == expected


def test_rows_of_equal_order_are_ordered_by_their_content(spark: Any, query: Any, tmp_path: Path) -> None:
    X, y = stream(120)
    frame = frames.frame(spark, "map", X, y, day=[t // 40 for t in range(120)])
    found = set()
    for parts in (1, 2, 5):
        learn = StreamingClassifier(tmp_path / f"{parts}.mb", fresh(), orderCol="day")
        learn(frame.repartition(parts), 0)
        found.add(fingerprint(learn.learner))
    assert len(found) == 1


def test_labels_may_be_texts_and_new(spark: Any, query: Any, tmp_path: Path) -> None:
    X, _ = stream(90)
    y = [f"class {t % 2 + t // 30}" for t in range(90)]
    alone, predictions = mb.Panel(), tmp_path / "predictions"
    ledgers = [alone.run(X[first : first + 30], y[first : first + 30]) for first in (0, 30, 60)]
    learn = StreamingClassifier(tmp_path / "m.mb", orderCol="t", predictions=predictions)
    frame = frames.frame(spark, "array", X, y)
    for batch in range(3):
        learn(frame.where(f"t div 30 = {batch}"), batch)
    assert fingerprint(learn.learner) == fingerprint(alone)
    expected = [label for ledger in ledgers for label in ledger.predictions.tolist()]
    assert predictions_in(spark, predictions) == expected
    assert None in expected or len(set(expected)) > 2


def test_empty_batches(spark: Any, query: Any, tmp_path: Path) -> None:
    X, y = stream(40)
    frame, predictions = frames.frame(spark, "array", X, y), tmp_path / "predictions"
    learn = StreamingClassifier(tmp_path / "m.mb", orderCol="t", predictions=predictions)
    assert (learn.last_batch, learn.ledger.rounds) == (None, 0)
    for batch, rows in enumerate(["t < 0", "t < 40", "t < 0"]):
        learn(frame.where(rows), batch)
        assert learn.last_batch == batch
    assert learn.ledger.rounds == len(predictions_in(spark, predictions)) == 40


def test_another_query_continues_the_model(spark: Any, query: Any, tmp_path: Path) -> None:
    X, y = stream(40)
    frame, predictions = frames.frame(spark, "array", X, y), tmp_path / "predictions"
    learn = StreamingClassifier(tmp_path / "m.mb", orderCol="t", predictions=predictions)
    learn(frame, 0)
    query("b")
    with pytest.raises(StreamError, match="m.mb has no batch of this query, .* batches 0 to 1 would be lost"):
        learn(frame, 2)
    learn(frame, 0)
    assert learn.ledger.rounds == 80
    assert {row.query for row in spark.read.parquet(str(predictions)).collect()} == {"a", "b"}


BAD = {
    "if(t = 13, null, features) as features, label, t": "batch 1: round 3: column 'features' is null",
    "if(t = 13, array(1D, null), array(1D, 2D)) as features, label, t": "batch 1: .*'features' has a null",
    "if(t = 13, array(1D), array(1D, 2D)) as features, label, t": "batch 1: round 3: an example has 1 features",
    "transform(features, x -> if(t = 13, x / 1e-320, x)) as features, label, t": "batch 1: round 3: feature . is -?inf",
    "features, if(t = 13, null, label) as label, t": "batch 1: round 3: .*label",
    "features, if(t = 13, 7, label) as label, t": "batch 1: round 3: .*label.* 7",
    "features, t": "there is no column 'label'",
    "features, label": "there is no column 't' .orderCol.",
    "features, label, t, 1 as Prediction": "the predictions have a column 'Prediction', too: set predictionCol",
    "features, label, t, 1 as batch": "the predictions have a column 'batch', too: .* rename the column",
}


def test_bad_batches_leave_the_file_as_it_was(spark: Any, query: Any, tmp_path: Path) -> None:
    X, y = stream(40)
    frame, path, predictions = frames.frame(spark, "array", X, y), tmp_path / "m.mb", tmp_path / "predictions"
    learn = StreamingClassifier(path, fresh("Perceptron"), orderCol="t", predictions=predictions)
    learn(frame.where("t < 10"), 0)
    before = path.read_bytes()
    for columns, expected in BAD.items():
        bad = frame.where("t >= 10").selectExpr(*(f"{each}" for each in split_columns(columns)))
        with pytest.raises(ValueError, match=expected):
            learn(bad, 1)
        assert path.read_bytes() == before
    assert len(list(predictions.glob("query=a/*"))) == 1
    learn(frame.where("t >= 10"), 1)
    alone = fresh("Perceptron")
    alone.run(X, y)
    assert fingerprint(learn.learner) == fingerprint(alone)


def split_columns(columns: str) -> list[str]:
    """Split SQL at commas that are not in brackets."""
    found, depth = [""], 0
    for letter in columns:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found


def test_the_user_sees_the_message_of_a_bad_row(spark: Any, tmp_path: Path) -> None:
    X, y = stream(20)
    frame = frames.frame(spark, "array", X, y)
    write(frame, tmp_path / "files", 2)
    frame = frame.withColumnRenamed("label", "kind")
    learn = StreamingClassifier(tmp_path / "m.mb", orderCol="t")

    def without_a_label(batch: Any, number: int) -> None:
        learn(batch.withColumn("label", F.expr("if(t = 15, null, t % 2)")), number)

    with pytest.raises(StreamingQueryException) as found:
        run(spark, frame, tmp_path / "files", without_a_label)
    assert "StreamError: batch 1: round 5: " in str(found.value)
    assert learn.last_batch == 0


def test_a_file_that_changes_while_a_batch_is_learned(
    spark: Any, query: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = stream(20)
    path, learn_batches = tmp_path / "m.mb", streaming.learn_batches

    def meanwhile(*given: Any) -> Any:
        mb.Panel().save(path)
        return learn_batches(*given)

    monkeypatch.setattr(streaming, "learn_batches", meanwhile)
    with pytest.raises(StreamError, match="m.mb was changed by another process"):
        StreamingClassifier(path, orderCol="t")(frames.frame(spark, "array", X, y), 0)
    assert not mb.load(path).has_learned


def test_messages_of_kafka(spark: Any, query: Any, tmp_path: Path) -> None:
    """Kafka has messages as bytes in the column ``value``; the other columns are its own."""
    rows = [{"words": ["win", "now"], "kind": "spam"}, {"words": ["tea"], "kind": "ham"}] * 10
    messages = [(bytearray(json.dumps(row).encode()), number) for number, row in enumerate(rows)]
    lines = spark.createDataFrame(messages, "value binary, offset long")
    fields = F.from_json(F.col("value").cast("string"), "words array<string>, kind string")
    frame = lines.select(fields.alias("mail"), "offset").select("mail.*", "offset")
    learn = StreamingClassifier(tmp_path / "json.mb", featuresCol="words", labelCol="kind", orderCol="offset")
    learn(frame, 0)
    alone = mb.Panel()
    alone.run([row["words"] for row in rows], [row["kind"] for row in rows])
    assert fingerprint(learn.learner) == fingerprint(alone)
    broken = lines.selectExpr("if(offset = 4, binary('{'), value) as value", "offset")
    with pytest.raises(StreamError, match="batch 1: round 4: column 'words' is null"):
        learn(broken.select(fields.alias("mail"), "offset").select("mail.*", "offset"), 1)
    table = spark.createDataFrame([(bytearray(b"3,red,yes"),), (bytearray(b"1,blue,no"),)] * 10, "value binary")
    cells = F.from_csv(F.col("value").cast("string"), "size int, colour string, label string")
    learn = StreamingClassifier(tmp_path / "csv.mb", inputCols=["size", "colour"])
    learn(table.select(cells.alias("row")).select("row.*"), 0)
    assert learn.ledger.rounds == 20
    assert learn.learner.predict_one({"size": 3, "colour": "red"}) == "yes"


# ---------------------------------------------------------------------- refused before a query starts


@pytest.mark.parametrize(
    ("progress", "message"),
    [
        ({"run": {}, "counts": []}, "it stores the position of a run over files, not of a query: load it, and save"),
        ({"query": "a"}, "progress must be an object with the fields query, batch: batch is missing"),
        ({"query": "a", "batch": 1, "more": 0}, "'more' is unknown"),
        ({"query": "a", "batch": -1}, "progress.batch must be a whole number from 0"),
        ({"query": "a", "batch": True}, "progress.batch must be a whole number"),
        ({"query": "a", "batch": 1.0}, "progress.batch must be a whole number"),
        ({"query": "a", "batch": 2**70}, "progress.batch must be a whole number"),
        ({"query": ["a"], "batch": 0}, "progress.query must be the id of a query, got ..a.."),
        ({"query": "", "batch": 0}, "progress.query must be the id of a query"),
        ({}, "query is missing, batch is missing"),
    ],
)
def test_a_hostile_position_is_refused(tmp_path: Path, progress: dict[str, Any], message: str) -> None:
    path = tmp_path / "m.mb"
    save(fresh(), path, KINDS, progress)
    with pytest.raises(ModelError, match=f"cannot load {path}: .*{message}"):
        StreamingClassifier(path)


def test_a_bad_path_or_learner_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no such folder: .*/missing'"):
        StreamingClassifier(tmp_path / "missing" / "m.mb")
    with pytest.raises(IsADirectoryError):
        StreamingClassifier(tmp_path)
    path = tmp_path / "m.mb"
    path.write_text("nothing")
    with pytest.raises(ModelError, match=f"cannot load {path}"):
        StreamingClassifier(path)
    fresh("Perceptron").save(path)
    with pytest.raises(ModelError, match=f"cannot load {path}: its learner is Perceptron, not Panel"):
        StreamingClassifier(path, fresh())
    assert type(StreamingClassifier(path).learner) is mb.Perceptron
    path.unlink()
    with pytest.raises(TypeError, match="the learner must be a linear learner"):
        StreamingClassifier(path, mb.MultilabelPanel())
    with pytest.raises(ModelError, match="members"):
        StreamingClassifier(path, mb.Panel(members=[mb.Perceptron()]))


def test_the_learner_that_was_passed_stays_as_it_is(spark: Any, query: Any, tmp_path: Path) -> None:
    X, y = stream(20)
    start = fresh()
    learn = StreamingClassifier(tmp_path / "m.mb", start, orderCol="t")
    start.run(X, y)
    assert not learn.learner.has_learned
    assert repr(learn) == f"StreamingClassifier('{tmp_path / 'm.mb'}', {fresh()!r})"


def test_a_frame_that_is_no_batch_is_refused(spark: Any, tmp_path: Path) -> None:
    X, y = stream(20)
    with pytest.raises(
        ValueError, match="not a batch of a streaming query: pass the StreamingClassifier to foreachBatch"
    ):
        StreamingClassifier(tmp_path / "m.mb")(frames.frame(spark, "array", X, y), 0)


def test_rounds_of_errors_are_counted_in_the_whole_batch(spark: Any, query: Any, tmp_path: Path) -> None:
    X, y = stream(40)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "8")
    try:
        frame = frames.frame(spark, "array", X, y).withColumn("label", F.expr("if(t = 37, 5, label)"))
        with pytest.raises(StreamError, match="batch 0: round 37: "):
            StreamingClassifier(tmp_path / "m.mb", fresh("Perceptron"), orderCol="t")(frame.coalesce(1), 0)
        frame = frame.withColumn("features", F.expr("if(t = 21, null, features)"))
        with pytest.raises(StreamError, match="batch 0: round 21: "):
            StreamingClassifier(tmp_path / "m.mb", fresh("Perceptron"), orderCol="t")(frame.coalesce(1), 0)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
