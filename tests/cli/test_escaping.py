"""Text from files and file names never steers a terminal: it is escaped in the same way on a terminal and in a pipe."""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import mistakebound as mb
from mistakebound._support.text import escaped
from mistakebound.cli import main

NASTY = "\x1b]0;pwned\x07\r\n\x9b2J\u202e\u2066\x7f\u2028\x85\t[red]"
COLUMN, LABEL, HAM, SPAM = f"size{NASTY}", f"kind{NASTY}", f"ham{NASTY}", f"spam{NASTY}"
OWN_STYLES = re.compile(r"\x1b\[(0|1|3[123])m")


def shown(*words: Any, fails: int = 0, text: str | None = None) -> str:
    """What a command shows on a terminal; the same as in a pipe, but for our own styles and times, and harmless."""
    asked = [str(word) for word in words]
    terminal, pipe = (CliRunner().invoke(main, asked, color=color, input=text) for color in (True, False))
    assert terminal.exit_code == pipe.exit_code == fails, terminal.output
    plain = OWN_STYLES.sub("", terminal.output)
    assert harmful(plain) == harmful(pipe.output) == set()
    if asked[0] != "run" or fails:
        assert plain == pipe.output
    return plain


def harmful(text: str) -> set[str]:
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"}


def table(path: Path, rows: int = 20, label: bool = True) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow([COLUMN, "site", LABEL][: 3 if label else 2])
        for row in range(rows):
            writer.writerow(
                [row % 7, f"{'shop' if row % 2 else 'news'}{NASTY}", SPAM if row % 2 else HAM][: 3 if label else 2]
            )
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / f"in{NASTY}"
    place.mkdir()
    return place


@pytest.fixture
def model(folder: Path) -> Path:
    words = ["--label", LABEL, "--learner", "balanced-winnow", "--save", str(folder / "m.mb")]
    CliRunner().invoke(main, ["run", str(table(folder / "a.csv")), *words])
    return folder / "m.mb"


def test_ordinary_text_stays_as_it_is() -> None:
    for text in (
        "größe €",
        "two words",
        "C:\\new",
        "naïve\u00a0x",
        "\u0645\u06cc\u200c\u062e",
        "日本 語",
        "[red]",
        "👩\u200d🚒",
    ):
        assert escaped(text) == text
    assert escaped("a\x1b[31m\n\t\r\x9b\u202e\udcff\x7f") == "a\\x1b[31m\\n\\t\\r\\x9b\\u202e\\udcff\\x7f"
    assert escaped(escaped(NASTY)) == escaped(NASTY)
    assert harmful(escaped("".join(map(chr, range(0x3000))) + "\ufeff\U000e0001\ud800")) == {"\u200c", "\u200d"}


def test_run_shows_names_escaped(folder: Path) -> None:
    file, page, out = table(folder / "a.csv"), folder / "page.html", folder / "p.txt"
    found = shown(
        *("run", file, "--label", LABEL, "--learner", "balanced-winnow", "--certify"),
        *("--save", folder / "m.mb", "--report", page, "--predictions", out),
    )
    assert f"predicted {escaped(SPAM)}, was {escaped(HAM)}" in found
    assert escaped(str(folder / "m.mb")) in found
    assert harmful(page.read_text()) == set()
    assert "size\\x1b]0;pwned" in page.read_text()
    lines = out.read_text().split("\n")
    assert len(lines) == 21
    assert {line.split("\t")[0] for line in lines[2:20]} == {escaped(HAM), escaped(SPAM)}
    answer = json.loads(shown("run", file, "--label", LABEL, "--json"))
    assert answer["classes"] == [HAM, SPAM]  # JSON has its own escapes


def test_advice_and_skipped_lines_are_escaped(folder: Path) -> None:
    file = folder / "a.csv"
    rows = [[f"{row}" if row % 3 else f"w{row}", "x", row % 2] for row in range(200)]
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerows([[COLUMN, "b", "y"], *rows, ["1", "2"], [f"inf{NASTY}", "2", "3", "4"]])
    assert "advice" in shown("run", file, "--label", "y", "--skip-bad", 2)


def test_model_commands_escape(model: Path, folder: Path) -> None:
    file = table(folder / "new.csv", 6, label=False)
    predicted = shown("predict", model, file).split("\n")
    assert predicted == [*([escaped(HAM), escaped(SPAM)] * 3), ""]
    assert [line.split("\t")[0] for line in scores(model, file)] == predicted[:-1]
    assert escaped(COLUMN) in shown("weights", model)
    explained = shown("explain", model, file)
    assert explained.startswith(f"{escaped(file)}:3: predicted {escaped(HAM)}\n")
    assert escaped(COLUMN) in explained
    assert json.loads(shown("explain", model, file, "--first", 1, "--json"))["prediction"] == HAM
    assert sorted({*mb.load(model).predict(mb.Source(file)).tolist()}) == [HAM, SPAM]  # in Python, as they are


