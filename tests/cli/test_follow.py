"""Output on a terminal: the bar, bounds in the table, help with examples that work, completion, errors."""

from __future__ import annotations

import errno
import gzip
import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from files import call, shows
from pages import all_options
from processes import DEADLINE, lines_of, running, wait_until

import mistakebound as mb
from mistakebound.cli import COMMANDS, main
from mistakebound.cli.progress import Bar, Table


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    """200 rows whose label is feature 1 or feature 2, of 12."""
    rng = np.random.default_rng(0)
    rows = [sorted(rng.choice(12, 3, replace=False) + 1) for _ in range(200)]
    path = tmp_path / "stream.svm"
    path.write_text("".join(f"{int(x[0] < 3)} " + " ".join(f"{i}:1" for i in x) + "\n" for x in rows))
    return path


# ---------------------------------------------------------------- the bar


def at_a_terminal(*words: Any, stdout: Any = None, until: str = "", columns: int = 120) -> tuple[str, int]:
    """All that a command writes to a terminal, and its exit code; Ctrl-C once it has written ``until``."""
    master, slave = pty.openpty()
    command = [
        sys.executable,
        "-c",
        "from mistakebound.cli import progress, main; progress.PATIENCE = 0; main()",
        *map(str, words),
    ]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns)}
    process = subprocess.Popen(command, stdin=slave, stdout=stdout or slave, stderr=slave, env=environment)
    os.close(slave)
    seen = b""
    try:
        while select.select([master], [], [], DEADLINE)[0]:
            try:
                piece = os.read(master, 1 << 16)
            except OSError:  # nobody holds the other end any more
                break
            if not piece:
                break
            seen += piece
            if until and until in seen.decode(errors="ignore"):
                process.send_signal(signal.SIGINT)
                until = ""
        return seen.decode(), process.wait(DEADLINE)
    finally:
        os.close(master)
        process.kill()
        process.wait()


def screen(text: str) -> list[str]:
    """The lines that stay on a screen: enough of a terminal for what rich does with one line."""
    lines, row = [""], 0
    for piece in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
        if piece == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif piece == "\x1b[2K":
            lines[row] = ""
        elif piece == "\x1b[1A":
            row -= 1
        elif not piece.startswith(("\x1b", "\r")):
            lines[row] += piece
    return lines


def test_a_bar_on_a_terminal_leaves_the_table_as_it_is(stream: Path) -> None:
    """It shows bytes, examples, mistakes and the time left; what stays on the screen is what a pipe would get."""
    text, code = at_a_terminal("run", stream, "--passes", 3)
    assert code == 0
    size = stream.stat().st_size
    assert re.search(rf"{3 * size / 1000:.1f}/{3 * size / 1000:.1f} kB", text)
    assert re.search(r"600 examples, \d+ mistakes, [\d,]+ examples/s, 0:00 left", text)
    plain = call("run", stream, "--passes", 3)
    without_speed = [re.sub(r" +[\d,]+$|, [\d.]+ s$", "", line) for line in screen(text)]
    assert [line for line in without_speed if line] == [
        re.sub(r" +[\d,]+$|, [\d.]+ s$", "", line) for line in plain.splitlines() if line
    ]


