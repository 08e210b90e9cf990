"""The passive-aggressive bounds: constants by brute force, the search for a comparator, and what certificates show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from games import nonzeros, play
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

import mistakebound as mb
from mistakebound import bounds
from mistakebound.hindsight.passive_aggressive import best_length, least_hinge
from mistakebound.rules import RULES
from mistakebound.rules.reference import ReferenceGame
from mistakebound.theorems import THEOREMS, Witness

KINDS = {"passive-aggressive-i": mb.PassiveAggressiveI, "passive-aggressive-ii": mb.PassiveAggressiveII}
both = pytest.mark.parametrize("name", KINDS)


def losses(X: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, 1 - y * (X @ u))


def bound_of(name: str, X: np.ndarray, y: np.ndarray, u: np.ndarray, c: float) -> float:
    lost = losses(X, y, u)
    radius, norm = float(np.linalg.norm(X, axis=1).max()), float(np.linalg.norm(u))
    if name == "passive-aggressive-i":
        return bounds.passive_aggressive_i(radius, norm, float(lost.sum()), c)
    return bounds.passive_aggressive_ii(radius, norm, float((lost**2).sum()), c)


def random_stream(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a short stream of few features, real, ±1 or 0/1, with empty rows and random or planted labels."""
    n, rounds = int(rng.integers(1, 5)), int(rng.integers(1, 25))
    X = [rng.standard_normal((rounds, n)), rng.choice([-1.0, 1.0], (rounds, n)), rng.integers(0, 2, (rounds, n))]
    x = X[int(rng.integers(3))] * float(rng.choice([0.1, 1.0, 10.0]))
    planted = np.where(x @ rng.standard_normal(n) >= 0, 1, -1)
    return x, np.where(rng.random(rounds) < rng.choice([0.0, 0.1, 0.5]), -planted, planted)


@both
def test_random_streams_obey_bound_and_lemma_for_any_comparator(name: str) -> None:
    """The comparator is any vector: random ones, and the one with the least bound."""
    rng = np.random.default_rng(3)
    closest = np.inf
    for _ in range(400):
        X, y = random_stream(rng)
        c = float(rng.choice([0.01, 0.3, 1.0, 30.0]))
        game = play(RULES[name](c=c), X, y)  # type: ignore[call-arg]
        best = least_hinge(csr_matrix(X, dtype=float), y.astype(float), c, squared=name.endswith("-ii"))
        for u in (rng.standard_normal(X.shape[1]), 5 * rng.standard_normal(X.shape[1]), np.zeros(X.shape[1]), best):
            bound = bound_of(name, X, y, u, c)
            assert game.mistakes <= bound * (1 + 1e-6)
            closest = min(closest, bound / max(game.mistakes, 1e-9))
            for step in game.steps:
                scale = 1 + float(step.z @ step.z) + float(step.z_next @ step.z_next) + float(u @ u)
                for inequality, slack in THEOREMS[name].lemma(step, Witness(u)).items():
                    assert slack >= -1e-5 * scale, inequality
    assert closest < 1.5  # the bound is nearly reached, so a wrong constant would have been found


@pytest.mark.parametrize("c", [1.0, 50.0])
def test_the_bound_of_pa_i_is_reached(c: float) -> None:
    """On n unit vectors, every prediction may be wrong, and u = (±1, …, ±1) has no loss and ‖u‖² = n."""
    learner = mb.PassiveAggressiveI(c=c)
    assert mb.adversaries.UnitVectors(30).play(learner).mistakes == 30
    assert bounds.passive_aggressive_i(1.0, 30**0.5, c=c) == pytest.approx(30.0)
    assert learner.certify().bound == pytest.approx(30.0)


def test_the_factor_of_the_loss_cannot_be_halved() -> None:
    """Against an opponent, PA-I makes more than max(R², 1/c)(‖u‖² + cΣℓ) mistakes: the factor 2 is needed."""
    rng = np.random.default_rng(0)
    most = 0.0
    for _ in range(300):
        X, c = rng.standard_normal((6, 4)), float(rng.choice([0.1, 0.35]))
        game = ReferenceGame(RULES["passive-aggressive-i"](c=c), 4)  # type: ignore[call-arg]
        y = np.empty(6)
        for t, x in enumerate(X):
            y[t] = -1 if game.raw_score(nonzeros(x)) >= 0 else 1
            game.round(nonzeros(x), int(y[t]))
        u = least_hinge(csr_matrix(X), y, c / 2, squared=False)
        radius, norm, lost = float(np.linalg.norm(X, axis=1).max()), float(np.linalg.norm(u)), losses(X, y, u).sum()
        assert len(X) <= bounds.passive_aggressive_i(radius, norm, lost, c) * (1 + 1e-6)
        most = max(most, len(X) / bounds.passive_aggressive_i(radius, norm, lost / 2, c))
    assert most > 1.01


def test_the_squared_losses_of_pa_ii_have_the_same_bound() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        X, y = random_stream(rng)
        c = float(rng.choice([0.1, 1.0, 10.0]))
        game = play(RULES["passive-aggressive-ii"](c=c), X, y)  # type: ignore[call-arg]
        lost = sum(max(0.0, 1 - step.y * float(step.z @ step.x)) ** 2 for step in game.steps)
        u = rng.standard_normal(X.shape[1])
        assert lost <= bound_of("passive-aggressive-ii", X, y, u, c) * (1 + 1e-5)


