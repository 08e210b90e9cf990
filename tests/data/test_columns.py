"""Files read as columns: every format gives the same columns, zeros differ from empty fields, errors have lines."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mistakebound import _core
from mistakebound.data.columns import named, read_columns, row_lines
from mistakebound.data.source import Source
from mistakebound.errors import StreamError

ROWS: list[dict[str, Any]] = [
    {"day": "Mon", "Alice": 0.25, "Bob": 0.0, "rain": 0},
    {"day": "Tue", "Alice": None, "Bob": 1e-300, "rain": 1},
    {"day": "Wed, late", "Alice": 1, "Bob": 0.1, "rain": 0},
    {"day": None, "Alice": 0, "Bob": None, "rain": 1},
]
NAMES = list(ROWS[0])


def table(separator: str) -> bytes:
    lines = [separator.join(NAMES)]
    for row in ROWS:
        fields = ["" if value is None else str(value) for value in row.values()]
        lines.append(separator.join(f'"{each}"' if "," in each else each for each in fields))
    return ("\n".join(lines) + "\n").encode()


def json_lines() -> bytes:
    return "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def parquet(path: Path, nan: bool = False) -> Path:
    pa, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {name: [row[name] for row in ROWS] for name in NAMES}
    if nan:
        columns["Alice"] = [math.nan if value is None else float(value) for value in columns["Alice"]]
    writer.write_table(pa.table(columns), path)
    return path


def file_of(kind: str, folder: Path) -> Path:
    path = folder / "forecasts"
    if kind.startswith("parquet"):
        return parquet(path, nan=kind.endswith("nan"))
    text = {"csv": table(","), "tsv": table("\t"), "json": json_lines(), "gz": gzip.compress(table(","))}[kind]
    path.write_bytes(text)
    return path


@pytest.mark.parametrize("block", [40, 1 << 20])
@pytest.mark.parametrize("kind", ["csv", "tsv", "gz", "json", "parquet", "parquet with nan"])
def test_every_format(kind: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every format and block size gives the same columns; zeros are kept, and empty fields are NaN."""
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", block)
    frame = read_columns(file_of(kind, tmp_path))
    assert frame.rows == 4
    assert sorted(frame.names) == sorted(NAMES)
    assert frame.words == {"day": ["Mon", "Tue", "Wed, late", ""]}
    np.testing.assert_array_equal(frame.numbers["Alice"], [0.25, np.nan, 1, 0])
    np.testing.assert_array_equal(frame.numbers["Bob"], [0, 1e-300, 0.1, np.nan])
    assert frame.numbers["rain"].tolist() == [0, 1, 0, 1]
    assert frame.numbers["rain"].dtype == np.float64
    mark = ": row " if "parquet" in kind else ":"
    first = 2 if kind in ("csv", "tsv", "gz") else 1
    assert [frame.where(row) for row in range(4)] == [
        f"{tmp_path / 'forecasts'}{mark}{row + first}" for row in range(4)
    ]


def test_json_has_booleans_and_nested_keys(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a": {"b": 0.5}, "rain": true}\n{"rain": false, "label": 0}\n{"rain": null}\n')
    frame = read_columns(path)
    np.testing.assert_array_equal(frame.numbers["a.b"], [0.5, np.nan, np.nan])
    np.testing.assert_array_equal(frame.numbers["rain"], [1, 0, np.nan])
    np.testing.assert_array_equal(frame.numbers["label"], [np.nan, 0, np.nan])  # a column like any other


def test_several_files_and_skipped_lines(tmp_path: Path) -> None:
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    a.write_text("p,rain\n0.5,1\n0.5\n0.25,0\n")
    b.write_text("p,rain\n\n0.75,1\n")
    frame = read_columns([a, b], skip_bad=1)
    assert frame.numbers["p"].tolist() == [0.5, 0.25, 0.75]
    (line,) = frame.skipped
    assert (line.file, line.line, line.column) == (str(a), 3, 4)
    assert [frame.where(row) for row in range(3)] == [f"{a}:2", f"{a}:4", f"{b}:3"]
    with pytest.raises(StreamError, match=r"\b1 .*\b2 ") as caught:
        read_columns([a, b])
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(a), 3, 4)


