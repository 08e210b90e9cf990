"""Forecasters of several outcomes, and forecasters that never all gave a forecast in one round."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import call, data

import mistakebound as mb
from mistakebound.forecasters import compare
from mistakebound.forecasters.scoring import chances, decomposed, difference, of_outcomes, possible_scores

CLASSES = ("H", "D", "A")


def games(rounds: int = 300, seed: int = 0) -> tuple[dict[str, Any], list[str], Any]:
    """Ann knows the chances, Ben moves them half of the way to 1/3, Cem knows nothing."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(3), rounds)
    y = [CLASSES[rng.choice(3, p=each)] for each in truth]
    P = {"Ann": truth, "Ben": truth / 2 + 1 / 6, "Cem": np.full((rounds, 3), 1 / 3)}
    return P, y, truth


def test_scores_by_hand() -> None:
    report = compare({"a": [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]}, ["H", "D"], classes=CLASSES)
    found = report.scores["a"]
    assert found.brier.score == pytest.approx((0.25 + 0.09 + 0.04 + 0.01 + 0.64 + 0.49) / 2)
    assert found.log.score == pytest.approx(-(math.log(0.5) + math.log(0.2)) / 2)
    assert found.brier.uncertainty == pytest.approx(0.25 + 0.25)
    assert report.base_rates == {"H": 0.5, "D": 0.5, "A": 0.0}
    assert math.isnan(found.log.miscalibration)


def test_the_parts_of_the_brier_score_add_up() -> None:
    P, y, _ = games()
    places = np.array([CLASSES.index(label) for label in y])
    parts = decomposed(P["Ben"], places, "brier")
    assert parts.score == pytest.approx(parts.miscalibration - parts.discrimination + parts.uncertainty)
    direct = ((P["Ben"] - np.eye(3)[places]) ** 2).sum(axis=1).mean()
    assert parts.score == pytest.approx(direct)


@pytest.mark.parametrize("score", ["brier", "log"])
def test_two_classes_are_two_outcomes(score: Any) -> None:
    """The Brier score counts both classes; the log score is the same."""
    rng = np.random.default_rng(0)
    p, q, y = rng.random(50), rng.random(50), rng.integers(0, 2, 50)
    factor = 2 if score == "brier" else 1
    two, several = possible_scores(p, score), possible_scores(chances(p), score)
    assert several == pytest.approx(factor * two)
    assert of_outcomes(difference(p, q, score), y) == pytest.approx(
        of_outcomes(difference(chances(p), chances(q), score), y) / factor
    )


def test_two_classes_rank_as_two_outcomes() -> None:
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.95, 400)
    y = rng.random(400) < p
    P = {"a": p, "b": 0.4 * p + 0.6}
    (two,) = compare(P, y).pairs
    (several,) = compare({name: chances(each) for name, each in P.items()}, y, classes=[False, True]).pairs
    assert (several.better, several.clear_since) == (two.better, two.clear_since)
    assert several.difference == pytest.approx(2 * two.difference)
    assert several.high == pytest.approx(2 * two.high)
    assert (several.log_low, several.log_high) == pytest.approx((two.log_low, two.log_high))


def test_the_better_one_becomes_clear() -> None:
    P, y, _ = games(2000)
    report = compare(P, y, classes=CLASSES)
    assert list(report.scores) == ["Ann", "Ben", "Cem"]
    assert report.surely_best == "Ann"
    found = json.loads(report.to_json())
    assert found["classes"] == list(CLASSES)
    assert sum(found["base_rates"]) == pytest.approx(1)
    assert found["base_rate"] is None
    assert report.reliability("Ann").counts.sum() == 2000
    assert report.reliability("Ann", "A").observed.tolist() != report.reliability("Ann", "D").observed.tolist()


def test_the_confidence_sequence_holds() -> None:
    """The mean expected difference under the true chances, in at most α of many runs outside, in any round."""
    missed = 0
    for seed in range(100):
        P, y, truth = games(60, seed)
        (pair,) = compare({name: P[name] for name in ("Ann", "Ben")}, y, classes=CLASSES, alpha=0.2).pairs
        expected = (difference(P[pair.better], P[pair.worse], "brier") * truth).sum(axis=1)
        means = np.cumsum(expected) / np.arange(1, 61)
        missed += bool(np.any((means < pair.bounds.lower - 1e-12) | (means > pair.bounds.upper + 1e-12)))
    assert missed <= 20


def test_forms_of_forecasts_agree(tmp_path: Path) -> None:
    P, y, _ = games(40)
    P = {name: np.round(each, 4) for name, each in P.items()}
    expected = compare(P, y, classes=CLASSES).to_json()
    array = np.stack(list(P.values()), axis=1)
    assert compare(array, np.array(y), names=list(P), classes=CLASSES).to_json() == expected
    head = ["result", *(f"{name}_{label}" for name in P for label in CLASSES)]
    lines = [",".join([y[t], *(f"{value}" for name in P for value in P[name][t])]) for t in range(40)]
    path = tmp_path / "games.csv"
    path.write_text("\n".join([",".join(head), *lines]))
    assert compare(path, outcome="result", classes=CLASSES).to_json() == expected
    assert call("forecasters", path, "--outcome", "result", "--classes", "H,D,A", "--json").strip() == expected
    pd = pytest.importorskip("pandas")
    assert compare(pd.read_csv(path), outcome="result", classes=CLASSES).to_json() == expected


