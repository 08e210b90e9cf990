"""Convert advice for a learner: the names of the experts, one round as numbers, a table of rounds as an array."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import Expert, StreamError
from mistakebound.losses.base import is_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.errors import MessagePart


class Roster:
    """Experts, positional or named, as their first advice is. A new name joins; a name that is absent sleeps."""

    def __init__(self, prior: Sequence[float] | Mapping[str, float] | None) -> None:
        self.names: list[str] | None = None
        self.n = 0
        self._places: dict[str, int] = {}
        self._told = prior if prior is None else dict(prior) if isinstance(prior, Mapping) else list(prior)
        if prior is not None:
            given = list(prior.values()) if isinstance(prior, Mapping) else list(prior)
            if not given or not all(np.isfinite(p) and p > 0 for p in given):
                message = "a prior needs a positive number for each expert"
                raise ValueError(message)

    def row(self, advice: Any) -> list[Any]:
        """What each expert says, in the order of the roster, which may grow; None for those who say nothing."""
        if hasattr(advice, "to_dict") and not isinstance(advice, Mapping):  # a row of a DataFrame
            advice = advice.to_dict()
        if isinstance(advice, Mapping):
            return self._named(advice)
        try:
            said = advice.tolist() if isinstance(advice, np.ndarray) and advice.ndim == 1 else list(advice)
        except TypeError:
            message = f"advice must be a sequence, an array or a dict, got {advice!r}"
            raise StreamError(message) from None
        self.positional(len(said))
        return said

    def positional(self, width: int) -> None:
        """Check the number of experts, or learn it."""
        if self.names is not None:
            message = "these experts have names; advice without names cannot be mixed in"
            raise StreamError(message)
        if not width:
            message = "no expert gave advice"
            raise StreamError(message)
        if isinstance(self._told, Mapping):
            message = "the prior has names, but this advice has none"
            raise StreamError(message)
        if self._told is not None and width != len(self._told):
            message = f"the prior is of {len(self._told)} experts, but {width} gave advice"
            raise StreamError(message)
        if self.n and width != self.n:
            message = f"there are {self.n} experts, but {width} gave advice"
            raise StreamError(message)

    def columns(self, names: Sequence[str]) -> list[int]:
        """Places of these names."""
        if self.n and self.names is None:
            message = "these experts have no names; advice with names cannot be mixed in"
            raise StreamError(message)
        if not names:
            message = "no expert gave advice"
            raise StreamError(message)
        places = dict(self._places)
        for name in names:
            places.setdefault(str(name), len(places))
        if len({str(name) for name in names}) < len(names):
            message = "two experts have the same name"
            raise StreamError(message)
        if self._told is not None and not isinstance(self._told, Mapping) and len(places) != len(self._told):
            message = f"the prior is of {len(self._told)} experts without names, but there are {len(places)}"
            raise StreamError(message)
        return [places[str(name)] for name in names]

    def _named(self, advice: Mapping[Any, Any]) -> list[Any]:
        places = self.columns(list(advice))
        said: list[Any] = [None] * max(self.n, max(places) + 1)
        for place, what in zip(places, advice.values(), strict=True):
            said[place] = what
        return said

    def settle(self, width: int, names: Sequence[str] | None) -> bool:
        """Take in the experts of a round; say whether there are new ones."""
        if names is not None:
            self.names = self.names or []
            for name in names:
                if str(name) not in self._places:
                    self._places[str(name)] = len(self._places)
                    self.names.append(str(name))
        grown, self.n = width > self.n, max(width, self.n)
        return grown

    def prior(self) -> FloatArray:
        """A weight for each expert; they sum to 1. Whom the prior does not name has the mean of the others."""
        if self._told is None:
            return np.full(self.n, 1.0 / self.n)
        if isinstance(self._told, Mapping):
            mean = sum(self._told.values()) / len(self._told)
            given = np.array([self._told.get(name, mean) for name in self.names or []], float)
        else:
            given = np.array(self._told, float)
        return np.asarray(given / given.sum())

    def called(self, place: int, names: Sequence[str] | None = None) -> str:
        """What to call an expert of a round that brings these names, in an error: by name, else by number."""
        known = self.known(names)
        return repr(known[place]) if known else str(place)

    def known(self, names: Sequence[str] | None) -> list[str]:
        """All names in their places, if these came too; none if experts have none."""
        return [*(self.names or []), *(name for name in names or [] if name not in self._places)]

    def all_names(self) -> list[str]:
        """What they are called, in order; their numbers, if they have no names."""
        return list(map(str, range(self.n)) if self.names is None else self.names)


def names_of(advice: Any) -> list[str] | None:
    """The names in a round of advice or in a table of it; None if there are none."""
    if hasattr(advice, "columns"):
        return [str(name) for name in advice.columns]
    if hasattr(advice, "to_dict") and not isinstance(advice, Mapping):
        return [str(name) for name in advice.index]
    if isinstance(advice, Mapping):
        return [str(name) for name in advice]
    return None


NO_NUMBERS = (str, bytes, np.datetime64, np.timedelta64)


def read_row(roster: Roster, advice: Any, shape: tuple[int, ...] | None) -> FloatArray:
    """What each expert forecasts, NaN for those who sleep; ``shape`` is that of the forecasts so far."""
    said = roster.row(advice)
    try:
        return _numbers(said, shape)
    except StreamError as error:
        raise error.with_names(roster.known(names_of(advice))).at_round(None) from None


def _numbers(said: list[Any], shape: tuple[int, ...] | None) -> FloatArray:
    awake = next((np.shape(each) for each in said if not is_missing(each)), shape or ())
    nothing = np.full(awake, np.nan)
    try:
        row = floats_of([nothing if is_missing(each) else each for each in said])
    except (TypeError, ValueError, OverflowError):
        message = "advice is not made of numbers"
        raise StreamError(*_culprit(said), message) from None
    if np.isinf(row).any():
        place = int(np.argmax(np.isinf(row).reshape(len(row), -1).any(axis=1)))
        words = "the forecast of ", Expert(place), " is infinite"
        raise StreamError(*words, kind="forecast")
    if row.ndim > 2:
        message = f"a forecast is a number, or one for each class, but here it has the shape {row.shape[1:]}"
        raise StreamError(message)
    refuse_shapes(row.shape[1:], row.shape[1:], shape)
    refuse_parts(row[None])
    return row


def floats_of(values: Any) -> FloatArray:
    """Numbers, NaN where they are masked; TypeError for words, dates and complex numbers."""
    if np.ma.isMaskedArray(values):
        return np.asarray(np.ma.filled(values.astype(float), np.nan))
    array = np.asarray(values)
    of_several_kinds = array.ravel().tolist() if array.dtype.kind == "O" else ()
    if array.dtype.kind in "cmMSU" or any(isinstance(each, NO_NUMBERS) for each in of_several_kinds):
        message = f"numbers are needed, got {reprlib.repr(values)}"
        raise TypeError(message)
    return np.asarray(array, float)


def _culprit(said: list[Any]) -> tuple[MessagePart, ...]:
    """Who said what is no number."""
    for place, each in enumerate(said):
        try:
            floats_of(np.nan if is_missing(each) else each)
        except (TypeError, ValueError, OverflowError):  # noqa: PERF203 - the first of them is looked for
            return Expert(place), f" says {reprlib.repr(each)}: "
    return ()


def read_table(A: Any, y: Any) -> tuple[Any, Any, list[str] | None]:
    """Advice and outcomes as arrays, and names; or both as they are, to be read round by round."""
    names = names_of(A)
    if isinstance(A, Mapping):
        A = _stacked(list(A.values()))
    elif names is not None:
        A = A.to_numpy()
    try:
        table, outcomes = floats_of(A), floats_of(y)
    except (TypeError, ValueError, OverflowError):
        table = outcomes = np.zeros(0)
    if outcomes.ndim and table.ndim in (2, 3) and len(table) == len(outcomes):
        return table, outcomes, names
    if getattr(y, "ndim", 1) == 0 or not hasattr(y, "__iter__"):
        message = f"outcomes must be a sequence, one for each round, got {y!r}"
        raise ValueError(message)
    return list(A) if names is None else [dict(zip(names, row, strict=True)) for row in A], y, None


def _stacked(columns: list[Any]) -> Any:
    try:
        return np.stack([floats_of(column) for column in columns], axis=1)
    except (TypeError, ValueError, OverflowError):  # a cell is no number: the round that it is in will say so
        return list(zip(*columns, strict=True))


def refuse_shapes(forecast: tuple[int, ...], outcome: tuple[int, ...], before: tuple[int, ...] | None) -> None:
    """Raise unless a forecast has a number for each number of the outcome, and as many as before."""
    if forecast != outcome:
        message = f"a forecast has the shape {forecast}, but an outcome the shape {outcome}"
        raise StreamError(message)
    if before is not None and forecast != before:
        message = f"forecasts had the shape {before} so far, but now {forecast}"
        raise StreamError(message)


def refuse_parts(table: FloatArray) -> None:
    """Raise for an expert who gives some classes a probability, but not all."""
    missing = np.isnan(table)
    if table.ndim == 2 or missing.all(axis=2).sum() * table.shape[2] == missing.sum():
        return
    partly = np.asarray(missing.any(axis=2) & ~missing.all(axis=2))
    number = int(np.argmax(partly.any(axis=1)))
    raise StreamError(Expert(int(np.argmax(partly[number]))), " forecasts some classes only", round=number)
