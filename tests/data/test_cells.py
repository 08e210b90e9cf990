"""What a cell means without options, decided by its text alone."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cells import cell

import mistakebound as mb
from mistakebound import _core
from mistakebound.data.frame import records

if TYPE_CHECKING:
    from pathlib import Path

# ---------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("-2", -2), ("0.1", 0.1), ("2", 2), ("3", 2.5), ("4", 3), ("6", 3.5), ("-8", -4), ("1024", 11)],
)
def test_numbers_grow_like_a_logarithm_beyond_2(text: str, value: float) -> None:
    assert cell(text) == {"c": value}


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_scaled_numbers_keep_their_order_and_stay_small(a: float, b: float) -> None:
    low, high = sorted([a, b])
    x, y = cell(repr(low)).get("c", 0.0), cell(repr(high)).get("c", 0.0)
    assert -1025 <= x <= y <= 1025
    assert cell(repr(-high)).get("c", 0.0) == -y


@pytest.mark.parametrize("text", ["0", "-0.0", "1e-31", "-1e-300", "1e-999"])
def test_numbers_that_are_too_small_to_learn_are_zero(text: str) -> None:
    assert cell(text) == {}


@pytest.mark.parametrize("text", ["inf", "-inf", "1e999", "Infinity"])
def test_a_number_that_is_not_finite_is_bad(text: str) -> None:
    assert "is not finite" in _core.parse_table(f"c\n{text}\n".encode(), auto=True)[1][0][2]
    line = json.dumps({"c": text}).encode()
    assert "is not finite" in _core.parse_json_lines(line, auto=True)[1][0][2]


# ---------------------------------------------------------------------- missing cells and truth values


@pytest.mark.parametrize(
    "text", ["", "?", "NA", "N/A", "n/a", "<NA>", "#N/A", "nan", "NaN", "-nan", "null", "NULL", "None", "NaT", "  "]
)
def test_missing_cells_are_a_feature(text: str) -> None:
    assert cell(text) == {"c=": 1}
    rows, bad = _core.parse_json_lines(json.dumps({"c": text, "d": None}).encode(), auto=True)
    assert (rows[0][1], bad) == ({"c=": 1, "d=": 1}, [])


@pytest.mark.parametrize("text", ["true", "True", "TRUE", "False", "yes", "No"])
def test_truth_values_are_categories(text: str) -> None:
    assert cell(text) == {f"c={text.lower()}": 1}


# ---------------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Mon", ["mon"]),
        ("lunch?", ["lunch"]),
        ('"(Tea).', ["tea"]),
        ("a.example", ["a.example"]),
        ("N.V.", ["n.v."]),
        ("<=50K", ["<=50k"]),
        ("A+", ["a+"]),
        ("...", ["..."]),
        ("Ärger", ["Ärger"]),
        ("New York", ["new", "york", "new york"]),
        ("<= 5", ["5", "<= 5"]),
        ("- -", ["- -"]),
        ("tea tea", ["tea", "tea tea"]),
        ("one two three four five", ["one", "two", "three", "four", "five"]),
        (" a \n b ", ["a", "b", "a b"]),
    ],
)
def test_texts(text: str, words: list[str]) -> None:
    assert cell(text) == {f"c={word}": 1 for word in words}


@given(st.text("abcXYZ09$!'éß", min_size=1, max_size=8))
def test_a_single_word_is_a_feature_of_a_longer_text(word: str) -> None:
    alone = cell(word)
    if [*alone] != ["c"] and "c=" not in alone:  # neither a number nor missing
        assert alone.items() <= cell(f"well, {word} and so on").items()


def test_sequences_of_words_and_letters() -> None:
    assert cell("New York", words=2, letters=7) == dict.fromkeys(
        ["c=new", "c=york", "c=new york", "c~new yor", "c~ew york"], 1
    )


def test_the_strings_of_an_array_are_one_text() -> None:
    rows, bad = _core.parse_json_lines(b'{"t": ["New", null, "York", 7], "e": [], "s": ["c++"]}', auto=True)
    assert not bad
    assert rows[0][1] == {"t=new": 1, "t=york": 1, "t=new york": 1, "t.3": 2.75 + 1, "e=": 1, "s=c++": 1}


# ---------------------------------------------------------------------- dates


@given(st.dates())
def test_dates_agree_with_the_calendar_of_python(day: dt.date) -> None:
    found = cell(day.isoformat())
    trend = found.pop("c:trend", 0.0)
    assert found == {f"c:weekday={day:%a}": 1, f"c:month={day:%b}": 1}
    decades = (day - dt.date(2020, 1, 1)).days / 3652.425
    if abs(decades) <= 2:
        assert trend == decades
    assert (trend > 0) - (trend < 0) == (decades > 0) - (decades < 0)
    assert cell(f"{day.year:04}/{day.month}/{day.day}") == cell(day.isoformat())


@given(
    st.datetimes(),
    st.sampled_from(["", "Z", "z", "+01", "-0530", "+05:30", " UTC", "+00:53:28"]),
    st.sampled_from("T "),
)
def test_times_are_read_as_written_without_converting_the_zone(when: dt.datetime, zone: str, between: str) -> None:
    found = cell(when.isoformat(between) + zone)
    midnight = (when.hour, when.minute, when.second) == (0, 0, 0)
    assert ({f"c:hour={when.hour}": 1}.items() <= found.items()) != midnight
    assert f"c:weekday={when:%a}" in found


def test_midnight_is_a_date_without_a_time() -> None:
    assert cell("2024-03-01T00:00:00.000Z") == cell("2024-03-01")
    assert cell("00:00") == {"c:hour=0": 1}
    assert cell("12:00") == {"c:hour=12": 1, "c:time": 0.5}


@pytest.mark.parametrize(
    "text",
    [
        "2023-02-29",
        "1900-02-29",
        "2024-13-01",
        "2024-00-10",
        "2024-04-31",
        "0000-01-01",
        "-0044-03-15",
        "10000-01-01",
        "01/02/2024",
        "2024-03/01",
        "2024-03",
        "2024-03-01T",
        "2024-03-01T24:00",
        "2024-03-01T12",
        "2024-03-01T12:60",
        "2024-03-01T12:30:61",
        "2024-03-01T12:30:10.",
        "2024-03-01T12:30+25",
        "2024-03-01T12:30+1",
        "2024-03-01x",
        "9:30",
        "24:00",
    ],
)
def test_other_forms_are_categories(text: str) -> None:
    assert cell(text) == {f"c={text.lower()}": 1}


def test_29_february_of_leap_years() -> None:
    assert "c:month=Feb" in cell("2000-02-29")
    assert "c:month=Feb" in cell("2024-02-29")


# ---------------------------------------------------------------------- hostile cells


def test_hostile_cells(tmp_path: Path) -> None:
    """Long texts, NUL, invalid UTF-8 and names that meet: an error with its place, or features."""
    long = "x" * 1_000_000
    assert cell(long) == {f"c={long}": 1}
    many = " ".join(f"w{n}" for n in range(50_000))
    assert len(cell(many)) == 50_000
    assert cell("a\0b c") == {"c=a": 1, "c=b": 1, "c=c": 1, "c=a\0b c": 1}
    assert cell("9" * 300)["c"] < 1025
    assert "not UTF-8" in _core.parse_table(b"c,d\nx\xff y,1\n", auto=True)[1][0][2]
    rows, bad, _ = _core.parse_table(b"d,d:hour,y\n2024-03-01T12:00,5,1\n", auto=True, categorical=["2"])
    assert [row[1]["d:hour=5"] for row in rows] == [1]
    rows, bad, _ = _core.parse_table(b"d,d:hour\n2024-03-01T12:00,12\n", auto=True, categorical=["2"])
    assert (rows, "twice" in bad[0][2]) == ([], True)
    path = tmp_path / "a.json"
    path.write_text('{"label": 1, "d": "2024-03-01", "d:weekday": "x", "d:month=Mar": 1}\n')
    assert "twice" in str(next(iter(mb.Source(path).open())).error)


@given(st.text(), st.sampled_from([{}, {"bins": 2}, {"words": 2, "letters": 3}]))
def test_any_text_gives_the_same_features_in_tables_and_json(text: str, options: dict[str, Any]) -> None:
    table, bad, _ = _core.parse_table(
        b"c,d\n" + records([[text.strip(" \t")], ["x"]]), auto=True, ignore=["d"], **options
    )
    rows, faults = _core.parse_json_lines(json.dumps({"c": text}).encode(), auto=True, **options)
    assert [row[1] for row in rows] == [row[1] for row in table]
    assert len(bad) == len(faults)
