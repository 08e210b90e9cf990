"""The same table as CSV, JSON lines, Parquet, Arrow and DataFrame gives the same features without options."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.cells import rows_of

import mistakebound as mb
from mistakebound.data.frame import FrameSource, records
from mistakebound.data.tables import header_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COLUMNS: dict[str, list[Any]] = {
    "size": [3, 9_000_000, -0.5, 0, 1e-40, 1e300],
    "part": [0.25, None, 2.0, float("nan"), -7.5, 4.0],
    "host": ["a.example", "B.Example", "New York", "new", "c++", None],
    "said": ["Win money now, or never!", "lunch?", "", "money", "OK", "tea  and\tlunch"],
    "ok": [True, False, None, True, False, True],
    "day": [
        dt.date(2024, 2, 29),
        None,
        dt.date(1, 1, 1),
        dt.date(9999, 12, 31),
        dt.date(2020, 1, 1),
        dt.date(1969, 7, 20),
    ],
    "when": [
        dt.datetime(2024, 2, 29, 13, 45, 10, 500),  # noqa: DTZ001 - a table has times without a zone
        dt.datetime(2024, 3, 1),  # noqa: DTZ001 - a table has times without a zone
        None,
        dt.datetime(2019, 12, 31, 23, 59, 59),  # noqa: DTZ001 - a table has times without a zone
        dt.datetime(2020, 1, 1, 0, 30),  # noqa: DTZ001 - a table has times without a zone
        dt.datetime(1970, 1, 1, 6),  # noqa: DTZ001 - a table has times without a zone
    ],
    "at": [dt.time(13, 45), dt.time(0), dt.time(23, 59, 59), None, dt.time(7, 5), dt.time(12)],
    "code": ["12", "007", "NA", "1e3", "x1", "-"],
    "y": ["a", "b", "a", "b", "a", "b"],
}
NAMES = list(COLUMNS)
EXPECTED = [
    {
        "size": 2.5,
        "part": 0.25,
        "host=a.example": 1,
        **dict.fromkeys(["said=win", "said=money", "said=now", "said=or", "said=never!"], 1),
        "ok=true": 1,
        "day:weekday=Thu": 1,
        "day:month=Feb": 1,
        "day:trend": 1520 / 3652.425,
        "when:weekday=Thu": 1,
        "when:month=Feb": 1,
        "when:hour=13": 1,
        "when:trend": (1520 + 49510 / 86400) / 3652.425,
        "at:hour=13": 1,
        "at:time": 49500 / 86400,
        "code": 4.5,
    },
    {
        "size": 23 + 9_000_000 / 2**23,
        "part=": 1,
        "host=b.example": 1,
        "said=lunch": 1,
        "ok=false": 1,
        "day=": 1,
        "when:weekday=Fri": 1,
        "when:month=Mar": 1,
        "when:trend": 1521 / 3652.425,
        "at:hour=0": 1,
        "code": 3.75,
    },
    {
        "size": -0.5,
        "part": 2,
        "host=new": 1,
        "host=york": 1,
        "host=new york": 1,
        "said=": 1,
        "ok=": 1,
        "day:weekday=Mon": 1,
        "day:month=Jan": 1,
        "day:trend": -(7 + 737424 / 3652.425 / 2**7),
        "when=": 1,
        "at:hour=23": 1,
        "at:time": 86399 / 86400,
        "code=": 1,
    },
]


def text_of(value: Any) -> str:
    return "" if value is None or value != value else str(value)  # noqa: PLR0124 - NaN


def write_csv(path: Path) -> None:
    path.write_bytes(header_of(NAMES) + records([list(map(text_of, cells)) for cells in COLUMNS.values()]))


def write_tsv(path: Path) -> None:
    lines = zip(*(map(text_of, cells) for cells in COLUMNS.values()), strict=True)
    path.write_text(
        "\t".join(NAMES) + "\n" + "".join("\t".join(line).replace("and\t", "and ") + "\n" for line in lines)
    )


def write_json(path: Path) -> None:
    def value(each: Any) -> Any:
        missing = each is None or each != each  # noqa: PLR0124 - NaN
        return None if missing else each if isinstance(each, (bool, int, float, str)) else each.isoformat()

    rows = zip(*COLUMNS.values(), strict=True)
    path.write_text("".join(json.dumps(dict(zip(NAMES, map(value, row), strict=True))) + "\n" for row in rows))


def arrow() -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.table({name: pa.array(cells, from_pandas=False) for name, cells in COLUMNS.items()})


def write_parquet(path: Path) -> None:
    table = arrow()
    pytest.importorskip("pyarrow.parquet").write_table(table, path)


def write_arrow(path: Path) -> None:
    pa, table = pytest.importorskip("pyarrow"), arrow()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


WRITERS: dict[str, Callable[[Path], None]] = {
    "csv": write_csv,
    "tsv": write_tsv,
    "json": write_json,
    "parquet": write_parquet,
    "arrow": write_arrow,
}


def frame() -> Any:
    """Return a DataFrame with typed columns, where pandas has a type."""
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({name: cells for name, cells in COLUMNS.items() if name != "day"})
    table["when"] = pd.to_datetime(table["when"])
    table["ok"] = table["ok"].astype("boolean")
    table["host"] = table["host"].astype("category")
    table["day"] = pd.Series(COLUMNS["day"], dtype=object)
    return table[NAMES]


@pytest.mark.parametrize("form", [*WRITERS, "frame"])
def test_every_format_gives_the_same_features(form: str, tmp_path: Path) -> None:
    path = tmp_path / "table"
    if form == "frame":
        found = rows_of(FrameSource(frame().drop(columns="y")).open(labels_needed=False))
    else:
        WRITERS[form](path)
        found = rows_of(mb.Source(path, label="y").open())
    write_csv(path)
    assert found[:3] == [pytest.approx(row, rel=1e-15) for row in EXPECTED]
    assert found == rows_of(mb.Source(path, label="y").open())


@pytest.mark.parametrize("form", [*WRITERS, "frame"])
def test_a_model_of_one_format_reads_all_others(form: str, tmp_path: Path) -> None:
    """Also rows of a DataFrame one at a time, and dicts."""
    learner = mb.Arow()
    path = tmp_path / "table"
    if form == "frame":
        learner.run(frame().drop(columns="y"), COLUMNS["y"])
    else:
        WRITERS[form](path)
        learner.run(mb.Source(path, label="y"))
    learner.save(tmp_path / "model")
    learner = mb.load(tmp_path / "model")
    scores = learner.decision_function(frame().drop(columns="y"))
    for write in WRITERS.values():
        write(path)
        assert learner.decision_function(mb.Source(path)).tolist() == scores.tolist()
    rows = frame().drop(columns="y")
    assert [learner.score_one(rows.iloc[at]) for at in range(len(rows))] == pytest.approx(scores.tolist(), rel=1e-12)
    dicts = [{name: cells[at] for name, cells in COLUMNS.items() if name != "y"} for at in range(6)]
    assert [learner.score_one(each) for each in dicts] == pytest.approx(scores.tolist(), rel=1e-12)


def test_rows_one_at_a_time_give_the_features_of_the_frame() -> None:
    whole, single, dicts = (mb.Perceptron(classes=("a", "b")) for _ in range(3))
    rows = frame().drop(columns="y")
    whole.run(rows, COLUMNS["y"])
    for at, label in enumerate(COLUMNS["y"]):
        single.learn_one(rows.iloc[at], label)
    assert single.weights_ == whole.weights_
    dicts.run(rows[:1], ["a"])
    dicts.run(
        [{name: cells[at] for name, cells in COLUMNS.items() if name != "y"} for at in range(1, 6)], COLUMNS["y"][1:]
    )
    assert dicts.weights_ == whole.weights_


def test_a_frame_of_numbers_of_any_size_is_learned() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x = rng.random(300) * 10.0 ** rng.integers(-40, 300, 300)
    ledger = mb.Panel().run(pd.DataFrame({"x": x, "z": rng.random(300)}), x > 1e9)
    assert ledger.mistakes < 30
