"""``lab`` lists, runs and reports experiments; its exit code says whether the checks hold."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from files import call, without_spans

import mistakebound as mb
from mistakebound.cli.lab import complete
from mistakebound.cli.lab_tables import lines_of
from mistakebound.lab.experiment import Experiment, Table, cell

NAMES = mb.lab.names()


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Novikoff's bound be too small."""
    monkeypatch.setattr(mb.bounds, "novikoff", lambda *_how, **_more: 1.0)


def test_the_list_has_every_experiment() -> None:
    output = call("lab")
    words = " ".join(output.split())
    for name in NAMES:
        assert f"{name}: {mb.lab.get(name).title}" in output
        assert mb.lab.get(name).summary in words
    assert "--n 512 --k 9 --seed 0" in output
    assert max(map(len, output.splitlines())) <= 90
    assert [each["name"] for each in json.loads(call("lab", "--json"))] == NAMES


def test_an_experiment_is_shown_with_its_chart_tables_checks_and_verdict() -> None:
    output = call("lab", "learning-rate", "--n", 64, "--k=3", "--seed", 2)
    words = " ".join(output.split())
    found = mb.lab.run("learning-rate", n=64, k=3, seed=2)
    for part in (found.title, found.claim, found.setting, found.conclusion, "■ Winnow", "--plot FILE.png draws it"):
        assert part in words
    for check in found.checks:
        assert f"✓ {check.statement} ({check.measured})" in words
    assert "✓ all 4 checks hold" in output
    assert "to repeat: mistakebound lab learning-rate --n 64 --k 3 --seed 2\n" in output
    assert "does not apply" in output


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("name", NAMES)
def test_tables_fit_into_a_terminal(name: str, width: int) -> None:
    found = mb.lab.get(name)
    for table in found.run(**found.quick).tables:
        lines = lines_of(table, width)
        assert max(map(len, lines)) <= width
        words = " ".join(lines)
        assert all(cell(value) in words for row in table.rows for value in row if not isinstance(value, str))
        assert all(word in words for head in table.columns for word in head.split())


def test_a_wide_table_repeats_its_first_column() -> None:
    table = Table("Mistakes", ("who", "a very long head", "second", "third"), [("we", 1, 10**13, 10**14)])
    assert lines_of(table, 32)[1:] == [
        "          a",
        "       very",
        "       long",
        "  who  head              second",
        "  ─────────────────────────────",
        "  we      1  10,000,000,000,000",
        "",
        "  who                third",
        "  ────────────────────────",
        "  we   100,000,000,000,000",
    ]


def test_a_wide_table_repeats_two_columns_if_one_does_not_tell_rows_apart() -> None:
    rows = [(1, 1, 10**13, 10**14), (1, 2, 10**13, 10**14)]
    assert lines_of(Table("Mistakes", ("k", "epoch", "second", "third"), rows), 36)[6:] == [
        "  k  epoch                third",
        "  ─────────────────────────────",
        "  1      1  100,000,000,000,000",
        "  1      2  100,000,000,000,000",
    ]


def test_quick_sizes_can_be_changed() -> None:
    found = json.loads(call("lab", "beta", "--quick", "--seed", 4, "--json"))
    assert found["sizes"] == mb.lab.get("beta").quick | {"seed": 4}
    assert found["holds"]


def test_pictures_and_pages(tmp_path: Path) -> None:
    light, dark, page = tmp_path / "light.png", tmp_path / "dark.png", tmp_path / "one's.html"
    output = call("lab", "unit-vectors", "--quick", "--plot", light, "--report", page)
    assert "--plot FILE.png" not in output
    assert f"wrote {light}\nwrote {page}\n" in output
    call("lab", "unit-vectors", "--quick", "--plot", dark, "--dark", "--json")
    assert light.read_bytes()[:4] == dark.read_bytes()[:4] == b"\x89PNG"
    assert light.read_bytes() != dark.read_bytes()
    text = without_spans(page.read_text("utf-8"))
    assert "mistakebound lab unit-vectors --k 40 --report" in text


def test_all_experiments_with_a_page(tmp_path: Path) -> None:
    page = tmp_path / "lab.html"
    output = call("lab", "--all", "--quick", "--report", page)
    for name in NAMES:
        assert any(line.split()[:1] == [name] and "✓" in line for line in output.splitlines()), name
    assert f"✓ all {len(NAMES)} experiments hold" in output
    text = without_spans(page.read_text("utf-8"))
    assert all(f'id="{name}"' in text for name in NAMES)
    assert f"<pre>mistakebound lab --all --quick --report {page}</pre>" in text