@pytest.fixture
def asleep() -> tuple[dict[str, Any], list[str]]:
    """In every third of the rounds, another one of three forecasters is asleep."""
    P, y, _ = games(3000)
    for place, each in enumerate(P.values()):
        each[place::3] = np.nan
    return P, y


def test_forecasters_without_a_common_round_are_ranked_by_pairs(asleep: Any, tmp_path: Path) -> None:
    P, y = asleep
    report = compare(P, y, classes=CLASSES)
    assert (report.comparable, report.rounds) == (False, 0)
    assert list(report.scores) == ["Ann", "Ben", "Cem"]
    assert [each[1:] for each in report.standings] == [(2, 2, 0, 0, 0), (1, 1, 1, 1, 0), (0, 0, 2, 2, 0)]
    assert {name: each.forecasts for name, each in report.scores.items()} == dict.fromkeys(P, 2000)
    for pair in report.pairs:
        assert len(pair.rounds) == 1000
        own = [P[name][pair.rounds] for name in pair.names]
        alone = compare(
            dict(zip(pair.names, own, strict=True)), [y[t] for t in pair.rounds], classes=CLASSES, alpha=0.05 / 3
        )
        assert pair.high == alone.pairs[0].high
    text = str(report)
    assert "not comparable" in text
    assert json.loads(report.to_json())["pairwise"][0]["name"] == "Ann"
    report.write_report(tmp_path / "f.html")
    page = (tmp_path / "f.html").read_text(encoding="utf-8")
    assert "These scores are not comparable" in page
    assert "Pairwise ranking" in page
    report.plot()


def test_the_order_by_pairs_may_differ_from_the_scores() -> None:
    """Easy has only the easy rounds, so its score is smaller, but on common rounds it is worse."""
    nan = math.nan
    P = {
        "easy": [0.1] * 20 + [nan] * 20,
        "good": [0.05] * 10 + [nan] * 10 + [0.5] * 20,
        "other": [nan] * 20 + [0.6] * 20,
    }
    report = compare(P, [0] * 20 + [0, 1] * 10)
    assert not report.comparable
    assert report.scores["easy"].brier.score < report.scores["good"].brier.score
    assert next(iter(report.scores)) == "good"
    assert report.standings[-1].without_common_round == 1


BAD: list[tuple[Any, Any, str]] = [
    ({"a": [[0.5, 0.5, 0.2]]}, ["H"], "round 0: .*'a'.*sum to 1"),
    ({"a": [[0.5, 0.3, 0.2], [1.2, -0.1, -0.1]]}, ["H", "H"], "round 1: .*'a'.*between 0 and 1"),
    ({"a": [[0.5, None, 0.5]]}, ["H"], "round 0: .*missing"),
    ({"a": [[0.5, 0.3, 0.2]]}, ["h"], "round 0: .*one of the classes 'H', 'D', 'A', got 'h'"),
    ({"a": [[0.5, 0.5]]}, ["H"], "each of the 3 classes, got 2"),
    ({"a": [0.5]}, ["H"], r"\(rounds, forecasters, classes\)"),
    ({"a": [[0.5, 0.3, 0.2]]}, ["H", "D"], "1 rounds of forecasts, but 2 outcomes"),
    ({"a": [[0.5, 0.3, 0.2]], "b": [[1, 0]]}, ["H"], "the same shape"),
    ({"a": [[0.5, 0.3, 0.2]], "b": [[None] * 3]}, ["H"], "'b' gave no forecast"),
]


@pytest.mark.parametrize(("P", "y", "words"), BAD)
def test_bad_input(P: Any, y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        compare(P, y, classes=CLASSES)


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        ("r,a_H,a_D\nH,0.5,0.5\nX,0.5,0.5\n", [], "x.csv:3: .*'X' is not one of H, D"),
        ("r,a_H,a_D\nH,0.5,0.5\nD,0.5,0.9\n", [], "x.csv:3: .*a_H, a_D hold 0.5, 0.9"),
        ("r,a_H,a_D\nH,0.5,0.5\nD,0.5,many\n", [], "x.csv:3: column 'a_D': 'many'"),
        ("r,a_H\nH,0.5\n", [], "column for each class"),
        ("r,a_H,a_D\nH,0.5,0.5\n", ["--forecasters", "b"], "'b' has no column 'b_H'"),
    ],
)
def test_errors_of_tables_have_a_place(text: str, more: list[str], words: str, tmp_path: Path) -> None:
    import re

    path = tmp_path / "x.csv"
    path.write_text(text)
    found = call("forecasters", path, "--outcome", "r", "--classes", "H,D", "--header", *more, fails=1)
    assert re.search(words, found), found
    assert len(found.splitlines()) == 1


def test_classes_exclude_a_positive_outcome(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("r,a_H,a_D\nH,0.5,0.5\n")
    words = ("--outcome", "r", "--classes", "H,D", "--positive", "H")
    found = call("forecasters", path, *words, fails=2)
    assert "--positive" in found
    assert "--classes" in found


def test_bookmakers() -> None:
    """The Brier scores of five bookmakers, which are known; eleven have no match in common."""
    path = data("epl_odds/epl_experts.csv.gz")
    some = mb.forecasters.compare(path, outcome="result", classes=CLASSES, names=["B365", "BW", "IW", "WH", "VC"])
    assert some.rounds == 6730
    assert [f"{some.scores[name].brier.score:.5f}" for name in ("B365", "IW")] == ["0.56821", "0.56964"]
    whole = mb.forecasters.compare(path, outcome="result", classes=CLASSES)
    assert (len(whole.scores), whole.comparable) == (11, False)
    assert whole.dates.name == "date"
