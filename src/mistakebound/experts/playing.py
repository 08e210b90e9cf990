"""A rule at work on rounds as they come: state that a refused round leaves as it was."""

from __future__ import annotations

import copy
import math
from array import array
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound._support.locks import Guarded
from mistakebound.aggregation.mixture import widened
from mistakebound.errors import StreamError
from mistakebound.experts.reading import floats_of, read_row, read_table, refuse_parts, refuse_shapes, words_of
from mistakebound.experts.roster import Roster, names_of
from mistakebound.experts.showing import rebuilt
from mistakebound.experts.tickets import Asked, Open
from mistakebound.losses import loss_named
from mistakebound.losses.base import by_name
from mistakebound.play.expert_engine import CompiledEngine, quickest, run_keeping_weights
from mistakebound.play.expert_ledger import AggregationLedger, KeptAdvice, stacked_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from typing_extensions import Self

    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.reference import Engine
    from mistakebound.losses import LossLike


class Playing(Guarded):
    """Who the experts are, the rule at work on them, and what happened."""

    id: ClassVar[str]
    loss: LossLike
    gradient: bool | None

    def __init__(self, loss: LossLike, prior: Sequence[float] | Mapping[str, float] | None, keep_bytes: int) -> None:
        super().__init__()
        self.loss = loss
        self._loss = loss_named(loss)
        self._roster = Roster(prior)
        self._engine: Engine | CompiledEngine | None = None
        self._built_with: Playing | None = None
        """A learner that holds the parameters as they were when the engine was made: nothing later changes them."""
        self._forecasts = array("d")  # of all classes, one round after the other
        self._losses = array("d")
        self._kept = KeptAdvice(keep_bytes)
        self._open = Open()
        self._learned = self._late = 0
        self._shape: tuple[int, ...] | None = None  # of a forecast: (), or the number of classes

    def parameters(self) -> dict[str, Any]:
        """What the rule was told, for a ledger."""
        return {}

    def _make(self, prior: FloatArray) -> Engine:
        """The rule at work."""
        raise NotImplementedError

    def _rebuilt(self) -> Self:
        """A learner with these parameters that has not played; ValueError if one of them is out of range."""
        made = rebuilt(self, "keep_bytes")
        made._loss = self._loss  # noqa: SLF001 - it is of the same class
        return made

    @property
    def _as_played(self) -> Playing:
        """What holds the parameters of the play."""
        return self if self._engine is None else self._built_with or self

    @property
    def uses_gradient(self) -> bool:
        """Whether losses are made linear."""
        return self._loss.convex if self.gradient is None else self.gradient

    @property
    def names_(self) -> list[str]:
        """What the experts are called; their numbers, if they have no names."""
        return self._roster.all_names()

    def _serve(self, advice: Any) -> Asked:
        roster, engine = self._roster, self._engine
        row = read_row(roster, advice, self._shape)
        try:
            served = self._engine_with(len(row), names_of(advice), vectors=row.ndim > 1).serve(row)
        except StreamError as error:
            self._roster, self._engine = roster, engine
            raise StreamError(by_name(words_of(error), roster.known(names_of(advice)))) from None
        except ValueError:
            self._roster, self._engine = roster, engine
            raise
        return Asked(served, row, self._learned)

    def _learn(self, asked: Asked, outcome: Any, number: int) -> None:
        new = self._roster.n - len(asked.row)
        served = widened(asked.served, new) if new else asked.served
        row = np.concatenate([asked.row, np.full((new, *asked.row.shape[1:]), np.nan)]) if new else asked.row
        try:
            truth = floats_of(outcome)
            refuse_shapes(row.shape[1:], truth.shape, self._shape)
            self._loss.check(row[None], truth[None])
            loss = self._engine.learn(served, truth)  # type: ignore[union-attr]
        except (TypeError, ValueError, OverflowError) as error:
            raise StreamError(by_name(words_of(error), self._roster.known(None)), round=number) from None
        self._late += asked.number != self._learned
        self._learned += 1
        self._shape = row.shape[1:]
        self._forecasts.extend(served.forecast.ravel().tolist())
        self._losses.append(loss)
        self._kept.add(row[None], truth[None], self._roster.prior)

    def _one(self, advice: Any, outcome: Any) -> Asked:
        roster, engine = self._roster, self._engine
        number = len(self._losses)
        try:
            asked = self._serve(advice)
            self._learn(asked, outcome, number)
        except ValueError as error:
            raise StreamError(words_of(error), round=number) from None
        finally:
            if len(self._losses) == number:  # who came with a refused round has not come
                self._roster, self._engine = roster, engine
        return asked

    def _stream(self, A: Any, y: Any, *, keep_weights: bool = False) -> AggregationLedger:
        table, outcomes, names = read_table(A, y)
        if isinstance(table, np.ndarray):
            return self._many(table, outcomes, names, keep_weights=keep_weights)
        return self._one_by_one(table, outcomes, keep_weights=keep_weights)

    def _one_by_one(self, A: Iterable[Any], y: Iterable[Any], *, keep_weights: bool) -> AggregationLedger:
        rows, outcomes = list(A), list(y)
        if len(rows) != len(outcomes):
            message = f"there are {len(rows)} rounds of advice but {len(outcomes)} outcomes"
            raise ValueError(message)
        before = len(self._losses)
        weights: list[FloatArray] | None = [] if keep_weights else None
        for number, (advice, outcome) in enumerate(zip(rows, outcomes, strict=True)):
            try:
                asked = self._one(advice, outcome)
            except StreamError as error:
                ledger: Any = self._since(before, weights)
                raise StreamError(words_of(error), round=number, ledger=ledger) from None
            if weights is not None:
                weights.append(asked.served.p)
        return self._since(before, weights)

    def _many(
        self, table: FloatArray, outcomes: FloatArray, names: list[str] | None, *, keep_weights: bool
    ) -> AggregationLedger:
        before, roster, engine = len(self._losses), self._roster, self._engine
        if names is None:
            roster.positional(table.shape[1])
            places = list(range(table.shape[1]))
        else:
            places = roster.columns(names)
        refuse_shapes(table.shape[2:], outcomes.shape[1:], self._shape)
        width = max(roster.n, max(places) + 1)
        if places != list(range(width)):
            spread = np.full((table.shape[0], width, *table.shape[2:]), np.nan)
            spread[:, places] = table
            table = spread
        player = self._engine_with(width, names, vectors=table.ndim > 2)
        # The core looks at what it reads; what Python plays is looked at before.
        sound, unsound = (len(table), None) if isinstance(player, CompiledEngine) else self._sound(table, outcomes)
        forecasts: Any
        losses: Any
        weights = None
        if keep_weights:
            forecasts, losses, refused, weights = run_keeping_weights(player, table[:sound], outcomes[:sound])
        else:
            forecasts, losses, refused = player.run(table[:sound], outcomes[:sound])
        fault = refused or unsound
        if len(losses):
            self._shape = table.shape[2:]
        elif fault is not None:
            self._roster, self._engine = roster, engine
        self._forecasts.frombytes(np.asarray(forecasts, float).tobytes())
        self._losses.frombytes(np.asarray(losses, float).tobytes())
        self._learned += len(losses)
        self._kept.add(table[: len(losses)], outcomes[: len(losses)], self._roster.prior)
        ledger: Any = self._since(before, weights)
        if isinstance(fault, StreamError):
            words = by_name(words_of(fault), self._roster.known(names))
            raise StreamError(words, round=fault.round, ledger=ledger)
        if fault is not None:  # of a loss of one's own
            raise fault
        return ledger  # type: ignore[no-any-return]

    def _sound(self, table: FloatArray, outcomes: FloatArray) -> tuple[int, StreamError | None]:
        """How many rounds come before the first that is not in the domain of the loss, and what is wrong with it."""
        sound, fault = len(table), None
        while sound:
            try:
                refuse_parts(table[:sound])
                self._loss.check(table[:sound], outcomes[:sound])
            except StreamError as error:  # noqa: PERF203 - seldom twice
                if error.round is None:
                    raise
                sound, fault = error.round, error  # but another one may come before
            else:
                break
        return sound, fault

    def _engine_with(self, width: int, names: list[str] | None, *, vectors: bool) -> Engine | CompiledEngine:
        """The engine, with newcomers in a copy of it: they are forgotten if their round is refused."""
        engine, roster = self._engine, self._roster
        if engine is not None and width <= roster.n:
            return engine
        roster = copy.deepcopy(roster)
        roster.settle(width, names)
        prior = roster.prior()
        if engine is None:
            built_with = self._rebuilt()
            made = built_with._make(prior)
            engine, self._built_with = made if vectors else quickest(made, prior), built_with
        else:
            engine = copy.deepcopy(engine)
            engine.join(prior)
        self._engine, self._roster = engine, roster
        return engine

    def _since(self, before: int, weights: Sequence[FloatArray] | None = None) -> AggregationLedger:
        sums = {} if self._engine is None else {name: values.copy() for name, values in self._engine.sums.items()}
        played = self._as_played
        losses, shape = np.array(self._losses[before:]), self._shape or ()
        forecasts = np.array(self._forecasts[before * math.prod(shape) :])
        return AggregationLedger(
            rule=self.id,
            parameters=played.parameters(),
            loss=self._loss,
            gradient=played.uses_gradient,
            names=tuple(self.names_),
            prior=self._roster.prior() if self._roster.n else np.zeros(0),
            predictions=forecasts.reshape(len(losses), *shape),
            losses=losses,
            sums=sums,
            from_start=before == 0,
            late=self._late,
            kept=self._kept,
            make=played._make,
            weights=None if weights is None else stacked_weights(weights, self._roster.n),
        )

    def _unless_begun(self) -> None:
        """Losses alone that were refused, or none at all, have begun nothing."""
        if self._engine is None:
            self._loss = loss_named(self.loss)

    def _on_forecasts(self) -> None:
        self._unless_begun()
        if self._loss.id == "given" and loss_named(self.loss).id != "given":
            message = "this learner was told losses alone; forecasts cannot be mixed in"
            raise ValueError(message)

    def _on_losses(self) -> None:
        if self._loss.id == "given":
            return
        if self._engine is not None:
            message = f"this learner mixes forecasts under the {self._loss.name}; losses alone cannot be mixed in"
            raise ValueError(message)
        self._loss = loss_named("given")
