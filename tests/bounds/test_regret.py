"""The regret bounds: values by hand, runs of the rules on losses in [0, 1], and arguments out of range."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mistakebound import experts, oracles
from mistakebound.aggregation.polynomial import MLPoly
from mistakebound.aggregation.reference import Engine, Mixture
from mistakebound.aggregation.second_order import BOA, MLProd, Squint
from mistakebound.bounds import regret as regret_bounds
from mistakebound.losses import Given


def test_values_by_hand() -> None:
    e = math.e
    assert regret_bounds.hedge(1, rounds=100) == 0
    assert regret_bounds.hedge(8, rounds=6) == pytest.approx(3 * math.sqrt(math.log(2)))  # √(6 · 3 ln 2/2)
    assert regret_bounds.hedge(3, rounds=16, eta=0.5) == pytest.approx(1 + 2 * math.log(3))
    best_rate = math.sqrt(8 * math.log(3) / 16)
    assert regret_bounds.hedge(3, rounds=16, eta=best_rate) == pytest.approx(regret_bounds.hedge(3, rounds=16))
    assert regret_bounds.hedge(4, eta=math.log(2), best=3) == pytest.approx((3 + 2) * math.log(2) * 2 - 3)
    assert regret_bounds.exponentially_weighted_average(4, 0.5) == pytest.approx(4 * math.log(2))
    assert regret_bounds.fixed_share(2, eta=1, alpha=0.5, rounds=4, switches=1) == pytest.approx(5 * math.log(2))
    assert regret_bounds.fixed_share(4, eta=2, alpha=0.5, rounds=3) == pytest.approx((2 + 2) * math.log(2) / 2)
    assert regret_bounds.adahedge(2, variance=9 / math.log(2), widest=0) == pytest.approx(6)
    assert regret_bounds.adahedge(2, variance=0, widest=3) == pytest.approx(4 * math.log(2) + 6)
    assert regret_bounds.ml_poly(2, squares=0) == pytest.approx(math.sqrt(2))
    assert regret_bounds.ml_poly(2, squares=1, largest=e - 1) == pytest.approx(math.sqrt(8))
    assert regret_bounds.boa(2, eta=0.5, squares=3) == pytest.approx(2 * math.log(2) + 1.5)
    assert regret_bounds.squint(1, squares=0, rounds=0) == pytest.approx(5 * math.log(2))
    # At V = 4L, C is V/2. B is 0 while V' is at most 4L − 1.
    assert regret_bounds.boa_adaptive(2, squares=1) == pytest.approx(0.5 + 2 * math.log(2))
    four = 4 * math.log(16)
    root, c = math.sqrt(1 + four), math.sqrt(1 + 1 / four)
    drift = (c - 1) / math.log(c) * math.log(root / math.sqrt(four))
    tail = (math.log(16) + math.log(1 + drift / e)) * root / math.sqrt(math.log(16))
    assert regret_bounds.boa_adaptive(16, squares=four) == pytest.approx(four / 2 + tail)
    assert regret_bounds.ml_prod(16, squares=1, largest=four) == pytest.approx(
        0.5 + 2 * (math.log(16) + math.log(1 + drift / e))
    )
    assert regret_bounds.ogd(4, rounds=1) == pytest.approx(3)  # G = 2, T = 1: 2 (2 − 1/2)
    assert regret_bounds.ogd(4, rounds=100, longest=1) == pytest.approx(19.5)
    log_t = math.log(9)
    assert regret_bounds.squint(3, squares=2, rounds=8) == pytest.approx(
        2 * (1 + math.sqrt(2 * math.log(3 * (0.5 + log_t)))) + 5 * math.log(1 + 3 * (1 + 2 * log_t))
    )


@pytest.mark.parametrize(
    ("function", "wrong", "arguments"),
    [
        ("hedge", "n", {"n": 0, "rounds": 5}),
        ("hedge", "rounds", {"n": 2}),
        ("hedge", "rounds", {"n": 2, "rounds": -1}),
        ("hedge", "eta", {"n": 2, "rounds": 5, "eta": 0}),
        ("hedge", "eta", {"n": 2, "best": 5}),
        ("hedge", "best", {"n": 2, "eta": 1, "best": -1}),
        ("exponentially_weighted_average", "eta", {"n": 2, "eta": 0}),
        ("exponentially_weighted_average", "n", {"n": 0, "eta": 1}),
        ("fixed_share", "alpha", {"n": 2, "eta": 1, "alpha": 0, "rounds": 5}),
        ("fixed_share", "alpha", {"n": 2, "eta": 1, "alpha": 1, "rounds": 5}),
        ("fixed_share", "switches", {"n": 2, "eta": 1, "alpha": 0.5, "rounds": 5, "switches": 5}),
        ("fixed_share", "eta", {"n": 2, "eta": -1, "alpha": 0.5, "rounds": 5}),
        ("adahedge", "variance", {"n": 2, "variance": -1}),
        ("adahedge", "widest", {"n": 2, "variance": 1, "widest": math.nan}),
        ("ml_poly", "squares", {"n": 2, "squares": -1}),
        ("ml_poly", "n", {"n": 0, "squares": 1}),
        ("boa", "eta", {"n": 2, "eta": 0.6, "squares": 1}),
        ("boa", "squares", {"n": 2, "eta": 0.5, "squares": math.inf}),
        ("hedge", "rounds", {"n": 2, "eta": 1}),
        ("boa_adaptive", "squares", {"n": 2, "squares": -1}),
        ("boa_adaptive", "n", {"n": 0, "squares": 1}),
        ("ml_prod", "largest", {"n": 2, "squares": 1, "largest": math.inf}),
        ("ogd", "n", {"n": 0, "rounds": 1}),
        ("ogd", "rounds", {"n": 2, "rounds": -1}),
        ("ogd", "longest", {"n": 2, "rounds": 1, "longest": -1}),
        ("squint", "squares", {"n": 2, "squares": -1, "rounds": 1}),
        ("squint", "rounds", {"n": 2, "squares": 1, "rounds": -1}),
    ],
)
def test_the_error_begins_with_the_wrong_argument(function: str, wrong: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"^{wrong}\b"):
        getattr(regret_bounds, function)(**arguments)


def losses(seed: int, rounds: int = 200, n: int = 4) -> np.ndarray:
    """Losses in [0, 1]. Some experts are better than others, and the first round has the largest possible range."""
    rng = np.random.default_rng(seed)
    L = rng.random((rounds, n)) ** rng.choice([0.3, 1, 5], n)
    L[0] = [0.0, *[1.0] * (n - 1)]
    return L


def play(rule: Any, L: np.ndarray) -> Engine:
    prior = np.full(L.shape[1], 1 / L.shape[1])
    engine = Engine(Mixture(rule(prior), Given(), gradient=True), Given(), prior)
    engine.run(L, np.zeros(len(L)))
    return engine


@pytest.mark.parametrize("seed", range(6))
def test_rules_stay_within_their_bounds(seed: int) -> None:
    """On losses in [0, 1] the regret is at most the bound, and so is the bound of the certificate."""
    L = losses(seed)
    T, n = L.shape
    best = L.sum(axis=0).min()
    for eta in (0.1, 1.0):
        hedge = experts.Hedge(eta=eta)
        regret = hedge.run_losses(L).sum() - best
        assert regret <= regret_bounds.hedge(n, eta=eta, best=best) + 1e-9
        assert regret <= regret_bounds.hedge(n, rounds=T, eta=eta) + 1e-9
        assert hedge.certify().bound <= regret_bounds.hedge(n, rounds=T, eta=eta) + 1e-9
    tuned = experts.Hedge(horizon=T)
    assert tuned.run_losses(L).sum() - best <= regret_bounds.hedge(n, rounds=T) + 1e-9
    assert tuned.certify().bound <= regret_bounds.hedge(n, rounds=T) + 1e-9
    adaptive = experts.AdaHedge()
    regret = adaptive.run_losses(L).sum() - best
    rule: Any = adaptive.ledger_.replay()[0].forecaster.rule
    assert regret <= regret_bounds.adahedge(n, rule.variance, rule.widest) + 1e-9
    assert adaptive.certify().bound <= regret_bounds.adahedge(n, rule.variance, rule.widest) + 1e-9
    boa = experts.BOA(eta=0.3)
    boa.run_losses(L)
    ledger = boa.ledger_
    squares = ledger.sums["squares"]
    assert (ledger.regrets <= [regret_bounds.boa(n, 0.3, v) + 1e-9 for v in squares]).all()


@pytest.mark.parametrize("seed", range(6))
def test_ml_poly_and_squint_stay_within_their_bounds(seed: int) -> None:
    """The rules know from the start that |r| is at most 1, as the closed forms require."""
    L = losses(seed)
    T, n = L.shape

    def known(cls: Any) -> Any:
        def make(prior: np.ndarray) -> Any:
            rule = cls(prior)
            rule.largest = 1.0
            rule.first = 1.0
            return rule

        return make

    poly, squint = play(known(MLPoly), L), play(known(Squint), L)
    V = poly.sums["squares"]
    for k in range(n):
        assert poly.sums["regrets"][k] <= regret_bounds.ml_poly(n, V[k], V.max()) + 1e-9
        allowed = regret_bounds.squint(n, squint.sums["squares"][k], T)
        assert squint.sums["regrets"][k] <= squint.bound()[k] + 1e-9 <= allowed + 1e-9


class Cautious(BOA):
    """BOA with rates computed from 1 + V instead of V."""

    def _rates(self) -> np.ndarray:
        return np.minimum(0.5, np.sqrt(self._log_n() / (1 + self.V)))


@pytest.mark.parametrize("rule", [BOA, MLProd, Cautious])
@pytest.mark.parametrize("n", [2, 4, 40])
@pytest.mark.parametrize("seed", range(3))
def test_boa_adaptive_and_ml_prod_stay_within_their_bounds(rule: Any, n: int, seed: int) -> None:
    """Regret ≤ the bound computed from the stream ≤ the closed form, which is not much larger on a hard stream."""

    def known(prior: np.ndarray) -> Any:
        made = rule(prior)
        made.largest = made.first = 1.0
        made.eta = made._rates()
        return made

    L = losses(seed, rounds=600, n=n)
    if seed == 0:  # coin flips: V grows as fast as possible
        L = np.round(np.random.default_rng(n).random((600, n)))
    engine = play(known, L)
    V = engine.sums["squares"]
    closed = np.array([regret_bounds.boa_adaptive(n, v, V.max()) for v in V])
    proved = np.asarray(engine.bound())
    assert (engine.sums["regrets"] <= proved + 1e-9).all()
    assert (proved <= closed + 1e-9).all()
    assert (closed <= 1.5 * proved + 3).all()


@pytest.mark.parametrize("seed", range(6))
def test_ogd_stays_within_its_bound(seed: int) -> None:
    L = losses(seed)
    T, n = L.shape
    learner = experts.OGD()
    regret = learner.run_losses(L).sum() - L.sum(axis=0).min()
    longest = float(np.sqrt((L**2).sum(axis=1)).max())
    allowed = regret_bounds.ogd(n, T, longest)
    assert regret <= learner.certify().bound <= allowed + 1e-9 <= regret_bounds.ogd(n, T) + 2e-9
    assert allowed <= 2 * learner.certify().bound


@pytest.mark.parametrize("switches", [0, 1, 3])
def test_fixed_share_stays_within_its_bound(switches: int) -> None:
    """Regret for the log loss, which is 1-exp-concave, to the best sequence with this number of switches."""
    rng = np.random.default_rng(switches)
    T, n = 150, 4
    y = (rng.random(T) < 0.5).astype(float)
    A = 0.1 + 0.8 * rng.random((T, n))
    for k, part in enumerate(np.array_split(np.arange(T), switches + 1)):
        A[part, k] = 0.1 + 0.8 * y[part]
    learner = experts.FixedShare(eta=1.0, alpha=0.03, loss="log", gradient=False)
    lost = learner.run(A, y).total_loss
    best = oracles.best_switching(oracles.expert_losses(A, y, "log"), switches).total
    assert lost - best <= regret_bounds.fixed_share(n, 1.0, 0.03, T, switches)
    assert regret_bounds.fixed_share(n, 1.0, 0.03, T, switches) < T * math.log(9) / 8


def test_exponentially_weighted_average_stays_within_its_bound() -> None:
    rng = np.random.default_rng(9)
    y = rng.random(200)
    A = rng.random((200, 6))
    learner = experts.ExponentiallyWeightedAverage(eta="theorem")
    ledger = learner.run(A, y)
    assert ledger.regrets.max() <= regret_bounds.exponentially_weighted_average(6, 0.5)
    assert learner.certify().bound == pytest.approx(regret_bounds.exponentially_weighted_average(6, 0.5))
