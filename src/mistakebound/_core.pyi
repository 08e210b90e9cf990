"""The compiled twin of mistakebound.reference: one loop, every linear rule."""

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
) -> tuple[list[tuple[str, dict[str, float], int]], list[tuple[int, int, str]]]: ...
def sniff_table(beginning: bytes) -> tuple[str, bool]: ...
