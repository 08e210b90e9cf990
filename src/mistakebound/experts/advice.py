"""Read advice for a learner: the names of the experts, one round as numbers, a table of rounds as an array."""

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


class Roster:
    """The experts of a learner: named if their first advice has names, else numbered.

    A new name joins. An expert whose name is absent in a round sleeps in it.
    """

    def __init__(self, prior: Sequence[float] | Mapping[str, float] | None) -> None:
        self.names: list[str] | None = None
        self.n = 0
        self._places: dict[str, int] = {}
        self._prior = prior if prior is None else dict(prior) if isinstance(prior, Mapping) else list(prior)
        if prior is not None:
            given = list(prior.values()) if isinstance(prior, Mapping) else list(prior)
            if not given or not all(np.isfinite(p) and p > 0 for p in given):
                message = f"prior must have a positive number for each expert, got {prior!r}"
                raise ValueError(message)

    def row(self, advice: Any) -> list[Any]:
        """Return each expert's advice, in the order of the roster, new experts last; None for absent experts."""
        if hasattr(advice, "to_dict") and not isinstance(advice, Mapping):  # a row of a DataFrame
            advice = advice.to_dict()
        if isinstance(advice, Mapping):
            return self._named(advice)
        try:
            row = advice.tolist() if isinstance(advice, np.ndarray) and advice.ndim == 1 else list(advice)
        except TypeError:
            message = f"advice must be a sequence, an array or a dict, got {advice!r}"
            raise StreamError(message) from None
        self.check_width(len(row))
        return row

    def check_width(self, width: int) -> None:
        """Raise StreamError unless advice without names may come from this number of experts."""
        if self.names is not None:
            message = "the experts have names, so advice must have names, too"
            raise StreamError(message)
        if not width:
            message = "no expert gave advice"
            raise StreamError(message)
        if isinstance(self._prior, Mapping):
            message = "the prior has names, so advice must have names, too"
            raise StreamError(message)
        if self._prior is not None and width != len(self._prior):
            message = f"advice must come from {len(self._prior)} experts, as many as the prior has, got {width}"
            raise StreamError(message)
        if self.n and width != self.n:
            message = f"advice must come from {self.n} experts, as in earlier rounds, got {width}"
            raise StreamError(message)

    def columns(self, names: Sequence[str]) -> list[int]:
        """Return the places of these names among the experts; new names come last."""
        if self.n and self.names is None:
            message = "the experts have no names, so advice must not have names"
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
        if self._prior is not None and not isinstance(self._prior, Mapping) and len(places) != len(self._prior):
            message = f"there must be {len(self._prior)} experts, as many as the prior has, got {len(places)}"
            raise StreamError(message)
        return [places[str(name)] for name in names]

    def _named(self, advice: Mapping[Any, Any]) -> list[Any]:
        places = self.columns(list(advice))
        row: list[Any] = [None] * max(self.n, max(places) + 1)
        for place, forecast in zip(places, advice.values(), strict=True):
            row[place] = forecast
        return row

    def admit(self, width: int, names: Sequence[str] | None) -> bool:
        """Add the experts of a round that are new; return whether there are any."""
        if names is not None:
            self.names = self.names or []
            for name in names:
                if str(name) not in self._places:
                    self._places[str(name)] = len(self._places)
                    self.names.append(str(name))
        grown, self.n = width > self.n, max(width, self.n)
        return grown

    def prior(self) -> FloatArray:
        """Return a weight for each expert, summing to 1; an expert that the prior does not name has the mean weight."""
        if self._prior is None:
            return np.full(self.n, 1.0 / self.n)
        if isinstance(self._prior, Mapping):
            mean = sum(self._prior.values()) / len(self._prior)
            given = np.array([self._prior.get(name, mean) for name in self.names or []], float)
        else:
            given = np.array(self._prior, float)
        return np.asarray(given / given.sum())

    def display_name(self, place: int, names: Sequence[str] | None = None) -> str:
        """Return the name of an expert for an error message, or its number; ``names`` are those of the round."""
        known = self.names_with(names)
        return repr(known[place]) if known else str(place)

    def names_with(self, names: Sequence[str] | None) -> list[str]:
        """Return all names, with those of ``names`` that are new; empty if experts have no names."""
        return [*(self.names or []), *(name for name in names or [] if name not in self._places)]

    def all_names(self) -> list[str]:
        """Return the names of the experts in order; their numbers, if they have no names."""
        return list(map(str, range(self.n)) if self.names is None else self.names)


def names_of(advice: Any) -> list[str] | None:
    """Return the names of the experts in a round or in a table of advice; None if it has no names."""
    if hasattr(advice, "columns"):
        return [str(name) for name in advice.columns]
    if hasattr(advice, "to_dict") and not isinstance(advice, Mapping):
        return [str(name) for name in advice.index]
    if isinstance(advice, Mapping):
        return [str(name) for name in advice]
    return None


NOT_NUMBERS = (str, bytes, np.datetime64, np.timedelta64)
"""Types that numpy would convert to a float."""


def read_row(roster: Roster, advice: Any, shape: tuple[int, ...] | None) -> FloatArray:
    """Return each expert's forecast, NaN for those that sleep; ``shape`` is the shape of earlier forecasts."""
    row = roster.row(advice)
    try:
        return _numbers(row, shape)
    except StreamError as error:
        raise error.with_names(roster.names_with(names_of(advice))).at_round(None) from None


