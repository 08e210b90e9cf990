"""Replay a learner in a second pass over its stream, and keep every example, for a certificate over all rounds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.data.labels import Labels
from mistakebound.data.source import Source
from mistakebound.errors import StreamError
from mistakebound.learners.learner import Learner
from mistakebound.learners.parameters import rebuilt
from mistakebound.learners.rounds import run_rows
from mistakebound.learners.stream_loop import steps
from mistakebound.models.model_file import fingerprint
from mistakebound.play.engine import LearnerEngine
from mistakebound.play.inputs import read_matrix
from mistakebound.rules import PerceptronRule
from mistakebound.theorems.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound._support.arrays import FloatArray, SignArray
    from mistakebound.data.options import Reading
    from mistakebound.data.parts import Part
    from mistakebound.data.reader import ReadReport, StreamReader
    from mistakebound.learners.linear_play import LinearPlay
    from mistakebound.play.engine import Played, PlayedPart, Reduction
    from mistakebound.play.inputs import Positional
    from mistakebound.play.ledger import Ledger
    from mistakebound.play.measures import Measures
    from mistakebound.rules import Rule

STREAM_BYTES = 4 << 30
"""Memory for the examples of a whole stream: 12 bytes for each of some 350 million non-zeros."""
EVERY_ROUND = PerceptronRule(update_margin=1e300)
"""A rule that keeps every example: no score exceeds its update margin, so it updates in every round."""
PREDICTIONS_KEPT = 16 << 20
"""Number of predictions that are compared, a byte each: as many as a learner keeps by default."""
UNLEARNABLE = "a certificate over the whole stream requires values in every round that could be learned"
NOTHING = "this learner has not learned anything yet: there is nothing to certify"
OTHER_STREAM = "X and y must be the stream that this learner learned from, in the same order"


class RecordingEngine(LearnerEngine):
    """An engine that also keeps every example, not only those with a mistake, while ``recording`` is true."""

    def __init__(
        self, rule: Rule, width: int | None, keep_bytes: int, reduction: Reduction, *, growing: bool = False
    ) -> None:
        super().__init__(rule, width, keep_bytes, reduction, growing=growing)
        self.recorder = LearnerEngine(EVERY_ROUND, width, STREAM_BYTES, reduction, growing=growing)
        self.recording = True
        self.unlearnable: ValueError | None = None
        """The error for an example that needed no update, and that could not have been learned."""

    def play_part(
        self,
        part: Part,
        signs: bytes,
        first: int = 0,
        *,
        scores: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> PlayedPart:
        """Predict, then learn, rows of a part of a file, and keep their examples."""
        played = super().play_part(part, signs, first, scores=scores, weights=weights)
        if self.recording:
            kept = self.recorder.play_part(part, signs[: played.row], first)
            if kept.fault is not None:
                self._stop(part.error_at(first + kept.row, kept.fault.error()))
        return played

    def play(
        self,
        rows: Positional,
        signs: SignArray,
        scores: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> Played:
        """Predict, then learn, row by row, and keep the examples."""
        played = super().play(rows, signs, scores, weights)
        if self.recording and played.fault is None:
            kept = self.recorder.play(rows, signs)
            if kept.fault is not None:
                self._stop(kept.fault.error().at_round(kept.row))
        return played

    def learn_named(self, x: Any, sign: int, weight: float = 1.0) -> bool:
        """Predict, then learn, a named example, and keep it."""
        positive = super().learn_named(x, sign, weight)
        if self.recording:
            try:
                self.recorder.learn_named(x, sign)
            except StreamError as error:
                self._stop(error.at_round(self.recorder.counts.rounds))
        return positive

    def _stop(self, error: ValueError) -> None:
        """Stop recording because of an example that cannot be learned."""
        self.recording, self.unlearnable = False, error


class Replica(Learner):
    """A fresh learner with the rule, features and labels that another learner has played with."""

    _engine_type = RecordingEngine

    def __init__(self, original: Learner, played: LinearPlay) -> None:
        self.classes = original.classes
        self.keep_bytes = PREDICTIONS_KEPT
        self._original = original
        self._play_of_original = played
        self._early_labels = played.labels.copy()

    def _make_rule(self, n: int | None) -> Rule:  # noqa: ARG002
        return self._play_of_original.engine.rule

    def _reduction(self) -> Reduction:
        return self._play_of_original.engine.reduction

    @property
    def takes_weights(self) -> bool:
        """Whether examples may have weights."""
        return self._play_of_original.takes_weights

    def known_reading(self) -> Reading | None:
        """Return how the files of the original were read, if other options could give other features."""
        known = self._original.known_reading()
        return known if known is not None and known.changes_examples else None

    def _reads_columns(self) -> bool:
        return self._original._reads_columns()

    def play(self, X: Any, y: Any) -> Ledger:
        """Predict, then learn, rows or named examples like the original."""
        return self.run(X, y) if self._play_of_original.engine.named else _run_matrix(self, X, y)

    def agrees(self) -> bool:
        """Whether the original made the same predictions and mistakes, and has the same weights."""
        mine = self._play.engine if self._play is not None else self._current_play().engine
        other = self._play_of_original.engine
        predicted, before = mine.core.predictions(0, PREDICTIONS_KEPT), other.core.predictions(0, PREDICTIONS_KEPT)
        common = min(len(predicted), len(before))  # keep_bytes limits how many a learner keeps
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
    """Return the evidence of all rounds of a learner; raise ValueError if it did not learn from X and y.

    Parameters
    ----------
    learner : Learner
        The learner, which is not changed.
    X, y
        Its stream, as for ``Learner.run``. If the learner made several passes, the stream is replayed as often.
    """
    play = learner._play
    ledger = None if play is None else play.ledger()
    if play is None or ledger is None or ledger.rounds == 0:
        raise ValueError(NOTHING)
    rounds = ledger.rounds
    refuse_mixed(ledger)
    if ledger.late:
        message = (
            f"the outcomes of {ledger.late} predictions came late, which a second pass over the stream cannot repeat: "
            "call certify without X and y"
        )
        raise ValueError(message)
    if learner.several:
        return Evidence.of(ledger, recorded(check_again(learner, X, y, keep=True)))
    replica = Replica(learner, play)
    try:
        if isinstance(X, Source):
            known = play.reading
            if known is not None:  # options that do not change the features would only disable the cache
                known = learner.reading_for(X) if known.changes_examples else None
            replay_files(replica, partial(to_read_again(X, known).open, known), rounds)
        elif y is None and (stream := learner.stream_of(X)) is not None:  # a DataFrame with its own labels
            replay_files(replica, partial(replica.open_stream, stream), rounds)
        else:
            _replay_rows(replica, replica.play, X, y, rounds)
    except StreamError as error:
        message = f"{OTHER_STREAM}: {error}"
        raise ValueError(message) from None
    if not replica.agrees():
        message = f"{OTHER_STREAM}: a replay of {rounds} rounds gives different predictions, mistakes or weights"
        raise ValueError(message)
    return Evidence.of(ledger, recorded(replica))


def check_again(learner: Learner, X: Any, y: Any = None, sample_weight: Any = None, *, keep: bool = False) -> Learner:
    """Learn a stream again with a fresh copy of a learner, and return it. Raise ValueError if its state is another one.

    The parameters are those of `whole_stream`. It serves learners whose theorems need no examples, and with ``keep``,
    those of several classes whose theorems do: the copy keeps every example.
    """
    play = learner._play
    if play is None or not play.has_learned:
        raise ValueError(NOTHING)
    refuse_mixed(play.ledger())
    again, rounds = rebuilt(learner), play.engine.counts.rounds
    again._early_labels = labels_at_start(learner, play)
    if keep:
        record(again)
    measured = play.ledger().counts.measures
    try:
        if y is None and (stream := learner.stream_of(X)) is not None:
            replay_files(again, partial(learner.open_stream, stream), rounds, measured=measured)
        else:
            run = partial(again.run if play.engine.named else partial(_run_matrix, again), sample_weight=sample_weight)
            _replay_rows(again, run, X, y, rounds, measured)
    except StreamError as error:
        message = f"{OTHER_STREAM}: {error}"
        raise ValueError(message) from None
    if fingerprint(again) != fingerprint(learner):
        message = f"{OTHER_STREAM}: a replay of {rounds} rounds ends in another state"
        raise ValueError(message)
    return again


def refuse_mixed(ledger: Ledger) -> None:
    """Raise ValueError for the ledger of a learner that was mixed."""
    if ledger.mixing is not None:
        message = (
            f"this learner was mixed from up to {ledger.mixing.shards} shards, which one pass over the stream cannot "
            "repeat: call certify without X and y"
        )
        raise ValueError(message)


def labels_at_start(learner: Learner, play: LinearPlay) -> Labels:
    """Return the labels that a copy starts with: of a panel that a third label converted, the first two."""
    labels: Any = play.labels.copy()
    if learner.several and play.ledger().totals["first_seen"] < len(labels.ids):
        return Labels(learner.default_labels, tuple(labels.seen[:2]))
    found: Labels = labels
    return found


def _run_matrix(learner: Learner, X: Any, y: Any, sample_weight: Any = None) -> Ledger:
    return run_rows(learner, read_matrix(X), y, sample_weight)


def record(learner: Learner) -> None:
    """Make a fresh learner keep every example that it will learn from; ``recorded`` returns them."""
    kind: Any = RecordingEngine
    if learner.several:
        from mistakebound.learners.class_replay import recording_engine as kind  # noqa: PLC0415 - few have them
    learner._engine_type = kind


def recorded(learner: Learner) -> Ledger:
    """Return the ledger of a learner with every example that it recorded; its own ledger if it did not record."""
    play = learner._play
    if play is not None and learner.several and hasattr(play.engine, "recorder"):
        from mistakebound.learners.class_replay import recorded_classes  # noqa: PLC0415 - few have several classes

        return recorded_classes(play)
    if play is None or not isinstance(play.engine, RecordingEngine):
        return learner.ledger_
    if play.engine.unlearnable is not None:
        message = f"{UNLEARNABLE}: {play.engine.unlearnable}"
        raise ValueError(message)
    labels = play.labels
    return play.engine.recorder.ledger((labels.negative, labels.positive))


def end_first_pass(learner: Learner, measured: Measures | None) -> None:
    """Stop keeping examples, because a later pass repeats them, and measuring, unless more rounds were measured."""
    learner.measure(on=measured is not None and measured.rounds > learner.ledger_.rounds)
    if learner._play is not None and hasattr(learner._play.engine, "recording"):
        learner._play.engine.recording = False


def to_read_again(source: Source, known: Reading | None) -> Source:
    """Return the source without ``follow``, and without a cache file that reading again would write."""
    cache_is_ready = source.cache is None or (known is None and os.path.isfile(source.cache))
    if cache_is_ready and not source.follow:
        return source
    return source.but(follow=False, cache=source.cache if cache_is_ready else None)


def _replay_rows(
    learner: Learner,
    play: Callable[[Any, Any], Any],
    X: Any,
    y: Any,
    rounds: int,
    measured: Measures | None = None,
) -> None:
    """Play the rows of X as often as a learner did that has learned ``rounds`` rounds."""
    X, y = (list(each) if isinstance(each, Iterator) else each for each in (X, y))
    if y is None:
        message = "certify needs y, too, because X has no labels"
        raise ValueError(message)
    play(X, y)
    rows = learner.ledger_.rounds
    if rows == 0 or rounds % rows:
        message = f"{OTHER_STREAM}: it learned {rounds} rounds, which is not a multiple of the {rows} rounds of X"
        raise ValueError(message)
    end_first_pass(learner, measured)
    for _ in range(rounds // rows - 1):
        play(X, y)


def replay_files(
    learner: Learner,
    open_stream: Callable[[], StreamReader],
    rounds: int,
    passes: int | None = None,
    measured: Measures | None = None,
) -> ReadReport | None:
    """Learn at most ``rounds`` examples in passes over a stream, and record the first pass.

    Later passes count in the measures of probabilities only if ``measured`` has more rounds than the first pass.
    Returns the report of the last pass. Raises StreamError if ``passes`` passes have fewer examples.
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
        rows = before - left
        if rows == 0:
            return report
        end_first_pass(learner, measured)
        if passes is not None and rows * passes not in (rounds, rounds - 1):
            message = f"the files have {rows} examples, which does not fit the number of rounds with passes={passes}"
            raise StreamError(message)
    return report
