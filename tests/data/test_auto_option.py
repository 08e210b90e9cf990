"""The option ``auto``: options of columns win over it, and models and caches store it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.cells import cell, rows_of

import mistakebound as mb
from mistakebound.data.frame import FrameSource
from mistakebound.data.options import Reading
from mistakebound.errors import OptionConflictError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_options_of_a_column_win(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n,c,t,a,b,y\n9,5,New,8,x y,1\n,,,,,0\n")
    table = {"categorical": ["c"], "text": ["t"], "interact": [("a", "b")]}
    first, second = rows_of(mb.Source(path, label="y", table=table).open())
    assert first == {"n": 4.125, "c=5": 1, "t=new": 1, "a": 8, "b=x y": 1, "a*b=x y": 8}
    assert second == {"n=": 1}


def test_bins_make_categories_of_numbers_and_parts_of_dates() -> None:
    assert cell("9", bins=1) == {"c=8..16": 1}
    assert cell("2030-01-01", bins=1) == {"c:weekday=Tue": 1, "c:month=Jan": 1, "c:trend=1..2": 1}
    assert set(cell("13:45", bins=1).values()) == {1.0}


@pytest.mark.parametrize("new", [lambda: mb.Winnow(threshold=16), mb.Elimination])
def test_rules_for_binary_features_read_tables(new: Callable[[], Any], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n,ok,when,said,y\n9,true,2024-03-01,New York,yes\n,false,,tea,no\n0,true,2024-03-02T12:00,,yes\n")
    assert new().run(mb.Source(path, label="y", table={"bins": 4})).rounds == 3
    assert new().run(mb.Source(path, label="y", table={"ignore": ["n", "when"]})).rounds == 3


def test_plain_reads_numbers_and_categories_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n,c,d,y\n9,New York,2024-03-01,1\n,?,,0\n")
    found = rows_of(mb.Source(path, label="y", table={"auto": False}).open())
    assert found == [{"n": 9, "c=New York": 1, "d=2024-03-01": 1}, {}]


# ---------------------------------------------------------------------- models, caches


def test_a_model_stores_how_cells_are_read(tmp_path: Path) -> None:
    path, model = tmp_path / "a.csv", tmp_path / "m"
    path.write_text("n,c,y\n9,New York,1\n5,tea,0\n")
    learner = mb.Perceptron()
    learner.run(mb.Source(path, label="y"))
    learner.save(model)
    known = mb.load(model).known_reading()
    assert known is not None
    assert known.table["auto"] is True
    with pytest.raises(OptionConflictError):
        mb.load(model).run(mb.Source(path, table={"auto": False}))


def test_a_model_without_the_option_reads_as_before(tmp_path: Path) -> None:
    """So do DataFrames and dicts; and the option cannot be added."""
    path = tmp_path / "a.csv"
    path.write_text("n,c,y\n9,New York,1\n5,tea,0\n")
    old = Reading("table", "y", table={"separator": ",", "header": True}, columns=["n", "c", "y"])
    plain = [{"n": 9, "c=New York": 1}, {"n": 5, "c=tea": 1}]
    assert rows_of(mb.Source(path).open(old)) == plain
    pd = pytest.importorskip("pandas")
    assert (
        rows_of(FrameSource(pd.DataFrame({"n": [9, 5], "c": ["New York", "tea"]})).open(old, labels_needed=False))
        == plain
    )
    with pytest.raises(OptionConflictError):
        mb.Source(path, table={"auto": True}).open(old)
    learner = mb.Perceptron()
    learner.run(mb.Source(path, label="y", table={"auto": False}))
    assert learner.predict_one({"n": 9, "c=New York": 1}) == learner.predict_one({"n": 9, "c": "New York"})


def test_a_cache_is_not_used_for_another_meaning(tmp_path: Path) -> None:
    path, cache = tmp_path / "a.csv", tmp_path / "cache"
    path.write_text("n,y\n9,1\n5,0\n")
    old = Reading("table", "y", table={"separator": ",", "header": True}, columns=["n", "y"])
    new = Reading("table", "y", table={"separator": ",", "header": True, "auto": True}, columns=["n", "y"])
    for _ in range(2):
        assert rows_of(mb.Source(path, cache=cache).open(old)) == [{"n": 9}, {"n": 5}]
        assert rows_of(mb.Source(path, cache=cache).open(new)) == [{"n": 4.125}, {"n": 3.25}]
        assert rows_of(mb.Source(path, cache=cache, label="y").open()) == [{"n": 4.125}, {"n": 3.25}]
