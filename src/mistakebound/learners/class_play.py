"""`ClassPlay`: the state of a panel of several classes from its first input on, and the rounds that change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.data.class_labels import ClassLabels
from mistakebound.learners.linear_play import LOCK, LinearPlay
from mistakebound.learners.weights import weight_at
from mistakebound.play.class_engine import ClassEngine, counts_of, empty_engine, of_classes
from mistakebound.play.engine import ServedExample
from mistakebound.play.tickets import Asked, Tickets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.data.labels import Labels
    from mistakebound.data.parts import Part
    from mistakebound.errors import InputError
    from mistakebound.play.class_ledger import ClassCounts, ClassLedger
    from mistakebound.play.inputs import Positional
    from mistakebound.play.ledger import Ledger


class ClassPlay(LinearPlay):
    """The state of a panel of several classes, and the rounds that change it."""

    engine: ClassEngine
    labels: ClassLabels  # type: ignore[assignment]  # labels of two classes have signs, these have ids

    def __init__(self, engine: ClassEngine, labels: ClassLabels) -> None:
        unsigned: Any = labels
        super().__init__(engine, unsigned)

    # ------------------------------------------------------------------ one example

    def score_one(self, x: Any) -> tuple[float, bool]:  # noqa: ARG002 - it has the signature of LinearPlay
        """Raise ValueError, because each class has a score of its own."""
        message = (
            "score_one is only defined for two labels: use predict_proba_one, which has the probability of each label"
        )
        raise ValueError(message)

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> int:  # type: ignore[override]  # a class id
        """Predict one example, then learn it; return the predicted class id."""
        labels = self.labels.copy()
        class_id = labels.id_of(y)
        weight = self.weight_of(weight, labels.decode(class_id))
        if self.engine.named:
            predicted = self.engine.learn_named_class(x, class_id, weight)
        else:
            predictions, fault = self.engine.learn_rows(x, np.array([class_id], np.int32), np.array([weight]))
            if fault:
                raise fault.error()
            predicted = int(predictions[0])
        self.labels = labels
        self.limit_features()
        return predicted

    def ask(self, x: Any) -> Asked:
        """Predict an example whose outcome comes later."""
        served = self.engine.serve_class(x)
        with LOCK:
            self.tickets = self.tickets or Tickets()
            asked = Asked(self.labels.decode(served.prediction), self.engine.counts.rounds, served)
            return self.tickets.add(asked)

    def _learn_outcome(self, held: Any, y: Any, weight: float) -> None:
        labels = self.labels.copy()
        class_id = labels.id_of(y)
        weight = self.weight_of(weight, labels.decode(class_id))
        self.engine.tell_class(of_classes(held) if isinstance(held, ServedExample) else held, class_id, weight)
        self.labels = labels
        self.limit_features()

    # ------------------------------------------------------------------ many examples

    def run_rows(
        self, rows: Positional, y: AnyArray, weights: FloatArray | None = None, done: Ledger | None = None
    ) -> tuple[Ledger, InputError | None]:
        """Predict, then learn, rows of a matrix; return their ledger, and the fault of the row after them, or None.

        ``done`` is the ledger of earlier rounds with two labels. The ledger that is returned then includes them.
        """
        labels = self.labels.copy()
        ids = labels.encode(y[: len(rows)])
        weights = None if weights is None else weights[: len(rows)]
        played = self.engine.play_classes(rows, ids, self.weights_of(weights, labels.seen, ids))
        self.labels = labels.keep(self.engine.class_count)
        ledger = self._ledger_of(played.predictions, ids, done, played.before, played.after)
        if played.fault is None:
            return ledger, None
        unknown = played.row < len(ids) and ids[played.row] < 0
        return ledger, labels.objection(y[played.row]) if unknown else played.fault.error()

    def run_named(
        self,
        rounds: Iterable[tuple[Any, Any]],
        learner: str,
        weights: FloatArray | None = None,
        done: Ledger | None = None,
    ) -> tuple[Ledger, ValueError | None]:
        """Predict, then learn, pairs of a named example and its label; ``done`` as in ``run_rows``."""
        before, wrong = self.engine.class_counts, None
        predictions: list[int] = []
        ids: list[int] = []
        for x, label in rounds:
            try:
                self._check_named(x, label, learner)
                predictions.append(self.learn_one(x, label, weight_at(weights, len(ids))))
            except ValueError as error:
                wrong = error
                break
            ids.append(self.labels.ids[label])
        made, truth = np.array(predictions, np.int32), np.array(ids, np.int32)
        return self._ledger_of(made, truth, done, before, self.engine.class_counts), wrong

    def run_part(
        self,
        part: Part,
        first: int,
        last: int | None,
        y: AnyArray | None,
        *,
        scores: bool = False,
        weights: FloatArray | None = None,
        done: Ledger | None = None,
    ) -> tuple[Ledger, InputError | None]:
        """Predict, then learn, rows of a part of a stream; ``done`` as in ``run_rows``."""
        last = part.rows if last is None else min(last, part.rows)
        labels = self.labels.copy()
        ids = labels.encode_ids(part.labels, *part.codes(first, last)) if y is None else labels.encode(y[first:last])
        weights = self.weights_of(self.weights_of_part(part, first, last, weights), labels.seen, ids)
        played = self.engine.play_part_classes(part, ids, first, weights)
        self.labels = labels.keep(self.engine.class_count)
        if played.row > 0:
            self.reading = part.reading
        ledger = self._ledger_of(played.predictions, ids, done, played.before, played.after)
        if scores:
            ledger.scores = played.confidences if done is None else np.append(confidences_of(done), played.confidences)
        if played.row < len(ids):
            return ledger, self._fault_of(part, first + played.row, ids[played.row] < 0, played.fault, y)
        return ledger, part.error if last == part.rows else None

    def _ledger_of(
        self, predictions: AnyArray, ids: AnyArray, done: Ledger | None, before: ClassCounts, after: ClassCounts
    ) -> ClassLedger:
        """Return the ledger of rounds with these predictions and true class ids, and of those in ``done``."""
        made: AnyArray | None = predictions
        wrong = np.flatnonzero(predictions != ids[: len(predictions)])
        mistakes: AnyArray | None = wrong
        if done is not None:
            record: Any = done.record
            before = counts_of(record.before)
            earlier, positive = record.mistake_rounds(), record.predictions()
            # What was not kept of these rounds is missing in the ledger, too.
            mistakes = None if earlier is None else np.append(earlier, wrong + done.rounds)
            made = None if positive is None else np.append(positive.astype(np.int32), predictions)
        return self.engine.class_ledger(self.labels, before, after, made, mistakes)

    def _fault_of(self, part: Part, row: int, unknown: bool, fault: Any, y: AnyArray | None) -> InputError:  # noqa: FBT001
        label = part.label(row) if y is None else y[row]
        if unknown and label is None:
            return part.no_label(row)
        if unknown:
            return part.error_at(row, self.labels.objection(label))
        return part.error_at(row, fault.error())

    def look_ahead(self, y: AnyArray) -> None:
        """Do nothing: a label gets its class id in its first round."""

    # ------------------------------------------------------------------ results

    def ledger(self) -> ClassLedger:
        """Return the ledger of all rounds."""
        return self.engine.class_ledger(self.labels)

    def no_rounds(self) -> Ledger:
        """Return an empty ledger, which begins after the rounds so far."""
        now = self.engine.class_counts
        return self.engine.class_ledger(self.labels, now, now, np.zeros(0, np.int64), np.zeros(0, np.int64))


def new_play(
    members: int, width: int | None, keep_bytes: int, labels: ClassLabels, *, growing: bool = False
) -> ClassPlay:
    """Return the play of a panel that has not learned yet."""
    return ClassPlay(empty_engine(members, width, keep_bytes, growing=growing), labels)


def confidences_of(ledger: Ledger) -> FloatArray:
    """Return the probability of each prediction of a panel of two labels."""
    scores = np.zeros(ledger.rounds) if ledger.scores is None else ledger.scores
    return np.asarray(1 / (1 + np.exp(-np.abs(scores))))


def converted(play: LinearPlay) -> ClassPlay:
    """Return a play that continues one of two labels, because a third label has occurred."""
    old: Labels = play.labels
    labels = ClassLabels()
    labels.ids = {old.negative: 0, old.positive: 1}
    new = ClassPlay(ClassEngine.converted(play.engine, 0, 1), labels)
    new.tickets, new.reading = play.tickets, play.reading
    new.weighted = play.weighted
    new.use_class_weight(play.class_weight)
    return new
