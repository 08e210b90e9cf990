"""``experts.compare`` and ``forecasters.compare`` return for a table what the commands print."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import call

import mistakebound as mb
from mistakebound.errors import InputError, OptionError

NAN = math.nan


def columns(rounds: int = 40, asleep: float = 0.2, seed: int = 3) -> dict[str, Any]:
    """Two experts of numbers and a column of words, some of them asleep."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=rounds).round(2)
    table = {"a": (y + 1).round(2), "b": (y + rng.normal(size=rounds)).round(2)}
    table["a"][rng.random(rounds) < asleep] = NAN
    return {"day": [f"day {t}" for t in range(rounds)], **table, "y": y}


def written(path: Path, table: dict[str, Any]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        for row in zip(*table.values(), strict=True):
            writer.writerow(["" if cell != cell else cell for cell in row])  # noqa: PLR0124 - NaN
    return path


def without_time(told: dict[str, Any]) -> dict[str, Any]:
    for rule in told["rules"]:
        del rule["seconds"], rule["learning_seconds"]
    return told


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], {}),
        (["--rule", "all"], {"rules": "all"}),
        (["--rule", "hedge,boa", "--eta", "0.1"], {"rules": ["hedge", "boa"], "eta": 0.1}),
        (["--loss", "absolute", "--no-gradient"], {"loss": "absolute", "gradient": False}),
        (["--experts", "b", "--switches", "0"], {"experts": ["b"], "switches": 0}),
        (["--ignore", "day"], {"ignore": ["day"]}),
    ],
)
def test_compare_in_python_equals_the_command(words: list[str], given: dict[str, Any], tmp_path: Path) -> None:
    table = columns()
    path = written(tmp_path / "load.csv", table)
    expected = without_time(json.loads(call("experts", path, "--outcome", "y", *words, "--json")))
    for source in (path, str(path), [path], table):
        told = without_time(json.loads(mb.experts.compare(source, "y", **given).to_json()))
        notes = told.pop("notes")
        assert told == {name: value for name, value in expected.items() if name != "notes"}
        assert len(notes) == len(expected["notes"])
    assert not any("--" in note for note in notes)


