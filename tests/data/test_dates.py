"""Columns of dates: their forms, and which columns are not used."""

from __future__ import annotations

import pytest

from mistakebound.data.columns_in_memory import columns_in_memory
from mistakebound.data.dates import date_column, date_of, increasing_dates

DAY = 86_400.0


@pytest.mark.parametrize(
    ("word", "seconds"),
    [
        ("1970-01-02", DAY),
        ("1970/1/2", DAY),
        ("1970-01-01T06:00", DAY / 4),
        ("1970-01-01 06:00:30.25", DAY / 4 + 30),
        ("1970-01-01T06:00:00Z", DAY / 4),
        ("1970-01-01T06:00:00+06:00", 0.0),
        ("1969-12-31T18:00-0600", 0.0),
        ("1969-12-31", -DAY),
    ],
)
def test_forms_of_dates(word: str, seconds: float) -> None:
    assert date_of(word) == seconds


@pytest.mark.parametrize(
    "word",
    [
        "",
        "1970",
        "01/02/1970",
        "1970-13-01",
        "1970-02-30",
        "1970-01/02",
        "1970-01-01x",
        "1970-01-01T25:00",
        "0000-01-01",
        "0001-01-01T00:00+01:00",  # before the first date that Python has
    ],
)
def test_words_that_are_not_dates(word: str) -> None:
    assert date_of(word) is None


def test_dates_must_not_decrease_and_not_all_be_the_same() -> None:
    assert increasing_dates(["1970-01-01", "1970-01-01", "1970-01-03"]) == [0, 0, 2 * DAY]
    assert increasing_dates(["1970-01-02", "1970-01-01"]) == []
    assert increasing_dates(["1970-01-02", "1970-01-02"]) == []
    assert increasing_dates(["1970-01-02", "", "1970-01-03"]) == []
    assert increasing_dates([]) == []


def test_the_first_column_of_dates_is_used() -> None:
    table = {"born": ["1970-01-03", "1970-01-01"], "day": ["1970-01-01", "1970-01-02"], "x": [1, 2]}
    assert date_column(columns_in_memory(table)) == ("day", [0.0, DAY])
    assert date_column(columns_in_memory({"x": [1, 2]})) is None
