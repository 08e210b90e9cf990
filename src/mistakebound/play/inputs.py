"""Detect what an input is, once: an array, a sparse matrix, a frame, or an iterable of examples with named features."""

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
"""Features are kept by 32-bit index."""


class Dense:
    """Rows of a C-contiguous float32 or float64 matrix."""

    __slots__ = ("broken", "x")

    def __init__(self, x: AnyArray, broken: str = "") -> None:
        self.x = x
        self.broken = broken
        """What is wrong with the row after the last, if the input had one that is no row."""

    def __len__(self) -> int:
        return int(self.x.shape[0])

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self.x.shape[1])

    def feature_at(self, position: int) -> tuple[int, Any]:
        """(column, value) of a position that the core blames."""
        row, column = divmod(position, max(self.width, 1))
        return column, self.x[row, column] if 0 <= position < self.x.size else None


class Csr:
    """Rows of a sparse matrix. Indices may come in any order; a repeated one means the sum of its values."""

    __slots__ = ("broken", "first", "index", "indptr", "value", "width")

    def __init__(
        self, indptr: AnyArray, index: AnyArray, value: AnyArray, width: int, broken: str = "", first: int = 0
    ) -> None:
        self.indptr, self.index, self.value = indptr, index, value
        self.width, self.broken = width, broken
        self.first = first
        """The number of the first column, as the user counts: svmlight begins with 1."""

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def feature_at(self, position: int) -> tuple[int, Any]:
        """(column, value) of a position that the core blames."""
        if 0 <= position < len(self.index):
            return int(self.index[position]) + self.first, self.value[position]
        return -1, None


def sparse_row(rows: Dense | Csr) -> Csr:
    """The first row without its zeros, in memory of its own."""
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
    """Whether a single example brings names: a dict, a set, or a sequence of str.

    >>> is_named({"a": 1}), is_named(["word"]), is_named([0.0, 1.0])
    (True, True, False)
    """
    if isinstance(x, (dict, set, frozenset)):
        return True
    if isinstance(x, (list, tuple)):
        return len(x) > 0 and isinstance(x[0], str)
    return isinstance(x, (Mapping, AbstractSet))


def is_empty(x: Any) -> bool:
    """Whether x is an empty list or tuple: an example without names."""
    return isinstance(x, (list, tuple)) and len(x) == 0


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
    """Each row of a frame as a dict; its columns must be named by text."""
    columns = list(X.columns)
    if not all(isinstance(c, str) for c in columns) or len(set(columns)) < len(columns):
        message = f"the columns of a DataFrame are names here and must be different str, got {columns[:10]}"
        raise ValueError(message)
    rows: Iterator[dict[str, Any]] = iter(X.iter_rows(named=True) if hasattr(X, "iter_rows") else X.to_dict("records"))
    return rows


def as_example(x: Any) -> Any:
    """A single example as it is, but a frame of one row or a pandas Series with text for its index as a dict."""
    if is_frame(x):
        rows = list(frame_rows(x))
        if len(rows) != 1:
            message = f"one example is one row, got a DataFrame of {len(rows)}; use run, fit or predict for many"
            raise ValueError(message)
        return rows[0]
    if hasattr(x, "to_dict") and hasattr(x, "index") and all(isinstance(name, str) for name in x.index):
        return x.to_dict()
    return x


_END = object()


def refuse_path(X: Any) -> None:
    """Raise ValueError if X is the name of a file, or other text: a file is read through a Source."""
    if isinstance(X, (str, bytes, os.PathLike)):
        path = os.fsdecode(X)
        shown = path if len(path) <= LONGEST_PATH else path[:LONGEST_PATH] + "..."
        message = (
            f"a stream is a matrix or an iterable of examples, got {type(X).__name__}; "
            f"for a file, pass mb.Source({shown!r}) to run, partial_fit or predict"
        )
        raise ValueError(message)


LONGEST_PATH = 200
"""So much of a path is shown in a message."""


def read_rows(X: Any) -> Dense | Csr | Named:
    """Tell what kind of stream X is, and hold it as the core reads it."""
    refuse_path(X)
    if is_frame(X):
        return Named(frame_rows(X))
    if isinstance(X, np.ndarray) and X.dtype.kind == "O" and X.ndim == 2 and len(X):
        return read_list(list(X))  # a cell that is no number then stops at its own round
    if getattr(X, "ndim", 0) == 1 and getattr(getattr(X, "dtype", None), "kind", "") == "O" and len(X):
        X = list(X)  # a pandas Series of lists of names, for one
    if hasattr(X, "tocsr") or hasattr(X, "__array__"):
        return read_matrix(X)
    if isinstance(X, Mapping) or not isinstance(X, Iterable):
        message = f"a stream is a matrix or an iterable of examples, got {type(X).__name__}"
        raise ValueError(message)
    rows = iter(X)
    first = next(rows, _END)
    if first is _END:
        return Named(())
    if is_named(first) or is_empty(first):
        return Named(chain([first], rows))
    return read_list([first, *rows])


