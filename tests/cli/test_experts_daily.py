"""``mistakebound experts`` every day: states between days, a file that grows, weights and the page."""

from __future__ import annotations

import csv
import json
import re
import shlex
import signal
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from files import call, shows, without_spans
from processes import DEADLINE, lines_of, running, wait_until

import mistakebound as mb

HEAD = "date,Ann,Bob,load\n"
ROWS = [
    "2026-11-02,20,25,21\n",
    "2026-11-03,21,26,22\n",
    "2026-11-04,19,,20\n",
    "2026-11-05,20,26,21.5\n",
    "2026-11-06,22,24,23\n",
    "2026-11-07,21,22,21\n",
]
AHEAD = "2026-11-08,23,22,\n"
ON_A_FULL_DEVICE = pytest.mark.skipif(
    not Path("/dev/full").is_char_device(), reason="needs a device that is always full"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "monday.csv").write_text(HEAD + "".join(ROWS[:4]))
    (tmp_path / "tuesday.csv").write_text(HEAD + "".join(ROWS[4:]) + AHEAD)
    (tmp_path / "week.csv").write_text(HEAD + "".join(ROWS) + AHEAD)
    return tmp_path


def answer(*words: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(call("experts", *words, "--outcome", "load", "--json"))
    for rule in data["rules"]:
        del rule["seconds"], rule["learning_seconds"]
    return data | {"notes": []}


def test_two_days_equal_one_file(folder: Path) -> None:
    whole = answer("week.csv", "--rule", "all", "--ahead")
    answer("monday.csv", "--rule", "all", "--save", "state.mb")
    assert answer("tuesday.csv", "--load", "state.mb", "--save", "state.mb", "--ahead") == whole
    assert answer("week.csv", "--load", "state.mb", "--overlap", "skip", "--ahead") == whole
    shown = call("experts", "tuesday.csv", "--outcome", "load", "--load", "state.mb", "--ahead", fails=1)
    assert shows(shown, "tuesday.csv:2: ", "and 1 more", "learned already", "--overlap skip", "--overlap learn")
    assert (folder / "state.mb").exists()


def test_options_that_contradict_the_state(folder: Path) -> None:
    call("experts", "monday.csv", "--outcome", "load", "--save", "state.mb")
    words = ("experts", "tuesday.csv", "--outcome", "load", "--ahead", "--load", "state.mb")
    assert shows(call(*words, "--rule", "boa", fails=2), "--rule is boa", "ml-poly")
    assert shows(call(*words, "--loss", "absolute", fails=2), "--loss is absolute", "square")
    assert shows(call(*words, "--eta", "0.5", fails=2), "--eta is 0.5", "has none")
    assert "also an input" in call(*words, "--save", "tuesday.csv", fails=2)
    (folder / "other.mb").write_text("not a state")
    assert "not a model file" in call(*words[:-1], "other.mb", fails=1)
    mb.Perceptron().save(folder / "linear.mb")
    assert shows(call(*words[:-1], "linear.mb", fails=1), "linear.mb", "not a state")
    assert shows(call("run", "tuesday.csv", "--label", "load", "--load", "state.mb", fails=1), "state.mb", "Comparison")


def test_predictions_and_weights_begin_with_the_date(folder: Path) -> None:
    call("experts", "week.csv", "--outcome", "load", "--ahead", "--predictions", "p.csv", "--weights", "w.csv")
    predictions, weights = (list(csv.reader((folder / name).read_text().splitlines())) for name in ("p.csv", "w.csv"))
    assert predictions[0] == ["date", "load", "ml-poly"]
    assert [row[0] for row in predictions[1:]] == [row.split(",")[0] for row in [*ROWS, AHEAD]]
    assert weights[0] == ["date", "Ann", "Bob"]
    assert [row[0] for row in weights[1:]] == [row.split(",")[0] for row in ROWS]
    assert all(sum(map(float, row[1:])) == pytest.approx(1) for row in weights[1:])
    again = call("experts", "p.csv", "--outcome", "load", "--ahead")  # the table of predictions can be read
    assert "ml-poly" in again


def test_the_page_shows_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["experts", "week.csv", "--outcome", "load", "--ahead", "--report", "page.html"]
    monkeypatch.setattr("sys.argv", ["mistakebound", *words])
    call(*words)
    page = without_spans((folder / "page.html").read_text())
    assert f"mistakebound {' '.join(words)}" in page
    assert "Next forecasts" in page
    assert "2026-11-08" in page
    assert "--experts A" in page  # notes name options as they are typed
    monkeypatch.undo()


def test_an_expert_may_be_named_by_several_options(folder: Path) -> None:
    for words in (["--experts", "Ann,Bob"], ["--experts", "Ann", "--experts", "Bob"], ["--experts", "all"]):
        assert [each["name"] for each in answer(folder / "week.csv", "--ahead", *words)["experts"]] == ["Ann", "Bob"]
    assert answer("week.csv", "--ahead", "--id", "Bob")["ids"] == ["Bob"]


# ---------------------------------------------------------------------- files that grow


def test_rows_are_forecast_and_learned_as_they_come(folder: Path) -> None:
    path, out = folder / "monday.csv", folder / "out"
    words = ("experts", path, "--outcome", "load", "--follow", "--save", folder / "state.mb")
    with out.open("w") as stdout, running(*words, stdout=stdout) as process:
        wait_until(lambda: lines_of(out) == 5, process)  # a header and four rounds
        with path.open("a") as file:
            file.write(ROWS[4])
        wait_until(lambda: lines_of(out) == 6, process)
        with path.open("a") as file:
            file.write("2026-11-07,21,22,\n")  # forecast, and learned when the row comes with its outcome
        wait_until(lambda: lines_of(out) == 7, process)
        with path.open("a") as file:
            file.write(ROWS[5] + AHEAD)
        wait_until(lambda: lines_of(out) == 9, process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=DEADLINE)
    assert (process.returncode, errors) == (0, "")
    head, *rows = [line.split() for line in out.read_text().splitlines()[:9]]
    assert head == ["date", "ml-poly", "outcome"]
    whole = mb.experts.compare(folder / "week.csv", "load", ahead=True)
    forecasts = {row.split(",")[0]: f"{p:.6g}" for row, p in zip([*ROWS, AHEAD], whole.best.predictions, strict=True)}
    assert [row[1] for row in rows] == [forecasts[row[0]] for row in rows]
    assert [row[2] for row in rows] == ["21", "22", "20", "21.5", "23", "–", "21", "–"]
    assert shows(
        out.read_text(), "6 rounds of load", "forecasts of the rows without an outcome", f"{forecasts['2026-11-08']}"
    )
    continued = mb.experts.compare(
        {"date": ["x"], "Ann": [20], "Bob": [21], "load": [22]}, "load", load=folder / "state.mb"
    )
    assert continued.advice.rounds == 7


def test_words_are_followed_with_their_header(folder: Path) -> None:
    path, out = folder / "votes.csv", folder / "out"
    path.write_text("day,Ann,Bob,weather\nmon,sun,rain,\n")  # no outcome yet, so experts are not known
    words = ("experts", path, "--outcome", "weather", "--follow")
    with out.open("w") as stdout, running(*words, stdout=stdout) as process:
        with path.open("a") as file:
            file.write("mon,sun,rain,sun\ntue,sun,snow,snow\n")
        wait_until(lambda: lines_of(out) == 3, process)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=DEADLINE)
    assert process.returncode == 0
    assert [line.split() for line in out.read_text().splitlines()[1:3]] == [
        ["mon", "sun", "sun"],
        ["tue", "sun", "snow"],
    ]
    assert "2 rounds of weather, 2 experts" in out.read_text()


