"""What may change when a state is loaded: experts join or are ignored, options are repeated, refused rules are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mistakebound as mb
from mistakebound.errors import OptionError

DAYS = 12
DATES = [f"2026-11-{day + 1:02}" for day in range(DAYS)]
Y = [20.0 + (7 * day) % 5 for day in range(DAYS)]
ANN = [y + 1 for y in Y]
BOB = [y - 2 + day % 3 for day, y in enumerate(Y)]
DAN = [None] * 5 + [y + 0.25 for y in Y[5:]]
WORDS = {
    "date": DATES,
    "Ann": ["u", "v"] * 6,
    "Bob": ["u", "u", "v"] * 4,
    "Dan": [None] * 5 + ["v", "w", "v", "u", "v", "u", "v"],
    "y": ["u", "v", "u"] * 4,
}
NUMBERS = {"date": DATES, "Ann": ANN, "Bob": BOB, "Dan": DAN, "y": Y}
CLASSES: dict[str, list[Any]] = {
    "date": DATES,
    **{f"{name}_{each}": [0.5, 0.25, 0.75] * 4 for name in ("Ann", "Bob") for each in ("H", "A")},
    "Bob_A": [0.5, 0.75, 0.25] * 4,
    "Ann_A": [0.5, 0.75, 0.25] * 4,
    **{f"Dan_{each}": [None] * 5 + [0.5] * 7 for each in ("H", "A")},
    "y": ["H", "A", "H"] * 4,
}


def rows(table: dict[str, list[Any]], begin: int, end: int, without: str = "-") -> dict[str, list[Any]]:
    return {name: column[begin:end] for name, column in table.items() if not name.startswith(without)}


def shown(found: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(found.to_json())
    for rule in data["rules"]:
        del rule["seconds"], rule["learning_seconds"]
    return data | {"notes": []}


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (NUMBERS, {"rules": "all"}),
        (WORDS, {"rules": "all", "seed": 3}),
        (CLASSES, {"classes": ["H", "A"], "rules": "all"}),
    ],
    ids=["numbers", "labels", "classes"],
)
def test_an_expert_that_joins_was_asleep_before(table: Any, options: dict[str, Any], tmp_path: Path) -> None:
    """The result is that of one table, in which the fields of the expert are empty at first."""
    path = tmp_path / "state.mb"
    mb.experts.compare(rows(table, 0, 5, without="Dan"), "y", save=path, **options)
    joined = mb.experts.compare(rows(table, 5, 9), "y", load=path, save=path, **options, experts=["Dan", "Bob", "Ann"])
    assert joined.advice.names == ["Ann", "Bob", "Dan"]
    assert "new experts: Dan; they were asleep in the 5 rounds before" in str(joined.advice.notes)
    assert all(each.status in ("holds", "vacuous", "does not apply") for each in joined.mixes)
    whole = mb.experts.compare(rows(table, 0, 9), "y", **options, experts=["Ann", "Bob", "Dan"])
    assert shown(joined) == shown(whole)
    later = mb.experts.compare(
        rows(table, 9, DAYS), "y", load=path, save=path, **options, experts=["Ann", "Bob", "Dan"]
    )
    assert "new experts" not in str(later.advice.notes)
    assert shown(later) == shown(mb.experts.compare(table, "y", **options, experts=["Ann", "Bob", "Dan"]))


@pytest.mark.parametrize(
    ("table", "options"),
    [(NUMBERS, {}), (WORDS, {}), (CLASSES, {"classes": ["H", "A"]})],
    ids=["numbers", "labels", "classes"],
)
def test_a_new_column_is_noted_with_the_option_that_lets_it_join(
    table: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "state.mb"
    mb.experts.compare(rows(table, 0, 5, without="Dan"), "y", save=path, **options)
    found = mb.experts.compare(rows(table, 5, 9), "y", load=path)
    assert found.advice.names == ["Ann", "Bob"]
    assert "experts=['Ann', 'Bob', 'Dan']" in str(found.advice.notes)


def test_columns_that_are_missing_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "state.mb"
    mb.experts.compare(rows(NUMBERS, 0, 5, without="Dan"), "y", save=path)
    found = mb.experts.compare({"Date": ["2026-11-06"], "ann": [21.0], "Bob": [20.0], "y": [20.0]}, "y", load=path)
    notes = str(found.advice.notes)
    assert "missing in the new rows: date, Ann (an expert without a forecast is asleep)" in notes
    assert "the state does not have these columns: ann" in notes
    forecast = mb.experts.compare({"date": ["2026-11-06"], "Ann": [21.0], "Bob": [20.0]}, "y", load=path, ahead=True)
    assert "missing" not in str(forecast.advice.notes)


def test_all_lets_every_new_column_of_numbers_join(tmp_path: Path) -> None:
    path = tmp_path / "state.mb"
    for _ in range(2):
        mb.experts.compare(rows(NUMBERS, 0, 5, without="Dan"), "y", experts="all", save=path)
        same = mb.experts.compare(rows(NUMBERS, 5, 6, without="Dan"), "y", experts="all", load=path)
        assert same.advice.names == ["Ann", "Bob"]
    more = mb.experts.compare(rows(NUMBERS, 5, 9), "y", experts="all", load=path)
    assert more.advice.names == ["Ann", "Bob", "Dan"]
    fewer = mb.experts.compare(rows(NUMBERS, 5, 9), "y", experts="all", ignore=["Dan"], load=path)
    assert fewer.advice.names == ["Ann", "Bob"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"experts": ["Ann", "Bob", "date"]}, OptionError, "experts names date, which is not an expert of the loaded"),
        ({"experts": ["Ann", "Bob", "Don"]}, mb.StreamError, "there is no column 'Don'.*did you mean 'Dan'"),
        ({"experts": ["Ann", "Dan"]}, OptionError, "experts is Ann, Dan, but the loaded state has Ann, Bob"),
        ({"experts": ["Ann", "Bob", "Dan"], "ignore": ["Dan"]}, OptionError, "ignore is Dan, which experts names, too"),
        ({"ignore": ["date"]}, OptionError, "ignore is date, but the loaded state needs this column"),
        ({"ignore": ["y"]}, OptionError, "ignore is y, but the loaded state needs this column"),
        ({"ignore": ["Bab"]}, mb.StreamError, "there is no column 'Bab'"),
        ({"ids": ["Ann"]}, OptionError, "ids is Ann, but the loaded state has date"),
        ({"gradient": False}, OptionError, "gradient is not an option of the loaded state; do not set it"),
    ],
)
def test_columns_that_the_state_does_not_allow(
    options: dict[str, Any], error: type[Exception], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "state.mb"
    mb.experts.compare(rows(NUMBERS, 0, 5, without="Dan"), "y", save=path)
    before = path.read_bytes()
    with pytest.raises(error, match=words):
        mb.experts.compare(rows(NUMBERS, 5, 9), "y", load=path, save=path, **options)
    assert path.read_bytes() == before


def test_an_ignored_expert_is_asleep_in_the_new_rows(tmp_path: Path) -> None:
    table, path = rows(NUMBERS, 0, DAYS, without="Dan") | {"other": [21.0] * DAYS}, tmp_path / "state.mb"
    mb.experts.compare(rows(table, 0, 5), "y", ignore=["other"], save=path)
    same = mb.experts.compare(rows(table, 5, 9), "y", ignore=["other"], load=path)
    assert (same.advice.names, "ignored: other" in str(same.advice.notes)) == (["Ann", "Bob"], True)
    assert "not used" not in str(same.advice.notes)
    found = mb.experts.compare(rows(table, 3, 9), "y", ignore=["other", "Bob"], load=path, overlap="skip")
    assert "asleep in the new rows, because they are ignored: Bob" in str(found.advice.notes)
    assert "learned already: 2 rows'" in str(found.advice.notes)  # and they do not differ
    asleep = rows(table, 0, 9, without="other") | {"Bob": [*BOB[:5], *[None] * 4]}
    assert shown(found) == shown(mb.experts.compare(asleep, "y"))
    with pytest.raises(OptionError, match="ignore is Bob, which experts names, too"):
        mb.experts.compare(table, "y", ignore=["Bob"], experts=["Ann", "Bob"])


@pytest.mark.parametrize(
    "options",
    [
        {"rules": "all"},
        {"rules": ["ml-poly", "ridge"], "loss": "absolute"},  # ridge is refused
        {"experts": ["2", "3"], "ids": ["1"]},
        {"experts": ["Bob", "Ann"]},
    ],
)
def test_the_same_options_every_day(options: dict[str, Any], tmp_path: Path) -> None:
    table, path = rows(NUMBERS, 0, DAYS, without="Dan"), tmp_path / "state.mb"
    mb.experts.compare(rows(table, 0, 5), "4", save=path, **options)
    found = mb.experts.compare(rows(table, 5, DAYS), "4", load=path, save=path, **options)
    assert shown(found) == shown(mb.experts.compare(table, "4", **options))
    again = mb.experts.compare(rows(table, 5, DAYS), "y", load=path, overlap="skip")
    assert again.advice.rounds == DAYS


def test_rules_for_labels_repeated_every_day(tmp_path: Path) -> None:
    table, path = rows(WORDS, 0, DAYS, without="Dan"), tmp_path / "state.mb"
    for options in ({"rules": "all"}, {"rules": "all", "advice": "3"}):
        mb.experts.compare(rows(table, 0, 5), "y", save=path, **options)
        found = mb.experts.compare(rows(table, 5, DAYS), "y", load=path, **options)
        assert shown(found) == shown(mb.experts.compare(table, "y", **options))


def test_rules_that_could_not_be_run_are_reported_every_day(tmp_path: Path) -> None:
    path = tmp_path / "state.mb"
    table = {"Ann": [0.5, 0.75, 0.5], "Bob": [0.6, 0.8, 0.5], "y": [1, 1, 0]}
    first = mb.experts.compare(table, "y", rules=["ml-poly", "ridge", "hedge"], loss="log", eta=0.1, save=path)
    later = mb.experts.compare({"Ann": [0.5], "Bob": [0.25], "y": [1]}, "y", load=path, save=path)
    assert [each["rule"] for each in json.loads(later.to_json())["not_played"]] == ["ridge"]
    assert json.loads(later.to_json())["not_played"] == json.loads(first.to_json())["not_played"]
    tiny = {"Ann": [1e-320], "Bob": [0.0], "y": [1]}  # an infinite loss
    with pytest.raises(mb.StreamError, match="the loss of expert 'Bob' is inf"):  # not the reason of ridge
        mb.experts.compare(tiny, "y", load=path)


def test_options_in_the_reason_are_written_as_flags(tmp_path: Path) -> None:
    path = tmp_path / "state.mb"
    day = {"a": [0.5, 0.9, 0.8], "b": [0.6, 0.7, 0.5], "y": [1, 1, 0]}
    mb.experts.compare(day, "y", save=path, rules=["ml-poly", "hedge"], eta=0.1)
    state = mb.experts.compare({"a": [1e-150], "b": [2e-150], "y": [0]}, "y", load=path, save=path)
    later = mb.experts.compare({"a": [0.5], "b": [0.5], "y": [1]}, "y", load=path)

    def flags(found: Any) -> Any:
        return json.loads(found.to_json(lambda option: f"--{option.name}"))["not_played"]

    assert flags(later) == flags(state) != []


def test_other_values_of_a_learned_row_are_named(tmp_path: Path) -> None:
    """A number of the row that starts again at 1 in each file is not the same row."""
    path = tmp_path / "state.mb"
    mb.experts.compare({"n": [1], "Ann": [20.0], "Bob": [22.0], "y": [21.0]}, "y", save=path)
    again = {"n": [1], "Ann": [23.0], "Bob": [22.0], "y": [23.0]}
    with pytest.raises(
        mb.StreamError, match="a row with n 1 was learned already, with other values: .*to learn them, too"
    ):
        mb.experts.compare(again, "y", load=path)
    assert mb.experts.compare(again, "y", load=path, overlap="learn").advice.rounds == 2
