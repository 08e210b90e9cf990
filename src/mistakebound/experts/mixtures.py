"""The rules that mix forecasts, by name. `MLPoly` is the default: nothing to tune, any scale of losses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound.aggregation.calibration import Calibrated
from mistakebound.aggregation.engine import Engine
from mistakebound.aggregation.exponential import AdaHedge as AdaHedgeRule
from mistakebound.aggregation.exponential import Anytime, Exponential
from mistakebound.aggregation.exponential import FixedShare as FixedShareRule
from mistakebound.aggregation.exponential import MLEwa as MLEwaRule
from mistakebound.aggregation.gradient import OGD as OGDRule  # noqa: N811
from mistakebound.aggregation.mixture import Mixture, regrets
from mistakebound.aggregation.polynomial import MLPoly as MLPolyRule
from mistakebound.aggregation.ridge import Ridge as RidgeForecaster
from mistakebound.aggregation.second_order import BOA as BOARule  # noqa: N811
from mistakebound.aggregation.second_order import FixedBOA, ObservedBOA, ObservedMLProd
from mistakebound.aggregation.second_order import MLProd as MLProdRule
from mistakebound.aggregation.second_order import Squint as SquintRule
from mistakebound.experts.aggregation import Aggregation
from mistakebound.losses import Square

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mistakebound.aggregation.base import Rule
    from mistakebound.aggregation.mixture import Served
    from mistakebound.arrays import FloatArray
    from mistakebound.losses import LossLike

ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1)


class _OneRule(Aggregation):
    """A rule on regrets that needs nothing but a prior."""

    def rule(self, prior: FloatArray) -> Rule:
        raise NotImplementedError

    def engine(self, prior: FloatArray) -> Engine:
        return Engine(Mixture(self.rule(prior), self._loss, gradient=self.uses_gradient), self._loss, prior)


class MLPoly(_OneRule):
    """Weights proportional to regrets, a rate for each expert, no unit and no knob: opera's default, and ours.

    ``w_k ∝ η_k (R_k)₊``, ``1/η_k = B² + V_k``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mixer = mb.experts.MLPoly()
    >>> ledger = mixer.run([[20.0, 25.0], [21.0, 26.0], [19.0, 24.0]], [21.0, 22.0, 20.0])
    >>> ledger.predictions.tolist()
    [22.5, 21.0, 19.0]
    >>> mixer.certify().status
    'holds'
    """

    id: ClassVar[str] = "ml-poly"

    def rule(self, prior: FloatArray) -> Rule:
        return MLPolyRule(prior)


class MLEwa(_OneRule):
    """Exponential weights with a rate for each expert, ``η_k = √(ln n/V_k)``; steady, but no theorem is known to us."""

    id: ClassVar[str] = "ml-ewa"

    def rule(self, prior: FloatArray) -> Rule:
        return MLEwaRule(prior)


class AdaHedge(_OneRule):
    """Hedge that finds its rate from how hard the stream has been: any range of losses, any horizon."""

    id: ClassVar[str] = "adahedge"

    def rule(self, prior: FloatArray) -> Rule:
        return AdaHedgeRule(prior)


class Squint(_OneRule):
    """All rates at once, weighed by their evidence."""

    id: ClassVar[str] = "squint"

    def rule(self, prior: FloatArray) -> Rule:
        return SquintRule(prior)


class OGD(_OneRule):
    """Projected online gradient descent on the simplex."""

    id: ClassVar[str] = "ogd"

    def rule(self, prior: FloatArray) -> Rule:
        return OGDRule(prior)


class BOA(_OneRule):
    """Bernstein online aggregation.

    Parameters
    ----------
    eta : float, optional
        A fixed rate, with a theorem if η|r| ≤ ½. Without it rates adapt.
    rates : str
        ``observed``: they know the round that they are used for, as in opera; better on real data, but no theorem is
        known to us. ``proved``: they know the rounds before it, as the theorem `boa-adaptive` asks.
    loss, gradient, prior, keep_bytes
        As in `MLPoly`.
    """

    id: ClassVar[str] = "boa"
    adaptive: ClassVar[dict[str, type[Rule]]] = {"observed": ObservedBOA, "proved": BOARule}

    def __init__(
        self,
        eta: float | None = None,
        rates: str = "observed",
        loss: LossLike = "square",
        gradient: bool | None = None,  # noqa: FBT001
        prior: Sequence[float] | Mapping[str, float] | None = None,
        **more: Any,
    ) -> None:
        if rates not in self.adaptive:
            message = f"rates must be 'observed' or 'proved', got {rates!r}"
            raise ValueError(message)
        self.eta, self.rates = positive("eta", eta), rates
        super().__init__(loss, gradient, prior, **more)

    def parameters(self) -> dict[str, Any]:
        return {"rates": self.rates} if self.eta is None else {"eta": self.eta}

    def rule(self, prior: FloatArray) -> Rule:
        return self.adaptive[self.rates](prior) if self.eta is None else FixedBOA(prior, self.eta)


class MLProd(_OneRule):
    """Multiplicative weights with a rate for each expert; ``rates`` as in `BOA`."""

    id: ClassVar[str] = "ml-prod"
    adaptive: ClassVar[dict[str, type[Rule]]] = {"observed": ObservedMLProd, "proved": MLProdRule}

    def __init__(
        self,
        rates: str = "observed",
        loss: LossLike = "square",
        gradient: bool | None = None,  # noqa: FBT001
        prior: Sequence[float] | Mapping[str, float] | None = None,
        **more: Any,
    ) -> None:
        if rates not in self.adaptive:
            message = f"rates must be 'observed' or 'proved', got {rates!r}"
            raise ValueError(message)
        self.rates = rates
        super().__init__(loss, gradient, prior, **more)

    def parameters(self) -> dict[str, Any]:
        return {"rates": self.rates}

    def rule(self, prior: FloatArray) -> Rule:
        return self.adaptive[self.rates](prior)


class Hedge(_OneRule):
    """Exponential weights.

    Parameters
    ----------
    eta : float, optional
        A fixed rate.
    horizon : int, optional
        The number of rounds, if known: ``η = √(8 ln n/T)/S``.
    loss_range : float
        S, for ``horizon``: how far the losses of a round may lie apart.
    loss, gradient, prior, keep_bytes
        As in `MLPoly`. With neither eta nor horizon the rate falls with the rounds and the range seen so far.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mixer = mb.experts.Hedge(eta=0.5)
    >>> mixer.run_losses([[0.0, 1.0], [0.0, 1.0]]).round(4).tolist()
    [0.5, 0.3775]
    """

    id: ClassVar[str] = "hedge"

    def __init__(
        self,
        eta: float | None = None,
        horizon: int | None = None,
        loss_range: float = 1.0,
        loss: LossLike = "square",
        gradient: bool | None = None,  # noqa: FBT001
        prior: Sequence[float] | Mapping[str, float] | None = None,
        **more: Any,
    ) -> None:
        if eta is not None and horizon is not None:
            message = "eta and horizon both set the rate: give one of them"
            raise ValueError(message)
        self.eta, self.horizon = positive("eta", eta), positive("horizon", horizon)
        self.loss_range = loss_range
        super().__init__(loss, gradient, prior, **more)

    def parameters(self) -> dict[str, Any]:
        known = {"eta": self.eta, "horizon": self.horizon}
        return {name: value for name, value in known.items() if value is not None}

    def rule(self, prior: FloatArray) -> Rule:
        if self.horizon is not None:
            return Exponential(prior, math.sqrt(8 * math.log(max(len(prior), 2)) / self.horizon) / self.loss_range)
        return Anytime(prior) if self.eta is None else Exponential(prior, self.eta)


class _CalibratedRule(Aggregation):
    """A rule whose rate, if it is not given, is found by trying."""

    def made(self, prior: FloatArray, eta: float, alpha: float) -> Rule:
        raise NotImplementedError

    def calibrated(self, prior: FloatArray, alphas: Sequence[float]) -> Engine:
        def first(served: Served, outcome: FloatArray) -> float:
            """One over the largest regret of the first round: the unit of a rate."""
            largest = float(np.abs(regrets(self._loss, served, outcome, gradient=self.uses_gradient)[0]).max())
            return 1 / largest if largest > 0 else math.nan

        def member(eta: float, alpha: float) -> Mixture:
            return Mixture(self.made(grid.prior, eta, alpha), self._loss, gradient=self.uses_gradient)

        grid = Calibrated(member, first, self._loss, alphas, prior=prior, gradient=self.uses_gradient)
        return Engine(grid, self._loss, prior)


class ExponentiallyWeightedAverage(_CalibratedRule):
    """The weighted mean of the forecasts, weights exponential in the regret.

    Parameters
    ----------
    eta : float or "theorem", optional
        ``theorem`` is the η at which the loss is exp-concave while forecasts and outcomes lie in [0, 1] (square ½, log 1),
        for which the regret is at most ln n/η whatever the number of rounds. Without it: 1 for the log loss, otherwise
        the rate is found by trying a grid of them that grows.
    loss, gradient, prior, keep_bytes
        As in `MLPoly`; ``gradient`` is False if the rate is the theorem's.

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
        **more: Any,
    ) -> None:
        super().__init__(loss, gradient, prior, **more)
        if eta is None and self._loss.id == "log":
            eta = "theorem"
        if isinstance(eta, str) and (eta != "theorem" or self._loss.exp_concave is None):
            message = f"there is no rate {eta!r} for the {self._loss.name}: give a number, or leave eta out"
            raise ValueError(message)
        self.eta = eta if isinstance(eta, str) else positive("eta", eta)

    @property
    def uses_gradient(self) -> bool:
        return False if self.eta == "theorem" and self.gradient is None else super().uses_gradient

    @property
    def rate(self) -> float | None:
        """η, if it is fixed."""
        return self._loss.exp_concave if self.eta == "theorem" else self.eta  # type: ignore[return-value]

    def parameters(self) -> dict[str, Any]:
        return {"eta": "calibrated" if self.rate is None else self.rate}

    def made(self, prior: FloatArray, eta: float, alpha: float) -> Rule:  # noqa: ARG002
        return Exponential(prior, eta)

    def engine(self, prior: FloatArray) -> Engine:
        if self.rate is None:
            return self.calibrated(prior, (0.0,))
        rule = Exponential(prior, self.rate)
        return Engine(Mixture(rule, self._loss, gradient=self.uses_gradient), self._loss, prior)


