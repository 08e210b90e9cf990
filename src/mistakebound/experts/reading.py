"""What a learner is given, as arrays: a round of advice, or a table of rounds. And parameters, checked."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import StreamError
from mistakebound.experts.roster import names_of
from mistakebound.losses.base import by_name, is_missing

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.experts.roster import Roster


NO_NUMBERS = (str, bytes, np.datetime64, np.timedelta64)


def read_row(roster: Roster, advice: Any, shape: tuple[int, ...] | None) -> FloatArray:
    """What each expert forecasts, NaN for those who sleep; ``shape`` is that of the forecasts so far."""
    said = roster.row(advice)
    try:
        return _numbers(said, shape)
    except StreamError as error:
        raise StreamError(by_name(words_of(error), roster.known(names_of(advice)))) from None


def _numbers(said: list[Any], shape: tuple[int, ...] | None) -> FloatArray:
    awake = next((np.shape(each) for each in said if not is_missing(each)), shape or ())
    nothing = np.full(awake, np.nan)
    try:
        row = floats_of([nothing if is_missing(each) else each for each in said])
    except (TypeError, ValueError, OverflowError):
        message = f"{_culprit(said)}advice is not made of numbers"
        raise StreamError(message) from None
    if np.isinf(row).any():
        place = int(np.argmax(np.isinf(row).reshape(len(row), -1).any(axis=1)))
        message = f"the forecast of expert {place} is infinite"
        raise StreamError(message)
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


def _culprit(said: list[Any]) -> str:
    """Who said what is no number."""
    for place, each in enumerate(said):
        try:
            floats_of(np.nan if is_missing(each) else each)
        except (TypeError, ValueError, OverflowError):  # noqa: PERF203 - the first of them is looked for
            return f"expert {place} says {reprlib.repr(each)}: "
    return ""


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
    message = f"expert {int(np.argmax(partly[number]))} forecasts some classes only"
    raise StreamError(message, round=number)


def words_of(error: Exception) -> str:
    """What an error says, without the round that it names."""
    return str(error).removeprefix(f"round {getattr(error, 'round', None)}: ")


def positive(name: str, value: Any) -> Any:
    """A number above 0, or None."""
    if value is not None and not 0 < value < math.inf:
        message = f"{name} must be a positive number, got {value!r}"
        raise ValueError(message)
    return value.item() if isinstance(value, np.generic) else value  # numpy's have no JSON
