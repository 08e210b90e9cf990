"""The compiled twin of mistakebound.rules.reference: one loop, every linear rule."""

import enum
from collections.abc import Sequence
from typing import Any, TypeAlias

from mistakebound._support.arrays import AnyArray, FloatArray, IntArray, SignArray

Counts: TypeAlias = tuple[int, int, int, int, int]
"""rounds, false positives, false negatives, updates, updated or mistaken rounds"""
MeasuredCounts: TypeAlias = tuple[Any, ...]
"""the counts and, of a rule with probabilities, its measures"""
Complaint: TypeAlias = tuple[int, int, str]
"""round, expert, kind"""

class FaultKind(enum.Enum):
    """What is wrong with a row."""

    LABEL = 1
    INDEX = 2
    NOT_FINITE = 3
    NOT_BINARY = 4
    TOO_LARGE = 5
    TOO_SMALL = 6
    OVERFLOW = 7
    MALFORMED = 8
    WEIGHT = 9

class BadKind(enum.Enum):
    """Why a line of a file is bad."""

    SYNTAX = 0
    NOT_UTF8 = 1
    LABEL = 2
    NO_LABEL = 3
    INDEX = 4
    ZERO_INDEX = 5
    VALUE = 6
    REPEATED = 7
    FIELDS = 8

class Fault:
    """What is wrong with a row of a batch, and where."""

    @property
    def kind(self) -> FaultKind: ...
    @property
    def row(self) -> int: ...
    # of the offending non-zero in the batch
    @property
    def position(self) -> int: ...
    # whether its value is the sum of several, for its feature comes more than once in the row
    @property
    def of_sum(self) -> bool: ...

