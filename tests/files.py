"""Small streams as files of every format, and calls of the command line."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from mistakebound.cli import main


def call(*words: Any, fails: int = 0, text: str | bytes | None = None, **more: Any) -> str:
    """Return the output of a command, including errors. It must end with the exit code ``fails``."""
    result = CliRunner().invoke(main, [str(word) for word in words], input=text, **more)
    assert result.exit_code == fails, result.output
    return result.output


def shows(text: str, *names: str) -> bool:
    """Whether all names, values and options occur in a text, in this order."""
    return re.search(".*".join(map(re.escape, names)), text, re.DOTALL) is not None


def without_spans(page: str) -> str:
    """Return an HTML page without the tags that keep the words of a command in one line each."""
    return re.sub("<span>(.*?)</span>", r"\1", page)


DATA = Path(os.environ.get("MISTAKEBOUND_DATA", Path(__file__).parents[2] / "shared" / "data"))


def data(name: str) -> Path:
    """Return a data file that is not part of the repository. Skip the test if it does not exist."""
    path = DATA / name
    if not path.exists():
        missing = path if DATA.is_dir() else DATA
        pytest.skip(f"{missing} does not exist: set MISTAKEBOUND_DATA to the folder of the data")
    return path


# ---------------------------------------------------------------------- streams of every format


def rows(count: int, seed: int = 0, noise: float = 0.1) -> list[tuple[int, list[int]]]:
    rng = np.random.default_rng(seed)
    found = [sorted(rng.choice(30, 4, replace=False).tolist()) for _ in range(count)]
    return [(int(x[0] < 4) ^ int(rng.random() < noise), x) for x in found]


def svmlight(path: Path, seed: int = 0, count: int = 300, noise: float = 0.1) -> Path:
    path.write_text("".join(f"{y} " + " ".join(f"{i + 1}:1" for i in x) + "\n" for y, x in rows(count, seed, noise)))
    return path


def vw(path: Path) -> Path:
    path.write_text("".join(f"{y} |f " + " ".join(f"w{i}" for i in x) + "\n" for y, x in rows(300)))
    return path


def table(path: Path) -> Path:
    """Return a table with quoted fields over several lines, so that blocks end within records."""
    lines = [f'"{" ".join(f"w{i}" for i in x)}\nand more",{x[0]},{"yes" if y else "no"}\n' for y, x in rows(300)]
    path.write_text("words,first,label\n" + "".join(lines))
    return path


def weighted_table(path: Path) -> Path:
    lines = [f"{x[0]},{x[1]},{0.5 * (x[2] % 4)},{y}\n" for y, x in rows(300)]
    path.write_text("a,b,w,label\n" + "".join(lines))
    return path


def weighted_vw(path: Path) -> Path:
    path.write_text("".join(f"{y} {0.3 * (x[0] % 5)} |f " + " ".join(f"w{i}" for i in x) + "\n" for y, x in rows(300)))
    return path


def json_lines(path: Path) -> Path:
    path.write_text("".join(json.dumps({"label": y, "x": {f"w{i}": 1 for i in x}}) + "\n" for y, x in rows(300)))
    return path


def packed(path: Path) -> Path:
    text = svmlight(path.with_suffix(".plain")).read_bytes()
    path.write_bytes(gzip.compress(text, mtime=0))
    return path


def with_bad_lines(path: Path) -> Path:
    lines = svmlight(path).read_text().splitlines(keepends=True)
    for at in (3, 50, 51, 200, 298):
        lines[at] = "1 broken\n"
    path.write_text("".join(lines))
    return path


def with_labels(path: Path) -> list[Any]:
    labels = path.with_name("labels")
    labels.write_text("".join(f"{y}\n" for y, _ in rows(300)))
    path.write_text("".join(" ".join(str(int(i in x)) for i in range(30)) + "\n" for _, x in rows(300)))
    return [path, "--labels", labels, "--no-header", "--format", "table"]


def with_labels_and_bad_lines(path: Path) -> list[Any]:
    words = with_labels(path)
    lines = path.read_text().splitlines(keepends=True)
    for at in (3, 50, 51, 200, 299):
        lines[at] = "broken\n"
    path.write_text("".join(lines))
    return [*words, "--skip-bad", 5, "--passes", 2]


def parquet(path: Path, seed: int = 0) -> Path:
    pa, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {f"c{place}": [x[place] for _, x in rows(150, seed)] for place in range(4)}
    columns["first"] = [f"w{x[0]}" for _, x in rows(150, seed)]
    columns["label"] = ["yes" if y else "no" for y, _ in rows(150, seed)]
    writer.write_table(pa.table(columns), path)
    return path


def arrow_with_bad_rows(path: Path) -> Path:
    pa, ipc = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.ipc")
    table = pa.table({"x": [float("nan") if at in (7, 100) else float(x[0]) for at, (_, x) in enumerate(rows(300))]})
    table = table.append_column("label", pa.array([y for y, _ in rows(300)]))
    with ipc.new_stream(str(path), table.schema) as out:
        out.write_table(table, max_chunksize=40)
    return path


STREAMS: dict[str, Callable[[Path], list[Any]]] = {
    "svmlight": lambda folder: [svmlight(folder / "a.svm")],
    "one thread": lambda folder: [svmlight(folder / "a.svm"), "--threads", 1],
    "vw": lambda folder: [vw(folder / "a.vw")],
    "table": lambda folder: [table(folder / "a.csv"), "--label", "label", "--text", "words"],
    "json": lambda folder: [json_lines(folder / "a.json")],
    "weights": lambda folder: [weighted_table(folder / "a.csv"), "--label", "label", "--weight", "w"],
    "vw weights": lambda folder: [weighted_vw(folder / "a.vw"), "--passes", 2],
    "gz": lambda folder: [packed(folder / "a.gz")],
    "files": lambda folder: [svmlight(folder / "a"), svmlight(folder / "b", 1, 0), svmlight(folder / "c", 2, 77)],
    "passes": lambda folder: [svmlight(folder / "a", 0, 100), svmlight(folder / "b", 1, 50), "--passes", 3],
    "skip bad": lambda folder: [with_bad_lines(folder / "a"), "--skip-bad", 5, "--passes", 2],
    "labels": lambda folder: with_labels(folder / "a"),
    "labels, skip bad": lambda folder: with_labels_and_bad_lines(folder / "a"),
    "parquet": lambda folder: [parquet(folder / "a"), parquet(folder / "b", 1), "--label", "label", "--passes", 2],
    "arrow": lambda folder: [arrow_with_bad_rows(folder / "a"), "--label", "label", "--skip-bad", 2],
}
