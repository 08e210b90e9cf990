"""The learners that mix forecasts. `MLPoly` is the default: it has no parameter to tune, and losses of any scale."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from mistakebound.aggregation.exponential import Exponential
from mistakebound.experts.aggregation import KEEP_BYTES, Aggregation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.base import Rule
    from mistakebound.losses import LossLike


class MLPoly(Aggregation):
    """Weights proportional to regrets, with a rate for each expert and nothing to tune: the default, as in R's opera.

    ``w_k ∝ η_k (R_k)₊`` with ``1/η_k = B² + V_k``. R_k is the regret to expert k so far: the sum of ``r_k``, the
    learner's loss minus the loss of k, over the rounds in which k was awake. V_k is the sum of their squares. B is the
    largest ``|r|`` so far, of any expert. See docs/theory.md, "ML-Poly".

    Parameters
    ----------
    loss : str, Loss or pair of functions
        ``square``, ``absolute``, ``percentage``, ``pinball:TAU``, ``log``; or a pair (loss, gradient) of functions of
        (forecast, outcome), which work elementwise on arrays.
    gradient : bool, optional
        Learn from losses linearised at the forecast: the learner then competes with the best *convex combination* of
        the experts instead of the best expert. The default is True for convex losses.
    prior : sequence or dict by name, optional
        A positive weight for each expert; uniform by default. An expert that a dict does not name has the mean weight.
    keep_bytes : int
        Memory for advice and outcomes, from which `certify` recomputes the certificate; 16 MiB by default. If they need
        more, they are dropped, and the certificate is ``incomplete``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mixer = mb.experts.MLPoly()
    >>> ledger = mixer.run([[20.0, 25.0], [21.0, 26.0], [19.0, 24.0]], [21.0, 22.0, 20.0])
    >>> ledger.predictions.round(3).tolist()
    [22.5, 21.0, 19.845]
    >>> mixer.certify().status
    'holds'
    """

    id: ClassVar[str] = "ml-poly"


class MLEwa(Aggregation):
    """Exponential weights with a rate for each expert, ``η_k = √(ln n/V_k)``. No theorem is known.

    See docs/theory.md, "ML-Ewa".

    Parameters
    ----------
    loss, gradient, prior, keep_bytes
        As in `MLPoly`.
    """

    id: ClassVar[str] = "ml-ewa"


class AdaHedge(Aggregation):
    """Hedge with a rate that adapts to the losses so far, for any range of losses and any number of rounds.

    See docs/theory.md, "AdaHedge".

    Parameters
    ----------
    loss, gradient, prior, keep_bytes
        As in `MLPoly`.
    """

    id: ClassVar[str] = "adahedge"


class Squint(Aggregation):
    """Weights averaged over all rates, each weighted by how well it has done.

    See docs/theory.md, "Squint".

    Parameters
    ----------
    loss, gradient, prior, keep_bytes
        As in `MLPoly`.
    """

    id: ClassVar[str] = "squint"


class OGD(Aggregation):
    """Projected online gradient descent on the simplex.

    See docs/theory.md, "Projected gradient descent".

    Parameters
    ----------
    loss, gradient, prior, keep_bytes
        As in `MLPoly`.
    """

    id: ClassVar[str] = "ogd"


class BOA(Aggregation):
    """Bernstein online aggregation.

    See docs/theory.md, "BOA with adaptive rates", and for a fixed rate docs/theory.md, "BOA at a fixed rate".

    Parameters
    ----------
    eta : float, optional
        A fixed rate; there is a theorem if η|r| ≤ ½. By default rates adapt.
    rates : str
        ``observed``: rates use the losses of the round that they are applied to, as in opera; better on real data, but
        no theorem is known. ``proved``: rates use only earlier rounds, as the theorem `boa-adaptive` requires.
    loss, gradient, prior, keep_bytes
        As in `MLPoly`.
    """

    id: ClassVar[str] = "boa"

    def __init__(
        self,
        eta: float | None = None,
        rates: str = "observed",
        loss: LossLike = "square",
        gradient: bool | None = None,  # noqa: FBT001
        prior: Sequence[float] | Mapping[str, float] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.eta, self.rates = eta, rates
        super().__init__(loss, gradient, prior, keep_bytes)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the rule, for a ledger."""
        return {"rates": self.rates} if self.eta is None else {"eta": self.eta}


class MLProd(Aggregation):
    """Multiplicative weights with a rate for each expert.

    See docs/theory.md, "ML-Prod".

    Parameters
    ----------
    rates : str
        As in `BOA`.
    loss, gradient, prior, keep_bytes
        As in `MLPoly`.
    """

    id: ClassVar[str] = "ml-prod"

    def __init__(
        self,
        rates: str = "observed",
        loss: LossLike = "square",
        gradient: bool | None = None,  # noqa: FBT001
        prior: Sequence[float] | Mapping[str, float] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.rates = rates
        super().__init__(loss, gradient, prior, keep_bytes)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the rule, for a ledger."""
        return {"rates": self.rates}


class Hedge(Aggregation):
    """Exponential weights.

    See docs/theory.md, "Hedge".

    Parameters
    ----------
    eta : float, optional
        A fixed rate.
    horizon : int, optional
        The number of rounds T, if it is known: ``η = √(8 ln n/T)/S``.
    loss_range : float
        S, for ``horizon``: the largest difference between two losses of a round.
    loss, gradient, prior, keep_bytes
        As in `MLPoly`. With neither eta nor horizon, the rate falls with the number of rounds and the range of losses.

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
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.eta, self.horizon, self.loss_range = eta, horizon, loss_range
        super().__init__(loss, gradient, prior, keep_bytes)

    def _check(self) -> None:
        if self.eta is not None and self.horizon is not None:
            message = f"eta and horizon cannot both be set, got eta={self.eta!r} and horizon={self.horizon!r}"
            raise ValueError(message)
        super()._check()

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the rule, for a ledger."""
        known = {"eta": self.eta, "horizon": self.horizon}
        return {name: value for name, value in known.items() if value is not None}

    def _rule(self, prior: FloatArray) -> Rule:
        if self.horizon is not None:
            return Exponential(prior, math.sqrt(8 * math.log(max(len(prior), 2)) / self.horizon) / self.loss_range)
        return super()._rule(prior)
