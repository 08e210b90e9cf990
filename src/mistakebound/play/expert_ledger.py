"""Ledgers of learners over experts: `ExpertLedger` for votes, `AggregationLedger` for mixed forecasts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound._support.text import html_table
from mistakebound.play.expert_ledger_plots import MixturePlots, VotePlots
from mistakebound.play.ledger import curve_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mistakebound._support.arrays import AnyArray, FloatArray, IntArray
    from mistakebound.aggregation.reference import Engine
    from mistakebound.losses import Loss


MOST_EXPERTS = 2**31
"""Most experts that a file may have."""


@dataclass(frozen=True)
class ExpertLedger(VotePlots):
    """The record of a learner that follows votes, for all of its rounds or for those of one ``run``.

    ``expert_mistakes`` counts the mistakes of each expert. ``expected_mistakes`` is Σ F_t, where F_t is the share of
    the weight that is wrong in round t; the theorem on the randomized rule bounds this sum.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mb.experts.WeightedMajority().run([[0, 1, 1], [0, 1, 1]], [0, 0])
    <ExpertLedger: 2 mistakes in 2 rounds, weighted-majority; experts: 3, the best '0' with 0 mistakes in 2 rounds>
    """

    rule: str
    beta: float
    rounds: int
    predictions: AnyArray
    mistake_rounds: IntArray
    expert_mistakes: IntArray
    expected_mistakes: float
    expert_losses: FloatArray
    """Mistakes of each expert, plus the learner's expected losses while the expert slept, as in the theorems."""
    expert_rounds: IntArray
    """Number of rounds in which each expert was awake."""
    prior: FloatArray
    names: tuple[str, ...]
    from_start: bool = True
    """Whether these rounds include the learner's first round."""
    late: int = 0
    """Number of outcomes, since the learner's first round, that came after later rounds were learned."""
    weights: FloatArray | None = None
    """Weights of each round, rounds × experts, 0 for sleeping experts; None unless ``run`` kept them."""
    mixed: bool = False
    """Whether rounds, since the learner's first, were learned in parts that were then mixed (``mb.mix``)."""

    def __repr__(self) -> str:
        summary = (
            f"<{type(self).__name__}: {self.mistakes} mistakes in {self.rounds} rounds, {self.rule}; "
            f"experts: {len(self.names)}"
        )
        if not self.rounds:
            return summary + ">"
        best = self.best_expert
        mistakes, awake = self.expert_mistakes[best], self.expert_rounds[best]
        return f"{summary}, the best {self.names[best]!r} with {mistakes} mistakes in {awake} rounds>"

    @property
    def mistakes(self) -> int:
        """Number of wrong predictions of the learner."""
        return len(self.mistake_rounds)

    @property
    def best_expert(self) -> int:
        """Index of the expert with the smallest loss."""
        return int(np.argmin(self.expert_losses))

    @property
    def mistake_curve(self) -> IntArray:
        """Number of mistakes up to and including each round."""
        return curve_of(self.mistake_rounds, self.rounds)

    @property
    def loss_curve(self) -> FloatArray:
        """Loss up to and including each round; a mistake is a loss of 1."""
        return self.mistake_curve.astype(float)

    def to_json(self) -> str:
        """Return the ledger without ``weights`` as JSON text, which ``ExpertLedger.from_json`` reads."""
        from mistakebound.play.expert_ledger_schema import votes_to_json  # noqa: PLC0415 - not needed to learn

        return votes_to_json(self)

    @classmethod
    def from_json(cls, text: str) -> ExpertLedger:
        """Return the ledger that ``to_json`` wrote; raise ModelError with the ``field`` that is not valid."""
        from mistakebound.play.expert_ledger_schema import read_votes  # noqa: PLC0415 - not needed to learn

        return cls(**read_votes(text))

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        return html_table(type(self).__name__, self._table())

    def _table(self) -> dict[str, Any]:
        rows: dict[str, Any] = {"mistakes": self.mistakes, "rounds": self.rounds, "experts": len(self.names)}
        rows["rule"] = self.rule
        if self.rounds:
            best = self.best_expert
            rows["best expert"] = f"{self.names[best]} ({self.expert_mistakes[best]} mistakes)"
        return rows


