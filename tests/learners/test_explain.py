"""Explanations: what each feature adds to a score, for every rule and format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import call, shows

import mistakebound as mb
from mistakebound._support.text import escaped
from mistakebound.learners.explain import explanations
from mistakebound.learners.explanation import CONSTANT

LEARNERS: list[Any] = [
    lambda: mb.Perceptron(bias=0.5),
    lambda: mb.Winnow(threshold=6.0, bias=1.0),
    lambda: mb.Elimination(),
    lambda: mb.NormalizedWinnow(eta=0.3),
    lambda: mb.NormalizedWinnow(eta=float("inf"), bias=1.0),
    lambda: mb.BalancedWinnow(bias=2.0, update_margin=0.01),
    lambda: mb.PNormPerceptron(p=5, bias=-1.0),
    lambda: mb.AveragedPerceptron(bias=0.5),
    lambda: mb.ExponentiatedGradient(bias=1.0),
    lambda: mb.CoinBetting(),
    lambda: mb.NaiveBayes(),
    lambda: mb.DecisionList(),
]


def write(folder: Path, format: str, rows: int = 80) -> Path:  # noqa: A002
    """Write a stream of binary features a..h in one of the formats; the label is the value of a."""
    rng = np.random.default_rng(1)
    path = folder / f"stream.{format}"
    lines = ["a,b,c,d,e,f,g,h,y\n"] if format == "csv" else []
    for _ in range(rows):
        on = sorted(rng.choice(8, 4, replace=False).tolist())
        label = int(0 in on)
        lines.append(
            {
                "svm": f"{label} " + " ".join(f"{i + 1}:1" for i in on) + "\n",
                "vw": f"{label} | " + " ".join("abcdefgh"[i] for i in on) + "\n",
                "csv": ",".join("1" if i in on else "0" for i in range(8)) + f",{label}\n",
                "json": json.dumps({"label": label} | {"abcdefgh"[i]: 1 for i in on}) + "\n",
            }[format]
        )
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize("make", LEARNERS)
@pytest.mark.parametrize("format", ["svm", "vw", "csv", "json"])
def test_contributions_sum_to_the_score(make: Any, format: str, tmp_path: Path) -> None:  # noqa: A002
    """Up to float32 rounding, the largest first, with the constant feature and features that were never learned."""
    source = mb.Source(write(tmp_path, format), label="y" if format == "csv" else None)
    learner = make()
    learner.run(source)
    found = list(explanations(learner, source))
    assert len(found) == 80
    scores = np.concatenate([scores for scores, _ in learner.score_parts(source)])
    for each, score in zip(found, scores, strict=True):
        assert each.score == score
        sizes = [abs(one.adds) for one in each.terms]
        assert sizes == sorted(sizes, reverse=True)
        assert sum(one.adds for one in each.terms) == pytest.approx(score, rel=1e-5, abs=1e-6 * sum(sizes))
        assert each.label == int(any(one.name in ("1", "a") for one in each.terms))
        constant = bool(learner.ledger_.rule.bias) or isinstance(learner, (mb.NaiveBayes, mb.DecisionList))
        assert (CONSTANT in [one.name for one in each.terms]) == constant
    new = tmp_path / "new"
    texts = {
        "svm": "1 1:1 99:1\n",
        "vw": "| a zz\n",
        "json": '{"a": 1, "zz": 1}\n',
        "csv": "a,b,c,d,e,f,g,h,zz\n1,0,0,0,0,0,0,0,1\n",
    }
    new.write_text(texts[format])
    (one,) = explanations(learner, mb.Source(new))
    assert {each.name for each in one.terms} >= ({"1", "99"} if format == "svm" else {"a", "zz"})
    assert sum(each.adds for each in one.terms) == pytest.approx(one.score, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("make", [mb.NaiveBayes, mb.DecisionList, mb.AveragedPerceptron])
def test_repeated_words_are_one_feature(make: Any, tmp_path: Path) -> None:
    """A word that occurs twice counts as one feature with the value 2, also if it was never learned."""
    (tmp_path / "a.vw").write_text("1 | a b\n-1 | b c\n-1 | c\n")
    (tmp_path / "b.vw").write_text("1 | a a new b new\n")
    learner = make()
    learner.run(mb.Source(tmp_path / "a.vw"))
    (found,) = explanations(learner, mb.Source(tmp_path / "b.vw"))
    values = {one.name: one.value for one in found.terms if one.name != CONSTANT}
    assert values == {"a": 2.0, "new": 2.0, "b": 1.0}
    assert found.score == learner.score_one({"a": 2, "new": 2, "b": 1})
    assert sum(one.adds for one in found.terms) == pytest.approx(found.score)


@pytest.mark.parametrize("make", LEARNERS)
def test_a_file_and_an_array_give_the_same_weights(make: Any, tmp_path: Path) -> None:
    """Scores with normalised weights are equal, too: all features of a file count in the normaliser."""
    X = np.eye(8)[[0, 1, 2, 3, 4, 5, 6, 7, 0, 0]] + np.eye(8)[[7, 7, 7, 7, 7, 7, 7, 0, 7, 7]]
    y = np.array([1, 0, 0, 0, 0, 0, 0, 1, 1, 1])
    path = tmp_path / "x.svm"
    path.write_text(
        "".join(
            f"{label} " + " ".join(f"{i + 1}:1" for i in np.flatnonzero(x)) + "\n"
            for x, label in zip(X, y, strict=True)
        )
    )
    learner, other = make(), make()
    for parameters in (learner, other):
        if hasattr(parameters, "update_margin"):
            parameters.update_margin = 0.0  # so that the two learn from the same rounds
    learner.run(mb.Source(path))
    other.run(X, y)
    assert np.array_equal(learner.weights_, other.weights_)
    assert [learner.score_one(x) for x in X] == [other.score_one(x) for x in X]


@pytest.mark.parametrize(
    ("parameters", "target"),
    [({"target": "conjunction"}, lambda x: x[0] * x[1]), ({"complements": True}, lambda x: 1 - x[0])],
)
def test_reductions_read_files_as_they_read_arrays(parameters: dict[str, Any], target: Any, tmp_path: Path) -> None:
    """The rule of a conjunction sees negated features, which have "not" in their names."""
    X = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 1]] * 4, float)
    y = np.array([target(x) for x in X])
    learner = mb.Winnow(**parameters)
    learner.run(X, y)
    path = tmp_path / "x.svm"
    path.write_text("1 1:1 2:1\n0 1:1\n0 3:1\n")
    rows = [[1, 1, 0], [1, 0, 0], [0, 0, 1]]
    predicted = np.concatenate([labels for _, labels in learner.score_parts(mb.Source(path))])
    assert predicted.tolist() == learner.predict(rows).tolist() == [target(x) for x in rows]
    found = list(explanations(learner, mb.Source(path)))
    assert [each.prediction for each in found] == predicted.tolist()
    for each in found:
        assert sum(one.adds for one in each.terms) == pytest.approx(each.score)
    assert "not 3" in [one.name for one in found[0].terms]
    assert learner.feature_weights(top=1)[0].name.split()[-1] in "012"
    path.write_text("1 1:0.5\n")
    with pytest.raises(mb.StreamError, match="x.svm:1: feature 1 is 0.5") as caught:
        list(learner.score_parts(mb.Source(path)))
    assert caught.value.kind == "not_binary"


def test_explain_command(tmp_path: Path) -> None:
    """As text and as JSON; the features that are not listed are summed."""
    path, model = write(tmp_path, "vw"), tmp_path / "m.mb"
    call("run", path, "--learner", "perceptron", "--bias", 1, "--save", model)
    lines = call("explain", model, path, "--line", 5, "--top", 2).splitlines()
    (found,) = explanations(mb.load(model), mb.Source(path), 5)
    assert shows(lines[0], f"{path}:5: ", f" {found.prediction}, ", f" {found.label}")
    assert lines[1].startswith(f"score {found.score:.6g} ")
    assert lines[3].split() == [f"{x:.6g}" for x in (found.terms[0].adds, found.terms[0].value)] + [
        f"{found.terms[0].weight:.6g}",
        found.terms[0].name,
    ]
    assert lines[-1].endswith(" more terms)")
    assert call("explain", model, path).count("predicted") == 3
    for line in call("explain", model, path, "--json", "--first", 80, "--top", 1).splitlines():
        found = json.loads(line)
        assert found["features"][0]["adds"] + found["rest"] == pytest.approx(found["score"])
    assert "line 81" in call("explain", model, path, "--line", 81, fails=1)
    assert shows(call("explain", model, write(tmp_path, "svm"), fails=1), "names", "positions")


def test_weights_command(tmp_path: Path) -> None:
    """The constant feature, the file's own numbers, and JSON."""
    path, model = write(tmp_path, "svm"), tmp_path / "m.mb"
    call("run", path, "--learner", "perceptron", "--bias", 1, "--save", model)
    learner = mb.load(model)
    lines = [line.split() for line in call("weights", model, "--top", 3).splitlines()]
    assert lines[0] == [f"{learner.intercept_:.6g}", CONSTANT]
    assert len(lines) == 4
    assert lines[1][1] == str(1 + int(np.argmax(np.abs(learner.weights_))))
    assert call("weights", model, "--zero-based").split()[3] == str(int(lines[1][1]) - 1)
    found = json.loads(call("weights", model, "--json", "--top", 0))
    assert found["intercept"] == learner.intercept_
    assert found["features"] == len(found["weights"]) == 8
    assert dict(map(tuple, found["weights"])) == {str(i + 1): w for i, w in enumerate(learner.weights_.tolist())}
    arrays = mb.Perceptron()
    arrays.run([[1.0, 0.0]], [-1])
    arrays.save(model)
    assert call("weights", model, "--top", 1).split() == ["-1", "0"]  # columns of an array count from 0


