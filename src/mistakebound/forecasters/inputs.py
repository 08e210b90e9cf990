"""Check forecasts and outcomes, and convert them to arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support.text import did_you_mean
from mistakebound.errors import StreamError
from mistakebound.experts.comparison.class_columns import distinct, distribution_fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class ForecastRounds:
    """Forecasts and outcomes of all rounds, checked.

    Attributes
    ----------
    names : list of str
        The forecasters.
    forecasts : array
        Rounds × forecasters (× classes); NaN where a forecaster gave none.
    outcomes : array
        0 or 1, or the place of the outcome in ``classes``.
    classes : tuple
        The classes; empty for the outcomes 0 and 1.
    given : array
        Rounds × forecasters: whether there is a forecast.
    """

    names: list[str]
    forecasts: FloatArray
    outcomes: IntArray
    classes: tuple[Any, ...] = ()

    @property
    def given(self) -> BoolArray:
        """Rounds × forecasters: whether there is a forecast."""
        first = self.forecasts if self.forecasts.ndim == 2 else self.forecasts[:, :, 0]
        return np.asarray(~np.isnan(first))


def checked_rounds(P: Any, y: Any, names: Sequence[str] | None, classes: Sequence[Any] | None) -> ForecastRounds:
    """Return forecasts and outcomes; raise StreamError with the first round that is not valid."""
    forecasts, named = forecasts_of(P, names, dimensions=1 if classes is None else 2)
    if classes is None:
        outcomes = numbers_of(y, "outcomes")
        if outcomes.ndim != 1:
            message = f"outcomes must have one dimension, got the shape {outcomes.shape}"
            raise ValueError(message)
        check_lengths(forecasts, len(outcomes))
        check_probabilities(forecasts, outcomes, named)
        return ForecastRounds(named, forecasts, outcomes.astype(np.int64))
    known = distinct(list(classes))
    if forecasts.shape[2] != len(known):
        message = (
            f"each forecast must have a probability for each of the {len(known)} classes, got {forecasts.shape[2]}"
        )
        raise ValueError(message)
    labels = list(np.asarray(y).tolist() if hasattr(y, "tolist") else y)
    check_lengths(forecasts, len(labels))
    places = class_places(labels, known)
    fault = distribution_fault(forecasts)
    if fault is not None:
        at, place, why = fault
        values = ", ".join("–" if np.isnan(value) else f"{value:g}" for value in forecasts[at, place])
        message = f"the forecast of {named[place]!r} is {values}: {why}"
        raise StreamError(message, kind="forecast", round=at, feature=named[place])
    # Probabilities that were rounded may sum to 0.99; the scores are those of distributions.
    return ForecastRounds(named, forecasts / forecasts.sum(axis=2, keepdims=True), places, tuple(known))


def class_places(labels: list[Any], classes: list[Any]) -> IntArray:
    """Return the place of each label in the classes."""
    places = {label: place for place, label in enumerate(classes)}
    for at, label in enumerate(labels):
        if label not in places:
            listed = ", ".join(map(repr, classes))
            hint = did_you_mean(label, [str(each) for each in classes]) if isinstance(label, str) else ""
            message = f"the outcome must be one of the classes {listed}, got {label!r}{hint}"
            raise StreamError(message, kind="outcome", round=at, value=label)
    return np.array([places[label] for label in labels], np.int64)


def forecasts_of(P: Any, names: Sequence[str] | None, dimensions: int) -> tuple[FloatArray, list[str]]:
    """Return the forecasts as rounds × forecasters (× classes), and the names of the forecasters.

    ``dimensions`` is the number of dimensions of the forecasts of one forecaster.
    """
    if isinstance(P, dict) or hasattr(P, "columns"):
        columns = list(P.keys() if isinstance(P, dict) else P.columns)
        names = [str(each) for each in columns] if names is None else names
        check_names(names, len(columns))
        found = [numbers_of(P[each], f"forecasts of {name!r}") for each, name in zip(columns, names, strict=True)]
        if len({len(each) for each in found}) > 1:
            lengths = ", ".join(str(len(each)) for each in found)
            message = f"the forecasters must have the same number of forecasts, got {lengths}"
            raise ValueError(message)
        if len({each.shape for each in found}) > 1:
            message = f"the forecasts must have the same shape, got {', '.join(str(each.shape) for each in found)}"
            raise ValueError(message)
        array = np.stack(found, axis=1) if found else np.zeros((0, 0))
    else:
        array = numbers_of(P, "forecasts")
        array = array[:, None] if array.ndim == dimensions else array
    if array.ndim != dimensions + 1 or array.shape[1] == 0:
        shape = "(rounds, forecasters)" if dimensions == 1 else "(rounds, forecasters, classes)"
        message = f"forecasts must have the shape {shape} with at least one forecaster, got {array.shape}"
        raise ValueError(message)
    names = [f"forecaster {number}" for number in range(1, array.shape[1] + 1)] if names is None else names
    check_names(names, array.shape[1])
    return array, list(names)


def check_names(names: Sequence[str], count: int) -> None:
    """Raise ValueError unless there is one name for each forecaster."""
    if len(names) != count or len(set(names)) != count:
        message = f"names must be {count} different names, one for each forecaster, got {', '.join(names)}"
        raise ValueError(message)


def check_lengths(P: FloatArray, outcomes: int) -> None:
    """Raise ValueError unless there is one outcome for each round, and at least one round."""
    if len(P) != outcomes:
        message = f"there are {len(P)} rounds of forecasts, but {outcomes} outcomes"
        raise ValueError(message)
    if not outcomes:
        message = "there are no rounds"
        raise ValueError(message)


def numbers_of(values: Any, what: str) -> FloatArray:
    """Return numbers as float64; missing values, such as None, become NaN."""
    if hasattr(values, "iloc"):  # pandas has several kinds of missing values
        values = values.astype(object).where(values.notna(), np.nan).to_numpy()
    array = np.asarray(values)
    if array.dtype.kind not in "biufO" or any(isinstance(each, str) for each in array.flat if array.dtype.kind == "O"):
        message = f"{what} must be numbers"
        raise ValueError(message)
    try:
        return np.asarray(array, np.float64)
    except (TypeError, ValueError) as error:
        message = f"{what} must be numbers: {error}"
        raise ValueError(message) from None


def check_probabilities(P: FloatArray, y: FloatArray, names: list[str]) -> None:
    """Raise StreamError for the first round with a forecast outside [0, 1] or an outcome other than 0 and 1."""
    bad: BoolArray = ~(np.isnan(P) | ((P >= 0) & (P <= 1)))
    bad_outcome = (y != 0) & (y != 1)
    rounds = np.flatnonzero(bad.any(axis=1) | bad_outcome)
    if not len(rounds):
        return
    at = int(rounds[0])
    if bad_outcome[at]:
        message = f"the outcome must be 0 or 1, got {y[at]:g}"
        raise StreamError(message, kind="outcome", round=at, value=float(y[at]))
    column = int(np.argmax(bad[at]))
    name, value = names[column], float(P[at, column])
    message = f"the forecast of {name!r} must be a probability from 0 to 1, got {value:g}"
    raise StreamError(message, kind="forecast", round=at, feature=name, value=value)
