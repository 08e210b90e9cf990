"""Votes of a round as labels or as 0 and 1, and the prediction that follows from the weights of the voters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mistakebound.aggregation.majority import TIE
from mistakebound.errors import StreamError
from mistakebound.losses.base import is_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from mistakebound._support.arrays import AnyArray, FloatArray


def named_outcomes(said: Sequence[Any]) -> list[Any]:
    """What was named, the greatest last."""
    seen = {each: None for each in said if not is_missing(each)}
    try:
        return sorted(seen)
    except TypeError:  # of several kinds
        return sorted(seen, key=lambda each: (type(each).__name__, repr(each)))


def together(parts: list[AnyArray]) -> AnyArray:
    """Labels of several parts, none of them made into another kind."""
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts) if parts else np.zeros(0)


def rows_of(A: Any) -> list[Any]:
    """A table as rounds of advice."""
    if hasattr(A, "columns"):
        return list(A.to_dict("records"))
    if isinstance(A, Mapping):
        return [dict(zip(A, row, strict=True)) for row in zip(*A.values(), strict=True)]
    return list(A)


def two_sided(A: Any, y: Any) -> tuple[AnyArray, AnyArray, tuple[Any, Any]] | None:
    """Advice and outcomes as 0 and 1, and what these stand for; None if there are more than two values, or sleepers."""
    table, outcomes = A.to_numpy() if hasattr(A, "to_numpy") else A, np.asarray(y)
    masked = np.ma.isMaskedArray(table) or np.ma.isMaskedArray(y)
    if masked or getattr(table, "ndim", 0) != 2 or not table.size or outcomes.shape != table.shape[:1]:
        return None
    if table.dtype == bool and outcomes.dtype == bool:
        return np.ascontiguousarray(table).view(np.uint8), outcomes.astype(np.uint8), (False, True)
    if table.dtype.kind not in "biuf" or outcomes.dtype.kind not in "biuf":
        return None
    low, high = min(table.min(), outcomes.min()), max(table.max(), outcomes.max())
    said, told = table == high, outcomes == high
    if not (low < high and np.array_equal(said, table != low) and np.array_equal(told, outcomes != low)):
        return None
    sides = low.item(), high.item()
    if any(map(is_fraction, sides)) and all(map(is_bit, np.unique(outcomes))):
        return None  # probabilities: the round that has the first of them will say so
    return np.ascontiguousarray(said).view(np.uint8), told.astype(np.uint8), sides


def is_bit(outcome: Any) -> bool:
    """Whether an outcome is 0 or 1, False or True."""
    return isinstance(outcome, (int, float, np.number, np.bool_)) and outcome in (0, 1)


def is_fraction(value: Any) -> bool:
    """Whether it is a number that no class is coded by."""
    return isinstance(value, (float, np.floating)) and math.isfinite(value) and not float(value).is_integer()


def refuse_probabilities(said: Sequence[Any], called: Callable[[int], str]) -> None:
    """Raise for advice of 0.9 where outcomes are 0 and 1: every expert would be wrong in every round."""
    place = next((place for place, each in enumerate(said) if is_fraction(each)), None)
    if place is not None:
        message = (
            f"expert {called(place)} says {float(said[place]):g}, but outcomes are 0 and 1: that is a probability, not "
            "a vote; compare it with 0.5 first, or mix probabilities by a rule with a loss, as MLPoly(loss='log')"
        )
        raise StreamError(message)


class Chooser(Protocol):
    """How a prediction follows from weights: the heaviest outcome, or a draw."""

    def choose(self, outcomes: list[Any], shares: FloatArray) -> Any:
        """One of several outcomes, by the weight behind each."""

    def choose_sides(self, lean: FloatArray, total: FloatArray) -> Any:
        """Whether the greater of two outcomes is predicted, by the weight behind it less that against it."""

    def next_draw(self) -> float | None:
        """The random number that the next prediction will use, if it uses one."""

    def again(self, drawn: float | None) -> AbstractContextManager[None]:
        """Use this number for the prediction of one round."""


class Heaviest:
    """Predict the outcome with the most weight behind it; of equals, the greatest."""

    def choose(self, outcomes: list[Any], shares: FloatArray) -> Any:
        """The heaviest of several."""
        heaviest = shares >= shares.max() - TIE * shares.sum()
        return outcomes[int(np.flatnonzero(heaviest)[-1])]

    def choose_sides(self, lean: FloatArray, total: FloatArray) -> Any:  # noqa: ARG002 - a draw needs it
        """The heavier of two."""
        return lean >= 0

    def next_draw(self) -> None:
        """None: it draws nothing."""

    @contextmanager
    def again(self, drawn: float | None) -> Iterator[None]:  # noqa: ARG002
        """Nothing changes."""
        yield


class Draws:
    """Predict an outcome with the probability that is its share of the weight."""

    def __init__(self, seed: int | None) -> None:
        self.random = np.random.default_rng(seed)
        self.held: float | None = None  # for the next round: what is predicted is what is counted

    def next_draw(self) -> float:
        """The number that the next prediction will use."""
        if self.held is None:
            self.held = float(self.random.random())
        return self.held

    @contextmanager
    def again(self, drawn: float | None) -> Iterator[None]:
        """Use this number for one prediction, and afterwards that which was held."""
        kept, self.held = self.held, drawn
        try:
            yield
        finally:
            self.held = kept

    def _draw(self, rounds: int) -> FloatArray:
        begun = [] if self.held is None else [self.held]
        self.held = None
        return np.concatenate([begun, self.random.random(rounds - len(begun))])

    def choose(self, outcomes: list[Any], shares: FloatArray) -> Any:
        """Draw one of several."""
        at = float(self._draw(1)[0]) * float(shares.sum())
        for outcome, share in zip(reversed(outcomes), shares[::-1], strict=True):
            at -= share
            if at < 0:
                return outcome
        return outcomes[0]

    def choose_sides(self, lean: FloatArray, total: FloatArray) -> Any:
        """Draw one of two, in each round."""
        return self._draw(len(lean)) * total < (total + lean) / 2
