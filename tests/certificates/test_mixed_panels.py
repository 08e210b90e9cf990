"""Certificates, bounds and reports of mixed Panels and multiclass Perceptrons: no theorem is claimed."""

from __future__ import annotations

import json
import math
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mistakebound as mb
from mistakebound.cli import main
from mistakebound.runs.panel_facts import panel_facts
from mistakebound.runs.progress import Tally
from mistakebound.theorems.evidence import ALONE

LEARNERS: dict[str, Any] = {
    "two labels": lambda **k: mb.Panel(classes=(0, 1), **k),
    "classes": lambda **k: mb.Panel(classes=(0, 1, 2), **k),
    "perceptron": lambda **k: mb.MulticlassPerceptron(classes=(0, 1, 2), **k),
}
every_learner = pytest.mark.parametrize("kind", LEARNERS)
every_panel = pytest.mark.parametrize("kind", ["two labels", "classes"])


def rows(rounds: int, seed: int, classes: int) -> tuple[Any, Any]:
    X = np.random.default_rng(seed).normal(size=(rounds, 5))
    return X, X[:, :classes].argmax(1)


def mixed(kind: str, **options: Any) -> Any:
    start = LEARNERS[kind](**options)
    parts = [copy(start), copy(start)]
    for k, part in enumerate(parts):
        part.run(*rows(150, k, 2 if kind == "two labels" else 3))
    return mb.mix(start, parts)


@every_learner
@pytest.mark.parametrize("options", [{}, {"keep_bytes": 0}])
def test_no_theorem_applies(kind: str, options: dict[str, Any]) -> None:
    learner = mixed(kind, **options)
    learner.learn_one([1.0, 0.0, 0.0, 0.0, 0.0], 0)
    theorems = ["multiclass-perceptron"] if kind == "perceptron" else ["guarded-weighted-majority", "bayes-mixture"]
    for theorem in (None, *theorems):
        found = learner.certify(theorem)
        assert found.status == "does not apply"
        assert found.bound == math.inf
        assert found.meaning().endswith(f"has a premise that fails: {ALONE}")
        assert "up to 2 shards" in str(found)
        assert mb.certify(mb.Ledger.from_json(learner.ledger_.to_json()), theorem) == found


@every_learner
def test_a_second_pass_is_refused(kind: str) -> None:
    learner = mixed(kind)
    with pytest.raises(ValueError, match="mixed from up to 2 shards, .* call certify without X and y"):
        learner.certify(X=np.eye(5), y=[0] * 5)


@every_panel
def test_bounds_are_not_claimed(kind: str, tmp_path: Path) -> None:
    panel = mixed(kind)
    panel.save(tmp_path / "m.mb")
    loaded: Any = mb.load(tmp_path / "m.mb")
    later = panel.run(*rows(5, 3, 2))
    again = mb.Ledger.from_json(later.to_json())
    for standings in (panel.standings, loaded.standings, later.standings, again.standings):
        assert standings.mixed
        assert standings.bounds == {}
        assert standings.loss_bound == math.inf
    assert panel.known_bound(None)(later, 0) is None
    facts = panel_facts(panel)
    assert (facts["bounds"], facts["log_loss_bound"]) == ({}, None)
    assert len(panel.members()) == len(facts["members"]) == len(panel.standings.members)


@every_panel
def test_run_claims_no_bound(kind: str, tmp_path: Path) -> None:
    file, model, page = (tmp_path / name for name in ("d.svm", "m.mb", "page.html"))
    X, y = rows(80, 5, 2 if kind == "two labels" else 3)
    lines = (f"{label} " + " ".join(f"{j + 1}:{v:.3f}" for j, v in enumerate(x)) for x, label in zip(X, y, strict=True))
    file.write_text("".join(f"{line}\n" for line in lines))
    start = LEARNERS[kind]()
    parts = [copy(start), copy(start)]
    for part in parts:
        part.run(mb.Source(file))
    mb.mix(start, parts).save(model)
    asked = ["run", str(file), "--load", str(model), "--certify", "--report", str(page)]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 0, result.output
    assert "does not apply" in result.output
    assert "(bound" not in result.output
    assert " –   " in result.output
    assert "inf" not in result.output
    assert "No bound is known: this panel was mixed" in page.read_text()
    found = json.loads(CliRunner().invoke(main, ["run", str(file), "--load", str(model), "--json"]).stdout)
    assert found["panel"]["bounds"] == {}
    assert found["panel"]["log_loss_bound"] is None


@pytest.mark.parametrize("make", [lambda: mb.Winnow(threshold=4), mb.Elimination])
def test_no_bound_of_one_learner_is_shown_for_a_mixed_one(make: Any, tmp_path: Path) -> None:
    file = tmp_path / "d.svm"
    file.write_text("1 1:1\n0 2:1\n" * 4)
    start = make()
    parts = [copy(start), copy(start)]
    for part in parts:
        part.run(mb.Source(file))
    found, relevant = mb.mix(start, parts), 1 if isinstance(start, mb.Winnow) else None
    assert mb.runs.run(mb.Source(file), parts[0], relevant=relevant).bound is not None
    assert mb.runs.run(mb.Source(file), found, relevant=relevant).bound is None
    resumed = Tally(start.known_bound(relevant), lines=False)  # of a fresh learner, whose checkpoint is of a mixed one
    resumed.resume(found.ledger_, [8, 0, 0, 4], (8, 0))
    assert resumed.bound is None


def test_standings_that_are_not_valid() -> None:
    data = json.loads(mixed("two labels").ledger_.to_json())
    data["standings"]["mixed"] = 1
    with pytest.raises(mb.ModelError, match="standings.mixed"):
        mb.Ledger.from_json(json.dumps(data))
