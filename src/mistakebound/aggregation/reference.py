"""A forecaster at work: rounds in, forecasts and losses out, and the sums that a certificate needs.

This is the specification; the core has a twin of it for most rules (``core/experts``), with the same methods.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.aggregation.mixture import infinite_loss
from mistakebound.errors import StreamError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.mixture import Forecaster, Served
    from mistakebound.losses import Loss

SUMS = ("regrets", "squares", "losses", "own_losses", "rounds")
"""For each expert, over the rounds in which it was awake: ``R_k`` and ``V_k`` as they were learned from (made linear by
the gradient trick), its losses, the learner's losses, and the number of those rounds."""


class Engine:
    """One forecaster, one loss, one loop."""

    def __init__(self, forecaster: Forecaster, loss: Loss, prior: FloatArray) -> None:
        self.forecaster, self.loss = forecaster, loss
        self.n = len(prior)
        self.sums = {name: np.zeros(self.n) for name in SUMS}
        self.learned = np.zeros(self.n)
        """Regrets that the last round was learned from."""

    def join(self, prior: FloatArray) -> None:
        """Let experts in at the end; ``prior`` is that of all."""
        self.forecaster.join(prior)
        new = np.zeros(len(prior) - self.n)
        self.n = len(prior)
        self.sums = {name: np.concatenate([values, new]) for name, values in self.sums.items()}

    def serve(self, x: FloatArray) -> Served:
        """Mix forecasts; NaN is asleep."""
        missing = np.isnan(x)
        awake = np.asarray(~(missing if x.ndim == 1 else missing.any(axis=1)), bool)
        if not awake.any():
            message = "every expert is asleep"
            raise StreamError(message)
        return self.forecaster.serve(np.where(missing, 0.0, x), awake)

    def learn(self, served: Served, outcome: FloatArray) -> float:
        """Learn from an outcome; return the learner's loss."""
        of = self.loss.vector_value if served.forecast.ndim else self.loss.value
        x, awake = served.x, served.awake
        with np.errstate(all="ignore"):
            mine, theirs = float(of(served.forecast, outcome)), of(x, outcome)
        lost = awake & ~np.isfinite(theirs)
        if not math.isfinite(mine):
            raise StreamError(infinite_loss(mine, int(np.argmax(lost)) if lost.any() else None))
        if lost.any():
            message = f"the loss of expert {int(np.argmax(lost))} is {theirs[int(np.argmax(lost))]}"
            raise StreamError(message)
        r, _ = self.forecaster.learn(served, outcome)
        self.learned = r
        everybody = bool(awake.all())
        added: tuple[FloatArray | float, ...] = (r, r**2, theirs, mine, 1.0)
        for name, values in zip(SUMS, added, strict=True):
            self.sums[name] += values if everybody else np.where(awake, values, 0.0)
        return mine

    def run(self, A: FloatArray, y: FloatArray) -> tuple[Sequence[Any], list[float], Exception | None]:
        """Round after round, until one is refused, or a loss of one's own raises: forecasts, losses, and why."""
        forecasts: list[Any] = []
        losses: list[float] = []
        for number, (x, outcome) in enumerate(zip(A, y, strict=True)):
            try:
                served = self.serve(x)
                losses.append(self.learn(served, np.asarray(outcome)))
            except StreamError as error:
                return forecasts, losses, StreamError(str(error), round=number)
            except Exception as error:  # noqa: BLE001 - for the caller to raise, when it has counted these rounds
                return forecasts, losses, error
            forecasts.append(served.forecast if served.forecast.ndim else float(served.forecast))
        return forecasts, losses, None

    def weights(self) -> FloatArray:
        """Weights if everybody is awake."""
        shape = (self.n,)
        return self.forecaster.serve(np.zeros(shape), np.ones(shape, bool)).p

    def bound(self) -> FloatArray | None:
        """What the rule's theorem allows each expert's regret to be."""
        return self.forecaster.bound()
