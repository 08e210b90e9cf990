"""Detect the kind of an input: an array, a sparse matrix, a DataFrame, or an iterable of named examples."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mistakebound._support.lazy import np
from mistakebound.errors import CellError, StreamError

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray

WIDEST = 2**31 - 2
"""Most features by position: their indices have 32 bits."""


class Dense:
    """Rows of a C-contiguous float32 or float64 matrix."""

    __slots__ = ("broken", "x")

    def __init__(self, x: AnyArray, broken: str = "") -> None:
        self.x = x
        self.broken = broken
        """What is wrong with the row after these, if the input had a bad row; otherwise empty."""

    def __len__(self) -> int:
        return int(self.x.shape[0])

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self.x.shape[1])

    def feature_at(self, position: int) -> tuple[int, Any]:
        """Return the (column, value) of a position at which the core found a fault."""
        row, column = divmod(position, max(self.width, 1))
        return column, self.x[row, column] if 0 <= position < self.x.size else None


class Csr:
    """Rows of a sparse matrix. Indices may be in any order; the values of a repeated index are summed."""

    __slots__ = ("broken", "first", "index", "indptr", "value", "width")

    def __init__(
        self, indptr: AnyArray, index: AnyArray, value: AnyArray, width: int, broken: str = "", first: int = 0
    ) -> None:
        self.indptr, self.index, self.value = indptr, index, value
        self.width, self.broken = width, broken
        self.first = first
        """The number of the first column in messages: 1 for svmlight files."""

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def feature_at(self, position: int) -> tuple[int, Any]:
        """Return the (column, value) of a position at which the core found a fault."""
        if 0 <= position < len(self.index):
            return int(self.index[position]) + self.first, self.value[position]
        return -1, None


def sparse_row(rows: Dense | Csr) -> Csr:
    """Return a copy of the first row, without its zeros."""
    if isinstance(rows, Dense):
        (columns,) = rows.x[0].nonzero()
        values = rows.x[0][columns]
    else:
        begin, end = rows.indptr[:2]
        columns, values = rows.index[begin:end], rows.value[begin:end]
    index = np.array(columns, np.int64)
    first = rows.first if isinstance(rows, Csr) else 0
    return Csr(np.array([0, len(index)], np.int64), index, np.array(values, np.float64), rows.width, first=first)


class Named(NamedTuple):
    """Examples whose features have names: dicts, or sets, lists and tuples of str."""

    examples: Iterable[Any]


Positional: TypeAlias = Dense | Csr


def is_named(x: Any) -> bool:
    """Whether a single example has named features: a dict, a set, or a sequence of str.

    >>> is_named({"a": 1}), is_named(["word"]), is_named([0.0, 1.0])
    (True, True, False)
    """
    if isinstance(x, (dict, set, frozenset)):
        return True
    if isinstance(x, (list, tuple)):
        return len(x) > 0 and isinstance(x[0], str)
    return isinstance(x, (Mapping, AbstractSet))


def is_empty(x: Any) -> bool:
    """Whether x is an empty list or tuple."""
    return isinstance(x, (list, tuple)) and len(x) == 0


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars DataFrame (neither is imported to find out)."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def frame_names(X: Any) -> AnyArray | None:
    """Return the column names of a DataFrame if all are str, for scikit-learn's ``feature_names_in_``; else None."""
    if not is_frame(X):
        return None
    columns = list(X.columns)
    return np.array(columns, dtype=object) if columns and all(isinstance(c, str) for c in columns) else None


def frame_rows(X: Any) -> Iterator[dict[str, Any]]:
    """Yield each row of a DataFrame as a dict; its column names must be different str."""
    columns = list(X.columns)
    if not all(isinstance(c, str) for c in columns) or len(set(columns)) < len(columns):
        message = f"the column names of a DataFrame must be different str, got {columns[:10]}"
        raise ValueError(message)
    rows: Iterator[dict[str, Any]] = iter(X.iter_rows(named=True) if hasattr(X, "iter_rows") else X.to_dict("records"))
    return rows


