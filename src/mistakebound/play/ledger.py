"""`Ledger`: counts of rounds and mistakes, and the rounds that a certificate needs."""

from __future__ import annotations

from functools import cached_property
from operator import sub
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from mistakebound._support.lazy import np
from mistakebound._support.text import html_table
from mistakebound.data.labels import label_array
from mistakebound.play.ledger_plots import LedgerPlots
from mistakebound.play.measures import Measures

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray, IntArray
    from mistakebound.data.reader import ReadReport
    from mistakebound.play.measures import Answers
    from mistakebound.play.mixing import Mixing
    from mistakebound.play.record import Kept, Record
    from mistakebound.play.standings import Standings
    from mistakebound.rules import Rule


class Counts(NamedTuple):
    """Totals of all rounds; they are exact even if not all rounds were kept."""

    rounds: int
    false_positives: int
    false_negatives: int
    updates: int
    to_keep: int
    """Number of rounds with an update or a mistake; 0 if the rule does not keep examples."""
    measures: Measures | None = None
    """How good the probabilities were; None if the learner has none, or if this was not asked for."""

    def __sub__(self, earlier: Counts) -> Counts:
        measures = None if self.measures is None else self.measures - earlier.measures
        return Counts(*map(sub, self.totals, earlier.totals))._replace(measures=measures)

    @property
    def totals(self) -> tuple[int, int, int, int, int]:
        """The five numbers."""
        return self.rounds, self.false_positives, self.false_negatives, self.updates, self.to_keep

    @classmethod
    def of_core(cls, counts: Any) -> Counts:
        """Return what the core returned: five numbers and, from a learner with probabilities, its measures."""
        *totals, measured = counts if len(counts) == 6 else (*counts, None)
        return cls(*totals)._replace(measures=None if measured is None else Measures(*measured))


