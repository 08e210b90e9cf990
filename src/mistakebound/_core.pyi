"""The compiled twin of mistakebound.reference: one loop, every linear rule."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from mistakebound.arrays import AnyArray, FloatArray, IntArray, SignArray

Counts: TypeAlias = tuple[int, int, int, int, int]
"""rounds, false positives, false negatives, updates, updated or mistaken rounds"""

class Fault(ValueError):
    """Bad input in a named example: (number of the fault, feature)."""

class Engine:
    """One rule's play: weights, names, and the record of what happened."""

    def __init__(
        self,
        rule: str,
        parameter: float,
        threshold: float,
        strict: bool,
        update_margin: float,
        bias: float,
        named: bool,
        width: int,
        limit_bytes: int,
        growing: bool = False,
    ) -> None: ...
    # (row, fault, position, counts before, counts after): all rows before `row` were played
    def play_csr(
        self, indptr: IntArray, index: AnyArray, value: AnyArray, y: SignArray, predictions: AnyArray
    ) -> tuple[int, int, int, Counts, Counts]: ...
    def play_dense(self, x: AnyArray, y: SignArray, predictions: AnyArray) -> tuple[int, int, int, Counts, Counts]: ...
    def score_csr(
        self, indptr: IntArray, index: AnyArray, value: AnyArray, out: FloatArray, predictions: AnyArray
    ) -> tuple[int, int, int]: ...
    def score_dense(self, x: AnyArray, out: FloatArray, predictions: AnyArray) -> tuple[int, int, int]: ...
    def learn_named(self, x: Any, label: int) -> bool: ...
    def score_named(self, x: Any) -> tuple[float, bool]: ...
    # rows of a chunk from `first` on, as many as there are labels; the last result are the predictions, a byte each
    def play_chunk(
        self, chunk: Chunk, labels: bytes, first: int = 0
    ) -> tuple[int, int, int, Counts, Counts, bytes]: ...
    def score_chunk(self, chunk: Chunk, out: FloatArray, predictions: AnyArray) -> tuple[int, int, int]: ...
    def counts(self) -> Counts: ...
    def predictions(self, first: int, last: int) -> AnyArray: ...
    def mistake_rounds(self, first: int, last: int) -> IntArray: ...
    # round, label, mistaken, indptr, index, value
    def kept(self, first: int, last: int) -> tuple[IntArray, SignArray, AnyArray, IntArray, AnyArray, FloatArray]: ...
    def names(self) -> list[str]: ...
    def slots(self) -> int: ...
    def width(self) -> int: ...
    def z(self) -> tuple[AnyArray, float]: ...
    def use_simd(self, avx2: bool) -> None: ...
    def __getstate__(self) -> tuple[Any, ...]: ...
    def __setstate__(self, state: tuple[Any, ...]) -> None: ...

class Chunk:
    """Some rows of a text, parsed."""

    @property
    def named(self) -> bool: ...
    def pack(self) -> bytes: ...
    @staticmethod
    def unpack(packed: Any) -> Chunk: ...
    # what was parsed: the first `consumed` bytes of it
    @property
    def text(self) -> Any: ...
    @property
    def consumed(self) -> int: ...
    @property
    def lines(self) -> int: ...
    @property
    def labels(self) -> list[bytes]: ...
    @property
    def label_ids(self) -> bytes: ...
    @property
    def other_labels(self) -> list[bytes]: ...  # of the rows whose id is 255
    # (rows before it, line, column, what is wrong); lines and columns count from 1
    @property
    def bad(self) -> list[tuple[int, int, int, bytes]]: ...
    @property
    def width(self) -> int: ...
    @property
    def indptr(self) -> IntArray: ...
    @property
    def index(self) -> AnyArray: ...
    @property
    def value(self) -> FloatArray: ...
    def line(self, row: int) -> int: ...
    @property
    def weighted(self) -> bool: ...  # whether a row has an importance other than 1
    def importance(self, row: int) -> float: ...
    def tag(self, row: int) -> bytes: ...
    def name(self, at: int) -> bytes: ...
    def __len__(self) -> int: ...

class Reader:
    """Parses text of one format."""

    def __init__(self, kind: str, zero_based: bool = False) -> None: ...
    @property
    def named(self) -> bool: ...
    @staticmethod
    def table(
        beginning: bytes,
        *,
        label: str = "",
        ignore: Sequence[str] = (),
        text: Sequence[str] = (),
        categorical: Sequence[str] = (),
        words: int = 1,
        letters: int = 0,
        bins: int = 0,
        interact: Sequence[tuple[str, str]] = (),
        separator: str | None = None,
        header: bool | None = None,
        missing: Sequence[str] | None = None,
    ) -> Reader: ...
    @staticmethod
    def json(
        label: str = "label",
        *,
        ignore: Sequence[str] = (),
        text: Sequence[str] = (),
        words: int = 1,
        letters: int = 0,
        bins: int = 0,
    ) -> Reader: ...
    @property
    def columns(self) -> list[str]: ...
    def parse(self, text: Any, last: bool, most_bad: int = 0, first: bool = False) -> Chunk: ...

def has_avx2() -> bool: ...

# The formats, for tests: rows are (label, features, line), what is bad is (line, column in bytes, what).
def parse_table(
    text: bytes,
    *,
    separator: str = ",",
    header: bool = True,
    label: str = "",
    ignore: list[str] = ...,
    text_columns: list[str] = ...,
    categorical: list[str] = ...,
    words: int = 1,
    letters: int = 0,
    bins: int = 0,
    interact: list[tuple[str, str]] = ...,
    missing: list[str] | None = None,
) -> tuple[list[tuple[str, dict[str, float], int]], list[tuple[int, int, str]], list[str]]: ...
def parse_json_lines(
    text: bytes,
    *,
    label: str = "",
    ignore: list[str] = ...,
    text_keys: list[str] = ...,
    words: int = 1,
    letters: int = 0,
    bins: int = 0,
) -> tuple[list[tuple[str, dict[str, float], int]], list[tuple[int, int, str]]]: ...
def sniff_table(beginning: bytes) -> tuple[str, bool]: ...