@pytest.mark.parametrize("words", [("--seed", "3"), ("--seed=3",)])
def test_all_experiments_take_a_seed(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mb.lab, "EXPERIMENTS", ("unit-vectors", "beta"))
    page = tmp_path / "lab.html"
    output = call("lab", "--all", "--quick", *words, "--report", page)
    assert "✓ all 2 experiments hold" in output
    text = without_spans(page.read_text("utf-8"))
    assert f"<pre>mistakebound lab --all --quick --seed 3 --report {page}</pre>" in text
    assert "<pre>mistakebound lab unit-vectors --k 40</pre>" in text
    assert f"<pre>{mb.lab.run('beta', **{**mb.lab.get('beta').quick, 'seed': 3}).command}</pre>" in text


def test_the_number_of_charts_that_are_not_shown() -> None:
    assert "2 more charts: --plot FILE.png or --report FILE.html" in call("lab", "potential", "--quick")


@pytest.mark.usefixtures("broken")
def test_a_check_that_fails_is_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = call("lab", "unit-vectors", "--quick", fails=1)
    assert "✗ Perceptron: the theorem novikoff" in output
    assert "✗ 1 of 3 checks fail" in output
    assert not json.loads(call("lab", "unit-vectors", "--quick", "--json", fails=1))["holds"]
    monkeypatch.setattr(mb.lab, "EXPERIMENTS", ("unit-vectors", "beta"))
    page = tmp_path / "lab.html"
    output = call("lab", "--all", "--quick", "--report", page, fails=1)
    assert "✗ unit-vectors: Perceptron: the theorem novikoff" in output
    assert "✗ 1 of 2 experiments fail" in output
    assert "These fail: unit-vectors." in page.read_text("utf-8"), "the page is written all the same"
    assert not json.loads(call("lab", "--all", "--quick", "--json", fails=1))["holds"]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("unit-vector",), ("there is no experiment 'unit-vector'; did you mean 'unit-vectors'?",)),
        (("xyz",), ("'mistakebound lab' lists them",)),
        (("beta", "--m", "3"), ("beta has no size --m; its sizes are --n 64 --rounds 4000 --seed 0",)),
        (
            ("beta", "--n", "0"),
            (
                "n must be at least 8, got 0: ",
                "its range is from 8 to 20,000",
                "its sizes are --n 64",
            ),
        ),
        (("beta", "--n", "2.5"), ("n must be a whole number, got 2.5",)),
        (("beta", "--n", "inf"), ("n must be a number",)),
        (("beta", "--seed", "-1"), ("seed must be",)),
        (("beta", "--n", "many"), ("'many' is not a number",)),
        (("beta", "--n"), ("must be pairs --SIZE NUMBER",)),
        (("beta", "64"), ("must be pairs --SIZE NUMBER",)),
        (("--n", "64"), ("--n needs an experiment",)),
        (("--all", "beta"), ("--all runs all experiments",)),
        (("--all", "--n", "64"), ("--all runs all experiments",)),
        (("--all", "--seed", "3", "--n", "64"), ("--all runs all experiments",)),
        (("--all", "beta", "--seed", "3"), ("--all runs all experiments",)),
        (("--all", "--seed"), ("--all takes --seed NUMBER",)),
        (("--all", "--quick", "--seed", "-1"), ("seed must be",)),
        (("--report", "x.html"), ("add its NAME, or --all",)),
        (("panel-of-experts", "--k", "4"), ("k must be odd, because an even number of experts may tie, got 4; use 3",)),
        (("--all", "--plot", "x.png"), ("--plot needs the name of one experiment",)),
        (("--plot", "x.png"), ("--plot needs the name of one experiment",)),
        (("beta", "--dark"), ("--dark needs --plot",)),
    ],
)
def test_wrong_words_are_errors_that_show_the_way(words: tuple[str, ...], parts: tuple[str, ...]) -> None:
    output = call("lab", *words, fails=2)
    assert all(part in " ".join(output.split()) for part in parts), output


def test_a_page_that_cannot_be_written_is_refused_before_the_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(Experiment, "run", never)
    assert "does not exist" in call("lab", "beta", "--report", os.path.join("no", "where.html"), fails=2)


def test_names_are_completed() -> None:
    assert complete("disj") == ["disjunctions", "disjunction-adversary"]
