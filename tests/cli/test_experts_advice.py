"""``mistakebound experts --advice COLUMN``: the same rounds as in Python, with words and numbers, and its errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import call, shows
from guarded_games import planted

import mistakebound as mb
from mistakebound.errors import OptionError

RULE = "guarded-weighted-majority"


def table(words: bool) -> tuple[str, Any, Any, Any]:
    """A file of three experts and advice that is sometimes missing, and its arrays."""
    V, y, advice = planted(120, 3)
    given = np.where(np.arange(120) % 10 == 3, np.nan, advice)
    write = (lambda code: ("ash", "birch", "cedar")[int(code)]) if words else lambda code: str(int(code))
    lines = ["Ann,Bob,Cid,net,truth"]
    for row, advised, outcome in zip(V, given, y, strict=True):
        lines.append(",".join([*map(write, row), "" if np.isnan(advised) else write(advised), write(outcome)]))
    lines.append(",".join([write(0), write(1), write(1), write(2), ""]))  # to be predicted
    return "\n".join(lines) + "\n", V, y, given


@pytest.mark.parametrize("words", [False, True])
def test_the_advice_is_followed_as_in_python(words: bool, tmp_path: Path) -> None:
    text, V, y, advice = table(words)
    path, out = tmp_path / "votes.csv", tmp_path / "p.csv"
    path.write_text(text)
    given = ("experts", path, "--outcome", "truth", "--advice", "net", "--ahead", "--beta", 0.7)
    answer = json.loads(call(*given, "--json", "--predictions", out))
    guard = mb.experts.Guarded(0.7)
    ledger = guard.run(V, y, advice)
    (rule,) = answer["rules"]
    counts = {"rounds": 108, "mistakes": ledger.advice_mistakes, "overrides": ledger.overrides}
    assert (rule["rule"], rule["total_loss"], rule["advice"]) == (RULE, ledger.mistakes, {"column": "net"} | counts)
    assert [each["name"] for each in answer["experts"]] == ["Ann", "Bob", "Cid"]
    assert rule["bound"] == pytest.approx(guard.certify().bound)
    labels = ["ash", "birch", "cedar"] if words else ["0", "1", "2"]
    expected = [*ledger.predictions.tolist(), guard.predict_one([0, 1, 1], 2)]
    assert [line.split(",")[1] for line in out.read_text().splitlines()[1:]] == [labels[code] for code in expected]
    assert ledger.overrides > 0
    shown = call(*given)
    assert f"wrong in {ledger.advice_mistakes} of 108 rounds" in shown
    every = json.loads(call(*given, "--rule", "all", "--json"))
    assert {each["rule"]: each["advice"] is not None for each in every["rules"]} == {
        RULE: True,
        "weighted-majority": False,
        "halving": False,
        "randomized-weighted-majority": False,
    }


def test_an_advice_may_also_be_an_expert() -> None:
    votes = {"a": ["x", "y", "y"], "net": ["x", "x", None], "truth": ["x", "y", "y"]}
    found = mb.experts.compare(votes, "truth", experts=["a", "net"], advice="net")
    assert (found.advice.names, found.best.rule) == (["a", "net"], RULE)
    assert found.best.learner.ledger_.advice_rounds == 2
    assert mb.experts.compare(votes, "truth", advice="net").advice.names == ["a"]


def test_labels_that_only_the_advice_has() -> None:
    votes = {"a": ["x", "y"], "b": ["x", "x"], "net": ["z", "y"], "truth": ["x", "y"]}
    found = mb.experts.compare(votes, "truth", advice="net", rules=RULE)
    assert found.advice.labels == ["x", "y", "z"]
    assert found.best.predictions[1] == "y"


def test_a_picture_of_a_guard(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "votes.csv").write_text(table(words=True)[0])
    call(
        "experts",
        tmp_path / "votes.csv",
        "--outcome",
        "truth",
        "--advice",
        "net",
        "--ahead",
        "--plot",
        tmp_path / "v.png",
    )
    assert (tmp_path / "v.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--rule", RULE), (RULE, "--advice")),
        (("--advice", "net", "--rule", "halving"), ("--advice", RULE, "halving")),
        (("--advice", "truth"), ("'truth'", "outcome")),
        (("--advice", "nte"), ("'nte'", "net")),
    ],
)
def test_options_that_do_not_fit(options: tuple[str, ...], words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text(table(words=True)[0])
    fails = 2 if "--rule" in options else 1
    assert shows(
        call("experts", tmp_path / "votes.csv", "--outcome", "truth", "--ahead", *options, fails=fails), *words
    )


def test_advice_that_is_no_label() -> None:
    votes = {"a": [1, 0], "b": [0, 0], "net": [0.9, 0.2], "truth": [1, 0]}
    with pytest.raises(mb.StreamError, match="'net' is 0.9"):
        mb.experts.compare(votes, "truth", advice="net")
    with pytest.raises(mb.StreamError, match="'z' is not a number"):
        mb.experts.compare({**votes, "net": ["z", "z"]}, "truth", advice="net")
    with pytest.raises(OptionError):
        mb.experts.compare(votes, "truth", advice="net", rules="ml-poly")
