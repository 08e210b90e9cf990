"""Weights in files: a column of tables, a key of JSON lines, importance weights of VW text, and caches of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import mistakebound as mb

if TYPE_CHECKING:
    from pathlib import Path

RNG = np.random.default_rng(0)
X = RNG.integers(1, 9, size=(120, 3)).astype(float)
Y = np.where(X[:, 0] > X[:, 1], 1, 0)
W = RNG.choice([0.0, 0.1, 1.0, 2.0, 1234.5], 120)
ROWS = list(zip(X.tolist(), Y.tolist(), W.tolist(), strict=True))
NAMES = ("a", "b", "c")


def table(rows: list[Any] = ROWS) -> str:
    return "w,a,b,c,y\n" + "".join(f"{w!r},{x[0]},{x[1]},{x[2]},{y}\n" for x, y, w in rows)


def objects(rows: list[Any] = ROWS) -> str:
    lines = ({**dict(zip(NAMES, x, strict=True)), "label": y, "meta": {"w": w}} for x, y, w in rows)
    return "".join(json.dumps(line) + "\n" for line in lines)


def vw(rows: list[Any] = ROWS) -> str:
    return "".join(f"{y} {w!r} | a:{x[0]} b:{x[1]} c:{x[2]}\n" for x, y, w in rows)


def in_memory(weights: Any = W) -> mb.Panel:
    panel = mb.Panel(classes=(0, 1))
    panel.run([dict(zip(NAMES, x, strict=True)) for x in X.tolist()], Y, sample_weight=weights)
    return panel


PLAIN = {"auto": False}
"""Numbers keep their values, as in memory."""
FILES: dict[str, tuple[Any, dict[str, Any]]] = {
    "table": (table, {"label": "y", "weight": "w", "table": PLAIN}),
    "by number": (table, {"label": "5", "weight": "1", "table": PLAIN}),
    "json": (objects, {"weight": "meta.w", "table": PLAIN}),
    "vw": (vw, {}),
}


def source_of(kind: str, folder: Path, **more: Any) -> mb.Source:
    write, options = FILES[kind]
    file = folder / "rows.txt"
    if not file.exists():
        file.write_text(write())
    return mb.Source(file, **options, **more)


@pytest.mark.parametrize("kind", FILES)
def test_a_file_equals_arrays(kind: str, tmp_path: Path) -> None:
    panel = mb.Panel(classes=(0, 1))
    ledger = panel.run(source_of(kind, tmp_path))
    assert panel.members() == in_memory().members() != in_memory(None).members()
    assert ledger.reading is not None
    assert not ledger.reading.remarks


@pytest.mark.parametrize("kind", FILES)
def test_a_cache_keeps_the_weights(kind: str, tmp_path: Path) -> None:
    cache = tmp_path / "rows.mbcache"
    for _ in range(2):  # the first run writes it
        panel = mb.Panel(classes=(0, 1))
        panel.run(source_of(kind, tmp_path, cache=cache))
        assert panel.members() == in_memory().members()
    content = bytearray(cache.read_bytes())
    content[len(content) // 2] ^= 1
    cache.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        mb.Panel(classes=(0, 1)).run(source_of(kind, tmp_path, cache=cache))


@pytest.mark.parametrize("kind", ["table", "json"])
def test_a_cache_without_weights_is_not_used_for_them(kind: str, tmp_path: Path) -> None:
    cache = tmp_path / "rows.mbcache"
    write, options = FILES[kind]
    (tmp_path / "rows.txt").write_text(write())
    without = {name: value for name, value in options.items() if name != "weight"}
    mb.Panel(classes=(0, 1)).run(mb.Source(tmp_path / "rows.txt", cache=cache, **without))
    panel = mb.Panel(classes=(0, 1))
    panel.run(source_of(kind, tmp_path, cache=cache))
    assert panel.members() == in_memory().members()


@pytest.mark.parametrize("kind", FILES)
def test_a_model_remembers_its_weights(kind: str, tmp_path: Path) -> None:
    """Later files are read with the same column; for prediction it is ignored, and may be missing."""
    panel = mb.Panel(classes=(0, 1))
    panel.run(source_of(kind, tmp_path))
    panel.save(tmp_path / "m.mb")
    again = mb.load(tmp_path / "m.mb")
    for each in (panel, again):
        each.run(mb.Source(tmp_path / "rows.txt"))
    assert panel.members() == again.members()
    predicted = again.predict(mb.Source(tmp_path / "rows.txt"))
    if kind == "table":
        (tmp_path / "new.csv").write_text("a,b,c\n" + "".join(f"{x[0]},{x[1]},{x[2]}\n" for x, _, _ in ROWS))
        assert again.predict(mb.Source(tmp_path / "new.csv")).tolist() == predicted.tolist()
        (tmp_path / "bad.csv").write_text(table().replace("1234.5", "heavy"))
        assert again.predict(mb.Source(tmp_path / "bad.csv")).tolist() == predicted.tolist()
        with pytest.raises(ValueError, match="w"):
            again.run(mb.Source(tmp_path / "new.csv"))


@pytest.mark.parametrize("bad", ["-1", "nan", "inf", "1e10", "heavy", ""])
@pytest.mark.parametrize("kind", ["table", "json", "vw"])
def test_bad_weights_name_their_line(kind: str, bad: str, tmp_path: Path) -> None:
    if kind == "vw" and bad == "":
        return  # then there is no weight, which is valid
    write, options = FILES[kind]
    lines = write().splitlines(keepends=True)
    number = 8 if kind == "table" else 7
    if kind == "json":
        line = json.loads(lines[number - 1])
        text = json.dumps(line).replace(
            f'"w": {line["meta"]["w"]!r}', f'"w": {bad if bad != "heavy" else json.dumps(bad)}'
        )
    else:
        _, y, w = ROWS[6]
        text = lines[number - 1].replace(f"{w!r},", f"{bad},", 1) if kind == "table" else f"{y} {bad} | a:1\n"
    lines[number - 1] = text if text.endswith("\n") else text + "\n"
    file = tmp_path / "rows.txt"
    file.write_text("".join(lines))
    panel = mb.Panel(classes=(0, 1))
    with pytest.raises(mb.StreamError, match="weight|value|digit") as error:
        panel.run(mb.Source(file, **options))
    assert (error.value.file, error.value.line, error.value.round) == (str(file), number, 6)
    assert panel.ledger_.rounds == 6
    ledger = mb.Panel(classes=(0, 1)).run(mb.Source(file, skip_bad=1, **options))
    assert ledger.rounds == 119
    assert ledger.reading is not None
    assert ledger.reading.skipped[0].line == number


def test_a_missing_key_is_not_a_weight(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"x": 1, "w": 2, "label": 1}\n{"x": 2, "label": 0}\n')
    with pytest.raises(mb.StreamError, match="there is no weight: the key 'w' is missing") as error:
        mb.Panel().run(mb.Source(file, weight="w"))
    assert error.value.line == 2
    file.write_text('{"x": 1, "w": 2, "w": 3, "label": 1}\n')
    with pytest.raises(mb.StreamError, match="'w' is given twice"):
        mb.Panel(classes=(0, 1)).run(mb.Source(file, weight="w"))


def test_a_column_has_one_role(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(table())
    for options in (
        {"label": "w"},
        {"label": "y", "table": {"ignore": ["w"]}},
        {"label": "y", "table": {"text": ["w"]}},
    ):
        with pytest.raises(ValueError, match="'w' has two roles"):
            mb.Panel().run(mb.Source(file, weight="w", **options))
    with pytest.raises(ValueError, match="there is no column 'wt'"):
        mb.Panel().run(mb.Source(file, weight="wt", label="y"))
    svm = tmp_path / "a.svm"
    svm.write_text("1 1:1\n-1 2:1\n")
    with pytest.raises(ValueError, match="only valid for tables"):
        mb.Panel().run(mb.Source(svm, weight="w"))


def test_learners_without_weights(tmp_path: Path) -> None:
    """A column of weights is refused; importance weights of VW text are ignored, with a remark."""
    with pytest.raises(ValueError, match="Perceptron takes no weights"):
        mb.Perceptron().run(source_of("table", tmp_path))
    (tmp_path / "rows.txt").unlink()
    ledger = mb.Perceptron().run(source_of("vw", tmp_path))
    assert ledger.reading is not None
    assert [str(each) for each in ledger.reading.remarks] == ["importance weights are ignored: every line counts once"]


def test_frames_are_read_with_the_column(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    panel, other = (mb.Panel(classes=(0, 1)) for _ in range(2))
    panel.run(source_of("table", tmp_path))
    other.run(source_of("table", tmp_path))
    frame = pandas.read_csv(tmp_path / "rows.txt")
    panel.run(frame)
    other.run(source_of("table", tmp_path))
    assert panel.members() == other.members()
    panel.run(frame, sample_weight=np.ones(len(frame)))  # instead of the column
    with pytest.raises(ValueError, match="sample_weight is not valid for files"):
        panel.run(source_of("table", tmp_path), sample_weight=W)


def test_source_shows_its_weight(tmp_path: Path) -> None:
    source = mb.Source(tmp_path / "a.csv", weight="w")
    assert source.weight == "w"
    assert source.but(weight="v").weight == "v"
    assert mb.Source("a").weight is None
    with pytest.raises(ValueError, match="weight must be a column"):
        mb.Source("a.csv", weight="")
