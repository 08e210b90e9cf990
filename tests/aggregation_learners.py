"""The public rules that mix forecasts, with and without parameters, and a stream for them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mistakebound import experts
from mistakebound._core import Mixture

NAN = math.nan

LEARNERS: dict[str, Any] = {
    "ml-poly": experts.MLPoly,
    "ml-ewa": experts.MLEwa,
    "adahedge": experts.AdaHedge,
    "squint": experts.Squint,
    "ogd": experts.OGD,
    "boa, observed": experts.BOA,
    "boa, proved": lambda **more: experts.BOA(rates="proved", **more),
    "boa, fixed": lambda **more: experts.BOA(eta=0.01, **more),
    "ml-prod, observed": experts.MLProd,
    "ml-prod, proved": lambda **more: experts.MLProd(rates="proved", **more),
    "hedge": experts.Hedge,
    "hedge, fixed": lambda **more: experts.Hedge(eta=0.5, **more),
    "hedge, horizon": lambda **more: experts.Hedge(horizon=60, **more),
    "ewa": experts.ExponentiallyWeightedAverage,
    "ewa, theorem": lambda **more: experts.ExponentiallyWeightedAverage(eta="theorem", **more),
    "ewa, fixed": lambda **more: experts.ExponentiallyWeightedAverage(eta=0.7, **more),
    "fixed share": experts.FixedShare,
    "fixed share, fixed": lambda **more: experts.FixedShare(eta=0.5, alpha=0.02, **more),
    "fixed share, eta": lambda **more: experts.FixedShare(eta=0.5, **more),
    "fixed share, alpha": lambda **more: experts.FixedShare(alpha=0.02, **more),
    "ridge": experts.Ridge,
    "ridge, fixed": lambda **more: experts.Ridge(penalty=1.0, **more),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)
every_mixer = pytest.mark.parametrize("name", [name for name in LEARNERS if "ridge" not in name])
"""Ridge supports only the square loss of numbers."""


def stream(rounds: int = 24, n: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return forecasts in [0, 1], a fifth of them missing, and outcomes."""
    rng = np.random.default_rng(seed)
    y, A = rng.random(rounds), rng.random((rounds, n))
    A[:, 1] = 0.5 * y + 0.5 * A[:, 1]
    A[rng.random(A.shape) < 0.2] = NAN
    A[np.isnan(A).all(axis=1), 0] = 0.5
    return A, y


def state(learner: Any) -> str:
    """Return the whole state of a learner, for comparisons."""
    return "".join(f"{value!r}" for value in _parts(learner.__dict__))


def _parts(value: Any) -> Any:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _parts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _parts(each)
    elif isinstance(value, np.ndarray):
        yield value.tolist()
    elif isinstance(value, Mixture):  # of the core
        kept = value.state()
        derived = () if kept["rule"] in ("fixed-share", "ogd") else ("w", "stale", "since")  # weights
        yield from _parts({name: each for name, each in kept.items() if name not in derived})
    elif callable(value):
        yield getattr(value, "__qualname__", "")
    elif hasattr(value, "__dict__"):
        yield type(value).__name__
        yield from _parts(value.__dict__)
    else:
        yield value