def _numbers(forecasts: list[Any], shape: tuple[int, ...] | None) -> FloatArray:
    awake = next((np.shape(each) for each in forecasts if not is_missing(each)), shape or ())
    nothing = np.full(awake, np.nan)
    try:
        row = floats_of([nothing if is_missing(each) else each for each in forecasts])
    except (TypeError, ValueError, OverflowError):
        raise _not_numbers(forecasts) from None
    if np.isinf(row).any():
        place = int(np.argmax(np.isinf(row).reshape(len(row), -1).any(axis=1)))
        words = "the forecast of ", Expert(place), " is infinite"
        raise StreamError(*words, kind="forecast")
    if row.ndim > 2:
        message = f"a forecast must be a number, or a number for each class, got the shape {row.shape[1:]}"
        raise StreamError(message)
    check_shapes(row.shape[1:], row.shape[1:], shape)
    check_all_classes(row[None])
    return row


def floats_of(values: Any, what: str = "values must be numbers") -> FloatArray:
    """Return an array of floats, NaN where values are masked.

    Text, dates and complex numbers raise TypeError; ``what`` is the beginning of its message.
    """
    if np.ma.isMaskedArray(values):
        return np.asarray(np.ma.filled(values.astype(float), np.nan))
    array = np.asarray(values)
    objects = array.ravel().tolist() if array.dtype.kind == "O" else ()
    if array.dtype.kind in "cmMSU" or any(isinstance(each, NOT_NUMBERS) for each in objects):
        message = f"{what}, got {reprlib.repr(values)}"
        raise TypeError(message)
    return np.asarray(array, float)


def _not_numbers(forecasts: list[Any]) -> StreamError:
    """Return the error for forecasts that are not all numbers: it names the first expert whose forecast is not."""
    for place, each in enumerate(forecasts):
        try:
            floats_of(np.nan if is_missing(each) else each)
        except (TypeError, ValueError, OverflowError):  # noqa: PERF203 - the first one is searched
            return StreamError("the forecast of ", Expert(place), f" must be a number, got {reprlib.repr(each)}")
    return StreamError("forecasts must be numbers, all of the same shape")


def read_table(A: Any, y: Any) -> tuple[Any, Any, list[str] | None]:
    """Return advice and outcomes as arrays, and the names; or, if they are not arrays of numbers, lists of rounds."""
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
        message = f"y must be a sequence with an outcome for each round, got {y!r}"
        raise ValueError(message)
    return list(A) if names is None else [dict(zip(names, row, strict=True)) for row in A], y, None


def _stacked(columns: list[Any]) -> Any:
    try:
        return np.stack([floats_of(column) for column in columns], axis=1)
    except (TypeError, ValueError, OverflowError):  # a cell is not a number: its round raises the error
        return list(zip(*columns, strict=True))


def one_hot(outcomes: Sequence[Any], classes: Sequence[Any]) -> tuple[FloatArray, StreamError | None]:
    """Return rounds × classes, 1 for the class that is the outcome, up to the first label that is not a class.

    The error of that label is returned, too.

    >>> one_hot(["D", "H"], ["H", "D", "A"])[0].tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    places = {label: place for place, label in enumerate(classes)}
    if len(places) < 2 or len(places) != len(classes):
        message = f"classes must be at least two different labels, got {list(classes)!r}"
        raise ValueError(message)
    found = np.zeros((len(outcomes), len(places)))
    for number, label in enumerate(outcomes):
        place = None if is_missing(label) else places.get(label)
        if place is None:
            message = f"the outcome {label!r} is not one of the classes {', '.join(map(str, classes))}"
            return found[:number], StreamError(message, kind="no such class", round=number, value=label)
        found[number, place] = 1.0
    return found, None


def first_rounds(A: Any, count: int) -> Any:
    """Return the first rounds of a table of advice.

    >>> first_rounds({"Ann": [1.0, 2.0]}, 1), first_rounds([[1.0], [2.0]], 1)
    ({'Ann': [1.0]}, [[1.0]])
    """
    if isinstance(A, Mapping):
        return {name: column[:count] for name, column in A.items()}
    return A.iloc[:count] if hasattr(A, "iloc") else A[:count] if hasattr(A, "__getitem__") else list(A)[:count]


def check_shapes(forecast: tuple[int, ...], outcome: tuple[int, ...], before: tuple[int, ...] | None) -> None:
    """Raise StreamError unless forecast and outcome have the same shape, and that of earlier rounds."""
    if forecast != outcome:
        message = f"forecast and outcome must have the same shape, got {forecast} and {outcome}"
        raise StreamError(message)
    if before is not None and forecast != before:
        message = f"forecasts must have the shape {before}, as in earlier rounds, got {forecast}"
        raise StreamError(message)


def check_all_classes(table: FloatArray) -> None:
    """Raise StreamError for an expert that forecasts some of the classes, but not all."""
    missing = np.isnan(table)
    if table.ndim == 2 or missing.all(axis=2).sum() * table.shape[2] == missing.sum():
        return
    partly = np.asarray(missing.any(axis=2) & ~missing.all(axis=2))
    number = int(np.argmax(partly.any(axis=1)))
    raise StreamError(Expert(int(np.argmax(partly[number]))), " must forecast all classes or none", round=number)
