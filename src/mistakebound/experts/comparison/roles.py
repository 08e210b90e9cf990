"""Distinguish forecasts from the other columns of a table: dates, row numbers, names, and numbers far from outcomes.

A column that only identifies a row (a date, a number of the row, a name) is an *id*. It is written beside the
predictions, and dates are the axis of charts.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from mistakebound.data.dates import date_of
from mistakebound.errors import OptionError, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.data.columns import Frame
    from mistakebound.errors import Option
    from mistakebound.experts.comparison.advice import ColumnChoice

FAR = 10.0
"""A column is far from the outcomes if no number of it is within their range, widened by so many of its lengths."""
LEAST_ROWS = 5
"""Rows below which numbers that increase by 1 may be a coincidence."""
CALENDAR = frozenset(
    (
        *("date", "datetime", "day", "hour", "minute", "month", "quarter", "season", "time", "timestamp"),
        *("week", "weekday", "year", "id", "index", "key", "number", "round", "row", "step", "t"),
    )
)
"""Names of columns whose whole numbers identify a row, in lower case."""
ROW_NAMES = frozenset(("", "#", "n", "no", "no.", "nr", "nr.", "obs", "row_number", "rownames", "rownum", "unnamed: 0"))
"""Names of columns whose numbers number the rows if they increase by 1, however few they are; in lower case."""
NUMBERS_ROWS = "it numbers the rows"
SEEMS_TO_NUMBER = "it seems to number the rows (one row cannot show it)"
MOST_NAMED = 20
"""Most experts that a message lists."""


def why_not_forecasts(name: str, values: FloatArray, outcomes: FloatArray) -> str:
    """Return why a column of numbers cannot be the forecasts of an expert; empty if it can.

    >>> import numpy as np
    >>> y = np.array([20.0, 22.0, 21.0, 20.0, 21.0])
    >>> why_not_forecasts("nr", np.arange(5.0), y), why_not_forecasts("Ann", y + 1, y)
    ('it numbers the rows', '')
    >>> why_not_forecasts("Bob", np.array([2031.0, 2020.0, 1999.0, 2000.0, 2000.0]), y)
    'its numbers (1999 to 2031) are far from the outcomes (20 to 22)'
    """
    why = why_id(name, values, outcomes)
    known, truth = values[np.isfinite(values)], outcomes[np.isfinite(outcomes)]
    if why or not known.size or not truth.size:
        return why
    low, high = float(truth.min()), float(truth.max())
    room = FAR * (high - low)
    if room == 0 or ((known >= low - room) & (known <= high + room)).any():
        return ""
    return f"its numbers ({known.min():.6g} to {known.max():.6g}) are far from the outcomes ({low:.6g} to {high:.6g})"


def why_id(name: str, values: FloatArray, outcomes: FloatArray) -> str:
    """Return why a column of numbers only identifies rows; empty if it may do more."""
    known = values[np.isfinite(values)]
    if known.size < values.size or not known.size or (known % 1 != 0).any():
        return ""
    if known.size >= LEAST_ROWS and (np.diff(known) == 1).all() and not _counts_up(outcomes):
        return NUMBERS_ROWS
    if name.strip().lower() in ROW_NAMES and (np.diff(known) == 1).all():
        if known.size > 1:
            return NUMBERS_ROWS
        if known[0] in (0, 1):
            return SEEMS_TO_NUMBER
    if name.strip().lower() in CALENDAR:
        return "of its name, and its whole numbers"
    return "it holds dates" if _dates_of_digits(known) is not None and not _reaches(outcomes, known) else ""


def id_columns(frame: Frame, left: Sequence[str], outcomes: FloatArray) -> list[str]:
    """Return those of the columns that identify rows: all words, and numbers that are dates or row numbers."""
    words = {name for name in left if any(frame.words.get(name, ()))}
    return [
        name
        for name in left
        if name in words or (name in frame.numbers and why_id(role_name(name, frame), frame.numbers[name], outcomes))
    ]


def role_name(name: str, frame: Frame) -> str:
    """Return the name of a column; empty for a first column without a name, which is read as c1.

    R and pandas write such a column: the numbers of the rows.
    """
    if name != "c1" or frame.names[0] != "c1":
        return name
    return name if any(re.fullmatch(r"c\d+", each) for each in frame.names[1:]) else ""


def experts_option(names: list[str]) -> Option:
    """Return the option that selects experts: with their names, unless they are many."""
    return setting("experts", names if len(names) <= MOST_NAMED else None)


def seconds_of(texts: Sequence[str]) -> list[float] | None:
    """Return dates as seconds since 1970 (UTC); None unless all texts are dates that never decrease.

    Dates are such as 2026-11-18, 2026-11-18 14:30, or 20261118.

    >>> seconds_of(["1970-01-02", "1970-01-02 12:00"]), seconds_of(["Mon", "Tue"]), seconds_of(["19700102"])
    ([86400.0, 129600.0], None, [86400.0])
    """
    found = []
    for text in texts:
        seconds = date_in(text)
        if seconds is None:
            return None
        found.append(seconds)
    return found if found and all(a <= b for a, b in pairwise(found)) else None


def date_in(text: str) -> float | None:
    """Return a date in seconds since 1970; None if the text is not a date."""
    return date_of(f"{text[:4]}-{text[4:6]}-{text[6:]}" if len(text) == 8 and text.isdigit() else text)


def ignored_columns(frame: Frame, choice: ColumnChoice) -> list[str]:
    """Return the columns to leave out, in the order of the frame."""
    ignored = {frame.name(each) for given in choice.ignore for each in names_between_commas(given, frame)}
    return [name for name in frame.names if name in ignored]


def refuse_ignored_experts(experts: Sequence[str], ignored: Sequence[str]) -> None:
    """Raise OptionError if a column is passed both as an expert and as a column to leave out."""
    both = [name for name in experts if name in ignored]
    if both:
        message = f" is {', '.join(both)}, which "
        raise OptionError(setting("ignore"), message, setting("experts"), " names, too", kind="ignored expert")


def names_between_commas(given: str, frame: Frame) -> list[str]:
    """Split names at commas, unless the whole text is the name of a column."""
    return [given] if frame.has(given) else [each.strip() for each in given.split(",")]


def _counts_up(outcomes: FloatArray) -> bool:
    known = outcomes[np.isfinite(outcomes)]
    return known.size >= LEAST_ROWS and bool((np.diff(known) == 1).all())


def _reaches(outcomes: FloatArray, known: FloatArray) -> bool:
    """Whether an outcome is as large as the smallest of these numbers."""
    return bool((outcomes[np.isfinite(outcomes)] >= known.min()).any())


def _dates_of_digits(known: FloatArray) -> list[float] | None:
    """Return whole numbers such as 20261118 as dates; None if one is not a date between 1900 and 2100."""
    if known.min() < 19000101 or known.max() > 21001231:
        return None
    return seconds_of([f"{value:.0f}" for value in known.tolist()])