class KeptAdvice:
    """Advice and outcomes of all rounds, if they fit into ``most`` bytes; otherwise of none."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.bytes = 0
        self.complete = True
        self.count = 0
        self.joins: dict[int, FloatArray] = {}
        """Rounds before which experts joined, and the prior from then on, with its exact bits."""
        self._width = 0
        self._parts: list[tuple[FloatArray, FloatArray]] = []

    def add(self, advice: FloatArray, outcomes: FloatArray, prior: Callable[[], FloatArray]) -> None:
        """Keep more rounds; ``prior`` is called if experts have joined."""
        self._count(len(outcomes), advice.shape[1], advice.nbytes + outcomes.nbytes, prior)
        if self.complete and len(outcomes):
            self._parts.append((advice.copy(), outcomes.copy()))

    def extend(self, other: KeptAdvice, begin: int, order: Sequence[int], prior: Callable[[], FloatArray]) -> None:
        """Keep also the rounds of another learner from ``begin`` on, with its experts in this order."""
        if other.complete:
            advice, outcomes = other.rounds()
            self.add(advice[begin:][:, list(order)], outcomes[begin:], prior)
        else:
            self._count(other.count - begin, len(order), other.bytes, prior)

    def _count(self, rounds: int, width: int, size: int, prior: Callable[[], FloatArray]) -> None:
        """Count rounds with this number of experts; drop all advice if it no longer fits."""
        if rounds and width > self._width:
            self._width = width
            self.joins[self.count] = prior()
        self.count += rounds
        self.bytes += size
        if self.bytes > self.most:
            self.complete = False
            self._parts.clear()

    def rounds(self) -> tuple[FloatArray, FloatArray]:
        """Return advice and outcomes of all rounds; experts are asleep, NaN, before they joined."""
        if not self._parts:
            return np.zeros((0, 0)), np.zeros(0)
        n = max(advice.shape[1] for advice, _ in self._parts)
        rows = [
            np.concatenate([a, np.full((a.shape[0], n - a.shape[1], *a.shape[2:]), np.nan)], axis=1)
            for a, _ in self._parts
        ]
        self._parts = [(np.concatenate(rows), np.concatenate([y for _, y in self._parts]))]
        return self._parts[0]

    def export(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """Return the content for a file: numbers for JSON, and arrays by name."""
        advice, outcomes = self.rounds()
        joins = {"joins": list(self.joins), "widths": [len(prior) for prior in self.joins.values()]}
        priors = np.concatenate([np.zeros(0), *self.joins.values()])
        numbers = {"count": self.count, "bytes": self.bytes, "complete": self.complete, **joins}
        return numbers, {"advice": advice, "outcomes": outcomes, "priors": priors}

    def restore(self, numbers: Any, arrays: Mapping[str, AnyArray], shape: tuple[int, ...]) -> None:
        """Set the content that ``export`` returned, for forecasts of this shape; raise ModelError if not valid."""
        from mistakebound._support import schema  # noqa: PLC0415 - only files need it
        from mistakebound._support.schema import need  # noqa: PLC0415

        names = ("count", "bytes", "complete", "joins", "widths")
        count, size, complete, joins, widths = schema.fields(numbers, *names, path="kept")
        self.count, self.bytes = schema.whole(count, "kept.count"), schema.whole(size, "kept.bytes")
        self.complete = schema.flag(complete, "kept.complete")
        fits = self.bytes <= self.most
        need(self.complete == fits, f"kept.complete must be {fits} for {self.bytes} kept.bytes", "kept.complete")
        schema.rising(joins, "kept.joins", self.count - 1)
        need(not joins or joins[0] == 0, "kept.joins must begin with 0", "kept.joins")
        need(bool(joins) == (self.count > 0), "kept.joins must be empty if and only if kept.count is 0", "kept.joins")
        schema.rising(widths, "kept.widths", MOST_EXPERTS, len(joins))
        priors, advice, outcomes = (arrays[name] for name in ("priors", "advice", "outcomes"))
        sound = priors.size == sum(widths) and np.isfinite(priors).all() and (priors > 0).all()
        need(sound, f"kept.priors must have {sum(widths)} positive numbers, the sum of kept.widths", "kept.priors")
        self._width = widths[-1] if widths else 0
        self.joins = dict(zip(joins, np.split(priors.copy(), np.cumsum(widths)[:-1]), strict=True)) if joins else {}
        sums = all(abs(float(prior.sum()) - 1) < 1e-6 for prior in self.joins.values())
        need(sums, "kept.priors must sum to 1 in each of kept.joins", "kept.priors")
        rounds, classes = self.count if self.complete else 0, int(np.prod(shape))
        fits = advice.size == rounds * self._width * classes and outcomes.size == rounds * classes
        need(fits, f"kept.advice and kept.outcomes must have {rounds} rounds, as kept.count", "kept.advice")
        finite = not np.isinf(advice).any() and np.isfinite(outcomes).all()
        need(finite, "kept.advice and kept.outcomes must be finite", "kept.advice")
        if rounds:
            self._parts = [
                (advice.reshape(rounds, self._width, *shape).copy(), outcomes.reshape(rounds, *shape).copy())
            ]


@dataclass(frozen=True)
class AggregationLedger(MixturePlots):
    """The record of a learner that mixes forecasts, for all of its rounds or for those of one ``run``.

    ``expert_losses`` has each expert's loss over the rounds in which it was awake, since the learner's first round.
    ``regrets`` has the learner's losses minus the expert's over those rounds. With the gradient trick the rule learns
    from ``linear_regrets``, on losses linearised at its forecasts; they are at least the regrets.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mixer = mb.experts.MLPoly()
    >>> mixer.run({"Ann": [20.0, 21.0], "Bob": [25.0, 26.0]}, [21.0, 22.0])  # doctest: +NORMALIZE_WHITESPACE
    <AggregationLedger: ml-poly; 2 rounds, 2 experts; square loss 3.25;
    best expert: 'Ann' with 2 in 2 rounds; largest regret: 1.25 to 'Ann'>
    >>> mixer
    <MLPoly(): 2 rounds, 2 experts>
    """

    rule: str
    parameters: dict[str, Any]
    loss: Loss
    gradient: bool
    names: tuple[str, ...]
    prior: FloatArray
    predictions: FloatArray
    losses: FloatArray
    sums: dict[str, FloatArray]
    from_start: bool
    late: int
    kept: KeptAdvice
    make: Callable[[FloatArray], Engine] = field(compare=False)
    weights: FloatArray | None = field(default=None, compare=False)
    """Weights of each round, rounds × experts, 0 for sleeping experts; None unless ``run`` kept them."""
    before: int | None = field(default=None, compare=False)
    """Number of rounds that were learned before these; None if it is not known."""
    mixed: bool = False
    """Whether rounds, since the learner's first, were learned in parts that were then mixed (``mb.mix``)."""

    def __repr__(self) -> str:
        summary = f"<AggregationLedger: {self.rule}; {count(self.rounds, 'round')}, {count(len(self.names), 'expert')}"
        awake = self.expert_rounds > 0
        if not awake.any():
            return summary + ">"
        best = self.names.index(self.best_expert)
        most = int(np.argmax(np.where(awake, self.regrets, -np.inf)))
        lost = f"{self.expert_losses[best]:.6g} in {count(int(self.expert_rounds[best]), 'round')}"
        since = "" if self.from_start else " since the learner began"
        return (
            f"{summary}; {self.loss.name} {self.total_loss:.6g}{since and ' here'}; "
            f"best expert{since}: {self.names[best]!r} with {lost}; "
            f"largest regret{since}: {self.regrets[most]:.6g} to {self.names[most]!r}>"
        )

    @property
    def rounds(self) -> int:
        """Number of rounds of this ledger."""
        return len(self.losses)

    @property
    def total_loss(self) -> float:
        """Total loss of the learner."""
        return float(np.sum(self.losses))

    @property
    def mean_loss(self) -> float:
        """Mean loss of the learner per round."""
        return float(np.mean(self.losses)) if self.rounds else float("nan")

    @property
    def expert_losses(self) -> FloatArray:
        """Total loss of each expert, over the rounds in which it was awake, since the learner's first round."""
        return self.sums.get("losses", np.zeros(0))

    @property
    def expert_rounds(self) -> FloatArray:
        """Number of rounds in which each expert was awake, since the learner's first round."""
        return self.sums.get("rounds", np.zeros(0))

    @property
    def regrets(self) -> FloatArray:
        """The learner's loss minus each expert's, over the rounds in which the expert was awake."""
        return self.sums.get("own_losses", np.zeros(0)) - self.expert_losses

    @property
    def linear_regrets(self) -> FloatArray:
        """The regrets that the rule learned from; with the gradient trick, on linearised losses."""
        return self.sums.get("regrets", np.zeros(0))

    @property
    def best_expert(self) -> str:
        """Name of the expert with the smallest mean loss."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means = self.expert_losses / self.expert_rounds
        return self.names[int(np.nanargmin(means))]

    @property
    def loss_curve(self) -> FloatArray:
        """The learner's loss up to and including each round."""
        return np.cumsum(self.losses)

    @property
    def mistake_rounds(self) -> IntArray:
        """Rounds in which the most probable outcome was not the true one.

        Outcomes must be 0 and 1, or a class. A tie counts for 1, or for the last class. Other outcomes, and outcomes
        that were not kept, raise ValueError.
        """
        begin = 0 if self.from_start else self.before
        if not self.rounds:
            return np.zeros(0, np.int64)
        if begin is None or not self.kept.complete:
            message = "mistakes are not known, because the outcomes of these rounds were not kept (see keep_bytes)"
            raise ValueError(message)
        y = self.kept.rounds()[1][begin : begin + self.rounds]
        if not ((y == 0) | (y == 1)).all() or (y.ndim > 1 and (y.sum(axis=1) != 1).any()):
            message = "mistakes are only defined for outcomes that are 0 and 1, or one of several classes"
            raise ValueError(message)
        if y.ndim == 1:
            return np.flatnonzero((self.predictions >= 0.5) != (y == 1))
        best = y.shape[1] - 1 - np.argmax(self.predictions[:, ::-1], axis=1)
        return np.flatnonzero(y[np.arange(len(y)), best] != 1)

    @property
    def mistakes(self) -> int:
        """Number of rounds in ``mistake_rounds``."""
        return len(self.mistake_rounds)

    @property
    def mistake_curve(self) -> IntArray:
        """Number of mistakes up to and including each round; see ``mistake_rounds``."""
        return curve_of(self.mistake_rounds, self.rounds)

    def to_json(self) -> str:
        """Return the ledger without ``weights`` as JSON text, which ``AggregationLedger.from_json`` reads."""
        from mistakebound.play.expert_ledger_schema import mixture_to_json  # noqa: PLC0415 - not needed to learn

        return mixture_to_json(self)

    @classmethod
    def from_json(cls, text: str) -> AggregationLedger:
        """Return the ledger that ``to_json`` wrote; raise ModelError with the ``field`` that is not valid.

        The ledger does not contain the rule, so it cannot be certified: certify the learner or its model file.
        """
        from mistakebound.play.expert_ledger_schema import no_engine, read_mixture  # noqa: PLC0415

        return cls(**read_mixture(text, KeptAdvice), make=no_engine)

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows = {self.loss.name: f"{self.total_loss:.6g}", "rounds": self.rounds, "experts": len(self.names)}
        rows["rule"] = self.rule
        if (self.expert_rounds > 0).any():
            rows["best expert"] = self.best_expert
        return html_table("AggregationLedger", rows)

    def replay(self) -> tuple[Engine, list[float], FloatArray]:
        """Run the rule's specification on the advice that was kept, about 0.1 to 0.2 ms per round.

        Returns the engine, the losses, and the regrets that were learned from: rounds × experts, 0 while an expert is
        asleep, NaN before it joins.
        """
        A, y = self.kept.rounds()
        engine = self.make(self.kept.joins[0])
        losses, r = engine.replay(A, y, self.predictions, self.kept.joins)
        if len(self.prior) > engine.n:  # experts that joined in a round whose outcome is not known yet
            engine.join(self.prior)
        return engine, losses, r


def count(number: int, what: str) -> str:
    """Return a number with its noun: ``1 round``, ``2 rounds``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def stacked_weights(weights: Sequence[FloatArray], n: int) -> FloatArray:
    """Return weights as rounds × experts; they are 0 before an expert joins.

    Examples
    --------
    >>> import numpy as np
    >>> stacked_weights([np.array([1.0]), np.array([0.25, 0.75])], 2).tolist()
    [[1.0, 0.0], [0.25, 0.75]]
    """
    table = np.zeros((len(weights), n))
    for row, each in zip(table, weights, strict=True):
        row[: len(each)] = each
    return table
