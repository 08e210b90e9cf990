"""Weights round by round: what `run` of an engine does, watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import StreamError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.reference import Engine
    from mistakebound.play.expert_engine import CompiledEngine


def watched(
    engine: Engine | CompiledEngine, A: FloatArray, y: FloatArray
) -> tuple[list[Any], list[float], Exception | None, list[FloatArray]]:
    """What ``engine.run`` returns, and the weights that each round was mixed with; one round at a time."""
    forecasts: list[Any] = []
    losses: list[float] = []
    weights: list[FloatArray] = []
    for number in range(len(A)):
        try:
            before = engine.serve(A[number]).p.copy()
        except StreamError:
            before = np.zeros(0)  # playing the round says what is wrong with it
        forecast, loss, fault = engine.run(A[number : number + 1], y[number : number + 1])
        if fault is not None and not isinstance(fault, StreamError):
            return forecasts, losses, fault, weights
        if fault is not None:
            words = str(fault).removeprefix("round 0: ")
            return forecasts, losses, StreamError(words, round=number), weights
        forecasts.extend(forecast)
        losses.extend(loss)
        weights.append(before)
    return forecasts, losses, None, weights


def stacked(weights: Sequence[FloatArray], n: int) -> FloatArray:
    """Rounds × experts; who had not come yet had no weight.

    Examples
    --------
    >>> stacked([np.array([1.0]), np.array([0.25, 0.75])], 2).tolist()
    [[1.0, 0.0], [0.25, 0.75]]
    """
    table = np.zeros((len(weights), n))
    for row, each in zip(table, weights, strict=True):
        row[: len(each)] = each
    return table
