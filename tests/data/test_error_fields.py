"""Errors have fields, and only the command line names flags."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from files import call

import mistakebound as mb
from mistakebound.errors import (
    CellError,
    CertificateError,
    Expert,
    InputError,
    MissingColumnsError,
    ModelError,
    Option,
    OptionConflictError,
    OutcomeClass,
    ResumeError,
    StreamError,
    TicketError,
    as_stream_error,
)

PACKAGE = Path(mb.__file__).parent

BAD_LINES: dict[str, tuple[str, dict[str, Any], int, int]] = {
    "svmlight": ("1 1:1\n-1 2:x\n", {}, 2, 6),
    "vw": ("1 | a:1\n-1 | a:b:c\n", {}, 2, 8),
    "table": ("x,y\n1,a\n2,b,c\n", {"label": "y"}, 3, 5),
    "json": ('{"x": 1, "label": "a"}\n{"x": }\n', {}, 2, 7),
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_line(kind: str, tmp_path: Path) -> None:
    """File, line, column and round, in each format of text."""
    text, options, line, column = BAD_LINES[kind]
    path = tmp_path / "stream"
    path.write_text(text)
    learner = mb.Perceptron(classes=("b", "a")) if kind in ("table", "json") else mb.Perceptron(classes=(-1, 1))
    with pytest.raises(StreamError) as caught:
        learner.run(mb.Source(path, format=kind, **options))
    error = caught.value
    assert (error.kind, error.file, error.line, error.column, error.round) == ("bad line", str(path), line, column, 1)
    assert str(error).startswith(f"round 1: {path}:{line}:{column}: ")
    assert error.text(with_round=False) == str(error).removeprefix("round 1: ")


def test_a_bad_row_of_columns(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table({"y": ["a", "b"], "x": [1.0, float("inf")]}), path)
    with pytest.raises(StreamError) as caught:
        mb.Perceptron(classes=("a", "b")).run(mb.Source(path, label="y"))
    error = caught.value
    assert (error.kind, error.file, error.line, error.column, error.in_rows) == ("bad line", str(path), 2, None, True)


VALUES: dict[str, tuple[str, dict[str, Any], str]] = {
    "svmlight": ("0 1:1\n1 1:1 3:0.5\n", {}, "3"),
    "vw": ("-1 | a\n1 | a b:0.5\n", {}, "b"),
    "table": ("y,a,b\n0,1,0\n1,1,0.5\n", {"label": "y"}, "b"),
    "json": ('{"label": 0, "a": 1}\n{"label": 1, "a": 1, "b": 0.5}\n', {}, "b"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_that_a_rule_does_not_take(kind: str, tmp_path: Path) -> None:
    """The error has the feature and value, and the file, line and round."""
    text, options, feature = VALUES[kind]
    path = tmp_path / "stream"
    path.write_text(text)
    learner = mb.Winnow(threshold=2)
    source = mb.Source(path, format=kind, **options)
    line = len(text.splitlines())
    with pytest.raises(StreamError) as caught:
        learner.run(source)
    error = caught.value
    assert (error.kind, error.file, error.line, error.round) == ("not_binary", str(path), line, 1)
    assert (error.feature, error.value) == (feature, 0.5)
    named = feature if kind == "svmlight" else repr(feature)
    assert f"{path}:{line}: feature {named} is 0.5" in str(error)


def test_an_array_that_a_rule_does_not_take() -> None:
    with pytest.raises(StreamError) as caught:
        mb.Winnow().run([[1.0, 0.0], [0.0, 0.5]], [1, 0])
    error = caught.value
    assert (error.kind, error.round, error.feature, error.value, error.file) == ("not_binary", 1, "1", 0.5, None)


@pytest.mark.parametrize(
    ("text", "kind", "value", "option"),
    [
        ("x,y\n1,-1\n2,1\n3,7\n", "third label", 7, "positive"),
        ("x,y\n1,spam\n", "lone label", "spam", "classes"),
        ("x,y\n1,\n", "no label", None, None),
        ("x,y\n1,inf\n", "label", "NaN", None),
    ],
)
def test_a_label_that_does_not_fit(text: str, kind: str, value: Any, option: str | None, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(StreamError) as caught:
        mb.Perceptron().run(mb.Source(path, label="y"))
    error = caught.value
    assert (error.kind, error.option, error.line) == (kind, option, len(text.splitlines()))
    assert error.value != error.value if value == "NaN" else error.value == value


def test_options_are_named_as_they_are_passed(tmp_path: Path) -> None:
    """Python callers read about arguments, and shell users about flags."""
    table, index, bare = tmp_path / "t.csv", tmp_path / "zero.svm", tmp_path / "bare.svm"
    table.write_text("a,b\n1,x\n2,y\n")
    index.write_text("1 0:1\n")
    bare.write_text("1:1 2:1\n")
    cases = (
        (table, "no label", "label", "label=NAME or NUMBER", "--label NAME or NUMBER"),
        (index, "bad line", "zero_based", "zero_based=True", "--zero-based"),
        (bare, "bad line", "labels", "labels=FILE", "--labels FILE"),
    )
    for path, kind, option, python, shell in cases:
        with pytest.raises(StreamError) as caught:
            mb.Perceptron(classes=(-1, 1)).run(mb.Source(path))
        assert (caught.value.kind, caught.value.option) == (kind, option)
        assert python in str(caught.value)
        assert "--" not in str(caught.value)
        assert shell in call("run", path, "--classes", "-1,1", fails=1)


def test_skipped_lines_name_options_as_flags_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "zero.svm"
    path.write_text("1 0:1\n1 1:1\n-1 2:1\n")
    assert "--zero-based" in call("run", path, "--skip-bad", 1)
    (line,) = mb.Perceptron().run(mb.Source(path, skip_bad=1)).reading.skipped
    assert str(line).endswith("set zero_based=True")


def test_an_error_of_another_round_keeps_its_fields() -> None:
    words = ("it is wrong: ", Option("label", "label=NAME"))
    error = InputError(*words, kind="no label", file="a", line=3, column=4, feature="7", value=0.5)
    later = error.at_round(5)
    assert isinstance(later, StreamError)
    assert (
        later.kind,
        later.file,
        later.line,
        later.column,
        later.feature,
        later.value,
        later.round,
        later.option,
    ) == (*("no label", "a", 3, 4, "7", 0.5, 5, "label"),)
    assert str(later) == "round 5: a:3:4: it is wrong: label=NAME"
    assert str(later.at_round(None)) == "a:3:4: it is wrong: label=NAME"
    assert isinstance(CellError("x").at_round(1), TypeError)
    assert str(as_stream_error(ValueError("odd"), 2)) == "round 2: odd"
    missing = MissingColumnsError(["a"], ["b"], "t.csv")
    assert str(missing.at_round(0)) == f"round 0: {missing}"
    assert missing.at_round(0).option == "ignore"


@pytest.mark.parametrize(
    "error",
    [
        InputError("x", Option("label", "label="), kind="k", file="f", line=1, value=2),
        StreamError("x", round=3),
        CellError("x", round=3),
        OptionConflictError("label", "a", "b"),
        MissingColumnsError(["a"], ["b"], "t.csv"),
        TicketError("x", reason="used", learner="Perceptron", round=3),
        ModelError("x", field="z"),
        CertificateError("x", path="c.json", field="z"),
        ResumeError("x", path="m.mb", option="label", before="a", now="b"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_can_be_pickled(error: InputError | ModelError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


def test_experts_are_called_by_number_or_by_name() -> None:
    """The error has the number of the expert as a field."""
    with pytest.raises(StreamError) as caught:
        mb.experts.AdaHedge(loss="square").run([[0.0, 1.0], [0.0, float("inf")]], [0, 1])
    error = caught.value
    assert (error.round, error.expert) == (1, 1)
    assert "expert 1" in str(error)
    learner = mb.experts.AdaHedge(loss="square")
    with pytest.raises(StreamError, match="expert 'Bob'") as caught:
        learner.learn_one({"Ann": 0.0, "Bob": float("inf")}, 1)
    assert caught.value.expert == 1
    words = (Expert(1, forecast=True), " for ", OutcomeClass(0), " is inf")
    error = StreamError(*words, round=4)
    assert str(error) == "round 4: expert 1's forecast for class 0 is inf"
    assert str(error.with_names(["Ann", "Bob"], ["H"])) == "round 4: the forecast of expert 'Bob' for class 'H' is inf"
    assert str(StreamError(Expert(7)).with_names(["Ann"])) == "expert 7"


# ---------------------------------------------------------------------- no flags below the command line


def messages(path: Path) -> list[str]:
    """The strings of a module that are not docstrings, nor words of a command that it runs or a style of a line."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    ]


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "cli" not in path.relative_to(PACKAGE).parts[:1])


