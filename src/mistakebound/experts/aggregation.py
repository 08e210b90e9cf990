"""What every rule that mixes forecasts shares: predict, then learn; one round, many, or with late outcomes."""

from __future__ import annotations

import copy
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound.aggregation.choice import quickest
from mistakebound.aggregation.compiled import CompiledEngine
from mistakebound.aggregation.ledger import AggregationLedger, Kept
from mistakebound.aggregation.mixture import widened
from mistakebound.aggregation.weighing import stacked, watched
from mistakebound.errors import StreamError
from mistakebound.experts.reading import read_row, read_table, refuse_parts, refuse_shapes, words_of
from mistakebound.experts.roster import Roster, names_of
from mistakebound.experts.showing import shown, told
from mistakebound.experts.tickets import Asked, Open
from mistakebound.losses import loss_named
from mistakebound.losses.base import by_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mistakebound.aggregation.engine import Engine
    from mistakebound.arrays import FloatArray
    from mistakebound.losses import LossLike
    from mistakebound.regret import RegretCertificate

KEEP_BYTES = 16 * 2**20


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
        self._engine: Engine | CompiledEngine | None = None
        self._forecasts = array("d")  # of all classes, one round after the other
        self._losses = array("d")
        self._kept = Kept(keep_bytes)
        self._open = Open()
        self._learned = self._late = 0
        self._shape: tuple[int, ...] | None = None  # of a forecast: (), or the number of classes

    def __repr__(self) -> str:
        return shown(self, told(self, keep_bytes=KEEP_BYTES), len(self._losses), self._roster.n)

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
        roster, engine = self._roster, self._engine
        try:
            return self._serve(advice).prediction
        finally:
            self._roster, self._engine = roster, engine

    def weights_for(self, advice: Any) -> FloatArray:
        """Weights that this advice would be mixed with: 0 for who sleeps, and who is new comes last."""
        roster, engine = self._roster, self._engine
        try:
            return self._serve(advice).served.p.copy()
        finally:
            self._roster, self._engine = roster, engine

    def ask(self, advice: Any) -> Asked:
        """Mix what the experts say, for an outcome that comes later: `tell` it, once."""
        return self._open.add(self._serve(advice))

    def tell(self, asked: Asked, outcome: Any) -> None:
        """Learn from the outcome of a forecast made by `ask`; who has come since then slept."""
        number = len(self._losses)
        self._open.refuse(asked, type(self).__name__, number)
        self._learn(asked, outcome, number)
        self._open.close(asked)

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

    def learn_one(self, advice: Any, outcome: Any) -> None:
        """Mix, be told the outcome, and learn."""
        self._on_forecasts()
        self._one(advice, outcome)

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

    def _stream(self, A: Any, y: Any, *, keep_weights: bool = False) -> AggregationLedger:
        table, outcomes, names = read_table(A, y)
        if isinstance(table, np.ndarray):
            return self._many(table, outcomes, names, keep_weights=keep_weights)
        return self._one_by_one(table, outcomes, keep_weights=keep_weights)

    def learn_losses(self, losses: Any) -> None:
        """Learn from a round of losses, when there are no forecasts: the learner loses their weighted mean."""
        self._on_losses()
        self._one(losses, 0.0)

    def run_losses(self, L: Any) -> FloatArray:
        """Play rounds × experts of losses (NaN asleep); return what the learner loses in each."""
        self._on_losses()
        L = L if hasattr(L, "__len__") else list(L)
        rounds = len(next(iter(L.values()), ())) if isinstance(L, Mapping) else len(L)
        return self._stream(L, np.zeros(rounds)).losses

    def _on_forecasts(self) -> None:
        if self._engine is None:
            self._loss = loss_named(self.loss)
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
        sound, fault = (len(table), None) if isinstance(player, CompiledEngine) else self._sound(table, outcomes)
        forecasts: Any
        losses: Any
        weights = None
        if keep_weights:
            forecasts, losses, refused, weights = watched(player, table[:sound], outcomes[:sound])
        else:
            forecasts, losses, refused = player.run(table[:sound], outcomes[:sound])
        fault = refused or fault
        if len(losses):
            self._shape = table.shape[2:]
        elif fault is not None:
            self._roster, self._engine = roster, engine
        self._forecasts.frombytes(np.asarray(forecasts, float).tobytes())
        self._losses.frombytes(np.asarray(losses, float).tobytes())
        self._learned += len(losses)
        self._kept.add(table[: len(losses)], outcomes[: len(losses)], self._roster.prior)
        ledger: Any = self._since(before, weights)
        if fault is not None:
            words = by_name(words_of(fault), self._roster.known(names))
            raise StreamError(words, round=fault.round, ledger=ledger)
        return ledger  # type: ignore[no-any-return]

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

    def _learn(self, asked: Asked, outcome: Any, number: int) -> None:
        new = self._roster.n - len(asked.row)
        served = widened(asked.served, new) if new else asked.served
        row = np.concatenate([asked.row, np.full((new, *asked.row.shape[1:]), np.nan)]) if new else asked.row
        try:
            truth = np.asarray(outcome, float)
            refuse_shapes(row.shape[1:], truth.shape, self._shape)
            self._loss.check(row[None], truth[None])
            loss = self._engine.learn(served, truth)  # type: ignore[union-attr]
        except (TypeError, ValueError) as error:
            raise StreamError(by_name(words_of(error), self._roster.known(None)), round=number) from None
        self._late += asked.number != self._learned
        self._learned += 1
        self._shape = row.shape[1:]
        self._forecasts.extend(served.forecast.ravel().tolist())
        self._losses.append(loss)
        self._kept.add(row[None], truth[None], self._roster.prior)

    def _engine_with(self, width: int, names: list[str] | None, *, vectors: bool) -> Engine | CompiledEngine:
        """The engine, with newcomers in a copy of it: they are forgotten if their round is refused."""
        if self._engine is not None and width <= self._roster.n:
            return self._engine
        self._roster = copy.deepcopy(self._roster)
        self._roster.settle(width, names)
        if self._engine is None:
            made, prior = self._make(self._roster.prior()), self._roster.prior()
            self._engine = made if vectors else quickest(made, prior)
        else:
            self._engine = copy.deepcopy(self._engine)
            self._engine.join(self._roster.prior())
        return self._engine

    def _since(self, before: int, weights: Sequence[FloatArray] | None = None) -> AggregationLedger:
        sums = {} if self._engine is None else {name: values.copy() for name, values in self._engine.sums.items()}
        return AggregationLedger(
            rule=self.id,
            parameters=self.parameters(),
            loss=self._loss,
            gradient=self.uses_gradient,
            names=tuple(self.names_),
            prior=self._roster.prior() if self._roster.n else np.zeros(0),
            predictions=np.array(self._forecasts).reshape(len(self._losses), *(self._shape or ()))[before:],
            losses=np.array(self._losses[before:]),
            sums=sums,
            from_start=before == 0,
            late=self._late,
            kept=self._kept,
            make=self._make,
            weights=None if weights is None else stacked(weights, self._roster.n),
        )