def as_example(x: Any) -> Any:
    """Return a single example; a DataFrame of one row, or a Series whose index is str, becomes a dict."""
    if is_frame(x):
        rows = list(frame_rows(x))
        if len(rows) != 1:
            message = f"one example must be one row, got a DataFrame of {len(rows)}; use run or predict instead"
            raise ValueError(message)
        return rows[0]
    if hasattr(x, "to_dict") and hasattr(x, "index") and all(isinstance(name, str) for name in x.index):
        return x.to_dict()
    return x


_END = object()


def refuse_path(X: Any) -> None:
    """Raise ValueError if X is text or a path: a file must be passed as a Source."""
    if isinstance(X, (str, bytes, os.PathLike)):
        path = os.fsdecode(X)
        shown = path if len(path) <= LONGEST_PATH else path[:LONGEST_PATH] + "..."
        message = (
            f"a stream must be a matrix or an iterable of examples, got {type(X).__name__}; "
            f"for a file, pass mb.Source({shown!r}) to run, partial_fit or predict"
        )
        raise ValueError(message)


LONGEST_PATH = 200
"""Most characters of a path in a message."""


def read_rows(X: Any) -> Dense | Csr | Named:
    """Return X in the form that the core reads, or as named examples."""
    refuse_path(X)
    if is_frame(X):
        return Named(frame_rows(X))
    if isinstance(X, np.ndarray) and X.dtype.kind == "O" and X.ndim == 2 and len(X):
        return read_list(list(X))  # the error for a bad cell then has the round
    if getattr(X, "ndim", 0) == 1 and getattr(getattr(X, "dtype", None), "kind", "") == "O" and len(X):
        X = list(X)  # such as a pandas Series of lists of names
    if hasattr(X, "tocsr") or hasattr(X, "__array__"):
        return read_matrix(X)
    if isinstance(X, Mapping) or not isinstance(X, Iterable):
        message = f"a stream must be a matrix or an iterable of examples, got {type(X).__name__}"
        raise ValueError(message)
    rows = iter(X)
    first = next(rows, _END)
    if first is _END:
        return Named(())
    if is_named(first) or is_empty(first):
        return Named(chain([first], rows))
    return read_list([first, *rows])


def read_list(rows: list[Any]) -> Dense:
    """Return vectors as rows: those before the first bad one, and the fault of that one."""
    with suppress(ValueError):  # such as lists of different lengths
        whole = np.asarray(rows)
        if whole.ndim == 2 and whole.dtype.kind in "fiub":
            return Dense(as_floats(whole, dimensions=2))
    good: list[AnyArray] = []
    broken = ""
    for row in rows:
        try:
            x = read_one(row)
            vector = x.x[0] if isinstance(x, Dense) else densified(x)[0]
        except ValueError as error:
            broken = str(error)
            break
        if good and len(vector) != len(good[0]):
            broken = f"X has {len(vector)} features, but the rounds before have {len(good[0])} features"
            break
        good.append(vector)
    if not good:
        raise StreamError(broken, round=0)
    single = all(row.dtype == np.float32 for row in good)
    return Dense(np.array(good, np.float32 if single else np.float64), broken)


def read_matrix(X: Any) -> Positional:
    """Return an array-like or a sparse matrix as rows."""
    refuse_path(X)
    if hasattr(X, "tocsr"):
        return read_sparse(X)
    x = as_floats(X, dimensions=2)
    check_width(int(x.shape[1]))
    return Dense(x)


def read_sparse(X: Any) -> Csr:
    """Return a scipy sparse matrix or array as CSR rows. Float values are not copied."""
    csr = X.tocsr()
    flat = len(csr.shape) == 1  # a 1-D sparse array is one row
    width = int(csr.shape[-1])
    check_width(width)
    return Csr(
        np.array([0, len(csr.data)], np.int64) if flat else solid(csr.indptr, np.int64),
        solid(csr.indices, np.int32 if csr.indices.dtype == np.int32 else np.int64),
        as_floats(csr.data, dimensions=1),
        width,
    )


