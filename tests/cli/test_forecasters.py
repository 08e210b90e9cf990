"""``mistakebound forecasters``: the same answer of every format, in words and in JSON, and places of what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from files import call, data

import mistakebound as mb
from mistakebound.experts.comparison.advice import NO_OUTCOME


def rows(count: int = 400, seed: int = 0) -> list[tuple[str, float, float, int]]:
    """Days; Alice knows the chance of rain, Bob says too much of it."""
    rng = np.random.default_rng(seed)
    chances = rng.uniform(0.05, 0.95, count)
    rain = rng.random(count) < chances
    return [
        (f"day {t}", round(float(p), 3), round(float(p) * 0.4 + 0.6, 3), int(y))
        for t, (p, y) in enumerate(zip(chances, rain, strict=True))
    ]


@pytest.fixture
def forecasts(tmp_path: Path) -> Path:
    path = tmp_path / "rain.csv"
    lines = [f"{day},{alice},{bob},{y},{20 + t % 7}\n" for t, (day, alice, bob, y) in enumerate(rows())]
    path.write_text("day,Alice,Bob,rain,degrees\n" + "".join(lines))
    return path


def test_as_in_python(forecasts: Path) -> None:
    """Forecasters are the columns within [0, 1]; the others are named."""
    given = rows()
    report = mb.forecasters.compare(
        {"Alice": [r[1] for r in given], "Bob": [r[2] for r in given]}, [r[3] for r in given]
    )
    assert call("forecasters", forecasts, "--outcome", "rain", "--json").strip() == report.to_json()
    shown = call("forecasters", forecasts, "--outcome", "rain")
    left = f"day: {forecasts}:2: 'day 0' is not a number; degrees: {forecasts}:2: 20 is not a probability"
    assert shown == f"{report}\n(not forecasters: {left})\n"
    assert report.surely_best == "Alice"
    (pair,) = report.pairs
    assert f"Alice is better than Bob: difference {pair.difference:+.5f}, 95 % confidence sequence [" in shown
    assert f"clear since round {pair.clear_since}\n" in shown


@pytest.mark.parametrize("kind", ["tsv", "json", "parquet", "gz", "-"])
def test_every_format(kind: str, forecasts: Path, tmp_path: Path) -> None:
    expected = call("forecasters", forecasts, "--outcome", "rain", "--json")
    path, text = tmp_path / "other", None
    named = ("day", "Alice", "Bob", "rain")
    if kind == "tsv":
        path.write_text(forecasts.read_text().replace(",", "\t"))
    elif kind == "json":
        lines = [json.dumps({**dict(zip(named, row, strict=True)), "rain": bool(row[3])}) for row in rows()]
        path.write_text("\n".join(lines))
    elif kind == "parquet":
        pa, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        columns = dict(zip(named, zip(*rows(), strict=True), strict=True))
        writer.write_table(pa.table({**columns, "rain": [bool(y) for y in columns["rain"]]}), path)
    elif kind == "gz":
        import gzip

        path.write_bytes(gzip.compress(forecasts.read_bytes()))
    else:
        path, text = "-", forecasts.read_text()
    assert call("forecasters", path, "--outcome", "rain", "--json", text=text) == expected


def test_chosen_forecasters_and_outcomes_in_words(forecasts: Path, tmp_path: Path) -> None:
    expected = call("forecasters", forecasts, "--outcome", "rain", "--forecasters", "Bob,Alice", "--json")
    assert json.loads(expected) == json.loads(call("forecasters", forecasts, "--outcome", "4", "--json"))
    for yes, no, more in (
        ("True", "False", []),
        ("wet", "dry", ["--positive", "wet"]),
        ("2", "3", ["--positive", "2"]),
    ):
        path = tmp_path / "words.csv"
        lines = [f"{alice},{bob},{yes if y else no}\n" for _, alice, bob, y in rows()]
        path.write_text("Alice,Bob,rain\n" + "".join(lines))
        found = call("forecasters", path, "--outcome", "rain", "--forecasters", "Bob,Alice", "--json", *more)
        assert found == expected
    alone = json.loads(call("forecasters", forecasts, "--outcome", "rain", "--forecasters", "2", "--json"))
    assert [each["name"] for each in alone["forecasters"]] == ["Alice"]
    assert alone["pairs"] == []


def test_missing_forecasts_and_infinite_scores_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,rain\n0,0.5,1\n0.5,,0\n,0.25,0\n1,0.5,1\n0.9,0.8,0\n")
    shown = call("forecasters", path, "--outcome", "rain")
    assert all(count in shown for count in ("3 rounds", "4 rounds", "a in 4"))
    assert "log score" in shown
    assert shown.count(" 0: a)") == 1
    assert "b or a? difference" in shown


def test_a_column_that_is_left_out_because_of_one_cell_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("A,B,C,rain\n0.5,0.5,0.1,1\n0.5,0.5,,0\n1.2,0.25,0.1,0\n1,0.5,maybe,1\n")
    shown = call("forecasters", path, "--outcome", "rain")
    why = f"A: {path}:4: 1.2 is not a probability; C: {path}:5: 'maybe' is not a number"
    assert f"(not forecasters: {why})" in shown
    assert "percent" not in shown


@pytest.mark.parametrize(
    ("text", "percent"),
    [("20,50\n0,100\n", True), ("0.5,50\n0.5,100\n", False), ("1.2,0.5\n0.5,1.5\n", False), ("20,101\n0,1\n", False)],
)
def test_percentages_are_distinguished_from_typing_errors(text: str, percent: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,rain\n" + text.replace("\n", ",1\n"))
    result = call("forecasters", path, "--outcome", "rain", "--forecasters", "a,b", fails=1)
    assert ("divide them by 100" in result) == percent


def test_several_pairs_hold_together(forecasts: Path) -> None:
    text = forecasts.read_text().splitlines()
    more = "\n".join([text[0] + ",Carol", *(f"{line},0.5" for line in text[1:])])
    shown = call("forecasters", "-", "--outcome", "rain", "--alpha", "0.1", text=more)
    assert "(90 %: all 3 pairs together, at every moment)" in shown
    assert "90 % confidence sequence" in shown


def test_a_picture(forecasts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "rain.png"
    call("forecasters", forecasts, "--outcome", "rain", "--plot", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    from mistakebound import plot
    from mistakebound.viz.forecaster_charts import MOST_FORECASTERS

    monkeypatch.setattr("mistakebound.viz.expert_charts.thinned_rounds.__defaults__", (50,))
    given = rows(100)
    P = {"Alice": [r[1] for r in given], **{f"Bob {k}": [r[2] for r in given] for k in range(13)}}
    figure = plot.forecasters(mb.forecasters.compare(P, [r[3] for r in given]))
    assert len(figure.axes) == 2 * MOST_FORECASTERS - 1
    assert len(figure.axes[-1].lines[1].get_xdata()) == 50
    assert figure.axes[-1].lines[1].get_xdata()[-1] == 100
    plot.forecasters(mb.forecasters.compare({"$a_$": [0.5], "b": [0.4]}, [1])).savefig(picture)  # no formula
    single = plot.forecasters(mb.forecasters.compare(P["Alice"], [r[3] for r in given]))
    assert len(single.axes) == 1


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        ("a,rain\n0.5,1\n0.5,2\n", [], "x.csv:3: column 'rain': .*'2'"),
        ("a,rain\n0.5,1\n0.5,\n", [], "x.csv:3: column 'rain': "),
        ("a,rain\n0.5,wet\n0.5,\n", ["--positive", "wet"], "x.csv:3: column 'rain': "),
        ("a,rain\n0.5,wet\n", [], "x.csv:2: column 'rain': .*'wet'.*--positive"),
        ("a,rain\n0.5,wet\n", ["--positive", "dry"], "column 'rain'.*wet"),
        ("a,rain\n0.5,1\n1.5,1\n", ["--forecasters", "a"], "x.csv:3: .*'a'.*1.5"),
        ("a,rain\n0.5,1\n1.5,1\n", [], "'rain'.*a: .*x.csv:3.*1.5"),
        ("a,b,rain\n50,20,1\n0,100,0\n", [], "x.csv:2: 20 .*percentages"),
        (
            "a,rain\n50,1\n",
            ["--forecasters", "a"],
            "x.csv:2: .*'a'.*50.*percentages",
        ),
        ("a,rain\n0.5,1\nmaybe,1\n", ["--forecasters", "a"], "x.csv:3: column 'a': 'maybe'"),
        ("a,rain\n0.5,1\n", ["--forecasters", "b"], "column 'b'"),
        ("a,b,rain\n0.5,,1\n,0.5,0\n", [], "no round in which every forecaster"),
        ("a,rain\n0.5,1\n0.5\n", [], "x.csv:3:4: 1 field.*2 columns"),
        ("a;rain\n0,5;1\n1;0\n", [], "x.csv:2: column 'a': '0,5'.*decimal comma"),
        ("", [], "x.csv: .*no rows"),
        ("1 2:1\n", [], "svmlight.*columns"),
    ],
)
def test_an_error_is_one_line_with_its_place(text: str, more: list[str], words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    result = call(
        "forecasters", path, "--outcome", "rain", "--header" if text.startswith("a") else "--json", *more, fails=1
    )
    assert re.search(words, result)
    assert result.startswith("Error: ")
    assert len(result.splitlines()) == 1


def test_bad_lines_may_be_skipped_and_control_characters_are_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a\x1b[31m,rain\n0.5,1\n0.5\n0.25,0\n")
    shown = call("forecasters", path, "--outcome", "rain", "--skip-bad", 1)
    assert "x.csv:3:4" in shown
    assert "\x1b" not in shown


def test_rows_without_an_outcome_may_be_skipped(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,rain\n0.5,1\n0.7,\n0.25,0\n")
    whole = tmp_path / "y.csv"
    whole.write_text("a,rain\n0.5,1\n0.25,0\n")
    assert "--skip-bad 1" in call("forecasters", path, "--outcome", "rain", fails=1)
    shown = call("forecasters", path, "--outcome", "rain", "--skip-bad", 1)
    assert shown.startswith(f"skipped: {path}:3: column 'rain': {NO_OUTCOME}\n")
    assert shown.endswith(call("forecasters", whole, "--outcome", "rain"))


def test_usage() -> None:
    assert "Missing option '--outcome'" in call("forecasters", "x.csv", fails=2)
    assert "--alpha" in call("forecasters", "x.csv", "--outcome", "rain", "--alpha", 1, fails=2)
    result = call("forecasters", "--help")
    assert "    mistakebound forecasters rain.csv --outcome rain\n" in result
    assert "The forecasts:" in result
    assert "(evidence 0.8 of 120)" in result
    assert "The forecasts:" not in call("run", "--help")


def test_rain_in_niamey() -> None:
    """EMOS taken apart as the README of the R package reliabilitydiag prints it; the others by their scores alone."""
    path = data("niamey_pop/precip_Niamey_2016.csv")
    found = json.loads(call("forecasters", path, "--outcome", "obs", "--json"))
    brier = {each["name"]: each["brier"] for each in found["forecasters"]}
    parts = ("score", "miscalibration", "discrimination", "uncertainty")
    assert [f"{brier['EMOS'][part]:.3g}" for part in parts] == ["0.232", "0.0183", "0.0305", "0.244"]
    assert list(brier) == ["Logistic", "EMOS", "EPC", "ENS"]
    assert [round(brier[name]["score"], 5) for name in ("Logistic", "ENS")] == [0.20575, 0.26617]
    assert not any(pair["clear"] for pair in found["pairs"])  # 92 days are too few


def test_pairs_may_contradict_the_ranking_if_some_gave_fewer_forecasts(tmp_path: Path) -> None:
    """Ann is best where all gave a forecast; Ben is better than Ann where Cem gave none."""
    path, page = tmp_path / "rain.csv", tmp_path / "page.html"
    path.write_text("Ann,Ben,Cem,rain\n" + "0.9,0.8,0.5,1\n" * 5 + "0.1,0.9,,1\n" * 5)
    shown = call("forecasters", path, "--outcome", "rain", "--report", page)
    assert "Ann is first" in shown
    assert "the table uses the 5 rounds" in shown
    words = "so it may differ from the ranking. Ben has a smaller score than Ann in their 10 common rounds."
    assert words in shown
    assert "The ranking uses the rounds in which all gave a forecast. Each pair" in page.read_text()
    assert words in page.read_text()
    assert shown.splitlines()[-1].startswith(f"report        {page} (")
    path.write_text("Ann,Ben,rain\n0.9,0.8,1\n0.1,,1\n")
    assert "may differ" not in call("forecasters", path, "--outcome", "rain")


def test_classes_are_suggested_for_outcomes_that_columns_are_named_after(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text("b_H,b_D,b_A,result\n0.5,0.3,0.2,A\n0.5,0.3,0.2,H\n0.5,0.3,0.2,D\n")
    shown = call("forecasters", path, "--outcome", "result", fails=1)
    assert "set --classes H,D,A for columns such as b_H, b_D, b_A" in shown
    call("forecasters", path, "--outcome", "result", "--classes", "H,D,A")
    path.write_text("b,result\n0.5,A\n0.5,H\n")
    assert "set --positive" in call("forecasters", path, "--outcome", "result", fails=1)


@pytest.mark.parametrize("option", ["--report", "--plot"])
def test_a_page_cannot_be_written_to_standard_output(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rain.csv").write_text("Ann,Bob,rain\n.5,.25,1\n")
    shown = call("forecasters", "rain.csv", "--outcome", "rain", option, "-", fails=2)
    assert "- (standard output) is not possible here: choose the name of a file" in shown
    assert [each.name for each in tmp_path.iterdir()] == ["rain.csv"]


def test_the_number_of_the_only_row_is_not_a_forecaster(tmp_path: Path) -> None:
    path = tmp_path / "rain.csv"
    path.write_text("n,Ann,Bob,rain\n1,.5,.25,1\n")
    shown = call("forecasters", path, "--outcome", "rain")
    assert "(not forecasters: n: it seems to number the rows" in shown
    assert "n or Ann?" in call("forecasters", path, "--outcome", "rain", "--forecasters", "n,Ann")
