"""The state of a learner that follows the votes of experts, and how a round changes it."""

from __future__ import annotations

import copy
import math
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.data.labels import label_array
from mistakebound.errors import StreamError, as_stream_error
from mistakebound.experts.advice import Roster, names_of
from mistakebound.experts.votes import (
    ServedVotes,
    Totals,
    distinct_outcomes,
    is_bit,
    is_fraction,
    joined_labels,
    refuse_probabilities,
    rows_of,
    two_sided,
)
from mistakebound.losses.base import is_missing
from mistakebound.play.expert_ledger import ExpertLedger, stacked_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray
    from mistakebound.experts.majority import WeightedMajority
    from mistakebound.experts.votes import Chooser


class VotePlay:
    """The experts, their losses, and the record of the rounds.

    A row has the votes of a round. Advice is a label that a guard may follow instead of the votes.

    ``built_with`` is a copy of the learner with the parameters that the play began with; they do not change later.
    """

    def __init__(self, built_with: WeightedMajority, chooser: Chooser) -> None:
        self.built_with, self.chooser = built_with, chooser
        self.beta = float(built_with.beta)
        self.roster = Roster(built_with.prior)
        self.core: Any = None  # until the first expert joins
        self.mistakes = np.zeros(0, np.int64)
        self.charged = np.zeros(0)
        self.awake = np.zeros(0, np.int64)
        self.predictions: list[AnyArray] = []
        self.wrong: list[AnyArray] = []
        self.rounds = self.late = 0
        self.expected = 0.0
        self.bits = True  # whether all outcomes so far are 0 or 1
        self.mixed = False  # whether rounds were learned in parts

    # ------------------------------------------------------------------ rounds

    def predict(self, row: Any, advice: Any = None) -> Any:
        """Return the prediction of a round."""
        votes, names = self._read(row)
        with self._with_newcomers(len(votes), names):
            return self._predict(votes, advice)

    def serve(self, row: Any, advice: Any = None) -> ServedVotes:
        """Return a prediction whose outcome comes later."""
        votes, names = self._read(row)
        with self._with_newcomers(len(votes), names):
            drawn, outcomes = self.chooser.next_draw(), distinct_outcomes(votes)
            shares = self.core.shares(self._codes(votes, outcomes), len(outcomes))
            prediction = self._predict(votes, advice)
            return ServedVotes(prediction, copy.copy(row), outcomes, shares, drawn, self.rounds, advice)

    def weights_for(self, row: Any) -> FloatArray:
        """Return the weights that these votes would have."""
        votes, names = self._read(row)
        with self._with_newcomers(len(votes), names):
            return self._weights_among(np.array([not is_missing(each) for each in votes]))

    def learn(self, served: ServedVotes, outcome: Any) -> None:
        """Learn from the outcome of an earlier prediction; it counts as a mistake if that prediction was wrong."""
        bits = self.bits and is_bit(outcome)
        if served.number == self.rounds:
            with self.chooser.again(served.drawn):
                self.one(served.row, outcome, served.advice, bits=bits)
            return
        votes, names, outcomes = self._checked(served.row, outcome, served.advice, bits=bits)
        self._join(len(votes), names)
        self.bits = self.bits and is_bit(outcome)
        right = dict(zip(served.outcomes, served.shares.tolist(), strict=True)).get(outcome, 0.0)
        self._charge(self._codes(votes, outcomes), outcomes.index(outcome), 1 - right / float(served.shares.sum()))
        self._record_late(served, outcome)
        self.late += 1

    def one(
        self, row: Any, outcome: Any, advice: Any = None, *, bits: bool, weights: list[FloatArray] | None = None
    ) -> None:
        """Predict, then learn, one round; append its weights to ``weights``. With ``bits``, fractions are rejected."""
        votes, names, outcomes = self._checked(row, outcome, advice, bits=bits)
        self._join(len(votes), names)
        if weights is not None:
            weights.append(self._weights_among(np.array([not is_missing(each) for each in votes])))
        self.bits = self.bits and is_bit(outcome)
        self._play_round(votes, outcomes, outcome, advice)

    def run(self, A: Any, y: Any, advice: list[Any] | None = None, *, keep_weights: bool = False) -> ExpertLedger:
        """Predict, then learn, a stream; return the ledger of its rounds."""
        before = self.totals()
        ledger: Any
        played = 0 if keep_weights else self._run_table(A, y, advice, before)
        if played and played == len(y):
            return self.ledger(before)
        rows, outcomes = rows_of(A), list(y)
        if len(rows) != len(outcomes):
            message = f"there are {len(rows)} rounds of votes but {len(outcomes)} outcomes"
            raise ValueError(message)
        bits = self.bits and all(map(is_bit, outcomes))
        weights: list[FloatArray] | None = [] if keep_weights else None
        for number in range(played, len(rows)):
            advised = None if advice is None else advice[number]
            try:
                self.one(rows[number], outcomes[number], advised, bits=bits, weights=weights)
            except StreamError as error:
                ledger = self.ledger(before)
                raise error.at_round(number, ledger) from None
        whole = self.ledger(before)
        return whole if weights is None else replace(whole, weights=stacked_weights(weights, self.roster.n))

    # ------------------------------------------------------------------ results

    def totals(self) -> Totals:
        """Return the counts so far."""
        experts = (self.mistakes.copy(), self.charged.copy(), self.awake.copy())
        return Totals(self.rounds, len(self.predictions), *experts, self.expected)

    def ledger(self, before: Totals) -> ExpertLedger:
        """Return the ledger of the rounds since the counts were ``before``."""
        return ExpertLedger(**self._ledger_fields(before))

    def _ledger_fields(self, before: Totals) -> dict[str, Any]:
        new = self.roster.n - len(before.mistakes)  # new experts were charged the learner's expected losses until then
        charged = self.charged - np.concatenate([before.charged, np.full(new, before.expected)])
        mistakes = self.mistakes - np.concatenate([before.mistakes, np.zeros(new, np.int64)])
        wrong = np.concatenate([np.zeros(0, np.int64), *self.wrong[before.parts :]])
        return {
            "rule": self.built_with.id,
            "beta": self.beta,
            "rounds": self.rounds - before.rounds,
            "predictions": joined_labels(self.predictions[before.parts :]),
            "mistake_rounds": wrong - before.rounds,
            "expert_mistakes": mistakes,
            "expected_mistakes": self.expected - before.expected,
            "expert_losses": mistakes + charged,
            "expert_rounds": self.awake - np.concatenate([before.awake, np.zeros(new, np.int64)]),
            "prior": self.roster.prior() if self.roster.n else np.zeros(0),
            "names": tuple(self.roster.all_names()),
            "from_start": before.rounds == 0,
            "late": self.late,
            "mixed": self.mixed,
        }

    # ------------------------------------------------------------------ internals

    def _checked(
        self, row: Any, outcome: Any, advice: Any, *, bits: bool
    ) -> tuple[list[Any], list[str] | None, list[Any]]:
        """Return the votes, the names of the experts, and all distinct values of votes, outcome and advice."""
        try:
            votes, names = self._read(row)
            if is_missing(outcome):
                message = f"the outcome is missing: got {outcome!r}"
                raise StreamError(message)
            outcomes = distinct_outcomes([*votes, outcome, advice])
            if bits and any(map(is_fraction, outcomes)):
                refuse_probabilities(votes, lambda place: self.roster.display_name(place, names))
        except (ValueError, TypeError) as error:
            raise as_stream_error(error, self.rounds) from None
        return votes, names, outcomes

    def _read(self, row: Any) -> tuple[list[Any], list[str] | None]:
        votes = self.roster.row(row)
        if all(is_missing(each) for each in votes):
            message = "every expert is asleep" if votes else "no expert gave advice"
            raise StreamError(message)
        return votes, names_of(row)

    @contextmanager
    def _with_newcomers(self, width: int, names: list[str] | None) -> Iterator[None]:
        """Let new experts join within this context, and remove them at its end."""
        kept = self.roster, self.core, self.mistakes, self.charged, self.awake
        try:
            if width > self.roster.n:
                self.roster, self.core = copy.deepcopy(self.roster), copy.deepcopy(self.core)
                self._join(width, names)
            yield
        finally:
            self.roster, self.core, self.mistakes, self.charged, self.awake = kept

    def _join(self, width: int, names: list[str] | None) -> None:
        """Add new experts; they are charged the learner's expected losses so far, as if they had slept."""
        before = self.roster.n
        if not before:
            self.core = self.built_with.engine(self.beta)
        if not self.roster.admit(width, names):
            return
        log_prior = np.log(self.roster.prior())
        scale = -math.log(self.beta) if self.beta > 0 else math.inf
        # A prior is expressed as losses relative to expert 0, which began with none.
        self.core.join(np.asarray(self.expected + (log_prior[0] - log_prior[before:]) / scale, np.float64))
        grown = len(log_prior) - before
        self.mistakes = np.concatenate([self.mistakes, np.zeros(grown, np.int64)])
        self.charged = np.concatenate([self.charged, np.full(grown, self.expected)])
        self.awake = np.concatenate([self.awake, np.zeros(grown, np.int64)])

    def _predict(self, votes: list[Any], advice: Any) -> Any:  # noqa: ARG002 - a guard needs it
        outcomes = distinct_outcomes(votes)
        if len(outcomes) == 2 and not any(is_missing(each) for each in votes):
            lean = self.core.lean(np.array([each == outcomes[1] for each in votes], np.uint8))
            return outcomes[int(self.chooser.choose_sides(np.array([lean]), np.array([self.core.total()]))[0])]
        return self.chooser.choose(outcomes, self.core.shares(self._codes(votes, outcomes), len(outcomes)))

    def _weights_among(self, awake: BoolArray) -> FloatArray:
        """Return the weights of the awake experts, which sum to 1 even if a sleeping expert has far more weight."""
        weights = np.where(awake, self.core.weights(), 0.0)
        if not weights.sum() > 0:
            losses = np.where(awake, self.core.losses(), np.inf)
            weights = np.power(self.beta, losses - losses.min())
        return np.asarray(weights / weights.sum())

    @staticmethod
    def _codes(votes: list[Any], outcomes: list[Any]) -> AnyArray:
        place = {outcome: code for code, outcome in enumerate(outcomes)}
        return np.array([-1 if is_missing(each) else place[each] for each in votes], np.int32)

    def _run_table(self, A: Any, y: Any, advice: list[Any] | None, before: Totals) -> int:  # noqa: ARG002
        """Learn the first rounds of a table together, and return their number; here all of them, or none."""
        table, names = two_sided(A, y), names_of(A)
        if table is None:
            return 0
        votes, outcome, sides = table
        if names is None:
            self.roster.check_width(votes.shape[1])
        elif self.roster.columns(names) != list(range(max(self.roster.n, votes.shape[1]))):
            return 0
        self._join(votes.shape[1], names)
        self.bits = self.bits and all(map(is_bit, sides))
        self._all_awake(votes, outcome, sides)
        played = self.rounds - before.rounds
        if played < len(outcome):
            message = f"votes must be {sides[0]!r} or {sides[1]!r}"
            ledger: Any = self.ledger(before)
            raise StreamError(message, round=played, ledger=ledger)
        return played

    def _play_round(self, votes: list[Any], outcomes: list[Any], outcome: Any, advice: Any) -> None:  # noqa: ARG002
        if len(outcomes) <= 2 and not any(is_missing(each) for each in votes):
            high = outcomes[-1]
            row = np.array([[each == high for each in votes]], np.uint8)
            self._all_awake(row, np.array([outcome == high], np.uint8), (outcomes[0], high))
        else:
            self._any_votes(votes, outcomes, outcome)

    def _all_awake(self, votes: AnyArray, outcome: AnyArray, sides: tuple[Any, Any]) -> None:
        """Learn rounds with two outcomes and all experts awake in one call of the core, which stops at a bad round."""
        before = self.core.losses()
        lean, total = self.core.run(votes, outcome)
        outcome = outcome[: len(lean)]
        self.mistakes += np.rint(self.core.losses() - before).astype(np.int64)
        self.awake += len(lean)
        self._sum((1 - lean / total) / 2)
        high = self.chooser.choose_sides(np.where(outcome == 1, lean, -lean), total)
        self._record(label_array(sides)[high.astype(np.intp)], high != (outcome == 1))

    def _any_votes(self, votes: list[Any], outcomes: list[Any], outcome: Any) -> None:
        """Learn one round with sleeping experts, or with more than two outcomes."""
        codes = self._codes(votes, outcomes)
        shares: FloatArray = self.core.shares(codes, len(outcomes))
        right = outcomes.index(outcome)
        voted = [code for code in range(len(outcomes)) if (codes == code).any()]
        prediction = self.chooser.choose([outcomes[code] for code in voted], shares[voted])
        self._charge(codes, right, 1 - float(shares[right] / shares.sum()))
        self._record(label_array([prediction]), np.array([prediction != outcome]))

    def _charge(self, codes: AnyArray, right: int, wrong: float) -> None:
        """Charge every wrong expert 1, and every sleeping expert the learner's expected loss ``wrong``."""
        self.core.learn(codes, right, wrong)
        self.mistakes += (codes >= 0) & (codes != right)
        self.awake += codes >= 0
        self.charged += np.where(codes < 0, wrong, 0.0)
        self._sum(np.array([wrong]))

    def _sum(self, wrong: FloatArray) -> None:
        # Summed in order, so the bits do not depend on how rounds are batched.
        self.expected = float(np.cumsum(np.concatenate([[self.expected], wrong]))[-1])

    def _record_late(self, served: ServedVotes, outcome: Any) -> None:
        self._record(label_array([served.prediction]), np.array([served.prediction != outcome]))

    def _record(self, predictions: AnyArray, mistaken: AnyArray) -> None:
        self.predictions.append(predictions)
        self.wrong.append(np.flatnonzero(mistaken) + self.rounds)
        self.rounds += len(predictions)
