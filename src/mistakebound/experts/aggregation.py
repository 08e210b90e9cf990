"""What every rule that mixes forecasts shares: predict, then learn; one round, many, or with late outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support.locks import guarded
from mistakebound.experts.playing import Playing
from mistakebound.experts.showing import shown, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.certificates.regret_certificate import RegretCertificate
    from mistakebound.experts.tickets import Asked
    from mistakebound.losses import LossLike
    from mistakebound.play.expert_ledger import AggregationLedger

KEEP_BYTES = 16 * 2**20


class Aggregation(Playing):
    """Mix the forecasts of experts, and prove how little is lost to the best of them.

    Losses must be at most 1e150 in absolute value, and the largest of a round must be 0 or at least 1e-135; other
    rounds raise StreamError, because their squares do not fit into float64. With a fixed rate, the log loss or the
    percentage loss, there is no lower limit: smaller losses count as 0.

    Changing a parameter after the first round has no effect on the play, the ledger or the certificate.

    Parameters
    ----------
    loss : str, Loss or pair of functions
        ``square``, ``absolute``, ``percentage``, ``pinball:TAU``, ``log``, or a function with its gradient.
    gradient : bool, optional
        Learn from losses made linear at the forecast, and so compete with the best *convex combination* of the experts
        instead of the best expert. The default is True for convex losses.
    prior : sequence or dict, optional
        A positive weight for each expert; uniform if not given.
    keep_bytes : int
        Memory for advice and outcomes, from which a certificate is derived.
    """

    def __init__(
        self,
        loss: LossLike = "square",
        gradient: bool | None = None,  # noqa: FBT001 - scikit-learn's way to give parameters
        prior: Sequence[float] | Mapping[str, float] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.loss, self.gradient, self.prior, self.keep_bytes = loss, gradient, prior, keep_bytes
        super().__init__(loss, prior, keep_bytes)

    def __repr__(self) -> str:
        return shown(self, told(self._as_played, keep_bytes=KEEP_BYTES), len(self._losses), self._roster.n)

    @guarded
    def predict_one(self, advice: Any) -> Any:
        """Mix what the experts say: a sequence, an array or a dict; NaN, None and absent names are asleep."""
        self._unless_begun()
        roster, engine = self._roster, self._engine
        try:
            return self._serve(advice).prediction
        finally:
            self._roster, self._engine = roster, engine

    @guarded
    def weights_for(self, advice: Any) -> FloatArray:
        """Weights that this advice would be mixed with: 0 for who sleeps, and who is new comes last."""
        self._unless_begun()
        roster, engine = self._roster, self._engine
        try:
            return self._serve(advice).served.p.copy()
        finally:
            self._roster, self._engine = roster, engine

    @guarded
    def ask(self, advice: Any) -> Asked:
        """Mix what the experts say, for an outcome that comes later: `tell` it, once."""
        self._unless_begun()
        return self._open.add(self._serve(advice))

    @guarded
    def tell(self, asked: Asked, outcome: Any) -> None:
        """Learn from the outcome of a forecast made by `ask`; who has come since then slept."""
        number = len(self._losses)
        self._open.refuse(asked, type(self).__name__, number)
        self._learn(asked, outcome, number)
        self._open.close(asked)

    @guarded
    def learn_one(self, advice: Any, outcome: Any) -> None:
        """Mix, be told the outcome, and learn."""
        self._on_forecasts()
        self._one(advice, outcome)

    @guarded
    def run(self, A: Any, y: Any, *, keep_weights: bool = False) -> AggregationLedger:
        """Predict, then learn, over a whole stream.

        Parameters
        ----------
        A : array, DataFrame, dict of columns, or sequence of rounds
            Rounds × experts (× classes), NaN asleep; or rounds as `learn_one` takes them.
        y : sequence
            An outcome for each round.
        keep_weights : bool
            Keep the weights of each round, rounds × experts. The rounds are then played one by one, which is slower.

        Returns
        -------
        AggregationLedger
            Of these rounds ``predictions``, ``losses``, ``total_loss``, ``mean_loss`` and, if asked for, ``weights``.
            Of each expert, since the learner began: ``names``, ``expert_losses`` and the learner's ``regrets``, both
            over its ``expert_rounds``, in which it was awake; ``linear_regrets``, which the rule learned from; and the
            ``best_expert``, by loss a round.

        Examples
        --------
        >>> import mistakebound as mb
        >>> ledger = mb.experts.MLPoly().run([[20.0, 25.0], [21.0, 26.0]], [21.0, 22.0], keep_weights=True)
        >>> ledger.weights.tolist(), ledger.predictions.tolist()
        ([[0.5, 0.5], [1.0, 0.0]], [22.5, 21.0])
        """
        self._on_forecasts()
        return self._stream(A, y, keep_weights=keep_weights)

    @guarded
    def learn_losses(self, losses: Any) -> None:
        """Learn from a round of losses, when there are no forecasts: the learner loses their weighted mean."""
        self._on_losses()
        self._one(losses, 0.0)

    @guarded
    def run_losses(self, L: Any) -> FloatArray:
        """Play rounds × experts of losses (NaN asleep); return what the learner loses in each."""
        self._on_losses()
        L = L if hasattr(L, "__len__") else list(L)
        rounds = len(next(iter(L.values()), ())) if isinstance(L, Mapping) else len(L)
        return self._stream(L, np.zeros(rounds)).losses

    @property
    def weights_(self) -> FloatArray:
        """Weights of the experts, if all are awake."""
        with self._lock:
            return np.zeros(0) if self._engine is None else self._engine.weights()

    @property
    def ledger_(self) -> AggregationLedger:
        """What happened so far."""
        with self._lock:
            return self._since(0)

    def certify(self) -> RegretCertificate:
        """Regret beside what the rule's theorem allows, derived anew from the advice and the outcomes."""
        from mistakebound.certificates.regret_certificate import certify_regret  # noqa: PLC0415 - seldom needed

        return certify_regret(self.ledger_)
