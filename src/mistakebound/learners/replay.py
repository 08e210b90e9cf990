"""Replay a learner in a second pass over its stream, and keep every example for a whole-stream certificate."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.data.source import Source
from mistakebound.errors import InputError, StreamError
from mistakebound.learners.learner import Learner
from mistakebound.learners.stream_loop import steps
from mistakebound.play.inputs import read_matrix
from mistakebound.rules import PerceptronRule
from mistakebound.theorems.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mistakebound._support.arrays import AnyArray
    from mistakebound.data.labels import Labels
    from mistakebound.data.options import Reading
    from mistakebound.data.parts import Part
    from mistakebound.data.reader import StreamReader
    from mistakebound.data.report import ReadReport
    from mistakebound.play.engine import Reduction
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


class Replica(Learner):
    """A fresh learner with a rule as given, for the features and labels of another learner."""

    def __init__(self, original: Learner, rule: Rule, keep_bytes: int, labels: Labels | None = None) -> None:
        self.classes = original.classes
        self.keep_bytes = keep_bytes
        self._rule, self._original = rule, original
        self._labels = original._the_labels().copy() if labels is None else labels  # noqa: SLF001 - the same kind

    def _make_rule(self, n: int | None) -> Rule:  # noqa: ARG002
        return self._rule

    def _reduction(self) -> Reduction:
        begun = self._original._life  # noqa: SLF001
        return self._original._reduction() if begun is None else begun.reduction  # noqa: SLF001

    def known_reading(self) -> Reading | None:
        """How the files of the original were read, if another reading could give other features."""
        known = self._original.known_reading()
        return known if known is not None and (known.has_columns or known.zero_based) else None

    def _reads_columns(self) -> bool:
        return self._original._reads_columns()  # noqa: SLF001

    def play(self, X: Any, y: Any) -> None:
        """Predict, then learn, rows or named examples as the original did."""
        if self._original._begun().named:  # noqa: SLF001
            self.run(X, y)
        else:
            self._run_rows(read_matrix(X), y)

    def agrees(self) -> bool:
        """Whether the original made the same predictions and mistakes, and has the same weights."""
        mine, other = self._begun(), self._original._begun()  # noqa: SLF001
        predicted, before = mine.engine.predictions(0, KEPT), other.engine.predictions(0, KEPT)
        common = min(len(predicted), len(before))  # a learner keeps so many of its predictions
        if not np.array_equal(predicted[:common], before[:common]):
            return False
        (z, bias_z), (other_z, other_bias_z) = mine.engine.z(), other.engine.z()
        return (
            mine.counts == other.counts
            and bias_z == other_bias_z
            and np.array_equal(np.trim_zeros(z, "b"), np.trim_zeros(other_z, "b"))
            and mine.engine.names() == other.engine.names()
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
    ledger = learner.ledger_
    rounds = ledger.rounds
    if rounds == 0:
        message = "this learner has learned nothing yet: there is nothing to certify"
        raise ValueError(message)
    if ledger.late:
        message = (
            f"the outcomes of {ledger.late} predictions came late, which a second pass over a stream does not repeat: "
            "call certify without X and y"
        )
        raise ValueError(message)
    labels = learner._the_labels()  # noqa: SLF001 - the same kind of object
    own, others = labels.copy(), labels.copy()
    replica = Replica(learner, ledger.rule, KEPT, own)
    recorder = Replica(learner, EVERY_ROUND, STREAM_BYTES, others)
    try:
        stream = learner.stream_of(X)
        if isinstance(stream, Source):
            known = learner._reading  # noqa: SLF001
            if known is not None:  # a reading that gives the same features with or without it leaves a cache in use
                known = learner.known_for(stream) if known.has_columns or known.zero_based else None
            replay_files(replica, partial(once_more(stream, known).open, known), rounds, recorder)
        elif stream is not None and y is None:  # a frame with its own labels
            replay_files(replica, partial(replica.open_stream, stream), rounds, recorder)
        else:
            _replay_rows(replica, recorder, X, y, rounds)
    except StreamError as error:
        message = f"{OTHER}: {error}"
        raise ValueError(message) from None
    if not replica.agrees():
        message = f"{OTHER}: a replay of {rounds} rounds gives different predictions, mistakes or weights"
        raise ValueError(message)
    return Evidence.of(ledger, recorder.ledger_)


def once_more(source: Source, known: Reading | None) -> Source:
    """The same files as they are now, without a cache that this reading would make or replace."""
    keeps = source.cache is None or (known is None and os.path.isfile(source.cache))
    if keeps and not source.follow:
        return source
    return source.but(follow=False, cache=source.cache if keeps else None)


def _replay_rows(replica: Replica, recorder: Replica, X: Any, y: Any, rounds: int) -> None:
    X, y = (list(each) if isinstance(each, Iterator) else each for each in (X, y))
    if y is None:
        message = "certify needs X and y"
        raise ValueError(message)
    replica.play(X, y)
    rows = replica.ledger_.rounds
    if rows == 0 or rounds % rows:
        message = f"{OTHER}: it learned {rounds} rounds, which is not a multiple of the {rows} rounds of X"
        raise ValueError(message)
    for _ in range(rounds // rows - 1):
        replica.play(X, y)
    try:
        recorder.play(X, y)
    except StreamError as error:
        message = f"{UNLEARNABLE}: round {error.round}: {error}"
        raise ValueError(message) from None


class Recorded:
    """A learner whose rounds others learn, too.

    Parameters
    ----------
    learner : Learner
        Decides how far a part is learned.
    recorders : iterable of Learner
        Learn the same rows, or InputError is raised.
    """

    def __init__(self, learner: Learner, recorders: Iterable[Learner]) -> None:
        self._learner, self._recorders = learner, recorders
        self.labels_settled = learner.labels_settled

    def run_part(
        self, part: Part, first: int = 0, last: int | None = None, y: AnyArray | None = None
    ) -> tuple[Ledger, InputError | None]:
        """Learn rows of a part; return the learner's ledger, and what is wrong with the row after them."""
        learned, error = self._learner.run_part(part, first, last, y)
        for recorder in self._recorders:
            recorded, fault = recorder.run_part(part, first, first + learned.rounds, y)
            if recorded.rounds != learned.rounds:
                message = f"{UNLEARNABLE}: {fault}"
                raise InputError(message)
        return learned, error


def replay_files(
    learner: Learner,
    open_stream: Callable[[], StreamReader],
    rounds: int,
    *recorders: Learner,
    passes: int | None = None,
) -> ReadReport | None:
    """Learn at most ``rounds`` examples, reading the stream repeatedly; recorders learn the first pass only.

    Returns the report of the last pass.
    """
    left, report = rounds, None
    for number in count() if passes is None else range(passes):
        before, reader = left, open_stream()
        report = reader.report
        played = Recorded(learner, recorders if number == 0 else ())
        try:
            for step in steps(played, reader, limit=lambda: left):  # noqa: B023 - called in this loop only
                left -= step.last - step.first
                if left <= 0:
                    return report
        except StreamError as error:
            raise error.at_round(None) from None
        rows = before - left
        if rows == 0:
            return report
        if passes is not None and rows * passes not in (rounds, rounds - 1):
            message = f"{passes} passes over {rows} examples are not the number of rounds"
            raise StreamError(message)
    return report
