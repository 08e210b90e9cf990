"""`ClassEngine`: a learner of several classes in the compiled core. Labels and predictions are class ids."""

from __future__ import annotations

import math
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._core import NamedFault
from mistakebound._support.lazy import np
from mistakebound.play.class_ledger import ClassCounts, ClassLedger, ClassRecord
from mistakebound.play.class_measures import ClassMeasures
from mistakebound.play.engine import LearnerEngine, Reduction, part_fault, stream_error, too_large
from mistakebound.play.inputs import Csr, Dense, sparse_row
from mistakebound.play.standings import of_core
from mistakebound.rules.panel import MulticlassPanelRule

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, FloatArray, IntArray
    from mistakebound.data.class_labels import ClassLabels
    from mistakebound.data.parts import Part
    from mistakebound.play.engine import ServedExample
    from mistakebound.play.faults import RowFault
    from mistakebound.play.inputs import Positional
    from mistakebound.play.ledger import Counts
    from mistakebound.play.standings import Standings

NOTHING = ClassCounts(0, 0, 0)


class PlayedClasses(NamedTuple):
    """The result of a batch: the predicted class ids and, if a row was bad, its number and its fault."""

    predictions: AnyArray
    confidences: FloatArray
    """The probability of each prediction."""
    row: int
    fault: RowFault | None
    before: ClassCounts
    after: ClassCounts


class ServedClass(NamedTuple):
    """A prediction whose outcome comes later."""

    example: Any
    """A dict, set or list of names, or a `Csr` of one row."""
    prediction: int
    probabilities: FloatArray
    """By class id, and then that of a new label."""
    updates: int
    """Number of updates before the prediction."""

    def outcome(self, class_id: int) -> tuple[float, float, float]:
        """Return the probability of the prediction, that of the outcome, and the sum of squares of the Brier score."""
        place = min(class_id, len(self.probabilities) - 1)
        p = float(self.probabilities[place])
        confidence = float(self.probabilities[self.prediction]) if self.prediction >= 0 else 0.0
        return confidence, p, float(np.sum(self.probabilities**2)) - 2 * p + 1


