"""The state of a learner that mixes forecasts. A round that raises an error leaves it unchanged."""

from __future__ import annotations

import copy
import math
from array import array
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mistakebound.aggregation.reference import with_new_experts
from mistakebound.errors import StreamError, as_stream_error
from mistakebound.experts.advice import (
    Roster,
    check_all_classes,
    check_shapes,
    floats_of,
    names_of,
    read_row,
    read_table,
)
from mistakebound.play.expert_engine import CompiledEngine, compiled_if_possible, run_keeping_weights
from mistakebound.play.expert_ledger import AggregationLedger, KeptAdvice, stacked_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.reference import Engine, Served
    from mistakebound.experts.aggregation import Aggregation


class ServedRow(NamedTuple):
    """A forecast, the advice that it was made from, and the number of rounds that were learned before it."""

    served: Served
    row: FloatArray
    number: int

    @property
    def prediction(self) -> Any:
        """The forecast: a number, or an array with a number for each class."""
        forecast = self.served.forecast
        return forecast if forecast.ndim else float(forecast)


class MixturePlay:
    """The experts, the engine of the rule, and the record of the rounds.

    ``built_with`` is a copy of the learner with the parameters that the play began with; they do not change later.
    """

    def __init__(self, built_with: Aggregation) -> None:
        self.built_with = built_with
        self.loss = built_with._loss  # noqa: SLF001 - a play is a part of its learner
        self.roster = Roster(built_with.prior)
        self.engine: Engine | CompiledEngine | None = None
        self.first_prior = np.zeros(0)
        """Prior of the experts that the engine began with; a rate may depend on their number."""
        self.forecasts = array("d")  # of all classes, one round after the other
        self.losses = array("d")
        self.kept = KeptAdvice(built_with.keep_bytes)
        self.late = 0
        self.mixed = False  # whether rounds were learned in parts
        self.shape: tuple[int, ...] | None = None  # of a forecast: (), or the number of classes

    @property
    def rounds(self) -> int:
        """Number of rounds that were learned."""
        return len(self.losses)

    @contextmanager
    def without_newcomers(self) -> Iterator[None]:
        """Remove, at the end of this context, the experts that joined in it."""
        roster, engine = self.roster, self.engine
        try:
            yield
        finally:
            self.roster, self.engine = roster, engine

    def serve(self, advice: Any) -> ServedRow:
        """Mix the forecasts of a round; new experts join."""
        roster, engine = self.roster, self.engine
        row = read_row(roster, advice, self.shape)
        try:
            served = self._engine_with(len(row), names_of(advice), vectors=row.ndim > 1).serve(row)
        except StreamError as error:
            self.roster, self.engine = roster, engine
            raise error.with_names(roster.names_with(names_of(advice))).at_round(None) from None
        except ValueError:
            self.roster, self.engine = roster, engine
            raise
        return ServedRow(served, row, self.rounds)

    def learn(self, asked: ServedRow, outcome: Any) -> None:
        """Learn from the outcome of a forecast; experts that joined after the forecast slept in that round."""
        new = self.roster.n - len(asked.row)
        served = with_new_experts(asked.served, new) if new else asked.served
        row = np.concatenate([asked.row, np.full((new, *asked.row.shape[1:]), np.nan)]) if new else asked.row
        try:
            truth = floats_of(outcome, "the outcome must be a number")
            check_shapes(row.shape[1:], truth.shape, self.shape)
            self.loss.check(row[None], truth[None])
            loss = self.engine.learn(served, truth)  # type: ignore[union-attr]
        except (TypeError, ValueError, OverflowError) as error:
            raise as_stream_error(error, self.rounds).with_names(self.roster.names_with(None)) from None
        self.late += asked.number != self.rounds
        self.shape = row.shape[1:]
        self.forecasts.extend(served.forecast.ravel().tolist())
        self.losses.append(loss)
        self.kept.add(row[None], truth[None], self.roster.prior)

    def one(self, advice: Any, outcome: Any) -> ServedRow:
        """Forecast and learn one round; return the forecast."""
        roster, engine, number = self.roster, self.engine, self.rounds
        try:
            asked = self.serve(advice)
            self.learn(asked, outcome)
        except ValueError as error:
            raise as_stream_error(error, number) from None
        finally:
            if self.rounds == number:  # the round raised an error, so its new experts do not join
                self.roster, self.engine = roster, engine
        return asked

    def run(self, A: Any, y: Any, *, keep_weights: bool = False) -> AggregationLedger:
        """Forecast and learn a stream; return the ledger of its rounds."""
        table, outcomes, names = read_table(A, y)
        if isinstance(table, np.ndarray):
            return self._many(table, outcomes, names, keep_weights=keep_weights)
        return self._one_by_one(table, outcomes, keep_weights=keep_weights)

    def _one_by_one(self, A: Iterable[Any], y: Iterable[Any], *, keep_weights: bool) -> AggregationLedger:
        rows, outcomes = list(A), list(y)
        if len(rows) != len(outcomes):
            message = f"there are {len(rows)} rounds of advice but {len(outcomes)} outcomes"
            raise ValueError(message)
        before = self.rounds
        weights: list[FloatArray] | None = [] if keep_weights else None
        for number, (advice, outcome) in enumerate(zip(rows, outcomes, strict=True)):
            try:
                asked = self.one(advice, outcome)
            except StreamError as error:
                ledger: Any = self.ledger(before, weights)
                raise error.at_round(number, ledger) from None
            if weights is not None:
                weights.append(asked.served.p)
        return self.ledger(before, weights)

    def _many(
        self, table: FloatArray, outcomes: FloatArray, names: list[str] | None, *, keep_weights: bool
    ) -> AggregationLedger:
        before, roster, engine = self.rounds, self.roster, self.engine
        if names is None:
            roster.check_width(table.shape[1])
            places = list(range(table.shape[1]))
        else:
            places = roster.columns(names)
        check_shapes(table.shape[2:], outcomes.shape[1:], self.shape)
        width = max(roster.n, max(places) + 1)
        if places != list(range(width)):
            spread = np.full((table.shape[0], width, *table.shape[2:]), np.nan)
            spread[:, places] = table
            table = spread
        player = self._engine_with(width, names, vectors=table.ndim > 2)
        # The core checks the rounds itself; for the engine in Python they are checked before.
        good, bad = (len(table), None) if isinstance(player, CompiledEngine) else self._good_rounds(table, outcomes)
        forecasts: Any
        losses: Any
        weights = None
        if keep_weights:
            forecasts, losses, refused, weights = run_keeping_weights(player, table[:good], outcomes[:good])
        else:
            forecasts, losses, refused = player.run(table[:good], outcomes[:good])
        fault = refused or bad
        if len(losses):
            self.shape = table.shape[2:]
        elif fault is not None:
            self.roster, self.engine = roster, engine
        self.forecasts.frombytes(np.asarray(forecasts, float).ravel().view(np.uint8).data)
        self.losses.frombytes(np.asarray(losses, float).ravel().view(np.uint8).data)
        self.kept.add(table[: len(losses)], outcomes[: len(losses)], self.roster.prior)
        ledger: Any = self.ledger(before, weights)
        if isinstance(fault, StreamError):
            raise fault.with_names(self.roster.names_with(names)).at_round(fault.round, ledger)
        if fault is not None:  # raised by a custom loss
            raise fault
        return ledger  # type: ignore[no-any-return]

    def _good_rounds(self, table: FloatArray, outcomes: FloatArray) -> tuple[int, StreamError | None]:
        """Return the number of rounds before the first that is not in the domain of the loss, and the error of it."""
        good, fault = len(table), None
        while good:
            try:
                check_all_classes(table[:good])
                self.loss.check(table[:good], outcomes[:good])
            except StreamError as error:  # noqa: PERF203 - rarely more than once
                if error.round is None:
                    raise
                good, fault = error.round, error  # an earlier round may be bad for another reason
            else:
                break
        return good, fault

    def _engine_with(self, width: int, names: list[str] | None, *, vectors: bool) -> Engine | CompiledEngine:
        """Return the engine; if experts join, a copy with them, because their round may still raise an error."""
        engine, roster = self.engine, self.roster
        if engine is not None and width <= roster.n:
            return engine
        roster = copy.deepcopy(roster)
        roster.admit(width, names)
        prior = roster.prior()
        if engine is None:
            self.first_prior = prior
            engine = self.new_engine(vectors=vectors)
        else:
            engine = copy.deepcopy(engine)
            engine.join(prior)
        self.engine, self.roster = engine, roster
        return engine

    def new_engine(self, *, vectors: bool) -> Engine | CompiledEngine:
        """Return a new engine; ``vectors`` says whether a forecast has several numbers."""
        specified = self.built_with._make(self.first_prior)
        return specified if vectors else compiled_if_possible(specified, self.first_prior)

    def ledger(self, before: int = 0, weights: Sequence[FloatArray] | None = None) -> AggregationLedger:
        """Return the ledger of the rounds from ``before`` on."""
        sums = {} if self.engine is None else {name: values.copy() for name, values in self.engine.sums.items()}
        played = self.built_with
        losses, shape = np.asarray(self.losses)[before:].copy(), self.shape or ()
        forecasts = np.asarray(self.forecasts)[before * math.prod(shape) :].copy()
        return AggregationLedger(
            rule=played.id,
            parameters=played.parameters(),
            loss=self.loss,
            gradient=played.uses_gradient,
            names=tuple(self.roster.all_names()),
            prior=self.roster.prior() if self.roster.n else np.zeros(0),
            predictions=forecasts.reshape(len(losses), *shape),
            losses=losses,
            sums=sums,
            from_start=before == 0,
            late=self.late,
            kept=self.kept,
            make=played._make,
            weights=None if weights is None else stacked_weights(weights, self.roster.n),
            before=before,
            mixed=self.mixed,
        )
