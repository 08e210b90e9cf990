"""Votes, weighed and counted: the state of a learner that follows experts, and how a round changes it."""

from __future__ import annotations

import copy
import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound._core import Majority
from mistakebound._support.locks import Guarded
from mistakebound.aggregation.majority import TIE
from mistakebound.data.labels import label_array
from mistakebound.errors import StreamError
from mistakebound.experts.roster import Roster, names_of
from mistakebound.experts.votes import is_bit, is_fraction, named_outcomes, refuse_probabilities, together
from mistakebound.losses.base import is_missing
from mistakebound.play.expert_ledger import ExpertLedger

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from typing_extensions import Self

    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray


@dataclass(frozen=True)
class Totals:
    """How far a learner is: of the experts that there are, and of itself."""

    rounds: int = 0
    parts: int = 0
    mistakes: AnyArray = field(default_factory=lambda: np.zeros(0, np.int64))
    charged: FloatArray = field(default_factory=lambda: np.zeros(0))
    awake: AnyArray = field(default_factory=lambda: np.zeros(0, np.int64))
    expected: float = 0.0


class Counting(Guarded):
    """Experts, their losses, and what the learner said so far."""

    id: ClassVar[str]
    engine: ClassVar[Any] = Majority
    """What plays: the core, or its specification in ``mistakebound.aggregation.majority``."""

    def __init__(self, beta: float, prior: Sequence[float] | Mapping[str, float] | None) -> None:
        super().__init__()
        self.beta = beta
        self._roster = Roster(prior)
        self._core = self.engine(beta)
        self._mistakes = np.zeros(0, np.int64)
        self._charged = np.zeros(0)
        self._awake = np.zeros(0, np.int64)
        self._predictions: list[AnyArray] = []
        self._wrong: list[AnyArray] = []
        self._rounds = 0
        self._expected = 0.0
        self._bits = True  # while all outcomes were 0 or 1
        self._begun_with: Counting | None = None
        """A learner that holds the parameters as they were when the first expert joined: nothing later changes them."""

    def _rebuilt(self) -> Self:
        """A learner with these parameters that has not played; ValueError if one of them is out of range."""
        raise NotImplementedError

    @property
    def _as_played(self) -> Counting:
        """What holds the parameters of the play."""
        return self._begun_with or self

    def _now(self) -> Totals:
        experts = (self._mistakes.copy(), self._charged.copy(), self._awake.copy())
        return Totals(self._rounds, len(self._predictions), *experts, self._expected)

    def _since(self, before: Totals) -> ExpertLedger:
        """The ledger of the rounds since then."""
        new = self._roster.n - len(before.mistakes)  # newcomers had lost by then what the learner expected to lose
        charged = self._charged - np.concatenate([before.charged, np.full(new, before.expected)])
        mistakes = self._mistakes - np.concatenate([before.mistakes, np.zeros(new, np.int64)])
        wrong = np.concatenate([np.zeros(0, np.int64), *self._wrong[before.parts :]])
        return ExpertLedger(
            rule=self.id,
            beta=float(self._as_played.beta),
            rounds=self._rounds - before.rounds,
            predictions=together(self._predictions[before.parts :]),
            mistake_rounds=wrong - before.rounds,
            expert_mistakes=mistakes,
            expected_mistakes=self._expected - before.expected,
            expert_losses=mistakes + charged,
            expert_rounds=self._awake - np.concatenate([before.awake, np.zeros(new, np.int64)]),
            prior=self._roster.prior() if self._roster.n else np.zeros(0),
            names=tuple(self._roster.all_names()),
            from_start=before.rounds == 0,
        )

    def _one(self, advice: Any, outcome: Any, *, bits: bool, weights: list[FloatArray] | None = None) -> None:
        """One round, whose weights may be kept; with ``bits``, fractions are refused."""
        try:
            said, names = self._read(advice)
            if is_missing(outcome):
                message = f"the outcome is {outcome!r}"
                raise StreamError(message)
            outcomes = named_outcomes([*said, outcome])
            if bits and any(map(is_fraction, outcomes)):
                refuse_probabilities(said, lambda place: self._roster.called(place, names))
        except (ValueError, TypeError) as error:
            raise StreamError(str(error), round=self._rounds) from None
        self._join(len(said), names)
        if weights is not None:
            weights.append(self._weights_among(np.array([not is_missing(each) for each in said])))
        self._bits = self._bits and is_bit(outcome)
        if len(outcomes) <= 2 and not any(is_missing(each) for each in said):
            high = outcomes[-1]
            row = np.array([[each == high for each in said]], np.uint8)
            self._all_awake(row, np.array([outcome == high], np.uint8), (outcomes[0], high))
        else:
            self._any_advice(said, outcomes, outcome)

    def _read(self, advice: Any) -> tuple[list[Any], list[str] | None]:
        said = self._roster.row(advice)
        if all(is_missing(each) for each in said):
            message = "every expert is asleep" if said else "no expert gave advice"
            raise StreamError(message)
        return said, names_of(advice)

    @contextmanager
    def _visitors(self, width: int, names: list[str] | None) -> Iterator[None]:
        """Let newcomers in for a while."""
        kept = self._roster, self._core, self._mistakes, self._charged, self._awake, self._begun_with
        try:
            if width > self._roster.n:
                self._roster, self._core = copy.deepcopy(self._roster), copy.deepcopy(self._core)
                self._join(width, names)
            yield
        finally:
            self._roster, self._core, self._mistakes, self._charged, self._awake, self._begun_with = kept

    def _join(self, width: int, names: list[str] | None) -> None:
        """Newcomers have lost so far what the learner expected to lose, as if they had slept."""
        before = self._roster.n
        if not before:
            begun_with = self._rebuilt()
            self._begun_with, self._core = begun_with, self.engine(float(begun_with.beta))
        if not self._roster.settle(width, names):
            return
        log_prior = np.log(self._roster.prior())
        beta = self._as_played.beta
        scale = -math.log(beta) if beta > 0 else math.inf
        # Beside expert 0, who began with no losses.
        self._core.join(np.asarray(self._expected + (log_prior[0] - log_prior[before:]) / scale, np.float64))
        grown = len(log_prior) - before
        self._mistakes = np.concatenate([self._mistakes, np.zeros(grown, np.int64)])
        self._charged = np.concatenate([self._charged, np.full(grown, self._expected)])
        self._awake = np.concatenate([self._awake, np.zeros(grown, np.int64)])

    def _predict(self, said: list[Any]) -> Any:
        """The outcome that is chosen by what the experts say, as it is when a round is learned."""
        outcomes = named_outcomes(said)
        if len(outcomes) == 2 and not any(is_missing(each) for each in said):
            lean = self._core.lean(np.array([each == outcomes[1] for each in said], np.uint8))
            return outcomes[int(self._choose_sides(np.array([lean]), np.array([self._core.total()]))[0])]
        return self._choose(outcomes, self._core.shares(self._codes(said, outcomes), len(outcomes)))

    def _weights_among(self, awake: BoolArray) -> FloatArray:
        """Weights of the awake, which sum to 1, even if beside the best of all they are nothing."""
        weights = np.where(awake, self._core.weights(), 0.0)
        if not weights.sum() > 0:
            losses = np.where(awake, self._core.losses(), np.inf)
            weights = np.power(float(self._as_played.beta), losses - losses.min())
        return np.asarray(weights / weights.sum())

    @staticmethod
    def _codes(said: list[Any], outcomes: list[Any]) -> AnyArray:
        place = {outcome: code for code, outcome in enumerate(outcomes)}
        return np.array([-1 if is_missing(each) else place[each] for each in said], np.int32)

    def _choose(self, outcomes: list[Any], shares: FloatArray) -> Any:
        """The heaviest outcome; of equals, the greatest."""
        heaviest = shares >= shares.max() - TIE * shares.sum()
        return outcomes[int(np.flatnonzero(heaviest)[-1])]

    def _choose_sides(self, lean: FloatArray, total: FloatArray) -> Any:  # noqa: ARG002 - a draw needs it
        """Whether the greater of two outcomes is predicted, from the weight behind it less that against it."""
        return lean >= 0

    def _all_awake(self, said: AnyArray, outcome: AnyArray, sides: tuple[Any, Any]) -> None:
        """Rounds with two outcomes and everybody awake: the core plays them at once, until one is bad."""
        before = self._core.losses()
        lean, total = self._core.run(said, outcome)
        outcome = outcome[: len(lean)]
        self._mistakes += np.rint(self._core.losses() - before).astype(np.int64)
        self._awake += len(lean)
        self._sum((1 - lean / total) / 2)
        high = self._choose_sides(np.where(outcome == 1, lean, -lean), total)
        self._record(label_array(sides)[high.astype(np.intp)], high != (outcome == 1))

    def _any_advice(self, said: list[Any], outcomes: list[Any], outcome: Any) -> None:
        """One round with sleepers, or with more than two outcomes."""
        codes = self._codes(said, outcomes)
        shares: FloatArray = self._core.shares(codes, len(outcomes))
        right = outcomes.index(outcome)
        wrong = 1 - float(shares[right] / shares.sum())
        named = [code for code in range(len(outcomes)) if (codes == code).any()]
        prediction = self._choose([outcomes[code] for code in named], shares[named])
        self._core.learn(codes, right, wrong)
        self._mistakes += (codes >= 0) & (codes != right)
        self._awake += codes >= 0
        self._charged += np.where(codes < 0, wrong, 0.0)
        self._sum(np.array([wrong]))
        self._record(label_array([prediction]), np.array([prediction != outcome]))

    def _sum(self, wrong: FloatArray) -> None:
        self._expected = float(np.cumsum(np.concatenate([[self._expected], wrong]))[-1])  # in order, one by one

    def _record(self, predictions: AnyArray, mistaken: AnyArray) -> None:
        self._predictions.append(predictions)
        self._wrong.append(np.flatnonzero(mistaken) + self._rounds)
        self._rounds += len(predictions)
