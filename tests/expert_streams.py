"""Streams of forecasts for the rules over experts: normal, heavy-tailed, with jumps of scale, and with sleep."""

from __future__ import annotations

from typing import Any

import numpy as np

from mistakebound.aggregation.reference import Mixture
from mistakebound.aggregation.registry import VARIANTS
from mistakebound.losses import loss_named
from mistakebound.play.expert_engine import CompiledEngine, LossEngine

OPTIONS: dict[str, list[dict[str, float]]] = {
    "hedge": [{"eta": 0.3}, {"eta": 20.0}, {"eta": np.inf}],
    "fixed-share": [{"eta": 0.5, "alpha": 0.05}, {"eta": 3.0, "alpha": 0.9}],
    "boa": [{"eta": 0.1}],
}
LOSSES = ("square", "absolute", "percentage", "pinball:0.2", "log")
SCALE_FREE = (
    "anytime",
    "adahedge",
    "ml-ewa",
    "ml-poly",
    "boa-adaptive",
    "ml-prod",
    "boa-observed",
    "ml-prod-observed",
    "ogd",
)
CASES = [
    (rule, parameters)
    for rule, variant in VARIANTS.items()
    if variant.compiled
    for parameters in OPTIONS.get(rule, [{}])
]


def streams(loss: str, n: int = 7, rounds: int = 90) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return forecasts (rounds × experts) and outcomes in the domain of the loss."""
    rng = np.random.default_rng(5)
    noise = rng.standard_normal((rounds, n)) * np.linspace(0.3, 2, n)
    if loss == "log":
        y = (rng.random(rounds) < 0.6).astype(float)
        good = 1 / (1 + np.exp(-(2 * y[:, None] - 1) - noise))
        return {"random": (good, y), "sure": (np.clip(good, 0.0, 1.0) ** 8 * 0.9 + 0.05, y)}
    y = rng.standard_normal(rounds) + 9
    wild = rng.standard_cauchy(rounds) + np.where(rng.random(rounds) < 0.5, 9, -9)
    jump = np.where(np.arange(rounds) < rounds // 2, 1.0, 1e5)
    made = {
        "random": (y[:, None] + noise, y),
        "heavy": (wild[:, None] + noise * np.abs(rng.standard_cauchy((rounds, n))), wild),
        "jumping": ((y[:, None] + noise) * jump[:, None], y * jump),
        "alike": (np.repeat(y[:, None] + noise[:, :1], n, axis=1), y),
    }
    for _, outcomes in made.values():
        outcomes[np.abs(outcomes) < 0.1] = 0.1  # the percentage loss divides by them
    return made


def asleep(A: np.ndarray, pattern: str) -> np.ndarray:
    """Return A with NaN where an expert is asleep. In each round at least one is awake."""
    rng = np.random.default_rng(11)
    A = A.copy()
    if pattern == "some":
        A[rng.random(A.shape) < 0.4] = np.nan
        A[np.isnan(A).all(axis=1), 1] = 0.5
    elif pattern == "long":  # one half of the experts is asleep for many rounds, then the other half
        half = A.shape[1] // 2
        A[20:50, :half] = np.nan
        A[55:80, half:] = np.nan
    return A


def both(rule: str, parameters: dict[str, float], loss: str, prior: np.ndarray, *, gradient: bool) -> tuple[Any, Any]:
    """Return the engine of the core and the specification."""
    named = loss_named(loss)
    made: Any = VARIANTS[rule].rule
    spec = LossEngine(Mixture(made(prior, **parameters), named, gradient=gradient), named, prior)
    return CompiledEngine(rule, parameters, named, prior, gradient=gradient), spec


def uneven(n: int) -> np.ndarray:
    """Return a prior that is not uniform."""
    weight = 1 + np.arange(n) % 3 / 4
    return np.asarray(weight / weight.sum())


def same(a: Any, b: Any) -> bool:
    """Return whether two engines have the same state, bit for bit."""
    first, second = a.core.state(), b.core.state()
    return first.keys() == second.keys() and all(np.array_equal(first[k], second[k]) for k in first)
