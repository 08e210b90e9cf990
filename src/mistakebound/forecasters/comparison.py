"""Rank forecasters, and compare each pair: Alice says 70 %, Bob says 80 %, and it rains.

The true probability p of a round is never known, but ``E[(h − y)²] = E[(h − p)²] + E[p(1 − p)]``, and the last term is
the same for all forecasters. So a smaller mean Brier score means forecasts closer to the true probabilities.
``compare`` ranks by the Brier score and also reports the log score (another proper score, which may rank differently).
It computes a confidence sequence for the difference of each pair: you may look at it after every round, and stop when
the better one is clear.

See docs/theory.md, "Who is closer to the truth".
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.data.dates import date_column
from mistakebound.errors import StreamError
from mistakebound.forecasters.calibration import brier, decompose, log_score
from mistakebound.forecasters.confidence_sequence import ConfidenceSequence
from mistakebound.forecasters.table import forecast_table
from mistakebound.forecasters.verdict import Forecaster, Pair, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray
    from mistakebound.forecasters.confidence_sequence import Bounds
    from mistakebound.forecasters.table import ForecastTable


LOG_SCALE = 4.0
"""Scale of the confidence sequence for log scores: their differences are seldom larger. It affects only its width."""


def compare(
    P: Any,
    y: Any = None,
    names: Sequence[str] | None = None,
    alpha: float = 0.05,
    *,
    outcome: str | None = None,
    positive: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    skip_bad: int = 0,
) -> Report:
    r"""Compare forecasters by the probabilities that they gave to binary outcomes.

    Parameters
    ----------
    P : array (rounds × forecasters), dict of columns, DataFrame; with ``outcome`` also the path of a file, or paths
        Probabilities that the outcome is 1; NaN where a forecaster gave none. Pairs are compared on the rounds in which
        both gave a forecast, and scores are computed on the rounds in which all did. Whether a forecaster gives a
        forecast must not depend on the outcome.
    y : sequence of 0, 1 or bool
        The outcomes, in the order in which they came.
    names : sequence of str, optional
        The names of the forecasters.
    alpha : float
        Probability that any of the confidence sequences for the Brier score fails in any round.
    outcome : str, optional
        The column of P with the outcomes, instead of ``y``. ``names`` are then the columns of the forecasters; without
        ``names``, all columns of probabilities are used.
    positive : str, optional
        With ``outcome``: the word that means 1; all other words mean 0.
    separator, header, skip_bad
        With ``outcome``: how files are read, see `Source`.

    Notes
    -----
    In each round the forecasts are known before the outcome, so the difference of two scores is one of two known
    numbers. ``ConfidenceSequence`` uses these two numbers as the range of the difference, which is narrow if the
    forecasts nearly agree. Its guess is the expected difference if the mean of the two forecasts were the true
    probability. The log score is treated in the same way, without clipping; there are no bounds for it if one of the
    two ever forecasts 0 or 1 and the other does not.

    Examples
    --------
    >>> import mistakebound as mb
    >>> report = mb.forecasters.compare({"Alice": [0.7, 0.2, 0.9], "Bob": [0.8, 0.4, 0.5]}, [1, 0, 1])
    >>> list(report.scores), round(report.scores["Alice"].brier.score, 5), report.pairs[0].clear
    (['Alice', 'Bob'], 0.04667, False)
    >>> table = {"Alice": [0.7, 0.2, 0.9], "Bob": [0.8, 0.4, 0.5], "rain": ["wet", "dry", "wet"]}
    >>> mb.forecasters.compare(table, outcome="rain", positive="wet").to_json() == report.to_json()
    True
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "rain.csv"
    >>> _ = file.write_text("Alice,Bob,rain\n0.7,0.8,1\n0.2,0.4,0\n0.9,0.5,1\n")
    >>> mb.forecasters.compare(file, outcome="rain").to_json() == report.to_json()
    True
    """
    if outcome is not None:
        table = forecast_table(P, outcome, names or (), positive, separator=separator, header=header, skip_bad=skip_bad)
        return _compare_table(table, alpha)
    reading = {"positive": positive, "separator": separator, "header": header, "skip_bad": skip_bad or None}
    for name in (name for name, value in reading.items() if value is not None):
        message = f"{name} is only valid with outcome"
        raise TypeError(message)
    if isinstance(P, (str, PathLike)):
        message = f"outcome must be set: the column of {fspath(P)} with the outcomes"
        raise TypeError(message)
    if y is None:
        message = "y or outcome must be set"
        raise TypeError(message)
    if not 0 < alpha < 1:
        message = f"alpha must lie between 0 and 1, got {alpha!r}"
        raise ValueError(message)
    forecasts, names = _forecasts(P, names)
    outcomes = _outcomes(y)
    _check(forecasts, outcomes, names)
    common = ~np.isnan(forecasts).any(axis=1)
    if not common.any():
        message = "there is no round in which every forecaster gave a forecast; choose fewer forecasters"
        raise StreamError(message)
    found = [
        Forecaster(
            name,
            int((~np.isnan(forecasts[:, place])).sum()),
            decompose(forecasts[common, place], outcomes[common], "brier"),
            decompose(forecasts[common, place], outcomes[common], "log"),
        )
        for place, name in enumerate(names)
    ]
    ranked = sorted(found, key=lambda each: each.brier.score)
    places = [names.index(each.name) for each in ranked]
    share = alpha / max(1, math.comb(len(names), 2))
    pairs = [_pair(forecasts, outcomes, names, a, b, share) for a, b in combinations(places, 2)]
    base_rate = float(outcomes[common].mean())
    scores = {each.name: each for each in ranked}
    return Report(scores, pairs, int(common.sum()), base_rate, alpha, forecasts, outcomes, tuple(names))


def _compare_table(table: ForecastTable, alpha: float) -> Report:
    """Return the report on a table. An error of a round has the place of its row."""
    try:
        report = compare(table.forecasts, table.outcomes, alpha=alpha)
    except StreamError as error:
        raise table.placed(error) from None
    frame = table.frame
    files = tuple(dict.fromkeys(each.file for each in frame.places))
    return replace(report, left=table.left, skipped=tuple(frame.skipped), dates=date_column(frame), files=files)


def _pair(P: FloatArray, y: FloatArray, names: list[str], a: int, b: int, alpha: float) -> Pair:
    both = ~np.isnan(P[:, a]) & ~np.isnan(P[:, b])
    if brier(P[both, a], y[both]).mean() > brier(P[both, b], y[both]).mean():
        a, b = b, a  # the order of two may differ on their common rounds
    p, q, truth = P[both, a], P[both, b], y[both]
    values, sequence, bounds = _sequence(p, q, truth, brier, ConfidenceSequence(alpha, -1, 1))
    means = np.cumsum(values) / np.arange(1, len(values) + 1)
    above = np.flatnonzero(bounds.upper >= 0)
    since = int(above[-1]) + 2 if len(above) else 1
    log_low, log_high = -math.inf, math.inf
    if np.all((p == q) | ((p > 0) & (p < 1) & (q > 0) & (q < 1))):
        log = ConfidenceSequence(alpha, -math.inf, math.inf, LOG_SCALE)
        _, log, _ = _sequence(p, q, truth, log_score, log)
        log_low, log_high = log.lower, log.upper
    return Pair(
        names[a],
        names[b],
        sequence.mean,
        sequence.lower,
        sequence.upper,
        since if since <= len(values) else None,
        math.exp(min(sequence.log_evidence_below, 709.0)) / 2,
        1 / alpha,
        _mean(_difference(p, q, truth, log_score)),
        log_low,
        log_high,
        np.flatnonzero(both),
        means,
        bounds,
    )


def _sequence(
    p: FloatArray,
    q: FloatArray,
    y: FloatArray,
    score: Callable[[FloatArray, FloatArray], FloatArray],
    sequence: ConfidenceSequence,
) -> tuple[FloatArray, ConfidenceSequence, Bounds]:
    """Run a confidence sequence over the differences of two forecasters' scores."""
    if_zero, if_one = (_difference(p, q, np.full(len(y), outcome), score) for outcome in (0.0, 1.0))
    low, high = np.minimum(if_zero, if_one), np.maximum(if_zero, if_one)
    guess = np.clip(if_zero + (if_one - if_zero) * (p + q) / 2, low, high)
    values = np.where(y == 1, if_one, if_zero)
    return values, sequence, sequence.run(values, low, high, guess)


