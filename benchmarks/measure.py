"""Fair timing: the contenders take turns, and what is compared is the best time of each in one run."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def best_times(contenders: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Seconds of the fastest of ``repeats`` turns of each contender, the turns interleaved."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeats):
        for name, work in contenders.items():
            gc.collect()
            start = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def ratio(best: Mapping[str, float], peer: str, ours: str) -> str:
    """How many times faster ours is, in words."""
    return f"{best[peer] / best[ours]:.2f}x"
