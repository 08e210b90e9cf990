"""The pictures of ledgers over experts, as methods. Each returns a matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mistakebound._support.lazy import np

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.play.expert_ledger import AggregationLedger, ExpertLedger


class WeightPlots:
    """The picture of weights that both ledgers over experts have."""

    def plot_weights(self, *, dark: bool = False) -> Any:
        """Draw the weights of the experts over time, if ``run(..., keep_weights=True)`` kept them."""
        from mistakebound.viz.expert_charts import thinned_rounds  # noqa: PLC0415 - here and below, it needs matplotlib
        from mistakebound.viz.plot import weights  # noqa: PLC0415

        ledger = cast("ExpertLedger | AggregationLedger", self)
        if ledger.weights is None:
            message = "the weights were not kept: run(..., keep_weights=True) keeps them"
            raise ValueError(message)
        at = thinned_rounds(len(ledger.weights))
        return weights(at, ledger.weights[at], ledger.names, f"Weights of the experts by {ledger.rule}", dark=dark)


class VotePlots(WeightPlots):
    """Pictures of an `ExpertLedger`."""

    def plot(self, *, dark: bool = False) -> Any:
        """Draw the number of mistakes by round."""
        from mistakebound.viz.plot import mistakes  # noqa: PLC0415

        ledger = cast("ExpertLedger", self)
        return mistakes({ledger.rule: (ledger, None)}, "Mistakes", dark=dark)

    def plot_windows(self, width: int | None = None, *, dark: bool = False) -> Any:
        """Draw the mistakes per 100 rounds in windows of ``width`` rounds, by default in about 40 windows."""
        from mistakebound.viz.plot import windows  # noqa: PLC0415

        ledger = cast("ExpertLedger", self)
        return windows({ledger.rule: ledger}, width, dark=dark)


class MixturePlots(WeightPlots):
    """Pictures of an `AggregationLedger`."""

    def plot_regret(self, expert: str | None = None, *, dark: bool = False) -> Any:
        """Draw the loss of the learner minus that of an expert, by default of the best one, after each round.

        Rounds in which the expert was asleep do not count.
        """
        from mistakebound.viz.plot import regret  # noqa: PLC0415

        ledger = cast("AggregationLedger", self)
        name = ledger.best_expert if expert is None else expert
        if name not in ledger.names:
            message = f"there is no expert {name!r}; the experts are: {', '.join(ledger.names)}"
            raise ValueError(message)
        title = f"Loss so far minus the loss of {'the best expert, ' if expert is None else ''}{name}"
        return regret({ledger.rule: self._regret_to(ledger.names.index(name))}, title, dark=dark)

    def _regret_to(self, place: int) -> FloatArray:
        """Return the regret to an expert after each round, from the advice that was kept."""
        ledger = cast("AggregationLedger", self)
        if not (ledger.from_start and ledger.kept.complete):
            message = "the regret over time needs all advice since the first round: increase keep_bytes"
            raise ValueError(message)
        advice, outcomes = (each[: ledger.rounds] for each in ledger.kept.rounds())
        forecasts = advice[:, place]
        value = ledger.loss.vector_value if forecasts.ndim == 2 else ledger.loss.value
        losses = value(forecasts, outcomes)
        return np.asarray(np.cumsum(np.where(np.isnan(losses), 0.0, ledger.losses - losses)))
