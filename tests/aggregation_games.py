"""Planted streams for rules over experts and their mutants, and the record of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.aggregation import exponential, gradient, polynomial, second_order
from mistakebound.aggregation.reference import Engine, Mixture
from mistakebound.losses import loss_named

if TYPE_CHECKING:
    from mistakebound.aggregation.base import Rule

NAN = math.nan


@dataclass(frozen=True)
class Subject:
    """A rule, or a mutant of it, with the functions to run it."""

    rule: type[Rule]
    mixture: type[Mixture] = Mixture
    name: str = ""

    def engine(self, prior: Any, loss: Any = "given", *, by_gradient: bool = True, **parameters: float) -> Engine:
        """Return a new engine. A number n as prior means a uniform prior of n experts."""
        prior = np.full(prior, 1 / prior) if isinstance(prior, int) else np.asarray(prior, float)
        loss = loss_named(loss)
        return Engine(self.mixture(self.rule(prior, **parameters), loss, gradient=by_gradient), loss, prior)


RULES: dict[str, Subject] = {
    cls.__name__: Subject(cls, name=cls.__name__)
    for cls in (
        exponential.Exponential,
        exponential.ExpConcave,
        exponential.Anytime,
        exponential.AdaHedge,
        exponential.FixedShare,
        exponential.MLEwa,
        polynomial.MLPoly,
        second_order.FixedBOA,
        second_order.BOA,
        second_order.MLProd,
        second_order.ObservedBOA,
        second_order.ObservedMLProd,
        second_order.Squint,
        gradient.OGD,
    )
}


def rates(rule: str) -> dict[str, float]:
    """Return small rates for the rules that need one, for losses of about 1."""
    parameters = {"Exponential": {"eta": 0.3}, "ExpConcave": {"eta": 0.5}, "FixedBOA": {"eta": 0.05}}
    return {"eta": 0.3, "alpha": 0.01} if rule == "FixedShare" else parameters.get(rule, {})


@dataclass(frozen=True)
class Planted:
    """A stream with a good expert or a good mix of experts."""

    name: str
    X: np.ndarray
    y: np.ndarray
    loss: str = "square"
    tame: bool = True
    """Whether forecasts and outcomes lie in [0, 1]."""
    prior: tuple[float, ...] | None = None


def planted(rounds: int = 120, n: int = 6, seed: int = 0) -> list[Planted]:
    """Return streams with a good expert, a good mix, a switch, coin flips, heavy tails, jumps of scale and sleep."""
    rng = np.random.default_rng(seed)
    y = 0.25 + 0.5 * rng.random(rounds)
    noise = rng.random((rounds, n))
    good, mix, switch = noise.copy(), noise.copy(), noise.copy()
    good[:, 2] = y + 0.02 * rng.standard_normal(rounds)
    apart = 0.2 + 0.05 * rng.random(rounds)
    mix[:, 1], mix[:, 4] = y + apart, y - apart
    half = rounds // 2
    switch[:half, 0], switch[half:, 3] = y[:half], y[half:]
    coins = (rng.random((rounds, n)) < 0.5).astype(float)
    flips = np.where(rng.random(rounds) < 0.6, coins[:, 5], 1 - coins[:, 5])
    asleep = np.where(rng.random(good.shape) < 0.3, NAN, good)
    asleep[np.isnan(asleep).all(axis=1), 0] = 0.5
    tails = 10 * y[:, None] + rng.standard_cauchy((rounds, n))
    jump = np.where(np.arange(rounds) < half, 1.0, 1e4)
    signs = np.where(rng.random((rounds, n)) < 0.5, -1.0, 1.0)
    rising = tuple(np.arange(1, n + 1) / (n * (n + 1) / 2))
    return [
        Planted("one good expert", good, y),
        Planted("a good mix", mix, y),
        Planted("the best is switched", switch, y, "absolute"),
        Planted("coin flips", coins, flips, "absolute"),
        Planted("sleep", asleep, y, prior=rising),
        Planted("log loss", np.clip(0.05 + 0.9 * (0.8 * flips[:, None] + 0.2 * coins), 0.05, 0.95), flips, "log"),
        Planted("heavy tails", tails, 10 * y, "absolute", tame=False),
        Planted("a jump of scale", good * jump[:, None], y * jump, tame=False),
        Planted("a jump of scale with sleep", asleep * jump[:, None], y * jump, tame=False, prior=rising),
        Planted("signs", signs, signs[:, 1] * np.where(rng.random(rounds) < 0.8, 1, -1), "pinball:0.3", tame=False),
    ]


@dataclass
class Game:
    """The record of a run: for each round the weights (all experts awake) and the regrets."""

    engine: Engine
    prior: np.ndarray
    parameters: dict[str, float]
    w: np.ndarray
    r: np.ndarray
    h: np.ndarray
    size: np.ndarray
    """The scale of rounding errors in each round."""
    losses: list[float] = field(default_factory=list)
    forecasts: list[Any] = field(default_factory=list)

    @property
    def R(self) -> np.ndarray:
        """Regrets after each round."""
        return np.cumsum(self.r, axis=0)

    @property
    def V(self) -> np.ndarray:
        """Squared regrets after each round."""
        return np.cumsum(self.r**2, axis=0)

    @property
    def B(self) -> np.ndarray:
        """The largest |r| so far, after each round."""
        return np.maximum.accumulate(np.abs(self.r).max(axis=1))

    @property
    def spread(self) -> np.ndarray:
        """The range of the losses of each round."""
        return self.r.max(axis=1) - self.r.min(axis=1)

    @property
    def slack(self) -> float:
        """The largest possible sum of rounding errors."""
        return 1e-9 * float(np.abs(self.R).max() + self.spread.sum())


def play(subject: Subject, case: Planted, prior: Any = None, *, by_gradient: bool = True, **parameters: float) -> Game:
    """Play a stream with the specification."""
    n = case.X.shape[1]
    prior = np.full(n, 1 / n) if prior is None else np.asarray(prior, float)
    engine = subject.engine(prior, case.loss, by_gradient=by_gradient, **parameters)
    w, r, h, size, losses, forecasts = [], [], [], [], [], []
    learn = engine.forecaster.learn

    def note(served: Any, outcome: Any) -> Any:
        regret, own = learn(served, outcome)
        r.append(regret.copy())
        h.append(own)
        return regret, own

    engine.forecaster.learn = note  # type: ignore[method-assign]
    for x, outcome in zip(case.X, case.y, strict=True):
        w.append(engine.weights().copy())
        served = engine.serve(x)
        losses.append(engine.learn(served, np.asarray(outcome)))
        forecasts.append(served.forecast)
        size.append(np.abs(served.x).max() + np.abs(outcome).max())
    del engine.forecaster.learn
    arrays = [np.array(values) for values in (w, r, h, size)]
    return Game(engine, prior, parameters, *arrays, losses, forecasts)