class ClassEngine(LearnerEngine):
    """A panel of several classes, with its state in the compiled core."""

    rule: MulticlassPanelRule

    @classmethod
    def converted(cls, binary: LearnerEngine, negative: int, positive: int) -> ClassEngine:
        """Return an engine that continues a panel of two labels, whose class ids are passed."""
        engine = copy(binary)
        engine.__class__ = cls
        found: Any = engine
        rule: Any = binary.rule
        found.rule = MulticlassPanelRule(members=rule.members, joined=0)
        found.core = binary.core.convert_to_classes(negative, positive)
        result: ClassEngine = found
        return result

    def _members(self) -> dict[str, int]:
        return {"members": int(self.rule.members)}

    @property
    def direct(self) -> bool:
        """False, because labels are class ids, which other functions of the core take."""
        return False

    @property
    def member_names(self) -> tuple[str, ...]:
        """The names of the members."""
        return self.rule.names

    @property
    def standings(self) -> Standings:
        """The members, after all rounds so far."""
        first_seen = self.class_counts.first_seen
        return of_core(self.core.standings(), self.member_names, first_seen, mixed=self.mixing is not None)

    @property
    def class_count(self) -> int:
        """Number of labels that have occurred."""
        return self.core.class_count()

    @property
    def class_counts(self) -> ClassCounts:
        """Totals so far, and how good the probabilities were."""
        found = self.core.class_record()
        truth, predicted, counts = (np.asarray(each, np.int64) for each in found["confusion"])
        rounds, measures = found["rounds"], None
        if rounds:
            losses = found["measured"], found["log_loss"], found["brier"]
            measures = ClassMeasures(*losses, truth, predicted, counts, self.measured_counts.measures)
        return ClassCounts(rounds, found["mistakes"], found["first_seen"], self.counts.updates, measures)

    def play_classes(self, rows: Positional, ids: AnyArray, weights: FloatArray | None = None) -> PlayedClasses:
        """Predict, then learn, row by row; ``ids`` are class ids, −1 for something that is not a label."""
        before = self.class_counts
        predictions, wrong = self.learn_rows(rows, ids, weights)
        none = np.zeros(0)
        return PlayedClasses(predictions, none, len(predictions), wrong, before, self.class_counts)

    def learn_rows(
        self, rows: Positional, ids: AnyArray, weights: FloatArray | None = None
    ) -> tuple[AnyArray, RowFault | None]:
        """Predict, then learn, without counting; return the predicted class ids, and the fault of a bad row."""
        predictions = np.empty(len(rows), np.int32)
        weights = None if weights is None else weights[: len(rows)]
        if isinstance(rows, Dense):
            row, fault = self.core.play_dense_classes(rows.x, ids, predictions, None, weights)
        else:
            row, fault = self.core.play_csr_classes(
                rows.indptr, rows.index, rows.value, ids, predictions, None, weights
            )
        return predictions[:row], self._fault(rows, rows, fault)

    def play_part_classes(
        self, part: Part, ids: AnyArray, first: int, weights: FloatArray | None = None
    ) -> PlayedClasses:
        """Predict, then learn, rows of a part of a file from row ``first`` on."""
        before = self.class_counts
        predictions, confidences = np.empty(len(ids), np.int32), np.empty(len(ids))
        try:
            row, fault = self.core.play_chunk_classes(part.chunk, ids, first, predictions, None, weights, confidences)
        except MemoryError:
            raise MemoryError(too_large(part)) from None
        wrong = part_fault(part, fault)
        return PlayedClasses(predictions[:row], confidences[:row], row, wrong, before, self.class_counts)

    def probabilities(self, rows: Positional) -> tuple[FloatArray, AnyArray]:
        """Return the probabilities of each row, by class id and then of a new label, and the predicted class ids."""
        found, predictions, fault = self._probabilities(rows)
        if fault:
            raise fault.error().at_round(len(found))
        return found, predictions

    def _probabilities(self, rows: Positional) -> tuple[FloatArray, AnyArray, RowFault | None]:
        out, predictions = np.empty((len(rows), self.class_count + 1)), np.empty(len(rows), np.int32)
        if isinstance(rows, Dense):
            row, fault = self.core.score_dense_classes(rows.x, out, predictions)
        else:
            row, fault = self.core.score_csr_classes(rows.indptr, rows.index, rows.value, out, predictions)
        return out[:row], predictions[:row], self._fault(rows, rows, fault)

    def probabilities_of_part(self, part: Part) -> tuple[FloatArray, AnyArray, RowFault | None]:
        """Return what ``probabilities`` does, up to the first bad row, and the fault of that row, or None."""
        if not self.named:
            return self._probabilities(self.csr(part, part.rows))
        out, predictions = np.empty((part.rows, self.class_count + 1)), np.empty(part.rows, np.int32)
        row, fault = self.core.score_chunk_classes(part.chunk, out, predictions)
        return out[:row], predictions[:row], part_fault(part, fault)

    def probabilities_of_one(self, x: Any) -> tuple[FloatArray, int]:
        """Return the probabilities of one example, by class id and then of a new label, and the predicted class id."""
        if self.named:
            try:
                found, prediction = self.core.score_named_class(x)
            except NamedFault as fault:
                raise stream_error(fault) from None
            return np.array(found), int(prediction)
        rows, predictions = self.probabilities(x)
        return rows[0], int(predictions[0])

    def learn_named_class(self, x: Any, class_id: int, weight: float = 1.0) -> int:
        """Predict, then learn, a named example; return the predicted class id."""
        try:
            return self.core.learn_named_class(x, class_id, weight)
        except NamedFault as fault:
            raise stream_error(fault) from None

    def serve_class(self, x: Any) -> ServedClass:
        """Predict a named example, or one row, whose outcome comes later. The example is copied."""
        example = copy(x) if self.named else sparse_row(x)
        while True:
            updates = self.counts.updates
            found, prediction = self.probabilities_of_one(x)
            if self.counts.updates == updates:  # no other thread has learned meanwhile
                return ServedClass(example, prediction, found, updates)

    def tell_class(self, served: ServedClass, class_id: int, weight: float = 1.0) -> None:
        """Learn from the outcome of an earlier prediction, which counts as a mistake if it was wrong."""
        x, prediction, _, updates = served
        earlier = (prediction, *self._promised(served, class_id), updates, weight)
        if self.named:
            try:
                self.core.tell_named_class(x, class_id, *earlier)
            except NamedFault as fault:
                raise stream_error(fault) from None
            return
        found = self.core.tell_csr_classes(x.indptr, x.index, x.value, class_id, *earlier)[1]
        if wrong := self._fault(x, x, found):
            raise wrong.error()

    def _promised(self, served: ServedClass, class_id: int) -> tuple[float, float, float]:
        """Return the probabilities of an earlier prediction and of its outcome, and its part of the Brier score."""
        return served.outcome(class_id)

    def class_ledger(
        self,
        labels: ClassLabels,
        before: ClassCounts = NOTHING,
        now: ClassCounts | None = None,
        predictions: AnyArray | None = None,
        mistakes: IntArray | None = None,
    ) -> ClassLedger:
        """Return the ledger of the rounds from ``before`` to ``now``; by default, of all rounds so far.

        ``predictions`` and ``mistakes`` are the predicted class ids and the rounds of the mistakes, if they are known.
        """
        now = now or self.class_counts
        slots = self.core.slots()
        counts: Any = now - before
        ledger = ClassLedger(
            counts,
            rule=self.rule,
            n=slots,
            classes=tuple(labels.ordered),
            from_start=before.rounds == 0,
            named=self.named,
            record=ClassRecord(self, slots, before, now, predictions, mistakes),
            standings=self.standings,
            mixing=None if before.rounds else self.mixing,
        )
        ledger.given, ledger.seen = labels.given, labels.seen
        return ledger


