"""Rules over experts compared with fifty decimal digits, and with extreme losses, numbers of experts and rounds."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from aggregation_games import NAN, RULES, Planted, planted, play, rates
from aggregation_lemmas import FIXED, LEMMAS
from aggregation_reference import FORMULAS, NEVER, log_weights

LOUD = {"over": "raise", "invalid": "raise", "divide": "raise"}
"""Underflow of small weights to 0 is expected."""


def past(rounds: int, n: int, seed: int) -> np.ndarray:
    """Return possible regrets: mixed signs, some experts asleep, small at first, one jump."""
    rng = np.random.default_rng(seed)
    r = rng.normal(size=(rounds, n)) + 0.2 * rng.normal(size=n)
    r[rng.random(r.shape) < 0.25] = 0.0
    r[0] = 0.0
    r[rounds // 2] *= 30
    return r


def parameters_of(rule: str, scale: float) -> dict[str, float]:
    return {name: value / scale if name == "eta" else value for name, value in rates(rule).items()}


@pytest.mark.parametrize("rule", FORMULAS)
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_weights_equal_the_formulas(rule: str, scale: float, n: int) -> None:
    """The logarithms of the weights agree to twelve digits in every round."""
    prior = np.arange(1, n + 1) / (n * (n + 1) / 2)
    r = past(24, n, seed=n) * scale
    subject = RULES[rule].rule(prior, **parameters_of(rule, scale))
    for t in range(len(r)):
        subject.update(r[t], 1.0)
        if t % 6 and t > 3:
            continue
        exact = log_weights(rule, prior, r[: t + 1], **parameters_of(rule, scale))
        w = subject.weights()
        with np.errstate(divide="ignore"):
            found = np.log(w) - np.log(w.max())
        for mine, theirs in zip(found, exact, strict=True):
            if theirs == NEVER or theirs - max(exact) < -700:
                assert mine < -690
            else:
                expected = float(theirs - max(exact))
                assert mine == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("rule", ["Exponential", "FixedShare", "FixedBOA", "BOA", "MLProd"])
def test_weights_of_awake_experts_when_the_best_is_asleep(rule: str) -> None:
    """The weights of the others equal the formulas, even if the expert asleep is far ahead."""
    parameters = {"eta": 0.2} if rule in FIXED else {}
    parameters |= {"alpha": 0.0} if rule == "FixedShare" else {}
    engine = RULES[rule].engine(3, **parameters)
    kept: Any = engine.forecaster.rule  # type: ignore[attr-defined]
    kept.update(np.array([1.0, -1.0, -1.0]), 0.0)
    for _ in range(200):
        kept.update(np.array([20.0, -20.0, -20.5]), 0.0)
    past = [[1.0, -1.0, -1.0]] + [[20.0, -20.0, -20.5]] * 200
    p = engine.serve(np.array([NAN, 1.0, 0.0])).p
    assert p[0] == 0
    assert p.sum() == pytest.approx(1)
    assert p[1] > p[2]
    if rule in FIXED:
        exact = log_weights(rule, [1 / 3] * 3, past, **parameters)
        assert exact[0] - exact[1] > 745
        assert math.log(p[2] / p[1]) == pytest.approx(float(exact[2] - exact[1]), rel=1e-9)


def test_weights_too_small_to_be_precise() -> None:
    """The awake experts have 1e-320 and 1e-322 of the weight of the best: few bits, but the ratio is correct."""
    engine = RULES["Exponential"].engine(3, eta=1.0)
    behind = 320 * math.log(10)
    engine.forecaster.rule.R = np.array([0.0, -behind, -behind - math.log(100)])  # type: ignore[attr-defined]
    p = engine.serve(np.array([NAN, 1.0, 1.0])).p
    assert p[1] / p[2] == pytest.approx(100, rel=1e-9)


def test_the_best_of_the_awake_experts_have_the_weight_at_an_infinite_rate() -> None:
    """At η = ∞, only the awake experts with the largest R have weight."""
    engine = RULES["AdaHedge"].engine([0.2, 0.2, 0.3, 0.3])
    engine.forecaster.rule.R = np.array([5.0, 1.0, 1.0, 0.0])  # type: ignore[attr-defined]
    assert engine.serve(np.array([NAN, 1.0, 1.0, 1.0])).p == pytest.approx([0, 0.4, 0.6, 0])


def test_an_expert_with_an_underflowed_weight_can_recover() -> None:
    """Fixed Share with α = 0 equals Hedge, also after a weight of e^−1000."""
    shared, plain = RULES["FixedShare"].engine(2, eta=1.0, alpha=0.0), RULES["Exponential"].engine(2, eta=1.0)
    for losses in [[0.0, 1.0]] * 1000 + [[1.0, 0.0]] * 1001:
        for engine in (shared, plain):
            engine.learn(engine.serve(np.array(losses)), np.asarray(0.0))
    assert shared.weights() == pytest.approx([1 / (1 + math.e), math.e / (1 + math.e)], rel=1e-9)
    assert plain.weights() == pytest.approx(shared.weights(), rel=1e-9)


SCALE_FREE = sorted(set(RULES) - FIXED)


@pytest.mark.parametrize("rule", SCALE_FREE)
@pytest.mark.parametrize("scale", [2.0**-40, 2.0**40, 1e-12, 1e12])
def test_scaling_all_losses_does_not_change_the_weights(rule: str, scale: float) -> None:
    """A power of two changes no bit, except in rules that use logarithms of rates."""
    case = next(case for case in planted() if case.name == "the best is switched")
    here = play(RULES[rule], case, by_gradient=True)
    there = play(RULES[rule], Planted("scaled", case.X * scale, case.y * scale, case.loss), by_gradient=True)
    if math.log2(scale).is_integer() and rule in {"Anytime", "AdaHedge", "MLEwa", "MLPoly", "OGD"}:
        assert (here.w == there.w).all()
    assert there.w == pytest.approx(here.w, rel=1e-6, abs=1e-9)
    if here.engine.bound() is not None:
        assert there.engine.bound() == pytest.approx(here.engine.bound() * scale, rel=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_losses_of_every_size(rule: str) -> None:
    """Losses from 1e-12 to 1e12 of both signs, with sleep: weights are valid, and the bound holds."""
    rng = np.random.default_rng(1)
    losses = 10.0 ** rng.uniform(-12, 12, (150, 5)) * rng.choice([-1, 1], (150, 5))
    losses[rng.random(losses.shape) < 0.2] = NAN
    losses[np.isnan(losses).all(axis=1), 0] = 1.0
    case = Planted("every size", losses, np.zeros(150), "given")
    parameters = {name: value if name == "alpha" else 1e-13 for name, value in rates(rule).items()}
    with np.errstate(**LOUD):
        game = play(RULES[rule], case, **parameters)
    assert np.isfinite(game.w).all()
    assert game.w.min() >= 0
    assert game.w.sum(axis=1) == pytest.approx(np.ones(150))
    if rule in LEMMAS and rule not in {"ExpConcave", "FixedBOA"}:  # their premises do not hold here
        assert (game.R[-1] <= game.engine.bound() + game.slack).all()
        assert np.isfinite(game.engine.bound()).all()


@pytest.mark.parametrize("rule", RULES)
def test_one_expert(rule: str) -> None:
    case = Planted("alone", np.linspace(-3, 5, 40)[:, None], np.zeros(40))
    with np.errstate(**LOUD):
        game = play(RULES[rule], case, **rates(rule))
    assert np.array(game.forecasts).tolist() == case.X[:, 0].tolist()
    assert (game.w == 1).all()
    assert (game.r == 0).all()
    bound = game.engine.bound()
    assert bound is None or (bound >= 0).all()


@pytest.mark.parametrize("rule", RULES)
def test_a_hundred_thousand_experts(rule: str) -> None:
    rng = np.random.default_rng(2)
    n = 100_000
    y = rng.random(6)
    X = rng.random((6, n))
    X[:, 77_777] = y
    X[2, ::3] = NAN
    with np.errstate(**LOUD):
        game = play(RULES[rule], Planted("crowd", X, y, "absolute"), **rates(rule))
    w = game.engine.weights()
    assert w.sum() == pytest.approx(1)
    assert w[77_777] >= np.median(w)
    assert game.losses[-1] <= 1
    if rule in LEMMAS and rule not in {"ExpConcave", "Squint"}:  # Squint is slow
        assert (game.R[-1] <= game.engine.bound() + game.slack).all()


SUMS = ("R", "V", "X", "S", "cost", "gaps", "drift", "variance")


@pytest.mark.parametrize("rule", RULES)
def test_ten_million_rounds(rule: str) -> None:
    """Play five hundred rounds, multiply the sums by twenty thousand, and play a hundred rounds more.

    Nothing a rule keeps grows faster than rounds do, so that is where it stands after ten million.
    """
    rng = np.random.default_rng(3)
    y = rng.random(300)
    X = rng.random((300, 5))
    X[:, 1] = y
    X[:, 2] = np.where(rng.random(300) < 0.5, NAN, y + 0.1)
    engine = RULES[rule].engine(5, "absolute", **rates(rule))

    def more(rounds: int) -> None:
        for t in range(rounds):
            engine.learn(engine.serve(X[t % 300]), np.asarray(y[t % 300]))

    with np.errstate(**LOUD):
        more(500)
        kept: Any = engine.forecaster.rule  # type: ignore[attr-defined]
        for name in SUMS:
            if hasattr(kept, name):
                setattr(kept, name, getattr(kept, name) * 20_000)
        for name, values in engine.sums.items():
            engine.sums[name] = values * 20_000
        kept.rounds *= 20_000
        more(100)
        # the best expert is asleep: the second best still has more weight than one far behind
        p = engine.serve(np.where(np.arange(5) == 1, NAN, 0.5)).p
        bound = engine.bound()
    w = engine.weights()
    assert np.isfinite(w).all()
    assert w.sum() == pytest.approx(1)
    assert w[1] > 0.5
    assert p.sum() == pytest.approx(1)
    assert p[1] == 0
    if rule in {"Exponential", "ExpConcave", "Anytime", "AdaHedge", "FixedBOA", "Squint"}:
        assert p[2] > p[[0, 3, 4]].max()
    assert bound is None or np.isfinite(bound).all()


def test_the_reference_is_not_the_package() -> None:
    """The reference computes with decimals and does not import the package."""
    assert all(isinstance(z, Decimal) for z in log_weights("MLPoly", [0.5, 0.5], [[1.0, -1.0]]))
    assert log_weights("MLPoly", [0.5, 0.5], [[1.0, -1.0]])[1] == NEVER