def flags(text: str) -> list[str]:
    """The flags in a text; properties of CSS (``--ink: #000``, ``var(--ink)``) are not flags."""
    return re.findall(r"(?<![\w(-])--[a-z][\w-]*(?![\w:-])", text)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_layer_below_the_command_line_names_a_flag(path: Path) -> None:
    """Except a text that is only a flag: it is passed to a command, and is not a message."""
    found = [text for text in messages(path) if flags(text) and flags(text) != [text]]
    assert found == []


def test_the_search_for_flags_finds_some(tmp_path: Path) -> None:
    module = tmp_path / "m.py"
    module.write_text('"""A docstring with --label."""\nraise ValueError(f"{1}: say --label NAME")\n')
    assert [text for text in messages(module) if flags(text)] == [": say --label NAME"]
    assert len(MODULES) > 100


def test_the_core_names_no_flag() -> None:
    core = Path(__file__).parents[2] / "core"
    if not core.is_dir():
        pytest.skip("the sources of the core are not here")
    texts = [path.read_text() for path in core.rglob("*") if path.suffix in (".hpp", ".cpp")]
    strings = [string for text in texts for string in re.findall(r'"(?:[^"\\\n]|\\.)*"', text)]
    assert strings
    assert [string for string in strings if flags(string)] == []
