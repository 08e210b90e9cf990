"""What was learned from tables so far: the options, the rows, and a learner for each rule.

More rows can be added at any time. The learners then continue as if all rows had been in one table: labels keep their
order, and experts whose column is missing are asleep. The experts are those of the first table; others may join, and
were asleep until then.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.aggregation.registry import FOLLOWING
from mistakebound.errors import StreamError, setting
from mistakebound.experts.comparison.advice import LABELS, ColumnChoice, advice_of
from mistakebound.experts.comparison.continuation import check_options, columns_of_next_rows
from mistakebound.experts.comparison.past_rows import date_notes, joined, new_rows, used_rows, with_empty_columns
from mistakebound.experts.comparison.results import (
    RefusedRule,
    check_parameters,
    check_rule,
    learn_rounds,
    learner_for,
    rules_for,
)
from mistakebound.experts.votes import is_bit, joined_labels
from mistakebound.hindsight.oracles import checked_forecasts
from mistakebound.losses import Square, ZeroOne

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound.data.columns import Frame
    from mistakebound.errors import Option
    from mistakebound.experts.comparison.advice import Advice
    from mistakebound.hindsight.oracles import CheckedForecasts
    from mistakebound.losses import Loss

REMEDIES: dict[str, tuple[str | Option, ...]] = {
    "log": (": ", setting("loss", "square"), " takes any number"),
    "percentage": (": try ", setting("loss", "absolute")),
}
"""Added to the error about a number for which the loss is not defined."""


@dataclass
class State:
    """The options of a comparison, the rows that were learned, and a learner for each rule.

    Attributes
    ----------
    outcome : str
        The column of the outcomes.
    choice : ColumnChoice
        Which columns are read as what; after the first rows, with the names of all experts.
    rules : list of str
        The rules that were asked for; after the first rows, those that could be run.
    loss : Loss or None
        The loss that was passed.
    parameters : dict
        Parameters of the rules that were passed.
    past : Frame or None
        The rows that were learned, with the columns that are used.
    labels : list of str
        The labels that the learners know by their index.
    learners : dict
        The learner of each rule.
    last : int
        Number of rows that were learned together most recently; 0 while a file is followed.
    seconds : dict
        How long each rule has learned, since the state was created or loaded.
    refused : list of RefusedRule
        The rules that could not be run, and why.
    notes : list of tuples
        What was skipped: the words of a message, as in `InputError`.
    wanted : State or None
        The options that were passed when this state was loaded.
    """

    outcome: str
    choice: ColumnChoice
    rules: list[str]
    loss: Loss | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    past: Frame | None = None
    labels: list[str] = field(default_factory=list)
    learners: dict[str, Any] = field(default_factory=dict)
    last: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    refused: list[RefusedRule] = field(default_factory=list)
    notes: list[tuple[str | Option, ...]] = field(default_factory=list)
    wanted: State | None = None

    @property
    def rounds(self) -> int:
        """Number of rounds that were learned."""
        return 0 if self.past is None else self.past.rows

    def used_loss(self, stream: Advice) -> Loss:
        """Return the loss that is summed; for labels, the zero-one loss."""
        return ZeroOne() if stream.kind == LABELS else self.loss or Square()

    def stream(self, frame: Frame, overlap: str = "refuse") -> tuple[Advice, CheckedForecasts]:
        """Return all rows: those that were learned, and then the new ones of ``frame``; with the losses of the experts.

        ``overlap`` is what to do with rows of ``frame`` that were learned already: refuse, skip or learn.
        """
        choice, self.notes = self.choice, []
        if self.past is not None:
            columns = columns_of_next_rows(self, frame)
            new, notes = new_rows(self.past, frame, choice.ids, self.last, overlap)
            past = with_empty_columns(self.past, columns.new)
            frame = joined(past, new, columns.ignored)
            choice = replace(choice, experts=columns.experts, ignore=())
            self.notes = [*columns.notes, *notes, *date_notes(past, frame, choice.ids)]
        stream = advice_of(frame, self.outcome, choice)
        self.rules = rules_for(stream, self.rules, self.loss)
        if self.rules[0] in FOLLOWING:
            stream = stream.as_labels(self.rules[0])
        loss = self.used_loss(stream)
        try:
            checked = checked_forecasts(stream.past_forecasts, stream.outcomes, loss)
        except StreamError as error:
            raise stream.with_file_and_line(error, *REMEDIES.get(loss.id, ())) from None
        check_parameters(self.rules, self.parameters)
        return replace(stream, notes=[*self.notes, *stream.notes]), checked

    def settle(self, frame: Frame) -> None:
        """Decide which columns are experts and which rules are run, from more rows than are learned first."""
        stream = advice_of(frame, self.outcome, self.choice)
        self.rules = rules_for(stream, self.rules, self.loss)
        self.fix_columns(stream)

    def fix_columns(self, stream: Advice) -> None:
        """Keep the names of the columns that were used: the next rows are read in the same way."""
        self.outcome = stream.outcome
        self.choice = replace(self.choice, experts=stream.names, ids=stream.ids, advice=stream.advice_name or None)

    def learn(self, stream: Advice, progress: Callable[[str, int], None] | None = None) -> None:
        """Let each rule learn the rounds of the stream that it has not learned yet; rules that cannot are refused.

        If experts have joined, each rule learns all rounds again.
        """
        if stream.names != [*self.choice.experts]:
            self.learners = {}
        begin, known, loss = self.rounds if self.learners else 0, len(self.refused), self.used_loss(stream)
        if self.learners and stream.labels != self.labels and stream.kind == LABELS:
            for learner in self.learners.values():
                recode(learner, self.labels, stream)
        for number, rule in enumerate(self.rules):
            if progress:
                progress(rule, number)
            start = time.perf_counter()
            try:
                if begin == 0:
                    check_rule(rule, stream, loss, self.parameters)
                    self.learners[rule] = learner_for(rule, loss, self.parameters)
                learn_rounds(rule, self.learners[rule], stream, begin, stream.rounds)
            except ValueError as error:
                self.learners.pop(rule, None)
                self.refused.append(RefusedRule(rule, error))
            self.seconds[rule] = self.seconds.get(rule, 0.0) + time.perf_counter() - start
        if not self.learners:
            raise self.refused[known].error
        self.rules = [rule for rule in self.rules if rule in self.learners]
        self.labels = stream.labels
        self.fix_columns(stream)
        self.last = stream.rounds - self.rounds or self.last
        self.past = used_rows(stream)

    def continued(self, wanted: State) -> State:
        """Return this state with the options of ``wanted`` that may change; raise OptionError if others differ.

        Options about columns are compared with the first rows.
        """
        check_options(self, wanted)
        choice = wanted.choice
        free = replace(self.choice, ignore=choice.ignore, ahead=choice.ahead, skip_bad=choice.skip_bad)
        return replace(self, choice=free, wanted=wanted)


def recode(learner: Any, labels: list[str], stream: Advice) -> None:
    """Change the indices of labels in a learner: a new label has come between the old ones, which are sorted."""
    place = {label: float(code) for code, label in enumerate(stream.labels)}
    codes = np.array([place[label] for label in labels])
    play = learner._play  # noqa: SLF001 - the indices are only used by the comparison
    play.predictions = [codes[joined_labels(play.predictions).astype(np.intp)]]
    play.bits = all(map(is_bit, np.unique(stream.outcomes[: play.rounds])))