class FixedShare(_CalibratedRule):
    """Exponential weights, of which a share α is spread evenly after each round: competes with the best *sequence*.

    Parameters
    ----------
    eta, alpha : float, optional
        What is not given is found by trying: a grid of η that grows, and α of 10⁻⁴ to 10⁻¹.
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
        **more: Any,
    ) -> None:
        self.eta, self.alpha = positive("eta", eta), alpha
        if alpha is not None and not 0 <= alpha < 1:
            message = f"alpha must be at least 0 and below 1, got {alpha!r}"
            raise ValueError(message)
        super().__init__(loss, gradient, prior, **more)

    def parameters(self) -> dict[str, Any]:
        known = {"eta": self.eta, "alpha": self.alpha}
        return {name: "calibrated" if value is None else value for name, value in known.items()}

    def made(self, prior: FloatArray, eta: float, alpha: float) -> Rule:
        return FixedShareRule(prior, eta, alpha)

    def engine(self, prior: FloatArray) -> Engine:
        alphas = ALPHAS if self.alpha is None else (self.alpha,)
        if self.eta is None or self.alpha is None:
            return self.calibrated(prior, alphas)
        rule = FixedShareRule(prior, self.eta, self.alpha)
        return Engine(Mixture(rule, self._loss, gradient=self.uses_gradient), self._loss, prior)


class Ridge(Aggregation):
    """Online ridge regression on the forecasts: weights of either sign, for the square loss.

    Parameters
    ----------
    penalty : float, optional
        λ; without it a grid of them is tried.
    prior, keep_bytes
        As in `MLPoly`; weights are drawn towards the prior.
    """

    id: ClassVar[str] = "ridge"

    def __init__(
        self,
        penalty: float | None = None,
        prior: Sequence[float] | Mapping[str, float] | None = None,
        **more: Any,
    ) -> None:
        self.penalty = positive("penalty", penalty)
        super().__init__("square", False, prior, **more)

    def parameters(self) -> dict[str, Any]:
        return {"penalty": "calibrated" if self.penalty is None else self.penalty}

    def engine(self, prior: FloatArray) -> Engine:
        if self.penalty is not None:
            return Engine(RidgeForecaster(prior, self.penalty), self._loss, prior)

        def first(served: Served, outcome: FloatArray) -> float:  # noqa: ARG001
            return float(np.mean(served.x[served.awake] ** 2))

        def member(penalty: float, _: float) -> RidgeForecaster:
            return RidgeForecaster(grid.prior, penalty)

        grid = Calibrated(member, first, Square(), prior=prior, gradient=False)
        return Engine(grid, self._loss, prior)


def positive(name: str, value: Any) -> Any:
    """A number above 0, or None."""
    if value is not None and not 0 < value < math.inf:
        message = f"{name} must be a positive number, got {value!r}"
        raise ValueError(message)
    return value
