"""What every rule that mixes forecasts shares: predict, then learn; one round, many, or with late outcomes."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound.aggregation.ledger import AggregationLedger, Kept
from mistakebound.errors import StreamError
from mistakebound.experts.roster import Roster, is_missing, names_of
from mistakebound.losses import loss_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.aggregation.engine import Engine
    from mistakebound.aggregation.mixture import Served
    from mistakebound.arrays import FloatArray
    from mistakebound.losses import LossLike
    from mistakebound.regret import RegretCertificate

KEEP_BYTES = 16 * 2**20


class Asked:
    """A forecast whose outcome will be told later."""

    def __init__(self, served: Served, row: FloatArray, number: int) -> None:
        self.served, self.row, self.number = served, row, number

    @property
    def prediction(self) -> Any:
        """What was forecast."""
        return plain(self.served.forecast)


class Aggregation:
    """Mix the forecasts of experts, and prove how little is lost to the best of them.

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

    id: ClassVar[str]

    def __init__(
        self,
        loss: LossLike = "square",
        gradient: bool | None = None,  # noqa: FBT001 - scikit-learn's way to give parameters
        prior: Sequence[float] | Mapping[str, float] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.loss, self.gradient, self.prior, self.keep_bytes = loss, gradient, prior, keep_bytes
        self._loss = loss_named(loss)
        self._roster = Roster(prior)
        self._engine: Engine | None = None
        self._forecasts: list[Any] = []
        self._losses = array("d")
        self._kept = Kept(keep_bytes)
        self._learned = self._late = 0

    def parameters(self) -> dict[str, Any]:
        """What the rule was told, for a ledger."""
        return {}

    def _make(self, prior: FloatArray) -> Engine:
        """The rule at work."""
        raise NotImplementedError

    @property
    def uses_gradient(self) -> bool:
        """Whether losses are made linear."""
        return self._loss.convex if self.gradient is None else self.gradient

    def predict_one(self, advice: Any) -> Any:
        """Mix what the experts say: a sequence, an array or a dict; NaN, None and absent names are asleep."""
        return self.ask(advice).prediction

    def ask(self, advice: Any) -> Asked:
        """Mix what the experts say, for an outcome that comes later: `tell` it."""
        row, names = self._read(advice)
        engine = self._engine_with(len(row), names)
        return Asked(engine.serve(row), row, self._learned)

    def tell(self, asked: Asked, outcome: Any) -> None:
        """Learn from the outcome of a forecast made by `ask`."""
        self._learn(asked, outcome, len(self._losses))

    def learn_one(self, advice: Any, outcome: Any) -> None:
        """Mix, be told the outcome, and learn."""
        number = len(self._losses)
        try:
            asked = self.ask(advice)
        except ValueError as error:
            raise StreamError(str(error), round=number) from None
        self._learn(asked, outcome, number)

    def run(self, A: Any, y: Any) -> AggregationLedger:
        """Predict, then learn, over a whole stream: rounds × experts (× classes), NaN asleep; or rounds of any kind."""
        names = names_of(A)
        if names is not None and not isinstance(A, Mapping):
            A = A.to_numpy()
        elif isinstance(A, Mapping):
            A = np.column_stack([np.asarray(column, float) for column in A.values()])
        try:
            table, outcomes = np.asarray(A, float), np.asarray(y, float)
        except (TypeError, ValueError):
            table = outcomes = np.zeros(0)
        if table.ndim not in (2, 3) or table.shape[0] != outcomes.shape[0]:
            return self._one_by_one(A, y)
        return self._many(table, outcomes, names)

    def learn_losses(self, losses: Any) -> None:
        """Learn from a round of losses, when there are no forecasts: the learner loses their weighted mean."""
        self._on_losses()
        self.learn_one(losses, 0.0)

    def run_losses(self, L: Any) -> FloatArray:
        """Play rounds × experts of losses (NaN asleep); return what the learner loses in each."""
        self._on_losses()
        rounds = len(L.to_numpy()) if hasattr(L, "to_numpy") else len(L)
        return self.run(L, np.zeros(rounds)).losses

    def _on_losses(self) -> None:
        if self._loss.id == "given":
            return
        if len(self._losses):
            message = f"this learner mixes forecasts under the {self._loss.name}; losses alone cannot be mixed in"
            raise ValueError(message)
        self._loss = loss_named("given")

    def _one_by_one(self, A: Iterable[Any], y: Iterable[Any]) -> AggregationLedger:
        rows, outcomes = list(A), list(y)
        if len(rows) != len(outcomes):
            message = f"there are {len(rows)} rounds of advice but {len(outcomes)} outcomes"
            raise ValueError(message)
        before = len(self._losses)
        for number, (advice, outcome) in enumerate(zip(rows, outcomes, strict=True)):
            try:
                self.learn_one(advice, outcome)
            except StreamError as error:  # noqa: PERF203 - the round is named
                words = str(error).split(": ", 1)[-1]
                raise StreamError(words, round=number, ledger=self._since(before)) from None  # type: ignore[arg-type]
        return self._since(before)

    def _many(self, table: FloatArray, outcomes: FloatArray, names: list[str] | None) -> AggregationLedger:
        before = len(self._losses)
        if names is None:
            self._roster.positional(table.shape[1])
            places = list(range(table.shape[1]))
        else:
            places = self._roster.columns(names)
        width = max(self._roster.n, max(places) + 1)
        if places != list(range(width)):
            spread = np.full((table.shape[0], width, *table.shape[2:]), np.nan)
            spread[:, places] = table
            table = spread
        sound, why = self._sound(table, outcomes)
        engine = self._engine_with(width, names)
        forecasts, losses, fault = engine.run(table[:sound], outcomes[:sound])
        self._forecasts.extend(forecasts)
        self._losses.extend(losses)
        self._learned += len(losses)
        self._kept.add(table[: len(losses)], outcomes[: len(losses)])
        fault = fault or why
        if fault is not None:
            words = str(fault).split(": ", 1)[-1]
            raise StreamError(words, round=fault.round, ledger=self._since(before))  # type: ignore[arg-type]
        return self._since(before)

    def _sound(self, table: FloatArray, outcomes: FloatArray) -> tuple[int, StreamError | None]:
        """How many rounds come before the first that is not in the domain of the loss, and what is wrong with it."""
        try:
            refuse_parts(table)
            self._loss.check(table, outcomes)
        except StreamError as error:
            if error.round is None:
                raise
            return error.round, error
        return len(table), None

    @property
    def weights_(self) -> FloatArray:
        """Weights of the experts, if all are awake."""
        return np.zeros(0) if self._engine is None else self._engine.weights()

    @property
    def names_(self) -> list[str]:
        """What the experts are called; their numbers, if they have no names."""
        return [self._roster.name(k) for k in range(self._roster.n)]

    @property
    def ledger_(self) -> AggregationLedger:
        """What happened so far."""
        return self._since(0)

    def certify(self) -> RegretCertificate:
        """Regret beside what the rule's theorem allows, derived anew from the advice and the outcomes."""
        from mistakebound.regret import certify_regret  # noqa: PLC0415 - seldom needed

        return certify_regret(self.ledger_)

    # -- pieces ----------------------------------------------------------------------------------------------

    def _read(self, advice: Any) -> tuple[FloatArray, list[str] | None]:
        said = self._roster.row(advice)
        shape = next((np.shape(each) for each in said if np.ndim(each) == 1), ())
        nothing = np.full(shape, np.nan)
        try:
            row = np.array([nothing if is_missing(each) else each for each in said], float)
        except (TypeError, ValueError):
            message = "advice is not made of numbers"
            raise StreamError(message) from None
        if np.isinf(row).any():
            place = int(np.argmax(np.isinf(row).reshape(len(row), -1).any(axis=1)))
            message = f"the forecast of expert {place} is infinite"
            raise StreamError(message)
        return row, names_of(advice)

    def _learn(self, asked: Asked, outcome: Any, number: int) -> None:
        try:
            told = np.asarray(outcome, float)
            self._loss.check(asked.row[None], told[None])
            loss = self._engine.learn(asked.served, told)  # type: ignore[union-attr]
        except (TypeError, ValueError) as error:
            words = str(error).split(": ", 1)[-1] if getattr(error, "round", None) is not None else str(error)
            raise StreamError(words, round=number) from None
        self._late += asked.number != self._learned
        self._learned += 1
        self._forecasts.append(plain(asked.served.forecast))
        self._losses.append(loss)
        self._kept.add(asked.row[None], told[None])

    def _engine_with(self, width: int, names: list[str] | None) -> Engine:
        grown = self._roster.settle(width, names)
        if self._engine is None:
            self._engine = self._make(self._roster.prior())
        elif grown:
            self._engine.join(self._roster.prior())
        return self._engine

    def _since(self, before: int) -> AggregationLedger:
        sums = {} if self._engine is None else {name: values.copy() for name, values in self._engine.sums.items()}
        return AggregationLedger(
            rule=self.id,
            parameters=self.parameters(),
            loss=self._loss,
            gradient=self.uses_gradient,
            names=tuple(self.names_),
            prior=self._roster.prior() if self._roster.n else np.zeros(0),
            predictions=np.array(self._forecasts[before:]),
            losses=np.array(self._losses[before:]),
            sums=sums,
            from_start=before == 0,
            late=self._late,
            kept=self._kept,
            make=self._make,
        )


def plain(forecast: FloatArray) -> Any:
    """A number, or an array of them."""
    return forecast if forecast.ndim else float(forecast)


def refuse_parts(table: FloatArray) -> None:
    """Raise for an expert who gives some classes a probability, but not all."""
    missing = np.isnan(table)
    if table.ndim == 2 or missing.all(axis=2).sum() * table.shape[2] == missing.sum():
        return
    partly = np.asarray(missing.any(axis=2) & ~missing.all(axis=2))
    number = int(np.argmax(partly.any(axis=1)))
    message = f"expert {int(np.argmax(partly[number]))} forecasts some classes only"
    raise StreamError(message, round=number)


def positive(name: str, value: Any) -> Any:
    """A number above 0, or None."""
    if value is not None and not 0 < value < math.inf:
        message = f"{name} must be a positive number, got {value!r}"
        raise ValueError(message)
    return value
