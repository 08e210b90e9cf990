"""The HTML reports of runs, comparisons and forecasters: what they show, and that text from files cannot break them."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from files import call, without_spans

import mistakebound as mb
from mistakebound.forecasters.verdict import evidence_of
from mistakebound.runs.comparison_report import lead
from mistakebound.runs.round_dates import time_axis
from mistakebound.viz.mistake_charts import brief_bound

EVIL = '"><script>alert(1)</script>'


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def titles(page: str) -> list[str]:
    return re.findall("<figcaption>(.*?)</figcaption>", page)


def hover(page: str, title: str) -> dict:
    """The data that a chart shows under the pointer."""
    found = re.search(rf"<figcaption>{title}.*?<script type=.application/json.>(.*?)</script>", page, re.DOTALL)
    return json.loads(found[1])


def cells(page: str, first: str) -> list[str]:
    """The cells of the row of a table whose first cell has this text."""
    rows = ([re.sub("<.*?>", "", cell) for cell in re.findall("<td.*?>(.*?)</td>", row)] for row in page.split("<tr>"))
    return next(row for row in rows if row[:1] == [first])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three hundred days; the label follows the wind, with some noise."""
    rng = np.random.default_rng(0)
    path = tmp_path / "days.csv"
    lines = ["day,wind,rain"]
    for k in range(300):
        wind = rng.normal()
        rain = "wet" if wind + 0.3 * rng.normal() > 0.3 else "dry"
        lines.append(f"{date(2024, 1, 1) + timedelta(k)},{wind:.3f},{rain}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_report_of_a_run(table: Path, tmp_path: Path) -> None:
    result = mb.runs.run(mb.Source(table, label="rain"), mb.Panel(), certify=True)
    result.write_report(tmp_path / "r.html", command="make it")
    page = text_of(tmp_path / "r.html")
    assert re.search(rf"<h1>[\d.]+ % mistakes on {result.rounds} examples</h1>", page)
    assert f"{result.mistakes} mistakes in 300 rounds" in page
    assert titles(page) == [
        "Mistakes so far",
        "Error in windows of about 10 rounds",
        "Reliability of the probabilities",
        "ROC curve",
        "What a threshold does",
        "Leader over time",
    ]
    negatives = 300 - result.positives
    missed, wrong = result.false_negatives, result.false_positives
    assert cells(page, "dry")[:3] == ["dry", str(negatives - wrong), str(wrong)]
    assert cells(page, "wet")[:3] == ["wet", str(missed), str(result.positives - missed)]
    half = result.ledger.measures.confusion(0.5)
    assert cells(page, "0.5")[1:4] == [f"{part:.4f}" for part in (half.precision, half.recall, half.error)]
    for words in ("holds", "premise", "Members of the panel", "wind", "make it", "Python"):
        assert words in without_spans(page)
    assert '<li><b class="holds">✓</b><bdi>the learner was fresh' in page
    assert "The guard always followed the mixture." in page
    assert all(head for head in re.findall(r"<th[^>]*>(.*?)</th>", page[page.index("Members of the panel") :])[:6])


def test_the_report_of_one_round(tmp_path: Path) -> None:
    """With one label, the AUC is not defined."""
    path = tmp_path / "one.svm"
    path.write_text("1 1:1\n")
    call("run", path, "--classes=-1,1", "--report", tmp_path / "r.html")
    page = text_of(tmp_path / "r.html")
    assert "nan" not in page.partition("<footer>")[0].partition("</style>")[2].lower()
    assert cells(page, "AUC")[1] == "–"


def test_the_axis_has_the_dates_of_the_table(table: Path, tmp_path: Path) -> None:
    result = mb.runs.run(mb.Source(table, label="rain"), mb.Panel())
    result.write_report(tmp_path / "r.html")
    found = hover(text_of(tmp_path / "r.html"), "Mistakes so far")
    assert found["x"] == "day"
    learner = found["lines"][0]["points"]
    assert (learner[0][2], learner[-1][2]) == ("2024-01-01", str(date(2024, 1, 1) + timedelta(299)))
    assert learner[-1][3] == str(result.mistakes)


def test_rounds_are_on_the_axis_if_dates_do_not_fit(table: Path, tmp_path: Path) -> None:
    """Two passes; a date that is earlier; a file without columns."""
    twice = mb.runs.run(mb.Source(table, label="rain"), mb.Perceptron(), passes=2)
    assert time_axis(twice.source, twice.report, twice.rounds).dates is None
    lines = text_of(table).splitlines()
    (tmp_path / "mixed.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]))
    mixed = mb.runs.run(mb.Source(tmp_path / "mixed.csv", label="rain"), mb.Perceptron())
    assert time_axis(mixed.source, mixed.report, mixed.rounds).dates is None
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n")
    other = mb.runs.run(mb.Source(tmp_path / "a.svm"), mb.Perceptron())
    assert time_axis(other.source, other.report, other.rounds).dates is None


def test_abstentions_are_shown(table: Path, tmp_path: Path) -> None:
    result = mb.runs.run(mb.Source(table, label="rain"), mb.Panel(abstain=0.3))
    result.write_report(tmp_path / "r.html")
    answers = result.ledger.answers
    assert answers.abstentions > 0
    assert f"abstained in {answers.abstentions} of 300 rounds; {answers.mistakes} of the" in text_of(
        tmp_path / "r.html"
    )


@pytest.mark.parametrize(
    ("learner", "options", "theorem"),
    [
        (mb.Winnow(threshold=8), {"relevant": 1}, "littlestone"),
        (mb.Elimination(), {}, "elimination"),
        (mb.Panel(), {}, "bayes-mixture"),
    ],
    ids=("Winnow", "Elimination", "Panel"),
)
def test_a_bound_without_a_certificate_names_its_theorem(
    learner: mb.Learner, options: dict[str, int], theorem: str, tmp_path: Path
) -> None:
    stream = tmp_path / "or.csv"
    rows = (f"{t % 2},{t // 2 % 2},{t % 2}\n" for t in range(200))
    stream.write_text("a,b,y\n" + "".join(rows), encoding="utf-8")
    result = mb.runs.run(mb.Source(stream, label="y"), learner, **options)
    result.write_report(tmp_path / "r.html")
    assert result.bound is not None
    assert f"at most {brief_bound(result.bound)} ({theorem})" in text_of(tmp_path / "r.html")


def test_equally_good_learners_of_a_comparison_share_the_headline(tmp_path: Path) -> None:
    stream = tmp_path / "one.csv"
    stream.write_text("a,y\n" + "1,0\n0,1\n" * 20, encoding="utf-8")
    found = mb.runs.compare(mb.Source(stream, label="y"))
    best = [each for each in found.ranked if each.curve.mistakes == found.ranked[0].curve.mistakes]
    found.write_report(tmp_path / "c.html")
    assert len(best) > 2
    assert f"<h1>{best[0].name} and {len(best) - 1} others make the fewest" in text_of(tmp_path / "c.html")


def test_products_of_columns_are_readable(table: Path, tmp_path: Path) -> None:
    source = mb.Source(table, label="rain", table={"interact": [["wind", "day"]]})
    mb.runs.run(source, mb.Perceptron()).write_report(tmp_path / "r.html")
    assert "wind × day" in text_of(tmp_path / "r.html")


def test_the_report_of_a_comparison(table: Path, tmp_path: Path) -> None:
    page_file = tmp_path / "c.html"
    call("compare", table, "--label", "rain", "--report", page_file, "--certify")
    page = text_of(page_file)
    found = mb.runs.compare(mb.Source(table, label="rain"))
    best = found.ranked[0]
    tied = sum(each.curve.mistakes == best.curve.mistakes for each in found.ranked) - 1
    makes = f" and {tied} other{'s' if tied > 1 else ''} make" if tied else " makes"
    assert f"<h1>{best.name}{makes} the fewest mistakes" in page
    for each in found.ranked:
        assert cells(page, each.name)[1] == str(each.curve.mistakes)
    drawn = hover(page, "Mistakes so far")["lines"]
    assert [line["name"] for line in drawn] == [each.name for each in found.ranked[:12]]
    assert drawn[0]["points"][-1][3] == str(best.curve.mistakes)
    assert hover(page, "Error of the best")["x"] == "day"
    assert "always predicting" in page
    assert f"mistakebound compare {table} --label rain --report {page_file} --certify" in without_spans(page)
    assert "certificate" in page


def test_the_second_of_a_comparison_makes_more_mistakes_than_the_best(tmp_path: Path) -> None:
    """If several are the best, the next one is named; if all are, none is."""
    (tmp_path / "one.csv").write_text("a,y\n" + "1,0\n0,1\n" * 20, encoding="utf-8")
    found = mb.runs.compare(mb.Source(tmp_path / "one.csv", label="y"))
    least = found.ranked[0].curve.mistakes
    after = next(each for each in found.ranked if each.curve.mistakes > least)
    words = f"The next, <bdi>{after.name}</bdi>, makes {after.curve.mistakes} mistakes"
    assert words in lead(found)
    tied = [each for each in found.ranked if each.curve.mistakes == least]
    assert len(tied) > 1
    alone = replace(found, ranked=(tied[0], after))
    assert words.replace("next", "second") in lead(alone)
    assert "The " not in lead(replace(found, ranked=tuple(tied)))


def test_a_comparison_that_no_learner_can_make(tmp_path: Path) -> None:
    path = tmp_path / "x.svm"
    path.write_text("1 1:0.5\n-1 2:0.5\n")
    found = mb.runs.compare(mb.Source(path), [mb.Winnow(threshold=2)])
    assert found.stopped is not None
    found.write_report(tmp_path / "c.html")
    page = text_of(tmp_path / "c.html")
    assert "No learner could learn the stream" in page
    assert "winnow" in page


def test_the_report_on_forecasters(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, 400)
    y = rng.random(400) < p
    lines = [f"{date(2024, 1, 1) + timedelta(k)},{p[k]:.3f},{0.6 + 0.4 * p[k]:.3f},{int(y[k])}" for k in range(400)]
    path = tmp_path / "rain.csv"
    path.write_text("\n".join(["day,Alice,Bob,rain", *lines]))
    call("forecasters", path, "--outcome", "rain", "--report", tmp_path / "f.html")
    page = text_of(tmp_path / "f.html")
    report = mb.forecasters.compare(path, outcome="rain")
    assert "<h1>Alice is best</h1>" in page
    assert titles(page)[2:] == ["Alice minus Bob"]
    assert cells(page, "Bob")[1] == f"{report.scores['Bob'].brier.score:.5f}"
    (pair,) = report.pairs
    found = hover(page, "Alice minus Bob")
    assert found["x"] == "day"
    assert found["lines"][0]["points"][-1][3] == f"{pair.difference:.4g}"
    assert f"clear since round {pair.clear_since}" in page
    report.write_report(tmp_path / "python.html")
    assert text_of(tmp_path / "python.html").partition("Make this")[0][:5000] == page.partition("Make this")[0][:5000]


def test_an_impossible_outcome_has_an_infinite_difference_with_its_sign(tmp_path: Path) -> None:
    p = np.array([[0.7, 0.0, 0.6]] * 20)
    report = mb.forecasters.compare({"a": p[:, 0], "b": p[:, 1], "c": p[:, 2]}, np.ones(20, bool))
    report.write_report(tmp_path / "f.html")
    assert ">-∞<" in text_of(tmp_path / "f.html")
    assert "∞" not in cells(text_of(tmp_path / "f.html"), "c")[-1]


def test_much_evidence_is_a_whole_number() -> None:
    pair = mb.forecasters.compare({"a": [0.5], "b": [0.4]}, [True]).pairs[0]
    assert evidence_of(replace(pair, evidence=1.234, enough=1080.0)) == "evidence 1.23 of 1,080"
    assert evidence_of(replace(pair, evidence=1e60, enough=120.0)) == "evidence 1e+60 of 120"


def test_hostile_names_cannot_break_a_page(tmp_path: Path) -> None:
    """Names of columns, labels and files are text; the only scripts are data and the one of the policy."""
    path = tmp_path / "<img src=x>.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(
            [[f"a{EVIL}", "kind"], *([k % 2, f"{EVIL}{k % 2}"] for k in range(40))]
        )
    call("run", path, "--label", "kind", "--report", tmp_path / "r.html")
    call("compare", path, "--label", "kind", "--report", tmp_path / "c.html")
    P = {f"A{EVIL}": [0.2, 0.9, 0.4], f"$B$\x1b{EVIL}": [0.3, 0.8, 0.1]}
    mb.forecasters.compare(P, [0, 1, 0]).write_report(tmp_path / "f.html", command=f"x {EVIL}")
    for name in ("r", "c", "f"):
        page = text_of(tmp_path / f"{name}.html")
        charts = len(titles(page))
        assert charts > 0
        assert page.count("<script") == charts + 1, name
        assert page.count("</script>") == charts + 1, name
        assert "<img" not in page
        assert "\x1b" not in page
        assert "&lt;script&gt;alert(1)" in page


def test_outputs_must_differ_from_inputs(table: Path) -> None:
    before = text_of(table)
    assert "also an input" in call("compare", table, "--label", "rain", "--report", table, fails=2)
    assert "also an input" in call("forecasters", table, "--outcome", "rain", "--report", table, fails=2)
    assert text_of(table) == before
