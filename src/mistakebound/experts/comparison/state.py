"""What was learned from tables so far: the options, the rows, and a learner for each rule.

More rows can be added at any time. The learners then continue as if all rows had been in one table: labels keep their
order, and experts whose column is missing are asleep. The experts are those of the first table.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.aggregation.registry import ALIASES, FOLLOWING
from mistakebound.errors import OptionError, StreamError, setting
from mistakebound.experts.comparison.advice import LABELS, ColumnChoice, advice_of
from mistakebound.experts.comparison.past_rows import date_notes, joined, new_rows, used_rows
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
COLUMNS_OF_STATE = ("experts", "classes", "positive", "advice", "ids")
"""Options about columns that a state fixes."""


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
        Number of rows that were learned together most recently.
    seconds : dict
        How long each rule has learned, since the state was created or loaded.
    refused : list of RefusedRule
        The rules that could not be run, and why.
    notes : list of tuples
        What was skipped: the words of a message, as in `InputError`.
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
        self.notes = []
        if self.past is not None:
            frame, self.notes = new_rows(self.past, frame, self.choice.ids, self.last, overlap)
            frame = joined(self.past, frame)
            self.notes += date_notes(self.past, frame, self.choice.ids)
        stream = advice_of(frame, self.outcome, self.choice)
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
        self.choice = replace(self.choice, experts=stream.names, ignore=(), ids=stream.ids)

    def learn(self, stream: Advice, progress: Callable[[str, int], None] | None = None) -> None:
        """Let each rule learn the rounds of the stream that it has not learned yet; rules that cannot are refused."""
        begin, loss = self.rounds, self.used_loss(stream)
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
            raise self.refused[0].error
        self.rules = [rule for rule in self.rules if rule in self.learners]
        self.labels = stream.labels
        self.choice = replace(self.choice, experts=stream.names, ignore=(), ids=stream.ids)
        self.last = stream.rounds - begin or self.last
        self.past = used_rows(stream)

    def continued(self, wanted: State) -> State:
        """Return this state with the options of ``wanted`` that may change; raise OptionError if others differ."""
        for name in COLUMNS_OF_STATE:
            asked, known = getattr(wanted.choice, name), getattr(self.choice, name)
            if asked and (list(asked) != list(known) if isinstance(known, (list, tuple)) else asked != known):
                raise contradiction(name, asked, known)
        named = sorted({ALIASES.get(rule, rule) for rule in wanted.rules})
        compared: dict[str, tuple[Any, Any]] = {
            "outcome": (wanted.outcome, self.outcome),
            "rules": (named or None, sorted(self.rules)),
            "loss": (None if wanted.loss is None else wanted.loss.id, "square" if self.loss is None else self.loss.id),
            **{name: (value, self.parameters.get(name)) for name, value in wanted.parameters.items()},
        }
        for name, (asked, known) in compared.items():
            if asked is not None and asked != known:
                raise contradiction(name, asked, known)
        changes = {each.name: getattr(wanted.choice, each.name) for each in fields(ColumnChoice)}
        free = {name: value for name, value in changes.items() if name not in COLUMNS_OF_STATE}
        return replace(self, choice=replace(self.choice, **free))


def contradiction(name: str, asked: Any, known: Any) -> OptionError:
    """Return the error for an option that differs from that of the loaded state."""
    has = "has none" if known is None or known in ([], ()) else f"has {_listed(known)}"
    message = f" is {_listed(asked)}, but the loaded state {has}; do not set it, or start without a state"
    return OptionError(setting(name), message, kind="another option than the state", value=asked)


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def recode(learner: Any, labels: list[str], stream: Advice) -> None:
    """Change the indices of labels in a learner: a new label has come between the old ones, which are sorted."""
    place = {label: float(code) for code, label in enumerate(stream.labels)}
    codes = np.array([place[label] for label in labels])
    play = learner._play  # noqa: SLF001 - the indices are only used by the comparison
    play.predictions = [codes[joined_labels(play.predictions).astype(np.intp)]]
    play.bits = all(map(is_bit, np.unique(stream.outcomes[: play.rounds])))
