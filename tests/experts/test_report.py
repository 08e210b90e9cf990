"""The weights after each round, the charts, and the HTML page of a comparison."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.experts.comparison.charts import charts
from mistakebound.viz.chart import Line


def table(rounds: int = 60, *, asleep: bool = False, dates: bool = True) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = 30 + rng.normal(size=rounds).cumsum()
    columns = {name: list(y + rng.normal(scale=width, size=rounds)) for name, width in (("Ann", 1), ("Bob<b>", 3))}
    if asleep:
        columns["Bob<b>"] = [None if k % 4 == 1 else value for k, value in enumerate(columns["Bob<b>"])]
    days = {"date": [f"2026-{1 + k // 28:02}-{1 + k % 28:02}" for k in range(rounds)]} if dates else {}
    return {**days, **columns, "y": list(y)}


def votes() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 50)
    return {
        name: [("no", "yes")[v] for v in np.where(rng.random(50) < p, 1 - y, y)] for name, p in (("a", 0.1), ("b", 0.4))
    } | {"y": [("no", "yes")[v] for v in y]}


def games() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), (30, 2))
    columns = {f"{name}_{label}": list(p[:, k, j]) for k, name in enumerate("ab") for j, label in enumerate("HDA")}
    return columns | {"y": ["HDA"[k] for k in rng.integers(0, 3, 30)]}


@pytest.mark.parametrize("rule", ["ml-poly", "fixed-share", "ridge"])
def test_weights_after_each_round(rule: str) -> None:
    given = table(asleep=rule != "ridge")
    found = mb.experts.compare(given, "y", rules=[rule])
    learner = type(found.best.learner)()
    weights = found.weights()
    for t, expected in enumerate(weights):
        row = {name: given[name][t] for name in ("Ann", "Bob<b>")}
        learner.learn_one(row, given["y"][t])
        assert learner.weights_ == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert weights[-1] == pytest.approx(found.best.weights, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("dates", [True, False])
@pytest.mark.parametrize("rules", [["boa"], ["boa", "ml-poly"]])
def test_weights_as_a_table(rules: list[str], dates: bool) -> None:
    found = mb.experts.compare(table(dates=dates), "y", rules=rules)
    file = io.StringIO()
    found.write_weights(file)
    head, *rows = csv.reader(io.StringIO(file.getvalue()))
    several = ["rule"] if len(rules) > 1 else []
    assert head == ["date" if dates else "round", *several, "Ann", "Bob<b>"]
    assert len(rows) == 60 * len(rules)
    assert rows[0][0] == ("2026-01-01" if dates else "1")
    for rule in rules:
        mine = [row[-2:] for row in rows if not several or row[1] == rule]
        assert np.array(mine, float).tolist() == found.weights(rule).tolist()


class Checker(HTMLParser):
    """Collects the tags that are open, and all text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.sources += [value or "" for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "line", "rect", "circle", "polyline", "polygon", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("line", "rect", "circle", "polyline", "polygon"):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> str:
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert checker.sources == []  # nothing is loaded
    return checker.text


CASES = {
    "numbers": (table(), {"rules": "all"}),
    "asleep": (table(asleep=True, dates=False), {}),
    "labels": (votes(), {"rules": ["weighted-majority", "randomized-weighted-majority"]}),
    "classes": (games(), {"classes": list("HDA")}),
    "one round": (table(1), {}),
    "absolute": (table(), {"loss": "absolute", "gradient": False, "rules": ["adahedge"]}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_page_shows_the_comparison(case: str) -> None:
    given, options = CASES[case]
    found = mb.experts.compare(given, "y", **options)
    page = found.report(command="mistakebound experts t.csv --outcome y")
    text = read(page)
    assert "mistakebound experts t.csv --outcome y" in text
    assert mb.__version__ in text
    for each in found.mixes:
        assert each.rule in text
    for name in found.advice.names:
        assert name in text
    assert "<b>" not in re.sub(r"<b[ >][^<]*</b>", "", page.replace("Bob&lt;b&gt;", ""))
    assert f"{found.advice.rounds:,} round" in text
    assert found.best.status in text
    for title in ("Rules", "Experts", "The best choices in hindsight", "What is guaranteed", "Data"):
        assert f">{title}</h2>" in page
    assert page.count("<figure") == (0 if found.advice.rounds == 1 else 3)


def test_forecasts_of_the_next_rows_are_shown_first() -> None:
    given = table()
    given["y"] = [*given["y"][:-2], None, None]
    found = mb.experts.compare(given, "y", ahead=True)
    page = found.report()
    assert page.index("Next forecasts") < page.index("Over time")
    assert f"{found.best.predictions[-1]:.6g}" in page
    assert given["date"][-1] in page


def lines(chart: Any) -> dict[str, Line]:
    return {mark.name: mark for mark in chart.marks if isinstance(mark, Line)}


def test_the_charts() -> None:
    found = mb.experts.compare(table(), "y", rules=["ml-poly", "adahedge"])
    weights, regrets, losses = charts(found)
    assert weights.x.scale == regrets.x.scale == losses.x.scale == "date"
    assert weights.x.label == "date"
    ann = lines(weights)["Ann"]
    ledger = mb.experts.compare(table(), "y").best.learner
    assert len(ann.x) == len(ann.y) == 60
    assert ann.y[0] == 0.5
    assert ledger.ledger_.rounds == 60
    best = found.best
    assert lines(regrets)[best.rule].y[-1] == pytest.approx(best.regrets["expert"])
    assert len(lines(losses)[best.rule].x) == 20  # windows of three rounds
    assert lines(losses)[best.rule].y[0] == pytest.approx(float(best.losses[:3].mean()) ** 0.5)
    without = mb.experts.compare(table(dates=False), "y")
    assert charts(without)[0].x.label == "rounds"


def test_nearly_equal_losses_are_drawn_as_differences() -> None:
    given = table()
    given["Bob<b>"] = [value + 1e-3 for value in given["Ann"]]
    found = mb.experts.compare(given, "y")
    chart = charts(found)[2]
    assert "minus that of the plain average" in chart.title
    assert max(abs(value) for line in lines(chart).values() for value in line.y) < 0.01


def test_the_note_on_sleeping_experts_is_true() -> None:
    drawn = {rule: charts(mb.experts.compare(table(asleep=True), "y", rules=[rule]))[0] for rule in ("boa", "ridge")}
    assert "gap while its expert is asleep" in drawn["boa"].note
    assert "asleep" not in drawn["ridge"].note  # it fills in the forecast of a sleeping expert
    gaps = {rule: np.isnan(lines(chart)["Bob<b>"].y).nonzero()[0].tolist() for rule, chart in drawn.items()}
    assert gaps == {"boa": list(range(1, 60, 4)), "ridge": []}


def test_the_lead_has_the_numbers_of_its_percentages() -> None:
    found = mb.experts.compare(table(asleep=True), "y", rules=["boa"], experts=["Bob<b>", "Ann"])
    text = read(found.report())
    words = r"boa has RMSE ([\d.]+), and ([\w ]+) has RMSE ([\d.]+): boa is ([\d.]+) % (better|worse)\."
    sentences = re.findall(words, re.sub(r"<[^>]*>", "", text))
    assert [each[1] for each in sentences] == ["Ann", "the plain average"]
    for own, _, other, percent, side in sentences:
        change = 100 * (float(own) / float(other) - 1)
        assert abs(abs(change) - float(percent)) < 0.6
        assert side == ("worse" if change > 0 else "better")


def test_the_lead_names_the_regret_that_the_bound_limits_and_large_numbers_have_commas() -> None:
    given = {name: [2000 * value for value in column] for name, column in table(dates=False).items()}
    page = read(mb.experts.compare(given, "y", rules=["ml-poly"]).report())
    assert "A theorem limits its linear regret to " in page
    assert re.search(r"RMSE \d,\d{3}", page)
    assert not re.search(r"\d{4}\.\d|e\+\d", page.partition("A theorem")[0])


def test_the_facts_about_the_data_are_a_table_that_wraps() -> None:
    data = mb.experts.compare(table(), "y").report().partition("<h2>Data</h2>")[2].lstrip()
    assert data.startswith('<table class="facts">')
    assert "<th>outcome</th><td><bdi>y (numbers)</bdi></td>" in data
    assert "<th>files</th>" not in data


def test_many_experts_share_a_line() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=40).cumsum()
    given = {f"e{k}": list(y + rng.normal(size=40)) for k in range(12)} | {"y": list(y)}
    weights = charts(mb.experts.compare(given, "y"))[0]
    drawn = lines(weights)
    assert len(drawn) == 7
    assert "6 others, together" in drawn
    assert np.sum([line.y for line in drawn.values()], axis=0) == pytest.approx(np.ones(40))
