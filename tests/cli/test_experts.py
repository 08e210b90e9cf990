"""``mistakebound experts``: what Python says, of every kind of advice and every format; and places of what is wrong."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner
from files import call, shows

import mistakebound as mb
from mistakebound import oracles
from mistakebound.aggregation.registry import EXPERT_RULES, FORECASTS, LABELS
from mistakebound.cli import main
from mistakebound.data.columns import read_columns
from mistakebound.experts.comparison.advice import NO_OUTCOME, ColumnChoice, advice_of

NAN = math.nan
MIXING = {each.id: each.learner for each in EXPERT_RULES if each.takes == FORECASTS}
FOLLOWING = {each.id: each.learner for each in EXPERT_RULES if each.takes == LABELS}


def forecasts(rounds: int = 120, seed: int = 0, asleep: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Four experts around a wave: one too high, one too low, one noisy, one of no use; written with two decimals."""
    rng = np.random.default_rng(seed)
    y = 50 + 10 * np.sin(np.arange(rounds) / 9) + rng.normal(size=rounds)
    A = np.stack([y + 3, y - 4, y + 5 * rng.normal(size=rounds), rng.uniform(20, 80, rounds)], axis=1)
    A[rng.random(A.shape) < asleep] = NAN
    A[np.isnan(A).all(axis=1), 0] = 50.0
    return A.round(2), y.round(2)


NAMES = ["Alice", "Bob", "Carol", "Dave"]


def notes_name_the_columns(notes: list[str], *names: str) -> bool:
    """Whether there is a note for each of these columns; with none ignored, the last one names both options."""
    *left_out, last = notes
    both = "--experts A,B" in last and "--ignore A,B" in last
    return both and [name for note, name in zip(left_out, names, strict=True) if name in note] == list(names)


def text_of(A: Any, y: Any, names: list[str] = NAMES, outcome: str = "load") -> str:
    rows = [[f"day {t}", *("" if x != x else x for x in row), answer] for t, (row, answer) in enumerate(zip(A, y))]  # noqa: B905, PLR0124
    return "\n".join(",".join(map(str, row)) for row in [["day", *names, outcome], *rows]) + "\n"


@pytest.fixture
def load(tmp_path: Path) -> Path:
    path = tmp_path / "load.csv"
    path.write_text(text_of(*forecasts()))
    return path


def found(*words: Any, **more: Any) -> dict[str, Any]:
    return json.loads(call("experts", *words, "--json", **more))


# ---------------------------------------------------------------------- numbers


def test_the_default_rule_as_in_python(load: Path) -> None:
    A, y = forecasts()
    mixer = mb.experts.MLPoly()
    ledger = mixer.run(A, y)
    certificate = mixer.certify()
    answer = found(load, "--outcome", "load")
    (rule,) = answer["rules"]
    assert (rule["rule"], answer["rounds"], answer["loss"]) == ("ml-poly", 120, "square")
    assert rule["total_loss"] == pytest.approx(ledger.total_loss, rel=1e-12)
    assert rule["rmse"] == pytest.approx(math.sqrt(ledger.mean_loss), rel=1e-12)
    assert rule["weights"] == pytest.approx(dict(zip(NAMES, mixer.weights_, strict=True)))
    assert (rule["bound"], rule["status"]) == (pytest.approx(certificate.bound), certificate.status)
    assert rule["certificate"]["against"] == NAMES[int(certificate.against)]
    assert [each["mean_loss"] for each in answer["experts"]] == pytest.approx(((A - y[:, None]) ** 2).mean(axis=0))
    assert notes_name_the_columns(answer["notes"], "day")
    assert answer["plain"]["mean_loss"] == pytest.approx(((A.mean(axis=1) - y) ** 2).mean())
    bests = {
        "expert": oracles.best_expert(A, y),
        "convex": oracles.best_convex(A, y),
        "linear": oracles.best_linear(A, y),
        "switching": oracles.best_switching(oracles.expert_losses(A, y, "square"), 5),
    }
    for each in answer["hindsight"]:
        best = bests.pop(each["kind"])
        assert each["total_loss"] == pytest.approx(best.total)
        assert rule["regrets"][each["kind"]] == pytest.approx(ledger.total_loss - best.total)
    assert not bests
    assert rule["regrets"]["expert"] == pytest.approx(ledger.regrets[NAMES.index("Alice")])


def test_the_tables_say_the_same(load: Path) -> None:
    answer = found(load, "--outcome", "load", "--top", 2)
    shown = call("experts", load, "--outcome", "load", "--top", 2, "--certify")
    lines = shown.splitlines()
    assert lines[0] == "120 rounds of load, 4 experts, square loss"
    (rule,) = answer["rules"]
    row = next(line.split() for line in lines if line.endswith("  ml-poly"))
    assert float(row[1].replace(",", "")) == pytest.approx(rule["rmse"], rel=1e-4)
    assert float(row[3].replace(",", "")) == pytest.approx(rule["certificate"]["regret"], rel=1e-4)
    assert float(row[4].replace(",", "")) == pytest.approx(rule["bound"], rel=1e-4)
    assert row[5] == "holds"
    first = lines[3].split()
    assert (first[0], first[-1]) == ("120", "Alice")
    assert float(first[3]) == pytest.approx(rule["weights"]["Alice"], abs=5e-5)
    assert re.search(r"\b2\b.*--top 4", lines[5])
    assert lines[6].startswith("largest weights of ml-poly: ")
    assert "(regret: the total loss minus that of the best expert: Alice)" in lines
    assert any("regret to any combination of experts" in line for line in lines)
    assert "(bound: a theorem's bound on the linear regret)" in lines
    assert "✓ ml-poly: linear regret " in shown
    assert notes_name_the_columns(lines[-2:], "day")
    assert "✓" not in call("experts", load, "--outcome", "load")
    plain = call("experts", load, "--outcome", "load", "--no-gradient")
    assert "(bound: a theorem's bound on the regret to any expert)" in plain
    assert "linear" not in plain.replace("best linear", "")
    assert "(weight:" not in shown
    words = (load, "--outcome", "load", "--rule", "ridge,ml-poly", "--penalty", 3)
    several = call("experts", *words)
    best = found(*words)["rules"][0]["rule"]
    assert f"(weight: after the last round, by {best}, the rule with the smallest loss)" in several
    assert "(bound: a theorem's bound on the linear regret, or on the regret of rules that have none)" in several


