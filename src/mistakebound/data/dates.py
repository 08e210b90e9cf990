"""Find a column of dates in a table: a date in every row, never decreasing."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mistakebound.data.columns import Frame

DATE = re.compile(
    r"(\d{4})([-/])(\d{1,2})\2(\d{1,2})"  # 2024-03-01 or 2024/3/1
    r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?)?"  # 13:45 or 13:45:00.5
    r" ?(Z|[+-]\d{2}:?\d{2})?"
)
"""The same forms of dates that a table is learned from."""


class DateColumn(NamedTuple):
    """The name of a column, and the date of each row in seconds since 1970. Dates without a zone count as UTC."""

    name: str
    seconds: list[float]


def date_column(frame: Frame) -> DateColumn | None:
    """Return the first column with a date in every row that never decreases; None if there is none.

    >>> from mistakebound.data.columns_in_memory import columns_in_memory
    >>> date_column(columns_in_memory({"x": [1, 2], "day": ["2024-03-01", "2024-03-02T12:00"]}))
    DateColumn(name='day', seconds=[1709251200.0, 1709380800.0])
    """
    for name, words in frame.words.items():
        seconds = increasing_dates(words)
        if seconds:
            return DateColumn(name, seconds)
    return None


def increasing_dates(words: list[str]) -> list[float]:
    """Return the dates of the words; empty if a word is not a date, a date is earlier, or all are the same."""
    found: list[float] = []
    for word in words:
        seconds = date_of(word)
        if seconds is None or (found and seconds < found[-1]):
            return []
        found.append(seconds)
    return found if found and found[0] < found[-1] else []


def date_of(word: str) -> float | None:
    """Return a date in seconds since 1970; None if the word is not a date.

    >>> date_of("1970-01-02"), date_of("1970/1/1 01:00+01:00"), date_of("1970-02-30"), date_of("01/02/1970")
    (86400.0, 0.0, None, None)
    """
    match = DATE.fullmatch(word)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.group(1, 3, 4, 5, 6, 7))
    try:
        when = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc) - offset_of(match[8])
    except (OverflowError, ValueError):  # there is no such day or time
        return None
    return when.timestamp()


def offset_of(zone: str | None) -> timedelta:
    """Return the offset of a zone such as +01:00 from UTC."""
    if zone is None or zone == "Z":
        return timedelta()
    digits = zone[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -offset if zone[0] == "-" else offset