def read_one(x: Any) -> Positional:
    """Return a single example with features by position as one row."""
    if hasattr(x, "tocsr"):
        rows = read_sparse(x)
        if len(rows) != 1:
            message = f"one example must be one row, got a sparse matrix of {len(rows)}; use run or predict instead"
            raise ValueError(message)
        return rows
    row = np.asarray(x)
    if row.ndim == 2 and row.shape[0] == 1:
        row = row[0]
    if row.ndim != 1:
        shape = f"an array of shape {row.shape}" if row.ndim else f"{type(x).__name__}"
        message = f"one example must be a vector, a dict, or a set or list of names, got {shape}"
        raise ValueError(message)
    return read_matrix(as_floats(row, dimensions=1).reshape(1, -1))


def as_floats(values: Any, *, dimensions: int) -> AnyArray:
    """Return a C-contiguous array: float32 if X is float32, otherwise float64. Raise ValueError unless X is real."""
    x = np.asarray(values)
    if x.dtype.kind == "c":
        message = "Complex data not supported"
        raise ValueError(message)
    if x.ndim != dimensions:
        message = (
            f"Expected {dimensions}D array, got {x.ndim}D array instead: rows are rounds. "
            "Reshape your data: X.reshape(1, -1) for one example, X.reshape(-1, 1) for one feature"
        )
        raise ValueError(message)
    if x.dtype.kind not in "fiubO":
        message = f"examples must be numbers, got {x.dtype}; pass named features as dicts, sets or lists of str"
        raise ValueError(message)
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        message = (
            "masked values are missing values, and every value must be a number: fill them, or pass dicts without them"
        )
        raise ValueError(message)
    if x.dtype.kind == "O":
        return floats_of_objects(x)
    return solid(x, np.float32 if x.dtype == np.float32 else np.float64)


def solid(x: AnyArray, dtype: type[np.generic]) -> AnyArray:
    """Return a C-contiguous and aligned array, as the core needs; not copied if it is one already."""
    return np.require(x, dtype, ["C", "A"])


def floats_of_objects(x: AnyArray) -> AnyArray:
    """Return numbers that are Python objects as floats; raise CellError, with the place, for anything else."""
    out = np.empty(x.shape)
    for place, cell in np.ndenumerate(x):
        try:
            if isinstance(cell, (str, bytes)):
                message = f"argument must be a real number, not the string {cell!r}"
                raise TypeError(message)  # noqa: TRY301 - the handler below adds the place
            out[place] = float(cell)
        except (TypeError, ValueError, OverflowError) as error:  # noqa: PERF203 - the message has the cell
            *row, column = place
            where = f"row {row[0]}, feature {column}" if row else f"feature {column}"
            message = f"{where}: {error}"
            raise CellError(message) from None
    return out


def check_width(width: int) -> None:
    """Raise ValueError for a matrix with more columns than an index can number."""
    if width > WIDEST:
        message = f"{width} columns are too many for positional features (at most {WIDEST}): use named features"
        raise ValueError(message)


def complemented(x: AnyArray, *, both: bool) -> Dense:
    """Return 1 − x, or with ``both`` (x, 1 − x) side by side, for targets that contain negated variables.

    A value that is neither 0 nor 1 is not changed, so that the core finds it; 1 − x could be 1 for a very small x.
    """
    negated = np.where((x == 0) | (x == 1), 1 - x, x)
    return Dense(np.ascontiguousarray(np.hstack([x, negated]) if both else negated))


def wellformed_rows(rows: Csr) -> int:
    """Return the number of rows before the first with an invalid indptr or index."""
    begin, end = rows.indptr[:-1], rows.indptr[1:]
    bad = (begin < 0) | (end < begin) | (end > len(rows.index))
    good = int(np.argmax(bad)) if bad.any() else len(rows)
    used = rows.index[: rows.indptr[good]]
    outside = (used < 0) | (used >= rows.width)
    if outside.any():
        good = int(np.searchsorted(rows.indptr[: good + 1], np.argmax(outside), side="right")) - 1
    return good


def densified(rows: Csr) -> AnyArray:
    """Return a dense matrix of the rows before the first malformed one; values of repeated indices are summed."""
    good = wellformed_rows(rows)
    indptr = rows.indptr[: good + 1]
    x = np.zeros((good, rows.width))
    used = slice(int(indptr[0]), int(indptr[-1]))
    np.add.at(x, (np.repeat(np.arange(good), np.diff(indptr)), rows.index[used]), rows.value[used])
    return x