def test_rules_are_ranked(tmp_path: Path) -> None:
    A, y = forecasts(40)
    load = tmp_path / "load.csv"
    load.write_text(text_of(A, y))
    answer = found(load, "--outcome", "load", "--rule", "all")
    assert {each["rule"] for each in answer["rules"]} == {*MIXING}
    losses = [each["total_loss"] for each in answer["rules"]]
    assert losses == sorted(losses)
    for each in answer["rules"]:
        learner = getattr(mb.experts, MIXING[each["rule"]])()
        assert each["total_loss"] == pytest.approx(learner.run(A, y).total_loss), each["rule"]
    lines = call("experts", load, "--outcome", "load", "--rule", "all").splitlines()
    start = next(number for number, line in enumerate(lines) if line.endswith("  rule"))
    means = [float(line.split()[0].replace(",", "")) for line in lines[start + 1 : start + 13]]
    assert means == sorted(means)
    assert any(line.endswith("(plain average)") for line in lines[start + 1 : start + 13])
    two = found(load, "--outcome", "load", "--rule", "ewa", "--rule", "exponentially-weighted-average")
    assert [each["rule"] for each in two["rules"]] == ["exponentially-weighted-average"]
    three = found(load, "--outcome", "load", "--rule", "hedge, boa", "--rule", "ml-poly")
    assert {each["rule"] for each in three["rules"]} == {"hedge", "boa", "ml-poly"}
    assert "'best' is not one of" in call("experts", load, "--outcome", "load", "--rule", "boa,best", fails=2)


@pytest.mark.parametrize(
    ("words", "learner"),
    [
        (["--rule", "hedge", "--eta", "0.01"], lambda: mb.experts.Hedge(eta=0.01)),
        (["--rule", "boa", "--rates", "proved"], lambda: mb.experts.BOA(rates="proved")),
        (["--rule", "ridge", "--penalty", "3"], lambda: mb.experts.Ridge(penalty=3)),
        (
            ["--rule", "fixed-share", "--eta", "0.01", "--alpha", "0.05"],
            lambda: mb.experts.FixedShare(eta=0.01, alpha=0.05),
        ),
        (["--no-gradient"], lambda: mb.experts.MLPoly(gradient=False)),
        (["--loss", "absolute"], lambda: mb.experts.MLPoly(loss="absolute")),
        (["--loss", "percentage"], lambda: mb.experts.MLPoly(loss="percentage")),
        (["--loss", "pinball:0.9"], lambda: mb.experts.MLPoly(loss="pinball:0.9")),
    ],
)
def test_parameters_arrive(words: list[str], learner: Any, load: Path) -> None:
    made = learner()
    ledger = made.run(*forecasts())
    answer = found(load, "--outcome", "load", *words)
    assert answer["rules"][0]["total_loss"] == pytest.approx(ledger.total_loss)
    assert answer["rules"][0]["certificate"]["rule"] == {"id": made.id, **made.parameters()}
    assert answer["loss"] == ledger.loss.id
    assert (answer["rules"][0]["rmse"] is None) == (ledger.loss.id != "square")


def test_sleepers_count_over_their_rounds(tmp_path: Path) -> None:
    A, y = forecasts(asleep=0.3)
    path = tmp_path / "load.csv"
    path.write_text(text_of(A, y))
    answer = found(path, "--outcome", "load", "--rule", "adahedge")
    ledger = mb.experts.AdaHedge().run(A, y)
    (rule,) = answer["rules"]
    assert rule["total_loss"] == pytest.approx(ledger.total_loss)
    assert [each["rounds"] for each in answer["experts"]] == (~np.isnan(A)).sum(axis=0).tolist()
    best = NAMES.index(answer["hindsight"][0]["name"].removeprefix("best expert: "))
    assert rule["regrets"]["expert"] == pytest.approx(ledger.regrets[best])
    assert rule["expert_regrets"] == pytest.approx(dict(zip(NAMES, ledger.regrets, strict=True)))
    full = ~np.isnan(A).any(axis=1)
    assert 10 < full.sum() < 100
    linear = oracles.best_linear(A, y)
    assert rule["regrets"]["linear"] == pytest.approx(ledger.losses[full].sum() - linear.total)
    shown = call("experts", path, "--outcome", "load")
    assert shows(shown, "best linear combination, ", "awake")
    assert "best expert: Alice, " in shown


def test_an_expert_asleep_in_hard_rounds_is_not_the_best(tmp_path: Path) -> None:
    """Lazy has the least mean, of easy rounds; Busy is the one that the mix is furthest behind."""
    rng = np.random.default_rng(2)
    hard = np.arange(60) % 2 == 1
    y = np.where(hard, 10 * rng.normal(size=60), 0.0)
    lazy = np.where(hard, NAN, 1.0)
    A = np.stack([lazy, np.where(hard, y + 3, 0.5), np.where(hard, y + 9, 2.0), np.full(60, NAN)], axis=1)
    A[0, 3] = 99.0
    path = tmp_path / "load.csv"
    path.write_text(text_of(A, y, ["Lazy", "Busy", "Bad", "Once"]))
    answer = found(path, "--outcome", "load", "--rule", "ml-poly", "--rule", "adahedge")
    means = {each["name"]: each["mean_loss"] for each in answer["experts"]}
    assert min(means, key=means.__getitem__) == "Lazy"
    regrets = mb.experts.MLPoly().run(A, y).regrets
    rules = {each["rule"]: each for each in answer["rules"]}
    assert rules["ml-poly"]["regrets"]["expert"] == pytest.approx(regrets.max())
    assert rules["ml-poly"]["against"] == "Busy"
    assert rules["adahedge"]["regrets"]["expert"] == pytest.approx(mb.experts.AdaHedge().run(A, y).regrets.max())
    assert answer["hindsight"][0]["name"] == "best expert: Busy"
    assert answer["hindsight"][0]["mean_loss"] == pytest.approx(means["Busy"])
    lines = call("experts", path, "--outcome", "load").splitlines()
    assert lines[2].split() == ["awake", "mean", "loss", "RMSE", "regret", "weight", "expert"]
    assert [line.split()[-1] for line in lines[3:7]] == [
        ["Lazy", "Busy", "Bad", "Once"][k] for k in np.argsort(-regrets)
    ]
    shown = [float(line.split()[3].replace(",", "")) for line in lines[3:7]]
    assert shown == pytest.approx(sorted(regrets, reverse=True), rel=1e-3)
    assert "compared" in lines[7]
    assert "regret of ml-poly" in lines[8]
    A[np.isnan(A)] = 0.0
    path.write_text(text_of(A, y))
    assert "compared" not in call("experts", path, "--outcome", "load")


