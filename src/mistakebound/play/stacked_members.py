"""Let the members of a grid of rates learn a round together: their states are the rows of arrays.

The result is that of `Engine` for each member, up to rounding. A member's arrays are views of these rows, so
that it can still forecast, be saved and be copied like any other engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.aggregation.exponential import Exponential, FixedShare
from mistakebound.aggregation.reference import EPSILON, LARGEST, LEAST, SMALLEST, SUMS, Engine, Mixture
from mistakebound.aggregation.ridge import Ridge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray


def stacked(members: Sequence[Any]) -> StackedMembers | None:
    """Return the members stacked; None if their rule cannot be stacked, or if there are none."""
    if not members or not all(isinstance(each, Engine) for each in members):
        return None
    forecaster = members[0].forecaster
    if isinstance(forecaster, Ridge):
        return StackedRidges(members)
    kind = type(forecaster.rule) if isinstance(forecaster, Mixture) else None
    if kind is Exponential:
        return StackedExponentials(members)
    return StackedShares(members) if kind is FixedShare else None


class StackedMembers:
    """Engines of one rule with different rates."""

    arrays: tuple[str, ...]
    """Names of the arrays of a rule's state."""

    def __init__(self, members: Sequence[Engine]) -> None:
        self.members, self.loss = list(members), members[0].loss
        self.rules: list[Any] = [getattr(each.forecaster, "rule", each.forecaster) for each in self.members]
        self.sums = {name: np.stack([each.sums[name] for each in self.members]) for name in SUMS}
        for name in self.arrays:
            setattr(self, name, np.stack([getattr(rule, name) for rule in self.rules]))
        for k, (member, rule) in enumerate(zip(self.members, self.rules, strict=True)):
            member.sums = {name: values[k] for name, values in self.sums.items()}
            for name in self.arrays:
                setattr(rule, name, getattr(self, name)[k])

    def learn(self, row: FloatArray, outcome: FloatArray) -> FloatArray | None:
        """Let all members learn a round; return the loss of each.

        Returns None, and changes nothing, for a round in which numbers of a member are not finite or too large: the
        members must then learn it one by one.
        """
        missing = np.isnan(row)
        awake = np.asarray(~(missing if row.ndim == 1 else missing.any(axis=1)), bool)
        try:
            with np.errstate(all="ignore"):
                return self._learn(np.where(missing, 0.0, row), awake, outcome)
        except Exception:  # noqa: BLE001 - a custom loss may raise anything, also for one member only
            return None

    def _learn(self, x: FloatArray, awake: BoolArray, outcome: FloatArray) -> FloatArray | None:
        raise NotImplementedError

    def _add(self, r: FloatArray, losses: FloatArray, own: FloatArray, awake: BoolArray) -> None:
        """Add a round to the sums of each expert."""
        added: tuple[FloatArray, ...] = (r, r**2, losses, own[:, None], np.ones(1))
        for name, values in zip(SUMS, added, strict=True):
            self.sums[name] += np.where(awake, values, 0.0)
        for k, member in enumerate(self.members):
            member.learned = r[k]

    @staticmethod
    def _clean(r: FloatArray, awake: BoolArray, noise: FloatArray) -> FloatArray:
        """Return the regrets without rounding errors, as `without_rounding` does for one member."""
        least = np.maximum(16 * EPSILON * noise, LEAST)[:, None]
        return np.where(awake & (np.abs(r) > least), r, 0.0)


