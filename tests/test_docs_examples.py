"""Every command and example of the README and of docs/ works, typed into an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import spark_session
from pages import PAGES, ROOT, Block, blocks_of, check_commands, run_page, shows

UNIX = pytest.mark.skipif(os.name == "nt", reason="the pages use a Unix shell")


WRITTEN = {
    "README.md": {"mail.csv", "mail.mb", "new.csv", "load.csv"},
    "files.md": {
        "mail.mb",
        "arow.mb",
        "mail.html",
        "mistakes.png",
        "stream.svm.mbcache",
        "big.mb",
        "access.mb",
        "model.mb",
    },
    "tables.md": {"flowers.csv", "flowers.mb", "flowers.html", "new.csv", "rose.html", "rose.mb", "plants.csv"},
    "certificates.md": {"cert.json"},
    "experts.md": {"mixed.csv", "load.png", "load.json", "mixer.mb", "load.html", "weights.csv"},
    "forecasters.md": {"rain.png", "rain.json"},
    "lab.md": {"beta.png", "lab.html", "disjunctions.png", "two.html", "margin.html"},
    "learners.md": {"m.mb", "c.json", "page.html", "labels.txt", "mistakes.png"},
    "spark.md": {"mails.mb", "stream.mb", "predicted", "checkpoint"},
}
"""Files that the examples of a page leave behind."""
SHOWN = {
    "README.md": ("50 mistakes in 20,000 rounds", "1 mistake in 4 rounds", "ham\n", "3 rounds of load, 3 experts"),
    "files.md": ("1 mistake in 12 rounds", "new.csv:2: predicted ham", "subject=lunch", "winnow --alpha 2"),
    "certificates.md": ("44.0\n", "exit code 1"),
    "spark.md": ("in 240 rounds", "mixing on the mistaken rounds", "in 120 rounds, panel> 120"),
    "lab.md": ("experiments hold", "\nTrue There are "),
    "experts.md": ("3 rounds of load, 3 experts, square loss", "load.csv:5: ", "adahedge", "not experts", ": day)"),
}
"""Parts of their output."""


@UNIX
@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_the_examples_of_a_page_work(page: Path, tmp_path: Path) -> None:
    if page.name == "spark.md" and (why := spark_session.missing()):
        pytest.skip(why)
    folder = tmp_path / "work"
    folder.mkdir()
    output = "".join(run_page(page, folder))
    assert WRITTEN.get(page.name, set()) <= {path.name for path in folder.iterdir()}
    for words in SHOWN.get(page.name, ()):
        assert words in output


def test_the_demo_runs(tmp_path: Path) -> None:
    """The main job of ``make demo``."""
    done = subprocess.run(
        [sys.executable, ROOT / "examples/demo.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "84 mistakes in 20,000 rounds" in done.stdout
    assert (tmp_path / "demo/mistakes.png").stat().st_size > 10_000


def test_the_example_of_the_guard_runs() -> None:
    """Calm: the guard follows the net. Attacked: it stays within the bound, which is far below the net's mistakes."""
    program = ROOT / "examples/guarded.py"
    shown = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True).stdout
    rows = {line[:32].strip(): [int(cell.replace(",", "")) for cell in line[32:].split()] for line in table_of(shown)}
    (calm_net, net), (calm_rule, rule), (_, vote), (calm, guard), (_, bound) = rows.values()
    assert calm_net == calm < calm_rule / 5
    assert rule <= vote < guard <= bound < net / 4
    assert "holds" in shown


def table_of(shown: str) -> list[str]:
    """Return the rows of the table that the example prints."""
    return shown.split("attacked from", 1)[1].split("\n\n", 1)[0].splitlines()[1:]


@pytest.mark.parametrize(
    "words", [("bench_experts.py", "--rounds", "100", "--experts", "10"), ("bench_play.py", "--rows", "100")]
)
def test_a_benchmark_runs(words: tuple[str, ...]) -> None:
    """Those that need no other library than the tests have; the sizes are small, so the times mean nothing."""
    command = [sys.executable, ROOT / "benchmarks" / words[0], *words[1:], "--repeats", "1"]
    assert "ratio" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


# ---------------------------------------------------------------- the checks themselves


def test_blocks_are_found_with_their_remarks_and_neighbours() -> None:
    page = "a\n\n<!-- not run: slow -->\n```sh\nmake demo\n```\n\n```python\n1\n```\n```text\n1\n```\nb\n```text\n```\n"
    assert blocks_of(page) == [
        Block("sh", "make demo\n", "not run: slow", follows=False),
        Block("python", "1\n", "", follows=True),
        Block("text", "1\n", "", follows=True),
        Block("text", "", "", follows=False),
    ]


@pytest.mark.parametrize(
    ("expected", "found"), [("a\nc", True), ("b...\n...", True), ("c\na", False), ("b", False), ("a\nb 2", False)]
)
def test_output_is_compared_line_by_line(expected: str, found: bool) -> None:
    assert shows("a\nb 1\nc\n", expected) is found


@pytest.mark.parametrize(
    "line",
    [
        "mistakebound run x.svm --sav model.mb",
        "mistakebound runs x.svm",
        "make demonstration",
        "pip install '.[skl]'",
        "pip install other",
        "python benchmarks/bench_play.py --rowz 3",
        "rm -r folder",
    ],
)
def test_a_command_that_is_not_run_must_exist(line: str) -> None:
    with pytest.raises(AssertionError):
        check_commands(line)


@UNIX
@pytest.mark.parametrize(
    "block",
    [
        "```sh\nfalse\ntrue\n```\n",
        "```python\nassert 0\n```\n",
        "```sh\necho a\n```\n```text\nb\n```\n",
        "```ruby\n1\n```\n",
        "<!-- not run: no -->\n```sh\nmistakebound zzz\n```\n",
    ],
)
def test_a_block_that_is_wrong_is_found(block: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(block)
    (tmp_path / "work").mkdir()
    with pytest.raises(AssertionError):
        run_page(tmp_path / "page.md", tmp_path / "work")