def test_each_rule_has_its_own_best_expert_among_those_with_forecasts(tmp_path: Path) -> None:
    """Experts err one after the other, in different rounds. One never gives a forecast, and so has no loss."""
    rng = np.random.default_rng(3)
    y = rng.normal(size=80)
    A = y[:, None] + rng.normal(size=(80, 3)) * np.where(np.arange(80)[:, None] < 40, [1, 2, 3], [3, 2, 1])
    A[rng.random(A.shape) < 0.3] = NAN
    A[np.isnan(A).all(axis=1), 1] = 0.0
    names = ["Early", "Even", "Late", "Never"]
    path = tmp_path / "load.csv"
    A = np.column_stack([A, np.full(80, NAN)])
    path.write_text(text_of(A, y, names))
    answer = found(path, "--outcome", "load", "--experts", ",".join(names), "--rule", "hedge,ml-poly,ogd,squint")
    ledgers = {name: getattr(mb.experts, MIXING[name])().run(A, y) for name in ("hedge", "ml-poly", "ogd", "squint")}
    rivals = {rule: names[int(ledger.regrets[:3].argmax())] for rule, ledger in ledgers.items()}
    assert len({*rivals.values()}) > 1
    assert {each["rule"]: each["against"] for each in answer["rules"]} == rivals
    regrets = {rule: ledger.regrets[:3].max() for rule, ledger in ledgers.items()}
    assert max(regrets.values()) < 0
    assert {each["rule"]: each["regrets"]["expert"] for each in answer["rules"]} == pytest.approx(regrets)
    assert answer["rules"][0]["expert_regrets"]["Never"] is None
    shown = call(
        "experts", path, "--outcome", "load", "--experts", ",".join(names), "--rule", "hedge,ml-poly,ogd,squint"
    )
    assert " " + ", ".join(f"{each['rule']} {each['against']}" for each in answer["rules"]) + ")\n" in shown


@pytest.mark.parametrize("kind", ["tsv", "json", "parquet", "gz", "-"])
def test_every_format(kind: str, tmp_path: Path) -> None:
    A, y = forecasts(40, asleep=0.2)
    plain = text_of(A, y)
    path: Any = tmp_path / "load.csv"
    path.write_text(plain)
    expected = found(path, "--outcome", "load", "--ignore", "day")
    text = None
    rows = [{n: x for n, x in zip([*NAMES, "load"], [*a, t], strict=True) if x == x} for a, t in zip(A, y)]  # noqa: B905, PLR0124
    path = tmp_path / "other"
    if kind == "tsv":
        path.write_text(plain.replace(",", "\t"))
    elif kind == "json":
        path.write_text("\n".join(json.dumps({"day": "x", **row}) for row in rows))
    elif kind == "parquet":
        pa, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        columns = {name: [row.get(name) for row in rows] for name in [*NAMES, "load"]}
        writer.write_table(pa.table({"day": ["x"] * len(y), **columns}), path)
    elif kind == "gz":
        path.write_bytes(gzip.compress(plain.encode()))
    else:
        path, text = "-", plain
    answer = found(path, "--outcome", "load", "--ignore", "day", text=text)
    for each in (answer, expected):
        del each["rules"][0]["seconds"], each["rules"][0]["learning_seconds"]
        each["experts"].sort(key=lambda expert: expert["name"])
    if kind != "json":  # whose columns come as they are met first
        assert answer == expected
    assert answer["experts"] == expected["experts"]
    assert answer["rules"][0]["total_loss"] == pytest.approx(expected["rules"][0]["total_loss"])


def test_chosen_and_ignored_columns(load: Path) -> None:
    two = found(load, "--outcome", "load", "--experts", "Bob, Alice")
    assert [each["name"] for each in two["experts"]] == ["Bob", "Alice"]
    assert two["notes"] == []
    same = found(load, "--outcome", "6", "--ignore", "Carol", "--ignore", "5")
    assert same["experts"] == found(load, "--outcome", "6", "--ignore", "Carol, 5")["experts"]
    assert {each["name"]: each["mean_loss"] for each in same["experts"]} == {
        each["name"]: each["mean_loss"] for each in two["experts"]
    }
    assert [note.rpartition(": ")[2] for note in same["notes"]] == ["day", "Carol, Dave"]
    path = load.with_name("comma.csv")
    path.write_text('a,"b,c",y\n1,2,1.5\n1,3,2\n')
    assert [each["name"] for each in found(path, "--outcome", "y", "--ignore", "b,c")["experts"]] == ["a"]
    path = load.with_name("empty.csv")
    path.write_text("a,b,y\n1,,2\n2,,2\n")
    assert notes_name_the_columns(found(path, "--outcome", "y")["notes"], ": b")


def test_rows_ahead_are_forecast_and_not_learned(load: Path) -> None:
    A, y = forecasts()
    path = load.with_name("ahead.csv")
    path.write_text(text_of(A, [*y[:-2], "", ""]))
    mixer = mb.experts.MLPoly()
    mixer.run(A[:-2], y[:-2])
    expected = [mixer.predict_one(A[-2]), mixer.predict_one(A[-1])]
    answer = found(path, "--outcome", "load", "--ahead")
    assert answer["ahead"] == pytest.approx(expected)
    assert answer["rounds"] == 118
    shown = call("experts", path, "--outcome", "load", "--ahead", "--predictions", load.with_name("p.csv"))
    assert f" ml-poly:\n  day 118: {expected[0]:.6g}\n  day 119: {expected[1]:.6g}\n" in shown
    written = list(csv.reader(io.StringIO(load.with_name("p.csv").read_text())))
    assert [row[:2] for row in written[-3:]] == [["day 117", repr(float(y[-3]))], ["day 118", ""], ["day 119", ""]]
    assert float(written[-1][2]) == pytest.approx(expected[1])


