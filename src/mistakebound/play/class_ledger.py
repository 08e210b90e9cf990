"""`ClassLedger`: the record of the rounds of a learner of several classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from mistakebound._support.lazy import np
from mistakebound.data.class_labels import labels_of_ids
from mistakebound.play.ledger import Ledger
from mistakebound.play.record import NOT_KEPT, Kept, RoundsOfEngine

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, BoolArray, IntArray
    from mistakebound.play.class_engine import ClassEngine
    from mistakebound.play.class_measures import ClassMeasures, ClassScores

TWO_LABELS = "it is only defined for two labels; ledger.confusion has the counts of several classes"


class ClassCounts(NamedTuple):
    """Totals of all rounds; they are exact even if not all rounds were kept."""

    rounds: int
    mistakes: int
    first_seen: int
    """Rounds whose label had not occurred before, so that it could not be predicted. They are mistakes."""
    updates: int = 0
    measures: ClassMeasures | None = None

    def __sub__(self, earlier: ClassCounts) -> ClassCounts:
        measures = None if self.measures is None else self.measures.since(earlier.measures)
        rounds, mistakes, first_seen, updates = (mine - its for mine, its in zip(self[:4], earlier[:4], strict=True))
        return ClassCounts(rounds, mistakes, first_seen, updates, measures)


@dataclass(frozen=True, eq=False)
class ClassKept(Kept):
    """The rounds that changed the weights, with class ids as ``labels``."""

    predicted: IntArray
    """The class id that was predicted in each of them."""


class ClassLedger(Ledger):
    """The record of the rounds of a learner of several classes: those of one ``run``, or all of them.

    Attributes
    ----------
    rounds, mistakes, first_seen, updates : int
        Totals. ``first_seen`` counts the rounds whose label had not occurred before; these are mistakes.
    classes : tuple
        The labels in the order of ``classes_``.
    seen : list
        The labels that have occurred, in the order of their first rounds: label k has the class id k.
    """

    several: ClassVar[bool] = True
    given: tuple[Any, ...]
    """The labels that were passed as ``classes``."""
    counts: ClassCounts  # type: ignore[assignment]  # a ledger of two labels counts other things
    seen: list[Any]

    @property
    def mistakes(self) -> int:
        """Wrong predictions, the first rounds of all labels included."""
        return self.counts.mistakes

    @property
    def first_seen(self) -> int:
        """Rounds whose label had not occurred before."""
        return self.counts.first_seen

    @property
    def false_positives(self) -> int:
        """Raise AttributeError, because it is only defined for two labels."""
        raise AttributeError(TWO_LABELS)

    @property
    def false_negatives(self) -> int:
        """Raise AttributeError, because it is only defined for two labels."""
        raise AttributeError(TWO_LABELS)

    @property
    def positive(self) -> BoolArray:
        """Raise AttributeError, because it is only defined for two labels."""
        raise AttributeError(TWO_LABELS)

    @property
    def measures(self) -> ClassMeasures:  # type: ignore[override]  # see ``counts``
        """How good the probabilities were. Raises ValueError before the first round."""
        if self.counts.measures is None or not self.rule.log_odds:
            reason = f"{self.rule.id} predicts no probabilities" if not self.rule.log_odds else "no round was learned"
            message = f"there are no measures of probabilities: {reason}"
            raise ValueError(message)
        return self.counts.measures

    @property
    def _counted(self) -> ClassMeasures:
        """The counts of labels and predictions."""
        if self.counts.measures is None:
            message = "there are no counts of labels: no round was learned"
            raise ValueError(message)
        return self.counts.measures

    @property
    def class_ids(self) -> IntArray:
        """The class id that was predicted in each round; −1 before the first label."""
        found: Any = self.record.predictions()
        if found is None:
            message = (
                f"the predictions of {self.rounds} rounds were not all kept: use the ledger that each run returns, "
                "or increase keep_bytes"
            )
            raise ValueError(message)
        return np.asarray(found)

    @cached_property
    def predictions(self) -> AnyArray:
        """The label that was predicted in each round, *before* learning from it.

        Before the first label of all, there is nothing to predict: such a round has None, and counts as a mistake.
        """
        return labels_of_ids(self.seen, self.class_ids)

    @property
    def without_prediction(self) -> int:
        """Rounds that were predicted before any label had occurred, so that there was nothing to predict.

        This is the first round of the learner. They are mistakes, and are not part of ``confusion``.
        """
        return self._counted.without_prediction if self.rounds else 0

    @property
    def confusion(self) -> IntArray:
        """How often each label (row) was predicted as each label (column), in the order of ``classes``.

        Its sum and ``without_prediction`` together are ``rounds``.
        """
        ids = {label: k for k, label in enumerate(self.seen)}
        place = np.array([ids.get(label, len(ids)) for label in self.classes], np.int64)
        return self._counted.matrix(len(ids) + 1)[np.ix_(place, place)]

    def by_class(self) -> list[ClassScores]:
        """Return precision and recall of each label, in the order of ``classes``."""
        found = {each.label: each for each in self._counted.by_class(self.seen)}
        return [found[label] for label in self.classes if label in found]

    def label_counts(self) -> dict[Any, int]:
        """Return how often each label occurred."""
        return {each.label: each.rounds for each in self._counted.by_class(self.seen)} if self.rounds else {}

    def most_frequent(self) -> tuple[Any, int]:
        """Return the most frequent label, and how often it occurred."""
        return max(self.label_counts().items(), key=itemgetter(1))

    @property
    def totals(self) -> dict[str, int]:
        """The counts by name."""
        return dict(zip(("rounds", "mistakes", "first_seen", "updates"), self.counts[:4], strict=True))

    def to_json(self) -> str:
        """Return the ledger as JSON text, which ``Ledger.from_json`` reads."""
        from mistakebound.play.class_ledger_json import write  # noqa: PLC0415 - not needed to learn

        return write(self)

    @property
    def complete(self) -> bool:
        """Whether every round that changed the weights was kept; a panel keeps none."""
        return self.rule.keeps_examples and len(self.kept) == self.updates


class ClassRecord(RoundsOfEngine):
    """The record of some rounds in the engine of a learner of several classes, read when it is needed."""

    def __init__(
        self,
        engine: ClassEngine,
        slots: int,
        before: ClassCounts,
        now: ClassCounts,
        predictions: AnyArray | None,
        mistakes: IntArray | None,
    ) -> None:
        super().__init__(engine, slots, before, now)
        self._predictions, self._mistakes = predictions, mistakes

    def predictions(self) -> Any:
        """Return the predicted class ids; None if not all were kept."""
        if self._predictions is not None:
            return self._predictions
        found = self._engine.core.class_predictions(self.before.rounds, self._now.rounds)
        return found if len(found) == self._now.rounds - self.before.rounds else None

    def mistake_rounds(self) -> IntArray | None:
        """Return the 0-based rounds of the mistakes; None if not all were kept."""
        if self._mistakes is not None:
            return self._mistakes
        first, last = self.before.mistakes, self._now.mistakes
        found: IntArray = self._engine.core.mistake_rounds(first, last)
        return found - self.before.rounds if len(found) == last - first else None

    def kept(self) -> Kept:
        """Return the rounds that changed the weights, as far as they were kept. A panel keeps none: ValueError."""
        if not self._engine.rule.keeps_examples:
            raise ValueError(NOT_KEPT)
        first, last = self.before.updates, self._now.updates
        rounds, _, mistaken, indptr, index, value = self._engine.core.kept(first, last)
        labels, predicted = self._engine.core.kept_classes(first, last)
        return ClassKept(
            rounds - self.before.rounds,
            labels,
            mistaken.view(np.bool_),
            indptr,
            index.astype(np.int64),
            value,
            predicted=predicted,
        )
