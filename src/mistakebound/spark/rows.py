"""Read Arrow batches on a worker: as matrices, as examples with named features, or as a table."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_matrix

from mistakebound.data.batches import BatchSource
from mistakebound.data.labels import label_array
from mistakebound.errors import StreamError
from mistakebound.spark.columns import ARRAY, MAP, TABLE, VECTOR, Columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound._support.arrays import AnyArray
    from mistakebound.learners.learner import Learner
    from mistakebound.play.ledger import Ledger

DENSE = 1
"""The type of a dense vector of ``pyspark.ml``; that of a sparse one is 0."""


def learn_batches(learner: Learner, columns: Columns, batches: Iterable[Any]) -> Iterator[Ledger]:
    """Predict, then learn, the rows of Arrow batches, one after another; yield the ledgers of some rows each."""
    if columns.kind == TABLE:
        yield from learn_table(learner, columns, iter(batches))
        return
    rounds = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        try:
            given = {} if columns.weight is None else {"sample_weight": numbers(batch, columns.weight)}
            ledger = learner.run(examples(batch, columns), labels(batch, columns.label or ""), **given)
        except StreamError as error:
            raise error if error.round is None else error.at_round(rounds + error.round) from None
        rounds += ledger.rounds
        yield ledger


def learn_table(learner: Learner, columns: Columns, batches: Iterable[Any]) -> Iterator[Ledger]:
    """Predict, then learn, rows of plain columns, like those of a Parquet file."""
    rest = iter(batches)
    first = next(rest, None)
    if first is None:
        return
    table = columns.table if columns.weight is None else {**columns.table, "weight": columns.weight}
    used = (batch.select(columns.used) for batch in chain([first], rest))
    schema = first.select(columns.used).schema
    yield from learner.run_parts(BatchSource(schema, used, label=columns.label, table=table))


def examples(batch: Any, columns: Columns) -> Any:
    """Return the examples of a batch: a matrix, or a list of examples whose features have names."""
    (name,) = columns.features
    column = batch.column(batch.schema.get_field_index(name))
    if column.null_count:
        message = f"column {name!r} is null"
        raise StreamError(message, round=int(np.argmax(column.is_null().to_numpy(zero_copy_only=False))))
    if columns.kind == VECTOR:
        return vectors(column)
    if columns.kind == ARRAY:
        return arrays(column, name)
    found = column.to_pylist()
    # Spark does not promise the order of a map, and the bits of a sum depend on the order of the features.
    return [dict(sorted(pairs)) for pairs in found] if columns.kind == MAP else found


def vectors(column: Any) -> AnyArray | csr_matrix:
    """Return a column of vectors of ``pyspark.ml`` as an array if all are dense, otherwise as a sparse matrix."""
    kinds = pc.struct_field(column, "type").to_numpy(zero_copy_only=False)
    values = pc.struct_field(column, "values")
    flat = values.flatten().to_numpy(zero_copy_only=False)
    lengths = pc.list_value_length(values).to_numpy(zero_copy_only=False).astype(np.int64)
    dense = kinds == DENSE
    if dense.all():
        return matrix(flat, lengths)
    sizes = np.where(dense, lengths, pc.struct_field(column, "size").fill_null(0).to_numpy(zero_copy_only=False))
    require_same(sizes)
    ends = np.cumsum(lengths)
    indptr = np.concatenate([[0], ends])
    index = np.empty(len(flat), np.int64)
    of_dense = np.repeat(dense, lengths)
    positions = np.arange(len(flat)) - np.repeat(indptr[:-1], lengths)
    index[of_dense] = positions[of_dense]
    index[~of_dense] = pc.struct_field(column, "indices").flatten().to_numpy(zero_copy_only=False)
    found = csr_matrix((flat.copy(), index, indptr), shape=(len(sizes), int(sizes[0])))  # Arrow is read-only
    found.eliminate_zeros()
    return found


def arrays(column: Any, name: str) -> AnyArray:
    """Return a column of arrays of numbers as a matrix."""
    flat = column.flatten()
    if flat.null_count:
        message = f"an array in column {name!r} has a null; fill it first"
        raise StreamError(message, feature=name)
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False).astype(np.int64)
    return matrix(flat.cast(pa.float64()).to_numpy(zero_copy_only=False), lengths)


def matrix(flat: AnyArray, lengths: AnyArray) -> AnyArray:
    """Return rows of the same length as a matrix."""
    require_same(lengths)
    found: AnyArray = np.ascontiguousarray(flat.reshape(len(lengths), int(lengths[0])))
    return found


def require_same(sizes: AnyArray) -> None:
    """Raise StreamError unless all rows have the same number of features."""
    wrong = np.flatnonzero(sizes != sizes[0])
    if len(wrong):
        row = int(wrong[0])
        message = f"an example has {int(sizes[row])} features, but those before it have {int(sizes[0])}"
        raise StreamError(message, round=row)


def labels(batch: Any, name: str) -> AnyArray:
    """Return the labels of a batch."""
    column = batch.column(batch.schema.get_field_index(name))
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type):
        found: AnyArray = column.to_numpy(zero_copy_only=False)
        return found
    return label_array(column.to_pylist())


def numbers(batch: Any, name: str) -> AnyArray:
    """Return a column of numbers."""
    column = batch.column(batch.schema.get_field_index(name))
    if column.null_count:
        message = f"a weight is null in column {name!r}"
        raise StreamError(message, feature=name)
    found: AnyArray = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found