class Ledger(LedgerPlots):
    """The record of a learner's rounds: those of one ``run``, or all of them (``learner.ledger_``).

    Attributes
    ----------
    rounds, mistakes, false_positives, false_negatives, updates : int
        Totals. A false positive is a positive prediction on a negative example.
    rule : Rule
        The rule with its parameters.
    n : int
        Number of features: the width, or for named features those that were learned, and one for all others.
    classes : tuple
        (negative, positive) label.
    from_start : bool
        Whether the first of these rounds was the learner's first round, as theorems require.
    standings : Standings or None
        For a panel, its members at the end of these rounds; otherwise None.
    mixing : Mixing or None
        Which rounds were learned in shards whose states were mixed (``mistakebound.mix``); None for other learners.
    reading : ReadReport or None
        What ``run`` has read from a Source: skipped lines, remarks, columns, bytes. None for other inputs.
    scores : array or None
        The score of each round before it was learned, if it was asked for.
    """

    several: ClassVar[bool] = False
    """Whether it is the ledger of several classes, which count other things: see ``ClassLedger``."""
    mixing: Mixing | None = None
    reading: ReadReport | None = None
    scores: FloatArray | None = None

    def __init__(
        self,
        counts: Counts,
        *,
        rule: Rule,
        n: int,
        classes: tuple[Any, Any],
        from_start: bool,
        named: bool,
        record: Record,
        positive_predictions: int | None = None,
        standings: Standings | None = None,
        mixing: Mixing | None = None,
    ) -> None:
        self.counts = counts
        self.mixing = mixing
        self.standings = standings
        self.rule = rule
        self.n = n
        self.classes = classes
        self.from_start = from_start
        self.named = named
        self.record = record
        self._positive_predictions = positive_predictions

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return self.counts.rounds

    @property
    def false_positives(self) -> int:
        """Positive predictions on negative examples."""
        return self.counts.false_positives

    @property
    def false_negatives(self) -> int:
        """Negative predictions on positive examples."""
        return self.counts.false_negatives

    @property
    def mistakes(self) -> int:
        """Wrong predictions."""
        return self.false_positives + self.false_negatives

    @property
    def positive_labels(self) -> int:
        """Number of examples with the positive label."""
        return self.positive_predictions - self.false_positives + self.false_negatives

    @property
    def updates(self) -> int:
        """Rounds that changed the weights."""
        return self.counts.updates

    @property
    def measures(self) -> Measures:
        """How good the probabilities were. Raises ValueError if the learner has none, or has not learned yet."""
        if self.counts.measures is None:
            reason = "no round was learned" if self.rule.log_odds else f"{self.rule.id} predicts no probabilities"
            message = f"there are no measures of probabilities: {reason}"
            raise ValueError(message)
        self.counts.measures.threshold = getattr(self.rule, "cut", 0.5)  # that of a Panel
        return self.counts.measures

    @property
    def answers(self) -> Answers | None:
        """Abstentions, and mistakes in the other rounds, of a Panel that may abstain; None for other learners.

        ``mistakes`` and ``predictions`` of the ledger are those without abstention.
        """
        band = self.rule.band
        if band is None or self.counts.measures is None:
            return None
        return self.measures.answers(*band)

    @property
    def positive(self) -> BoolArray:
        """Whether each prediction was the positive label."""
        positive = self.record.predictions()
        if positive is None:
            message = (
                f"the predictions of {self.rounds} rounds were not all kept: use the ledger that each run returns, "
                "or increase keep_bytes"
            )
            raise ValueError(message)
        return positive

    @property
    def positive_predictions(self) -> int:
        """Number of predictions of the positive label. For rows of a file, it is counted without numpy."""
        return int(self.positive.sum()) if self._positive_predictions is None else self._positive_predictions

    @cached_property
    def predictions(self) -> AnyArray:
        """The label that was predicted in each round, *before* learning from it."""
        return label_array(self.classes)[self.positive.astype(np.intp)]

    @cached_property
    def mistake_rounds(self) -> IntArray:
        """0-based numbers of the rounds with a mistake."""
        rounds = self.record.mistake_rounds()
        if rounds is None:
            message = f"the rounds of {self.mistakes} mistakes were not all kept: increase keep_bytes"
            raise ValueError(message)
        return rounds

    @property
    def mistake_curve(self) -> IntArray:
        """Number of mistakes up to and including each round."""
        return curve_of(self.mistake_rounds, self.rounds)

    @property
    def loss_curve(self) -> FloatArray:
        """Cumulative loss after each round; a mistake is a loss of 1."""
        return self.mistake_curve.astype(float)

    @property
    def totals(self) -> dict[str, int]:
        """The counts by name."""
        names = ("rounds", "mistakes", "false_positives", "false_negatives", "updates")
        return {name: getattr(self, name) for name in names}

    @cached_property
    def kept(self) -> Kept:
        """The rounds with an update or a mistake, with their examples."""
        return self.record.kept()

    @cached_property
    def delays(self) -> IntArray:
        """Number of updates between the prediction and the outcome of each kept round: 0 unless it came late."""
        rounds, delays = self.record.late() if self.rule.keeps_examples else (np.zeros(0, np.int64),) * 2
        found = np.zeros(len(self.kept), np.int64)
        found[np.searchsorted(self.kept.rounds, rounds)] = delays
        return found

    @property
    def late(self) -> int:
        """Number of rounds whose outcome came late: with an update between the prediction and the outcome.

        It counts the kept rounds; for a rule that keeps no examples, all rounds, as far as ``keep_bytes`` allows.
        """
        return len(self.record.late()[0])

    @property
    def complete(self) -> bool:
        """Whether every round with an update or a mistake was kept, as a certificate requires."""
        return self.rule.keeps_examples and len(self.kept) == self.counts.to_keep

    @cached_property
    def names(self) -> list[str]:
        """Names of the features by index; empty for features by position."""
        return self.record.names()

    def __repr__(self) -> str:
        return f"<Ledger: {self.mistakes} mistakes in {self.rounds} rounds, {self.rule.id}>"

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        rows = {"mistakes": self.mistakes, "rounds": self.rounds, "updates": self.updates, "rule": self.rule.id}
        return html_table("Ledger", rows)

    def to_json(self) -> str:
        """Return the ledger as JSON text, which ``Ledger.from_json`` reads."""
        from mistakebound.play.ledger_json import write  # noqa: PLC0415 - not needed to learn

        return write(self)

    @classmethod
    def from_json(cls, text: str) -> Ledger:
        """Read what ``to_json`` wrote; raise ModelError, with the name of the field, if it is not valid.

        At most 2²⁷ positional features are accepted, because a certificate allocates memory for each of them.
        """
        from mistakebound.play.ledger_json import read  # noqa: PLC0415 - not needed to learn

        return read(text, cls)


def curve_of(mistake_rounds: IntArray, rounds: int) -> IntArray:
    """Return the number of mistakes up to and including each round."""
    curve = np.zeros(rounds, np.int64)
    curve[mistake_rounds] = 1
    return np.cumsum(curve)