@pytest.mark.parametrize("block", [40, 1 << 20])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_lines_of_all_rows_at_once(kind: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`row_lines` returns what `Part.line` returns for each row, with bad lines between them."""
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", block)
    path = tmp_path / "t"
    x = [1.0, math.inf, 2.0, math.inf, math.inf, 3.0, 4.0]
    if kind == "parquet":
        pa, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        writer.write_table(pa.table({"x": x, "y": [*"ababab", "new\nline"]}), path)
    else:
        path.write_text("x,y\n" + "".join(f"{value},a\n" for value in x))
    options = {} if kind == "parquet" else {"header": True}
    parts = list(Source(path, skip_bad=3, table=options).open(all_columns=True))
    lines = [row_lines(part).tolist() for part in parts]
    assert lines == [[part.line(row) for row in range(part.rows)] for part in parts]
    first = 1 if kind == "parquet" else 2
    assert [line - first for each in lines for line in each] == [0, 2, 5, 6]


def test_columns_are_named_or_numbered(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("0.5,rain\n0.25,sun\n")
    frame = read_columns(path, ["1"])
    assert frame.names == ["c1", "c2"]
    assert list(frame.numbers) == ["c1"]
    assert frame.words == {}
    assert named("3", ["1", "2", "3"]) == "3"
    with pytest.raises(ValueError, match="c1, c2") as caught:
        read_columns(path, ["c3"])
    assert (caught.value.kind, caught.value.feature) == ("unknown column", "c3")
    with pytest.raises(StreamError) as caught:
        named("0", ["a"])
    assert (caught.value.kind, caught.value.feature) == ("unknown column", "0")


def test_a_word_in_a_column_of_numbers(tmp_path: Path) -> None:
    """The error names the first line with a word; numbers among words are formatted again."""
    path = tmp_path / "x.csv"
    path.write_text("p,rain\n0.5,1\n,0\nmaybe,0\n1_0,1\n")
    frame = read_columns(path)
    assert frame.words == {"p": ["0.5", "", "maybe", "1_0"]}
    with pytest.raises(StreamError, match="'p'") as caught:
        frame.column("p")
    assert (caught.value.file, caught.value.line) == (str(path), 4)
    assert (caught.value.kind, caught.value.feature, caught.value.value) == ("word", "p", "maybe")
    assert frame.column("rain").tolist() == [1, 0, 0, 1]


def test_names_with_an_equals_sign(tmp_path: Path) -> None:
    """Names with = are read if they are not ambiguous; otherwise they raise an error."""
    path = tmp_path / "x"
    path.write_text("p=1,q\n0.5,a=b\n1,c\n")
    frame = read_columns(path)
    assert frame.numbers["p=1"].tolist() == [0.5, 1]
    assert frame.words == {"q": ["a=b", "c"]}
    path.write_text("a,a=b,n\nb,,1\nc,1,2\n")
    with pytest.raises(ValueError, match="'a=b'.*column"):
        read_columns(path)
    path.write_text('{"a=b": 0.5}\n')
    with pytest.raises(ValueError, match="'a=b'.*column"):
        read_columns(path)
    path.write_text('{"a": "b=c"}\n')
    assert read_columns(path).words == {"a": ["b=c"]}


@pytest.mark.parametrize(("text", "kind"), [("1 3:0.5\n", "svmlight"), ("1 | a b\n", "vw")])
def test_files_without_columns(text: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"{kind}.*columns"):
        read_columns(path)


def test_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("")
    frame = read_columns(path)
    assert (frame.rows, frame.names) == (0, [])


def test_zeros_are_kept_only_if_asked_for() -> None:
    """`different_names` lists each name of a chunk once."""
    text = b"a,b\n0,1\n2,0\n"
    for zeros, expected in ((False, [(1, 1.0), (0, 2.0)]), (True, [(0, 0.0), (1, 1.0), (0, 2.0), (1, 0.0)])):
        chunk = _core.Reader.table(text, header=True, zeros=zeros).parse(text, True, 0, True)
        names, places = chunk.different_names()
        order = [b"a", b"b"] if zeros else [b"b", b"a"]
        assert names == order
        assert [
            ([b"a", b"b"].index(names[place]), value) for place, value in zip(places, chunk.value, strict=True)
        ] == (expected)
    lines = b'{"a": 0, "b": false, "c": null, "d": {"e": true}}\n'
    kept = _core.Reader.json("", zeros=True).parse(lines, True)
    assert kept.different_names()[0] == [b"a", b"b", b"d.e"]
    assert kept.value.tolist() == [0, 0, 1]
    assert _core.Reader.json("").parse(lines, True).different_names()[0] == [b"d.e"]


@pytest.mark.parametrize(
    ("cells", "refused"),
    [
        (["1,5", "2", ""], True),
        (["1", "-,5e3"], True),
        (["1", "2"], False),
        (["1,5", "maybe"], False),
        (["1,5,2"], False),
        (["1,234.5"], False),
        ([","], False),
    ],
)
def test_decimal_commas_are_detected(cells: list[str], refused: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a;b\n" + "".join(f"{cell};1\n" for cell in cells))
    frame = read_columns(path, table={"header": True, "separator": ";"})
    frame.refuse_decimal_commas(["b"], "")
    if refused:
        row = next(row for row, cell in enumerate(cells) if "," in cell)
        with pytest.raises(StreamError, match="'a'") as caught:
            frame.refuse_decimal_commas(["b", "a"], "")
        assert (caught.value.file, caught.value.line) == (str(path), row + 2)
        assert (caught.value.kind, caught.value.feature, caught.value.value) == ("decimal comma", "a", cells[row])
    else:
        frame.refuse_decimal_commas(["b", "a"], "")


def test_skipped_rows_are_removed_from_all_columns_and_lines(tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("a,b\n1,u\n2,v\n3,w\n")
    two.write_text("a,b\n4,x\n5,y\n")
    frame = read_columns([one, two], table={"header": True})
    rest = frame.without([0, 3], "no good", 2)
    assert rest.numbers["a"].tolist() == [2, 3, 5]
    assert rest.words["b"] == ["v", "w", "y"]
    assert [rest.where(row) for row in range(rest.rows)] == [f"{one}:3", f"{one}:4", f"{two}:3"]
    assert [str(line) for line in rest.skipped] == [f"{one}:2: no good", f"{two}:2: no good"]
    assert frame.rows == 5
    gone = frame.without([0, 1, 2], "no good", 3)
    assert [gone.where(row) for row in range(gone.rows)] == [f"{two}:2", f"{two}:3"]
    with pytest.raises(StreamError, match="one.csv:3: no good.*skip_bad=4"):
        rest.without([0, 2], "no good", 3)
