"""Parquet and Arrow: the same examples as a table of text has, by the same names, to the last byte of the model."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.data import arrow as columnar
from mistakebound.models.model_file import fingerprint

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
feather = pytest.importorskip("pyarrow.feather")
ipc = pytest.importorskip("pyarrow.ipc")
parquet = pytest.importorskip("pyarrow.parquet")


def stream(table: Any, path: Path) -> None:
    with ipc.new_stream(str(path), table.schema) as out:
        out.write_table(table, max_chunksize=70)


WRITERS: dict[str, Callable[[Any, Path], Any]] = {
    "parquet": lambda table, path: parquet.write_table(table, path, row_group_size=90),
    "feather": lambda table, path: feather.write_feather(table, str(path), chunksize=60),
    "uncompressed": lambda table, path: feather.write_feather(table, str(path), compression="uncompressed"),
    "stream": stream,
}


def learned(path: Path, **options: Any) -> tuple[int, str]:
    """Rounds, and all that was learned."""
    learner = mb.BalancedWinnow(update_margin=0.01)
    rounds = learner.run(mb.Source(path, **options)).rounds
    return rounds, fingerprint(learner)


def features(written: Any, path: Path, **options: Any) -> list[tuple[Any, dict[str, float]]]:
    """(label, {name: value}) of each row."""
    feather.write_feather(written, str(path))  # which keeps every type
    rows = []
    for part in mb.Source(path, label="y", **options).open():
        assert part.error is None
        chunk = part.chunk
        for row in range(part.rows):
            at = range(chunk.indptr[row], chunk.indptr[row + 1])
            rows.append((part.label(row), {chunk.name(k).decode(): float(chunk.value[k]) for k in at}))
    return rows


@pytest.fixture
def rows() -> Any:
    """300 rows with all that a table can hold."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(300)
    colour = rng.choice(["red", "blue, dark", 'gr"een', "two\nlines", " pad ", "?"], 300)
    return pa.table(
        {
            "x": pa.array(x, mask=rng.random(300) < 0.1),
            "k": pa.array(rng.integers(0, 5, 300), pa.int16()),
            "colour": pa.array(colour, mask=rng.random(300) < 0.1),
            "said": rng.choice(["Win money", "lunch now", ""], 300),
            "y": np.where(x + (colour == "red") > 0.5, "yes", "no"),
        }
    )


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_model_as_from_csv(
    rows: Any, writer: str, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Label, text, categories, interactions and what is left out, whatever the size of a batch."""
    csv.write_csv(rows, tmp_path / "a.csv", csv.WriteOptions(quoting_style="all_valid"))
    WRITERS[writer](rows, tmp_path / "a")
    table = {"text": ["said"], "words": 2, "categorical": ["2"], "interact": [("k", "colour")]}
    for options in (
        {"label": "y", "table": table},
        {"label": "5", "table": {"ignore": ["x", "k"]}},
        {"label": "y", "positive": "yes"},
    ):
        wanted = learned(tmp_path / "a.csv", **options)
        for cells in (1, 100, 1 << 18):
            monkeypatch.setattr(columnar, "CELLS", cells)
            assert learned(tmp_path / "a", threads=threads, **options) == wanted


PLAIN = {"auto": False}


def test_kinds_of_values(tmp_path: Path) -> None:
    """Plain: numbers are exact, false and zero are nothing, strings are categories even if they look like numbers."""
    table = pa.table(
        {
            "y": ["a", "b"],
            "float": pa.array([0.1, None], pa.float32()),
            "whole": pa.array([2**40, 0], pa.int64()),
            "decimal": [Decimal("1.25"), None],
            "flag": [True, False],
            "string": ["12", None],
            "category": pa.array(["p", "q"]).dictionary_encode(),
            "number category": pa.array([7, 8]).dictionary_encode(),
            "date": [dt.date(2024, 2, 29), None],
            "deep": [{"a": 1, "b": {"c": "x"}}, {"a": None, "b": None}],
            "none": pa.nulls(2),
        }
    )
    assert features(table, tmp_path / "t", table=PLAIN) == [
        (
            "a",
            {
                "float": float(np.float32(0.1)),
                "whole": 2.0**40,
                "decimal": 1.25,
                "flag": 1.0,
                "string=12": 1.0,
                "category=p": 1.0,
                "number category=7": 1.0,
                "date=2024-02-29": 1.0,
                "deep.a": 1.0,
                "deep.b.c=x": 1.0,
            },
        ),
        ("b", {"category=q": 1.0, "number category=8": 1.0}),
    ]


def test_lists_of_strings_are_words_with_the_option_text(tmp_path: Path) -> None:
    table = pa.table({"y": ["a", "b", "a"], "tags": [["Red car", "blue"], None, ["x", None]]})
    found = [x for _, x in features(table, tmp_path / "t", table={"text": ["tags"]})]
    assert found == [{"tags=red": 1, "tags=car": 1, "tags=blue": 1}, {}, {"tags=x": 1}]
    with pytest.raises(ValueError, match=r"t: column 'tags' .*list.*\"text\": "):
        features(table, tmp_path / "t", table=PLAIN)
    assert features(table, tmp_path / "t", table={"ignore": ["tags"]}) == [("a", {}), ("b", {}), ("a", {})]
    with pytest.raises(ValueError, match=r"column 'v' .*list<.*\"ignore\": "):
        features(pa.table({"y": ["a"], "v": [[1, 2]]}), tmp_path / "t")


def test_labels_that_are_true_or_false_or_numbers(tmp_path: Path) -> None:
    assert features(pa.table({"y": [True, False], "x": [1, 2]}), tmp_path / "t") == [
        ("true", {"x": 1}),
        ("false", {"x": 2}),
    ]
    assert [y for y, _ in features(pa.table({"y": [1.0, -1.0, None], "x": [1, 2, 3]}), tmp_path / "t")] == [1, -1, None]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_the_error_for_a_value_that_is_not_finite_has_file_row_and_column(value: float, tmp_path: Path) -> None:
    """Rows count from 1 through all batches, also after texts of several lines; skip_bad leaves the row out."""
    path = tmp_path / "t.parquet"
    table = pa.table({"y": ["a", "b\nc", "a", "a"], "x": [1.0, 2.0, value, 3.0]})
    parquet.write_table(table, path, row_group_size=2)
    learner = mb.Perceptron(classes=("a", "b\nc"))
    with pytest.raises(mb.StreamError, match="'-?(nan|inf)'.*'x'.*finite") as caught:
        learner.run(mb.Source(path, label="y", table=PLAIN))
    assert (caught.value.file, caught.value.line, caught.value.in_rows) == (str(path), 3, True)
    assert learner.ledger_.rounds == 2
    source = mb.Source(path, label="y", skip_bad=1, table=PLAIN)
    learner = mb.Perceptron(classes=("a", "b\nc"))
    ledger = learner.run(source)
    assert ledger.rounds == 3
    assert [(line.line, line.in_rows) for line in ledger.reading.skipped] == [(3, True)]
    parquet.write_table(pa.table({"y": ["a", "b", "a", "c"], "x": [float("nan"), 1.0, 1.0, 1.0]}), path)
    with pytest.raises(mb.StreamError) as caught:
        mb.Perceptron().run(mb.Source(path, label="y", skip_bad=1))
    assert (caught.value.file, caught.value.line, caught.value.in_rows) == (str(path), 4, True)
    assert (caught.value.kind, caught.value.value) == ("third label", "c")


def test_labels_in_a_file_of_their_own_and_one_column(tmp_path: Path) -> None:
    """A null in a table of one column is a row, too."""
    parquet.write_table(pa.table({"x": pa.array([1.0, None, 2.0])}), tmp_path / "t")
    (tmp_path / "y").write_text("a\nb\na\n")
    assert mb.Perceptron().run(mb.Source(tmp_path / "t", labels=tmp_path / "y")).rounds == 3


def test_files_with_columns_in_another_order_and_with_texts(rows: Any, tmp_path: Path) -> None:
    """Names are what counts: each file of columns has its own order, and may stand beside CSV."""
    parquet.write_table(rows.slice(0, 100), tmp_path / "1")
    parquet.write_table(rows.slice(100, 100).select(rows.column_names[::-1]), tmp_path / "2")
    parquet.write_table(rows, tmp_path / "all")
    one, two = mb.Perceptron(), mb.Perceptron()
    one.run(mb.Source([tmp_path / "1", tmp_path / "2"], label="y"))
    two.run(mb.Source(tmp_path / "all", label="y"))
    assert one.ledger_.rounds == 200
    assert set(one.weights_) <= set(two.weights_)  # type: ignore[arg-type]


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken and foreign files, columns that are not there, a pipe, and pyarrow not installed."""
    path = tmp_path / "t"
    parquet.write_table(pa.table({"y": ["a"], "x": [1]}), path)
    with pytest.raises(ValueError, match=r"t: .*'z'.*y, x"):
        mb.Perceptron().run(mb.Source(path, label="z"))
    with pytest.raises(ValueError, match="header.*text tables"):
        mb.Perceptron().run(mb.Source(path, label="y", table={"header": True}))
    whole = path.read_bytes()
    for broken in (
        whole[:-5],
        whole[: len(whole) // 2],
        b"PAR1",
        b"ARROW1\0\0",
        b"\xff\xff\xff\xff\x10\0\0\0",
        b"FEA1",
    ):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"t: ."):
            mb.Perceptron().run(mb.Source(path, label="y"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'mistakebound\[arrow\]'"):
        mb.Perceptron().run(mb.Source(path, label="y"))
