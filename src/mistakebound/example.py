"""What a stream brings: arrays, sparse matrices, frames, and iterables of named examples, told apart once, here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mistakebound.errors import StreamError

if TYPE_CHECKING:
    from mistakebound.arrays import AnyArray

WIDEST = 2**31 - 2
"""Features are kept by 32-bit index."""


@dataclass(frozen=True)
class Dense:
    """Rows of a C-contiguous float32 or float64 matrix."""

    x: AnyArray

    def __len__(self) -> int:
        return int(self.x.shape[0])

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self.x.shape[1])

    def feature_at(self, position: int) -> tuple[int, Any]:
        """(column, value) of a position that the core blames."""
        column = position % self.width if self.width else 0
        return column, self.x.ravel()[position] if self.x.size else None


@dataclass(frozen=True)
class Csr:
    """Rows of a sparse matrix. Indices may come in any order; a repeated one means the sum of its values."""

    indptr: AnyArray
    index: AnyArray
    value: AnyArray
    width: int

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def feature_at(self, position: int) -> tuple[int, Any]:
        """(column, value) of a position that the core blames."""
        if position < len(self.index):
            return int(self.index[position]), self.value[position]
        return -1, None


@dataclass(frozen=True)
class Named:
    """Examples whose features have names: dicts, or sets, lists and tuples of str."""

    examples: Iterable[Any]


Positional: TypeAlias = Dense | Csr


def is_named(x: Any) -> bool:
    """Whether a single example brings names: a dict, a set, or a sequence of str.

    >>> is_named({"a": 1}), is_named(["word"]), is_named([0.0, 1.0])
    (True, True, False)
    """
    if isinstance(x, (Mapping, Set)):
        return True
    return isinstance(x, (list, tuple)) and len(x) > 0 and isinstance(x[0], str)


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars DataFrame (neither is imported to find out)."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def frame_names(X: Any) -> AnyArray | None:
    """Column names of a frame if all are text, as scikit-learn defines ``feature_names_in_``."""
    if not is_frame(X):
        return None
    columns = list(X.columns)
    return np.array(columns, dtype=object) if columns and all(isinstance(c, str) for c in columns) else None


def frame_rows(X: Any) -> Iterator[dict[str, Any]]:
    """Each row of a frame as a dict; missing values are left out, as a feature that is not there."""
    rows = X.iter_rows(named=True) if hasattr(X, "iter_rows") else X.to_dict("records")
    for row in rows:
        yield {str(name): value for name, value in row.items() if value is not None}


def read_rows(X: Any) -> Dense | Csr | Named:
    """Tell what kind of stream X is, and hold it as the core reads it."""
    if is_frame(X):
        return Named(frame_rows(X))
    if hasattr(X, "tocsr") or isinstance(X, np.ndarray) or hasattr(X, "__array__"):
        return read_matrix(X)
    if isinstance(X, (Mapping, str, bytes)) or not isinstance(X, Iterable):
        message = f"a stream is a matrix or an iterable of examples, got {type(X).__name__}"
        raise ValueError(message)
    rows = iter(X)
    first = next(rows, None)
    if first is None:
        return Named(())
    if is_named(first) or (isinstance(first, (list, tuple)) and not first):
        return Named(chain([first], rows))
    return read_matrix(X if isinstance(X, Sequence) else [first, *rows])


def read_matrix(X: Any) -> Positional:
    """Hold an array-like or a sparse matrix as rows."""
    if hasattr(X, "tocsr"):
        return read_sparse(X)
    x = as_floats(X)
    if x.ndim != 2:
        message = (
            f"Expected 2D array, got {x.ndim}D array instead: rows are rounds. "
            "Reshape your data: X.reshape(1, -1) for one example, X.reshape(-1, 1) for one feature"
        )
        raise ValueError(message)
    check_width(int(x.shape[1]))
    return Dense(x)


def read_sparse(X: Any) -> Csr:
    """Any scipy sparse matrix or array, as CSR. Its data are not copied if they are float already."""
    csr = X.tocsr()
    shape = csr.shape if len(csr.shape) == 2 else (1, csr.shape[0])
    indptr = csr.indptr if len(csr.shape) == 2 else np.array([0, len(csr.data)])
    check_width(int(shape[1]))
    index = csr.indices if csr.indices.dtype in (np.int32, np.int64) else csr.indices.astype(np.int64)
    return Csr(
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(index),
        as_floats(csr.data),
        int(shape[1]),
    )


def read_one(x: Any) -> Positional:
    """Hold a single positional example as one row."""
    if hasattr(x, "tocsr"):
        return read_sparse(x)
    row = as_floats(x)
    if row.ndim != 1 and row.shape[0] != 1:
        message = f"one example is a vector, got an array of shape {row.shape}; use run, fit or predict for many"
        raise ValueError(message)
    return read_matrix(row.reshape(1, -1))


def as_floats(values: Any) -> AnyArray:
    """C-contiguous float32 if it is float32 already, otherwise float64; refuses what is not a real number."""
    x = np.asarray(values)
    if x.dtype.kind == "c":
        message = "Complex data not supported"
        raise ValueError(message)
    if x.dtype.kind not in "fiubO":
        message = f"examples must be numbers, got {x.dtype}; names come as dicts, sets or lists of str"
        raise ValueError(message)
    return np.ascontiguousarray(x, np.float32 if x.dtype == np.float32 else np.float64)


def check_width(width: int) -> None:
    """Refuse matrices that are wider than an index can tell."""
    if width > WIDEST:
        message = f"{width} columns are too many for positional features (at most {WIDEST}): use named features"
        raise ValueError(message)


def complemented(rows: Positional, *, both: bool) -> Dense:
    """1 − x, or (x, 1 − x) side by side, for targets that contain negated variables."""
    x = rows.x if isinstance(rows, Dense) else densified(rows)
    return Dense(np.ascontiguousarray(np.hstack([x, 1 - x]) if both else 1 - x))


def densified(rows: Csr) -> AnyArray:
    """Return the matrix itself, for the reductions that need every variable (repeated entries are summed)."""
    if len(rows.index) and not (rows.index.min() >= 0 and rows.index.max() < rows.width):
        message = "a column index of the sparse matrix is out of range"
        raise StreamError(message)
    x = np.zeros((len(rows), rows.width))
    np.add.at(x, (np.repeat(np.arange(len(rows)), np.diff(rows.indptr)), rows.index), rows.value)
    return x
