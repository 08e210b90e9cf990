"""The state of a learner that follows advice under the guard of Weighted Majority, and how a round changes it."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.aggregation.guard import UNDECIDED, VOTE, decide_exactly
from mistakebound.data.labels import label_array
from mistakebound.errors import StreamError, as_stream_error
from mistakebound.experts.advice import names_of
from mistakebound.experts.vote_play import VotePlay
from mistakebound.experts.votes import (
    CodedRounds,
    coded_rounds,
    distinct_outcomes,
    is_bit,
    is_fraction,
    plain_rows,
)
from mistakebound.play.guarded_ledger import GuardedLedger

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.experts.majority import WeightedMajority
    from mistakebound.experts.votes import Chooser, ServedVotes, Totals

TOGETHER = 16_384
"""Rounds of a table that are converted to codes at once."""


class GuardedPlay(VotePlay):
    """The play of a voting rule, and the advice: its mistakes, and the rounds in which it was not followed."""

    def __init__(self, built_with: WeightedMajority, chooser: Chooser) -> None:
        super().__init__(built_with, chooser)
        self.mistaken = 0
        """M, the number of mistakes of the learner."""
        self.overrides: list[AnyArray] = []
        self.advised = self.advice_mistakes = 0

    # ------------------------------------------------------------------ results

    def totals(self) -> Totals:
        """Return the counts so far."""
        return replace(super().totals(), advised=self.advised, advice_mistakes=self.advice_mistakes)

    def ledger(self, before: Totals) -> GuardedLedger:
        """Return the ledger of the rounds since the counts were ``before``."""
        overrides = np.concatenate([np.zeros(0, np.int64), *self.overrides[before.parts :]])
        return GuardedLedger(
            **self._ledger_fields(before),
            override_rounds=overrides - before.rounds,
            advice_rounds=self.advised - before.advised,
            advice_mistakes=self.advice_mistakes - before.advice_mistakes,
        )

    # ------------------------------------------------------------------ internals

    def _checked(
        self, row: Any, outcome: Any, advice: Any, *, bits: bool
    ) -> tuple[list[Any], list[str] | None, list[Any]]:
        try:
            require_label(advice)
        except StreamError as error:
            raise as_stream_error(error, self.rounds) from None
        found = super()._checked(row, outcome, advice, bits=bits)
        if bits and is_fraction(advice):
            message = (
                f"the advice must be 0 or 1, as the outcomes are, got {float(advice):g}"
                "; if it is a probability, compare it with 0.5"
            )
            raise StreamError(message, round=self.rounds)
        return found

    def _start(self) -> float:
        """Return the logarithm of the initial weight of all experts, if that of expert 0 is 1."""
        return -math.log(self.roster.prior()[0])

    def _decide(self, codes: AnyArray, advice: int) -> int:
        """Decide a round in which floating-point numbers are not exact enough; a prior is never exact."""
        if np.ptp(self.roster.prior()) > 0:
            return VOTE
        return decide_exactly(self.beta, self.core.losses(), codes, advice, self.mistaken)

    def _predict(self, votes: list[Any], advice: Any) -> Any:
        require_label(advice)
        labels = distinct_outcomes([*votes, advice])
        codes, advised = self._codes(votes, labels), int(self._codes([advice], labels)[0])
        given = (codes, len(labels), advised, self.mistaken, self._start())
        code = self.core.predict_guarded(*given)
        if code == UNDECIDED:
            code = self.core.predict_guarded(*given, self._decide(codes, advised))
        return labels[code]

    def _run_table(self, A: Any, y: Any, advice: list[Any] | None, before: Totals) -> int:
        rows, names = plain_rows(A), names_of(A)
        outcomes = y.tolist() if hasattr(y, "tolist") else y
        if rows is None or not isinstance(outcomes, (list, tuple)) or len(rows) != len(outcomes):
            return 0
        bits = self.bits and all(map(is_bit, outcomes))
        for begin in range(0, len(rows), TOGETHER):
            part = slice(begin, begin + TOGETHER)
            known = list(outcomes[part])
            coded = coded_rounds(rows[part], known, [None] * len(known) if advice is None else advice[part])
            if coded is None or (bits and any(map(is_fraction, coded.labels))):
                break  # one by one, so that a bad round is found
            places = self._places(coded.votes.shape[1], names)
            if places is None:
                break
            votes = np.full((len(known), self.roster.n), -1, np.int32)
            votes[:, places] = coded.votes
            self.bits = self.bits and all(is_bit(coded.labels[code]) for code in {*coded.outcomes.tolist()})
            self._play_coded(coded._replace(votes=votes))
        return self.rounds - before.rounds

    def _places(self, width: int, names: list[str] | None) -> list[int] | None:
        """Let the experts of a table join, and return their places; None if they do not fit."""
        try:
            if names is None:
                self.roster.check_width(width)
            places = list(range(width)) if names is None else self.roster.columns(names)
        except StreamError:
            return None
        self._join(max(self.roster.n, max(places) + 1), names)
        return places

    def _play_round(self, votes: list[Any], outcomes: list[Any], outcome: Any, advice: Any) -> None:
        codes, right, advised = (self._codes(each, outcomes) for each in (votes, [outcome], [advice]))
        self._play_coded(CodedRounds(outcomes, codes[None], right, advised))

    def _play_coded(self, rounds: CodedRounds) -> None:
        """Learn rounds in calls of the core, which stops at a round that it cannot decide."""
        labels, start, decision, begin = label_array(rounds.labels), self._start(), UNDECIDED, 0
        while begin < len(rounds.outcomes):
            votes, right, advice = (each[begin:] for each in rounds[1:])
            predictions, wrong = self.core.run_guarded(
                votes, len(labels), right, advice, self.mistaken, start, decision
            )
            played = len(predictions)
            self._count(votes[:played], right[:played], wrong)
            self._count_advice(advice[:played], predictions, right[:played])
            self._record(labels[predictions], predictions != right[:played])
            begin += played
            if played < len(right):
                decision = self._decide(votes[played], int(advice[played]))

    def _count(self, votes: AnyArray, right: AnyArray, wrong: FloatArray) -> None:
        """Count the mistakes of the experts; charge sleeping experts the learner's expected losses ``wrong``."""
        asleep = votes < 0
        self.mistakes += (~asleep & (votes != right[:, None])).sum(axis=0)
        self.awake += (~asleep).sum(axis=0)
        if asleep.any():  # summed in order, so the bits do not depend on how rounds are batched
            charges = np.where(asleep, wrong[:, None], 0.0)
            self.charged = np.cumsum(np.concatenate([self.charged[None], charges]), axis=0)[-1]
        self._sum(wrong)

    def _count_advice(self, advice: AnyArray, predictions: AnyArray, right: AnyArray) -> None:
        """Count the rounds with advice, and its mistakes; add the rounds in which it was not followed."""
        given = advice >= 0
        self.advised += int(given.sum())
        self.advice_mistakes += int((given & (advice != right)).sum())
        self.overrides.append(np.flatnonzero(given & (advice != predictions)) + self.rounds)

    def _record_late(self, served: ServedVotes, outcome: Any) -> None:
        labels = distinct_outcomes([served.prediction, outcome, served.advice])
        self._count_advice(*(self._codes([each], labels) for each in (served.advice, served.prediction, outcome)))
        super()._record_late(served, outcome)

    def _record(self, predictions: AnyArray, mistaken: AnyArray) -> None:
        self.mistaken += int(np.count_nonzero(mistaken))
        super()._record(predictions, mistaken)


def require_label(advice: Any) -> None:
    """Raise StreamError if the advice is not a label."""
    try:
        hash(advice)
    except TypeError:
        message = f"the advice must be one label, got {reprlib.repr(advice)}"
        raise StreamError(message) from None


def advice_list(advice: Any, rounds: int) -> list[Any] | None:
    """Return the advice of each round as a list; None if there is no advice at all."""
    if advice is None:
        return None
    if isinstance(advice, (str, bytes, Mapping)) or not hasattr(advice, "__iter__") or getattr(advice, "ndim", 1) != 1:
        message = f"advice must be a sequence with a label for each round, got {reprlib.repr(advice)}"
        raise ValueError(message)
    listed = advice.tolist() if hasattr(advice, "tolist") else list(advice)
    if len(listed) != rounds:
        message = f"advice must have a label for each of the {rounds} outcomes, got {len(listed)} labels"
        raise ValueError(message)
    return listed