def test_equal_rows_without_ids_are_all_learned(folder: Path) -> None:
    path, out = folder / "votes.csv", folder / "out"
    path.write_text("Ann,Bob,truth\n1,0,1\n0,1,1\n")
    with out.open("w") as stdout, running("experts", path, "--outcome", "truth", "--follow", stdout=stdout) as process:
        for count in (3, 4, 5):
            wait_until(lambda count=count: lines_of(out) == count, process)  # type: ignore[misc]
            with path.open("a") as file:
                file.write("0,1,1\n")
        wait_until(lambda: lines_of(out) == 6, process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=DEADLINE)
    assert process.returncode == 0
    assert "5 rounds of truth" in out.read_text()


def test_the_first_row_may_come_again(folder: Path) -> None:
    path, out, state = folder / "votes.csv", folder / "out", folder / "votes.mb"
    path.write_text("Ann,Bob,truth\n0,1,1\n")
    words = ("experts", path, "--outcome", "truth", "--follow", "--save", state)
    with out.open("w") as stdout, running(*words, stdout=stdout) as process:
        wait_until(lambda: lines_of(out) == 2, process)
        with path.open("a") as file:
            file.write("0,1,1\n")
        wait_until(lambda: lines_of(out) == 3, process)
        with path.open("a") as file:
            file.write("1,1,0\n")
        wait_until(lambda: lines_of(out) == 4, process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=DEADLINE)
    assert (process.returncode, errors) == (0, "")
    assert "3 rounds of truth" in out.read_text()
    shown = call("experts", path, "--outcome", "truth", "--load", state, fails=1)
    assert "and 2 more) was learned already" in shown  # all rows that were followed