def test_a_data_frame_is_a_table(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = columns()
    frame = pandas.DataFrame(table)
    frame.loc[3, "day"] = None
    one, other = mb.experts.compare(frame, "y"), mb.experts.compare(table, "y")
    assert without_time(json.loads(one.to_json())) == without_time(json.loads(other.to_json()))


def test_labels_and_classes_of_a_table_in_memory() -> None:
    votes = {"a": ["yes", None, "no"], "b": ["no", "no", "no"], "truth": ["yes", "no", "no"]}
    found = mb.experts.compare(votes, "truth")
    assert (found.best.rule, found.of_labels, found.expert_rounds.tolist()) == ("weighted-majority", True, [2, 3])
    odds = {"P_H": [0.5, 0.25], "P_A": [0.5, 0.75], "Q_H": [1.0, 0.0], "Q_A": [0.0, 1.0], "won": ["H", "A"]}
    found = mb.experts.compare(odds, "won", classes=["H", "A"])
    assert found.expert_means.tolist() == pytest.approx([(0.5 + 0.125) / 2, 0.0])
    assert found.measure == "Brier loss"


def test_the_attributes_of_a_comparison() -> None:
    table = columns(asleep=0.0)
    found = mb.experts.compare(table, "y", rules=["ml-poly", "adahedge"])
    A, y = np.column_stack([table["a"], table["b"]]), table["y"]
    mixes = {each.rule: each for each in found.mixes}
    ledger = mb.experts.MLPoly().run(A, y)
    assert mixes["ml-poly"].losses == pytest.approx(ledger.losses)
    assert mixes["ml-poly"].expert_regrets == pytest.approx(ledger.regrets)
    assert mixes["ml-poly"].regrets["convex"] == pytest.approx(ledger.total_loss - mb.oracles.best_convex(A, y).total)
    assert found.best.mean == min(each.mean for each in found.mixes)
    assert repr(found).startswith("<Comparison: 40 rounds, 2 experts; square loss; best rule ")
    file = io.StringIO()
    found.write_predictions(file)
    assert file.getvalue().splitlines()[0] == f"day,y,{found.mixes[0].rule},{found.mixes[1].rule}"
    steps: list[tuple[str, int, int, int]] = []
    mb.experts.compare(table, "y", progress=lambda *step: steps.append(step))
    assert steps == [("ml-poly", 0, 2, 80), ("the best in hindsight", 1, 2, 80)]


@pytest.mark.parametrize(
    ("table", "given", "fields", "parts"),
    [
        (
            {"a": [1.0, 2.0], "y": [1.0, None]},
            {},
            {"kind": "no outcome", "line": 2, "feature": "y"},
            ["row 2: ", "'y'", "ahead=True"],
        ),
        (
            {"a": [1.0, 2.0, 3.0], "y": [1.0, None, 2.0]},
            {},
            {"kind": "bad row", "line": 2},
            ["row 2: ", "'y'", "skip_bad=1"],
        ),
        (
            {"a": ["1", "2", "?"], "y": [1.0, 2.0, 3.0]},
            {},
            {"kind": "word", "line": 3, "feature": "a", "value": "?"},
            ["ignore='a'"],
        ),
        ({"a": [1.0], "y": [1.0]}, {"experts": ["b"]}, {"kind": "unknown column", "feature": "b"}, ["no column 'b'"]),
        ({"a": [1.0], "z": [1.0]}, {}, {"kind": "unknown column", "feature": "y"}, ["no column 'y'"]),
        (
            {"a": [1.0], "y": [2.0]},
            {"eta": 1},
            {"kind": "unknown parameter", "option": "eta", "value": 1},
            ["eta", "ml-poly"],
        ),
        (
            {"a": [1.0], "y": [2.0]},
            {"rules": "hedge", "eta": -1},
            {"kind": "out of range"},
            ["eta must be", "got -1"],
        ),
        (
            {"a": [1.0], "y": [2.0]},
            {"rules": "best"},
            {"kind": "unknown rule", "value": "best"},
            ["no rule 'best'"],
        ),
        (
            {"a": [0.5, 1.5], "y": [1.0, 0.0]},
            {"loss": "log"},
            {"kind": "bad round", "line": 2},
            ["row 2: ", "expert 'a'", "1.5", "log loss", "loss='square'"],
        ),
        (
            {"a": [0.5, 0.5], "y": ["sun", "rain"]},
            {},
            {"kind": "no expert", "feature": "y"},
            ["classes=['rain', 'sun']", "positive='sun'"],
        ),
        ({"a": [1.0, 2.0], "y": [1.0]}, {}, {"kind": "different lengths"}, ["length", "1, 2"]),
        ({"a": [1.0, {}], "y": [1.0, 2.0]}, {}, {"kind": "word", "line": 2, "feature": "a"}, ["number"]),
    ],
)
def test_errors_have_fields_and_name_parameters_of_python(
    table: dict[str, Any], given: dict[str, Any], fields: dict[str, Any], parts: list[str]
) -> None:
    with pytest.raises(InputError) as error:
        mb.experts.compare(table, "y", **given)
    assert {name: getattr(error.value, name) for name in fields} == fields
    assert [part for part in parts if part not in str(error.value)] == []
    assert "--" not in str(error.value)
    misuse = fields["kind"] in ("unknown parameter", "out of range", "unknown rule")
    assert isinstance(error.value, OptionError if misuse else mb.StreamError)


# ---------------------------------------------------------------------- forecasters


def test_forecasters_of_a_table_as_the_command(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 60)
    table: dict[str, Any] = {"Alice": np.clip(0.6 * y + 0.2, 0, 1), "Bob": rng.random(60).round(3)}
    table |= {"day": ["Mon"] * 60, "rain": np.where(y == 1, "wet", "dry").tolist()}
    table["Bob"][5] = NAN
    path = written(tmp_path / "rain.csv", table)
    expected = call("forecasters", path, "--outcome", "rain", "--positive", "wet", "--alpha", 0.1, "--json").strip()
    for source in (path, table):
        report = mb.forecasters.compare(source, outcome="rain", positive="wet", alpha=0.1)
        assert report.to_json() == expected
        assert [each.partition(":")[0] for each in report.left] == ["day"]
    P = {name: table[name] for name in ("Alice", "Bob")}
    assert mb.forecasters.compare(P, y, alpha=0.1).to_json() == expected
    one = mb.forecasters.compare(table, names=["Bob"], outcome="rain", positive="wet")
    assert list(one.scores) == ["Bob"]


def test_errors_of_a_table_of_forecasters() -> None:
    with pytest.raises(mb.StreamError, match="positive") as error:
        mb.forecasters.compare({"a": [0.5], "y": ["wet"]}, outcome="y")
    assert (error.value.kind, error.value.line, error.value.feature) == ("neither 0 nor 1", 1, "y")
    with pytest.raises(mb.StreamError, match=r"\b100\b") as error:
        mb.forecasters.compare({"a": [50.0, 70.0], "y": [1, 0]}, outcome="y")
    assert error.value.kind == "no forecaster"
    with pytest.raises(mb.StreamError, match="'a'") as error:
        mb.forecasters.compare({"a": [0.5, 7.0], "y": [1, 0]}, names=["a"], outcome="y")
    assert (error.value.line, error.value.feature, error.value.value) == (2, "a", 7.0)
    with pytest.raises(TypeError, match="positive.*outcome"):
        mb.forecasters.compare({"a": [0.5]}, [1], positive="wet")
    with pytest.raises(TypeError, match="y or outcome"):
        mb.forecasters.compare({"a": [0.5]})
