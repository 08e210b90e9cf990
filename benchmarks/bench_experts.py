"""Measure rules over experts against plain loops in numpy, in the same run.

    python benchmarks/bench_experts.py [--rounds 100000] [--experts 1000] [--repeats 3]

Weighted Majority takes 0/1 advice as bool: the loop in numpy sums the weights of the experts that advise 1, predicts,
and multiplies the weights of the wrong experts by β. Hedge takes losses as float64: the loop computes weights from the
summed losses minus the smallest of them, and the weighted mean of the losses; η = √(8 ln n/T). AdaHedge (on losses) and
MLPoly (on forecasts, square loss) run on a tenth of the rounds. The last table shows the time of a round by the number
of experts that are awake.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np

import mistakebound as mb
from mistakebound.bench.timing import best_times, ratio


def numpy_majority(said: Any, outcome: Any, beta: float) -> int:
    """Count the mistakes of Weighted Majority. Small weights are scaled, because they would underflow."""
    w = np.ones(said.shape[1])
    mistakes = 0
    for a, y in zip(said, outcome, strict=True):
        total = w.sum()
        mistakes += (2 * w[a].sum() >= total) != y
        w[a != y] *= beta
        if total < 1e-100:
            w /= w.max()
    return mistakes


def our_majority(said: Any, outcome: Any, beta: float) -> int:
    return mb.experts.WeightedMajority(beta).run(said, outcome).mistakes


def numpy_hedge(losses: Any, eta: float) -> float:
    L = np.zeros(losses.shape[1])
    lost = 0.0
    for loss in losses:
        w = np.exp(-eta * (L - L.min()))
        p = w / w.sum()
        lost += p @ loss
        L += loss
    return lost


def numpy_adahedge(losses: Any) -> float:
    n = losses.shape[1]
    L = np.zeros(n)
    lost = gaps = 0.0
    for loss in losses:
        low = L.min()
        eta = math.log(n) / gaps if gaps else math.inf
        w = np.exp(-eta * (L - low)) if gaps else (low == L).astype(float)
        total = w.sum()
        h = (w / total) @ loss
        L += loss
        now = L.min()
        mixed = now - low - math.log(np.exp(-eta * (L - now)).sum() / total) / eta if gaps else now - low
        gaps += max(0.0, h - mixed)
        lost += h
    return lost


def numpy_ml_poly(forecasts: Any, outcomes: Any) -> float:
    n = forecasts.shape[1]
    R, V, B = np.zeros(n), np.zeros(n), 0.0
    lost = 0.0
    for x, y in zip(forecasts, outcomes, strict=True):
        w = np.maximum(R, 0) / (B * B + V) if B else np.ones(n)
        total = w.sum()
        p = w / total if total > 0 else np.full(n, 1 / n)
        f = p @ x
        lost += (f - y) ** 2
        r = 2 * (f - y) * (f - x)
        B = max(B, np.abs(r).max())
        R += r
        V += r * r
    return lost


def our_losses(mixer: Any, losses: Any) -> float:
    return float(mixer.run_losses(losses).sum())


def our_ml_poly(forecasts: Any, outcomes: Any) -> float:
    return mb.experts.MLPoly(keep_bytes=0).run(forecasts, outcomes).total_loss


def show(name: str, turns: dict[str, Any], repeats: int, rel_tol: float = 1e-6) -> None:
    """Time both, and compare their losses. At a near tie, numpy's rounding may change a prediction."""
    best, theirs, ours = best_times(turns, repeats), turns["numpy"](), turns["ours"]()
    agree = "" if math.isclose(theirs, ours, rel_tol=rel_tol) else f"  but {theirs} is not {ours}"
    print(
        f"{name:<22} {best['numpy']:>9.3f}s {best['ours']:>9.3f}s {ratio(best, 'numpy', 'ours'):>9}{agree}", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--experts", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    T, n = options.rounds, options.experts
    print(f"{T:,} rounds x {n:,} experts, best of {options.repeats} interleaved turns\n")
    print(f"{'':<22} {'numpy':>10} {'ours':>10} {'ratio':>9}")
    rng = np.random.default_rng(0)

    outcome = rng.random(T) < 0.5
    said = (rng.random((T, n), dtype=np.float32) < np.linspace(0.2, 0.5, n, dtype=np.float32)) ^ outcome[:, None]
    turns: dict[str, Any] = {
        "numpy": lambda: numpy_majority(said, outcome, 0.5),
        "ours": lambda: our_majority(said, outcome, 0.5),
    }
    show("Weighted Majority", turns, options.repeats, rel_tol=1e-3)
    eta = math.sqrt(8 * math.log(n) / T)
    losses = rng.random((T, n))
    turns = {
        "numpy": lambda: numpy_hedge(losses, eta),
        "ours": lambda: our_losses(mb.experts.Hedge(eta), losses),
    }
    show("Hedge", turns, options.repeats)
    few = losses[: T // 10]
    turns = {"numpy": lambda: numpy_adahedge(few), "ours": lambda: our_losses(mb.experts.AdaHedge(), few)}
    show("AdaHedge, a tenth", turns, options.repeats)
    turns = {"numpy": lambda: numpy_ml_poly(few, few[:, 0] / 2), "ours": lambda: our_ml_poly(few, few[:, 0] / 2)}
    show("MLPoly, a tenth", turns, options.repeats)

    print(f"\n{'experts awake':>14} {'ns a round':>12} {'ns an expert':>13}   MLPoly, square loss")
    for awake in (1, 10, 100, 1_000, 10_000, 100_000):
        forecasts = rng.random((max(10, 2_000_000 // max(awake, 100)), awake))
        game, y = mb.experts.MLPoly(keep_bytes=0), forecasts[:, 0] / 2
        game.run(forecasts, y)
        start = time.perf_counter()
        for _ in range(options.repeats):
            game.run(forecasts, y)
        each = (time.perf_counter() - start) / (options.repeats * len(y)) * 1e9
        print(f"{awake:>14,} {each:>12,.0f} {each / awake:>13.2f}")


if __name__ == "__main__":
    main()
