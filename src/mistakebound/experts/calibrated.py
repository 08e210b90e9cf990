"""Learners that choose their rate from a grid while they learn, unless a rate is passed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound.aggregation.exponential import ExpConcave, Exponential
from mistakebound.aggregation.exponential import FixedShare as FixedShareRule
from mistakebound.aggregation.reference import Engine, Mixture, regrets
from mistakebound.aggregation.ridge import Ridge as RidgeForecaster
from mistakebound.experts.aggregation import KEEP_BYTES, Aggregation
from mistakebound.losses import Square, loss_named
from mistakebound.play.calibrated_engine import Calibrated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.base import Rule
    from mistakebound.aggregation.reference import Served
    from mistakebound.losses import Loss, LossLike

ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1)


@dataclass(frozen=True)
class _Rates:
    """A grid of rates; the first rate is 1 divided by the largest regret of the first round."""

    rule: Callable[[FloatArray, float, float], Rule]
    loss: Loss
    gradient: bool

    def first(self, served: Served, outcome: FloatArray) -> float:
        largest = float(np.abs(regrets(self.loss, served, outcome, gradient=self.gradient)[0]).max())
        return 1 / largest if largest > 0 else math.nan

    def make(self, prior: FloatArray, eta: float, alpha: float) -> Mixture:
        return Mixture(self.rule(prior, eta, alpha), self.loss, gradient=self.gradient)


@dataclass(frozen=True)
class _Penalties:
    """A grid of penalties of ridge regression; the first penalty is the mean square of the first forecasts."""

    def first(self, served: Served, outcome: FloatArray) -> float:  # noqa: ARG002
        return float(np.mean(served.x[served.awake] ** 2))

    def make(self, prior: FloatArray, penalty: float, other: float) -> RidgeForecaster:  # noqa: ARG002
        return RidgeForecaster(prior, penalty)


def _exponential(prior: FloatArray, eta: float, alpha: float) -> Rule:  # noqa: ARG001
    return Exponential(prior, eta)


class ExponentiallyWeightedAverage(Aggregation):
    """The weighted mean of the forecasts, with weights that are exponential in the regret.

    See docs/theory.md, "The exponentially weighted average".

    Parameters
    ----------
    eta : float or "theorem", optional
        ``"theorem"`` is the largest η at which the loss is exp-concave for forecasts and outcomes in [0, 1]: ½ for the
        square loss, 1 for the log loss. The regret is then at most ln n/η for any number of rounds. The default is
        ``"theorem"`` for the log loss; otherwise the rate is chosen from a growing grid, which keeps all rounds in
        memory.
    loss, gradient, prior, keep_bytes
        As in `MLPoly`; the default of ``gradient`` is False if eta is ``"theorem"``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mixer = mb.experts.ExponentiallyWeightedAverage(eta="theorem")
    >>> ledger = mixer.run([[0.9, 0.2]] * 20, [1.0] * 20)
    >>> certificate = mixer.certify()
    >>> certificate.theorem, round(certificate.bound, 3), certificate.regret < certificate.bound
    ('exponentially-weighted-average', 1.386, True)
    """

    id: ClassVar[str] = "exponentially-weighted-average"

    def __init__(
        self,
        eta: float | str | None = None,
        loss: LossLike = "square",
        gradient: bool | None = None,  # noqa: FBT001
        prior: Sequence[float] | Mapping[str, float] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.eta: Any = eta
        super().__init__(loss, gradient, prior, keep_bytes)

    def _check(self) -> None:
        loss = loss_named(self.loss)
        if self.eta is None and loss.id == "log":
            self.eta = "theorem"
        if isinstance(self.eta, str) and (self.eta != "theorem" or loss.exp_concave is None):
            message = f"eta must be a positive number or None for the {loss.name}, got {self.eta!r}"
            raise ValueError(message)
        super()._check()

    @property
    def uses_gradient(self) -> bool:
        """Whether the rule learns from linearised losses; by default not if eta is ``"theorem"``."""
        return False if self.eta == "theorem" and self.gradient is None else super().uses_gradient

    @property
    def rate(self) -> float | None:
        """η if it is fixed, else None."""
        return self._loss.exp_concave if self.eta == "theorem" else self.eta

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the rule, for a ledger."""
        return {"eta": "calibrated" if self.rate is None else self.rate}

    def _make(self, prior: FloatArray) -> Engine:
        if self.rate is None:
            rates = _Rates(_exponential, self._loss, self.uses_gradient)
            return Engine(Calibrated(rates, self._loss, prior=prior, gradient=rates.gradient), self._loss, prior)
        rule = (Exponential if self.uses_gradient else ExpConcave)(prior, self.rate)
        return Engine(Mixture(rule, self._loss, gradient=self.uses_gradient), self._loss, prior)


class FixedShare(Aggregation):
    """Exponential weights of which a share α is spread evenly after each round; competes with the best *sequence*.

    See docs/theory.md, "Fixed Share".

    Parameters
    ----------
    eta, alpha : float, optional
        A parameter that is None is chosen from a grid: η from a growing grid, which keeps all rounds in memory; α from
        10⁻⁴ to 10⁻¹.
    loss, gradient, prior, keep_bytes
        As in `MLPoly`.
    """

    id: ClassVar[str] = "fixed-share"

    def __init__(
        self,
        eta: float | None = None,
        alpha: float | None = None,
        loss: LossLike = "square",
        gradient: bool | None = None,  # noqa: FBT001
        prior: Sequence[float] | Mapping[str, float] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.eta, self.alpha = eta, alpha
        super().__init__(loss, gradient, prior, keep_bytes)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the rule, for a ledger."""
        known = {"eta": self.eta, "alpha": self.alpha}
        return {name: "calibrated" if value is None else value for name, value in known.items()}

    def _make(self, prior: FloatArray) -> Engine:
        if self.eta is not None and self.alpha is not None:
            rule = FixedShareRule(prior, self.eta, self.alpha)
            return Engine(Mixture(rule, self._loss, gradient=self.uses_gradient), self._loss, prior)
        alphas = ALPHAS if self.alpha is None else (self.alpha,)
        rates = _Rates(FixedShareRule, self._loss, self.uses_gradient)
        grid = Calibrated(rates, self._loss, alphas, prior=prior, gradient=rates.gradient, only=self.eta)
        return Engine(grid, self._loss, prior)


class Ridge(Aggregation):
    """Online ridge regression on the forecasts: weights of either sign, for the square loss.

    See docs/theory.md, "Ridge regression".

    Parameters
    ----------
    penalty : float, optional
        λ; by default it is chosen from a growing grid, which keeps all rounds in memory.
    prior, keep_bytes
        As in `MLPoly`; the penalty pulls weights towards the prior.
    """

    id: ClassVar[str] = "ridge"

    def __init__(
        self,
        penalty: float | None = None,
        prior: Sequence[float] | Mapping[str, float] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.penalty = penalty
        super().__init__("square", False, prior, keep_bytes)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the rule, for a ledger."""
        return {"penalty": "calibrated" if self.penalty is None else self.penalty}

    def _make(self, prior: FloatArray) -> Engine:
        if self.penalty is not None:
            return Engine(RidgeForecaster(prior, self.penalty), self._loss, prior)
        grid = Calibrated(_Penalties(), Square(), prior=prior, gradient=False)
        return Engine(grid, self._loss, prior)