def test_rows_without_an_outcome_may_be_skipped(load: Path) -> None:
    A, y = forecasts(30)
    output, answer = [*A[:5], A[0], [NAN] * 4, *A[5:], A[1]], [*y[:5], "", 50, *y[5:], ""]
    load.write_text(text_of(output, answer))
    words = (load, "--outcome", "load")
    assert "--skip-bad 2" in call("experts", *words, fails=1)
    assert shows(call("experts", *words, "--skip-bad", 2, fails=1), f"{load}:8: ", "asleep")
    result = CliRunner().invoke(main, ["experts", *map(str, words), "--skip-bad", "3", "--json"])
    *without_outcome, asleep = result.stderr.splitlines()
    assert without_outcome == [f"skipped: {load}:{line}: column 'load': {NO_OUTCOME}" for line in (7, 34)]
    assert shows(asleep, f"skipped: {load}:8: ", "asleep")
    assert json.loads(result.stdout)["rules"][0]["total_loss"] == pytest.approx(
        mb.experts.MLPoly().run(A, y).total_loss
    )
    shown = call("experts", *words, "--skip-bad", 2, "--ahead")
    mixer = mb.experts.MLPoly()
    mixer.run(A, y)
    assert f"  day 32: {mixer.predict_one(A[1]):.6g}\n" in shown


@pytest.mark.parametrize(
    ("text", "more", "cells"),
    [
        ("a,b,y\n1,2,1.5\n1,3,2\n,,\n1,1,\n", [], ["", "1.0"]),
        ("a,b,y\nu,v,u\nv,v,v\n,,\nu,u,\n", ["--header"], ["", "u"]),
        ("a_H,a_D,y\n.5,.5,H\n,,\n.25,.75,\n", ["--classes", "H,D"], [",", "0.25,0.75"]),
    ],
)
def test_a_row_ahead_in_which_all_sleep_has_no_forecast(
    text: str, more: list[str], cells: list[str], load: Path
) -> None:
    load.write_text(text)
    out = load.with_name("p.csv")
    shown = call("experts", load, "--outcome", "y", "--ahead", *more, "--predictions", out)
    asleep = next(number for number, line in enumerate(text.splitlines(), 1) if not line.strip(","))
    assert re.search(rf"  {load}:{asleep}: .*asleep\n", shown)
    assert out.read_text().splitlines()[-2:] == [f",{cell}" for cell in cells]
    assert found(load, "--outcome", "y", "--ahead", *more)["ahead"][0] is None


def test_predictions_can_be_read_again(load: Path) -> None:
    path = load.with_name("predictions.csv")
    answer = found(load, "--outcome", "load", "--rule", "ml-poly", "--rule", "boa", "--predictions", path)
    again = found(path, "--outcome", "load")
    best = {each["rule"]: each["mean_loss"] for each in answer["rules"]}
    assert {each["name"]: each["mean_loss"] for each in again["experts"]} == pytest.approx(best)
    piped = CliRunner().invoke(main, ["experts", str(load), "--outcome", "load", "--predictions", "-"])
    assert piped.stdout.splitlines()[0] == "day,load,ml-poly"
    assert len(piped.stdout.splitlines()) == 121


# ---------------------------------------------------------------------- labels


def votes(rounds: int = 60, asleep: float = 0.0, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rounds)
    A = np.where(rng.random((rounds, 4)) < [0.1, 0.3, 0.4, 0.5], 1 - y[:, None], y[:, None]).astype(float)
    A[rng.random(A.shape) < asleep] = NAN
    A[np.isnan(A).all(axis=1), 1] = 1.0
    return A, y


def as_words(value: float) -> str:
    return "" if math.isnan(value) else ("no", "yes")[int(value)]


@pytest.mark.parametrize("asleep", [0.0, 0.3])
def test_labels_are_followed_as_in_python(asleep: float, tmp_path: Path) -> None:
    """0 and 1, or words: the same mistakes."""
    A, y = votes(asleep=asleep)
    numbers, words = tmp_path / "numbers.csv", tmp_path / "words.csv"
    numbers.write_text(text_of([[x if x != x else int(x) for x in row] for row in A], y, outcome="truth"))  # noqa: PLR0124
    output = [[as_words(x) for x in row] for row in A]
    words.write_text(text_of(output, [as_words(t) for t in y], outcome="truth"))
    learner = mb.experts.WeightedMajority(beta=0.7)
    ledger = learner.run(A, y)
    for path in (numbers, words):
        answer = found(path, "--outcome", "truth", "--beta", 0.7)
        (rule,) = answer["rules"]
        assert (rule["rule"], answer["loss"], rule["total_loss"]) == ("weighted-majority", "mistakes", ledger.mistakes)
        assert rule["bound"] == pytest.approx(learner.certify().bound)
        assert rule["weights"] == pytest.approx(dict(zip(NAMES, ledger_weights(learner), strict=True)))
        assert rule["certificate"]["comparator"] == {"variables": [NAMES[ledger.best_expert]]}
        counts = [round(each["mean_loss"] * each["rounds"]) for each in answer["experts"]]
        assert counts == ledger.expert_mistakes.tolist()
        assert {each["kind"] for each in answer["hindsight"]} == {"expert", "switching"}
    majority = [np.bincount(row[~np.isnan(row)].astype(int), minlength=2) for row in A]
    wrong = sum(int(count[1] >= count[0]) != t for count, t in zip(majority, y, strict=True))
    assert answer["plain"]["mean_loss"] == pytest.approx(wrong / len(y))
    shown = call("experts", words, "--outcome", "truth")
    assert "60 rounds of truth, 4 experts, mistakes" in shown
    assert re.search(r"not experts.*'truth'.*: day", shown)


def ledger_weights(learner: Any) -> np.ndarray:
    return np.asarray(learner.weights_)


