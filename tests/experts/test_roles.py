"""Forecasts are distinguished from dates, row numbers, names, and numbers that are far from the outcomes."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.experts.comparison.roles import seconds_of

Y = [21.0, 22.5, 20.0, 23.0, 21.5, 22.0]
ANN = [20.0, 23.0, 20.5, 22.0, 21.0, 22.5]


def compared(column: str, values: list[Any], **options: Any) -> Any:
    return mb.experts.compare({column: values, "Ann": ANN, "y": Y}, "y", **options)


@pytest.mark.parametrize(
    ("column", "values", "why"),
    [
        ("nr", [0, 1, 2, 3, 4, 5], "nr, because it numbers the rows"),
        ("any name", [18, 19, 20, 21, 22, 23], "it numbers the rows"),
        ("Hour", [20, 21, 22, 23, 0, 1], "of its name"),
        ("when", [20261101, 20261102, 20261103, 20261104, 20261108, 20261109], "it holds dates"),
        ("date", ["2026-11-01", "b", "c", "d", "e", "f"], "they hold words: date"),
        ("date", ["2026-11-01", "2026-11-03", "2026-11-02", "2026-11-04", "", "20261105"], "they hold dates: date"),
    ],
)
def test_ids_are_not_experts_but_written_first(column: str, values: list[Any], why: str) -> None:
    found = compared(column, values)
    assert found.advice.names == ["Ann"]
    assert found.advice.ids == [column]
    assert why in str(found.advice.notes)
    file = io.StringIO()
    found.write_predictions(file)
    head, *rows = csv.reader(io.StringIO(file.getvalue()))
    assert head == [column, "y", "ml-poly"]
    assert [row[0] for row in rows] == [str(value) for value in values]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([2026.5] * 6, r"far (2026.5 to 2026.5) are far from the outcomes (20 to 23)"),
        ([1e6, 2e6, None, 1e6, 1e6, 1e6], "far from the outcomes"),
        ([-400.0, -500.0, -400.0, -300.0, -400.0, -100.0], "far from the outcomes"),
    ],
)
def test_numbers_far_from_the_outcomes_are_neither(values: list[Any], why: str) -> None:
    found = compared("far", values)
    assert found.advice.names == ["Ann"]
    assert found.advice.ids == []
    assert why.removeprefix("far ").removeprefix("(") in str(found.advice.notes)
    assert compared("far", values, experts=["Ann", "far"]).advice.names == ["Ann", "far"]
    assert compared("far", values, experts="all").advice.names == ["far", "Ann"]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("Bob", [21.0] * 6),  # a constant within the range of the outcomes is a forecast
        ("Bob", [2100.0, 22.0, 2200.0, 2000.0, 2100.0, 2000.0]),  # one of them is near
        ("Bob", [40.0, 41.0, 40.0, 42.0, 41.0, 40.0]),  # biased, but not far
        ("Bob", [20.0, 21.0, 22.0, None, 24.0, 25.0]),  # a row without a number
        ("hour", [20.5, 21.0, 22.0, 23.0, 21.0, 20.0]),  # not whole numbers
    ],
)
def test_forecasts_stay_experts(column: str, values: list[Any]) -> None:
    found = compared(column, values)
    assert found.advice.names == [column, "Ann"]
    assert found.advice.ids == []


def test_outcomes_that_count_up_may_be_forecast() -> None:
    table = {"Ann": [2, 3, 4, 5, 6], "y": [1, 2, 3, 4, 5]}
    assert mb.experts.compare(table, "y").advice.names == ["Ann"]
    year = {"Ann": [2000, 2001, 2003, 2004, 2005], "y": [2001, 2002, 2003, 2004, 2005]}
    assert mb.experts.compare(year, "y").advice.names == ["Ann"]


def test_a_table_without_an_expert_says_why() -> None:
    with pytest.raises(mb.StreamError, match="no column can be an expert: nr, because it numbers the rows") as caught:
        mb.experts.compare({"nr": [1, 2, 3, 4, 5, 6], "y": Y}, "y")
    assert "experts=['nr']" in str(caught.value)
    assert mb.experts.compare({"nr": [1, 2, 3, 4, 5, 6], "y": Y}, "y", experts=["nr"]).advice.names == ["nr"]


def test_ids_that_are_named() -> None:
    found = compared("Bob", ANN, ids=["Bob"])
    assert (found.advice.names, found.advice.ids) == (["Ann"], ["Bob"])
    words = {"where": ["x"] * 6, "nr": list(range(6)), "Ann": ANN, "y": Y}
    assert mb.experts.compare(words, "y").advice.ids == ["where", "nr"]
    assert mb.experts.compare(words, "y", ids=["nr"]).advice.ids == ["nr"]
    assert mb.experts.compare(words, "y", ignore=["where"]).advice.ids == ["nr"]
    labels = {"nr": list(range(6)), "Ann": list("uvuvuv"), "temperature": ANN, "y": list("uvuvvv")}
    assert mb.experts.compare(labels, "y").advice.ids == ["nr"]
    classes = {"day": list("abcdef"), "a_u": [0.5] * 6, "a_v": [0.5] * 6, "y": list("uvuvvv")}
    assert mb.experts.compare(classes, "y", classes=["u", "v"]).advice.ids == ["day"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1970-01-01", "1970-01-02T00:00:01Z"], [0.0, 86401.0]),
        (["1970-01-01 00:00:00+01:00"], [-3600.0]),
        (["1970-01-02", "1970-01-01"], None),
        (["1970-13-01"], None),
        ([], None),
    ],
)
def test_dates_in_seconds(texts: list[str], expected: Any) -> None:
    assert seconds_of(texts) == expected


def test_the_first_column_of_dates_is_the_axis() -> None:
    day = [f"2026-01-0{k + 1}" for k in range(6)]
    table = {"name": list("abcdef"), "day": day, "Ann": ANN, "y": Y}
    name, seconds = mb.experts.compare(table, "y").advice.dates()
    assert name == "day"
    assert np.diff(seconds).tolist() == [86400.0] * 5
    assert mb.experts.compare({"Ann": ANN, "y": Y}, "y").advice.dates() is None


@pytest.mark.parametrize("column", ["n", "N", "nr", "#", "", "c1", "Unnamed: 0", "id", "row"])
@pytest.mark.parametrize("first", [0, 1])
def test_a_row_number_in_the_only_row_is_not_an_expert(column: str, first: int, tmp_path: Path) -> None:
    path = tmp_path / "state.mb"
    one = {column: [first], "Ann": [1.5], "Bob": [2.5], "y": [2.0]}
    found = mb.experts.compare(one, "y", save=path)
    assert (found.advice.names, found.advice.ids) == (["Ann", "Bob"], [column])
    assert f"not an expert: {column}, because" in str(found.advice.notes)
    second = one | {column: [first + 1]}
    later = mb.experts.compare(second, "y", load=path)
    assert (later.advice.names, later.advice.ids) == (["Ann", "Bob"], [column])
    assert mb.experts.compare(one, "y", experts=[column, "Ann"]).advice.names == [column, "Ann"]


def test_the_note_on_a_row_number_names_the_option_that_makes_it_an_expert() -> None:
    found = mb.experts.compare({"n": [1], "Ann": [1.5], "Bob": [2.5], "y": [2.0]}, "y")
    assert "it seems to number the rows (one row cannot show it)" in str(found.advice.notes)
    assert "experts=['n', 'Ann', 'Bob']" in str(found.advice.notes)


@pytest.mark.parametrize(
    "table",
    [
        {"n": [2], "Ann": [1.5], "y": [2.0]},  # neither 0 nor 1
        {"n": [1.5], "Ann": [1.5], "y": [2.0]},
        {"n": [1, 1], "Ann": [1.5, 1.0], "y": [2.0, 1.0]},
        {"c1": [1], "c2": [0], "c3": [1], "y": [1]},  # names of a table without a header
        {"Ann": [1], "Bob": [0], "y": [1]},
    ],
)
def test_forecasts_in_few_rows_stay_experts(table: dict[str, list[Any]]) -> None:
    assert mb.experts.compare(table, "y").advice.names == [*table][:-1]


def test_a_named_row_number_is_recognised_in_few_rows() -> None:
    found = mb.experts.compare({"n": [7, 8], "Ann": [7.5, 8.0], "y": [8.0, 7.0]}, "y")
    assert (found.advice.names, found.advice.ids) == (["Ann"], ["n"])