class NamedFault(ValueError):
    """Bad input in a named example: (kind, feature, whether its value is the sum of several)."""

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
        members: int = 0xFFFF,
        joined: int = 0,
        threads: int = 1,
        shared: bool = False,
    ) -> None: ...
    # an engine with `shared` reads rows for the panels of several labels; arrays have a row for each of them
    def add_label(self, panel: Engine, is_first: bool) -> None: ...
    def play_csr_labels(
        self,
        panels: list[Engine],
        indptr: IntArray,
        index: AnyArray,
        value: AnyArray,
        y: AnyArray,
        predictions: AnyArray,
        two_threads: bool,
    ) -> tuple[int, Fault | None]: ...
    def play_dense_labels(
        self, panels: list[Engine], x: AnyArray, y: AnyArray, predictions: AnyArray, two_threads: bool
    ) -> tuple[int, Fault | None]: ...
    def play_chunk_labels(
        self, panels: list[Engine], chunk: Chunk, first: int, y: AnyArray, predictions: AnyArray, two_threads: bool
    ) -> tuple[int, Fault | None]: ...
    # (row, fault, counts before, counts after): all rows before `row` were played
    def play_csr(
        self,
        indptr: IntArray,
        index: AnyArray,
        value: AnyArray,
        y: SignArray,
        predictions: AnyArray,
        scores: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> tuple[int, Fault | None, MeasuredCounts, MeasuredCounts]: ...
    def play_dense(
        self,
        x: AnyArray,
        y: SignArray,
        predictions: AnyArray,
        scores: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> tuple[int, Fault | None, MeasuredCounts, MeasuredCounts]: ...
    def score_csr(
        self, indptr: IntArray, index: AnyArray, value: AnyArray, out: FloatArray, predictions: AnyArray
    ) -> tuple[int, Fault | None]: ...
    def score_dense(self, x: AnyArray, out: FloatArray, predictions: AnyArray) -> tuple[int, Fault | None]: ...
    def learn_named(self, x: Any, label: int, weight: float = 1.0) -> bool: ...
    def score_named(self, x: Any) -> tuple[float, bool]: ...
    # the outcome of a prediction that was made before: whether it was positive, its score, and the updates it had seen
    def tell_named(
        self, x: Any, label: int, positive: bool, score: float, updates: int, weight: float = 1.0
    ) -> bool: ...
    def tell_csr(
        self,
        indptr: IntArray,
        index: IntArray,
        value: FloatArray,
        label: int,
        positive: bool,
        score: float,
        updates: int,
        weight: float = 1.0,
    ) -> tuple[int, Fault | None, MeasuredCounts, MeasuredCounts]: ...
    # kept rounds whose prediction had not seen all updates before it, and how many it had not seen
    def late(self) -> tuple[IntArray, IntArray]: ...
    # rows of a chunk from `first` on, as many as there are labels; the last result are the predictions, a byte each
    def play_chunk(
        self,
        chunk: Chunk,
        labels: bytes,
        first: int = 0,
        scores: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> tuple[int, Fault | None, MeasuredCounts, MeasuredCounts, bytes]: ...
    def score_chunk(self, chunk: Chunk, out: FloatArray, predictions: AnyArray) -> tuple[int, Fault | None]: ...
    def unknown_rows(self, chunk: Chunk, rows: int) -> int: ...
    def counts(self) -> Counts: ...
    def predictions(self, first: int, last: int) -> AnyArray: ...
    def mistake_rounds(self, first: int, last: int) -> IntArray: ...
    # round, label, mistaken, indptr, index, value
    def kept(self, first: int, last: int) -> tuple[IntArray, SignArray, AnyArray, IntArray, AnyArray, FloatArray]: ...
    def names(self) -> list[str]: ...
    def slots(self) -> int: ...
    def width(self) -> int: ...
    # of a rule with scalars: the weight of every slot, and that of the constant feature
    def weights(self) -> tuple[FloatArray, float]: ...
    def z(self) -> tuple[AnyArray, float]: ...
    def use_simd(self, avx2: bool) -> None: ...
    # rounds, sum of squares, log loss as two numbers, and the counts of each bin by label; None if there are none
    def measures(self) -> tuple[int, float, float, float, bytes, bytes] | None: ...
    def measure(self, on: bool) -> None: ...
    # of a panel: 1 or 2 threads
    def use_threads(self, threads: int) -> None: ...
    # of a panel: no chunk will follow soon, so a second thread may end
    def rest(self) -> None: ...
    # of a panel: the scores of the members from outside, for the next rows
    def join(self, scores: Sequence[float]) -> None: ...
    # of a panel: (mistakes, log loss, share, weight) of each member and mixer;
    # (rounds, mistakes, overrides, log loss of the mixture, mistakes of the best member or mixer)
    def standings(
        self,
    ) -> tuple[list[tuple[float, float, float, float]], tuple[float, float, float, float, float]]: ...
    # of a panel: (round, member) of each change of the leader
    def leadership(self) -> list[tuple[float, float]]: ...
    # of a panel: the fault of an example or None, and its Parts (play/parts.py) as plain arrays
    def explain_named(self, x: Any) -> tuple[None, tuple[Any, ...]]: ...
    def explain_csr(
        self, indptr: IntArray, index: IntArray, value: FloatArray
    ) -> tuple[Fault | None, tuple[Any, ...]]: ...
    # of a panel: what each slot adds, alone in a row, to the scores of 13 members for each class
    def features_alone(self, first: int, last: int) -> FloatArray: ...
    # A panel of several classes ("multiclass-panel"). Labels are int32, numbered in the order of their first rounds; a
    # new label is `class_count()`. A prediction is -1 before the first label. Log probabilities are those of the
    # labels, the probability of a new label included; confidences are the probabilities of the predictions; weights
    # multiply what members learn.
    def play_csr_classes(
        self,
        indptr: IntArray,
        index: AnyArray,
        value: AnyArray,
        labels: AnyArray,
        predictions: AnyArray,
        log_probabilities: FloatArray | None = None,
        weights: FloatArray | None = None,
        confidences: FloatArray | None = None,
    ) -> tuple[int, Fault | None]: ...
    def play_dense_classes(
        self,
        x: AnyArray,
        labels: AnyArray,
        predictions: AnyArray,
        log_probabilities: FloatArray | None = None,
        weights: FloatArray | None = None,
        confidences: FloatArray | None = None,
    ) -> tuple[int, Fault | None]: ...
    # rows of a chunk from `first` on, as many as there are labels
    def play_chunk_classes(
        self,
        chunk: Chunk,
        labels: AnyArray,
        first: int,
        predictions: AnyArray,
        log_probabilities: FloatArray | None = None,
        weights: FloatArray | None = None,
        confidences: FloatArray | None = None,
    ) -> tuple[int, Fault | None]: ...
    def learn_named_class(self, x: Any, label: int, weight: float = 1.0) -> int: ...
    # `out` has a row of class_count() + 1 probabilities for each row, the last one that of a new label
    def score_csr_classes(
        self, indptr: IntArray, index: AnyArray, value: AnyArray, out: FloatArray, predictions: AnyArray
    ) -> tuple[int, Fault | None]: ...
    def score_dense_classes(self, x: AnyArray, out: FloatArray, predictions: AnyArray) -> tuple[int, Fault | None]: ...
    # the first rows of a chunk, as many as there are predictions
    def score_chunk_classes(self, chunk: Chunk, out: FloatArray, predictions: AnyArray) -> tuple[int, Fault | None]: ...
    def score_named_class(self, x: Any) -> tuple[list[float], int]: ...
    # learn the outcome of an earlier prediction: the predicted class and its probability, the probability that was
    # predicted for the label (or for a new label), the sum of (p - y)^2 over all classes and "new", and the updates
    # before the prediction
    def tell_named_class(
        self,
        x: Any,
        label: int,
        prediction: int,
        confidence: float,
        probability: float,
        brier: float,
        updates: int,
        weight: float = 1.0,
    ) -> int: ...
    def tell_csr_classes(
        self,
        indptr: IntArray,
        index: IntArray,
        value: FloatArray,
        label: int,
        prediction: int,
        confidence: float,
        probability: float,
        brier: float,
        updates: int,
        weight: float = 1.0,
    ) -> tuple[int, Fault | None]: ...
    def class_count(self) -> int: ...
    # for the row that was scored last and is not learned yet: scores of all members and of the prior, and
    # log probabilities of the members that play, of the prior and of the mixers; class_count() entries for each of them
    def class_advice(self) -> tuple[FloatArray, FloatArray]: ...
    # the counts of the rounds (those that log_loss and brier count are "measured"), log_loss and brier, and in
    # "confusion" arrays of the truth and the prediction (int32) and their rounds (int64)
    def class_record(self) -> dict[str, Any]: ...
    def class_predictions(self, first: int, last: int) -> AnyArray: ...
    # of the multiclass Perceptron: the labels and predictions of the kept examples
    def kept_classes(self, first: int, last: int) -> tuple[AnyArray, AnyArray]: ...
    # its weights, a float for each class, slot by slot, and those of the constant feature
    def class_weights(self) -> tuple[AnyArray, AnyArray]: ...
    # of a panel of two classes: a new engine for several classes, which starts with what this one has learned
    def convert_to_classes(self, negative_id: int, positive_id: int) -> Engine: ...
    def __getstate__(self) -> tuple[Any, ...]: ...
    def __setstate__(self, state: tuple[Any, ...]) -> None: ...

BadRecord: TypeAlias = tuple[int, int, int, BadKind, bytes, bytes, bytes]
"""number of rows before it, line, column, kind, message, feature and value; the last two may be empty"""

class Chunk:
    """Some rows of a text, parsed."""

    # a chunk of named examples: call end_examples after the last one
    @staticmethod
    def of_examples() -> Chunk: ...
    def add_example(self, x: Any) -> None: ...
    def end_examples(self) -> None: ...
    @property
    def named(self) -> bool: ...
    # whether it was parsed from text, not read from a cache
    @property
    def is_parsed(self) -> bool: ...
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
    def bad(self) -> list[BadRecord]: ...
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
    def row_lines(self) -> IntArray: ...  # `line` of every row
    @property
    def weighted(self) -> bool: ...  # whether a row has a weight other than 1
    @property
    def weights(self) -> FloatArray | None: ...  # None if all are 1
    def importance(self, row: int) -> float: ...
    def tag(self, row: int) -> bytes: ...
    def name(self, at: int) -> bytes: ...
    # the different names, in the order in which they come, and of each non-zero the place of its name among them
    def different_names(self) -> tuple[list[bytes], AnyArray]: ...
    def __len__(self) -> int: ...

class Reader:
    """Parses text of one format."""

    def __init__(self, kind: str, zero_based: bool = False, label_optional: bool = False) -> None: ...
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
        zeros: bool = False,
        auto: bool = False,
        weight: str = "",
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
        zeros: bool = False,
        auto: bool = False,
        weight: str = "",
    ) -> Reader: ...
    @property
    def columns(self) -> list[str]: ...
    def parse(self, text: Any, last: bool, most_bad: int = 0, first: bool = False) -> Chunk: ...
    def read(
        self, descriptor: int, begin: int, size: int, last: bool, most_bad: int = 0, keep_text: bool = False
    ) -> Chunk: ...

def ignore_leaks() -> None: ...
def read_at(descriptor: int, begin: int, size: int) -> bytes: ...
def end_of_line(descriptor: int, begin: int, middle: int, size: int) -> int: ...
def give_back(mapped: Any, begin: int, end: int) -> None: ...
def has_avx2() -> bool: ...

# {id: (log_odds, keeps_examples, number of floats per feature, number of scalars)}
def rules() -> dict[str, tuple[bool, bool, int, int]]: ...

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
    auto: bool = False,
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
    auto: bool = False,
) -> tuple[list[tuple[str, dict[str, float], int]], list[tuple[int, int, str]]]: ...
def sniff_table(beginning: bytes) -> tuple[str, bool]: ...

class Majority:
    """Weighted Majority at work: the losses of experts, and weights β^loss, the best one's about 1."""

    def __init__(self, beta: float) -> None: ...
    @property
    def beta(self) -> float: ...
    def experts(self) -> int: ...
    # newcomers, with what each of them has lost so far
    def join(self, losses: FloatArray) -> None: ...
    def weights(self) -> FloatArray: ...
    def losses(self) -> FloatArray: ...
    def total(self) -> float: ...
    # codes are int32, one per expert, -1 if asleep; the weight of each of `kinds` codes, relative to the best awake one
    def shares(self, codes: AnyArray, kinds: int) -> FloatArray: ...
    # votes are uint8, 0 or 1; the weight of the votes for 1 minus that of the votes for 0; 0 for a tie
    def lean(self, votes: AnyArray) -> float: ...
    # `wrong` is the share of the awake weight that is wrong: the loss of a sleeping expert
    def learn(self, codes: AnyArray, right: int, wrong: float) -> None: ...
    # for each round: the weight of the votes for its outcome minus that of the others, and the total weight
    def run(self, votes: AnyArray, outcome: AnyArray) -> tuple[FloatArray, FloatArray]: ...
    # as in mistakebound.aggregation.guard: codes are int32; the code of the prediction, -1 if it is undecided
    def predict_guarded(
        self, codes: AnyArray, kinds: int, advice: int, mistakes: int, start: float, decision: int = -1
    ) -> int: ...
    # for each round until one is undecided: the code of the prediction, and the wrong share of the awake weight
    def run_guarded(
        self,
        codes: AnyArray,
        kinds: int,
        right: AnyArray,
        advice: AnyArray,
        mistakes: int,
        start: float,
        decision: int = -1,
    ) -> tuple[AnyArray, FloatArray]: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...
    def use_simd(self, level: str) -> None: ...
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, state: dict[str, Any]) -> None: ...