def _difference(
    p: FloatArray, q: FloatArray, y: FloatArray, score: Callable[[FloatArray, FloatArray], FloatArray]
) -> FloatArray:
    """Return score(p) − score(q): 0 where the two agree, also if both are infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(p == q, 0.0, score(p, y) - score(q, y))


def _mean(values: FloatArray) -> float:
    """Return the mean; NaN if both have infinite scores, in different rounds."""
    with np.errstate(invalid="ignore"):
        return float(values.mean())


def _forecasts(P: Any, names: Sequence[str] | None) -> tuple[FloatArray, list[str]]:
    """Return the forecasts as rounds × forecasters, and the names of the forecasters."""
    if isinstance(P, dict) or hasattr(P, "columns"):
        columns = list(P.keys() if isinstance(P, dict) else P.columns)
        names = [str(each) for each in columns] if names is None else names
        _distinct(names, len(columns))
        found = [_numbers(P[each], f"forecasts of {name!r}") for each, name in zip(columns, names, strict=True)]
        if len({len(each) for each in found}) > 1:
            message = (
                f"the forecasters must have the same number of forecasts, got {', '.join(str(len(f)) for f in found)}"
            )
            raise ValueError(message)
        array = np.stack(found, axis=1) if found else np.zeros((0, 0))
    else:
        array = _numbers(P, "forecasts")
        array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] == 0:
        message = f"forecasts must have the shape (rounds, forecasters) with at least one forecaster, got {array.shape}"
        raise ValueError(message)
    names = [f"forecaster {number}" for number in range(1, array.shape[1] + 1)] if names is None else names
    _distinct(names, array.shape[1])
    return array, list(names)


def _distinct(names: Sequence[str], count: int) -> None:
    if len(names) != count or len(set(names)) != count:
        message = f"names must be {count} different names, one for each forecaster, got {', '.join(names)}"
        raise ValueError(message)


def _outcomes(y: Any) -> FloatArray:
    outcomes = _numbers(y, "outcomes")
    if outcomes.ndim != 1:
        message = f"outcomes must have one dimension, got the shape {outcomes.shape}"
        raise ValueError(message)
    return outcomes


def _numbers(values: Any, what: str) -> FloatArray:
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


def _check(P: FloatArray, y: FloatArray, names: list[str]) -> None:
    """Raise StreamError for the first round with a forecast outside [0, 1] or an outcome other than 0 and 1."""
    if len(P) != len(y):
        message = f"there are {len(P)} rounds of forecasts, but {len(y)} outcomes"
        raise ValueError(message)
    if not len(y):
        message = "there are no rounds"
        raise ValueError(message)
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