def read_list(rows: list[Any]) -> Dense:
    """Examples given one by one as vectors: those before the first that does not fit, and what is wrong with it."""
    with suppress(ValueError):  # ragged lists, for one
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
            broken = f"X has {len(vector)} features, but {len(good[0])} features are expected, as in the rounds before"
            break
        good.append(vector)
    if not good:
        raise StreamError(broken, round=0)
    single = all(row.dtype == np.float32 for row in good)
    return Dense(np.array(good, np.float32 if single else np.float64), broken)


def read_matrix(X: Any) -> Positional:
    """Hold an array-like or a sparse matrix as rows."""
    refuse_path(X)
    if hasattr(X, "tocsr"):
        return read_sparse(X)
    x = as_floats(X, dimensions=2)
    check_width(int(x.shape[1]))
    return Dense(x)


def read_sparse(X: Any) -> Csr:
    """Any scipy sparse matrix or array, as CSR. Its data are not copied if they are float already."""
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
    """Hold a single positional example as one row."""
    if hasattr(x, "tocsr"):
        rows = read_sparse(x)
        if len(rows) != 1:
            message = f"one example is one row, got a sparse matrix of {len(rows)}; use run, fit or predict for many"
            raise ValueError(message)
        return rows
    row = np.asarray(x)
    if row.ndim == 2 and row.shape[0] == 1:
        row = row[0]
    if row.ndim != 1:
        shape = f"an array of shape {row.shape}" if row.ndim else f"{type(x).__name__}"
        message = f"one example is a vector, a dict, or a set or list of names; got {shape}"
        raise ValueError(message)
    return read_matrix(as_floats(row, dimensions=1).reshape(1, -1))


def as_floats(values: Any, *, dimensions: int) -> AnyArray:
    """C-contiguous float32 if it is float32 already, otherwise float64; refuses what is not a real number."""
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
        message = f"examples must be numbers, got {x.dtype}; names come as dicts, sets or lists of str"
        raise ValueError(message)
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        message = (
            "masked values are missing values, and examples must be numbers: fill them, or leave them out as names"
        )
        raise ValueError(message)
    if x.dtype.kind == "O":
        return floats_of_objects(x)
    return solid(x, np.float32 if x.dtype == np.float32 else np.float64)


def solid(x: AnyArray, dtype: type[np.generic]) -> AnyArray:
    """C-contiguous and aligned, as the core reads memory; not copied if it is so already."""
    return np.require(x, dtype, ["C", "A"])


def floats_of_objects(x: AnyArray) -> AnyArray:
    """Numbers that came as Python objects; anything else is named with its place."""
    out = np.empty(x.shape)
    for place, cell in np.ndenumerate(x):
        try:
            if isinstance(cell, (str, bytes)):
                message = f"argument must be a real number, not the string {cell!r}"
                raise TypeError(message)  # noqa: TRY301 - one place says where it was
            out[place] = float(cell)
        except (TypeError, ValueError, OverflowError) as error:  # noqa: PERF203 - to say which cell it was
            *row, column = place
            where = f"row {row[0]}, feature {column}" if row else f"feature {column}"
            message = f"{where}: {error}"
            raise CellError(message) from None
    return out


def check_width(width: int) -> None:
    """Refuse matrices that are wider than an index can tell."""
    if width > WIDEST:
        message = f"{width} columns are too many for positional features (at most {WIDEST}): use named features"
        raise ValueError(message)


def complemented(x: AnyArray, *, both: bool) -> Dense:
    """1 − x, or (x, 1 − x) side by side, for targets that contain negated variables.

    What is neither 0 nor 1 stays as it is, for the core to refuse: 1 − x is 1 for a very small x, too.
    """
    negated = np.where((x == 0) | (x == 1), 1 - x, x)
    return Dense(np.ascontiguousarray(np.hstack([x, negated]) if both else negated))


def sound_rows(rows: Csr) -> int:
    """How many rows from the first on have a valid indptr and valid indices."""
    begin, end = rows.indptr[:-1], rows.indptr[1:]
    bad = (begin < 0) | (end < begin) | (end > len(rows.index))
    sound = int(np.argmax(bad)) if bad.any() else len(rows)
    used = rows.index[: rows.indptr[sound]]
    outside = (used < 0) | (used >= rows.width)
    if outside.any():
        sound = int(np.searchsorted(rows.indptr[: sound + 1], np.argmax(outside), side="right")) - 1
    return sound


def densified(rows: Csr) -> AnyArray:
    """The matrix of the sound rows, for what needs every variable (repeated entries are summed)."""
    sound = sound_rows(rows)
    indptr = rows.indptr[: sound + 1]
    x = np.zeros((sound, rows.width))
    used = slice(int(indptr[0]), int(indptr[-1]))
    np.add.at(x, (np.repeat(np.arange(sound), np.diff(indptr)), rows.index[used]), rows.value[used])
    return x
