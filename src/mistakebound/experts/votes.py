"""Votes of a round as labels, as codes or as 0 and 1; the prediction that follows from the weights of the voters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from mistakebound.aggregation.majority import heaviest
from mistakebound.errors import StreamError
from mistakebound.losses.base import is_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from mistakebound._support.arrays import AnyArray, FloatArray


class ServedVotes(NamedTuple):
    """A prediction, the votes that it was made from, and the number of rounds that were learned before it."""

    prediction: Any
    row: Any
    outcomes: list[Any]
    shares: FloatArray
    """Weight of each outcome that an expert voted for."""
    drawn: float | None
    number: int
    advice: Any
    """The advice that a guard may follow; None for the other rules."""


@dataclass(frozen=True)
class Totals:
    """Counts of a play at some moment: its rounds, and the mistakes, charged losses and awake rounds of its experts."""

    rounds: int = 0
    parts: int = 0
    mistakes: AnyArray = field(default_factory=lambda: np.zeros(0, np.int64))
    charged: FloatArray = field(default_factory=lambda: np.zeros(0))
    awake: AnyArray = field(default_factory=lambda: np.zeros(0, np.int64))
    expected: float = 0.0
    advised: int = 0
    advice_mistakes: int = 0


class CodedRounds(NamedTuple):
    """Rounds with a code for each label: its place in ``labels``, which are sorted; −1 if there is none."""

    labels: list[Any]
    votes: AnyArray
    outcomes: AnyArray
    advice: AnyArray


def distinct_outcomes(votes: Sequence[Any]) -> list[Any]:
    """Return the distinct votes, sorted."""
    seen = {each: None for each in votes if not is_missing(each)}
    try:
        return sorted(seen)
    except TypeError:  # values of several types
        return sorted(seen, key=lambda each: (type(each).__name__, repr(each)))


def joined_labels(parts: list[AnyArray]) -> AnyArray:
    """Join arrays of labels without converting any label to another type."""
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts) if parts else np.zeros(0)


def rows_of(A: Any) -> list[Any]:
    """Return the rounds of a table of advice."""
    if hasattr(A, "columns"):
        return list(A.to_dict("records"))
    if isinstance(A, Mapping):
        return [dict(zip(A, row, strict=True)) for row in zip(*A.values(), strict=True)]
    return list(A)


def two_sided(A: Any, y: Any) -> tuple[AnyArray, AnyArray, tuple[Any, Any]] | None:
    """Return votes and outcomes as 0 and 1, and the two values that these stand for.

    None if there are more than two values, or sleeping experts.
    """
    table, outcomes = A.to_numpy() if hasattr(A, "to_numpy") else A, np.asarray(y)
    masked = np.ma.isMaskedArray(table) or np.ma.isMaskedArray(y)
    if masked or getattr(table, "ndim", 0) != 2 or not table.size or outcomes.shape != table.shape[:1]:
        return None
    if table.dtype == bool and outcomes.dtype == bool:
        return np.ascontiguousarray(table).view(np.uint8), outcomes.astype(np.uint8), (False, True)
    if table.dtype.kind not in "biuf" or outcomes.dtype.kind not in "biuf":
        return None
    low, high = min(table.min(), outcomes.min()), max(table.max(), outcomes.max())
    votes, is_high = table == high, outcomes == high
    if not (low < high and np.array_equal(votes, table != low) and np.array_equal(is_high, outcomes != low)):
        return None
    sides = low.item(), high.item()
    if any(map(is_fraction, sides)) and all(map(is_bit, np.unique(outcomes))):
        return None  # probabilities: the first round that has one raises the error
    return np.ascontiguousarray(votes).view(np.uint8), is_high.astype(np.uint8), sides


def plain_rows(A: Any) -> Any:
    """Return the rounds of a table as an array or a list of rows without names; None if it is not such a table."""
    if isinstance(A, Mapping):
        columns = [each.tolist() if hasattr(each, "tolist") else list(each) for each in A.values()]
        return list(zip(*columns, strict=True)) if len({*map(len, columns)}) == 1 else None
    table = A.to_numpy() if hasattr(A, "to_numpy") else A
    return table if isinstance(table, list) or getattr(table, "ndim", 0) == 2 else None


def coded_rounds(rows: Any, outcomes: list[Any], advice: list[Any]) -> CodedRounds | None:
    """Return rounds as codes; None unless they can be learned together.

    They cannot if rows differ in length, if labels are neither all numbers nor all text, if an outcome is missing, or
    if every expert of a round is asleep.
    """
    rows = rows.tolist() if hasattr(rows, "tolist") else rows
    if not {*map(type, rows)} <= {list, tuple} or len({*map(len, rows)}) != 1 or not rows[0]:
        return None
    cells = [*chain.from_iterable(rows), *outcomes, *advice]
    try:
        distinct = dict.fromkeys(cells, -1)
    except TypeError:  # a label is not hashable
        return None
    labels = [each for each in distinct if not is_missing(each)]
    kinds = {*map(type, labels)}
    if not (kinds <= {bool, int, float} or kinds == {str}):
        return None
    labels.sort()
    distinct.update({label: code for code, label in enumerate(labels)})
    codes = np.fromiter(map(distinct.__getitem__, cells), np.int32, len(cells))
    votes, right, advised = np.split(codes, [len(rows) * len(rows[0]), len(cells) - len(advice)])
    votes = votes.reshape(len(rows), -1)
    complete = (votes >= 0).any(axis=1).all() and (right >= 0).all()
    return CodedRounds(labels, votes, right, advised) if complete else None


def is_bit(outcome: Any) -> bool:
    """Whether an outcome is 0 or 1, False or True."""
    return isinstance(outcome, (int, float, np.number, np.bool_)) and outcome in (0, 1)


def is_fraction(value: Any) -> bool:
    """Whether a value is a number that is not an integer, so it cannot be a label."""
    return isinstance(value, (float, np.floating)) and math.isfinite(value) and not float(value).is_integer()


def refuse_probabilities(votes: Sequence[Any], display_name: Callable[[int], str]) -> None:
    """Raise StreamError for a vote such as 0.9 if outcomes are 0 and 1: it would be wrong in every round."""
    place = next((place for place, each in enumerate(votes) if is_fraction(each)), None)
    if place is not None:
        message = (
            f"the vote of expert {display_name(place)} must be 0 or 1, as the outcomes are, got {float(votes[place]):g}"
            "; if it is a probability, compare it with 0.5, or mix probabilities with MLPoly(loss='log')"
        )
        raise StreamError(message)


class Chooser(Protocol):
    """Chooses the prediction from the weights of the votes: the heaviest outcome, or a random one."""

    def choose(self, outcomes: list[Any], shares: FloatArray) -> Any:
        """Return one of several outcomes, by the weight of each."""

    def choose_sides(self, lean: FloatArray, total: FloatArray) -> Any:
        """Return whether the greater of two outcomes is predicted; ``lean`` is its weight minus the other's weight."""

    def next_draw(self) -> float | None:
        """Return the random number of the next prediction; None if predictions are not random."""

    def again(self, drawn: float | None) -> AbstractContextManager[None]:
        """Use this random number for the prediction of one round."""


