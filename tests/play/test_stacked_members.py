"""The members of a grid learn together what each of them would learn alone."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.aggregation.exponential import Exponential, FixedShare
from mistakebound.aggregation.reference import SUMS, Engine, Mixture
from mistakebound.aggregation.ridge import Ridge
from mistakebound.losses import Log, Square
from mistakebound.play import calibrated_engine
from mistakebound.play.stacked_members import stacked

PRIOR = np.array([0.5, 0.2, 0.2, 0.1])


def mixtures(rule: Any, loss: Any, *, gradient: bool) -> list[Engine]:
    """Return engines of a rule with several rates."""
    return [Engine(Mixture(rule(PRIOR, eta), loss, gradient=gradient), loss, PRIOR) for eta in (0.01, 0.5, 4.0)]


def shares(prior: Any, eta: float) -> FixedShare:
    return FixedShare(prior, eta, 0.1 if eta < 1 else 0.0)


CASES: dict[str, Any] = {
    "exponential": lambda: mixtures(Exponential, Square(), gradient=True),
    "exponential of losses": lambda: mixtures(Exponential, Log(), gradient=False),
    "fixed share": lambda: mixtures(shares, Square(), gradient=True),
    "fixed share of losses": lambda: mixtures(shares, Log(), gradient=False),
    "ridge": lambda: [Engine(Ridge(PRIOR, penalty), Square(), PRIOR) for penalty in (0.1, 1.0, 30.0)],
}


def rounds(classes: int, count: int = 60) -> tuple[Any, Any]:
    """Return forecasts, some asleep, and outcomes that are 0 and 1."""
    rng = np.random.default_rng(4)
    A = rng.dirichlet(np.ones(classes), (count, 4)) if classes else rng.uniform(0.1, 0.9, (count, 4))
    y = np.eye(classes)[rng.integers(0, classes, count)] if classes else rng.integers(0, 2, count).astype(float)
    A[rng.random((count, 4)) < 0.2] = np.nan
    A[:, 0] = np.where(np.isnan(A[:, 0]), 1 / max(classes, 2), A[:, 0])
    return A, y


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("case", CASES)
def test_members_learn_together_as_each_alone(case: str, classes: int) -> None:
    if case == "ridge" and classes:
        pytest.skip("ridge mixes numbers only")
    A, y = rounds(classes)
    alone, members = CASES[case](), CASES[case]()
    together = stacked(members)
    assert together is not None
    for row, outcome in zip(A, y, strict=True):
        losses = together.learn(row, np.asarray(outcome))
        expected = [each.run(row[None], outcome[None])[1][0] for each in alone]
        assert losses == pytest.approx(expected, rel=1e-12)
    for one, other in zip(alone, members, strict=True):
        assert other.weights() == pytest.approx(one.weights(), rel=1e-10)
        assert other.learned == pytest.approx(one.learned, rel=1e-10, abs=1e-14)
        for name in SUMS:
            assert other.sums[name] == pytest.approx(one.sums[name], rel=1e-10, abs=1e-12), name
        mine, theirs = (getattr(each.forecaster, "rule", each.forecaster) for each in (one, other))
        for name in ("gaps", "rounds"):
            if hasattr(mine, name):
                assert getattr(theirs, name) == pytest.approx(getattr(mine, name))


@pytest.mark.parametrize("rule", [mb.experts.ExponentiallyWeightedAverage, mb.experts.FixedShare])
def test_a_grid_equals_one_whose_members_learn_alone(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    A, y = rounds(3, 150)
    together, alone = rule(), rule()
    forecasts = together.run(A, y).predictions
    monkeypatch.setattr(calibrated_engine, "stacked", lambda _: None)
    assert alone.run(A, y).predictions == pytest.approx(forecasts, rel=1e-10)
    grid, other = (each._play.engine.forecaster for each in (together, alone))
    assert len(grid.values) > 4
    assert grid.values == other.values
    assert grid.totals == pytest.approx(other.totals)


@pytest.mark.parametrize("rule", [mb.experts.ExponentiallyWeightedAverage, mb.experts.FixedShare])
def test_copies_and_files_continue_bit_for_bit(rule: Any, tmp_path: Path) -> None:
    A, y = rounds(3, 90)
    whole, part = rule(), rule()
    expected = whole.run(A, y).predictions
    part.run(A[:50], y[:50])
    part.save(tmp_path / "part.mb")
    for each in (copy.deepcopy(part), mb.load(tmp_path / "part.mb"), part):
        assert each.run(A[50:], y[50:]).predictions.tolist() == expected[50:].tolist()


def test_a_grid_of_ridges_is_that_of_members_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    A, y = rounds(0, 120)
    together, alone = mb.experts.Ridge(), mb.experts.Ridge()
    forecasts = together.run(A, y).predictions
    monkeypatch.setattr(calibrated_engine, "stacked", lambda _: None)
    assert alone.run(A, y).predictions == pytest.approx(forecasts, rel=1e-7)


def test_a_round_that_does_not_fit_changes_nothing() -> None:
    members = mixtures(Exponential, Square(), gradient=True)
    together = stacked(members)
    assert together is not None
    assert together.learn(np.array([1e80, -1e80, 0.0, 0.0]), np.asarray(1e80)) is None
    assert not together.sums["rounds"].any()
    assert members[0].forecaster.rule.rounds == 0  # type: ignore[attr-defined]


def test_what_cannot_be_stacked() -> None:
    assert stacked([]) is None
    assert stacked(["a member"]) is None
    other = [Engine(Mixture(Exponential(PRIOR, 1.0), Square(), gradient=True), Square(), PRIOR)]
    other[0].forecaster = calibrated_engine.Calibrated(None, Square(), prior=PRIOR, gradient=True)  # type: ignore[arg-type]
    assert stacked(other) is None