def test_all_rules_for_labels(tmp_path: Path) -> None:
    A, y = votes()
    path = tmp_path / "votes.csv"
    path.write_text(text_of(A.astype(int), y, outcome="truth"))
    answer = found(path, "--outcome", "truth", "--rule", "all", "--seed", 3)
    assert {each["rule"] for each in answer["rules"]} == {*FOLLOWING} - {"guarded-weighted-majority"}
    drawn = mb.experts.RandomizedWeightedMajority(seed=3)
    ledger = drawn.run(A, y)
    rule = next(each for each in answer["rules"] if each["rule"].startswith("randomized"))
    assert rule["total_loss"] == pytest.approx(ledger.expected_mistakes)
    assert rule["drawn_mistakes"] == ledger.mistakes
    assert ledger.mistakes != round(ledger.expected_mistakes)
    assert rule["regrets"]["expert"] == pytest.approx(ledger.expected_mistakes - ledger.expert_mistakes.min())
    assert [each["total_loss"] for each in answer["rules"]] == sorted(each["total_loss"] for each in answer["rules"])
    shown = call("experts", path, "--outcome", "truth", "--rule", "all", "--seed", 3)
    row = next(line for line in shown.splitlines() if line.endswith("  randomized-weighted-majority")).split()
    assert row[0] == f"{ledger.expected_mistakes:.2f}"
    assert row[2] == f"{ledger.expected_mistakes - ledger.expert_mistakes.min():.2f}"
    assert f"--seed 3 made {ledger.mistakes})" in shown
    mixed = found(path, "--outcome", "truth", "--rule", "ml-poly")
    assert mixed["rules"][0]["total_loss"] == pytest.approx(mb.experts.MLPoly().run(A, y).total_loss)
    assert found(path, "--outcome", "truth", "--loss", "absolute")["rules"][0]["rule"] == "ml-poly"
    grades = tmp_path / "grades.csv"
    grades.write_text("a,b,y\n1,2,3\n3,3,3\n10,2,2\n")  # numbers in their order, not as words
    out = tmp_path / "p.csv"
    call("experts", grades, "--outcome", "y", "--rule", "weighted-majority", "--predictions", out)
    assert out.read_text() == "y,weighted-majority\n3,2\n3,3\n2,10\n"


@pytest.mark.parametrize("asleep", [0.0, 0.3])
def test_draws_are_repeatable_and_ranked_by_expected_mistakes(asleep: float, tmp_path: Path) -> None:
    A, y = votes(asleep=asleep)
    path = tmp_path / "votes.csv"
    path.write_text(text_of([[x if x != x else int(x) for x in row] for row in A], y, outcome="truth"))  # noqa: PLR0124
    words = (path, "--outcome", "truth", "--rule", "randomized-weighted-majority", "--beta", 0.8)
    out = tmp_path / "p.csv"
    (rule,) = found(*words, "--predictions", out)["rules"]
    ledger = mb.experts.RandomizedWeightedMajority(beta=0.8, seed=0).run(A, y)
    assert [row.split(",")[2] for row in out.read_text().splitlines()[1:]] == [f"{x:g}" for x in ledger.predictions]
    assert rule["total_loss"] == pytest.approx(ledger.expected_mistakes)
    assert list(rule["expert_regrets"].values()) == pytest.approx(ledger.expected_mistakes - ledger.expert_losses)
    assert rule["drawn_mistakes"] == ledger.mistakes
    path.write_text("a,b,truth\n" + "0,0,1\n" * 200 + "1,0,1\n")  # weights below all numbers
    (rule,) = found(*words[:-1], 0.01)["rules"]
    assert rule["total_loss"] == pytest.approx(200.5)


def test_true_and_false_and_a_positive_word(tmp_path: Path) -> None:
    A, y = votes()
    P = np.where(A == 1, 0.8, 0.3).round(2)
    expected = mb.experts.MLPoly().run(P, y).total_loss
    for yes, no, more in (("True", "false", []), ("wet", "dry", ["--positive", "wet"]), ("1", "0", [])):
        path = tmp_path / "rain.csv"
        path.write_text(text_of(P, [yes if t else no for t in y], outcome="rain"))
        answer = found(path, "--outcome", "rain", *more)
        assert answer["rules"][0]["total_loss"] == pytest.approx(expected)
    path.write_text("a,b,y\ntrue,false,true\nfalse,false,true\n")
    assert found(path, "--outcome", "y")["loss"] == "mistakes"


def test_the_awake_experts_are_followed_if_the_best_one_is_asleep() -> None:
    """Of the awake the best are followed, though all weight is the sleeper's: 0 for Halving, and too little for β."""
    halving = mb.experts.Halving()
    halving.run([[1, 0, 0], [1, 1, 0]], [1, 1])
    assert halving.predict_one([None, 1, 0]) == 1
    halving.learn_one([None, 1, 0], 1)
    assert halving.ledger_.expected_mistakes == pytest.approx(2 / 3)
    far = mb.experts.WeightedMajority(beta=0.5)
    far.run(np.tile([1, 0, 0], (1200, 1)), np.ones(1200, int))
    far.run([[1, 1, 0]], [1])
    far.learn_one([None, 1, 0], 1)
    before = far.ledger_.expected_mistakes
    far.learn_one([None, 1, 0], 1)
    assert far.ledger_.expected_mistakes - before == pytest.approx(1 / 5)  # 1 : 1/4


# ---------------------------------------------------------------------- classes


def odds(rounds: int = 50, asleep: float = 0.2) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(5)
    truth = rng.dirichlet([2, 1, 1], rounds)
    A = np.stack([rng.dirichlet([1, 1, 1], rounds), 0.8 * truth + 0.2 / 3, truth], axis=1)
    A = (A / A.sum(axis=2, keepdims=True)).round(4)
    A[:, 1:][rng.random((rounds, 2)) < asleep] = NAN
    return A, ["HDA"[rng.choice(3, p=p)] for p in truth]