def scores(model: Path, file: Path) -> list[str]:
    result = CliRunner().invoke(main, ["predict", str(model), str(file), "--scores"], color=True)
    assert harmful(result.output) == {"\t"}
    return result.output.split("\n")[:-1]


def test_compare_escapes(folder: Path) -> None:
    file = table(folder / "a.csv")
    result = CliRunner().invoke(main, ["compare", str(file), "--label", LABEL], color=True)
    assert harmful(OWN_STYLES.sub("", result.output)) == set()
    assert escaped(SPAM) in result.output


def test_errors_escape(model: Path, folder: Path) -> None:
    file, other = table(folder / "a.csv"), folder / "other.csv"
    other.write_text(f'"wrong{NASTY}",site\n1,2\n', encoding="utf-8")
    nowhere = folder / f"nowhere{NASTY}"
    for words, code in (
        (["predict", model, other], 1),
        (["predict", model, nowhere], 1),
        (["predict", nowhere, other], 2),
        (["explain", model, other], 1),
        (["explain", model, file, "--line", 999], 1),
        (["weights", nowhere], 2),
        (["weights", other], 1),
        (["run", nowhere], 1),
        (["run", other, "--label", f"no{NASTY}"], 1),
        (["run", file, "--label", "site", "--load", model], 2),
        (["run", file, "--label", LABEL, "--classes", f"a{NASTY}"], 2),
        (["run", file, "--label", LABEL, "--classes", f"a{NASTY},b", "--learner", "arow"], 1),
        (["run", file, "--label", LABEL, "--classes", f"a{NASTY},b"], 0),  # the Panel learns other labels
        (["run", file, "--save", nowhere / "m.mb"], 2),
        (["run", file, "--save", file], 2),
        (["run", file, "--label", LABEL, "--positive", f"never{NASTY}", "--save", folder / "q.mb", "--json"], 2),
        (["run", file, "--label", LABEL, "--format", f"f{NASTY}"], 2),
        (["compare", other, "--label", f"no{NASTY}"], 1),
        (["experts", other, "--outcome", f"no{NASTY}"], 1),
        (["forecasters", other, "--outcome", f"no{NASTY}"], 1),
        ([f"no{NASTY}"], 2),
        ([f"--no{NASTY}"], 2),
        (["run", file, f"--no{NASTY}"], 2),
        (["bound", f"no{NASTY}"], 2),
    ):
        shown(*words, fails=code)


def test_a_name_that_is_not_utf8_is_shown(model: Path, folder: Path) -> None:
    """Such a file name holds a lone surrogate, which no output could be encoded with."""
    name = folder / "x\udcff.csv"
    try:
        table(folder / "a.csv").rename(name)
    except OSError:
        pytest.skip("the file system takes no such name")
    assert "x\\udcff.csv" in shown("explain", model, name, "--first", 1)
    assert "nowhere\\udcff" in shown("predict", model, folder / "nowhere\udcff", fails=1)


def test_resuming_and_notes_escape(folder: Path) -> None:
    file = table(folder / "a.csv")
    words = ["run", file, "--label", LABEL, "--save", folder / "r.mb", "--resume"]
    assert "starting at the beginning" in CliRunner().invoke(main, [str(word) for word in words], color=True).output
    found = CliRunner().invoke(main, [str(word) for word in words], color=True).output
    assert harmful(OWN_STYLES.sub("", found)) == set()
    (folder / "empty.csv").write_text("")
    shown("run", folder / "empty.csv", file, "--label", LABEL)


def forecasts(path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow([f"Alice{NASTY}", f"Bob{NASTY}", f"word{NASTY}", f"rain{NASTY}"])
        for row in range(40):
            writer.writerow([0.9 if row % 2 else 0.1, 0.5, f"w{NASTY}", row % 2])
    return path


def test_experts_and_forecasters_escape(folder: Path) -> None:
    file = forecasts(folder / "f.csv")
    for command, more in (("experts", ["--certify"]), ("forecasters", [])):
        words = [command, str(file), "--outcome", f"rain{NASTY}", *more]
        found = OWN_STYLES.sub("", CliRunner().invoke(main, words, color=True).output)
        assert harmful(found) == set()
        assert escaped(f"Alice{NASTY}") in found
        assert escaped(f"word{NASTY}") in found
        in_json = CliRunner().invoke(main, [*words, "--json"], color=True).output
        assert harmful(in_json) == set()
        assert json.loads(in_json)


def test_labels_of_experts_escape(folder: Path) -> None:
    file = folder / "v.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow([f"Alice{NASTY}", f"Bob{NASTY}", "truth"])
        for row in range(20):
            writer.writerow([HAM if row % 2 else SPAM, HAM, "" if row > 17 else HAM if row % 2 else SPAM])
    words = ["experts", str(file), "--outcome", "truth", "--ahead", "--certify", "--rule", "all"]
    found = OWN_STYLES.sub("", CliRunner().invoke(main, words, color=True).output)
    assert harmful(found) == set()
    assert f": {escaped(SPAM)}\n" in found
