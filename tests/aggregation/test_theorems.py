"""Rules over experts on planted streams: the bound holds and is not vacuous, and the lemma holds in every round."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from aggregation_checks import check_lemmas
from aggregation_games import RULES, Game, Planted, planted, play, rates
from aggregation_lemmas import LEMMAS, check_premise, games

from mistakebound import oracles

TELLING = {"the best is switched", "coin flips"}
"""Streams on which the bound of every rule must be below half of the largest possible regret."""


@cache
def played(rule: str) -> list[tuple[Planted, Game]]:
    return list(games(RULES[rule], rule))


@pytest.mark.parametrize("rule", LEMMAS)
def test_lemma_holds_at_every_round(rule: str) -> None:
    check_lemmas(rule, played(rule))


@pytest.mark.parametrize("rule", LEMMAS)
def test_bound_is_not_vacuous(rule: str) -> None:
    """The bound is well below the sum of the ranges, the largest possible regret."""
    streams = {"one good expert"} if rule == "ExpConcave" else TELLING
    of = [(case, game) for case, game in played(rule) if case.name in streams]
    assert of
    for case, game in of:
        assert game.engine.bound().max() < game.spread.sum() / 2, case.name


@pytest.mark.parametrize("rule", ["Anytime", "AdaHedge", "Squint", "MLPoly"])
def test_bound_survives_a_jump_of_scale(rule: str) -> None:
    for case, game in played(rule):
        if case.name == "a jump of scale":
            assert game.engine.bound().max() < 1.1 * game.spread.sum()


@pytest.mark.parametrize("rule", sorted(set(RULES) - set(LEMMAS)))
def test_rules_without_a_theorem_have_small_regret(rule: str) -> None:
    for case in planted():
        game = play(RULES[rule], case)
        check_premise(game)
        assert game.engine.bound() is None
        assert game.R[-1].max() < game.spread.sum() / 3, case.name  # no theorem guarantees it, but it must learn


@cache
def best_mix(name: str) -> oracles.Oracle:
    case = next(case for case in planted() if case.name == name)
    return oracles.best_convex(case.X, case.y, case.loss)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["one good expert", "a good mix", "the best is switched", "log loss"])
def test_the_gradient_trick_competes_with_the_best_mix(rule: str, name: str) -> None:
    """The regret to the best mix u is at most Σ u_k R_k ≤ max R_k, with R of the linearised losses."""
    case = next(case for case in planted() if case.name == name)
    parameters = rates(rule)
    game = play(RULES[rule], case, **parameters)
    best = best_mix(name)
    assert best.weights is not None
    lost, linear = sum(game.losses) - best.total, float(best.weights @ game.R[-1])
    assert lost <= linear + game.slack + best.gap
    assert linear <= game.R[-1].max() + game.slack
    if name == "a good mix" and rule == "MLPoly":  # the best expert alone is much worse than the mix
        assert sum(game.losses) < oracles.best_expert(case.X, case.y, case.loss).total / 2


def test_linear_regrets_are_at_least_the_regrets() -> None:
    for case in planted():
        engine = play(RULES["MLPoly"], case).engine
        true = engine.sums["own_losses"] - engine.sums["losses"]
        assert (true <= engine.sums["regrets"] + 1e-9 * np.abs(engine.sums["own_losses"])).all(), case.name


def sleeping() -> Planted:
    """Expert 0 is awake, and right, only in the middle third; all others are noise."""
    rng = np.random.default_rng(5)
    y, X = rng.random(150), rng.random((150, 4))
    X[:, 0] = math.nan
    X[50:100, 0] = y[50:100]
    return Planted("sleeper", X, y, "absolute")


@pytest.mark.parametrize("rule", LEMMAS)
def test_regret_to_an_expert_counts_only_its_awake_rounds(rule: str) -> None:
    """``R_k`` is a sum over the rounds in which k is awake."""
    case = sleeping()
    parameters = rates(rule)
    game = play(RULES[rule], case, by_gradient=False, **parameters)
    sums = game.engine.sums
    assert sums["rounds"].tolist() == [50, 150, 150, 150]
    own = np.array(game.losses)
    assert sums["own_losses"][0] == pytest.approx(own[50:100].sum())
    assert sums["losses"][0] == 0
    assert sums["regrets"][0] == pytest.approx(own[50:100].sum())
    assert (game.r[:50, 0] == 0).all()
    assert sums["regrets"][0] > 0
    if rule != "ExpConcave":  # absolute loss is not exp-concave
        assert sums["regrets"][0] <= game.engine.bound()[0] + game.slack


@pytest.mark.parametrize("rule", LEMMAS)
def test_bounds_hold_for_several_classes(rule: str) -> None:
    """Probabilities of three classes: Brier score and log loss."""
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 3, 120)
    y = np.eye(3)[truth]
    X = 0.05 + 0.85 * rng.dirichlet(np.ones(3), (120, 4))
    X[:, 1] = 0.6 * y + 0.4 / 3
    X /= X.sum(axis=2, keepdims=True)
    X[::7, 2] = math.nan
    case = Planted("classes", X, y, "log" if rule == "ExpConcave" else "square")
    parameters = rates(rule)
    game = play(RULES[rule], case, by_gradient=rule != "ExpConcave", **parameters)
    check_lemmas(rule, [(case, game)])
    assert np.array(game.forecasts).sum(axis=1) == pytest.approx(np.ones(120))
    assert sum(game.losses) == pytest.approx(float(loss_of(case, np.array(game.forecasts)).sum()))


def loss_of(case: Planted, forecasts: np.ndarray) -> np.ndarray:
    if case.loss == "log":
        return -np.log((forecasts * case.y).sum(axis=1))
    return ((forecasts - case.y) ** 2).sum(axis=1)


@pytest.mark.parametrize("rule", LEMMAS)
def test_bounds_hold_when_experts_join(rule: str) -> None:
    """New experts count as asleep before. Rates never increase, and every bound holds."""
    rng = np.random.default_rng(7)
    y = rng.random(180)
    X = rng.random((180, 6))
    X[:, 4] = y
    X[:, 5] = np.where(rng.random(180) < 0.9, y, 0.5)
    parameters = rates(rule)
    loss = "square" if rule == "ExpConcave" else "absolute"
    prior = np.array([1, 2, 1, 1, 3, 2.0])
    engine = RULES[rule].engine(prior[:2] / 3, loss, by_gradient=rule != "ExpConcave", **parameters)
    for t, (x, outcome) in enumerate(zip(X, y, strict=True)):
        for join, n in ((20, 3), (60, 5), (120, 6)):
            if t == join:
                engine.join(prior[:n] / prior[:n].sum())
        engine.learn(engine.serve(x[: engine.n]), np.asarray(outcome))
        if t % 10 == 9:
            assert (engine.sums["regrets"] <= engine.bound() + 1e-9 * (1 + t)).all(), t
    assert engine.sums["rounds"].tolist() == [180, 180, 160, 120, 120, 60]
    assert engine.weights()[4] > engine.weights()[0]


@pytest.mark.parametrize("rule", ["Exponential", "ExpConcave", "MLPoly", "FixedBOA", "Squint"])
def test_a_new_expert_equals_one_that_was_asleep(rule: str) -> None:
    """Rules that do not depend on the number of experts have the same weights and bounds, also with priors."""
    rng = np.random.default_rng(8)
    prior = np.array([1, 2, 9.0])
    X, y = rng.random((60, 3)), rng.random(60)
    X[:25, 2] = math.nan
    slept = RULES[rule].engine(prior / 12, "absolute", **rates(rule))
    joined = RULES[rule].engine(prior[:2] / 3, "absolute", **rates(rule))
    for t, (x, outcome) in enumerate(zip(X, y, strict=True)):
        if t == 25:
            joined.join(prior / 12)
        for engine in (slept, joined):
            engine.learn(engine.serve(x[: engine.n]), np.asarray(outcome))
    assert joined.weights() == pytest.approx(slept.weights(), rel=1e-9)
    assert joined.bound() == pytest.approx(slept.bound(), rel=1e-9)


@pytest.mark.parametrize("rule", ["Anytime", "AdaHedge", "BOA", "MLProd"])
def test_rates_do_not_rise_when_experts_join(rule: str) -> None:
    """The number of experts increases from 2 to 1,000. The proofs need rates that do not increase."""
    rng = np.random.default_rng(9)
    engine = RULES[rule].engine(2)
    kept = engine.forecaster.rule  # type: ignore[attr-defined]
    rates_of_two = []
    for t in range(60):
        if t == 30:
            engine.join(np.full(1000, 1e-3))
        engine.learn(engine.serve(rng.random(engine.n)), np.asarray(0.0))
        rates_of_two.append(np.broadcast_to(kept.eta, engine.n)[:2].copy())
    assert (np.diff(rates_of_two, axis=0) <= 0).all()
    assert (engine.sums["regrets"] <= engine.bound()).all()


def test_new_experts_get_their_prior_as_weight() -> None:
    """Fixed Share and OGD store weights: new experts get their prior, the others keep their proportions."""
    for rule in ("FixedShare", "OGD"):
        engine = RULES[rule].engine(2, **rates(rule))
        for _ in range(3):
            engine.learn(engine.serve(np.array([0.3, 0.5])), np.asarray(0.0))
        before, bound = engine.weights(), engine.bound()
        engine.join(np.array([0.2, 0.3, 0.5]))
        assert engine.weights() == pytest.approx([*(before / 2), 0.5])
        if rule == "OGD":  # joining moved its weights, which adds 1/η to the bound
            eta = 1 / (math.sqrt(0.3**2 + 0.5**2) * math.sqrt(3))
            assert engine.bound() == pytest.approx([bound[0] + 1 / eta] * 3)


def test_fixed_share_follows_a_switch_that_hedge_does_not() -> None:
    case = next(case for case in planted(rounds=600) if case.name == "the best is switched")
    shared = play(RULES["FixedShare"], case, eta=4.0, alpha=0.02, by_gradient=False)
    plain = play(RULES["Exponential"], case, eta=4.0, by_gradient=False)
    best = oracles.best_switching(oracles.expert_losses(case.X, case.y, case.loss), 1)
    assert best.total == pytest.approx(0)
    allowed = (2 * math.log(6) + math.log(50) - 598 * math.log(0.98)) / 4
    gaps = sum(min(s, 4 * s**2 / 8) for s in shared.spread)
    assert sum(shared.losses) - best.total <= allowed + gaps
    assert sum(shared.losses) < sum(plain.losses) / 2