def odds_file(path: Path, between: str = "_", extra: str = "") -> Path:
    A, y = odds()
    names = [f"{name}{between}{each}" for name in "PQR" for each in "HDA"]
    lines = [",".join([*names, "result", *(["T_H"] if extra else [])])]
    for row, answer in zip(A, y, strict=True):
        cells = ["" if math.isnan(x) else f"{x:.4f}" for x in row.ravel()]
        lines.append(",".join([*cells, answer, *([extra] if extra else [])]))
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("between", ["_", ".", ""])
@pytest.mark.parametrize("loss", ["square", "log"])
def test_classes(between: str, loss: str, tmp_path: Path) -> None:
    path = odds_file(tmp_path / "games.csv", between, "0.5" if between == "_" else "")
    out = tmp_path / "p.csv"
    answer = found(path, "--outcome", "result", "--classes", "H,D,A", "--loss", loss, "--predictions", out)
    A, y = odds()
    Y = np.array([[float(each == told_) for each in "HDA"] for told_ in y])
    mixer = mb.experts.MLPoly(loss=loss)
    ledger = mixer.run(A, Y)
    (rule,) = answer["rules"]
    assert rule["total_loss"] == pytest.approx(ledger.total_loss)
    assert rule["rmse"] is None
    assert rule["certificate"]["against"] in ("P", "Q", "R")
    assert [each["name"] for each in answer["experts"]] == ["P", "Q", "R"]
    assert [note.rpartition(": ")[2] for note in answer["notes"]] == (["T_H"] if between == "_" else [])
    rows = list(csv.reader(io.StringIO(out.read_text())))
    assert rows[0] == ["result", "ml-poly_H", "ml-poly_D", "ml-poly_A"]
    assert [row[0] for row in rows[1:]] == y
    assert np.array([row[1:] for row in rows[1:]], float) == pytest.approx(np.array(ledger.predictions))
    again = found(out, "--outcome", "result", "--classes", "H,D,A", "--loss", loss)
    assert again["experts"][0]["mean_loss"] == pytest.approx(rule["mean_loss"])
    two = found(path, "--outcome", "result", "--classes", "H,D,A", "--experts", "R,P")
    assert [each["name"] for each in two["experts"]] == ["R", "P"]
    shown = call("experts", path, "--outcome", "result", "--classes", "H,D,A")
    assert "3 experts, Brier loss" in shown
    assert "RMSE" not in shown


def test_a_rule_that_does_not_fit_is_reported(tmp_path: Path) -> None:
    path = odds_file(tmp_path / "games.csv")
    words = ("experts", path, "--outcome", "result", "--classes", "H,D,A", "--rule")
    assert "square loss" in call(*words, "ridge", fails=2)
    answer = call(*words, "all")
    assert re.search("ridge: .*square loss", answer)
    assert shows(call(*words, "weighted-majority", fails=1), "weighted-majority", "labels", "probabilities")


# ---------------------------------------------------------------------- pictures


