"""The HTML reports in a real browser: no errors, values under the pointer and by keys, narrow, dark and printed pages.

They need Chromium (Debian: ``apt-get install chromium``; ``make test`` installs it if it can) and playwright.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import call
from pages import options_of

from mistakebound.cli import COMMANDS
from mistakebound.viz.chart import Axis, Chart, Line
from mistakebound.viz.page import charts, table
from mistakebound.viz.page import page as html_page

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
EVIL = "<script>document.title = 'broken'</script>"

found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(found is None, reason=f"no browser: install one of {', '.join(BROWSERS)}")


def days(folder: Path) -> Path:
    """A table with a date, two probabilities, numbers and a label of two words, one of them hostile."""
    rng = np.random.default_rng(0)
    path = folder / "days.csv"
    lines = ["day,Alice,Bob,wind,rain,label"]
    for k in range(400):
        chance = rng.uniform(0.05, 0.95)
        rain = rng.random() < chance
        label = EVIL if rain else "dry"
        numbers = f"{chance:.3f},{0.6 + 0.4 * chance:.3f},{chance + 0.1 * rng.normal():.3f}"
        lines.append(f"{date(2024, 1, 1) + timedelta(k)},{numbers},{int(rain)},{label}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def classes(folder: Path) -> Path:
    """Three labels."""
    rng = np.random.default_rng(1)
    path = folder / "kinds.csv"
    kinds = rng.integers(0, 3, 300)
    path.write_text("x,y,kind\n" + "".join(f"{k + rng.normal():.2f},{rng.normal():.2f},k{k}\n" for k in kinds))
    return path


def asleep(folder: Path) -> Path:
    """Three outcomes, and three forecasters of which one is asleep in every row."""
    rng = np.random.default_rng(2)
    path = folder / "games.csv"
    rows = ["result,Ann_H,Ann_D,Ann_A,Ben_H,Ben_D,Ben_A,Cem_H,Cem_D,Cem_A"]
    for k in range(90):
        cells = [",".join(f"{p:.6f}" for p in rng.dirichlet(np.ones(3))) if j != k % 3 else ",," for j in range(3)]
        rows.append(",".join([rng.choice(list("HDA")), *cells]))
    path.write_text("\n".join(rows) + "\n")
    return path


RECIPES: dict[str, Callable[[Path], tuple[Any, ...]]] = {
    "run": lambda folder: ("run", days(folder), "--label", "label", "--ignore", "rain", "--certify"),
    "run several classes": lambda folder: ("run", classes(folder), "--label", "kind"),
    "run perceptron": lambda folder: (
        "run",
        classes(folder),
        "--label",
        "kind",
        "--positive",
        "k1",
        "--learner",
        "arow",
    ),
    "compare": lambda folder: ("compare", days(folder), "--label", "label", "--ignore", "rain"),
    "forecasters": lambda folder: ("forecasters", days(folder), "--outcome", "rain", "--forecasters", "Alice,Bob"),
    "forecasters of classes": lambda folder: (
        "forecasters",
        asleep(folder),
        "--outcome",
        "result",
        "--classes",
        "H,D,A",
    ),
    "experts": lambda folder: ("experts", days(folder), "--outcome", "rain", "--experts", "Alice,Bob"),
    "lab": lambda _: ("lab", "unit-vectors"),
}
"""Commands that write a page, without ``--report FILE``."""


def writes_a_page(recipe: str) -> bool:
    command = recipe.split(maxsplit=1)[0]
    return command in COMMANDS and "--report" in options_of(command)


NAMES = [recipe for recipe in RECIPES if writes_a_page(recipe)]


def test_every_command_with_a_page_is_opened() -> None:
    assert {name for name in COMMANDS if "--report" in options_of(name)} == {
        recipe.split(maxsplit=1)[0] for recipe in NAMES
    }


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=NAMES)
def page_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    path = folder / "page.html"
    call(*RECIPES[request.param](folder), "--report", path)
    return path


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page with some options of the browser. At the end, no page may have written an error to the console."""
    contexts, errors = [], []

    def open_page(path: Path, **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        # A violation of the content security policy is an error of the console, too.
        page.on(
            "console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda asked: None if asked.url == path.as_uri() else errors.append(f"asks for {asked.url}"))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


def test_a_page_is_complete(opened: Callable[..., Any], page_file: Path) -> None:
    page = opened(page_file)
    expect(page.locator("h1")).to_be_visible()
    assert page.locator("figure.chart").count() >= 1
    for chart in page.locator("figure.chart > svg").all():
        box = chart.bounding_box()
        assert box["width"] > 200
        assert box["height"] > 50
    expect(page.locator("footer")).to_contain_text("mistakebound")
    assert page.title() == page.locator("h1").inner_text()
    assert "broken" not in page.title()


def test_the_pointer_shows_values(opened: Callable[..., Any], page_file: Path) -> None:
    page = opened(page_file)
    chart = page.locator("figure.chart:has(.line[points])").first
    box = chart.locator(".hover")
    expect(box).to_have_count(0)
    chart.locator(":scope > svg").hover()
    expect(box).to_be_visible()
    expect(box).to_have_text(re.compile(r".+: .*\d"))
    expect(chart.locator("line.cursor")).to_have_count(1)
    page.locator("h1").hover()
    expect(box).to_have_count(0)


def test_arrow_keys_show_values(opened: Callable[..., Any], page_file: Path) -> None:
    page = opened(page_file)
    chart = page.locator("figure.chart:has(.line[points])").first
    chart.focus()
    page.keyboard.press("ArrowRight")
    head = chart.locator(".hover b")
    expect(head).to_be_visible()
    first = head.inner_text()
    page.keyboard.press("ArrowRight")
    expect(head).not_to_have_text(first)
    page.keyboard.press("ArrowLeft")
    expect(head).to_have_text(first)
    page.keyboard.press("Escape")
    expect(chart.locator(".hover")).to_have_count(0)


def test_letters_of_charts_are_readable_at_every_width(opened: Callable[..., Any], page_file: Path) -> None:
    for width in (380, 720, 1280):
        page = opened(page_file, viewport={"width": width, "height": 800})
        sizes = page.evaluate(
            """() => [...document.querySelectorAll("figure.chart > svg")].map(svg =>
                parseFloat(getComputedStyle(svg.querySelector("text")).fontSize)
                * svg.clientWidth / svg.viewBox.baseVal.width)"""
        )
        assert min(sizes) >= 10.5, width
        assert max(sizes) <= 16, width


@pytest.mark.parametrize("parts", ["charts", "tables"])
def test_charts_and_tables_below_each_other_have_a_gap(parts: str, opened: Callable[..., Any], tmp_path: Path) -> None:
    chart = charts([Chart("Mistakes", Axis("x"), Axis("y"), [Line("a", [0, 1], [0, 1])])])
    part = chart if parts == "charts" else table(["a", "b"], [["1", "2"]])
    path = tmp_path / "two.html"
    path.write_text(html_page("Two", "", [part + part], made_by={}), encoding="utf-8")
    first, second = (each.bounding_box() for each in opened(path).locator(".charts, .wide").all())
    assert second["y"] - (first["y"] + first["height"]) >= 20


def test_the_first_column_stays_in_sight(opened: Callable[..., Any], tmp_path: Path) -> None:
    head, row = [f"column {k}" for k in range(30)], ["first", *["1" * 9] * 29]
    path = tmp_path / "wide.html"
    path.write_text(html_page("Wide", "", [table(head, [row], numbers_from=1)], made_by={}), encoding="utf-8")
    page = opened(path, viewport={"width": 380, "height": 800})
    cell, box = page.locator("td").first, page.locator(".wide")
    left = cell.bounding_box()["x"]
    box.evaluate("box => { box.scrollLeft = 500; }")
    expect(page.locator("td").nth(1)).not_to_be_in_viewport()
    assert cell.bounding_box()["x"] == pytest.approx(left)


def test_options_are_not_broken(opened: Callable[..., Any], page_file: Path) -> None:
    """The options of the learner, on pages of every width from 280 pixels on."""
    broken = opened(page_file).evaluate(
        """() => {
            const broken = [];
            for (let width = 280; width < 400; width += 5) {
                document.body.style.width = `${width}px`;
                for (const code of document.querySelectorAll("code")) {
                    const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
                    for (let node = walk.nextNode(); node; node = walk.nextNode())
                        for (const option of node.data.matchAll(/--[a-z-]+/g)) {
                            const range = document.createRange();
                            range.setStart(node, option.index);
                            range.setEnd(node, option.index + option[0].length);
                            const tops = [...range.getClientRects()].map(box => Math.round(box.top));
                            if (new Set(tops).size > 1) broken.push([option[0], width]);
                        }
                }
            }
            return broken;
        }"""
    )
    assert not broken


def test_a_narrow_screen_needs_no_sideways_scrolling(opened: Callable[..., Any], page_file: Path) -> None:
    page = opened(page_file, viewport={"width": 380, "height": 800})
    page.locator("figure.chart > svg").first.hover()
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 380


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_colours_of_the_reader(opened: Callable[..., Any], page_file: Path, scheme: str) -> None:
    page = opened(page_file, color_scheme=scheme)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.evaluate("getComputedStyle(document.body).color")
    bright = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (background, ink)]
    low, high = sorted(bright)
    assert low < 150
    assert high > 450
    assert (bright[0] == low) == (scheme == "dark")


def test_a_page_can_be_printed(opened: Callable[..., Any], page_file: Path) -> None:
    page = opened(page_file)
    page.set_viewport_size({"width": 720, "height": 1000})  # a sheet of A4 between its margins
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 720  # paper cannot be scrolled
    made = page.pdf()
    assert made.startswith(b"%PDF")
    assert len(made) > 10_000


def test_without_scripts_everything_but_the_values_is_shown(opened: Callable[..., Any], page_file: Path) -> None:
    page = opened(page_file, java_script_enabled=False)
    expect(page.locator("figure.chart > svg").first).to_be_visible()
    expect(page.locator("figcaption").first).to_be_visible()