def test_experts_join_and_are_ignored_in_a_followed_file(folder: Path) -> None:
    call("experts", folder / "monday.csv", "--outcome", "load", "--save", folder / "state.mb")
    path, out = folder / "live.csv", folder / "out"
    path.write_text("date,Ann,Bob,Cid,load\n2026-11-06,22,24,23,23\n")
    words = ("experts", path, "--outcome", "load", "--load", folder / "state.mb", "--follow")
    more = ("--experts", "Ann,Bob,Cid", "--ignore", "Bob")
    with out.open("w") as stdout, running(*words, *more, stdout=stdout) as process:
        wait_until(lambda: lines_of(out) == 2, process)
        with path.open("a") as file:
            file.write("2026-11-07,21,22,20,21\n")
        wait_until(lambda: lines_of(out) == 3, process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=DEADLINE)
    assert (process.returncode, errors) == (0, "")
    table = "".join(f"{row.strip().rpartition(',')[0]},,{row.strip().rpartition(',')[2]}\n" for row in ROWS[:4])
    table += "2026-11-06,22,,23,23\n2026-11-07,21,,20,21\n"
    (folder / "whole.csv").write_text("date,Ann,Bob,Cid,load\n" + table)
    whole = mb.experts.compare(folder / "whole.csv", "load", experts=["Ann", "Bob", "Cid"])
    forecasts = [line.split()[1] for line in out.read_text().splitlines()[1:3]]
    assert forecasts == [f"{each:.6g}" for each in whole.best.predictions[4:]]


@pytest.mark.parametrize(
    ("option", "why"),
    [
        pytest.param(("--report", "/dev/full"), "/dev/full: No space left", marks=ON_A_FULL_DEVICE),
        (("--plot", "a.odd"), "odd"),
    ],
)
def test_a_file_that_cannot_be_written_leaves_the_state_as_it_was(
    folder: Path, option: tuple[str, str], why: str
) -> None:
    call("experts", "monday.csv", "--outcome", "load", "--save", "state.mb")
    before = (folder / "state.mb").read_bytes()
    words = ("experts", "tuesday.csv", "--outcome", "load", "--ahead", "--load", "state.mb", "--save", "state.mb")
    shown = call(*words, *option, fails=1)
    assert shows(shown, "the state state.mb was not saved: the same command can be run again", why)
    assert (folder / "state.mb").read_bytes() == before
    assert "6 rounds of load" in call(*words, "--report", "page.html")


def test_names_in_options_of_notes_are_quoted(folder: Path) -> None:
    (folder / "first.csv").write_text("Unnamed: 0,Ann,load\n0,1.5,2\n")
    shown = call("experts", "first.csv", "--outcome", "load")
    assert "--experts 'Unnamed: 0,Ann' makes it one" in shown


def test_what_cannot_be_followed(folder: Path) -> None:
    assert "only a regular file" in call("experts", "-", "--outcome", "load", "--follow", fails=1, text=HEAD)
    path, out = folder / "monday.csv", folder / "out"
    call("experts", path, "--outcome", "load", "--save", folder / "state.mb")
    words = ("experts", path, "--outcome", "load", "--follow", "--load", folder / "state.mb")
    with out.open("w") as stdout, running(*words, stdout=stdout) as process:
        _, errors = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1
    assert shows(errors, "monday.csv:2: ", "learned already", "--overlap skip")


def test_rows_before_a_bad_one_are_saved(folder: Path) -> None:
    """Also if the bad word comes in the same part as good rows, and a row without an outcome lies between."""
    path, out, state = folder / "live.csv", folder / "out", folder / "live.mb"
    path.write_text("Ann,Bob,load\n1,2,1.5\n2,3,2.5\n")
    words = ("experts", path, "--outcome", "load", "--follow", "--save", state)
    with out.open("w") as stdout, running(*words, stdout=stdout) as process:
        wait_until(lambda: lines_of(out) == 3, process)
        with path.open("a") as file:
            file.write("3,4,3.5\n4,5,\n5,zz,5.5\n")
        _, errors = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1
    assert shows(errors, "live.csv:6: ", "'zz' is not a number")
    (folder / "next.csv").write_text("Ann,Bob,load\n6,7,6.5\n")
    found = json.loads(call("experts", folder / "next.csv", "--outcome", "load", "--load", state, "--json"))
    assert found["rounds"] == 4


def test_a_row_that_no_rule_can_learn_does_not_spoil_the_state(folder: Path) -> None:
    """An infinite loss ends every rule; a state without rules could not be loaded."""
    state, path = folder / "state.mb", folder / "live.csv"
    (folder / "first.csv").write_text("Ann,Bob,rain\n.5,.25,1\n")
    call("experts", folder / "first.csv", "--outcome", "rain", "--loss", "log", "--save", state)
    before = state.read_bytes()
    path.write_text("Ann,Bob,rain\n.5,0,1\n")
    words = ("experts", path, "--outcome", "rain", "--follow", "--load", state, "--save", state)
    with running(*words) as process:
        _, errors = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1
    assert shows(errors, "live.csv:2: ", "'Bob' is inf")
    assert state.read_bytes() == before