def test_pictures_change_nothing(load: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    from mistakebound import plot
    from mistakebound.experts.comparison import pictures

    monkeypatch.setattr(pictures, "MOST_DRAWN", 30)
    seen: list[Any] = []
    draw = plot.experts
    monkeypatch.setattr(plot, "experts", lambda *given, **more: seen.append((given, more)) or draw(*given, **more))
    picture = load.with_name("load.png")
    plain = call("experts", load, "--outcome", "load", "--rule", "adahedge", "--predictions", "-")
    assert (
        call("experts", load, "--outcome", "load", "--rule", "adahedge", "--predictions", "-", "--plot", picture)[
            : plain.index("120 rounds")
        ]
        == (plain[: plain.index("120 rounds")])
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    (((rounds, weights, regrets), more),) = seen
    A, y = forecasts()
    learner = mb.experts.AdaHedge()
    for t in range(len(y)):
        if t in rounds:
            assert weights[rounds.tolist().index(t)] == pytest.approx(learner.weights_for(A[t])), t
        learner.learn_one(A[t], y[t])
    assert 30 <= len(rounds) <= 40
    ledger = learner.ledger_
    best = oracles.best_expert(A, y)
    theirs = (A[:, int(np.argmax(best.weights))] - y) ** 2
    assert regrets["adahedge"] == pytest.approx(np.cumsum(ledger.losses - theirs))
    bounds = dict(more["bounds"])
    assert {*bounds} >= {120, 60, 30, 15}
    assert bounds[120] == pytest.approx(learner.certify().bound)
    half = mb.experts.AdaHedge()
    half.run(A[:60], y[:60])
    assert bounds[60] == pytest.approx(half.certify().bound)
    assert more["against"] == "Alice"
    allowed = f"bound on the linear regret of adahedge:\n{bounds[120]:.4g} in the end"
    assert more["allowed"] == allowed


def test_a_bound_on_mistakes_is_drawn_as_one_on_the_regret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    from mistakebound import plot

    seen: list[Any] = []
    draw = plot.experts
    monkeypatch.setattr(plot, "experts", lambda *given, **more: seen.append((given, more)) or draw(*given, **more))
    A, y = votes()
    path = tmp_path / "votes.csv"
    path.write_text(text_of(A.astype(int), y, outcome="truth"))
    call("experts", path, "--outcome", "truth", "--plot", tmp_path / "votes.png")
    (((_, weights, regrets), more),) = seen
    learner = mb.experts.WeightedMajority()
    ledger = learner.run(A, y)
    least = int(ledger.expert_mistakes.min())
    assert regrets["weighted-majority"][-1] == ledger.mistakes - least
    bound = learner.certify().bound
    assert more["bounds"][-1] == (60, pytest.approx(bound - least))
    assert f"{bound:.4g} in the end, minus the {least}\nmistakes of Alice: {bound - least:.4g}" in more["allowed"]
    assert weights.sum(axis=1) == pytest.approx(1)
    assert weights[0] == pytest.approx([0.25] * 4)


def test_the_contents_of_a_picture() -> None:
    pytest.importorskip("matplotlib")
    from mistakebound import plot

    rounds = np.arange(20)
    weights = np.random.default_rng(0).dirichlet(np.ones(12), 20)
    regret = np.linspace(-1, 2, 20)
    names = [f"expert_{k}$" for k in range(12)]
    figure = plot.experts(rounds, weights, {"a": regret, "b": -regret}, names=names, against="x", bounds=[(20, 100.0)])
    above, below, last = figure.axes
    assert len(above.collections) == plot.MOST_EXPERTS + 1
    assert above.get_legend().get_texts()[0].get_text() == f"{12 - plot.MOST_EXPERTS} others"
    assert len(below.lines) == 2 + 1
    assert below.get_ylim()[1] < 3  # the regret has a panel,
    assert len(last.lines) == 1 + 1 + 1
    assert last.get_ylim()[1] > 100  # and the bound another
    assert [axes.get_yscale() for axes in figure.axes] == ["linear"] * 3
    assert last.get_xlabel() == "rounds"
    figure.canvas.draw()
    near = plot.experts(rounds, weights, {"a": regret}, names=names, against="x", bounds=[(20, 3.0)], allowed="three")
    assert [len(axes.lines) for axes in near.axes[1:]] == [3]
    assert near.axes[1].get_legend().get_texts()[-1].get_text() == "three"
    several = plot.experts(rounds, weights, {"a": regret, "b": -regret}, names=names, against={"a": "x", "b": "y"})
    assert [text.get_text() for text in several.axes[1].get_legend().get_texts()] == ["a, to x", "b, to y"]
    signed = plot.experts(rounds, weights - 0.2, {"a": regret}, names=names, against="x")
    assert len(signed.axes[0].lines) == plot.MOST_EXPERTS + 2  # the others together, and 0


# ---------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("text", "more", "parts"),
    [
        ("a,y\n1,1\n2,\n3,3\n", [], ["x.csv:3: ", "'y'", "outcome", "--skip-bad 1"]),
        ("a,y\n1,1\n2,\n3,\n3,3\n", ["--skip-bad", "1"], ["x.csv:3: ", "'y'", "outcome", "--skip-bad 2"]),
        ("a,y\n1,1\n2,\n", [], ["x.csv:3: ", "'y'", "outcome", "--ahead"]),
        ("a,y\n1,1\n2,\n3,3\n4,\n", ["--ahead"], ["x.csv:3: ", "'y'", "outcome", "--skip-bad 1"]),
        ("a,y\n1,\n2,\n", ["--ahead"], ["'y'", "outcome"]),
        ("a,b,y\n1,2,1\n,,2\n", [], ["x.csv:3: ", "asleep", "--skip-bad 1"]),
        ("a,y\n1.5,1\nmaybe,1\n2.5,3\n", [], ["x.csv:3: ", "'a'", "'maybe'", "number", "--ignore a"]),
        ("a,y\nu,1\nv,2\n", ["--experts", "a"], ["x.csv:2: ", "'a'", "'u'", "number", "--ignore a"]),
        ("a,y\nu,1\nv,2\n", [], ["column", "'y'", "numbers", ": a, y"]),
        ("a,y\n1,1\n", ["--experts", "b"], ["column 'b'", ": a, y"]),
        ("a,y\n1,1\n", ["--ignore", "b"], ["column 'b'", ": a, y"]),
        ("a,y\n1,1\n", ["--experts", "a,y"], ["'y'", "outcome", "expert"]),
        ("a,y\n1,1\n", ["--experts", "a,a"], ["'a'", "twice"]),
        ("a,b,z\n1,1,2\n", [], ["column 'y'", ": a, b, z"]),
        ("a,b,z\nu,v,w\n", [], ["column 'y'", "--header"]),
        ("a,y\n0.5,1\n1.5,1\n", ["--loss", "log"], ["x.csv:3: ", "forecast of expert 'a'", "1.5", "log loss"]),
        ("a,y\n0.5,1\n0.5,2\n", ["--loss", "log"], ["x.csv:3: ", "outcome", "2.0", "log loss"]),
        ("a,b,y\n.5,.5,1\n.5,0,1\n", ["--loss", "log"], ["x.csv:3: ", "loss of expert 'b'", "inf", "--loss square"]),
        ("a,y\n1,1\n2,0\n", ["--loss", "percentage"], ["x.csv:3: ", "outcome", "0.0", "percentage loss"]),
        ("a,y\n1,1\n0.5,0\n", ["--rule", "halving"], ["x.csv:3: ", "halving", "'a'", "0.5", "--rule ml-poly"]),
        ("a,y\n0.5,sun\n0.5,rain\n", [], ["'y'", "rain, sun", "--classes rain", "--positive sun"]),
        ("a,y\n0.5,sun\n0.5,rain\n", ["--positive", "fog"], ["'fog'", "'y'", "rain, sun"]),
        ("a_H,a_D,y\n.5,.5,H\n.5,.5,X\n", ["--classes", "H,D"], ["x.csv:3: ", "'y'", "'X'", "H, D"]),
        (
            "a_H,a_D,a_A,y\n.5,.25,.25,H\n.5,.25,.25,D\n.5,.25,.25,A\n",
            ["--classes", "H,D"],
            ["x.csv:4: ", "'y'", "'A'", "H, D", "--classes H,D,A"],
        ),
        ("a_H,a_D,y\n.5,.5,H\n.5,,D\n", ["--classes", "H,D"], ["x.csv:3: ", "a_H, a_D", "0.5, –", "missing"]),
        ("a_H,a_D,y\n.5,.5,H\n.5,.6,D\n", ["--classes", "H,D"], ["x.csv:3: ", "a_H, a_D", "0.5, 0.6", "sum to 1"]),
        ("a_H,a_D,y\n.5,.5,H\n2,-1,D\n", ["--classes", "H,D"], ["x.csv:3: ", "a_H, a_D", "2, -1", "0 and 1"]),
        ("a_H,b_D,y\n.5,.5,H\n", ["--classes", "H,D"], ["expert", "class", "Alice_H, Alice_D", ": a_H, b_D"]),
        ("a_H,a_D,y\n.5,.5,H\n", ["--classes", "H,D", "--experts", "b"], ["expert 'b'", "column 'b_H'", ": a"]),
        ("a_H,a_D,y\n.5,.5,H\n", ["--classes", "H,H"], ["'H'", "twice"]),
        ("a,y\n1,1\n2\n", [], ["x.csv:3:2: ", "1 field", "2 columns"]),
        ("a;b;y\n1,5;2,5;1,5\n1,2;3;2\n2;3;2\n", [], ["x.csv:2: ", "'y'", "'1,5'", "decimal", "1.5", "--outcome"]),
        ("a;b;y\n1;2,5;1\n1;;2\n2;3;2\n", [], ["x.csv:2: ", "'b'", "'2,5'", "decimal", "--ignore"]),
        ("a;b;y\n1;2,5;1\n1;;2\n2;3;2\n", ["--experts", "b"], ["x.csv:2: ", "'b'", "2.5", "sed 's/,/./g'"]),
        ("", [], ["x.csv: ", "rows"]),
        ("1 2:1\n", [], ["svmlight", "columns"]),
    ],
)
def test_an_error_is_one_line_with_place_and_value(
    text: str, more: list[str], parts: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    shown = call("experts", path, "--outcome", "y", *more, fails=1)
    for part in parts:
        assert part in shown
    assert shown.startswith("Error: ")
    assert len(shown.splitlines()) == 1


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        (["--loss", "huber"], ["'huber'", "square, absolute, percentage, pinball:TAU, log"]),
        (["--loss", "pinball:2"], ["tau", "2"]),
        (["--eta", "fast"], ["'fast'", "number", "'theorem'"]),
        (["--eta", "1"], ["--eta", "ml-poly"]),
        (["--no-gradient", "--rule", "ridge"], ["--no-gradient", "ridge"]),
        (["--seed", "1"], ["--seed", "ml-poly"]),
        (["--rule", "hedge", "--eta", "theorem"], ["hedge", "'theorem'"]),
        (["--rule", "hedge", "--eta", "-1"], ["eta", "-1"]),
        (["--rule", "ml-poly", "--rule", "halving"], ["ml-poly", "losses", "halving", "mistakes"]),
        (["--rule", "halving", "--loss", "square"], ["halving", "mistakes", "--loss"]),
        (["--rule", "best"], ["--rule", "best"]),
        (["--top", "0"], ["--top", "0"]),
    ],
)
def test_wrong_options_exit_with_code_2(more: list[str], parts: list[str], load: Path) -> None:
    shown = call("experts", load, "--outcome", "load", *more, fails=2)
    for part in parts:
        assert part in shown


