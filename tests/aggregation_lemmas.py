"""The lemma of each regret theorem, at every round.

A lemma is checked on the observed regrets. Rates and sums are computed here from the formulas, not taken from the rule:
a wrong rule must not check itself. See docs/theory.md, "Experts with losses".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from aggregation_games import Game, Planted, Subject, planted, play

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def log_mean_exp(prior: np.ndarray, z: np.ndarray) -> float:
    """``ln Σ π e^z``."""
    top = z.max()
    return float(top + np.log(prior @ np.exp(z - top)))


def check_premise(game: Game) -> None:
    """Check ``Σ w_k r_k ≤ 0``, with equality for linear losses. The proofs use nothing else about the loss."""
    wr = np.einsum("tk,tk->t", game.w, game.r)
    assert (wr <= 1e-9 * (np.abs(game.r).max(axis=1) + 1e-4 * game.size * np.maximum(1, game.size))).all(), wr.max()


def gap(spread: float, eta: float) -> float:
    return spread if math.isinf(eta) else min(spread, eta * spread**2 / 8)


def power_mean(prior: np.ndarray, R: np.ndarray, eta: float) -> float:
    """Return ``ln(Σ π e^{ηR})/η``, which is the largest R for η = ∞."""
    return float(R.max()) if math.isinf(eta) else log_mean_exp(prior, eta * R) / eta


def hedge_lemma(game: Game, etas: np.ndarray) -> np.ndarray:
    """Check ``ln(Σ π e^{ηR})/η ≤ Σ gaps`` in every round. Return the bound."""
    gaps = np.cumsum([gap(s, e) for s, e in zip(game.spread, etas, strict=True)])
    for R, eta, allowed in zip(game.R, etas, gaps, strict=True):
        assert power_mean(game.prior, R, eta) <= allowed + game.slack
    return -np.log(game.prior) / etas[-1] + gaps[-1]


def lemma_exponential(game: Game) -> np.ndarray:
    return hedge_lemma(game, np.full(len(game.r), game.parameters["eta"]))


def lemma_exp_concave(game: Game) -> np.ndarray:
    """Check that ``Σ π e^{ηR}`` never increases."""
    eta = game.parameters["eta"]
    values = [0.0, *(log_mean_exp(game.prior, eta * R) for R in game.R)]
    assert (np.diff(values) <= 1e-12 * (1 + eta * np.abs(game.R).max())).all()
    return -np.log(game.prior) / eta


def lemma_anytime(game: Game) -> np.ndarray:
    T, n = game.r.shape
    widest = np.maximum.accumulate(game.spread)
    with np.errstate(divide="ignore"):
        next_rate = 2 * np.sqrt(math.log(n) / np.arange(2, T + 2)) / widest
    etas = np.r_[math.inf, next_rate]
    hedge_lemma(game, etas[:-1])
    gaps = sum(gap(s, e) for s, e in zip(game.spread, etas[:-1], strict=True))
    return -np.log(game.prior) / etas[-1] + gaps


def lemma_adahedge(game: Game) -> np.ndarray:
    """Check ``R ≤ 2Δ`` and theorem 6 of de Rooij et al., with Δ computed from the weights of the run."""
    log_n = -float(np.log(game.prior).min())
    delta, variance, widest = 0.0, 0.0, 0.0
    before = np.zeros(game.r.shape[1])
    for w, r, R, s in zip(game.w, game.r, game.R, game.spread, strict=True):
        eta = log_n / delta if delta > 0 else math.inf
        mix = power_mean(game.prior, before, eta) - power_mean(game.prior, R, eta)
        delta += max(0.0, float(-w @ r) - mix)
        variance += max(0.0, float(w @ r**2 - (w @ r) ** 2))
        widest = max(widest, s)
        assert R.max() <= 2 * delta + game.slack
        assert R.max() <= 2 * math.sqrt(variance * log_n) + widest * (4 / 3 * log_n + 2) + game.slack
        before = R
    return np.full(len(before), 2 * delta)


def lemma_fixed_share(game: Game) -> np.ndarray:
    """Check by dynamic programming that the regret to every sequence is at most its code length/η + Σ gaps."""
    eta, alpha = game.parameters["eta"], game.parameters["alpha"]
    T, n = game.r.shape
    stay = math.log(1 - alpha + alpha / n) / eta
    move = math.log(alpha / n) / eta if alpha > 0 else -math.inf
    gaps = np.cumsum([gap(s, eta) for s in game.spread])
    z = np.log(game.prior) / eta + game.r[0]  # regret to the best sequence that ends in k, minus its code length/η
    for r, allowed in zip(game.r[1:], gaps[1:], strict=True):
        z = np.maximum(z + stay, z.max() + move) + r
        assert z.max() <= allowed + game.slack
    return (-np.log(game.prior) - (T - 1) * math.log1p(-alpha)) / eta + gaps[-1]


def lemma_ml_poly(game: Game) -> np.ndarray:
    """Check both bounds of a step of ``Φ = Σ π η (R)₊²``.

    ``Φ_t ≤ Φ_{t−1} + Σ π η_{t−1} r²`` and ``√Φ_t ≤ √Φ_{t−1} + √(Σ π η_t (r)₊²)``.
    """
    share = game.prior / game.prior.max()
    inverse = game.B[:, None] ** 2 + game.V
    first = int(np.argmax(game.B > 0))
    potential = added = share / inverse[first] @ np.maximum(game.r[first], 0) ** 2
    for t in range(first + 1, len(game.r)):
        squares = share / inverse[t - 1] @ game.r[t] ** 2
        jump = math.sqrt(share / inverse[t] @ np.maximum(game.r[t], 0) ** 2)
        now = share / inverse[t] @ np.maximum(game.R[t], 0) ** 2
        assert now <= potential + squares + 1e-9 * (1 + now)
        assert now <= (math.sqrt(potential) + jump) ** 2 + 1e-9 * (1 + now)
        potential, added = now, min(added + squares, (math.sqrt(added) + jump) ** 2)
    return np.sqrt(added * inverse[-1] / share)


def lemma_fixed_boa(game: Game) -> np.ndarray:
    """Check that ``Σ π e^{ηR − η²V}`` never increases if η|r| ≤ ½."""
    eta = game.parameters["eta"]
    assert eta * game.B[-1] <= 0.5
    values = [0.0, *(log_mean_exp(game.prior, eta * R - eta**2 * V) for R, V in zip(game.R, game.V, strict=True))]
    assert (np.diff(values) <= 1e-9).all()
    return -np.log(game.prior) / eta + eta * game.V[-1]


def shrunk(game: Game) -> tuple[np.ndarray, int]:
    """Return the regrets scaled down to the range before the round, from the first round that has regrets."""
    first = int(np.argmax(game.B > 0))
    known = np.r_[game.B[first], game.B[first:-1]]
    return game.r[first:] * (known / game.B[first:])[:, None], first


def lemma_boa(game: Game, gain: Callable[..., np.ndarray] = lambda s, eta: s - eta * s**2) -> np.ndarray:
    """Check ``Σ π e^{ηX} ≤ 1 + D/e`` in every round."""
    n = game.r.shape[1]
    s, first = shrunk(game)
    B = game.B[first:]
    V = np.vstack([np.zeros(n), np.cumsum(s**2, axis=0)])
    with np.errstate(divide="ignore"):
        eta = np.minimum(0.5 / np.r_[B[0], B][:, None], np.sqrt(math.log(n) / V))
    X, D, cost = np.zeros(n), 0.0, np.zeros(n)
    for t, row in enumerate(s):
        X = X + gain(row, eta[t])
        cost = cost + eta[t] * row**2
        D += float(game.prior @ (eta[t] / eta[t + 1] - 1))
        assert log_mean_exp(game.prior, eta[t + 1] * X) <= math.log1p(D / math.e) + 1e-9
    return (B[-1] - B[0]) + cost + (-np.log(game.prior) + math.log1p(D / math.e)) / eta[-1]


def lemma_ml_prod(game: Game) -> np.ndarray:
    return lemma_boa(game, lambda s, eta: np.log1p(eta * s) / eta)


def lemma_squint(game: Game) -> np.ndarray:
    """Check ``Σ π ∫₀^{1/2B} (e^{ηR−η²V} − 1)/η dη ≤ ln(B_t/B_1)`` in every tenth round."""
    s, first = shrunk(game)
    S, V = np.cumsum(s, axis=0), np.cumsum(s**2, axis=0)
    B = game.B[first:]
    node, weight = np.polynomial.legendre.leggauss(60)
    pieces = np.linspace(0, 1, 21)
    u = (pieces[:-1, None] + np.diff(pieces)[:, None] * (node + 1) / 2).ravel()
    weight = np.tile(weight / 2, 20) / 20

    def potential(t: int) -> float:
        x = u * 0.5 / B[t]
        with np.errstate(over="ignore"):
            each = np.expm1(x * S[t][:, None] - x**2 * V[t][:, None]) / u
        return float(game.prior @ (each @ weight))

    for t in {*range(0, len(B), 10), len(B) - 1}:
        assert potential(t) <= math.log(B[t] / B[0]) + 1e-6
    # if S of an expert were larger, its term alone would exceed the bound on all terms
    T = len(game.r)
    owed = math.log((T + 1) / 2) + 1 + 0.5 / (T + 1) + math.log(B[-1] / B[0])
    bound = np.empty(len(S[-1]))
    for k, V_k in enumerate(V[-1]):
        low, high = 0.0, B[-1]
        x = u * 0.5 / B[-1]

        def own(S_k: float, x: np.ndarray = x, V_k: float = V_k) -> float:
            return float((np.expm1(np.minimum(x * S_k - x**2 * V_k, 600)) / u) @ weight)

        while own(high) <= owed / game.prior[k]:
            high *= 2
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if own(middle) <= owed / game.prior[k] else (low, middle)
        bound[k] = B[-1] - B[0] + high
    return bound


def lemma_ogd(game: Game) -> np.ndarray:
    """Check ``2η ℓ·(w − u) ≤ ‖w − u‖² − ‖w⁺ − u‖² + η²‖ℓ‖²`` for every expert u in every round."""
    losses = game.h[:, None] - game.r
    length = np.sqrt((losses**2).sum(axis=1))
    longest = np.maximum.accumulate(length)
    with np.errstate(divide="ignore"):
        eta = 1 / (longest * np.sqrt(np.arange(1, len(length) + 1)))
    after = np.vstack([game.w[1:], game.engine.weights()])
    for w, v, loss, e in zip(game.w, after, losses, eta, strict=True):
        if not np.isfinite(e):
            continue
        u = np.eye(len(w))
        left = 2 * e * (loss @ w - loss)
        right = ((w - u) ** 2).sum(axis=1) - ((v - u) ** 2).sum(axis=1) + e**2 * (loss @ loss)
        assert (left <= right + 1e-9).all()
    cost = np.where(np.isfinite(eta), eta, 0) @ length**2 / 2
    return np.full(game.r.shape[1], 1 / eta[-1] + cost)


LEMMAS: dict[str, Callable[[Game], np.ndarray]] = {
    "Exponential": lemma_exponential,
    "ExpConcave": lemma_exp_concave,
    "Anytime": lemma_anytime,
    "AdaHedge": lemma_adahedge,
    "FixedShare": lemma_fixed_share,
    "MLPoly": lemma_ml_poly,
    "FixedBOA": lemma_fixed_boa,
    "BOA": lemma_boa,
    "MLProd": lemma_ml_prod,
    "Squint": lemma_squint,
    "OGD": lemma_ogd,
}
"""For each rule with a theorem, a function that checks the lemma in every round and returns the bounds."""


def settings(rule: str) -> Iterator[dict[str, Any]]:
    """Return settings for which the theorem of a rule applies to forecasts in [0, 1]."""
    if rule == "Exponential":
        yield {"eta": 0.3}
        yield {"eta": 3.0}
        yield {"eta": 0.3, "by_gradient": False}
    elif rule == "ExpConcave":
        yield {"eta": 0.5, "by_gradient": False}
    elif rule == "FixedShare":
        yield {"eta": 0.4, "alpha": 0.01}
        yield {"eta": 2.0, "alpha": 0.1, "by_gradient": False}
    elif rule == "FixedBOA":
        yield {"eta": 0.2}
        yield {"eta": 0.05, "by_gradient": False}
    else:
        yield {}
        yield {"by_gradient": False}


FIXED = {"Exponential", "ExpConcave", "FixedShare", "FixedBOA"}
"""Rules whose rate depends on the scale of the losses. They get only losses in [0, 1]."""


def games(subject: Subject, rule: str) -> Iterator[tuple[Planted, Game]]:
    """Yield every planted stream to which the theorem of the rule applies."""
    for case in planted():
        if rule in FIXED and not case.tame:
            continue
        for parameters in settings(rule):
            if rule == "ExpConcave" and case.loss not in {"square", "log"}:
                continue
            if rule == "FixedBOA" and case.loss == "log":
                continue  # its gradient exceeds 1/2η
            if not parameters.get("by_gradient", True) and case.loss not in {"square", "log"}:
                continue  # the other losses are not exp-concave
            yield case, play(subject, case, case.prior, **parameters)
