"""Replay a learner in a second pass over its stream, and keep every example for a whole-stream certificate."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.data.source import Source
from mistakebound.errors import StreamError
from mistakebound.learners.learner import Learner
from mistakebound.learners.rounds import run_rows
from mistakebound.learners.stream_loop import steps
from mistakebound.play.engine import LearnerEngine
from mistakebound.play.inputs import read_matrix
from mistakebound.rules import PerceptronRule
from mistakebound.theorems.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound._support.arrays import SignArray
    from mistakebound.data.options import Reading
    from mistakebound.data.parts import Part
    from mistakebound.data.reader import ReadReport, StreamReader
    from mistakebound.learners.linear_play import LinearPlay
    from mistakebound.play.engine import Played, PlayedPart, Reduction
    from mistakebound.play.inputs import Positional
    from mistakebound.play.ledger import Ledger
    from mistakebound.rules import Rule

STREAM_BYTES = 4 << 30
"""Memory for the examples of a whole stream, 12 bytes a non-zero: some 350 million of them."""
EVERY_ROUND = PerceptronRule(update_margin=1e300)
"""No score exceeds its update margin, so it updates in every round, and every example is kept."""
KEPT = 16 << 20
"""Predictions that are compared, a byte each: as many as a learner keeps by default."""
UNLEARNABLE = "a certificate over the whole stream needs values that can be learned in every round"
OTHER = "certify needs the stream that this learner learned from, in the same order"


class RecordingEngine(LearnerEngine):
    """A learner at work that also keeps every example, mistaken or not, while ``recording``."""

    def __init__(
        self, rule: Rule, width: int | None, keep_bytes: int, reduction: Reduction, *, growing: bool = False
    ) -> None:
        super().__init__(rule, width, keep_bytes, reduction, growing=growing)
        self.recorder = LearnerEngine(EVERY_ROUND, width, STREAM_BYTES, reduction, growing=growing)
        self.recording = True
        self.unlearnable: ValueError | None = None
        """What is wrong with an example that the rule could skip, but that could not be learned from."""

    def play_part(self, part: Part, codes: bytes, first: int = 0) -> PlayedPart:
        """Predict, then learn, rows of a part of a file, and keep those that were learned."""
        played = super().play_part(part, codes, first)
        if self.recording:
            kept = self.recorder.play_part(part, codes[: played.row], first)
            if kept.fault is not None:
                self._stop(part.error_at(first + kept.row, kept.fault.error()))
        return played

    def play(self, rows: Positional, codes: SignArray) -> Played:
        """Predict, then learn, row by row, and keep those that were learned."""
        played = super().play(rows, codes)
        if self.recording and played.fault is None:
            kept = self.recorder.play(rows, codes)
            if kept.fault is not None:
                self._stop(kept.fault.error().at_round(kept.row))
        return played

    def learn_named(self, x: Any, sign: int) -> bool:
        """One round with a named example, which is kept."""
        positive = super().learn_named(x, sign)
        if self.recording:
            try:
                self.recorder.learn_named(x, sign)
            except StreamError as error:
                self._stop(error.at_round(self.recorder.counts.rounds))
        return positive

    def _stop(self, error: ValueError) -> None:
        self.recording, self.unlearnable = False, error


class Replica(Learner):
    """A fresh learner with the rule, features and labels that another learner has played with."""

    _engine_type = RecordingEngine

    def __init__(self, original: Learner, played: LinearPlay) -> None:
        self.classes = original.classes
        self.keep_bytes = KEPT
        self._original = original
        self._play_of_original = played
        self._early_labels = played.labels.copy()

    def _make_rule(self, n: int | None) -> Rule:  # noqa: ARG002
        return self._play_of_original.engine.rule

    def _reduction(self) -> Reduction:
        return self._play_of_original.engine.reduction

    def known_reading(self) -> Reading | None:
        """How the files of the original were read, if another reading could give other features."""
        known = self._original.known_reading()
        return known if known is not None and (known.has_columns or known.zero_based) else None

    def _reads_columns(self) -> bool:
        return self._original._reads_columns()

    def play(self, X: Any, y: Any) -> None:
        """Predict, then learn, rows or named examples as the original did."""
        if self._play_of_original.engine.named:
            self.run(X, y)
        else:
            run_rows(self, read_matrix(X), y)

    def agrees(self) -> bool:
        """Whether the original made the same predictions and mistakes, and has the same weights."""
        mine = self._play.engine if self._play is not None else self._current_play().engine
        other = self._play_of_original.engine
        predicted, before = mine.core.predictions(0, KEPT), other.core.predictions(0, KEPT)
        common = min(len(predicted), len(before))  # a learner keeps so many of its predictions
        if not np.array_equal(predicted[:common], before[:common]):
            return False
        (z, bias_z), (other_z, other_bias_z) = mine.core.z(), other.core.z()
        return (
            mine.core.counts() == other.core.counts()
            and bias_z == other_bias_z
            and np.array_equal(np.trim_zeros(z, "b"), np.trim_zeros(other_z, "b"))
            and mine.core.names() == other.core.names()
        )


def whole_stream(learner: Learner, X: Any, y: Any = None) -> Evidence:
    """Evidence of all rounds of a learner. ValueError if it learned from something else than X and y.

    Parameters
    ----------
    learner : Learner
        It is not changed.
    X, y
        As for ``Learner.run``: its stream, which is read as the learner reads files. A Source is not changed. A learner
        of several passes has learned it as often.
    """
    ledger, play = learner.ledger_, learner._play
    rounds = ledger.rounds
    if play is None or rounds == 0:
        message = "this learner has learned nothing yet: there is nothing to certify"
        raise ValueError(message)
    if ledger.late:
        message = (
            f"the outcomes of {ledger.late} predictions came late, which a second pass over a stream does not repeat: "
            "call certify without X and y"
        )
        raise ValueError(message)
    replica = Replica(learner, play)
    try:
        if isinstance(X, Source):
            known = learner.known_reading()
            if known is not None:  # a reading that gives the same features with or without it leaves a cache in use
                known = learner.known_for(X) if known.has_columns or known.zero_based else None
            replay_files(replica, partial(once_more(X, known).open, known), rounds)
        elif y is None and (stream := learner.stream_of(X)) is not None:  # a DataFrame with its own labels
            replay_files(replica, partial(replica.open_stream, stream), rounds)
        else:
            _replay_rows(replica, X, y, rounds)
    except StreamError as error:
        message = f"{OTHER}: {error}"
        raise ValueError(message) from None
    if not replica.agrees():
        message = f"{OTHER}: a replay of {rounds} rounds gives different predictions, mistakes or weights"
        raise ValueError(message)
    return Evidence.of(ledger, recorded(replica))


def record(learner: Learner) -> None:
    """Let a fresh learner keep every example that it will learn from; ``recorded`` returns them."""
    learner._engine_type = RecordingEngine


def recorded(learner: Learner) -> Ledger:
    """Return the ledger of a learner with every example that it recorded; its own ledger if it did not record."""
    play = learner._play
    if play is None or not isinstance(play.engine, RecordingEngine):
        return learner.ledger_
    if play.engine.unlearnable is not None:
        message = f"{UNLEARNABLE}: {play.engine.unlearnable}"
        raise ValueError(message)
    labels = play.labels
    return play.engine.recorder.ledger((labels.negative, labels.positive))


def stop_recording(learner: Learner) -> None:
    """Keep no more examples, if any are kept: a later pass repeats them."""
    if learner._play is not None and isinstance(learner._play.engine, RecordingEngine):
        learner._play.engine.recording = False


def once_more(source: Source, known: Reading | None) -> Source:
    """The same files as they are now, without a cache that this reading would make or replace."""
    keeps = source.cache is None or (known is None and os.path.isfile(source.cache))
    if keeps and not source.follow:
        return source
    return source.but(follow=False, cache=source.cache if keeps else None)


def _replay_rows(replica: Replica, X: Any, y: Any, rounds: int) -> None:
    X, y = (list(each) if isinstance(each, Iterator) else each for each in (X, y))
    if y is None:
        message = "certify needs X and y"
        raise ValueError(message)
    replica.play(X, y)
    rows = replica.ledger_.rounds
    if rows == 0 or rounds % rows:
        message = f"{OTHER}: it learned {rounds} rounds, which is not a multiple of the {rows} rounds of X"
        raise ValueError(message)
    stop_recording(replica)
    for _ in range(rounds // rows - 1):
        replica.play(X, y)


def replay_files(
    learner: Learner,
    open_stream: Callable[[], StreamReader],
    rounds: int,
    passes: int | None = None,
) -> ReadReport | None:
    """Learn at most ``rounds`` examples, reading the stream repeatedly; only the first pass is recorded.

    Returns the report of the last pass.
    """
    left, report = rounds, None
    for _ in count() if passes is None else range(passes):
        before, reader = left, open_stream()
        report = reader.report
        try:
            for step in steps(learner, reader, limit=lambda: left):  # noqa: B023 - called in this loop only
                left -= step.last - step.first
                if left <= 0:
                    return report
        except StreamError as error:
            raise error.at_round(None) from None
        stop_recording(learner)
        rows = before - left
        if rows == 0:
            return report
        if passes is not None and rows * passes not in (rounds, rounds - 1):
            message = f"{passes} passes over {rows} examples are not the number of rounds"
            raise StreamError(message)
    return report
