"""Parameters are fixed by the first round: a later change has no effect on predictions or the certificate."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound import experts

VOTERS = [
    (lambda: experts.WeightedMajority(beta=0.5), {"beta": 0.9, "eta": 0.1, "prior": [9, 1, 1, 1]}),
    (lambda: experts.WeightedMajority(eta=0.2, prior=[1, 2, 3, 4]), {"beta": 0.1, "eta": 0.9, "prior": None}),
    (lambda: experts.RandomizedWeightedMajority(beta=0.5, seed=1), {"beta": 0.9, "eta": 0.1, "seed": 7}),
    (lambda: experts.Guarded(beta=0.5), {"beta": 0.9, "eta": 0.1, "prior": [9, 1, 1, 1]}),
    (experts.Halving, {"beta": 0.9, "eta": 0.1}),
]
COMMON = {"gradient": False, "loss": "absolute", "prior": [9, 1, 1, 1], "keep_bytes": 0}
MIXERS = [
    (lambda: experts.MLPoly(), {}),
    (lambda: experts.MLEwa(), {}),
    (lambda: experts.AdaHedge(), {}),
    (lambda: experts.Squint(), {}),
    (lambda: experts.OGD(), {}),
    (lambda: experts.Hedge(eta=0.1), {"eta": 5.0, "horizon": 3}),
    (lambda: experts.Hedge(horizon=30, loss_range=2.0), {"eta": 5.0, "horizon": 3, "loss_range": 9.0}),
    (lambda: experts.Hedge(), {"eta": 5.0}),
    (lambda: experts.BOA(eta=0.01), {"eta": 0.4, "rates": "proved"}),
    (lambda: experts.BOA(rates="proved"), {"eta": 0.4, "rates": "observed"}),
    (lambda: experts.MLProd(rates="proved"), {"rates": "observed"}),
    (lambda: experts.ExponentiallyWeightedAverage(eta="theorem"), {"eta": 0.01}),
    (lambda: experts.ExponentiallyWeightedAverage(eta=0.3), {"eta": "theorem"}),
    (lambda: experts.FixedShare(eta=0.5, alpha=0.1), {"eta": 5.0, "alpha": 0.9}),
    (lambda: experts.FixedShare(eta=0.5), {"eta": None, "alpha": 0.9}),
    (lambda: experts.Ridge(penalty=1.0), {"penalty": 100.0}),
]
LINEAR = [
    (lambda: mb.Perceptron(), {"update_margin": 3.0, "bias": 2.0}),
    (lambda: mb.Winnow(threshold=2.0), {"alpha": 5.0, "threshold": 9.0, "strict": True}),
    (lambda: mb.NormalizedWinnow(eta=0.1), {"eta": 5.0, "bias": 1.0, "update_margin": 1.0}),
    (lambda: mb.BalancedWinnow(eta=0.1), {"eta": 5.0, "bias": 1.0}),
    (lambda: mb.PNormPerceptron(p=3.0), {"p": 7.0}),
    (lambda: mb.Elimination(), {"target": "conjunction"}),
]


def votes() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 40)
    return np.where(rng.random((40, 4)) < [0.1, 0.3, 0.4, 0.5], 1 - y[:, None], y[:, None]), y


def forecasts() -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    y = rng.random(40)
    return np.clip(y[:, None] + rng.normal(0, [0.1, 0.2, 0.3, 0.4], (40, 4)), 0, 1), y


def change(learner: Any, parameters: dict[str, Any]) -> None:
    for name, value in parameters.items():
        setattr(learner, name, value)


@pytest.mark.parametrize(("make", "parameters"), VOTERS)
def test_a_vote_is_certified_with_the_parameters_it_was_played_with(make: Any, parameters: dict[str, Any]) -> None:
    A, y = votes()
    changed, as_it_was = make(), make()
    for learner in (changed, as_it_was):
        learner.run(A[:30], y[:30])
    change(changed, parameters)
    assert changed.certify() == as_it_was.certify()
    assert changed.ledger_.beta == as_it_was.ledger_.beta
    later, expected = changed.run(A[30:], y[30:]), as_it_was.run(A[30:], y[30:])
    assert later.predictions.tolist() == expected.predictions.tolist()
    for learner in (changed, as_it_was):  # sleepers, three outcomes, and newcomers, which use β in other places
        learner.learn_one([1, None, 0, 2], 2)
        learner.learn_one([None, 1, None, None], 1)
    assert changed.weights_.tolist() == as_it_was.weights_.tolist()
    assert changed.certify() == as_it_was.certify()
    assert repr(changed) == repr(as_it_was)


@pytest.mark.parametrize("beta", [0.2, 0.9])
def test_newcomers_join_by_the_beta_of_the_play(beta: float) -> None:
    prior = {"a": 1.0, "b": 2.0, "c": 5.0}
    changed, as_it_was = experts.WeightedMajority(prior=prior), experts.WeightedMajority(prior=prior)
    for learner in (changed, as_it_was):
        learner.learn_one({"a": 1, "b": 0}, 1)
    changed.beta = beta
    for learner in (changed, as_it_was):
        learner.learn_one({"a": 1, "b": 0, "c": 1}, 1)
    assert changed.weights_.tolist() == as_it_was.weights_.tolist()


@pytest.mark.parametrize(("make", "parameters"), MIXERS)
def test_a_mixture_is_certified_with_the_parameters_it_was_played_with(make: Any, parameters: dict[str, Any]) -> None:
    A, y = forecasts()
    changed, as_it_was = make(), make()
    for learner in (changed, as_it_was):
        learner.run(A[:30], y[:30])
    change(changed, COMMON | parameters)
    for found in (changed, pickle.loads(pickle.dumps(changed))):
        assert found.certify() == as_it_was.certify()
        assert found.ledger_.parameters == as_it_was.ledger_.parameters
        assert repr(found) == repr(as_it_was)
    later, expected = changed.run(A[30:], y[30:]), as_it_was.run(A[30:], y[30:])
    assert later.predictions.tolist() == expected.predictions.tolist()
    assert changed.certify() == as_it_was.certify()


def test_a_play_of_losses_keeps_its_parameters() -> None:
    A, _ = forecasts()
    changed, as_it_was = experts.Hedge(eta=0.1), experts.Hedge(eta=0.1)
    for learner in (changed, as_it_was):
        learner.run_losses(A)
    changed.eta = 5.0
    assert changed.certify() == as_it_was.certify()


@pytest.mark.parametrize(("make", "parameters"), LINEAR)
def test_a_linear_learner_is_certified_with_the_parameters_it_was_played_with(
    make: Any, parameters: dict[str, Any]
) -> None:
    X, y = mb.streams.disjunction(n=8, r=1, rounds=60, seed=1)
    changed, as_it_was = make(), make()
    for learner in (changed, as_it_was):
        learner.run(X[:50], y[:50])
    change(changed, parameters)
    assert changed.certify() == as_it_was.certify()
    assert changed.ledger_.rule == as_it_was.ledger_.rule
    assert changed.run(X[50:], y[50:]).predictions.tolist() == as_it_was.run(X[50:], y[50:]).predictions.tolist()
    assert changed.certify() == as_it_was.certify()


def test_parameters_may_be_set_until_the_first_round() -> None:
    A, y = votes()
    changed = experts.WeightedMajority()
    changed.predict_one(A[0])
    changed.beta = 0.9
    assert changed.run(A, y).beta == 0.9
    assert changed.weights_.tolist() == pytest.approx(experts.WeightedMajority(0.9).run(A, y) and _weights(0.9))
    mixer = experts.Hedge(eta=0.1)
    mixer.predict_one([0.5, 0.25])
    mixer.eta = 5.0
    assert mixer.run(*forecasts()).parameters == {"eta": 5.0}


def _weights(beta: float) -> list[float]:
    learner = experts.WeightedMajority(beta)
    learner.run(*votes())
    return learner.weights_.tolist()


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (experts.WeightedMajority, "beta", 1.5),
        (experts.WeightedMajority, "beta", float("nan")),
        (experts.Guarded, "beta", 0.0),
        (lambda: experts.WeightedMajority(eta=0.5), "beta", 0.1),
        (experts.Hedge, "eta", -1.0),
        (lambda: experts.Hedge(eta=1.0), "horizon", 10),
        (experts.BOA, "rates", "guessed"),
        (lambda: experts.FixedShare(eta=1.0, alpha=0.5), "alpha", 1.5),
    ],
)
def test_a_parameter_out_of_range_is_refused_when_play_begins(make: Any, name: str, value: Any) -> None:
    learner = make()
    setattr(learner, name, value)
    with pytest.raises(ValueError, match=name):
        learner.run([[0.0, 1.0]], [1.0])
    assert learner.ledger_.rounds == 0
