"""Which columns of a Spark DataFrame are features, label, weight and order, and how the features are read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import DenseVector, VectorUDT
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    MapType,
    NumericType,
    StringType,
)

from mistakebound._support.text import did_you_mean
from mistakebound.data.labels import NO_LABEL, plain_label
from mistakebound.errors import StreamError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

VECTOR, ARRAY, NAMES, MAP, TABLE = "vector", "array", "names", "map", "table"
"""How features are stored: a vector of ``pyspark.ml``, an array of numbers, an array of names, a map from names to
numbers, or a column for each."""
WORDS = {
    VECTOR: "a vector",
    ARRAY: "an array of numbers",
    NAMES: "an array of names",
    MAP: "a map from names to numbers",
}
MOST_LABELS = 10_000


@dataclass(frozen=True)
class Columns:
    """The columns that a learner reads. It is sent to the workers, so it has plain values only."""

    kind: str
    features: tuple[str, ...]
    label: str | None = None
    weight: str | None = None
    table: dict[str, Any] = field(default_factory=dict)
    """The option ``table`` of ``Source``, for a column for each feature."""
    of_vectors: bool = False
    """Whether the column has vectors that are sent to the workers as arrays: Spark sends dense vectors slowly."""

    @property
    def sent(self) -> list[Column]:
        """All columns that are read, as they are sent to the workers."""
        return [
            F.when(column.isNotNull(), vector_to_array(column)).alias(name)
            if self.of_vectors and name in self.features
            else column
            for name, column in ((name, F.col(quoted(name))) for name in self.used)
        ]

    def as_arrays(self) -> Columns:
        """Return the same columns with vectors sent as arrays."""
        return replace(self, kind=ARRAY, of_vectors=True) if self.kind == VECTOR else self

    @property
    def used(self) -> list[str]:
        """All columns that are read, each once."""
        return list(dict.fromkeys([*self.features, *(each for each in (self.label, self.weight) if each is not None)]))


def find_columns(
    frame: DataFrame,
    features: str,
    inputs: list[str] | None,
    *,
    label: str | None,
    weight: str | None = None,
    table: dict[str, Any] | None = None,
) -> Columns:
    """Return the columns of a frame that a learner reads; raise ValueError if one is missing or has a wrong type.

    Parameters
    ----------
    frame : DataFrame
        The frame.
    features : str
        The column with all features: a vector, an array or a map.
    inputs : list of str or None
        Columns that are read like those of a table, instead of ``features``.
    label, weight : str or None
        The columns of the labels and weights, if they are read.
    table : dict, optional
        The option ``table`` of ``Source``, only for ``inputs``.
    """
    types = {each.name: each.dataType for each in frame.schema.fields}
    for name, parameter in ((label, "labelCol"), (weight, "weightCol")):
        if name is not None:
            require(name, types, parameter)
    if label is not None and not isinstance(types[label], (NumericType, StringType, BooleanType)):
        message = f"labels must be numbers, texts or booleans; column {label!r} is {types[label].simpleString()}"
        raise ValueError(message)
    if inputs:
        for name in inputs:
            require(name, types, "inputCols")
        return Columns(TABLE, tuple(inputs), label, weight, dict(table or {}))
    if table:
        message = "table is only valid with inputCols, the columns that are read like those of a table"
        raise ValueError(message)
    if features not in types:
        known = f"; the columns are: {', '.join(types)}{did_you_mean(features, list(types))}"
        remedy = "set featuresCol to a vector, an array or a map, or inputCols to columns that are read like a table"
        message = f"there is no column {features!r}: {remedy}{known}"
        raise ValueError(message)
    return Columns(kind_of(features, types[features]), (features,), label, weight)


def require(name: str, types: dict[str, DataType], parameter: str) -> None:
    """Raise ValueError unless a frame has the column that a parameter names."""
    if name not in types:
        known = f"the columns are: {', '.join(types)}{did_you_mean(name, list(types))}"
        message = f"there is no column {name!r} ({parameter}); {known}"
        raise ValueError(message)


def kind_of(name: str, found: DataType) -> str:
    """Return how a column of features stores them; raise ValueError for a type that cannot be features."""
    if isinstance(found, VectorUDT):
        return VECTOR
    if isinstance(found, ArrayType):
        if isinstance(found.elementType, NumericType):
            return ARRAY
        if isinstance(found.elementType, StringType):
            return NAMES
    with_names = isinstance(found, MapType) and isinstance(found.keyType, StringType)
    if isinstance(found, MapType) and with_names and isinstance(found.valueType, (NumericType, BooleanType)):
        return MAP
    kinds = ", ".join(WORDS.values())
    remedy = "for columns of a table, set inputCols"
    message = f"column {name!r} is {found.simpleString()}, but features must be {kinds}; {remedy}"
    raise ValueError(message)


def dense_as_arrays(frame: DataFrame, columns: Columns) -> Columns:
    """Return the columns with vectors sent as arrays, if the first vector is dense."""
    if columns.kind != VECTOR:
        return columns
    first = frame.select(F.col(quoted(columns.features[0]))).first()
    return columns.as_arrays() if first is not None and isinstance(first[0], DenseVector) else columns


def labels_in(frame: DataFrame, columns: Columns) -> list[Any]:
    """Return the different labels of a frame in order; raise StreamError if a row has none."""
    label = columns.label or ""
    as_text = columns.kind == TABLE  # a table is read as text, as from a file
    value = F.col(quoted(label))
    if as_text:
        value = value.cast("string")
    elif isinstance(frame.schema[label].dataType, DecimalType):
        value = value.cast("double")
    found = [row[0] for row in frame.select(value).distinct().limit(MOST_LABELS + 1).collect()]
    if len(found) > MOST_LABELS:
        message = f"column {label!r} has more than {MOST_LABELS} different labels: is it a number to be predicted?"
        raise ValueError(message)
    labels = [plain_label(each.encode()) for each in found if each is not None] if as_text else found
    if None in found or None in labels:
        message = f"{NO_LABEL.replace('this line', 'a row')}: column {label!r} must not be null or empty"
        raise StreamError(message, kind="no label")
    try:
        return sorted(set(labels))
    except TypeError:
        return sorted(set(labels), key=str)


def hashed(frame: DataFrame, columns: list[str]) -> Column:
    """Return a hash of columns, which orders rows that are equal in the column of the order."""
    types = {each.name: each.dataType for each in frame.schema.fields}

    def comparable(name: str) -> Column:
        column = F.col(quoted(name))
        return F.array_sort(F.map_entries(column)) if isinstance(types[name], MapType) else column

    return F.xxhash64(*map(comparable, columns))


def quoted(name: str) -> str:
    """Return the name of a column in backticks: it may have dots.

    >>> quoted("a.b"), quoted("a`b")
    ('`a.b`', '`a``b`')
    """
    return f"`{name.replace('`', '``')}`"


def labels_type(labels: list[Any]) -> DataType:
    """Return the type of the column of predictions: double for numbers, as pyspark's evaluators need it.

    A learner that reads columns of a table knows booleans as the texts "true" and "false".
    """
    if all(isinstance(each, bool) or each in ("true", "false") for each in labels):
        return BooleanType()
    return DoubleType() if all(isinstance(each, (int, float)) for each in labels) else StringType()