def test_a_narrow_terminal_has_room_for_one_line(stream: Path) -> None:
    """Percent instead of a bar and bytes, and nothing goes over to a second line."""
    text, code = at_a_terminal("run", stream, "--passes", 3, columns=80)
    assert code == 0
    drawn = [line for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", text).splitlines() if "examples, " in line]
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert drawn
    assert max(map(len, drawn)) <= 80
    assert re.search(r"100% 600 examples, \d+ mistakes, [\d,]+ examples/s, 0:00 left", plain)


def test_the_bar_goes_to_standard_error_alone(stream: Path, tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as out:
        text, _ = at_a_terminal("run", stream, stdout=out)
    assert "mistakes, " in text
    assert "\x1b" not in (tmp_path / "out").read_text()
    assert (tmp_path / "out").read_text().splitlines()[0].split()[0] == "rounds"
    with (tmp_path / "out").open("w") as out:
        text, _ = at_a_terminal("run", stream, "--json", stdout=out)
    assert text == ""
    assert json.loads((tmp_path / "out").read_text())["rounds"] == 200


def test_following_at_a_terminal(stream: Path) -> None:
    """All is there at once, and Ctrl-C leaves a clean screen with the cursor shown."""
    text, code = at_a_terminal("run", stream, "--follow", until="waiting")
    assert code == 0
    assert re.search(r"200 examples, \d+ mistakes", text)
    assert "waiting" not in "".join(screen(text))
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert "200 rounds" in screen(text)[-8]


def test_a_quick_run_and_one_for_machines_import_neither_rich_nor_scipy(stream: Path) -> None:
    code = "import sys; from mistakebound.cli import main; main(standalone_mode=False); print(sorted(sys.modules))"
    for more in ([], ["--json"]):
        words = [sys.executable, "-c", code, "run", str(stream), *more]
        loaded = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert "'rich'" not in loaded
        assert "'pyarrow'" not in loaded
        assert "'scipy'" not in loaded or not more


def test_there_is_no_bar_without_a_terminal() -> None:
    source = mb.Source("absent")
    assert Table(source, 1, None, quiet=False).bar is None  # pytest has taken standard error
    assert Bar(source, 1).total is None


# ---------------------------------------------------------------- bounds in the table


def shown(text: str) -> list[tuple[int, int, str]]:
    """(rounds, mistakes, bound) of each line of a table."""
    lines = [line.split() for line in text.splitlines()]
    assert lines[0][4] == "bound"
    return [(int(words[0].replace(",", "")), int(words[1]), words[4]) for words in lines[1:-2] if len(words) == 6]


def test_elimination_shows_the_features_so_far(stream: Path) -> None:
    lines = shown(call("run", stream, "--learner", "elimination"))
    assert lines[-1][2] == "12"
    assert all(mistakes <= int(bound) for _, mistakes, bound in lines)
    with stream.open("a") as file:
        file.write("1 9:1\n" * 60)  # 9 was struck out long ago: the label is no OR
    output = shown(call("run", stream, "--learner", "elimination"))
    bounds = [int(bound) for rounds, _, bound in output if rounds <= 128]
    assert bounds == sorted(bounds)  # the features so far
    assert (len(bounds), bounds[-1]) == (8, 12)
    assert [bound for rounds, _, bound in output if rounds > 200] == ["–"] * 2
    assert json.loads(call("run", stream, "--learner", "elimination", "--json"))["bound"] is None


def test_a_loaded_elimination_remembers_missed_positives(stream: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_text("0 1:1\n1 1:1\n")
    call("run", bad, "--learner", "elimination", "--save", tmp_path / "m.mb")
    bad.write_text("0 5:1\n")
    assert shown(call("run", bad, "--load", tmp_path / "m.mb"))[-1][2] == "–"


def test_names_count_without_the_slot_for_unknown_ones(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("0 | a b\n0 | c\n1 | d\n")
    assert shown(call("run", tmp_path / "x", "--learner", "elimination"))[-1] == (3, 2, "3")


def test_winnow_shows_littlestones_bound_with_relevant(stream: Path) -> None:
    options = ("--learner", "winnow", "--threshold", 12)
    lines = shown(call("run", stream, *options, "--relevant", 2))
    assert lines[-1][2] == f"{mb.bounds.littlestone(12, 2, 2.0, 12.0):,.0f}"
    assert all(mistakes <= int(bound) for _, mistakes, bound in lines)
    assert {bound for _, _, bound in shown(call("run", stream, *options))} == {"–"}
    flipped = stream.with_name("flipped")
    flipped.write_text("".join(f"{1 - int(line[0])}{line[1:]}\n" for line in stream.read_text().splitlines()))
    assert shown(call("run", flipped, *options, "--relevant", 1))[-1][2] == "exceeded"  # no OR of one feature
    assert shows(call("run", stream, "--relevant", 2, fails=2), "--relevant", "winnow", "bias")


@pytest.mark.parametrize("learner", ["perceptron", "normalized-winnow", "balanced-winnow", "pnorm"])
def test_bounds_that_need_a_comparator_are_not_shown(learner: str, stream: Path) -> None:
    assert {bound for _, _, bound in shown(call("run", stream, "--learner", learner))} == {"–"}


# ---------------------------------------------------------------- help


def examples() -> Iterator[str]:
    """Every command line that a help text shows."""
    for words in ([], *([name] for name in COMMANDS)):
        for line in call(*words, "--help").splitlines():
            if (
                re.match(r"\s+(mistakebound|.* \| mistakebound|source <\(mistakebound) ", line)
                and "[OPTIONS]" not in line
            ):
                yield re.sub(r"(?<=\S)  +.*", "", line.strip())


def test_every_example_of_the_help_works(stream: Path, tmp_path: Path) -> None:
    """In their order, in a folder with the files that they name."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    mail = "id,subject,kind\n1,win money now,spam\n2,lunch now,ham\n3,money money,spam\n4,lunch money,ham\n"
    for name in ("mail.csv", "more.csv", "new.csv"):
        (tmp_path / name).write_text(mail)
    (tmp_path / "flowers.csv").write_text("height,kind\n60,rose\n20,daisy\n41,tulip\n61,rose\n")
    (tmp_path / "new.svm").write_text("1 1:1\n")
    (tmp_path / "big.svm").write_text("1 1:1\n0 2:1\n")
    (tmp_path / "train.vw.gz").write_bytes(gzip.compress(b"1 |a x y\n-1 |b z\n"))
    (tmp_path / "access.csv").write_text("size,bad\n3,1\n4,0\n")
    (tmp_path / "flowers.csv").write_text("size,kind\n3,rose\n4,lily\n5,iris\n")
    trips = pa.table({"hour": [7, 8, 7], "day": ["mon", "sun", "sun"], "late": [True, False, True]})
    parquet.write_table(trips, tmp_path / "trips.parquet")
    (tmp_path / "rain.csv").write_text("Alice,Bob,rain\n0.9,0.5,1\n0.2,0.6,0\n")
    parquet.write_table(pa.table({"Alice": [0.7, 0.4], "winner": ["home", "away"]}), tmp_path / "games.parquet")
    (tmp_path / "load.csv").write_text("Alice,Bob,Load\n20,25,21\n21,,22\n19,24,20\n")
    (tmp_path / "next.csv").write_text("Alice,Bob,Load\n22,24,23\n")
    (tmp_path / "games.csv").write_text("a_H,a_D,a_A,b_H,b_D,b_A,result\n.5,.3,.2,.4,.3,.3,H\n.2,.3,.5,.4,.3,.3,A\n")
    (tmp_path / "votes.csv").write_text("Alice,Bob,Carol,truth\n1,0,1,1\n0,0,1,0\n1,1,0,1\n")
    svm = {f"mistakebound {words}" for words in ("predict model.mb new.svm", "explain arow.mb new.svm")}
    svm |= {
        "mistakebound run train.vw.gz --save model.mb",
        "mistakebound run train.vw.gz --learner arow --save arow.mb",
    }
    lines = list(dict.fromkeys(examples()))
    assert len(lines) >= 20
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    (tmp_path / ".config/fish/completions").mkdir(parents=True)
    for line in lines:
        saved = line
        if line in svm:
            saved = line.replace("train.vw.gz", "stream.svm").replace("model.mb", "svm.mb")
        if line == "mistakebound bench":
            saved += " --rows 100 --repeats 1"
        if "--follow" in line:
            saved = f"exec {line} > followed"
        with running(saved, program=("bash", "-c"), cwd=tmp_path, env=environment) as process:
            if "--follow" in line:
                wait_until(lambda: lines_of(tmp_path / "followed") == 3, process)  # a header and two rounds
                process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=DEADLINE)
        assert process.returncode == 0, (line, errors)


def test_the_first_help_leads_from_a_csv_to_predictions(tmp_path: Path) -> None:
    """The two lines that stand first do it."""
    first, second = [line for line in examples() if "mail.csv" in line or "new.csv" in line][:2]
    text = "id,subject,kind\n" + "1,win money now,spam\n2,lunch now,ham\n3,money money,spam\n4,lunch money,ham\n" * 9
    for name in ("mail.csv", "new.csv"):
        (tmp_path / name).write_text(text)
    runner = CliRunner()
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        assert runner.invoke(main, shlex.split(first)[1:]).exit_code == 0
        found = runner.invoke(main, shlex.split(second)[1:])
    finally:
        os.chdir(here)
    assert found.output.split()[-4:] == ["spam", "ham", "spam", "ham"]


def test_help_has_sections_and_exit_codes() -> None:
    text = call("run", "--help")
    for title in ("The learner:", "The run:", "The files:", "Columns of tables:", "Examples:", "Exit codes:"):
        assert re.search(rf"^ *{title}", text, re.MULTILINE)
    assert "\\b" not in text
    assert all(f"--{name} " in text or f"--{name}\n" in text for name in ("follow", "json", "label", "skip-bad"))


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS)], ids=" ".join)
def test_help_fits_80_columns_and_names_options_that_exist(words: list[str]) -> None:
    text = call(*words, "--help", env={"COLUMNS": "80"})
    assert max(map(len, text.splitlines())) <= 80
    known = all_options() | {"--n", "--r", "--radius", "--norm", "--margin", "--rounds"}  # those of ``bound``
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text)) <= known


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    """The script asks the command itself, which answers with commands, options, learners and theorems."""
    script = call("completion", shell)
    assert f"_MISTAKEBOUND_COMPLETE={shell}_complete" in script

    def answers(*words: str) -> set[str]:
        typed = " ".join(("mistakebound", *words))
        asked = {"COMP_WORDS": typed, "COMP_CWORD": str(len(words)) if shell != "fish" else words[-1]}
        environment = {**os.environ, **asked, "_MISTAKEBOUND_COMPLETE": f"{shell}_complete"}
        command = [sys.executable, "-c", "from mistakebound.cli import main; main(prog_name='mistakebound')"]
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout
        return set(re.split(r"[\n,\t]", found))

    assert {"run", "predict", "completion"} <= answers("")
    assert {"--label", "--labels", "--load"} <= answers("run", "--l")
    assert {"winnow"} <= answers("run", "--learner", "wi")
    assert {"littlestone"} <= answers("bound", "litt")
    assert "file" in answers("run", "x")


def test_bash_takes_the_completion() -> None:
    """In a real shell."""
    asked = "source <(mistakebound completion bash); COMP_WORDS=(mistakebound we); COMP_CWORD=1; "
    asked += "_mistakebound_completion mistakebound; echo ${COMPREPLY[@]}"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    found = subprocess.run(["bash", "-c", asked], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["weights"]


# ---------------------------------------------------------------- ways out


def test_errors_name_the_cause_and_the_option(tmp_path: Path) -> None:
    """One line each, with the file's name and a way out."""
    file = tmp_path / "x"
    assert shows(call("predcit", fails=2), "predcit", "'predict'?")
    assert shows(call("zzz", fails=2), "zzz", "run, compare, experts, forecasters, predict")
    assert f"{file}: {os.strerror(errno.ENOENT)}" in call("run", file, fails=1)
    assert f"{tmp_path}: {os.strerror(errno.EISDIR)}" in call("run", tmp_path, fails=1)
    assert shows(call("run", file, "--follow", "--passes", 2, fails=2), "--passes", "1")
    for data, name in (
        (b"PK\x03\x04 and so on", "zip archive"),
        (b"BZh91AY", "bzcat"),
        ("a,b\n".encode("utf-16"), "UTF-8"),
        (b"MZ\x90\0\x03", "byte 4"),
        (b"a,b\nx,y\n", "--label NAME"),
    ):
        file.write_bytes(data)
        output = call("run", file, fails=1)
        assert name in output
        assert output.count("\n") == 1
    assert shows(call("run", file, "--label", "z", fails=1), f"Error: {file}: ", "column 'z'")
    file.write_text('{"label": 1}\n')
    output = call("run", file, "--categorical", "a", fails=1)
    assert output.startswith(f"Error: {file}: ")
    assert "categorical" in output
    file.write_bytes(b"\x1b[2J\x9b\n")
    assert "\x1b" not in call("run", file, "--format", "svmlight", fails=1)
    file.write_text("")
    assert shows(call("run", file), f"note: {file}: ", "examples")


def test_a_header_is_recognised_by_the_columns_of_options(tmp_path: Path) -> None:
    """A table of words does not show whether line 1 is a header; an option that names a column does."""
    file = tmp_path / "x.csv"
    file.write_text("kind,colour\nspam,red\n")
    assert json.loads(call("run", file, "--label", "kind", "--json", "--classes", "ham,spam"))["rounds"] == 1
    file.write_text("kind,colour\n")
    assert json.loads(call("run", file, "--label", "kind", "--json"))["rounds"] == 0


def test_a_second_table_has_the_same_columns_or_is_refused(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.write_text("y,x\na,1\nb,2\n")
    second.write_text("y,x\na,1\n")
    assert json.loads(call("run", first, second, "--label", "y", "--json"))["rounds"] == 3
    second.write_text("a,1\nb,2\n")  # as `split` leaves them: its first line is no header, and must not be lost
    assert shows(call("run", first, second, "--label", "y", fails=1), f"Error: {second}: ", "column 'y'")
    assert shows(call("run", first, second, "--label", "1", fails=1), f"Error: {second}: ", "a, 1")


def test_importance_weights_are_not_ignored_silently(tmp_path: Path) -> None:
    file = tmp_path / "x.vw"
    file.write_text("1 1 | a\n-1 | b\n")
    perceptron = ("--learner", "perceptron")
    assert "note" not in call("run", file, *perceptron)
    file.write_text("1 2 | a\n-1 | b\n1 0.5 | a\n")
    assert "note" not in call("run", file)  # the panel uses them
    assert call("run", file, "--passes", 2, *perceptron).count("note: importance weights are ignored") == 1
    assert json.loads(call("run", file, "--json", *perceptron))["remarks"] == [
        "importance weights are ignored: every line counts once"
    ]