class Mixture:
    """A rule over experts at work: the twin of mistakebound.aggregation. A fault is (round, expert, kind)."""

    def __init__(
        self, rule: str, parameters: dict[str, float], loss: str, tau: float, gradient: bool, prior: FloatArray
    ) -> None: ...
    def experts(self) -> int: ...
    # prior is that of all experts; newcomers are at its end
    def join(self, prior: FloatArray) -> None: ...
    # forecast, weights (0 asleep), fault
    def serve(self, x: FloatArray) -> tuple[float, FloatArray, None] | tuple[float, None, Complaint]: ...
    # the learner's loss, fault
    def learn(self, x: FloatArray, forecast: float, y: float) -> tuple[float, Complaint | None]: ...
    # forecasts and losses of the rounds before the fault
    def run(self, A: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, Complaint | None]: ...
    def run_losses(self, L: FloatArray) -> tuple[FloatArray, Complaint | None]: ...
    def weights(self) -> FloatArray: ...
    def sums(self) -> dict[str, FloatArray]: ...
    def numbers(self) -> dict[str, float]: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...
    def use_simd(self, level: str) -> None: ...
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, state: dict[str, Any]) -> None: ...

# sizes of losses: the largest, the least difference that has a square, and what the largest loss of a round must reach
def loss_limits() -> tuple[float, float, float]: ...

# exp, log or log1p as passes over experts compute them, for tests
def elementwise(function: str, x: FloatArray, level: str) -> FloatArray: ...
def simd_levels() -> list[str]: ...
