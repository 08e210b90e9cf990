"""`LinearPlay`: the state of a linear learner from its first input on, and the rounds that change it."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.errors import StreamError, as_stream_error
from mistakebound.learners.streams import END
from mistakebound.learners.weights import weight_at, weighted
from mistakebound.play.inputs import is_empty, is_named
from mistakebound.play.ledger import Counts
from mistakebound.play.tickets import Asked, Tickets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mistakebound._core import Engine
    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.data.labels import Labels
    from mistakebound.data.options import Reading
    from mistakebound.data.parts import Part
    from mistakebound.errors import InputError
    from mistakebound.play.engine import LearnerEngine
    from mistakebound.play.inputs import Positional
    from mistakebound.play.ledger import Ledger

LOCK = threading.RLock()
"""Held while a learner starts or goes back to its start, and while its tickets change: briefly, so one is enough."""
if hasattr(os, "register_at_fork"):  # a fork waits for the lock, so a forked process never inherits it locked
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


class LinearPlay:
    """The state of a linear learner from its first input on, and the rounds that change it.

    Parameters
    ----------
    engine : LearnerEngine
        The rule with its weights and counts.
    labels : Labels
        The two labels, as far as they are known.

    Attributes
    ----------
    named_core : Engine or None
        The compiled engine, if features have names: ``Learner.learn_one`` calls it directly, for speed.
    tickets : Tickets or None
        The predictions that wait for their outcome; None until the first of them.
    reading : Reading or None
        The options with which the last file that was learned from was read.
    class_weight : dict or None
        The weights of labels.
    weighted : bool
        Whether a round may have had another weight than 1.
    """

    def __init__(self, engine: LearnerEngine, labels: Labels) -> None:
        self.engine, self.labels = engine, labels
        direct = engine.direct and engine.rule.band is None
        self.named_core: Engine | None = engine.core if engine.named and direct else None
        self.tickets: Tickets | None = None
        self._reading: Reading | None = None
        self.class_weight: Mapping[Any, float] | None = None
        self.weighted = False

    def use_class_weight(self, class_weight: Mapping[Any, float] | None) -> None:
        """Set the weights of labels."""
        self.class_weight = class_weight
        if class_weight is not None:
            self.named_core = None

    def weights_of(self, weights: FloatArray | None, labels: Sequence[Any], places: AnyArray) -> FloatArray | None:
        """Return the weights of rows times those of their labels: see ``weighted``."""
        found = weighted(weights, self.class_weight, labels, places)
        self.weighted = self.weighted or found is not None
        return found

    def weight_of(self, weight: float, label: Any) -> float:
        """Return the weight of an example times that of its label."""
        found = weight if self.class_weight is None else weight * self.class_weight.get(label, 1.0)
        self.weighted = self.weighted or found != 1
        return found

    @property
    def reading(self) -> Reading | None:
        """The options with which the last file that was learned from was read."""
        return self._reading

    @reading.setter
    def reading(self, now: Reading | None) -> None:
        self._reading = now
        if now is not None and now.table.get("auto"):
            self.named_core = None  # a dict is read like a row of the tables, which the core does not do

    @property
    def has_learned(self) -> bool:
        """Whether at least one round was learned."""
        return self.engine.counts.rounds > 0

    @property
    def is_unused(self) -> bool:
        """Whether nothing was learned, and no prediction waits for its outcome."""
        return self.tickets is None and not self.has_learned

    def require(self, width: int | None, learner: str) -> None:
        """Raise StreamError unless features are of the same kind (width None: by name) and of the same number.

        ``learner`` is the name of the class, for the message.
        """
        engine = self.engine
        if (width is None) != engine.named:
            raise mixed_features(learner, named=engine.named)
        if width != engine.width and not engine.growing:
            message = f"X has {width} features, but {learner} is expecting {engine.width} features as input"
            raise StreamError(message)

    # ------------------------------------------------------------------ one example

    def score_one(self, x: Any) -> tuple[float, bool]:
        """Return the score of one example, and whether the prediction is positive."""
        if self.engine.named:
            return self.engine.score_named(x)
        scores, positive = self.engine.scores(x)
        return float(scores[0]), bool(positive[0])

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> bool:
        """Predict one example, then learn it; return whether the prediction was positive."""
        labels = self.labels if self.labels.settled else self.labels.copy()
        sign = labels.sign(y)
        weight = self.weight_of(weight, labels.positive if sign > 0 else labels.negative)
        if self.engine.named:
            positive = self.engine.learn_named(x, sign, weight)
        else:
            weights = None if weight == 1 else np.array([weight])
            played = self.engine.play(x, np.array([sign], np.int8), None, weights)
            if played.fault:
                raise played.fault.error()
            positive = bool(played.positive[0])
        self.labels = labels
        self.limit_features()
        return positive

    def ask(self, x: Any) -> Asked:
        """Predict an example whose outcome comes later."""
        served = self.engine.serve(x)
        prediction = self.labels.decode(served.positive ^ self.engine.reduction.conjunction)
        if self.engine.rule.band is not None and self.engine.rule.abstains(np.array([served.score]))[0]:
            prediction = None
        with LOCK:
            self.tickets = self.tickets or Tickets()
            return self.tickets.add(Asked(prediction, self.engine.counts.rounds, served))

    def tell(self, asked: Any, y: Any, learner: str, weight: float = 1.0) -> None:
        """Learn from the outcome of a prediction; ``learner`` is the name of the class, for messages."""
        rounds = self.engine.counts.rounds
        with LOCK:
            tickets = self.tickets or Tickets()
            tickets.check(asked, learner, rounds)
            tickets.close(asked)
        try:
            self._learn_outcome(asked.held, y, weight)
        except Exception as error:
            with LOCK:
                tickets.reopen(asked)
            if not isinstance(error, ValueError):  # raised by the label, such as by its hash
                raise
            raise as_stream_error(error, rounds, self.ledger()) from None

    def _learn_outcome(self, held: Any, y: Any, weight: float) -> None:
        """Learn the outcome of a prediction, which ``ask`` has stored."""
        labels = self.labels.copy()
        sign = labels.sign(y)
        self.engine.tell(held, sign, self.weight_of(weight, labels.positive if sign > 0 else labels.negative))
        self.labels = labels
        self.limit_features()

    # ------------------------------------------------------------------ many examples

    def run_rows(
        self, rows: Positional, y: AnyArray, weights: FloatArray | None = None
    ) -> tuple[Ledger, InputError | None]:
        """Predict, then learn, rows of a matrix; return their ledger, and the fault of the row after them, or None."""
        labels = self.labels.copy()
        signs = labels.encode(y[: len(rows)])
        weights = None if weights is None else weights[: len(rows)]
        weights = self.weights_of(weights, (labels.negative, labels.positive), (signs > 0).astype(np.intp))
        played = self.engine.play(rows, signs, None, weights)
        if played.row > 0:
            self.labels = labels
        ledger = self.engine.ledger(labels.pair, played.before, played.after, played.positive)
        if played.fault is None:
            return ledger, None
        unknown = played.row < len(signs) and signs[played.row] == 0
        return ledger, labels.copy().objection(y[played.row]) if unknown else played.fault.error()

    def run_named(
        self, rounds: Iterable[tuple[Any, Any]], learner: str, weights: FloatArray | None = None
    ) -> tuple[Ledger, ValueError | None]:
        """Predict, then learn, pairs of a named example and its label.

        Returns the ledger of the rounds that were learned, and the error of the pair after them, or None. ``learner``
        is the name of the class, for messages.
        """
        before = self.engine.measured_counts
        positive: list[bool] = []
        labels: list[Any] = []
        for x, label in rounds:
            try:
                self._check_named(x, label, learner)
                positive.append(self.learn_one(x, label, weight_at(weights, len(labels))))
            except ValueError as error:
                return self._ledger_of_named(before, positive, labels), error
            labels.append(label)
        return self._ledger_of_named(before, positive, labels), None

    def _check_named(self, x: Any, label: Any, learner: str) -> None:
        if x is END or label is END:
            ended, going = ("examples", "labels") if x is END else ("labels", "examples")
            message = f"there are fewer {ended} than {going}"
            raise StreamError(message)
        check_named(x, learner)

    def _ledger_of_named(self, before: Counts, positive: list[bool], labels: list[Any]) -> Ledger:
        """Return the ledger of rounds that were learned one by one, without those that other threads learned meanwhile.

        If there were such rounds, the ledger has no kept examples, so no certificate can be derived from it, and its
        ``updates`` include those of the other threads.
        """
        predicted, pair, now = np.array(positive, np.bool_), self.labels.pair, self.engine.measured_counts
        if now.rounds - before.rounds == len(positive):
            return self.engine.ledger(pair, before, now, predicted)
        truth = np.array([self.labels.signs[label] > 0 for label in labels], np.bool_)
        own = Counts(
            before.rounds + len(positive),
            before.false_positives + int(np.sum(predicted & ~truth)),
            before.false_negatives + int(np.sum(truth & ~predicted)),
            now.updates,
            before.to_keep + len(positive) * self.engine.rule.keeps_examples,
        )
        return self.engine.ledger(pair, before, own, predicted, np.flatnonzero(predicted != truth), mixed=True)

    def run_part(
        self,
        part: Part,
        first: int,
        last: int | None,
        y: AnyArray | None,
        *,
        scores: bool = False,
        weights: FloatArray | None = None,
    ) -> tuple[Ledger, InputError | None]:
        """Predict, then learn, rows of a part of a stream: see ``Learner.run_part``."""
        last = part.rows if last is None else min(last, part.rows)
        labels = self.labels.copy()
        if y is None and part.positive is not None:
            labels.settle_positive(part.positive)
        ids = part.label_ids[first:last]
        signs = bytes(labels.encode_ids(part.labels, ids) if y is None else labels.encode(y[first:last]))
        found = np.empty(len(signs)) if scores else None
        weights = self.weights_of_part(part, first, last, weights)
        if self.class_weight is not None:
            positive = (np.frombuffer(signs, np.int8) > 0).astype(np.intp)
            weights = self.weights_of(weights, (labels.negative, labels.positive), positive)
        played = self.engine.play_part(part, signs, first, scores=found, weights=weights)
        if played.row > 0:
            self.labels, self.reading = labels, part.reading
        pair = (labels.negative, labels.positive)
        ledger = self.engine.ledger(pair, played.before, played.after, played.positive, signs[: played.row])
        ledger.scores = None if found is None else found[: played.row]
        if played.row < len(signs):
            row, unknown = first + played.row, signs[played.row] == 0
            label = part.label(row) if y is None else y[row]
            if unknown and label is None:
                return ledger, part.no_label(row)
            fault = None if unknown else played.fault
            if fault:
                return ledger, part.error_at(row, fault.error())
            return ledger, part.bad_label(row, labels.objection(label), pair)
        return ledger, part.error if last == part.rows else None

    def limit_features(self) -> None:
        """Drop rare features of a panel, if there are more than ``max_features``."""
        if self.engine.max_features is not None:
            from mistakebound.play.feature_limit import apply_limit  # noqa: PLC0415 - few learners have a limit

            apply_limit(self.engine)

    def weights_of_part(self, part: Part, first: int, last: int, weights: FloatArray | None) -> FloatArray | None:
        """Return the weights of rows of a part: those that were passed for it, or its own.

        None means that all are 1, or that the rule takes no weights.
        """
        if not self.takes_weights:
            return None
        found = part.weights(first, last) if weights is None else weights[first:last]
        self.weighted = self.weighted or found is not None
        return found

    @property
    def takes_weights(self) -> bool:
        """Whether examples may have weights."""
        return self.engine.takes_weights

    def look_ahead(self, y: AnyArray) -> None:
        """Set the two labels from the first two different labels of a batch."""
        if not self.labels.settled:
            labels = self.labels.copy()
            labels.look_ahead(y)
            self.labels = labels

    # ------------------------------------------------------------------ results

    def ledger(self) -> Ledger:
        """Return the ledger of all rounds."""
        return self.engine.ledger((self.labels.negative, self.labels.positive))

    def no_rounds(self) -> Ledger:
        """Return an empty ledger, which begins after the rounds so far."""
        return self.engine.ledger(self.labels.pair, self.engine.counts, positive=np.zeros(0, np.bool_))

    def weights(self) -> FloatArray | dict[str, float]:
        """Return the normalised weights without that of the constant feature: an array, or a dict by name."""
        engine = self.engine
        weights = engine.weights()
        if engine.rule.bias:
            weights = weights[:-1]
        return dict(zip(engine.names(len(weights)), weights[1:].tolist(), strict=True)) if engine.named else weights

    def intercept(self) -> float:
        """Return the score of an example without features."""
        return self.engine.intercept()


def check_named(x: Any, learner: str) -> None:
    """Raise StreamError unless an example has named features; ``learner`` is the name of a class, for the message."""
    if is_named(x) or is_empty(x):
        return
    if isinstance(x, (list, tuple)) or hasattr(x, "__array__") or hasattr(x, "tocsr"):
        raise mixed_features(learner, named=True)
    message = f"a named example must be a dict, or a set or list of names, got {type(x).__name__}"
    raise StreamError(message)


def mixed_features(learner: str, *, named: bool) -> StreamError:
    """Return the error for an example with names if features have positions, or the reverse."""
    has, got = ("names", "positions") if named else ("positions", "names")
    message = f"this {learner} has features with {has}; examples with {got} cannot be mixed in"
    return StreamError(message, kind="names and positions")
