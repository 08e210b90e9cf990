"""A model reads later files and frames as it read those that it learned from, in Python as in the shell."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import call, shows

import mistakebound as mb
from mistakebound.data.options import Reading
from mistakebound.errors import MissingColumnsError, OptionConflictError
from mistakebound.learners.explain import explanations

pd = pytest.importorskip("pandas")

NAMES = ("hour", "site", "click", "price", "note", "device", "seen")


def rows(count: int = 240, seed: int = 0) -> list[tuple[Any, ...]]:
    """Categories that are numbers, numbers of all sizes, words, missing values, and a label that depends on them."""
    rng = np.random.default_rng(seed)
    found: list[tuple[Any, ...]] = []
    for _ in range(count):
        hour, device = int(rng.integers(24)), str(rng.choice(["phone", "desk", "tablet"]))
        site = str(rng.choice(["news", "shop, or so", 'say "hi"', "größe"]))
        price = float(rng.choice([0.25, 1e-3, 1.5, 2.0, 0.1])) if rng.random() < 0.9 else None
        words = " ".join(str(word) for word in rng.choice(["free", "lunch", "prize", "now", "later"], 3))
        seen = int(rng.integers(5)) if rng.random() < 0.8 else None
        bought = (hour % 3 == 0) ^ ("free" in words) ^ (device == "phone" and rng.random() < 0.9)
        found.append((hour, site, "yes" if bought else "no", price, words, device, seen))
    return found


def columns(data: list[tuple[Any, ...]], label: bool = True) -> dict[str, list[Any]]:
    wanted = {name: [row[place] for row in data] for place, name in enumerate(NAMES)}
    return wanted if label else {name: values for name, values in wanted.items() if name != "click"}


def write_text(path: Path, data: list[tuple[Any, ...]], label: bool, separator: str, header: bool) -> Path:
    table = columns(data, label)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        if header:
            writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path


def write_json(path: Path, data: list[tuple[Any, ...]], label: bool) -> Path:
    table = columns(data, label)
    lines = [json.dumps(dict(zip(table, row, strict=True))) for row in zip(*table.values(), strict=True)]
    path.write_text("".join(line + "\n" for line in lines))
    return path


def write_parquet(path: Path, data: list[tuple[Any, ...]], label: bool) -> Path:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table(columns(data, label)), path)
    return path


def write(kind: str, path: Path, data: list[tuple[Any, ...]], label: bool = True) -> Path:
    if kind == "json":
        return write_json(path, data, label)
    if kind == "parquet":
        return write_parquet(path, data, label)
    separator = {"csv": ",", "tsv": "\t", "semicolon": ";", "headerless": ","}[kind]
    return write_text(path, data, label, separator, header=kind != "headerless")


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("csv", {}),
    ("csv", {"bins": 4}),
    ("csv", {"text": ["note"]}),
    ("csv", {"text": ["note"], "words": 2, "letters": 3}),
    ("csv", {"categorical": ["hour", "seen"], "interact": [("hour", "device")]}),
    (
        "csv",
        {"categorical": ["hour"], "text": ["note"], "bins": 2, "interact": [("site", "price")], "ignore": ["seen"]},
    ),
    ("tsv", {"categorical": ["hour"], "text": ["note"], "bins": 4}),
    ("semicolon", {"categorical": ["hour"], "interact": [("hour", "site"), ("device", "note")]}),
    ("headerless", {"categorical": ["1", "7"], "text": ["5"], "bins": 4, "interact": [("1", "6")]}),
    ("headerless", {"ignore": ["4"], "categorical": ["1"]}),
    ("json", {"text": ["note"], "bins": 4}),
    ("json", {"ignore": ["seen"], "text": ["note", "site"], "words": 2}),
    ("parquet", {"categorical": ["hour"], "text": ["note"], "bins": 4, "interact": [("hour", "device")]}),
    ("parquet", {"ignore": ["price"]}),
]


def label_of(kind: str) -> str:
    return "3" if kind == "headerless" else "click"


def in_shell(kind: str, table: dict[str, Any]) -> list[str]:
    words = ["--label", label_of(kind)]
    for name, value in table.items():
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{name}", ",".join(each) if isinstance(each, tuple) else str(each)]
    return words


def shell(model: Path, file: Path, *more: Any) -> list[list[str]]:
    return [line.split("\t") for line in call("predict", model, file, "--scores", *more).splitlines()]


def python(learner: Any, X: Any) -> list[list[str]]:
    scores, labels = learner.decision_function(X), learner.predict(X)
    scores[scores == np.finfo(float).tiny] = 0.0  # a tie
    return [[str(label), f"{score:.6g}"] for label, score in zip(labels.tolist(), scores.tolist(), strict=True)]


def frame_of(kind: str, data: list[tuple[Any, ...]], label: bool) -> Any:
    frame = pd.DataFrame(columns(data, label))
    if kind == "headerless":
        frame.columns = range(len(frame.columns))
    return frame


@pytest.mark.parametrize(("kind", "table"), OPTIONS)
def test_shell_and_python_agree_row_by_row(tmp_path: Path, kind: str, table: dict[str, Any]) -> None:
    learned, new = rows(), rows(60, seed=1)
    file = write(kind, tmp_path / "learn", learned)
    call(
        "run", "--learner", "balanced-winnow", file, *in_shell(kind, table), "--passes", 2, "--save", tmp_path / "m.mb"
    )
    own = mb.BalancedWinnow(update_margin=0.0003)
    for _ in range(2):
        own.run(mb.Source(file, label=label_of(kind), table=table))
    own.save(tmp_path / "own.mb")
    for label in (True,) if kind == "headerless" else (True, False):
        later = write(kind, tmp_path / "new", new, label)
        expected = shell(tmp_path / "m.mb", later)
        assert len(expected) == 60
        assert len({score for _, score in expected}) > 20
        for learner in (own, mb.load(tmp_path / "m.mb"), mb.load(tmp_path / "own.mb")):
            assert python(learner, mb.Source(later)) == expected
            assert python(learner, frame_of(kind, new, label)) == expected
        assert shell(tmp_path / "own.mb", later) == expected
        for row in range(0, 60, 7):  # a file of one row
            one = write(kind, tmp_path / "one", new[row : row + 1], label)
            assert shell(tmp_path / "m.mb", one) == expected[row : row + 1]
            assert python(own, mb.Source(one)) == expected[row : row + 1]
            assert str(own.predict_one(frame_of(kind, new[row : row + 1], label))) == expected[row][0]


@pytest.mark.parametrize(("kind", "table"), OPTIONS)
def test_learning_goes_on_in_the_same_way(tmp_path: Path, kind: str, table: dict[str, Any]) -> None:
    first, second = write(kind, tmp_path / "a", rows(100)), write(kind, tmp_path / "b", rows(100, seed=1))
    call("run", "--learner", "balanced-winnow", first, *in_shell(kind, table), "--save", tmp_path / "m.mb")
    call("run", second, "--load", tmp_path / "m.mb", "--save", tmp_path / "both.mb")
    expected = call("weights", tmp_path / "both.mb", "--top", 0)
    frame = frame_of(kind, rows(100, seed=1), True)
    label = frame.columns[2]
    for number, go_on in enumerate(
        [
            lambda learner: learner.run(mb.Source(second)),
            lambda learner: learner.partial_fit(mb.Source(second)),
            lambda learner: learner.run(frame),
            lambda learner: learner.run(frame, frame[label]),
            lambda learner: learner.partial_fit(frame, frame[label], classes=["no", "yes"]),
            lambda learner: [learner.learn_one(frame.iloc[[row]], frame[label][row]) for row in range(100)],
        ]
    ):
        learner = mb.load(tmp_path / "m.mb")
        go_on(learner)
        assert learner.ledger_.rounds == 200
        learner.save(tmp_path / f"{number}.mb")
        assert call("weights", tmp_path / f"{number}.mb", "--top", 0) == expected, number


@pytest.fixture
def model(tmp_path: Path) -> Path:
    words = in_shell("csv", {"categorical": ["hour"], "text": ["note"], "bins": 4, "interact": [("hour", "device")]})
    call(
        "run",
        "--learner",
        "balanced-winnow",
        write("csv", tmp_path / "learn.csv", rows()),
        *words,
        "--save",
        tmp_path / "m.mb",
    )
    return tmp_path / "m.mb"


def test_a_learner_and_its_source_may_be_used_again(model: Path, tmp_path: Path) -> None:
    """Options that a source gets from one model are not its own options when it is used with another."""
    source = mb.Source(tmp_path / "learn.csv")
    expected = mb.load(model).predict(source).tolist()
    call(
        "run",
        "--learner",
        "balanced-winnow",
        tmp_path / "learn.csv",
        "--label",
        "click",
        "--save",
        tmp_path / "plain.mb",
    )
    plain = mb.load(tmp_path / "plain.mb").predict(source).tolist()
    assert plain != expected
    assert plain == mb.load(tmp_path / "plain.mb").predict(mb.Source(tmp_path / "learn.csv")).tolist()
    assert mb.load(model).predict(source).tolist() == expected


@pytest.mark.parametrize(
    ("passed", "option", "shell_words"),
    [
        ({"table": {"bins": 8}}, "bins", ["--bins", "8"]),
        ({"table": {"text": ["site"]}}, "text", ["--text", "site"]),
        ({"table": {"categorical": ["site"]}}, "categorical", ["--categorical", "site"]),
        ({"table": {"interact": [("hour", "site")]}}, "interact", ["--interact", "hour,site"]),
        ({"table": {"words": 2}}, "words", ["--words", "2"]),
        ({"table": {"ignore": ["note"]}}, "ignore", ["--ignore", "note"]),
        ({"label": "site"}, "label", ["--label", "site"]),
    ],
)
def test_options_that_contradict_the_model_are_rejected(
    model: Path, tmp_path: Path, passed: dict[str, Any], option: str, shell_words: list[str]
) -> None:
    learner, file = mb.load(model), tmp_path / "learn.csv"
    for use in (
        learner.predict,
        learner.run,
        learner.decision_function,
        lambda source: list(explanations(learner, source)),
    ):
        with pytest.raises(OptionConflictError) as caught:
            use(mb.Source(file, **passed))
        assert caught.value.option == option
        assert repr(caught.value.given) in str(caught.value)
        assert repr(caught.value.known) in str(caught.value)
    assert learner.ledger_.rounds == 240
    for command in (["predict", model, file], ["explain", model, file], ["run", file, "--load", model]):
        output = call(*command, *shell_words, fails=2)
        assert " ".join(shell_words) in output
        assert "Error" in output


def test_options_that_agree_with_the_model_are_accepted(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "learn.csv"
    expected = mb.load(model).predict(mb.Source(file)).tolist()
    for passed in (
        {"label": "3"},  # by its number
        {"table": {"bins": 4, "words": 1, "letters": 0}},
        {"table": {"categorical": ["1"], "interact": [("1", "6")], "text": ["note"]}},
        {"table": {"separator": ",", "header": True}, "format": "table"},
    ):
        assert mb.load(model).predict(mb.Source(file, **passed)).tolist() == expected


def test_missing_columns_are_named(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text("hour,sites,note,device,extra\n1,news,free,phone,3\n")
    frame = pd.read_csv(file)
    learner = mb.load(model)
    for X in (mb.Source(file), frame):
        with pytest.raises(MissingColumnsError) as caught:
            learner.predict(X)
        assert caught.value.missing == ["site", "price", "seen"]
        assert caught.value.columns == ["hour", "sites", "note", "device", "extra"]
        assert "'sites'?" in str(caught.value)
    with pytest.raises(MissingColumnsError) as caught:
        learner.predict(mb.Source(file))
    assert caught.value.file == str(file)
    assert str(file) in str(caught.value)
    output = call("predict", model, file, fails=1)
    assert all(repr(name) in output for name in ("site", "price", "seen"))
    assert str(file) in output
    assert "'sites'?" in output
    # Nothing can be learned without a label.
    whole = write("csv", tmp_path / "whole.csv", rows(5), label=False)
    with pytest.raises(MissingColumnsError) as caught:
        learner.run(mb.Source(whole))
    assert caught.value.missing == ["click"]
    assert learner.ledger_.rounds == 240


def test_a_column_may_be_left_out_on_purpose(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text("hour,site,note,device\n1,news,free,phone\n")
    source = mb.Source(file, table={"ignore": ["price", "seen"]})
    assert len(mb.load(model).predict(source)) == 1
    assert len(shell(model, file, "--ignore", "price", "--ignore", "seen")) == 1


def test_missing_columns_of_parquet(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = write("parquet", tmp_path / "a.parquet", rows())
    learner = mb.BalancedWinnow()
    learner.run(mb.Source(file, label="click"))
    parquet.write_table(pa.table({"hour": [1], "sit": ["news"]}), tmp_path / "new.parquet")
    for X in (mb.Source(tmp_path / "new.parquet"), pd.DataFrame({"hour": [1], "sit": ["news"]})):
        with pytest.raises(MissingColumnsError) as caught:
            learner.predict(X)
        assert caught.value.missing == ["site", "price", "note", "device", "seen"]


def test_the_layout_of_a_file_is_not_guessed_again(tmp_path: Path) -> None:
    """Without a header, a first row that looks like one is a row; a lone row may look like another format."""
    lines = ["?\t12:30\tyes", *(["1\t12:30\tyes", "2\t13:45\tno", "a;b\tc d\tno", "{x}\t7\tyes"] * 10)]
    (tmp_path / "learn.tsv").write_text("".join(line + "\n" for line in lines))
    call("run", "--learner", "balanced-winnow", tmp_path / "learn.tsv", "--label", "3", "--save", tmp_path / "m.mb")
    whole = shell(tmp_path / "m.mb", tmp_path / "learn.tsv")
    file = tmp_path / "new.tsv"
    for at in range(5):
        for several in (lines[at : at + 1], [lines[at], "5\t6\tno"], [lines[at], *lines[:5]]):
            file.write_text("".join(line + "\n" for line in several))
            assert shell(tmp_path / "m.mb", file)[0] == whole[at]
            assert python(mb.load(tmp_path / "m.mb"), mb.Source(file))[0] == whole[at]


def test_a_header_is_a_header_later_whatever_stands_below(tmp_path: Path) -> None:
    text = "when,what,kind\n" + "mon,x,a\ntue,y,b\nwed,x,a\nthu,y,b\n" * 10
    (tmp_path / "learn.csv").write_text(text)
    learner = mb.Perceptron()
    learner.run(mb.Source(tmp_path / "learn.csv", label="kind"))
    file = tmp_path / "new.csv"
    file.write_text("what,when\ny,tue\n")
    assert learner.predict(mb.Source(file)).tolist() == ["b"]
    file.write_text("what;when\ny;tue\nx;mon\n")  # its header says what separates it
    assert learner.predict(mb.Source(file)).tolist() == ["b", "a"]
    file.write_text("mon,x\n")
    with pytest.raises(MissingColumnsError):
        learner.predict(mb.Source(file))


def test_without_a_header_columns_are_counted(tmp_path: Path) -> None:
    (tmp_path / "learn.csv").write_text("x,1,yes\ny,2,no\n" * 10)
    learner = mb.Perceptron()
    learner.run(mb.Source(tmp_path / "learn.csv", label="3"))
    file = tmp_path / "new.csv"
    file.write_text("x,1\ny,2\n")  # without the label, which was the last column
    assert learner.predict(mb.Source(file)).tolist() == ["yes", "no"]
    file.write_text("7,x,1,yes\n")
    with pytest.raises(ValueError, match="4"):
        learner.predict(mb.Source(file))
    file.write_text("what,size,kind\nx,1,yes\ny,2,no\n")
    assert learner.predict(mb.Source(file, table={"header": True})).tolist() == ["yes", "no"]
    with pytest.raises(ValueError, match="2"):
        learner.predict(pd.DataFrame({"size": [1]}))


def test_explanations_of_files_and_frames_have_the_same_features(model: Path, tmp_path: Path) -> None:
    learner, data = mb.load(model), rows(4)
    expected = [
        {each["feature"]: each["adds"] for each in json.loads(line)["features"]}
        for line in call("explain", model, tmp_path / "learn.csv", "--first", 4, "--top", 0, "--json").splitlines()
    ]
    for X in (mb.Source(write("csv", tmp_path / "new.csv", data)), pd.DataFrame(columns(data))):
        found = list(explanations(learner, X))
        assert [{each.name: each.adds for each in one.terms} for one in found] == expected


def test_a_bad_cell_of_a_frame_is_named(model: Path) -> None:
    frame = pd.DataFrame(columns(rows(3)))
    frame.loc[1, "price"] = float("inf")
    learner = mb.load(model)
    with pytest.raises(mb.StreamError, match="row 2.*price"):
        learner.predict(frame)
    with pytest.raises(mb.StreamError, match="price") as caught:
        learner.run(frame, frame["click"])
    assert caught.value.round == 1
    assert learner.ledger_.rounds == 241
    with pytest.raises(ValueError, match="labels"):
        learner.run(frame, ["no"])


def test_one_row_as_a_series(model: Path) -> None:
    learner, frame = mb.load(model), pd.DataFrame(columns(rows(20, seed=3)))
    expected = learner.predict(frame).tolist()
    assert [learner.predict_one(frame.iloc[row]) for row in range(20)] == expected
    assert [learner.predict_one(frame.iloc[[row]]) for row in range(20)] == expected


def test_learners_from_frames_keep_their_contract(tmp_path: Path) -> None:
    """Positional in fit and predict, named in run: only files with columns make a learner read frames as tables."""
    frame = pd.DataFrame({"a": [1.0, 0.0] * 5, "b": [0.0, 1.0] * 5})
    labels = [1, -1] * 5
    fitted = mb.Perceptron().fit(frame, labels)
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    assert fitted.predict(frame).tolist() == labels
    named = mb.Perceptron()
    named.run(frame, labels)
    assert set(named.weights_) == {"b"}  # of the one mistake
    assert named.predict(frame.to_dict("records")).tolist() == labels
    (tmp_path / "a.csv").write_text("a,b,y\n" + "1,0,1\n0,1,-1\n" * 5)
    again = mb.Perceptron()
    again.run(mb.Source(tmp_path / "a.csv", label="y"))
    assert again.predict([{"a": 1}, {"b": 1}]).tolist() == [1, -1]  # dicts are features, as ever
    again.fit(frame, labels)
    assert again.predict(frame).tolist() == labels
    assert again.n_features_in_ == 2


def test_a_run_that_learned_nothing_settles_no_options(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,b,y\n1,0,\n0,1,-1\n")
    learner = mb.Perceptron(classes=(-1, 1))
    with pytest.raises(mb.StreamError):
        learner.run(mb.Source(file, label="y", table={"bins": 4}))
    file.write_text("a,b,y\n1,0,1\n0,1,-1\n")
    learner.run(mb.Source(file, label="y"))
    assert set(learner.weights_) == {"b"}  # of the one mistake


@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_indices_count_from_the_same_base_as_in_the_model(tmp_path: Path, zero_based: bool) -> None:
    file = tmp_path / "a.svm"
    file.write_text(f"1 {1 - zero_based}:1\n-1 7:1\n" * 5)
    learner = mb.Perceptron()
    learner.run(mb.Source(file, zero_based=zero_based))
    learner.save(tmp_path / "m.mb")
    bare = tmp_path / "bare.svm"
    bare.write_text(f"{1 - zero_based}:1\n7:1\n")
    for each in (learner, mb.load(tmp_path / "m.mb")):
        assert each.predict(mb.Source(file)).tolist() == [1, -1] * 5
        assert each.predict(mb.Source(bare)).tolist() == [1, -1]
    assert [label for label, _ in shell(tmp_path / "m.mb", bare)] == ["1", "-1"]
    found = next(explanations(mb.load(tmp_path / "m.mb"), mb.Source(bare)))
    assert [each.name for each in found.terms] == [str(1 - zero_based)]


def test_vw_files_need_no_options(tmp_path: Path) -> None:
    file = tmp_path / "a.vw"
    file.write_text("1 |f a b:2\n-1 |f c\n" * 5)
    call("run", "--learner", "balanced-winnow", file, "--save", tmp_path / "m.mb")
    file.write_text("|f a b:2\n|f c\n")
    assert [label for label, _ in shell(tmp_path / "m.mb", file)] == ["1", "-1"]
    assert mb.load(tmp_path / "m.mb").predict(mb.Source(file)).tolist() == [1, -1]
    frame = pd.DataFrame({"f^a": [1.0], "f^b": [2.0]})  # nothing is known of tables: columns are names
    assert len(mb.load(tmp_path / "m.mb").predict(frame)) == 1


@pytest.mark.parametrize("columns", [[], ["kind", "subject", "size"]])
def test_models_without_the_layout_of_their_files(tmp_path: Path, columns: list[str]) -> None:
    """The first files of format 3 have options, but neither the separator nor the header, and at first no columns."""
    (tmp_path / "learn.csv").write_text("kind;subject;size\n" + "ham;lunch now;1\nspam;prize now;2\n" * 10)
    learner = mb.Perceptron()
    learner.run(mb.Source(tmp_path / "learn.csv", label="kind", table={"text": ["subject"]}))
    vars(learner)["_reading"] = Reading("auto", "kind", False, {"text": ["subject"]}, columns)
    learner.save(tmp_path / "m.mb")
    file = tmp_path / "new.csv"
    for text in ("kind;subject;size\nham;lunch;1\nham;prize;2\n", "size,subject\n1,lunch\n2,prize\n"):
        file.write_text(text)
        assert mb.load(tmp_path / "m.mb").predict(mb.Source(file)).tolist() == ["ham", "spam"]
        assert [label for label, _ in shell(tmp_path / "m.mb", file)] == ["ham", "spam"]
    frame = pd.DataFrame({"subject": ["lunch", "prize"], "size": [1, 2]})
    assert mb.load(tmp_path / "m.mb").predict(frame).tolist() == ["ham", "spam"]


def test_a_cache_serves_every_pass(tmp_path: Path) -> None:
    file = write("csv", tmp_path / "a.csv", rows(50))
    learner = mb.BalancedWinnow()
    learner.run(mb.Source(file, label="click", cache=tmp_path / "c"))
    made = (tmp_path / "c").stat().st_mtime_ns
    source = mb.Source(file, label="click", cache=tmp_path / "c")
    other = mb.BalancedWinnow()
    for _ in range(3):
        other.run(source)
    assert (tmp_path / "c").stat().st_mtime_ns == made
    assert other.predict(mb.Source(file)).tolist() == other.predict(mb.Source(file, cache=tmp_path / "d")).tolist()
    assert other.predict(mb.Source(file, cache=tmp_path / "d")).tolist() == other.predict(source).tolist()


@pytest.mark.parametrize(("kind", "table"), OPTIONS)
@pytest.mark.parametrize("passes", [1, 2])
def test_a_loaded_model_certifies_its_table_as_the_shell_does(
    tmp_path: Path, kind: str, table: dict[str, Any], passes: int
) -> None:
    file, model = write(kind, tmp_path / "learn", rows(60)), tmp_path / "m.mb"
    words = (*in_shell(kind, table), "--passes", passes, "--save", model)
    expected = json.loads(call("run", "--learner", "balanced-winnow", file, *words, "--certify", "--json"))[
        "certificate"
    ]
    assert (expected["scope"], expected["rounds"]) == ("whole stream", 60 * passes)
    learner, frame, source = mb.load(model), frame_of(kind, rows(60), True), mb.Source(file)
    before, own = learner.ledger_.to_json(), dict(vars(source))
    labels = frame[frame.columns[2]]
    bare = frame.drop(columns="click", errors="ignore")
    for X, y in ((source, None), (frame, None), (frame, labels), (bare, labels)):
        assert json.loads(learner.certify(X=X, y=y).to_json()) == expected
    assert vars(source) == own
    assert learner.ledger_.to_json() == before
    assert learner.known_reading() == mb.load(model).known_reading()
    with pytest.raises(ValueError):
        learner.certify(X=frame[::-1])


def test_a_second_pass_leaves_the_cache_alone(tmp_path: Path) -> None:
    file, cache = write("csv", tmp_path / "a.csv", rows(50)), tmp_path / "c"
    learner = mb.BalancedWinnow()
    source = mb.Source(file, label="click", cache=cache)
    learner.run(source)
    made = cache.read_bytes(), cache.stat().st_mtime_ns
    for again in (source, mb.Source(file, cache=cache)):
        assert learner.certify(X=again).rounds == 50
        assert (cache.read_bytes(), cache.stat().st_mtime_ns) == made


@pytest.mark.parametrize("path", [str, Path, lambda name: name.encode()])
def test_a_path_is_not_a_stream_but_a_source_of_it_is(model: Path, path: Any) -> None:
    positional = mb.Perceptron().fit([[0.0, 1.0], [1.0, 0.0]], [1, -1])
    for learner in (mb.load(model), positional):
        for use in (learner.predict, learner.run, learner.partial_fit, lambda X: learner.certify(X=X)):
            with pytest.raises(ValueError, match=r"mb\.Source\('new\.csv'\)"):
                use(path("new.csv"))
    with pytest.raises(ValueError, match=r"mb\.Source\('new\.csv'\)"):
        positional.fit(path("new.csv"), [1])


def test_what_may_be_predicted_is_documented() -> None:
    text = str(mb.Perceptron.predict.__doc__)
    assert all(word in text for word in ("array", "sparse", "DataFrame", "dict", "set", "list", "Source"))
    assert "MissingColumnsError" in text


@pytest.mark.parametrize(("label", "number"), [("1", 1), ("c2", 2)])
def test_without_a_header_the_label_must_be_there(tmp_path: Path, label: str, number: int) -> None:
    (tmp_path / "learn.csv").write_text("x,y,1\ny,x,2\n" * 10)
    call("run", "--learner", "balanced-winnow", tmp_path / "learn.csv", "--label", label, "--save", tmp_path / "m.mb")
    new = tmp_path / "new.csv"
    new.write_text("x,1\ny,2\n")
    output = call("predict", tmp_path / "m.mb", new, fails=1)
    for wanted in (f"{new}: ", "2 columns", "3", f"number {number}"):
        assert wanted in output
    assert "did you mean" not in output
    learner = mb.load(tmp_path / "m.mb")
    for use, matters in ((learner.predict, False), (learner.run, True)):
        with pytest.raises(MissingColumnsError) as caught:
            use(mb.Source(new))
        assert (caught.value.label_number, caught.value.label_is_read) == (number, matters)
    new.write_text("x,?,1\n" if number == 2 else "?,x,1\n")
    assert len(learner.predict(mb.Source(new))) == 1


def test_without_a_header_the_last_columns_are_reported_missing(tmp_path: Path) -> None:
    (tmp_path / "learn.csv").write_text("x,1,yes\ny,2,no\n" * 10)
    learner = mb.Perceptron()
    learner.run(mb.Source(tmp_path / "learn.csv", label="3"))
    new = tmp_path / "new.csv"
    new.write_text("x\ny\n")
    with pytest.raises(MissingColumnsError, match="1 column.* 3") as caught:
        learner.predict(mb.Source(new))
    assert (caught.value.missing, caught.value.counted) == (["c2"], 3)


def test_a_table_without_the_header_that_the_model_knows(model: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    for label, names in ((True, NAMES), (False, [name for name in NAMES if name != "click"])):
        write_text(new, rows(3), label, ",", header=False)
        output = call("predict", model, new, fails=1)
        assert "line 1" in output
        assert f": {','.join(names)}" in output
        with pytest.raises(MissingColumnsError) as caught:
            mb.load(model).predict(mb.Source(new))
        assert caught.value.first_line == ",".join(names)
    new.write_text("red,red,x\n1,2,3\n")  # as a header it would not do
    assert "line 1" in call("predict", model, new, fails=1)
    new.write_text("hour,sites\n1,2\n")  # this one is a header
    assert "line 1" not in call("predict", model, new, fails=1)


def test_a_long_first_line_is_cut_short(tmp_path: Path) -> None:
    wide = tmp_path / "wide.csv"
    names = [f"name{number}" for number in range(500)]
    wide.write_text(",".join(["y", *names]) + "\n" + "".join(f"{i % 2}" + f",{i}" * 500 + "\n" for i in range(4)))
    learner = mb.Perceptron()
    learner.run(mb.Source(wide, label="y"))
    new = tmp_path / "new.csv"
    new.write_text(",".join(map(str, range(501))) + "\n")
    with pytest.raises(MissingColumnsError, match="line 1") as caught:
        learner.predict(mb.Source(new))
    assert "name499" not in str(caught.value)
    assert len(str(caught.value)) < 2000
    assert caught.value.first_line == ",".join(["y", *names])


def test_the_error_names_the_option_that_ignores_a_column(model: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("hour,site,note,device\n1,news,free,phone\n")
    with pytest.raises(MissingColumnsError) as caught:
        mb.load(model).predict(mb.Source(new))
    assert 'table={"ignore": ["price", "seen"]}' in str(caught.value)
    assert "--ignore" not in str(caught.value)
    output = call("predict", model, new, fails=1)
    assert "--ignore price --ignore seen" in output
    assert "table=" not in output


def test_the_error_about_a_frame_names_what_can_be_done_with_a_frame(model: Path) -> None:
    pandas = pytest.importorskip("pandas")
    learner = mb.load(model)
    frame = pandas.DataFrame({"hour": [1], "site": ["news"], "note": ["free"], "device": ["phone"], "prices": [2.0]})
    for call_of in (learner.predict, lambda rows: learner.run(rows, ["yes"]), lambda rows: learner.predict_one(rows)):
        with pytest.raises(ValueError, match="the table lacks columns") as caught:
            call_of(frame)
        assert "'price' (did you mean 'prices'?), 'seen'; " in str(caught.value)
        assert "add these columns to the DataFrame, with None for missing cells, or pass its rows as dicts" in str(
            caught.value
        )
        assert "table=" not in str(caught.value)
    learner.predict(frame.assign(price=None, seen=None)[["hour", "site", "note", "device", "price", "seen"]])
    learner.predict(frame[["hour"]].to_dict("records"))


def test_a_column_with_a_role_cannot_be_ignored(tmp_path: Path) -> None:
    """So the error does not recommend it; nor does it suggest a name that the model has already."""
    file, model = tmp_path / "a.csv", tmp_path / "m.mb"
    file.write_text("hour,hours,text,kind\n1,2,a b,x\n2,3,b c,y\n")
    call("run", file, "--label", "kind", "--text", "text", "--weight", "hours", "--save", model)
    file.write_text("hour,kind\n1,x\n2,y\n")
    shown = call("run", file, "--load", model, fails=1)
    assert shows(shown, "lacks columns that the model learned from: 'text', 'hours'; it has: hour, kind")
    assert "ignore" not in shown


def test_a_header_that_is_read_as_an_example_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "learn.csv").write_text("x,1,yes\ny,2,no\n" * 10)
    call("run", "--learner", "balanced-winnow", tmp_path / "learn.csv", "--label", "3", "--save", tmp_path / "m.mb")
    new = tmp_path / "new.csv"
    new.write_text("what,size,kind\nx,1,yes\ny,2,no\n")
    learner = mb.load(tmp_path / "m.mb")
    for cache in (None, tmp_path / "c", tmp_path / "c"):
        with pytest.warns(UserWarning, match="header") as caught:
            assert len(learner.predict(mb.Source(new, cache=cache))) == 3
        assert len(caught) == 1
        assert str(caught[0].message).startswith(f"{new}:1: ")
        assert "--header" not in str(caught[0].message)
    with pytest.warns(UserWarning, match="header"):
        list(explanations(learner, mb.Source(new)))
    for header, count in ((True, 2), (False, 3)):
        assert len(learner.predict(mb.Source(new, table={"header": header}))) == count
    output = call("predict", tmp_path / "m.mb", new)  # here a warning would be an error
    assert output.count("line 1 looks like a header") == 1
    assert "--header" in output
    output = call("run", new, "--load", tmp_path / "m.mb", fails=1)  # its label is neither of the two
    assert "UserWarning" not in output


def test_a_model_of_json_lines_reads_a_long_frame_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = mb.Perceptron(classes=("no", "yes"))
    learner.run(mb.Source(write("json", tmp_path / "learn", rows(10)), label=label_of("json")))
    monkeypatch.setattr("mistakebound.data.frame.CELLS", 3 * len(NAMES))  # blocks of 3 rows
    assert learner.run(pd.DataFrame(columns(rows(20)))).rounds == 20
