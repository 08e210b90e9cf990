"""What a run says at its end: to a person, to a machine, and on a page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from files import call

import mistakebound as mb
from mistakebound.runs.curve import Curve
from mistakebound.viz.svg_chart import BOTTOM, HEIGHT, RIGHT, TOP, WIDTH


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    """Forty mails of which a quarter is spam, and a line that is broken."""
    path = tmp_path / "mail.csv"
    rows = ["subject,kind\n"] + [f"{w},spam\nlunch,ham\n,ham\ntea,ham\n" for w in ("win", "money") * 5] + ["a,b,c\n"]
    path.write_text("".join(rows))
    return path


HOW = ("--label", "kind", "--skip-bad", 1, "--learner", "perceptron", "--bias", 1)


def test_facts_are_those_of_the_ledger(mail: Path, tmp_path: Path) -> None:
    """Counts by kind, and the mistakes of always predicting the more frequent label, counted by hand."""
    found = json.loads(call("run", mail, *HOW, "--json", "--save", tmp_path / "m.mb"))
    learner = mb.Perceptron(bias=1)
    ledger = learner.run(mb.Source(mail, label="kind", skip_bad=1))
    assert [found[name] for name in ("rounds", "mistakes", "false_positives", "false_negatives")] == [
        ledger.rounds,
        ledger.mistakes,
        ledger.false_positives,
        ledger.false_negatives,
    ]
    assert (found["positives"], found["majority"], found["majority_mistakes"]) == (10, "ham", 10)
    assert found["classes"] == ["ham", "spam"]
    assert found["bytes"] == mail.stat().st_size
    assert found["options"] == "--learner perceptron --bias 1"
    assert found["saved"] == str(tmp_path / "m.mb")
    assert len(found["skipped"]) == 1


def test_the_majority_may_be_positive(tmp_path: Path) -> None:
    path = tmp_path / "x.svm"
    path.write_text("1 1:1\n0 2:1\n1 3:1\n")
    found = json.loads(call("run", path, "--json", "--passes", 2))
    assert (found["positives"], found["majority"], found["majority_mistakes"]) == (4, 1, 2)
    assert found["bytes"] == 2 * path.stat().st_size


def test_summary_in_words(mail: Path, tmp_path: Path) -> None:
    found = json.loads(call("run", mail, *HOW, "--json"))
    output = call("run", mail, *HOW, "--save", tmp_path / "m.mb", "--report", tmp_path / "r.html")
    lines = output[output.index("\n\n") + 2 :].splitlines()
    assert lines[0].startswith(f"{found['mistakes']} mistakes in 40 rounds ({2.5 * found['mistakes']:.2f} %), ")
    assert re.fullmatch(rf" *{found['false_positives']} .*\bspam\b.*\bham", lines[1])
    assert re.fullmatch(rf" *{found['false_negatives']} .*\bham\b.*\bspam", lines[2])
    assert lines[3].split()[0] == "10"
    assert "ham (25.00 %)" in lines[3]
    assert lines[4].split() == ["learner", "perceptron", "--bias", "1"]
    assert "1 bad line" in lines[5]
    assert f"{tmp_path / 'm.mb'} (" in lines[6]
    assert f"{tmp_path / 'r.html'} (" in lines[7]
    assert "\x1b" not in output
    assert "\x1b[1m" in call("run", mail, *HOW, color=True)


@pytest.mark.parametrize("learner", ["perceptron", "normalized-winnow", "balanced-winnow", "pnorm", "winnow"])
def test_options_make_the_same_learner_again(learner: str, tmp_path: Path) -> None:
    """The learner of the summary can be passed to run."""
    path = tmp_path / "x.svm"
    path.write_text("1 1:1 2:1\n0 2:1\n1 3:1\n")
    given = {
        "perceptron": "--update-margin 0.25",
        "winnow": "--threshold 5 --alpha 1.5",
        "normalized-winnow": "--eta inf",
    }
    more = given.get(learner, "").split()
    first = json.loads(call("run", path, "--learner", learner, *more, "--json"), parse_constant=pytest.fail)
    again = json.loads(call("run", path, *first["options"].split(), "--json"))
    assert again["rule"] == first["rule"]


def test_certificate_in_words(mail: Path) -> None:
    output = call("run", mail, *HOW, "--certify")
    assert re.search(r"certificate +(holds|vacuous) on the whole stream: \S+ allows [\d.,]+ (mistakes|updates)", output)
    assert re.search("✓ .*first round", output)
    certificate = mb.certify(mb.Perceptron().run([[1.0]], [-1]), "novikoff")
    words = {
        "holds": "allows 1 mistakes; there were 1",
        "vacuous": "allows 1 mistakes; there were 1",
        "does not apply": "has a premise that fails",
        "incomplete": "was not checked",
        "violated": "bug",
    }
    for status, word in words.items():
        assert word in type(certificate)(**{**vars(certificate), "status": status}).meaning()


def test_a_header_of_words_is_recognised_by_the_names_of_options(mail: Path) -> None:
    """A table of words does not show whether it has a header; the name of a column in line 1 does."""
    assert json.loads(call("run", mail, *HOW, "--json"))["rounds"] == 40
    assert "column 'sort'" in call("run", mail, "--label", "sort", fails=1)
    assert "column 'kind'" in call("run", mail, *HOW, "--no-header", fails=1)


class Page(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_report_is_harmless_and_needs_nothing(tmp_path: Path) -> None:
    """Names, labels, file names and bad lines from a hostile file come out as text; nothing is fetched or run."""
    path, report = tmp_path / "x<img src=y>.vw", tmp_path / "r.html"
    evil = ["<script>alert(1)</script>", '"><img/src=x>', "&amp;", "a\x07b", "\u202eabc", "'onload='"]
    path.write_text("".join(f"{k % 2} |n {name}\n" for k, name in enumerate(evil * 3)) + "1 <script>\n")
    call("run", path, "--skip-bad", 1, "--learner", "perceptron", "--update-margin", 99, "--report", report)
    page = Page(report.read_text(encoding="utf-8"))
    kinds = {tag for tag, _ in page.tags}
    assert not kinds & {"img", "link", "iframe", "object", "a", "form"}
    for tag, attributes in page.tags:
        assert not set(attributes) & {"src", "href", "onload", "style"}, (tag, attributes)
    charts = [attributes for tag, attributes in page.tags if tag == "figure"]
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert scripts == [{"type": "application/json"}] * len(charts) + [{}]  # data, and the script that shows them
    for name in ("<script>alert(1)</script>", '"><img/src=x>', "&amp;", "a\\x07b", "\\u202eabc", "'onload='"):
        assert f"n^{name}" in page.text
    assert "x<img src=y>.vw" in page.text
    assert "got '<script>'" in page.text
    assert "url(" not in report.read_text(encoding="utf-8")
    (policy,) = (each["content"] for tag, each in page.tags if each.get("http-equiv") == "Content-Security-Policy")
    script = report.read_text(encoding="utf-8").rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert f"mistakebound {mb.__version__}" in page.text


def test_report_shows_the_run(mail: Path, tmp_path: Path) -> None:
    """Counts, weights, learner, certificate, and a line whose end is the last round."""
    report = tmp_path / "r.html"
    found = json.loads(call("run", mail, *HOW, "--certify", "--json", "--report", report))
    page = Page(report.read_text(encoding="utf-8"))
    assert f"{found['mistakes']} mistakes in 40 rounds" in page.text
    assert "--learner perceptron --bias 1" in page.text
    assert "(constant)" in page.text
    assert "subject=lunch" in page.text
    assert found["certificate"]["theorem"] in page.text
    assert "predicted spam" in page.text
    lines = [attributes for tag, attributes in page.tags if tag == "polyline"]
    ours = next(str(line["points"]) for line in lines if str(line["class"]).startswith("line c0"))
    x, y = (float(number) for number in ours.split()[-1].split(","))
    assert x == WIDTH - RIGHT  # the last round
    assert TOP <= y < HEIGHT - BOTTOM
    titles = re.findall("<figcaption>(.*?)</figcaption>", report.read_text(encoding="utf-8"))
    assert titles == ["Mistakes so far", "Error in windows of about 10 rounds"]
    quoted = (
        f"mistakebound run {mail} --label kind --skip-bad 1 --learner perceptron --bias 1 --certify --json --report"
    )
    assert quoted in page.text


def test_advice_on_sentences(tmp_path: Path) -> None:
    """With --plain, a column of sentences that is not set as text: each sentence is a category that occurs once."""
    path = tmp_path / "sms"
    lines = [f"{'spam' if k % 5 == 0 else 'ham'}\tmessage number {k}\tone of {k % 7}\n" for k in range(200)]
    path.write_text("".join(lines))
    assert "advice" not in call("run", path, "--label", 1, "--learner", "perceptron", "--ignore", "c3")
    how = ("--label", 1, "--learner", "perceptron", "--plain")
    assert re.search("^advice .*column c2.* --text c2$", call("run", path, *how), re.MULTILINE)
    assert "c3" not in call("run", path, *how)
    assert "advice" not in call("run", path, *how, "--text", "c2")
    path.write_text("".join(lines[:10]))
    assert "advice" not in call("run", path, *how)


def test_advice_on_numbers_among_words(tmp_path: Path) -> None:
    """A number in a column of words has its value as weight; a few words among numbers do not matter."""
    path = tmp_path / "t.csv"
    rows = [
        f"{'yes' if k % 3 else 'no'},{1987 if k % 10 == 0 else f'word{k % 37}'},{k % 9 or 'none'}" for k in range(300)
    ]
    path.write_text("kind,noun,age\n" + "\n".join(rows))
    output = call("run", path, "--label", "kind")
    assert re.search("^advice .*column noun.* --categorical noun$", output, re.MULTILINE)
    assert "column age" not in output
    assert "column noun" not in call("run", path, "--label", "kind", "--categorical", "noun")


def test_a_cache_is_named_with_its_size(mail: Path) -> None:
    """The first time and the next."""
    wanted = re.compile(rf"^cache         {re.escape(str(mail))}.mbcache \([\d.]+ kB\)$", re.MULTILINE)
    for _ in range(2):
        assert wanted.search(call("run", mail, *HOW, "--cache"))
    assert not wanted.search(call("run", mail, *HOW))


def test_a_way_out_of_a_bad_line(mail: Path, tmp_path: Path) -> None:
    """The option that skips bad lines is named for bad lines only."""
    assert re.search(
        rf"^Error: {mail}:\d+:.* 2 columns.*--skip-bad N", call("run", mail, "--label", "kind", fails=1), re.MULTILINE
    )
    path, labels = tmp_path / "x.svm", tmp_path / "labels"
    path.write_text("1:1\n2:1\n")
    labels.write_text("1\n")
    assert "skip-bad" not in call("run", path, "--labels", labels, fails=1)
    path.write_text("0 1:1\n1 1:1\n2 1:1\n")
    assert "skip-bad" not in call("run", path, "--learner", "arow", fails=1)


def test_labels_come_from_one_place(mail: Path, tmp_path: Path) -> None:
    (tmp_path / "labels").write_text("1\n")
    output = call("run", mail, *HOW, "--labels", tmp_path / "labels", fails=2)
    assert "--label and --labels" in output


def test_report_of_an_empty_and_of_a_stopped_run(tmp_path: Path) -> None:
    path, report = tmp_path / "x.svm", tmp_path / "r.html"
    path.write_text("")
    call("run", path, "--report", report)
    assert "0 mistakes in 0 rounds" in report.read_text(encoding="utf-8")
    path.write_text("1 1:1\nbroken\n")
    call("run", path, "--report", report, fails=1)
    assert "Stopped early: " in report.read_text(encoding="utf-8")


@pytest.mark.parametrize("option", ["--save", "--report", "--predictions"])
def test_a_file_that_cannot_be_written_is_refused_at_the_start(option: str, mail: Path, tmp_path: Path) -> None:
    """Before anything is learned."""
    output = call("run", mail, *HOW, option, tmp_path / "absent" / "x", fails=2)
    assert option in output
    assert str(tmp_path / "absent") in output
    assert "rounds" not in output
    assert "directory" in call("run", mail, *HOW, option, tmp_path, fails=2)


def test_a_run_without_rounds_does_not_replace_the_model(mail: Path, tmp_path: Path) -> None:
    """A missing column is an error of one line, and the saved model stays."""
    call("run", mail, *HOW, "--save", tmp_path / "m.mb")
    before = (tmp_path / "m.mb").read_bytes()
    output = call("run", mail, "--label", "absent", "--save", tmp_path / "m.mb", "--certify", fails=1)
    [line] = output.splitlines()
    assert line.startswith(f"Error: {mail}: ")
    assert "column 'absent'" in line
    assert "c1, c2 (or subject, kind " in line
    assert (tmp_path / "m.mb").read_bytes() == before
    output = call("run", mail, "--skip-bad", 1, fails=1)
    assert re.search(rf"Error: {mail}:1: .*label", output)


@pytest.mark.parametrize("cut", [1, 7, 1000, 3333])
def test_curve(cut: int) -> None:
    """The same points however the rounds are cut into parts: each up to 100, then each hundredth more."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 3)), rng.choice([-1, 1], 3000)
    whole = mb.Perceptron().run(X, y).mistake_curve
    learner, curve = mb.Perceptron(), Curve()
    for begin in range(0, 3000, cut):
        curve.add(learner.run(X[begin : begin + cut], y[begin : begin + cut]))
    points = curve.to_now()
    assert points[0] == (0, 0)
    assert [rounds for rounds, _ in points[1:101]] == list(range(1, 101))
    assert points[-1] == (3000, whole[-1])
    assert all(mistakes == whole[rounds - 1] for rounds, mistakes in points[1:])
    assert len(points) < 500
    start = min(rounds for rounds, _ in points if rounds >= 1500)
    assert start < 1516
    assert curve.late_rate() == (whole[-1] - whole[start - 1]) / (3000 - start)


def test_curve_of_many_rounds_stays_small() -> None:
    class Million:
        rounds, mistakes, mistake_rounds = 10**9, 0, np.zeros(0, np.int64)

    curve = Curve()
    for _ in range(3):
        curve.add(Million())  # type: ignore[arg-type]
    assert len(curve.points) < 2500
    assert Curve().late_rate() == 0
