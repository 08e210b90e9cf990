"""The HTML page of results: complete, self-contained, escaped, and red if a check fails."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from files import without_spans

import mistakebound as mb
from mistakebound.lab.experiment import Check, Table
from mistakebound.lab.results_page import MOST_CHECKS, MOST_ROWS, results_page, theorems_in_words

RESULTS = [mb.lab.get(name).run(**mb.lab.get(name).quick) for name in ("unit-vectors", "beta", "potential")]


class Tags(HTMLParser):
    """All tags, with the check that they are balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.links += [value for name, value in attrs if name in ("href", "src")]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in ("meta", "line", "rect", "circle", "polyline", "polygon"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("line", "rect", "circle", "polyline", "polygon"):
            assert self.open.pop() == tag


def test_the_page_has_every_experiment_with_its_parts() -> None:
    page = without_spans(results_page(RESULTS, "mistakebound lab --all"))
    tags = Tags(page)
    assert "3 experiments: no claim is refuted" in page
    assert tags.links == ["#unit-vectors", "#beta", "#potential", *["#contents"] * 3]
    assert tags.ids == ["contents", "unit-vectors", "beta", "potential"]
    for result in RESULTS:
        for words in (result.title, result.claim, result.setting, result.conclusion, result.command):
            assert words in unescape(page)
        assert all(f"<figcaption>{chart.title}" in page for chart in result.charts)
        assert all(check.statement in unescape(page) for check in result.checks)
        assert f"✓ all {len(result.checks)} checks hold" in page
    assert page.count("<details>") == sum(len(table.rows) > MOST_ROWS for each in RESULTS for table in each.tables)
    assert "<pre>mistakebound lab --all</pre>" in page
    assert not re.search(r"https?://(?!www\.w3\.org)", page)


def test_one_theorem_has_one_proof() -> None:
    one, two = (replace(RESULTS[0], theorems=names) for names in (("novikoff",), ("novikoff", "littlestone")))
    assert theorems_in_words(one) == "novikoff; its proof is in theory.md of the docs."
    assert theorems_in_words(two) == "novikoff, littlestone; their proofs are in theory.md of the docs."


def test_a_check_that_fails_is_shown() -> None:
    wrong = replace(RESULTS[0], checks=(*RESULTS[0].checks, Check("1 < 0", False, "<b>1</b>")))
    page = results_page([wrong, RESULTS[1]])
    Tags(page)
    assert "2 experiments: a claim fails" in page
    assert "These fail: unit-vectors." in page
    assert '<b class="fails">✗ 1 of 4 checks fail</b>' in page
    assert "1 &lt; 0" in page
    assert "&lt;b&gt;1&lt;/b&gt;" in page
    alone = results_page([wrong])
    assert "<h1>The bound of the Perceptron is tight</h1>" in alone
    assert "Contents" not in alone


def test_many_checks_that_hold_are_folded() -> None:
    held = [Check(f"claim {number}", True) for number in range(MOST_CHECKS)]
    page = results_page([replace(RESULTS[0], checks=(*held, Check("1 < 0", False)))])
    Tags(page)
    summary = page.index(f"<details><summary>{MOST_CHECKS} checks hold</summary>")
    assert page.index("1 &lt; 0") < summary < page.index("claim 0")
    assert "<details>" not in results_page([replace(RESULTS[0], checks=tuple(held))])


def test_text_in_a_table_is_escaped_and_numbers_are_aligned() -> None:
    rows = [("<i>", 1234, float("inf"))]
    page = results_page([replace(RESULTS[0], tables=(Table("T & t", ("a", "b", "c<"), rows),))])
    assert "<h3>T &amp; t</h3>" in page
    assert '<td>&lt;i&gt;</td><td class="n">1,234</td><td class="n">∞</td>' in page


def test_report_writes_one_result_or_several(tmp_path: Path) -> None:
    mb.lab.report(RESULTS[0], tmp_path / "one.html")
    mb.lab.report(iter(RESULTS), tmp_path / "all.html", command="again")
    assert "Contents" not in (tmp_path / "one.html").read_text("utf-8")
    assert "<pre>again</pre>" in without_spans((tmp_path / "all.html").read_text("utf-8"))


def test_a_dash_does_not_turn_a_column_of_numbers_into_words() -> None:
    table = Table("Bounds", ("who", "bound"), [("a", 60.5), ("b", "–")])
    page = results_page([replace(RESULTS[0], tables=[table])])
    assert '<td class="n">60.5</td>' in page
    assert '<td class="n">–</td>' in page
