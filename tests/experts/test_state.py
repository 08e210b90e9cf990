"""States of comparisons: learning continues bit for bit, learned rows are recognised, and forged files are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.aggregation.registry import FOLLOWING, MIXING
from mistakebound.errors import OptionError
from mistakebound.experts.comparison.state_file import save_state

ROUNDS = 40


def dates(rounds: int) -> list[str]:
    return [f"2026-{1 + day // 28:02}-{1 + day % 28:02}" for day in range(rounds)]


def numbers(seed: int = 0) -> dict[str, list[Any]]:
    """Return a table of forecasts; Bob sleeps now and then."""
    rng = np.random.default_rng(seed)
    y = 50 + rng.normal(size=ROUNDS).cumsum()
    table = {
        name: list(y + rng.normal(scale=width, size=ROUNDS)) for name, width in (("Ann", 1), ("Bob", 2), ("Cid", 3))
    }
    table["Bob"] = [None if k % 5 == 3 else value for k, value in enumerate(table["Bob"])]
    return {"date": dates(ROUNDS), **table, "y": list(y)}


def words(seed: int = 1) -> dict[str, list[Any]]:
    """Return a table of labels. A third label, between the others, occurs only in the second half."""
    rng = np.random.default_rng(seed)
    y = [("rain", "sun")[k] for k in rng.integers(0, 2, ROUNDS)]
    y[30] = y[35] = "snow"
    table = {
        name: [each if rng.random() > wrong else ("sun", "rain")[each == "sun"] for each in y]
        for name, wrong in (("Ann", 0.2), ("Bob", 0.3), ("Cid", 0.4))
    }
    table["Cid"][4] = ""
    return {"date": dates(ROUNDS), **table, "net": table["Cid"][::-1], "y": y}


def classes(seed: int = 2) -> dict[str, list[Any]]:
    """Return a table with a column for each expert and class."""
    rng = np.random.default_rng(seed)
    table: dict[str, list[Any]] = {"date": dates(ROUNDS)}
    for name in ("Ann", "Bob"):
        p = rng.dirichlet(np.ones(3), ROUNDS)
        table |= {f"{name}_{label}": list(p[:, k]) for k, label in enumerate("HDA")}
    return table | {"y": ["HDA"[k] for k in rng.integers(0, 3, ROUNDS)]}


def rows(table: dict[str, list[Any]], begin: int, end: int) -> dict[str, list[Any]]:
    return {name: column[begin:end] for name, column in table.items()}


def shown(found: Any) -> dict[str, Any]:
    """Return the JSON object of a comparison without times and notes."""
    data = json.loads(found.to_json())
    for rule in data["rules"]:
        del rule["seconds"], rule["learning_seconds"]
    return data | {"notes": []}


CASES = {
    "numbers": (numbers(), {"rules": "all"}),
    "log": (
        {
            "t": list(range(ROUNDS)),
            **{name: list(np.random.default_rng(k).uniform(0.1, 0.9, ROUNDS)) for k, name in enumerate("ab")},
        }
        | {"y": [float(k % 3 == 0) for k in range(ROUNDS)]},
        {"rules": "all", "loss": "log", "gradient": False},
    ),
    "labels": (words(), {"rules": [rule for rule in FOLLOWING if "guarded" not in rule], "ignore": ["net"], "seed": 3}),
    "advice": (words(), {"advice": "net", "rules": "all"}),
    "classes": (classes(), {"classes": list("HDA"), "rules": "all"}),
    "integers": (
        {
            "a": [k % 2 for k in range(ROUNDS)],
            "b": [k % 3 == 0 for k in range(ROUNDS)],
            "y": [(k * k) % 2 for k in range(ROUNDS)],
        },
        {},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_days_one_after_another_equal_one_table(case: str, tmp_path: Path) -> None:
    table, options = CASES[case]
    if case == "integers":
        table = {name: [int(value) for value in column] for name, column in table.items()}
    whole = mb.experts.compare(table, "y", **options)
    path = tmp_path / "state.mb"
    mb.experts.compare(rows(table, 0, 17), "y", save=path, **options)
    for begin, end in ((17, 18), (18, 30), (30, ROUNDS)):
        found = mb.experts.compare(rows(table, begin, end), "y", load=path, save=path, overlap="learn")
    assert {each.rule for each in found.mixes} == {each.rule for each in whole.mixes} != set()
    assert shown(found)["rules"] == shown(whole)["rules"]
    assert shown(found) == shown(whole)
    for one, other in zip(found.mixes, whole.mixes, strict=True):
        assert one.predictions == other.predictions
        assert one.weights.tolist() == other.weights.tolist()
    again = mb.experts.compare(rows(table, 0, ROUNDS), "y", load=path, overlap="skip")
    assert shown(again)["rules"] == shown(whole)["rules"]


def test_every_rule_is_among_these_cases() -> None:
    ran = set()
    for table, options in CASES.values():
        ran |= {each.rule for each in mb.experts.compare(table, "y", **options).mixes}
    assert ran >= {*MIXING, *FOLLOWING}


def test_rows_ahead_are_forecast_and_learned_when_their_outcome_is_known(tmp_path: Path) -> None:
    table, path = numbers(), tmp_path / "state.mb"
    unknown = rows(table, 20, 22) | {"y": [None, None]}
    mb.experts.compare(rows(table, 0, 20), "y", save=path)
    ahead = mb.experts.compare(unknown, "y", load=path, ahead=True, save=path)
    whole = mb.experts.compare(rows(table, 0, 20), "y")
    first, second = (
        {name: column[t] for name, column in table.items() if name in whole.advice.names} for t in (20, 21)
    )
    assert ahead.best.predictions[20:] == [whole.best.learner.predict_one(each) for each in (first, second)]
    known = mb.experts.compare(rows(table, 20, 22), "y", load=path)
    assert known.advice.rounds == 22
    assert shown(known) == shown(mb.experts.compare(rows(table, 0, 22), "y"))


def test_rows_that_were_learned_are_refused_or_skipped(tmp_path: Path) -> None:
    table, path = numbers(), tmp_path / "state.mb"
    mb.experts.compare(rows(table, 0, 20), "y", save=path)
    before = path.read_bytes()
    with pytest.raises(
        mb.StreamError, match=r"row 1: this row \(and 4 more\) was learned already.*overlap='skip'"
    ) as caught:
        mb.experts.compare(rows(table, 15, 30), "y", load=path, save=path)
    assert caught.value.kind == "learned already"
    assert path.read_bytes() == before
    revised = rows(table, 15, 30)
    revised["y"] = [0.0, *revised["y"][1:]]
    skipped = mb.experts.compare(revised, "y", load=path, overlap="skip")
    assert "skipped, because they were learned already: 5 rows; 1 row of them differ" in str(skipped.advice.notes)
    assert shown(skipped) == shown(mb.experts.compare(rows(table, 0, 30), "y"))
    assert mb.experts.compare(rows(table, 15, 30), "y", load=path, overlap="learn").advice.rounds == 35
    with pytest.raises(OptionError, match="overlap must be one of refuse, skip, learn, got 'often'"):
        mb.experts.compare(rows(table, 15, 30), "y", load=path, overlap="often")


@pytest.mark.parametrize("begin", [0, 12])
def test_without_ids_the_same_rows_again_are_recognised(begin: int, tmp_path: Path) -> None:
    table = {name: column for name, column in numbers().items() if name != "date"}
    path = tmp_path / "state.mb"
    mb.experts.compare(rows(table, 0, 12), "y", save=path)
    mb.experts.compare(rows(table, 12, 20), "y", load=path, save=path)
    with pytest.raises(mb.StreamError, match="learned already"):
        mb.experts.compare(rows(table, begin, 25), "y", load=path)
    found = mb.experts.compare(rows(table, begin, 25), "y", load=path, overlap="skip")
    assert shown(found) == shown(mb.experts.compare(rows(table, 0, 25), "y"))


def test_columns_of_the_state_stay_the_same(tmp_path: Path) -> None:
    table, path = numbers(), tmp_path / "state.mb"
    mb.experts.compare(rows(table, 0, 20), "y", save=path)
    later = rows(table, 20, 30) | {"Dan": [50.0] * 10}
    del later["Bob"]
    found = mb.experts.compare(later, "y", load=path)
    assert found.advice.names == ["Ann", "Bob", "Cid"]
    assert not found.advice.awake[20:, 1].any()
    assert "the state does not have these columns: Dan" in str(found.advice.notes)


@pytest.mark.parametrize(
    ("options", "words_of_error"),
    [
        ({"rules": "boa"}, "rules is boa, but the loaded state has ml-poly"),
        ({"loss": "absolute"}, "loss is absolute, but the loaded state has square"),
        ({"experts": ["Ann"]}, "experts is Ann, but the loaded state has Ann, Bob, Cid"),
        ({"classes": ["a", "b"]}, "classes is a, b, but the loaded state has none"),
        ({"eta": 0.5}, "eta is 0.5, but the loaded state has none"),
    ],
)
def test_options_that_contradict_the_state(options: dict[str, Any], words_of_error: str, tmp_path: Path) -> None:
    table, path = numbers(), tmp_path / "state.mb"
    mb.experts.compare(rows(table, 0, 20), "y", save=path)
    with pytest.raises(OptionError) as caught:
        mb.experts.compare(rows(table, 20, 30), "y", load=path, **options)
    assert words_of_error in str(caught.value)
    with pytest.raises(OptionError, match="outcome is Ann, but the loaded state has y"):
        mb.experts.compare(rows(table, 20, 30), "Ann", load=path)
    same = mb.experts.compare(rows(table, 20, 30), "y", load=path, rules="ml-poly", experts=["Ann", "Bob", "Cid"])
    assert same.advice.rounds == 30


def test_a_bad_row_names_its_place_and_changes_nothing(tmp_path: Path) -> None:
    path, table = tmp_path / "state.mb", tmp_path / "day.csv"
    mb.experts.compare({"a": [0.5, 0.25], "y": [1.0, 0.0]}, "y", loss="log", save=path)
    before = path.read_bytes()
    table.write_text("a,y\n0.5,1\n7,1\n")
    with pytest.raises(mb.StreamError, match=r"day.csv:3: .*7"):
        mb.experts.compare(table, "y", load=path, save=path)
    assert path.read_bytes() == before


def test_a_rule_that_fails_on_a_later_day_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "state.mb"
    day = {"a": [0.5, 0.9, 0.8], "b": [0.6, 0.7, 0.5], "y": [1, 1, 0]}
    mb.experts.compare(day, "y", save=path, rules=["ml-poly", "hedge"], eta=0.1)
    tiny = {"a": [1e-150], "b": [2e-150], "y": [0]}  # only rules with a fixed rate can learn such losses
    found = mb.experts.compare(tiny, "y", load=path, save=path)
    assert [each.rule for each in found.refused] == ["ml-poly"]
    assert [each.rule for each in found.mixes] == ["hedge"]
    assert mb.experts.compare({"a": [0.5], "b": [0.5], "y": [1]}, "y", load=path).advice.rounds == 5


def test_what_is_not_a_state(tmp_path: Path) -> None:
    path, model = tmp_path / "state.mb", tmp_path / "model.mb"
    mb.experts.MLPoly().save(model)
    with pytest.raises(mb.ModelError, match=r"model.mb: it holds the model 'MLPoly', not a state"):
        mb.experts.compare(numbers(), "y", load=model)
    mb.experts.compare(numbers(), "y", save=path)
    with pytest.raises(mb.ModelError, match=r"mb.experts.compare\(load="):
        mb.load(path)
    (tmp_path / "text").write_text("a,y\n")
    with pytest.raises(mb.ModelError, match="not a model file"):
        mb.experts.compare(numbers(), "y", load=tmp_path / "text")
    custom = (lambda f, y: (f - y) ** 2, lambda f, y: 2 * (f - y))
    with pytest.raises(mb.ModelError, match="pair of functions"):
        mb.experts.compare(numbers(), "y", loss=custom, save=path)


def test_a_column_of_words_may_hold_numbers_or_nothing_on_another_day(tmp_path: Path) -> None:
    path = tmp_path / "state.mb"
    first = {"Ann": ["u", "v", "1"], "Bob": ["v", "v", "u"], "y": ["u", "v", "1"]}
    mb.experts.compare(first, "y", save=path)
    later = {"Ann": [1.0, 1.0], "Bob": [None, None], "y": [1, 1]}
    found = mb.experts.compare(later, "y", load=path)
    whole = {name: [*column, *("" if cell is None else "1" for cell in later[name])] for name, column in first.items()}
    assert shown(found) == shown(mb.experts.compare(whole, "y"))


def test_rows_that_the_learners_have_not_learned_are_refused(tmp_path: Path) -> None:
    for number, (table, options) in enumerate([(numbers(), {}), (words(), {"ignore": ["net"]})]):
        path = tmp_path / f"{number}.mb"
        state = mb.experts.compare(table, "y", **options).state
        if number:
            state.past.words["Ann"][0] = ("sun", "rain")[state.past.words["Ann"][0] == "sun"]
        else:
            state.past.numbers["Ann"][0] += 1
        save_state(state, path)
        with pytest.raises(mb.ModelError, match="has learned other rows"):
            mb.experts.compare(table, "y", load=path)
