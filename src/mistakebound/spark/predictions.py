"""Predict Arrow batches on a worker."""

from __future__ import annotations

from collections.abc import Iterator  # noqa: TC003 - pyspark evaluates the types of ``predict``
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from mistakebound.spark.columns import TABLE, Columns, labels_type
from mistakebound.spark.shards import from_bytes, to_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.learners.learner import Learner
    from mistakebound.learners.prediction import PredictedPart

ADDED = ("label", "score", "probability")
"""The fields of the structs that ``predictor`` returns, as far as they are wanted."""


def predictor(
    learner: Learner, columns: Columns, wanted: list[bool], kinds: list[str]
) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    """Return the function that predicts the batches of a partition on a worker: structs of columns to such structs.

    ``wanted`` is whether to return the label, the score and the probabilities; ``kinds`` are the types of these.
    """
    model = to_bytes(learner)

    def predict(structs: Iterator[pa.Array]) -> Iterator[pa.Array]:
        own = from_bytes(model)
        for struct in structs:
            found = predicted(own, pa.RecordBatch.from_struct_array(struct), columns)
            added: tuple[Any, ...] = (found.labels, found.scores, found.probabilities)
            arrays = [
                vector_array(each) if kind == "vector" else prediction_column(each, kind)
                for each, kind in zip(compress(added, wanted), kinds, strict=True)
            ]
            yield pa.StructArray.from_arrays(arrays, names=list(compress(ADDED, wanted)))

    return predict


def predicted(learner: Learner, batch: Any, columns: Columns) -> PredictedPart:
    """Return the predictions of the rows of a batch."""
    from mistakebound.data.batches import BatchSource  # noqa: PLC0415
    from mistakebound.learners.prediction import PredictedPart, predicted_parts, predicted_rows  # noqa: PLC0415
    from mistakebound.spark.rows import examples  # noqa: PLC0415

    if columns.kind != TABLE:
        return predicted_rows(learner, examples(batch, columns))
    part = batch.select(columns.used)
    reader = learner.open_stream(BatchSource(part.schema, [part]), labels_needed=False)
    labels, scores, chances, unknown = zip(*predicted_parts(learner, reader), strict=True)
    together = None if chances[0] is None else np.concatenate(chances)
    return PredictedPart(np.concatenate(labels), np.concatenate(scores), together, sum(unknown))


def unchanged(batches: Iterator[Any]) -> Iterator[Any]:
    """Return the batches of a partition: with ``mapInArrow``, a DataFrame made from Arrow gets types of Spark alone."""
    return batches


def prediction_column(found: AnyArray, kind: str = "") -> Any:
    """Return labels or scores as an Arrow array of this type; without it, of the type that the labels have."""
    kind = kind or labels_type(np.unique(found).tolist()).simpleString()
    if kind == "string":
        return pa.array([None if each is None else str(each) for each in found.tolist()], pa.string())
    if kind == "boolean":
        return pa.array([None if each is None else each in (True, "true") for each in found.tolist()], pa.bool_())
    return pa.array(
        [None if each is None else float(each) for each in found.tolist()]
        if found.dtype == object
        else found.astype(np.float64)
    )


def vector_array(rows: FloatArray) -> Any:
    """Return rows of numbers as a column of dense vectors of ``pyspark.ml``."""
    count, width = rows.shape
    integers = pa.list_(pa.field("element", pa.int32(), nullable=False))
    numbers = pa.list_(pa.field("element", pa.float64(), nullable=False))
    fields = [
        pa.field("type", pa.int8(), nullable=False),
        pa.field("size", pa.int32()),
        pa.field("indices", integers),
        pa.field("values", numbers),
    ]
    offsets = pa.array(np.arange(count + 1, dtype=np.int32) * np.int32(width))
    values = pa.ListArray.from_arrays(offsets, pa.array(rows.ravel()), type=numbers)
    dense = pa.array(np.ones(count, np.int8))
    return pa.StructArray.from_arrays(
        [dense, pa.nulls(count, pa.int32()), pa.nulls(count, integers), values], fields=fields
    )