@pytest.mark.parametrize("option", ["--predictions", "--weights", "--report", "--plot"])
def test_only_save_replaces_the_loaded_state(folder: Path, option: str) -> None:
    state = folder / "state.mb"
    call("experts", folder / "monday.csv", "--outcome", "load", "--save", state)
    before = state.read_bytes()
    words = ("--outcome", "load", "--load", state, option, state)
    assert "state.mb is also an input" in call("experts", folder / "monday.csv", *words, fails=2)
    assert state.read_bytes() == before


def test_the_command_on_the_page_makes_it_again(folder: Path) -> None:
    call("experts", "monday.csv", "--outcome", "load", "--save", "state.mb")
    words = ("--outcome", "load", "--ahead", "--load", "state.mb", "--save", "./state.mb", "--report", "page.html")
    call("experts", "tuesday.csv", *words)
    page = without_spans((folder / "page.html").read_text())
    command = re.findall(r"again</h2><pre>mistakebound (.*?)</pre>", page)
    assert command == [f"experts tuesday.csv {' '.join(words)} --overlap skip"]
    call(*shlex.split(unescape(command[0])))
    again = without_spans((folder / "page.html").read_text())
    lead = r"<h1>.*?</header>"
    assert re.findall(lead, again, re.DOTALL) == re.findall(lead, page, re.DOTALL) != []
    assert re.findall("again</h2><pre>mistakebound (.*?)</pre>", again) == command
    call("experts", "tuesday.csv", *words[:5], "--save", "other.mb", "--report", "page.html", "--overlap", "skip")
    assert without_spans((folder / "page.html").read_text()).count("--overlap") == 1


def test_arguments_after_two_dashes_stay_last(folder: Path) -> None:
    words = ("--outcome", "load", "--load", "state.mb", "--save", "state.mb", "--ahead", "--report", "page.html")
    call("experts", "monday.csv", "--outcome", "load", "--save", "state.mb")
    call("experts", *words, "--", "tuesday.csv")
    assert "--overlap skip -- tuesday.csv</pre>" in without_spans((folder / "page.html").read_text())


@pytest.mark.parametrize(
    ("day", "why"),
    [("9.11.2026", "'9.11.2026' is not a date"), ("2026-11-01", "'2026-11-01' is earlier than '2026-11-05'")],
)
def test_dates_that_end_or_go_back_are_noted(folder: Path, day: str, why: str) -> None:
    call("experts", "monday.csv", "--outcome", "load", "--save", "state.mb")
    (folder / "odd.csv").write_text(f"{HEAD}{day},20,21,20\n")
    words = ("--outcome", "load", "--load", "state.mb", "--report", "page.html")
    assert f"(odd.csv:2: column 'date': {why}" in call("experts", "odd.csv", *words)
    assert f"column 'date': {why}" in unescape((folder / "page.html").read_text())
    assert "column 'date'" not in call("experts", "tuesday.csv", "--ahead", *words)


@pytest.mark.parametrize("words", [("weights",), ("predict",), ("explain",)])
def test_a_state_is_not_a_model(folder: Path, words: tuple[str, ...]) -> None:
    call("experts", "monday.csv", "--outcome", "load", "--save", "state.mb")
    shown = call(*words, "state.mb", *([] if words == ("weights",) else ["tuesday.csv"]), fails=1)
    assert shows(shown, "state.mb is a state of 'mistakebound experts'", "--load state.mb --weights")


def test_numbers_are_written_in_their_shortest_form(folder: Path) -> None:
    (folder / "short.csv").write_text("date,Ann,load\n2026-11-01,12.8,12.8\n2026-11-02,13.8,17\n")
    call("experts", "short.csv", "--outcome", "load", "--predictions", "p.csv")
    assert (folder / "p.csv").read_text() == "date,load,ml-poly\n2026-11-01,12.8,12.8\n2026-11-02,17,13.8\n"


def test_written_files_are_listed_with_their_size(folder: Path) -> None:
    words = ("experts", "monday.csv", "--outcome", "load", "--save", "s.mb", "--report", "r.html", "--weights", "w.csv")
    shown = call(*words).splitlines()[-3:]
    assert [line.split()[:2] for line in shown] == [["weights", "w.csv"], ["report", "r.html"], ["saved", "s.mb"]]
    assert shown[0].endswith(f"({(folder / 'w.csv').stat().st_size} bytes)")
    json.loads(call(*words, "--json"))