def test_control_characters_in_names_are_escaped(tmp_path: Path) -> None:
    """Characters that cannot be printed are escaped, and no others."""
    assert escaped("gr\u00f6\u00dfe \u20ac") == "gr\u00f6\u00dfe \u20ac"
    assert escaped("\x1b[31m\n\u202e") == "\\x1b[31m\\n\\u202e"
    path, model = tmp_path / "x.vw", tmp_path / "m.mb"
    path.write_text("0 | \x1b[31mred\n")
    call("run", path, "--learner", "perceptron", "--save", model)
    assert call("weights", model).split() == ["-1", "\\x1b[31mred"]
    assert "\x1b" not in call("explain", model, path)


def test_scaled_numbers_and_the_term_uniform_are_explained_below_the_table(tmp_path: Path) -> None:
    file, model = tmp_path / "t.csv", tmp_path / "m.mb"
    file.write_text("size,kind\n" + "400,a\n1,b\n2,c\n" * 5)
    scaled, uniform = "numbers above 2 are scaled", "(uniform): the logit of 1/3, "
    call("run", file, "--label", "kind", "--save", model)
    shown = call("explain", model, file, "--line", 2)
    assert shows(shown, "9.5625", "size", scaled, uniform)
    assert scaled not in call("explain", model, file, "--line", 4)  # 2 is not scaled

    assert "size (400 in the table)" in shown
    found = mb.load(model).explain_one({"size": -1234567.5})
    assert scaled in str(found)
    assert "size (-1,234,567.5 in the table)" in str(found)
    assert [found.in_table(term) for term in found.terms if term.name == "size"] == [-1234567.5]
    assert "in the table" not in call("explain", model, file, "--line", 4)
    sizes = json.loads(call("explain", model, file, "--line", 2, "--json"))["terms"]
    assert [each["in_table"] for each in sizes if "in_table" in each] == [400]
    wrong = call("explain", model, file, "--line", 1, fails=1)
    assert "line 1 is the header; the first example is in line 2" in wrong
    assert "no example begins at line 99" in call("explain", model, file, "--line", 99, fails=1)
    call("run", file, "--label", "kind", "--plain", "--save", model)
    assert scaled not in call("explain", model, file, "--line", 2)
    numbers = tmp_path / "t.svm"
    numbers.write_text("1 1:400\n-1 2:1\n" * 3)
    call("run", numbers, "--save", model)
    assert scaled not in call("explain", model, numbers, "--line", 1)