def empty_engine(members: int, width: int | None, keep_bytes: int, *, growing: bool = False) -> ClassEngine:
    """Return the engine of a panel of several classes that has not learned yet."""
    rule = MulticlassPanelRule(members=members)
    return ClassEngine(rule, width, keep_bytes, Reduction(), growing=growing)


def of_classes(served: ServedExample) -> ServedClass:
    """Return a prediction of a panel of two labels, whose class ids are 0 and 1, as one of several classes.

    The panel of two labels has no probability of a new label: it gets 1/(t + 2) after t rounds.
    """
    p, new = 1 / (1 + math.exp(-min(max(served.score, -700.0), 700.0))), 1 / (served.updates + 2)
    known = np.array([1 - p, p]) * (1 - new)
    return ServedClass(served.example, int(served.positive), np.append(known, new), served.updates)


def counts_of(counts: Counts) -> ClassCounts:
    """Return the counts of a panel of two labels, whose class ids are 0 and 1, as those of several classes."""
    if not counts.rounds:
        return NOTHING
    measures = counts.measures
    wrong = counts.false_positives + counts.false_negatives
    if measures is None:
        return ClassCounts(counts.rounds, wrong, 0, counts.updates)
    negatives = sum(measures.negatives) - counts.false_positives
    positives = sum(measures.positives) - counts.false_negatives
    cells = [(0, 0, negatives), (0, 1, counts.false_positives), (1, 0, counts.false_negatives), (1, 1, positives)]
    truth, predicted, found = (np.array([cell[k] for cell in cells if cell[2]], np.int64) for k in range(3))
    losses = measures.rounds, measures.total_log_loss, 2 * measures.squares
    all_of_them = ClassMeasures(*losses, truth, predicted, found, measures.as_confidences())
    return ClassCounts(counts.rounds, wrong, 0, counts.updates, all_of_them)


def rows_from(rows: Positional, first: int) -> Positional:
    """Return the rows from row ``first`` on."""
    if isinstance(rows, Dense):
        return Dense(rows.x[first:], rows.broken)
    return Csr(rows.indptr[first:], rows.index, rows.value, rows.width, rows.broken, rows.first)
