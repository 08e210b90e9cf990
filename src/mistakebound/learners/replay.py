"""A second pass over a learner's stream: replay the learner, and keep every example for a whole-stream certificate."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import StreamError
from mistakebound.learners.learner import Learner
from mistakebound.play.inputs import read_matrix
from mistakebound.rules import PerceptronRule
from mistakebound.theorems.evidence import Evidence

if TYPE_CHECKING:
    from mistakebound.data.reading_options import Reading
    from mistakebound.data.source import Source
    from mistakebound.play.engine import Reduction
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

    def __init__(self, original: Learner, rule: Rule, keep_bytes: int) -> None:
        self.classes = original.classes
        self.keep_bytes = keep_bytes
        self._rule, self._original = rule, original
        self._labels = original._the_labels().copy()  # noqa: SLF001 - the same kind of object

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
        if not np.array_equal(*_common(mine.engine.predictions(0, KEPT), other.engine.predictions(0, KEPT))):
            return False
        (z, bias_z), (other_z, other_bias_z) = mine.engine.z(), other.engine.z()
        return (
            mine.counts == other.counts
            and bias_z == other_bias_z
            and np.array_equal(np.trim_zeros(z, "b"), np.trim_zeros(other_z, "b"))
            and mine.engine.names() == other.engine.names()
        )


def _common(a: Any, b: Any) -> tuple[Any, Any]:
    """Two arrays, each as far as the shorter one reaches: a learner keeps so many of its predictions."""
    length = min(len(a), len(b))
    return a[:length], b[:length]


def whole_stream(learner: Learner, X: Any, y: Any = None) -> Evidence:
    """Evidence of all rounds of a learner's life. ValueError if it learned from something else than X and y.

    Parameters
    ----------
    learner : Learner
        It is not changed.
    X, y
        As for ``Learner.run``: its stream, which is read as the learner reads files. A Source is not changed. A learner
        of several passes has learned it as often.
    """
    ledger = learner.ledger_
    if ledger.rounds == 0:
        message = "this learner has learned nothing yet: there is nothing to certify"
        raise ValueError(message)
    if ledger.late:
        message = (
            f"the outcomes of {ledger.late} predictions came late, which a second pass over a stream does not repeat: "
            "call certify without X and y"
        )
        raise ValueError(message)
    replica = Replica(learner, ledger.rule, KEPT)
    recorder = Replica(learner, EVERY_ROUND, STREAM_BYTES)
    try:
        source = learner.source_of(X)
        if source is not None and source is X:
            replay_files(replica, _copy_of(source, replica), ledger.rounds, recorder)
        elif source is not None and y is None:  # a frame with its own labels
            replay_files(replica, source, ledger.rounds, recorder)
        else:
            _replay_rows(replica, recorder, X, y, ledger.rounds)
    except StreamError as error:
        message = f"{OTHER}: {error}"
        raise ValueError(message) from None
    if not replica.agrees():
        message = f"{OTHER}: a replay of {ledger.rounds} rounds gives different predictions, mistakes or weights"
        raise ValueError(message)
    return Evidence.of(ledger, recorder.ledger_)


def _copy_of(source: Source, replica: Replica) -> Source:
    """The same files, for a replica to read; what it inherits and remarks stays in the copy."""
    own = copy(source)
    own.skipped, own.remarks = [], []
    if replica.known_reading() is not None:
        own.cache = None  # a cache holds the options of one reading, and would be replaced
    return own


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


def replay_files(learner: Learner, source: Source, rounds: int, *recorders: Learner, passes: int | None = None) -> None:
    """Learn at most ``rounds`` examples, reading the files repeatedly; recorders learn the first pass only."""
    left = rounds
    for number in count() if passes is None else range(passes):
        before = left
        for part in learner.parts_of(source):
            learned, wrong = learner.run_part(part, 0, left)
            for recorder in recorders if number == 0 else ():
                recorded, fault = recorder.run_part(part, 0, learned.rounds)
                if recorded.rounds != learned.rounds:
                    message = f"{UNLEARNABLE}: {fault}"
                    raise ValueError(message)
            left -= learned.rounds
            if left <= 0:
                return
            if wrong:
                raise StreamError(wrong)
        rows = before - left
        if rows == 0:
            return
        if passes is not None and rows * passes not in (rounds, rounds - 1):
            message = f"{passes} passes over {rows} examples are not the number of rounds"
            raise StreamError(message)