def test_words_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,y\nu,v,u\nv,v,v\n")
    shown = call("experts", path, "--outcome", "y", "--rule", "boa", fails=2)
    for part in ("boa", "numbers", "'y'", "words", "--rule weighted-majority"):
        assert part in shown
    text = path.read_text()
    assert "--header" in call("experts", "-", "--outcome", "y", text=text, fails=1)
    assert found("-", "--outcome", "y", "--header", text=text)["rounds"] == 2


def test_no_file_is_overwritten_and_output_is_escaped(load: Path, tmp_path: Path) -> None:
    assert shows(call("experts", load, "--outcome", "load", "--predictions", load, fails=2), str(load), "input")
    path = tmp_path / "x.csv"
    path.write_text("a\x1b[31m,rain\n0.5,1\n0.5\n0.25,0\n")
    shown = call("experts", path, "--outcome", "rain", "--skip-bad", 1)
    assert "x.csv:3:4" in shown
    assert "\x1b" not in shown


def test_long_files_are_certified_if_asked(load: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mistakebound.experts.comparison import results

    monkeypatch.setattr(results, "MOST_REPLAYED", 100)
    monkeypatch.setattr(results, "MOST_CELLS", 100)
    shown = call("experts", load, "--outcome", "load")
    assert "--certify" in shown
    assert "best convex combination: " in shown
    assert "holds" in call("experts", load, "--outcome", "load", "--certify")


@pytest.mark.parametrize(
    ("on_a_terminal", "at_once", "more", "shown"),
    [
        (True, 0, [], True),
        (True, 0, ["--json"], False),
        (False, 0, [], False),
        (True, 10**9, [], False),
    ],
)
def test_a_terminal_shows_which_rule_is_running(
    on_a_terminal: bool, at_once: int, more: list[str], shown: bool, load: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mistakebound.cli import experts

    class Stream(io.TextIOWrapper):
        def isatty(self) -> bool:
            return on_a_terminal

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(experts, "MOST_AT_ONCE", at_once)
    err, out = Stream(io.BytesIO(), write_through=True), io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(sys, "stdout", out)
    words = ["experts", str(load), "--outcome", "load", "--rule", "ml-poly", "--rule", "hedge", *more]
    main(words, standalone_mode=False)
    seen = err.buffer.getvalue().decode()
    for step in ("0/3 ml-poly", "1/3 hedge", "2/3 the best in hindsight"):
        assert (step in click.unstyle(seen)) == shown
    assert "hedge" in out.getvalue()
    assert "/3 " not in out.getvalue()


def test_the_best_sequence_lists_its_experts(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,y\n" + "1,5,1.5\n" * 3 + "5,1,1.5\n" * 4)
    answer = found(path, "--outcome", "y", "--switches", 1)
    assert answer["hindsight"][-1]["turns"] == [{"round": 0, "expert": "a"}, {"round": 3, "expert": "b"}]
    assert answer["hindsight"][-1]["total_loss"] == pytest.approx(7 / 4)
    assert "switching" not in {each["kind"] for each in found(path, "--outcome", "y", "--switches", 0)["hindsight"]}
    assert "with at most 1 switch\n" in call("experts", path, "--outcome", "y", "--switches", 1)


def test_the_words_of_the_tables_are_explained() -> None:
    answer = call("experts", "--help")
    for word in ("regret", "linear regret", "bound", "holds", "vacuous", "does not apply"):
        assert f"\n    {word}  " in answer


def test_completion_knows_losses_and_rules() -> None:
    from click.shell_completion import ShellComplete

    shell = ShellComplete(main, {}, "mistakebound", "_MISTAKEBOUND_COMPLETE")
    assert [each.value for each in shell.get_completions(["experts", "--loss"], "p")] == ["percentage", "pinball:"]
    assert "ml-poly" in [each.value for each in shell.get_completions(["experts", "--rule"], "ml")]


def test_every_rule_of_python_has_a_name_here() -> None:
    named = {*MIXING.values(), *FOLLOWING.values()}
    assert named == {*mb.experts.__all__} - {"Aggregation", "Asked", "Comparison", "compare"}
    for name, kind in {**MIXING, **FOLLOWING}.items():
        assert getattr(mb.experts, kind).id == name


def test_a_column_of_words_is_an_expert_if_half_of_it_may_be_the_outcome(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,c,y\nu,u,,u\nu,q,,v\nq,q,v,v\nq,q,,u\n")
    advice = advice_of(read_columns(path, table={"header": True}), "y", ColumnChoice())
    assert advice.names == ["a", "c"]
    assert advice.labels == ["q", "u", "v"]
    assert advice.past_forecasts.tolist()[3][0] == 0
    assert advice.outcomes.tolist() == [1, 2, 2, 1]