class StackedMixtures(StackedMembers):
    """Rules that learn from regrets: `Mixture.serve` and `Mixture.learn` for all members."""

    def __init__(self, members: Sequence[Engine]) -> None:
        super().__init__(members)
        self.gradient = bool(members[0].forecaster.gradient)  # type: ignore[attr-defined]
        self.eta = np.array([[rule.eta] for rule in self.rules])
        self.gaps = np.array([rule.gaps for rule in self.rules])

    def weights(self) -> FloatArray:
        """Return the weights of all members, as the rule's ``weights`` does."""
        raise NotImplementedError

    def update(self, r: FloatArray) -> None:
        """Learn the regrets, as the rule's ``learn`` does."""
        raise NotImplementedError

    def _learn(self, x: FloatArray, awake: BoolArray, outcome: FloatArray) -> FloatArray | None:
        loss, vectors = self.loss, x.ndim > 1
        w = np.where(awake, self.weights(), 0.0)
        total = w.sum(axis=1)
        if not (total > SMALLEST).all():
            return None
        p = w / total[:, None]
        forecasts = x[awake]
        mean = (p @ x) / (p.sum(axis=1)[:, None] if vectors else p.sum(axis=1))
        forecast = np.clip(mean, forecasts.min(axis=0), forecasts.max(axis=0))
        value, slope_of = (loss.vector_value, loss.vector_gradient) if vectors else (loss.value, loss.gradient)
        own, losses = value(forecast, outcome), value(x, outcome)
        slope = slope_of(forecast, outcome)
        if not vectors:
            forecast, slope, x = forecast[:, None], slope[:, None], x[:, None]
        steep = np.abs(slope).sum(axis=1)
        noise = steep * float(np.abs(x).max())
        if self.gradient:
            h = (slope * forecast).sum(axis=1)
            r = ((forecast[:, None, :] - x) * slope[:, None, :]).sum(axis=2)
        else:
            h = own
            r = own[:, None] - losses
            noise = np.where(np.isfinite(steep), noise + np.abs(own), np.abs(own))
        r = self._clean(r, awake, noise)
        fits = np.isfinite(own).all() and not np.isnan(steep).any() and np.isfinite(losses[awake]).all()
        if not fits or not max(float(np.abs(r).max()), float(np.abs(h).max())) <= LARGEST:
            return None
        spread = r.max(axis=1) - r.min(axis=1)
        self.update(r)
        self.gaps += np.minimum(spread, self.eta[:, 0] * spread**2 / 8)
        for rule, gaps in zip(self.rules, self.gaps.tolist(), strict=True):
            rule.gaps = gaps
            rule.rounds += 1
        self._add(r, losses, own, awake)
        return np.asarray(own)


class StackedExponentials(StackedMixtures):
    """Members that are `Exponential`."""

    arrays = ("R", "log_prior")
    R: FloatArray
    log_prior: FloatArray

    def weights(self) -> FloatArray:
        """Return ``π e^{ηR}``, the largest of a member 1."""
        z = self.log_prior + self.eta * self.R
        return np.asarray(np.exp(z - z.max(axis=1, keepdims=True)))

    def update(self, r: FloatArray) -> None:
        """Add r to R."""
        self.R += r


class StackedShares(StackedMixtures):
    """Members that are `FixedShare`."""

    arrays = ("R", "z", "log_prior")
    R: FloatArray
    z: FloatArray
    log_prior: FloatArray

    def __init__(self, members: Sequence[Engine]) -> None:
        super().__init__(members)
        alpha = np.array([[rule.alpha] for rule in self.rules])
        with np.errstate(divide="ignore"):
            self.log_share, self.log_rest = np.log(alpha / self.R.shape[1]), np.log1p(-alpha)

    def weights(self) -> FloatArray:
        """Return the weights, which sum to 1."""
        return np.asarray(np.exp(self.z))

    def update(self, r: FloatArray) -> None:
        """Compute ``w ← α/n + (1−α)·w e^{ηr}/Σ`` in logarithms."""
        v = self.z + self.eta * r
        top = v.max(axis=1, keepdims=True)
        v -= top + np.log(np.exp(v - top).sum(axis=1, keepdims=True))
        self.z[:] = np.logaddexp(self.log_share, self.log_rest + v)
        self.R += r


class StackedRidges(StackedMembers):
    """Members that are ridge regressions: `Ridge.serve` and `Ridge.learn` for all of them."""

    arrays = ("w", "inverse")
    w: FloatArray
    inverse: FloatArray

    def _learn(self, x: FloatArray, awake: BoolArray, outcome: FloatArray) -> FloatArray | None:
        if x.ndim > 1:
            return None
        y = float(outcome)
        full = np.where(awake, x, x[awake].mean())
        forecast = self.w @ full
        own, losses = (forecast - y) ** 2, (full - y) ** 2
        noise = 2 * np.abs(forecast - y) * float(np.abs(full).max()) + own
        r = self._clean(own[:, None] - losses, awake, noise)
        if not np.isfinite(own).all() or not max(float(np.abs(r).max()), float(own.max())) <= LARGEST:
            return None
        gain = self.inverse @ full
        size = 1 + gain @ full
        self.w += gain * ((y - forecast) / size)[:, None]
        self.inverse -= gain[:, :, None] * (gain / size[:, None])[:, None, :]
        self._add(r, losses, own, awake)
        return np.asarray(own)