class Heaviest:
    """Predict the outcome with the most weight; if several have it, the greatest of them."""

    def choose(self, outcomes: list[Any], shares: FloatArray) -> Any:
        """Return the heaviest outcome."""
        return outcomes[heaviest(shares)]

    def choose_sides(self, lean: FloatArray, total: FloatArray) -> Any:  # noqa: ARG002 - `Draws` needs it
        """Return whether the greater outcome is at least as heavy as the other."""
        return lean >= 0

    def next_draw(self) -> None:
        """Return None: predictions are not random."""

    @contextmanager
    def again(self, drawn: float | None) -> Iterator[None]:  # noqa: ARG002
        """Do nothing."""
        yield


class Draws:
    """Predict an outcome at random; its probability is its share of the weight."""

    def __init__(self, seed: int | None) -> None:
        self.random = np.random.default_rng(seed)
        self.held: float | None = None  # of the next round, if it was predicted already: its mistake must agree

    def next_draw(self) -> float:
        """Return the random number of the next prediction."""
        if self.held is None:
            self.held = float(self.random.random())
        return self.held

    @contextmanager
    def again(self, drawn: float | None) -> Iterator[None]:
        """Use this random number within the context; afterwards the one that was held before."""
        kept, self.held = self.held, drawn
        try:
            yield
        finally:
            self.held = kept

    def _draw(self, rounds: int) -> FloatArray:
        held = [] if self.held is None else [self.held]
        self.held = None
        return np.concatenate([held, self.random.random(rounds - len(held))])

    def choose(self, outcomes: list[Any], shares: FloatArray) -> Any:
        """Draw one of several outcomes."""
        at = float(self._draw(1)[0]) * float(shares.sum())
        for outcome, share in zip(reversed(outcomes), shares[::-1], strict=True):
            at -= share
            if at < 0:
                return outcome
        return outcomes[0]

    def choose_sides(self, lean: FloatArray, total: FloatArray) -> Any:
        """Draw one of two outcomes for each round."""
        return self._draw(len(lean)) * total < (total + lean) / 2