# ---------------------------------------------------------------------- the search


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("c", [0.05, 1.0, 20.0])
def test_the_search_finds_the_least_objective(squared: bool, c: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 4))
    y = np.where(X @ rng.standard_normal(4) + rng.standard_normal(60) >= 0, 1.0, -1.0)
    weight = rng.integers(1, 4, 60).astype(float)

    def objective(u: np.ndarray) -> float:
        lost = losses(X, y, u)
        return float(u @ u + 2 * c * np.sum(weight * (lost**2 if squared else lost)))

    found = least_hinge(csr_matrix(X), y, c, squared=squared, weight=weight)
    reached = min(
        float(minimize(objective, start, method="Nelder-Mead", options={"maxiter": 8000, "xatol": 1e-9}).fun)
        for start in (np.zeros(4), found + 0.1, rng.standard_normal(4))
    )
    assert objective(found) <= reached * 1.002
    assert objective(np.zeros(4)) > reached * 1.1


@pytest.mark.parametrize("squared", [False, True])
def test_the_best_length(squared: bool) -> None:
    rng = np.random.default_rng(2)
    margins, norm, c = rng.standard_normal(50) + 0.5, 3.0, 0.7

    def objective(s: float) -> float:
        lost = np.maximum(0.0, 1 - s * margins)
        return float((s * norm) ** 2 + 2 * c * np.sum(lost**2 if squared else lost))

    s = best_length(margins, norm, c, squared=squared)
    assert objective(s) <= min(map(objective, np.linspace(0, 5 * s, 2001))) * (1 + 1e-6)
    assert best_length(-np.abs(margins), norm, c, squared=squared) < 1e-12  # u points away from the labels
    assert best_length(margins, 0.0, c, squared=squared) == 0.0
    assert best_length(np.zeros(0), 1.0, c, squared=squared) == 0.0


# ---------------------------------------------------------------------- certificates


def noisy(rounds: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    stream = mb.streams.margin(n=10, rounds=rounds, margin=0.4, seed=3)
    other = mb.streams.label_noise(stream, 0.02, seed=1)
    return other.X, other.y, np.asarray(stream.target, float)


@both
def test_a_certificate_over_the_whole_stream_holds_and_bounds_mistakes_not_updates(name: str) -> None:
    X, y, target = noisy()
    learner = KINDS[name](c=0.05)
    ledger = learner.run(X, y)
    found = learner.certify(X=X, y=y)
    assert (found.theorem, found.status, found.hindsight) == (name, "holds", True)
    assert ledger.mistakes <= found.bound < len(y)
    assert ledger.updates > found.bound  # so updates are not what is bounded
    assert "updates (mistakes included)" not in found.meaning()
    assert f"there were {ledger.mistakes:,} in" in found.meaning()
    given = learner.certify(name, target, X=X, y=y)
    assert found.bound <= given.bound * 1.002
    assert not given.hindsight


@both
def test_the_length_of_a_comparator_is_optimised_unless_a_margin_is_given(name: str) -> None:
    X, y, target = noisy()
    learner = KINDS[name](c=0.05)
    learner.run(X, y)
    best = learner.certify(name, target, X=X, y=y)
    assert learner.certify(name, 1e6 * target, X=X, y=y).bound == pytest.approx(best.bound)
    at: Any = [learner.certify(name, target, margin=gamma, X=X, y=y).bound for gamma in (0.05, 0.2, 0.4, 2.0)]
    assert best.bound <= min(at) * (1 + 1e-9)
    assert at[1] == pytest.approx(learner.certify(name, 5 * target, margin=1.0, X=X, y=y).bound)
    assert learner.certify(name, target, margin=-1.0, X=X, y=y).status == "does not apply"


@both
def test_on_the_mistaken_rounds_a_separating_comparator_or_nothing(name: str) -> None:
    stream = mb.streams.margin(n=10, rounds=2000, margin=0.3, seed=2)
    learner = KINDS[name](c=10.0)
    learner.run(stream.X, stream.y)
    found = learner.certify()
    assert (found.status, found.scope, found.comparator["loss"]) == ("holds", "mistaken rounds", 0.0)
    assert found.bound >= learner.ledger_.mistakes
    X, y, _ = noisy(500)
    learner = KINDS[name]()
    learner.run(X, y)
    circular = learner.certify()
    assert circular.status == "vacuous"
    assert "circular" in circular.note


@both
def test_random_labels_are_not_certified(name: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 20)), rng.choice([-1, 1], 2000)
    for c in (1e-4, 0.01, 1.0):
        learner = KINDS[name](c=c)
        learner.run(X, y)
        assert learner.certify(X=X, y=y).status == "vacuous"


@both
def test_late_outcomes_are_not_certified(name: str) -> None:
    learner = KINDS[name]()
    asked = learner.ask([1.0, 0.0])
    learner.learn_one([1.0, 0.0], -1)
    learner.tell(asked, -1)
    assert learner.ledger_.late == 1
    assert learner.certify().status == "does not apply"
