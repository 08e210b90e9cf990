"""A model remembers how its files were read, so that nobody needs to say it again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from files import call

import mistakebound as mb
from mistakebound.data.options import Reading
from mistakebound.data.tables import separator_of
from mistakebound.errors import ModelError
from mistakebound.learners.linear import KINDS
from mistakebound.models.model_file import load_with_progress

ROWS = [
    ("ham", "lunch tomorrow", "3", "a"),
    ("spam", "free prize", "1000", "b"),
    ("ham", "lunch again", "5", "a"),
    ("spam", "prize now", "2000", "b"),
]
NAMES = ("kind", "subject", "size", "list")
TOLD = ("--label", "kind", "--text", "subject", "--bins", "4", "--interact", "list,size", "--separator", ";")


def table(path: Path, *, label: bool = True) -> Path:
    rows = [NAMES, *(ROWS * 5)]
    path.write_text("".join(";".join(row[0 if label else 1 :]) + "\n" for row in rows))
    return path


def predicted(model: Path, file: Path, *more: Any) -> list[str]:
    return call("predict", model, file, *more).split()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    call("run", "--learner", "balanced-winnow", table(tmp_path / "learn.csv"), *TOLD, "--save", tmp_path / "m.mb")
    return tmp_path / "m.mb"


@pytest.mark.parametrize("label", [True, False])
def test_predictions_need_no_options(model: Path, tmp_path: Path, label: bool) -> None:
    assert predicted(model, table(tmp_path / "new.csv", label=label)) == ["ham", "spam"] * 10


def test_options_that_are_set_again_are_used(model: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "new.csv")
    other = file.with_name("commas.csv")
    other.write_text(file.read_text().replace(";", ","))
    assert predicted(model, other, "--separator", ",") == ["ham", "spam"] * 10
    # Here an option sets it:
    assert "kind" in call("predict", model, table(tmp_path / "none.csv", label=False), "--label", "kind", fails=1)


def test_more_is_learned_in_the_same_way(model: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "more.csv")
    assert json.loads(call("run", file, "--load", model, "--save", model, "--json"))["mistakes"] == 0
    assert mb.load(model).ledger_.rounds == 40
    assert predicted(model, file) == ["ham", "spam"] * 10
    assert "kind" in call("run", table(tmp_path / "none.csv", label=False), "--load", model, fails=1)


def test_explanations_and_weights(model: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "new.csv", label=False)
    result = json.loads(call("explain", model, file, "--first", "1", "--json"))
    assert "subject=lunch" in [each["feature"] for each in result["features"]]
    svm = tmp_path / "zero.svm"
    svm.write_text("1 0:1\n-1 7:1\n" * 5)
    call("run", "--learner", "balanced-winnow", svm, "--zero-based", "--save", tmp_path / "z.mb")
    shown = json.loads(call("weights", tmp_path / "z.mb", "--json"))["weights"]
    assert {str(name) for name, weight in shown if weight} == {"0", "7"}
    assert predicted(tmp_path / "z.mb", svm) == ["1", "-1"] * 5


def test_columns_without_the_label(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: [row[place] for row in ROWS * 5] for place, name in enumerate(NAMES)}
    pq.write_table(pa.table(columns), tmp_path / "learn.parquet")
    del columns["kind"]
    pq.write_table(pa.table(columns), tmp_path / "new.parquet")
    call(
        "run",
        "--learner",
        "balanced-winnow",
        tmp_path / "learn.parquet",
        "--label",
        "kind",
        "--text",
        "subject",
        "--save",
        tmp_path / "m.mb",
    )
    for file in ("learn.parquet", "new.parquet"):
        assert predicted(tmp_path / "m.mb", tmp_path / file) == ["ham", "spam"] * 10


def test_the_column_that_is_missed_is_named(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text("size;list\n3;a\n")
    found = call("predict", model, file, fails=1)
    assert f"Error: {file}: " in found
    assert "'subject'" in found
    assert "size, list" in found
    file.write_text("kind;size;list\nham;3;a\n")
    assert "'subject'" in call("explain", model, file, fails=1)


WORDS = "outlook,wind,play\n" + "sunny,weak,yes\nrain,strong,no\nsunny,strong,yes\nrain,weak,no\n" * 3
"""All of it words: the lines alone do not tell whether the first one is a header, if there are few of them."""


def word_model(tmp_path: Path, *more: Any, text: str = WORDS) -> Path:
    (tmp_path / "play.csv").write_text(text)
    call("run", tmp_path / "play.csv", *(more or ("--label", "play")), "--passes", 3, "--save", tmp_path / "p.mb")
    return tmp_path / "p.mb"


def known(model: Path) -> Reading:
    found = mb.load(model).known_reading()
    assert found is not None
    return found


def result(model: Path, text: str, *more: Any) -> list[str]:
    new = model.with_name("new.csv")
    new.write_text(text)
    return call("predict", model, new, *more).splitlines()


def test_a_header_of_words_is_recognised_by_the_model(tmp_path: Path) -> None:
    model = word_model(tmp_path)
    assert result(model, "outlook,wind\nrain,weak\nsunny,weak\n") == ["no", "yes"]
    assert result(model, "wind,outlook\nweak,rain\n") == ["no"]
    assert result(model, "outlook\nsunny\n", "--ignore", "wind") == ["yes"]
    assert result(model, "day,outlook,wind\nmonday,sunny,weak\n") == ["yes"]
    assert result(model, WORDS[: WORDS.index("yes") + 4]) == ["yes"]
    for text in ("outlook\nsunny\n", "a,b\nrain,weak\n", "rain,weak\n"):
        model.with_name("new.csv").write_text(text)
        assert "'wind'" in call("predict", model, model.with_name("new.csv"), fails=1)
        assert "'wind'" in call("predict", model, model.with_name("new.csv"), "--no-header", fails=1)


def test_the_separator_is_detected_by_the_header() -> None:
    names = ["outlook", "wind"]
    assert separator_of(b"outlook;b;wind\nx;y;z\n", ",", names) == ";"
    assert separator_of(b"outlook,b,c\nx,y,z\n", ";", names) == ";"
    assert separator_of(b"a,a\nx,y\n", ",", names) == ","


def test_a_table_without_a_header_has_none_later(tmp_path: Path) -> None:
    """Its first line would look like one: numbers stand below it."""
    lines = "x,1,yes\ny,2,no\n" * 5
    model = word_model(tmp_path, "--label", "3", text=lines)
    found = result(model, "a,b,c\nx,1,yes\ny,2,no\n")
    assert re.search("note: line 1 .*header", found[3])
    assert found[1:3] == ["yes", "no"]
    assert result(model, "a,b,c\nx,1,yes\ny,2,no\n", "--no-header") == found[:3]


def test_columns_survive_a_cache_going_on_and_a_resumed_run(tmp_path: Path) -> None:
    model = word_model(tmp_path)
    names = ["outlook", "wind", "play"]
    assert known(model).columns == names
    for _ in range(2):  # the second time from the cache
        call(
            "run", "--learner", "balanced-winnow", tmp_path / "play.csv", "--label", "play", "--cache", "--save", model
        )
        assert known(model).columns == names
    for _ in range(2):  # the second time there is nothing left to read
        call(
            "run",
            "--learner",
            "balanced-winnow",
            tmp_path / "play.csv",
            "--label",
            "play",
            "--save",
            tmp_path / "r.mb",
            "--resume",
        )
        assert known(tmp_path / "r.mb").columns == names
    (tmp_path / "more.csv").write_text("outlook,play,day\nrain,no,monday\n")
    assert "'wind'" in call("run", tmp_path / "more.csv", "--load", model, fails=1)
    call("run", tmp_path / "more.csv", "--load", model, "--save", model, "--ignore", "wind")
    assert known(model).columns == [*names, "day"]
    assert known(model).table.get("ignore", []) == []  # it was left out of one file only


def test_numbers_of_columns_are_remembered_as_names(tmp_path: Path) -> None:
    """A new file may lack the label, and then every other column has another number."""
    (tmp_path / "num.csv").write_text("kind,id,x,y\n" + "a,7,1,0\nb,1,0,1\n" * 20)
    call(
        "run",
        "--learner",
        "balanced-winnow",
        tmp_path / "num.csv",
        "--label",
        "1",
        "--ignore",
        "2",
        "--save",
        tmp_path / "n.mb",
    )
    file = tmp_path / "new.csv"
    for text in ("kind,id,x,y\nb,9,1,0\nb,9,0,1\n", "id,x,y\n9,1,0\n9,0,1\n", "x,y\n1,0\n0,1\n", "y,x\n0,1\n1,0\n"):
        file.write_text(text)
        assert predicted(tmp_path / "n.mb", file) == ["a", "b"]
    reading = known(tmp_path / "n.mb")
    assert (reading.label, reading.table["ignore"]) == ("kind", ["id"])


def test_options_of_text_are_not_used_for_other_formats(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "l.csv").write_text("kind;x;z\n" + "a;1;0\nb;0;1\n" * 20)
    result = ("--label", "kind", "--separator", ";", "--header", "--format", "table", "--ignore", "z")
    call("run", "--learner", "balanced-winnow", tmp_path / "l.csv", *result, "--save", tmp_path / "l.mb")
    pq.write_table(pa.table({"x": [1, 0]}), tmp_path / "new.parquet")
    assert predicted(tmp_path / "l.mb", tmp_path / "new.parquet") == ["a", "b"]
    (tmp_path / "new.jsonl").write_text('{"x": 1}\n{"x": 0}\n')
    assert predicted(tmp_path / "l.mb", tmp_path / "new.jsonl", "--format", "json") == ["a", "b"]
    (tmp_path / "new.vw").write_text("| x:1\n| x:0\n")
    assert predicted(tmp_path / "l.mb", tmp_path / "new.vw", "--format", "vw") == ["a", "b"]
    # Who says it now means it.
    output = call("predict", tmp_path / "l.mb", tmp_path / "new.jsonl", "--format", "json", "--header", fails=1)
    assert re.search("header.*tables", output)


GOOD: dict[str, Any] = {"format": "auto", "label": "kind", "zero_based": False, "table": {}}


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {**GOOD, "format": "exe"},
        {**GOOD, "label": 3},
        {**GOOD, "zero_based": 1},
        {**GOOD, "table": []},
        {**GOOD, "table": {"text": "subject"}},
        {**GOOD, "table": {"text": [1]}},
        {**GOOD, "table": {"interact": [["a"]]}},
        {**GOOD, "table": {"words": "2"}},
        {**GOOD, "table": {"words": True}},
        {**GOOD, "table": {"header": 1}},
        {**GOOD, "table": {"separator": 9}},
        {**GOOD, "table": {"more": 1}},
        {**GOOD, "more": 1},
        {**GOOD, "columns": "abc"},
        {**GOOD, "columns": [1]},
        {**GOOD, "columns": ["\ud800"]},
    ],
)
def test_invalid_reading_options_in_a_model_are_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        Reading.from_json(wrong)
    learner = mb.Perceptron()
    learner.learn_one({"a": 1}, True)
    learner._play.reading = SimpleNamespace(to_json=lambda: wrong, table={})
    learner.save(tmp_path / "m.mb")
    with pytest.raises(ModelError, match="cannot load"):
        mb.load(tmp_path / "m.mb")
    assert "cannot load" in call("predict", tmp_path / "m.mb", table(tmp_path / "new.csv"), fails=1)


def test_a_model_without_files_has_no_reading_options(tmp_path: Path) -> None:
    learner = mb.Perceptron()
    learner.learn_one({"a": 1}, True)
    learner.save(tmp_path / "m.mb")
    assert mb.load(tmp_path / "m.mb").known_reading() is None
    assert load_with_progress(tmp_path / "m.mb", KINDS)[1] is None


def test_the_names_in_line_1_are_listed_beside_the_numbers(tmp_path: Path) -> None:
    """It is not known whether line 1 of a table of words is a header."""
    path = tmp_path / "mail.csv"
    path.write_text("subject,kind\nwin now,spam\nlunch then,ham\n")
    for words in (("--label", "nokind"), ("--label", "2", "--text", "nosubject")):
        result = call("run", "--learner", "balanced-winnow", path, *words, fails=1)
        assert all(each in result for each in (words[-1], "c1, c2", "subject, kind", "line 1", "--header"))
    with pytest.raises(ValueError, match="subject, kind") as caught:
        mb.Perceptron().run(mb.Source(path, label="nokind"))
    assert '{"header": True}' in str(caught.value)
    assert "--header" not in str(caught.value)
    assert "subject" not in call(
        "run", "--learner", "balanced-winnow", path, "--label", "nokind", "--no-header", fails=1
    )
    assert "line 1" not in call(
        "run", "--learner", "balanced-winnow", path, "--label", "1", "--text", "1", fails=1
    )  # that is another fault
    path.write_text("1,a\n2,b\n3,a\n")  # no name of a column is a number
    assert "line 1" not in call("run", "--learner", "balanced-winnow", path, "--label", "kind", fails=1)
